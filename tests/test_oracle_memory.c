/* SPDX-License-Identifier: MIT
 *
 * The oracle's own memory: its want of it is never called a collector's bug,
 * and once it has grown to what a heap needs it asks for no more.
 */
#include <stdlib.h>

#include "oracle/state.h"
#include "tests/oracle_collect_fixture.h"

static unsigned long calls;   /* made since the count was set to 0 */
static unsigned long fail_at; /* the number of the one that fails; 0: none */

static void *
failing_allocate(void *block, size_t size)
{
  calls += 1;
  return calls == fail_at ? NULL : realloc(block, size);
}

static int
set_up_failing(void **state)
{
  (void)state;
  traits = traits_like_54;
  subject = subject_drawn;
  oracle_allocate = failing_allocate;
  calls = 0;
  fail_at = 0;
  return 0;
}

/* Enough to make each array grow: objects of all sorts, more blocks than there
 * is room for at first, deaths. */
static void
run_a_stream(void)
{
  uint64_t blocks[300];
  struct drawn *string, *upvalue;
  begin();
  make_pair(&string);
  make_closure(&upvalue);
  look(ORACLE_BETWEEN);
  for (unsigned i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
    blocks[i] = allocate(32);
  for (unsigned i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
    release(blocks[i], 32);
  for (int32_t i = 0; i < 200; i++)
    operate(OP_STR, 1, i, 0);
  draw_string("s199");
  look(ORACLE_INSIDE);
}

/* A weak table loses what its values were, of which some wait for finalizers:
 * told by events, or seen in a survey. */
static void
run_a_collecting_stream(bool is_silent)
{
  if (is_silent)
    begin_silent();
  else
    begin_colourless();
  struct drawn *table = make_weak(0, OP_WEAK_VALUES);
  struct drawn *value = make_finalizable(1, OP_BEHAVIOUR_NOTHING);
  operate(OP_SETI, 0, 1, 1);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(value));
  drop_register(1);
  look(ORACLE_BETWEEN);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  if (!is_silent)
    tell_cleared(table, value, false);
  drop_edge(table, table->edge_count - 1);
  separate(value);
  enter(SUBJECT_PHASE_FINALIZE);
  call(value);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  look(ORACLE_BETWEEN);
  subject = subject_drawn;
  traits = traits_like_54;
}

/* A heap whose only object has count edges. */
static void
show_many(struct subject_instance *instance, struct subject_visitor *visitor)
{
  uint64_t count = *(uint64_t *)instance;
  struct subject_object shown = {.kind = SUBJECT_KIND_ROOT};
  visitor->object(visitor, &shown);
  for (uint64_t i = 0; i < count; i++) {
    struct subject_edge edge = {.key = number((int64_t)i),
                                .value = number(1),
                                .label = SUBJECT_LABEL_INTERNAL};
    visitor->edge(visitor, &edge);
    if (i % 4 == 0)
      visitor->object(visitor, &shown);
  }
}

static void
survey_many(uint64_t count)
{
  subject.survey = show_many;
  subject.capabilities = SUBJECT_CAN_SURVEY;
  oracle_begin(oracle, &subject, false, OP_MODE_INCREMENTAL);
  oracle_attach(oracle, (struct subject_instance *)&count);
  oracle_check(oracle, ORACLE_INSIDE);
  subject = subject_drawn;
}

/* Nobody has been accused; whether the oracle has run out of memory. */
static bool
is_exhausted_by(unsigned long number)
{
  if (oracle_finding(oracle)->law != LAW_NONE)
    fail_msg("allocation %lu: %s", number, oracle_finding(oracle)->message);
  return oracle_is_exhausted(oracle);
}

/* True if the oracle came through without a failure. */
static bool
try_with_failure(unsigned long number)
{
  static const struct oracle_config config = {.region_base = REGION_BASE,
                                              .region_size = REGION_SIZE,
                                              .granule = GRANULE};
  bool is_exhausted;
  calls = 0;
  fail_at = number;
  oracle = oracle_new(&config);
  if (!oracle) {
    assert_true(calls >= number);
    return false;
  }
  run_a_stream();
  is_exhausted = is_exhausted_by(number);
  run_a_collecting_stream(false);
  is_exhausted |= is_exhausted_by(number);
  run_a_collecting_stream(true);
  is_exhausted |= is_exhausted_by(number);
  survey_many(5000);
  is_exhausted |= is_exhausted_by(number);
  assert_int_equal(is_exhausted, calls >= number && fail_at);
  oracle_free(oracle);
  return !is_exhausted;
}

static void
test_oracle_accuses_nobody_for_its_own_want_of_memory(void **state)
{
  (void)state;
  assert_true(try_with_failure(0));
  unsigned long count = calls;
  assert_true(count > 20);
  for (unsigned long number = 1; number <= count; number++)
    assert_false(try_with_failure(number));
  assert_true(try_with_failure(count + 1));
}

/* 200 000 checks a second leave no time for allocation. */
static void
test_oracle_needs_no_new_memory_for_an_old_heap(void **state)
{
  static const struct oracle_config config = {.region_base = REGION_BASE,
                                              .region_size = REGION_SIZE,
                                              .granule = GRANULE};
  (void)state;
  oracle = oracle_new(&config);
  assert_non_null(oracle);
  run_a_stream();
  run_a_collecting_stream(false);
  survey_many(5000);
  calls = 0;
  for (int i = 0; i < 5; i++) {
    run_a_stream();
    run_a_collecting_stream(false);
    survey_many(5000);
  }
  assert_int_equal(calls, 0);
  oracle_free(oracle);
}

/* A finding is made though there is no memory for its path. */
static void
test_oracle_finds_without_memory_for_a_path(void **state)
{
  static const struct oracle_config config = {.region_base = REGION_BASE,
                                              .region_size = REGION_SIZE,
                                              .granule = GRANULE};
  (void)state;
  oracle = oracle_new(&config);
  assert_non_null(oracle);
  begin();
  expect_clean();
  paint(globals, SUBJECT_BLACK);
  fail_at = calls + 1;
  expect(LAW_PAUSE_WHITE);
  assert_true(calls >= fail_at);
  oracle_free(oracle);
}

#define T(name) cmocka_unit_test_setup(test_oracle_##name, set_up_failing)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(accuses_nobody_for_its_own_want_of_memory),
      T(needs_no_new_memory_for_an_old_heap),
      T(finds_without_memory_for_a_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
