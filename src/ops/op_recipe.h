/* SPDX-License-Identifier: MIT
 *
 * Recipes: short sequences of operations that bring a collector to where bugs
 * have hidden, such as a store in a chosen phase, or one failing allocation. A
 * stream switches some of them on; the mutator puts single ones in. Owned by
 * the generator.
 */
#ifndef PENUMBRA_OPS_OP_RECIPE_H
#define PENUMBRA_OPS_OP_RECIPE_H

#include "ops/op_gen.h"

enum op_recipe_kind {
  OP_RECIPE_PHASE,     /* a change of the heap in a phase */
  OP_RECIPE_AGE,       /* one to three minor collections between two changes */
  OP_RECIPE_MODE,      /* a switch of modes in a phase, and back */
  OP_RECIPE_FAILURE,   /* one allocation, or all, fail in the next operation */
  OP_RECIPE_UPVALUES,  /* a shared upvalue is written and closed */
  OP_RECIPE_WEAK_KEYS, /* weak keys that wait for their finalizers */
  OP_RECIPE_PENDING,   /* a store while finalizers are half called */
  OP_RECIPE_ROOT,      /* a root is first filled in while marking */
  OP_RECIPE_EPHEMERON, /* a chain of ephemerons loses its first key */
  OP_RECIPE_REVIVE,    /* a finalizer saves its object, which dies again */
  OP_RECIPE_PACE,      /* a parameter, then what is paced by it */
  OP_RECIPE_SHARED_KEY, /* pairs of weak tables that share a key */
  OP_RECIPE_WEAK_STORE, /* a weak table is written after its visit */
  OP_RECIPE_METAMETHOD, /* a function is called for an access */
  OP_RECIPE_COUNT
};

enum { OP_RECIPE_MAX = 24 };

struct op_recipe {
  struct op ops[OP_RECIPE_MAX];
  size_t count;
};

/* Makes one of the recipes whose bit is set in on, which is not 0; registers
 * are drawn below `registers`. */
void op_recipe_draw(uint32_t on, int32_t registers, struct op_random *random,
                    struct op_recipe *ret_recipe);
/* Whether an operation of a recipe stands for any one that changes the heap,
 * to be drawn. */
static inline bool
op_recipe_is_open(struct op op)
{
  return op.code == OP_SETUP;
}
/* Draws it. */
struct op op_recipe_fill(const struct op_swarm *swarm,
                         struct op_random *random);

#endif
