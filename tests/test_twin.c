/* SPDX-License-Identifier: MIT
 *
 * The twin test: what it sees, what it leaves out, how it leads. The other
 * subject is the built-in collector with something changed, so that what must
 * be found is known. Each test says what it would catch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/twin.h"
#include "ops/op_gen.h"
#include "ops/op_text.h"
#include "subjects/subjects.h"

static struct lab *lab;
static struct twin *twin;

static struct twin_result
run_pair(const struct twin_pair *pair, const char *text)
{
  struct stream stream;
  struct stream_text_error error;
  struct twin_result result;
  if (stream_parse(text, strlen(text), &stream, &error) != STREAM_OK)
    fail_msg("line %zu: %s", error.line, error.message);
  twin_run(twin, pair, &stream, &result);
  stream_done(&stream);
  return result;
}

static struct twin_result
run_text(const struct subject *a, const struct subject *b, const char *text)
{
  const struct twin_pair pair = {.subject = {a, b}};
  return run_pair(&pair, text);
}

/* ---- changed subjects ------------------------------------------------ */

/* Does not do it. */
static uint8_t without;

static enum subject_status
perform_without(struct subject_instance *instance, struct op op,
                struct subject_answer *ret_answer)
{
  if (op.code == without)
    return SUBJECT_UNSUPPORTED;
  return subject_lua54.perform(instance, op, ret_answer);
}

/* Says that it has collected. */
static enum subject_status
perform_lazily(struct subject_instance *instance, struct op op,
               struct subject_answer *ret_answer)
{
  if (op.code == OP_COLLECT)
    return SUBJECT_DONE;
  return subject_lua54.perform(instance, op, ret_answer);
}

/* Its traversals begin with the second pair. */
static enum subject_status
perform_next_twice(struct subject_instance *instance, struct op op,
                   struct subject_answer *ret_answer)
{
  enum subject_status status =
      subject_lua54.perform(instance, op, ret_answer);
  static bool is_first = true;
  if (op.code == OP_NEXT && is_first &&
      ret_answer->value[0].tag != SUBJECT_NIL)
    status = subject_lua54.perform(instance, op, ret_answer);
  is_first = op.code != OP_NEXT;
  return status;
}

/* Its micro-steps are many, of which it tells the last one only. */
static struct subject_sink *sink_behind;
static bool is_silent;

static void
tell_unless_silent(struct subject_sink *sink,
                   const struct subject_event *event)
{
  (void)sink;
  if (!is_silent)
    sink_behind->event(sink_behind, event);
}

static struct subject_instance *
open_filtered(const struct subject_env *env)
{
  static struct subject_sink sink = {tell_unless_silent};
  struct subject_env filtered = *env;
  sink_behind = env->sink;
  is_silent = false;
  filtered.sink = &sink;
  return subject_lua54.open(&filtered);
}

static void
step_often(struct subject_instance *instance)
{
  is_silent = true;
  for (int i = 0; i < 9; i++)
    if (subject_lua54.phase(instance) < SUBJECT_PHASE_ENTER_ATOMIC)
      subject_lua54.micro_step(instance);
  is_silent = false;
  subject_lua54.micro_step(instance);
}

static struct subject
changed(const char *name)
{
  struct subject subject = subject_lua54;
  subject.name = name;
  /* It does not promise that its steps are the smallest, and keeps no count. */
  subject.capabilities &= ~(uint32_t)(SUBJECT_CAN_STEP | SUBJECT_CAN_COUNT);
  return subject;
}

/* ---- what is the same ------------------------------------------------ */

/* Would catch a difference that is none, a count that is off. */
static void
test_twin_same_subject_is_same(void **state)
{
  (void)state;
  struct twin_result result =
      run_text(&subject_lua54, &subject_lua54,
               "newtable r0 0 0\nget r1 r9 r0\nmicrostep 3\ncollect\n");
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_int_equal(result.compared, 3);
  assert_int_equal(result.op_index, 4);
  assert_false(result.has_ended);
}

/* Would catch a comparison that hangs on what the generator does not know. */
static void
test_twin_same_subject_is_same_over_random_streams(void **state)
{
  (void)state;
  const struct twin_pair pair = {.subject = {&subject_lua54, &subject_lua54}};
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    struct stream stream;
    struct twin_result result;
    assert_int_equal(stream_generate(seed, 128, &stream), STREAM_OK);
    twin_run(twin, &pair, &stream, &result);
    if (result.verdict != TWIN_SAME)
      fail_msg("seed %d: %s", (int)seed, result.message);
    compared += result.compared;
    stream_done(&stream);
  }
  assert_true(compared > 10000);
}

/* Would catch a setup that is not the first operation any more. */
static void
test_twin_setup_stays_the_first(void **state)
{
  (void)state;
  struct twin_result result =
      run_text(&subject_lua54, &subject_lua54,
               "setup fresh small generational\nnewtable r0 0 0\nminor 1\n");
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_int_equal(result.compared, 2);
}

/* ---- what differs ---------------------------------------------------- */

/* Would catch a twin that does not look which objects live. */
static void
test_twin_sees_what_was_not_freed(void **state)
{
  (void)state;
  struct subject_traits traits = *subject_lua54.traits;
  struct subject lazy = changed("lazy"), patient = changed("patient");
  traits.cycles_plain = 100;
  lazy.traits = patient.traits = &traits;
  lazy.perform = perform_lazily;
  struct twin_result result =
      run_text(&patient, &lazy, "newtable r0 0 0\nnil r0\ncollect\nnil r1\n");
  assert_int_equal(result.verdict, TWIN_DIFFERENT);
  assert_string_equal(result.aspect, "live");
  assert_int_equal(result.op_index, 2);
  assert_non_null(strstr(result.message, "is gone"));
  result = run_text(&patient, &lazy, "newtable r0 0 0\ncollect\nnil r0\n");
  assert_int_equal(result.verdict, TWIN_SAME);
}

/* Would catch a law broken by one side that passes for a difference, or for
 * none. */
static void
test_twin_tells_a_broken_law_from_a_difference(void **state)
{
  (void)state;
  struct subject lazy = changed("lazy");
  lazy.perform = perform_lazily;
  struct twin_result result = run_text(
      &subject_lua54, &lazy, "newtable r0 0 0\nnil r0\ncollect\nnil r1\n");
  assert_int_equal(result.verdict, TWIN_BROKEN);
  assert_int_equal(result.who, 1);
  assert_int_not_equal(result.result.law, LAW_NONE);
}

/* A fault that no law of the run accuses before the twin sees it. */
static void
expect_aspect(const char *fault, const char *aspect, const char *text)
{
  const struct twin_pair pair = {.subject = {&subject_lua54, &subject_lua54},
                                 .fault = {NULL, fault}};
  struct twin_result result;
  if (!subject_lua54.faults || !subject_lua54.faults[0])
    skip();
  result = run_pair(&pair, text);
  assert_int_equal(result.verdict, TWIN_DIFFERENT);
  assert_string_equal(result.aspect, aspect);
}

/* Would catch a twin that is blind to colours and ages at rest. */
static void
test_twin_sees_colours(void **state)
{
  (void)state;
  expect_aspect("old-thread-leaves", "paint",
                "setup fresh small generational\nnewtable r0 0 0\n"
                "minor 1\nminor 2\nminor 2\n");
}

/* ... to finalizers that are not called. */
static void
test_twin_sees_finalizers(void **state)
{
  (void)state;
  expect_aspect("finalize-skipped", "finalizers",
                "newfin r0 nothing 0\nnil r0\nstep 0\nstep 0\n"
                "nil r0\ncollect\n");
}

/* ---- what is left out ------------------------------------------------ */

/* Would catch an operation that only one performs. */
static void
test_twin_leaves_out_what_one_does_not_have(void **state)
{
  (void)state;
  struct subject poor = changed("poor");
  poor.perform = perform_without;
  without = OP_STR;
  const char *text = "newtable r0 0 0\nstr r1 4\nset r0 r1 r1\nstr r2 5\n"
                     "setglobal 1 r0\n";
  struct twin_result result = run_text(&subject_lua54, &poor, text);
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_int_equal(result.rows[TWIN_UNSUPPORTED], 2);
  assert_int_equal(result.compared, 2); /* set has no key any more */
  result = run_text(&poor, &subject_lua54, text);
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_int_equal(result.rows[TWIN_UNSUPPORTED], 2);
  assert_int_equal(result.compared, 2);
}

static void
expect_row(const char *text, enum twin_difference row, uint64_t count)
{
  struct twin_result result = run_text(&subject_lua54, &subject_lua54, text);
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_int_equal(result.rows[row], count);
}

/* Would catch a rule that is not applied, or applied to its neighbour. */
static void
test_twin_leaves_out_what_may_differ(void **state)
{
  (void)state;
  expect_row("restart\nstop\n", TWIN_WEIGHT, 1);
  expect_row("failalloc 3\nheaplimit 4\noutofmem 2\n", TWIN_REFUSALS, 3);
  expect_row("cfunc r0 2\ncfunc r0 6\ncfunc r0 3\n", TWIN_CLOSERS, 2);
  expect_row("newtable r0 0 0\nnewtable r1 0 0\ncfunc r2 7\n"
             "setevent r1 __index r2\nsetmeta r0 r1\ncallindex r3 r0 r0\n"
             "cfunc r2 1\nsetevent r1 __index r2\ncallindex r3 r0 r0\n",
             TWIN_REGISTERS, 1);
  expect_row("newtable r0 0 0\nint r1 1\nseti r0 1 r1\nlen r2 r0\n",
             TWIN_BORDERS, 0);
  expect_row("newtable r0 0 0\nint r1 1\nseti r0 2 r1\nlen r2 r0\n"
             "append r0 r1\n",
             TWIN_BORDERS, 2);
  expect_row("newweak r0 v\nnewtable r1 0 0\nseti r0 1 r1\ngeti r2 r0 1\n",
             TWIN_LOOSE, 0);
  expect_row("newweak r0 v\nnewtable r1 0 0\nseti r0 1 r1\nnil r1\n"
             "geti r2 r0 1\nlen r2 r0\nnext r0 r3 r4\ngeti r2 r0 2\n",
             TWIN_LOOSE, 3);
  expect_row("newweak r0 v\nnewtable r1 0 0\nsets r0 1 r1\nnil r1\n"
             "newtable r5 0 0\nnewtable r6 0 0\nsetevent r6 __index r0\n"
             "setmeta r5 r6\nstr r7 1\nindex r2 r5 r7\ngets r2 r0 1\n",
             TWIN_LOOSE, 2);
  expect_row("setup fresh small generational\nmicrostep 1\nstep 3\nminor 1\n",
             TWIN_DEBT, 2);
}

/* ---- how the second one is led --------------------------------------- */

/* Would catch a collector that is left behind, or goes ahead through the
 * atomic phase. */
static void
test_twin_leads_the_collector(void **state)
{
  (void)state;
  struct subject fast = changed("fast");
  fast.micro_step = step_often;
  fast.open = open_filtered;
  fast.capabilities = SUBJECT_CAN_SURVEY;
  const char *text = "newfin r0 save 0\nnewweak r1 kv\nseti r1 1 r0\nnil r0\n"
                     "microstep 30\ngetglobal r2 0\nmicrostep 20\n"
                     "microstep 30\ngetglobal r2 0\nfinish\ngeti r3 r1 1\n";
  struct twin_result result = run_text(&fast, &subject_lua54, text);
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_false(result.has_ended);
  assert_int_equal(result.compared, 11);
}

/* Would catch an excuse for what no mark can have seen, and none for what one
 * may have. */
static void
test_twin_ends_where_garbage_floats(void **state)
{
  (void)state;
  struct subject fast = changed("fast");
  fast.micro_step = step_often;
  fast.open = open_filtered;
  fast.capabilities = SUBJECT_CAN_SURVEY;
  struct twin_result result = run_text(
      &fast, &subject_lua54,
      "newfin r0 nothing 0\nchain r1 40\nmicrostep 2\nnil r0\nfinish\n"
      "nil r0\n");
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_true(result.has_ended);
  assert_int_equal(result.end, TWIN_FLOATING);
  assert_int_equal(result.op_index, 4);
  result = run_text(&fast, &subject_lua54,
                    "newfin r0 nothing 0\nchain r1 40\nnil r0\nmicrostep 2\n"
                    "finish\nnil r0\n");
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_false(result.has_ended);
}

/* Would catch a traversal that is not led to the same pair. */
static void
test_twin_leads_a_traversal(void **state)
{
  (void)state;
  struct subject other = changed("other");
  other.perform = perform_next_twice;
  struct twin_result result =
      run_text(&subject_lua54, &other,
               "newtable r0 0 0\nint r1 1\nseti r0 1 r1\nseti r0 2 r1\n"
               "seti r0 3 r1\nnil r1\nnext r0 r1 r2\nnext r0 r1 r2\n"
               "next r0 r1 r2\nnext r0 r1 r2\nsetglobal 0 r1\n");
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_false(result.has_ended);
  assert_int_equal(result.compared, 11);
}

/* ---- the table ------------------------------------------------------- */

/* Would catch a row that is about everybody, or about nobody. */
static void
test_twin_rows_concern_whom_they_say(void **state)
{
  (void)state;
  struct subject_traits traits = *subject_lua54.traits;
  struct subject other = changed("other");
  other.traits = &traits;
  assert_true(twin_concerns(TWIN_WEIGHT, &subject_lua54, &other));
  assert_false(twin_concerns(TWIN_MODES, &subject_lua54, &other));
  assert_false(twin_concerns(TWIN_FINALIZERS, &subject_lua54, &other));
  traits.ages = false;
  traits.order_of_marking = false;
  assert_true(twin_concerns(TWIN_MODES, &subject_lua54, &other));
  assert_true(twin_concerns(TWIN_FINALIZERS, &subject_lua54, &other));
  assert_false(twin_concerns(TWIN_WEAKNESS, &subject_lua54, &other));
  struct twin_result result = run_text(
      &subject_lua54, &other,
      "setup fresh small generational\nmode generational\nnewfin r0 save 0\n"
      "newweak r1 k\nmicrostep 2\n");
  assert_int_equal(result.verdict, TWIN_SAME);
  assert_int_equal(result.rows[TWIN_MODES], 1);
  assert_int_equal(result.rows[TWIN_FINALIZERS], 1);
  assert_int_equal(result.compared, 2);
}

static int
set_up(void **state)
{
  (void)state;
  lab = lab_new();
  twin = lab ? twin_new(lab) : NULL;
  return twin ? 0 : -1;
}

static int
tear_down(void **state)
{
  (void)state;
  twin_free(twin);
  lab_free(lab);
  return 0;
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_twin_same_subject_is_same),
      cmocka_unit_test(test_twin_same_subject_is_same_over_random_streams),
      cmocka_unit_test(test_twin_setup_stays_the_first),
      cmocka_unit_test(test_twin_sees_what_was_not_freed),
      cmocka_unit_test(test_twin_tells_a_broken_law_from_a_difference),
      cmocka_unit_test(test_twin_sees_colours),
      cmocka_unit_test(test_twin_sees_finalizers),
      cmocka_unit_test(test_twin_leaves_out_what_one_does_not_have),
      cmocka_unit_test(test_twin_leaves_out_what_may_differ),
      cmocka_unit_test(test_twin_leads_the_collector),
      cmocka_unit_test(test_twin_ends_where_garbage_floats),
      cmocka_unit_test(test_twin_leads_a_traversal),
      cmocka_unit_test(test_twin_rows_concern_whom_they_say),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
