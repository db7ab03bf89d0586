/* SPDX-License-Identifier: MIT
 *
 * gc.h, part "coroutines".
 *
 * heap->running is the coroutine that has control; it was resumed by its
 * `resumer`, which is normal and waits, and so on to the main one. While one
 * runs it stays on its resumer's stack, so the whole chain is reachable from
 * the main coroutine. When it gives control back, what it gives takes its
 * place there.
 *
 *   SUSPENDED -> RUNNING       resume
 *   RUNNING <-> NORMAL         it resumes another, and is back
 *   RUNNING -> SUSPENDED       yield
 *   RUNNING -> FINISHED        finish
 *   RUNNING -> FAILED          an error that no frame of it catches
 *   SUSPENDED, FAILED -> FINISHED   close
 */
#include <string.h>

#include "gc/api_internal.h"
#include "gc/thread.h"

enum gc_status
gc_new_thread(struct gc_thread *thread)
{
  struct gc_thread *coroutine = gc_thread_new(thread->heap);
  struct gc_value *top;

  if (coroutine == NULL) {
    return GC_NO_MEMORY;
  }
  top = gc_slot(thread, -1);
  coroutine->stack[0] = *top;
  top->tag = GC_TAG_OBJECT;
  top->as.object = &coroutine->head;
  gc_check(thread);
  return GC_OK;
}

enum gc_thread_status
gc_status_of(const struct gc_thread *thread)
{
  return thread->status;
}

bool
gc_is_started(const struct gc_thread *thread)
{
  return thread->frame != NULL || thread->status != GC_THREAD_SUSPENDED;
}

/* ---- resuming -------------------------------------------------------- */

/* Room for what a resume passes, and the first frame if it has none. */
static enum gc_status
prepare(struct gc_thread *coroutine, uint32_t count, uint32_t slots)
{
  if (coroutine->frame != NULL) {
    return gc_reserve(coroutine, count);
  }
  if (gc_frame_room(coroutine, 1, slots > count ? slots : count) != GC_OK) {
    return GC_NO_MEMORY;
  }
  gc_thread_start(coroutine);
  return GC_OK;
}

static void
copy_values(struct gc_thread *to, uint32_t slot, const struct gc_thread *from,
            uint32_t count)
{
  memcpy(&to->stack[slot], &from->stack[from->top - count],
         count * sizeof(struct gc_value));
}

enum gc_status
gc_resume(struct gc_thread *from, uint32_t count, uint32_t slots)
{
  struct gc_thread *coroutine;
  struct gc_heap *heap = from->heap;
  bool starts;

  GC_ASSERT(heap->running == from);
  GC_ASSERT(count < gc_frame_size(from));
  coroutine = gc_to_thread(from, -(int)count - 1);
  GC_ASSERT(coroutine->status == GC_THREAD_SUSPENDED);
  starts = coroutine->frame == NULL;
  if (prepare(coroutine, count, slots) != GC_OK) {
    return GC_NO_MEMORY;
  }
  copy_values(coroutine, coroutine->top, from, count);
  coroutine->top += count;
  if (starts) {
    gc_frame_fill(coroutine, slots);
  }
  from->top -= count;
  if (GC_FAULTY(heap, RESUME_ANCHOR)) {
    from->stack[from->top - 1].tag = GC_TAG_NIL;
  }
  from->status = GC_THREAD_NORMAL;
  coroutine->status = GC_THREAD_RUNNING;
  coroutine->resumer = from;
  heap->running = coroutine;
  gc_check(coroutine);
  return GC_OK;
}

/* ---- giving control back --------------------------------------------- */

/* Makes room at the resumer for count values in place of the coroutine. */
static enum gc_status
prepare_return(const struct gc_thread *thread, uint32_t count)
{
  GC_ASSERT(thread->heap->running == thread);
  GC_ASSERT(thread->resumer != NULL);
  return count <= 1 ? GC_OK : gc_reserve(thread->resumer, count - 1);
}

/* The top count values leave the coroutine's stack and take its place on the
 * resumer's, and the resumer runs. */
static struct gc_thread *
give_back(struct gc_thread *thread, uint32_t count)
{
  struct gc_thread *resumer = thread->resumer;

  copy_values(resumer, resumer->top - 1, thread, count);
  if (!GC_FAULTY(thread->heap, YIELD_KEEPS)) {
    thread->top -= count;
  }
  resumer->top += count - 1;
  resumer->status = GC_THREAD_RUNNING;
  thread->resumer = NULL;
  thread->heap->running = resumer;
  return resumer;
}

/* Whether the coroutine, which has control, is inside a finalizer. */
static bool
runs_finalizer(const struct gc_thread *thread)
{
  const struct gc_frame *frame = thread->frame;

  if (!thread->heap->finalizing) {
    return false;
  }
  while (frame != NULL && !(frame->flags & GC_FRAME_FINALIZER)) {
    frame = frame->previous;
  }
  return frame != NULL;
}

enum gc_status
gc_yield(struct gc_thread *thread, uint32_t count)
{
  GC_ASSERT(count <= gc_frame_size(thread));
  if (runs_finalizer(thread)) {
    return GC_ERROR;
  }
  if (prepare_return(thread, count) != GC_OK) {
    return GC_NO_MEMORY;
  }
  thread->status = GC_THREAD_SUSPENDED;
  gc_check(give_back(thread, count));
  return GC_OK;
}

/* Its frames are gone, and with them all that it refers to. */
static void
drop_everything(struct gc_thread *thread)
{
  thread->frame = NULL;
  thread->frame_depth = 0;
  thread->top = 0;
  thread->status = GC_THREAD_FINISHED;
}

enum gc_status
gc_finish(struct gc_thread *thread, uint32_t count)
{
  struct gc_thread *resumer;

  GC_ASSERT(thread->frame == &thread->first);
  GC_ASSERT(count <= gc_frame_size(thread));
  if (prepare_return(thread, count) != GC_OK) {
    return GC_NO_MEMORY;
  }
  gc_frame_close(thread, thread->first.base);
  resumer = give_back(thread, count);
  drop_everything(thread);
  gc_check(resumer);
  return GC_OK;
}

void
gc_fail(struct gc_thread *thread)
{
  GC_ASSERT(thread->status == GC_THREAD_FAILED);
  GC_ASSERT(gc_frame_size(thread) > 0);
  GC_ASSERT(thread->resumer != NULL);
  give_back(thread, 1);
}

void
gc_thread_close(struct gc_thread *thread)
{
  GC_ASSERT(thread->heap->running != thread);
  GC_ASSERT(thread->status != GC_THREAD_NORMAL);
  if (thread->frame != NULL) {
    gc_thread_unwind(thread);
  }
  drop_everything(thread);
}
