/* SPDX-License-Identifier: MIT
 *
 * Which operations of a stream neither subject of a twin test performs, by the
 * rows of twin.def: what a shadow says before the operation decides. Knows the
 * oracle; twin.c calls it, on both sides.
 */
#ifndef PENUMBRA_LAB_TWIN_RULES_H
#define PENUMBRA_LAB_TWIN_RULES_H

#include <stdbool.h>

#include "lab/twin.h"
#include "oracle/view.h"

/* The row by which op is left out; TWIN_DIFFERENCES: by none. op is admitted
 * by the oracle. firm was taken after the operation before. is_whole: a
 * micro-step is a whole collection as things are. */
enum twin_difference twin_leaves_out(const struct twin_pair *pair,
                                     const struct oracle *oracle,
                                     const struct oracle_firm *firm,
                                     struct op op, bool is_whole);

#endif
