/* SPDX-License-Identifier: MIT
 *
 * The list of laws as an enumeration and a table (laws.def).
 */
#ifndef PENUMBRA_ORACLE_LAW_H
#define PENUMBRA_ORACLE_LAW_H

#include <stdint.h>

#include "subject.h"

enum law {
  LAW_NONE,
#define LAW(NAME, id, title, statement, where, needs, source) LAW_##NAME,
#include "oracle/laws.def"
#undef LAW
};

/* One more than the number of laws: LAW_NONE counts. */
enum {
#define LAW(NAME, id, title, statement, where, needs, source) +1
  LAW_COUNT = 1
#include "oracle/laws.def"
#undef LAW
};

struct law_info {
  const char *id;
  const char *title;     /* what a violation means */
  const char *statement; /* what is promised */
  const char *where;
  const char *source;
  uint32_t needs; /* enum subject_capability bits */
};

/* Indexed by enum law; entry 0 has id "none". */
extern const struct law_info law_infos[LAW_COUNT];
enum law law_find(const char *id); /* LAW_NONE if there is no such law */

#endif
