/* SPDX-License-Identifier: MIT
 *
 * The registry of subjects, and the table of traits.
 */
#include "subjects/subjects.h"

#include <string.h>

#include "gc/fault.h"

/* ---- the words of traits.def ----------------------------------------- */

#define Y true
#define N false
#define NOTHING 0
#define PHASE(name) (1u << SUBJECT_PHASE_##name)
#define MARKING (PHASE(PROPAGATE) | PHASE(ATOMIC))
#define MARKING_54 (MARKING | PHASE(ENTER_ATOMIC))
#define KIND(name) (1u << SUBJECT_KIND_##name)
#define STRINGS (KIND(STRING_SHORT) | KIND(STRING_LONG))
#define THREADS KIND(THREAD)
#define USERDATA KIND(USERDATA)
#define CDATA KIND(CDATA)
#define NO_PARAMETER {.form = SUBJECT_FORM_NONE}
#define WHOLE(value) {.form = SUBJECT_FORM_WHOLE, .initial = (value)}
#define AT_LEAST(floor, value) \
  {.form = SUBJECT_FORM_WHOLE, .least = (floor), .initial = (value)}
#define BYTE_OF(unit, value) \
  {.form = SUBJECT_FORM_BYTE, .granule = (unit), .initial = (value)}
#define FLOATING(value) {.form = SUBJECT_FORM_FLOATING, .initial = (value)}

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
