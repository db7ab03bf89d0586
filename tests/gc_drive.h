/* SPDX-License-Identifier: MIT
 *
 * Short words for tests that drive a heap by hand through gc.h: each asserts
 * that what it asks for is done.
 */
#ifndef PENUMBRA_TESTS_GC_DRIVE_H
#define PENUMBRA_TESTS_GC_DRIVE_H

#include "tests/gc_fixture.h"

static inline void
new_table(struct gc_thread *thread)
{
  assert_int_equal(gc_new_table(thread, 0, 0), GC_OK);
}

static inline void
push_string(struct gc_thread *thread, const char *text)
{
  assert_int_equal(gc_push_string(thread, text, strlen(text)), GC_OK);
}

/* Pops the top into field of the table at index. */
static inline void
set_field(struct gc_thread *thread, int index, int64_t field)
{
  assert_int_equal(gc_raw_seti(thread, index, field), GC_OK);
}

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
