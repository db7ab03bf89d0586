/* SPDX-License-Identifier: MIT
 *
 * The laws of weak tables: each is tripped by a heap or by events drawn by
 * hand, and left alone by a near miss.
 */
#include "tests/oracle_collect_fixture.h"

static const enum law laws[] = {LAW_WEAK_REMOVED_LIVE, LAW_WEAK_NOT_REMOVED,
                                LAW_WEAK_HALF_REMOVED, LAW_WEAK_EPHEMERON,
                                LAW_WEAK_RESURRECTED};

/* A weak table in r0 with one entry, from the table in r1 to that in r2. */
static struct drawn *table, *key, *value;
static struct subject_edge *entry;

static void
draw_pair(int32_t weak)
{
  table = make_weak(0, weak);
  key = make_table_at(1);
  value = make_table_at(2);
  entry = make_entry(table, 0, 1, key, 2, value);
  if (weak & OP_WEAK_KEYS)
    entry->key_strength = SUBJECT_WEAK;
  if (weak & OP_WEAK_VALUES)
    entry->value_strength = SUBJECT_WEAK;
  else if (weak)
    entry->value_strength = SUBJECT_EPHEMERON;
  expect_clean();
}

static void
undraw_entry(void)
{
  drop_edge(table, table->edge_count - 1);
}

/* ---- removed entries ------------------------------------------------- */

static void
test_weak_lets_dead_sides_go(void **state)
{
  static const int32_t weak[] = {OP_WEAK_VALUES, OP_WEAK_KEYS, OP_WEAK_BOTH};
  (void)state;
  for (size_t i = 0; i < sizeof weak / sizeof weak[0]; i++) {
    bool by_key = weak[i] == OP_WEAK_KEYS;
    begin_colourless();
    draw_pair(weak[i]);
    drop_register(by_key ? 1 : 2);
    begin_atomic();
    tell_cleared(table, by_key ? key : value, by_key);
    undraw_entry();
    end_atomic(SUBJECT_PHASE_SWEEP);
    expect_clean();
    erase(by_key ? key : value);
    expect_clean();
    assert_true(oracle_statistics(oracle)->law[LAW_WEAK_REMOVED_LIVE] > 0);
  }
}

/* A pair whose key is dead goes as a whole, and the value with it. */
static void
test_weak_lets_an_ephemeron_go(void **state)
{
  (void)state;
  begin_colourless();
  draw_pair(OP_WEAK_KEYS);
  drop_register(1);
  drop_register(2);
  begin_atomic();
  tell_cleared(table, key, true);
  undraw_entry();
  enter(SUBJECT_PHASE_SWEEP);
  erase(key);
  erase(value);
  end_operation(SUBJECT_DONE);
  expect_clean();
}

/* Each entry with the dead value goes, by however many events. */
static void
test_weak_follows_all_entries_of_a_value(void **state)
{
  (void)state;
  begin_colourless();
  draw_pair(OP_WEAK_VALUES);
  operate(OP_SETI, 0, 7, 2);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 7, to(value));
  drop_register(2);
  begin_atomic();
  tell_cleared(table, value, false);
  tell_cleared(table, value, false);
  undraw_entry();
  undraw_entry();
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect_clean();
}

static void
test_weak_finds_a_live_side_removed(void **state)
{
  (void)state;
  for (int by_key = 0; by_key < 2; by_key++) {
    begin_colourless();
    draw_pair(by_key ? OP_WEAK_KEYS : OP_WEAK_VALUES);
    begin_atomic();
    tell_cleared(table, by_key ? key : value, by_key);
    expect_finding(LAW_WEAK_REMOVED_LIVE);
    expect_text(by_key ? "whose key table #" : "whose value table #");
    expect_text(by_key ? "frame[0].r1" : "frame[0].r2");
  }
}

/* In an operation that changes the heap, what it drops may go. */
static void
test_weak_judges_mutators_at_their_end(void **state)
{
  (void)state;
  for (int drops = 0; drops < 2; drops++) {
    begin_colourless();
    draw_pair(OP_WEAK_VALUES);
    begin_operation(OP_NEWTABLE, drops ? 2 : 3, 0, 0);
    struct drawn *fresh = draw(SUBJECT_KIND_TABLE);
    enter(SUBJECT_PHASE_ATOMIC);
    tell_cleared(table, value, false);
    undraw_entry();
    enter(SUBJECT_PHASE_SWEEP);
    expect_none();
    end_operation(SUBJECT_DONE);
    if (!drops) {
      expect_finding(LAW_WEAK_REMOVED_LIVE);
      continue;
    }
    undraw_register(2);
    draw_register(2, to(fresh));
    expect_clean();
  }
}

static void
test_weak_finds_a_strong_side_removed(void **state)
{
  (void)state;
  begin_colourless();
  draw_pair(OP_WEAK_KEYS);
  drop_register(2); /* the key keeps it */
  drop_register(1);
  begin_atomic();
  tell_cleared(table, value, false);
  expect_finding(LAW_WEAK_REMOVED_LIVE);
  expect_text("holds strongly");
}

/* Before 5.2 a mode may have been read at any visit of the cycle. */
static void
test_weak_knows_no_mode_where_any_visit_settles_it(void **state)
{
  (void)state;
  begin_colourless();
  traits.mode_at_atomic = false;
  draw_pair(OP_WEAK_KEYS);
  drop_register(2);
  drop_register(1);
  begin_atomic();
  tell_cleared(table, value, false);
  undraw_entry();
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect_clean();
}

static void
test_weak_finds_removal_outside_the_atomic_phase(void **state)
{
  (void)state;
  begin_colourless();
  draw_pair(OP_WEAK_VALUES);
  drop_register(2);
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  enter(SUBJECT_PHASE_PROPAGATE);
  tell_cleared(table, value, false);
  expect_finding(LAW_WEAK_REMOVED_LIVE);
}

static void
test_weak_finds_a_string_removed(void **state)
{
  (void)state;
  begin_colourless();
  table = make_weak(0, OP_WEAK_VALUES);
  struct drawn *string = make_string();
  operate(OP_SETI, 0, 1, 1);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(string));
  drop_register(1);
  expect_clean();
  begin_atomic();
  tell_cleared(table, string, false);
  expect_finding(LAW_WEAK_REMOVED_LIVE);
  expect_text("is a string");
}

/* A scalar is never dead, so that nothing can be told of it. */
static void
test_weak_finds_an_entry_lost_untold(void **state)
{
  (void)state;
  begin_colourless();
  table = make_weak(0, OP_WEAK_VALUES);
  operate(OP_INT, 1, 5, 0);
  draw_register(1, number(5));
  operate(OP_SETI, 0, 1, 1);
  expect(LAW_WEAK_REMOVED_LIVE);
  expect_text("holds nil, the shadow says 5");
}

/* A strong table that loses something is another matter. */
static void
test_weak_leaves_strong_tables_to_contents(void **state)
{
  struct drawn *string;
  (void)state;
  begin_colourless();
  table = make_pair(&string);
  table->edge_count = 0;
  expect(LAW_CONTENTS);
}

/* ---- rounds ---------------------------------------------------------- */

/* A weak table that only a finalizer can reach, and what is in it too: that
 * stays, for both are resurrected together. A value that is not held goes. */
static void
draw_resurrected(struct drawn **ret_owner)
{
  begin_colourless();
  draw_pair(OP_WEAK_VALUES);
  struct drawn *owner = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
  operate(OP_SETI, 3, 1, 0);
  draw_edge(owner, SUBJECT_LABEL_ENTRY, 1, to(table));
  *ret_owner = owner;
}

static void
mark(const struct drawn *drawn)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_RECOLOURED,
                              .base = drawn->object.base,
                              .from = SUBJECT_WHITE_CURRENT,
                              .to = SUBJECT_GREY});
}

/* Not those of a table that was marked before it became unreachable. */
static void
test_weak_keeps_held_values_of_the_resurrected(void **state)
{
  struct drawn *owner;
  (void)state;
  for (int i = 0; i < 3; i++) {
    bool held = i > 0, floats = i > 1;
    draw_resurrected(&owner);
    if (held) {
      operate(OP_SETI, 3, 2, 2);
      draw_edge(owner, SUBJECT_LABEL_ENTRY, 2, to(value));
    }
    drop_register(0);
    drop_register(2);
    drop_register(3);
    expect_clean();
    begin_atomic();
    if (floats)
      mark(table);
    separate(owner);
    if (!floats)
      mark(table);
    tell_cleared(table, value, false);
    if (held && !floats) {
      expect_finding(LAW_WEAK_REMOVED_LIVE);
      expect_text("finalizer of table");
      continue;
    }
    undraw_entry();
    end_atomic(SUBJECT_PHASE_SWEEP);
    expect_clean();
  }
}

/* What has waited before is a root: its tables are cleared in the first
 * round, before what is separated now holds anything. */
static void
test_weak_clears_tables_of_what_waited_first(void **state)
{
  struct drawn *owner;
  (void)state;
  draw_resurrected(&owner);
  struct drawn *late = make_finalizable(4, OP_BEHAVIOUR_NOTHING);
  operate(OP_SETI, 4, 2, 2);
  draw_edge(late, SUBJECT_LABEL_ENTRY, 2, to(value));
  drop_register(0);
  drop_register(2);
  drop_register(3);
  expect_clean();
  begin_atomic();
  separate(owner);
  end_atomic(SUBJECT_PHASE_PAUSE);
  drop_register(4);
  begin_atomic();
  tell_cleared(table, value, false);
  undraw_entry();
  separate(late);
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect_clean();
}

static void
test_weak_finds_a_held_key_removed(void **state)
{
  (void)state;
  begin_colourless();
  table = make_weak(0, OP_WEAK_KEYS);
  key = make_finalizable(1, OP_BEHAVIOUR_NOTHING);
  entry = make_entry(table, 0, 1, key, 1, key);
  drop_register(1);
  expect_clean();
  begin_atomic();
  separate(key);
  tell_cleared(table, key, true);
  expect_finding(LAW_WEAK_REMOVED_LIVE);
}

static void
draw_resurrected_value(int32_t weak)
{
  begin_colourless();
  table = make_weak(0, weak);
  key = make_table_at(1);
  value = make_finalizable(2, OP_BEHAVIOUR_NOTHING);
  entry = make_entry(table, 0, 1, key, 2, value);
  drop_register(2);
  expect_clean();
}

static void
test_weak_finds_a_resurrected_value_kept(void **state)
{
  (void)state;
  draw_resurrected_value(OP_WEAK_VALUES);
  begin_atomic();
  separate(value);
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect_finding(LAW_WEAK_RESURRECTED);
  expect_text("waits for its finalizer");
  draw_resurrected_value(OP_WEAK_VALUES);
  traits.values_cleared_first = false;
  begin_atomic();
  separate(value);
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect_clean();
}

static void
test_weak_finds_it_in_a_mutator_too(void **state)
{
  (void)state;
  for (int drops = 0; drops < 2; drops++) {
    draw_resurrected_value(OP_WEAK_VALUES);
    begin_operation(OP_NEWTABLE, drops ? 0 : 3, 0, 0);
    draw(SUBJECT_KIND_TABLE);
    enter(SUBJECT_PHASE_ATOMIC);
    separate(value);
    enter(SUBJECT_PHASE_SWEEP);
    expect_none();
    end_operation(SUBJECT_DONE);
    if (drops)
      expect_none(); /* the table may have been dead by then */
    else
      expect_finding(LAW_WEAK_RESURRECTED);
  }
}

/* Removed in time; and keys stay as long as they can be found. */
static void
test_weak_lets_resurrected_keys_stay(void **state)
{
  (void)state;
  draw_resurrected_value(OP_WEAK_VALUES);
  begin_atomic();
  tell_cleared(table, value, false);
  undraw_entry();
  separate(value);
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect_clean();
  begin_colourless();
  table = make_weak(0, OP_WEAK_KEYS);
  key = make_finalizable(1, OP_BEHAVIOUR_NOTHING);
  value = make_table_at(2);
  entry = make_entry(table, 0, 1, key, 2, value);
  drop_register(1);
  begin_atomic();
  separate(key);
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect_clean();
}

/* ---- surveys --------------------------------------------------------- */

static void
begin_in_colour(int32_t weak)
{
  set_collecting_traits();
  begin();
  draw_pair(weak);
}

static void
test_weak_finds_a_dead_side_that_stayed(void **state)
{
  (void)state;
  for (int by_key = 0; by_key < 2; by_key++) {
    begin_in_colour(by_key ? OP_WEAK_KEYS : OP_WEAK_VALUES);
    drop_register(by_key ? 1 : 2);
    expect_clean();
    enter_sweep();
    paint(by_key ? key : value, SUBJECT_WHITE_OTHER);
    expect(LAW_WEAK_NOT_REMOVED);
    expect_text(by_key ? "the dead key table #" : "the dead value table #");
  }
}

static void
test_weak_finds_an_ephemeron_whose_value_died(void **state)
{
  (void)state;
  begin_in_colour(OP_WEAK_KEYS);
  drop_register(2);
  enter_sweep();
  expect_clean();
  paint(value, SUBJECT_WHITE_OTHER);
  expect(LAW_WEAK_EPHEMERON);
  expect_text("though its key is alive");
  begin_in_colour(OP_WEAK_KEYS);
  drop_register(1);
  drop_register(2);
  enter_sweep();
  paint(key, SUBJECT_WHITE_OTHER);
  paint(value, SUBJECT_WHITE_OTHER);
  expect(LAW_WEAK_NOT_REMOVED);
}

/* Weak sides may be white while marking, and dead in a table that is dead
 * itself. */
static void
test_weak_says_nothing_before_the_flip(void **state)
{
  (void)state;
  begin_in_colour(OP_WEAK_VALUES);
  drop_register(2);
  enter(SUBJECT_PHASE_PROPAGATE);
  for (unsigned i = 1; i < page.count; i++)
    if (&page.drawn[i] != value && &page.drawn[i] != thread)
      paint(&page.drawn[i], SUBJECT_BLACK);
  paint(thread, SUBJECT_GREY);
  list_grey(thread);
  expect_clean();
  begin_in_colour(OP_WEAK_VALUES);
  drop_register(0);
  drop_register(2);
  enter_sweep();
  paint(table, SUBJECT_WHITE_OTHER);
  paint(value, SUBJECT_WHITE_OTHER);
  expect_clean();
}

static void
test_weak_finds_a_weak_side_that_dangles(void **state)
{
  (void)state;
  begin_colourless();
  draw_pair(OP_WEAK_VALUES);
  drop_register(2);
  erase(value);
  expect(LAW_DANGLING);
}

static void
test_weak_finds_half_a_pair(void **state)
{
  (void)state;
  begin_colourless();
  draw_pair(OP_WEAK_KEYS);
  drop_register(1);
  begin_atomic();
  tell_cleared(table, key, true);
  end_atomic(SUBJECT_PHASE_SWEEP);
  entry->key = (struct subject_value){.tag = SUBJECT_OTHER};
  expect(LAW_WEAK_HALF_REMOVED);
  expect_text("was removed and still holds table #");
}

/* Told to be removed, and shown; and what it leads to has been freed. */
static void
test_weak_finds_a_pair_that_was_only_said_to_go(void **state)
{
  (void)state;
  begin_colourless();
  draw_pair(OP_WEAK_KEYS);
  drop_register(1);
  begin_atomic();
  tell_cleared(table, key, true);
  end_atomic(SUBJECT_PHASE_SWEEP);
  expect(LAW_WEAK_HALF_REMOVED);
  begin_colourless();
  draw_pair(OP_WEAK_KEYS);
  drop_register(1);
  drop_register(2);
  begin_atomic();
  tell_cleared(table, key, true);
  end_atomic(SUBJECT_PHASE_SWEEP);
  erase(value);
  entry->key = (struct subject_value){.tag = SUBJECT_OTHER};
  expect(LAW_WEAK_HALF_REMOVED);
}

/* ---- subjects that tell nothing -------------------------------------- */

static void
test_weak_follows_surveys_alone(void **state)
{
  static const struct {
    int32_t weak, drop;
    bool is_legal;
  } cases[] = {
      {OP_WEAK_VALUES, 2, true}, {OP_WEAK_VALUES, 1, false},
      {OP_WEAK_KEYS, 1, true},   {OP_WEAK_KEYS, 2, false},
      {OP_WEAK_BOTH, 1, true},   {OP_WEAK_BOTH, 2, true},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin_silent();
    draw_pair(cases[i].weak);
    drop_register(cases[i].drop);
    expect_clean();
    operate(OP_MICROSTEP, 1, 0, 0);
    undraw_entry();
    if (!cases[i].is_legal) {
      expect(LAW_WEAK_REMOVED_LIVE);
      expect_text("of which no weak side is dead");
      continue;
    }
    expect_clean();
    expect_clean();
  }
}

/* One of several entries goes: the others are found among those shown. */
static void
test_weak_follows_one_entry_of_several(void **state)
{
  enum { ENTRIES = 5 };
  (void)state;
  for (unsigned gone = 0; gone < ENTRIES; gone++) {
    for (int is_legal = 0; is_legal < 2; is_legal++) {
      begin_silent();
      table = make_weak(0, OP_WEAK_VALUES);
      unsigned first = table->edge_count;
      for (int i = 1; i <= ENTRIES; i++) {
        value = make_table_at(i);
        operate(OP_SETI, 0, i, i);
        draw_edge(table, SUBJECT_LABEL_ENTRY, i, to(value));
      }
      expect_clean();
      int dropped = 1 + (int)(is_legal ? gone : (gone + 1) % ENTRIES);
      drop_register(dropped);
      operate(OP_MICROSTEP, 1, 0, 0);
      drop_edge(table, first + gone);
      if (!is_legal) {
        expect(LAW_WEAK_REMOVED_LIVE);
        expect_text("of which no weak side is dead");
        continue;
      }
      expect_clean();
      operate(OP_MICROSTEP, 1, 0, 0);
      drop_edge(table, first);
      expect(LAW_WEAK_REMOVED_LIVE);
    }
  }
}

/* A function leaves its frame, and then the collector works: what only the
 * frame held has left the weak table in r0 and is saved by its finalizer. What
 * the function returns was never dead. */
static void
test_weak_lets_go_what_a_finalizer_brings_back(void **state)
{
  const struct subject_value function = {.tag = SUBJECT_CFUNC};
  (void)state;
  for (int tells = 0; tells < 2; tells++) {
    for (int is_returned = 0; is_returned < 2; is_returned++) {
      if (tells)
        begin_colourless();
      else
        begin_silent();
      table = make_weak(0, OP_WEAK_VALUES);
      operate(OP_CFUNC, 1, 0, 0);
      draw_register(1, function);
      operate(OP_CALL, 1, 0, 1);
      unsigned frame = thread->edge_count;
      draw_edge(thread, SUBJECT_LABEL_FUNCTION, 1, function);
      draw_register(65536, to(table));
      operate(OP_NEWFIN, 1, OP_BEHAVIOUR_SAVE, 0);
      value = draw(SUBJECT_KIND_TABLE);
      draw_metatable(value, "__gc",
                     (struct subject_value){.bits = 8 + OP_BEHAVIOUR_SAVE,
                                            .tag = SUBJECT_CFUNC});
      value->object.list = SUBJECT_LIST_FINALIZABLE;
      value->object.flags |= SUBJECT_OBJECT_MARKED;
      draw_register(65537, to(value));
      operate(OP_SETI, 0, 1, 1);
      draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(value));
      expect_clean();
      begin_operation(OP_RETURN, 1, is_returned, 0);
      if (tells) {
        enter(SUBJECT_PHASE_ATOMIC);
        tell_cleared(table, value, false);
      }
      undraw_entry();
      thread->edge_count = frame;
      if (is_returned) {
        undraw_register(1);
        draw_register(1, to(value));
      } else {
        relist(value, SUBJECT_LIST_PENDING);
        if (tells)
          enter(SUBJECT_PHASE_FINALIZE);
        begin_call(value);
        draw_entry(globals, to(name_of("g0")), to(value));
        end_call(value, false);
      }
      if (tells)
        enter(SUBJECT_PHASE_PAUSE);
      end_operation(SUBJECT_DONE);
      if (is_returned) {
        look(ORACLE_BETWEEN);
        expect_finding(LAW_WEAK_REMOVED_LIVE);
        continue;
      }
      expect_clean();
      expect_clean();
    }
  }
}

static void
test_weak_trips_every_law(void **state)
{
  (void)state;
  expect_tripped(laws, sizeof laws / sizeof laws[0]);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_weak_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(lets_dead_sides_go),
      T(lets_an_ephemeron_go),
      T(follows_all_entries_of_a_value),
      T(finds_a_live_side_removed),
      T(judges_mutators_at_their_end),
      T(finds_a_strong_side_removed),
      T(knows_no_mode_where_any_visit_settles_it),
      T(finds_removal_outside_the_atomic_phase),
      T(finds_a_string_removed),
      T(finds_an_entry_lost_untold),
      T(leaves_strong_tables_to_contents),
      T(keeps_held_values_of_the_resurrected),
      T(clears_tables_of_what_waited_first),
      T(finds_a_held_key_removed),
      T(finds_a_resurrected_value_kept),
      T(finds_it_in_a_mutator_too),
      T(lets_resurrected_keys_stay),
      T(finds_a_dead_side_that_stayed),
      T(finds_an_ephemeron_whose_value_died),
      T(says_nothing_before_the_flip),
      T(finds_a_weak_side_that_dangles),
      T(finds_half_a_pair),
      T(finds_a_pair_that_was_only_said_to_go),
      T(follows_surveys_alone),
      T(follows_one_entry_of_several),
      T(lets_go_what_a_finalizer_brings_back),
      T(trips_every_law),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
