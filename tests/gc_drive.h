/* SPDX-License-Identifier: MIT
 *
 * A heap for each test that drives one by hand through gc.h, and short words
 * for what such tests do: each asserts that what it asks for is done.
 */
#ifndef PENUMBRA_TESTS_GC_DRIVE_H
#define PENUMBRA_TESTS_GC_DRIVE_H

#include "tests/gc_fixture.h"

/* The main thread of a heap that is stopped, with room for a test's values. */
static inline struct gc_thread *
start(struct gc_heap *heap)
{
  struct gc_thread *thread = gc_main_thread(heap);

  assert_int_equal(gc_reserve(thread, 100), GC_OK);
  gc_stop(heap);
  return thread;
}

/* A test whose state is the main thread of a heap of its own. It closes that
 * itself, at its end: what a failed test leaves in disorder is not touched. */
#define WITH_HEAP(test) cmocka_unit_test_setup(test, set_up)

static inline int
set_up(void **state)
{
  static struct host host;

  *state = start(open_heap(&host));
  return 0;
}

static inline void
close_heap_of(struct gc_thread *thread)
{
  struct gc_heap *heap = gc_heap_of(thread);

  close_heap(heap, heap->user);
}

static inline void
collect(struct gc_heap *heap)
{
  gc_collect(heap);
  check_heap(heap);
}

static inline struct gc_object *
new_table(struct gc_thread *thread)
{
  assert_int_equal(gc_new_table(thread, 0, 0), GC_OK);
  return object_at(thread, -1);
}

static inline void
push_string(struct gc_thread *thread, const char *text)
{
  assert_int_equal(gc_push_string(thread, text, strlen(text)), GC_OK);
}

static inline void
do_nothing(struct gc_thread *thread)
{
  (void)thread;
}

/* Pushes a metatable with that finalizer; NULL: with no __gc. */
static inline void
push_metatable(struct gc_thread *thread, gc_native finalizer)
{
  new_table(thread);
  if (finalizer != NULL) {
    push_string(thread, "__gc");
    gc_push_native(thread, finalizer);
    assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  }
}

/* Pops the top into field of the table at index. */
static inline void
set_field(struct gc_thread *thread, int index, int64_t field)
{
  assert_int_equal(gc_raw_seti(thread, index, field), GC_OK);
}

/* Those that a mutator can see. */
static const enum gc_phase phases[] = {
  GC_PHASE_PAUSE,          GC_PHASE_PROPAGATE,     GC_PHASE_ENTER_ATOMIC,
  GC_PHASE_SWEEP,          GC_PHASE_SWEEP_FINALIZABLE,
  GC_PHASE_SWEEP_PENDING,  GC_PHASE_SWEEP_END,     GC_PHASE_FINALIZE,
};

enum { PHASES = sizeof(phases) / sizeof(phases[0]) };

/* Micro-steps, with the heap checked after each, until the phase is reached. */
static inline void
run_to(struct gc_heap *heap, enum gc_phase phase)
{
  for (int i = 0; i < 1000000 && gc_phase_of(heap) != phase; i++) {
    gc_micro_step(heap);
    check_heap(heap);
  }
  assert_int_equal(gc_phase_of(heap), phase);
}

#endif
