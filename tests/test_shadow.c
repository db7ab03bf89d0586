/* SPDX-License-Identifier: MIT
 *
 * The shadow heap, operation by operation: values, tables, metatables,
 * userdata, closures; what each does, and each state in which its row
 * says that it is skipped. After every operation here the sums, look-ups and
 * marks are checked as well. An operation that writes another register, admits
 * what a row forbids or holds what it should drop fails here.
 */
#include "shadow_fixture.h"

enum { REGISTRY = SHADOW_REGISTRY, GLOBALS = SHADOW_GLOBALS };

/* ---- values ---------------------------------------------------------- */

static void
test_shadow_begins_empty(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first;

  check_shadow(shadow, NULL, 0);
  assert_int_equal(shadow_node_count(shadow), SHADOW_FIRST);
  assert_int_equal(shadow_births(shadow, &first), 0);
  assert_int_equal(shadow_running(shadow), SHADOW_MAIN);
  assert_int_equal(shadow_kind(shadow, SHADOW_ROOT), SUBJECT_KIND_ROOT);
  assert_int_equal(shadow_kind(shadow, SHADOW_MAIN), SUBJECT_KIND_THREAD);
  assert_int_equal(shadow_reach(shadow), SHADOW_FIRST);
  expect_edge(shadow, SHADOW_ROOT, SUBJECT_LABEL_GLOBALS, nil_value(),
              "the globals table");
  expect_edge(shadow, SHADOW_ROOT, SUBJECT_LABEL_CURRENT, nil_value(),
              "the main coroutine");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_FUNCTION, integer_value(0),
              "nil");
  for (uint32_t reg = 0; reg < OP_REGISTERS; reg++)
    expect(shadow, reg, "nil");
}

static void
test_shadow_values_are_written(void **state)
{
  struct shadow *shadow = *state;

  run(shadow,
      "bool r0 1; bool r1 0; int r2 -7; float r3 6; float r4 -5; "
      "lightud r5 9; cfunc r6 3; str r7 12; move r8 r2; int r9 4; nil r9");
  expect(shadow, 0, "true");
  expect(shadow, 1, "false");
  expect(shadow, 2, "-7");
  expect(shadow, 3, "1.50");
  expect(shadow, 4, "-1.25");
  expect(shadow, 5, "light userdata 9");
  expect(shadow, 6, "C function 3");
  expect(shadow, 7, "\"s12\"");
  expect(shadow, 8, "-7");
  expect(shadow, 9, "nil");
}

static void
test_shadow_strings_go_by_content(void **state)
{
  struct shadow *shadow = *state;
  size_t length;
  uint32_t id;

  assert_int_equal(shadow_string_find(shadow, (const uint8_t *)"s1", 2), 0);
  run(shadow, "str r0 1; str r1 1; concat r2 r0 r1; lstr r3 5 9; "
              "concat r4 r3 r0; concat r5 r3 r1; lstr r6 5 9");
  expect(shadow, 2, "\"s1s1\"");
  assert_true(same_value(register_now(shadow, 0), register_now(shadow, 1)));
  assert_true(same_value(register_now(shadow, 4), register_now(shadow, 5)));
  assert_true(same_value(register_now(shadow, 3), register_now(shadow, 6)));
  id = shadow_string_find(shadow, (const uint8_t *)"s1s1", 4);
  assert_int_equal(id, register_now(shadow, 2).bits);
  assert_memory_equal(shadow_string_bytes(shadow, id, &length), "s1s1", 4);
  assert_int_equal(length, 4);
  shadow_string_bytes(shadow, (uint32_t)register_now(shadow, 3).bits, &length);
  assert_int_equal(length, OP_SHORT_STRING_MAX + 1 + 9);
}

static void
test_shadow_strings_have_limits(void **state)
{
  struct shadow *shadow = *state;
  int count = 0;

  run(shadow, "lstr r0 1 2048; str r1 1; int r2 3");
  refuse(shadow, "lstr r3 1 4096; concat r3 r0 r0; concat r3 r0 r2; "
                 "concat r3 r2 r0; concat r3 r4 r0");
  assert_true(admits(shadow, "concat r3 r0 r1"));
  while (admits(shadow, "lstr r0 1 3968") && count < 10000) {
    run_one(shadow, "lstr r0 1 3968");
    count++;
  }
  assert_in_range(count, OP_STRINGS_SMALL_MAX / 4096, 1050);
  assert_true(admits(shadow, "str r1 2"));
  shadow_clear(shadow, false);
  assert_true(admits(shadow, "lstr r0 1 3968"));
}

/* Many strings, so that the index must grow with them. */
static void
test_shadow_strings_are_found_among_many(void **state)
{
  struct shadow *shadow = *state;
  char text[OP_TEXT_OP_MAX], name[OP_STRING_MAX];

  for (int n = 0; n < 1024; n++) {
    snprintf(text, sizeof text, "str r0 %d", n);
    assert_int_equal(
        apply_op(shadow, parse_op(text), SUBJECT_DONE, NULL, text),
        SHADOW_OK);
  }
  for (int n = 0; n < 1024; n++) {
    size_t length = op_string_name(n, name);

    assert_int_equal(shadow_string_find(shadow, (const uint8_t *)name, length),
                     n + 1);
  }
  assert_int_equal(shadow_string_find(shadow, (const uint8_t *)"s1024", 5), 0);
}

/* ---- tables ---------------------------------------------------------- */

static void
test_shadow_tables_hold_what_was_set(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first;

  run(shadow, "newtable r0 3 4");
  assert_int_equal(shadow_births(shadow, &first), 1);
  assert_int_equal(first, node_in(shadow, 0));
  assert_int_equal(shadow_kind(shadow, first), SUBJECT_KIND_TABLE);
  run(shadow, "str r1 4; bool r2 1; set r0 r1 r2; get r3 r0 r1; "
              "gets r4 r0 4; sets r0 4 r0; gets r5 r0 4; seti r0 0 r1; "
              "geti r6 r0 0; geti r7 r0 1; set r0 r0 r1; get r8 r0 r0");
  expect(shadow, 3, "true");
  expect(shadow, 4, "true");
  assert_int_equal(node_in(shadow, 5), first);
  expect(shadow, 6, "\"s4\"");
  expect(shadow, 7, "nil");
  expect(shadow, 8, "\"s4\"");
}

static void
test_shadow_tables_take_integral_floats_as_integers(void **state)
{
  struct shadow *shadow = *state;

  run(shadow,
      "newtable r0 0 0; float r1 8; float r2 9; str r3 1; "
      "set r0 r1 r3; geti r4 r0 2; set r0 r2 r3; get r5 r0 r2; "
      "float r6 -8; set r0 r6 r3; int r7 -2; get r8 r0 r7; delete r0 r1; "
      "geti r9 r0 2");
  expect(shadow, 4, "\"s1\"");
  expect(shadow, 5, "\"s1\"");
  expect(shadow, 8, "\"s1\"");
  expect(shadow, 9, "nil");
}

static void
test_shadow_tables_skip_what_is_ill_typed(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; newud r1 0 1; str r2 1");
  refuse(shadow,
         "newtable r0 1088 0; newtable r0 0 1088; get r3 r1 r2; "
         "get r3 r4 r2; get r3 r0 r4; set r1 r2 r2; set r0 r4 r2; "
         "geti r3 r1 1; seti r2 1 r2; gets r3 r2 1; sets r4 1 r2; "
         "delete r0 r2; delete r0 r4; delete r1 r2; append r0 r4; "
         "append r1 r2; len r3 r1; len r3 r2; next r1 r4 r5; next r0 r2 r5; "
         "next r0 r4 r4; setevent r1 __index r2");
  assert_true(admits(shadow, "newtable r0 1024 1024"));
}

static void
test_shadow_tables_forget_what_is_deleted(void **state)
{
  struct shadow *shadow = *state;
  uint32_t key, value;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; newtable r2 0 0; "
              "set r0 r1 r2");
  key = node_in(shadow, 1);
  value = node_in(shadow, 2);
  run(shadow, "nil r2; nil r2");
  assert_true(shadow_is_reachable(shadow, value));
  run(shadow, "delete r0 r1");
  assert_false(shadow_is_reachable(shadow, value));
  assert_true(shadow_was_reachable(shadow, value));
  run(shadow, "nil r1");
  assert_false(shadow_is_reachable(shadow, key));
  assert_false(shadow_was_reachable(shadow, value));
  refuse(shadow, "delete r0 r1");
}

/* The first register has no part in it. */
static void
test_shadow_tables_delete_by_the_second_register(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r1 0 0; int r2 1; set r1 r2 r2; delete r1 r2");
  assert_false(has_integer(shadow, node_in(shadow, 1), 1));
}

/* A key is an edge as good as a value. */
static void
test_shadow_tables_keep_their_keys(void **state)
{
  struct shadow *shadow = *state;
  uint32_t key;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; bool r2 1; set r0 r1 r2");
  key = node_in(shadow, 1);
  run(shadow, "nil r1");
  assert_true(shadow_is_reachable(shadow, key));
}

/* Through growth, the index and removal from its middle. */
static void
test_shadow_tables_grow_and_shrink(void **state)
{
  struct shadow *shadow = *state;
  char text[OP_TEXT_OP_MAX];

  run(shadow, "newtable r0 0 0; nil r2");
  for (int round = 0; round < 2; round++) {
    for (int n = 0; n < 64; n++) {
      snprintf(text, sizeof text, "seti r0 %d r0", n);
      run_one(shadow, text);
    }
    for (int n = 0; n < 64; n++) {
      int key = n * 37 % 64;

      snprintf(text, sizeof text, "seti r0 %d r2", key);
      run_one(shadow, text);
      assert_false(has_integer(shadow, node_in(shadow, 0), key));
    }
  }
  assert_int_equal(shadow_sum(shadow, node_in(shadow, 0)), 0);
}

static void
test_shadow_len_takes_any_border(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value nil = nil_value();

  run(shadow, "newtable r0 0 0; seti r0 1 r0; seti r0 2 r0; seti r0 4 r0");
  assert_int_equal(answered(shadow, "len r1 r0", integer_value(2), nil),
                   SHADOW_OK);
  expect(shadow, 1, "2");
  assert_int_equal(answered(shadow, "len r1 r0", integer_value(4), nil),
                   SHADOW_OK);
  for (int n = -1; n < 6; n++) {
    if (n != 2 && n != 4)
      assert_int_equal(answered(shadow, "len r1 r0", integer_value(n), nil),
                       SHADOW_ILLEGAL);
  }
  assert_int_equal(answered(shadow, "len r1 r0", nil, nil), SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "len r1 r0", integer_value(INT64_MAX), nil),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "len r1 r0", integer_value(INT64_MIN), nil),
                   SHADOW_ILLEGAL);
  run(shadow, "newtable r2 0 0");
  assert_int_equal(answered(shadow, "len r1 r2", integer_value(0), nil),
                   SHADOW_OK);
}

static void
test_shadow_append_follows_any_border(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value nil = nil_value();

  run(shadow, "newtable r0 0 0; seti r0 2 r0; str r1 1");
  assert_int_equal(answered(shadow, "append r0 r1", integer_value(2), nil),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "append r0 r1", integer_value(0), nil),
                   SHADOW_ILLEGAL);
  assert_int_equal(
      answered(shadow, "append r0 r1", integer_value(INT64_MIN), nil),
      SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "append r0 r1", integer_value(3), nil),
                   SHADOW_OK);
  assert_int_equal(answered(shadow, "append r0 r1", integer_value(1), nil),
                   SHADOW_OK);
  run(shadow, "geti r2 r0 1; geti r3 r0 3");
  expect(shadow, 2, "\"s1\"");
  expect(shadow, 3, "\"s1\"");
}

static void
test_shadow_next_answers_entries(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value nil = nil_value(), one = integer_value(1);
  struct shadow_value two = integer_value(2), name;
  struct shadow_value foreign = {1, SUBJECT_OTHER};

  run(shadow, "newtable r0 0 0; str r1 1");
  name = register_now(shadow, 1);
  assert_int_equal(answered(shadow, "next r0 r2 r3", one, name),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", nil, nil), SHADOW_OK);
  run(shadow, "seti r0 1 r1; seti r0 2 r1");
  assert_int_equal(answered(shadow, "next r0 r2 r3", nil, nil), SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", two, one), SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", foreign, name),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", two, nil), SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", integer_value(3), nil),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", nil, name),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", two, name), SHADOW_OK);
  expect(shadow, 2, "2");
  expect(shadow, 3, "\"s1\"");
  assert_int_equal(answered(shadow, "next r0 r2 r3", two, name),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r2 r3", one, name), SHADOW_OK);
  assert_int_equal(answered(shadow, "next r0 r2 r3", nil, nil), SHADOW_OK);
  expect(shadow, 2, "nil");
  expect(shadow, 3, "nil");
  run(shadow, "float r2 8");
  refuse(shadow, "next r0 r2 r3");
}

/* A traversal goes on from the key that it has just removed. */
static void
test_shadow_next_goes_on_from_a_removed_key(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; str r2 1; int r4 1; "
              "float r5 4; seti r0 1 r1; set r0 r1 r1; set r0 r2 r1; "
              "delete r0 r1");
  assert_true(admits(shadow, "next r0 r1 r3"));
  refuse(shadow, "next r1 r1 r3");
  run(shadow, "delete r0 r5");
  refuse(shadow, "next r0 r1 r3; next r0 r5 r3");
  assert_true(admits(shadow, "next r0 r4 r3"));
  run(shadow, "set r0 r2 r2; nil r6; seti r0 1 r6");
  assert_true(admits(shadow, "next r0 r4 r3"));
  run(shadow, "seti r0 9 r6");
  refuse(shadow, "next r0 r4 r3");
  run(shadow, "seti r0 1 r2; delete r0 r5");
  assert_true(admits(shadow, "next r0 r4 r3"));
  run(shadow, "seti r0 9 r2");
  refuse(shadow, "next r0 r4 r3");
  run(shadow, "delete r0 r2");
  refuse(shadow, "next r0 r2 r3");
}

static void
test_shadow_next_ends_after_the_only_key(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value nil = nil_value();

  run(shadow, "newtable r0 0 0; seti r0 1 r0; int r1 1");
  assert_int_equal(answered(shadow, "next r0 r1 r2", integer_value(2),
                            register_now(shadow, 0)),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "next r0 r1 r2", nil, nil), SHADOW_OK);
}

/* ---- metatables ------------------------------------------------------ */

static void
test_shadow_metatables_are_set_and_cleared(void **state)
{
  struct shadow *shadow = *state;
  uint32_t meta;

  run(shadow, "newtable r0 0 0; newud r1 0 0; newtable r2 0 0; "
              "setmeta r0 r2; setmeta r1 r2; getmeta r3 r0; getmeta r4 r1; "
              "setmeta r2 r2; getmeta r5 r2");
  meta = node_in(shadow, 2);
  assert_int_equal(node_in(shadow, 3), meta);
  assert_int_equal(node_in(shadow, 4), meta);
  assert_int_equal(node_in(shadow, 5), meta);
  run(shadow, "nil r2; nil r3; nil r4; nil r5; setmeta r0 r2");
  assert_true(shadow_is_reachable(shadow, meta));
  run(shadow, "setmeta r1 r2; getmeta r6 r1");
  assert_false(shadow_is_reachable(shadow, meta));
  expect(shadow, 6, "nil");
  run(shadow, "closure r7 r0 0; str r8 1");
  refuse(shadow, "setmeta r7 r2; setmeta r2 r0; setmeta r0 r1; "
                 "setmeta r0 r8");
}

/* A value of a basic type has the metatable of its type. */
static void
test_shadow_getmeta_of_basic_types(void **state)
{
  static const char *const makes[][2] = {
      {"nil", "nil r0"},          {"boolean", "bool r0 1"},
      {"number", "int r0 3"},     {"number", "float r0 3"},
      {"string", "str r0 3"},     {"string", "lstr r0 3 3"},
      {"function", "cfunc r0 3"}, {"function", "closure r0 r1 0"},
      {"thread", "running r0"},   {"lightuserdata", "lightud r0 3"}};
  struct shadow *shadow = *state;

  for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
    char ops[120];

    snprintf(ops, sizeof ops,
             "%s; newtable r9 0 0; basicmeta %s r9; getmeta r8 r0",
             makes[i][1], makes[i][0]);
    run(shadow, ops);
    assert_int_equal(node_in(shadow, 8), node_in(shadow, 9));
    snprintf(ops, sizeof ops, "nil r9; basicmeta %s r9; getmeta r8 r0",
             makes[i][0]);
    run(shadow, ops);
    expect(shadow, 8, "nil");
  }
  run(shadow, "newtable r9 0 0; newtable r0 0 0; basicmeta nil r9; "
              "getmeta r8 r0");
  expect(shadow, 8, "nil");
}

static void
test_shadow_basic_metatables_are_roots(void **state)
{
  struct shadow *shadow = *state;
  uint32_t meta;

  run(shadow, "newtable r0 0 0; basicmeta string r0; nil r1; "
              "getbasic r2 string; getbasic r3 number; str r4 0");
  meta = node_in(shadow, 0);
  assert_int_equal(node_in(shadow, 2), meta);
  expect(shadow, 3, "nil");
  run(shadow, "nil r0; nil r2");
  assert_true(shadow_is_reachable(shadow, meta));
  expect_edge(shadow, SHADOW_ROOT, SUBJECT_LABEL_BASICMETA,
              integer_value(OP_BASIC_STRING), "table 4");
  refuse(shadow, "basicmeta string r4");
  run(shadow, "basicmeta string r0");
  assert_false(shadow_is_reachable(shadow, meta));
}

static void
test_shadow_index_follows_links(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; newud r2 0 0; "
              "setmeta r2 r1; setevent r1 __index r0; str r3 1; set r0 r3 r3; "
              "index r4 r2 r3; int r5 7; index r6 r2 r5");
  expect(shadow, 4, "\"s1\"");
  expect(shadow, 6, "nil");
  run(shadow, "newtable r7 0 0; setmeta r7 r1; index r8 r7 r3; "
              "set r7 r3 r5; index r9 r7 r3; get r10 r7 r3");
  expect(shadow, 8, "\"s1\"");
  expect(shadow, 9, "7");
  expect(shadow, 10, "7");
}

static void
test_shadow_index_skips_what_is_no_link(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; newud r2 0 0; str r3 1; "
              "cfunc r4 0");
  refuse(shadow, "index r5 r2 r3; index r5 r3 r3; index r5 r0 r6; "
                 "newindex r2 r3 r3; newindex r0 r6 r3; newindex r4 r3 r3");
  run(shadow, "setmeta r0 r1; index r5 r0 r3; setevent r1 __index r4; "
              "setevent r1 __newindex r4");
  refuse(shadow, "index r5 r0 r3; newindex r0 r3 r3");
  run(shadow, "setevent r1 __index r2; setevent r1 __newindex r2");
  refuse(shadow, "index r5 r0 r3; newindex r0 r3 r3");
  run(shadow, "set r0 r3 r4; index r5 r0 r3; newindex r0 r3 r3");
  expect(shadow, 5, "C function 0");
}

static void
test_shadow_newindex_writes_where_the_links_end(void **state)
{
  struct shadow *shadow = *state;
  uint32_t target;

  run(shadow,
      "newtable r0 0 0; newtable r1 0 0; newtable r2 0 0; "
      "newud r3 0 0; setmeta r0 r1; setmeta r3 r1; "
      "setevent r1 __newindex r2; str r4 1; newindex r0 r4 r4; int r5 5; "
      "newindex r3 r5 r4; nil r6; newindex r3 r4 r6");
  target = node_in(shadow, 2);
  assert_true(has_integer(shadow, target, 5));
  assert_int_equal(shadow_sum(shadow, target),
                   shadow_hash(SUBJECT_LABEL_ENTRY, integer_value(5),
                               register_now(shadow, 4)));
  run(shadow, "set r0 r4 r5; newindex r0 r4 r4; get r7 r0 r4");
  expect(shadow, 7, "\"s1\"");
}

/* Links from table to table, each its own metatable. */
/* The function is called for the last object before it; what it stores does not
 * go round again. Would catch a result or a store in another object. */
static void
test_shadow_metamethods_are_called_for_the_last_object(void **state)
{
  struct shadow *shadow = *state;
  uint32_t table;

  run(shadow,
      "newtable r0 0 0; newtable r1 0 0; newtable r2 0 0; newtable r3 0 0; "
      "cfunc r4 3; setmeta r0 r1; setevent r1 __index r2; "
      "setevent r1 __newindex r2; setmeta r2 r3; setevent r3 __index r4; "
      "setevent r3 __newindex r4; int r5 5; callindex r6 r0 r5; "
      "callstore r0 r5 r4");
  table = node_in(shadow, 2);
  assert_int_equal(node_in(shadow, 6), table);
  refuse(shadow, "callindex r6 r0 r5; callstore r2 r5 r4; index r6 r2 r4");
  run(shadow, "get r7 r2 r5; get r8 r0 r5; index r9 r0 r5");
  expect(shadow, 7, "C function 3");
  expect(shadow, 8, "nil");
  expect(shadow, 9, "C function 3");
}

/* Would catch a call of what is no light C function, or for nothing. */
static void
test_shadow_metamethods_are_skipped_where_none_is_called(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; int r2 1; cclosure r3 r2 1; "
              "nil r4");
  refuse(shadow, "callindex r5 r0 r2; callstore r0 r2 r2; callindex r5 r2 r2");
  run(shadow, "setmeta r0 r1; setevent r1 __index r3; "
              "setevent r1 __newindex r3");
  refuse(shadow, "callindex r5 r0 r2; callstore r0 r2 r2");
  run(shadow, "cfunc r3 0; setevent r1 __index r3; setevent r1 __newindex r3");
  refuse(shadow, "callindex r5 r0 r4; callstore r0 r4 r2");
  run(shadow, "set r0 r2 r2");
  refuse(shadow, "callindex r5 r0 r2; callstore r0 r2 r2");
  run(shadow, "newud r0 8 1; setmeta r0 r1; callstore r0 r2 r1; "
              "callindex r5 r0 r2; getuv r6 r5 0");
  expect(shadow, 6, "nil");
}

/* Would catch a function that comes of half a text. */
static void
test_shadow_load_cut_leaves_nothing(void **state)
{
  struct shadow *shadow = *state;
  uint32_t count = shadow_node_count(shadow);

  run(shadow, "loadcut 3 8 2; loadcut 200 8 2");
  assert_int_equal(shadow_node_count(shadow), count);
  refuse(shadow, "loadcut 3 80 2");
}

static void
test_shadow_index_follows_sixteen_links_at_most(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "str r1 1; newtable r0 0 0; seti r0 1 r1; int r2 1");
  for (int link = 1; link <= OP_META_CHAIN_MAX; link++) {
    run(shadow, "newtable r3 0 0; setmeta r3 r3; setevent r3 __index r0; "
                "setevent r3 __newindex r0; move r0 r3; index r4 r0 r2; "
                "newindex r0 r2 r1");
    expect(shadow, 4, "\"s1\"");
  }
  run(shadow, "newtable r3 0 0; setmeta r3 r3; setevent r3 __index r0; "
              "setevent r3 __newindex r0");
  refuse(shadow, "index r4 r3 r2; newindex r3 r2 r1");
  run(shadow, "setevent r3 __index r3; setevent r3 __newindex r3");
  refuse(shadow, "index r4 r3 r2; newindex r3 r2 r1");
}

/* ---- userdata and functions ------------------------------------------ */

static void
test_shadow_userdata_have_user_values(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id;

  run(shadow, "newud r0 16 2; newtable r1 0 0; setuv r0 1 r1; "
              "getuv r2 r0 1; getuv r3 r0 0");
  id = node_in(shadow, 0);
  assert_int_equal(shadow_kind(shadow, id), SUBJECT_KIND_USERDATA);
  assert_int_equal(node_in(shadow, 2), node_in(shadow, 1));
  expect(shadow, 3, "nil");
  expect_edge(shadow, id, SUBJECT_LABEL_USERVALUE, integer_value(1), "table 5");
  expect_edge(shadow, id, SUBJECT_LABEL_USERVALUE, integer_value(0), "nil");
  expect_edge(shadow, id, SUBJECT_LABEL_USERVALUE, integer_value(2), "none");
  refuse(shadow, "newud r0 4352 0; getuv r3 r0 2; setuv r0 2 r1; "
                 "getuv r3 r1 0; setuv r1 0 r1; getuv r3 r4 0");
}

static void
test_shadow_c_closures_copy_values(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "str r15 1; int r0 2; cclosure r1 r15 2; nil r15; "
              "getupval r2 r1 0; getupval r3 r1 1; setupval r1 0 r1; "
              "getupval r4 r1 0");
  expect(shadow, 2, "\"s1\"");
  expect(shadow, 3, "2");
  assert_int_equal(node_in(shadow, 4), node_in(shadow, 1));
  assert_int_equal(shadow_kind(shadow, node_in(shadow, 1)),
                   SUBJECT_KIND_CCLOSURE);
  assert_int_equal(shadow_cell(shadow, node_in(shadow, 1), 0), 0);
  refuse(shadow, "cclosure r1 r0 0; getupval r2 r1 2; setupval r1 2 r0; "
                 "share r2 r1; join r1 r1 0; getupval r2 r0 0");
}

static void
test_shadow_closures_alias_registers(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first, second;

  run(shadow, "int r15 1; int r0 2; closure r2 r15 2; closure r3 r0 1; "
              "int r0 7; getupval r4 r2 1; int r5 9; setupval r3 0 r5");
  expect(shadow, 4, "7");
  expect(shadow, 0, "9");
  first = node_in(shadow, 2);
  second = node_in(shadow, 3);
  assert_int_equal(shadow_cell(shadow, first, 1),
                   shadow_cell(shadow, second, 0));
  assert_int_not_equal(shadow_cell(shadow, first, 0),
                       shadow_cell(shadow, first, 1));
  assert_int_equal(shadow_cell(shadow, first, 2), 0);
  assert_int_equal(shadow_cell_count(shadow), 2);
  run(shadow, "closeup 0; int r0 3; getupval r4 r2 1; setupval r3 0 r5; "
              "getupval r6 r2 1; closure r7 r0 1");
  expect(shadow, 4, "9");
  expect(shadow, 6, "9");
  expect(shadow, 0, "3");
  assert_int_equal(shadow_cell_count(shadow), 3);
  refuse(shadow, "getupval r4 r3 1; setupval r3 1 r0; getupval r4 r0 0");
}

static void
test_shadow_closeup_closes_from_a_register_on(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "closure r0 r4 3; closeup 16; closeup 5; int r4 4; "
              "int r5 5; int r6 6; getupval r1 r0 0; getupval r2 r0 1; "
              "getupval r3 r0 2");
  expect(shadow, 1, "4");
  expect(shadow, 2, "nil");
  expect(shadow, 3, "nil");
}

/* A closure may capture the register that it is put into. */
static void
test_shadow_closures_may_hold_themselves(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id;

  run(shadow, "closure r0 r0 1; getupval r1 r0 0");
  id = node_in(shadow, 0);
  assert_int_equal(node_in(shadow, 1), id);
  run(shadow, "nil r1; closeup 0; nil r0");
  assert_false(shadow_is_reachable(shadow, id));
}

static void
test_shadow_share_and_join_share_cells(void **state)
{
  struct shadow *shadow = *state;
  uint32_t lost;

  run(shadow, "int r0 1; newtable r1 0 0; closure r2 r0 2; closeup 0; "
              "share r3 r2; int r4 5; setupval r3 0 r4; getupval r5 r2 0");
  expect(shadow, 5, "5");
  lost = node_in(shadow, 1);
  run(shadow, "nil r1; join r2 r3 4; getupval r6 r2 1");
  expect(shadow, 6, "5");
  assert_true(shadow_is_reachable(shadow, lost));
  run(shadow, "join r3 r3 4; join r3 r3 5");
  assert_false(shadow_is_reachable(shadow, lost));
  refuse(shadow, "join r2 r3 8; join r2 r3 2; join r2 r0 0; join r0 r2 0; "
                 "share r6 r0; share r6 r1");
  run(shadow, "closure r7 r0 1; closure r8 r0 3; join r8 r7 8");
  refuse(shadow, "join r7 r8 8; join r8 r7 1");
  expect_edge(shadow, node_in(shadow, 7), SUBJECT_LABEL_UPVALUE,
              integer_value(1), "none");
  expect_edge(shadow, node_in(shadow, 7), SUBJECT_LABEL_UPVALUE, nil_value(),
              "none");
}

static void
test_shadow_load_holds_the_globals(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "load r0 3 2; getupval r1 r0 0; nil r2; setupval r0 0 r2; "
              "getupval r3 r0 0; load r4 64 3; getupval r5 r4 0");
  expect(shadow, 1, "the globals table");
  expect(shadow, 3, "nil");
  expect(shadow, 5, "the globals table");
  refuse(shadow, "load r0 68 0; getupval r1 r0 1");
}

/* ---- words ----------------------------------------------------------- */

static void
expect_path(struct shadow *shadow, uint32_t id, const char *path)
{
  char text[200] = "none";

  shadow_path(shadow, id, text, sizeof text);
  assert_string_equal(text, path);
}

static void
test_shadow_paths_lead_to_nodes(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; setglobal 3 r0; newtable r1 0 0; "
              "seti r0 1 r1; newtable r2 0 0; setmeta r1 r2; settop 0");
  expect_path(shadow, SHADOW_ROOT, "root");
  expect_path(shadow, REGISTRY, "registry");
  expect_path(shadow, GLOBALS, "globals");
  expect_path(shadow, SHADOW_MAIN, "main");
  expect_path(shadow, 6, "globals.g3[1].metatable");
  run(shadow, "getglobal r0 3; geti r1 r0 1; getmeta r1 r1; setmode r1 v; "
              "settop 0");
  expect_path(shadow, 6, "globals.g3[1].metatable");
  run(shadow, "lstr r0 1 4; getglobal r1 3; newud r2 0 2; set r1 r2 r0; "
              "setuv r2 1 r1; nil r2");
  expect_path(shadow, 7, "globals.g3.key");
  run(shadow, "newtable r2 0 0; set r1 r0 r2; nil r2");
  expect_path(shadow, 8,
              "globals.g3[\"L1:bcdefghijklmnopqrstuv\"... (45 bytes)]");
  run(shadow, "settop 0; setglobal 3 r0");
  expect_path(shadow, 4, "none");
}

static void
test_shadow_paths_name_frames(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r5 1; newtable r1 0 0; setmeta r1 r1; "
              "setevent r1 __close r5; call r5 r1 1; tbc r0; settop 0; "
              "cfunc r0 0; newtable r2 0 0; callv r0 r0 3; closure r3 r0 0; "
              "conew r4 r3; nil r3; return r4 1; nil r2");
  expect_path(shadow, 4, "main.frame[1].tbc[0]");
  expect_path(shadow, 5, "none");
  expect_path(shadow, 6, "main.frame[1].r0.start");
  run(shadow, "resume r0 r0 1; newtable r2 0 0; cfunc r3 1; closure r4 r2 1; "
              "callv r3 r2 3; vararg r0 2; setupval r0 0 r1");
  expect_path(shadow, 7, "current");
  expect_path(shadow, 8, "current.frame[1].vararg[0]");
}

static void
test_shadow_words_are_cut_short(void **state)
{
  struct shadow *shadow = *state;
  char text[12];

  run(shadow, "chain r0 100; lstr r1 0 50");
  expect_path(shadow, SHADOW_FIRST + 99,
              "main.frame[0].r0[1][1][1][1].(89 more)[1][1][1][1][1][1]");
  assert_true(shadow_path(shadow, SHADOW_FIRST + 99, text, sizeof text));
  assert_string_equal(text, "main.fra...");
  shadow_print(shadow, register_now(shadow, 1), text, sizeof text);
  assert_string_equal(text, "\"L0:abcd...");
  shadow_print(shadow, (struct shadow_value){1, SUBJECT_OTHER}, text, 3);
  assert_string_equal(text, "a ");
  expect(shadow, 2, "nil");
}

int
main(void)
{
#define TEST(name) \
  cmocka_unit_test_setup_teardown(test_shadow_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(begins_empty),
      TEST(values_are_written),
      TEST(strings_go_by_content),
      TEST(strings_have_limits),
      TEST(strings_are_found_among_many),
      TEST(tables_hold_what_was_set),
      TEST(tables_take_integral_floats_as_integers),
      TEST(tables_skip_what_is_ill_typed),
      TEST(tables_forget_what_is_deleted),
      TEST(tables_delete_by_the_second_register),
      TEST(tables_keep_their_keys),
      TEST(tables_grow_and_shrink),
      TEST(len_takes_any_border),
      TEST(append_follows_any_border),
      TEST(next_answers_entries),
      TEST(next_goes_on_from_a_removed_key),
      TEST(next_ends_after_the_only_key),
      TEST(metatables_are_set_and_cleared),
      TEST(getmeta_of_basic_types),
      TEST(basic_metatables_are_roots),
      TEST(index_follows_links),
      TEST(index_skips_what_is_no_link),
      TEST(newindex_writes_where_the_links_end),
      TEST(index_follows_sixteen_links_at_most),
      TEST(metamethods_are_called_for_the_last_object),
      TEST(metamethods_are_skipped_where_none_is_called),
      TEST(load_cut_leaves_nothing),
      TEST(userdata_have_user_values),
      TEST(c_closures_copy_values),
      TEST(closures_alias_registers),
      TEST(closeup_closes_from_a_register_on),
      TEST(closures_may_hold_themselves),
      TEST(share_and_join_share_cells),
      TEST(load_holds_the_globals),
      TEST(paths_lead_to_nodes),
      TEST(paths_name_frames),
      TEST(words_are_cut_short),
  };
#undef TEST

  return cmocka_run_group_tests(tests, NULL, NULL);
}
