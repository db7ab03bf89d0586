/* SPDX-License-Identifier: MIT
 *
 * The words of traits.def, for the files that make something of its table.
 * They are short and common: nothing else includes this.
 */
#ifndef PENUMBRA_SUBJECTS_TRAITS_H
#define PENUMBRA_SUBJECTS_TRAITS_H

#include "subject.h"

#define Y true
#define N false
#define NOTHING 0
#define PHASE(name) (1u << SUBJECT_PHASE_##name)
#define MARKING (PHASE(PROPAGATE) | PHASE(ENTER_ATOMIC) | PHASE(ATOMIC))
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

#endif
