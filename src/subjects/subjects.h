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

/* Traits by version, from traits.def. */
extern const struct subject_traits subject_traits_lua50, subject_traits_lua51,
    subject_traits_lua52, subject_traits_lua53, subject_traits_lua54,
    subject_traits_lua55, subject_traits_luajit;

/* The seeded faults of the built-in collector (gc/fault.h); a row whose name
 * is NULL ends the list. */
const struct gc_fault_info *subject_fault_infos(void);

#endif
