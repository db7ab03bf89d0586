/* SPDX-License-Identifier: MIT
 *
 * See oracle.h: lifecycle, operations, and what hangs on their ends: the
 * shadow follows, answers and deaths are judged.
 *
 * Deaths. What an operation on the heap drops may die in it, and that is known
 * only when the shadow has followed it: so freed objects whose nodes are held
 * at that moment are kept until then. One that was held before and is held
 * after it had to live [safety.freed-live]. Operations on the collector change
 * the shadow only by finalizers, which it follows as they come: there a death
 * is judged when it happens (check_event.c). So it is with what the collector
 * takes for dead (check_claims.c).
 */
#include "oracle/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "ops/op_assert.h"
#include "oracle/check.h"
#include "oracle/explain.h"
#include "oracle/state.h"

static void *
allocate_plainly(void *block, size_t size)
{
  return realloc(block, size);
}

void *(*oracle_allocate)(void *block, size_t size) = allocate_plainly;

void *
oracle_reserve(void *array, uint32_t *capacity, uint64_t count,
               size_t member_size)
{
  uint64_t wanted = *capacity ? *capacity : 64;
  while (wanted < count)
    wanted *= 2;
  if (wanted > UINT32_MAX / 2 || wanted > SIZE_MAX / member_size)
    return NULL;
  if (wanted == *capacity)
    return array;
  void *room = oracle_allocate(array, (size_t)wanted * member_size);
  if (room)
    *capacity = (uint32_t)wanted;
  return room;
}

/* What is kept of one operation only. */
static void
forget_operation(struct oracle *oracle)
{
  oracle->refused = 0;
  oracle->emergency = (struct oracle_emergency){.size = 0};
  oracle->number_before = oracle->blocks.number;
  oracle->has_cleared = false;
  oracle->has_worked = false;
  oracle->death_count = 0;
  oracle->closing_count = 0;
  oracle->collected = false;
  oracle->had_old_modes = shadow_has_old_modes(oracle->shadow);
  check_claims_begin(oracle);
}

/* ---- lifecycle ------------------------------------------------------- */

struct oracle *
oracle_new(const struct oracle_config *config)
{
  struct oracle *oracle = oracle_allocate(NULL, sizeof *oracle);
  if (!oracle)
    return NULL;
  memset(oracle, 0, sizeof *oracle);
  survey_visitor_init(&oracle->visitor);
  survey_clear(&oracle->survey);
  oracle->shadow = shadow_new();
  if (!oracle->shadow || !blocks_init(&oracle->blocks, config->region_base,
                                      config->region_size, config->granule)) {
    oracle_free(oracle);
    return NULL;
  }
  return oracle;
}

void
oracle_free(struct oracle *oracle)
{
  if (!oracle)
    return;
  shadow_free(oracle->shadow);
  blocks_done(&oracle->blocks);
  survey_done(&oracle->survey);
  bind_done(&oracle->binding);
  free(oracle->deaths);
  free(oracle->claims.all);
  free(oracle->claims.keys);
  free(oracle->finalizers.pending);
  free(oracle->finalizers.running);
  free(oracle);
}

uint32_t
oracle_capabilities(const struct subject *subject)
{
  uint32_t told = SUBJECT_CAN_TELL_STEPS | SUBJECT_CAN_TELL_EMERGENCIES;
  return subject->capabilities |
         (subject->capabilities & SUBJECT_CAN_EVENTS ? told : 0);
}

void
oracle_begin(struct oracle *oracle, const struct subject *subject, bool large,
             uint8_t mode)
{
  oracle->subject = subject;
  oracle->instance = NULL;
  oracle->capabilities = oracle_capabilities(subject);
  shadow_clear(oracle->shadow, large);
  shadow_set_traits(oracle->shadow, subject->traits);
  shadow_set_mode(oracle->shadow, mode);
  blocks_clear(&oracle->blocks);
  survey_clear(&oracle->survey);
  bind_clear(&oracle->binding);
  oracle->stage = ORACLE_OPENING;
  oracle->phase = SUBJECT_PHASE_PAUSE;
  oracle->exhausted = false;
  oracle->in_operation = false;
  oracle->is_stale = true;
  forget_operation(oracle);
  oracle->ages =
      (struct oracle_ages){.mode = OP_MODE_INCREMENTAL, .collection = 1};
  check_pace_start(oracle);
  oracle->step = (struct oracle_step){.depth = 0};
  oracle->flipped = false;
  check_finalizers_clear(oracle);
  oracle->op = (struct op){.code = OP_SETUP};
  oracle->finding = (struct oracle_finding){.law = LAW_NONE};
  for (int law = 0; law < LAW_COUNT; law++)
    oracle->able[law] = !(law_infos[law].needs & ~oracle->capabilities);
  tally_begin(oracle);
  shadow_reach(oracle->shadow);
}

void
oracle_attach(struct oracle *oracle, struct subject_instance *instance)
{
  oracle->instance = instance;
  oracle->stage = ORACLE_RUNNING;
  oracle->step = (struct oracle_step){.depth = 0};
}

void
oracle_event(struct oracle *oracle, const struct subject_event *event)
{
  if (!oracle_is_over(oracle))
    check_event(oracle, event);
}

/* ---- checks ---------------------------------------------------------- */

static bool
can_survey(const struct oracle *oracle)
{
  return oracle->stage == ORACLE_RUNNING && oracle->instance &&
         oracle->subject->capabilities & SUBJECT_CAN_SURVEY;
}

void
oracle_check(struct oracle *oracle, enum oracle_when when)
{
  if (oracle_is_over(oracle) || !can_survey(oracle) || !survey_take(oracle))
    return;
  check_survey(oracle, when);
}

/* ---- operations ------------------------------------------------------ */

bool
oracle_admits(const struct oracle *oracle, struct op op)
{
  return shadow_admits(oracle->shadow, op);
}

/* Answers and closers name objects, so those must have been met before. If
 * nobody asked for a check since the last operation, the bindings lag
 * behind. */
static void
catch_up(struct oracle *oracle)
{
  if (oracle->is_stale && can_survey(oracle) && survey_take(oracle))
    bind_births(oracle);
}

static void
accuse_atomic(struct oracle *oracle)
{
  if (oracle->phase != SUBJECT_PHASE_ATOMIC ||
      !explain_begin(oracle, LAW_ATOMIC_INTERRUPTED))
    return;
  explain_say(oracle, "the mutator is back inside the atomic phase");
  explain_end(oracle);
}

void
oracle_operation_begin(struct oracle *oracle, struct op op)
{
  if (oracle_is_over(oracle))
    return;
  accuse_atomic(oracle);
  if (op_infos[op.code].flags & OP_OPEN || shadow_may_close(oracle->shadow, op))
    catch_up(oracle);
  tally_operation_begin(oracle, op);
  shadow_begin(oracle->shadow, op);
  oracle->op = op;
  oracle->in_operation = true;
  forget_operation(oracle);
  check_pace_begin(oracle);
  check_finalizers_begin(oracle, op);
}

static void
accuse_answer(struct oracle *oracle, const char *message)
{
  if (!explain_begin(oracle, LAW_ANSWER))
    return;
  explain_say(oracle, "%s: %s", op_infos[oracle->op.code].name, message);
  explain_end(oracle);
}

/* What the collector has removed from weak tables, before the operation read
 * them, of a subject that does not tell of it: nothing of what the operation
 * has done itself is judged here. */
static void
follow_clearings(struct oracle *oracle)
{
  if (oracle_is_told(oracle) || !can_survey(oracle) ||
      !shadow_has_weak_tables(oracle->shadow) ||
      (oracle->capabilities & SUBJECT_CAN_TELL_STEPS &&
       !oracle->has_worked) ||
      !survey_take(oracle))
    return;
  check_follow_cleared(oracle);
}

static void
follow(struct oracle *oracle, enum subject_status status,
       const struct subject_answer *answer)
{
  bool is_open = op_infos[oracle->op.code].flags & OP_OPEN;
  struct shadow_value values[SUBJECT_ANSWERS_MAX] = {{0, SUBJECT_NIL}};
  char message[SHADOW_MESSAGE_MAX] = "";
  if (is_open && answer)
    for (int i = 0; i < SUBJECT_ANSWERS_MAX; i++)
      values[i] = bind_translate(oracle, answer->value[i]);
  oracle_applies(oracle, LAW_ANSWER);
  switch (shadow_apply(oracle->shadow, oracle->op, status, values, message)) {
  case SHADOW_OK:
    break;
  case SHADOW_ILLEGAL:
    accuse_answer(oracle, message);
    break;
  case SHADOW_NO_MEMORY:
    oracle->exhausted = true;
    break;
  }
}

/* An operation on the collector: of the heap the shadow stays as it is. What a
 * parameter reads back as is the affair of the laws of pacing. */
static void
follow_steering(struct oracle *oracle, enum subject_status status,
                const struct subject_answer *answer)
{
  char message[SHADOW_MESSAGE_MAX] = "";
  if (shadow_apply(oracle->shadow, oracle->op, status, NULL, message) !=
      SHADOW_OK)
    accuse_answer(oracle, message);
  if (oracle->op.code == OP_COLLECT && status == SUBJECT_DONE)
    shadow_forget_modes(oracle->shadow);
  check_closings(oracle, NULL, 0);
  if (oracle_is_over(oracle))
    return;
  shadow_reach(oracle->shadow);
  if (oracle->op.code == OP_PARAM && status == SUBJECT_DONE && answer &&
      oracle_applies(oracle, LAW_ANSWER) &&
      answer->value[0].tag != SUBJECT_INTEGER)
    accuse_answer(oracle, "what reads back is no integer");
}

static void
judge_deaths(struct oracle *oracle)
{
  for (uint32_t i = 0; i < oracle->death_count; i++) {
    const struct oracle_death *death = &oracle->deaths[i];
    if (shadow_was_held(oracle->shadow, death->node) &&
        !check_death(oracle, death))
      return;
  }
}

/* The process went on: it did not crash, did not assert, came to an end. */
static void
count_process(struct oracle *oracle)
{
  oracle_applies(oracle, LAW_CRASH);
  oracle_applies(oracle, LAW_ASSERTION);
  oracle_applies(oracle, LAW_NO_PROGRESS);
}

void
oracle_operation_end(struct oracle *oracle, enum subject_status status,
                     const struct subject_answer *answer)
{
  uint8_t code = oracle->op.code;
  if (oracle_is_over(oracle) || !oracle->in_operation)
    return;
  oracle->in_operation = false;
  tally_operation_end(oracle, status);
  count_process(oracle);
  accuse_atomic(oracle);
  if (oracle_is_over(oracle) || !check_emergency_status(oracle, status) ||
      !check_pace_end(oracle, status, answer) ||
      !check_finalizers_end(oracle, status))
    return;
  if (op_infos[code].flags & OP_STEERS) {
    if (oracle->death_count) {
      follow_clearings(oracle);
      if (!oracle_is_over(oracle))
        judge_deaths(oracle);
    }
    if (!oracle_is_over(oracle))
      follow_steering(oracle, status, answer);
    oracle->collected = (code == OP_COLLECT ||
                         (code == OP_MINOR && oracle->op.a > 0)) &&
                        status == SUBJECT_DONE;
    return;
  }
  if (code == OP_SETUP || code == OP_CLOSE)
    return;
  follow_clearings(oracle);
  if (!oracle_is_over(oracle))
    follow(oracle, status, answer);
  if (oracle_is_over(oracle))
    return;
  oracle->is_stale = true;
  oracle->survey.words_asked += 1;
  shadow_reach(oracle->shadow);
  if (!check_claims_end(oracle))
    return;
  judge_deaths(oracle);
  const uint32_t *due;
  uint32_t due_count = shadow_closings(oracle->shadow, &due);
  check_closings(oracle, due, due_count);
}

/* ---- the end --------------------------------------------------------- */

void
oracle_close_begin(struct oracle *oracle)
{
  if (oracle_is_over(oracle))
    return;
  accuse_atomic(oracle);
  oracle->stage = ORACLE_CLOSING;
  oracle->in_operation = false;
  forget_operation(oracle);
  check_finalizers_close(oracle);
}

/* What is left, by kind: "3 blocks of 120 bytes: table #4 (56 bytes), ...". */
static void
accuse_leak(struct oracle *oracle)
{
  const struct blocks *blocks = &oracle->blocks;
  if (!explain_begin(oracle, LAW_CLOSE_LEAK))
    return;
  explain_say(oracle, "%u block%s of %llu bytes left: ", blocks->live_count,
              blocks->live_count == 1 ? "" : "s",
              (unsigned long long)blocks->live_bytes);
  uint32_t named = 0;
  for (uint32_t i = 1; i < blocks->used; i++) {
    const struct block *record = &blocks->records[i];
    if (!record->base)
      continue;
    if (named == ORACLE_OBJECTS_MAX) {
      explain_say(oracle, ", ...");
      break;
    }
    explain_say(oracle, named++ ? ", " : "");
    explain_object(oracle, record->base);
    explain_say(oracle, " (%llu bytes)", (unsigned long long)record->size);
  }
  explain_end(oracle);
}

void
oracle_closed(struct oracle *oracle)
{
  if (oracle_is_over(oracle))
    return;
  oracle->instance = NULL;
  check_finalizers_closed(oracle);
  oracle->stage = ORACLE_IDLE;
  oracle_applies(oracle, LAW_CLOSE_LEAK);
  count_process(oracle);
  if (oracle->blocks.live_count)
    accuse_leak(oracle);
}

void
oracle_accuse(struct oracle *oracle, enum law law, const char *message)
{
  oracle_applies(oracle, law);
  if (!explain_begin(oracle, law))
    return;
  explain_say(oracle, "%s", message);
  explain_end(oracle);
}

/* ---- looking --------------------------------------------------------- */

const struct oracle_finding *
oracle_finding(const struct oracle *oracle)
{
  return &oracle->finding;
}

enum { COUNTERS = sizeof(struct oracle_stats) / sizeof(uint64_t) };

void
oracle_stats_add(struct oracle_stats *sum, const struct oracle_stats *part)
{
  uint64_t *to = (uint64_t *)sum;
  const uint64_t *from = (const uint64_t *)part;
  for (size_t i = 0; i < COUNTERS; i++)
    to[i] += from[i];
}

void
oracle_stats_subtract(struct oracle_stats *sum,
                      const struct oracle_stats *part)
{
  uint64_t *to = (uint64_t *)sum;
  const uint64_t *from = (const uint64_t *)part;
  for (size_t i = 0; i < COUNTERS; i++)
    to[i] -= from[i];
}

const struct oracle_stats *
oracle_statistics(const struct oracle *oracle)
{
  return &oracle->stats;
}

bool
oracle_is_exhausted(const struct oracle *oracle)
{
  return oracle->exhausted;
}

const struct shadow *
oracle_shadow(const struct oracle *oracle)
{
  return oracle->shadow;
}

uint32_t
oracle_number(const struct oracle *oracle, uint64_t base)
{
  uint8_t kind;
  return blocks_name(&oracle->blocks, base, &kind);
}

size_t
oracle_block_count(const struct oracle *oracle)
{
  return oracle->blocks.object_count;
}
