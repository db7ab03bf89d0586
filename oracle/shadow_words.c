/* SPDX-License-Identifier: MIT
 *
 * The shadow heap for people: values in words, and the way from the root, or
 * from what is owed a finalizer, to a node. Reads the shadow heap; allocates
 * nothing.
 */
#include "oracle/shadow_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/op_assert.h"

enum {
  QUOTED_MAX = 24, /* bytes of a string that are shown */
  STEPS_SHOWN = 6, /* of a long path, at either end */
};

/* Text that grows into a buffer; what does not fit is left out. */
struct text {
  char *bytes;
  size_t size;
  size_t length; /* that it would have */
};

__attribute__((format(printf, 2, 3))) static void
add(struct text *text, const char *format, ...)
{
  size_t at = text->length < text->size ? text->length : text->size;
  va_list arguments;
  int length;

  va_start(arguments, format);
  length = vsnprintf(text->bytes + at, text->size - at, format, arguments);
  va_end(arguments);
  if (length > 0)
    text->length += (size_t)length;
}

/* Says where something is missing. */
static void
finish(struct text *text)
{
  if (text->length >= text->size && text->size >= 4)
    memcpy(text->bytes + text->size - 4, "...", 4);
}

/* ---- values ---------------------------------------------------------- */

static void
add_string(struct text *text, const struct shadow_string *string)
{
  uint32_t shown = string->length;

  if (shown > QUOTED_MAX)
    shown = QUOTED_MAX;
  add(text, "\"");
  for (uint32_t i = 0; i < shown; i++) {
    uint8_t byte = string->bytes[i];

    if (byte == '"' || byte == '\\' || byte < ' ' || byte > '~')
      add(text, "\\x%02x", byte);
    else
      add(text, "%c", byte);
  }
  add(text, "\"");
  if (shown < string->length)
    add(text, "... (%" PRIu32 " bytes)", string->length);
}

static const char *
kind_name(const struct shadow *shadow, uint32_t id)
{
  static const char *const names[SUBJECT_KIND_COUNT] = {
      [SUBJECT_KIND_TABLE] = "table",
      [SUBJECT_KIND_USERDATA] = "userdata",
      [SUBJECT_KIND_CCLOSURE] = "C closure",
      [SUBJECT_KIND_CLOSURE] = "closure",
      [SUBJECT_KIND_THREAD] = "coroutine",
  };

  return names[shadow->nodes[id].kind];
}

static void
add_node(struct text *text, const struct shadow *shadow, uint32_t id)
{
  static const char *const first[SHADOW_FIRST] = {
      [SHADOW_ROOT] = "the root",
      [SHADOW_REGISTRY] = "the registry",
      [SHADOW_GLOBALS] = "the globals table",
      [SHADOW_MAIN] = "the main coroutine",
  };

  if (id < SHADOW_FIRST &&
      (id != SHADOW_GLOBALS || shadow->globals_table == id))
    add(text, "%s", first[id]);
  else
    add(text, "%s %" PRIu32, kind_name(shadow, id), id);
}

static void
add_float(struct text *text, uint64_t bits)
{
  double number;

  memcpy(&number, &bits, sizeof number);
  add(text, "%.2f", number);
}

static void
add_value(struct text *text, const struct shadow *shadow,
          struct shadow_value value)
{
  switch (value.tag) {
  case SUBJECT_NIL:
    add(text, "nil");
    break;
  case SUBJECT_BOOLEAN:
    add(text, "%s", value.bits ? "true" : "false");
    break;
  case SUBJECT_INTEGER:
    add(text, "%" PRId64, (int64_t)value.bits);
    break;
  case SUBJECT_FLOAT:
    add_float(text, value.bits);
    break;
  case SUBJECT_LIGHTUD:
    add(text, "light userdata %" PRIu64, value.bits);
    break;
  case SUBJECT_CFUNC:
    add(text, "C function %" PRIu64, value.bits);
    break;
  case SHADOW_STRING:
    add_string(text, shadow->strings + value.bits);
    break;
  case SHADOW_NODE:
    add_node(text, shadow, (uint32_t)value.bits);
    break;
  default:
    add(text, "a value of no operation");
  }
}

void
shadow_print(const struct shadow *shadow, struct shadow_value value,
             char *ret_text, size_t size)
{
  struct text text = {.bytes = ret_text, .size = size};

  add_value(&text, shadow, value);
  finish(&text);
}

/* ---- paths ----------------------------------------------------------- */

/* An edge that leads to the node sought. */
struct sought {
  uint32_t id;
  int32_t weak; /* of the node that the edge leaves */
  uint8_t label;
  bool is_found;
  bool is_key; /* it is the key that leads there */
  struct shadow_value key;
};

static bool
seek(void *user, uint8_t label, struct shadow_value key,
     struct shadow_value value)
{
  struct sought *sought = user;
  struct shadow_value node = shadow_of_node(sought->id);

  /* A table is weak in its entries; its metatable is none of them. */
  int32_t weak = label == SUBJECT_LABEL_ENTRY ? sought->weak : OP_WEAK_NONE;
  bool is_value = shadow_same(value, node) && !(weak & OP_WEAK_VALUES);

  sought->is_key = !is_value && shadow_same(key, node) &&
                   !(weak & OP_WEAK_KEYS);
  sought->is_found = sought->is_key || is_value;
  sought->label = label;
  sought->key = key;
  return !sought->is_found;
}

static bool
is_name(const struct shadow *shadow, struct shadow_value key)
{
  const struct shadow_string *string;

  if (key.tag != SHADOW_STRING)
    return false;
  string = shadow->strings + key.bits;
  for (uint32_t i = 0; i < string->length; i++) {
    uint8_t byte = string->bytes[i];

    if (!(byte >= 'a' && byte <= 'z') && !(byte >= '0' && byte <= '9') &&
        byte != '_')
      return false;
  }
  return string->length <= QUOTED_MAX;
}

static void
add_entry(struct text *text, const struct shadow *shadow,
          const struct sought *sought)
{
  if (sought->is_key) {
    add(text, ".key");
  } else if (is_name(shadow, sought->key)) {
    const struct shadow_string *string = shadow->strings + sought->key.bits;

    add(text, ".%.*s", (int)string->length, (const char *)string->bytes);
  } else {
    add(text, "[");
    add_value(text, shadow, sought->key);
    add(text, "]");
  }
}

static void
add_step(struct text *text, const struct shadow *shadow,
         const struct sought *sought)
{
  uint64_t n = sought->key.bits;
  unsigned depth = (unsigned)(n >> 16), place = n & 65535;

  switch ((enum subject_label)sought->label) {
  case SUBJECT_LABEL_ENTRY:
    add_entry(text, shadow, sought);
    break;
  case SUBJECT_LABEL_METATABLE:
    add(text, ".metatable");
    break;
  case SUBJECT_LABEL_ENVIRONMENT:
    add(text, ".environment");
    break;
  case SUBJECT_LABEL_UPVALUE:
    add(text, ".upvalue[%" PRIu64 "]", n);
    break;
  case SUBJECT_LABEL_USERVALUE:
    add(text, ".uservalue[%" PRIu64 "]", n);
    break;
  case SUBJECT_LABEL_FUNCTION:
    add(text, ".frame[%" PRIu64 "].function", n);
    break;
  case SUBJECT_LABEL_REGISTER:
    add(text, ".frame[%u].r%u", depth, place);
    break;
  case SUBJECT_LABEL_VARARG:
    add(text, ".frame[%u].vararg[%u]", depth, place);
    break;
  case SUBJECT_LABEL_TBC:
    add(text, ".frame[%u].tbc[%u]", depth, place);
    break;
  case SUBJECT_LABEL_START:
    add(text, ".start");
    break;
  case SUBJECT_LABEL_RESUMED:
    add(text, ".resumed");
    break;
  case SUBJECT_LABEL_REGISTRY:
    add(text, "registry");
    break;
  case SUBJECT_LABEL_GLOBALS:
    add(text, "globals");
    break;
  case SUBJECT_LABEL_MAIN:
    add(text, "main");
    break;
  case SUBJECT_LABEL_CURRENT:
    add(text, "current");
    break;
  case SUBJECT_LABEL_BASICMETA:
    add(text, "basicmeta.%s", op_word_text(OP_OPERAND_BASIC, (int32_t)n));
    break;
  case SUBJECT_LABEL_VALUE:
  case SUBJECT_LABEL_PROTOTYPE:
  case SUBJECT_LABEL_CONSTANT:
  case SUBJECT_LABEL_NESTED:
  case SUBJECT_LABEL_INTERNAL:
  case SUBJECT_LABEL_COUNT:
    PENUMBRA_ASSERT(!"an edge of the shadow");
  }
}

bool
shadow_path(const struct shadow *shadow, uint32_t id, char *ret_text,
            size_t size)
{
  struct text text = {.bytes = ret_text, .size = size};
  uint32_t *way = shadow->queue;
  uint32_t count = 0;

  PENUMBRA_ASSERT(id < shadow->node_count);
  if (!shadow_find_parents(shadow, id))
    return false;
  for (way[count++] = id; shadow->parents[id] != id; way[count++] = id)
    id = shadow->parents[id];
  if (id != SHADOW_ROOT) {
    add(&text, "finalizer of ");
    add_node(&text, shadow, id);
  } else if (count == 1) {
    add(&text, "root");
  }
  for (uint32_t i = 1; i < count; i++) {
    struct sought sought = {.id = way[count - 1 - i]};

    if (i == STEPS_SHOWN + 1 && count - 1 > 2 * STEPS_SHOWN) {
      uint32_t left_out = count - 1 - 2 * STEPS_SHOWN;

      add(&text, ".(%" PRIu32 " more)", left_out);
      i += left_out;
      sought.id = way[count - 1 - i];
    }
    sought.weak = shadow_weakness(shadow, way[count - i]);
    shadow_visit(shadow, way[count - i], seek, &sought);
    PENUMBRA_ASSERT(sought.is_found);
    add_step(&text, shadow, &sought);
  }
  finish(&text);
  return true;
}
