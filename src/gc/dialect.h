/* SPDX-License-Identifier: MIT
 *
 * The dialects are data: one readable table in dialect.c, a column for each,
 * a row for each way in which they differ. No other file asks which dialect
 * it is. Internal to src/gc.
 */
#ifndef PENUMBRA_GC_DIALECT_H
#define PENUMBRA_GC_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

struct gc_dialect {
  const char *name;
  uint32_t sweep_batch;        /* objects one sweep micro-step handles */
  uint32_t finalizer_batch;    /* finalizers one micro-step calls */
  uint32_t finalizer_cost;     /* work units of one */
  uint32_t pause_percent;      /* default: wait until the heap has grown to */
  uint32_t step_multiplier_percent;
  uint32_t step_size_log2;     /* bytes of one basic step */
  uint32_t minor_multiplier_percent;
  uint32_t major_multiplier_percent;
  uint32_t string_table_first; /* buckets */
  uint32_t string_shrink_div;  /* halve when count < buckets / this */
  uint32_t parameter_unit;     /* of the percentages but the minor one */
  uint32_t parameter_values;   /* how many of these units, or of ones for the
                                * other parameters, can be told apart */
  int64_t stopped_debt;        /* debt after a check while stopped */
  bool metatable_back_barrier; /* table's metatable: back instead of forward */
  bool user_value_back_barrier;
  bool userdata_leaf_black;    /* without user values: black at once */
};

const struct gc_dialect *gc_dialect_find(const char *name); /* NULL: first */

#endif
