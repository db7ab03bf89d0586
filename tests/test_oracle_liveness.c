/* SPDX-License-Identifier: MIT
 *
 * The laws of what full and minor collections leave: each is tripped by a heap
 * drawn by hand, and left alone by a near miss.
 */
#include "tests/oracle_collect_fixture.h"

static const enum law laws[] = {LAW_LIVENESS_GARBAGE, LAW_LIVENESS_FINALIZER,
                                LAW_LIVENESS_FINALIZED, LAW_LIVENESS_MINOR};

/* ---- garbage --------------------------------------------------------- */

static void
test_liveness_finds_garbage(void **state)
{
  struct drawn *table;
  (void)state;
  begin_colourless();
  table = make_table_at(3);
  expect_clean();
  collect_nothing();
  expect_clean(); /* a register has it */
  drop_register(3);
  expect_clean();
  collect_nothing();
  expect(LAW_LIVENESS_GARBAGE);
  expect_text("table #");
  expect_text("was not freed by a full collection");
  begin_colourless();
  table = make_table_at(3);
  expect_clean();
  drop_register(3);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_SWEEP);
  erase(table);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  assert_true(oracle_statistics(oracle)->law[LAW_LIVENESS_GARBAGE] > 1);
}

/* Only a full collection owes that, and only if it was made. */
static void
test_liveness_leaves_other_operations_alone(void **state)
{
  (void)state;
  begin_colourless();
  make_table_at(3);
  expect_clean();
  drop_register(3);
  begin_operation(OP_FINISH, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_operation(OP_COLLECT, 0, 0, 0);
  end_operation(SUBJECT_UNSUPPORTED);
  expect_clean();
}

static void
test_liveness_counts_collections(void **state)
{
  (void)state;
  begin_colourless();
  traits.cycles_plain = 2;
  make_table_at(3);
  expect_clean();
  drop_register(3);
  collect_nothing();
  expect_clean();
  collect_nothing();
  expect(LAW_LIVENESS_GARBAGE);
  expect_text("by 2 full collections");
}

/* Strings and the like stand for no node. */
static void
test_liveness_finds_strings_that_nothing_refers_to(void **state)
{
  struct drawn *string;
  (void)state;
  begin_colourless();
  string = make_string();
  expect_clean();
  collect_nothing();
  expect_clean();
  string->object.flags |= SUBJECT_OBJECT_FIXED;
  drop_register(1);
  collect_nothing();
  expect_clean();
  string->object.flags = SUBJECT_OBJECT_INTERNED;
  collect_nothing();
  expect(LAW_LIVENESS_GARBAGE);
  expect_text("string #");
}

/* What a finalizer has just dropped was held when the mark was made; so was
 * the key of a pair that went because of its value. */
static void
test_liveness_lets_be_what_was_dropped_in_it(void **state)
{
  struct drawn *dying, *string;
  (void)state;
  begin_colourless();
  dying = make_finalizable(3, OP_BEHAVIOUR_TOUCH);
  string = make_string();
  operate(OP_SETS, 3, 0, 1);
  draw_entry(dying, to(name_of("s0")), to(string));
  drop_register(1);
  drop_register(3);
  expect_clean();
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  dying->edges[dying->edge_count - 1].value = to(draw(SUBJECT_KIND_TABLE));
  end_call(dying, false);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_colourless();
  struct drawn *table = make_weak(0, OP_WEAK_VALUES);
  struct drawn *value = make_table_at(2);
  string = make_string();
  make_entry(table, 0, 1, string, 2, value);
  expect_clean();
  drop_register(1);
  drop_register(2);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  tell_cleared(table, value, false);
  drop_edge(table, table->edge_count - 1);
  enter(SUBJECT_PHASE_SWEEP);
  erase(value);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  collect_nothing();
  expect(LAW_LIVENESS_GARBAGE);
  expect_text("string #");
}

static void
test_liveness_finds_the_weak_entry_behind_garbage(void **state)
{
  (void)state;
  for (int by_key = 0; by_key < 2; by_key++) {
    set_collecting_traits();
    begin();
    struct drawn *table = make_weak(0, by_key ? OP_WEAK_KEYS : OP_WEAK_VALUES);
    struct drawn *key = make_table_at(1);
    struct drawn *value = make_table_at(2);
    make_entry(table, 0, 1, key, 2, value);
    expect_clean();
    drop_register(by_key ? 1 : 2);
    collect_nothing();
    expect(LAW_WEAK_NOT_REMOVED);
    expect_text("a weak side of it is unreachable");
  }
}

/* ---- finalizers ------------------------------------------------------ */

static struct drawn *dying;

static void
draw_dying(int32_t behaviour)
{
  begin_colourless();
  dying = make_finalizable(3, behaviour);
  drop_register(3);
  expect_clean();
}

/* A full collection in which it is separated and called. */
static void
collect_dying(void)
{
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  call(dying);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
}

static void
test_liveness_finds_a_finalizer_that_is_due(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  collect_nothing();
  expect(LAW_LIVENESS_FINALIZER);
  expect_text("its finalizer was not called by a full collection");
  draw_dying(OP_BEHAVIOUR_NOTHING);
  traits.cycles_finalizer = 2;
  collect_nothing();
  expect_clean();
  collect_nothing();
  expect(LAW_LIVENESS_FINALIZER);
}

/* A reachable one is not due, nor one that was marked again, nor what only one
 * that has waited can reach. */
static void
test_liveness_lets_finalizers_wait(void **state)
{
  (void)state;
  begin_colourless();
  dying = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
  collect_nothing();
  expect_clean();
  draw_dying(OP_BEHAVIOUR_REMARK);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  relist(dying, SUBJECT_LIST_FINALIZABLE);
  dying->object.flags |= SUBJECT_OBJECT_MARKED;
  end_call(dying, false);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_colourless();
  dying = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
  struct drawn *behind = make_finalizable(4, OP_BEHAVIOUR_NOTHING);
  operate(OP_SETI, 3, 1, 4);
  draw_edge(dying, SUBJECT_LABEL_ENTRY, 1, to(behind));
  drop_register(3);
  expect_clean();
  begin_atomic();
  separate(dying);
  end_atomic(SUBJECT_PHASE_PAUSE);
  drop_register(4);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_FINALIZE);
  call(dying);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  collect_nothing();
  expect(LAW_LIVENESS_FINALIZER);
}

/* What waited before the collection is called by it; what only that reaches is
 * found dead by the next one. */
static void
test_liveness_finds_one_that_waited_before(void **state)
{
  (void)state;
  for (int is_called = 0; is_called < 2; is_called++) {
    begin_colourless();
    traits.errors_contained = false; /* which has a law for all that wait */
    dying = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
    struct drawn *behind = make_finalizable(4, OP_BEHAVIOUR_NOTHING);
    operate(OP_SETI, 3, 1, 4);
    draw_edge(dying, SUBJECT_LABEL_ENTRY, 1, to(behind));
    drop_register(3);
    drop_register(4);
    begin_atomic();
    separate(dying);
    end_atomic(SUBJECT_PHASE_PAUSE);
    expect_clean();
    begin_operation(OP_COLLECT, 0, 0, 0);
    enter(SUBJECT_PHASE_FINALIZE);
    if (is_called)
      call(dying);
    enter(SUBJECT_PHASE_PAUSE);
    end_operation(SUBJECT_DONE);
    if (is_called) {
      expect_clean();
      continue;
    }
    expect(LAW_LIVENESS_FINALIZER);
    expect_text("its finalizer was not called by a full collection");
  }
}

static void
test_liveness_finds_the_finalized_that_stay(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  collect_dying();
  expect_clean();
  collect_nothing();
  expect(LAW_LIVENESS_FINALIZED);
  expect_text("has been finalized, is unreachable");
  draw_dying(OP_BEHAVIOUR_SAVE);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  draw_entry(globals, to(name_of("g0")), to(dying));
  end_call(dying, false);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  collect_nothing();
  expect_clean();
}

/* ---- minor collections ----------------------------------------------- */

static void
collect_young(void)
{
  begin_operation(OP_MINOR, 1, 0, 0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  step(SUBJECT_EVENT_STEP_END);
  end_operation(SUBJECT_DONE);
}

/* Without the laws of ages, which want colours to go with them. Some minor
 * collections have been made: what a barrier marked before them is no longer
 * excepted. */
static void
begin_by_age(void)
{
  set_collecting_traits();
  traits.generational = true;
  begin();
  begin_operation(OP_MODE, OP_MODE_GENERATIONAL, 0, 0);
  tell_mode(OP_MODE_GENERATIONAL);
  end_operation(SUBJECT_DONE);
  page.heap.mode = OP_MODE_GENERATIONAL;
  page.heap.by_age = true;
  for (unsigned i = 1; i < page.count; i++)
    page.drawn[i].object.age = SUBJECT_AGE_OLD;
  for (int i = 0; i < 3; i++)
    collect_young();
  expect_clean();
}

static void
test_liveness_finds_young_garbage(void **state)
{
  (void)state;
  begin_by_age();
  struct drawn *table = make_table_at(3);
  expect_clean();
  collect_young();
  table->object.age = SUBJECT_AGE_SURVIVAL;
  expect_clean();
  drop_register(3);
  collect_young();
  expect(LAW_LIVENESS_MINOR);
  expect_text("was not freed by a minor collection");
}

/* What is old stays, dead or not, and so does what it refers to. */
static void
test_liveness_lets_old_garbage_be(void **state)
{
  (void)state;
  begin_by_age();
  struct drawn *old = make_table_at(3);
  old->object.age = SUBJECT_AGE_OLD;
  expect_clean();
  struct drawn *young = make_table_at(4);
  operate(OP_SETI, 3, 1, 4);
  draw_edge(old, SUBJECT_LABEL_ENTRY, 1, to(young));
  expect_clean();
  drop_register(3);
  drop_register(4);
  collect_young();
  young->object.age = SUBJECT_AGE_SURVIVAL;
  expect_clean();
  old->object.age = SUBJECT_AGE_SURVIVAL;
  collect_young();
  expect(LAW_LIVENESS_MINOR);
}

/* What a barrier has marked survives the next collection. */
static void
test_liveness_lets_what_was_marked_be(void **state)
{
  (void)state;
  begin_by_age();
  struct drawn *table = make_table_at(3);
  expect_clean();
  collect_young();
  table->object.age = SUBJECT_AGE_SURVIVAL;
  drop_register(3);
  begin_operation(OP_SETTOP, 8, 0, 0);
  enter(SUBJECT_PHASE_PROPAGATE);
  recolour(table, SUBJECT_WHITE_CURRENT, SUBJECT_GREY);
  end_operation(SUBJECT_DONE);
  collect_young();
  expect_clean();
  collect_young();
  expect(LAW_LIVENESS_MINOR);
}

static void
test_liveness_knows_no_ages_in_incremental_cycles(void **state)
{
  (void)state;
  begin_by_age();
  make_table_at(3);
  expect_clean();
  drop_register(3);
  page.heap.by_age = false; /* a bad major collection goes on */
  collect_young();
  expect_clean();
}

static void
test_liveness_trips_every_law(void **state)
{
  (void)state;
  expect_tripped(laws, sizeof laws / sizeof laws[0]);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_liveness_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(finds_garbage),
      T(leaves_other_operations_alone),
      T(counts_collections),
      T(finds_strings_that_nothing_refers_to),
      T(lets_be_what_was_dropped_in_it),
      T(finds_the_weak_entry_behind_garbage),
      T(finds_a_finalizer_that_is_due),
      T(lets_finalizers_wait),
      T(finds_one_that_waited_before),
      T(finds_the_finalized_that_stay),
      T(finds_young_garbage),
      T(lets_old_garbage_be),
      T(lets_what_was_marked_be),
      T(knows_no_ages_in_incremental_cycles),
      T(trips_every_law),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
