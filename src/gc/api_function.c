/* SPDX-License-Identifier: MIT
 *
 * gc.h, part "functions".
 *
 * What is built from several objects begins with the closure: it is a value
 * and so can be anchored on the stack, and holds what is made for it next.
 * Prototypes and upvalues are no values, nothing else could hold them. If a
 * later part fails the closure leaves the stack as it is, with some of its
 * parts NULL, and goes with the next cycle; open upvalues that were made for
 * it stay with their slots, and the next capture finds them.
 *
 * Every allocation may collect, so that an upvalue may be younger and whiter
 * than the closure that is given it, which may even be old by then: each such
 * store has its barrier. What is stored with nothing allocated since the parent
 * was made needs none to be seen.
 */
#include "gc/api_internal.h"

enum { PARTS_MAX = 1 << 24 }; /* constants, nested prototypes of one */

enum gc_status
gc_new_native_closure(struct gc_thread *thread, gc_native function,
                      uint8_t count)
{
  struct gc_heap *heap = thread->heap;
  struct gc_native_closure *closure;
  const struct gc_value *values;

  GC_ASSERT(count <= gc_frame_size(thread));
  closure = gc_native_closure_new(heap, function, count);
  if (closure == NULL) {
    return GC_NO_MEMORY;
  }
  values = &thread->stack[thread->top - count];
  for (uint8_t i = 0; i < count; i++) {
    closure->values[i] = values[i];
    gc_store_forward(heap, &closure->head, &closure->values[i],
                     GC_FAULT_NONE);
  }
  gc_drop(thread, count);
  gc_put_object(thread, &closure->head);
  gc_check(thread);
  return GC_OK;
}

/* ---- prototypes ------------------------------------------------------ */

enum gc_status
gc_new_prototype(struct gc_thread *thread, uint8_t upvalue_count)
{
  struct gc_heap *heap = thread->heap;
  struct gc_closure *closure = gc_closure_new(heap, NULL, 0);
  struct gc_prototype *prototype;

  if (closure == NULL) {
    return GC_NO_MEMORY;
  }
  gc_put_object(thread, &closure->head);
  prototype = gc_prototype_new(heap, upvalue_count);
  if (prototype == NULL) {
    gc_drop(thread, 1);
    return GC_NO_MEMORY;
  }
  closure->prototype = prototype;
  gc_store_forward_object(heap, &closure->head, &prototype->head,
                          GC_FAULT_CLOSURE_PROTOTYPE_BARRIER);
  gc_check(thread);
  return GC_OK;
}

/* The block of an array of parts with room for one more, or NULL. */
static void *
parts_grow(struct gc_heap *heap, void *parts, uint32_t count, size_t each,
           uint32_t *capacity)
{
  uint32_t larger = *capacity == 0 ? 4 : *capacity * 2;
  void *block;

  if (count < *capacity) {
    return parts;
  }
  if (larger > PARTS_MAX) {
    return NULL;
  }
  block = gc_memory_resize(heap, parts, *capacity * each, larger * each);
  if (block != NULL) {
    *capacity = larger;
  }
  return block;
}

enum gc_status
gc_prototype_add_constant(struct gc_thread *thread, int index)
{
  struct gc_heap *heap = thread->heap;
  struct gc_prototype *prototype = gc_closure_at(thread, index)->prototype;
  struct gc_value *constants;

  constants = parts_grow(heap, prototype->constants,
                         prototype->constant_count, sizeof(struct gc_value),
                         &prototype->constant_capacity);
  if (constants == NULL) {
    if (GC_FAULTY(heap, CONSTANT_CAPACITY)) {
      prototype->constant_capacity *= 2;
    }
    return GC_NO_MEMORY;
  }
  prototype->constants = constants;
  constants += prototype->constant_count++;
  *constants = *gc_slot(thread, -1);
  gc_drop(thread, 1);
  gc_store_forward(heap, &prototype->head, constants,
                   GC_FAULT_PROTOTYPE_CONSTANT_BARRIER);
  gc_check(thread);
  return GC_OK;
}

enum gc_status
gc_prototype_add_nested(struct gc_thread *thread, int index)
{
  struct gc_heap *heap = thread->heap;
  struct gc_prototype *prototype = gc_closure_at(thread, index)->prototype;
  struct gc_prototype *nested = gc_closure_at(thread, -1)->prototype;
  struct gc_prototype **parts;

  parts = parts_grow(heap, prototype->nested, prototype->nested_count,
                     sizeof(struct gc_prototype *),
                     &prototype->nested_capacity);
  if (parts == NULL) {
    return GC_NO_MEMORY;
  }
  prototype->nested = parts;
  parts[prototype->nested_count++] = nested;
  gc_drop(thread, 1);
  gc_store_forward_object(heap, &prototype->head, &nested->head,
                          GC_FAULT_PROTOTYPE_NESTED_BARRIER);
  gc_check(thread);
  return GC_OK;
}

/* ---- Lua closures ---------------------------------------------------- */

static void
give_upvalue(struct gc_heap *heap, struct gc_closure *closure, uint8_t n,
             struct gc_upvalue *upvalue, enum gc_fault dropped_by)
{
  closure->upvalues[n] = upvalue;
  gc_store_forward_object(heap, &closure->head, &upvalue->head, dropped_by);
}

/* Anchors a closure over the prototype, whose upvalues are to come; NULL on no
 * memory. */
static struct gc_closure *
anchor_closure(struct gc_thread *thread, struct gc_prototype *prototype,
               uint8_t count)
{
  struct gc_heap *heap = thread->heap;
  struct gc_closure *closure = gc_closure_new(heap, prototype, count);

  if (closure != NULL) {
    gc_store_forward_object(heap, &closure->head, &prototype->head,
                            GC_FAULT_NONE);
    gc_anchor(thread, &closure->head);
  }
  return closure;
}

/* The upvalue that a capture names; NULL on no memory. */
static struct gc_upvalue *
captured(struct gc_thread *thread, const struct gc_closure *from,
         const struct gc_capture *capture)
{
  if (capture->in_stack) {
    return gc_upvalue_find(thread, gc_slot_number(thread, capture->index));
  }
  GC_ASSERT(capture->index < from->upvalue_count);
  return from->upvalues[capture->index];
}

enum gc_status
gc_new_closure(struct gc_thread *thread, int from,
               const struct gc_capture *captures, uint8_t count)
{
  const struct gc_closure *model = gc_closure_at(thread, from);
  struct gc_closure *closure;

  GC_ASSERT(thread->top < thread->frame->limit);
  closure = anchor_closure(thread, model->prototype, count);
  if (closure == NULL) {
    return GC_NO_MEMORY;
  }
  for (uint8_t i = 0; i < count; i++) {
    struct gc_upvalue *upvalue = captured(thread, model, &captures[i]);

    if (upvalue == NULL) {
      gc_drop(thread, 1);
      return GC_NO_MEMORY;
    }
    give_upvalue(thread->heap, closure, i, upvalue,
                 GC_FAULT_CLOSURE_UPVALUE_BARRIER);
  }
  gc_check(thread);
  return GC_OK;
}

/* A closed upvalue that holds a value. */
static struct gc_upvalue *
upvalue_over(struct gc_heap *heap, const struct gc_value *value)
{
  struct gc_upvalue *upvalue = gc_upvalue_new(heap);

  if (upvalue != NULL) {
    upvalue->closed = *value;
    gc_store_forward(heap, &upvalue->head, value, GC_FAULT_NONE);
  }
  return upvalue;
}

enum gc_status
gc_new_closure_over_values(struct gc_thread *thread, int from, uint8_t count)
{
  struct gc_prototype *prototype = gc_closure_at(thread, from)->prototype;
  uint32_t first = thread->top - count;
  struct gc_closure *closure;

  GC_ASSERT(count <= gc_frame_size(thread));
  closure = anchor_closure(thread, prototype, count);
  if (closure == NULL) {
    return GC_NO_MEMORY;
  }
  for (uint8_t i = 0; i < count; i++) {
    struct gc_upvalue *upvalue
        = upvalue_over(thread->heap, &thread->stack[first + i]);

    if (upvalue == NULL) {
      gc_drop(thread, 1);
      return GC_NO_MEMORY;
    }
    give_upvalue(thread->heap, closure, i, upvalue,
                 GC_FAULT_CLOSURE_VALUE_BARRIER);
  }
  thread->top = first;
  gc_put_object(thread, &closure->head);
  gc_check(thread);
  return GC_OK;
}

/* ---- upvalues -------------------------------------------------------- */

static struct gc_native_closure *
native_closure_at(const struct gc_thread *thread, int index)
{
  return (struct gc_native_closure *)gc_object_at(thread, index,
                                                  GC_KIND_NATIVE_CLOSURE);
}

static bool
is_native(const struct gc_thread *thread, int index)
{
  return gc_is_kind(gc_slot(thread, index), GC_KIND_NATIVE_CLOSURE);
}

static struct gc_upvalue *
upvalue_at(const struct gc_thread *thread, int index, uint8_t n)
{
  const struct gc_closure *closure = gc_closure_at(thread, index);

  GC_ASSERT(n < closure->upvalue_count);
  return closure->upvalues[n];
}

uint8_t
gc_upvalue_count(const struct gc_thread *thread, int index)
{
  if (is_native(thread, index)) {
    return native_closure_at(thread, index)->value_count;
  }
  return gc_closure_at(thread, index)->upvalue_count;
}

void
gc_get_upvalue(struct gc_thread *thread, int index, uint8_t n)
{
  GC_ASSERT(n < gc_upvalue_count(thread, index));
  if (is_native(thread, index)) {
    gc_put(thread, native_closure_at(thread, index)->values[n]);
  } else {
    gc_put(thread, *upvalue_at(thread, index, n)->slot);
  }
}

void
gc_set_upvalue(struct gc_thread *thread, int index, uint8_t n)
{
  struct gc_heap *heap = thread->heap;
  struct gc_value value = *gc_slot(thread, -1);

  GC_ASSERT(n < gc_upvalue_count(thread, index));
  if (is_native(thread, index)) {
    struct gc_native_closure *closure = native_closure_at(thread, index);

    closure->values[n] = value;
    gc_store_forward(heap, &closure->head, &value,
                     GC_FAULT_NATIVE_VALUE_BARRIER);
  } else {
    struct gc_upvalue *upvalue = upvalue_at(thread, index, n);

    *upvalue->slot = value;
    if (!gc_upvalue_is_open(upvalue)) {
      gc_store_forward(heap, &upvalue->head, &value,
                       GC_FAULT_UPVALUE_SET_BARRIER);
    }
  }
  gc_drop(thread, 1);
}

void
gc_join_upvalue(struct gc_thread *thread, int index, uint8_t n, int other,
                uint8_t m)
{
  struct gc_closure *closure = gc_closure_at(thread, index);
  uint8_t others = gc_closure_at(thread, other)->upvalue_count;

  GC_ASSERT(n < closure->upvalue_count);
  GC_ASSERT(m < others);
  if (GC_FAULTY(thread->heap, UPVALUE_JOIN_COPIES)) {
    m = (uint8_t)((m + 1) % others);
  }
  give_upvalue(thread->heap, closure, n, upvalue_at(thread, other, m),
               GC_FAULT_UPVALUE_JOIN_BARRIER);
}
