/* SPDX-License-Identifier: MIT
 *
 * The cycle: which phase follows which, and what one micro-step does. Owns
 * heap->phase (through gc_set_phase) and heap->stepping. Does not decide when
 * steps are made: pace.c and the host do.
 *
 * A cycle goes through these phases, always in this order:
 *
 *   phase              one micro-step does              then
 *   PAUSE              marks the roots                  PROPAGATE
 *   PROPAGATE          visits one grey object;          stays
 *                      if there is none, nothing        ENTER_ATOMIC
 *   ENTER_ATOMIC       the whole ATOMIC phase, flip,    SWEEP
 *                      sweeps up to the first live
 *                      object, takes the estimate
 *   SWEEP              sweeps a batch of `all`;         stays
 *                      if all is swept, nothing         SWEEP_FINALIZABLE
 *   SWEEP_FINALIZABLE  the same with `finalizable`      SWEEP_PENDING
 *   SWEEP_PENDING      the same with `pending`          SWEEP_END
 *   SWEEP_END          shrinks the string table         FINALIZE
 *   FINALIZE           calls a batch of finalizers;     stays
 *                      if there are none, or none may   PAUSE
 *                      be called now, nothing
 *
 * The mutator runs between any two micro-steps, so it sees every phase but
 * ATOMIC [tricolour.atomic-interrupted]. From PROPAGATE to ATOMIC black never
 * refers to white; from SWEEP to SWEEP_END it may (mark.c says where and
 * why). In the pause everything but fixed names is current white
 * [tricolour.pause-white], so the next cycle starts without touching a thing.
 *
 * WHAT A CYCLE FREES. An object that is unreachable when the cycle starts
 * dies in it. One that becomes unreachable while it is being marked may have
 * been reached already and then waits for the next cycle. One that is born
 * while marking is white and dies in this cycle if nothing reaches it; one
 * born after the flip has the new current white and cannot die in it.
 *
 * A FULL COLLECTION must free whatever is unreachable when it is asked for,
 * also what the running cycle has reached already. So a mark that is under
 * way is given up: its grey lists are emptied and everything is swept without
 * a flip, which finds nothing dead and makes all current white. (This is the
 * one way from PROPAGATE or ENTER_ATOMIC to SWEEP that passes ATOMIC by.) A
 * sweep that is under way is finished. Then comes a whole cycle. Each part is
 * made of micro-steps, and giving up is one, so whoever watches steps sees
 * every change inside one.
 *
 * TERMINATION. PROPAGATE ends though the mutator goes on: each of its steps
 * turns a grey object black or, a thread, moves it to grey_again, and
 * nothing there comes back before ATOMIC. Births are white and are not on a
 * list until something reaches them, so only as fast as the mutator makes
 * and links them can it prolong the phase; pacing makes the collector faster
 * than that. Each sweep has an end, since births go ahead of its start.
 */
#include "gc/heap.h"

#include "gc/gc_assert.h"

static void
tell_step(struct gc_heap *heap, enum gc_event_type type)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = type });
  }
}

void
gc_step_begin(struct gc_heap *heap)
{
  GC_ASSERT(!heap->stepping);
  heap->stepping = true;
  tell_step(heap, GC_EVENT_STEP_BEGIN);
}

void
gc_step_end(struct gc_heap *heap)
{
  heap->stepping = GC_FAULTY(heap, STEPPING_STAYS);
  tell_step(heap, GC_EVENT_STEP_END);
}

/* ---- the phases ------------------------------------------------------ */

static size_t
start(struct gc_heap *heap)
{
  gc_mark_start(heap);
  gc_set_phase(heap, GC_PHASE_PROPAGATE);
  return 1;
}

static size_t
propagate(struct gc_heap *heap)
{
  if (heap->grey != NULL) {
    return gc_mark_propagate(heap);
  }
  gc_set_phase(heap, GC_FAULTY(heap, ATOMIC_SKIPPED) ? GC_PHASE_PAUSE
                                                     : GC_PHASE_ENTER_ATOMIC);
  return 0;
}

static size_t
enter_atomic(struct gc_heap *heap)
{
  size_t cost;

  if (GC_FAULTY(heap, ATOMIC_INTERRUPTED)
      && heap->phase == GC_PHASE_ENTER_ATOMIC) {
    gc_set_phase(heap, GC_PHASE_ATOMIC);
    return 1;
  }
  cost = gc_mark_atomic(heap);
  gc_sweep_enter(heap);
  heap->estimate = (int64_t)gc_bytes(heap);
  return cost;
}

/* The estimate is of what lives, so it falls with what the sweep frees. */
static size_t
sweep_batch(struct gc_heap *heap)
{
  size_t limit = heap->dialect->sweep_batch;
  int64_t before = heap->debt;
  size_t count;

  if (GC_FAULTY(heap, SWEEP_TOO_MANY)) {
    limit *= 2;
  }
  count = gc_sweep_some(heap, limit);
  heap->estimate += heap->debt - before;
  return count;
}

/* One step of the sweep of a list; when it is done, on to the next list. */
static size_t
sweep_step(struct gc_heap *heap, enum gc_phase next, struct gc_object **list)
{
  if (heap->sweep != NULL) {
    return sweep_batch(heap);
  }
  if (GC_FAULTY(heap, WHITE_FLIPPED_LATE) && heap->phase == GC_PHASE_SWEEP) {
    gc_flip(heap);
  }
  heap->sweep = list;
  gc_set_phase(heap, next);
  return 0;
}

static size_t
sweep_end(struct gc_heap *heap)
{
  int64_t before = heap->debt;

  gc_string_table_shrink(heap);
  heap->estimate += heap->debt - before;
  if (GC_FAULTY(heap, FIXED_FREED) && heap->fixed != NULL) {
    struct gc_object *object = heap->fixed;

    heap->fixed = object->next;
    gc_object_free(heap, object);
  }
  gc_set_phase(heap, GC_PHASE_FINALIZE);
  return 0;
}

static size_t
finalize(struct gc_heap *heap)
{
  size_t limit = GC_FAULTY(heap, FINALIZE_SKIPPED)
                     ? 0
                     : heap->dialect->finalizer_batch;
  size_t count = gc_finalize_some(heap, limit);

  if (count == 0) {
    gc_set_phase(heap, GC_PHASE_PAUSE);
  }
  return count * heap->dialect->finalizer_cost;
}

static size_t
unit_of(struct gc_heap *heap)
{
  switch ((enum gc_phase)heap->phase) {
  case GC_PHASE_PAUSE:
    return start(heap);
  case GC_PHASE_PROPAGATE:
    return propagate(heap);
  case GC_PHASE_ENTER_ATOMIC:
  case GC_PHASE_ATOMIC: /* between steps only if a fault left it so */
    return enter_atomic(heap);
  case GC_PHASE_SWEEP:
    return sweep_step(heap, GC_PHASE_SWEEP_FINALIZABLE,
                      GC_FAULTY(heap, FINALIZABLE_NOT_SWEPT)
                          ? NULL
                          : &heap->finalizable);
  case GC_PHASE_SWEEP_FINALIZABLE:
    if (GC_FAULTY(heap, PHASE_SKIPPED) && heap->sweep == NULL) {
      gc_set_phase(heap, GC_PHASE_SWEEP_END);
      return 0;
    }
    return sweep_step(heap, GC_PHASE_SWEEP_PENDING,
                      GC_FAULTY(heap, PENDING_NOT_SWEPT) ? NULL
                                                         : &heap->pending);
  case GC_PHASE_SWEEP_PENDING:
    return sweep_step(heap, GC_PHASE_SWEEP_END, NULL);
  case GC_PHASE_SWEEP_END:
    return sweep_end(heap);
  case GC_PHASE_FINALIZE:
    return finalize(heap);
  }
  return 0;
}

size_t
gc_cycle_step(struct gc_heap *heap)
{
  size_t cost;

  gc_step_begin(heap);
  cost = unit_of(heap);
  gc_step_end(heap);
  return cost;
}

size_t
gc_micro_step(struct gc_heap *heap)
{
  if (heap->finalizing) {
    return 0;
  }
  return heap->mode == GC_MODE_GENERATIONAL ? gc_generation_step(heap)
                                            : gc_cycle_step(heap);
}

/* ---- whole cycles ---------------------------------------------------- */

void
gc_run_until(struct gc_heap *heap, enum gc_phase phase)
{
  GC_ASSERT(phase != GC_PHASE_ATOMIC);
  while (heap->phase != phase) {
    gc_cycle_step(heap);
  }
}

/* Gives up a mark that is under way: a micro-step of its own. */
static void
give_up_mark(struct gc_heap *heap)
{
  gc_step_begin(heap);
  gc_mark_abandon(heap);
  gc_sweep_enter(heap);
  gc_step_end(heap);
}

static void
collect_incrementally(struct gc_heap *heap)
{
  if (gc_keeps_invariant(heap)) {
    give_up_mark(heap);
  }
  gc_run_until(heap, GC_PHASE_PAUSE);
  gc_run_until(heap, GC_PHASE_PROPAGATE);
  gc_run_until(heap, GC_PHASE_PAUSE);
  gc_pace_after_cycle(heap);
}

void
gc_collect_by_mode(struct gc_heap *heap)
{
  if (heap->cycle_mode == GC_MODE_GENERATIONAL) {
    gc_generation_collect(heap);
  } else {
    collect_incrementally(heap);
  }
}

void
gc_collect(struct gc_heap *heap)
{
  if (!heap->finalizing) {
    gc_collect_by_mode(heap);
  }
}

enum gc_phase
gc_phase_of(const struct gc_heap *heap)
{
  return heap->phase;
}
