/* SPDX-License-Identifier: MIT
 *
 * `make bench`: how long one collection takes that has to settle a chain of
 * ephemerons in the worst order: each key is the value of another pair, and
 * neither the table nor the order of births helps. CPU time, and judges
 * nothing; that the work is linear is held by tests/test_gc_weak, which counts
 * it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gc/gc.h"

enum { ROUNDS = 5, STRIDE = 70001 /* a prime */ };

static void *
allocate(void *user, void *block, size_t old_size, size_t new_size)
{
  (void)user;
  (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

static void
must(enum gc_status status)
{
  if (status != GC_OK) {
    fprintf(stderr, "bench: out of memory\n");
    exit(3);
  }
}

static void
set_weak_keys(struct gc_thread *thread)
{
  must(gc_new_table(thread, 0, 1));
  must(gc_push_string(thread, "__mode", strlen("__mode")));
  must(gc_push_string(thread, "k", 1));
  must(gc_raw_set(thread, -3));
  gc_set_metatable(thread, -2);
}

/* 1: the weak table; 2: the first key. */
static void
make_chain(struct gc_thread *thread, uint32_t count)
{
  must(gc_new_table(thread, 0, count));
  set_weak_keys(thread);
  must(gc_new_table(thread, 0, 0));
  must(gc_new_table(thread, count, 0));
  gc_push_copy(thread, 2);
  must(gc_raw_seti(thread, 3, 1));
  for (uint32_t i = 1; i < count; i++) {
    must(gc_new_table(thread, 0, 0));
    must(gc_raw_seti(thread, 3, (int64_t)i + 1));
  }
  for (uint32_t i = 0; i < count - 1; i++) {
    int64_t n = (int64_t)((uint64_t)i * STRIDE % (count - 1));

    gc_raw_geti(thread, 3, n + 1);
    gc_raw_geti(thread, 3, n + 2);
    must(gc_raw_set(thread, 1));
  }
  gc_pop(thread, 1);
}

static double
seconds(void)
{
  struct timespec now;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t
count_pairs(struct gc_thread *thread)
{
  uint32_t count = 0;

  gc_push_nil(thread);
  while (gc_next(thread, 1)) {
    gc_pop(thread, 1);
    count++;
  }
  return count;
}

int
main(void)
{
  for (uint32_t count = 1000; count <= 100000; count *= 10) {
    struct gc_config config = { .allocate = allocate };
    struct gc_heap *heap = gc_open(&config);
    struct gc_thread *thread;
    double start;

    if (heap == NULL) {
      must(GC_NO_MEMORY);
    }
    gc_stop(heap);
    thread = gc_main_thread(heap);
    make_chain(thread, count);
    gc_collect(heap);
    start = seconds();
    for (int i = 0; i < ROUNDS; i++) {
      gc_collect(heap);
    }
    printf("a chain of %6u ephemerons: %8.3f ms a collection\n",
           (unsigned)count, (seconds() - start) * 1000 / ROUNDS);
    if (count_pairs(thread) != count - 1) {
      fprintf(stderr, "bench: pairs are lost\n");
      return 1;
    }
    gc_close(heap);
  }
  return 0;
}
