/* SPDX-License-Identifier: MIT
 *
 * The region and its side tables. Side tables are indexed by granule: the
 * size of the live block that begins there, and for the recycle policy the
 * next free block of the same number of granules. They are mapped without
 * reserve, so that only what is used costs memory; clear resets only that.
 *
 * Layout: [block, rounded up to granules][one granule apart][block]...
 * Invariant: live_bytes and live_blocks are the sums over sizes[].
 */
#include "arena/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region((p), (n))
#define UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
  GRANULES = (int)(ARENA_SIZE / ARENA_GRANULE),
  RECYCLED_MAX = 1 << 12, /* granules; larger blocks are not recycled */
  KEPT_BYTES = 16 << 20,  /* memory kept mapped in from stream to stream */
  FREED_BYTE = 0xdb
};

_Static_assert(ARENA_SIZE % ARENA_GRANULE == 0, "whole granules");
_Static_assert(ARENA_SIZE / ARENA_GRANULE <= INT32_MAX, "granules fit int");

/* What a snapshot copies beside memory and side tables. */
struct state {
  uint64_t used; /* bytes of the region from its start that were handed out */
  uint64_t live_bytes, live_blocks;
  uint64_t allocations;
  uint64_t fail_at; /* number of the allocation that fails; 0 for none */
  uint64_t out_at;  /* number from which on all fail; 0 for none */
  bool is_out;      /* one of those has been refused */
  uint64_t limit;   /* live bytes; 0 for none */
  enum arena_policy policy;
  bool suspended; /* no refusals, as the lab says ... */
  bool held;      /* ... or the subject */
  bool spares_shrinking; /* no block that is to become smaller is refused */
};

struct arena {
  uint8_t *memory;      /* owns ARENA_SIZE bytes of addresses */
  uint32_t *sizes;      /* owns; 0 where no live block begins */
  uint32_t *next_free;  /* owns; granule number, 0 at the end */
  uint32_t *free_heads; /* owns RECYCLED_MAX + 1; by number of granules */
  struct state state;
  bool recycled; /* next_free and free_heads are in use */
  void (*listener)(void *user, const struct arena_event *event);
  void *user;
};

struct arena_snapshot {
  struct state state;
  uint8_t *memory;
  uint32_t *sizes, *next_free, *free_heads;
};

static void *
map_table(size_t count)
{
  void *table = mmap(NULL, count * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return table == MAP_FAILED ? NULL : table;
}

static void
unmap(void *memory, size_t size)
{
  if (memory)
    munmap(memory, size);
}

struct arena *
arena_new(void)
{
  struct arena *arena = calloc(1, sizeof *arena);
  if (!arena)
    return NULL;
  void *memory = mmap(
      (void *)(uintptr_t)ARENA_BASE, ARENA_SIZE, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED)
    goto fail;
  arena->memory = memory;
  if ((uint64_t)(uintptr_t)memory != ARENA_BASE) {
    errno = EEXIST; /* an old kernel took the address as a hint */
    goto fail;
  }
  arena->sizes = map_table(GRANULES);
  arena->next_free = map_table(GRANULES);
  arena->free_heads = map_table(RECYCLED_MAX + 1);
  if (!arena->sizes || !arena->next_free || !arena->free_heads)
    goto fail;
  return arena;
fail:;
  int error = errno;
  arena_free(arena);
  errno = error;
  return NULL;
}

void
arena_free(struct arena *arena)
{
  if (!arena)
    return;
  if (arena->memory)
    UNPOISON(arena->memory, arena->state.used);
  unmap(arena->memory, ARENA_SIZE);
  unmap(arena->sizes, GRANULES * sizeof(uint32_t));
  unmap(arena->next_free, GRANULES * sizeof(uint32_t));
  unmap(arena->free_heads, (RECYCLED_MAX + 1) * sizeof(uint32_t));
  free(arena);
}

/* Zeroes the first count words; gives back what is much. */
static void
clear_table(uint32_t *table, size_t count)
{
  size_t bytes = count * sizeof *table;
  if (bytes > KEPT_BYTES)
    madvise(table, bytes, MADV_DONTNEED);
  else
    memset(table, 0, bytes);
}

void
arena_clear(struct arena *arena, enum arena_policy policy)
{
  uint64_t used = arena->state.used;
  clear_table(arena->sizes, used / ARENA_GRANULE + 1);
  if (arena->recycled) {
    clear_table(arena->next_free, used / ARENA_GRANULE + 1);
    clear_table(arena->free_heads, RECYCLED_MAX + 1);
  }
  UNPOISON(arena->memory, used);
  if (used > KEPT_BYTES)
    madvise(arena->memory, used, MADV_DONTNEED);
  arena->state = (struct state){.policy = policy};
  arena->recycled = false;
}

void
arena_set_listener(struct arena *arena,
                   void (*listener)(void *user,
                                    const struct arena_event *event),
                   void *user)
{
  arena->listener = listener;
  arena->user = user;
}

static void
tell(struct arena *arena, enum arena_event_type type, uint64_t base,
     uint64_t size, uint64_t value)
{
  if (!arena->listener)
    return;
  struct arena_event event = {
      .type = type, .base = base, .size = size, .value = value};
  arena->listener(arena->user, &event);
}

/* The granule number of base; GRANULES if no block can begin there. */
static size_t
granule_of(uint64_t base)
{
  if (base < ARENA_BASE || base >= ARENA_BASE + ARENA_SIZE ||
      base % ARENA_GRANULE != 0)
    return GRANULES;
  return (base - ARENA_BASE) / ARENA_GRANULE;
}

static size_t
granules_for(size_t size)
{
  return (size + ARENA_GRANULE - 1) / ARENA_GRANULE;
}

size_t
arena_block_size(const struct arena *arena, uint64_t base)
{
  size_t granule = granule_of(base);
  return granule == GRANULES ? 0 : arena->sizes[granule];
}

/* Whether the allocation of size more bytes is to be refused; growth is what
 * the live bytes would grow by; shrinks: it is of a block that is no smaller.
 * Counts it. */
static bool
is_refused(struct arena *arena, int64_t growth, bool shrinks)
{
  struct state *state = &arena->state;
  if (state->suspended || state->held ||
      (shrinks && state->spares_shrinking))
    return false;
  state->allocations += 1;
  if (state->fail_at && state->allocations == state->fail_at) {
    state->fail_at = 0;
    return true;
  }
  if (state->out_at && state->allocations >= state->out_at) {
    state->is_out = true;
    return true;
  }
  return state->limit && growth > 0 &&
         state->live_bytes + (uint64_t)growth > state->limit;
}

/* A free place for size bytes as a granule number; GRANULES when the region
 * is used up. */
static size_t
place(struct arena *arena, size_t size)
{
  struct state *state = &arena->state;
  size_t count = granules_for(size);
  if (state->policy == ARENA_RECYCLE && count <= RECYCLED_MAX) {
    uint32_t head = arena->free_heads[count];
    if (head) {
      arena->free_heads[count] = arena->next_free[head];
      return head;
    }
  }
  /* Granule 0 is never a block, so that 0 can end the free lists. */
  uint64_t start = state->used ? state->used : ARENA_GRANULE;
  uint64_t end = start + ((uint64_t)count + 1) * ARENA_GRANULE;
  if (size > ARENA_SIZE || end > ARENA_SIZE)
    return GRANULES;
  POISON(arena->memory + state->used, end - state->used);
  state->used = end;
  return start / ARENA_GRANULE;
}

static void *
take(struct arena *arena, size_t size)
{
  size_t granule = place(arena, size);
  if (granule == GRANULES) {
    tell(arena, ARENA_EXHAUSTED, 0, size, 0);
    return NULL;
  }
  uint8_t *block = arena->memory + granule * ARENA_GRANULE;
  UNPOISON(block, size);
  arena->sizes[granule] = (uint32_t)size;
  arena->state.live_bytes += size;
  arena->state.live_blocks += 1;
  tell(arena, ARENA_ALLOCATED, (uint64_t)(uintptr_t)block, size, 0);
  return block;
}

static void
give_back(struct arena *arena, size_t granule, size_t said)
{
  uint32_t size = arena->sizes[granule];
  uint8_t *block = arena->memory + granule * ARENA_GRANULE;
  /* Without a sanitizer stale reads must not look sane either. */
  memset(block, FREED_BYTE, size);
  POISON(block, granules_for(size) * ARENA_GRANULE);
  arena->sizes[granule] = 0;
  arena->state.live_bytes -= size;
  arena->state.live_blocks -= 1;
  if (arena->state.policy == ARENA_RECYCLE &&
      granules_for(size) <= RECYCLED_MAX) {
    arena->recycled = true;
    arena->next_free[granule] = arena->free_heads[granules_for(size)];
    arena->free_heads[granules_for(size)] = (uint32_t)granule;
  }
  tell(arena, ARENA_FREED, (uint64_t)(uintptr_t)block, said, size);
}

void *
arena_allocate(void *user, void *block, size_t old_size, size_t new_size)
{
  struct arena *arena = user;
  size_t granule = GRANULES;
  size_t real_size = 0;
  if (block) {
    granule = granule_of((uint64_t)(uintptr_t)block);
    if (granule == GRANULES || !arena->sizes[granule]) {
      tell(arena, ARENA_BAD_FREE, (uint64_t)(uintptr_t)block, old_size, 0);
      return NULL;
    }
    real_size = arena->sizes[granule];
  }
  if (new_size == 0) {
    if (block)
      give_back(arena, granule, old_size);
    return NULL;
  }
  if (is_refused(arena, (int64_t)new_size - (int64_t)real_size,
                 block && new_size <= real_size)) {
    tell(arena, ARENA_REFUSED, (uint64_t)(uintptr_t)block, new_size, 0);
    return NULL;
  }
  void *moved = take(arena, new_size);
  if (moved && block) {
    memcpy(moved, block, real_size < new_size ? real_size : new_size);
    give_back(arena, granule, old_size);
  }
  return moved;
}

void
arena_fail_after(struct arena *arena, uint64_t after)
{
  arena->state.fail_at = arena->state.allocations + after + 1;
}

void
arena_run_out_after(struct arena *arena, uint64_t after)
{
  arena->state.out_at = arena->state.allocations + after + 1;
  arena->state.is_out = false;
}

void
arena_recover(struct arena *arena)
{
  if (!arena->state.is_out)
    return;
  arena->state.out_at = 0;
  arena->state.is_out = false;
}

void
arena_suspend_refusals(struct arena *arena, bool suspended)
{
  arena->state.suspended = suspended;
}

void
arena_spare_shrinking(struct arena *arena, bool spares)
{
  arena->state.spares_shrinking = spares;
}

void
arena_hold_refusals(void *arena, bool held)
{
  ((struct arena *)arena)->state.held = held;
}

void
arena_limit(struct arena *arena, uint64_t bytes)
{
  arena->state.limit = bytes;
}

uint64_t
arena_live_bytes(const struct arena *arena)
{
  return arena->state.live_bytes;
}

uint64_t
arena_live_blocks(const struct arena *arena)
{
  return arena->state.live_blocks;
}

uint64_t
arena_allocations(const struct arena *arena)
{
  return arena->state.allocations;
}

/* ---- snapshots ------------------------------------------------------- */

static void *
copy_of(const void *from, size_t size)
{
  void *copy = malloc(size ? size : 1);
  if (copy)
    memcpy(copy, from, size);
  return copy;
}

/* Freed and live memory is copied alike, so poison must not be in the way. */
static void
poison_as_blocks_say(struct arena *arena)
{
  size_t used = arena->state.used / ARENA_GRANULE;
  POISON(arena->memory, arena->state.used);
  for (size_t i = 0; i < used; i++)
    if (arena->sizes[i])
      UNPOISON(arena->memory + i * ARENA_GRANULE, arena->sizes[i]);
}

struct arena_snapshot *
arena_snapshot_new(const struct arena *const_arena)
{
  struct arena *arena = (struct arena *)const_arena; /* poison only */
  struct arena_snapshot *snapshot = calloc(1, sizeof *snapshot);
  if (!snapshot)
    return NULL;
  size_t used = arena->state.used;
  size_t words = (used / ARENA_GRANULE + 1) * sizeof(uint32_t);
  snapshot->state = arena->state;
  UNPOISON(arena->memory, used);
  snapshot->memory = copy_of(arena->memory, used);
  poison_as_blocks_say(arena);
  snapshot->sizes = copy_of(arena->sizes, words);
  snapshot->next_free = copy_of(arena->next_free, words);
  snapshot->free_heads =
      copy_of(arena->free_heads, (RECYCLED_MAX + 1) * sizeof(uint32_t));
  if (!snapshot->memory || !snapshot->sizes || !snapshot->next_free ||
      !snapshot->free_heads) {
    arena_snapshot_free(snapshot);
    return NULL;
  }
  return snapshot;
}

void
arena_snapshot_restore(struct arena *arena,
                       const struct arena_snapshot *snapshot)
{
  size_t used = snapshot->state.used;
  size_t words = (used / ARENA_GRANULE + 1) * sizeof(uint32_t);
  arena_clear(arena, snapshot->state.policy);
  UNPOISON(arena->memory, used);
  memcpy(arena->memory, snapshot->memory, used);
  memcpy(arena->sizes, snapshot->sizes, words);
  memcpy(arena->next_free, snapshot->next_free, words);
  memcpy(arena->free_heads, snapshot->free_heads,
         (RECYCLED_MAX + 1) * sizeof(uint32_t));
  arena->state = snapshot->state;
  arena->recycled = true;
  poison_as_blocks_say(arena);
}

void
arena_snapshot_free(struct arena_snapshot *snapshot)
{
  if (!snapshot)
    return;
  free(snapshot->memory);
  free(snapshot->sizes);
  free(snapshot->next_free);
  free(snapshot->free_heads);
  free(snapshot);
}
