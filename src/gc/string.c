/* SPDX-License-Identifier: MIT
 *
 * Strings. Short ones are interned: there is at most one object for given
 * contents, so that equality is identity. They hang in the string table, a
 * chained hash table that does not keep them alive: whoever frees one takes
 * it out first (gc_string_unlink), and a string that the last mark found dead
 * but that the sweep has not reached yet can be found again; it then has to
 * live. Long strings are ordinary objects that refer to nothing.
 *
 * The hash is a function of the contents alone, with a fixed seed.
 */
#include <string.h>

#include "gc/heap.h"

enum { STRING_LENGTH_MAX = 0x7fffffff, BUCKETS_MAX = 1 << 28 };

_Static_assert(BUCKETS_MAX <= SIZE_MAX / sizeof(struct gc_string *),
               "the size of the largest string table fits");

static uint32_t
hash_bytes(const char *bytes, uint32_t length)
{
  uint32_t hash = 0x5bd1e995u ^ length;

  for (uint32_t i = 0; i < length; i++) {
    hash = (hash ^ (unsigned char)bytes[i]) * 0x01000193u;
  }
  hash ^= hash >> 15;
  hash *= 0x2c1b3c6du;
  return hash ^ (hash >> 13);
}

bool
gc_string_equal(const struct gc_string *a, const struct gc_string *b)
{
  return a->hash == b->hash && a->length == b->length
         && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* ---- the string table ------------------------------------------------ */

static struct gc_string **
bucket_of(const struct gc_string_table *table, uint32_t hash)
{
  return &table->buckets[hash & (table->bucket_count - 1)];
}

/* Moves every string into a table of count buckets; without memory for it the
 * old table stays. The old table is looked at only when the new one is there,
 * since dead strings may leave it meanwhile. */
static void
table_resize(struct gc_heap *heap, uint32_t count)
{
  struct gc_string_table *table = &heap->strings;
  struct gc_string_table fresh = { .bucket_count = count };
  size_t old_size = table->bucket_count * sizeof(struct gc_string *);

  fresh.buckets = gc_memory_resize(heap, NULL, 0,
                                   count * sizeof(struct gc_string *));
  if (fresh.buckets == NULL) {
    return;
  }
  fresh.count = table->count;
  for (uint32_t i = 0; i < count; i++) {
    fresh.buckets[i] = NULL;
  }
  for (uint32_t i = 0; i < table->bucket_count; i++) {
    struct gc_string *string = table->buckets[i];

    while (string != NULL) {
      struct gc_string *following = string->chain;
      struct gc_string **bucket = bucket_of(&fresh, string->hash);

      if (GC_FAULTY(heap, STRING_REHASH) && i < count) {
        bucket = &fresh.buckets[i];
      }
      string->chain = *bucket;
      *bucket = string;
      string = following;
    }
  }
  if (old_size > 0) {
    gc_memory_resize(heap, table->buckets, old_size, 0);
  }
  *table = fresh;
}

static void
table_make_room(struct gc_heap *heap)
{
  const struct gc_string_table *table = &heap->strings;

  if (table->bucket_count == 0) {
    table_resize(heap, heap->dialect->string_table_first);
  } else if (table->count >= table->bucket_count
             && table->bucket_count < BUCKETS_MAX) {
    table_resize(heap, table->bucket_count * 2);
  }
}

void
gc_string_table_shrink(struct gc_heap *heap)
{
  const struct gc_string_table *table = &heap->strings;

  if (!heap->emergency && table->bucket_count > 1
      && table->count
             < table->bucket_count / heap->dialect->string_shrink_div) {
    table_resize(heap, table->bucket_count / 2);
  }
}

void
gc_string_table_free(struct gc_heap *heap)
{
  struct gc_string_table *table = &heap->strings;

  if (table->bucket_count > 0) {
    gc_memory_resize(heap, table->buckets,
                     table->bucket_count * sizeof(struct gc_string *), 0);
  }
  *table = (struct gc_string_table){ 0 };
}

void
gc_string_unlink(struct gc_heap *heap, struct gc_string *string)
{
  struct gc_string **link = bucket_of(&heap->strings, string->hash);

  while (*link != NULL && *link != string) {
    link = &(*link)->chain;
  }
  if (*link == string) {
    *link = string->chain;
    heap->strings.count--;
  }
}

/* ---- births ---------------------------------------------------------- */

static struct gc_string *
find_interned(struct gc_heap *heap, const char *bytes, uint32_t length,
              uint32_t hash)
{
  struct gc_string *string;

  if (heap->strings.bucket_count == 0) {
    return NULL;
  }
  for (string = *bucket_of(&heap->strings, hash); string != NULL;
       string = string->chain) {
    if (string->hash == hash && string->length == length
        && memcmp(string->bytes, bytes, length) == 0) {
      return string;
    }
    if (GC_FAULTY(heap, STRING_INTERNED_TWICE)) {
      return NULL;
    }
  }
  return NULL;
}

/* A string object whose bytes and hash are still to be filled in. */
static struct gc_string *
string_new_blank(struct gc_heap *heap, enum gc_kind kind, uint32_t length)
{
  struct gc_string *string;

  string = (struct gc_string *)gc_object_new(heap, kind,
                                             gc_string_size(length));
  if (string == NULL) {
    return NULL;
  }
  string->chain = NULL;
  string->hash = 0;
  string->length = length;
  string->bytes[length] = '\0';
  return string;
}

static struct gc_string *
string_new_short(struct gc_heap *heap, const char *bytes, uint32_t length)
{
  uint32_t hash = hash_bytes(bytes, length);
  struct gc_string *string = find_interned(heap, bytes, length, hash);
  struct gc_string **bucket;

  if (string != NULL) {
    if (GC_FAULTY(heap, STRING_FOUND_THEN_ROOM)) {
      table_make_room(heap);
    }
    /* Dead only while sweeping, and then the sweep has not been here. */
    if (gc_is_dead(heap, &string->head)
        && !GC_FAULTY(heap, STRING_NOT_RESURRECTED)) {
      gc_set_colour(heap, &string->head, GC_WHITE_CURRENT);
    }
    return string;
  }
  table_make_room(heap);
  if (heap->strings.bucket_count == 0) {
    return NULL;
  }
  string = string_new_blank(heap, GC_KIND_STRING_SHORT, length);
  if (string == NULL) {
    return NULL;
  }
  memcpy(string->bytes, bytes, length);
  string->hash = hash;
  bucket = bucket_of(&heap->strings, hash);
  string->chain = *bucket;
  *bucket = string;
  heap->strings.count++;
  return string;
}

struct gc_string *
gc_string_new(struct gc_heap *heap, const char *bytes, size_t length)
{
  struct gc_string *string;

  if (length <= GC_STRING_SHORT_MAX) {
    return string_new_short(heap, bytes, (uint32_t)length);
  }
  if (length > STRING_LENGTH_MAX) {
    return NULL;
  }
  string = string_new_blank(heap, GC_KIND_STRING_LONG, (uint32_t)length);
  if (string != NULL) {
    memcpy(string->bytes, bytes, length);
    string->hash = hash_bytes(bytes, (uint32_t)length);
  }
  return string;
}

static void
join_bytes(struct gc_heap *heap, char *bytes, const struct gc_string *a,
           const struct gc_string *b)
{
  memcpy(bytes, a->bytes, a->length);
  memcpy(bytes + a->length, b->bytes, b->length);
  if (GC_FAULTY(heap, CONCAT_CONTENTS) && a->length > 0 && b->length > 0) {
    bytes[a->length + b->length - 1] = a->bytes[a->length - 1];
  }
}

struct gc_string *
gc_string_concat(struct gc_heap *heap, const struct gc_string *a,
                 const struct gc_string *b)
{
  char short_bytes[GC_STRING_SHORT_MAX];
  size_t length = (size_t)a->length + b->length;
  struct gc_string *string;

  if (length <= GC_STRING_SHORT_MAX) {
    join_bytes(heap, short_bytes, a, b);
    return string_new_short(heap, short_bytes, (uint32_t)length);
  }
  if (length > STRING_LENGTH_MAX) {
    return NULL;
  }
  string = string_new_blank(heap, GC_KIND_STRING_LONG, (uint32_t)length);
  if (string != NULL) {
    join_bytes(heap, string->bytes, a, b);
    string->hash = hash_bytes(string->bytes, (uint32_t)length);
  }
  return string;
}
