/* SPDX-License-Identifier: MIT
 *
 * The laws of finalizers: each is tripped by events or by a heap drawn by hand,
 * and left alone by a near miss.
 */
#include "tests/oracle_collect_fixture.h"

static const enum law laws[] = {
    LAW_FINALIZERS_NOT_DEAD,   LAW_FINALIZERS_TWICE,
    LAW_FINALIZERS_ORDER,      LAW_FINALIZERS_LOST,
    LAW_FINALIZERS_SAME_CYCLE, LAW_FINALIZERS_EMERGENCY,
    LAW_FINALIZERS_ERROR,      LAW_FINALIZERS_AT_CLOSE,
    LAW_FINALIZERS_MOMENT};

/* A dead table that is owed a finalizer. */
static struct drawn *dying;

static void
draw_dying(int32_t behaviour)
{
  begin_colourless();
  dying = make_finalizable(3, behaviour);
  drop_register(3);
  expect_clean();
}

/* In a micro-step it is separated; then the finalizers' turn comes. */
static void
begin_finalizing(int32_t behaviour)
{
  draw_dying(behaviour);
  begin_atomic();
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
}

/* ---- a whole life ---------------------------------------------------- */

static void
test_finalizers_lets_a_call_be(void **state)
{
  const struct oracle_stats *stats = oracle_statistics(oracle);
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_NOTHING);
  call(dying);
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_atomic();
  enter(SUBJECT_PHASE_SWEEP);
  erase(dying);
  erase(&page.drawn[page.count - 1]); /* its metatable */
  end_operation(SUBJECT_DONE);
  expect_clean();
  assert_int_equal(stats->law[LAW_FINALIZERS_NOT_DEAD], 1);
  assert_int_equal(stats->law[LAW_FINALIZERS_ORDER], 1);
  assert_int_equal(stats->law[LAW_FINALIZERS_SAME_CYCLE], 1);
}

/* What it saves is alive again, and is bound. */
static void
test_finalizers_follows_what_is_saved(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_SAVE);
  begin_call(dying);
  draw_entry(globals, to(name_of("g0")), to(dying));
  end_call(dying, false);
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  erase(dying);
  expect_finding(LAW_FREED_LIVE);
  expect_text("globals.g0");
}

/* A table that a finalizer breeds is referred to by nothing and owed one. */
static void
test_finalizers_binds_what_is_bred(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_BREED);
  begin_call(dying);
  struct drawn *bred = draw(SUBJECT_KIND_TABLE);
  bred->edges[bred->edge_count++] = dying->edges[0];
  relist(bred, SUBJECT_LIST_FINALIZABLE);
  bred->object.flags |= SUBJECT_OBJECT_MARKED;
  end_call(dying, false);
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_atomic();
  separate(bred);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(bred);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
}

/* Where no births are told it is known by its mark: in the next survey, or when
 * it is called in the same operation. */
static struct drawn *
breed_unseen(void)
{
  begin_silent();
  dying = make_finalizable(3, OP_BEHAVIOUR_BREED);
  drop_register(3);
  expect_clean();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_call(dying);
  struct drawn *bred = draw_untold(SUBJECT_KIND_TABLE);
  bred->edges[bred->edge_count++] = dying->edges[0];
  bred->object.flags |= SUBJECT_OBJECT_MARKED;
  end_call(dying, false);
  return bred;
}

static void
test_finalizers_binds_what_is_bred_unseen(void **state)
{
  (void)state;
  struct drawn *bred = breed_unseen();
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  erase(bred);
  expect_finding(LAW_FINALIZERS_LOST);
  bred = breed_unseen();
  end_operation(SUBJECT_DONE);
  expect_clean();
  bred->object.flags = 0;
  expect(LAW_FINALIZERS_LOST);
}

static void
test_finalizers_knows_what_is_bred_and_called_unseen(void **state)
{
  (void)state;
  struct drawn *bred = breed_unseen();
  begin_call(bred);
  expect_none();
  struct drawn *next = draw_untold(SUBJECT_KIND_TABLE);
  next->edges[next->edge_count++] = dying->edges[0];
  next->object.flags |= SUBJECT_OBJECT_MARKED;
  end_call(bred, false);
  end_operation(SUBJECT_DONE);
  expect_clean();
}

/* ---- separation ------------------------------------------------------ */

static void
test_finalizers_finds_the_living_separated(void **state)
{
  (void)state;
  begin_colourless();
  dying = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
  begin_atomic();
  separate(dying);
  expect_finding(LAW_FINALIZERS_NOT_DEAD);
  expect_text("frame[0].r3");
}

static void
test_finalizers_lets_a_mutator_drop_what_is_separated(void **state)
{
  (void)state;
  for (int drops = 0; drops < 2; drops++) {
    begin_colourless();
    dying = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
    begin_operation(OP_NEWTABLE, drops ? 3 : 4, 0, 0);
    struct drawn *fresh = draw(SUBJECT_KIND_TABLE);
    enter(SUBJECT_PHASE_ATOMIC);
    separate(dying);
    enter(SUBJECT_PHASE_SWEEP);
    expect_none();
    end_operation(SUBJECT_DONE);
    if (!drops) {
      expect_finding(LAW_FINALIZERS_NOT_DEAD);
      continue;
    }
    undraw_register(3);
    draw_register(3, to(fresh));
    expect_clean();
  }
}

static void
test_finalizers_finds_a_call_without_separation(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  begin_call(dying);
  expect_finding(LAW_FINALIZERS_NOT_DEAD);
}

/* ---- as often as it is owed ------------------------------------------ */

static void
test_finalizers_finds_a_second_call(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_NOTHING);
  call(dying);
  begin_call(dying);
  expect_finding(LAW_FINALIZERS_TWICE);
  expect_text("is called and is not owed");
}

static void
test_finalizers_lets_a_marked_one_be_called_again(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_REMARK);
  begin_call(dying);
  relist(dying, SUBJECT_LIST_FINALIZABLE);
  dying->object.flags |= SUBJECT_OBJECT_MARKED;
  end_call(dying, false);
  end_operation(SUBJECT_DONE);
  expect_clean();
  begin_atomic();
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
}

static void
test_finalizers_finds_a_mark_that_is_not_owed(void **state)
{
  struct drawn *table;
  (void)state;
  begin_colourless();
  table = make_table();
  expect_clean();
  table->object.flags |= SUBJECT_OBJECT_MARKED;
  expect(LAW_FINALIZERS_TWICE);
  expect_text("no finalizer is owed to it");
}

/* ---- order ----------------------------------------------------------- */

/* Two dead ones, the second of which was marked later. */
static struct drawn *other;

static void
draw_two(void)
{
  draw_dying(OP_BEHAVIOUR_NOTHING);
  other = make_finalizable(4, OP_BEHAVIOUR_NOTHING);
  drop_register(4);
  expect_clean();
}

static void
test_finalizers_finds_the_first_marked_called_first(void **state)
{
  (void)state;
  draw_two();
  begin_atomic();
  separate(dying);
  separate(other);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  expect_finding(LAW_FINALIZERS_ORDER);
  expect_text("which was marked later");
  draw_two();
  begin_atomic();
  separate(dying);
  separate(other);
  enter(SUBJECT_PHASE_FINALIZE);
  call(other);
  call(dying);
  end_operation(SUBJECT_DONE);
  expect_clean();
}

static void
test_finalizers_finds_a_new_batch_called_first(void **state)
{
  (void)state;
  for (int is_late = 0; is_late < 2; is_late++) {
    draw_two();
    begin_atomic();
    separate(dying);
    end_atomic(SUBJECT_PHASE_PAUSE);
    begin_atomic();
    separate(other);
    enter(SUBJECT_PHASE_FINALIZE);
    begin_call(is_late ? other : dying);
    if (is_late) {
      expect_finding(LAW_FINALIZERS_ORDER);
      expect_text("which has waited longer");
    } else {
      assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
    }
  }
}

/* Before 5.2 it is the order of creation that is reversed. */
static void
test_finalizers_goes_by_creation_where_that_counts(void **state)
{
  (void)state;
  for (int by_birth = 0; by_birth < 2; by_birth++) {
    begin_colourless();
    traits.order_of_marking = !by_birth;
    dying = make_table_at(3);
    other = make_finalizable(4, OP_BEHAVIOUR_NOTHING);
    operate(OP_GETMETA, 5, 4, 0);
    draw_register(5, other->edges[0].value);
    operate(OP_SETMETA, 3, 5, 0);
    dying->edges[dying->edge_count++] = other->edges[0];
    dying->object.flags |= SUBJECT_OBJECT_MARKED;
    expect_clean();
    drop_register(3);
    drop_register(4);
    begin_atomic();
    separate(other);
    separate(dying);
    enter(SUBJECT_PHASE_FINALIZE);
    begin_call(dying);
    if (!by_birth) {
      expect_none();
    } else {
      expect_finding(LAW_FINALIZERS_ORDER);
      expect_text("which was made later");
    }
  }
}

/* ---- lost ------------------------------------------------------------ */

static void
test_finalizers_finds_one_freed_while_owed(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  begin_atomic();
  enter(SUBJECT_PHASE_SWEEP);
  erase(dying);
  expect_finding(LAW_FINALIZERS_LOST);
  expect_text("was freed, and its finalizer is owed");
}

/* What a finalizer that is owed can reach has to live as well. */
static void
test_finalizers_holds_what_can_be_reached(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  begin_atomic();
  enter(SUBJECT_PHASE_SWEEP);
  erase(&page.drawn[page.count - 1]); /* its metatable */
  expect_finding(LAW_FREED_LIVE);
  expect_text("a finalizer that is owed can reach it");
}

static void
test_finalizers_finds_one_that_waits_no_more(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_NOTHING);
  relist(dying, SUBJECT_LIST_ALL);
  expect_none();
  end_operation(SUBJECT_DONE);
  expect_finding(LAW_FINALIZERS_LOST);
  expect_text("its finalizer was not called");
}

static void
test_finalizers_finds_a_mark_that_is_gone(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  dying->object.flags = 0;
  expect(LAW_FINALIZERS_LOST);
  draw_dying(OP_BEHAVIOUR_NOTHING);
  dying->hidden = true;
  page.drawn[page.count - 1].hidden = true;
  expect(LAW_FINALIZERS_LOST);
  expect_text("is nowhere");
}

/* What cannot be called is warned of, and owed no more. */
static void
test_finalizers_lets_what_is_no_function_go(void **state)
{
  (void)state;
  for (int warns = 0; warns < 2; warns++) {
    begin_finalizing(OP_BEHAVIOUR_NUMBER);
    relist(dying, SUBJECT_LIST_ALL);
    dying->object.flags = 0;
    if (warns)
      warn();
    end_operation(SUBJECT_DONE);
    if (warns)
      expect_clean();
    else
      expect_finding(LAW_FINALIZERS_ERROR);
  }
}

static void
test_finalizers_lets_it_go_unseen(void **state)
{
  (void)state;
  begin_silent();
  dying = make_finalizable(3, OP_BEHAVIOUR_NUMBER);
  drop_register(3);
  expect_clean();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  end_operation(SUBJECT_DONE);
  dying->object.flags = 0;
  expect_clean();
}

/* ---- too early ------------------------------------------------------- */

static void
test_finalizers_finds_one_freed_in_its_cycle(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_NOTHING);
  call(dying);
  erase(dying);
  expect_finding(LAW_FINALIZERS_SAME_CYCLE);
}

static void
test_finalizers_finds_one_dead_before_its_call(void **state)
{
  (void)state;
  set_collecting_traits();
  begin();
  dying = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
  drop_register(3);
  expect_clean();
  begin_atomic();
  separate(dying);
  end_atomic(SUBJECT_PHASE_SWEEP);
  paint_all(SUBJECT_BLACK);
  expect_clean();
  paint(dying, SUBJECT_WHITE_OTHER);
  expect(LAW_FINALIZERS_SAME_CYCLE);
  expect_text("dead before its finalizer is called");
}

/* ---- when ------------------------------------------------------------ */

static void
test_finalizers_finds_a_call_in_the_atomic_phase(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  begin_atomic();
  separate(dying);
  begin_call(dying);
  expect_finding(LAW_FINALIZERS_MOMENT);
}

static void
test_finalizers_finds_a_call_inside_another(void **state)
{
  (void)state;
  draw_two();
  begin_atomic();
  separate(other);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(other);
  begin_call(dying);
  expect_finding(LAW_FINALIZERS_MOMENT);
  expect_text("inside another one");
}

static void
test_finalizers_finds_a_call_that_does_not_end(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_NOTHING);
  begin_call(dying);
  end_operation(SUBJECT_DONE);
  expect_finding(LAW_FINALIZERS_MOMENT);
}

/* Operations that create, and steps, may; those that only read or set what
 * the collector goes by may not. */
static void
test_finalizers_finds_calls_in_operations_that_run_none(void **state)
{
  static const struct {
    uint8_t code;
    bool is_legal;
  } cases[] = {{OP_NIL, false},       {OP_STOP, false},   {OP_RESTART, false},
               {OP_FAILALLOC, false}, {OP_PARAM, false},  {OP_NEWTABLE, true},
               {OP_STEP, true},       {OP_COLLECT, true}, {OP_RUNNING, false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    draw_dying(OP_BEHAVIOUR_NOTHING);
    begin_atomic();
    separate(dying);
    end_atomic(SUBJECT_PHASE_FINALIZE);
    expect_clean();
    begin_operation(cases[i].code, 0, 0, 0);
    begin_call(dying);
    if (cases[i].is_legal)
      expect_none();
    else
      expect_finding(LAW_FINALIZERS_MOMENT);
  }
}

static void
test_finalizers_finds_a_call_in_an_emergency(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_NOTHING);
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  tell((struct subject_event){.type = SUBJECT_EVENT_REFUSED, .size = 56});
  tell((struct subject_event){.type = SUBJECT_EVENT_EMERGENCY, .to = 1});
  enter(SUBJECT_PHASE_ATOMIC);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  expect_finding(LAW_FINALIZERS_EMERGENCY);
}

/* ---- errors ---------------------------------------------------------- */

static void
test_finalizers_lets_an_error_be_warned_of(void **state)
{
  (void)state;
  for (int warns = 0; warns < 3; warns++) {
    begin_finalizing(OP_BEHAVIOUR_ERROR);
    begin_call(dying);
    if (warns == 1)
      warn();
    end_call(dying, true);
    if (warns == 2)
      warn();
    end_operation(SUBJECT_DONE);
    if (warns)
      expect_clean();
    else
      expect_finding(LAW_FINALIZERS_ERROR);
  }
  traits.errors_contained = traits.errors_warned = false;
  begin();
  dying = make_finalizable(3, OP_BEHAVIOUR_ERROR);
  drop_register(3);
  begin_atomic();
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  end_call(dying, true);
  end_operation(SUBJECT_DONE);
  expect_clean();
}

static void
test_finalizers_finds_an_error_without_reason(void **state)
{
  (void)state;
  begin_finalizing(OP_BEHAVIOUR_SAVE);
  begin_call(dying);
  end_call(dying, true);
  expect_finding(LAW_FINALIZERS_ERROR);
  begin_finalizing(OP_BEHAVIOUR_YIELD);
  call(dying);
  expect_finding(LAW_FINALIZERS_ERROR);
  expect_text("of which nothing is told");
}

/* Where memory is refused in it the finalizer raises an error, and does
 * nothing. The operation does not fail for that. */
static void
test_finalizers_lets_it_fail_for_want_of_memory(void **state)
{
  (void)state;
  for (int fails = 0; fails < 2; fails++) {
    begin_colourless();
    dying = make_finalizable(3, OP_BEHAVIOUR_SAVE);
    drop_register(3);
    expect_clean();
    begin_operation(OP_NEWTABLE, 0, 0, 0);
    enter(SUBJECT_PHASE_ATOMIC);
    separate(dying);
    enter(SUBJECT_PHASE_FINALIZE);
    begin_call(dying);
    tell((struct subject_event){.type = SUBJECT_EVENT_REFUSED, .size = 56});
    end_call(dying, true);
    warn();
    if (!fails) {
      draw_register(0, to(draw(SUBJECT_KIND_TABLE)));
      end_operation(SUBJECT_DONE);
      expect_clean();
    } else {
      end_operation(SUBJECT_NO_MEMORY);
      expect_finding(LAW_FINALIZERS_ERROR);
    }
  }
}

static void
test_finalizers_finds_an_operation_failed_by_one(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_ERROR);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  end_call(dying, true);
  warn();
  end_operation(SUBJECT_ERROR);
  expect_finding(LAW_FINALIZERS_ERROR);
  expect_text("has failed the operation");
}

/* ---- the end --------------------------------------------------------- */

static void
free_all(void)
{
  for (unsigned i = 0; i < page.count; i++) {
    struct drawn *drawn = &page.drawn[i];
    for (unsigned p = 0; p < drawn->part_count; p++)
      release(drawn->parts[p], (uint32_t)drawn->part_sizes[p]);
    if (drawn->object.base && !drawn->hidden)
      release(drawn->object.base, drawn->object.size);
  }
}

/* Two reachable ones; the second was marked later. */
static void
draw_closing(int32_t behaviour)
{
  begin_colourless();
  dying = make_finalizable(3, behaviour);
  other = make_finalizable(4, OP_BEHAVIOUR_NOTHING);
  expect_clean();
  oracle_close_begin(oracle);
  separate(other);
  separate(dying);
}

static void
test_finalizers_lets_all_be_called_at_close(void **state)
{
  (void)state;
  draw_closing(OP_BEHAVIOUR_REMARK); /* nothing is marked any more */
  call(other);
  call(dying);
  free_all();
  oracle_closed(oracle);
  expect_none();
  assert_int_equal(oracle_statistics(oracle)->law[LAW_FINALIZERS_AT_CLOSE], 1);
}

static void
test_finalizers_finds_one_left_at_close(void **state)
{
  (void)state;
  draw_closing(OP_BEHAVIOUR_NOTHING);
  call(other);
  free_all();
  oracle_closed(oracle);
  expect_finding(LAW_FINALIZERS_AT_CLOSE);
  expect_text("was not finalized when the state was closed");
}

static void
test_finalizers_keeps_order_and_warns_at_close(void **state)
{
  (void)state;
  draw_closing(OP_BEHAVIOUR_NOTHING);
  begin_call(dying);
  expect_finding(LAW_FINALIZERS_ORDER);
  draw_closing(OP_BEHAVIOUR_ERROR);
  call(other);
  begin_call(dying);
  end_call(dying, true);
  free_all();
  oracle_closed(oracle);
  expect_finding(LAW_FINALIZERS_ERROR);
}

static void
test_finalizers_finds_a_mark_at_close(void **state)
{
  (void)state;
  draw_closing(OP_BEHAVIOUR_REMARK);
  call(other);
  begin_call(dying);
  relist(dying, SUBJECT_LIST_FINALIZABLE);
  expect_finding(LAW_FINALIZERS_AT_CLOSE);
}

/* The closers of the main coroutine come first and may collect: until they are
 * over finalizers mark what they mark, and that is called too. */
static void
test_finalizers_lets_closers_collect_first(void **state)
{
  (void)state;
  draw_dying(OP_BEHAVIOUR_REMARK);
  oracle_close_begin(oracle);
  enter(SUBJECT_PHASE_ATOMIC);
  separate(dying);
  enter(SUBJECT_PHASE_FINALIZE);
  begin_call(dying);
  relist(dying, SUBJECT_LIST_FINALIZABLE);
  end_call(dying, false);
  separate(dying);
  call(dying);
  free_all();
  oracle_closed(oracle);
  expect_none();
}

/* ---- a subject that shows nothing ------------------------------------ */

static void
begin_blind(void)
{
  set_collecting_traits();
  subject.capabilities = 0;
  begin();
}

/* The object's node is known where only one can be meant. */
static void
test_finalizers_follows_a_blind_subject(void **state)
{
  (void)state;
  begin_blind();
  operate(OP_NEWFIN, 3, OP_BEHAVIOUR_SAVE, 0);
  dying = draw(SUBJECT_KIND_TABLE);
  operate(OP_NIL, 3, 0, 0);
  begin_operation(OP_COLLECT, 0, 0, 0);
  tell((struct subject_event){.type = SUBJECT_EVENT_FINALIZER,
                              .base = dying->object.base});
  end_call(dying, false);
  end_operation(SUBJECT_DONE);
  expect_none();
  begin_operation(OP_COLLECT, 0, 0, 0);
  tell((struct subject_event){.type = SUBJECT_EVENT_FINALIZER,
                              .base = dying->object.base});
  expect_finding(LAW_FINALIZERS_TWICE);
}

static void
test_finalizers_gives_up_a_blind_subject_in_doubt(void **state)
{
  (void)state;
  begin_blind();
  operate(OP_NEWFIN, 3, OP_BEHAVIOUR_SAVE, 0);
  operate(OP_NEWFIN, 3, OP_BEHAVIOUR_SAVE, 0);
  operate(OP_NIL, 3, 0, 0);
  dying = draw(SUBJECT_KIND_TABLE);
  begin_operation(OP_COLLECT, 0, 0, 0);
  tell((struct subject_event){.type = SUBJECT_EVENT_FINALIZER,
                              .base = dying->object.base});
  assert_true(oracle_is_exhausted(oracle));
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
}

static void
test_finalizers_trips_every_law(void **state)
{
  (void)state;
  expect_tripped(laws, sizeof laws / sizeof laws[0]);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_finalizers_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(lets_a_call_be),
      T(follows_what_is_saved),
      T(binds_what_is_bred),
      T(binds_what_is_bred_unseen),
      T(knows_what_is_bred_and_called_unseen),
      T(finds_the_living_separated),
      T(lets_a_mutator_drop_what_is_separated),
      T(finds_a_call_without_separation),
      T(finds_a_second_call),
      T(lets_a_marked_one_be_called_again),
      T(finds_a_mark_that_is_not_owed),
      T(finds_the_first_marked_called_first),
      T(finds_a_new_batch_called_first),
      T(goes_by_creation_where_that_counts),
      T(finds_one_freed_while_owed),
      T(holds_what_can_be_reached),
      T(finds_one_that_waits_no_more),
      T(finds_a_mark_that_is_gone),
      T(lets_what_is_no_function_go),
      T(lets_it_go_unseen),
      T(finds_one_freed_in_its_cycle),
      T(finds_one_dead_before_its_call),
      T(finds_a_call_in_the_atomic_phase),
      T(finds_a_call_inside_another),
      T(finds_a_call_that_does_not_end),
      T(finds_calls_in_operations_that_run_none),
      T(finds_a_call_in_an_emergency),
      T(lets_an_error_be_warned_of),
      T(finds_an_error_without_reason),
      T(lets_it_fail_for_want_of_memory),
      T(finds_an_operation_failed_by_one),
      T(lets_all_be_called_at_close),
      T(finds_one_left_at_close),
      T(keeps_order_and_warns_at_close),
      T(finds_a_mark_at_close),
      T(lets_closers_collect_first),
      T(follows_a_blind_subject),
      T(gives_up_a_blind_subject_in_doubt),
      T(trips_every_law),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
