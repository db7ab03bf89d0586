/* SPDX-License-Identifier: MIT
 *
 * The random generator of streams. Swarm testing: each stream switches some
 * operations off and weights the rest unevenly; the same seed and count give
 * the same stream everywhere. Owns nothing.
 */
#ifndef PENUMBRA_OPS_OP_GEN_H
#define PENUMBRA_OPS_OP_GEN_H

#include "ops/ops.h"

/* A small deterministic random source (state must come from op_random_init).
 * Used by the generator and by the structure-aware mutator. */
struct op_random {
  uint64_t state;
};

void op_random_init(struct op_random *random, uint64_t seed);
uint64_t op_random_next(struct op_random *random);
/* Uniform below bound; bound > 0. */
uint32_t op_random_below(struct op_random *random, uint32_t bound);

/* Per-stream swarm weights. */
struct op_swarm {
  uint32_t weight[OP_COUNT];
  uint32_t total;
};

void op_swarm_init(struct op_swarm *swarm, struct op_random *random);
/* One random operation. Operand values favour small sizes and recently used
 * registers' neighbours only through random: the generator has no state but
 * this. */
struct op op_generate(const struct op_swarm *swarm, struct op_random *random);

/* A stream of count operations. Three of four streams begin with setup, most of
 * these in generational mode; each has some recipes (op_recipe.h) switched on
 * and follows one now and then. */
enum stream_status stream_generate(uint64_t seed, size_t count,
                                   struct stream *ret_stream);

#endif
