/* SPDX-License-Identifier: MIT
 *
 * The registry of subjects, and the table of traits.
 */
#include "subjects/subjects.h"

#include <string.h>

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

const struct subject *const subject_all[] = {&subject_lua54, NULL};

const struct subject *
subject_find(const char *name)
{
  for (size_t i = 0; subject_all[i]; i++)
    if (strcmp(subject_all[i]->name, name) == 0)
      return subject_all[i];
  return NULL;
}

const struct gc_fault_info *
subject_fault_infos(void)
{
  return gc_fault_infos;
}
