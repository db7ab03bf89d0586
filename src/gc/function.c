/* SPDX-License-Identifier: MIT
 *
 * Functions: native closures, prototypes, Lua closures, and the upvalues that
 * closures share.
 *
 * Upvalues. While the captured slot is on its thread's stack the upvalue is
 * open: it points to the slot, and hangs in the thread's list, highest slot
 * first, so that a slot captured twice gives the same upvalue. When the slot
 * goes away the upvalue is closed: the value moves into it. A thread with
 * open upvalues is in heap->open_threads, so that the atomic phase finds the
 * upvalues of threads that nobody else refers to.
 *
 * Colours. An open upvalue is white or grey, never black: the value is in the
 * stack, and stacks are read again in the atomic phase. When it is closed
 * that excuse is gone: if it was marked, it becomes black, and its value is
 * given to the forward barrier [tricolour.black-to-white].
 */
#include "gc/heap.h"
#include "gc/store.h"

static const struct gc_value nil = { .tag = GC_TAG_NIL };

/* ---- closures and prototypes ----------------------------------------- */

struct gc_native_closure *
gc_native_closure_new(struct gc_heap *heap, gc_native function, uint8_t count)
{
  struct gc_native_closure *closure;

  closure = (struct gc_native_closure *)gc_object_new(
      heap, GC_KIND_NATIVE_CLOSURE, gc_native_closure_size(count));
  if (closure == NULL) {
    return NULL;
  }
  closure->grey_next = NULL;
  closure->function = function;
  closure->value_count = count;
  for (uint8_t i = 0; i < count; i++) {
    closure->values[i] = nil;
  }
  return closure;
}

struct gc_prototype *
gc_prototype_new(struct gc_heap *heap, uint8_t upvalue_count)
{
  struct gc_prototype *prototype;

  prototype = (struct gc_prototype *)gc_object_new(
      heap, GC_KIND_PROTOTYPE, sizeof(struct gc_prototype));
  if (prototype == NULL) {
    return NULL;
  }
  prototype->grey_next = NULL;
  prototype->constants = NULL;
  prototype->nested = NULL;
  prototype->constant_count = prototype->constant_capacity = 0;
  prototype->nested_count = prototype->nested_capacity = 0;
  prototype->upvalue_count = upvalue_count;
  return prototype;
}

void
gc_prototype_free(struct gc_heap *heap, struct gc_prototype *prototype)
{
  if (prototype->constant_capacity > 0 && !GC_FAULTY(heap, CONSTANTS_LEAK)) {
    gc_memory_resize(heap, prototype->constants,
                     prototype->constant_capacity * sizeof(struct gc_value),
                     0);
  }
  if (prototype->nested_capacity > 0) {
    gc_memory_resize(heap, prototype->nested,
                     prototype->nested_capacity
                         * sizeof(struct gc_prototype *),
                     0);
  }
  gc_memory_resize(heap, prototype, sizeof(struct gc_prototype), 0);
}

struct gc_closure *
gc_closure_new(struct gc_heap *heap, struct gc_prototype *prototype,
               uint8_t count)
{
  struct gc_closure *closure;

  closure = (struct gc_closure *)gc_object_new(heap, GC_KIND_CLOSURE,
                                               gc_closure_size(count));
  if (closure == NULL) {
    return NULL;
  }
  closure->grey_next = NULL;
  closure->prototype = prototype;
  closure->upvalue_count = count;
  for (uint8_t i = 0; i < count; i++) {
    closure->upvalues[i] = NULL;
  }
  return closure;
}

/* ---- upvalues -------------------------------------------------------- */

struct gc_upvalue *
gc_upvalue_new(struct gc_heap *heap)
{
  struct gc_upvalue *upvalue;

  upvalue = (struct gc_upvalue *)gc_object_new(heap, GC_KIND_UPVALUE,
                                               sizeof(struct gc_upvalue));
  if (upvalue == NULL) {
    return NULL;
  }
  upvalue->slot = &upvalue->closed;
  upvalue->open_next = NULL;
  upvalue->open_link = NULL;
  upvalue->closed = nil;
  return upvalue;
}

static void
list_open_thread(struct gc_heap *heap, struct gc_thread *thread)
{
  if (thread->open_next == thread && !GC_FAULTY(heap, OPEN_THREAD_UNLISTED)) {
    thread->open_next = heap->open_threads;
    heap->open_threads = thread;
  }
}

struct gc_upvalue *
gc_upvalue_find(struct gc_thread *thread, uint32_t slot)
{
  struct gc_heap *heap = thread->heap;
  struct gc_value *place = &thread->stack[slot];
  struct gc_upvalue **link = &thread->open;
  struct gc_upvalue *upvalue;

  while (*link != NULL && (*link)->slot > place) {
    link = &(*link)->open_next;
  }
  if (*link != NULL && (*link)->slot == place
      && !GC_FAULTY(heap, UPVALUE_NOT_SHARED)) {
    return *link;
  }
  upvalue = gc_upvalue_new(heap);
  if (upvalue == NULL) {
    return NULL;
  }
  upvalue->slot = place;
  upvalue->open_next = *link;
  upvalue->open_link = link;
  if (upvalue->open_next != NULL) {
    upvalue->open_next->open_link = &upvalue->open_next;
  }
  *link = upvalue;
  list_open_thread(heap, thread);
  return upvalue;
}

/* A marked upvalue is grey while open. Closed, it can be visited no more, so
 * it is black, with all that black asks for. */
static void
close_one(struct gc_heap *heap, struct gc_upvalue *upvalue)
{
  gc_upvalue_unlink(upvalue);
  upvalue->closed = *upvalue->slot;
  if (GC_FAULTY(heap, UPVALUE_CLOSE_LOSES)) {
    upvalue->closed = nil;
  }
  upvalue->slot = &upvalue->closed;
  upvalue->open_next = NULL;
  upvalue->open_link = NULL;
  if (!gc_is_white(&upvalue->head)
      && !GC_FAULTY(heap, UPVALUE_CLOSED_GREY)) {
    gc_set_colour(heap, &upvalue->head, GC_BLACK);
  }
  gc_store_forward(heap, &upvalue->head, &upvalue->closed,
                   GC_FAULT_UPVALUE_CLOSE_BARRIER);
}

void
gc_upvalue_close(struct gc_thread *thread, uint32_t from)
{
  const struct gc_value *place = &thread->stack[from];

  while (thread->open != NULL && thread->open->slot >= place) {
    close_one(thread->heap, thread->open);
  }
}
