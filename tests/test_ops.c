/* SPDX-License-Identifier: MIT
 *
 * The operation language's tables and codec: that each list is complete, that
 * every byte string decodes, that decoding and encoding are inverse where
 * they can be, and what the contents of strings are. An adapter or a shadow
 * that relies on any of these would fail in far less obvious ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

static bool
op_equals(struct op x, struct op y)
{
  return x.code == y.code && x.a == y.a && x.b == y.b && x.c == y.c;
}

/* A cheap sequence of numbers for tests; not the generator's, which is under
 * test elsewhere. */
static uint32_t
noise(uint32_t *state)
{
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* ---- tables ---------------------------------------------------------- */

/* Would catch a row that lacks a part, a name that the text form could not
 * read back, and two operations of one name. */
static void
test_ops_rows_are_complete(void **state)
{
  (void)state;
  assert_true(OP_COUNT > 0 && OP_COUNT <= 256);
  for (int i = 0; i < OP_COUNT; i++) {
    const struct op_info *info = &op_infos[i];

    assert_non_null(info->name);
    assert_true(strlen(info->name) > 0 && strlen(info->name) <= 10);
    for (const char *c = info->name; *c != '\0'; c++)
      assert_true(*c >= 'a' && *c <= 'z');
    assert_non_null(info->help);
    assert_true(strlen(info->help) > 0);
    assert_true(info->group < OP_GROUP_COUNT);
    for (int j = 0; j < i; j++)
      assert_string_not_equal(info->name, op_infos[j].name);
  }
  for (int i = 0; i < OP_GROUP_COUNT; i++)
    assert_non_null(op_group_names[i]);
  assert_int_equal(OP_SETUP, 0);
  assert_int_equal(op_infos[OP_SETUP].weight, 0);
  assert_string_equal(op_infos[OP_NEWTABLE].name, "newtable");
  assert_int_equal(op_infos[OP_NEWTABLE].operand[1], OP_OPERAND_LOG8);
  assert_true(op_infos[OP_APPEND].flags == (OP_OPEN | OP_ALLOCATES));
}

/* Would catch two operands in one byte: an operand of two bytes takes those
 * of b and c, so besides it only an a of one byte can be. And nothing may
 * stand behind a missing operand, or the text form would shift it. */
static void
test_ops_operands_do_not_overlap(void **state)
{
  (void)state;
  for (int i = 0; i < OP_COUNT; i++) {
    const uint8_t *operand = op_infos[i].operand;
    bool is_over = false;

    for (int j = 0; j < 3; j++) {
      const struct op_operand_info *type;

      assert_true(operand[j] < OP_OPERAND_COUNT);
      type = &op_operand_infos[operand[j]];
      assert_true(type->bytes == 1 || type->bytes == 2);
      assert_true(type->count <= 1u << (8 * type->bytes));
      if (is_over)
        assert_int_equal(operand[j], OP_OPERAND_NONE);
      if (type->bytes == 2)
        assert_true(j <= 1);
      is_over = is_over || operand[j] == OP_OPERAND_NONE || type->bytes == 2;
    }
  }
}

/* Would catch a gap in a list of words, a word too many or too few for the
 * count that the corpus relies on, and two equal words of one type. */
static void
test_ops_words_have_no_gaps(void **state)
{
  (void)state;
  for (int type = 0; type < OP_OPERAND_COUNT; type++) {
    const struct op_operand_info *info = &op_operand_infos[type];
    int32_t count = info->scale == OP_SCALE_WORD ? (int32_t)info->count : 0;

    assert_null(op_word_text(type, -1));
    for (int32_t i = 0; i < count; i++) {
      assert_non_null(op_word_text(type, i));
      for (int32_t j = 0; j < i; j++)
        assert_string_not_equal(op_word_text(type, i), op_word_text(type, j));
    }
    for (int32_t i = count; i < 300; i++)
      assert_null(op_word_text(type, i));
  }
  assert_string_equal(op_word_text(OP_OPERAND_PHASE, OP_PHASE_FINALIZE),
                      "finalize");
}

/* ---- logarithmic codes ----------------------------------------------- */

/* Both widths against the definition, every code. Would catch a wrong shift,
 * a code that does not come back, and values that do not grow. */
static void
log_check(unsigned bytes, uint32_t count, uint32_t base, int32_t top)
{
  int32_t previous = -1;
  uint32_t code;

  for (uint32_t i = 0; i < count; i++) {
    uint32_t e = i / base;
    uint32_t m = i % base;
    int32_t wanted = (int32_t)(e == 0 ? m : (base + m) << (e - 1));

    assert_int_equal(op_log_value(i, bytes), wanted);
    assert_true(wanted > previous);
    assert_true(op_log_code(wanted, bytes, &code));
    assert_int_equal(code, i);
    assert_int_equal(op_log_floor(wanted, bytes), i);
    /* All that lies between has no code and rounds down. */
    if (previous >= 0 && wanted - previous > 1) {
      code = 12345;
      assert_false(op_log_code(previous + 1, bytes, &code));
      assert_false(op_log_code(wanted - 1, bytes, &code));
      assert_int_equal(code, 12345);
      assert_int_equal(op_log_floor(previous + 1, bytes), i - 1);
      assert_int_equal(op_log_floor(wanted - 1, bytes), i - 1);
    }
    previous = wanted;
  }
  assert_int_equal(previous, top);
  assert_false(op_log_code(top + 1, bytes, &code));
  assert_false(op_log_code(INT32_MAX, bytes, &code));
  assert_false(op_log_code(-1, bytes, &code));
  assert_false(op_log_code(INT32_MIN, bytes, &code));
  assert_int_equal(op_log_floor(INT32_MAX, bytes), count - 1);
}

static void
test_ops_log_codes_of_one_byte(void **state)
{
  (void)state;
  log_check(1, op_operand_infos[OP_OPERAND_LOG8].count, 16, 507904);
}

static void
test_ops_log_codes_of_two_bytes(void **state)
{
  (void)state;
  log_check(2, op_operand_infos[OP_OPERAND_LOG16].count, 256, 1046528);
}

/* ---- codec ----------------------------------------------------------- */

/* The promises of ops.h for one byte string: decoding gives a valid
 * operation, which encodes to bytes that decode to it, and those are
 * canonical. */
static void
round_trip(const uint8_t bytes[4])
{
  uint8_t canonical[4] = {0xee, 0xee, 0xee, 0xee};
  uint8_t again[4];
  struct op op = op_decode(bytes);

  assert_true(op.code == bytes[0] % OP_COUNT);
  assert_true(op_is_valid(op));
  op_encode(op, canonical);
  assert_true(op_equals(op_decode(canonical), op));
  op_encode(op_decode(canonical), again);
  assert_memory_equal(canonical, again, 4);
}

static void
test_ops_round_trip_systematic(void **state)
{
  (void)state;
  for (uint32_t code = 0; code < 256; code++) {
    for (uint32_t i = 0; i < 256; i++) {
      round_trip((uint8_t[]){code, i, 0, 0});
      round_trip((uint8_t[]){code, 0, i, 0});
      round_trip((uint8_t[]){code, 0, 0, i});
      round_trip((uint8_t[]){code, i, i, 255 - i});
      round_trip((uint8_t[]){code, 255, i, 255});
    }
  }
}

/* Every b and c, for each operation once: all values of two-byte operands. */
static void
test_ops_round_trip_two_bytes(void **state)
{
  (void)state;
  for (uint32_t code = 0; code < OP_COUNT; code++) {
    for (uint32_t i = 0; i < 65536; i += (code % 8 == 0 ? 1 : 7))
      round_trip((uint8_t[]){code, i * 31, i & 255, i >> 8});
  }
}

static void
test_ops_round_trip_random(void **state)
{
  uint32_t random = 1;

  (void)state;
  for (int i = 0; i < 500000; i++) {
    uint32_t x = noise(&random);
    uint32_t y = noise(&random);

    round_trip((uint8_t[]){x, x >> 8, y, y >> 8});
  }
}

/* Would catch an operand in the wrong byte, a wrong byte order or sign, and
 * bytes that nothing uses but that change what is decoded. */
static void
test_ops_decode_places_operands(void **state)
{
  struct op op;

  (void)state;
  op = op_decode((uint8_t[]){OP_SET, 1, 2, 3});
  assert_true(op_equals(op, (struct op){OP_SET, 1, 2, 3}));
  op = op_decode((uint8_t[]){OP_SET, 17, 34, 255});
  assert_true(op_equals(op, (struct op){OP_SET, 1, 2, 15}));
  op = op_decode((uint8_t[]){OP_INT, 3, 0xff, 0xff});
  assert_true(op_equals(op, (struct op){OP_INT, 3, -1, 0}));
  op = op_decode((uint8_t[]){OP_INT, 3, 0x00, 0x80});
  assert_true(op_equals(op, (struct op){OP_INT, 3, -32768, 0}));
  op = op_decode((uint8_t[]){OP_INT, 3, 0x02, 0x01});
  assert_true(op_equals(op, (struct op){OP_INT, 3, 258, 0}));
  op = op_decode((uint8_t[]){OP_STR, 0, 0x01, 0x04});
  assert_true(op_equals(op, (struct op){OP_STR, 0, 1, 0}));
  op = op_decode((uint8_t[]){OP_NEWTABLE, 0, 16, 48});
  assert_true(op_equals(op, (struct op){OP_NEWTABLE, 0, 16, 64}));
  /* The size of churn is operand a, but lies in the bytes of b and c. */
  op = op_decode((uint8_t[]){OP_CHURN, 99, 0x01, 0x02});
  assert_true(op_equals(op, (struct op){OP_CHURN, 514, 0, 0}));
  op = op_decode((uint8_t[]){OP_COLLECT, 7, 8, 9});
  assert_true(op_equals(op, (struct op){OP_COLLECT, 0, 0, 0}));
  op = op_decode((uint8_t[]){OP_COUNT, 1, 0, 0}); /* wraps to operation 0 */
  assert_true(op_equals(op, (struct op){OP_SETUP, 1, 0, 0}));
}

static void
test_ops_encode_is_canonical(void **state)
{
  uint8_t bytes[4] = {9, 9, 9, 9};

  (void)state;
  op_encode((struct op){OP_COLLECT, 0, 0, 0}, bytes);
  assert_memory_equal(bytes, ((uint8_t[]){OP_COLLECT, 0, 0, 0}), 4);
  op_encode((struct op){OP_CHURN, 514, 0, 0}, bytes);
  assert_memory_equal(bytes, ((uint8_t[]){OP_CHURN, 0, 1, 2}), 4);
  op_encode((struct op){OP_INT, 3, -2, 0}, bytes);
  assert_memory_equal(bytes, ((uint8_t[]){OP_INT, 3, 0xfe, 0xff}), 4);
}

/* Would catch a range that is off by one at either end, or not checked. */
static void
test_ops_is_valid_knows_each_range(void **state)
{
  (void)state;
  assert_true(op_is_valid((struct op){OP_SET, 15, 0, 15}));
  assert_false(op_is_valid((struct op){OP_SET, 16, 0, 15}));
  assert_false(op_is_valid((struct op){OP_SET, 15, -1, 15}));
  assert_false(op_is_valid((struct op){OP_SET, 15, 0, 16}));
  assert_false(op_is_valid((struct op){OP_COUNT, 0, 0, 0}));
  assert_false(op_is_valid((struct op){255, 0, 0, 0}));
  assert_false(op_is_valid((struct op){OP_COLLECT, 1, 0, 0}));
  assert_false(op_is_valid((struct op){OP_INT, 0, 0, 1}));
  assert_true(op_is_valid((struct op){OP_INT, 0, 32767, 0}));
  assert_false(op_is_valid((struct op){OP_INT, 0, 32768, 0}));
  assert_true(op_is_valid((struct op){OP_INT, 0, -32768, 0}));
  assert_false(op_is_valid((struct op){OP_INT, 0, -32769, 0}));
  assert_true(op_is_valid((struct op){OP_NEWTABLE, 0, 34, 0}));
  assert_false(op_is_valid((struct op){OP_NEWTABLE, 0, 33, 0}));
  assert_true(op_is_valid((struct op){OP_CHURN, 1046528, 0, 0}));
  assert_false(op_is_valid((struct op){OP_CHURN, 1046529, 0, 0}));
  assert_false(op_is_valid((struct op){OP_CHURN, -1, 0, 0}));
  assert_true(op_is_valid((struct op){OP_RUNTO, OP_PHASE_FINALIZE, 0, 0}));
  assert_false(op_is_valid((struct op){OP_RUNTO, OP_PHASE_FINALIZE + 1, 0, 0}));
}

/* ---- streams --------------------------------------------------------- */

static void
test_ops_stream_drops_a_short_tail(void **state)
{
  static const uint8_t bytes[] = {OP_NIL, 1, 0, 0, OP_NIL, 2, 0, 0};
  struct stream stream;

  (void)state;
  for (size_t size = 0; size <= sizeof bytes; size++) {
    /* A copy of exactly that size, so that a sanitizer sees a read beyond. */
    uint8_t *copy = size == 0 ? NULL : malloc(size);

    if (copy != NULL)
      memcpy(copy, bytes, size);
    assert_int_equal(stream_decode(copy, size, &stream), STREAM_OK);
    assert_int_equal(stream.count, size / 4);
    if (stream.count == 2)
      assert_int_equal(stream.ops[1].a, 2);
    stream_done(&stream);
    assert_null(stream.ops);
    free(copy);
  }
}

static void
test_ops_stream_has_a_maximum(void **state)
{
  const size_t size = 4 * (size_t)OP_STREAM_MAX;
  uint8_t *bytes = calloc(1, size + 4);
  struct stream stream = {NULL, 77};

  (void)state;
  assert_non_null(bytes);
  assert_int_equal(stream_decode(bytes, size + 4, &stream), STREAM_TOO_LONG);
  assert_null(stream.ops);
  assert_int_equal(stream.count, 77); /* untouched on failure */
  assert_int_equal(stream_decode(bytes, size + 3, &stream), STREAM_OK);
  assert_int_equal(stream.count, OP_STREAM_MAX);
  stream_done(&stream);
  free(bytes);
}

static void
test_ops_stream_round_trip(void **state)
{
  enum { SIZE = 4096 };
  static uint8_t bytes[SIZE], canonical[SIZE], again[SIZE];
  struct stream stream;
  uint32_t random = 7;

  (void)state;
  for (size_t i = 0; i < SIZE; i++)
    bytes[i] = (uint8_t)noise(&random);
  assert_int_equal(stream_decode(bytes, SIZE, &stream), STREAM_OK);
  stream_encode(&stream, canonical);
  stream_done(&stream);
  assert_int_equal(stream_decode(canonical, SIZE, &stream), STREAM_OK);
  stream_encode(&stream, again);
  for (size_t i = 0; i < SIZE / 4; i++)
    assert_true(op_equals(stream.ops[i], op_decode(bytes + 4 * i)));
  stream_done(&stream);
  assert_memory_equal(canonical, again, SIZE);
  assert_memory_not_equal(canonical, bytes, SIZE);
}

/* ---- contents of strings --------------------------------------------- */

static void
contents_check(size_t (*write)(int32_t, char *), int32_t n, const char *wanted)
{
  char bytes[32];
  size_t length;

  memset(bytes, '!', sizeof bytes);
  length = write(n, bytes);
  assert_int_equal(length, strlen(wanted));
  assert_memory_equal(bytes, wanted, length);
  assert_int_equal(bytes[length], '!'); /* nothing behind the contents */
  assert_true(length <= OP_SHORT_STRING_MAX);
}

static void
test_ops_string_names(void **state)
{
  (void)state;
  contents_check(op_string_name, 0, "s0");
  contents_check(op_string_name, 9, "s9");
  contents_check(op_string_name, 10, "s10");
  contents_check(op_string_name, 1023, "s1023");
  contents_check(op_string_name, INT32_MAX, "s2147483647");
  contents_check(op_string_name, INT32_MIN, "s-2147483648");
  contents_check(op_string_global, 31, "g31");
  contents_check(op_string_registry, 7, "k7");
  contents_check(op_string_event, OP_EVENT_INDEX, "__index");
  contents_check(op_string_event, OP_EVENT_NEWINDEX, "__newindex");
  contents_check(op_string_event, OP_EVENT_CLOSE, "__close");
  contents_check(op_string_event, OP_EVENT_NAME, "__name");
}

/* Would catch a wrong length (a long string that is interned after all), a
 * write beyond it, bytes that people cannot read, and two strings of one
 * length that are equal. */
static void
test_ops_string_long_contents(void **state)
{
  static char seen[256][OP_STRING_MAX];
  char bytes[OP_STRING_MAX + 1];
  const int32_t extra_max = OP_STRING_MAX - OP_SHORT_STRING_MAX - 1;

  (void)state;
  for (int32_t which = 0; which < 256; which++) {
    size_t length;

    memset(bytes, '!', sizeof bytes);
    length = op_string_long(which, which % 7, bytes);
    assert_int_equal(length, OP_SHORT_STRING_MAX + 1 + which % 7);
    assert_int_equal(bytes[length], '!');
    for (size_t i = 0; i < length; i++)
      assert_true(isprint((unsigned char)bytes[i]) && bytes[i] != '!');
    assert_int_equal(op_string_long(which, 0, seen[which]),
                     OP_SHORT_STRING_MAX + 1);
    for (int32_t other = 0; other < which; other++)
      assert_memory_not_equal(seen[which], seen[other],
                              OP_SHORT_STRING_MAX + 1);
  }
  bytes[OP_STRING_MAX] = '!';
  assert_int_equal(op_string_long(255, extra_max, bytes), OP_STRING_MAX);
  assert_int_equal(bytes[OP_STRING_MAX], '!');
  /* Beyond the limit no subject gets, but no memory is lost either. */
  assert_int_equal(op_string_long(255, extra_max + 1, bytes), OP_STRING_MAX);
  assert_int_equal(op_string_long(1, INT32_MAX, bytes), OP_STRING_MAX);
  assert_int_equal(bytes[OP_STRING_MAX], '!');
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ops_rows_are_complete),
      cmocka_unit_test(test_ops_operands_do_not_overlap),
      cmocka_unit_test(test_ops_words_have_no_gaps),
      cmocka_unit_test(test_ops_log_codes_of_one_byte),
      cmocka_unit_test(test_ops_log_codes_of_two_bytes),
      cmocka_unit_test(test_ops_round_trip_systematic),
      cmocka_unit_test(test_ops_round_trip_two_bytes),
      cmocka_unit_test(test_ops_round_trip_random),
      cmocka_unit_test(test_ops_decode_places_operands),
      cmocka_unit_test(test_ops_encode_is_canonical),
      cmocka_unit_test(test_ops_is_valid_knows_each_range),
      cmocka_unit_test(test_ops_stream_drops_a_short_tail),
      cmocka_unit_test(test_ops_stream_has_a_maximum),
      cmocka_unit_test(test_ops_stream_round_trip),
      cmocka_unit_test(test_ops_string_names),
      cmocka_unit_test(test_ops_string_long_contents),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
