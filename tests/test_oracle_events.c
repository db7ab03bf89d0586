/* SPDX-License-Identifier: MIT
 *
 * The oracle on hand-drawn heaps: the laws of events, of memory and of the
 * process. As in test_oracle.c each violation has a near miss beside it, and
 * the last test demands that every law has been tripped.
 */
#include "tests/oracle_fixture.h"

/* ---- births and colours ---------------------------------------------- */

static void
birth(const struct drawn *drawn, uint8_t colour)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_BIRTH,
                              .base = drawn->object.base,
                              .kind = drawn->object.kind,
                              .to = colour});
}

static void
test_oracle_finds_a_birth_of_a_wrong_colour(void **state)
{
  (void)state;
  birth(registry, SUBJECT_WHITE_CURRENT);
  expect_clean();
  birth(registry, SUBJECT_BLACK);
  expect_finding(LAW_BIRTH_COLOUR);
}

static void
expect_change(const struct drawn *drawn, uint8_t from, uint8_t to,
              bool is_legal)
{
  recolour(drawn, from, to);
  if (is_legal)
    assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  else
    expect_finding(LAW_COLOUR_CHANGE);
}

static void
test_oracle_allows_the_changes_of_a_cycle(void **state)
{
  struct drawn *upvalue, *string = make_string();
  (void)state;
  make_closure(&upvalue);
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_change(thread, SUBJECT_WHITE_CURRENT, SUBJECT_GREY, true);
  enter(SUBJECT_PHASE_PROPAGATE);
  step(SUBJECT_EVENT_STEP_END);
  expect_change(thread, SUBJECT_GREY, SUBJECT_BLACK, true);
  expect_change(thread, SUBJECT_BLACK, SUBJECT_GREY, true);
  expect_change(string, SUBJECT_WHITE_CURRENT, SUBJECT_BLACK, true);
  enter(SUBJECT_PHASE_ATOMIC);
  expect_change(thread, SUBJECT_GREY, SUBJECT_BLACK, true);
  enter(SUBJECT_PHASE_SWEEP);
  expect_change(thread, SUBJECT_BLACK, SUBJECT_GREY, true);
  expect_change(thread, SUBJECT_GREY, SUBJECT_WHITE_CURRENT, true);
  expect_change(upvalue, SUBJECT_GREY, SUBJECT_BLACK, true);
  expect_change(upvalue, SUBJECT_BLACK, SUBJECT_WHITE_CURRENT, true);
  expect_change(string, SUBJECT_WHITE_OTHER, SUBJECT_WHITE_CURRENT, true);
  assert_int_equal(
      oracle_statistics(oracle)->recoloured[SUBJECT_GREY][SUBJECT_BLACK], 3);
}

static void
test_oracle_finds_whitening_while_marking(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  expect_change(registry, SUBJECT_BLACK, SUBJECT_WHITE_CURRENT, false);
  expect_text("turned from black to white in phase propagate");
}

static void
test_oracle_finds_marking_while_sweeping(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_SWEEP);
  expect_change(registry, SUBJECT_WHITE_CURRENT, SUBJECT_GREY, false);
}

/* What has references is visited between white and black. */
static void
test_oracle_finds_a_table_that_skips_grey(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  expect_change(registry, SUBJECT_WHITE_CURRENT, SUBJECT_BLACK, false);
}

static void
test_oracle_finds_a_table_back_from_the_dead(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_SWEEP);
  expect_change(registry, SUBJECT_WHITE_OTHER, SUBJECT_WHITE_CURRENT, false);
}

static void
test_oracle_finds_a_table_blackened_by_the_sweep(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_SWEEP);
  expect_change(registry, SUBJECT_GREY, SUBJECT_BLACK, false);
}

static void
test_oracle_finds_a_living_object_made_dead(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_SWEEP);
  expect_change(registry, SUBJECT_BLACK, SUBJECT_WHITE_OTHER, false);
}

static void
test_oracle_finds_marking_in_the_pause(void **state)
{
  (void)state;
  expect_change(registry, SUBJECT_WHITE_CURRENT, SUBJECT_GREY, false);
}

/* The flip leaves no current white where the sweep has yet to come, but what
 * was whitened since. */
static void
test_oracle_finds_that_whites_were_not_flipped(void **state)
{
  (void)state;
  struct drawn *garbage = draw(SUBJECT_KIND_TABLE);
  enter_sweep();
  paint(garbage, SUBJECT_WHITE_OTHER);
  expect_clean();
  recolour(registry, SUBJECT_BLACK, SUBJECT_WHITE_CURRENT);
  paint(registry, SUBJECT_WHITE_CURRENT);
  draw(SUBJECT_KIND_TABLE);
  expect_clean();
  paint(garbage, SUBJECT_WHITE_CURRENT);
  expect(LAW_COLOUR_CHANGE);
  expect_text("since the flip");
}

/* While it opens, a subject may paint what it fixes; its steps are judged. */
static void
test_oracle_judges_the_steps_of_opening(void **state)
{
  (void)state;
  oracle_begin(oracle, &subject, false, OP_MODE_INCREMENTAL);
  expect_change(registry, SUBJECT_WHITE_CURRENT, SUBJECT_GREY, true);
  tell_phase(SUBJECT_PHASE_PAUSE, SUBJECT_PHASE_PROPAGATE);
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_change(registry, SUBJECT_BLACK, SUBJECT_WHITE_OTHER, false);
}

/* While it closes, everything may be freed, whatever its colour. */
static void
test_oracle_leaves_closing_to_the_subject(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  expect_clean();
  oracle_close_begin(oracle);
  expect_change(table, SUBJECT_WHITE_CURRENT, SUBJECT_WHITE_OTHER, true);
  tell_phase(SUBJECT_PHASE_PAUSE, SUBJECT_PHASE_SWEEP_END);
  release(table->object.base, table->object.size);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
}

/* ---- phases and steps ------------------------------------------------ */

static void
test_oracle_allows_a_cycle(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_FINALIZE);
  enter(SUBJECT_PHASE_PAUSE);
  enter(SUBJECT_PHASE_PROPAGATE);
  expect_clean();
}

static void
test_oracle_finds_a_phase_left_out(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_SWEEP);
  tell_phase(SUBJECT_PHASE_SWEEP, SUBJECT_PHASE_SWEEP_PENDING);
  expect_finding(LAW_PHASE_CHANGE);
}

static void
test_oracle_finds_a_phase_that_no_event_told(void **state)
{
  (void)state;
  page.heap.phase = SUBJECT_PHASE_PROPAGATE;
  expect(LAW_PHASE_CHANGE);
}

static void
test_oracle_finds_an_event_that_starts_elsewhere(void **state)
{
  (void)state;
  tell_phase(SUBJECT_PHASE_PROPAGATE, SUBJECT_PHASE_ENTER_ATOMIC);
  expect_finding(LAW_PHASE_CHANGE);
  expect_text("though it was pause");
}

/* Only a full collection gives up marking. */
static void
test_oracle_lets_a_collection_give_up_marking(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  begin_operation(OP_COLLECT, 0, 0, 0);
  tell_phase(SUBJECT_PHASE_PROPAGATE, SUBJECT_PHASE_SWEEP);
  phase = SUBJECT_PHASE_SWEEP;
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean();
  enter(SUBJECT_PHASE_PROPAGATE);
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  tell_phase(SUBJECT_PHASE_PROPAGATE, SUBJECT_PHASE_SWEEP);
  expect_finding(LAW_PHASE_CHANGE);
}

static void
test_oracle_finds_a_step_that_ends_in_the_atomic_phase(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_ENTER_ATOMIC);
  step(SUBJECT_EVENT_STEP_BEGIN);
  enter(SUBJECT_PHASE_SWEEP);
  step(SUBJECT_EVENT_STEP_END);
  enter(SUBJECT_PHASE_ENTER_ATOMIC);
  step(SUBJECT_EVENT_STEP_BEGIN);
  enter(SUBJECT_PHASE_ATOMIC);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  step(SUBJECT_EVENT_STEP_END);
  expect_finding(LAW_ATOMIC_INTERRUPTED);
}

static void
test_oracle_finds_the_mutator_in_the_atomic_phase(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_ATOMIC);
  begin_operation(OP_NIL, 0, 0, 0);
  expect_finding(LAW_ATOMIC_INTERRUPTED);
}

static void
test_oracle_finds_a_birth_in_the_atomic_phase(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_ATOMIC);
  birth(registry, SUBJECT_WHITE_CURRENT);
  expect_finding(LAW_ATOMIC_INTERRUPTED);
}

static void
test_oracle_finds_two_objects_visited_in_one_step(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  for (int i = 0; i < 2; i++) {
    step(SUBJECT_EVENT_STEP_BEGIN);
    recolour(registry, SUBJECT_GREY, SUBJECT_BLACK);
    step(SUBJECT_EVENT_STEP_END);
  }
  expect_clean();
  step(SUBJECT_EVENT_STEP_BEGIN);
  recolour(registry, SUBJECT_GREY, SUBJECT_BLACK);
  recolour(globals, SUBJECT_GREY, SUBJECT_BLACK);
  expect_finding(LAW_STEP_SIZE);
}

static void
sweep_some(int count)
{
  step(SUBJECT_EVENT_STEP_BEGIN);
  recolour(registry, SUBJECT_BLACK, SUBJECT_WHITE_CURRENT);
  for (int i = 1; i < count; i++)
    tell((struct subject_event){.type = SUBJECT_EVENT_DEATH,
                                .base = globals->object.base,
                                .kind = SUBJECT_KIND_TABLE,
                                .from = SUBJECT_WHITE_OTHER});
  step(SUBJECT_EVENT_STEP_END);
}

static void
test_oracle_finds_a_sweep_step_beyond_its_batch(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_ENTER_ATOMIC);
  step(SUBJECT_EVENT_STEP_BEGIN); /* the atomic step enters the sweep */
  enter(SUBJECT_PHASE_SWEEP);
  for (int i = 0; i < SWEEP_BATCH + 2; i++)
    recolour(registry, SUBJECT_BLACK, SUBJECT_WHITE_CURRENT);
  step(SUBJECT_EVENT_STEP_END);
  sweep_some(SWEEP_BATCH);
  sweep_some(SWEEP_BATCH);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  sweep_some(SWEEP_BATCH + 1);
  expect_finding(LAW_STEP_SIZE);
}

/* ---- weak tables ----------------------------------------------------- */

static void
tell_cleared(const struct drawn *table, const struct drawn *value)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_CLEARED,
                              .base = table->object.base,
                              .value = value->object.base});
}

static void
test_oracle_finds_an_entry_removed_for_a_string(void **state)
{
  struct drawn *string, *table = make_pair(&string);
  (void)state;
  tell_cleared(table, draw(SUBJECT_KIND_TABLE)); /* the shadow knows it not */
  expect_clean();
  tell_cleared(table, string);
  expect_finding(LAW_WEAK_REMOVED_LIVE);
  expect_text("is a string");
}

/* ---- memory ---------------------------------------------------------- */

static void
test_oracle_finds_a_wrong_byte_count(void **state)
{
  (void)state;
  expect_clean();
  page.heap.bytes = 0; /* the subject keeps none */
  oracle_check(oracle, ORACLE_BETWEEN);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  live_bytes += 1;
  expect(LAW_BYTE_COUNT);
}

static void
test_oracle_finds_a_free_of_wrong_size(void **state)
{
  uint64_t block = allocate(48);
  (void)state;
  tell((struct subject_event){
      .type = SUBJECT_EVENT_FREED, .base = block, .size = 40, .value = 48});
  expect_finding(LAW_FREE_SIZE);
  expect_text("of 48 bytes was freed with a size of 40");
}

static void
test_oracle_finds_a_bad_free(void **state)
{
  uint64_t block = allocate(48);
  (void)state;
  release(block, 48);
  expect_clean();
  tell((struct subject_event){
      .type = SUBJECT_EVENT_BAD_FREE, .base = block, .size = 48});
  expect_finding(LAW_BAD_FREE);
  expect_text("block #");
}

static void
test_oracle_finds_a_block_that_nobody_owns(void **state)
{
  (void)state;
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  uint64_t block = allocate(48); /* on its way to its owner */
  look(ORACLE_INSIDE);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  end_operation(SUBJECT_DONE);
  struct drawn *table = draw(SUBJECT_KIND_TABLE);
  draw_register(0, to(table));
  table->parts[table->part_count] = block;
  table->part_sizes[table->part_count++] = 48;
  expect_clean();
  table->part_count = 0;
  expect(LAW_UNOWNED);
}

static void
test_oracle_finds_a_part_of_wrong_size(void **state)
{
  (void)state;
  expect_clean();
  thread->part_sizes[0] -= 16;
  expect(LAW_UNOWNED);
}

static void
test_oracle_finds_a_part_owned_twice(void **state)
{
  (void)state;
  registry->parts[registry->part_count] = thread->parts[0];
  registry->part_sizes[registry->part_count++] = thread->part_sizes[0];
  expect(LAW_UNOWNED);
  expect_text("belongs to table #");
}

static void
test_oracle_finds_a_part_that_was_freed(void **state)
{
  (void)state;
  release(thread->parts[0], 320);
  expect(LAW_UNOWNED);
}

static void
test_oracle_finds_an_object_of_wrong_size(void **state)
{
  (void)state;
  registry->object.size += 8;
  expect(LAW_UNOWNED);
}

static void
test_oracle_finds_an_object_that_was_freed(void **state)
{
  struct drawn *table = draw(SUBJECT_KIND_TABLE);
  (void)state;
  release(table->object.base, table->object.size);
  expect(LAW_UNOWNED);
  expect_text("is no live block");
}

/* Shown twice; the survey comes to an end though the list does not. */
static void
test_oracle_ends_a_list_that_runs_in_a_circle(void **state)
{
  (void)state;
  page.circle = true;
  expect(LAW_UNOWNED);
  expect_text("twice");
}

/* The string table is walked without anything being shown. */
static void
test_oracle_ends_a_walk_that_shows_nothing(void **state)
{
  (void)state;
  page.endless = true;
  expect(LAW_DANGLING_LIST);
  expect_text("does not end");
}

static void
test_oracle_finds_an_object_in_no_list(void **state)
{
  struct drawn *string = make_string();
  (void)state;
  expect_clean();
  string->hidden = true;
  expect(LAW_UNOWNED);
  expect_text("which is in no list");
}

/* A part moves: the new block is there before the old one goes. The address
 * may be another's at once. */
static void
test_oracle_lets_parts_move_and_addresses_be_reused(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  expect_clean();
  uint64_t old = thread->parts[0];
  thread->parts[0] = allocate(480);
  thread->part_sizes[0] = 480;
  release(old, 320);
  expect_clean();
  operate(OP_NIL, 0, 0, 0);
  thread->edge_count = 0;
  erase(table);
  operate(OP_NEWUD, 0, 0, 0);
  next_base = table->object.base;
  draw_register(0, to(draw(SUBJECT_KIND_USERDATA)));
  expect_clean();
}

static void
close_state(bool leaks)
{
  oracle_close_begin(oracle);
  for (unsigned i = 0; i < page.count; i++) {
    struct drawn *drawn = &page.drawn[i];
    for (unsigned j = 0; j < drawn->part_count; j++)
      release(drawn->parts[j], (uint32_t)drawn->part_sizes[j]);
    if (i > 0 && !(leaks && drawn == registry))
      release(drawn->object.base, drawn->object.size);
  }
  oracle_closed(oracle);
}

static void
test_oracle_finds_a_leak_at_close(void **state)
{
  (void)state;
  make_table();
  expect_clean();
  close_state(false);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  begin();
  make_table();
  expect_clean();
  close_state(true);
  expect_finding(LAW_CLOSE_LEAK);
  expect_text("1 block of 40 bytes left: table #2 (40 bytes)");
}

static void
test_oracle_finds_a_failure_without_refusal(void **state)
{
  (void)state;
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  step(SUBJECT_EVENT_REFUSED);
  end_operation(SUBJECT_NO_MEMORY);
  expect_clean();
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  end_operation(SUBJECT_NO_MEMORY);
  expect_finding(LAW_FAILED_OP);
}

/* A refused allocation loses nothing. */
static void
test_oracle_finds_contents_lost_to_a_refusal(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  expect_clean();
  begin_operation(OP_SETI, 0, 2, 1);
  step(SUBJECT_EVENT_REFUSED);
  end_operation(SUBJECT_NO_MEMORY);
  table->edge_count = 0;
  expect(LAW_FAILED_OP);
  expect_text("after an allocation was refused");
}

/* ---- to-be-closed values --------------------------------------------- */

static void
close_value(const struct drawn *drawn)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_CLOSED,
                              .base = drawn->object.base});
}

/* Tables in r0 (first) and r1 (second) that have r0 as metatable and are to be
 * closed; and one in r2 that is not. Nothing has been looked at yet. */
static void
draw_closing(struct drawn **ret_first, struct drawn **ret_second,
             struct drawn **ret_other)
{
  struct drawn *tables[3];
  for (int i = 0; i < 3; i++) {
    operate(OP_NEWTABLE, i, 0, 0);
    tables[i] = draw(SUBJECT_KIND_TABLE);
    draw_register(i, to(tables[i]));
  }
  operate(OP_CFUNC, 3, 1, 0);
  draw_register(3, (struct subject_value){.bits = 1, .tag = SUBJECT_CFUNC});
  operate(OP_SETEVENT, 0, OP_EVENT_CLOSE, 3);
  struct subject_edge *entry =
      draw_edge(tables[0], SUBJECT_LABEL_ENTRY, 0,
                (struct subject_value){.bits = 1, .tag = SUBJECT_CFUNC});
  entry->key = to(draw_string("__close"));
  for (int i = 0; i < 2; i++) {
    operate(OP_SETMETA, i, 0, 0);
    draw_edge(tables[i], SUBJECT_LABEL_METATABLE, 0, to(tables[0]));
  }
  for (int i = 0; i < 2; i++) {
    operate(OP_TBC, i, 0, 0);
    draw_edge(thread, SUBJECT_LABEL_TBC, i, to(tables[i]));
  }
  *ret_first = tables[0];
  *ret_second = tables[1];
  *ret_other = tables[2];
}

static void
close_block(const struct drawn *const *closed, unsigned count)
{
  begin_operation(OP_CLOSEUP, 16, 0, 0);
  for (unsigned i = 0; i < count; i++)
    close_value(closed[i]);
  end_operation(SUBJECT_DONE);
}

static void
test_oracle_allows_closing_as_due(void **state)
{
  struct drawn *first, *second, *other;
  (void)state;
  draw_closing(&first, &second, &other);
  expect_clean();
  assert_int_equal(oracle_statistics(oracle)->law[LAW_TO_BE_CLOSED], 0);
  close_block((const struct drawn *[]){second, first}, 2);
  thread->edge_count -= 2;
  expect_clean();
  assert_int_equal(oracle_statistics(oracle)->law[LAW_TO_BE_CLOSED], 1);
  close_block(NULL, 0);
  expect_clean();
  assert_int_equal(oracle_statistics(oracle)->law[LAW_TO_BE_CLOSED], 1);
}

/* The law is applied though no check came between: the values are met before
 * they are closed. */
static void
expect_closing(unsigned (*pick)(const struct drawn *first,
                                const struct drawn *second,
                                const struct drawn *other,
                                const struct drawn **ret_closed),
               bool is_refused, const char *text)
{
  struct drawn *first, *second, *other;
  const struct drawn *closed[4];
  begin();
  draw_closing(&first, &second, &other);
  unsigned count = pick(first, second, other, closed);
  begin_operation(OP_CLOSEUP, 16, 0, 0);
  if (is_refused)
    step(SUBJECT_EVENT_REFUSED);
  for (unsigned i = 0; i < count; i++)
    close_value(closed[i]);
  end_operation(SUBJECT_DONE);
  thread->edge_count -= 2;
  if (!text) {
    expect_clean();
    return;
  }
  expect_finding(LAW_TO_BE_CLOSED);
  expect_text(text);
}

#define CLOSES(name, ...)                                               \
  static unsigned closes_##name(                                        \
      const struct drawn *first, const struct drawn *second,            \
      const struct drawn *other, const struct drawn **ret_closed)       \
  {                                                                     \
    const struct drawn *closed[] = {__VA_ARGS__, first, second, other}; \
    unsigned count = sizeof closed / sizeof *closed - 3;                \
    for (unsigned i = 0; i < count; i++)                                \
      ret_closed[i] = closed[i];                                        \
    return count;                                                       \
  }

CLOSES(as_due, second, first)
CLOSES(the_last_one, second)
CLOSES(the_first_one, first)
CLOSES(in_order, first, second)
CLOSES(twice, second, second, first)
CLOSES(another, second, other, first)
CLOSES(one_more, second, first, other)
CLOSES(no_object, second, root)

static void
test_oracle_finds_closers_that_are_not_due(void **state)
{
  (void)state;
  expect_closing(closes_as_due, false, NULL);
  expect_closing(closes_the_last_one, false, "was not closed");
  expect_closing(closes_the_first_one, false, "was not closed");
  expect_closing(closes_in_order, false, "was closed before table");
  expect_text(", which was added later");
  expect_closing(closes_twice, false, "was closed twice");
  expect_closing(closes_another, false, "was not to be closed");
  expect_closing(closes_one_more, false, "was not to be closed");
  expect_closing(closes_no_object, false, "a value that is no object");
}

/* A closer that finds no memory is left out; what is closed is due still. */
static void
test_oracle_lets_closers_without_memory_be_left_out(void **state)
{
  (void)state;
  expect_closing(closes_the_last_one, true, NULL);
  expect_closing(closes_the_first_one, true, NULL);
  expect_closing(closes_in_order, true, "was closed before table");
  expect_closing(closes_twice, true, "was closed twice");
  expect_closing(closes_another, true, "was not to be closed");
}

/* Operations that leave nothing close nothing, those on the collector too. */
static void
test_oracle_finds_closers_that_nothing_calls(void **state)
{
  static const uint8_t codes[] = {OP_SETTOP, OP_MICROSTEP};
  struct drawn *first, *second, *other;
  (void)state;
  for (size_t i = 0; i < sizeof codes; i++) {
    begin();
    draw_closing(&first, &second, &other);
    expect_clean();
    begin_operation(codes[i], codes[i] == OP_SETTOP ? 16 : 1, 0, 0);
    close_value(second);
    end_operation(SUBJECT_DONE);
    expect_finding(LAW_TO_BE_CLOSED);
  }
}

/* At the end of the state nothing is judged. */
static void
test_oracle_leaves_closers_at_the_end_alone(void **state)
{
  struct drawn *first, *second, *other;
  (void)state;
  draw_closing(&first, &second, &other);
  expect_clean();
  begin_operation(OP_CLOSE, 0, 0, 0);
  oracle_close_begin(oracle);
  close_value(first);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  assert_int_equal(oracle_statistics(oracle)->law[LAW_TO_BE_CLOSED], 0);
}

/* ---- the process ----------------------------------------------------- */

static void
test_oracle_tells_of_assertions(void **state)
{
  (void)state;
  tell((struct subject_event){.type = SUBJECT_EVENT_ASSERTION,
                              .text = "top is in the stack"});
  expect_finding(LAW_ASSERTION);
  expect_text("top is in the stack");
  assert_string_equal(oracle_finding(oracle)->kinds, "");
}

/* Would catch two assertions of one signature. */
static void
test_oracle_signs_assertions_with_their_place(void **state)
{
  (void)state;
  tell((struct subject_event){.type = SUBJECT_EVENT_ASSERTION,
                              .text = "/a/tree/lgc.c:1234: is_black: x > 0"});
  expect_finding(LAW_ASSERTION);
  assert_string_equal(oracle_finding(oracle)->kinds, "lgc.c:1234");
}

static void
test_oracle_takes_the_labs_word(void **state)
{
  (void)state;
  expect_clean();
  oracle_accuse(oracle, LAW_CRASH, "signal 11");
  expect_finding(LAW_CRASH);
  begin();
  oracle_accuse(oracle, LAW_NO_PROGRESS, "no end");
  expect_finding(LAW_NO_PROGRESS);
}

static void
test_oracle_trips_every_law_of_events(void **state)
{
  (void)state;
  expect_all_tripped(true);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_oracle_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(finds_a_birth_of_a_wrong_colour),
      T(allows_the_changes_of_a_cycle),
      T(finds_whitening_while_marking),
      T(finds_marking_while_sweeping),
      T(finds_a_table_that_skips_grey),
      T(finds_a_table_back_from_the_dead),
      T(finds_a_table_blackened_by_the_sweep),
      T(finds_a_living_object_made_dead),
      T(finds_marking_in_the_pause),
      T(finds_that_whites_were_not_flipped),
      T(judges_the_steps_of_opening),
      T(leaves_closing_to_the_subject),
      T(allows_a_cycle),
      T(finds_a_phase_left_out),
      T(finds_a_phase_that_no_event_told),
      T(finds_an_event_that_starts_elsewhere),
      T(lets_a_collection_give_up_marking),
      T(finds_a_step_that_ends_in_the_atomic_phase),
      T(finds_the_mutator_in_the_atomic_phase),
      T(finds_a_birth_in_the_atomic_phase),
      T(finds_two_objects_visited_in_one_step),
      T(finds_a_sweep_step_beyond_its_batch),
      T(finds_an_entry_removed_for_a_string),
      T(finds_a_wrong_byte_count),
      T(finds_a_free_of_wrong_size),
      T(finds_a_bad_free),
      T(finds_a_block_that_nobody_owns),
      T(finds_a_part_of_wrong_size),
      T(finds_a_part_owned_twice),
      T(finds_a_part_that_was_freed),
      T(finds_an_object_of_wrong_size),
      T(finds_an_object_that_was_freed),
      T(ends_a_list_that_runs_in_a_circle),
      T(ends_a_walk_that_shows_nothing),
      T(finds_an_object_in_no_list),
      T(lets_parts_move_and_addresses_be_reused),
      T(finds_a_leak_at_close),
      T(finds_a_failure_without_refusal),
      T(finds_contents_lost_to_a_refusal),
      T(allows_closing_as_due),
      T(finds_closers_that_are_not_due),
      T(lets_closers_without_memory_be_left_out),
      T(finds_closers_that_nothing_calls),
      T(leaves_closers_at_the_end_alone),
      T(tells_of_assertions),
      T(signs_assertions_with_their_place),
      T(takes_the_labs_word),
      T(trips_every_law_of_events),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
