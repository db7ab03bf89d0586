/* SPDX-License-Identifier: MIT
 *
 * The arena: policies, sizes, refusals, events, snapshots. Each test says
 * what it would catch.
 */
#include "arena/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct log {
  struct arena_event events[64];
  size_t count;
};

static void
record(void *user, const struct arena_event *event)
{
  struct log *log = user;
  if (log->count < 64)
    log->events[log->count++] = *event;
}

static struct arena *arena;
static struct log told;

static int
set_up(void **state)
{
  (void)state;
  arena_clear(arena, ARENA_FRESH);
  told.count = 0;
  arena_set_listener(arena, record, &told);
  return 0;
}

static void *
take(size_t size)
{
  return arena_allocate(arena, NULL, 0, size);
}

static void
give(void *block, size_t size)
{
  arena_allocate(arena, block, size, 0);
}

/* Would catch an arena that is not where the oracle's table expects it. */
static void
test_arena_first_block_lies_at_the_base(void **state)
{
  (void)state;
  uint64_t base = (uint64_t)(uintptr_t)take(10);
  assert_int_equal(base, ARENA_BASE + ARENA_GRANULE);
  assert_int_equal(arena_block_size(arena, base), 10);
  assert_int_equal(arena_block_size(arena, base + ARENA_GRANULE), 0);
  assert_int_equal(arena_block_size(arena, base + 1), 0);
  assert_int_equal(arena_block_size(arena, 12), 0);
}

/* Would catch fresh handing out an address twice. */
static void
test_arena_fresh_never_reuses_an_address(void **state)
{
  (void)state;
  char *before = take(24);
  give(before, 24);
  for (int i = 0; i < 1000; i++) {
    char *block = take(24);
    assert_true(block > before);
    before = block;
    give(block, 24);
  }
}

/* Would catch recycle that does not reuse, or reuses by another size. */
static void
test_arena_recycle_hands_out_the_last_freed_block(void **state)
{
  (void)state;
  arena_clear(arena, ARENA_RECYCLE);
  char *a = take(40), *b = take(40), *c = take(200);
  give(a, 40);
  give(b, 40);
  give(c, 200);
  assert_ptr_equal(take(33), b); /* the same number of granules */
  assert_ptr_equal(take(40), a);
  assert_ptr_equal(take(200), c);
  arena_clear(arena, ARENA_RECYCLE);
  assert_ptr_equal(take(200), a); /* nothing is remembered after clear */
}

/* Would catch a wrong size that is not told, or that spoils the count. */
static void
test_arena_tells_the_size_said_and_the_size_allocated(void **state)
{
  (void)state;
  void *block = take(100);
  give(block, 99);
  assert_int_equal(told.count, 2);
  assert_int_equal(told.events[1].type, ARENA_FREED);
  assert_int_equal(told.events[1].size, 99);
  assert_int_equal(told.events[1].value, 100);
  assert_int_equal(arena_live_bytes(arena), 0);
  assert_int_equal(arena_live_blocks(arena), 0);
}

/* Would catch double and wild frees that pass or crash. */
static void
test_arena_tells_bad_frees_and_survives_them(void **state)
{
  (void)state;
  char *block = take(64);
  give(block, 64);
  give(block, 64);
  give((char *)(uintptr_t)ARENA_BASE + 4096, 8);
  give(block + 3, 8);
  give(&told, 8);
  assert_int_equal(told.count, 6);
  for (size_t i = 2; i < 6; i++)
    assert_int_equal(told.events[i].type, ARENA_BAD_FREE);
}

/* Would catch a resize that loses bytes, stays in place or miscounts. */
static void
test_arena_resize_moves_and_keeps_the_bytes(void **state)
{
  (void)state;
  char *block = take(32);
  memcpy(block, "0123456789abcdef", 16);
  char *grown = arena_allocate(arena, block, 32, 4000);
  assert_ptr_not_equal(grown, block);
  assert_memory_equal(grown, "0123456789abcdef", 16);
  char *shrunk = arena_allocate(arena, grown, 4000, 8);
  assert_memory_equal(shrunk, "01234567", 8);
  assert_int_equal(arena_live_bytes(arena), 8);
  assert_int_equal(arena_live_blocks(arena), 1);
}

/* Would catch a failure that comes too early, too late, twice or never. */
static void
test_arena_fails_the_kth_allocation_once(void **state)
{
  (void)state;
  for (uint64_t k = 0; k < 5; k++) {
    arena_clear(arena, ARENA_FRESH);
    arena_fail_after(arena, k);
    for (uint64_t i = 0; i < 10; i++)
      assert_int_equal(take(16) == NULL, i == k);
  }
  arena_clear(arena, ARENA_FRESH);
  void *block = take(16);
  arena_fail_after(arena, 0);
  assert_null(arena_allocate(arena, block, 16, 8)); /* shrinking fails too */
  assert_int_equal(arena_block_size(arena, (uint64_t)(uintptr_t)block), 16);
  assert_int_equal(told.events[told.count - 1].type, ARENA_REFUSED);
}

/* Would catch a want of memory that comes too early or too late, that lets
 * something through, or that ends by itself or before it has struck. */
static void
test_arena_runs_out_until_it_recovers(void **state)
{
  (void)state;
  for (uint64_t k = 0; k < 4; k++) {
    arena_clear(arena, ARENA_FRESH);
    arena_run_out_after(arena, k);
    for (uint64_t i = 0; i < k; i++)
      assert_non_null(take(16));
    arena_recover(arena); /* nothing was refused yet: it stays armed */
    for (int i = 0; i < 5; i++)
      assert_null(take(16));
    arena_recover(arena);
    assert_non_null(take(16));
  }
}

/* Would catch a block that is refused though it does not grow, or one that is
 * not though it does. */
static void
test_arena_spares_what_does_not_grow(void **state)
{
  (void)state;
  for (int spares = 0; spares < 2; spares++) {
    arena_clear(arena, ARENA_FRESH);
    arena_spare_shrinking(arena, spares);
    void *block = take(64);
    arena_fail_after(arena, 0);
    void *moved = arena_allocate(arena, block, 64, 32);
    assert_int_equal(moved != NULL, spares);
    void *grown = arena_allocate(arena, spares ? moved : block,
                                 spares ? 32 : 64, 128);
    assert_int_equal(grown == NULL, spares);
  }
}

/* Would catch one armed failure that is lost for the other. */
static void
test_arena_a_single_failure_comes_beside_the_want_of_memory(void **state)
{
  (void)state;
  arena_run_out_after(arena, 2);
  arena_fail_after(arena, 0);
  assert_null(take(16));
  arena_recover(arena); /* it was the single one that struck */
  assert_non_null(take(16));
  assert_null(take(16));
  arena_recover(arena);
  assert_non_null(take(16));
}

/* Would catch refusals that strike, or are used up, while suspended or held,
 * and an end of one that ends the other. */
static void
test_arena_refuses_nothing_while_suspended(void **state)
{
  (void)state;
  arena_fail_after(arena, 1);
  arena_run_out_after(arena, 3);
  arena_limit(arena, 100);
  arena_suspend_refusals(arena, true);
  for (int i = 0; i < 10; i++)
    assert_non_null(take(64));
  arena_hold_refusals(arena, true);
  arena_suspend_refusals(arena, false);
  for (int i = 0; i < 10; i++)
    assert_non_null(take(64));
  arena_hold_refusals(arena, false);
  arena_limit(arena, 0);
  assert_non_null(take(8));
  assert_null(take(8));
  assert_non_null(take(8));
  assert_null(take(8));
  assert_null(take(8));
}

/* Would catch a limit that is off by one or that stops shrinking. */
static void
test_arena_limit_bounds_the_live_bytes(void **state)
{
  (void)state;
  arena_limit(arena, 100);
  void *block = take(60);
  assert_non_null(block);
  assert_null(take(41));
  assert_non_null(take(40));
  block = arena_allocate(arena, block, 60, 50);
  assert_non_null(block);
  assert_null(arena_allocate(arena, block, 50, 61));
  arena_limit(arena, 0);
  assert_non_null(take(1000));
}

/* Would catch an arena that overruns its region. */
static void
test_arena_tells_when_it_is_used_up(void **state)
{
  (void)state;
  assert_null(take(ARENA_SIZE));
  assert_int_equal(told.events[0].type, ARENA_EXHAUSTED);
  assert_null(take((size_t)-1));
  assert_non_null(take(16));
}

/* Would catch a snapshot that misses memory, sizes or counters. */
static void
test_arena_snapshot_brings_everything_back(void **state)
{
  (void)state;
  arena_clear(arena, ARENA_RECYCLE);
  char *a = take(48), *b = take(48);
  memset(a, 'a', 48);
  give(b, 48);
  struct arena_snapshot *snapshot = arena_snapshot_new(arena);
  assert_non_null(snapshot);
  memset(a, 'x', 48);
  give(a, 48);
  for (int i = 0; i < 100; i++)
    take(1000);
  arena_snapshot_restore(arena, snapshot);
  arena_snapshot_free(snapshot);
  assert_int_equal(arena_live_bytes(arena), 48);
  assert_int_equal(arena_block_size(arena, (uint64_t)(uintptr_t)a), 48);
  for (int i = 0; i < 48; i++)
    assert_int_equal(a[i], 'a');
  assert_ptr_equal(take(48), b);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_arena_first_block_lies_at_the_base, set_up),
      cmocka_unit_test_setup(test_arena_fresh_never_reuses_an_address, set_up),
      cmocka_unit_test_setup(test_arena_recycle_hands_out_the_last_freed_block,
                             set_up),
      cmocka_unit_test_setup(
          test_arena_tells_the_size_said_and_the_size_allocated, set_up),
      cmocka_unit_test_setup(test_arena_tells_bad_frees_and_survives_them,
                             set_up),
      cmocka_unit_test_setup(test_arena_resize_moves_and_keeps_the_bytes,
                             set_up),
      cmocka_unit_test_setup(test_arena_fails_the_kth_allocation_once, set_up),
      cmocka_unit_test_setup(test_arena_runs_out_until_it_recovers, set_up),
      cmocka_unit_test_setup(test_arena_spares_what_does_not_grow, set_up),
      cmocka_unit_test_setup(
          test_arena_a_single_failure_comes_beside_the_want_of_memory, set_up),
      cmocka_unit_test_setup(test_arena_refuses_nothing_while_suspended,
                             set_up),
      cmocka_unit_test_setup(test_arena_limit_bounds_the_live_bytes, set_up),
      cmocka_unit_test_setup(test_arena_tells_when_it_is_used_up, set_up),
      cmocka_unit_test_setup(test_arena_snapshot_brings_everything_back,
                             set_up),
  };
  arena = arena_new();
  if (!arena)
    return 99;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  arena_free(arena);
  return failed;
}
