/* SPDX-License-Identifier: MIT
 *
 * The operation language: enumerations, tables, codec. One list (ops.def)
 * makes the enum, the codec, the assembler, the printer, the generator's
 * weights and the manual's table. Text is in op_text.h, the generator in
 * op_gen.h. Knows nobody; everybody may call it.
 *
 * Invariants: every byte string decodes; decode, encode, decode is decode;
 * encode gives canonical bytes (each operand below its type's count).
 */
#ifndef PENUMBRA_OPS_OPS_H
#define PENUMBRA_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/op_limits.h"

enum op_code {
#define OP(NAME, name, A, B, C, group, weight, flags, help) OP_##NAME,
#include "ops/ops.def"
#undef OP
};

enum {
#define OP(NAME, name, A, B, C, group, weight, flags, help) +1
  OP_COUNT = 0
#include "ops/ops.def"
#undef OP
};

enum op_operand {
#define OPERAND(NAME, name, bytes, count, scale, help) OP_OPERAND_##NAME,
#include "ops/operands.def"
#undef OPERAND
};

enum {
#define OPERAND(NAME, name, bytes, count, scale, help) +1
  OP_OPERAND_COUNT = 0
#include "ops/operands.def"
#undef OPERAND
};

enum op_scale {
  OP_SCALE_LINEAR,
  OP_SCALE_REG,
  OP_SCALE_LOG,
  OP_SCALE_SIGNED,
  OP_SCALE_WORD
};

enum op_group {
  OP_GROUP_SETUP,
  OP_GROUP_VALUES,
  OP_GROUP_TABLES,
  OP_GROUP_METATABLES,
  OP_GROUP_USERDATA,
  OP_GROUP_FUNCTIONS,
  OP_GROUP_STACK,
  OP_GROUP_COROUTINES,
  OP_GROUP_ROOTS,
  OP_GROUP_COLLECTOR,
  OP_GROUP_LOAD,
  OP_GROUP_END,
  OP_GROUP_WEAK,
  OP_GROUP_FINALIZERS,
  OP_GROUP_COUNT
};

enum op_flag { OP_OPEN = 1, OP_ALLOCATES = 2, OP_STEERS = 4 };

/* OP_PHASE_PAUSE, OP_EVENT_CLOSE, OP_BASIC_STRING, ... */
enum op_word {
#define WORD(TYPE, index, NAME, word) OP_##TYPE##_##NAME = (index),
#include "ops/op_words.def"
#undef WORD
};

/* One operation. Operands are decoded: registers and words as their index,
 * logarithmic and signed operands as the number they mean. c is 0 where b is
 * two bytes wide. */
struct op {
  uint8_t code; /* enum op_code */
  int32_t a, b, c;
};

struct op_info {
  const char *name;
  const char *help;
  enum op_group group;
  uint8_t operand[3]; /* enum op_operand */
  uint8_t weight;
  uint8_t flags; /* enum op_flag */
};

struct op_operand_info {
  const char *name;
  const char *help;
  uint32_t count;
  uint8_t bytes;
  enum op_scale scale;
};

extern const struct op_info op_infos[OP_COUNT];
extern const struct op_operand_info op_operand_infos[];
extern const char *const op_group_names[];

/* The words of a WORD operand type, indexed by value. */
const char *op_word_text(enum op_operand type, int32_t index);

/* A logarithmic code as the number it means, and back: the smallest code
 * that means value; false if no code does. bytes is 1 or 2. */
int32_t op_log_value(uint32_t code, unsigned bytes);
bool op_log_code(int32_t value, unsigned bytes, uint32_t *ret_code);
/* The largest code whose value is at most value (value >= 0). */
uint32_t op_log_floor(int32_t value, unsigned bytes);

/* The four bytes at bytes as an operation. Total. */
struct op op_decode(const uint8_t bytes[4]);
/* Canonical bytes of op. The operands must be representable. */
void op_encode(struct op op, uint8_t ret_bytes[4]);
/* Whether each operand is in the range of its type. */
bool op_is_valid(struct op op);

/* A whole stream. owns ops. */
struct stream {
  struct op *ops;
  size_t count;
};

enum stream_status { STREAM_OK, STREAM_NO_MEMORY, STREAM_TOO_LONG };

/* size bytes as a stream; a tail shorter than 4 bytes is dropped; at most
 * OP_STREAM_MAX operations. ret_stream is owned by the caller, who calls
 * stream_done(). */
enum stream_status stream_decode(const uint8_t *bytes, size_t size,
                                 struct stream *ret_stream);
/* Writes 4 * count bytes. */
void stream_encode(const struct stream *stream, uint8_t *ret_bytes);
void stream_done(struct stream *stream);

/* Contents of the strings that operations name, so that shadow and adapters
 * agree. Each writes at most OP_STRING_MAX bytes and returns the length.
 *   op_string_name    "s<n>" (str, gets, sets)
 *   op_string_global  "g<n>"   op_string_registry "k<n>"
 *   op_string_long    OP_SHORT_STRING_MAX + 1 + extra bytes told by which
 *   op_string_event   "__index", ...
 *   op_string_weak    "k", "v", "kv" of a WEAK word; length 0 for none */
size_t op_string_name(int32_t n, char *ret_bytes);
size_t op_string_global(int32_t n, char *ret_bytes);
size_t op_string_registry(int32_t n, char *ret_bytes);
size_t op_string_long(int32_t which, int32_t extra, char *ret_bytes);
size_t op_string_event(int32_t event, char *ret_bytes);
size_t op_string_weak(int32_t weak, char *ret_bytes);

#endif
