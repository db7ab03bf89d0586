/* SPDX-License-Identifier: MIT
 *
 * The shadow heap by version: numbers, user values, what a version lacks, which
 * tables hold what, and to whom a finalizer is owed, each by the columns of the
 * table of traits that differ. A column that is read wrongly, or not at all,
 * fails here.
 */
#include "shadow_fixture.h"

#include "oracle/shadow_internal.h"
#include "subjects/subjects.h"

static void
become(struct shadow *shadow, enum subject_version version)
{
  shadow_clear(shadow, false);
  shadow_set_traits(shadow, &subject_traits[version]);
}

/* Without the fixture's second opinion, which is that of ephemerons. */
static void
apply_plainly(struct shadow *shadow, const char *text)
{
  struct op op = parse_op(text);
  assert_true(shadow_admits(shadow, op));
  shadow_begin(shadow, op);
  assert_int_equal(apply_op(shadow, op, SUBJECT_DONE, NULL, NULL), SHADOW_OK);
}

static void
call(struct shadow *shadow, uint32_t id)
{
  shadow_begin(shadow, (struct op){.code = OP_COLLECT});
  shadow_finalizer_begin(shadow, id);
  assert_int_equal(shadow_finalizer_end(shadow, id, false), SHADOW_OK);
  shadow_reach(shadow);
}

/* ---- the language ---------------------------------------------------- */

static void
test_versions_have_one_kind_of_number(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA52);
  run(shadow, "float r0 8; float r1 9; int r2 2");
  expect(shadow, 0, "2");
  assert_int_equal(shadow_register(shadow, 0).tag, SUBJECT_INTEGER);
  assert_int_equal(shadow_register(shadow, 1).tag, SUBJECT_FLOAT);
  become(shadow, SUBJECT_LUA53);
  run(shadow, "float r0 8");
  assert_int_equal(shadow_register(shadow, 0).tag, SUBJECT_FLOAT);
}

/* Would catch one where there are none; it is what a long string is. */
static void
test_versions_have_external_strings(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA54);
  refuse(shadow, "extstr r0 1 5");
  become(shadow, SUBJECT_LUA55);
  refuse(shadow, "extstr r0 1 4096");
  run(shadow, "extstr r0 1 5; lstr r1 1 5; newtable r2 0 0; set r2 r0 r0; "
              "get r3 r2 r1");
  assert_true(shadow_same(shadow_register(shadow, 3),
                          shadow_register(shadow, 1)));
}

/* Would catch one that is not held by what has it, nor handed on by share. */
static void
test_versions_have_environments(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA52);
  run(shadow, "newtable r0 0 0; closure r1 r0 0");
  refuse(shadow, "setenv r1 r0; getenv r2 r1");
  become(shadow, SUBJECT_LUA51);
  run(shadow, "newtable r0 0 0; closure r1 r0 1; cclosure r2 r3 1; "
              "conew r4 r1; getenv r5 r1; cfunc r6 0; globals r7; str r8 1");
  expect(shadow, 5, "nil");
  refuse(shadow, "setenv r6 r0; getenv r5 r6; setenv r1 r7; setenv r1 r8; "
                 "setenv r0 r0; getenv r5 r0");
  run(shadow, "newtable r9 0 0; setenv r1 r9; newtable r9 0 0; setenv r2 r9; "
              "newtable r9 0 0; setenv r4 r9; nil r9; share r10 r1");
  for (int32_t of = 1; of <= 4; of = of == 2 ? 4 : of + 1) {
    uint32_t node = node_in(shadow, of);
    run(shadow, of == 1 ? "getenv r9 r1"
                        : of == 2 ? "getenv r9 r2" : "getenv r9 r4");
    uint32_t environment = node_in(shadow, 9);
    run(shadow, "nil r9");
    assert_true(shadow_is_reachable(shadow, environment));
    expect_edge(shadow, node, SUBJECT_LABEL_ENVIRONMENT,
                (struct shadow_value){0, SUBJECT_NIL},
                of == 1 ? "table 8" : of == 2 ? "table 9" : "table 10");
  }
  run(shadow, "getenv r9 r10; getenv r11 r1");
  assert_int_equal(node_in(shadow, 9), node_in(shadow, 11));
  run(shadow, "setenv r1 r3; getenv r9 r1");
  expect(shadow, 9, "nil");
}

/* What it makes is nobody's. */
static void
test_versions_have_libraries(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA51);
  refuse(shadow, "library 0");
  become(shadow, SUBJECT_LUAJIT);
  uint32_t count = shadow_node_count(shadow);
  run(shadow, "library 0; library 3");
  assert_int_equal(shadow_node_count(shadow), count);
}

/* One is owed its finalizer from the first, holds nothing, and is none of what
 * has a metatable. */
static void
test_versions_have_cdata(void **state)
{
  struct shadow *shadow = *state;
  const uint32_t *owed;
  become(shadow, SUBJECT_LUA51);
  refuse(shadow, "newcdata r0 save");
  become(shadow, SUBJECT_LUAJIT);
  refuse(shadow, "newcdata r0 number");
  run(shadow, "newcdata r0 save; newcdata r1 none; newcdata r2 remark");
  refuse(shadow, "getmeta r3 r0; setmeta r0 r3; index r3 r0 r0; len r3 r0");
  assert_int_equal(shadow_owed(shadow, &owed), 2);
  uint32_t saved = node_in(shadow, 0), again = node_in(shadow, 2);
  run(shadow, "nil r0; nil r1; nil r2");
  call(shadow, saved);
  call(shadow, again);
  assert_int_equal(shadow_owed(shadow, &owed), 0);
  assert_true(shadow_is_reachable(shadow, saved));
  assert_false(shadow_is_held(shadow, again));
}

static void
test_versions_hold_user_values(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA54);
  run(shadow, "newud r0 8 3; int r1 1; setuv r0 2 r1");
  become(shadow, SUBJECT_LUA53);
  refuse(shadow, "newud r0 8 2");
  run(shadow, "newud r0 8 1; int r1 1; setuv r0 0 r1");
  become(shadow, SUBJECT_LUA52);
  run(shadow, "newud r0 8 1; int r1 1; newtable r2 0 0; setuv r0 0 r2; "
              "setuv r0 0 r3; globals r4; setuv r0 0 r4");
  refuse(shadow, "setuv r0 0 r1");
  become(shadow, SUBJECT_LUA51);
  run(shadow, "newud r0 8 1; newtable r2 0 0; setuv r0 0 r2; setuv r0 0 r3; "
              "globals r4");
  refuse(shadow, "setuv r0 0 r4");
}

static void
test_versions_lack_operations(void **state)
{
  struct shadow *shadow = *state;
  static const char *const closers =
      "newtable r0 0 0; newtable r1 0 0; cfunc r2 0; setevent r1 __close r2; "
      "setmeta r0 r1; closure r3 r4 1; conew r5 r3";
  become(shadow, SUBJECT_LUA54);
  run(shadow, closers);
  assert_true(admits(shadow, "tbc r0"));
  assert_true(admits(shadow, "coclose r5"));
  assert_true(admits(shadow, "join r3 r3 0"));
  assert_true(admits(shadow, "pcall r3 r0 0"));
  assert_true(admits(shadow, "mode generational"));
  become(shadow, SUBJECT_LUA51);
  run(shadow, closers);
  refuse(shadow, "tbc r0; coclose r5; join r3 r3 0; pcall r3 r0 0; "
                 "mode generational");
  assert_true(admits(shadow, "call r3 r0 0"));
  become(shadow, SUBJECT_LUAJIT);
  run(shadow, closers);
  refuse(shadow, "tbc r0; mode generational");
  assert_true(admits(shadow, "coclose r5"));
  assert_true(admits(shadow, "join r3 r3 0"));
  assert_true(admits(shadow, "pcall r3 r0 0"));
}

static void
test_versions_load_with_an_upvalue(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA52);
  run(shadow, "load r0 1 0");
  assert_true(admits(shadow, "getupval r1 r0 0"));
  become(shadow, SUBJECT_LUA51);
  run(shadow, "load r0 1 0");
  refuse(shadow, "getupval r1 r0 0");
}

/* ---- weak tables ----------------------------------------------------- */

static void
test_versions_hold_values_of_weak_keys(void **state)
{
  struct shadow *shadow = *state;
  for (int is_old = 0; is_old < 2; is_old++) {
    uint32_t value;
    become(shadow, is_old ? SUBJECT_LUA51 : SUBJECT_LUA52);
    apply_plainly(shadow, "newweak r0 k");
    apply_plainly(shadow, "newtable r1 0 0");
    apply_plainly(shadow, "newtable r2 0 0");
    apply_plainly(shadow, "set r0 r1 r2");
    value = node_in(shadow, 2);
    apply_plainly(shadow, "nil r2");
    shadow_reach(shadow);
    assert_true(shadow_is_reachable(shadow, value));
    apply_plainly(shadow, "nil r1");
    shadow_reach(shadow);
    assert_int_equal(shadow_is_reachable(shadow, value), is_old);
    assert_false(shadow_is_held_by_keys(shadow, value));
  }
}

static void
test_versions_read_long_modes(void **state)
{
  struct shadow *shadow = *state;
  for (int is_short = 0; is_short < 2; is_short++) {
    become(shadow, is_short ? SUBJECT_LUA54 : SUBJECT_LUA55);
    uint8_t bytes[OP_SHORT_STRING_MAX + 2];
    memset(bytes, 'v', sizeof bytes);
    uint32_t id = shadow_intern(shadow, bytes, sizeof bytes);
    run(shadow, "newtable r0 0 0; newtable r1 0 0; setmeta r0 r1");
    shadow_register_set(shadow, shadow_frame_now(shadow), 2,
                        shadow_of_string(id));
    apply_plainly(shadow, "setevent r1 __mode r2");
    assert_int_equal(shadow_weakness(shadow, node_in(shadow, 0)),
                     is_short ? OP_WEAK_NONE : OP_WEAK_VALUES);
  }
}

/* A mode that was taken away may still count where no second visit is made. */
static void
test_versions_remember_modes(void **state)
{
  struct shadow *shadow = *state;
  for (int remembers = 0; remembers < 2; remembers++) {
    become(shadow, remembers ? SUBJECT_LUA53 : SUBJECT_LUA55);
    apply_plainly(shadow, "newweak r0 kv");
    apply_plainly(shadow, "getmeta r1 r0");
    apply_plainly(shadow, "setmode r1 none");
    uint32_t table = node_in(shadow, 0);
    assert_int_equal(shadow_weakness(shadow, table),
                     remembers ? OP_WEAK_BOTH : OP_WEAK_NONE);
    shadow_forget_modes(shadow);
    assert_int_equal(shadow_weakness(shadow, table), OP_WEAK_NONE);
  }
}

/* ---- finalizers ------------------------------------------------------ */

static void
test_versions_owe_what_has_a_finalizer(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA51);
  run(shadow, "newud r0 8 0; newtable r1 0 0; setmeta r0 r1; "
              "newtable r2 0 0; setmeta r2 r1");
  assert_int_equal(shadow_marking(shadow, node_in(shadow, 0)), 0);
  run(shadow, "setgc r1 nothing");
  assert_true(shadow_marking(shadow, node_in(shadow, 0)) > 0);
  assert_int_equal(shadow_marking(shadow, node_in(shadow, 2)), 0);
  run(shadow, "setgc r1 none");
  assert_int_equal(shadow_marking(shadow, node_in(shadow, 0)), 0);
  become(shadow, SUBJECT_LUA52);
  run(shadow, "newud r0 8 0; newtable r1 0 0; setmeta r0 r1; "
              "newtable r2 0 0; setgc r1 nothing; setmeta r2 r1");
  assert_int_equal(shadow_marking(shadow, node_in(shadow, 0)), 0);
  assert_true(shadow_marking(shadow, node_in(shadow, 2)) > 0);
}

static void
test_versions_finalize_once_or_again(void **state)
{
  struct shadow *shadow = *state;
  for (int rearms = 0; rearms < 2; rearms++) {
    become(shadow, rearms ? SUBJECT_LUA53 : SUBJECT_LUA52);
    run(shadow, "newfin r0 remark 0");
    call(shadow, node_in(shadow, 0));
    assert_int_equal(shadow_marking(shadow, node_in(shadow, 0)) > 0, rearms);
  }
}

/* What was unreachable without a finalizer is not owed one later, or may be. */
static void
test_versions_doubt_what_was_unreachable(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA51);
  run(shadow, "newfin r0 save 1; newud r1 8 0; newtable r2 0 0; "
              "set r2 r1 r1; setuv r0 0 r2; getmeta r3 r0; move r4 r1");
  uint32_t saver = node_in(shadow, 0), other = node_in(shadow, 1);
  assert_false(shadow_has_lapsed(shadow, saver));
  run(shadow, "nil r0; nil r1; nil r2; nil r4");
  shadow_reach(shadow);
  assert_true(shadow_has_lapsed(shadow, saver));
  assert_true(shadow_is_doubtful(shadow, other));
  assert_false(shadow_is_doubtful(shadow, saver));
  call(shadow, saver);
  assert_true(shadow_is_reachable(shadow, other));
  run(shadow, "getglobal r0 0; getuv r1 r0 0; next r1 r5 r6; setmeta r6 r3");
  assert_int_equal(shadow_marking(shadow, other), 0);
}

static void
test_versions_switch_modes_in_finalizers(void **state)
{
  struct shadow *shadow = *state;
  for (int is_heard = 0; is_heard < 2; is_heard++) {
    become(shadow, is_heard ? SUBJECT_LUA52 : SUBJECT_LUA54);
    run(shadow, "newfin r0 switch 0");
    call(shadow, node_in(shadow, 0));
    assert_int_equal(shadow_mode(shadow), is_heard ? OP_MODE_GENERATIONAL
                                                   : OP_MODE_INCREMENTAL);
  }
}

static void
test_versions_find_no_room_for_links(void **state)
{
  struct shadow *shadow = *state;
  for (int has_room = 0; has_room < 2; has_room++) {
    become(shadow, has_room ? SUBJECT_LUA53 : SUBJECT_LUA52);
    run(shadow, "int r1 1; setglobal 0 r1; newfin r0 link 1; newfin r2 link 0");
    assert_int_equal(shadow_has_no_room(shadow, node_in(shadow, 0),
                                        OP_BEHAVIOUR_LINK),
                     !has_room);
    assert_false(
        shadow_has_no_room(shadow, node_in(shadow, 2), OP_BEHAVIOUR_LINK));
  }
}

static void
test_versions_end_a_stop_by_a_step(void **state)
{
  struct shadow *shadow = *state;
  for (int ends = 0; ends < 2; ends++) {
    become(shadow, ends ? SUBJECT_LUA51 : SUBJECT_LUA52);
    run(shadow, "stop; step 0");
    assert_int_equal(shadow_is_stopped(shadow), !ends);
  }
}

/* What finalizers have dropped and brought back in one operation did not
 * stay. */
static void
test_versions_know_what_stayed(void **state)
{
  struct shadow *shadow = *state;
  become(shadow, SUBJECT_LUA54);
  run(shadow, "newtable r0 0 0; setglobal 0 r0; newfin r1 save 0; "
              "newtable r2 0 0");
  uint32_t saved = node_in(shadow, 0), saver = node_in(shadow, 1);
  run(shadow, "nil r0");
  shadow_begin(shadow, (struct op){.code = OP_COLLECT});
  assert_true(shadow_stayed_reachable(shadow, saved));
  shadow_finalizer_begin(shadow, saver);
  assert_int_equal(shadow_finalizer_end(shadow, saver, false), SHADOW_OK);
  shadow_reach(shadow);
  assert_true(shadow_was_reachable(shadow, saved));
  assert_false(shadow_stayed_reachable(shadow, saved));
  assert_true(shadow_stayed_reachable(shadow, saver));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_versions_have_one_kind_of_number),
      TEST(test_versions_have_external_strings),
      TEST(test_versions_have_environments),
      TEST(test_versions_have_libraries),
      TEST(test_versions_have_cdata),
      TEST(test_versions_hold_user_values),
      TEST(test_versions_lack_operations),
      TEST(test_versions_load_with_an_upvalue),
      TEST(test_versions_hold_values_of_weak_keys),
      TEST(test_versions_read_long_modes),
      TEST(test_versions_remember_modes),
      TEST(test_versions_owe_what_has_a_finalizer),
      TEST(test_versions_finalize_once_or_again),
      TEST(test_versions_doubt_what_was_unreachable),
      TEST(test_versions_switch_modes_in_finalizers),
      TEST(test_versions_find_no_room_for_links),
      TEST(test_versions_end_a_stop_by_a_step),
      TEST(test_versions_know_what_stayed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
