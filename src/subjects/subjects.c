/* SPDX-License-Identifier: MIT
 *
 * The registry of subjects, and the table of traits.
 */
#include "subjects/subjects.h"

#include <string.h>

#include "gc/fault.h"

const struct subject_traits subject_traits_lua54 = {
#define TRAIT(field, lua54) .field = (lua54),
#include "subjects/traits.def"
#undef TRAIT
};

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
