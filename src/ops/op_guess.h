/* SPDX-License-Identifier: MIT
 *
 * What a generator may believe of the registers: which kind of value each one
 * of the running frame holds, as far as that follows from the operations that
 * it has drawn itself. A guess may be wrong, and an operation that needs
 * another kind is then skipped; it saves most of the skips. Owned by the
 * generator; the mutator of the fuzz targets uses it, too.
 */
#ifndef PENUMBRA_OPS_OP_GUESS_H
#define PENUMBRA_OPS_OP_GUESS_H

#include "ops/op_gen.h"

enum { OP_GUESS_DEPTH_MAX = 16 };

struct op_guess {
  /* One row a frame, the running one last; bits of kinds, 0: not known. */
  uint16_t kinds[OP_GUESS_DEPTH_MAX][OP_REGISTERS];
  uint32_t depth;     /* rows in use - 1 */
  int32_t registers;  /* only the first so many are used */
};

/* registers: 1 to OP_REGISTERS. With few of them a stream meets itself more
 * often. */
void op_guess_init(struct op_guess *guess, int32_t registers);
/* Gives op registers that hold what it needs, if there are such; else, now and
 * then, op becomes one that makes what is missing. */
struct op op_guess_fit(const struct op_guess *guess, struct op op,
                       struct op_random *random);
/* Follows op. */
void op_guess_apply(struct op_guess *guess, struct op op);

#endif
