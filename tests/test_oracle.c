/* SPDX-License-Identifier: MIT
 *
 * The oracle on hand-drawn heaps: the laws of surveys, safety and tricolour,
 * and what a finding says. A test changes one thing in a drawing and demands
 * the law that this breaks, and no other. Beside each stands a near miss,
 * which must pass: a law that accuses the innocent is no better than one that
 * is blind. The last test demands that every law has been tripped.
 * test_oracle_events.c does the same for events and memory.
 */
#include "tests/oracle_fixture.h"

/* ---- a sound heap ---------------------------------------------------- */

static void
test_oracle_passes_a_sound_heap(void **state)
{
  struct drawn *string, *upvalue;
  (void)state;
  expect_clean();
  make_pair(&string);
  make_closure(&upvalue);
  expect_clean();
  expect_clean();
  assert_int_equal(oracle_statistics(oracle)->checks, 3);
  assert_int_equal(oracle_number(oracle, registry->object.base), 2);
  assert_int_equal(oracle_block_count(oracle), page.count - 1);
}

static void
test_oracle_counts_only_what_it_judged(void **state)
{
  struct drawn *string;
  const struct oracle_stats *stats = oracle_statistics(oracle);
  (void)state;
  expect_clean();
  assert_int_equal(stats->law[LAW_BLACK_TO_WHITE], 0);
  assert_int_equal(stats->law[LAW_INTERNING], 0);
  assert_int_equal(stats->law[LAW_FREED_LIVE], 0);
  assert_int_equal(stats->law[LAW_LISTED_TWICE], 0);
  assert_int_equal(stats->law[LAW_CONTENTS], 1);
  make_pair(&string);
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(registry, SUBJECT_BLACK);
  paint(string, SUBJECT_BLACK);
  draw_edge(registry, SUBJECT_LABEL_INTERNAL, 0, to(string));
  expect_clean();
  assert_int_equal(stats->law[LAW_BLACK_TO_WHITE], 1);
  assert_int_equal(stats->law[LAW_INTERNING], 1);
  assert_int_equal(stats->phase[SUBJECT_PHASE_PROPAGATE], 1);
}

/* A new stream starts from nothing: neither blocks nor bindings stay. */
static void
test_oracle_forgets_the_last_stream(void **state)
{
  struct drawn *string;
  (void)state;
  make_pair(&string);
  expect_clean();
  begin();
  expect_clean();
  assert_int_equal(oracle_number(oracle, registry->object.base), 2);
  make_pair(&string);
  expect_clean();
}

/* ---- safety ---------------------------------------------------------- */

static void
test_oracle_finds_a_freed_live_object(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  expect_clean();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  erase(table);
  expect_finding(LAW_FREED_LIVE);
  expect_text("table #");
  expect_text("frame[0].r0");
  expect_detail("freed; it was white");
}

static void
test_oracle_finds_a_live_object_freed_by_the_mutator(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  expect_clean();
  begin_operation(OP_INT, 7, 1, 0);
  erase(table);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  end_operation(SUBJECT_DONE);
  expect_finding(LAW_FREED_LIVE);
}

/* What an operation drops may die in it; what was dropped may die later. */
static void
test_oracle_lets_the_dead_be_freed(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  expect_clean();
  begin_operation(OP_NIL, 0, 0, 0);
  erase(table);
  thread->edge_count = 0;
  end_operation(SUBJECT_DONE);
  expect_clean();
  table = make_table();
  expect_clean();
  operate(OP_NIL, 0, 0, 0);
  thread->edge_count = 0;
  expect_clean();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  erase(table);
  end_operation(SUBJECT_DONE);
  expect_clean();
  assert_int_equal(oracle_statistics(oracle)->law[LAW_FREED_LIVE], 2);
}

static void
test_oracle_finds_a_dangling_value(void **state)
{
  struct drawn *string;
  (void)state;
  make_pair(&string);
  expect_clean();
  erase(string);
  expect(LAW_DANGLING);
  expect_text("leads to string #");
  expect_text("freed");
}

static void
test_oracle_finds_a_dangling_key(void **state)
{
  (void)state;
  struct drawn *string = make_string();
  struct subject_edge *edge =
      draw_edge(registry, SUBJECT_LABEL_INTERNAL, 0, number(1));
  edge->key =
      (struct subject_value){string->object.base + GRANULE, SUBJECT_OBJECT};
  expect(LAW_DANGLING);
  expect_text("the key of");
}

static void
test_oracle_finds_a_weak_value_that_dangles(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  struct subject_edge *edge =
      draw_edge(table, SUBJECT_LABEL_INTERNAL, 0, number(0));
  edge->value = (struct subject_value){root->parts[0], SUBJECT_OBJECT};
  edge->value_strength = SUBJECT_WEAK;
  expect(LAW_DANGLING);
  expect_text("part");
}

/* Dead objects may refer to what was swept before them. */
static void
test_oracle_ignores_what_the_dead_refer_to(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  expect_clean();
  operate(OP_NIL, 0, 0, 0);
  operate(OP_NIL, 1, 0, 0);
  thread->edge_count = 0;
  enter_sweep();
  paint(table, SUBJECT_WHITE_OTHER);
  paint(string, SUBJECT_WHITE_OTHER);
  expect_clean();
  erase(string);
  expect_clean();
}

static void
test_oracle_finds_a_list_that_dangles(void **state)
{
  (void)state;
  page.broken = "string table";
  page.broken_target = REGION_BASE;
  expect(LAW_DANGLING_LIST);
  expect_text("string table");
}

static void
test_oracle_ignores_grey_lists_that_are_left_over(void **state)
{
  (void)state;
  page.broken = "grey list";
  page.broken_target = REGION_BASE;
  list_grey(registry);
  list_grey(registry);
  expect_clean();
  enter(SUBJECT_PHASE_PROPAGATE);
  page.grey_count = 0;
  expect(LAW_DANGLING_LIST);
}

static void
test_oracle_finds_a_grey_list_that_leads_nowhere(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  page.greys[page.grey_count++] = next_base;
  expect(LAW_DANGLING_LIST);
}

static void
test_oracle_finds_wrong_contents(void **state)
{
  (void)state;
  operate(OP_INT, 0, 12, 0);
  struct subject_edge *edge = draw_register(0, number(12));
  expect_clean();
  edge->value.bits = 13;
  expect(LAW_CONTENTS);
  expect_text("register r0 of frame 0 of coroutine #");
  expect_text("holds 13, the shadow says 12");
}

static void
test_oracle_finds_lost_contents(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  table->edge_count = 0;
  expect(LAW_CONTENTS);
  expect_text("entry [1] of table #");
  expect_text("holds nil, the shadow says \"s5\"");
  expect_detail("in the shadow:");
}

static void
test_oracle_finds_contents_that_nobody_stored(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  draw_edge(table, SUBJECT_LABEL_ENTRY, 3, number(1));
  expect(LAW_CONTENTS);
}

static void
test_oracle_finds_contents_shown_twice(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(string));
  expect(LAW_CONTENTS);
  expect_text("twice");
}

static void
test_oracle_finds_a_string_that_changed(void **state)
{
  struct drawn *string = make_string();
  (void)state;
  expect_clean();
  string->object.text = (const uint8_t *)"s6";
  expect(LAW_CONTENTS);
  expect_text("they were \"s5\"");
}

/* A node without an object: its holder shows another. */
static void
test_oracle_finds_a_value_swapped(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  operate(OP_NEWTABLE, 2, 0, 0);
  struct drawn *other = draw(SUBJECT_KIND_TABLE);
  struct subject_edge *edge = draw_register(2, to(other));
  expect_clean();
  edge->value = to(table);
  expect(LAW_CONTENTS);
  expect_text("the shadow says table #");
}

/* The same difference in what nobody can reach is no matter. */
static void
test_oracle_ignores_contents_of_the_unreachable(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  expect_clean();
  operate(OP_NIL, 0, 0, 0);
  thread->edges[0].value = (struct subject_value){0, SUBJECT_NIL};
  table->edge_count = 0;
  expect_clean();
}

static void
test_oracle_finds_nodes_that_have_no_object(void **state)
{
  (void)state;
  root->hidden = true;
  expect(LAW_CONTENTS);
  expect_text("no object is found for a table");
}

/* A string that the subject had all along gets its meaning when an operation
 * first makes it. */
static void
test_oracle_knows_old_strings_by_new_operations(void **state)
{
  (void)state;
  struct drawn *name = draw_string("__index");
  struct drawn *table = make_table();
  expect_clean();
  operate(OP_INT, 2, 9, 0);
  draw_register(2, number(9));
  operate(OP_SETEVENT, 0, OP_EVENT_INDEX, 2);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 0, number(9))->key = to(name);
  expect_clean();
  table->edges[0].value = number(8);
  expect(LAW_CONTENTS);
  expect_text("entry [string #6 (\"__index\")] of table #7 holds 8");
}

/* Inside an operation contents may be ahead of the shadow. */
static void
test_oracle_compares_contents_between_operations_only(void **state)
{
  (void)state;
  expect_clean();
  begin_operation(OP_INT, 0, 12, 0);
  draw_register(0, number(12));
  look(ORACLE_INSIDE);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  end_operation(SUBJECT_DONE);
  expect_clean();
}

static void
test_oracle_finds_a_new_object_that_is_an_old_one(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  expect_clean();
  operate(OP_NEWTABLE, 2, 0, 0);
  draw_register(2, to(table));
  expect(LAW_IDENTITY);
}

/* The register should hold the table of r0 and holds one that nobody knows. It
 * must not be taken for the node, which has its object. */
static void
test_oracle_finds_a_copy_in_place_of_an_object(void **state)
{
  (void)state;
  make_table();
  expect_clean();
  operate(OP_NEWTABLE, 5, 0, 0);
  draw_register(5, to(draw(SUBJECT_KIND_TABLE)));
  operate(OP_MOVE, 2, 0, 0);
  draw_register(2, to(draw(SUBJECT_KIND_TABLE)));
  expect(LAW_IDENTITY);
  expect_text("register r2 of frame 0");
}

static void
test_oracle_finds_an_object_of_another_kind(void **state)
{
  (void)state;
  operate(OP_NEWTABLE, 0, 0, 0);
  draw_register(0, to(draw(SUBJECT_KIND_USERDATA)));
  expect(LAW_IDENTITY);
}

static void
test_oracle_finds_a_kind_that_changed(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  expect_clean();
  table->object.kind = SUBJECT_KIND_USERDATA;
  expect(LAW_IDENTITY);
}

/* A register that is captured again must give the upvalue that is open. */
static void
test_oracle_finds_an_upvalue_that_is_not_shared(void **state)
{
  struct drawn *upvalue;
  (void)state;
  make_closure(&upvalue);
  expect_clean();
  operate(OP_CLOSURE, 5, 4, 1);
  struct drawn *closure = draw(SUBJECT_KIND_CLOSURE);
  draw_register(5, to(closure));
  struct subject_edge *edge =
      draw_edge(closure, SUBJECT_LABEL_UPVALUE, 0, to(upvalue));
  expect_clean();
  struct drawn *copy = draw(SUBJECT_KIND_UPVALUE);
  draw_edge(copy, SUBJECT_LABEL_VALUE, 0, number(44));
  edge->value = to(copy);
  expect(LAW_IDENTITY);
  expect_text("upvalue 0 of closure #");
}

static void
test_oracle_finds_equal_interned_strings(void **state)
{
  (void)state;
  make_string();
  struct drawn *twin = draw_string("s5");
  paint(twin, SUBJECT_WHITE_CURRENT);
  expect(LAW_INTERNING);
  expect_text("equal short strings");
}

static void
test_oracle_finds_equal_strings_that_no_operation_made(void **state)
{
  (void)state;
  draw_string("__index");
  expect_clean();
  static const char letters[] = "abcdefghijklmnopqrst";
  for (int i = 0; letters[i]; i++)
    draw_string(&letters[i]);
  expect_clean();
  draw_string("__index");
  expect(LAW_INTERNING);
}

static void
test_oracle_finds_a_string_outside_the_table(void **state)
{
  struct drawn *string = make_string();
  (void)state;
  expect_clean();
  string->object.flags = 0;
  expect(LAW_INTERNING);
}

static void
test_oracle_lets_a_dead_string_have_a_twin(void **state)
{
  (void)state;
  make_string();
  enter_sweep();
  struct drawn *twin = draw_string("s5");
  paint(twin, SUBJECT_WHITE_OTHER);
  expect_clean();
  struct drawn *is_long = draw(SUBJECT_KIND_STRING_LONG);
  is_long->object.text = (const uint8_t *)"s5";
  is_long->object.text_size = 2;
  paint(is_long, SUBJECT_BLACK);
  expect_clean();
}

static void
test_oracle_finds_a_wrong_answer(void **state)
{
  struct drawn *string;
  struct subject_answer answer = {{{1, SUBJECT_INTEGER}, {0, SUBJECT_NIL}}};
  (void)state;
  make_pair(&string);
  operate_with(OP_LEN, 6, 0, 0, &answer);
  draw_register(6, number(1));
  expect_clean();
  answer.value[0].bits = 2;
  operate_with(OP_LEN, 6, 0, 0, &answer);
  expect_finding(LAW_ANSWER);
  expect_text("len");
}

/* An answer may name objects that no check has met yet. */
static void
test_oracle_binds_before_an_answer(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  operate(OP_NEWTABLE, 1, 0, 0);
  struct drawn *child = draw(SUBJECT_KIND_TABLE);
  draw_register(1, to(child));
  operate(OP_SETI, 0, 1, 1);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(child));
  struct subject_answer answer = {{number(1), to(child)}};
  operate_with(OP_NEXT, 0, 2, 3, &answer);
  draw_register(2, number(1));
  draw_register(3, to(child));
  expect_clean();
}

static void
test_oracle_finds_an_error_that_is_not_allowed(void **state)
{
  (void)state;
  begin_operation(OP_INT, 0, 1, 0);
  end_operation(SUBJECT_ERROR);
  expect_finding(LAW_ANSWER);
}

/* ---- tricolour: surveys ---------------------------------------------- */

static void
test_oracle_finds_black_to_white(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(table, SUBJECT_BLACK);
  expect(LAW_BLACK_TO_WHITE);
  expect_text("black table #");
  expect_text("refers to white string #");
  expect_detail("in the heap: the main coroutine > register r0");
  assert_string_equal(oracle_finding(oracle)->kinds, "table>string");
}

static void
test_oracle_finds_black_to_white_inside_an_operation(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  expect_clean();
  begin_operation(OP_NEWTABLE, 9, 0, 0);
  paint(table, SUBJECT_BLACK);
  look(ORACLE_INSIDE);
  expect_finding(LAW_BLACK_TO_WHITE);
}

/* Grey parents, weak references and the time after the flip are exempt. */
static void
test_oracle_lets_black_refer_weakly_to_white(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(table, SUBJECT_GREY);
  list_grey(table);
  expect_clean();
  paint(table, SUBJECT_BLACK);
  page.grey_count = 0;
  table->edges[0].value_strength = SUBJECT_WEAK;
  expect_clean();
  table->edges[0].value_strength = SUBJECT_STRONG;
  enter_sweep();
  paint(string, SUBJECT_WHITE_CURRENT);
  string->object.flags |= SUBJECT_OBJECT_SWEPT;
  expect_clean();
}

static void
test_oracle_finds_grey_that_is_unlisted(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(table, SUBJECT_GREY);
  expect(LAW_GREY_UNLISTED);
}

static void
test_oracle_lets_some_greys_be_unlisted(void **state)
{
  struct drawn *upvalue;
  (void)state;
  make_closure(&upvalue);
  struct drawn *name = draw_string("__index");
  name->object.flags |= SUBJECT_OBJECT_FIXED;
  name->object.list = SUBJECT_LIST_FIXED;
  paint(name, SUBJECT_GREY);
  expect_clean();
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(upvalue, SUBJECT_GREY);
  expect_clean();
  upvalue->object.flags = 0; /* closed, it has to be black */
  expect(LAW_GREY_UNLISTED);
}

static void
test_oracle_finds_a_listed_object_that_is_not_grey(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(table, SUBJECT_GREY);
  list_grey(table);
  expect_clean();
  paint(table, SUBJECT_BLACK);
  expect(LAW_LISTED_NOT_GREY);
}

static void
test_oracle_finds_an_object_listed_twice(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(table, SUBJECT_GREY);
  list_grey(table);
  expect_clean();
  list_grey(table);
  expect(LAW_LISTED_TWICE);
}

static void
test_oracle_finds_dead_white_outside_the_sweep(void **state)
{
  struct drawn *garbage = draw(SUBJECT_KIND_TABLE);
  (void)state;
  expect_clean();
  paint(garbage, SUBJECT_WHITE_OTHER);
  expect(LAW_OTHER_WHITE);
}

static void
test_oracle_finds_dead_white_where_the_sweep_has_been(void **state)
{
  struct drawn *garbage = draw(SUBJECT_KIND_TABLE);
  (void)state;
  enter_sweep();
  paint(garbage, SUBJECT_WHITE_OTHER);
  expect_clean();
  garbage->object.list = SUBJECT_LIST_FINALIZABLE;
  enter(SUBJECT_PHASE_SWEEP_FINALIZABLE);
  expect_clean();
  garbage->object.flags = SUBJECT_OBJECT_SWEPT;
  expect(LAW_OTHER_WHITE);
}

static void
test_oracle_knows_which_lists_have_been_swept(void **state)
{
  struct drawn *garbage = draw(SUBJECT_KIND_TABLE);
  (void)state;
  enter_sweep();
  paint(garbage, SUBJECT_WHITE_OTHER);
  enter(SUBJECT_PHASE_SWEEP_FINALIZABLE);
  expect(LAW_OTHER_WHITE);
}

static void
test_oracle_finds_live_to_dead(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  (void)table;
  enter_sweep();
  paint(string, SUBJECT_WHITE_OTHER);
  string->object.flags |= SUBJECT_OBJECT_FIXED; /* never swept */
  expect_clean();
  string->object.flags = SUBJECT_OBJECT_INTERNED;
  expect(LAW_LIVE_TO_DEAD);
  expect_text("refers to dead string #");
}

static void
test_oracle_finds_a_root_that_is_dead(void **state)
{
  (void)state;
  enter_sweep();
  expect_clean();
  paint(globals, SUBJECT_WHITE_OTHER);
  expect(LAW_LIVE_TO_DEAD);
  expect_text("the globals table");
}

static void
test_oracle_finds_black_in_the_pause(void **state)
{
  (void)state;
  paint(globals, SUBJECT_BLACK);
  expect(LAW_PAUSE_WHITE);
}

static void
test_oracle_finds_grey_in_the_pause(void **state)
{
  struct drawn *name = draw(SUBJECT_KIND_TABLE);
  (void)state;
  paint(name, SUBJECT_BLACK);
  name->object.list = SUBJECT_LIST_FIXED;
  expect_clean();
  paint(name, SUBJECT_GREY);
  name->object.list = SUBJECT_LIST_FINALIZABLE;
  expect(LAW_PAUSE_WHITE);
}

static void
test_oracle_finds_a_kind_that_is_never_black(void **state)
{
  struct drawn *cdata = draw(SUBJECT_KIND_CDATA);
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  expect_clean();
  paint(cdata, SUBJECT_BLACK);
  expect(LAW_NEVER_BLACK);
}

static void
test_oracle_finds_a_black_open_upvalue(void **state)
{
  struct drawn *upvalue;
  (void)state;
  make_closure(&upvalue);
  enter(SUBJECT_PHASE_PROPAGATE);
  upvalue->object.flags = 0;
  paint(upvalue, SUBJECT_BLACK);
  expect_clean();
  upvalue->object.flags = SUBJECT_OBJECT_OPEN;
  expect(LAW_NEVER_BLACK);
}

static void
test_oracle_finds_a_thread_black_before_the_atomic_phase(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  traits.threads_grey = false;
  paint(thread, SUBJECT_BLACK);
  expect_clean();
  traits.threads_grey = true;
  expect(LAW_NEVER_BLACK);
}

static void
test_oracle_finds_a_kind_that_is_never_grey(void **state)
{
  struct drawn *string = make_string();
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(string, SUBJECT_BLACK);
  expect_clean();
  paint(string, SUBJECT_GREY);
  expect(LAW_NEVER_GREY);
}

/* ---- findings -------------------------------------------------------- */

static void
test_oracle_keeps_the_first_finding(void **state)
{
  (void)state;
  paint(globals, SUBJECT_BLACK);
  expect(LAW_PAUSE_WHITE);
  operate(OP_NEWTABLE, 0, 0, 0);
  erase(registry);
  expect(LAW_PAUSE_WHITE);
  begin();
  expect_clean();
}

/* A long path is cut in the middle; a chain of thousands is bound and reached
 * without recursion. */
static void
test_oracle_walks_long_chains(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  for (int i = 0; i < 20; i++) {
    operate(OP_NEWTABLE, 2, 0, 0);
    struct drawn *child = draw(SUBJECT_KIND_TABLE);
    operate(OP_SETI, 0, 2, 2);
    operate(OP_MOVE, 0, 2, 0);
    draw_edge(table, SUBJECT_LABEL_ENTRY, 2, to(child));
    thread->edges[0].value = to(child);
    table = child;
  }
  operate(OP_SETGLOBAL, 0, 0, 0);
  struct drawn *name = draw_string("g0");
  struct subject_edge *edge =
      draw_edge(globals, SUBJECT_LABEL_ENTRY, 0, to(table));
  edge->key = to(name);
  draw_register(2, to(table));
  expect_clean();
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(table, SUBJECT_BLACK);
  draw_edge(table, SUBJECT_LABEL_INTERNAL, 0, to(string));
  expect(LAW_BLACK_TO_WHITE);
}

/* Nobody has asked for a check while this was made: what is new hangs from an
 * old coroutine that does not run. */
static void
test_oracle_binds_what_others_hold(void **state)
{
  struct drawn *upvalue;
  (void)state;
  make_closure(&upvalue);
  operate(OP_CONEW, 6, 3, 0);
  struct drawn *other = draw(SUBJECT_KIND_THREAD);
  draw_part(other, 160);
  draw_register(6, to(other));
  struct subject_edge *start =
      draw_edge(other, SUBJECT_LABEL_START, 0, thread->edges[1].value);
  expect_clean();
  operate(OP_RESUME, 6, 0, 0);
  operate(OP_YIELD, 0, 0, 0);
  operate(OP_NEWTABLE, 6 + 1, 0, 0);
  operate(OP_COSET, 6, 5, 7);
  operate(OP_NIL, 7, 0, 0);
  start->label = SUBJECT_LABEL_FUNCTION;
  struct drawn *table = draw(SUBJECT_KIND_TABLE);
  draw_edge(other, SUBJECT_LABEL_REGISTER, 5, to(table));
  expect_clean();
  operate(OP_INT, 8, 1, 0);
  draw_register(8, number(2));
  expect(LAW_CONTENTS);
}

/* A value can be looked up only when its key is bound, which may come later:
 * here each key is met after the entry that it is the key of, and the second
 * one hangs from the value of the first. */
static void
test_oracle_binds_keys_before_their_values(void **state)
{
  struct drawn *table, *key, *value;
  (void)state;
  operate(OP_NEWTABLE, 0, 0, 0);
  operate(OP_SETGLOBAL, 0, 0, 0);
  table = draw(SUBJECT_KIND_TABLE);
  draw_edge(globals, SUBJECT_LABEL_ENTRY, 0, to(table))->key =
      to(draw_string("g0"));
  for (int i = 0; i < 3; i++) {
    operate(OP_NEWTABLE, 1, 0, 0);
    operate(OP_NEWTABLE, 2, 0, 0);
    operate(OP_SET, 0, 1, 2);
    operate(OP_SETI, 0, 1, 1);
    operate(OP_MOVE, 0, 2, 0);
    key = draw(SUBJECT_KIND_TABLE);
    value = draw(SUBJECT_KIND_TABLE);
    draw_edge(table, SUBJECT_LABEL_ENTRY, 0, to(value))->key = to(key);
    draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(key));
    table = value;
  }
  for (int i = 0; i < 3; i++)
    operate(OP_NIL, i, 0, 0);
  expect_clean();
  operate(OP_NIL, 3, 0, 0);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 1, number(1));
  expect(LAW_CONTENTS);
}

/* What the path says: labels from the root down to the object. */
static void
test_oracle_tells_the_path(void **state)
{
  struct drawn *string;
  struct drawn *table = make_pair(&string);
  (void)state;
  operate(OP_SETGLOBAL, 0, 0, 0);
  operate(OP_NIL, 0, 0, 0);
  thread->edges[0].value = (struct subject_value){0, SUBJECT_NIL};
  struct subject_edge *edge =
      draw_edge(globals, SUBJECT_LABEL_ENTRY, 0, to(table));
  edge->key = to(draw_string("g0"));
  expect_clean();
  table->edges[0].value = number(1);
  expect(LAW_CONTENTS);
  expect_detail("the globals table > entry [string #");
  expect_detail("in the list of all objects");
}

/* An adapter that shows nothing is held to what events and answers tell. */
static void
test_oracle_judges_a_black_box_by_what_it_shows(void **state)
{
  (void)state;
  subject.capabilities = 0;
  begin();
  paint(globals, SUBJECT_BLACK);
  enter(SUBJECT_PHASE_SWEEP_END);
  tell_phase(SUBJECT_PHASE_PAUSE, SUBJECT_PHASE_ATOMIC);
  expect_clean();
  assert_int_equal(oracle_statistics(oracle)->checks, 0);
  tell((struct subject_event){.type = SUBJECT_EVENT_BAD_FREE,
                              .base = REGION_BASE});
  expect_finding(LAW_BAD_FREE);
}

static void
test_oracle_judges_no_colours_that_it_is_not_shown(void **state)
{
  struct drawn *string;
  (void)state;
  subject.capabilities = SUBJECT_CAN_SURVEY;
  begin();
  struct drawn *table = make_pair(&string);
  paint(table, SUBJECT_WHITE_OTHER);
  page.heap.phase = SUBJECT_PHASE_PROPAGATE;
  expect_clean();
  table->edges[0].value = number(3);
  expect(LAW_CONTENTS);
}

/* Without addresses nothing can be judged, so nothing is accused. */
static void
test_oracle_accuses_nobody_when_it_is_exhausted(void **state)
{
  struct drawn *table = make_table();
  (void)state;
  step(SUBJECT_EVENT_EXHAUSTED);
  assert_true(oracle_is_exhausted(oracle));
  paint(table, SUBJECT_BLACK);
  look(ORACLE_BETWEEN);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
  begin();
  assert_false(oracle_is_exhausted(oracle));
}

static void
test_oracle_trips_every_law_of_surveys(void **state)
{
  (void)state;
  expect_all_tripped(false);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_oracle_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(passes_a_sound_heap),
      T(counts_only_what_it_judged),
      T(forgets_the_last_stream),
      T(finds_a_freed_live_object),
      T(finds_a_live_object_freed_by_the_mutator),
      T(lets_the_dead_be_freed),
      T(finds_a_dangling_value),
      T(finds_a_dangling_key),
      T(finds_a_weak_value_that_dangles),
      T(ignores_what_the_dead_refer_to),
      T(finds_a_list_that_dangles),
      T(ignores_grey_lists_that_are_left_over),
      T(finds_a_grey_list_that_leads_nowhere),
      T(finds_wrong_contents),
      T(finds_lost_contents),
      T(finds_contents_that_nobody_stored),
      T(finds_contents_shown_twice),
      T(finds_a_string_that_changed),
      T(finds_a_value_swapped),
      T(ignores_contents_of_the_unreachable),
      T(finds_nodes_that_have_no_object),
      T(knows_old_strings_by_new_operations),
      T(compares_contents_between_operations_only),
      T(finds_a_new_object_that_is_an_old_one),
      T(finds_a_copy_in_place_of_an_object),
      T(finds_an_object_of_another_kind),
      T(finds_a_kind_that_changed),
      T(finds_an_upvalue_that_is_not_shared),
      T(finds_equal_interned_strings),
      T(finds_equal_strings_that_no_operation_made),
      T(finds_a_string_outside_the_table),
      T(lets_a_dead_string_have_a_twin),
      T(finds_a_wrong_answer),
      T(binds_before_an_answer),
      T(finds_an_error_that_is_not_allowed),
      T(finds_black_to_white),
      T(finds_black_to_white_inside_an_operation),
      T(lets_black_refer_weakly_to_white),
      T(finds_grey_that_is_unlisted),
      T(lets_some_greys_be_unlisted),
      T(finds_a_listed_object_that_is_not_grey),
      T(finds_an_object_listed_twice),
      T(finds_dead_white_outside_the_sweep),
      T(finds_dead_white_where_the_sweep_has_been),
      T(knows_which_lists_have_been_swept),
      T(finds_live_to_dead),
      T(finds_a_root_that_is_dead),
      T(finds_black_in_the_pause),
      T(finds_grey_in_the_pause),
      T(finds_a_kind_that_is_never_black),
      T(finds_a_black_open_upvalue),
      T(finds_a_thread_black_before_the_atomic_phase),
      T(finds_a_kind_that_is_never_grey),
      T(keeps_the_first_finding),
      T(walks_long_chains),
      T(binds_what_others_hold),
      T(binds_keys_before_their_values),
      T(tells_the_path),
      T(judges_a_black_box_by_what_it_shows),
      T(judges_no_colours_that_it_is_not_shown),
      T(accuses_nobody_when_it_is_exhausted),
      T(trips_every_law_of_surveys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
