/* SPDX-License-Identifier: MIT
 *
 * What each operation does to the shadow heap, and which answers of open
 * operations are legal. Calls, coroutines and errors are in shadow_flow.c, what
 * makes weak tables, finalizable objects and many objects in shadow_make.c.
 *
 * Each function takes what memory it may need before it changes anything.
 * Where a node is made and a later request fails, the node is not yet linked
 * to anything and shadow_apply() forgets it again.
 */
#include "oracle/shadow_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- small things ---------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static enum shadow_result
illegal(char *ret_message, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(ret_message, SHADOW_MESSAGE_MAX, format, arguments);
  va_end(arguments);
  return SHADOW_ILLEGAL;
}

static struct shadow_value
get_register(const struct shadow *shadow, int32_t reg)
{
  return shadow_register(shadow, reg);
}

static enum shadow_result
set_register(struct shadow *shadow, int32_t reg, struct shadow_value value)
{
  shadow_register_set(shadow, shadow_frame_now(shadow), (uint32_t)reg, value);
  return SHADOW_OK;
}

static enum shadow_result
set_scalar(struct shadow *shadow, int32_t reg, uint8_t tag, uint64_t bits)
{
  return set_register(shadow, reg, (struct shadow_value){bits, tag});
}

/* The node in a register; admission has seen that there is one. */
static uint32_t
node_in(const struct shadow *shadow, int32_t reg)
{
  return (uint32_t)shadow_register(shadow, reg).bits;
}

static struct shadow_node *
node_of(const struct shadow *shadow, int32_t reg)
{
  return shadow->nodes + node_in(shadow, reg);
}

/* ---- values ---------------------------------------------------------- */

static enum shadow_result
apply_float(struct shadow *shadow, struct op op)
{
  double number = op.b / 4.0;
  struct shadow_value value = {.tag = SUBJECT_FLOAT};

  memcpy(&value.bits, &number, sizeof value.bits);
  return set_register(shadow, op.a, shadow->traits->integers
                                        ? value
                                        : shadow_key(value));
}

static enum shadow_result
set_string(struct shadow *shadow, int32_t reg, uint32_t id)
{
  if (!id)
    return SHADOW_NO_MEMORY;
  return set_register(shadow, reg, shadow_of_string(id));
}

static enum shadow_result
set_counted_string(struct shadow *shadow, int32_t reg, const char *bytes,
                   size_t length)
{
  uint32_t id = shadow_intern(shadow, (const uint8_t *)bytes, length);

  if (id)
    shadow->string_bytes += length;
  return set_string(shadow, reg, id);
}

static enum shadow_result
apply_lstr(struct shadow *shadow, struct op op)
{
  char bytes[OP_STRING_MAX];
  size_t length = op_string_long(op.b, op.c, bytes);

  return set_counted_string(shadow, op.a, bytes, length);
}

static enum shadow_result
apply_concat(struct shadow *shadow, struct op op)
{
  const struct shadow_string *left =
      shadow->strings + get_register(shadow, op.b).bits;
  const struct shadow_string *right =
      shadow->strings + get_register(shadow, op.c).bits;
  char bytes[OP_STRING_MAX];

  memcpy(bytes, left->bytes, left->length);
  memcpy(bytes + left->length, right->bytes, right->length);
  return set_counted_string(shadow, op.a, bytes,
                            (size_t)left->length + right->length);
}

/* ---- tables ---------------------------------------------------------- */

static enum shadow_result
apply_newtable(struct shadow *shadow, struct op op)
{
  if (!shadow_reserve_nodes(shadow, 1))
    return SHADOW_NO_MEMORY;
  return set_register(
      shadow, op.a,
      shadow_of_node(shadow_node_new(shadow, SUBJECT_KIND_TABLE)));
}

/* table[key] := value, with room made; key is no integral float. */
static enum shadow_result
put(struct shadow *shadow, uint32_t table, struct shadow_value key,
    struct shadow_value value)
{
  if (!shadow_reserve_entries(shadow, table, 1))
    return SHADOW_NO_MEMORY;
  shadow_set(shadow, table, key, value);
  return SHADOW_OK;
}

enum shadow_result
shadow_put_named(struct shadow *shadow, uint32_t table,
                 enum shadow_naming naming, int32_t n,
                 struct shadow_value value)
{
  uint32_t name;

  if (!shadow_reserve_entries(shadow, table, 1))
    return SHADOW_NO_MEMORY;
  name = shadow_named(shadow, naming, n);
  if (!name)
    return SHADOW_NO_MEMORY;
  shadow_set(shadow, table, shadow_of_string(name), value);
  return SHADOW_OK;
}

/* Whether a collection may have removed an entry with this value, whose key is
 * no node, just before it was read: nothing held the value all the time. */
static bool
may_be_gone(struct shadow *shadow, uint32_t table, struct shadow_value value)
{
  uint32_t id = (uint32_t)value.bits;

  if (!(shadow_weakness(shadow, table) & OP_WEAK_VALUES) ||
      !shadow_is_collectable(value))
    return false;
  shadow_reach(shadow);
  return !shadow_was_reachable(shadow, id) || !shadow_is_reachable(shadow, id);
}

/* register := table[name]. The name is made even if nothing has it yet: the
 * subject makes it too, and that may run a collection before it reads. An
 * object that the answer names and nobody knows may be the right one. */
static enum shadow_result
get_named(struct shadow *shadow, struct op op, uint32_t table,
          enum shadow_naming naming, int32_t n,
          const struct shadow_value *answer, char *ret_message)
{
  uint32_t name = shadow_named(shadow, naming, n);
  struct shadow_value value;
  char words[2][64];

  if (!name)
    return SHADOW_NO_MEMORY;
  value = shadow_get(shadow, table, shadow_of_string(name));
  if (answer->tag == SUBJECT_NIL && may_be_gone(shadow, table, value)) {
    shadow_clear_entry(shadow, table, shadow_of_string(name));
    value = *answer;
  }
  if (!shadow_same(*answer, value) &&
      (answer->tag != SUBJECT_OTHER || value.tag < SHADOW_STRING)) {
    shadow_print(shadow, *answer, words[0], sizeof words[0]);
    shadow_print(shadow, value, words[1], sizeof words[1]);
    return illegal(ret_message, "%s answered %s, and table %u has %s there",
                   op_infos[op.code].name, words[0], (unsigned)table, words[1]);
  }
  return set_register(shadow, op.a, value);
}

static enum shadow_result
apply_get(struct shadow *shadow, struct op op)
{
  struct shadow_value key = shadow_key(get_register(shadow, op.c));

  return set_register(shadow, op.a,
                      shadow_get(shadow, node_in(shadow, op.b), key));
}

static enum shadow_result
apply_set(struct shadow *shadow, struct op op)
{
  return put(shadow, node_in(shadow, op.a),
             shadow_key(get_register(shadow, op.b)),
             get_register(shadow, op.c));
}

static enum shadow_result
apply_geti(struct shadow *shadow, struct op op)
{
  return set_register(
      shadow, op.a,
      shadow_get(shadow, node_in(shadow, op.b), shadow_integer(op.c)));
}

static enum shadow_result
apply_delete(struct shadow *shadow, struct op op)
{
  shadow_set(shadow, node_in(shadow, op.a),
             shadow_key(get_register(shadow, op.b)), shadow_nil());
  return SHADOW_OK;
}

/* What was found before the collector removed entries may have been a border
 * all the same. */
static bool
is_border(const struct shadow *shadow, uint32_t table, int64_t n)
{
  if (n < 0)
    return false;
  if (n > 0 && !shadow_has_cleared(shadow, table) &&
      shadow_get(shadow, table, shadow_integer(n)).tag == SUBJECT_NIL)
    return false;
  return n == INT64_MAX ||
         shadow_get(shadow, table, shadow_integer(n + 1)).tag == SUBJECT_NIL;
}

static enum shadow_result
apply_len(struct shadow *shadow, struct op op,
          const struct shadow_value *answer, char *ret_message)
{
  uint32_t table = node_in(shadow, op.b);
  char words[64];

  if (answer->tag != SUBJECT_INTEGER ||
      !is_border(shadow, table, (int64_t)answer->bits)) {
    shadow_print(shadow, *answer, words, sizeof words);
    return illegal(ret_message,
                   "len answered %s, which is no border of "
                   "table %u",
                   words, (unsigned)table);
  }
  return set_register(shadow, op.a, *answer);
}

static enum shadow_result
apply_append(struct shadow *shadow, struct op op,
             const struct shadow_value *answer, char *ret_message)
{
  uint32_t table = node_in(shadow, op.a);
  char words[64];

  if (answer->tag != SUBJECT_INTEGER || (int64_t)answer->bits < 1 ||
      !is_border(shadow, table, (int64_t)answer->bits - 1)) {
    shadow_print(shadow, *answer, words, sizeof words);
    return illegal(ret_message,
                   "append answered %s, which follows no border "
                   "of table %u",
                   words, (unsigned)table);
  }
  return put(shadow, table, *answer, get_register(shadow, op.b));
}

/* Any order is legal. But the end comes at once in an empty table, not before
 * a first key, and after the only key. */
static enum shadow_result
apply_next(struct shadow *shadow, struct op op,
           const struct shadow_value *answer, char *ret_message)
{
  uint32_t table = node_in(shadow, op.a);
  uint32_t count = shadow->nodes[table].as.table.count;
  struct shadow_value before = get_register(shadow, op.b);
  bool is_first = before.tag == SUBJECT_NIL;
  char words[2][64];

  if (answer[0].tag == SUBJECT_NIL && answer[1].tag == SUBJECT_NIL) {
    if (is_first && count > 0)
      return illegal(ret_message,
                     "next answered the end of table %u, which "
                     "has %u entries",
                     (unsigned)table, (unsigned)count);
    set_register(shadow, op.b, shadow_nil());
    return set_register(shadow, op.c, shadow_nil());
  }
  if (answer[1].tag == SUBJECT_NIL || shadow_same(answer[0], before) ||
      !shadow_same(shadow_get(shadow, table, answer[0]), answer[1])) {
    shadow_print(shadow, answer[0], words[0], sizeof words[0]);
    shadow_print(shadow, answer[1], words[1], sizeof words[1]);
    return illegal(ret_message,
                   "next answered %s and %s, which is no other "
                   "entry of table %u",
                   words[0], words[1], (unsigned)table);
  }
  set_register(shadow, op.b, answer[0]);
  return set_register(shadow, op.c, answer[1]);
}

/* ---- metatables ------------------------------------------------------ */

static enum shadow_result
apply_index(struct shadow *shadow, struct op op)
{
  struct shadow_value key = shadow_key(get_register(shadow, op.c));
  struct shadow_value value = shadow_nil();
  uint32_t table;

  shadow_resolve(shadow, get_register(shadow, op.b), key, false, &table,
                 &value);
  return set_register(shadow, op.a, value);
}

/* What the chain looks like may change when the store needs memory. */
void
shadow_aim(struct shadow *shadow, struct op op)
{
  struct shadow_value ignored;

  switch (op.code) {
  case OP_NEWINDEX:
    shadow_resolve(shadow, get_register(shadow, op.a),
                   shadow_key(get_register(shadow, op.b)), true,
                   &shadow->target, &ignored);
    break;
  case OP_CALLINDEX:
    shadow->target = shadow_resolve_call(
        shadow, get_register(shadow, op.b),
        shadow_key(get_register(shadow, op.c)), false);
    break;
  case OP_CALLSTORE:
    shadow->target = shadow_resolve_call(
        shadow, get_register(shadow, op.a),
        shadow_key(get_register(shadow, op.b)), true);
    break;
  default:
    break;
  }
}

static enum shadow_result
apply_callstore(struct shadow *shadow, struct op op)
{
  if (shadow->nodes[shadow->target].kind != SUBJECT_KIND_TABLE)
    return SHADOW_OK;
  return put(shadow, shadow->target, shadow_key(get_register(shadow, op.b)),
             get_register(shadow, op.c));
}

static enum shadow_result
apply_newindex(struct shadow *shadow, struct op op)
{
  return put(shadow, shadow->target, shadow_key(get_register(shadow, op.b)),
             get_register(shadow, op.c));
}

/* *place, a metatable of the node, := what the register holds. */
static enum shadow_result
set_metatable(struct shadow *shadow, uint32_t node, uint8_t label,
              struct shadow_value key, uint32_t *place, int32_t reg)
{
  struct shadow_value old = shadow_of_node_or_nil(*place);

  shadow_store(shadow, node, label, key, &old, get_register(shadow, reg));
  *place = old.tag == SUBJECT_NIL ? 0 : (uint32_t)old.bits;
  return SHADOW_OK;
}

/* A table that becomes weak loses what only it holds. */
static enum shadow_result
apply_setmeta(struct shadow *shadow, struct op op)
{
  uint32_t node = node_in(shadow, op.a);

  if (shadow_weakness(shadow, node) == OP_WEAK_BOTH)
    shadow_note_was_weak(shadow, node);
  set_metatable(shadow, node, SUBJECT_LABEL_METATABLE, shadow_nil(),
                &shadow->nodes[node].metatable, op.b);
  if (shadow_weakness(shadow, node) != OP_WEAK_NONE)
    shadow->is_stale = true;
  shadow_mark_finalizer(shadow, node);
  return SHADOW_OK;
}

static enum shadow_result
apply_setenv(struct shadow *shadow, struct op op)
{
  uint32_t node = node_in(shadow, op.a);

  return set_metatable(shadow, node, SUBJECT_LABEL_ENVIRONMENT, shadow_nil(),
                       &shadow->nodes[node].metatable, op.b);
}

static enum shadow_result
apply_basicmeta(struct shadow *shadow, struct op op)
{
  return set_metatable(shadow, SHADOW_ROOT, SUBJECT_LABEL_BASICMETA,
                       shadow_integer(op.a), &shadow->basic[op.a], op.b);
}

static enum shadow_result
apply_setglobals(struct shadow *shadow, struct op op)
{
  struct shadow_value place = shadow_of_node(shadow->globals_table);

  shadow_store(shadow, SHADOW_ROOT, SUBJECT_LABEL_GLOBALS, shadow_nil(), &place,
               get_register(shadow, op.a));
  shadow->globals_table = (uint32_t)place.bits;
  return SHADOW_OK;
}

/* Of a value that is no object but a string. */
static enum op_word
basic_of_tag(uint8_t tag)
{
  switch (tag) {
  case SUBJECT_BOOLEAN:
    return OP_BASIC_BOOLEAN;
  case SUBJECT_INTEGER:
  case SUBJECT_FLOAT:
    return OP_BASIC_NUMBER;
  case SUBJECT_LIGHTUD:
    return OP_BASIC_LIGHTUD;
  case SUBJECT_CFUNC:
    return OP_BASIC_FUNCTION;
  case SHADOW_STRING:
    return OP_BASIC_STRING;
  default:
    return OP_BASIC_NIL;
  }
}

static struct shadow_value
metatable_of(const struct shadow *shadow, struct shadow_value value)
{
  const struct shadow_node *node;

  if (value.tag != SHADOW_NODE)
    return shadow_of_node_or_nil(shadow->basic[basic_of_tag(value.tag)]);
  node = shadow->nodes + value.bits;
  if (node->kind == SUBJECT_KIND_TABLE || node->kind == SUBJECT_KIND_USERDATA)
    return shadow_of_node_or_nil(node->metatable);
  return shadow_of_node_or_nil(
      shadow->basic[node->kind == SUBJECT_KIND_THREAD ? OP_BASIC_THREAD
                                                      : OP_BASIC_FUNCTION]);
}

/* ---- userdata and closures ------------------------------------------- */

uint32_t
shadow_new_with_values(struct shadow *shadow, enum subject_kind kind,
                       uint32_t count)
{
  struct shadow_value *values;
  uint32_t id;

  if (!shadow_reserve_nodes(shadow, 1))
    return 0;
  values = shadow_take(&shadow->memory, count * sizeof *values);
  if (!values)
    return 0;
  memset(values, 0, count * sizeof *values);
  id = shadow_node_new(shadow, kind);
  shadow->nodes[id].as.values = values;
  shadow->nodes[id].count = (uint8_t)count;
  return id;
}

static enum shadow_result
apply_newud(struct shadow *shadow, struct op op)
{
  uint32_t id =
      shadow_new_with_values(shadow, SUBJECT_KIND_USERDATA, (uint32_t)op.c);

  if (!id)
    return SHADOW_NO_MEMORY;
  return set_register(shadow, op.a, shadow_of_node(id));
}

static void
set_place(struct shadow *shadow, uint32_t node, uint8_t label, uint32_t n,
          struct shadow_value value)
{
  shadow_store(shadow, node, label, shadow_integer(n),
               &shadow->nodes[node].as.values[n], value);
}

static enum shadow_result
apply_setuv(struct shadow *shadow, struct op op)
{
  set_place(shadow, node_in(shadow, op.a), SUBJECT_LABEL_USERVALUE,
            (uint32_t)op.b, get_register(shadow, op.c));
  return SHADOW_OK;
}

static enum shadow_result
apply_cclosure(struct shadow *shadow, struct op op)
{
  uint32_t id =
      shadow_new_with_values(shadow, SUBJECT_KIND_CCLOSURE, (uint32_t)op.c);

  if (!id)
    return SHADOW_NO_MEMORY;
  for (int32_t n = 0; n < op.c; n++)
    set_place(shadow, id, SUBJECT_LABEL_UPVALUE, (uint32_t)n,
              get_register(shadow, (op.b + n) % OP_REGISTERS));
  return set_register(shadow, op.a, shadow_of_node(id));
}

/* A Lua closure with room for cells to be filled in; 0 on no memory. */
static uint32_t
new_closure(struct shadow *shadow, uint32_t count)
{
  uint32_t id;

  if (!shadow_reserve_nodes(shadow, 1) || !shadow_reserve_cells(shadow, count))
    return 0;
  id = shadow_node_new(shadow, SUBJECT_KIND_CLOSURE);
  shadow->nodes[id].count = (uint8_t)count;
  return id;
}

static enum shadow_result
apply_closure(struct shadow *shadow, struct op op)
{
  uint32_t id = new_closure(shadow, (uint32_t)op.c);

  if (!id)
    return SHADOW_NO_MEMORY;
  for (int32_t n = 0; n < op.c; n++)
    shadow->nodes[id].as.cells[n] =
        shadow_capture(shadow, (uint32_t)(op.b + n) % OP_REGISTERS);
  return set_register(shadow, op.a, shadow_of_node(id));
}

static enum shadow_result
apply_share(struct shadow *shadow, struct op op)
{
  uint32_t from = node_in(shadow, op.b);
  uint32_t id = new_closure(shadow, shadow->nodes[from].count);
  struct shadow_value none = shadow_nil();

  if (!id)
    return SHADOW_NO_MEMORY;
  memcpy(shadow->nodes[id].as.cells, shadow->nodes[from].as.cells,
         sizeof shadow->nodes[id].as.cells);
  shadow->nodes[id].metatable = shadow->nodes[from].metatable;
  shadow_store(shadow, id, SUBJECT_LABEL_ENVIRONMENT, shadow_nil(), &none,
               shadow_of_node_or_nil(shadow->nodes[id].metatable));
  return set_register(shadow, op.a, shadow_of_node(id));
}

static enum shadow_result
apply_load(struct shadow *shadow, struct op op)
{
  bool has_upvalue = shadow->traits->load_upvalue;
  uint32_t id = new_closure(shadow, has_upvalue);

  if (!id)
    return SHADOW_NO_MEMORY;
  if (has_upvalue)
    shadow->nodes[id].as.cells[0] =
        shadow_cell_new(shadow, shadow_of_node(shadow->globals_table));
  return set_register(shadow, op.a, shadow_of_node(id));
}

static enum shadow_result
apply_getupval(struct shadow *shadow, struct op op)
{
  const struct shadow_node *node = node_of(shadow, op.b);
  struct shadow_value value =
      node->kind == SUBJECT_KIND_CLOSURE
          ? shadow_cell_get(shadow, node->as.cells[op.c])
          : node->as.values[op.c];

  return set_register(shadow, op.a, value);
}

static enum shadow_result
apply_setupval(struct shadow *shadow, struct op op)
{
  uint32_t id = node_in(shadow, op.a);
  const struct shadow_node *node = shadow->nodes + id;
  struct shadow_value value = get_register(shadow, op.c);

  if (node->kind == SUBJECT_KIND_CLOSURE)
    shadow_cell_set(shadow, node->as.cells[op.b], value);
  else
    set_place(shadow, id, SUBJECT_LABEL_UPVALUE, (uint32_t)op.b, value);
  return SHADOW_OK;
}

static enum shadow_result
apply_join(struct shadow *shadow, struct op op)
{
  uint32_t *to = &node_of(shadow, op.a)->as.cells[op.c / 4];
  uint32_t from = node_of(shadow, op.b)->as.cells[op.c % 4];

  if (*to != from)
    shadow_lose(shadow, shadow_cell_get(shadow, *to));
  *to = from;
  return SHADOW_OK;
}

static enum shadow_result
apply_vararg(struct shadow *shadow, struct op op)
{
  const struct shadow_frame *frame = shadow_frame_now(shadow);
  struct shadow_value value = shadow_nil();

  if ((uint32_t)op.b < frame->vararg_count)
    value = frame->varargs[op.b];
  return set_register(shadow, op.a, value);
}

static enum shadow_result
apply_settop(struct shadow *shadow, struct op op)
{
  for (int32_t reg = op.a; reg < OP_REGISTERS; reg++)
    set_register(shadow, reg, shadow_nil());
  return SHADOW_OK;
}

/* ---- roots ----------------------------------------------------------- */

/* A fresh key: positive, beyond the two that a registry begins with, and not
 * in use. */
static enum shadow_result
apply_ref(struct shadow *shadow, struct op op,
          const struct shadow_value *answer, char *ret_message)
{
  enum shadow_result result;
  char words[64];

  if (answer->tag != SUBJECT_INTEGER || (int64_t)answer->bits <= 2 ||
      shadow_is_reference(shadow, *answer)) {
    shadow_print(shadow, *answer, words, sizeof words);
    return illegal(ret_message, "ref answered %s, which is no fresh key",
                   words);
  }
  result = put(shadow, SHADOW_REGISTRY, *answer, get_register(shadow, op.b));
  if (result == SHADOW_OK)
    set_register(shadow, op.a, *answer);
  return result;
}

/* ---- the collector --------------------------------------------------- */

/* Work that was asked for: where a stop is nothing but a threshold it ends. */
static enum shadow_result
apply_work(struct shadow *shadow)
{
  if (shadow->traits->step_ends_stop)
    shadow->is_stopped = false;
  return SHADOW_OK;
}

static enum shadow_result
apply_mode(struct shadow *shadow, struct op op)
{
  shadow->mode = (uint8_t)op.a;
  return SHADOW_OK;
}

static enum shadow_result
set_stopped(struct shadow *shadow, bool is_stopped)
{
  shadow->is_stopped = is_stopped;
  return SHADOW_OK;
}

/* ---- all of them ----------------------------------------------------- */

static enum shadow_result
perform(struct shadow *shadow, struct op op, const struct shadow_value *answer,
        char *ret_message)
{
  switch ((enum op_code)op.code) {
  case OP_SETUP:
  case OP_RESERVE:
  case OP_FAILALLOC:
  case OP_HEAPLIMIT:
  case OP_CHURN:
  case OP_LOADCUT:
  case OP_LIBRARY:
  case OP_CLOSE:
  case OP_PARAM:
  case OP_OUTOFMEM:
    return SHADOW_OK;
  case OP_MICROSTEP:
  case OP_STEP:
  case OP_RUNTO:
  case OP_FINISH:
  case OP_COLLECT:
  case OP_MINOR:
    return apply_work(shadow);
  case OP_STOP:
    return set_stopped(shadow, true);
  case OP_RESTART:
    return set_stopped(shadow, false);
  case OP_MODE:
    return apply_mode(shadow, op);
  case OP_NIL:
    return set_register(shadow, op.a, shadow_nil());
  case OP_BOOL:
    return set_scalar(shadow, op.a, SUBJECT_BOOLEAN, (uint64_t)op.b);
  case OP_INT:
    return set_register(shadow, op.a, shadow_integer(op.b));
  case OP_FLOAT:
    return apply_float(shadow, op);
  case OP_LIGHTUD:
    return set_scalar(shadow, op.a, SUBJECT_LIGHTUD, (uint64_t)op.b);
  case OP_CFUNC:
    return set_scalar(shadow, op.a, SUBJECT_CFUNC, (uint64_t)op.b);
  case OP_STR:
    return set_string(shadow, op.a,
                      shadow_named(shadow, SHADOW_NAMED_NAME, op.b));
  case OP_LSTR:
  case OP_EXTSTR:
    return apply_lstr(shadow, op);
  case OP_CONCAT:
    return apply_concat(shadow, op);
  case OP_MOVE:
    return set_register(shadow, op.a, get_register(shadow, op.b));
  case OP_NEWTABLE:
    return apply_newtable(shadow, op);
  case OP_GET:
    return apply_get(shadow, op);
  case OP_SET:
    return apply_set(shadow, op);
  case OP_GETI:
    return apply_geti(shadow, op);
  case OP_SETI:
    return put(shadow, node_in(shadow, op.a), shadow_integer(op.b),
               get_register(shadow, op.c));
  case OP_GETS:
    return get_named(shadow, op, node_in(shadow, op.b), SHADOW_NAMED_NAME, op.c,
                     answer, ret_message);
  case OP_SETS:
    return shadow_put_named(shadow, node_in(shadow, op.a),
                            SHADOW_NAMED_NAME, op.b,
                            get_register(shadow, op.c));
  case OP_DELETE:
    return apply_delete(shadow, op);
  case OP_APPEND:
    return apply_append(shadow, op, answer, ret_message);
  case OP_LEN:
    return apply_len(shadow, op, answer, ret_message);
  case OP_NEXT:
    return apply_next(shadow, op, answer, ret_message);
  case OP_INDEX:
    return apply_index(shadow, op);
  case OP_NEWINDEX:
    return apply_newindex(shadow, op);
  case OP_CALLINDEX:
    return set_register(shadow, op.a, shadow_of_node(shadow->target));
  case OP_CALLSTORE:
    return apply_callstore(shadow, op);
  case OP_SETMETA:
    return apply_setmeta(shadow, op);
  case OP_GETMETA:
    return set_register(shadow, op.a,
                        metatable_of(shadow, get_register(shadow, op.b)));
  case OP_BASICMETA:
    return apply_basicmeta(shadow, op);
  case OP_GETBASIC:
    return set_register(shadow, op.a,
                        shadow_of_node_or_nil(shadow->basic[op.b]));
  case OP_SETEVENT:
    return shadow_put_named(shadow, node_in(shadow, op.a),
                            SHADOW_NAMED_EVENT, op.b,
                            get_register(shadow, op.c));
  case OP_NEWUD:
    return apply_newud(shadow, op);
  case OP_GETUV:
    return set_register(shadow, op.a, node_of(shadow, op.b)->as.values[op.c]);
  case OP_SETUV:
    return apply_setuv(shadow, op);
  case OP_SETENV:
    return apply_setenv(shadow, op);
  case OP_GETENV:
    return set_register(
        shadow, op.a,
        shadow_of_node_or_nil(node_of(shadow, op.b)->metatable));
  case OP_CCLOSURE:
    return apply_cclosure(shadow, op);
  case OP_CLOSURE:
    return apply_closure(shadow, op);
  case OP_SHARE:
    return apply_share(shadow, op);
  case OP_GETUPVAL:
    return apply_getupval(shadow, op);
  case OP_SETUPVAL:
    return apply_setupval(shadow, op);
  case OP_JOIN:
    return apply_join(shadow, op);
  case OP_CLOSEUP:
    return shadow_closeup(shadow, op);
  case OP_LOAD:
    return apply_load(shadow, op);
  case OP_CALL:
  case OP_PCALL:
  case OP_CALLV:
    return shadow_call(shadow, op);
  case OP_VARARG:
    return apply_vararg(shadow, op);
  case OP_RETURN:
    return shadow_return(shadow, op);
  case OP_TAILCALL:
    return shadow_tailcall(shadow, op);
  case OP_SETTOP:
    return apply_settop(shadow, op);
  case OP_ERROR:
    return shadow_error(shadow, op);
  case OP_TBC:
    return shadow_tbc(shadow, op);
  case OP_CONEW:
    return shadow_conew(shadow, op);
  case OP_RESUME:
    return shadow_resume(shadow, op);
  case OP_YIELD:
    return shadow_yield(shadow, op);
  case OP_COSET:
    return shadow_coset(shadow, op);
  case OP_COGET:
    return shadow_coget(shadow, op);
  case OP_COCLOSE:
    return shadow_coclose(shadow, op);
  case OP_RUNNING:
    return set_register(shadow, op.a, shadow_of_node(shadow->running));
  case OP_GETGLOBAL:
    return get_named(shadow, op, shadow->globals_table, SHADOW_NAMED_GLOBAL,
                     op.b, answer, ret_message);
  case OP_SETGLOBAL:
    return shadow_put_named(shadow, shadow->globals_table,
                            SHADOW_NAMED_GLOBAL, op.a,
                            get_register(shadow, op.b));
  case OP_GLOBALS:
    return set_register(shadow, op.a, shadow_of_node(shadow->globals_table));
  case OP_SETGLOBALS:
    return apply_setglobals(shadow, op);
  case OP_GETREG:
    return get_named(shadow, op, SHADOW_REGISTRY, SHADOW_NAMED_REGISTRY, op.b,
                     answer, ret_message);
  case OP_SETREG:
    return shadow_put_named(shadow, SHADOW_REGISTRY,
                            SHADOW_NAMED_REGISTRY, op.a,
                            get_register(shadow, op.b));
  case OP_REF:
    return apply_ref(shadow, op, answer, ret_message);
  case OP_UNREF:
    shadow_set(shadow, SHADOW_REGISTRY, get_register(shadow, op.a),
               shadow_nil());
    return SHADOW_OK;
  case OP_GETREF:
    return set_register(
        shadow, op.a,
        shadow_get(shadow, SHADOW_REGISTRY, get_register(shadow, op.b)));
  case OP_CHAIN:
    return shadow_chain(shadow, op);
  case OP_WIDE:
    return shadow_wide(shadow, op);
  case OP_HOT:
    return shadow_hot(shadow, op);
  case OP_SETMODE:
    return shadow_setmode(shadow, op);
  case OP_NEWWEAK:
    return shadow_newweak(shadow, op);
  case OP_EPHEMERONS:
    return shadow_ephemerons(shadow, op);
  case OP_SETGC:
    return shadow_setgc(shadow, op);
  case OP_NEWFIN:
    return shadow_newfin(shadow, op);
  case OP_NEWCDATA:
    return shadow_newcdata(shadow, op);
  }
  return SHADOW_OK;
}

/* The nodes from an id on, made by an operation that failed after all: none is
 * linked to one that stays, or owed a finalizer. */
static void
forget_nodes(struct shadow *shadow, uint32_t from)
{
  while (shadow->node_count > from) {
    struct shadow_node *node = shadow->nodes + --shadow->node_count;

    shadow->mode_count -= node->mode != OP_WEAK_NONE;
    if (node->kind == SUBJECT_KIND_TABLE) {
      shadow_give(&shadow->memory, node->as.table.entries,
                  node->as.table.capacity * sizeof *node->as.table.entries);
      shadow_give(&shadow->memory, node->as.table.index,
                  2 * node->as.table.capacity * sizeof *node->as.table.index);
    }
  }
}

/* Whether an operation may end so; the message says why it may not. */
static enum shadow_result
judge_status(struct op op, enum subject_status status, char *ret_message)
{
  const struct op_info *info = &op_infos[op.code];

  switch (status) {
  case SUBJECT_DONE:
  case SUBJECT_UNSUPPORTED:
    return SHADOW_OK;
  case SUBJECT_NO_MEMORY:
    if (info->flags & OP_ALLOCATES)
      return SHADOW_OK;
    return illegal(ret_message,
                   "%s failed for want of memory, which it does "
                   "not need",
                   info->name);
  case SUBJECT_ERROR:
    return illegal(ret_message, "%s raised an error", info->name);
  }
  return illegal(ret_message, "%s ended with the unknown status %d", info->name,
                 (int)status);
}

enum shadow_result
shadow_apply(struct shadow *shadow, struct op op, enum subject_status status,
             const struct shadow_value *answer, char *ret_message)
{
  enum shadow_result result = judge_status(op, status, ret_message);
  uint32_t first = shadow->node_count;

  if (result == SHADOW_OK && status == SUBJECT_DONE)
    result = perform(shadow, op, answer, ret_message);
  if (result != SHADOW_OK)
    forget_nodes(shadow, first);
  shadow->birth_count = shadow->node_count - shadow->birth_first;
  shadow->reach_count += shadow->node_count - first;
  shadow_update_owed(shadow);
  return result;
}
