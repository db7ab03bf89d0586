/* SPDX-License-Identifier: MIT
 *
 * The table of traits, and the faults of the built-in collector.
 */
#include "subjects/subjects.h"

#include "gc/fault.h"
#include "subjects/traits.h"

/* ---- the table ------------------------------------------------------- */

#define TRAIT(field, l50, l51, l52, l53, l54, l55, jit)               \
  [SUBJECT_LUA50].field = l50, [SUBJECT_LUA51].field = l51,           \
  [SUBJECT_LUA52].field = l52, [SUBJECT_LUA53].field = l53,           \
  [SUBJECT_LUA54].field = l54, [SUBJECT_LUA55].field = l55,           \
  [SUBJECT_LUAJIT].field = jit,
const struct subject_traits subject_traits[SUBJECT_VERSION_COUNT] = {
#include "subjects/traits.def"
};
#undef TRAIT

const struct gc_fault_info *
subject_fault_infos(void)
{
  return gc_fault_infos;
}
