/* SPDX-License-Identifier: MIT
 *
 * The shadow heap where control moves: calls, errors, coroutines; what each
 * operation does and when it is skipped. A frame that leaves something behind,
 * an upvalue closed too early or too late, a value that reaches the wrong
 * register fails here.
 */
#include "shadow_fixture.h"

/* ---- the stack ------------------------------------------------------- */

static void
test_shadow_flow_call_enters_a_frame(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "closure r1 r0 0; int r14 4; str r15 5; int r0 6; "
              "call r1 r14 3");
  assert_int_equal(depth_now(shadow), 1);
  expect(shadow, 0, "4");
  expect(shadow, 1, "\"s5\"");
  expect(shadow, 2, "6");
  expect(shadow, 3, "nil");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_FUNCTION, integer_value(1),
              "closure 4");
  expect_register(shadow, SHADOW_MAIN, 0, 14, "4");
  expect_register(shadow, SHADOW_MAIN, 1, 16, "none");
  expect_register(shadow, SHADOW_MAIN, 2, 0, "none");
  run(shadow, "int r15 7; int r0 8; return r15 2");
  assert_int_equal(depth_now(shadow), 0);
  expect(shadow, 1, "7");
  expect(shadow, 2, "8");
  expect(shadow, 14, "4");
  refuse(shadow, "return r0 0; call r0 r0 0; pcall r0 r0 0; callv r0 r0 0; "
                 "tailcall r3 r0 0");
}

static void
test_shadow_flow_call_takes_every_kind_of_function(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r0 3; cclosure r1 r0 1; call r0 r0 1");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_FUNCTION, integer_value(1),
              "C function 3");
  run(shadow, "return r0 0; call r1 r0 0; return r0 0");
  expect(shadow, 0, "C function 3");
}

/* Results and what a yield brings wrap at the last register. */
static void
test_shadow_flow_results_go_round(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r15 0; conew r14 r15; call r15 r0 0; int r0 5; int r1 6; "
              "return r0 2");
  expect(shadow, 15, "5");
  expect(shadow, 0, "6");
  run(shadow, "resume r14 r15 2; int r2 7; yield r0 3");
  expect(shadow, 14, "5");
  expect(shadow, 15, "6");
  expect(shadow, 0, "7");
}

static void
test_shadow_flow_calls_nest_to_a_limit(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r0 0");
  for (int depth = 1; depth < OP_FRAMES_MAX; depth++)
    run_one(shadow, depth % 2 ? "call r0 r0 1" : "pcall r0 r0 1");
  refuse(shadow, "call r0 r0 1; pcall r0 r0 1; callv r0 r0 1");
  run(shadow, "tailcall r0 r0 1; return r0 1; call r0 r0 1");
}

static void
test_shadow_flow_varargs_go_round(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id;

  run(shadow, "cfunc r0 0; int r3 3; newtable r2 0 0; callv r0 r2 18; "
              "vararg r0 0; vararg r1 1; vararg r2 16; vararg r3 17; "
              "vararg r4 18; vararg r5 14");
  expect(shadow, 0, "table 4");
  expect(shadow, 1, "3");
  expect(shadow, 2, "table 4");
  expect(shadow, 3, "3");
  expect(shadow, 4, "nil");
  expect(shadow, 5, "C function 0");
  id = node_in(shadow, 0);
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_VARARG,
              integer_value(65536 + 16), "table 4");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_VARARG,
              integer_value(65536 + 18), "none");
  run(shadow, "settop 0; int r0 1; return r0 1; int r2 0");
  assert_false(shadow_is_reachable(shadow, id));
  run(shadow, "cfunc r0 0; callv r0 r0 992; vararg r1 960");
  refuse(shadow, "callv r0 r0 1024");
}

static void
test_shadow_flow_return_drops_the_frame_but_cells(void **state)
{
  struct shadow *shadow = *state;
  uint32_t kept, lost, function;

  run(shadow, "load r0 0 0; call r0 r0 0; nil r0; newtable r1 0 0; "
              "newtable r2 0 0; closure r3 r1 1; closure r4 r1 1");
  kept = node_in(shadow, 1);
  lost = node_in(shadow, 2);
  function = node_in(shadow, 3);
  run(shadow, "return r3 2");
  assert_true(shadow_is_reachable(shadow, kept));
  assert_false(shadow_is_reachable(shadow, lost));
  assert_int_equal(node_in(shadow, 0), function);
  run(shadow, "str r5 1; setupval r0 0 r5; getupval r6 r1 0");
  expect(shadow, 6, "\"s1\"");
  assert_false(shadow_is_reachable(shadow, kept));
}

static void
test_shadow_flow_tailcall_replaces_the_frame(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r0 1; cfunc r1 2; cfunc r2 3; call r0 r1 2; "
              "closure r5 r0 1; int r15 8; move r2 r5; tailcall r1 r15 4");
  assert_int_equal(depth_now(shadow), 1);
  expect(shadow, 0, "8");
  expect(shadow, 1, "C function 2");
  expect(shadow, 2, "C function 3");
  expect(shadow, 3, "closure 4");
  expect(shadow, 5, "nil");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_FUNCTION, integer_value(1),
              "C function 3");
  /* Its upvalue was closed: the register is another one now. */
  run(shadow, "getupval r6 r3 0; int r0 1; getupval r7 r3 0; return r6 2");
  expect(shadow, 0, "C function 2");
  expect(shadow, 1, "C function 2");
}

static void
test_shadow_flow_tailcall_keeps_protection(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r4 1; pcall r4 r4 1; callv r0 r0 3; cfunc r5 0; "
              "tailcall r5 r5 1; vararg r1 0");
  expect(shadow, 1, "nil");
  run(shadow, "return r0 0; tailcall r0 r0 0; int r0 6; error r0");
  assert_int_equal(depth_now(shadow), 0);
  expect(shadow, 4, "6");
}

static void
test_shadow_flow_settop_clears_from_a_register_on(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "int r14 1; int r15 2; closure r0 r15 1; settop 16; "
              "settop 15; getupval r1 r0 0");
  expect(shadow, 14, "1");
  expect(shadow, 15, "nil");
  expect(shadow, 1, "nil");
  run(shadow, "settop 0");
  expect(shadow, 0, "nil");
  expect(shadow, 14, "nil");
}

static void
test_shadow_flow_errors_unwind_to_the_protected_frame(void **state)
{
  struct shadow *shadow = *state;
  uint32_t kept, lost;

  run(shadow, "cfunc r3 0; int r4 4");
  refuse(shadow, "error r4");
  run(shadow, "call r3 r3 1");
  refuse(shadow, "error r4");
  run(shadow,
      "pcall r0 r0 1; newtable r1 0 0; closure r2 r1 1; "
      "setglobal 1 r2; call r0 r0 1; newtable r5 0 0; str r6 1; error r6");
  kept = SHADOW_FIRST;
  lost = SHADOW_FIRST + 2;
  assert_int_equal(depth_now(shadow), 1);
  expect(shadow, 0, "\"s1\"");
  assert_true(shadow_is_reachable(shadow, kept));
  assert_false(shadow_is_reachable(shadow, lost));
  run(shadow, "getglobal r1 1; getupval r2 r1 0");
  assert_int_equal(node_in(shadow, 2), kept);
}

static void
test_shadow_flow_tbc_holds_until_the_frame_is_left(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id;

  run(shadow, "cfunc r0 1; newtable r1 0 0; newud r2 0 0; str r3 0; "
              "setmeta r2 r1");
  refuse(shadow, "tbc r1; tbc r2; tbc r3; tbc r0");
  run(shadow, "setevent r1 __close r3");
  refuse(shadow, "tbc r2");
  run(shadow, "cclosure r4 r0 1; setevent r1 __close r4");
  refuse(shadow, "tbc r2");
  run(shadow, "setevent r1 __close r0; tbc r2; call r0 r1 2");
  id = node_in(shadow, 1);
  run(shadow, "tbc r1; tbc r1; tbc r1; tbc r1");
  refuse(shadow, "tbc r1; tailcall r0 r0 0");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_TBC, integer_value(65536 + 3),
              "userdata 5");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_TBC, integer_value(65536 + 4),
              "none");
  run(shadow, "settop 0");
  assert_true(shadow_is_reachable(shadow, id));
  run(shadow, "return r0 0; nil r2");
  assert_true(shadow_is_reachable(shadow, id));
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_TBC, integer_value(0),
              "userdata 5");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_TBC, integer_value(65536),
              "none");
}

/* They lie above all registers, and go with whatever block is left. */
static void
test_shadow_flow_closeup_closes_what_is_to_be_closed(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first, second;

  run(shadow, "cfunc r0 1; newtable r1 0 0; newtable r2 0 0; setmeta r1 r1; "
              "setmeta r2 r1; setevent r1 __close r0; tbc r2; call r0 r1 2; "
              "newtable r2 0 0; setmeta r2 r0; tbc r2; tbc r2; nil r2");
  first = SHADOW_FIRST + 1;
  second = SHADOW_FIRST + 2;
  assert_true(shadow_is_reachable(shadow, second));
  run(shadow, "closeup 16");
  assert_false(shadow_is_reachable(shadow, second));
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_TBC, integer_value(65536),
              "none");
  run(shadow, "return r0 0; nil r2; nil r0");
  assert_true(shadow_is_reachable(shadow, first));
  run(shadow, "closeup 3");
  assert_false(shadow_is_reachable(shadow, first));
}

/* ---- coroutines ------------------------------------------------------ */

static void
test_shadow_flow_coroutines_run_and_yield(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id;

  run(shadow, "load r0 0 0; conew r1 r0; int r2 5; int r3 6");
  id = node_in(shadow, 1);
  expect_edge(shadow, id, SUBJECT_LABEL_START, nil_value(), "closure 4");
  refuse(shadow, "conew r4 r2; yield r0 0; resume r0 r0 0; coset r1 r0 r0; "
                 "coget r4 r1 r0");
  run(shadow, "resume r1 r2 2");
  assert_int_equal(shadow_running(shadow), id);
  expect(shadow, 0, "5");
  expect(shadow, 1, "6");
  expect_edge(shadow, id, SUBJECT_LABEL_START, nil_value(), "nil");
  expect_edge(shadow, id, SUBJECT_LABEL_FUNCTION, integer_value(0),
              "closure 4");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_RESUMED, nil_value(),
              "coroutine 5");
  run(shadow, "str r15 1; str r0 2; yield r15 2");
  assert_int_equal(shadow_running(shadow), SHADOW_MAIN);
  expect(shadow, 1, "\"s1\"");
  expect(shadow, 2, "\"s2\"");
  expect(shadow, 3, "6");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_RESUMED, nil_value(), "nil");
  assert_false(shadow_is_reachable(shadow, id));
}

static void
test_shadow_flow_coroutines_keep_their_registers(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r0 0; conew r1 r0; resume r1 r0 1; int r5 5; "
              "yield r0 0; int r2 9; resume r1 r2 1");
  expect(shadow, 0, "9");
  expect(shadow, 5, "5");
  run(shadow, "return r5 1");
  expect(shadow, 1, "5");
  expect(shadow, 2, "9");
}

static void
test_shadow_flow_coroutines_finish_without_frames(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id;

  run(shadow, "cfunc r0 0; conew r1 r0; move r2 r1; resume r1 r0 0; "
              "newtable r0 0 0; closure r1 r0 1; setglobal 0 r1; return r0 0");
  id = node_in(shadow, 2);
  expect_register(shadow, id, 0, 0, "none");
  expect_edge(shadow, id, SUBJECT_LABEL_FUNCTION, integer_value(0), "none");
  assert_int_equal(shadow_sum(shadow, id), 0);
  refuse(shadow, "resume r2 r0 0; coset r2 r0 r0; coget r3 r2 r0");
  run(shadow, "coclose r2; getglobal r3 0; getupval r4 r3 0");
  expect(shadow, 4, "table 5");
}

static void
test_shadow_flow_coroutines_are_reached_into(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r0 0; conew r1 r0; move r3 r1; resume r1 r0 1; "
              "call r0 r0 0; closure r1 r0 1; yield r1 1; int r2 7");
  refuse(shadow, "coset r2 r0 r0; coget r4 r0 r0");
  run(shadow, "str r2 7");
  assert_true(admits(shadow, "coset r3 r0 r2"));
  run(shadow, "coset r3 r0 r2; coget r4 r3 r0; getupval r5 r1 0; "
              "int r6 8; setupval r1 0 r6; coget r7 r3 r0; coget r8 r3 r1");
  expect(shadow, 4, "\"s7\"");
  expect(shadow, 5, "\"s7\"");
  expect(shadow, 7, "8");
  expect(shadow, 8, "closure 5");
}

static void
test_shadow_flow_coroutines_skip_themselves(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "running r0; cfunc r1 0; conew r2 r1");
  expect(shadow, 0, "the main coroutine");
  refuse(shadow, "resume r0 r0 0; coclose r0; coset r0 r0 r0; "
                 "coget r3 r0 r0; coclose r1; coclose r4");
  run(shadow, "resume r2 r0 3");
  expect(shadow, 0, "the main coroutine");
  refuse(shadow, "resume r0 r0 0; resume r2 r0 0; coclose r0; coclose r2; "
                 "coset r0 r0 r0; coset r2 r0 r0");
  run(shadow, "running r5");
  expect(shadow, 5, "coroutine 4");
}

static void
test_shadow_flow_coroutines_resume_to_a_limit(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r0 0");
  for (int depth = 0; depth < OP_RESUME_DEPTH_MAX; depth++)
    run(shadow, "conew r1 r0; resume r1 r0 1");
  run(shadow, "conew r1 r0");
  refuse(shadow, "resume r1 r0 1");
  run(shadow, "yield r0 0; conew r2 r0; resume r2 r0 1");
}

static void
test_shadow_flow_failed_coroutines_keep_their_frames(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id, held;

  run(shadow, "cfunc r0 0; conew r1 r0; move r2 r1; resume r1 r0 1; "
              "call r0 r0 1; newtable r1 0 0; closure r2 r1 1; setglobal 0 r2; "
              "str r3 3; error r3");
  id = node_in(shadow, 2);
  held = id + 1;
  expect(shadow, 1, "\"s3\"");
  expect_register(shadow, id, 1, 1, "table 5");
  refuse(shadow, "resume r2 r0 0");
  /* The upvalue is still open. */
  run(shadow, "int r4 4; getglobal r5 0; setupval r5 0 r4; "
              "coget r6 r2 r1; coset r2 r1 r0; getupval r7 r5 0");
  expect(shadow, 6, "4");
  expect(shadow, 7, "C function 0");
  assert_false(shadow_is_reachable(shadow, held));
  run(shadow, "coclose r2; getupval r8 r5 0");
  expect(shadow, 8, "C function 0");
  assert_int_equal(shadow_sum(shadow, id), 0);
  refuse(shadow, "coget r6 r2 r1; resume r2 r0 0");
  run(shadow, "coclose r2");
}

static void
test_shadow_flow_errors_stay_in_their_coroutine(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, "cfunc r0 0; pcall r0 r0 1; conew r1 r0; resume r1 r0 1; "
              "pcall r0 r0 1; call r0 r0 1; int r5 5; error r5");
  expect(shadow, 0, "5");
  expect_edge(shadow, SHADOW_MAIN, SUBJECT_LABEL_RESUMED, nil_value(),
              "coroutine 4");
  run(shadow, "int r6 6; error r6");
  assert_int_equal(shadow_running(shadow), SHADOW_MAIN);
  assert_int_equal(depth_now(shadow), 1);
  expect(shadow, 1, "6");
}

static void
test_shadow_flow_coclose_drops_a_start(void **state)
{
  struct shadow *shadow = *state;
  uint32_t function;

  run(shadow, "closure r0 r1 0; conew r1 r0");
  function = node_in(shadow, 0);
  run(shadow, "nil r0");
  assert_true(shadow_is_reachable(shadow, function));
  run(shadow, "coclose r1");
  assert_false(shadow_is_reachable(shadow, function));
  refuse(shadow, "resume r1 r0 0");
}

/* What an unreachable coroutine's register holds lives on through an open
 * upvalue; a store through the upvalue reaches the register alone. */
static void
test_shadow_flow_open_upvalues_outlive_reach(void **state)
{
  struct shadow *shadow = *state;
  uint32_t id, held;

  run(shadow, "cfunc r0 0; conew r1 r0; resume r1 r0 0; newtable r5 0 0; "
              "move r6 r5; closure r7 r5 1; yield r7 1");
  id = SHADOW_FIRST;
  held = id + 1;
  assert_false(shadow_is_reachable(shadow, id));
  assert_true(shadow_is_reachable(shadow, held));
  run(shadow, "setupval r1 0 r0");
  assert_false(shadow_is_reachable(shadow, held));
}

/* ---- what is due to be closed ---------------------------------------- */

/* What the last operation closes, as ids less SHADOW_FIRST. */
static void
expect_closings(const struct shadow *shadow, const char *text)
{
  const uint32_t *ids;
  uint32_t count = shadow_closings(shadow, &ids);
  char words[80] = "";
  size_t length = 0;

  for (uint32_t i = 0; i < count; i++)
    length += (size_t)snprintf(words + length, sizeof words - length, "%s%u",
                               i ? " " : "", (unsigned)(ids[i] - SHADOW_FIRST));
  assert_string_equal(words, text);
}

/* Node 0, in r1, is the metatable of all; nodes 1 to 3 are in r2 to r4. */
static const char closing_begin[] =
    "cfunc r0 1; newtable r1 0 0; setevent r1 __close r0; newtable r2 0 0; "
    "newud r3 0 0; newtable r4 0 0; setmeta r2 r1; setmeta r3 r1; "
    "setmeta r4 r1";

static void
test_shadow_flow_closings_of_a_block(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, closing_begin);
  run(shadow, "closeup 0");
  expect_closings(shadow, "");
  run(shadow, "tbc r2; tbc r3; tbc r2; tbc r4");
  assert_true(shadow_may_close(shadow, parse_op("closeup 16")));
  assert_false(shadow_may_close(shadow, parse_op("settop 16")));
  expect_closings(shadow, "");
  run(shadow, "closeup 16");
  expect_closings(shadow, "3 1 2 1");
  assert_false(shadow_may_close(shadow, parse_op("closeup 16")));
  run(shadow, "int r5 1");
  expect_closings(shadow, "");
}

/* __close is what it is then. */
static void
test_shadow_flow_closings_have_a_closer(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, closing_begin);
  run(shadow, "newtable r5 0 0; tbc r2; tbc r3; tbc r4; setmeta r3 r5; "
              "closeup 0");
  expect_closings(shadow, "3 1");
  run(shadow, "tbc r2; tbc r4; int r6 1; setevent r1 __close r6; closeup 0");
  expect_closings(shadow, "");
  run(shadow, "setevent r1 __close r0; tbc r2; setmeta r2 r7; closeup 0");
  expect_closings(shadow, "");
}

static void
test_shadow_flow_closings_of_a_return(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, closing_begin);
  run(shadow, "tbc r2; call r0 r2 3; tbc r0; tbc r1; return r0 1");
  expect_closings(shadow, "2 1");
  run(shadow, "closeup 0");
  expect_closings(shadow, "1");
}

static void
test_shadow_flow_closings_of_an_error(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, closing_begin);
  run(shadow, "tbc r2; pcall r0 r0 5; tbc r2; tbc r3; call r0 r0 5; tbc r4; "
              "call r0 r0 5; tbc r2; tbc r2; error r0");
  assert_int_equal(depth_now(shadow), 0);
  expect_closings(shadow, "1 1 3 2 1");
  run(shadow, "closeup 0");
  expect_closings(shadow, "1");
}

static void
test_shadow_flow_closings_of_a_coroutine(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, closing_begin);
  run(shadow, "conew r5 r0; move r6 r5; resume r5 r2 3; tbc r0; tbc r1; "
              "yield r0 0");
  expect_closings(shadow, "");
  run(shadow, "resume r6 r0 0");
  expect_closings(shadow, "");
  run(shadow, "return r0 0");
  expect_closings(shadow, "2 1");
  run(shadow, "coclose r5");
  expect_closings(shadow, "");
}

static void
test_shadow_flow_closings_of_a_closed_coroutine(void **state)
{
  struct shadow *shadow = *state;

  run(shadow, closing_begin);
  run(shadow, "conew r5 r0; move r6 r5; resume r5 r2 3; tbc r0; "
              "cfunc r3 0; call r3 r0 3; tbc r1; tbc r2; error r0");
  expect_closings(shadow, "");
  run(shadow, "coclose r6");
  expect_closings(shadow, "3 2 1");
  run(shadow, "conew r5 r0; move r6 r5; resume r5 r2 3; tbc r2; yield r0 0; "
              "coclose r6");
  expect_closings(shadow, "3");
}

/* The place depends on the kind of the first register and the number of the
 * second; nothing that is there is lost. */
static void
test_shadow_flow_hot_stores_its_last_table(void **state)
{
  struct shadow *shadow = *state;
  uint32_t first;

  run(shadow, "newtable r0 0 0; int r2 7; hot r0 r2 9");
  assert_int_equal(shadow_births(shadow, &first), 1);
  run(shadow, "geti r4 r0 1");
  assert_int_equal(node_in(shadow, 4), node_in(shadow, 2));
  run(shadow, "geti r5 r2 1; hot r0 r1 1; getmeta r6 r0");
  expect(shadow, 5, "7");
  refuse(shadow, "hot r0 r2 9; hot r0 r1 9; hot r0 r4 9; hot r7 r2 9");
  run(shadow, "newtable r0 0 0");
  refuse(shadow, "hot r0 r2 0; hot r0 r2 512");
  run(shadow, "closure r3 r6 1; nil r1; hot r3 r1 496; move r4 r1");
  assert_int_equal(node_in(shadow, 6), node_in(shadow, 1));
  refuse(shadow, "hot r3 r1 9");
  run(shadow, "nil r6; hot r3 r1 9; geti r5 r1 1; closure r3 r6 0");
  assert_int_equal(node_in(shadow, 5), node_in(shadow, 4));
  refuse(shadow, "hot r3 r1 9");
}

int
main(void)
{
#define TEST(name) \
  cmocka_unit_test_setup_teardown(test_shadow_flow_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(call_enters_a_frame),
      TEST(call_takes_every_kind_of_function),
      TEST(results_go_round),
      TEST(calls_nest_to_a_limit),
      TEST(varargs_go_round),
      TEST(return_drops_the_frame_but_cells),
      TEST(tailcall_replaces_the_frame),
      TEST(tailcall_keeps_protection),
      TEST(settop_clears_from_a_register_on),
      TEST(errors_unwind_to_the_protected_frame),
      TEST(tbc_holds_until_the_frame_is_left),
      TEST(closeup_closes_what_is_to_be_closed),
      TEST(coroutines_run_and_yield),
      TEST(coroutines_keep_their_registers),
      TEST(coroutines_finish_without_frames),
      TEST(coroutines_are_reached_into),
      TEST(coroutines_skip_themselves),
      TEST(coroutines_resume_to_a_limit),
      TEST(failed_coroutines_keep_their_frames),
      TEST(errors_stay_in_their_coroutine),
      TEST(coclose_drops_a_start),
      TEST(open_upvalues_outlive_reach),
      TEST(closings_of_a_block),
      TEST(closings_have_a_closer),
      TEST(closings_of_a_return),
      TEST(closings_of_an_error),
      TEST(closings_of_a_coroutine),
      TEST(closings_of_a_closed_coroutine),
      TEST(hot_stores_its_last_table),
  };
#undef TEST

  return cmocka_run_group_tests(tests, NULL, NULL);
}
