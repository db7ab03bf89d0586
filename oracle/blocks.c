/* SPDX-License-Identifier: MIT
 *
 * See blocks.h. The side table is larger than what a stream uses by far, so
 * its pages are noted when they are first written, and only they are cleared.
 */
#include "oracle/blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ops/op_assert.h"
#include "oracle/state.h"

enum {
  PAGE_WORDS = 1024, /* side words in one page of 4 KiB */
  PAGE_LOG2 = 10,
  PAGES_KEPT = 4096, /* cleared by hand; beyond, memory is given back */
  RECORDS_FIRST = 256,
  KIND_SHIFT = 27
};

#define NUMBER_MASK ((UINT32_C(1) << KIND_SHIFT) - 1)

_Static_assert(1 << PAGE_LOG2 == PAGE_WORDS, "a page is a power of two");
_Static_assert(SUBJECT_KIND_COUNT < 16, "a dead word has four bits for it");

static void *
map(uint64_t bytes)
{
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t
page_count_max(const struct blocks *blocks)
{
  return (blocks->granule_count + PAGE_WORDS - 1) >> PAGE_LOG2;
}

static bool
grow(struct blocks *blocks)
{
  if (blocks->capacity >= BLOCKS_DEAD / 2)
    return false;
  uint32_t capacity = blocks->capacity ? blocks->capacity * 2 : RECORDS_FIRST;
  struct block_view *views =
      oracle_allocate(blocks->views, capacity * sizeof *blocks->views);
  if (!views)
    return false;
  blocks->views = views;
  struct block *records =
      oracle_allocate(blocks->records, capacity * sizeof *blocks->records);
  if (!records)
    return false;
  blocks->records = records;
  blocks->capacity = capacity;
  return true;
}

bool
blocks_init(struct blocks *blocks, uint64_t region_base, uint64_t region_size,
            uint32_t granule)
{
  PENUMBRA_ASSERT(granule > 1 && (granule & (granule - 1)) == 0);
  memset(blocks, 0, sizeof *blocks);
  while (UINT32_C(1) << blocks->shift < granule)
    blocks->shift++;
  blocks->region_base = region_base;
  blocks->granule_count = region_size >> blocks->shift;
  blocks->side = map(blocks->granule_count * sizeof *blocks->side);
  blocks->touched = map(page_count_max(blocks));
  blocks->pages = map(page_count_max(blocks) * sizeof *blocks->pages);
  if (!blocks->side || !blocks->touched || !blocks->pages || !grow(blocks))
    return false;
  blocks_clear(blocks);
  return true;
}

void
blocks_done(struct blocks *blocks)
{
  if (blocks->side)
    munmap(blocks->side, blocks->granule_count * sizeof *blocks->side);
  if (blocks->touched)
    munmap(blocks->touched, page_count_max(blocks));
  if (blocks->pages)
    munmap(blocks->pages, page_count_max(blocks) * sizeof *blocks->pages);
  free(blocks->views);
  free(blocks->records);
  memset(blocks, 0, sizeof *blocks);
}

void
blocks_clear(struct blocks *blocks)
{
  if (blocks->page_count > PAGES_KEPT)
    madvise(blocks->side, blocks->granule_count * sizeof *blocks->side,
            MADV_DONTNEED);
  for (uint32_t i = 0; i < blocks->page_count; i++) {
    uint64_t first = (uint64_t)blocks->pages[i] << PAGE_LOG2;
    uint64_t count = blocks->granule_count - first;
    if (blocks->page_count <= PAGES_KEPT)
      memset(blocks->side + first, 0,
             (count < PAGE_WORDS ? count : PAGE_WORDS) * sizeof *blocks->side);
    blocks->touched[blocks->pages[i]] = 0;
  }
  blocks->page_count = 0;
  memset(&blocks->views[0], 0, sizeof blocks->views[0]);
  memset(&blocks->records[0], 0, sizeof blocks->records[0]);
  blocks->views[0].kind = SUBJECT_KIND_COUNT;
  blocks->views[0].tag = SUBJECT_OTHER;
  blocks->used = 1;
  blocks->free_head = 0;
  blocks->number = 0;
  blocks->live_count = 0;
  blocks->object_count = 0;
  blocks->live_bytes = 0;
}

static void
set_word(struct blocks *blocks, uint64_t granule, uint32_t word)
{
  uint32_t page = (uint32_t)(granule >> PAGE_LOG2);
  if (!blocks->touched[page]) {
    blocks->touched[page] = 1;
    blocks->pages[blocks->page_count++] = page;
  }
  blocks->side[granule] = word;
}

uint32_t
blocks_add(struct blocks *blocks, uint64_t base, uint64_t size)
{
  uint64_t granule = blocks_granule(blocks, base);
  PENUMBRA_ASSERT(granule < blocks->granule_count);
  PENUMBRA_ASSERT(!blocks_find(blocks, base));
  uint32_t index = blocks->free_head;
  if (index) {
    blocks->free_head = blocks->records[index].next;
  } else {
    if (blocks->used == blocks->capacity && !grow(blocks))
      return 0;
    index = blocks->used++;
  }
  blocks->number += 1;
  blocks->records[index] =
      (struct block){.base = base, .size = size, .number = blocks->number};
  blocks->views[index] =
      (struct block_view){.tag = SUBJECT_OTHER, .kind = SUBJECT_KIND_COUNT};
  blocks->live_count += 1;
  blocks->live_bytes += size;
  set_word(blocks, granule, index);
  return index;
}

void
blocks_remove(struct blocks *blocks, uint32_t index)
{
  struct block *record = &blocks->records[index];
  struct block_view *view = &blocks->views[index];
  uint32_t number = record->number <= NUMBER_MASK ? record->number : 0;
  set_word(blocks, blocks_granule(blocks, record->base),
           BLOCKS_DEAD | (uint32_t)view->kind << KIND_SHIFT | number);
  blocks->live_count -= 1;
  blocks->live_bytes -= record->size;
  blocks->object_count -= view->is_object;
  record->size = 0;
  record->base = 0;
  view->survey = 0;
  view->is_object = false;
  record->next = blocks->free_head;
  blocks->free_head = index;
}

void
blocks_set_kind(struct blocks *blocks, uint32_t index, uint8_t kind)
{
  struct block_view *view = &blocks->views[index];
  blocks->object_count += !view->is_object;
  view->is_object = true;
  view->kind = kind;
  if (view->tag == SUBJECT_OTHER || view->tag == BLOCK_TAG_UPVALUE)
    view->tag =
        kind == SUBJECT_KIND_UPVALUE ? BLOCK_TAG_UPVALUE : SUBJECT_OTHER;
}

void
blocks_set_part(struct blocks *blocks, uint32_t index)
{
  struct block_view *view = &blocks->views[index];
  blocks->object_count -= view->is_object;
  view->is_object = false;
  view->kind = SUBJECT_KIND_COUNT;
}

uint32_t
blocks_name(const struct blocks *blocks, uint64_t base, uint8_t *ret_kind)
{
  uint64_t granule = blocks_granule(blocks, base);
  *ret_kind = SUBJECT_KIND_COUNT;
  if (granule >= blocks->granule_count || !blocks->side[granule])
    return 0;
  uint32_t word = blocks->side[granule];
  if (word < BLOCKS_DEAD) {
    *ret_kind = blocks->views[word].kind;
    return blocks->records[word].number;
  }
  *ret_kind = word >> KIND_SHIFT & 15;
  return word & NUMBER_MASK;
}
