/* SPDX-License-Identifier: MIT
 *
 * The adapter's operations that make, read and write values: scalars, strings,
 * tables, userdata, functions, and the load operations that make many. See
 * model.h; the operations on frames, coroutines and roots are in model.c.
 */
#include "gc/gc.h"
#include "subjects/model.h"
#include "subjects/model_stack.h"

struct subject_value
model_integer_answer(int64_t value)
{
  return (struct subject_value){.bits = (uint64_t)value,
                                .tag = SUBJECT_INTEGER};
}

struct subject_value
model_value_answer(const struct gc_thread *t, int index)
{
  struct subject_value v = {.tag = SUBJECT_NIL};
  switch (gc_type_of(t, index)) {
  case GC_TYPE_NIL:
    break;
  case GC_TYPE_BOOLEAN:
    v = (struct subject_value){gc_to_boolean(t, index), SUBJECT_BOOLEAN};
    break;
  case GC_TYPE_INTEGER:
    v = model_integer_answer(gc_to_integer(t, index));
    break;
  case GC_TYPE_FLOAT: {
    union {
      double number;
      uint64_t bits;
    } pun = {.number = gc_to_float(t, index)};
    v = (struct subject_value){pun.bits, SUBJECT_FLOAT};
    break;
  }
  case GC_TYPE_POINTER:
    v = (struct subject_value){(uint64_t)(uintptr_t)gc_to_pointer(t, index),
                               SUBJECT_LIGHTUD};
    break;
  case GC_TYPE_NATIVE:
    v = (struct subject_value){model_native_number(gc_to_native(t, index)),
                               SUBJECT_CFUNC};
    break;
  case GC_TYPE_STRING:
  case GC_TYPE_TABLE:
  case GC_TYPE_USERDATA:
  case GC_TYPE_FUNCTION:
  case GC_TYPE_THREAD:
    v = (struct subject_value){(uint64_t)(uintptr_t)gc_to_object(t, index),
                               SUBJECT_OBJECT};
    break;
  }
  return v;
}

/* ---- operations by group --------------------------------------------- */

static enum subject_status
long_string(struct gc_thread *t, struct op op)
{
  char bytes[OP_STRING_MAX];
  size_t length = op_string_long(op.b, op.c, bytes);
  return deliver(t, gc_push_string(t, bytes, length), op.a);
}

static enum subject_status
concat(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.b));
  gc_push_copy(t, slot(op.c));
  return deliver(t, gc_concat(t), op.a);
}

static enum subject_status
table_get(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.c));
  gc_raw_get(t, slot(op.b));
  gc_replace(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
table_set(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.b));
  gc_push_copy(t, slot(op.c));
  return finish_store(t, gc_raw_set(t, slot(op.a)));
}

static enum subject_status
table_gets(struct gc_thread *t, struct op op, struct subject_answer *answer)
{
  if (push_name(t, op_string_name, op.c) != GC_OK)
    return give_up(t);
  gc_raw_get(t, slot(op.b));
  gc_replace(t, slot(op.a));
  answer->value[0] = model_value_answer(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
table_delete(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.b));
  gc_push_nil(t);
  return finish_store(t, gc_raw_set(t, slot(op.a)));
}

static enum subject_status
append(struct gc_thread *t, struct op op, struct subject_answer *answer)
{
  int64_t index = gc_length(t, slot(op.a)) + 1;
  answer->value[0] = model_integer_answer(index);
  gc_push_copy(t, slot(op.b));
  return finish_store(t, gc_raw_seti(t, slot(op.a), index));
}

static enum subject_status
length(struct gc_thread *t, struct op op, struct subject_answer *answer)
{
  int64_t n = gc_length(t, slot(op.b));
  answer->value[0] = model_integer_answer(n);
  gc_push_integer(t, n);
  gc_replace(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
next(struct gc_thread *t, struct op op, struct subject_answer *answer)
{
  gc_push_copy(t, slot(op.b));
  if (!gc_next(t, slot(op.a))) {
    gc_push_nil(t);
    gc_push_nil(t);
  }
  answer->value[0] = model_value_answer(t, -2);
  answer->value[1] = model_value_answer(t, -1);
  gc_copy(t, -2, slot(op.b));
  gc_copy(t, -1, slot(op.c));
  gc_pop(t, 2);
  return SUBJECT_DONE;
}

static enum subject_status
index_get(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.c));
  if (gc_get(t, slot(op.b)) != GC_OK) {
    give_up(t);
    return SUBJECT_ERROR;
  }
  gc_replace(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
index_set(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.b));
  gc_push_copy(t, slot(op.c));
  enum gc_status status = gc_set(t, slot(op.a));
  if (status == GC_OK)
    return SUBJECT_DONE;
  give_up(t);
  return status == GC_NO_MEMORY ? SUBJECT_NO_MEMORY : SUBJECT_ERROR;
}

/* The only error that a metamethod raises is want of memory for its store. */
static enum subject_status
call_index(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.c));
  return deliver(t, gc_get(t, slot(op.b)), op.a);
}

static enum subject_status
call_store(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.b));
  gc_push_copy(t, slot(op.c));
  return gc_set(t, slot(op.a)) == GC_OK ? SUBJECT_DONE : give_up(t);
}

static enum subject_status
set_metatable(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.b));
  gc_set_metatable(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
get_user_value(struct gc_thread *t, struct op op)
{
  if (!gc_get_user_value(t, slot(op.b), (uint16_t)op.c))
    return SUBJECT_ERROR;
  gc_replace(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
set_user_value(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.c));
  if (gc_set_user_value(t, slot(op.a), (uint16_t)op.b))
    return SUBJECT_DONE;
  give_up(t);
  return SUBJECT_ERROR;
}

/* ---- functions ------------------------------------------------------- */

static enum subject_status
native_closure(struct gc_thread *t, struct op op)
{
  push_registers(t, op.b, op.c);
  return deliver(t, gc_new_native_closure(t, model_natives[0], (uint8_t)op.c),
                 op.a);
}

static enum subject_status
closure(struct gc_thread *t, struct op op)
{
  struct gc_capture captures[MODEL_CAPTURES_MAX];
  for (int32_t i = 0; i < op.c; i++)
    captures[i] =
        (struct gc_capture){.in_stack = true, .index = (uint8_t)slot(op.b + i)};
  gc_raw_geti(t, GC_INDEX_REGISTRY, MODEL_DRIVER);
  if (gc_new_closure(t, -1, captures, (uint8_t)op.c) != GC_OK)
    return give_up(t);
  gc_replace(t, slot(op.a));
  gc_pop(t, 1);
  return SUBJECT_DONE;
}

static enum subject_status
share(struct gc_thread *t, struct op op)
{
  struct gc_capture captures[UINT8_MAX];
  uint8_t count = gc_upvalue_count(t, slot(op.b));
  for (uint8_t i = 0; i < count; i++)
    captures[i] = (struct gc_capture){.in_stack = false, .index = i};
  return deliver(t, gc_new_closure(t, slot(op.b), captures, count), op.a);
}

static enum subject_status
get_upvalue(struct gc_thread *t, struct op op)
{
  gc_get_upvalue(t, slot(op.b), (uint8_t)op.c);
  gc_replace(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
set_upvalue(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.c));
  gc_set_upvalue(t, slot(op.a), (uint8_t)op.b);
  return SUBJECT_DONE;
}

/* A builder reads its source piece by piece, and whatever gives it the pieces
 * may let the collector run. */
static void
step_between(struct gc_thread *t)
{
  struct gc_heap *heap = gc_heap_of(t);
  if (!gc_is_stopped(heap))
    gc_micro_step(heap);
}

/* Adds count constants to the prototype of the closure at the top: short
 * strings and, every fourth, a long one. *left counts the pieces that may yet
 * be made. */
static bool
add_constants(struct gc_thread *t, int32_t count, int32_t *left)
{
  char bytes[OP_STRING_MAX];
  for (int32_t i = 0; i < count && *left > 0; i++, --*left) {
    size_t size = i % 4 == 3 ? op_string_long(i, i, bytes)
                             : op_string_name(1024 + i, bytes);
    if (gc_push_string(t, bytes, size) != GC_OK ||
        gc_prototype_add_constant(t, -2) != GC_OK)
      return false;
    step_between(t);
  }
  return true;
}

static bool
add_nested(struct gc_thread *t, int32_t count, int32_t constants,
           int32_t *left)
{
  for (int32_t i = 0; i < count && *left > 0; i++, --*left) {
    if (gc_new_prototype(t, 0) != GC_OK ||
        !add_constants(t, constants, left) ||
        gc_prototype_add_nested(t, -2) != GC_OK)
      return false;
    step_between(t);
  }
  return true;
}

/* Pushes a closure over the prototype. */
static bool
build(struct gc_thread *t, struct op op, int32_t pieces)
{
  return gc_new_prototype(t, 1) == GC_OK && add_constants(t, op.b, &pieces) &&
         add_nested(t, op.c, op.b / 2, &pieces);
}

/* What there is of it is dropped. */
static enum subject_status
load_cut(struct gc_thread *t, struct op op)
{
  if (!build(t, op, op.a))
    return give_up(t);
  gc_pop(t, 1);
  return SUBJECT_DONE;
}

static enum subject_status
load(struct gc_thread *t, struct op op)
{
  if (!build(t, op, INT32_MAX))
    return give_up(t);
  gc_raw_geti(t, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS);
  if (gc_new_closure_over_values(t, -2, 1) != GC_OK)
    return give_up(t);
  gc_replace(t, slot(op.a));
  gc_pop(t, 1);
  return SUBJECT_DONE;
}

/* ---- weak tables and finalizers -------------------------------------- */

/* Pushes the string of a WEAK word, or nil. */
static enum gc_status
push_weak(struct gc_thread *t, int32_t weak)
{
  if (weak != OP_WEAK_NONE)
    return push_name(t, op_string_weak, weak);
  gc_push_nil(t);
  return GC_OK;
}

/* Pushes what __gc is to be for a BEHAVIOUR word. */
static void
push_behaviour(struct gc_thread *t, int32_t behaviour)
{
  if (behaviour == OP_BEHAVIOUR_NONE)
    gc_push_nil(t);
  else if (behaviour == OP_BEHAVIOUR_NUMBER)
    gc_push_integer(t, 1);
  else
    gc_push_native(t, model_natives[MODEL_BEHAVIOURS + behaviour]);
}

/* table.__mode := weak */
static enum gc_status
store_mode(struct gc_thread *t, int table, int32_t weak)
{
  if (push_name(t, op_string_event, OP_EVENT_MODE) != GC_OK ||
      push_weak(t, weak) != GC_OK)
    return GC_NO_MEMORY;
  return gc_raw_set(t, table);
}

/* table.__gc := behaviour */
static enum gc_status
store_behaviour(struct gc_thread *t, int table, int32_t behaviour)
{
  if (push_name(t, op_string_event, OP_EVENT_GC) != GC_OK)
    return GC_NO_MEMORY;
  push_behaviour(t, behaviour);
  return gc_raw_set(t, table);
}

/* Pushes a fresh table with a fresh metatable that says it is weak. */
static enum gc_status
push_weak_table(struct gc_thread *t, int32_t weak)
{
  if (gc_new_table(t, 0, 0) != GC_OK || gc_new_table(t, 0, 0) != GC_OK ||
      store_mode(t, gc_top(t), weak) != GC_OK)
    return GC_NO_MEMORY;
  gc_set_metatable(t, -2);
  return GC_OK;
}

/* The chain grows at its end, which the top of the stack holds. */
static enum subject_status
ephemerons(struct gc_thread *t, struct op op)
{
  int result = gc_top(t) + 1, weak = result + 1;
  if (gc_new_table(t, 2, 0) != GC_OK ||
      push_weak_table(t, OP_WEAK_KEYS) != GC_OK ||
      gc_new_table(t, 0, 0) != GC_OK)
    return give_up(t);
  gc_push_copy(t, -1);
  if (gc_raw_seti(t, result, 1) != GC_OK)
    return give_up(t);
  for (int32_t i = 1; i < op.b; i++) {
    if (gc_new_table(t, 0, 0) != GC_OK)
      return give_up(t);
    gc_push_copy(t, -2);
    gc_push_copy(t, -2);
    if (gc_raw_set(t, weak) != GC_OK)
      return give_up(t);
    gc_replace(t, -2);
  }
  gc_push_boolean(t, true);
  if (gc_raw_set(t, weak) != GC_OK || gc_raw_seti(t, result, 2) != GC_OK)
    return give_up(t);
  return deliver(t, GC_OK, op.a);
}

/* Marks last: from then on the object is owed its finalizer. */
static enum subject_status
new_finalizable(struct gc_thread *t, struct op op)
{
  enum gc_status status =
      op.c ? gc_new_userdata(t, 0, 1) : gc_new_table(t, 0, 0);
  if (status != GC_OK || gc_new_table(t, 0, 0) != GC_OK ||
      store_behaviour(t, gc_top(t), op.b) != GC_OK)
    return give_up(t);
  gc_set_metatable(t, -2);
  return deliver(t, GC_OK, op.a);
}

/* ---- load ------------------------------------------------------------ */

static enum subject_status
churn(struct gc_thread *t, int32_t count)
{
  for (int32_t i = 0; i < count; i++) {
    if (gc_new_table(t, 0, 0) != GC_OK)
      return give_up(t);
    gc_pop(t, 1);
  }
  return SUBJECT_DONE;
}

static enum subject_status
chain(struct gc_thread *t, struct op op)
{
  gc_push_nil(t);
  for (int32_t i = 0; i < op.b; i++) {
    if (gc_new_table(t, 1, 0) != GC_OK)
      return give_up(t);
    gc_push_copy(t, -2);
    if (gc_raw_seti(t, -2, 1) != GC_OK)
      return give_up(t);
    gc_replace(t, -2);
  }
  return deliver(t, GC_OK, op.a);
}

static enum subject_status
wide(struct gc_thread *t, struct op op)
{
  if (gc_new_table(t, 0, 0) != GC_OK)
    return give_up(t);
  for (int32_t i = 1; i <= op.b; i++)
    if (gc_new_table(t, 0, 0) != GC_OK || gc_raw_seti(t, -2, i) != GC_OK)
      return give_up(t);
  return deliver(t, GC_OK, op.a);
}

/* ---- a loop ---------------------------------------------------------- */

/* Pushes what the place that hot stores in has; the key is at index. */
static void
push_hot(struct gc_thread *t, struct op op, int key)
{
  if (gc_type_of(t, slot(op.a)) == GC_TYPE_FUNCTION) {
    gc_get_upvalue(t, slot(op.a), 0);
    return;
  }
  gc_push_copy(t, key);
  gc_raw_get(t, slot(op.a));
}

/* The place := the top, which goes. */
static enum gc_status
store_hot(struct gc_thread *t, struct op op, int key)
{
  if (gc_type_of(t, slot(op.a)) == GC_TYPE_FUNCTION) {
    gc_set_upvalue(t, slot(op.a), 0);
    return GC_OK;
  }
  gc_push_copy(t, key);
  gc_push_copy(t, -2);
  enum gc_status status = gc_raw_set(t, slot(op.a));
  if (status == GC_OK)
    gc_pop(t, 1);
  return status;
}

/* Nothing was in the place, and nothing will be. */
static enum subject_status
give_up_hot(struct gc_thread *t, struct op op, int key)
{
  push_hot(t, op, key);
  if (gc_type_of(t, -1) != GC_TYPE_NIL) {
    gc_push_nil(t);
    store_hot(t, op, key);
  }
  return give_up(t);
}

static enum subject_status
hot(struct gc_thread *t, struct op op)
{
  int held = gc_top(t) + 1, key = held + 1;
  gc_push_copy(t, slot(op.b));
  if (op.b % 2 == 0)
    gc_push_integer(t, 1);
  else if (push_name(t, op_string_name, OP_HOT_NAME) != GC_OK)
    return give_up(t);
  gc_push_nil(t);
  for (int32_t i = 0; i < op.c; i++) {
    gc_pop(t, 1);
    if (gc_new_table(t, 1, 0) != GC_OK)
      return give_up_hot(t, op, key);
    gc_push_copy(t, held);
    if (gc_raw_seti(t, -2, 1) != GC_OK)
      return give_up_hot(t, op, key);
    gc_push_copy(t, -1);
    if (store_hot(t, op, key) != GC_OK)
      return give_up_hot(t, op, key);
  }
  gc_replace(t, slot(op.b));
  gc_pop(t, 2);
  return SUBJECT_DONE;
}

/* ---- the table of operations ----------------------------------------- */

static enum subject_status
perform_value(struct gc_thread *t, struct op op)
{
  switch (op.code) {
  case OP_NIL:
    gc_push_nil(t);
    break;
  case OP_BOOL:
    gc_push_boolean(t, op.b != 0);
    break;
  case OP_INT:
    gc_push_integer(t, op.b);
    break;
  case OP_FLOAT:
    gc_push_float(t, op.b / 4.0);
    break;
  case OP_LIGHTUD:
    gc_push_pointer(t, (void *)(uintptr_t)op.b);
    break;
  case OP_CFUNC:
    gc_push_native(t, model_natives[op.b]);
    break;
  case OP_MOVE:
    gc_push_copy(t, slot(op.b));
    break;
  case OP_GETI:
    gc_raw_geti(t, slot(op.b), op.c);
    break;
  case OP_GETMETA:
    gc_push_metatable(t, slot(op.b));
    break;
  case OP_GETBASIC:
    gc_push_basic_metatable(t, (enum gc_basic)op.b);
    break;
  case OP_VARARG:
    gc_push_vararg(t, (uint32_t)op.b);
    break;
  case OP_RUNNING:
    gc_push_thread(t);
    break;
  case OP_GLOBALS:
    gc_raw_geti(t, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS);
    break;
  default:
    return SUBJECT_UNSUPPORTED;
  }
  return deliver(t, GC_OK, op.a);
}

enum subject_status
model_perform_object(struct gc_thread *t, struct op op,
                     struct subject_answer *answer)
{
  switch (op.code) {
  case OP_STR:
    return deliver(t, push_name(t, op_string_name, op.b), op.a);
  case OP_LSTR:
    return long_string(t, op);
  case OP_CONCAT:
    return concat(t, op);
  case OP_NEWTABLE:
    return deliver(t, gc_new_table(t, (uint32_t)op.b, (uint32_t)op.c), op.a);
  case OP_GET:
    return table_get(t, op);
  case OP_SET:
    return table_set(t, op);
  case OP_SETI:
    gc_push_copy(t, slot(op.c));
    return finish_store(t, gc_raw_seti(t, slot(op.a), op.b));
  case OP_GETS:
    return table_gets(t, op, answer);
  case OP_SETS:
    return set_named(t, slot(op.a), op_string_name, op.b, op.c);
  case OP_DELETE:
    return table_delete(t, op);
  case OP_APPEND:
    return append(t, op, answer);
  case OP_LEN:
    return length(t, op, answer);
  case OP_NEXT:
    return next(t, op, answer);
  case OP_INDEX:
    return index_get(t, op);
  case OP_NEWINDEX:
    return index_set(t, op);
  case OP_CALLINDEX:
    return call_index(t, op);
  case OP_CALLSTORE:
    return call_store(t, op);
  case OP_SETMETA:
    return set_metatable(t, op);
  case OP_BASICMETA:
    gc_push_copy(t, slot(op.b));
    gc_set_basic_metatable(t, (enum gc_basic)op.a);
    return SUBJECT_DONE;
  case OP_SETEVENT:
    return set_named(t, slot(op.a), op_string_event, op.b, op.c);
  case OP_NEWUD:
    return deliver(t, gc_new_userdata(t, (size_t)op.b, (uint16_t)op.c), op.a);
  case OP_GETUV:
    return get_user_value(t, op);
  case OP_SETUV:
    return set_user_value(t, op);
  case OP_CCLOSURE:
    return native_closure(t, op);
  case OP_CLOSURE:
    return closure(t, op);
  case OP_SHARE:
    return share(t, op);
  case OP_GETUPVAL:
    return get_upvalue(t, op);
  case OP_SETUPVAL:
    return set_upvalue(t, op);
  case OP_JOIN:
    gc_join_upvalue(t, slot(op.a), (uint8_t)(op.c / 4), slot(op.b),
                    (uint8_t)(op.c % 4));
    return SUBJECT_DONE;
  case OP_CLOSEUP:
    gc_close_slots(t, 1 + (int)op.a);
    gc_set_top(t, OP_REGISTERS); /* what was to be closed lay above */
    return SUBJECT_DONE;
  case OP_LOAD:
    return load(t, op);
  case OP_LOADCUT:
    return load_cut(t, op);
  case OP_SETMODE:
    return finish_store(t, store_mode(t, slot(op.a), op.b));
  case OP_NEWWEAK:
    return deliver(t, push_weak_table(t, op.b), op.a);
  case OP_EPHEMERONS:
    return ephemerons(t, op);
  case OP_SETGC:
    return finish_store(t, store_behaviour(t, slot(op.a), op.b));
  case OP_NEWFIN:
    return new_finalizable(t, op);
  case OP_CHURN:
    return churn(t, op.a);
  case OP_CHAIN:
    return chain(t, op);
  case OP_WIDE:
    return wide(t, op);
  case OP_HOT:
    return hot(t, op);
  default:
    return perform_value(t, op);
  }
}
