/* SPDX-License-Identifier: MIT
 *
 * Finalizers and modes in the shadow heap: what marks a node, what it is owed
 * until the call, what that holds, and what each behaviour does. A marking that
 * comes twice or late, something held too long, an effect on the wrong field
 * fails here.
 */
#include "shadow_fixture.h"

#include "oracle/shadow_internal.h"

enum { GLOBALS = SHADOW_GLOBALS };

static uint64_t
marking(const struct shadow *shadow, uint32_t reg)
{
  return shadow_marking(shadow, node_in(shadow, reg));
}

static struct shadow_value
name(const struct shadow *shadow, const char *bytes)
{
  uint32_t id =
      shadow_string_find(shadow, (const uint8_t *)bytes, strlen(bytes));

  return (struct shadow_value){id, SHADOW_STRING};
}

static void
expect_field(const struct shadow *shadow, uint32_t table, const char *field,
             const char *words)
{
  expect_edge(shadow, table, SUBJECT_LABEL_ENTRY, name(shadow, field), words);
}

/* ---- marking --------------------------------------------------------- */

static void
test_shadow_finalizers_are_marked_by_setmeta(void **state)
{
  struct shadow *shadow = *state;
  const uint32_t *ids;

  run(shadow, "newtable r0 0 0; newtable r1 0 0; setmeta r0 r1; "
              "setgc r1 nothing");
  assert_int_equal(marking(shadow, 0), 0);
  assert_int_equal(shadow_owed(shadow, &ids), 0);
  run(shadow, "setmeta r0 r1; newud r2 8 0; setmeta r2 r1");
  assert_int_equal(marking(shadow, 0), 1);
  assert_int_equal(marking(shadow, 2), 2);
  assert_int_equal(shadow_owed(shadow, &ids), 2);
  assert_int_equal(ids[0], node_in(shadow, 0));
  assert_int_equal(ids[1], node_in(shadow, 2));
  run(shadow, "setmeta r0 r1; setgc r1 none");
  assert_int_equal(marking(shadow, 0), 1);
  run(shadow, "newtable r3 0 0; setmeta r3 r1");
  assert_int_equal(marking(shadow, 3), 0);
  run(shadow, "setgc r1 number; setmeta r3 r1; nil r4; setmeta r3 r4");
  assert_int_equal(marking(shadow, 3), 3);
}

static void
test_shadow_finalizers_newfin_marks(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first;

  run(shadow, "newfin r0 save 0");
  assert_int_equal(shadow_births(shadow, &first), 2);
  assert_int_equal(first, node_in(shadow, 0));
  expect_edge(shadow, first, SUBJECT_LABEL_METATABLE, nil_value(), "table 5");
  expect_field(shadow, 5, "__gc", "C function 9");
  run(shadow, "newfin r1 number 1; newfin r2 none 0");
  assert_int_equal(shadow_kind(shadow, 6), SUBJECT_KIND_USERDATA);
  expect_edge(shadow, 6, SUBJECT_LABEL_USERVALUE, integer_value(0), "nil");
  expect_field(shadow, 7, "__gc", "1");
  assert_int_equal(marking(shadow, 0), 1);
  assert_int_equal(marking(shadow, 1), 2);
  assert_int_equal(marking(shadow, 2), 0);
}

static void
expect_behaviour(struct shadow *shadow, int32_t behaviour)
{
  assert_int_equal(shadow_behaviour(shadow, node_in(shadow, 0)), behaviour);
}

static void
test_shadow_finalizers_behave_as_gc_says_now(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0");
  expect_behaviour(shadow, OP_BEHAVIOUR_NONE);
  run(shadow, "newtable r1 0 0; setmeta r0 r1");
  expect_behaviour(shadow, OP_BEHAVIOUR_NONE);
  run(shadow, "setgc r1 stop");
  expect_behaviour(shadow, OP_BEHAVIOUR_STOP);
  run(shadow, "setgc r1 nothing");
  expect_behaviour(shadow, OP_BEHAVIOUR_NOTHING);
  run(shadow, "cfunc r2 7; setevent r1 __gc r2");
  expect_behaviour(shadow, OP_BEHAVIOUR_NOTHING);
  run(shadow, "setgc r1 number");
  expect_behaviour(shadow, OP_BEHAVIOUR_NUMBER);
  run(shadow, "setevent r1 __gc r1");
  expect_behaviour(shadow, OP_BEHAVIOUR_NUMBER);
  run(shadow, "setgc r1 none; closure r3 r0 1; conew r4 r3; cclosure r5 r0 1");
  expect_behaviour(shadow, OP_BEHAVIOUR_NONE);
  refuse(shadow, "setevent r1 __gc r3; setevent r1 __gc r4; "
                 "setevent r1 __gc r5; setevent r3 __gc r1; setgc r3 save");
  assert_true(admits(shadow, "setevent r1 __mode r3"));
}

/* ---- what is owed ---------------------------------------------------- */

static void
test_shadow_finalizers_hold_what_they_may_reach(void **state)
{
  struct shadow *shadow = *state;
  uint32_t object, reached, last;
  char path[200];

  run(shadow, "newfin r0 nothing 0; newtable r1 0 0; sets r0 0 r1; "
              "newtable r2 0 0; seti r1 4 r2");
  object = node_in(shadow, 0);
  reached = node_in(shadow, 1);
  last = node_in(shadow, 2);
  run(shadow, "settop 0");
  for (uint32_t id = object; id <= last; id++) {
    assert_false(shadow_is_reachable(shadow, id));
    assert_true(shadow_was_held(shadow, id) && shadow_is_held(shadow, id));
  }
  assert_true(shadow_path(shadow, last, path, sizeof path));
  assert_string_equal(path, "finalizer of table 4.s0[4]");
  assert_true(shadow_path(shadow, object, path, sizeof path));
  assert_string_equal(path, "finalizer of table 4");
  finalize(shadow, object, false);
  assert_true(shadow_was_held(shadow, last));
  assert_false(shadow_is_held(shadow, last));
  assert_false(shadow_is_held(shadow, reached));
  assert_false(shadow_path(shadow, object, path, sizeof path));
}

/* Weak values go once nothing reaches them, weak keys once nothing holds them:
 * so the value of an entry whose key is held is held, and no more. */
static void
test_shadow_finalizers_hold_through_ephemerons(void **state)
{
  struct shadow *shadow = *state;
  uint32_t key, value;

  run(shadow, "newweak r0 k; newfin r1 nothing 0; newtable r2 0 0; "
              "set r0 r1 r2");
  key = node_in(shadow, 1);
  value = node_in(shadow, 2);
  run(shadow, "nil r1; nil r2");
  assert_false(shadow_is_reachable(shadow, key));
  assert_false(shadow_is_reachable(shadow, value));
  assert_true(shadow_is_held(shadow, value));
  run(shadow, "getmeta r3 r0; setmode r3 kv");
  assert_true(shadow_is_held(shadow, key));
  assert_false(shadow_is_held(shadow, value));
}

/* Of several the others stay owed, and a node is owed again when it is marked
 * again. */
static void
test_shadow_finalizers_are_called_once_a_marking(void **state)
{
  struct shadow *shadow = *state;
  const uint32_t *ids;

  run(shadow, "newfin r0 nothing 0; newfin r1 nothing 0; newfin r2 nothing 1");
  finalize(shadow, node_in(shadow, 0), false);
  assert_int_equal(shadow_owed(shadow, &ids), 2);
  assert_int_equal(ids[0], node_in(shadow, 2));
  assert_int_equal(ids[1], node_in(shadow, 1));
  assert_int_equal(marking(shadow, 0), 0);
  finalize(shadow, node_in(shadow, 2), false);
  assert_int_equal(shadow_owed(shadow, &ids), 1);
  assert_int_equal(ids[0], node_in(shadow, 1));
  run(shadow, "getmeta r3 r0; setmeta r0 r3");
  assert_int_equal(marking(shadow, 0), 4);
  shadow_clear(shadow, false);
  assert_int_equal(shadow_owed(shadow, &ids), 0);
}

/* One that raises an error has no effect, and is not owed again. */
static void
test_shadow_finalizers_that_fail_are_owed_no_more(void **state)
{
  struct shadow *shadow = *state;
  const uint32_t *ids;

  run(shadow, "newfin r0 save 0; newtable r1 0 0; sets r0 0 r1; settop 0");
  shadow_begin(shadow, parse_op("collect"));
  shadow_finalizer_begin(shadow, 4);
  check_shadow(shadow, NULL, 0);
  assert_true(shadow_was_held(shadow, 6));
  assert_false(shadow_is_held(shadow, 6));
  assert_int_equal(shadow_owed(shadow, &ids), 0);
}

/* ---- behaviours ------------------------------------------------------ */

static void
test_shadow_finalizers_save(void **state)
{
  struct shadow *shadow = *state;
  char path[200];

  run(shadow, "newfin r0 save 0; newfin r1 save-too 1; settop 0");
  finalize(shadow, 4, false);
  assert_true(shadow_is_reachable(shadow, 4));
  assert_true(shadow_path(shadow, 4, path, sizeof path));
  assert_string_equal(path, "globals.g0");
  finalize(shadow, 6, false);
  expect_field(shadow, GLOBALS, "g1", "userdata 6");
  assert_int_equal(shadow_marking(shadow, 6), 0);
}

static void
test_shadow_finalizers_remark(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newfin r0 remark 0");
  finalize(shadow, 4, false);
  assert_int_equal(shadow_marking(shadow, 4), 2);
  finalize(shadow, 4, true);
  assert_int_equal(shadow_marking(shadow, 4), 0);
}

/* The behaviour is that of the call, though what __gc is has changed since. */
static void
test_shadow_finalizers_touch(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first;

  run(shadow, "newfin r0 touch 0; newfin r1 touch 1; newfin r2 touch 0; "
              "newud r2 8 0; getmeta r3 r1; setmeta r2 r3");
  finalize(shadow, 4, false);
  assert_int_equal(shadow_births(shadow, &first), 1);
  assert_int_equal(first, 11);
  expect_field(shadow, 4, "s0", "table 11");
  finalize(shadow, 6, false);
  expect_edge(shadow, 6, SUBJECT_LABEL_USERVALUE, integer_value(0),
              "table 12");
  finalize(shadow, node_in(shadow, 2), false);
  assert_int_equal(shadow_births(shadow, &first), 0);
  shadow_begin(shadow, parse_op("collect"));
  shadow_finalizer_begin(shadow, 6);
  shadow->nodes[6].metatable = 0;
  assert_int_equal(shadow_finalizer_end(shadow, 6, false), SHADOW_OK);
  assert_int_equal(shadow_births(shadow, &first), 1);
}

static void
test_shadow_finalizers_touch_a_sibling(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newfin r0 sibling 1; newfin r1 sibling 0; setuv r0 0 r1; "
              "sets r1 0 r0");
  finalize(shadow, 4, false);
  expect_field(shadow, 6, "s0", "userdata 4");
  run(shadow, "newtable r2 0 0; sets r1 0 r2");
  finalize(shadow, 6, false);
  expect_field(shadow, node_in(shadow, 2), "s0", "table 6");
  run(shadow, "newfin r0 sibling 0; newud r1 8 1; sets r0 0 r1");
  finalize(shadow, node_in(shadow, 0), false);
  expect_edge(shadow, node_in(shadow, 1), SUBJECT_LABEL_USERVALUE,
              integer_value(0), "nil");
}

static void
test_shadow_finalizers_link(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newfin r0 link 0; newfin r1 link 1; newud r2 8 0; "
              "getmeta r3 r0; setmeta r2 r3; settop 0; int r0 9; "
              "setglobal 0 r0");
  finalize(shadow, 4, false);
  expect_field(shadow, GLOBALS, "g0", "table 4");
  expect_field(shadow, 4, "s0", "9");
  finalize(shadow, 6, false);
  expect_field(shadow, GLOBALS, "g0", "userdata 6");
  expect_edge(shadow, 6, SUBJECT_LABEL_USERVALUE, integer_value(0), "table 4");
  finalize(shadow, 8, false);
  expect_field(shadow, GLOBALS, "g0", "userdata 6");
}

static void
test_shadow_finalizers_breed(void **state)
{
  struct shadow *shadow = *state;
  const uint32_t *ids;
  uint32_t first;

  run(shadow, "newfin r0 breed 1; settop 0");
  finalize(shadow, 4, false);
  assert_int_equal(shadow_births(shadow, &first), 1);
  assert_int_equal(shadow_kind(shadow, first), SUBJECT_KIND_TABLE);
  expect_edge(shadow, first, SUBJECT_LABEL_METATABLE, nil_value(), "table 5");
  assert_int_equal(shadow_marking(shadow, first), 2);
  assert_false(shadow_is_reachable(shadow, first));
  assert_true(shadow_is_held(shadow, first));
  finalize(shadow, first, true);
  assert_int_equal(shadow_births(shadow, &first), 0);
  assert_int_equal(shadow_owed(shadow, &ids), 0);
}

/* The others change nothing but that the object is owed no more. */
static void
test_shadow_finalizers_others_leave_nothing(void **state)
{
  static const char *const words[] = {"nothing", "allocate", "error", "step",
                                      "collect", "switch",   "yield", "close",
                                      "stop",    "number"};
  struct shadow *shadow = *state;
  char text[OP_TEXT_OP_MAX];

  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    uint64_t digest;
    uint32_t first;

    snprintf(text, sizeof text, "newfin r0 %s 0", words[i]);
    run_one(shadow, text);
    digest = digest_shadow(shadow);
    finalize(shadow, node_in(shadow, 0), false);
    assert_int_equal(shadow_births(shadow, &first), 0);
    assert_int_equal(digest_shadow(shadow), digest);
    assert_int_equal(marking(shadow, 0), 0);
  }
  assert_int_equal(shadow_mode(shadow), OP_MODE_INCREMENTAL);
  assert_false(shadow_is_stopped(shadow));
}

/* The effect comes first; births are counted over both, and what was reachable
 * is the state before either. */
static void
test_shadow_finalizers_act_before_the_operation(void **state)
{
  struct shadow *shadow = *state;
  struct op op = parse_op("newtable r1 0 0");
  char message[SHADOW_MESSAGE_MAX];
  uint32_t first;

  run(shadow, "newfin r0 touch 0; newfin r1 save 0; settop 0");
  shadow_begin(shadow, op);
  shadow_finalizer_begin(shadow, 4);
  assert_int_equal(shadow_finalizer_end(shadow, 4, false), SHADOW_OK);
  shadow_reach(shadow);
  shadow_finalizer_begin(shadow, 6);
  assert_int_equal(shadow_finalizer_end(shadow, 6, false), SHADOW_OK);
  shadow_reach(shadow);
  assert_int_equal(shadow_apply(shadow, op, SUBJECT_DONE, NULL, message),
                   SHADOW_OK);
  assert_int_equal(shadow_births(shadow, &first), 2);
  assert_int_equal(node_in(shadow, 1), first + 1);
  check_shadow(shadow, NULL, 0);
  assert_true(shadow_was_held(shadow, 4));
  assert_false(shadow_is_held(shadow, 4));
  assert_false(shadow_was_reachable(shadow, 6));
  assert_true(shadow_is_reachable(shadow, 6));
  assert_false(shadow_was_held(shadow, first));
}

/* ---- the collector --------------------------------------------------- */

static void
test_shadow_finalizers_modes_are_followed(void **state)
{
  struct shadow *shadow = *state;

  assert_int_equal(shadow_mode(shadow), OP_MODE_INCREMENTAL);
  refuse(shadow, "minor 1");
  run(shadow, "mode generational");
  assert_int_equal(shadow_mode(shadow), OP_MODE_GENERATIONAL);
  assert_true(admits(shadow, "minor 200"));
  refuse(shadow, "minor 208");
  run(shadow, "mode incremental; stop");
  assert_int_equal(shadow_mode(shadow), OP_MODE_INCREMENTAL);
  assert_true(shadow_is_stopped(shadow));
  run(shadow, "param pause 400; outofmem 3; restart");
  assert_false(shadow_is_stopped(shadow));
  assert_int_equal(apply_op(shadow, parse_op("mode generational"),
                            SUBJECT_UNSUPPORTED, NULL, NULL),
                   SHADOW_OK);
  assert_int_equal(shadow_mode(shadow), OP_MODE_INCREMENTAL);
  shadow_set_mode(shadow, OP_MODE_GENERATIONAL);
  assert_int_equal(shadow_mode(shadow), OP_MODE_GENERATIONAL);
  static const struct subject_traits incremental = {.generational = false};
  shadow_set_traits(shadow, &incremental);
  shadow_set_mode(shadow, OP_MODE_GENERATIONAL);
  assert_int_equal(shadow_mode(shadow), OP_MODE_INCREMENTAL);
  refuse(shadow, "mode generational; minor 1");
  assert_true(admits(shadow, "mode incremental"));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_shadow_finalizers_are_marked_by_setmeta),
      TEST(test_shadow_finalizers_newfin_marks),
      TEST(test_shadow_finalizers_behave_as_gc_says_now),
      TEST(test_shadow_finalizers_hold_what_they_may_reach),
      TEST(test_shadow_finalizers_hold_through_ephemerons),
      TEST(test_shadow_finalizers_are_called_once_a_marking),
      TEST(test_shadow_finalizers_that_fail_are_owed_no_more),
      TEST(test_shadow_finalizers_save),
      TEST(test_shadow_finalizers_remark),
      TEST(test_shadow_finalizers_touch),
      TEST(test_shadow_finalizers_touch_a_sibling),
      TEST(test_shadow_finalizers_link),
      TEST(test_shadow_finalizers_breed),
      TEST(test_shadow_finalizers_others_leave_nothing),
      TEST(test_shadow_finalizers_act_before_the_operation),
      TEST(test_shadow_finalizers_modes_are_followed),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
