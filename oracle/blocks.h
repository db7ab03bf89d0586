/* SPDX-License-Identifier: MIT
 *
 * The table of blocks: what the arena has handed out, by base address. It
 * owns a side table with one word for each granule of the region, direct
 * mapped, so that an address is resolved without hashing; and the records.
 * Only the oracle's own files use it.
 *
 * A word of the side table: 0, no block ever began here; below
 * BLOCKS_DEAD, the index of the live block's record; else the last block that
 * began here is dead, and the word keeps its kind and birth number so that a
 * message can still name it. Record 0 is no block.
 *
 * A record is split: the view is what an edge needs of its target, 16 bytes;
 * the rest is rarely read.
 */
#ifndef PENUMBRA_ORACLE_BLOCKS_H
#define PENUMBRA_ORACLE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCKS_DEAD UINT32_C(0x80000000)

/* Tag of a view that stands for an upvalue object: what it means to the
 * shadow is the value that it holds. Beside enum subject_tag and the shadow's
 * tags. */
enum { BLOCK_TAG_UPVALUE = 24 };

/* Shade of a block that is no object but a part of one. */
enum { BLOCK_SHADE_PART = 7 };

struct block_view {
  uint32_t survey; /* stamp of the last survey that showed it */
  uint32_t object; /* its index there; of a part: its owner's */
  uint32_t bits;   /* what it means to the shadow: node or string id */
  uint8_t tag;     /* SHADOW_NODE, SHADOW_STRING, BLOCK_TAG_UPVALUE, or
                    * SUBJECT_OTHER while it means nothing */
  uint8_t shade;   /* enum subject_colour; grey for fixed dead ones, which no
                    * law holds against their parents; or BLOCK_SHADE_PART */
  uint8_t kind;    /* enum subject_kind; SUBJECT_KIND_COUNT: not known */
  bool is_object;
};

struct block {
  uint64_t base;
  uint64_t size; /* bytes */
  uint64_t hash; /* of a string that the shadow does not know */
  uint32_t number;
  uint32_t cell;     /* upvalue object: its shadow cell, or 0 */
  uint32_t whitened; /* number of the sweep in which it was recoloured to the
                      * current white */
  uint32_t aged;     /* number of the collection by ages in or after which its
                      * age changed last; check_ages.c */
  uint32_t darkened; /* ... after which it was marked outside of it */
  uint32_t joined;   /* ... after which it joined its heap list; 0: not known */
  uint32_t call;     /* number of the last call of its finalizer, or 0 */
  uint32_t survived; /* full collections since it could have been freed */
  uint32_t waited;   /* full collections since its finalizer was due */
  uint32_t words;    /* string: when the shadow was last asked for it */
  uint32_t next;     /* free records: the next one */
  uint8_t age;       /* enum subject_age, as events tell it */
  uint8_t tint;      /* its colour by the events, as tally.c keeps it */
  bool cleared;      /* a table: an entry of it was cleared */
  bool revived;      /* marked last when the atomic phase had found something
                      * to be finalized */
  bool waits;        /* it waits for its finalizer, as surveys show */
};

struct blocks {
  uint64_t region_base;
  uint64_t granule_count;
  unsigned shift;   /* log2 of the granule */
  uint32_t *side;   /* owns granule_count words, mapped without reserve */
  uint8_t *touched; /* owns; one byte for each page of side words */
  uint32_t *pages;  /* owns; the touched pages */
  uint32_t page_count;
  struct block_view *views; /* owns capacity; indexed like records */
  struct block *records;    /* owns capacity; owned by views' twin */
  uint32_t capacity, used;  /* records; used counts record 0 */
  uint32_t free_head;       /* 0: none */
  uint32_t number;          /* birth number of the last block */
  uint32_t live_count;
  uint32_t object_count; /* live ones known to be objects */
  uint64_t live_bytes;
};

/* False on no memory; then blocks_done() is still due. */
bool blocks_init(struct blocks *blocks, uint64_t region_base,
                 uint64_t region_size, uint32_t granule);
void blocks_done(struct blocks *blocks);
/* Forgets all blocks; costs what was used since the last time. */
void blocks_clear(struct blocks *blocks);

/* The index of the new record; 0 on no memory. base must lie in the region,
 * aligned, and begin no live block. */
uint32_t blocks_add(struct blocks *blocks, uint64_t base, uint64_t size);
/* The record is free afterwards. */
void blocks_remove(struct blocks *blocks, uint32_t index);
/* Says that the block is an object of the kind, or is none. */
void blocks_set_kind(struct blocks *blocks, uint32_t index, uint8_t kind);
void blocks_set_part(struct blocks *blocks, uint32_t index);

/* The number of the granule at which a block with this base would begin; at
 * least granule_count if none can. The rotation takes low bits that are not
 * zero to the top. */
static inline uint64_t
blocks_granule(const struct blocks *blocks, uint64_t base)
{
  uint64_t offset = base - blocks->region_base;
  return offset >> blocks->shift | offset << (64 - blocks->shift);
}

/* The record of the live block at base; 0 if there is none. */
static inline uint32_t
blocks_find(const struct blocks *blocks, uint64_t base)
{
  uint64_t granule = blocks_granule(blocks, base);
  if (granule >= blocks->granule_count)
    return 0;
  uint32_t word = blocks->side[granule];
  return word < BLOCKS_DEAD ? word : 0;
}

/* The birth number and kind of the live or last block at base; number 0 if
 * there was none or the number is too large to be kept. */
uint32_t blocks_name(const struct blocks *blocks, uint64_t base,
                     uint8_t *ret_kind);

#endif
