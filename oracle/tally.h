/* SPDX-License-Identifier: MIT
 *
 * The tally: counters of what the streams have shown, so that a clean verdict
 * can be told from a vacuous one. tally.def lists them, with those that can
 * never count; it has no say in any verdict. The counters lie in struct
 * oracle_stats; this module owns their order and their names, and what it has
 * to remember to count them (struct tally, in the oracle's state).
 *
 * Colours and ages are followed by events alone, since a barrier comes between
 * two surveys. Only what happens while the subject runs is counted, but for
 * the finalizers that closing calls.
 */
#ifndef PENUMBRA_ORACLE_TALLY_H
#define PENUMBRA_ORACLE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "subject.h"

struct oracle;
struct oracle_stats;

enum { TALLY_ANY = -1, TALLY_SAME = -2, TALLY_AXES = 5 };

enum tally_deed {
#define DEED(NAME, words) TALLY_DEED_##NAME,
#include "oracle/tally.def"
  TALLY_DEEDS
};

enum tally_clearing {
#define CLEARING(NAME, words) TALLY_CLEARING_##NAME,
#include "oracle/tally.def"
  TALLY_CLEARINGS
};

/* Places of each axis. */
enum {
#define AXIS(NAME, count, words) TALLY_PLACES_##NAME = (count),
#include "oracle/tally.def"
};

enum tally_group {
#define GROUP(NAME, title, form, A, B, C, D, E) TALLY_##NAME,
#include "oracle/tally.def"
  TALLY_LAWS, /* how often each law was applied: no counters of its own */
  TALLY_GROUPS
};

/* The first counter of each group; then how many there are. */
enum {
#define GROUP(NAME, title, form, A, B, C, D, E)                            \
  TALLY_FIRST_##NAME,                                                      \
  TALLY_LAST_##NAME = TALLY_FIRST_##NAME +                                 \
                      TALLY_PLACES_##A * TALLY_PLACES_##B *                \
                          TALLY_PLACES_##C * TALLY_PLACES_##D *            \
                          TALLY_PLACES_##E -                               \
                      1,
#include "oracle/tally.def"
  TALLY_COUNTERS
};

/* ---- reading --------------------------------------------------------- */

enum { TALLY_NAME_MAX = 96 };

struct tally_cell {
  enum tally_group group;
  char name[TALLY_NAME_MAX]; /* within the group */
  uint64_t count;
  const char *never; /* why it cannot be; NULL: it has to be seen */
};

/* The next cell that applies to the subject, in the order of the list. *cursor
 * is 0 at first and belongs to this function then. False at the end. */
bool tally_next(const struct oracle_stats *stats,
                const struct subject *subject, size_t *cursor,
                struct tally_cell *ret_cell);
const char *tally_title(enum tally_group group);
/* The sum over all cells at these places, each of which may be TALLY_ANY. */
uint64_t tally_sum(const struct oracle_stats *stats, enum tally_group group,
                   const int places[TALLY_AXES]);

/* ---- counting: for the oracle's own files ---------------------------- */

struct tally {
  uint32_t emergencies; /* in the operation that runs, outside finalizers */
  uint8_t white;        /* which of the two whites is current */
};

void tally_begin(struct oracle *oracle);
/* Each event, before it is judged and before the shadow follows it. */
void tally_event(struct oracle *oracle, const struct subject_event *event);
void tally_survey(struct oracle *oracle);
void tally_operation_begin(struct oracle *oracle, struct op op);
void tally_operation_end(struct oracle *oracle, enum subject_status status);

#endif
