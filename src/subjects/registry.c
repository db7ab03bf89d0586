/* SPDX-License-Identifier: MIT
 *
 * The registry of subjects. A file of its own, so that programs which name
 * their subject carry no others.
 */
#include <string.h>

#include "subjects/subjects.h"

/* The real collectors of this build: configure has written the list. */
#define REAL_SUBJECT(name) extern const struct subject subject_##name;
#include "subjects/real/list.def"
#undef REAL_SUBJECT

const struct subject *const subject_all[] = {
  &subject_lua54,
#define REAL_SUBJECT(name) &subject_##name,
#include "subjects/real/list.def"
#undef REAL_SUBJECT
  NULL,
};

const struct subject *
subject_find(const char *name)
{
  for (size_t i = 0; subject_all[i]; i++)
    if (strcmp(subject_all[i]->name, name) == 0)
      return subject_all[i];
  return NULL;
}
