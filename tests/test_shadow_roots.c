/* SPDX-License-Identifier: MIT
 *
 * The shadow heap, continued: the roots, operations that make many nodes, those
 * on the collector, and what a status says. As in test_shadow.c, each does what
 * its row says and is skipped where it says so.
 */
#include "shadow_fixture.h"

enum { GLOBALS = SHADOW_GLOBALS };

/* ---- the roots ------------------------------------------------------- */

/* Names are looked up in the new globals table, which is a root; the one before
 * is a table like others, and goes. */
static void
test_shadow_globals_are_replaced(void **state)
{
  struct shadow *shadow = *state;
  uint32_t table;

  run(shadow, "int r1 1; setglobal 3 r1; newtable r0 0 0; setglobals r0; "
              "getglobal r1 3; int r2 2; setglobal 3 r2; globals r3; "
              "load r4 0 0; getupval r4 r4 0");
  table = node_in(shadow, 0);
  expect(shadow, 1, "nil");
  assert_int_equal(node_in(shadow, 3), table);
  assert_int_equal(node_in(shadow, 4), table);
  run(shadow, "settop 0");
  assert_true(shadow_is_reachable(shadow, table));
  assert_false(shadow_is_reachable(shadow, GLOBALS));
  expect_edge(shadow, SHADOW_ROOT, SUBJECT_LABEL_GLOBALS,
              (struct shadow_value){0, SUBJECT_NIL}, "table 4");
  run(shadow, "getglobal r1 3");
  expect(shadow, 1, "2");
  refuse(shadow, "setglobals r1");
}

static void
test_shadow_globals_and_registry_hold(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id;

  run(shadow, "newtable r0 0 0; setglobal 3 r0; setreg 3 r0; "
              "getglobal r1 3; getreg r2 3; getreg r3 4; globals r4");
  id = node_in(shadow, 0);
  assert_int_equal(node_in(shadow, 1), id);
  assert_int_equal(node_in(shadow, 2), id);
  expect(shadow, 3, "nil");
  expect(shadow, 4, "the globals table");
  run(shadow, "settop 0; setglobal 3 r0");
  assert_true(shadow_is_reachable(shadow, id));
  run(shadow, "setreg 3 r0");
  assert_false(shadow_is_reachable(shadow, id));
}

static void
test_shadow_references_are_fresh_integers(void **state)
{
  struct shadow *shadow = *state;
  struct shadow_value nil = nil_value();
  uint32_t id;

  run(shadow, "newtable r0 0 0");
  id = node_in(shadow, 0);
  refuse(shadow, "ref r1 r2; unref r0; getref r1 r0; unref r2");
  for (int n = -1; n <= 2; n++)
    assert_int_equal(answered(shadow, "ref r1 r0", integer_value(n), nil),
                     SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "ref r1 r0", nil, nil), SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "ref r1 r0", integer_value(900), nil),
                   SHADOW_OK);
  expect(shadow, 1, "900");
  assert_int_equal(answered(shadow, "ref r2 r0", integer_value(900), nil),
                   SHADOW_ILLEGAL);
  assert_int_equal(answered(shadow, "ref r2 r0", integer_value(3), nil),
                   SHADOW_OK);
  run(shadow, "nil r0; unref r2; getref r3 r1");
  assert_int_equal(node_in(shadow, 3), id);
  run(shadow, "nil r3");
  refuse(shadow, "unref r2; getref r3 r2");
  run(shadow, "int r4 1; float r5 3600");
  refuse(shadow, "getref r3 r4; getref r3 r5");
  assert_true(shadow_is_reachable(shadow, id));
  run(shadow, "unref r1");
  assert_false(shadow_is_reachable(shadow, id));
  expect(shadow, 1, "900");
}

static void
test_shadow_load_operations_make_nodes(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first;

  run(shadow, "churn 100");
  assert_int_equal(shadow_births(shadow, &first), 0);
  run(shadow, "chain r0 3");
  assert_int_equal(shadow_births(shadow, &first), 3);
  assert_int_equal(node_in(shadow, 0), first);
  run(shadow, "geti r1 r0 1; geti r2 r1 1; geti r3 r2 1");
  assert_int_equal(node_in(shadow, 2), first + 2);
  expect(shadow, 3, "nil");
  run(shadow, "wide r0 2");
  assert_int_equal(shadow_births(shadow, &first), 3);
  run(shadow, "geti r1 r0 2; geti r2 r0 3; wide r3 0");
  assert_int_equal(node_in(shadow, 1), first + 2);
  expect(shadow, 2, "nil");
  refuse(shadow, "chain r0 0; churn 501");
  assert_true(admits(shadow, "churn 500"));
}

static void
test_shadow_nodes_have_a_limit(void **state)
{
  struct shadow *shadow = *state;
  char message[SHADOW_MESSAGE_MAX];

  refuse(shadow, "wide r0 4096; chain r0 4112");
  assert_true(admits(shadow, "chain r0 4096"));
  run(shadow, "cfunc r2 0; closure r1 r1 1");
  assert_int_equal(apply_op(shadow, parse_op("wide r0 4080"), SUBJECT_DONE,
                                NULL, message),
                   SHADOW_OK);
  refuse(shadow, "chain r0 15; wide r0 14");
  assert_int_equal(apply_op(shadow, parse_op("chain r0 14"), SUBJECT_DONE,
                                NULL, message),
                   SHADOW_OK);
  refuse(shadow, "newtable r0 0 0; newud r0 0 0; cclosure r0 r0 1; "
                 "closure r0 r0 0; share r0 r1; load r0 0 0; conew r0 r2; "
                 "chain r0 1; wide r0 0");
  assert_true(admits(shadow, "str r0 1"));
  shadow_clear(shadow, true);
  assert_true(admits(shadow, "chain r0 200704"));
  assert_true(admits(shadow, "churn 1046528"));
}

static void
test_shadow_collector_operations_change_nothing(void **state)
{
  struct shadow *shadow = *state;
  uint64_t digest = digest_shadow(shadow);

  run(shadow, "setup fresh small incremental; microstep 192; step 100; "
              "runto sweep; finish; collect; stop; restart; failalloc 3; "
              "heaplimit 9; reserve 2000; close");
  assert_int_equal(digest_shadow(shadow), digest);
  refuse(shadow, "microstep 208; reserve 2016");
  shadow_clear(shadow, true);
  assert_true(admits(shadow, "reserve 2016"));
  assert_true(admits(shadow, "microstep 992"));
  refuse(shadow, "reserve 100352; microstep 1024");
}

static void
test_shadow_status_is_judged(void **state)
{
  struct shadow *shadow = *state;
  char message[SHADOW_MESSAGE_MAX];
  uint64_t digest = digest_shadow(shadow);

  for (int code = 0; code < OP_COUNT; code++) {
    struct op op = {.code = (uint8_t)code};
    bool allocates = op_infos[code].flags & OP_ALLOCATES;

    assert_int_equal(
        apply_op(shadow, op, SUBJECT_UNSUPPORTED, NULL, message),
        SHADOW_OK);
    assert_int_equal(apply_op(shadow, op, SUBJECT_ERROR, NULL, message),
                     SHADOW_ILLEGAL);
    assert_non_null(strstr(message, op_infos[code].name));
    assert_int_equal(apply_op(shadow, op, SUBJECT_NO_MEMORY, NULL, message),
                     allocates ? SHADOW_OK : SHADOW_ILLEGAL);
    assert_int_equal(apply_op(shadow, op, 99, NULL, message),
                     SHADOW_ILLEGAL);
  }
  assert_int_equal(digest_shadow(shadow), digest);
}

/* Labels with a place 0 of its kind, and no others. */
static void
expect_labels(const struct shadow *shadow, uint32_t id, uint32_t labels)
{
  struct shadow_value ignored;

  for (uint8_t label = 0; label < SUBJECT_LABEL_COUNT; label++)
    assert_int_equal(
        shadow_lookup(shadow, id, label, integer_value(0), &ignored),
        labels >> label & 1);
}

#define LABEL(name) (1u << SUBJECT_LABEL_##name)

static void
test_shadow_lookup_knows_the_labels_of_a_kind(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "newtable r0 0 0; seti r0 0 r0; newud r1 0 1; "
              "cclosure r2 r0 1; closure r3 r0 1; conew r4 r3; conew r5 r3; "
              "cfunc r6 0; setevent r0 __close r6; setmeta r0 r0; "
              "setglobal 0 r5; resume r5 r0 1; tbc r0; move r1 r0; yield r0 0");
  expect_labels(shadow, SHADOW_ROOT,
                LABEL(REGISTRY) | LABEL(GLOBALS) | LABEL(MAIN) |
                    LABEL(CURRENT) | LABEL(BASICMETA));
  expect_labels(shadow, node_in(shadow, 0), LABEL(ENTRY) | LABEL(METATABLE));
  expect_labels(shadow, node_in(shadow, 1),
                LABEL(USERVALUE) | LABEL(METATABLE));
  expect_labels(shadow, node_in(shadow, 2), LABEL(UPVALUE));
  expect_labels(shadow, node_in(shadow, 3), LABEL(UPVALUE));
  expect_labels(shadow, node_in(shadow, 4), LABEL(START) | LABEL(RESUMED));
  expect_labels(shadow, node_in(shadow, 5),
                LABEL(START) | LABEL(RESUMED) | LABEL(FUNCTION) |
                    LABEL(REGISTER) | LABEL(TBC));
}

/* Also where the last operation left the marks to be made anew. */
static void
test_shadow_clear_forgets_all(void **state)
{
  struct shadow *shadow = *state;
  struct shadow *fresh = shadow_new();
  char message[SHADOW_MESSAGE_MAX];
  uint32_t first;

  assert_non_null(fresh);
  run(shadow, "newtable r0 0 0; nil r0; newtable r1 0 0");
  assert_int_equal(
      apply_op(shadow, parse_op("nil r1"), SUBJECT_DONE, NULL, message),
      SHADOW_OK);
  shadow_clear(shadow, false);
  assert_int_equal(shadow_births(shadow, &first), 0);
  assert_int_equal(first, SHADOW_FIRST);
  for (uint32_t id = 0; id < SHADOW_FIRST; id++) {
    assert_true(shadow_is_reachable(shadow, id));
    assert_true(shadow_was_reachable(shadow, id));
  }
  assert_int_equal(digest_shadow(shadow), digest_shadow(fresh));
  run(shadow, "newtable r0 0 0");
  shadow_clear(shadow, false);
  assert_int_equal(shadow_births(shadow, &first), 0);
  shadow_free(fresh);
}

int
main(void)
{
#define TEST(name) \
  cmocka_unit_test_setup_teardown(test_shadow_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(globals_are_replaced),
      TEST(globals_and_registry_hold),
      TEST(references_are_fresh_integers),
      TEST(load_operations_make_nodes),
      TEST(nodes_have_a_limit),
      TEST(collector_operations_change_nothing),
      TEST(status_is_judged),
      TEST(lookup_knows_the_labels_of_a_kind),
      TEST(clear_forgets_all),
  };
#undef TEST

  return cmocka_run_group_tests(tests, NULL, NULL);
}
