/* SPDX-License-Identifier: MIT
 *
 * Stores: what happens after an object has been made to refer to a value. The
 * listener is told, then the barrier runs. Every store of the object modules
 * goes through here, with the id of the fault that drops its barrier
 * (GC_FAULT_NONE where parent and child are newborn, which no barrier can
 * matter for). Stack slots have no barrier: threads are visited again in the
 * atomic phase. Internal to src/gc.
 */
#ifndef PENUMBRA_GC_STORE_H
#define PENUMBRA_GC_STORE_H

#include "gc/heap.h"

static inline void
gc_store_tell(struct gc_heap *heap, const struct gc_object *parent,
              const struct gc_object *child)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_STORE,
                                      .object = parent,
                                      .other = child });
  }
}

/* child may be NULL. */
static inline void
gc_store_forward_object(struct gc_heap *heap, struct gc_object *parent,
                        struct gc_object *child, enum gc_fault dropped_by)
{
  if (child != NULL) {
    gc_store_tell(heap, parent, child);
    gc_barrier_forward(heap, parent, child, dropped_by);
  }
}

static inline void
gc_store_back_object(struct gc_heap *heap, struct gc_object *parent,
                     struct gc_object *child, enum gc_fault dropped_by)
{
  if (child != NULL) {
    gc_store_tell(heap, parent, child);
    gc_barrier_back(heap, parent, child, dropped_by);
  }
}

static inline void
gc_store_forward(struct gc_heap *heap, struct gc_object *parent,
                 const struct gc_value *value, enum gc_fault dropped_by)
{
  if (gc_value_is_object(value)) {
    gc_store_forward_object(heap, parent, value->as.object, dropped_by);
  }
}

static inline void
gc_store_back(struct gc_heap *heap, struct gc_object *parent,
              const struct gc_value *value, enum gc_fault dropped_by)
{
  if (gc_value_is_object(value)) {
    gc_store_back_object(heap, parent, value->as.object, dropped_by);
  }
}

#endif
