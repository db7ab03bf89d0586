/* SPDX-License-Identifier: MIT
 *
 * The write barriers. While the mark runs, no black object may refer to a
 * white one [tricolour.black-to-white]; a store that makes one do so calls
 * one of these right after it, before any step can run.
 *
 *   forward  the child is marked: the wave of marking moves on. For parents
 *            that are seldom written, and never again once built.
 *   back     the parent turns grey again and waits on grey_again for the
 *            atomic phase: the wave is taken back over it. For parents that
 *            are written again and again; further stores cost nothing, since
 *            it is no longer black.
 *
 * In generational mode the mark never rests: what is old stays black, and a
 * barrier is also what tells a minor collection of the few old objects that
 * it must look at [ages.old-to-young].
 *
 *   forward  under an old parent the child, once marked, is OLD0: old at the
 *            end of the cycle's sweep, like its parent. Its own children are
 *            marked by the next minor collection.
 *   back     an old parent is TOUCHED1, whatever old age it had. A TOUCHED2
 *            one is still on grey_again, so it is only painted.
 *
 * There a barrier is needed as well when the child is young and marked. The
 * forward barrier, where it meets a closed upvalue or a userdata without user
 * values, marks at once what these refer to, and that stays young. Grey or
 * black, it is SURVIVAL and white after the next minor collection. A second
 * old parent that got it without a barrier would then refer to a young object
 * [ages.old-to-young], and if the first one lets go of it, to a freed one.
 *
 * Threads need neither: they stay grey until the atomic phase. Nor do open
 * upvalues, which are grey and whose values the atomic phase looks after.
 *
 * While sweeping there is no invariant to keep. What is still black there is
 * alive and not yet swept, so both barriers do early what the sweep would do
 * anyway: they whiten the parent, which spares it further barriers. Lua 5.4
 * differs in the back barrier, which links the parent as a grey object into
 * a list also while sweeping. To a mutator it is the same: there too the
 * parent stays alive, the sweep whitens it, and the list is dropped unread
 * when the next mark starts. But a list that nobody reads holds memory that
 * may be freed under it; here no list ever does [safety.dangling-list].
 * Outside mark and sweep no object is black and no barrier is taken.
 */
#include "gc/heap.h"

static void
tell_barrier(struct gc_heap *heap, const struct gc_object *parent,
             const struct gc_object *child, bool back, bool taken)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_BARRIER,
                                      .object = parent,
                                      .other = child,
                                      .from = back,
                                      .to = taken });
  }
}

/* Whether a fault drops the barrier: the call site's own, or that of all. */
static bool
is_dropped(const struct gc_heap *heap, enum gc_fault dropped_by)
{
#if PENUMBRA_FAULTS
  if (heap->fault != GC_FAULT_NONE && heap->fault == dropped_by) {
    return true;
  }
  return GC_FAULTY(heap, BARRIERS_END_EARLY)
         && heap->phase == GC_PHASE_ENTER_ATOMIC;
#else
  (void)heap;
  (void)dropped_by;
  return false;
#endif
}

/* The sweeps of generational cycles whiten no old object, and what they may
 * still close there needs no barrier (mark.c, step 2 of the atomic phase). */
static bool
is_needed(const struct gc_heap *heap, const struct gc_object *parent,
          const struct gc_object *child)
{
  if (!gc_is_black(parent)
      || (heap->cycle_mode == GC_MODE_GENERATIONAL
          && !gc_keeps_invariant(heap))) {
    return false;
  }
  return gc_is_white(child)
         || (gc_is_old(parent) && !gc_is_old(child)
             && !GC_FAULTY(heap, MARKED_CHILD_UNSEEN));
}

static void
mark_forward(struct gc_heap *heap, struct gc_object *parent,
             struct gc_object *child)
{
  if (GC_FAULTY(heap, FORWARD_MARKS_PARENT)) {
    gc_mark_object(heap, parent);
  } else if (GC_FAULTY(heap, FORWARD_GREY_UNLISTED)) {
    gc_set_colour(heap, child, GC_GREY);
  } else if (GC_FAULTY(heap, FORWARD_WHITENS_PARENT)) {
    gc_set_colour(heap, parent, GC_WHITE_CURRENT);
  } else {
    gc_mark_object(heap, child);
  }
  if (!GC_FAULTY(heap, OLD0_NOT_SET)) {
    gc_age_child(heap, parent, child);
  }
}

static void
grey_again(struct gc_heap *heap, struct gc_object *parent)
{
  if (!GC_FAULTY(heap, BACK_LISTED_BLACK)) {
    gc_set_colour(heap, parent, GC_GREY);
  }
  if (!GC_FAULTY(heap, BACK_GREY_UNLISTED)
      && (parent->age != GC_AGE_TOUCHED2
          || GC_FAULTY(heap, TOUCHED2_LISTED_TWICE))) {
    gc_grey_push(heap, parent, GC_GREY_AGAIN);
  }
  if (gc_is_old(parent) && !GC_FAULTY(heap, TOUCHED_NOT_SET)) {
    gc_set_age(heap, parent, GC_AGE_TOUCHED1);
  }
  if (GC_FAULTY(heap, BACK_LISTED_TWICE) && heap->grey == NULL) {
    heap->grey = parent;
  }
}

/* Whether the barrier has something to do; tells of it. */
static bool
is_taken(struct gc_heap *heap, struct gc_object *parent,
         struct gc_object *child, bool back, enum gc_fault dropped_by)
{
  bool taken;

  if (is_dropped(heap, dropped_by)) {
    return false;
  }
  taken = is_needed(heap, parent, child);
  tell_barrier(heap, parent, child, back, taken);
  return taken;
}

void
gc_barrier_forward(struct gc_heap *heap, struct gc_object *parent,
                   struct gc_object *child, enum gc_fault dropped_by)
{
  if (!is_taken(heap, parent, child, false, dropped_by)) {
    return;
  }
  if (gc_keeps_invariant(heap)) {
    mark_forward(heap, parent, child);
  } else if (gc_is_sweeping(heap)) {
    gc_set_colour(heap, parent, GC_WHITE_CURRENT);
  }
}

void
gc_barrier_back(struct gc_heap *heap, struct gc_object *parent,
                struct gc_object *child, enum gc_fault dropped_by)
{
  if ((GC_FAULTY(heap, TOUCHED2_UNSEEN) && parent->age == GC_AGE_TOUCHED2)
      || !is_taken(heap, parent, child, true, dropped_by)) {
    return;
  }
  if (gc_keeps_invariant(heap)) {
    grey_again(heap, parent);
  } else if (gc_is_sweeping(heap)) {
    gc_set_colour(heap, parent, GC_WHITE_CURRENT);
  }
}
