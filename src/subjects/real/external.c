/* SPDX-License-Identifier: MIT
 *
 * External strings, which 5.5 has: long strings whose bytes lie where the
 * adapter has put them, and which tell it when they are done with. That must
 * happen once, for the very bytes, and for each string by the time when the
 * state is closed; nobody reads them afterwards, which a sanitizer watches.
 */
#include <stdlib.h>
#include <string.h>

#include "subjects/real/perform.h"

#if REAL_HAS_EXTERNAL

/* By number; NULL: given back. Numbers are used once in a state. */
static struct {
  char **bytes;
  size_t count, capacity;
} strings;

/* The function that a string calls when it is freed. */
static void *
give_back(void *user, void *bytes, size_t old_size, size_t new_size)
{
  size_t number = (size_t)(uintptr_t)user;
  if (number >= strings.count || new_size != 0)
    real_assertion("no external string is given back");
  if (strings.bytes[number] != bytes)
    real_assertion("an external string is given back twice");
  if (strlen(bytes) + 1 != old_size)
    real_assertion("an external string is given back with another size");
  strings.bytes[number] = NULL;
  free(bytes);
  return NULL;
}

static bool
has_room(void)
{
  enum { CAPACITY_FIRST = 64 };
  if (strings.count < strings.capacity)
    return true;
  size_t capacity = strings.capacity ? 2 * strings.capacity : CAPACITY_FIRST;
  char **bytes = realloc(strings.bytes, capacity * sizeof *bytes);
  if (!bytes)
    return false;
  strings.bytes = bytes;
  strings.capacity = capacity;
  return true;
}

/* If the string gets no memory its bytes are given back before the error. */
bool
real_push_external(lua_State *L, const char *bytes, size_t size)
{
  char *copy = has_room() ? malloc(size + 1) : NULL;
  if (!copy)
    return false;
  memcpy(copy, bytes, size);
  copy[size] = '\0';
  strings.bytes[strings.count++] = copy;
  lua_pushexternalstring(L, copy, size, give_back,
                         (void *)(uintptr_t)(strings.count - 1));
  return true;
}

void
real_expect_given_back(void)
{
  for (size_t i = 0; i < strings.count; i++)
    if (strings.bytes[i])
      real_assertion("an external string was not given back");
}

void
real_forget_external(void)
{
  for (size_t i = 0; i < strings.count; i++)
    free(strings.bytes[i]);
  strings.count = 0;
}

#endif
