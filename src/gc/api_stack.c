/* SPDX-License-Identifier: MIT
 *
 * gc.h, part "stack": moving, reading and pushing values. Slots are written
 * without barriers (store.h says why).
 */
#include <string.h>

#include "gc/api_internal.h"

/* ---- the top --------------------------------------------------------- */

int
gc_top(const struct gc_thread *thread)
{
  return (int)gc_frame_size(thread);
}

void
gc_set_top(struct gc_thread *thread, int top)
{
  uint32_t end;

  GC_ASSERT(top >= 0);
  end = thread->frame->base + (uint32_t)top;
  GC_ASSERT(end <= thread->top || end <= thread->frame->limit);
  for (uint32_t i = thread->top; i < end; i++) {
    thread->stack[i].tag = GC_TAG_NIL;
  }
  thread->top = end;
}

void
gc_pop(struct gc_thread *thread, int count)
{
  GC_ASSERT(count >= 0);
  gc_drop(thread, (uint32_t)count);
}

/* No step here: nothing has been allocated but room. */
enum gc_status
gc_reserve(struct gc_thread *thread, uint32_t slots)
{
  if (gc_thread_grow(thread, slots) != GC_OK) {
    return GC_NO_MEMORY;
  }
  if (thread->frame->limit < thread->top + slots) {
    thread->frame->limit = thread->top + slots;
  }
  return GC_OK;
}

/* ---- moving ---------------------------------------------------------- */

void
gc_push_copy(struct gc_thread *thread, int index)
{
  gc_put(thread, *gc_slot(thread, index));
}

void
gc_replace(struct gc_thread *thread, int index)
{
  GC_ASSERT(index != GC_INDEX_REGISTRY);
  *gc_slot(thread, index) = *gc_slot(thread, -1);
  gc_drop(thread, 1);
}

void
gc_copy(struct gc_thread *thread, int from, int to)
{
  GC_ASSERT(to != GC_INDEX_REGISTRY);
  *gc_slot(thread, to) = *gc_slot(thread, from);
}

void
gc_copy_across(struct gc_thread *from, int from_index, struct gc_thread *to,
               int to_index)
{
  GC_ASSERT(to_index != GC_INDEX_REGISTRY);
  *gc_slot(to, to_index) = *gc_slot(from, from_index);
}

/* ---- reading --------------------------------------------------------- */

static enum gc_type
object_type(const struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
    return GC_TYPE_STRING;
  case GC_KIND_TABLE:
    return GC_TYPE_TABLE;
  case GC_KIND_USERDATA:
    return GC_TYPE_USERDATA;
  case GC_KIND_NATIVE_CLOSURE:
  case GC_KIND_CLOSURE:
    return GC_TYPE_FUNCTION;
  case GC_KIND_THREAD:
    return GC_TYPE_THREAD;
  case GC_KIND_PROTOTYPE:
  case GC_KIND_UPVALUE:
  case GC_KIND_COUNT:
    break; /* no values of the language */
  }
  return GC_TYPE_NIL;
}

enum gc_type
gc_type_of(const struct gc_thread *thread, int index)
{
  const struct gc_value *value = gc_slot(thread, index);

  switch ((enum gc_tag)value->tag) {
  case GC_TAG_FALSE:
  case GC_TAG_TRUE:
    return GC_TYPE_BOOLEAN;
  case GC_TAG_INTEGER:
    return GC_TYPE_INTEGER;
  case GC_TAG_FLOAT:
    return GC_TYPE_FLOAT;
  case GC_TAG_POINTER:
    return GC_TYPE_POINTER;
  case GC_TAG_NATIVE:
    return GC_TYPE_NATIVE;
  case GC_TAG_OBJECT:
    return object_type(value->as.object);
  case GC_TAG_NIL:
  case GC_TAG_DEAD_KEY:
    break;
  }
  return GC_TYPE_NIL;
}

bool
gc_to_boolean(const struct gc_thread *thread, int index)
{
  uint8_t tag = gc_slot(thread, index)->tag;

  return tag != GC_TAG_NIL && tag != GC_TAG_FALSE;
}

static const struct gc_value *
value_at(const struct gc_thread *thread, int index, enum gc_tag tag)
{
  const struct gc_value *value = gc_slot(thread, index);

  GC_ASSERT(value->tag == tag);
  return value;
}

int64_t
gc_to_integer(const struct gc_thread *thread, int index)
{
  return value_at(thread, index, GC_TAG_INTEGER)->as.integer;
}

double
gc_to_float(const struct gc_thread *thread, int index)
{
  return value_at(thread, index, GC_TAG_FLOAT)->as.number;
}

void *
gc_to_pointer(const struct gc_thread *thread, int index)
{
  return value_at(thread, index, GC_TAG_POINTER)->as.pointer;
}

gc_native
gc_to_native(const struct gc_thread *thread, int index)
{
  return value_at(thread, index, GC_TAG_NATIVE)->as.native;
}

static const struct gc_string *
string_at(const struct gc_thread *thread, int index)
{
  const struct gc_object *object
      = value_at(thread, index, GC_TAG_OBJECT)->as.object;

  GC_ASSERT(object_type(object) == GC_TYPE_STRING);
  return (const struct gc_string *)object;
}

const char *
gc_to_string(const struct gc_thread *thread, int index, size_t *ret_length)
{
  const struct gc_string *string = string_at(thread, index);

  if (ret_length != NULL) {
    *ret_length = string->length;
  }
  return string->bytes;
}

void *
gc_to_userdata(const struct gc_thread *thread, int index)
{
  struct gc_userdata *userdata = gc_userdata_at(thread, index);

  return &userdata->user_values[userdata->user_value_count];
}

struct gc_thread *
gc_to_thread(const struct gc_thread *thread, int index)
{
  return (struct gc_thread *)gc_object_at(thread, index, GC_KIND_THREAD);
}

const void *
gc_to_object(const struct gc_thread *thread, int index)
{
  const struct gc_value *value = gc_slot(thread, index);

  return gc_value_is_object(value) ? value->as.object : NULL;
}

bool
gc_raw_equal(const struct gc_thread *thread, int a, int b)
{
  return gc_value_equal(gc_slot(thread, a), gc_slot(thread, b));
}

/* ---- pushing --------------------------------------------------------- */

void
gc_push_nil(struct gc_thread *thread)
{
  gc_put(thread, (struct gc_value){ .tag = GC_TAG_NIL });
}

void
gc_push_boolean(struct gc_thread *thread, bool value)
{
  gc_put(thread,
         (struct gc_value){ .tag = value ? GC_TAG_TRUE : GC_TAG_FALSE });
}

void
gc_push_integer(struct gc_thread *thread, int64_t value)
{
  gc_put(thread,
         (struct gc_value){ .tag = GC_TAG_INTEGER, .as.integer = value });
}

void
gc_push_float(struct gc_thread *thread, double value)
{
  gc_put(thread, (struct gc_value){ .tag = GC_TAG_FLOAT, .as.number = value });
}

void
gc_push_pointer(struct gc_thread *thread, void *value)
{
  gc_put(thread,
         (struct gc_value){ .tag = GC_TAG_POINTER, .as.pointer = value });
}

void
gc_push_native(struct gc_thread *thread, gc_native value)
{
  gc_put(thread,
         (struct gc_value){ .tag = GC_TAG_NATIVE, .as.native = value });
}

void
gc_push_thread(struct gc_thread *thread)
{
  gc_put_object(thread, &thread->head);
}

enum gc_status
gc_push_string(struct gc_thread *thread, const char *bytes, size_t length)
{
  struct gc_string *string = gc_string_new(thread->heap, bytes, length);

  if (string == NULL) {
    return GC_NO_MEMORY;
  }
  gc_put_object(thread, &string->head);
  gc_check(thread);
  return GC_OK;
}

enum gc_status
gc_concat(struct gc_thread *thread)
{
  struct gc_value *first = gc_slot(thread, -2);
  const struct gc_string *a = string_at(thread, -2);
  const struct gc_string *b = string_at(thread, -1);
  struct gc_string *result;

  if (GC_FAULTY(thread->heap, CONCAT_REFUSED)
      && (uint64_t)a->length + b->length > 64) {
    return GC_NO_MEMORY;
  }
  result = gc_string_concat(thread->heap, a, b);
  if (result == NULL) {
    return GC_NO_MEMORY;
  }
  first->as.object = &result->head;
  gc_drop(thread, 1);
  gc_check(thread);
  return GC_OK;
}
