/* SPDX-License-Identifier: MIT
 *
 * The memory of the shadow heap. One function of the caller's gives all of it.
 * Blocks are cut from chunks in sizes that are powers of two, given back to a
 * list of their size, and forgotten all at once by a reset, which keeps the
 * chunks: a fuzzer that runs a thousand streams a second allocates nothing
 * once it has seen a large one. Large blocks come one by one and go with the
 * reset. Called by the shadow heap only.
 */
#include "oracle/shadow_internal.h"

#include <string.h>

#include "ops/op_assert.h"

enum {
  ALIGNMENT = 16,
  CLASS_FIRST_LOG = 4, /* the smallest block has 16 bytes */
  CHUNK_SIZE = 64 * 1024,
  CHUNKS_KEPT = 64,     /* by a reset */
  VECTOR_MIN = 16,      /* items */
  VECTOR_KEPT = 1 << 20 /* bytes of one vector that a trim lets stay */
};

struct shadow_chunk {
  _Alignas(ALIGNMENT) struct shadow_chunk *next;
  _Alignas(ALIGNMENT) unsigned char bytes[CHUNK_SIZE];
};

struct shadow_big {
  _Alignas(ALIGNMENT) struct shadow_big *next;
  struct shadow_big *previous;
  _Alignas(ALIGNMENT) unsigned char bytes[];
};

void
shadow_memory_init(struct shadow_memory *memory, shadow_allocator allocate,
                   void *user)
{
  *memory = (struct shadow_memory){.allocate = allocate, .user = user};
}

static void
free_big(struct shadow_memory *memory)
{
  while (memory->big) {
    struct shadow_big *big = memory->big;

    memory->big = big->next;
    memory->allocate(memory->user, big, 0);
  }
}

static void
free_chunks(struct shadow_memory *memory, struct shadow_chunk **link)
{
  while (*link) {
    struct shadow_chunk *chunk = *link;

    *link = chunk->next;
    memory->allocate(memory->user, chunk, 0);
  }
}

void
shadow_memory_reset(struct shadow_memory *memory)
{
  struct shadow_chunk **link = &memory->chunks;

  free_big(memory);
  for (int kept = 0; *link && kept < CHUNKS_KEPT; kept++)
    link = &(*link)->next;
  free_chunks(memory, link);
  memset(memory->given, 0, sizeof memory->given);
  memory->current = memory->chunks;
  memory->used = 0;
}

void
shadow_memory_done(struct shadow_memory *memory)
{
  free_big(memory);
  free_chunks(memory, &memory->chunks);
  memory->current = NULL;
}

/* ---- blocks ---------------------------------------------------------- */

static unsigned
class_of(size_t size)
{
  if (size <= (size_t)1 << CLASS_FIRST_LOG)
    return 0;
  return 64 - (unsigned)__builtin_clzll(size - 1) - CLASS_FIRST_LOG;
}

static void *
take_big(struct shadow_memory *memory, size_t size)
{
  struct shadow_big *big = NULL;

  if (size <= SIZE_MAX - sizeof *big)
    big = memory->allocate(memory->user, NULL, sizeof *big + size);
  if (!big)
    return NULL;
  big->previous = NULL;
  big->next = memory->big;
  if (big->next)
    big->next->previous = big;
  memory->big = big;
  return big->bytes;
}

static void
give_big(struct shadow_memory *memory, void *block)
{
  struct shadow_big *big =
      (void *)((char *)block - offsetof(struct shadow_big, bytes));

  if (big->next)
    big->next->previous = big->previous;
  if (big->previous)
    big->previous->next = big->next;
  else
    memory->big = big->next;
  memory->allocate(memory->user, big, 0);
}

/* The next chunk becomes the current one; what is left of the old is lost
 * until the reset. */
static bool
advance_chunk(struct shadow_memory *memory)
{
  struct shadow_chunk *current = memory->current;
  struct shadow_chunk **link = current ? &current->next : &memory->chunks;

  if (!*link) {
    struct shadow_chunk *chunk =
        memory->allocate(memory->user, NULL, sizeof *chunk);

    if (!chunk)
      return false;
    chunk->next = NULL;
    *link = chunk;
  }
  memory->current = *link;
  memory->used = 0;
  return true;
}

void
shadow_memory_exhaust(struct shadow_memory *memory)
{
  while (memory->current && memory->current->next)
    memory->current = memory->current->next;
  memory->used = CHUNK_SIZE;
}

void *
shadow_take(struct shadow_memory *memory, size_t size)
{
  unsigned class = class_of(size);
  void *block;

  if (class >= SHADOW_BLOCK_CLASSES)
    return take_big(memory, size);
  block = memory->given[class];
  if (block) {
    memcpy(&memory->given[class], block, sizeof(void *));
    return block;
  }
  size = (size_t)1 << (class + CLASS_FIRST_LOG);
  if (!memory->current || CHUNK_SIZE - memory->used < size) {
    if (!advance_chunk(memory))
      return NULL;
  }
  block = memory->current->bytes + memory->used;
  memory->used += size;
  return block;
}

void
shadow_give(struct shadow_memory *memory, void *block, size_t size)
{
  unsigned class = class_of(size);

  if (!block)
    return;
  if (class >= SHADOW_BLOCK_CLASSES) {
    give_big(memory, block);
    return;
  }
  memcpy(block, &memory->given[class], sizeof(void *));
  memory->given[class] = block;
}

/* ---- vectors --------------------------------------------------------- */

void *
shadow_vector(struct shadow_memory *memory, void *array, uint32_t *capacity,
              size_t item, uint32_t need)
{
  uint64_t wanted = *capacity < VECTOR_MIN ? VECTOR_MIN : *capacity;

  if (need <= *capacity)
    return array;
  while (wanted < need)
    wanted *= 2;
  if (wanted > UINT32_MAX || wanted > SIZE_MAX / item)
    return NULL;
  array = memory->allocate(memory->user, array, (size_t)wanted * item);
  if (array)
    *capacity = (uint32_t)wanted;
  return array;
}

void *
shadow_vector_trim(struct shadow_memory *memory, void *array,
                   uint32_t *capacity, size_t item, uint32_t count)
{
  uint32_t wanted = VECTOR_MIN;
  void *smaller;

  PENUMBRA_ASSERT(count <= *capacity);
  while (wanted < count)
    wanted *= 2;
  if (*capacity <= wanted || *capacity * item <= VECTOR_KEPT)
    return array;
  smaller = memory->allocate(memory->user, array, wanted * item);
  if (!smaller)
    return array;
  *capacity = wanted;
  return smaller;
}
