/* SPDX-License-Identifier: MIT
 *
 * Coroutines as objects: the stack, which moves when it grows and shrinks,
 * and the chain of call records. What a call does to them is in frame.c, what
 * resuming does in api_thread.c.
 *
 * The stack is one block of stack_size slots, all of them initialised, the
 * last one spare: beyond the limits of all frames (thread.h). Those
 * below `top` are roots. Those above it hold what was there before; the
 * atomic phase clears them, so that no slot refers to freed memory. Open
 * upvalues point into the block and are re-pointed when it moves.
 *
 * The frames form a chain that starts with the record inside the thread. The
 * records after the current one are unused and kept for the next call; the
 * atomic phase frees half of them.
 */
#include "gc/thread.h"

#include "gc/gc_assert.h"
#include "gc/heap.h"

enum {
  STACK_FIRST = 2 * GC_STACK_MIN,
  STACK_BLOCK_MAX = GC_STACK_MAX + GC_STACK_SPARE
};

static const struct gc_value nil = { .tag = GC_TAG_NIL };

_Static_assert(STACK_BLOCK_MAX <= SIZE_MAX / sizeof(struct gc_value),
               "the size of the largest stack fits");

/* ---- birth and death ------------------------------------------------- */

static struct gc_value *
stack_new(struct gc_heap *heap, uint32_t size)
{
  struct gc_value *stack;

  stack = gc_memory_resize(heap, NULL, 0, size * sizeof(struct gc_value));
  if (stack != NULL) {
    for (uint32_t i = 0; i < size; i++) {
      stack[i] = nil;
    }
  }
  return stack;
}

static void
stack_free(struct gc_heap *heap, struct gc_value *stack, uint32_t size)
{
  gc_memory_resize(heap, stack, size * sizeof(struct gc_value), 0);
}

/* The stack first, so that no thread is ever without one. */
struct gc_thread *
gc_thread_new(struct gc_heap *heap)
{
  struct gc_value *stack = stack_new(heap, STACK_FIRST);
  struct gc_thread *thread;
  struct gc_object head;

  if (stack == NULL) {
    return NULL;
  }
  thread = (struct gc_thread *)gc_object_new(heap, GC_KIND_THREAD,
                                             sizeof(struct gc_thread));
  if (thread == NULL) {
    stack_free(heap, stack, STACK_FIRST);
    return NULL;
  }
  head = thread->head;
  *thread = (struct gc_thread){ .head = head,
                                .heap = heap,
                                .stack = stack,
                                .stack_size = STACK_FIRST,
                                .top = 1,
                                .open_next = thread,
                                .status = GC_THREAD_SUSPENDED };
  return thread;
}

void
gc_thread_start(struct gc_thread *thread)
{
  GC_ASSERT(thread->frame == NULL);
  thread->first.previous = NULL;
  thread->first.function = 0;
  thread->first.base = 1;
  thread->first.limit = 1 + GC_STACK_MIN;
  thread->first.flags = 0;
  thread->frame = &thread->first;
  thread->frame_depth = 1;
}

static void
frames_free(struct gc_heap *heap, struct gc_frame *frame)
{
  while (frame != NULL) {
    struct gc_frame *after = frame->next;

    gc_memory_resize(heap, frame, sizeof(struct gc_frame), 0);
    frame = after;
  }
}

/* Upvalues that are younger than their thread have been swept before it: the
 * dead ones have left its list, and the others are closed here. */
void
gc_thread_free(struct gc_heap *heap, struct gc_thread *thread)
{
  uint32_t stack_size = thread->stack_size;

  if (!GC_FAULTY(heap, UPVALUE_OUTLIVES_STACK)) {
    gc_upvalue_close(thread, 0);
  }
  if (GC_FAULTY(heap, STACK_OLD_SIZE)) {
    stack_size--;
  }
  stack_free(heap, thread->stack, stack_size);
  frames_free(heap, thread->first.next);
  if (thread->to_close_capacity > 0 && !GC_FAULTY(heap, TO_CLOSE_LEAK)) {
    gc_memory_resize(heap, thread->to_close,
                     thread->to_close_capacity * sizeof(uint32_t), 0);
  }
  gc_memory_resize(heap, thread, sizeof(struct gc_thread), 0);
}

/* ---- the stack's size ------------------------------------------------ */

/* Moves the stack into a block of another size. The old one is freed last:
 * a failure changes nothing. */
static enum gc_status
stack_resize(struct gc_thread *thread, uint32_t size, bool moves_upvalues)
{
  struct gc_heap *heap = thread->heap;
  struct gc_value *stack = stack_new(heap, size);

  if (stack == NULL) {
    return GC_NO_MEMORY;
  }
  for (uint32_t i = 0; i < thread->stack_size && i < size; i++) {
    stack[i] = thread->stack[i];
  }
  for (struct gc_upvalue *upvalue = thread->open;
       upvalue != NULL && moves_upvalues; upvalue = upvalue->open_next) {
    upvalue->slot = stack + (upvalue->slot - thread->stack);
  }
  stack_free(heap, thread->stack, thread->stack_size);
  thread->stack = stack;
  thread->stack_size = size;
  return GC_OK;
}

enum gc_status
gc_thread_grow(struct gc_thread *thread, uint32_t slots)
{
  uint64_t needed = (uint64_t)thread->top + slots + GC_STACK_SPARE;
  uint64_t size = (uint64_t)thread->stack_size * 2;

  if (needed <= thread->stack_size) {
    return GC_OK;
  }
  if (needed > STACK_BLOCK_MAX) {
    return GC_NO_MEMORY;
  }
  if (size < needed) {
    size = needed;
  }
  if (size > STACK_BLOCK_MAX) {
    size = STACK_BLOCK_MAX;
  }
  return stack_resize(thread, (uint32_t)size,
                      !GC_FAULTY(thread->heap, STACK_MOVE_UPVALUES));
}

void
gc_thread_clear_dead_slots(struct gc_thread *thread)
{
  for (uint32_t i = thread->top; i < thread->stack_size; i++) {
    thread->stack[i] = nil;
  }
}

/* Slots that must stay: what is in use, and what frames were promised. */
static uint32_t
slots_kept(const struct gc_thread *thread)
{
  uint32_t kept = thread->top;

  if (kept < GC_STACK_MIN) {
    kept = GC_STACK_MIN;
  }
  for (const struct gc_frame *frame = thread->frame; frame != NULL;
       frame = frame->previous) {
    if (kept < frame->limit) {
      kept = frame->limit;
    }
  }
  return kept;
}

/* Frees every second one of the unused frames; a single one stays. */
static void
frames_shrink(struct gc_thread *thread)
{
  struct gc_frame *kept
      = thread->frame != NULL ? thread->frame->next : thread->first.next;

  while (kept != NULL && kept->next != NULL) {
    struct gc_frame *victim = kept->next;

    kept->next = victim->next;
    if (kept->next != NULL) {
      kept->next->previous = kept;
    }
    gc_memory_resize(thread->heap, victim, sizeof(struct gc_frame), 0);
    kept = kept->next;
  }
}

/* Without memory for the smaller stack the larger one stays. Whoever asked for
 * memory and got an emergency collection may hold pointers to slots. */
void
gc_thread_shrink(struct gc_thread *thread)
{
  uint32_t kept = slots_kept(thread);

  if (thread->heap->emergency
      && !GC_FAULTY(thread->heap, EMERGENCY_SHRINKS_STACK)) {
    return;
  }
  if (thread->stack_size > kept * 3) {
    stack_resize(thread, kept * 2, true);
  }
  frames_shrink(thread);
}
