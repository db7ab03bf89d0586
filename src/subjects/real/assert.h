/* SPDX-License-Identifier: MIT
 *
 * Included before all else into each file of a tree of PUC Lua, and into the
 * adapter's files. The tree's own assertions and API checks become events, and
 * its hashes are the same in each run. REAL_LUA_VERSION is 501 to 505.
 *
 * All API checks of all versions end in lua_assert where it is defined.
 */
#ifndef PENUMBRA_SUBJECTS_REAL_ASSERT_H
#define PENUMBRA_SUBJECTS_REAL_ASSERT_H

#if REAL_LUA_VERSION == 501
/* A header of the tree has a macro of the name of a function that this one
 * declares. */
#include <stdio.h>
#endif

void real_assertion(const char *text);

#define REAL_TEXT(x) REAL_TEXT_(x)
#define REAL_TEXT_(x) #x
#define lua_assert(condition)       \
  ((condition) ? (void)0            \
               : real_assertion(    \
                   __FILE__ ":" REAL_TEXT(__LINE__) ": " #condition))
/* 5.5 wraps what only its assertions need. */
#define assert_code(code) code

/* The seed of string hashes. 5.1 has none; 5.2 and 5.3 stir addresses into it,
 * one of which is of the C stack, after they have asked for it: they leave
 * here instead. */
#define REAL_SEED 0x50454eu
#if REAL_LUA_VERSION == 502 || REAL_LUA_VERSION == 503
#define luai_makeseed() REAL_SEED; return REAL_SEED
#else
#define luai_makeseed(...) REAL_SEED
#endif

#endif
