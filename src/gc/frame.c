/* SPDX-License-Identifier: MIT
 *
 * Calls: entering, leaving, replacing and unwinding frames, varargs, and
 * to-be-closed slots.
 *
 *   [function][varargs ...][slot 1][slot 2] ... top
 *
 * A frame begins with its function; leaving it puts the results there.
 * frame->limit is the slot up to which it may push: the slots it was entered
 * with, GC_STACK_MIN, and what gc_reserve added. The limit never comes down
 * while the frame is there, and the stack never shrinks below it.
 *
 * Closing. thread->to_close holds the slots to be closed, rising. Frames are
 * left one after the other, also by an error: each is still the current one
 * while what is open in it is closed, its upvalues first, then its
 * to-be-closed slots, the last one first. A closer is a C function and runs in
 * a frame of its own above the top, with the value in slot 1; so does a
 * finalizer (finalize.c), whose frame also ends errors. If there is no
 * memory for that frame the closer is not called, for neither a return nor an
 * error has anybody to report to; the others still are.
 */
#include <string.h>

#include "gc/api_internal.h"
#include "gc/thread.h"

/* ---- frames ---------------------------------------------------------- */

enum gc_status
gc_frame_room(struct gc_thread *thread, uint32_t base, uint32_t slots)
{
  uint64_t end = (uint64_t)base + slots + GC_STACK_MIN;

  if (end > GC_STACK_MAX) {
    return GC_NO_MEMORY;
  }
  if (end <= thread->top) {
    return GC_OK;
  }
  return gc_thread_grow(thread, (uint32_t)end - thread->top);
}

void
gc_frame_fill(struct gc_thread *thread, uint32_t slots)
{
  uint32_t end = thread->frame->base + slots;

  for (uint32_t i = thread->top; i < end; i++) {
    thread->stack[i].tag = GC_TAG_NIL;
  }
  thread->top = end;
  thread->frame->limit = end + GC_STACK_MIN;
}

/* The record after the current one, made if there is none. */
static struct gc_frame *
next_record(struct gc_thread *thread)
{
  struct gc_frame *frame = thread->frame->next;

  if (frame == NULL) {
    frame = gc_memory_resize(thread->heap, NULL, 0, sizeof(struct gc_frame));
    if (frame == NULL) {
      return NULL;
    }
    *frame = (struct gc_frame){ .previous = thread->frame };
    thread->frame->next = frame;
  }
  return frame;
}

/* All that can fail in entering a frame. */
static bool
frame_prepare(struct gc_thread *thread, uint32_t base, uint32_t slots)
{
  return next_record(thread) != NULL
         && gc_frame_room(thread, base, slots) == GC_OK;
}

/* Makes the frame of the function at slot `function` the current one. */
static void
frame_push(struct gc_thread *thread, uint32_t function, uint32_t base,
           uint32_t slots, uint32_t flags)
{
  struct gc_frame *frame = thread->frame->next;

  frame->function = function;
  frame->base = base;
  frame->flags = flags;
  thread->frame = frame;
  thread->frame_depth++;
  if ((GC_FAULTY(thread->heap, FRAME_SLOTS_STALE)
       || GC_FAULTY(thread->heap, STACK_ABOVE_TOP))
      && thread->top < base + slots) {
    thread->top = base + slots; /* what lies above the top comes with it */
  }
  gc_frame_fill(thread, slots);
}

/* Drops the current frame; its top count values go where its function was. */
static void
frame_pop(struct gc_thread *thread, uint32_t count)
{
  const struct gc_frame *frame = thread->frame;
  struct gc_frame *previous = frame->previous;

  memmove(&thread->stack[frame->function],
          &thread->stack[thread->top - count],
          count * sizeof(struct gc_value));
  thread->top = frame->function + count;
  thread->frame = previous;
  thread->frame_depth--;
  if (previous->limit < thread->top) {
    previous->limit = thread->top;
  }
}

enum gc_status
gc_enter(struct gc_thread *thread, uint32_t varargs, uint32_t arguments,
         uint32_t slots, uint32_t flags)
{
  uint32_t base = thread->top - arguments;

  GC_ASSERT((uint64_t)varargs + arguments < gc_frame_size(thread));
  GC_ASSERT((flags % GC_FRAME_HOST & ~(uint32_t)GC_FRAME_PROTECTED) == 0);
  if (!frame_prepare(thread, base, slots)) {
    return GC_NO_MEMORY;
  }
  frame_push(thread, base - varargs - 1, base, slots, flags);
  gc_check(thread);
  return GC_OK;
}

void
gc_leave(struct gc_thread *thread, uint32_t count)
{
  GC_ASSERT(thread->frame->previous != NULL);
  GC_ASSERT(!(thread->frame->flags & GC_FRAME_NATIVE));
  GC_ASSERT(count <= gc_frame_size(thread));
  gc_frame_close(thread, thread->frame->base);
  frame_pop(thread, count);
}

enum gc_status
gc_reenter(struct gc_thread *thread, uint32_t arguments, uint32_t slots)
{
  struct gc_frame *frame = thread->frame;

  GC_ASSERT(arguments < gc_frame_size(thread));
  GC_ASSERT(!(frame->flags & GC_FRAME_NATIVE));
  GC_ASSERT(gc_to_close_count(thread) == 0);
  if (gc_frame_room(thread, frame->function + 1, slots) != GC_OK) {
    return GC_NO_MEMORY;
  }
  gc_upvalue_close(thread, frame->base);
  memmove(&thread->stack[frame->function],
          &thread->stack[thread->top - arguments - 1],
          ((size_t)arguments + 1) * sizeof(struct gc_value));
  frame->base = frame->function + 1;
  thread->top = frame->base + arguments;
  gc_frame_fill(thread, slots);
  gc_check(thread);
  return GC_OK;
}

/* The frame in which an error ends, or NULL. */
static struct gc_frame *
catching_frame(const struct gc_thread *thread)
{
  struct gc_frame *frame = thread->frame;

  while (frame != NULL
         && !(frame->flags & (GC_FRAME_PROTECTED | GC_FRAME_CATCHES))) {
    GC_ASSERT(!(frame->flags & GC_FRAME_CLOSER));
    frame = frame->previous;
  }
  return frame;
}

enum gc_status
gc_raise(struct gc_thread *thread)
{
  struct gc_frame *target = catching_frame(thread);

  GC_ASSERT(gc_frame_size(thread) > 0);
  if (target == NULL) {
    if (thread != thread->heap->main) {
      thread->status = GC_THREAD_FAILED;
    }
    return GC_ERROR;
  }
  if (target->flags & GC_FRAME_CATCHES) {
    while (thread->frame != target) {
      gc_leave(thread, 1);
    }
    target->flags |= GC_FRAME_RAISED;
    return GC_ERROR;
  }
  target = target->previous;
  while (thread->frame != target) {
    gc_leave(thread, 1);
  }
  return GC_OK;
}

void
gc_thread_unwind(struct gc_thread *thread)
{
  while (thread->frame->previous != NULL) {
    gc_leave(thread, 0);
  }
  gc_frame_close(thread, thread->frame->base);
  thread->top = thread->frame->base;
}

uint32_t
gc_frame_depth(const struct gc_thread *thread)
{
  return thread->frame_depth;
}

uint32_t
gc_vararg_count(const struct gc_thread *thread)
{
  return thread->frame->base - thread->frame->function - 1;
}

void
gc_push_vararg(struct gc_thread *thread, uint32_t n)
{
  struct gc_value value = { .tag = GC_TAG_NIL };

  if (n < gc_vararg_count(thread)) {
    value = thread->stack[thread->frame->function + 1 + n];
  }
  gc_put(thread, value);
}

/* ---- calls of native functions --------------------------------------- */

enum gc_status
gc_frame_native_room(struct gc_thread *thread, uint32_t count)
{
  return frame_prepare(thread, thread->top + 1, count) ? GC_OK : GC_NO_MEMORY;
}

void
gc_frame_native_enter(struct gc_thread *thread, gc_native function,
                      const struct gc_value *arguments, uint32_t count,
                      uint32_t flag)
{
  uint32_t top = thread->top;

  thread->stack[top] = (struct gc_value){ .tag = GC_TAG_NATIVE,
                                          .as.native = function };
  memcpy(&thread->stack[top + 1], arguments, count * sizeof *arguments);
  thread->top = top + 1 + count;
  frame_push(thread, top, top + 1, count, flag);
}

void
gc_frame_native_leave(struct gc_thread *thread)
{
  const struct gc_frame *frame = thread->frame;

  GC_ASSERT(frame->flags & GC_FRAME_NATIVE);
  gc_upvalue_close(thread, frame->base);
  thread->top = frame->function;
  thread->frame = frame->previous;
  thread->frame_depth--;
}

/* ---- to-be-closed slots ---------------------------------------------- */

/* The native function that closes a value, or NULL. */
static gc_native
closer_of(struct gc_heap *heap, const struct gc_value *value)
{
  const struct gc_value *closer = gc_metafield(heap, value, GC_NAME_CLOSE);

  if (closer == NULL || closer->tag != GC_TAG_NATIVE) {
    return NULL;
  }
  return closer->as.native;
}

static void
tell_closing(struct gc_heap *heap, const struct gc_value *value)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){
                      .type = GC_EVENT_CLOSING,
                      .object = gc_value_is_object(value) ? value->as.object
                                                          : NULL });
  }
}

/* Calls the closer of the value in a slot. */
static void
call_closer(struct gc_thread *thread, uint32_t slot)
{
  struct gc_value value = thread->stack[slot];
  gc_native closer = closer_of(thread->heap, &value);
  const struct gc_frame *frame;

  if (closer == NULL || gc_frame_native_room(thread, 1) != GC_OK) {
    return;
  }
  gc_frame_native_enter(thread, closer, &value, 1, GC_FRAME_CLOSER);
  tell_closing(thread->heap, &value);
  frame = thread->frame;
  closer(thread);
  GC_ASSERT(thread->frame == frame);
  gc_frame_native_leave(thread);
}

/* Whether a fault leaves out the closer of the slot on top of those kept, the
 * oldest one of several from `from` on. */
static bool
skips_closer(const struct gc_thread *thread, uint32_t from, bool is_first)
{
  uint32_t count = thread->to_close_count;

  return GC_FAULTY(thread->heap, CLOSER_SKIPPED) && !is_first
         && (count == 0 || thread->to_close[count - 1] < from);
}

#if PENUMBRA_FAULTS
/* With a fault, the to-be-closed slots from `from` on change places: the first
 * one comes to be closed first. */
static void
reverse_closing(struct gc_thread *thread, uint32_t from)
{
  uint32_t *slots = thread->to_close;
  uint32_t low = 0, high = thread->to_close_count;

  while (low < high && slots[low] < from) {
    low++;
  }
  while (low + 1 < high) {
    uint32_t slot = slots[low];

    slots[low++] = slots[--high];
    slots[high] = slot;
  }
}
#else
#define reverse_closing(thread, from) ((void)(thread), (void)(from))
#endif

void
gc_frame_close(struct gc_thread *thread, uint32_t from)
{
  bool is_first = true;

  gc_upvalue_close(thread, from);
  if (GC_FAULTY(thread->heap, CLOSERS_IN_ORDER)) {
    reverse_closing(thread, from);
  }
  while (thread->to_close_count > 0
         && thread->to_close[thread->to_close_count - 1] >= from) {
    uint32_t slot = thread->to_close[--thread->to_close_count];

    if (!skips_closer(thread, from, is_first)) {
      call_closer(thread, slot);
    }
    is_first = false;
  }
}

static enum gc_status
to_close_grow(struct gc_thread *thread)
{
  uint32_t old = thread->to_close_capacity;
  uint32_t capacity = old == 0 ? 4 : old * 2; /* at most one a stack slot */
  uint32_t *slots;

  slots = gc_memory_resize(thread->heap, thread->to_close,
                           old * sizeof(uint32_t),
                           capacity * sizeof(uint32_t));
  if (slots == NULL) {
    return GC_NO_MEMORY;
  }
  thread->to_close = slots;
  thread->to_close_capacity = capacity;
  return GC_OK;
}

enum gc_status
gc_mark_to_close(struct gc_thread *thread)
{
  uint32_t slot = thread->top - 1;
  uint32_t count = thread->to_close_count;

  GC_ASSERT(gc_frame_size(thread) > 0);
  GC_ASSERT(!(thread->frame->flags & GC_FRAME_NATIVE));
  GC_ASSERT(closer_of(thread->heap, &thread->stack[slot]) != NULL);
  GC_ASSERT(count == 0 || thread->to_close[count - 1] < slot);
  if (count == thread->to_close_capacity
      && to_close_grow(thread) != GC_OK) {
    return GC_NO_MEMORY;
  }
  thread->to_close[count] = slot;
  thread->to_close_count = count + 1;
  gc_check(thread);
  return GC_OK;
}

uint32_t
gc_to_close_count(const struct gc_thread *thread)
{
  uint32_t count = 0;

  while (count < thread->to_close_count
         && thread->to_close[thread->to_close_count - 1 - count]
                >= thread->frame->base) {
    count++;
  }
  return count;
}

void
gc_close_slots(struct gc_thread *thread, int index)
{
  uint32_t size = gc_frame_size(thread);

  GC_ASSERT(index > 0 && (uint32_t)index <= size + 1);
  gc_frame_close(thread, thread->frame->base + (uint32_t)index - 1);
}
