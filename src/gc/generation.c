/* SPDX-License-Identifier: MIT
 *
 * Generational mode: ages, minor and major collections, and the change of
 * modes. Owns heap->mode, ->cycle_mode, ->bad_work and the segment pointers.
 * Called by cycle.c for steps and collections, by pace.c, and by whoever moves
 * an object out of `all` or back (gc_segments_...).
 *
 * THE IDEA. Most objects die young. A minor collection marks from the roots,
 * but stops at what is old: an old object stays black from one collection to
 * the next, so the mark does not enter it, and only the young part of each
 * list is swept. An old object that is given a young one is told of by a
 * barrier.
 *
 * THE AGES, and who changes them:
 *   NEW        born since the last collection. The sweep: SURVIVAL, white
 *   SURVIVAL   has lived through one. The sweep: OLD1, keeps its colour
 *   OLD0       made old by the forward barrier in this cycle. The sweep: OLD1
 *   OLD1       old since the last collection; may still refer to SURVIVAL
 *              objects. The next minor visits it again and makes it OLD
 *   OLD        refers to nothing young; not looked at by minor collections
 *   TOUCHED1   old, and written since the last collection (back barrier):
 *              grey, on grey_again. End of the cycle: TOUCHED2, black, listed
 *   TOUCHED2   what it refers to has lived through one collection, and is
 *              old after the next, which visits it: OLD
 * A survivor of two collections is old. All ages in incremental cycles are
 * NEW, but that of the fixed names, which is OLD for ever.
 *
 * AT REST the phase is PROPAGATE and the barriers keep what follows:
 *   a young object is white, but what a forward barrier marked on the way
 *   black OLD refers to old objects only           [ages.old-to-young]
 *   black OLD1 and TOUCHED2 refer to no NEW one    [ages.recent-to-new]
 *   old objects are black, but TOUCHED1 and OLD0 ones, threads and open
 *   upvalues, which are grey                       [ages.colour]
 *   TOUCHED1 is grey, TOUCHED2 black, both on grey_again [ages.touched]
 *   nothing is other white                         [tricolour.other-white]
 * Threads and open upvalues are excused from the first two: they are written
 * without barriers. An old thread is grey and on grey_again for ever; one that
 * has just turned OLD1 is black and on no list, but the next minor collection
 * visits all OLD1 objects. An open upvalue holds a slot of its thread; where
 * the thread dies before it, the atomic phase sees to its value (mark.c).
 *
 * THE SEGMENTS. Births go to the head of `all`, so that it is ordered by age:
 * NEW up to heap->survival, SURVIVAL up to ->old1, OLD1 up to ->really_old,
 * OLD from there on. A part may hold older objects, never younger ones
 * [ages.segment]. `finalizable` has the same parts. Beyond old1 a minor
 * collection does not sweep. first_old1 spares it the search for OLD1 objects
 * in the young parts of `all`.
 *
 * PHASES, all within one step:
 *   minor   PROPAGATE, ATOMIC, SWEEP, SWEEP_FINALIZABLE, SWEEP_PENDING,
 *           SWEEP_END, PROPAGATE; then the finalizers of all pending objects
 *   enter   PAUSE, PROPAGATE, ATOMIC, then as above: the mark is made in one
 *           go, the sweep makes all that lives OLD. The mode event comes as
 *           the phase has turned SWEEP. It is the end of an incremental
 *           cycle as well as the beginning of the generational ones
 *   leave   PROPAGATE, SWEEP (mode event), SWEEP_FINALIZABLE, SWEEP_PENDING,
 *           SWEEP_END, FINALIZE, PAUSE: a mark that is given up. The sweep
 *           finds nothing dead, and makes all white and NEW
 * A major collection leaves and enters in one step, so it is a full one, and
 * all that lives is OLD after it.
 *
 * BAD MAJORS. A major collection pays if it frees at least half of what the
 * heap has grown by since the last. If not, the heap holds what it grew by,
 * and majors would follow each other at great cost for nothing. So bad_work
 * keeps the work of that mark; from then on each step makes a whole
 * incremental cycle, with the pause between two of them, until one has less
 * than 9/8 of the work of the one before: the heap has stopped growing. That
 * one ends as entering does, and generations are back. Its mark is made in
 * one go, PAUSE, PROPAGATE, ATOMIC, SWEEP, in one step; a cycle after which
 * the bad time lasts is finished by the usual steps.
 */
#include "gc/heap.h"

#include "gc/gc_assert.h"

static void
set_cycle_mode(struct gc_heap *heap, enum gc_mode mode)
{
  enum gc_mode before = heap->cycle_mode;

  heap->cycle_mode = mode;
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){
                      .type = GC_EVENT_MODE, .from = before, .to = mode });
  }
}

/* ---- segments -------------------------------------------------------- */

static void
step_over(struct gc_object **place, const struct gc_object *object)
{
  if (*place == object) {
    *place = object->next;
  }
}

void
gc_segments_leave(struct gc_heap *heap, const struct gc_object *object)
{
  step_over(&heap->survival, object);
  step_over(&heap->old1, object);
  step_over(&heap->really_old, object);
  step_over(&heap->first_old1, object);
}

void
gc_segments_return(struct gc_heap *heap, struct gc_object *object)
{
  GC_ASSERT(heap->all == object);
  if (object->age == GC_AGE_OLD1 && !GC_FAULTY(heap, FIRST_OLD1_NOT_BACK)) {
    heap->first_old1 = object;
  }
}

/* A link is the first member of the object that holds it: what comes before a
 * segment, to begin it one object too early. */
static struct gc_object *
segment_at(struct gc_object **link, struct gc_object *const *list, bool early)
{
  return early && link != list ? (struct gc_object *)(void *)link : *link;
}

/* ---- sweeps ---------------------------------------------------------- */

static enum gc_age
age_after(const struct gc_heap *heap, const struct gc_object *object)
{
  switch ((enum gc_age)object->age) {
  case GC_AGE_NEW:
    if (GC_FAULTY(heap, AGE_SURVIVAL_SKIPPED)) {
      return GC_AGE_OLD1;
    }
    return GC_FAULTY(heap, AGE_NEW_TO_OLD) ? GC_AGE_OLD : GC_AGE_SURVIVAL;
  case GC_AGE_SURVIVAL:
  case GC_AGE_OLD0:
    return GC_AGE_OLD1;
  case GC_AGE_OLD1:
  case GC_AGE_OLD:
    return GC_AGE_OLD;
  case GC_AGE_TOUCHED1:
  case GC_AGE_TOUCHED2:
    break; /* they go on with the grey lists */
  }
  return object->age;
}

/* A survivor of a minor collection. */
static void
grow_older(struct gc_heap *heap, struct gc_object *object,
           struct gc_object **first_old1)
{
  enum gc_age age = age_after(heap, object);

  gc_set_age(heap, object, age);
  if (age == GC_AGE_SURVIVAL) {
    gc_set_colour(heap, object, GC_WHITE_CURRENT);
  } else if (age == GC_AGE_OLD1 && *first_old1 == NULL
             && !GC_FAULTY(heap, FIRST_OLD1_UNSET)) {
    *first_old1 = object;
  }
}

/* Sweeps from link up to limit. Gives the link that leads to limit. */
static struct gc_object **
sweep_young(struct gc_heap *heap, struct gc_object **link,
            const struct gc_object *limit, struct gc_object **first_old1)
{
  while (*link != limit && *link != NULL) {
    struct gc_object *object = *link;

    if (!gc_is_dead(heap, object)) {
      grow_older(heap, object, first_old1);
      link = &object->next;
    } else if (GC_FAULTY(heap, SURVIVAL_UNSWEPT)
               && object->age == GC_AGE_SURVIVAL) {
      link = &object->next;
    } else {
      gc_free_first(heap, link);
    }
  }
  return link;
}

/* The segments of `all` move on by one: what was NEW is now SURVIVAL, and so
 * forth. What was OLD1 has been made OLD before the mark. */
static void
sweep_all(struct gc_heap *heap)
{
  struct gc_object **survival;
  struct gc_object **end;

  survival = sweep_young(heap, &heap->all, heap->survival, &heap->first_old1);
  end = sweep_young(heap, survival, heap->old1, &heap->first_old1);
  heap->really_old = segment_at(end, survival,
                                GC_FAULTY(heap, SEGMENT_REALLY_OLD));
  heap->old1 = segment_at(survival, &heap->all,
                          GC_FAULTY(heap, SEGMENT_OLD1));
  if (!GC_FAULTY(heap, SEGMENT_STAYS)) {
    heap->survival = heap->all;
  }
}

static void
sweep_finalizable(struct gc_heap *heap)
{
  struct gc_object *unused = NULL;
  struct gc_object **survival
      = sweep_young(heap, &heap->finalizable, heap->finalizable_survival,
                    &unused);

  sweep_young(heap, survival, heap->finalizable_old1, &unused);
  heap->finalizable_really_old = heap->finalizable_old1;
  heap->finalizable_old1 = GC_FAULTY(heap, SEGMENT_FINALIZABLE)
                               ? heap->finalizable
                               : *survival;
  heap->finalizable_survival = heap->finalizable;
}

/* Threads stay grey, to be visited by every minor collection; an open upvalue
 * is never black. */
static void
make_old(struct gc_heap *heap, struct gc_object *object)
{
  if (GC_FAULTY(heap, ENTER_LEAVES_YOUNG) && object->kind == GC_KIND_TABLE) {
    return;
  }
  gc_set_age(heap, object, GC_AGE_OLD);
  if (object->kind == GC_KIND_THREAD) {
    gc_set_colour(heap, object, GC_GREY);
    gc_grey_push(heap, object, GC_GREY_AGAIN);
  } else if (object->kind == GC_KIND_UPVALUE
             && gc_upvalue_is_open((struct gc_upvalue *)object)) {
    gc_set_colour(heap, object, GC_GREY);
  } else {
    gc_set_colour(heap, object, GC_BLACK);
  }
}

static void
sweep_to_old(struct gc_heap *heap, struct gc_object **link)
{
  while (*link != NULL) {
    if (gc_is_dead(heap, *link)) {
      gc_free_first(heap, link);
    } else {
      make_old(heap, *link);
      link = &(*link)->next;
    }
  }
}

static void
sweep_to_new(struct gc_heap *heap, struct gc_object *object)
{
  for (; object != NULL; object = object->next) {
    bool is_table = object->kind == GC_KIND_TABLE;

    if (!is_table || !GC_FAULTY(heap, LEAVE_KEEPS_AGE)) {
      gc_set_age(heap, object, GC_AGE_NEW);
    }
    if (!is_table || !GC_FAULTY(heap, LEAVE_KEEPS_BLACK)) {
      gc_set_colour(heap, object, GC_WHITE_CURRENT);
    }
  }
}

/* ---- the end of a collection ----------------------------------------- */

/* Whether what waits on grey_again is kept for the next collection: an old
 * thread for ever, as it is; what was touched since the last one once more,
 * black. Nothing else waits when the mark is over. */
static bool
stays_listed(struct gc_heap *heap, struct gc_object *object)
{
  if (object->age != GC_AGE_TOUCHED1) {
    GC_ASSERT(object->kind == GC_KIND_THREAD);
    return true;
  }
  if (GC_FAULTY(heap, TOUCHED_DROPPED)) {
    return false;
  }
  gc_set_colour(heap, object, GC_BLACK);
  gc_set_age(heap, object, GC_AGE_TOUCHED2);
  return !GC_FAULTY(heap, TOUCHED2_EARLY);
}

static void
correct_grey_again(struct gc_heap *heap)
{
  struct gc_object *kept = NULL;
  struct gc_object *object;

  while ((object = gc_grey_pop(heap, GC_GREY_AGAIN)) != NULL) {
    if (stays_listed(heap, object)) {
      *gc_grey_link(object) = kept;
      kept = object;
    }
  }
  while (kept != NULL) {
    object = kept;
    kept = *gc_grey_link(object);
    gc_grey_push(heap, object, GC_GREY_AGAIN);
  }
}

/* Finalizers come before the debt is set: what they make is in use. */
static void
finish(struct gc_heap *heap)
{
  gc_set_phase(heap, GC_PHASE_SWEEP_END);
  correct_grey_again(heap);
  gc_string_table_shrink(heap);
  gc_set_phase(heap, GC_PHASE_PROPAGATE);
  gc_finalize_all(heap);
  gc_pace_after_minor(heap);
}

/* ---- minor collections ----------------------------------------------- */

/* OLD1 objects become OLD, and are visited once more on the way: what they
 * refer to may be SURVIVAL. */
static void
requeue(struct gc_heap *heap, struct gc_object *object)
{
  if (object->age != GC_AGE_OLD1 || GC_FAULTY(heap, AGE_OLD1_STAYS)) {
    return;
  }
  gc_set_age(heap, object, GC_AGE_OLD);
  if (!GC_FAULTY(heap, OLD1_NOT_QUEUED)) {
    gc_mark_requeue(heap, object);
  }
}

static void
requeue_list(struct gc_heap *heap, struct gc_object *object,
             const struct gc_object *limit)
{
  for (; object != NULL && object != limit; object = object->next) {
    requeue(heap, object);
  }
}

static void
requeue_old1(struct gc_heap *heap)
{
  if (heap->first_old1 != NULL) {
    requeue_list(heap, heap->first_old1, heap->really_old);
    heap->first_old1 = NULL;
  }
  requeue_list(heap, heap->finalizable, heap->finalizable_really_old);
  requeue_list(heap, heap->pending, NULL);
}

static size_t
minor(struct gc_heap *heap)
{
  struct gc_object *unused = NULL;
  size_t cost;

  GC_ASSERT(heap->phase == GC_PHASE_PROPAGATE);
  requeue_old1(heap);
  if (GC_FAULTY(heap, MINOR_FREES_NOTHING)) {
    for (struct gc_object *object = heap->all; object != heap->survival;
         object = object->next) {
      gc_mark_object(heap, object);
    }
  }
  cost = gc_mark_atomic(heap);
  gc_set_phase(heap, GC_PHASE_SWEEP);
  sweep_all(heap);
  gc_set_phase(heap, GC_PHASE_SWEEP_FINALIZABLE);
  sweep_finalizable(heap);
  gc_set_phase(heap, GC_PHASE_SWEEP_PENDING);
  sweep_young(heap, &heap->pending, NULL, &unused);
  finish(heap);
  return cost;
}

/* ---- entering and leaving -------------------------------------------- */

/* The mark of an incremental cycle in one go, up to the flip. */
static size_t
mark_at_once(struct gc_heap *heap)
{
  GC_ASSERT(heap->phase == GC_PHASE_PAUSE);
  gc_mark_start(heap);
  gc_set_phase(heap, GC_PHASE_PROPAGATE);
  return gc_mark_atomic(heap);
}

/* All parts of both lists begin with these objects: the first ones when all are
 * OLD, NULL when cycles are incremental. */
static void
set_segments(struct gc_heap *heap, struct gc_object *all,
             struct gc_object *finalizable)
{
  heap->survival = heap->old1 = heap->really_old = all;
  heap->first_old1 = NULL;
  heap->finalizable_survival = heap->finalizable_old1 = finalizable;
  heap->finalizable_really_old = finalizable;
}

/* After the flip: all that lives becomes OLD. */
static void
make_all_old(struct gc_heap *heap)
{
  gc_set_phase(heap, GC_PHASE_SWEEP);
  set_cycle_mode(heap, GC_MODE_GENERATIONAL);
  sweep_to_old(heap, &heap->all);
  gc_set_phase(heap, GC_PHASE_SWEEP_FINALIZABLE);
  sweep_to_old(heap, &heap->finalizable);
  gc_set_phase(heap, GC_PHASE_SWEEP_PENDING);
  sweep_to_old(heap, &heap->pending);
  set_segments(heap, heap->all, heap->finalizable);
  heap->bad_work = 0;
  heap->estimate = (int64_t)gc_bytes(heap);
  finish(heap);
}

static size_t
enter(struct gc_heap *heap)
{
  size_t cost = mark_at_once(heap);

  make_all_old(heap);
  return cost;
}

static void
leave(struct gc_heap *heap)
{
  GC_ASSERT(heap->phase == GC_PHASE_PROPAGATE);
  gc_mark_abandon(heap);
  gc_set_phase(heap, GC_PHASE_SWEEP);
  set_cycle_mode(heap, GC_MODE_INCREMENTAL);
  set_segments(heap, NULL, NULL);
  sweep_to_new(heap, heap->all);
  gc_set_phase(heap, GC_PHASE_SWEEP_FINALIZABLE);
  sweep_to_new(heap, heap->finalizable);
  gc_set_phase(heap, GC_PHASE_SWEEP_PENDING);
  sweep_to_new(heap, heap->pending);
  gc_set_phase(heap, GC_PHASE_SWEEP_END);
  gc_set_phase(heap, GC_PHASE_FINALIZE);
  gc_set_phase(heap, GC_PHASE_PAUSE);
}

void
gc_generation_leave(struct gc_heap *heap)
{
  if (heap->cycle_mode == GC_MODE_GENERATIONAL) {
    gc_step_begin(heap);
    leave(heap);
    gc_step_end(heap);
  }
}

/* ---- major collections ----------------------------------------------- */

static size_t
full(struct gc_heap *heap)
{
  leave(heap);
  return enter(heap);
}

void
gc_generation_collect(struct gc_heap *heap)
{
  gc_step_begin(heap);
  full(heap);
  gc_step_end(heap);
}

static size_t
major(struct gc_heap *heap)
{
  int64_t base = heap->estimate;
  int64_t growth = gc_pace_major_growth(heap, base);
  size_t cost = full(heap);

  /* A bad one: the pause, instead of what a good one ends with. */
  if ((int64_t)gc_bytes(heap) - base >= growth / 2) {
    heap->bad_work = GC_FAULTY(heap, BAD_IGNORED) ? 0 : (int64_t)cost;
    gc_pace_after_cycle(heap);
  }
  return cost;
}

static size_t
cycle_after_bad(struct gc_heap *heap)
{
  int64_t last = heap->bad_work;
  size_t cost;
  bool good;

  gc_generation_leave(heap);
  gc_step_begin(heap);
  cost = mark_at_once(heap);
  good = (int64_t)cost < last + last / 8 && !GC_FAULTY(heap, BAD_FOR_EVER);
  if (good) {
    make_all_old(heap);
  } else {
    gc_sweep_enter(heap);
    heap->estimate = (int64_t)gc_bytes(heap);
    heap->bad_work = (int64_t)cost;
  }
  gc_step_end(heap);
  if (!good) {
    gc_run_until(heap, GC_PHASE_PAUSE);
    gc_pace_after_cycle(heap);
  }
  return cost;
}

size_t
gc_generation_step(struct gc_heap *heap)
{
  size_t cost;

  if (heap->bad_work != 0) {
    return cycle_after_bad(heap);
  }
  gc_step_begin(heap);
  cost = gc_pace_is_major_due(heap) ? major(heap) : minor(heap);
  gc_step_end(heap);
  return cost;
}

/* ---- modes ----------------------------------------------------------- */

enum gc_mode
gc_mode_of(const struct gc_heap *heap)
{
  return heap->mode;
}

/* A cycle that is under way is finished first. The debt is left as it is when
 * incremental cycles begin: the first starts when the next minor collection
 * would have been due. */
enum gc_mode
gc_set_mode(struct gc_heap *heap, enum gc_mode mode)
{
  enum gc_mode before = heap->mode;

  if (heap->finalizing) {
    return before;
  }
  heap->mode = mode;
  if (mode == GC_MODE_INCREMENTAL) {
    gc_generation_leave(heap);
  } else if (heap->cycle_mode == GC_MODE_INCREMENTAL) {
    gc_run_until(heap, GC_PHASE_PAUSE);
    gc_step_begin(heap);
    enter(heap);
    gc_step_end(heap);
  }
  heap->bad_work = 0;
  return before;
}
