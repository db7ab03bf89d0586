/* SPDX-License-Identifier: MIT
 *
 * Pacing: when the collector works, and how much. Owns heap->total, ->debt,
 * ->estimate's use, and ->stopped.
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
 */
#include "gc/heap.h"

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

void
gc_pace_after_cycle(struct gc_heap *heap)
{
  int64_t threshold = product(heap->estimate / PERCENT, heap->parameters[GC_PARAMETER_PAUSE]);
  int64_t debt = heap->total + heap->debt - threshold;

  gc_pace_set_debt(heap, debt > 0 ? 0 : debt);
}

/* The credit, in units of work, that a step saves up. */
static int64_t
credit_of_step(const struct gc_heap *heap, int64_t multiplier)
{
  if (heap->parameters[GC_PARAMETER_STEP_SIZE] > STEP_SIZE_LOG2_MAX) {
    return INT64_MAX;
  }
  return product(((int64_t)1 << heap->parameters[GC_PARAMETER_STEP_SIZE]) / BYTES_PER_UNIT,
                 multiplier);
}

static void
paced_step(struct gc_heap *heap)
{
  /* Odd, so never zero: it is divided by. */
  int64_t multiplier = heap->parameters[GC_PARAMETER_STEP_MULTIPLIER] | 1;
  int64_t credit = credit_of_step(heap, multiplier);
  int64_t units = product(heap->debt / BYTES_PER_UNIT, multiplier);

  do {
    units -= (int64_t)gc_micro_step(heap);
  } while (units > -credit && heap->phase != GC_PHASE_PAUSE);
  if (heap->phase == GC_PHASE_PAUSE) {
    gc_pace_after_cycle(heap);
  } else {
    gc_pace_set_debt(heap, units / multiplier * BYTES_PER_UNIT);
  }
}

void
gc_check(struct gc_thread *thread)
{
  struct gc_heap *heap = thread->heap;

  if (heap->debt <= 0 || heap->stepping) {
    return;
  }
  if (heap->stopped) {
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

  if (kilobytes == 0) {
    gc_pace_set_debt(heap, 0);
    paced_step(heap);
    return heap->phase == GC_PHASE_PAUSE;
  }
  due = kilobytes > DEBT_MAX / 1024 ? DEBT_MAX : (int64_t)kilobytes * 1024;
  if (heap->debt < DEBT_MAX - due) {
    debt = heap->debt + due;
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
  heap->stopped = true;
}

void
gc_restart(struct gc_heap *heap)
{
  gc_pace_set_debt(heap, 0);
  heap->stopped = false;
}

bool
gc_is_stopped(const struct gc_heap *heap)
{
  return heap->stopped;
}
