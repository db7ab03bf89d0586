/* SPDX-License-Identifier: MIT
 *
 * Pacing: when the collector works, and how much. Owns heap->total, ->debt,
 * ->estimate's use, ->parameters and ->stopped.
 *
 * Debt. Bytes in use are total + debt. Each allocation raises the debt, each
 * free lowers it; while it is negative it is a credit that the mutator may
 * spend before a step is due. gc_check, called after allocations, makes a
 * step when the debt is positive.
 *
 * A step turns the debt into work: DEBT / BYTES_PER_UNIT bytes, times the
 * step multiplier (a percentage whose hundred is not divided out: it is the
 * number of units of work a unit of debt buys). It makes micro-steps until
 * the debt is paid and a credit of one basic step, 2^step_size_log2 bytes, is
 * saved up, or the cycle ends. After a cycle the credit is larger: the heap
 * may grow to pause_percent of the estimate first.
 *
 * In generational mode a step is a whole collection (generation.c). After a
 * minor one, and after a major one that has paid, the credit is the minor
 * multiplier's percentage of what is in use. The estimate is then what was in
 * use after the last major collection; the next step is a major one if the
 * heap has outgrown it by more than the major multiplier's percentage.
 *
 * A change of modes leaves the debt to what comes: entering ends like a minor
 * collection, leaving changes nothing. Stopping changes no debt; checks then
 * put off the next one. Starting again makes the debt zero: the next
 * allocation makes a step.
 */
#include "gc/heap.h"

#include "gc/gc_assert.h"

enum {
  BYTES_PER_UNIT = sizeof(struct gc_value),
  PERCENT = 100,
  STEP_SIZE_LOG2_MAX = 62
};

/* The most that may be owed: what a step itself allocates is added to it. */
#define DEBT_MAX (INT64_MAX / 2)

size_t
gc_bytes(const struct gc_heap *heap)
{
  return (size_t)(heap->total + heap->debt);
}

/* Changes the debt and not the bytes in use. */
void
gc_pace_set_debt(struct gc_heap *heap, int64_t debt)
{
  int64_t bytes = heap->total + heap->debt;

  if (debt < bytes - INT64_MAX) {
    debt = bytes - INT64_MAX; /* so that total can hold the rest */
  }
  heap->total = bytes - debt;
  heap->debt = debt;
}

/* a * b for a and b not negative, or the largest number. */
static int64_t
product(int64_t a, int64_t b)
{
  int64_t result;

  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

/* ---- after a cycle --------------------------------------------------- */

void
gc_pace_after_cycle(struct gc_heap *heap)
{
  int64_t percent = heap->parameters[GC_PARAMETER_PAUSE];
  int64_t threshold;
  int64_t debt;

  if (GC_FAULTY(heap, PAUSE_IGNORED)) {
    percent = PERCENT;
  }
  threshold = product(heap->estimate / PERCENT, percent);
  debt = (int64_t)gc_bytes(heap) - threshold;
  if (GC_FAULTY(heap, DEBT_SIGN)) {
    debt = -debt;
  }
  gc_pace_set_debt(heap, debt > 0 ? 0 : debt);
}

/* ---- generational mode ----------------------------------------------- */

void
gc_pace_after_minor(struct gc_heap *heap)
{
  int64_t credit = product((int64_t)gc_bytes(heap) / PERCENT,
                           heap->parameters[GC_PARAMETER_MINOR_MULTIPLIER]);

  gc_pace_set_debt(heap, GC_FAULTY(heap, MINOR_NEVER) ? -DEBT_MAX : -credit);
}

int64_t
gc_pace_major_growth(const struct gc_heap *heap, int64_t base)
{
  return product(base / PERCENT,
                 heap->parameters[GC_PARAMETER_MAJOR_MULTIPLIER]);
}

bool
gc_pace_is_major_due(const struct gc_heap *heap)
{
  int64_t grown = (int64_t)gc_bytes(heap) - heap->estimate;

  return heap->debt > 0
         && grown > gc_pace_major_growth(heap, heap->estimate)
         && !GC_FAULTY(heap, MAJOR_NEVER);
}

/* ---- steps ----------------------------------------------------------- */

/* The credit, in units of work, that a step saves up. */
static int64_t
credit_of_step(const struct gc_heap *heap, int64_t multiplier)
{
  uint32_t log2 = heap->parameters[GC_PARAMETER_STEP_SIZE];

  if (GC_FAULTY(heap, STEP_SIZE_IGNORED)) {
    log2 = heap->dialect->step_size_log2;
  }
  if (log2 > STEP_SIZE_LOG2_MAX) {
    return INT64_MAX;
  }
  return product(((int64_t)1 << log2) / BYTES_PER_UNIT, multiplier);
}

/* Odd, so never zero: it is divided by. */
static int64_t
multiplier_of(const struct gc_heap *heap)
{
  if (GC_FAULTY(heap, STEP_MULTIPLIER_IGNORED)) {
    return heap->dialect->step_multiplier_percent | 1;
  }
  return heap->parameters[GC_PARAMETER_STEP_MULTIPLIER] | 1;
}

static void
incremental_step(struct gc_heap *heap)
{
  int64_t multiplier = multiplier_of(heap);
  int64_t credit = credit_of_step(heap, multiplier);
  int64_t units = product(heap->debt / BYTES_PER_UNIT, multiplier);

  do {
    units -= (int64_t)gc_cycle_step(heap);
  } while (units > -credit && heap->phase != GC_PHASE_PAUSE);
  if (heap->phase == GC_PHASE_PAUSE) {
    gc_pace_after_cycle(heap);
  } else {
    gc_pace_set_debt(heap, units / multiplier * BYTES_PER_UNIT);
  }
}

static void
paced_step(struct gc_heap *heap)
{
  if (heap->mode == GC_MODE_GENERATIONAL) {
    gc_generation_step(heap);
  } else {
    incremental_step(heap);
  }
}

void
gc_check(struct gc_thread *thread)
{
  struct gc_heap *heap = thread->heap;
  bool stopped = heap->stopped && !GC_FAULTY(heap, STOP_IGNORED);

  if (heap->debt <= 0 || heap->stepping) {
    return;
  }
  if (stopped || heap->finalizing) {
    gc_pace_set_debt(heap, heap->dialect->stopped_debt);
  } else {
    paced_step(heap);
  }
}

bool
gc_step(struct gc_heap *heap, size_t kilobytes)
{
  int64_t debt = DEBT_MAX;
  int64_t due;

  if (heap->finalizing || GC_FAULTY(heap, EXPLICIT_STEP)) {
    return false;
  }
  if (kilobytes == 0) {
    gc_pace_set_debt(heap, 0);
    paced_step(heap);
    return heap->phase == GC_PHASE_PAUSE;
  }
  due = kilobytes > DEBT_MAX / 1024 ? DEBT_MAX : (int64_t)kilobytes * 1024;
  if (heap->debt < DEBT_MAX - due) {
    debt = (GC_FAULTY(heap, STEP_CREDIT) ? 0 : heap->debt) + due;
  }
  gc_pace_set_debt(heap, debt);
  if (debt <= 0) {
    return false;
  }
  paced_step(heap);
  return heap->phase == GC_PHASE_PAUSE;
}

void
gc_stop(struct gc_heap *heap)
{
  if (!heap->finalizing) {
    heap->stopped = true;
  }
}

void
gc_restart(struct gc_heap *heap)
{
  if (!heap->finalizing && !GC_FAULTY(heap, RESTART_IGNORED)) {
    gc_pace_set_debt(heap, 0);
    heap->stopped = false;
  }
}

bool
gc_is_stopped(const struct gc_heap *heap)
{
  return heap->stopped;
}

/* ---- parameters ------------------------------------------------------ */

uint32_t
gc_parameter(const struct gc_heap *heap, enum gc_parameter which)
{
  GC_ASSERT(which < GC_PARAMETER_COUNT);
  return heap->parameters[which];
}

/* A parameter is kept in a byte; the larger percentages in units. */
static uint32_t
kept(const struct gc_heap *heap, enum gc_parameter which, uint32_t value)
{
  uint32_t unit = 1;

  switch (which) {
  case GC_PARAMETER_PAUSE:
  case GC_PARAMETER_STEP_MULTIPLIER:
  case GC_PARAMETER_MAJOR_MULTIPLIER:
    unit = heap->dialect->parameter_unit;
    break;
  case GC_PARAMETER_STEP_SIZE:
  case GC_PARAMETER_MINOR_MULTIPLIER:
  case GC_PARAMETER_COUNT:
    break;
  }
  return value / unit % heap->dialect->parameter_values * unit;
}

void
gc_set_parameter(struct gc_heap *heap, enum gc_parameter which,
                 uint32_t value)
{
  GC_ASSERT(which < GC_PARAMETER_COUNT);
  if (!heap->finalizing && !GC_FAULTY(heap, PARAMETER_LOST)) {
    heap->parameters[which] = kept(heap, which, value);
  }
}
