/* SPDX-License-Identifier: MIT
 *
 * PENUMBRA_ASSERT: a claim about ourselves, on in every build, for a verifier
 * in a wrong state gives wrong verdicts. Never used on input, and never for
 * what a subject does: that is a law's business.
 */
#ifndef PENUMBRA_OPS_OP_ASSERT_H
#define PENUMBRA_OPS_OP_ASSERT_H

#ifndef PENUMBRA_ASSERT
#include <stdio.h>
#include <stdlib.h>

#define PENUMBRA_ASSERT(condition)                                             \
  ((condition) ? (void)0                                                       \
               : (fprintf(stderr, "penumbra: %s:%d: assertion failed: %s\n",   \
                          __FILE__, __LINE__, #condition),                     \
                  abort()))
#endif

#endif
