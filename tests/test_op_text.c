/* SPDX-License-Identifier: MIT
 *
 * The text form: printing and parsing are inverse for every operation and
 * value, every kind of mistake is refused with the words that this file pins,
 * and no text, however broken or long, is read beyond its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op_text.h"

/* A copy of exactly size bytes, so that a sanitizer sees a read beyond it. */
static char *
exact_copy(const char *text, size_t size)
{
  char *copy = malloc(size == 0 ? 1 : size);

  assert_non_null(copy);
  memcpy(copy, text, size);
  return copy;
}

static enum op_parse_status
parse(const char *line, size_t length, struct op *ret_op, char *ret_error)
{
  char *copy = exact_copy(line, length);
  enum op_parse_status status = op_parse(copy, length, ret_op, ret_error);

  free(copy);
  return status;
}

static void
assert_parses(const char *line, struct op wanted)
{
  char error[OP_TEXT_ERROR_MAX] = "";
  struct op op = {255, -1, -1, -1};

  assert_int_equal(parse(line, strlen(line), &op, error), OP_PARSE_OK);
  assert_int_equal(op.code, wanted.code);
  assert_int_equal(op.a, wanted.a);
  assert_int_equal(op.b, wanted.b);
  assert_int_equal(op.c, wanted.c);
}

static void
assert_empty(const char *line)
{
  char error[OP_TEXT_ERROR_MAX];
  struct op op;

  assert_int_equal(parse(line, strlen(line), &op, error), OP_PARSE_EMPTY);
}

/* The line is refused with exactly this message, and nothing is stored. */
static void
assert_refused_bytes(const char *line, size_t length, const char *wanted)
{
  char error[OP_TEXT_ERROR_MAX] = "";
  struct op op = {254, -1, -2, -3};

  assert_int_equal(parse(line, length, &op, error), OP_PARSE_ERROR);
  assert_string_equal(error, wanted);
  assert_int_equal(op.code, 254);
  assert_int_equal(op.c, -3);
}

static void
assert_refused(const char *line, const char *wanted)
{
  assert_refused_bytes(line, strlen(line), wanted);
}

/* ---- round trips ----------------------------------------------------- */

static void
op_round_trip(struct op op)
{
  char text[OP_TEXT_OP_MAX + 1];
  char again[OP_TEXT_OP_MAX];
  struct op parsed;
  char error[OP_TEXT_ERROR_MAX];
  size_t length;

  text[OP_TEXT_OP_MAX] = '!';
  length = op_print(op, text);
  assert_int_equal(text[OP_TEXT_OP_MAX], '!');
  assert_int_equal(length, strlen(text));
  if (parse(text, length, &parsed, error) != OP_PARSE_OK)
    fail_msg("'%s': %s", text, error);
  assert_int_equal(parsed.code, op.code);
  assert_int_equal(parsed.a, op.a);
  assert_int_equal(parsed.b, op.b);
  assert_int_equal(parsed.c, op.c);
  op_print(parsed, again);
  assert_string_equal(text, again);
}

/* Would catch an operand that one side writes and the other cannot read: a
 * word, a sign, a logarithmic value, a register of two digits. */
static void
test_op_text_round_trip_every_operation(void **state)
{
  (void)state;
  for (unsigned code = 0; code < OP_COUNT; code++) {
    for (unsigned i = 0; i < 256; i++) {
      op_round_trip(op_decode((uint8_t[]){code, i, i * 7, i * 31}));
      op_round_trip(op_decode((uint8_t[]){code, 255 - i, i, 0}));
      op_round_trip(op_decode((uint8_t[]){code, i / 16, 0, i}));
    }
  }
}

static void
test_op_text_prints_the_expected_words(void **state)
{
  static const struct {
    struct op op;
    const char *text;
  } rows[] = {
      {{OP_SETUP, OP_POLICY_RECYCLE, OP_SCALE_LARGE, OP_MODE_INCREMENTAL},
       "setup recycle large incremental"},
      {{OP_SET, 0, 9, 15}, "set r0 r9 r15"},
      {{OP_INT, 2, -32768, 0}, "int r2 -32768"},
      {{OP_NEWTABLE, 3, 507904, 34}, "newtable r3 507904 34"},
      {{OP_CHURN, 1000, 0, 0}, "churn 1000"},
      {{OP_SETGLOBAL, 31, 4, 0}, "setglobal 31 r4"},
      {{OP_SETGLOBALS, 4, 0, 0}, "setglobals r4"},
      {{OP_CALLINDEX, 1, 2, 3}, "callindex r1 r2 r3"},
      {{OP_CALLSTORE, 1, 2, 3}, "callstore r1 r2 r3"},
      {{OP_LOADCUT, 200, 4, 2}, "loadcut 200 4 2"},
      {{OP_EXTSTR, 5, 17, 30}, "extstr r5 17 30"},
      {{OP_SETENV, 1, 2, 0}, "setenv r1 r2"},
      {{OP_GETENV, 3, 4, 0}, "getenv r3 r4"},
      {{OP_LIBRARY, 2, 0, 0}, "library 2"},
      {{OP_SETEVENT, 1, OP_EVENT_NEWINDEX, 2}, "setevent r1 __newindex r2"},
      {{OP_BASICMETA, OP_BASIC_LIGHTUD, 0, 0}, "basicmeta lightuserdata r0"},
      {{OP_RUNTO, OP_PHASE_SWEEP_FINALIZABLE, 0, 0}, "runto sweep-finalizable"},
      {{OP_COLLECT, 0, 0, 0}, "collect"},
  };
  char text[OP_TEXT_OP_MAX];

  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    op_print(rows[i].op, text);
    assert_string_equal(text, rows[i].text);
    assert_parses(rows[i].text, rows[i].op);
  }
}

/* ---- what is accepted ------------------------------------------------ */

static void
test_op_text_accepts_blanks_comments_and_line_ends(void **state)
{
  const struct op set = {OP_SET, 1, 2, 3};

  (void)state;
  assert_parses("  set\tr1   r2 r3  ", set);
  assert_parses("set r1 r2 r3#comment", set);
  assert_parses("set r1 r2 r3 # comment # more \xff", set);
  assert_parses("set r1 r2 r3\r", set);
  assert_parses("set r1 r2 r3 # comment\r", set);
  assert_parses("collect\r", (struct op){OP_COLLECT, 0, 0, 0});
  assert_parses("set r01 r2 r003", set);
  assert_parses("int r0 -0", (struct op){OP_INT, 0, 0, 0});
  assert_parses("int r0 00012", (struct op){OP_INT, 0, 12, 0});
  assert_empty("");
  assert_empty("\r");
  assert_empty(" \t ");
  assert_empty("# set r1 r2 r3");
  assert_empty("   #");
}

/* ---- what is refused ------------------------------------------------- */

static void
test_op_text_refuses_unknown_operations(void **state)
{
  (void)state;
  assert_refused("newtabel r0 0 0",
                 "unknown operation 'newtabel' (did you mean 'newtable'?)");
  assert_refused("st r0 r1 r2", "unknown operation 'st' (did you mean 'str'?)");
  assert_refused("micro-step 1",
                 "unknown operation 'micro-step' (did you mean 'microstep'?)");
  assert_refused("nli r0", "unknown operation 'nli' (did you mean 'nil'?)");
  assert_refused("SET r0 r1 r2", "unknown operation 'SET'");
  assert_refused("x", "unknown operation 'x'");
  assert_refused("frobnicate", "unknown operation 'frobnicate'");
  assert_refused("r0", "unknown operation 'r0'");
}

static void
test_op_text_refuses_wrong_counts(void **state)
{
  (void)state;
  assert_refused("chain r0 1 2", "'chain' has 2 operands, got 3");
  assert_refused("chain r0", "'chain' has 2 operands, got 1");
  assert_refused("set", "'set' has 3 operands, got 0");
  assert_refused("nil # r0", "'nil' has 1 operand, got 0");
  assert_refused("collect 0", "'collect' has no operands, got 1");
  assert_refused("set a b c d e f g", "'set' has 3 operands, got 7");
}

static void
test_op_text_refuses_wrong_registers(void **state)
{
  (void)state;
  assert_refused("set r0 x r1",
                 "operand 2 of 'set' is a register r0 to r15, got 'x'");
  assert_refused("set r16 r0 r1",
                 "operand 1 of 'set' is a register r0 to r15, got 'r16'");
  assert_refused("set r0 r1 r",
                 "operand 3 of 'set' is a register r0 to r15, got 'r'");
  assert_refused("set r0 r1 r-1",
                 "operand 3 of 'set' is a register r0 to r15, got 'r-1'");
  assert_refused("set r0 r1 r-0",
                 "operand 3 of 'set' is a register r0 to r15, got 'r-0'");
  assert_refused("set r0 r1 2",
                 "operand 3 of 'set' is a register r0 to r15, got '2'");
  assert_refused("set r0, r1 r2",
                 "operand 1 of 'set' is a register r0 to r15, got 'r0,'");
  assert_refused("set r99999999999999999999 r1 r2",
                 "operand 1 of 'set' is a register r0 to r15, "
                 "got 'r99999999999999999999'");
}

static void
test_op_text_refuses_wrong_numbers(void **state)
{
  (void)state;
  assert_refused("int r0 32768", "operand 2 of 'int' is a number from -32768 "
                                 "to 32767, got '32768'");
  assert_refused("int r0 -32769", "operand 2 of 'int' is a number from -32768 "
                                  "to 32767, got '-32769'");
  assert_refused("int r0 -", "operand 2 of 'int' is a number from -32768 to "
                             "32767, got '-'");
  assert_refused("int r0 +1", "operand 2 of 'int' is a number from -32768 to "
                              "32767, got '+1'");
  assert_refused("int r0 0x10", "operand 2 of 'int' is a number from -32768 "
                                "to 32767, got '0x10'");
  assert_refused("int r0 --1", "operand 2 of 'int' is a number from -32768 to "
                               "32767, got '--1'");
  assert_refused("bool r0 2", "operand 2 of 'bool' is 0 or 1, got '2'");
  assert_refused("seti r0 64 r1",
                 "operand 2 of 'seti' is a number from 0 to 63, got '64'");
  assert_refused("seti r0 -1 r1",
                 "operand 2 of 'seti' is a number from 0 to 63, got '-1'");
  assert_refused("str r0 4294967296",
                 "operand 2 of 'str' is a number from 0 to 1023, "
                 "got '4294967296'");
  assert_refused("str r0 18446744073709551616",
                 "operand 2 of 'str' is a number from 0 to 1023, "
                 "got '18446744073709551616'");
}

static void
test_op_text_refuses_wrong_sizes(void **state)
{
  (void)state;
  assert_refused("churn 1001", "1001 is no value of this logarithmic operand; "
                               "nearest are 1000 and 1002");
  assert_refused("newtable r0 33 0",
                 "33 is no value of this logarithmic operand; "
                 "nearest are 32 and 34");
  assert_refused("churn 1046527",
                 "1046527 is no value of this logarithmic operand; "
                 "nearest are 1044480 and 1046528");
  assert_refused("churn 1046529", "operand 1 of 'churn' is a number from 0 to "
                                  "1046528, got '1046529'");
  assert_refused("newtable r0 0 -1", "operand 3 of 'newtable' is a number "
                                     "from 0 to 507904, got '-1'");
  assert_refused("churn 99999999999999999999",
                 "operand 1 of 'churn' is a number from 0 to 1046528, "
                 "got '99999999999999999999'");
}

static void
test_op_text_refuses_wrong_words(void **state)
{
  (void)state;
  assert_refused("setup fersh small incremental",
                 "operand 1 of 'setup' is one of fresh, recycle, "
                 "got 'fersh' (did you mean 'fresh'?)");
  assert_refused("setup fresh small x",
                 "operand 3 of 'setup' is one of incremental, generational, "
                 "got 'x'");
  assert_refused("runto sweep_finalizable",
                 "operand 1 of 'runto' is one of pause, propagate, "
                 "enter-atomic, sweep, sweep-finalizable, sweep-pending, "
                 "sweep-end, finalize, got 'sweep_finalizable' "
                 "(did you mean 'sweep-finalizable'?)");
  assert_refused("setevent r0 __len r1",
                 "operand 2 of 'setevent' is one of __index, __newindex, "
                 "__close, __name, __gc, __mode, got '__len'");
  assert_refused("newweak r0 values",
                 "operand 2 of 'newweak' is one of none, k, v, kv, "
                 "got 'values'");
}

/* Would catch raw control bytes on a terminal and messages as long as the
 * input. */
static void
test_op_text_shows_strange_bytes_escaped(void **state)
{
  char line[OP_TEXT_LINE_MAX];

  (void)state;
  assert_refused("s\x1b[31mt", "unknown operation 's\\x1b[31mt'");
  assert_refused("nil\x7f",
                 "unknown operation 'nil\\x7f' (did you mean 'nil'?)");
  assert_refused("\xef\xbb\xbfset", "unknown operation '\\xef\\xbb\\xbfset'");
  assert_refused("se\\t", "unknown operation 'se\\\\t' (did you mean 'set'?)");
  assert_refused("set\rr0", "unknown operation 'set\\x0dr0'");
  assert_refused("int r0 1\v", "operand 2 of 'int' is a number from -32768 to "
                               "32767, got '1\\x0b'");
  memset(line, 'x', sizeof line);
  assert_refused_bytes(line, sizeof line,
                       "unknown operation 'xxxxxxxxxxxxxxxxxxxxxxxx...'");
  memset(line, 0xff, sizeof line);
  assert_refused_bytes(line, sizeof line,
                       "unknown operation "
                       "'\\xff\\xff\\xff\\xff\\xff\\xff...'");
  /* The longest message that there can be still closes its quotes. */
  memcpy(line, "runto ", 6);
  assert_refused_bytes(line, sizeof line,
                       "operand 1 of 'runto' is one of pause, propagate, "
                       "enter-atomic, sweep, sweep-finalizable, "
                       "sweep-pending, sweep-end, finalize, got "
                       "'\\xff\\xff\\xff\\xff\\xff\\xff...'");
}

static void
test_op_text_refuses_nul_bytes(void **state)
{
  static const char message[] =
      "line has a NUL byte; expected text (is this a stream in bytes?)";

  (void)state;
  assert_refused_bytes("", 1, message);
  assert_refused_bytes("nil r0\0", 7, message);
  assert_refused_bytes("# \0", 3, message);
  assert_refused_bytes("\0\r", 2, message);
}

static void
test_op_text_line_has_a_maximum(void **state)
{
  static char line[OP_TEXT_LINE_MAX + 2];
  char error[OP_TEXT_ERROR_MAX];
  struct op op;

  (void)state;
  memset(line, ' ', sizeof line);
  memcpy(line, "nil r3", 6);
  assert_int_equal(parse(line, OP_TEXT_LINE_MAX, &op, error), OP_PARSE_OK);
  assert_int_equal(op.a, 3);
  assert_refused_bytes(line, OP_TEXT_LINE_MAX + 1,
                       "line is longer than 4096 bytes");
  line[OP_TEXT_LINE_MAX] = '\r'; /* belongs to the line's end */
  assert_int_equal(parse(line, OP_TEXT_LINE_MAX + 1, &op, error), OP_PARSE_OK);
}

/* ---- whole texts ----------------------------------------------------- */

static int
texts_parse(const char *text, size_t size, struct stream *ret_stream,
            struct stream_text_error *ret_error)
{
  char *copy = exact_copy(text, size);
  int status = stream_parse(copy, size, ret_stream, ret_error);

  free(copy);
  return status;
}

static void
assert_text(const char *text, size_t count)
{
  struct stream_text_error error;
  struct stream stream;

  assert_int_equal(texts_parse(text, strlen(text), &stream, &error), STREAM_OK);
  assert_int_equal(stream.count, count);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(stream.ops[i].a, i);
  stream_done(&stream);
}

static void
assert_bad_text(const char *text, size_t size, size_t line, const char *message)
{
  struct stream_text_error error = {0, ""};
  struct stream stream = {NULL, 77};

  assert_int_equal(texts_parse(text, size, &stream, &error), STREAM_BAD_TEXT);
  assert_int_equal(error.line, line);
  assert_string_equal(error.message, message);
  assert_null(stream.ops);
  assert_int_equal(stream.count, 77);
}

static void
test_op_text_stream_reads_all_line_ends(void **state)
{
  (void)state;
  assert_text("", 0);
  assert_text("\n", 0);
  assert_text("\r\n\r\n", 0);
  assert_text("# only a comment", 0);
  assert_text("nil r0", 1);
  assert_text("nil r0\r", 1);
  assert_text("nil r0\nnil r1", 2);
  assert_text("nil r0\nnil r1\n", 2);
  assert_text("# first\r\n\r\nnil r0\r\nnil r1 # second\r\nnil r2", 3);
}

static void
test_op_text_stream_tells_the_line(void **state)
{
  static const char nul[] = "nil r0\n\nnil\0r1\n";
  static const char *const text = "nil r0\n# x\n\nnill r1\nfoo\n";

  (void)state;
  assert_bad_text(text, strlen(text), 4,
                  "unknown operation 'nill' (did you mean 'nil'?)");
  assert_bad_text("bad", 3, 1, "unknown operation 'bad'");
  assert_bad_text("\n\n\nnil", 6, 4, "'nil' has 1 operand, got 0");
  assert_bad_text(nul, sizeof nul - 1, 3,
                  "line has a NUL byte; expected text (is this a stream in "
                  "bytes?)");
}

/* Would catch a line that is cut where it is too long and then read on. */
static void
test_op_text_stream_line_has_a_maximum(void **state)
{
  const size_t size = 10 * 1000 * 1000;
  char *text = malloc(size);

  (void)state;
  assert_non_null(text);
  memset(text, '#', size);
  memcpy(text, "nil r0\n", 7);
  assert_bad_text(text, size, 2, "line is longer than 4096 bytes");
  text[7 + OP_TEXT_LINE_MAX + 1] = '\n';
  assert_bad_text(text, size, 2, "line is longer than 4096 bytes");
  text[7 + OP_TEXT_LINE_MAX] = '\r';
  assert_bad_text(text, 7 + OP_TEXT_LINE_MAX + 2 + 5000, 3,
                  "line is longer than 4096 bytes");
  /* A carriage return ends a line only with a newline behind it. */
  text[7 + OP_TEXT_LINE_MAX + 1] = 'x';
  assert_bad_text(text, 7 + OP_TEXT_LINE_MAX + 2, 2,
                  "line is longer than 4096 bytes");
  text[7 + OP_TEXT_LINE_MAX] = '\n';
  text[7 + OP_TEXT_LINE_MAX + 1] = 'x';
  assert_bad_text(text, 7 + OP_TEXT_LINE_MAX + 2, 3, "unknown operation 'x'");
  free(text);
}

static void
test_op_text_stream_has_a_maximum(void **state)
{
  static const char row[] = "finish\n";
  const size_t size = (sizeof row - 1) * OP_STREAM_MAX;
  char *text = malloc(size + sizeof row);
  struct stream stream = {NULL, 77};
  struct stream_text_error error;

  (void)state;
  assert_non_null(text);
  for (size_t i = 0; i <= OP_STREAM_MAX; i++)
    memcpy(text + i * (sizeof row - 1), row, sizeof row);
  assert_int_equal(stream_parse(text, size + sizeof row - 1, &stream, &error),
                   STREAM_TOO_LONG);
  assert_int_equal(error.line, OP_STREAM_MAX + 1);
  assert_string_equal(error.message,
                      "stream is longer than 1048576 operations");
  assert_int_equal(stream.count, 77);
  assert_int_equal(stream_parse(text, size, &stream, &error), STREAM_OK);
  assert_int_equal(stream.count, OP_STREAM_MAX);
  stream_done(&stream);
  free(text);
}

/* Texts with damage anywhere: whatever happens, memory is left alone (under
 * a sanitizer), a refusal has a message, and an acceptance is valid. */
static void
test_op_text_stream_survives_damage(void **state)
{
  static const char text[] = "setup fresh small incremental\n"
                             "newtable r0 8 8 # a comment\r\n"
                             "runto sweep-pending\n"
                             "int r3 -77\n\tchain r1 1000\n";
  char damaged[sizeof text - 1];
  uint32_t random = 3;

  (void)state;
  for (int i = 0; i < 20000; i++) {
    struct stream_text_error error = {0, ""};
    struct stream stream;

    memcpy(damaged, text, sizeof damaged);
    for (uint32_t edits = 1 + i % 3; edits > 0; edits--) {
      random = random * 1664525u + 1013904223u;
      damaged[(random >> 8) % sizeof damaged] =
          random & 128 ? (char)(random >> 24) : text[(random >> 16) % 100];
    }
    if (texts_parse(damaged, sizeof damaged, &stream, &error) != STREAM_OK) {
      assert_true(error.line >= 1 && error.line <= 8);
      assert_true(strlen(error.message) > 0);
      continue;
    }
    for (size_t j = 0; j < stream.count; j++)
      assert_true(op_is_valid(stream.ops[j]));
    stream_done(&stream);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_op_text_round_trip_every_operation),
      cmocka_unit_test(test_op_text_prints_the_expected_words),
      cmocka_unit_test(test_op_text_accepts_blanks_comments_and_line_ends),
      cmocka_unit_test(test_op_text_refuses_unknown_operations),
      cmocka_unit_test(test_op_text_refuses_wrong_counts),
      cmocka_unit_test(test_op_text_refuses_wrong_registers),
      cmocka_unit_test(test_op_text_refuses_wrong_numbers),
      cmocka_unit_test(test_op_text_refuses_wrong_sizes),
      cmocka_unit_test(test_op_text_refuses_wrong_words),
      cmocka_unit_test(test_op_text_shows_strange_bytes_escaped),
      cmocka_unit_test(test_op_text_refuses_nul_bytes),
      cmocka_unit_test(test_op_text_line_has_a_maximum),
      cmocka_unit_test(test_op_text_stream_reads_all_line_ends),
      cmocka_unit_test(test_op_text_stream_tells_the_line),
      cmocka_unit_test(test_op_text_stream_line_has_a_maximum),
      cmocka_unit_test(test_op_text_stream_has_a_maximum),
      cmocka_unit_test(test_op_text_stream_survives_damage),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
