/* SPDX-License-Identifier: MIT
 *
 * The laws, as functions over the oracle's state. Each stops at the first
 * violation, which becomes the finding, and returns false then. check.c has
 * the order.
 */
#ifndef PENUMBRA_ORACLE_CHECK_H
#define PENUMBRA_ORACLE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/oracle.h"
#include "oracle/shadow.h"

struct survey_object;
struct oracle_death;

/* The last survey as a whole. */
void check_survey(struct oracle *oracle, enum oracle_when when);

/* tricolour.other-white, .pause-white, .never-black, .never-grey,
 * .grey-unlisted, .colour-change (what the flip left); then
 * .listed-not-grey, .listed-twice. */
bool check_colours(struct oracle *oracle);
/* safety.dangling, tricolour.black-to-white, .live-to-dead; with contents the
 * sums of bound objects are made, and cells are compared. */
bool check_edges(struct oracle *oracle, bool contents);
/* safety.contents, safety.identity: needs the sums. */
bool check_contents(struct oracle *oracle);

/* ages.colour, .touched, .segment, .change, .incremental: single objects; then
 * ages.old-to-young, .recent-to-new. */
bool check_ages(struct oracle *oracle);
bool check_age_edges(struct oracle *oracle);
/* Keeps what the laws of ages need of an event, and judges it: ages.change,
 * ages.minor-frees-old. */
void check_age_event(struct oracle *oracle, const struct subject_event *event);

/* memory.emergency: every event goes through it first. */
void check_emergency_event(struct oracle *oracle,
                           const struct subject_event *event);
/* The operation is over; false if that is a violation. */
bool check_emergency_status(struct oracle *oracle, enum subject_status status);
/* An emergency collection is being made. */
bool check_is_emergency(const struct oracle *oracle);

/* pacing.*: a stream starts; an operation begins, ends (false if that is a
 * violation); every event, before it is counted elsewhere. */
void check_pace_start(struct oracle *oracle);
void check_pace_begin(struct oracle *oracle);
bool check_pace_end(struct oracle *oracle, enum subject_status status,
                    const struct subject_answer *answer);
void check_pace_event(struct oracle *oracle, const struct subject_event *event);
/* pacing.stopped, by the survey between operations. */
bool check_stopped(struct oracle *oracle);

/* Before the contents. weak.removed-live: of a subject that sends no events the
 * shadow loses what is not shown. */
bool check_weak_tables(struct oracle *oracle);
/* In the midst of an operation: the shadow loses what may have been removed and
 * is not shown; nothing is judged. */
void check_follow_cleared(struct oracle *oracle);
/* Whether a side of an entry in a weak table, a value or a key, has been there
 * to stay all the time since the operation began. */
bool check_is_alive_value(const struct oracle *oracle,
                          struct shadow_value value);
bool check_is_alive_key(const struct oracle *oracle, struct shadow_value key);
/* weak.half-removed: an edge that the shadow does not have. */
bool check_half(struct oracle *oracle, uint32_t object,
                const struct subject_edge *edge);
/* finalizers.lost, .twice: what is marked. */
bool check_marked(struct oracle *oracle);
/* liveness.*, weak.not-removed: after a full collection, or minor ones. */
bool check_liveness(struct oracle *oracle);

/* weak.removed-live, weak.resurrected, finalizers.not-dead: what is cleared, or
 * separated, is kept from the begin of an operation to its end, which judges it
 * and returns false on a violation; the shadow loses entries at the end of each
 * atomic phase. */
void check_claims_begin(struct oracle *oracle);
/* Keys of one table, kept while the shadow is gone through, and then cleared:
 * one cannot do it at once. False if the oracle is exhausted. */
bool check_keep_key(struct oracle *oracle, struct shadow_value key);
void check_clear_keys(struct oracle *oracle, uint32_t table);
void check_keep_cleared(struct oracle *oracle,
                        const struct subject_event *event);
void check_keep_separated(struct oracle *oracle, uint64_t base);
void check_claims_atomic_end(struct oracle *oracle);
bool check_claims_end(struct oracle *oracle);

/* finalizers.*: events, an atomic phase's begin among them; then the begins and
 * ends of operations and of closing. */
void check_relisted(struct oracle *oracle, const struct subject_event *event);
void check_finalizer(struct oracle *oracle, const struct subject_event *event);
void check_finalized(struct oracle *oracle, const struct subject_event *event);
void check_call_birth(struct oracle *oracle, const struct subject_event *event);
void check_finalizers_atomic(struct oracle *oracle);
/* Whether the node waits, and did when the operation began. */
bool check_has_waited(const struct oracle *oracle, uint32_t node);
/* Who waits, by the survey, where it is not told. */
void check_pending(struct oracle *oracle);
/* Whether the atomic phase that runs has found something to be finalized. */
bool check_has_separated(const struct oracle *oracle);
/* What cannot be called, or could not for want of memory, and may have been
 * passed over unseen is owed no more. */
void check_give_up_unseen(struct oracle *oracle);
/* What was dead in the midst of the operation that ran last may be back by a
 * finalizer: that it was held before and is held now says nothing. */
bool check_may_be_back(const struct oracle *oracle);
void check_finalizers_clear(struct oracle *oracle); /* a new stream */
void check_finalizers_begin(struct oracle *oracle, struct op op);
bool check_finalizers_end(struct oracle *oracle, enum subject_status status);
void check_finalizers_close(struct oracle *oracle);
void check_finalizers_closed(struct oracle *oracle);

/* An event, with its own laws. */
void check_event(struct oracle *oracle, const struct subject_event *event);
/* safety.freed-live: of a node that may have to live. */
bool check_death(struct oracle *oracle, const struct oracle_death *death);
/* safety.to-be-closed: keeps what is closed; at the end of the operation it is
 * compared with count nodes that were due. */
void check_keep_closing(struct oracle *oracle, uint64_t base);
void check_closings(struct oracle *oracle, const uint32_t *due, uint32_t count);

/* The phases between flip and end of sweep. */
static inline bool
check_is_sweep(uint8_t phase)
{
  return phase >= SUBJECT_PHASE_SWEEP && phase <= SUBJECT_PHASE_SWEEP_END;
}

#endif
