/* SPDX-License-Identifier: MIT
 *
 * Refused allocations:
 *
 *   memory.emergency: an allocation that is refused outside of a micro-step
 *     has a whole collection made at once, which begins its own mark, and is
 *     then tried once more [T];
 *   memory.failed-op: an operation answers no memory only if an allocation
 *     failed for good in it: one that was refused again, or one that was
 *     refused where no collection may be made.
 *
 * The steps of one refusal follow on each other without anything in between,
 * so each event is held against what has to come next. Inside a micro-step,
 * finalizers excepted, the collector shrinks what it can do without: there
 * refusals are its own affair.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

enum emergency_stage {
  EMERGENCY_NOT,
  EMERGENCY_OWED,   /* refused: the collection has to begin */
  EMERGENCY_RUNS,   /* until it says that it is over */
  EMERGENCY_RETRIES /* the allocation has to be tried again */
};

static void
accuse(struct oracle *oracle, const char *what)
{
  if (!explain_begin(oracle, LAW_EMERGENCY))
    return;
  explain_say(oracle, "an allocation of %llu bytes was refused, and %s",
              (unsigned long long)oracle->emergency.size, what);
  explain_end(oracle);
}

static bool
is_owed(const struct oracle *oracle)
{
  const struct subject_traits *traits = oracle->subject->traits;
  bool is_inside = oracle->step.depth > oracle_is_finalizing(oracle);
  return oracle->stage == ORACLE_RUNNING && oracle->able[LAW_EMERGENCY] &&
         traits->emergency && !is_inside &&
         (traits->emergency_stopped ||
          !(shadow_is_stopped(oracle->shadow) || oracle_is_finalizing(oracle)));
}

/* Whether the block that was to grow is or may be a coroutine's stack, for
 * which no collection is owed [T]: one that no survey has shown yet may be
 * anything, until the operation is over. */
static bool
may_be_stack(const struct oracle *oracle, uint64_t base)
{
  uint32_t block = base ? blocks_find(&oracle->blocks, base) : 0;
  const struct block_view *view = &oracle->blocks.views[block];
  if (!block || oracle->subject->traits->emergency_stacks)
    return false;
  return base == oracle->emergency.stack ||
         view->survey != oracle->survey.stamp ||
         oracle->survey.objects[view->object].kind == SUBJECT_KIND_THREAD;
}

static void
on_refused(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_emergency *emergency = &oracle->emergency;
  if (emergency->stage == EMERGENCY_RUNS)
    return; /* it shrinks nothing, or can do without */
  if (emergency->stage != EMERGENCY_RETRIES &&
      may_be_stack(oracle, event->base))
    emergency->stack = event->base;
  if (emergency->stage == EMERGENCY_RETRIES || !is_owed(oracle) ||
      (event->base && event->base == emergency->stack)) {
    emergency->stage = EMERGENCY_NOT;
    emergency->failed = true;
    return;
  }
  oracle_applies(oracle, LAW_EMERGENCY);
  *emergency = (struct oracle_emergency){.stage = EMERGENCY_OWED,
                                         .size = event->size,
                                         .stack = emergency->stack,
                                         .failed = emergency->failed};
}

static void
on_emergency(struct oracle *oracle, bool begins)
{
  struct oracle_emergency *emergency = &oracle->emergency;
  if (begins) {
    emergency->is_owed = emergency->stage == EMERGENCY_OWED;
    emergency->stage = EMERGENCY_RUNS;
    emergency->has_begun = emergency->is_whole = false;
    return;
  }
  if (emergency->stage != EMERGENCY_RUNS)
    return;
  emergency->stage =
      emergency->is_owed ? EMERGENCY_RETRIES : EMERGENCY_NOT;
  if (oracle_is_told(oracle) && emergency->is_owed && !emergency->is_whole)
    accuse(oracle, "the collection that was made for it was no whole one");
}

static void
on_phase(struct oracle_emergency *emergency, const struct subject_event *event)
{
  if (event->to == SUBJECT_PHASE_PROPAGATE &&
      event->from == SUBJECT_PHASE_PAUSE)
    emergency->has_begun = true;
  if (event->to == SUBJECT_PHASE_ATOMIC)
    emergency->is_whole |= emergency->has_begun;
}

/* What has to come next, unless it comes. */
static void
expect_next(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_emergency *emergency = &oracle->emergency;
  bool is_memory = event->type == SUBJECT_EVENT_ALLOCATED ||
                   event->type == SUBJECT_EVENT_FREED ||
                   event->type == SUBJECT_EVENT_EXHAUSTED;
  if (emergency->stage == EMERGENCY_OWED &&
      event->type != SUBJECT_EVENT_EMERGENCY)
    accuse(oracle, "no collection was made for it");
  else if (emergency->stage == EMERGENCY_RETRIES && is_memory)
    emergency->stage = EMERGENCY_NOT; /* it has been cured */
  else if (emergency->stage == EMERGENCY_RETRIES &&
           (event->type != SUBJECT_EVENT_REFUSED ||
            event->size != emergency->size))
    accuse(oracle, "it was not tried again after the collection");
}

void
check_emergency_event(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_emergency *emergency = &oracle->emergency;
  expect_next(oracle, event);
  if (oracle_is_over(oracle))
    return;
  if (event->type == SUBJECT_EVENT_REFUSED)
    on_refused(oracle, event);
  else if (event->type == SUBJECT_EVENT_EMERGENCY)
    on_emergency(oracle, event->to);
  else if (event->type == SUBJECT_EVENT_PHASE)
    on_phase(emergency, event);
}

bool
check_is_emergency(const struct oracle *oracle)
{
  return oracle->emergency.stage == EMERGENCY_RUNS;
}

bool
check_emergency_status(struct oracle *oracle, enum subject_status status)
{
  uint8_t stage = oracle->emergency.stage;
  bool failed = oracle->emergency.failed;
  if (stage == EMERGENCY_OWED)
    accuse(oracle, "no collection was made for it");
  else if (stage == EMERGENCY_RUNS && oracle->emergency.is_owed)
    accuse(oracle, "the collection for it did not come to its end");
  else if (stage == EMERGENCY_RETRIES)
    accuse(oracle, "it was not tried again after the collection");
  if (oracle_is_over(oracle))
    return false;
  if (oracle->refused || status == SUBJECT_NO_MEMORY)
    oracle_applies(oracle, LAW_FAILED_OP);
  if (status != SUBJECT_NO_MEMORY || failed ||
      !explain_begin(oracle, LAW_FAILED_OP))
    return true;
  explain_say(oracle, "%s answered that there is no memory, and ",
              op_infos[oracle->op.code].name);
  explain_say(oracle, oracle->refused
                          ? "what was refused in it was given after all"
                          : "no allocation was refused in it");
  explain_end(oracle);
  return false;
}
