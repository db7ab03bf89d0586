/* SPDX-License-Identifier: MIT
 *
 * The memory that every subject lives in: one region at a fixed address, so
 * that a run is the same every time. It owns the region and two side tables;
 * it knows nobody and tells what happens through the listener. Used by the
 * lab.
 *
 * Blocks are aligned to ARENA_GRANULE bytes and lie apart; what is not inside
 * a live block is poisoned for AddressSanitizer. The size given to free is
 * compared with the size allocated. Two policies: fresh never reuses an
 * address, recycle hands out the last freed block of that size first.
 */
#ifndef PENUMBRA_ARENA_ARENA_H
#define PENUMBRA_ARENA_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_BASE UINT64_C(0x200000000000)
#define ARENA_SIZE (UINT64_C(1) << 30) /* bytes of address space */
enum { ARENA_GRANULE = 16 };

enum arena_event_type {
  ARENA_ALLOCATED, /* base, size */
  ARENA_FREED,     /* base, size said, value: size allocated */
  ARENA_BAD_FREE,  /* base is no live block; size said */
  ARENA_REFUSED,   /* size asked */
  ARENA_EXHAUSTED  /* size asked: the region is used up */
};

struct arena_event {
  enum arena_event_type type;
  uint64_t base;
  uint64_t size;
  uint64_t value;
};

enum arena_policy { ARENA_FRESH, ARENA_RECYCLE };

struct arena;
struct arena_snapshot;

/* NULL if the address range is taken or cannot be mapped; errno says why. One
 * arena a process. */
struct arena *arena_new(void);
void arena_free(struct arena *arena);
/* Forgets all blocks; counters, limits and armed failures are gone. */
void arena_clear(struct arena *arena, enum arena_policy policy);
void arena_set_listener(struct arena *arena,
                        void (*listener)(void *user,
                                         const struct arena_event *event),
                        void *user);

/* realloc convention with the old size: block NULL allocates, new_size 0 frees
 * and returns NULL; NULL is a refusal and keeps the old block. A resized block
 * always moves. Has the type of subject_env.allocate. */
void *arena_allocate(void *arena, void *block, size_t old_size,
                     size_t new_size);
/* Refuses the allocation (or growth, or shrinking) that comes after `after`
 * more of them, once. */
void arena_fail_after(struct arena *arena, uint64_t after);
/* Refuses all allocations from the one that comes after `after` more of them
 * on, until arena_recover() finds that one has been refused for it. */
void arena_run_out_after(struct arena *arena, uint64_t after);
/* Ends that if it has struck; else it stays armed. */
void arena_recover(struct arena *arena);
/* While suspended, neither an armed failure nor the limit strikes, and
 * allocations are not counted towards it. */
void arena_suspend_refusals(struct arena *arena, bool suspended);
/* A block that is not to become larger is not refused, nor is that counted: for
 * subjects that rely on it. Until the next clear. */
void arena_spare_shrinking(struct arena *arena, bool spares);
/* The same, by the subject (env.hold of subject.h), while that holds. */
void arena_hold_refusals(void *arena, bool held);
/* Refuses what would make more than bytes live; 0 is no limit. Shrinking is
 * never refused for it. */
void arena_limit(struct arena *arena, uint64_t bytes);

uint64_t arena_live_bytes(const struct arena *arena);
uint64_t arena_live_blocks(const struct arena *arena);
/* Allocations made since clear, refused ones too, but not those made while
 * refusals were suspended. */
uint64_t arena_allocations(const struct arena *arena);
/* The size of the live block at base; 0 if there is none. */
size_t arena_block_size(const struct arena *arena, uint64_t base);

/* The whole state, by copy; restore brings it back at the same addresses.
 * NULL on no memory. */
struct arena_snapshot *arena_snapshot_new(const struct arena *arena);
void arena_snapshot_restore(struct arena *arena,
                            const struct arena_snapshot *snapshot);
void arena_snapshot_free(struct arena_snapshot *snapshot);

#endif
