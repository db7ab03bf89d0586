/* SPDX-License-Identifier: MIT
 *
 * Makes a stream as short and plain as it can be while a predicate still
 * holds, for instance "still breaks the same law". Owns nothing; knows streams
 * only, so that the predicate may run them in a child process.
 */
#ifndef PENUMBRA_LAB_SHRINK_H
#define PENUMBRA_LAB_SHRINK_H

#include <stdbool.h>
#include <stddef.h>

#include "ops/ops.h"

typedef bool (*shrink_predicate)(void *user, const struct stream *stream);

/* Changes stream in place; it holds for stream at the start and at the end.
 * At most runs_max calls of holds. Returns how many were made. */
size_t stream_shrink(struct stream *stream, shrink_predicate holds, void *user,
                     size_t runs_max);

#endif
