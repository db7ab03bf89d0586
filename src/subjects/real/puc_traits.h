/* SPDX-License-Identifier: MIT
 *
 * What this release promises: its version's column of the table of traits, and
 * what differs from that. Part of puc_heap.c, which alone includes it.
 */
#include "subjects/traits.h"

#if LUA_VERSION_NUM == 501
#define TRAIT(field, l50, l51, l52, l53, l54, l55, jit) .field = l51,
#elif LUA_VERSION_NUM == 502
#define TRAIT(field, l50, l51, l52, l53, l54, l55, jit) .field = l52,
#elif LUA_VERSION_NUM == 503
#define TRAIT(field, l50, l51, l52, l53, l54, l55, jit) .field = l53,
#elif LUA_VERSION_NUM == 504
#define TRAIT(field, l50, l51, l52, l53, l54, l55, jit) .field = l54,
#else
#define TRAIT(field, l50, l51, l52, l53, l54, l55, jit) .field = l55,
#endif

/* What differs is said after the column, which says it, too. */
#pragma GCC diagnostic ignored "-Woverride-init"
const struct subject_traits real_traits = {
#include "subjects/traits.def"
/* Releases of 5.4 before 5.4.7 take any string as a mode (lgc.c). */
#if LUA_VERSION_NUM == 504 && LUA_VERSION_RELEASE_NUM < 50407
    .mode_short = false,
#endif
/* Those before 5.4.9 put a table whose both sides are weak aside for good when
 * they visit it (lgc.c: traversetable). */
#if LUA_VERSION_NUM == 504 && LUA_VERSION_RELEASE_NUM < 50409
    .mode_at_atomic = false,
#endif
/* 5.4.4 makes emergency collections while a stack is moved, 5.4.9 none (ldo.c:
 * luaD_reallocstack). */
#if LUA_VERSION_NUM == 504 && LUA_VERSION_RELEASE_NUM > 50404
    .emergency_stacks = false,
#endif
};
#undef TRAIT
