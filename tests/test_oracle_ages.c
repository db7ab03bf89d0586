/* SPDX-License-Identifier: MIT
 *
 * The laws of ages, of what minor collections leave, and of emergency
 * collections: each is tripped by a heap or by events drawn by hand, and left
 * alone by a near miss.
 */
#include "tests/oracle_fixture.h"

/* The laws that are tripped here. */
static const enum law laws[] = {
    LAW_OLD_TO_YOUNG,  LAW_RECENT_TO_NEW, LAW_AGE_COLOUR,
    LAW_AGE_TOUCHED,   LAW_AGE_SEGMENT,   LAW_AGE_CHANGE,
    LAW_MINOR_FREES_OLD, LAW_AGE_INCREMENTAL, LAW_EMERGENCY,
    LAW_LIVENESS_MINOR, LAW_LIVENESS_FINALIZER};

static struct drawn *string; /* in r1, after rest() */

static void
age(struct drawn *drawn, uint8_t to)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_AGED,
                              .base = drawn->object.base,
                              .kind = drawn->object.kind,
                              .from = drawn->object.age,
                              .to = to});
  drawn->object.age = to;
}

/* All that is drawn is old and black; coroutines are grey and listed. */
static void
enter_generations(void)
{
  begin_operation(OP_MODE, OP_MODE_GENERATIONAL, 0, 0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  pass(SUBJECT_PHASE_PROPAGATE);
  pass(SUBJECT_PHASE_ATOMIC);
  pass(SUBJECT_PHASE_SWEEP);
  tell_mode(OP_MODE_GENERATIONAL);
  for (unsigned i = 1; i < page.count; i++) {
    age(&page.drawn[i], SUBJECT_AGE_OLD);
    page.drawn[i].object.segment = SUBJECT_SEGMENT_OLD;
    paint(&page.drawn[i], SUBJECT_BLACK);
  }
  paint(thread, SUBJECT_GREY);
  list_grey(thread);
  end_minor();
  end_operation(SUBJECT_DONE);
  page.heap.mode = OP_MODE_GENERATIONAL;
  page.heap.by_age = true;
}

/* A table in r0 that holds the string in r1, both old, between collections. */
static struct drawn *
rest(void)
{
  traits.ages = true;
  traits.generational = true;
  begin();
  struct drawn *table = make_pair(&string);
  enter_generations();
  expect_clean();
  return table;
}

/* A minor collection that makes it so old. */
static void
grow(struct drawn *drawn, uint8_t to)
{
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_minor();
  age(drawn, to);
  end_minor();
  end_operation(SUBJECT_DONE);
}

/* A back barrier has done its work. */
static void
touch(struct drawn *table)
{
  recolour(table, SUBJECT_BLACK, SUBJECT_GREY);
  age(table, SUBJECT_AGE_TOUCHED1);
  paint(table, SUBJECT_GREY);
  list_grey(table);
}

static void
test_ages_finds_old_that_refers_to_young(void **state)
{
  (void)state;
  rest();
  struct drawn *young = make_table_at(2); /* a coroutine may */
  expect_clean();
  operate(OP_SETGLOBAL, 3, 2, 0);
  struct subject_edge *edge =
      draw_edge(globals, SUBJECT_LABEL_ENTRY, 0, to(young));
  edge->key = to(string); /* never mind the name: ages come first */
  edge->value_strength = SUBJECT_WEAK;
  look(ORACLE_INSIDE);
  expect_none();
  edge->value_strength = SUBJECT_STRONG;
  look(ORACLE_INSIDE);
  expect_finding(LAW_OLD_TO_YOUNG);
  expect_text("black old table");
  expect_text("new table");
  expect_detail(", old;");
}

static void
test_ages_lets_touched_and_marked_keep_young(void **state)
{
  (void)state;
  struct drawn *table = rest();
  struct drawn *young = make_table_at(2);
  operate(OP_SETI, 0, 2, 2);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 2, to(young));
  touch(table);
  expect_clean();
  page.grey_count = 1; /* dropped from the list */
  expect(LAW_AGE_TOUCHED);
}

static void
test_ages_finds_touched_of_a_wrong_colour(void **state)
{
  (void)state;
  struct drawn *table = rest();
  age(table, SUBJECT_AGE_TOUCHED1);
  list_grey(table);
  expect(LAW_AGE_TOUCHED);
  expect_text("is not grey");
  table = rest();
  age(table, SUBJECT_AGE_TOUCHED1);
  grow(table, SUBJECT_AGE_TOUCHED2);
  list_grey(table);
  expect_clean(); /* black, and listed though */
  paint(table, SUBJECT_GREY);
  expect(LAW_AGE_TOUCHED);
}

/* A new table in r3 that one in r2 holds, which has just turned old1. */
static struct drawn *
make_new_in_old1(void)
{
  rest();
  struct drawn *parent = make_table_at(2);
  grow(parent, SUBJECT_AGE_SURVIVAL);
  grow(parent, SUBJECT_AGE_OLD1);
  paint(parent, SUBJECT_BLACK);
  struct drawn *child = make_table_at(3);
  operate(OP_SETI, 2, 1, 3);
  draw_edge(parent, SUBJECT_LABEL_ENTRY, 1, to(child));
  return child;
}

static void
test_ages_finds_recent_that_refers_to_new(void **state)
{
  (void)state;
  struct drawn *child = make_new_in_old1();
  tell((struct subject_event){.type = SUBJECT_EVENT_AGED,
                              .base = child->object.base,
                              .to = SUBJECT_AGE_OLD0});
  child->object.age = SUBJECT_AGE_OLD0;
  paint(child, SUBJECT_BLACK);
  expect_clean();
  child->object.age = SUBJECT_AGE_NEW;
  look(ORACLE_INSIDE);
  expect_finding(LAW_AGE_COLOUR); /* black, by no barrier */
  make_new_in_old1();
  expect(LAW_RECENT_TO_NEW);
}

static void
test_ages_lets_old0_refer_to_what_is_marked(void **state)
{
  (void)state;
  rest();
  operate(OP_NEWUD, 2, 0, 0);
  struct drawn *leaf = draw(SUBJECT_KIND_USERDATA);
  draw_register(2, to(leaf));
  struct drawn *child = make_table_at(3);
  operate(OP_SETMETA, 2, 3, 0);
  draw_edge(leaf, SUBJECT_LABEL_METATABLE, 0, to(child));
  recolour(leaf, SUBJECT_WHITE_CURRENT, SUBJECT_BLACK);
  recolour(child, SUBJECT_WHITE_CURRENT, SUBJECT_GREY);
  age(leaf, SUBJECT_AGE_OLD0);
  paint(leaf, SUBJECT_BLACK);
  paint(child, SUBJECT_GREY);
  list_grey(child);
  expect_clean();
  page.grey_count -= 1;
  paint(child, SUBJECT_WHITE_CURRENT);
  expect(LAW_RECENT_TO_NEW);
}

static void
test_ages_finds_wrong_colours(void **state)
{
  (void)state;
  struct drawn *table = rest();
  paint(table, SUBJECT_WHITE_CURRENT);
  expect(LAW_AGE_COLOUR);
  expect_text("is white");
  table = rest();
  paint(table, SUBJECT_GREY);
  list_grey(table);
  expect(LAW_AGE_COLOUR);
  expect_text("is grey");
  rest();
  struct drawn *young = make_table_at(2);
  recolour(young, SUBJECT_WHITE_CURRENT, SUBJECT_GREY);
  paint(young, SUBJECT_GREY);
  list_grey(young);
  expect_clean(); /* a barrier has done it */
  grow(young, SUBJECT_AGE_SURVIVAL);
  expect(LAW_AGE_COLOUR);
}

static void
test_ages_lets_coroutines_upvalues_and_names_be_grey(void **state)
{
  struct drawn *upvalue;
  (void)state;
  traits.ages = traits.generational = true;
  begin();
  make_closure(&upvalue);
  struct drawn *name = draw_string("__index");
  name->object.flags |= SUBJECT_OBJECT_FIXED;
  name->object.list = SUBJECT_LIST_FIXED;
  enter_generations();
  paint(upvalue, SUBJECT_GREY);
  paint(name, SUBJECT_GREY);
  expect_clean();
  paint(thread, SUBJECT_BLACK); /* as one that has just turned old1 */
  page.grey_count = 0;
  expect_clean();
  paint(thread, SUBJECT_WHITE_CURRENT);
  expect(LAW_AGE_COLOUR);
}

/* A new table in r2. Births come first in the list. */
static struct drawn *
make_first(void)
{
  rest();
  struct drawn copy = *make_table_at(2);
  copy.object.segment = SUBJECT_SEGMENT_NEW;
  memmove(&page.drawn[2], &page.drawn[1],
          (page.count - 2) * sizeof page.drawn[0]);
  page.drawn[1] = copy;
  expect_clean();
  return &page.drawn[1];
}

static void
test_ages_finds_young_in_a_part_of_old_ones(void **state)
{
  (void)state;
  make_first()->object.segment = SUBJECT_SEGMENT_SURVIVAL;
  expect(LAW_AGE_SEGMENT);
}

static void
test_ages_finds_what_stays_in_its_part(void **state)
{
  (void)state;
  struct drawn *young = make_first();
  grow(young, SUBJECT_AGE_SURVIVAL);
  young->object.segment = SUBJECT_SEGMENT_SURVIVAL;
  expect_clean();
  young->object.segment = SUBJECT_SEGMENT_NEW;
  expect(LAW_AGE_SEGMENT);
  expect_text("moved on");
}

static void
test_ages_lets_what_returns_to_its_list_lie_first(void **state)
{
  (void)state;
  rest();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_minor();
  end_minor();
  end_operation(SUBJECT_DONE);
  page.drawn[1].object.segment = SUBJECT_SEGMENT_NEW;
  tell((struct subject_event){.type = SUBJECT_EVENT_RELISTED,
                              .base = page.drawn[1].object.base,
                              .from = SUBJECT_LIST_PENDING,
                              .to = SUBJECT_LIST_ALL});
  expect_clean();
}

static void
test_ages_finds_parts_out_of_order(void **state)
{
  (void)state;
  struct drawn *table = rest();
  page.drawn[1].object.segment = SUBJECT_SEGMENT_NEW; /* older may lie there */
  expect_clean();
  table->object.segment = SUBJECT_SEGMENT_SURVIVAL;
  expect(LAW_AGE_SEGMENT);
  expect_text("comes after");
}

static void
test_ages_finds_changes_that_are_not_due(void **state)
{
  (void)state;
  struct drawn *table = rest();
  age(table, SUBJECT_AGE_OLD1);
  expect_finding(LAW_AGE_CHANGE);
  rest();
  operate(OP_NEWTABLE, 2, 0, 0);
  struct drawn *young = draw(SUBJECT_KIND_TABLE);
  age(young, SUBJECT_AGE_SURVIVAL); /* outside of a collection */
  expect_finding(LAW_AGE_CHANGE);
  rest();
  young = draw(SUBJECT_KIND_TABLE);
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_minor();
  age(young, SUBJECT_AGE_SURVIVAL);
  expect_none();
  end_minor();
  begin_minor();
  age(young, SUBJECT_AGE_OLD);
  expect_finding(LAW_AGE_CHANGE);
  begin();
  young = draw(SUBJECT_KIND_TABLE);
  age(young, SUBJECT_AGE_OLD); /* cycles are incremental */
  expect_finding(LAW_AGE_CHANGE);
}

/* What an old upvalue takes over from a coroutine that dies is made old while
 * the mark goes on; later it is too late. */
static void
test_ages_lets_the_atomic_phase_make_old0(void **state)
{
  (void)state;
  rest();
  operate(OP_NEWTABLE, 2, 0, 0);
  struct drawn *young = draw(SUBJECT_KIND_TABLE);
  begin_operation(OP_MINOR, 1, 0, 0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  pass(SUBJECT_PHASE_ATOMIC);
  age(young, SUBJECT_AGE_OLD0);
  expect_none();
  pass(SUBJECT_PHASE_SWEEP);
  age(young, SUBJECT_AGE_OLD1);
  expect_none();
  rest();
  operate(OP_NEWTABLE, 2, 0, 0);
  young = draw(SUBJECT_KIND_TABLE);
  begin_operation(OP_MINOR, 1, 0, 0);
  begin_minor();
  age(young, SUBJECT_AGE_OLD0);
  expect_finding(LAW_AGE_CHANGE);
}

static void
test_ages_finds_what_does_not_grow_older(void **state)
{
  (void)state;
  rest();
  struct drawn *young = make_table_at(2);
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_minor();
  struct drawn *born = draw(SUBJECT_KIND_TABLE); /* by a finalizer */
  draw_edge(root, SUBJECT_LABEL_INTERNAL, 0, to(born));
  end_minor();
  end_operation(SUBJECT_DONE);
  look(ORACLE_INSIDE);
  expect_finding(LAW_AGE_CHANGE);
  expect_text("has not grown older");
  rest();
  young = make_table_at(2);
  young->object.age = SUBJECT_AGE_OLD0; /* without an event */
  paint(young, SUBJECT_BLACK);
  expect(LAW_AGE_CHANGE);
}

static void
kill(struct drawn *drawn)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_DEATH,
                              .base = drawn->object.base,
                              .kind = drawn->object.kind,
                              .from = SUBJECT_WHITE_OTHER});
}

static void
test_ages_finds_old_that_a_minor_collection_frees(void **state)
{
  (void)state;
  traits.ages = traits.generational = true;
  begin();
  struct drawn *lost = draw(SUBJECT_KIND_TABLE);
  struct drawn *other = draw(SUBJECT_KIND_TABLE);
  make_pair(&string);
  enter_generations();
  struct drawn *young = draw(SUBJECT_KIND_TABLE);
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_minor();
  kill(young);
  erase(young);
  expect_none();
  end_minor();
  /* A major one leaves generational cycles first. */
  step(SUBJECT_EVENT_STEP_BEGIN);
  pass(SUBJECT_PHASE_SWEEP);
  tell_mode(OP_MODE_INCREMENTAL);
  for (unsigned i = 1; i < page.count; i++)
    if (!page.drawn[i].hidden)
      age(&page.drawn[i], SUBJECT_AGE_NEW);
  pass(SUBJECT_PHASE_SWEEP_FINALIZABLE);
  pass(SUBJECT_PHASE_SWEEP_PENDING);
  pass(SUBJECT_PHASE_SWEEP_END);
  pass(SUBJECT_PHASE_FINALIZE);
  pass(SUBJECT_PHASE_PAUSE);
  pass(SUBJECT_PHASE_PROPAGATE);
  pass(SUBJECT_PHASE_ATOMIC);
  pass(SUBJECT_PHASE_SWEEP);
  tell_mode(OP_MODE_GENERATIONAL);
  kill(lost);
  erase(lost);
  for (unsigned i = 1; i < page.count; i++)
    if (!page.drawn[i].hidden)
      age(&page.drawn[i], SUBJECT_AGE_OLD);
  end_minor();
  end_operation(SUBJECT_DONE);
  expect_none();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_minor();
  kill(other);
  expect_finding(LAW_MINOR_FREES_OLD);
  expect_text("old table");
}

static void
test_ages_finds_ages_in_incremental_cycles(void **state)
{
  (void)state;
  traits.ages = true;
  begin();
  struct drawn *table = make_table();
  struct drawn *name = draw_string("__index");
  name->object.flags |= SUBJECT_OBJECT_FIXED;
  name->object.list = SUBJECT_LIST_FIXED;
  name->object.age = SUBJECT_AGE_OLD;
  expect_clean();
  table->object.age = SUBJECT_AGE_SURVIVAL;
  expect(LAW_AGE_INCREMENTAL);
}

/* Where a sweep takes them away, what it has not been at may have one. */
static void
test_ages_finds_ages_that_a_sweep_left(void **state)
{
  (void)state;
  traits.ages = traits.ages_swept = true;
  begin();
  struct drawn *table = make_table();
  enter_sweep();
  table->object.age = SUBJECT_AGE_SURVIVAL;
  expect_clean();
  table->object.flags |= SUBJECT_OBJECT_SWEPT;
  paint(table, SUBJECT_WHITE_CURRENT);
  expect(LAW_AGE_INCREMENTAL);
}

static void
test_ages_finds_phases_of_another_mode(void **state)
{
  (void)state;
  rest();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  tell_phase(SUBJECT_PHASE_PROPAGATE, SUBJECT_PHASE_ENTER_ATOMIC);
  expect_finding(LAW_PHASE_CHANGE);
  begin();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  pass(SUBJECT_PHASE_PROPAGATE);
  tell_phase(SUBJECT_PHASE_PROPAGATE, SUBJECT_PHASE_ATOMIC);
  expect_finding(LAW_PHASE_CHANGE);
}

/* ---- what minor collections leave ------------------------------------ */

/* A new table in r2, and an old one in r0. */
static struct drawn *
rest_with_young(struct drawn **ret_young)
{
  struct drawn *table = rest();
  *ret_young = make_table_at(2);
  expect_clean();
  return table;
}

static void
drop_young(void)
{
  drop_register(2);
  expect_clean();
}

static void
survive(struct drawn *young)
{
  begin_operation(OP_MINOR, 1, 0, 0);
  begin_minor();
  age(young, SUBJECT_AGE_SURVIVAL);
  end_minor();
  end_operation(SUBJECT_DONE);
}

static void
test_liveness_finds_young_garbage(void **state)
{
  struct drawn *young;
  (void)state;
  rest_with_young(&young);
  survive(young); /* in use */
  expect_clean();
  rest_with_young(&young);
  drop_young();
  operate(OP_MINOR, 0, 0, 0); /* no collection */
  expect_clean();
  survive(young);
  expect(LAW_LIVENESS_MINOR);
  expect_text("minor collection");
}

static void
test_liveness_finds_what_still_waits(void **state)
{
  struct drawn *young;
  (void)state;
  rest_with_young(&young);
  traits.errors_contained = traits.errors_warned = true;
  young->object.list = SUBJECT_LIST_PENDING;
  operate(OP_MINOR, 0, 0, 0); /* no collection */
  expect_clean();
  survive(young);
  expect(LAW_LIVENESS_FINALIZER);
  expect_text("still waits");
}

static void
test_liveness_lets_barriers_keep_young_garbage(void **state)
{
  struct drawn *young;
  (void)state;
  rest_with_young(&young);
  recolour(young, SUBJECT_WHITE_CURRENT, SUBJECT_GREY);
  paint(young, SUBJECT_GREY);
  list_grey(young);
  drop_young();
  page.grey_count -= 1;
  paint(young, SUBJECT_WHITE_CURRENT);
  survive(young);
  expect_clean();
}

static void
test_liveness_lets_old_garbage_keep_young(void **state)
{
  struct drawn *young;
  (void)state;
  struct drawn *table = rest_with_young(&young);
  operate(OP_SETI, 0, 2, 2);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 2, to(young));
  touch(table);
  drop_young();
  operate(OP_NIL, 0, 0, 0);
  thread->edges[0].value = (struct subject_value){.tag = SUBJECT_NIL};
  expect_clean();
  begin_operation(OP_MINOR, 1, 0, 0);
  begin_minor();
  age(young, SUBJECT_AGE_SURVIVAL);
  age(table, SUBJECT_AGE_TOUCHED2);
  paint(table, SUBJECT_BLACK);
  end_minor();
  end_operation(SUBJECT_DONE);
  expect_clean();
}

/* ---- emergencies ----------------------------------------------------- */

static void
refuse(uint32_t size)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_REFUSED, .size = size});
}

static void
tell_emergency(uint8_t begins)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_EMERGENCY, .to = begins});
}

static void
begin_creation(void)
{
  traits.emergency = true;
  begin();
  begin_operation(OP_NEWTABLE, 0, 0, 0);
}

static void
collect_whole(void)
{
  tell_emergency(1);
  step(SUBJECT_EVENT_STEP_BEGIN);
  enter(SUBJECT_PHASE_PROPAGATE);
  enter(SUBJECT_PHASE_SWEEP);
  enter(SUBJECT_PHASE_PAUSE);
  step(SUBJECT_EVENT_STEP_END);
  tell_emergency(0);
}

static void
test_emergency_that_is_due_is_no_finding(void **state)
{
  (void)state;
  begin_creation();
  refuse(40);
  collect_whole();
  refuse(40);
  end_operation(SUBJECT_NO_MEMORY);
  expect_none();
  begin_creation();
  refuse(40);
  collect_whole();
  draw(SUBJECT_KIND_TABLE); /* cured */
  end_operation(SUBJECT_DONE);
  expect_none();
  begin_creation();
  step(SUBJECT_EVENT_STEP_BEGIN);
  refuse(40); /* what shrinks inside a step can do without */
  step(SUBJECT_EVENT_STEP_END);
  end_operation(SUBJECT_NO_MEMORY);
  expect_none();
}

static void
test_emergency_that_is_missing_is_found(void **state)
{
  (void)state;
  begin_creation();
  refuse(40);
  end_operation(SUBJECT_NO_MEMORY);
  expect_finding(LAW_EMERGENCY);
  expect_text("no collection was made");
  begin_creation();
  refuse(40);
  allocate(8);
  expect_finding(LAW_EMERGENCY);
  begin_creation();
  refuse(40);
  collect_whole();
  end_operation(SUBJECT_NO_MEMORY);
  expect_finding(LAW_EMERGENCY);
  expect_text("not tried again");
  begin_creation();
  refuse(40);
  tell_emergency(1);
  end_operation(SUBJECT_NO_MEMORY);
  expect_finding(LAW_EMERGENCY);
  expect_text("to its end");
}

static void
test_emergency_that_is_not_whole_is_found(void **state)
{
  (void)state;
  begin_creation();
  step(SUBJECT_EVENT_STEP_BEGIN);
  enter(SUBJECT_PHASE_PROPAGATE);
  step(SUBJECT_EVENT_STEP_END);
  refuse(40);
  tell_emergency(1);
  enter(SUBJECT_PHASE_PAUSE); /* only the rest of a cycle */
  tell_emergency(0);
  expect_finding(LAW_EMERGENCY);
  expect_text("no whole one");
}

/* Who tells of emergencies alone cannot show that one was whole. */
static void
test_emergency_is_asked_of_who_tells_of_it(void **state)
{
  (void)state;
  for (int tells = 0; tells < 2; tells++) {
    subject.capabilities &= ~(uint32_t)SUBJECT_CAN_EVENTS;
    subject.capabilities |= tells ? SUBJECT_CAN_TELL_EMERGENCIES : 0;
    begin_creation();
    refuse(40);
    if (tells) {
      tell_emergency(1);
      tell_emergency(0);
      refuse(40);
      expect_none();
      refuse(40);
    }
    end_operation(SUBJECT_NO_MEMORY);
    if (tells)
      expect_finding(LAW_EMERGENCY);
    else
      expect_none();
  }
}

/* None is owed for a stack that grows [T], nor for what may be one: the
 * fixture's coroutine has a part, its table has one, and a third block nobody
 * has. */
static void
test_emergency_for_a_stack_is_owed_by_trait(void **state)
{
  (void)state;
  for (int owed = 0; owed < 2; owed++) {
    for (int which = 0; which < 3; which++) {
      traits.emergency = true;
      traits.emergency_stacks = owed;
      begin();
      struct drawn *table = make_table();
      draw_part(table, 64);
      expect_clean();
      begin_operation(OP_NEWTABLE, 0, 0, 0);
      uint64_t base = which == 0   ? thread->parts[0]
                      : which == 1 ? table->parts[0]
                                   : allocate(32);
      tell((struct subject_event){
          .type = SUBJECT_EVENT_REFUSED, .base = base, .size = 128});
      end_operation(SUBJECT_NO_MEMORY);
      if (owed || which == 1)
        expect_finding(LAW_EMERGENCY);
      else
        expect_none();
    }
  }
}

static void
test_emergency_while_stopped_is_owed_by_trait(void **state)
{
  (void)state;
  for (int owed = 0; owed < 2; owed++) {
    traits.emergency = true;
    traits.emergency_stopped = owed;
    begin();
    operate(OP_STOP, 0, 0, 0);
    begin_operation(OP_NEWTABLE, 0, 0, 0);
    refuse(40);
    end_operation(SUBJECT_NO_MEMORY);
    if (owed)
      expect_finding(LAW_EMERGENCY);
    else
      expect_none();
  }
}

static void
test_emergency_that_cured_forbids_to_fail(void **state)
{
  (void)state;
  begin_creation();
  refuse(40);
  collect_whole();
  draw(SUBJECT_KIND_TABLE);
  end_operation(SUBJECT_NO_MEMORY);
  expect_finding(LAW_FAILED_OP);
  expect_text("given after all");
}

static void
test_every_law_of_ages_was_tripped(void **state)
{
  (void)state;
  expect_tripped(laws, sizeof laws / sizeof laws[0]);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(ages_finds_old_that_refers_to_young),
      T(ages_lets_touched_and_marked_keep_young),
      T(ages_finds_touched_of_a_wrong_colour),
      T(ages_finds_recent_that_refers_to_new),
      T(ages_lets_old0_refer_to_what_is_marked),
      T(ages_finds_wrong_colours),
      T(ages_lets_coroutines_upvalues_and_names_be_grey),
      T(ages_finds_young_in_a_part_of_old_ones),
      T(ages_finds_what_stays_in_its_part),
      T(ages_lets_what_returns_to_its_list_lie_first),
      T(ages_finds_parts_out_of_order),
      T(ages_finds_changes_that_are_not_due),
      T(ages_lets_the_atomic_phase_make_old0),
      T(ages_finds_what_does_not_grow_older),
      T(ages_finds_old_that_a_minor_collection_frees),
      T(ages_finds_ages_in_incremental_cycles),
      T(ages_finds_ages_that_a_sweep_left),
      T(ages_finds_phases_of_another_mode),
      T(liveness_finds_young_garbage),
      T(liveness_finds_what_still_waits),
      T(liveness_lets_barriers_keep_young_garbage),
      T(liveness_lets_old_garbage_keep_young),
      T(emergency_that_is_due_is_no_finding),
      T(emergency_that_is_missing_is_found),
      T(emergency_that_is_not_whole_is_found),
      T(emergency_is_asked_of_who_tells_of_it),
      T(emergency_for_a_stack_is_owed_by_trait),
      T(emergency_while_stopped_is_owed_by_trait),
      T(emergency_that_cured_forbids_to_fail),
      T(every_law_of_ages_was_tripped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
