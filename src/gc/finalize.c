/* SPDX-License-Identifier: MIT
 *
 * Finalizers: marking objects for them, finding those that are due, calling
 * them. Owns heap->finalizable, heap->pending, heap->finalizing and
 * heap->closing.
 *
 *   all --mark--> finalizable --separate--> pending --call--> all
 *
 * MARKING. Setting a metatable that has a __gc marks a table or userdata: it
 * moves from `all` to the head of `finalizable`. A __gc that is added to the
 * metatable later marks nothing. The object is searched for in `all`, which is
 * quick for a young one, the usual case.
 *
 * SEPARATION. In the atomic phase, when all that is reachable is marked, the
 * white objects of `finalizable` go to the end of `pending`, in list order:
 * those marked last come first, after those that are still pending
 * [finalizers.order]. Then everything pending is marked, with all that it
 * leads to, and lives until it has been called [finalizers.same-cycle].
 *
 * A CALL. The object goes back to the head of `all` first and is no longer
 * marked. So its finalizer may mark it again, and the next cycle frees it if
 * nobody has made it reachable. The metatable's __gc as it is then is called,
 * a native function, in a frame of its own on the running coroutine, with the
 * object as its only argument; nothing at all if it is nil by now. An error
 * ends there and becomes a warning, as does a __gc that cannot be called;
 * the others are called all the same [finalizers.error, .lost]. No step and no
 * collection is made inside a finalizer, but by an emergency.
 *
 * FAILURE. A call needs room on the stack and a frame record. Both are made
 * sure of before an object is taken from `pending`; without them the calls
 * wait for the next cycle. At close there is always room: the main coroutine's
 * stack is empty, and its first record was made when the heap was opened.
 *
 * THE SWEEP may stand on any object that leaves a list here, by the link that
 * is in it; it then goes back to the link before. What leaves a list while
 * sweeping is alive and turns current white at once, for it may have left the
 * part that is still to be swept for one that has been.
 */
#include <stdio.h>

#include "gc/api_internal.h"
#include "gc/thread.h"

/* ---- lists ----------------------------------------------------------- */

/* Takes the object that *link points to out of its list. */
static struct gc_object *
take(struct gc_heap *heap, struct gc_object **link)
{
  struct gc_object *object = *link;

  if (heap->sweep == &object->next && !GC_FAULTY(heap, SWEEP_LINK_LOST)) {
    heap->sweep = link;
  }
  *link = object->next;
  return object;
}

static void
put(struct gc_object **link, struct gc_object *object)
{
  object->next = *link;
  *link = object;
}

static struct gc_object **
end_of(struct gc_object **link)
{
  while (*link != NULL) {
    link = &(*link)->next;
  }
  return link;
}

static void
whiten_if_sweeping(struct gc_heap *heap, struct gc_object *object)
{
  if (gc_is_sweeping(heap)) {
    gc_set_colour(heap, object, GC_WHITE_CURRENT);
  }
}

/* ---- marking --------------------------------------------------------- */

static const struct gc_value *
finalizer_of(const struct gc_heap *heap, struct gc_object *object)
{
  struct gc_value value = { .tag = GC_TAG_OBJECT, .as.object = object };

  return gc_metafield(heap, &value, GC_NAME_GC);
}

/* Whether a fault leaves the object unmarked. */
static bool
is_overlooked(const struct gc_heap *heap, const struct gc_object *object)
{
  return (GC_FAULTY(heap, MARKED_IN_SWEEP_LOST) && gc_is_sweeping(heap))
         || (GC_FAULTY(heap, REMARK_IGNORED) && heap->finalizing)
         || (GC_FAULTY(heap, USERDATA_UNFINALIZED)
             && object->kind == GC_KIND_USERDATA);
}

void
gc_finalize_mark(struct gc_heap *heap, struct gc_object *object)
{
  struct gc_object **link = &heap->all;

  if ((object->mark & GC_MARK_FINALIZABLE) || heap->closing
      || finalizer_of(heap, object) == NULL || is_overlooked(heap, object)) {
    return;
  }
  object->mark |= GC_MARK_FINALIZABLE;
  if (GC_FAULTY(heap, MARKED_STAYS_IN_ALL)) {
    return;
  }
  while (*link != object) {
    link = &(*link)->next;
  }
  gc_segments_leave(heap, object);
  take(heap, link);
  put(&heap->finalizable, object);
  whiten_if_sweeping(heap, object);
  gc_tell_list(heap, object, GC_LIST_ALL, GC_LIST_FINALIZABLE);
}

/* ---- separation ------------------------------------------------------ */

/* Whether an object of `finalizable` is due. With a fault the oldest one is,
 * dead or not. */
static bool
is_due(const struct gc_heap *heap, const struct gc_object *object)
{
  return gc_is_white(object)
         || (GC_FAULTY(heap, FINALIZER_OF_LIVE) && object->next == NULL);
}

/* Moves objects from `finalizable` to the end of `pending`: those that are
 * due and lie before `end`, or all. */
static void
separate(struct gc_heap *heap, const struct gc_object *end, bool all)
{
  struct gc_object **to = end_of(&heap->pending);
  struct gc_object **link = &heap->finalizable;

  if (GC_FAULTY(heap, NEW_BATCH_FIRST)) {
    to = &heap->pending;
  }
  while (*link != end) {
    struct gc_object *object = *link;

    if (!all && !is_due(heap, object)) {
      link = &object->next;
      continue;
    }
    if (heap->finalizable_survival == object) {
      heap->finalizable_survival = object->next;
    }
    take(heap, link);
    put(to, object);
    if (!GC_FAULTY(heap, FINALIZERS_FORWARD)) {
      to = &object->next;
    }
    gc_tell_list(heap, object, GC_LIST_FINALIZABLE, GC_LIST_PENDING);
  }
}

void
gc_finalize_separate(struct gc_heap *heap)
{
  separate(heap, heap->finalizable_old1, false);
}

/* ---- calls ----------------------------------------------------------- */

bool
gc_is_finalizing(const struct gc_heap *heap)
{
  return heap->finalizing;
}

/* Makes room for a call, if there may be one. */
static bool
prepare_call(struct gc_heap *heap)
{
  return !heap->finalizing
         && (!heap->emergency || GC_FAULTY(heap, FINALIZERS_IN_EMERGENCY))
         && gc_frame_native_room(heap->running, 1) == GC_OK;
}

static void
tell_finalizer(struct gc_heap *heap, enum gc_event_type type,
               const struct gc_object *object, bool raised)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = type,
                                      .object = object,
                                      .to = raised });
  }
}

/* error: its value, or NULL if there is none. */
static void
warn(struct gc_heap *heap, const struct gc_value *error)
{
  enum { SHOWN_MAX = 60 };
  char text[SHOWN_MAX + 32];
  const char *shown = "not callable";

  if (GC_FAULTY(heap, ERROR_UNWARNED)) {
    return;
  }
  if (error != NULL) {
    shown = "error object is not a string";
    if (gc_value_is_string(error)) {
      shown = ((const struct gc_string *)error->as.object)->bytes;
    }
  }
  snprintf(text, sizeof(text), "error in __gc (%.*s)", SHOWN_MAX, shown);
  if (heap->warn != NULL) {
    heap->warn(heap->user, text);
  }
  gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_WARNING });
}

/* Takes the first pending object and makes it an ordinary one. */
static struct gc_object *
take_pending(struct gc_heap *heap)
{
  struct gc_object *object = take(heap, &heap->pending);

  put(&heap->all, object);
  gc_segments_return(heap, object);
  if (!GC_FAULTY(heap, FINALIZER_MARK_STAYS)) {
    object->mark &= (uint8_t)~GC_MARK_FINALIZABLE;
  }
  whiten_if_sweeping(heap, object);
  gc_tell_list(heap, object, GC_LIST_PENDING, GC_LIST_ALL);
  return object;
}

#if PENUMBRA_FAULTS
/* What some faults do to finalizers that are due. */
static void
forget_pending(struct gc_heap *heap)
{
  while (heap->pending != NULL) {
    take_pending(heap);
  }
}
#else
#define forget_pending(heap) ((void)(heap))
#endif

/* Steps and emergency collections are a matter of the mutator again while it
 * runs the finalizer. */
static void
call(struct gc_heap *heap, gc_native function, struct gc_object *object)
{
  struct gc_thread *thread = heap->running;
  struct gc_value value = { .tag = GC_TAG_OBJECT, .as.object = object };
  bool stepping = heap->stepping;
  bool raised;

  tell_finalizer(heap, GC_EVENT_FINALIZER, object, false);
  gc_frame_native_enter(thread, function, &value, 1, GC_FRAME_FINALIZER);
  heap->stepping = false;
  heap->finalizing = true;
  function(thread);
  heap->finalizing = false;
  heap->stepping = stepping;
  GC_ASSERT(heap->running == thread);
  raised = thread->frame->flags & GC_FRAME_RAISED;
  if (raised) {
    warn(heap, gc_slot(thread, -1));
  }
  gc_frame_native_leave(thread);
  tell_finalizer(heap, GC_EVENT_FINALIZED, object, raised);
  if (raised && GC_FAULTY(heap, FINALIZERS_LOST_ON_ERROR)) {
    forget_pending(heap);
  }
}

/* Deals with the first pending object; prepare_call has made room. */
static void
finalize_first(struct gc_heap *heap)
{
  struct gc_object *object = take_pending(heap);
  const struct gc_value *finalizer = finalizer_of(heap, object);
  gc_native function;

  if (finalizer == NULL) {
    return;
  }
  if (finalizer->tag != GC_TAG_NATIVE) {
    warn(heap, NULL);
    return;
  }
  function = finalizer->as.native;
  call(heap, function, object);
  if (GC_FAULTY(heap, FINALIZER_TWICE)) {
    call(heap, function, object);
  }
  if (GC_FAULTY(heap, FINALIZED_FREED) && heap->all == object) {
    gc_segments_leave(heap, object);
    gc_free_first(heap, &heap->all);
  }
}

size_t
gc_finalize_some(struct gc_heap *heap, size_t limit)
{
  size_t count = 0;

  while (count < limit && heap->pending != NULL && prepare_call(heap)) {
    finalize_first(heap);
    count++;
  }
  return count;
}

/* Those that are pending now. An emergency collection inside one may append
 * more, also what that one has made or marked again: these wait for the next
 * collection, else finalizers that need memory could keep each other going for
 * ever. */
void
gc_finalize_all(struct gc_heap *heap)
{
  size_t count = 0;

  for (struct gc_object *object = heap->pending; object != NULL;
       object = object->next) {
    count++;
  }
  if (GC_FAULTY(heap, FINALIZERS_WITHOUT_END)) {
    count = SIZE_MAX;
  }
  gc_finalize_some(heap, GC_FAULTY(heap, MINOR_CALLS_ONE) ? 1 : count);
}

void
gc_finalize_close(struct gc_heap *heap)
{
  GC_ASSERT(!heap->finalizing);
  GC_ASSERT(heap->cycle_mode == GC_MODE_INCREMENTAL);
  heap->closing = true;
  if (GC_FAULTY(heap, CLOSE_FORGETS_PENDING)) {
    forget_pending(heap);
  }
  if (!GC_FAULTY(heap, CLOSE_FORGETS_FINALIZABLE)) {
    separate(heap, NULL, true);
  }
  gc_finalize_some(heap, SIZE_MAX);
}
