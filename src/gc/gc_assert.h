/* SPDX-License-Identifier: MIT
 *
 * GC_ASSERT: a claim about this module itself, or about a caller's use of
 * gc.h; on in every build. Never about what a seeded fault may have broken
 * in a heap, for then the verifier would die of what it came to find.
 */
#ifndef PENUMBRA_GC_GC_ASSERT_H
#define PENUMBRA_GC_GC_ASSERT_H

/* Tells the handler of gc_set_assertion_handler(), then aborts. */
_Noreturn void gc_assertion_failed(const char *file, int line,
                                   const char *condition);

#define GC_ASSERT(condition)       \
  ((condition) ? (void)0           \
               : gc_assertion_failed(__FILE__, __LINE__, #condition))

#endif
