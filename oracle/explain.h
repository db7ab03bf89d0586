/* SPDX-License-Identifier: MIT
 *
 * Findings in words. A finding is begun, said piece by piece, and ended; the
 * pieces make one sentence that names objects as "table #12", never by
 * address. Each object named is kept in the finding, up to
 * ORACLE_OBJECTS_MAX, and gets a line of detail at the end: its colour, the
 * list it is in, a path that leads to it in the heap as last surveyed, and
 * the path in the shadow.
 */
#ifndef PENUMBRA_ORACLE_EXPLAIN_H
#define PENUMBRA_ORACLE_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/law.h"
#include "oracle/shadow.h"
#include "subject.h"

struct oracle;
struct oracle_death;

#if defined(__GNUC__)
#define EXPLAIN_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define EXPLAIN_PRINTF(text, first)
#endif

/* False if there is a finding already, or the oracle is over, or the subject
 * does not show what the law needs: then nothing is to be said. */
bool explain_begin(struct oracle *oracle, enum law law);
void explain_say(struct oracle *oracle, const char *format, ...)
    EXPLAIN_PRINTF(2, 3);
/* The object at base, live or dead: "table #12". */
void explain_object(struct oracle *oracle, uint64_t base);
/* The same for one that was freed a while ago, so that its address may be
 * another's by now. */
void explain_dead(struct oracle *oracle, const struct oracle_death *death);
/* The object of the last survey: "the state" if it is the root. */
void explain_surveyed(struct oracle *oracle, uint32_t object);
/* The same with its age where ages are shown: "old1 table #12". */
void explain_aged(struct oracle *oracle, uint32_t object);
/* "register r3 of frame 0 of coroutine #5". */
void explain_place(struct oracle *oracle, uint32_t object,
                   const struct subject_edge *edge);
/* The same for an edge of the shadow. */
void explain_shadow_place(struct oracle *oracle, uint32_t object, uint8_t label,
                          struct shadow_value key);
void explain_value(struct oracle *oracle, struct subject_value value);
void explain_shadow_value(struct oracle *oracle, struct shadow_value value);
void explain_node(struct oracle *oracle, uint32_t node);
/* Where the node is in the shadow, after the word given: " at globals.g3";
 * nothing if it is not held. */
void explain_path(struct oracle *oracle, const char *word, uint32_t node);
void explain_end(struct oracle *oracle);

#endif
