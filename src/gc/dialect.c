/* SPDX-License-Identifier: MIT
 *
 * The table of dialects: a column for each dialect, a row for each way in
 * which they differ. Where articles and the real sources disagree, the
 * sources are right; the comment of a row says what they do.
 */
#include "gc/dialect.h"

#include <string.h>

enum { LUA54, DIALECT_COUNT };

#define ROW(FIELD, lua54) [LUA54].FIELD = (lua54)

static const struct gc_dialect dialects[DIALECT_COUNT] = {
  ROW(name, "lua54"),

  /* Sweeping: objects a step; a further step, of cost 0, moves on. */
  ROW(sweep_batch, 100),

  /* Finalizers a step, and what one costs. */
  ROW(finalizer_batch, 10),
  ROW(finalizer_cost, 50),

  /* Pacing. The step's size is a power of two of bytes. */
  ROW(pause_percent, 200),
  ROW(step_multiplier_percent, 100),
  ROW(step_size_log2, 13),
  ROW(minor_multiplier_percent, 20),
  ROW(major_multiplier_percent, 100),
  ROW(stopped_debt, -2000),

  /* Parameters are kept in bytes: those that may be large percentages in
   * steps of four. What does not fit wraps around. */
  ROW(parameter_unit, 4),
  ROW(parameter_values, 256),

  /* Interned strings. The table is halved, at most once a cycle, at the
   * end of the sweep, when fewer than a quarter of its buckets' number of
   * strings are left; it has no floor. */
  ROW(string_table_first, 128),
  ROW(string_shrink_div, 4),

  /* Barriers: a metatable has the forward one for tables and userdata
   * alike; a user value the back one. */
  ROW(metatable_back_barrier, false),
  ROW(user_value_back_barrier, true),

  /* Userdata without user values are never grey. */
  ROW(userdata_leaf_black, true),
};

#undef ROW

const struct gc_dialect *
gc_dialect_find(const char *name)
{
  if (name == NULL) {
    return &dialects[0];
  }
  for (int i = 0; i < DIALECT_COUNT; i++) {
    if (strcmp(dialects[i].name, name) == 0) {
      return &dialects[i];
    }
  }
  return NULL;
}
