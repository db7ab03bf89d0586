/* SPDX-License-Identifier: MIT
 *
 * The laws of pacing: when the collector works, and how much. They see the
 * bytes in use, as the arena tells them, and where micro-steps begin and end;
 * not the collector's books. A paced step is a run of micro-steps that an
 * operation makes because it has created something; the next one has begun
 * when memory was asked for outside of micro-steps since.
 *
 *   pacing.stopped: the collector is stopped exactly while the operations have
 *     stopped it, and makes no paced step then;
 *   pacing.parameter: a parameter that is set reads back as the version keeps
 *     it [T];
 *   pacing.pause: after a cycle no paced step starts before the bytes in use
 *     are the pause's percentage of what was in use when its sweep was over,
 *     and the first creation beyond that makes one [T];
 *   pacing.step-size: after a paced step that ends no cycle at least the step
 *     size is allocated before the next one, which comes when that and what
 *     the last micro-step did beyond its due are; a step does not go on when it
 *     has done the work that debt, step size and multiplier ask for [T];
 *   pacing.explicit: an explicit step, collection or micro-step does at least
 *     what it is asked for, also while stopped; a step of n KiB is made if the
 *     credit is not larger; after a restart the next creation makes a step;
 *   pacing.minor: a minor collection comes when the minor multiplier's
 *     percentage has been allocated since the last collection, not before; and
 *     minor collections come back after a bad major one [T];
 *   pacing.major: a paced collection is a major one if the bytes in use have
 *     outgrown those after the last major one by the major multiplier's
 *     percentage, else a minor one; a major one that has freed less than half
 *     of that is followed by whole cycles, any other by minor ones [T].
 *
 * What the next step waits for is known after a cycle or step that set the
 * debt anew (enum waiting). Whatever else changes the debt, or may do so,
 * makes it unknown, and then nothing is judged: micro-steps that the lab
 * makes, a prototype that is loaded, a stop, a change of modes, a collection
 * in the midst of a finalizer's step. Closers may
 * step or collect; what comes after one in an operation is not judged. A
 * percentage of all bytes has to allow for those that belong to the state
 * itself, since a subject need not count all of them: SLACK.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

enum {
  PERCENT = 100,
  FLOATING_MAX = 396800, /* the largest that FORM_FLOATING can keep */
  STEP_SIZE_LOG2_MAX = 40, /* beyond it no step ends before its cycle */
  BAD_CYCLES = 2 /* over an unchanged heap the second one does no more work
                  * than the first */
};

enum waiting {
  WAITING_UNKNOWN,
  WAITING_PAUSE,   /* until the bytes in use are `amount` */
  WAITING_CREDIT,  /* until `amount` bytes are allocated beyond `bytes` */
  WAITING_MINOR,   /* the same, for a minor collection */
  WAITING_RESTART /* for the first byte */
};

static uint32_t
parameter(const struct oracle *oracle, int which)
{
  return oracle->pace.parameter[which];
}

static uint64_t
in_use(const struct oracle *oracle)
{
  return oracle->blocks.live_bytes;
}

/* How far a percentage of the bytes that are seen may be from that of the
 * bytes that the subject counts. */
static uint64_t
slack(const struct oracle *oracle, uint32_t percent)
{
  return oracle->survey.root_bytes * (1 + percent / PERCENT) + PERCENT +
         percent;
}

static bool
accuse(struct oracle *oracle, enum law law, const char *what, uint64_t bytes)
{
  if (!explain_begin(oracle, law))
    return true;
  explain_say(oracle, "%s: %s; %llu bytes are in use",
              op_infos[oracle->op.code].name, what,
              (unsigned long long)in_use(oracle));
  if (bytes)
    explain_say(oracle, ", it was due at %llu", (unsigned long long)bytes);
  explain_end(oracle);
  return false;
}

/* ---- what runs ------------------------------------------------------- */

static bool
is_incremental(const struct oracle *oracle)
{
  return shadow_mode(oracle->shadow) == OP_MODE_INCREMENTAL;
}

/* The operation makes micro-steps between the pieces that it loads. */
static bool
builds(const struct oracle *oracle)
{
  return oracle->op.code == OP_LOAD || oracle->op.code == OP_LOADCUT;
}

/* The micro-step that begins now is one of a paced step. */
static bool
is_paced(const struct oracle *oracle)
{
  return oracle_is_mutator(oracle) && !builds(oracle) &&
         !oracle->pace.has_called && !check_is_emergency(oracle) &&
         !oracle_is_finalizing(oracle);
}

/* The end of the step or cycle that runs sets the debt. */
static bool
sets_debt(const struct oracle *oracle)
{
  if (!oracle->in_operation)
    return false;
  switch (oracle->op.code) {
  case OP_MICROSTEP:
  case OP_RUNTO:
  case OP_FINISH:
  case OP_LOAD:
  case OP_LOADCUT:
    return check_is_emergency(oracle);
  default:
    return true;
  }
}

/* The collection that runs is asked for as a full one. */
static bool
is_asked(const struct oracle *oracle)
{
  return oracle->op.code == OP_COLLECT || oracle->op.code == OP_MODE ||
         check_is_emergency(oracle);
}

/* The operation asks for steps of whatever size is due. */
static bool
steps(const struct oracle *oracle)
{
  switch (oracle->op.code) {
  case OP_MICROSTEP:
  case OP_RUNTO:
  case OP_FINISH:
  case OP_STEP:
  case OP_MINOR:
    return !check_is_emergency(oracle);
  default:
    return false;
  }
}

/* The operation creates an object and then looks whether a step is due. */
static bool
creates(const struct oracle *oracle)
{
  switch (oracle->op.code) {
  case OP_LSTR:
  case OP_EXTSTR:
  case OP_CONCAT:
  case OP_NEWTABLE:
  case OP_NEWUD:
  case OP_CCLOSURE:
  case OP_CLOSURE:
  case OP_SHARE:
  case OP_CONEW:
  case OP_CHURN:
  case OP_CHAIN:
  case OP_WIDE:
  case OP_NEWWEAK:
  case OP_EPHEMERONS:
  case OP_NEWFIN:
    return oracle->pace.births > 0;
  default:
    return false;
  }
}

static void
wait_for(struct oracle *oracle, enum waiting waiting, uint64_t amount)
{
  struct oracle_pace *pace = &oracle->pace;
  pace->waiting = (uint8_t)waiting;
  pace->amount = amount;
  pace->bytes = in_use(oracle);
}

static uint64_t
percentage(uint64_t bytes, uint32_t percent)
{
  return bytes / PERCENT * percent;
}

static void
wait_for_minor(struct oracle *oracle)
{
  uint32_t percent = parameter(oracle, OP_PARAMETER_MINORMUL);
  oracle->pace.percent = percent;
  wait_for(oracle, WAITING_MINOR, percentage(in_use(oracle), percent));
}

/* ---- work ------------------------------------------------------------ */

static bool
knows_step_size(const struct oracle *oracle)
{
  return oracle->subject->traits->step_saves_size &&
         oracle->subject->traits->step_size_log2 &&
         parameter(oracle, OP_PARAMETER_STEPSIZE) <= STEP_SIZE_LOG2_MAX;
}

static uint64_t
step_size(const struct oracle *oracle)
{
  return UINT64_C(1) << parameter(oracle, OP_PARAMETER_STEPSIZE);
}

/* What a step has to do at most, in units of work: for what has been allocated
 * since the debt was none, and for its size. 0: not known. */
static uint64_t
work_due(const struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  unsigned unit = oracle->subject->traits->step_unit;
  uint64_t debt = in_use(oracle) > pace->bytes ? in_use(oracle) - pace->bytes
                                               : 0;
  if (oracle->op.code == OP_STEP && oracle->op.a == 0)
    debt = 0;
  else if (!is_paced(oracle) || pace->waiting == WAITING_UNKNOWN)
    return 0;
  if (!unit || !knows_step_size(oracle) || !is_incremental(oracle))
    return 0;
  return (debt / unit + step_size(oracle) / unit) *
             (parameter(oracle, OP_PARAMETER_STEPMUL) | 1) + 1;
}

/* A micro-step costs one unit at least for what it visits or sweeps. */
static void
count_work(struct oracle *oracle)
{
  const struct oracle_step *step = &oracle->step;
  if (check_is_sweep(step->phase))
    oracle->pace.work += step->swept;
  else if (step->phase == SUBJECT_PHASE_PROPAGATE)
    oracle->pace.work += step->blackened;
}

/* ---- micro-steps ----------------------------------------------------- */

static bool
judge_early(struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  uint64_t due;
  switch ((enum waiting)pace->waiting) {
  case WAITING_PAUSE:
    due = pace->amount;
    if (oracle->phase != SUBJECT_PHASE_PAUSE || !is_incremental(oracle))
      return true;
    oracle_applies(oracle, LAW_PACING_PAUSE);
    return in_use(oracle) + slack(oracle, pace->percent) >= due ||
           accuse(oracle, LAW_PACING_PAUSE, "a cycle started in the pause",
                  due);
  case WAITING_CREDIT:
    due = pace->bytes + pace->amount;
    oracle_applies(oracle, LAW_PACING_STEP_SIZE);
    return in_use(oracle) >= due ||
           accuse(oracle, LAW_PACING_STEP_SIZE,
                  "a step followed on the last before the step size was "
                  "allocated",
                  due);
  case WAITING_MINOR:
    due = pace->bytes + pace->amount;
    oracle_applies(oracle, LAW_PACING_MINOR);
    return in_use(oracle) + slack(oracle, pace->percent) >= due ||
           accuse(oracle, LAW_PACING_MINOR, "a collection came too early",
                  due);
  case WAITING_UNKNOWN:
  case WAITING_RESTART:
    break;
  }
  return true;
}

static void
judge_step(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  bool goes_on = pace->steps && !pace->has_allocated;
  pace->is_due = is_paced(oracle);
  if (pace->is_due && shadow_is_stopped(oracle->shadow) &&
      !accuse(oracle, LAW_PACING_STOPPED, "a stopped collector made a step", 0))
    return;
  if (goes_on) {
    if (pace->work_due && pace->work >= pace->work_due)
      accuse(oracle, LAW_PACING_STEP_SIZE,
             "a step went on though its work was done", 0);
    return;
  }
  pace->work = 0;
  pace->work_due = work_due(oracle);
  if (pace->work_due)
    oracle_applies(oracle, LAW_PACING_STEP_SIZE);
  if (pace->is_due)
    judge_early(oracle);
}

static void
on_step_begin(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  if (oracle->step.depth || oracle->stage != ORACLE_RUNNING)
    return;
  judge_step(oracle);
  pace->steps += pace->steps < UINT32_MAX;
  pace->has_allocated = false;
  pace->step_bytes = in_use(oracle);
  pace->is_atomic = false;
  pace->has_ended = false;
  pace->has_changed_mode = false;
  pace->began_by_age = oracle->ages.mode == OP_MODE_GENERATIONAL;
}

/* A paced collection, which began with these bytes in use, was a major one or
 * was not. */
static bool
judge_major(struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  uint32_t percent = parameter(oracle, OP_PARAMETER_MAJORMUL);
  uint64_t due = pace->major_base + percentage(pace->major_base, percent);
  if (pace->began_by_age && !pace->has_changed_mode && pace->is_bad)
    return accuse(oracle, LAW_PACING_MAJOR,
                  "a minor collection followed on a major one that freed too "
                  "little",
                  0);
  if (oracle->op.code == OP_STEP && oracle->op.a == 0 && pace->began_by_age &&
      pace->has_changed_mode && !pace->may_be_bad &&
      oracle->subject->traits->major_of_growth)
    return accuse(oracle, LAW_PACING_MAJOR,
                  "a basic step made a major collection", 0);
  if (!pace->began_by_age || !pace->major_base ||
      !(pace->is_due || (steps(oracle) && !pace->has_called)) ||
      !oracle->subject->traits->major_of_growth)
    return true;
  oracle_applies(oracle, LAW_PACING_MAJOR);
  if (pace->has_changed_mode && !pace->may_be_bad &&
      pace->step_bytes + slack(oracle, percent) < due)
    return accuse(oracle, LAW_PACING_MAJOR, "a major collection came too early",
                  due);
  if (!pace->has_changed_mode && pace->is_due &&
      pace->step_bytes > due + slack(oracle, percent))
    return accuse(oracle, LAW_PACING_MAJOR,
                  "a collection was a minor one though a major one was due",
                  due);
  return true;
}

/* A major collection that was not asked for is bad unless it has freed half of
 * what the last one let the heap grow by. After a bad one whole cycles follow
 * until the heap has stopped growing. */
static void
weigh_major(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  uint32_t percent = parameter(oracle, OP_PARAMETER_MAJORMUL);
  uint64_t half =
      pace->major_base + percentage(pace->major_base, percent) / 2;
  uint64_t room = slack(oracle, percent);
  bool is_major =
      pace->began_by_age && pace->has_changed_mode && !is_asked(oracle);
  bool is_known = pace->major_base && !pace->may_be_bad && !pace->has_called &&
                  oracle->subject->traits->major_of_growth;
  pace->may_be_bad =
      is_major && (!is_known || in_use(oracle) + room >= half);
  pace->is_bad = is_major && is_known && in_use(oracle) > half + room;
}

/* Events come before the step is counted as over. */
static void
on_step_end(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  if (oracle->step.depth != 1 || oracle->stage != ORACLE_RUNNING)
    return;
  uint64_t freed = pace->step_bytes - in_use(oracle);
  if (pace->is_lost) {
    pace->is_lost = false;
    pace->estimate = 0;
    pace->major_base = pace->major_base_next = 0;
    pace->may_be_bad = true;
    pace->is_bad = false;
    wait_for(oracle, WAITING_UNKNOWN, 0);
    return;
  }
  if (pace->is_atomic)
    pace->estimate = in_use(oracle);
  else if (check_is_sweep(oracle->step.phase))
    pace->estimate -= freed;
  count_work(oracle);
  if (!judge_major(oracle))
    return;
  weigh_major(oracle);
  if (pace->major_base_next)
    pace->major_base = pace->major_base_next;
  pace->major_base_next = 0;
  if (!sets_debt(oracle))
    wait_for(oracle, WAITING_UNKNOWN, 0);
  else if (pace->waiting == WAITING_MINOR && pace->has_ended)
    wait_for_minor(oracle); /* finalizers may have created something since */
  else if (oracle->phase != SUBJECT_PHASE_PAUSE && is_incremental(oracle) &&
           oracle->ages.mode == OP_MODE_INCREMENTAL) {
    pace->percent = parameter(oracle, OP_PARAMETER_STEPMUL);
    wait_for(oracle,
             knows_step_size(oracle) ? WAITING_CREDIT : WAITING_UNKNOWN,
             knows_step_size(oracle) && step_size(oracle) >= 16
                 ? step_size(oracle)
                 : 0);
  }
}

/* ---- phases ---------------------------------------------------------- */

static void
on_cycle_end(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  uint32_t percent = parameter(oracle, OP_PARAMETER_PAUSE);
  wait_for(oracle, WAITING_UNKNOWN, 0);
  if (!sets_debt(oracle) || !is_incremental(oracle) || !pace->estimate ||
      !oracle->subject->traits->pause_of_total)
    return;
  pace->percent = percent;
  wait_for(oracle, WAITING_PAUSE, percentage(pace->estimate, percent));
}

/* A collection of generational cycles has ended. One that was a major one may
 * have been bad, and then there is a pause and the next one is incremental;
 * one that was asked for is not. */
static void
on_collection_end(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  pace->has_ended = true;
  wait_for(oracle, WAITING_UNKNOWN, 0);
  if ((pace->has_changed_mode && !is_asked(oracle)) || !oracle->in_operation ||
      !oracle->subject->traits->minor_of_total)
    return;
  wait_for_minor(oracle);
}

static void
on_phase(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_pace *pace = &oracle->pace;
  if (event->to == SUBJECT_PHASE_ATOMIC) {
    pace->is_atomic = true;
    pace->marks += pace->marks < UINT32_MAX;
  }
  if (event->to == SUBJECT_PHASE_SWEEP_END &&
      oracle->ages.mode == OP_MODE_GENERATIONAL && pace->has_changed_mode)
    pace->major_base_next = in_use(oracle);
  if (event->to == SUBJECT_PHASE_PAUSE &&
      event->from == SUBJECT_PHASE_FINALIZE)
    on_cycle_end(oracle);
  if (event->to == SUBJECT_PHASE_PROPAGATE &&
      event->from == SUBJECT_PHASE_SWEEP_END)
    on_collection_end(oracle);
}

void
check_pace_event(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_pace *pace = &oracle->pace;
  bool is_outside = !oracle->step.depth && !oracle_is_finalizing(oracle);
  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_ALLOCATED:
  case SUBJECT_EVENT_REFUSED:
    pace->has_allocated |= is_outside;
    break;
  case SUBJECT_EVENT_BIRTH:
    pace->births += is_outside && pace->births < UINT32_MAX;
    break;
  case SUBJECT_EVENT_CLOSED:
    pace->has_called = true;
    break;
  case SUBJECT_EVENT_EMERGENCY:
    pace->is_lost |= oracle_is_finalizing(oracle);
    break;
  case SUBJECT_EVENT_MODE:
    pace->has_changed_mode = true;
    break;
  case SUBJECT_EVENT_PHASE:
    on_phase(oracle, event);
    break;
  case SUBJECT_EVENT_STEP_BEGIN:
    on_step_begin(oracle);
    break;
  case SUBJECT_EVENT_STEP_END:
    on_step_end(oracle);
    break;
  default:
    break;
  }
}

/* ---- operations ------------------------------------------------------ */

/* The bytes in use beyond which a step has to be made. */
static uint64_t
latest_due(const struct oracle_pace *pace)
{
  if (pace->waiting == WAITING_PAUSE)
    return pace->amount > pace->bytes ? pace->amount : pace->bytes;
  return pace->bytes + pace->amount;
}

/* What is left to be allocated, as far as it is known, until a step is due. */
static uint64_t
left(const struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  uint64_t due = latest_due(pace);
  return due > in_use(oracle) ? due - in_use(oracle) : 0;
}

/* An explicit step of n KiB is made if these would use up the credit. */
static void
foresee_step(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  uint64_t granted = (uint64_t)oracle->op.a * 1024;
  uint64_t room = slack(oracle, pace->percent);
  bool is_known = pace->waiting == WAITING_CREDIT ||
                  pace->waiting == WAITING_MINOR ||
                  (pace->waiting == WAITING_PAUSE && is_incremental(oracle) &&
                   oracle->phase == SUBJECT_PHASE_PAUSE);
  pace->must_step = is_known && pace->waiting != WAITING_CREDIT &&
                    granted > left(oracle) + room;
  pace->may_step = !is_known || granted + room >= left(oracle);
}

void
check_pace_begin(struct oracle *oracle)
{
  struct oracle_pace *pace = &oracle->pace;
  pace->births = pace->steps = pace->marks = 0;
  pace->has_called = oracle->op.code == OP_CALLINDEX ||
                     oracle->op.code == OP_CALLSTORE;
  pace->has_allocated = false;
  pace->op_bytes = in_use(oracle);
  pace->op_births = oracle->stats.births;
  if (oracle->op.code == OP_STEP && oracle->op.a > 0)
    foresee_step(oracle);
}

/* What the last micro-step of a step may have done beyond what was due, in
 * bytes of credit. No part of an object that is visited takes less than eight
 * bytes a unit, and none is visited more than a few times. */
static uint64_t
excess(const struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  enum { BYTES_PER_WORK = 2, WORK_MAX = 1000 };
  return (pace->bytes / BYTES_PER_WORK + WORK_MAX) /
             (pace->percent | 1) * oracle->subject->traits->step_unit +
         oracle->subject->traits->step_unit;
}

/* The operation has created something and made no step: was one due? */
static bool
judge_late(struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  uint64_t due = latest_due(pace);
  uint64_t room = slack(oracle, pace->percent);
  if (pace->steps || shadow_is_stopped(oracle->shadow) || oracle->refused ||
      pace->has_called || !creates(oracle))
    return true;
  switch ((enum waiting)pace->waiting) {
  case WAITING_RESTART:
    oracle_applies(oracle, LAW_PACING_EXPLICIT);
    return pace->op_bytes < pace->bytes || in_use(oracle) <= pace->bytes ||
           accuse(oracle, LAW_PACING_EXPLICIT,
                  "no step was made after the restart", 0);
  case WAITING_PAUSE:
    if (oracle->phase != SUBJECT_PHASE_PAUSE || !is_incremental(oracle))
      return true;
    oracle_applies(oracle, LAW_PACING_PAUSE);
    return pace->op_bytes <= due + room ||
           accuse(oracle, LAW_PACING_PAUSE,
                  "no cycle was started though the pause was over", due);
  case WAITING_MINOR:
    oracle_applies(oracle, LAW_PACING_MINOR);
    return pace->op_bytes <= due + room ||
           accuse(oracle, LAW_PACING_MINOR, "no collection was made", due);
  case WAITING_CREDIT:
    oracle_applies(oracle, LAW_PACING_STEP_SIZE);
    due += excess(oracle);
    return !oracle->subject->traits->step_unit ||
           pace->op_bytes <= due + room ||
           accuse(oracle, LAW_PACING_STEP_SIZE,
                  "no step was made though the step size was allocated", due);
  case WAITING_UNKNOWN:
    break;
  }
  return true;
}

/* Over a heap that nobody changes one bad cycle does no more work than the
 * one before: minor collections have to come back. */
static bool
judge_bad(struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  if (pace->marks < BAD_CYCLES + 1 ||
      oracle->stats.births != pace->op_births ||
      !oracle->subject->traits->minor_of_total)
    return true;
  oracle_applies(oracle, LAW_PACING_MINOR);
  return oracle->ages.mode == OP_MODE_GENERATIONAL ||
         accuse(oracle, LAW_PACING_MINOR,
                "no minor collection came back after a bad major one", 0);
}

static bool
judge_asked(struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  struct op op = oracle->op;
  bool is_met = true;
  switch (op.code) {
  case OP_STEP:
    is_met = op.a == 0 ? pace->steps > 0
                       : pace->steps ? pace->may_step : !pace->must_step;
    break;
  case OP_MICROSTEP:
  case OP_RUNTO:
  case OP_FINISH:
    is_met = pace->steps && (pace->steps == 1 || !is_incremental(oracle));
    break;
  case OP_COLLECT:
    is_met = pace->marks > 0;
    break;
  case OP_MINOR:
    is_met = pace->steps >= (uint32_t)op.a && judge_bad(oracle);
    break;
  default:
    return true;
  }
  if (oracle_is_over(oracle))
    return false;
  oracle_applies(oracle, LAW_PACING_EXPLICIT);
  return is_met || accuse(oracle, LAW_PACING_EXPLICIT,
                          "the collector did not do what it was asked for", 0);
}

/* After operations on the collector. */
static void
follow(struct oracle *oracle)
{
  const struct oracle_pace *pace = &oracle->pace;
  switch (oracle->op.code) {
  case OP_RESTART:
    wait_for(oracle, WAITING_RESTART, 0);
    break;
  case OP_STOP:
    wait_for(oracle, WAITING_UNKNOWN, 0);
    break;
  case OP_STEP:
    if (!pace->steps)
      wait_for(oracle, WAITING_UNKNOWN, 0);
    break;
  case OP_MODE:
    oracle->pace.may_be_bad = oracle->pace.is_bad = false;
    if (oracle->op.a == OP_MODE_INCREMENTAL || !pace->steps)
      wait_for(oracle, WAITING_UNKNOWN, 0);
    break;
  default:
    /* A check that came to nothing changes the debt. */
    if (shadow_is_stopped(oracle->shadow))
      wait_for(oracle, WAITING_UNKNOWN, 0);
    break;
  }
}

static uint64_t
reads_back(const struct subject_parameter *kept, uint64_t value)
{
  if (value < kept->least)
    value = kept->least;
  switch ((enum subject_form)kept->form) {
  case SUBJECT_FORM_BYTE:
    return value / kept->granule % 256 * kept->granule;
  case SUBJECT_FORM_FLOATING: {
    if (value > FLOATING_MAX)
      value = FLOATING_MAX;
    uint64_t scaled = (value * 128 + PERCENT - 1) / PERCENT;
    unsigned shift = 0;
    while (scaled >> shift >= 32)
      shift++;
    return (scaled >> shift << shift) * PERCENT / 128;
  }
  case SUBJECT_FORM_NONE:
  case SUBJECT_FORM_WHOLE:
    break;
  }
  return value;
}

static bool
judge_parameter(struct oracle *oracle, struct subject_value answer)
{
  int32_t which = oracle->op.a;
  const struct subject_parameter *kept =
      &oracle->subject->traits->parameter[which];
  uint64_t wanted = reads_back(kept, (uint64_t)oracle->op.b);
  if (kept->form == SUBJECT_FORM_NONE)
    return true;
  oracle->pace.parameter[which] = (uint32_t)answer.bits;
  if (!oracle_applies(oracle, LAW_PACING_PARAMETER) ||
      (answer.tag == SUBJECT_INTEGER && answer.bits == wanted) ||
      !explain_begin(oracle, LAW_PACING_PARAMETER))
    return true;
  explain_say(oracle, "parameter %s was set to %d and reads back as ",
              op_word_text(OP_OPERAND_PARAMETER, which), (int)oracle->op.b);
  explain_value(oracle, answer);
  explain_say(oracle, ", not as %llu", (unsigned long long)wanted);
  explain_end(oracle);
  return false;
}

bool
check_pace_end(struct oracle *oracle, enum subject_status status,
               const struct subject_answer *answer)
{
  bool is_steering = op_infos[oracle->op.code].flags & OP_STEERS;
  if (status != SUBJECT_DONE || oracle->stage != ORACLE_RUNNING)
    return true;
  if (oracle->op.code == OP_PARAM && answer)
    return judge_parameter(oracle, answer->value[0]);
  if (!oracle->able[LAW_PACING_EXPLICIT])
    return true;
  if (!(is_steering ? judge_asked(oracle) : judge_late(oracle)))
    return false;
  follow(oracle);
  return true;
}

void
check_pace_start(struct oracle *oracle)
{
  oracle->pace = (struct oracle_pace){.waiting = WAITING_UNKNOWN};
  for (int i = 0; i < SUBJECT_PARAMETERS; i++)
    oracle->pace.parameter[i] = oracle->subject->traits->parameter[i].initial;
}

bool
check_stopped(struct oracle *oracle)
{
  bool is_stopped = shadow_is_stopped(oracle->shadow);
  if (oracle->subject->traits->step_ends_stop ||
      !oracle_applies(oracle, LAW_PACING_STOPPED) ||
      oracle->survey.heap.stopped == is_stopped)
    return true;
  return accuse(oracle, LAW_PACING_STOPPED,
                is_stopped ? "the collector runs though it was stopped"
                           : "the collector is stopped and nobody stopped it",
                0);
}
