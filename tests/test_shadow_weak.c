/* SPDX-License-Identifier: MIT
 *
 * Weak tables in the shadow heap: what makes a table weak and what it then
 * holds, ephemerons, entries that the collector removes, and what reads of such
 * tables may answer. A side taken for the other, a mode that is read too early,
 * an ephemeron that is forgotten, a search that is slow on long chains fails
 * here.
 */
#include "shadow_fixture.h"

#include "oracle/shadow_internal.h"

/* ---- modes ----------------------------------------------------------- */

static int32_t
weakness(const struct shadow *shadow, uint32_t reg)
{
  return shadow_weakness(shadow, node_in(shadow, reg));
}

static void
test_shadow_weak_mode_is_what_the_metatable_says_now(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; setmode r1 k");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_NONE);
  run(shadow, "setmeta r0 r1");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_KEYS);
  assert_int_equal(weakness(shadow, 1), OP_WEAK_NONE);
  run(shadow, "setmode r1 kv");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_BOTH);
  run(shadow, "setmode r1 v");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_VALUES);
  run(shadow, "setmode r1 none");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_NONE);
  run(shadow, "setmode r1 v; nil r2; setmeta r0 r2");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_NONE);
  run(shadow, "newud r3 8 1; setmeta r3 r1");
  assert_int_equal(weakness(shadow, 3), OP_WEAK_NONE);
  refuse(shadow, "setmode r3 k; setmode r2 k");
}

/* Any short string that has the letters. */
static void
test_shadow_weak_mode_is_a_short_string(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; setmeta r0 r1; "
              "setreg 3 r1; int r2 1; setevent r1 __mode r2");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_NONE);
  run(shadow, "str r2 1; setevent r1 __mode r2");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_NONE);
  run(shadow, "newweak r3 kv; getmeta r4 r3; nil r5; next r4 r5 r6; "
              "setevent r1 __mode r6");
  expect(shadow, 5, "\"__mode\"");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_BOTH);
  run(shadow, "concat r7 r6 r2; setevent r1 __mode r7");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_BOTH);
  run(shadow, "lstr r8 1 0; concat r7 r6 r8; setevent r1 __mode r7");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_NONE);
}

static void
test_shadow_weak_newweak_makes_a_table_and_its_metatable(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first;

  run(shadow, "newweak r0 v");
  assert_int_equal(shadow_births(shadow, &first), 2);
  assert_int_equal(node_in(shadow, 0), first);
  expect_edge(shadow, first, SUBJECT_LABEL_METATABLE, nil_value(), "table 5");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_VALUES);
  run(shadow, "newweak r0 none");
  expect_edge(shadow, 6, SUBJECT_LABEL_METATABLE, nil_value(), "table 7");
  assert_int_equal(weakness(shadow, 0), OP_WEAK_NONE);
}

/* ---- what is held ---------------------------------------------------- */

/* An entry of two fresh tables, key then value, that nothing else holds:
 * whether each is reachable. */
static void
expect_sides(struct shadow *shadow, const char *newweak, bool has_key,
             bool has_value)
{
  uint32_t key, value;

  run_one(shadow, newweak);
  run(shadow, "newtable r1 0 0; newtable r2 0 0; set r0 r1 r2");
  key = node_in(shadow, 1);
  value = node_in(shadow, 2);
  run(shadow, "nil r1");
  assert_int_equal(shadow_is_reachable(shadow, key), has_key);
  assert_true(shadow_is_reachable(shadow, value));
  run(shadow, "nil r2");
  assert_int_equal(shadow_is_reachable(shadow, key), has_key);
  assert_int_equal(shadow_is_reachable(shadow, value), has_value);
  assert_int_equal(shadow_is_held(shadow, value), has_value);
}

static void
test_shadow_weak_sides_are_not_held(void **state)
{
  struct shadow *shadow = *state;

  expect_sides(shadow, "newweak r0 none", true, true);
  expect_sides(shadow, "newweak r0 k", false, false);
  expect_sides(shadow, "newweak r0 v", true, false);
  expect_sides(shadow, "newweak r0 kv", false, false);
}

/* Keys that are no nodes need nobody. */
static void
test_shadow_weak_keys_hold_the_values_of_plain_keys(void **state)
{
  struct shadow *shadow = *state;
  uint32_t value;

  run(shadow, "newweak r0 k; newtable r1 0 0; sets r0 3 r1");
  value = node_in(shadow, 1);
  run(shadow, "nil r1");
  assert_true(shadow_is_reachable(shadow, value));
  run(shadow, "getmeta r2 r0; setmode r2 kv");
  assert_false(shadow_is_reachable(shadow, value));
  assert_true(shadow_was_reachable(shadow, value));
  run(shadow, "setmode r2 none");
  assert_true(shadow_is_reachable(shadow, value));
  assert_false(shadow_was_reachable(shadow, value));
  run(shadow, "setmode r2 v; nil r3; setmeta r0 r3");
  assert_true(shadow_is_reachable(shadow, value));
  run(shadow, "setmeta r0 r2");
  assert_false(shadow_is_reachable(shadow, value));
}

/* What is read from a weak table is reachable from then on, and what only it
 * holds. */
static void
test_shadow_weak_reads_bring_back(void **state)
{
  struct shadow *shadow = *state;
  uint32_t value;

  run(shadow, "newweak r0 v; newtable r1 0 0; seti r0 1 r1; newtable r2 0 0; "
              "seti r1 1 r2");
  value = node_in(shadow, 2);
  run(shadow, "nil r2; nil r1");
  assert_false(shadow_is_reachable(shadow, value));
  run(shadow, "geti r3 r0 1");
  assert_false(shadow_was_reachable(shadow, value));
  assert_true(shadow_is_reachable(shadow, value));
}

static void
test_shadow_weak_ephemeron_needs_its_key(void **state)
{
  struct shadow *shadow = *state;
  uint32_t value;

  run(shadow, "newweak r0 k; newtable r1 0 0; newtable r2 0 0; set r0 r1 r2; "
              "set r0 r2 r1");
  value = node_in(shadow, 2);
  run(shadow, "nil r2");
  assert_true(shadow_is_reachable(shadow, value));
  run(shadow, "nil r1");
  assert_false(shadow_is_reachable(shadow, value));
}

static void
test_shadow_weak_ephemerons_are_a_chain(void **state)
{
  struct shadow *shadow = *state;
  char path[200];
  uint32_t first;

  run(shadow, "ephemerons r0 3");
  assert_int_equal(shadow_births(shadow, &first), 6);
  assert_int_equal(node_in(shadow, 0), first);
  expect_edge(shadow, 4, SUBJECT_LABEL_ENTRY, integer_value(1), "table 7");
  expect_edge(shadow, 4, SUBJECT_LABEL_ENTRY, integer_value(2), "table 5");
  expect_edge(shadow, 5, SUBJECT_LABEL_METATABLE, nil_value(), "table 6");
  expect_edge(shadow, 5, SUBJECT_LABEL_ENTRY, node_value(7), "table 8");
  expect_edge(shadow, 5, SUBJECT_LABEL_ENTRY, node_value(8), "table 9");
  expect_edge(shadow, 5, SUBJECT_LABEL_ENTRY, node_value(9), "true");
  assert_int_equal(shadow_weakness(shadow, 5), OP_WEAK_KEYS);
  assert_true(shadow_path(shadow, 9, path, sizeof path));
  assert_string_equal(path, "main.frame[0].r0[2][table 8]");
  run(shadow, "nil r1; seti r0 1 r1");
  for (uint32_t id = 7; id <= 9; id++)
    assert_false(shadow_is_reachable(shadow, id));
  assert_true(shadow_is_reachable(shadow, 5));
  assert_false(shadow_path(shadow, 9, path, sizeof path));
  refuse(shadow, "ephemerons r0 0; ephemerons r0 4096");
}

/* 10^5 entries in one table, in an order that knows nothing of the chain. A
 * pass over the table would find a few of them each time. */
static void
test_shadow_weak_long_shuffled_chain_is_searched_at_once(void **state)
{
  enum { COUNT = 100000 };
  struct shadow *shadow = *state;
  uint32_t *order = malloc(COUNT * sizeof *order);
  struct op_random random;
  uint32_t first, weak;

  assert_non_null(order);
  op_random_init(&random, 7);
  for (uint32_t i = 0; i < COUNT; i++) {
    uint32_t j = op_random_below(&random, i + 1);

    order[i] = order[j];
    order[j] = i;
  }
  shadow_clear(shadow, true);
  assert_true(shadow_reserve_nodes(shadow, COUNT + 1));
  first = shadow->node_count;
  for (uint32_t i = 0; i <= COUNT; i++)
    shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  assert_int_equal(apply_op(shadow, parse_op("newweak r0 k"), SUBJECT_DONE,
                            NULL, NULL),
                   SHADOW_OK);
  weak = node_in(shadow, 0);
  assert_true(shadow_reserve_entries(shadow, weak, COUNT));
  for (uint32_t i = 0; i < COUNT; i++)
    shadow_set(shadow, weak, node_value(first + order[i]),
               node_value(first + order[i] + 1));
  for (int i = 0; i < 20; i++) {
    bool is_held = i % 2;

    shadow_begin(shadow, parse_op("collect"));
    if (is_held)
      shadow_register_set(shadow, shadow_frame_now(shadow), 1,
                          node_value(first));
    else
      shadow_register_set(shadow, shadow_frame_now(shadow), 1, nil_value());
    assert_int_equal(shadow_reach(shadow),
                     SHADOW_FIRST + 2 + (is_held ? COUNT + 1 : 0));
    assert_int_equal(shadow_is_reachable(shadow, first + COUNT), is_held);
  }
  free(order);
}

/* ---- what the collector removes -------------------------------------- */

static void
test_shadow_weak_clearing_removes_the_entry(void **state)
{
  struct shadow *shadow = *state;
  uint32_t table, key;

  run(shadow, "newweak r0 v; newtable r1 0 0; newtable r2 0 0; set r0 r1 r2; "
              "seti r0 5 r2; nil r2");
  table = node_in(shadow, 0);
  key = node_in(shadow, 1);
  shadow_begin(shadow, parse_op("collect"));
  shadow_clear_entry(shadow, table, node_value(key));
  shadow_clear_entry(shadow, table, integer_value(5));
  shadow_clear_entry(shadow, table, integer_value(6));
  check_shadow(shadow, NULL, 0);
  expect_edge(shadow, table, SUBJECT_LABEL_ENTRY, node_value(key), "none");
  run(shadow, "nil r3; next r0 r3 r4");
  expect(shadow, 3, "nil");
}

/* The key that a register holds stays known until an entry is added; that an
 * operation added one may have been before or after. */
static void
test_shadow_weak_next_goes_on_from_a_cleared_key(void **state)
{
  struct shadow *shadow = *state;
  uint32_t table, first, other;

  run(shadow, "newweak r0 v; newtable r1 0 0; newtable r2 0 0; "
              "newtable r3 0 0; set r0 r1 r2; set r0 r3 r2; nil r2");
  table = node_in(shadow, 0);
  first = node_in(shadow, 1);
  other = node_in(shadow, 3);
  run(shadow, "setglobal 0 r3; nil r3");
  shadow_begin(shadow, parse_op("collect"));
  shadow_clear_entry(shadow, table, node_value(first));
  shadow_clear_entry(shadow, table, node_value(other));
  assert_true(admits(shadow, "next r0 r1 r4"));
  assert_int_equal(answered(shadow, "next r0 r1 r4", nil_value(), nil_value()),
                   SHADOW_OK);
  run(shadow, "getglobal r3 0");
  refuse(shadow, "next r0 r3 r4");
  run(shadow, "newtable r1 0 0; set r0 r1 r1");
  first = node_in(shadow, 1);
  assert_true(admits(shadow, "next r0 r1 r4"));
  run(shadow, "bool r5 1; seti r0 1 r5");
  shadow_clear_entry(shadow, table, node_value(first));
  refuse(shadow, "next r0 r1 r4");
}

static enum shadow_result
read_named(struct shadow *shadow, struct shadow_value answer)
{
  return answered(shadow, "gets r5 r0 1", answer, nil_value());
}

/* The name is a string that is made: a collection may come before the read. */
static void
test_shadow_weak_reads_by_name_are_open_for_what_may_go(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value value, number = integer_value(4);

  run(shadow, "newweak r0 v; newtable r1 0 0; sets r0 1 r1; int r2 4; "
              "sets r0 2 r2");
  value = register_now(shadow, 1);
  assert_int_equal(read_named(shadow, nil_value()), SHADOW_ILLEGAL);
  assert_int_equal(read_named(shadow, number), SHADOW_ILLEGAL);
  assert_int_equal(
      answered(shadow, "gets r5 r0 2", nil_value(), nil_value()),
      SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "gets r5 r0 2", number, nil_value()),
                   SHADOW_OK);
  run(shadow, "nil r1");
  assert_int_equal(read_named(shadow, number), SHADOW_ILLEGAL);
  assert_int_equal(read_named(shadow, value), SHADOW_OK);
  assert_int_equal(read_named(shadow, nil_value()), SHADOW_ILLEGAL);
  run(shadow, "nil r5");
  assert_int_equal(read_named(shadow, nil_value()), SHADOW_OK);
  expect(shadow, 5, "nil");
  assert_int_equal(read_named(shadow, value), SHADOW_ILLEGAL);
}

/* An object that nobody knows may be the right one, but no number. */
static void
test_shadow_weak_reads_by_name_take_unknown_objects(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value unknown = {77, SUBJECT_OTHER};

  run(shadow, "newtable r0 0 0; sets r0 1 r0; int r2 4; sets r0 2 r2");
  assert_int_equal(read_named(shadow, unknown), SHADOW_OK);
  expect(shadow, 5, "table 4");
  assert_int_equal(answered(shadow, "gets r5 r0 2", unknown, nil_value()),
                   SHADOW_ILLEGAL);
  run(shadow, "setglobal 1 r0");
  assert_int_equal(
      answered(shadow, "getglobal r5 1", nil_value(), nil_value()),
      SHADOW_ILLEGAL);
}

/* The allocation of the store itself may collect: what was found before still
 * counts. */
static void
test_shadow_weak_append_counts_before_the_clearing(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value answer[SUBJECT_ANSWERS_MAX] = {integer_value(2)};
  char message[SHADOW_MESSAGE_MAX];
  struct op op = parse_op("append r0 r2");

  run(shadow, "newweak r0 v; newtable r1 0 0; seti r0 1 r1; nil r1; int r2 3");
  shadow_begin(shadow, op);
  shadow_clear_entry(shadow, node_in(shadow, 0), integer_value(1));
  assert_int_equal(shadow_apply(shadow, op, SUBJECT_DONE, answer, message),
                   SHADOW_OK);
  assert_int_equal(answered(shadow, "append r0 r2", integer_value(4),
                            nil_value()),
                   SHADOW_ILLEGAL);
}

static void
test_shadow_weak_newindex_aims_before_the_clearing(void **state)
{
  struct shadow *shadow = *state;
  struct op op = parse_op("newindex r0 r1 r2");
  char message[SHADOW_MESSAGE_MAX];
  uint32_t table;

  run(shadow, "newweak r0 v; getmeta r3 r0; newtable r4 0 0; "
              "setevent r3 __newindex r4; newtable r5 0 0; int r1 1; "
              "set r0 r1 r5; nil r5; int r2 8");
  table = node_in(shadow, 0);
  shadow_begin(shadow, op);
  shadow_clear_entry(shadow, table, integer_value(1));
  assert_int_equal(shadow_apply(shadow, op, SUBJECT_DONE, NULL, message),
                   SHADOW_OK);
  expect_edge(shadow, table, SUBJECT_LABEL_ENTRY, integer_value(1), "8");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_shadow_weak_mode_is_what_the_metatable_says_now),
      TEST(test_shadow_weak_mode_is_a_short_string),
      TEST(test_shadow_weak_newweak_makes_a_table_and_its_metatable),
      TEST(test_shadow_weak_sides_are_not_held),
      TEST(test_shadow_weak_keys_hold_the_values_of_plain_keys),
      TEST(test_shadow_weak_reads_bring_back),
      TEST(test_shadow_weak_ephemeron_needs_its_key),
      TEST(test_shadow_weak_ephemerons_are_a_chain),
      TEST(test_shadow_weak_long_shuffled_chain_is_searched_at_once),
      TEST(test_shadow_weak_clearing_removes_the_entry),
      TEST(test_shadow_weak_next_goes_on_from_a_cleared_key),
      TEST(test_shadow_weak_reads_by_name_are_open_for_what_may_go),
      TEST(test_shadow_weak_reads_by_name_take_unknown_objects),
      TEST(test_shadow_weak_append_counts_before_the_clearing),
      TEST(test_shadow_weak_newindex_aims_before_the_clearing),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
