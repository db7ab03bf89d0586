/* SPDX-License-Identifier: MIT
 *
 * The oracle: holds a subject against the shadow heap and the laws. It owns
 * the shadow, the table of live blocks, the bindings and the statistics; it
 * borrows the subject. The lab drives it:
 *
 *   oracle_begin            a new stream
 *   ... open; every event, here and below, to oracle_event ...
 *   oracle_attach           the subject runs
 *   for each operation:
 *     oracle_admits           else skip
 *     oracle_operation_begin
 *     ... perform; at each STEP_END oracle_check(ORACLE_INSIDE) ...
 *     oracle_operation_end    the shadow follows, as it has followed each
 *                             finalizer; what was kept for the end is judged
 *     oracle_check(ORACLE_BETWEEN)
 *   oracle_close_begin
 *   ... close ...
 *   oracle_closed
 *
 * The first violation is kept as the finding; from then on every call does
 * nothing. It never prints.
 */
#ifndef PENUMBRA_ORACLE_ORACLE_H
#define PENUMBRA_ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oracle/law.h"
#include "oracle/tally.h"
#include "subject.h"

struct oracle;
struct shadow;

struct oracle_config {
  uint64_t region_base; /* the address range that blocks lie in */
  uint64_t region_size; /* bytes */
  uint32_t granule;     /* blocks are aligned to this power of two */
};

enum { ORACLE_TEXT_MAX = 2048, ORACLE_OBJECTS_MAX = 4 };

/* An object in a finding. number: the birth number of its block, from 1; 0
 * for the root. */
struct oracle_object {
  uint64_t base;
  uint32_t number;
  uint32_t node;  /* shadow id; 0 if it is bound to none */
  uint8_t kind;   /* enum subject_kind */
  uint8_t colour; /* enum subject_colour when last surveyed */
  uint8_t age;
  bool live; /* its block */
};

struct oracle_finding {
  enum law law;  /* LAW_NONE: no finding */
  uint8_t phase; /* enum subject_phase */
  /* One sentence that names objects as kind #number. */
  char message[ORACLE_TEXT_MAX];
  /* For each object a line: kind, colour, list, path in the subject's heap if
   * there is one, and in the shadow. */
  char detail[ORACLE_TEXT_MAX];
  struct oracle_object objects[ORACLE_OBJECTS_MAX];
  uint32_t object_count;
  /* Kinds, for the signature, as "table>string"; no numbers. Of an assertion
   * its place, as "lgc.c:12". */
  char kinds[64];
};

/* What was checked and seen since oracle_new: shows that a clean verdict is
 * no vacuous one. Counters only, all of one type, so that they can be added as
 * one array. */
struct oracle_stats {
  uint64_t checks;         /* surveys judged */
  uint64_t objects, edges; /* surveyed */
  uint64_t law[LAW_COUNT]; /* how often each law was applied to something */
  uint64_t phase[SUBJECT_PHASE_COUNT]; /* checks in each phase */
  /* RECOLOURED events by from and to */
  uint64_t recoloured[SUBJECT_COLOUR_COUNT][SUBJECT_COLOUR_COUNT];
  uint64_t births, deaths;
  uint64_t tally[TALLY_COUNTERS]; /* tally.h */
};

void oracle_stats_add(struct oracle_stats *sum,
                      const struct oracle_stats *part);
/* part must have been counted within sum. */
void oracle_stats_subtract(struct oracle_stats *sum,
                           const struct oracle_stats *part);

enum oracle_when {
  ORACLE_INSIDE, /* at a micro-step boundary within an operation that may
                  * have changed the heap: contents are not compared */
  ORACLE_BETWEEN /* after an operation, or after a micro-step that the lab
                  * itself made: everything is judged */
};

/* NULL on no memory. */
struct oracle *oracle_new(const struct oracle_config *config);
void oracle_free(struct oracle *oracle);

/* The events of open() follow, and then oracle_attach gives the instance. mode:
 * that of open(), OP_MODE_*. */
void oracle_begin(struct oracle *oracle, const struct subject *subject,
                  bool large, uint8_t mode);
void oracle_attach(struct oracle *oracle, struct subject_instance *instance);
bool oracle_admits(const struct oracle *oracle, struct op op);
void oracle_operation_begin(struct oracle *oracle, struct op op);
void oracle_event(struct oracle *oracle, const struct subject_event *event);
void oracle_operation_end(struct oracle *oracle, enum subject_status status,
                          const struct subject_answer *answer);
void oracle_check(struct oracle *oracle, enum oracle_when when);
void oracle_close_begin(struct oracle *oracle);
void oracle_closed(struct oracle *oracle);
/* The lab's own laws (process.*): message is copied. */
void oracle_accuse(struct oracle *oracle, enum law law, const char *message);

/* LAW_NONE in ->law while there is none. */
const struct oracle_finding *oracle_finding(const struct oracle *oracle);
const struct oracle_stats *oracle_statistics(const struct oracle *oracle);
/* The oracle could not go on for want of memory: the run is unchecked. */
bool oracle_is_exhausted(const struct oracle *oracle);
const struct shadow *oracle_shadow(const struct oracle *oracle);
/* The birth number of the live (or last) block at base; 0 if there is none. */
uint32_t oracle_number(const struct oracle *oracle, uint64_t base);
/* The number of live blocks that are objects: of proportions and budgets. */
size_t oracle_block_count(const struct oracle *oracle);

/* Words for kinds, colours, phases and ages of subject.h; total. */
const char *oracle_kind_text(uint8_t kind);
const char *oracle_colour_text(uint8_t colour);
const char *oracle_phase_text(uint8_t phase);
const char *oracle_age_text(uint8_t age);

#endif
