/* SPDX-License-Identifier: MIT
 *
 * gc.h, parts "tables" and "userdata", and metatables.
 *
 * Barriers: a table's values and keys have the back barrier (table.c). A
 * metatable and a user value have the one that the dialect names. Metatables
 * of basic types have none: they are roots, and the atomic phase marks them
 * again.
 */
#include <string.h>

#include "gc/api_internal.h"
#include "gc/thread.h"

static const struct gc_value nil = { .tag = GC_TAG_NIL };

static struct gc_value
integer_value(int64_t integer)
{
  return (struct gc_value){ .tag = GC_TAG_INTEGER, .as.integer = integer };
}

/* What a lookup gives: a value, or nil where there is none. */
static struct gc_value
found(const struct gc_value *value)
{
  return value != NULL ? *value : nil;
}

/* ---- raw access ------------------------------------------------------ */

enum gc_status
gc_new_table(struct gc_thread *thread, uint32_t array_slots,
             uint32_t hash_slots)
{
  struct gc_heap *heap = thread->heap;
  struct gc_table *table = gc_table_new(heap);
  uint32_t top = thread->top;

  if (table == NULL) {
    return GC_NO_MEMORY;
  }
  if (GC_FAULTY(heap, STEP_BEFORE_ANCHOR)) {
    gc_collect(heap);
  }
  if (!GC_FAULTY(heap, NEW_TABLE_UNANCHORED)) {
    gc_anchor(thread, &table->head);
  }
  if ((array_slots > 0 || hash_slots > 0)
      && gc_table_resize(heap, table, array_slots, hash_slots) != GC_OK) {
    thread->top = top;
    return GC_NO_MEMORY;
  }
  thread->top = top;
  gc_put_object(thread, &table->head);
  gc_check(thread);
  return GC_OK;
}

void
gc_raw_get(struct gc_thread *thread, int index)
{
  struct gc_value *top = gc_slot(thread, -1);

  *top = found(gc_table_get(gc_table_at(thread, index), top));
}

enum gc_status
gc_raw_set(struct gc_thread *thread, int index)
{
  if (gc_table_set(thread->heap, gc_table_at(thread, index),
                   gc_slot(thread, -2), gc_slot(thread, -1))
      != GC_OK) {
    return GC_NO_MEMORY;
  }
  gc_drop(thread, 2);
  return GC_OK;
}

void
gc_raw_geti(struct gc_thread *thread, int index, int64_t key)
{
  struct gc_value value = integer_value(key);

  gc_put(thread, found(gc_table_get(gc_table_at(thread, index), &value)));
}

enum gc_status
gc_raw_seti(struct gc_thread *thread, int index, int64_t key)
{
  struct gc_value value = integer_value(key);

  if (gc_table_set(thread->heap, gc_table_at(thread, index), &value,
                   gc_slot(thread, -1))
      != GC_OK) {
    return GC_NO_MEMORY;
  }
  gc_drop(thread, 1);
  return GC_OK;
}

int64_t
gc_length(const struct gc_thread *thread, int index)
{
  return gc_table_length(thread->heap, gc_table_at(thread, index));
}

bool
gc_next(struct gc_thread *thread, int index)
{
  struct gc_value value;

  if (!gc_table_next(thread->heap, gc_table_at(thread, index),
                     gc_slot(thread, -1), &value)) {
    gc_drop(thread, 1);
    return false;
  }
  gc_put(thread, value);
  return true;
}

/* ---- metatables ------------------------------------------------------ */

static enum gc_basic
basic_of_object(const struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
    return GC_BASIC_STRING;
  case GC_KIND_THREAD:
    return GC_BASIC_THREAD;
  case GC_KIND_NATIVE_CLOSURE:
  case GC_KIND_CLOSURE:
    return GC_BASIC_FUNCTION;
  case GC_KIND_TABLE:
  case GC_KIND_USERDATA:
  case GC_KIND_PROTOTYPE:
  case GC_KIND_UPVALUE:
  case GC_KIND_COUNT:
    break;
  }
  return GC_BASIC_COUNT;
}

static enum gc_basic
basic_of(const struct gc_value *value)
{
  switch ((enum gc_tag)value->tag) {
  case GC_TAG_FALSE:
  case GC_TAG_TRUE:
    return GC_BASIC_BOOLEAN;
  case GC_TAG_INTEGER:
  case GC_TAG_FLOAT:
    return GC_BASIC_NUMBER;
  case GC_TAG_POINTER:
    return GC_BASIC_POINTER;
  case GC_TAG_NATIVE:
    return GC_BASIC_FUNCTION;
  case GC_TAG_OBJECT:
    return basic_of_object(value->as.object);
  case GC_TAG_NIL:
  case GC_TAG_DEAD_KEY:
    break;
  }
  return GC_BASIC_NIL;
}

struct gc_table *
gc_metatable_of(const struct gc_heap *heap, const struct gc_value *value)
{
  if (gc_is_kind(value, GC_KIND_TABLE)) {
    return ((struct gc_table *)value->as.object)->metatable;
  }
  if (gc_is_kind(value, GC_KIND_USERDATA)) {
    return ((struct gc_userdata *)value->as.object)->metatable;
  }
  return heap->metatables[basic_of(value)];
}

const struct gc_value *
gc_metafield(const struct gc_heap *heap, const struct gc_value *value,
             enum gc_name name)
{
  const struct gc_table *metatable = gc_metatable_of(heap, value);
  struct gc_value key = { .tag = GC_TAG_OBJECT,
                          .as.object = &heap->names[name]->head };

  return metatable != NULL ? gc_table_get(metatable, &key) : NULL;
}

/* The table at the top, or NULL for nil. */
static struct gc_table *
table_or_nil(const struct gc_thread *thread)
{
  if (gc_slot(thread, -1)->tag == GC_TAG_NIL) {
    return NULL;
  }
  return gc_table_at(thread, -1);
}

static void
push_table_or_nil(struct gc_thread *thread, struct gc_table *table)
{
  if (table != NULL) {
    gc_put_object(thread, &table->head);
  } else {
    gc_put(thread, nil);
  }
}

static void
set_table_metatable(struct gc_heap *heap, struct gc_table *table,
                    struct gc_table *metatable)
{
  table->metatable = metatable;
  if (metatable == NULL) {
    return;
  }
  if (heap->dialect->metatable_back_barrier) {
    gc_store_back_object(heap, &table->head, &metatable->head,
                         GC_FAULT_TABLE_METATABLE_BARRIER);
  } else {
    gc_store_forward_object(heap, &table->head, &metatable->head,
                            GC_FAULT_TABLE_METATABLE_BARRIER);
  }
}

static void
set_userdata_metatable(struct gc_heap *heap, struct gc_userdata *userdata,
                       struct gc_table *metatable)
{
  userdata->metatable = metatable;
  if (metatable != NULL) {
    gc_store_forward_object(heap, &userdata->head, &metatable->head,
                            GC_FAULT_USERDATA_METATABLE_BARRIER);
  }
}

void
gc_set_metatable(struct gc_thread *thread, int index)
{
  struct gc_table *metatable = table_or_nil(thread);
  struct gc_object *object = gc_slot(thread, index)->as.object;

  if (gc_is_kind(gc_slot(thread, index), GC_KIND_TABLE)) {
    set_table_metatable(thread->heap, gc_table_at(thread, index), metatable);
  } else {
    set_userdata_metatable(thread->heap, gc_userdata_at(thread, index),
                           metatable);
  }
  gc_finalize_mark(thread->heap, object);
  gc_drop(thread, 1);
}

void
gc_push_metatable(struct gc_thread *thread, int index)
{
  push_table_or_nil(thread, gc_metatable_of(thread->heap,
                                            gc_slot(thread, index)));
}

void
gc_set_basic_metatable(struct gc_thread *thread, enum gc_basic type)
{
  GC_ASSERT(type < GC_BASIC_COUNT);
  thread->heap->metatables[type] = table_or_nil(thread);
  gc_drop(thread, 1);
}

void
gc_push_basic_metatable(struct gc_thread *thread, enum gc_basic type)
{
  GC_ASSERT(type < GC_BASIC_COUNT);
  push_table_or_nil(thread, thread->heap->metatables[type]);
}

/* ---- access through metatables --------------------------------------- */

/* The raw value of key in a table; nil for all else. */
static struct gc_value
raw_value(const struct gc_value *object, const struct gc_value *key)
{
  if (!gc_is_kind(object, GC_KIND_TABLE)) {
    return nil;
  }
  return found(gc_table_get((struct gc_table *)object->as.object, key));
}

static bool
is_indexable(const struct gc_value *value)
{
  return gc_is_kind(value, GC_KIND_TABLE)
         || gc_is_kind(value, GC_KIND_USERDATA);
}

/* Follows the fields `name` of metatables from *object on, to the first object
 * that has the key or that has no such field, or whose field is a native
 * function (else NULL). GC_META_CHAIN_MAX links at most. */
static enum gc_status
follow(const struct gc_heap *heap, enum gc_name name,
       const struct gc_value *key, struct gc_value *object,
       gc_native *ret_function)
{
  *ret_function = NULL;
  for (int links = 0; links <= GC_META_CHAIN_MAX; links++) {
    struct gc_value handler;

    if (!is_indexable(object)) {
      return GC_ERROR;
    }
    if (raw_value(object, key).tag != GC_TAG_NIL) {
      return GC_OK;
    }
    handler = found(gc_metafield(heap, object, name));
    if (handler.tag == GC_TAG_NIL) {
      return GC_OK;
    }
    if (handler.tag == GC_TAG_NATIVE) {
      *ret_function = handler.as.native;
      return GC_OK;
    }
    *object = handler;
  }
  return GC_ERROR;
}

/* Calls a metamethod for the object, with the `count` values at the top of the
 * stack, which stay. The object may have been found through weak entries, which
 * a collection may clear: its frame holds it, and the stack while that is
 * made. */
static enum gc_status
call_metamethod(struct gc_thread *thread, gc_native function,
                struct gc_value *object, uint32_t count)
{
  uint32_t top = thread->top;
  struct gc_value arguments[3] = { *object };
  bool raised;

  if (!GC_FAULTY(thread->heap, METAMETHOD_UNANCHORED)) {
    gc_anchor(thread, object->as.object);
  }
  if (gc_frame_native_room(thread, 1 + count) != GC_OK) {
    thread->top = top;
    return GC_NO_MEMORY;
  }
  memcpy(&arguments[1], &thread->stack[top - count],
         count * sizeof *arguments);
  thread->top = top;
  gc_frame_native_enter(thread, function, arguments, 1 + count,
                        GC_FRAME_METAMETHOD);
  function(thread);
  raised = thread->frame->flags & GC_FRAME_RAISED;
  *object = thread->stack[thread->frame->base];
  gc_frame_native_leave(thread);
  GC_ASSERT(thread->top == top);
  return raised ? GC_ERROR : GC_OK;
}

enum gc_status
gc_get(struct gc_thread *thread, int index)
{
  struct gc_value object = *gc_slot(thread, index);
  gc_native function;
  enum gc_status status = follow(thread->heap, GC_NAME_INDEX,
                                 gc_slot(thread, -1), &object, &function);

  if (status == GC_OK && function != NULL) {
    status = call_metamethod(thread, function, &object, 1);
  } else if (status == GC_OK) {
    object = raw_value(&object, gc_slot(thread, -1));
  }
  if (status == GC_OK) {
    *gc_slot(thread, -1) = object;
  }
  return status;
}

/* The table may have been found through weak entries, which a collection in
 * the middle of the store may clear. */
static enum gc_status
store(struct gc_thread *thread, struct gc_object *table)
{
  const struct gc_value *key = gc_slot(thread, -2);
  const struct gc_value *value = gc_slot(thread, -1);
  uint32_t top = thread->top;
  enum gc_status status;

  if (!GC_FAULTY(thread->heap, SETTER_UNANCHORED)) {
    gc_anchor(thread, table);
  }
  status = gc_table_set(thread->heap, (struct gc_table *)table, key, value);
  thread->top = top;
  return status;
}

enum gc_status
gc_set(struct gc_thread *thread, int index)
{
  struct gc_value object = *gc_slot(thread, index);
  gc_native function;
  enum gc_status status = follow(thread->heap, GC_NAME_NEWINDEX,
                                 gc_slot(thread, -2), &object, &function);

  if (status == GC_OK && function != NULL) {
    status = call_metamethod(thread, function, &object, 2);
  } else if (status == GC_OK && gc_is_kind(&object, GC_KIND_TABLE)) {
    status = store(thread, object.as.object);
  } else {
    status = GC_ERROR;
  }
  if (status == GC_OK) {
    gc_drop(thread, 2);
  }
  return status;
}

/* ---- userdata -------------------------------------------------------- */

enum gc_status
gc_new_userdata(struct gc_thread *thread, size_t size, uint16_t user_values)
{
  struct gc_userdata *userdata;

  userdata = (struct gc_userdata *)gc_object_new(
      thread->heap, GC_KIND_USERDATA, gc_userdata_size(size, user_values));
  if (userdata == NULL) {
    return GC_NO_MEMORY;
  }
  userdata->grey_next = NULL;
  userdata->metatable = NULL;
  userdata->size = size;
  userdata->user_value_count = user_values;
  for (uint16_t i = 0; i < user_values; i++) {
    userdata->user_values[i] = nil;
  }
  memset(&userdata->user_values[user_values], 0, size);
  gc_put_object(thread, &userdata->head);
  gc_check(thread);
  return GC_OK;
}

bool
gc_get_user_value(struct gc_thread *thread, int index, uint16_t n)
{
  const struct gc_userdata *userdata = gc_userdata_at(thread, index);

  if (n >= userdata->user_value_count) {
    return false;
  }
  gc_put(thread, userdata->user_values[n]);
  return true;
}

bool
gc_set_user_value(struct gc_thread *thread, int index, uint16_t n)
{
  struct gc_userdata *userdata = gc_userdata_at(thread, index);
  struct gc_heap *heap = thread->heap;
  struct gc_value *value;

  if (n >= userdata->user_value_count) {
    return false;
  }
  value = &userdata->user_values[n];
  *value = *gc_slot(thread, -1);
  gc_drop(thread, 1);
  if (heap->dialect->user_value_back_barrier) {
    gc_store_back(heap, &userdata->head, value, GC_FAULT_USER_VALUE_BARRIER);
  } else {
    gc_store_forward(heap, &userdata->head, value,
                     GC_FAULT_USER_VALUE_BARRIER);
  }
  return true;
}
