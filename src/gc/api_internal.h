/* SPDX-License-Identifier: MIT
 *
 * What the files behind gc.h share: from indices to slots, typed access with
 * the assertions that catch a host's misuse, metatables of any value, anchors.
 * Internal to src/gc. Any allocation may collect: heap.h has the rules.
 */
#ifndef PENUMBRA_GC_API_INTERNAL_H
#define PENUMBRA_GC_API_INTERNAL_H

#include "gc/gc_assert.h"
#include "gc/heap.h"
#include "gc/store.h"

/* The number of slots of the current frame. */
static inline uint32_t
gc_frame_size(const struct gc_thread *thread)
{
  return thread->top - thread->frame->base;
}

/* The stack slot of an index of the frame; no pseudo-index. */
static inline uint32_t
gc_slot_number(const struct gc_thread *thread, int index)
{
  uint32_t size = gc_frame_size(thread);

  if (index > 0) {
    GC_ASSERT((uint32_t)index <= size);
    return thread->frame->base + (uint32_t)index - 1;
  }
  GC_ASSERT(index < 0 && (uint32_t)-index <= size);
  return thread->top - (uint32_t)-index;
}

static inline struct gc_value *
gc_slot(const struct gc_thread *thread, int index)
{
  if (index == GC_INDEX_REGISTRY) {
    return &thread->heap->registry;
  }
  if (index == GC_INDEX_FUNCTION) {
    return &thread->stack[thread->frame->function];
  }
  return &thread->stack[gc_slot_number(thread, index)];
}

/* Pushes. */
static inline void
gc_put(struct gc_thread *thread, struct gc_value value)
{
  GC_ASSERT(thread->top < thread->frame->limit);
  thread->stack[thread->top++] = value;
}

static inline void
gc_put_object(struct gc_thread *thread, struct gc_object *object)
{
  gc_put(thread,
         (struct gc_value){ .tag = GC_TAG_OBJECT, .as.object = object });
}

/* Holds an object at the top while a function goes on allocating, also when
 * the frame is full. gc_drop lets go of it. */
static inline void
gc_anchor(struct gc_thread *thread, struct gc_object *object)
{
  GC_ASSERT(thread->top < thread->stack_size);
  thread->stack[thread->top++]
      = (struct gc_value){ .tag = GC_TAG_OBJECT, .as.object = object };
}

/* Drops the top count values. */
static inline void
gc_drop(struct gc_thread *thread, uint32_t count)
{
  GC_ASSERT(count <= gc_frame_size(thread));
  thread->top -= count;
}

/* The object at index, which must be of that kind. */
static inline struct gc_object *
gc_object_at(const struct gc_thread *thread, int index, enum gc_kind kind)
{
  const struct gc_value *value = gc_slot(thread, index);

  GC_ASSERT(gc_value_is_object(value));
  GC_ASSERT(value->as.object->kind == kind);
  return value->as.object;
}

static inline struct gc_table *
gc_table_at(const struct gc_thread *thread, int index)
{
  return (struct gc_table *)gc_object_at(thread, index, GC_KIND_TABLE);
}

static inline struct gc_userdata *
gc_userdata_at(const struct gc_thread *thread, int index)
{
  return (struct gc_userdata *)gc_object_at(thread, index, GC_KIND_USERDATA);
}

static inline struct gc_closure *
gc_closure_at(const struct gc_thread *thread, int index)
{
  return (struct gc_closure *)gc_object_at(thread, index, GC_KIND_CLOSURE);
}

static inline bool
gc_is_kind(const struct gc_value *value, enum gc_kind kind)
{
  return gc_value_is_object(value) && value->as.object->kind == kind;
}

/* api_table.c: the metatable of any value, or NULL; the raw value of one of
 * its fields, or NULL. */
struct gc_table *gc_metatable_of(const struct gc_heap *heap,
                                 const struct gc_value *value);
const struct gc_value *gc_metafield(const struct gc_heap *heap,
                                    const struct gc_value *value,
                                    enum gc_name name);

#endif
