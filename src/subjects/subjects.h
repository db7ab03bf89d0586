/* SPDX-License-Identifier: MIT
 *
 * The registry of subjects and what the command shows of them. subject_all
 * and subject_find are declared in subject.h.
 */
#ifndef PENUMBRA_SUBJECTS_SUBJECTS_H
#define PENUMBRA_SUBJECTS_SUBJECTS_H

#include "gc/fault.h"
#include "subject.h"

/* The built-in collector, dialect lua54. */
extern const struct subject subject_lua54;

/* The columns of traits.def. */
enum subject_version {
  SUBJECT_LUA50,
  SUBJECT_LUA51,
  SUBJECT_LUA52,
  SUBJECT_LUA53,
  SUBJECT_LUA54,
  SUBJECT_LUA55,
  SUBJECT_LUAJIT,
  SUBJECT_VERSION_COUNT
};
extern const struct subject_traits subject_traits[SUBJECT_VERSION_COUNT];

/* The seeded faults of the built-in collector (gc/fault.h); a row whose name
 * is NULL ends the list. */
const struct gc_fault_info *subject_fault_infos(void);

#endif
