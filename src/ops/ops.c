/* SPDX-License-Identifier: MIT
 *
 * The operation language: tables and codec, all of it from the .def lists.
 *
 * The four bytes of an operation are its opcode, a, b and c, each taken
 * modulo what exists. An operand of one byte lies in the byte of its
 * position. An operand of two bytes lies in b (low) and c (high) whatever its
 * position; then the other operands, if any, can only be a. A byte that no
 * operand uses is 0 in the canonical form.
 */
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

#include "ops/op_assert.h"

enum { OP_BYTES = 4, WORDS_MAX = 32 };

_Static_assert(OP_COUNT <= 256, "an opcode is one byte");

const struct op_info op_infos[OP_COUNT] = {
#define OP(NAME, name, A, B, C, group, weight, flags, help)                    \
  {name,                                                                       \
   help,                                                                       \
   OP_GROUP_##group,                                                           \
   {OP_OPERAND_##A, OP_OPERAND_##B, OP_OPERAND_##C},                           \
   weight,                                                                     \
   flags},
#include "ops/ops.def"
#undef OP
};

const struct op_operand_info op_operand_infos[OP_OPERAND_COUNT] = {
#define OPERAND(NAME, name, bytes, count, scale, help)                         \
  {name, help, count, bytes, OP_SCALE_##scale},
#include "ops/operands.def"
#undef OPERAND
};

const char *const op_group_names[] = {
    [OP_GROUP_SETUP] = "setup",       [OP_GROUP_VALUES] = "values",
    [OP_GROUP_TABLES] = "tables",     [OP_GROUP_METATABLES] = "metatables",
    [OP_GROUP_USERDATA] = "userdata", [OP_GROUP_FUNCTIONS] = "functions",
    [OP_GROUP_STACK] = "stack",       [OP_GROUP_COROUTINES] = "coroutines",
    [OP_GROUP_ROOTS] = "roots",       [OP_GROUP_COLLECTOR] = "collector",
    [OP_GROUP_LOAD] = "load",         [OP_GROUP_END] = "end",
    [OP_GROUP_WEAK] = "weak tables",  [OP_GROUP_FINALIZERS] = "finalizers",
};

static const char *const words[OP_OPERAND_COUNT][WORDS_MAX] = {
#define WORD(TYPE, index, NAME, word) [OP_OPERAND_##TYPE][index] = word,
#include "ops/op_words.def"
#undef WORD
};

const char *
op_word_text(enum op_operand type, int32_t index)
{
  if (index < 0 || index >= WORDS_MAX)
    return NULL;
  return words[type][index];
}

/* ---- logarithmic codes ----------------------------------------------- */

/* A code is exponent and mantissa, like a tiny float without a sign: with
 * exponent 0 it is the mantissa, with exponent e the mantissa has an implied
 * leading one and is shifted by e - 1. So the values grow with the codes, no
 * value has two codes, and the first two octaves are exact. */

static unsigned
mantissa_bits(unsigned bytes)
{
  return bytes == 1 ? 4 : 8;
}

static uint32_t
log_code_count(unsigned bytes)
{
  return op_operand_infos[bytes == 1 ? OP_OPERAND_LOG8 : OP_OPERAND_LOG16]
      .count;
}

int32_t
op_log_value(uint32_t code, unsigned bytes)
{
  unsigned bits = mantissa_bits(bytes);
  uint32_t exponent = code >> bits;
  uint32_t mantissa = code & ((1u << bits) - 1);

  PENUMBRA_ASSERT(code < log_code_count(bytes));
  if (exponent == 0)
    return (int32_t)mantissa;
  return (int32_t)(((1u << bits) + mantissa) << (exponent - 1));
}

uint32_t
op_log_floor(int32_t value, unsigned bytes)
{
  unsigned bits = mantissa_bits(bytes);
  uint32_t count = log_code_count(bytes);
  uint32_t rest = (uint32_t)value;
  uint32_t exponent = 0;
  uint32_t code;

  PENUMBRA_ASSERT(value >= 0);
  if (rest < (1u << bits))
    return rest;
  for (exponent = 1; rest >= (2u << bits); exponent++)
    rest >>= 1;
  code = (exponent << bits) + (rest - (1u << bits));
  return code < count ? code : count - 1;
}

bool
op_log_code(int32_t value, unsigned bytes, uint32_t *ret_code)
{
  uint32_t code;

  if (value < 0)
    return false;
  code = op_log_floor(value, bytes);
  if (op_log_value(code, bytes) != value)
    return false;
  *ret_code = code;
  return true;
}

/* ---- codec ----------------------------------------------------------- */

/* What a raw operand means; raw is any number. */
static int32_t
operand_decode(const struct op_operand_info *info, uint32_t raw)
{
  uint32_t code = raw % info->count;

  switch (info->scale) {
  case OP_SCALE_LINEAR:
  case OP_SCALE_REG:
  case OP_SCALE_WORD:
    break;
  case OP_SCALE_LOG:
    return op_log_value(code, info->bytes);
  case OP_SCALE_SIGNED:
    if (code >= info->count / 2)
      return (int32_t)code - (int32_t)info->count;
    break;
  }
  return (int32_t)code;
}

/* The code of an operand's value; false if it has none. */
static bool
operand_encode(const struct op_operand_info *info, int32_t value,
               uint32_t *ret_code)
{
  int32_t count = (int32_t)info->count;

  switch (info->scale) {
  case OP_SCALE_LINEAR:
  case OP_SCALE_REG:
  case OP_SCALE_WORD:
    break;
  case OP_SCALE_LOG:
    return op_log_code(value, info->bytes, ret_code);
  case OP_SCALE_SIGNED:
    if (value < -count / 2 || value >= count / 2)
      return false;
    *ret_code = (uint32_t)(value < 0 ? value + count : value);
    return true;
  }
  if (value < 0 || value >= count)
    return false;
  *ret_code = (uint32_t)value;
  return true;
}

struct op
op_decode(const uint8_t bytes[4])
{
  struct op op = {.code = bytes[0] % OP_COUNT};
  const struct op_info *info = &op_infos[op.code];
  int32_t value[3];

  for (size_t i = 0; i < 3; i++) {
    const struct op_operand_info *type = &op_operand_infos[info->operand[i]];
    uint32_t raw = bytes[1 + i];

    if (type->bytes == 2)
      raw = bytes[2] | (uint32_t)bytes[3] << 8;
    value[i] = operand_decode(type, raw);
  }
  op.a = value[0];
  op.b = value[1];
  op.c = value[2];
  return op;
}

/* Encodes op if it can be; the bytes are unspecified on false. */
static bool
encode(struct op op, uint8_t *ret_bytes)
{
  const int32_t value[3] = {op.a, op.b, op.c};
  const struct op_info *info;
  uint32_t code;

  if (op.code >= OP_COUNT)
    return false;
  info = &op_infos[op.code];
  memset(ret_bytes, 0, OP_BYTES);
  ret_bytes[0] = op.code;
  for (size_t i = 0; i < 3; i++) {
    const struct op_operand_info *type = &op_operand_infos[info->operand[i]];

    if (!operand_encode(type, value[i], &code))
      return false;
    if (type->bytes == 2) {
      ret_bytes[2] = (uint8_t)code;
      ret_bytes[3] = (uint8_t)(code >> 8);
    } else if (info->operand[i] != OP_OPERAND_NONE) {
      ret_bytes[1 + i] = (uint8_t)code;
    }
  }
  return true;
}

void
op_encode(struct op op, uint8_t ret_bytes[4])
{
  bool is_valid = encode(op, ret_bytes);

  PENUMBRA_ASSERT(is_valid);
}

bool
op_is_valid(struct op op)
{
  uint8_t bytes[OP_BYTES];

  return encode(op, bytes);
}

/* ---- streams --------------------------------------------------------- */

enum stream_status
stream_decode(const uint8_t *bytes, size_t size, struct stream *ret_stream)
{
  size_t count = size / OP_BYTES;
  struct op *ops = NULL;

  if (count > OP_STREAM_MAX)
    return STREAM_TOO_LONG;
  if (count > 0) {
    ops = malloc(count * sizeof *ops);
    if (ops == NULL)
      return STREAM_NO_MEMORY;
  }
  for (size_t i = 0; i < count; i++)
    ops[i] = op_decode(bytes + OP_BYTES * i);
  *ret_stream = (struct stream){ops, count};
  return STREAM_OK;
}

void
stream_encode(const struct stream *stream, uint8_t *ret_bytes)
{
  for (size_t i = 0; i < stream->count; i++)
    op_encode(stream->ops[i], ret_bytes + OP_BYTES * i);
}

void
stream_done(struct stream *stream)
{
  free(stream->ops);
  *stream = (struct stream){NULL, 0};
}

/* ---- contents of strings --------------------------------------------- */

/* A letter and a number, without the help of a locale. */
static size_t
name_write(char letter, int32_t n, char *ret_bytes)
{
  char digits[10];
  uint32_t rest = n < 0 ? 0u - (uint32_t)n : (uint32_t)n;
  size_t count = 0;
  size_t length = 0;

  ret_bytes[length++] = letter;
  if (n < 0)
    ret_bytes[length++] = '-';
  do {
    digits[count++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  while (count > 0)
    ret_bytes[length++] = digits[--count];
  return length;
}

size_t
op_string_name(int32_t n, char *ret_bytes)
{
  return name_write('s', n, ret_bytes);
}

size_t
op_string_global(int32_t n, char *ret_bytes)
{
  return name_write('g', n, ret_bytes);
}

size_t
op_string_registry(int32_t n, char *ret_bytes)
{
  return name_write('k', n, ret_bytes);
}

/* "L<which>:" and then the alphabet from a letter that depends on which, so
 * that two of one length differ even where only their ends are compared. The
 * shadow admits no longer ones than OP_STRING_MAX; the length stops there. */
size_t
op_string_long(int32_t which, int32_t extra, char *ret_bytes)
{
  size_t length = OP_SHORT_STRING_MAX + 1;
  size_t at = name_write('L', which, ret_bytes);
  uint32_t letter = (uint32_t)which % 26;

  if (extra > 0)
    length += (size_t)extra;
  if (length > OP_STRING_MAX)
    length = OP_STRING_MAX;
  for (ret_bytes[at++] = ':'; at < length; at++) {
    ret_bytes[at] = (char)('a' + letter);
    letter = letter == 25 ? 0 : letter + 1;
  }
  return length;
}

size_t
op_string_event(int32_t event, char *ret_bytes)
{
  const char *word = op_word_text(OP_OPERAND_EVENT, event);
  size_t length;

  PENUMBRA_ASSERT(word != NULL);
  length = strlen(word);
  memcpy(ret_bytes, word, length);
  return length;
}

size_t
op_string_weak(int32_t weak, char *ret_bytes)
{
  const char *word = op_word_text(OP_OPERAND_WEAK, weak);
  size_t length;

  PENUMBRA_ASSERT(word != NULL);
  if (weak == OP_WEAK_NONE)
    return 0;
  length = strlen(word);
  memcpy(ret_bytes, word, length);
  return length;
}
