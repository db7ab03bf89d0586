/* SPDX-License-Identifier: MIT
 *
 * The laws of events.
 *
 * Colours. While marking an object only gets darker, but for the back barrier
 * and what is to be visited again (black to grey). While sweeping it becomes
 * current white: survivors of any colour by the sweep, the parent of a forward
 * barrier, a dead interned string that is found again. The flip makes current
 * whites other whites without an event of its own. A full collection that
 * begins in mid-mark sweeps everything to the current white without a flip:
 * the phase is then a sweep phase, so the same table holds. The transition
 * table below has these rules; what kinds restrict is in kind_allows.
 *
 * Phases follow each other in the order of the cycle; the only short cut is
 * that of such a full collection, from marking to the sweep. Generational
 * cycles rest in the phase of marking, and go round without a pause.
 *
 * While the subject opens it may paint what it builds as it likes, but for the
 * collector's steps; while it closes colours and phases are its own.
 */
#include "oracle/check.h"

#include <stdio.h>
#include <string.h>

#include "oracle/explain.h"
#include "oracle/state.h"

#define IN(phase) (1u << SUBJECT_PHASE_##phase)
#define MARKING (IN(PROPAGATE) | IN(ENTER_ATOMIC) | IN(ATOMIC))
#define SWEEPING \
  (IN(SWEEP) | IN(SWEEP_FINALIZABLE) | IN(SWEEP_PENDING) | IN(SWEEP_END))

/* Phases in which a colour may change, from (rows) to (columns). In the pause
 * roots are marked by the micro-step that starts a cycle. An object that is
 * closed over (upvalue) may turn black wherever it is grey. */
static const uint16_t changes[SUBJECT_COLOUR_COUNT][SUBJECT_COLOUR_COUNT] = {
    [SUBJECT_WHITE_CURRENT] = {[SUBJECT_GREY] = IN(PAUSE) | MARKING,
                               [SUBJECT_BLACK] = IN(PAUSE) | MARKING},
    [SUBJECT_WHITE_OTHER] = {[SUBJECT_WHITE_CURRENT] = SWEEPING},
    [SUBJECT_GREY] = {[SUBJECT_WHITE_CURRENT] = SWEEPING,
                      [SUBJECT_BLACK] = MARKING | SWEEPING},
    [SUBJECT_BLACK] = {[SUBJECT_WHITE_CURRENT] = SWEEPING,
                       [SUBJECT_GREY] = MARKING | SWEEPING},
};

/* Phases that may follow. */
static const uint16_t follows[SUBJECT_PHASE_COUNT] = {
    [SUBJECT_PHASE_PAUSE] = IN(PROPAGATE),
    [SUBJECT_PHASE_PROPAGATE] = IN(ENTER_ATOMIC),
    [SUBJECT_PHASE_ENTER_ATOMIC] = IN(ATOMIC),
    [SUBJECT_PHASE_ATOMIC] = IN(SWEEP),
    [SUBJECT_PHASE_SWEEP] = IN(SWEEP_FINALIZABLE),
    [SUBJECT_PHASE_SWEEP_FINALIZABLE] = IN(SWEEP_PENDING),
    [SUBJECT_PHASE_SWEEP_PENDING] = IN(SWEEP_END),
    [SUBJECT_PHASE_SWEEP_END] = IN(FINALIZE),
    [SUBJECT_PHASE_FINALIZE] = IN(PAUSE),
};

/* ---- memory ---------------------------------------------------------- */

static void
on_allocated(struct oracle *oracle, const struct subject_event *event)
{
  if (!blocks_add(&oracle->blocks, event->base, event->size))
    oracle->exhausted = true;
}

static void
keep_death(struct oracle *oracle, const struct oracle_death *death)
{
  uint64_t count = (uint64_t)oracle->death_count + 1;
  if (count > oracle->death_capacity) {
    struct oracle_death *room = oracle_reserve(
        oracle->deaths, &oracle->death_capacity, count, sizeof *room);
    if (!room) {
      oracle->exhausted = true;
      return;
    }
    oracle->deaths = room;
  }
  oracle->deaths[oracle->death_count++] = *death;
}

/* What waits for its finalizer, or has been finalized, is dead only when an
 * atomic phase finds it so after the call. */
static bool
check_same_cycle(struct oracle *oracle, const struct oracle_death *death)
{
  if (!death->call || !oracle_applies(oracle, LAW_FINALIZERS_SAME_CYCLE) ||
      death->call <= oracle->finalizers.calls_at_atomic ||
      !explain_begin(oracle, LAW_FINALIZERS_SAME_CYCLE))
    return true;
  explain_dead(oracle, death);
  explain_say(oracle, " was freed in the cycle in which its finalizer was "
                      "called");
  explain_end(oracle);
  return false;
}

/* Where a table with weak keys holds its values [T] and it is not told which
 * entries are removed: nothing but such entries, of keys that are dead, may
 * have held the node. */
static bool
may_be_cut_off(const struct oracle *oracle, uint32_t node)
{
  return !oracle_is_told(oracle) && !oracle->subject->traits->ephemerons &&
         !shadow_is_held_by_keys(oracle->shadow, node);
}

bool
check_death(struct oracle *oracle, const struct oracle_death *death)
{
  enum law law = LAW_FREED_LIVE;
  shadow_reach(oracle->shadow);
  oracle_applies(oracle, LAW_FREED_LIVE);
  if (shadow_is_held(oracle->shadow, death->node) &&
      !shadow_is_reachable(oracle->shadow, death->node))
    check_give_up_unseen(oracle);
  if (!shadow_is_held(oracle->shadow, death->node) ||
      may_be_cut_off(oracle, death->node))
    return true;
  bool is_reachable = shadow_is_reachable(oracle->shadow, death->node);
  if (!is_reachable && shadow_marking(oracle->shadow, death->node))
    law = LAW_FINALIZERS_LOST;
  if (!explain_begin(oracle, law))
    return true;
  explain_dead(oracle, death);
  if (law == LAW_FINALIZERS_LOST) {
    explain_say(oracle, " was freed, and its finalizer is owed");
  } else {
    explain_say(oracle, is_reachable ? " was freed and is reachable"
                                     : " was freed, and a finalizer that is "
                                       "owed can reach it");
    explain_path(oracle, "", death->node);
  }
  explain_end(oracle);
  return false;
}

/* An operation that changes the shadow is followed first: what it made
 * unreachable may die in it. What is not held at the moment, by what finalizers
 * have done so far, may die whatever comes later. All other deaths are judged
 * at once; but where weak tables are cleared untold, what is held may have been
 * held by an entry that has gone since. */
static void
on_bound_death(struct oracle *oracle, const struct oracle_death *death)
{
  bool is_untold = oracle->in_operation && !oracle_is_told(oracle) &&
                   shadow_has_weak_tables(oracle->shadow);
  if (oracle->stage != ORACLE_RUNNING)
    return;
  shadow_reach(oracle->shadow);
  if (!oracle_is_mutator(oracle) && !is_untold)
    check_death(oracle, death);
  else if (shadow_is_held(oracle->shadow, death->node))
    keep_death(oracle, death);
  check_same_cycle(oracle, death);
}

static void
on_freed(struct oracle *oracle, const struct subject_event *event)
{
  struct blocks *blocks = &oracle->blocks;
  uint32_t block = blocks_find(blocks, event->base);
  if (!block)
    return; /* the arena tells of blocks only that it has told of before */
  oracle_applies(oracle, LAW_BAD_FREE);
  oracle_applies(oracle, LAW_FREE_SIZE);
  if (event->size != event->value && explain_begin(oracle, LAW_FREE_SIZE)) {
    explain_object(oracle, event->base);
    explain_say(oracle, " of %llu bytes was freed with a size of %llu",
                (unsigned long long)event->value,
                (unsigned long long)event->size);
    explain_end(oracle);
    return;
  }
  struct oracle_death death = {.base = event->base,
                               .number = blocks->records[block].number,
                               .call = blocks->records[block].call,
                               .kind = blocks->views[block].kind};
  death.node = bind_forget(oracle, block);
  blocks_remove(blocks, block);
  if (death.node != BIND_NO_NODE)
    on_bound_death(oracle, &death);
}

static void
on_bad_free(struct oracle *oracle, const struct subject_event *event)
{
  oracle_applies(oracle, LAW_BAD_FREE);
  if (!explain_begin(oracle, LAW_BAD_FREE))
    return;
  explain_object(oracle, event->base);
  explain_say(oracle, " was freed or resized and is no live block");
  explain_end(oracle);
}

/* ---- colours --------------------------------------------------------- */

/* The interned string is the only one that comes back from the dead; what has
 * references is grey before it is black; what turns black while sweeping is an
 * upvalue that is closed. */
static bool
kind_allows(const struct oracle *oracle, const struct subject_event *event)
{
  bool is_leaf = event->kind <= SUBJECT_KIND_STRING_LONG ||
                 event->kind == SUBJECT_KIND_USERDATA ||
                 event->kind == SUBJECT_KIND_UPVALUE ||
                 event->kind == SUBJECT_KIND_CDATA;
  if (event->from == SUBJECT_WHITE_OTHER)
    return event->kind == SUBJECT_KIND_STRING_SHORT;
  if (event->from == SUBJECT_WHITE_CURRENT && event->to == SUBJECT_BLACK)
    return is_leaf;
  if (event->from == SUBJECT_GREY && event->to == SUBJECT_BLACK &&
      check_is_sweep(oracle->phase))
    return event->kind == SUBJECT_KIND_UPVALUE ||
           oracle->ages.mode == OP_MODE_GENERATIONAL;
  return true;
}

static bool
is_legal_change(const struct oracle *oracle, const struct subject_event *event)
{
  if (event->from >= SUBJECT_COLOUR_COUNT || event->to >= SUBJECT_COLOUR_COUNT)
    return false;
  if (event->from == event->to)
    return true;
  if (oracle->phase == SUBJECT_PHASE_PAUSE && !oracle->step.depth)
    return oracle->stage == ORACLE_OPENING;
  return changes[event->from][event->to] >> oracle->phase & 1 &&
         kind_allows(oracle, event);
}

static void
accuse_step(struct oracle *oracle, uint64_t base, const char *what,
            unsigned count)
{
  if (!explain_begin(oracle, LAW_STEP_SIZE))
    return;
  explain_say(oracle, what, count);
  explain_object(oracle, base);
  explain_end(oracle);
}

/* What a sweep step, or a propagate step, has done so far. Only the step that
 * begins in a phase is held to it: the atomic one enters the sweep. */
static void
count_sweep(struct oracle *oracle, uint64_t base)
{
  struct oracle_step *step = &oracle->step;
  unsigned batch = oracle->subject->traits->sweep_batch;
  bool is_sweep = step->depth && check_is_sweep(step->phase) &&
                  check_is_sweep(oracle->phase);
  if (!is_sweep || !batch)
    return;
  if (!step->swept++)
    oracle_applies(oracle, LAW_STEP_SIZE);
  if (step->swept > batch)
    accuse_step(oracle, base,
                "a sweep step handles more than %u objects: it goes on to ",
                batch);
}

static void
count_propagate(struct oracle *oracle, uint64_t base)
{
  struct oracle_step *step = &oracle->step;
  if (!step->depth || step->phase != SUBJECT_PHASE_PROPAGATE ||
      oracle->phase != SUBJECT_PHASE_PROPAGATE)
    return;
  if (!step->blackened++)
    oracle_applies(oracle, LAW_STEP_SIZE);
  if (step->blackened > 1)
    accuse_step(oracle, base,
                "a propagate step visits more than %u object: it goes on to ",
                1);
}

static void
on_recoloured(struct oracle *oracle, const struct subject_event *event)
{
  uint32_t block = blocks_find(&oracle->blocks, event->base);
  if (event->from < SUBJECT_COLOUR_COUNT && event->to < SUBJECT_COLOUR_COUNT)
    oracle->stats.recoloured[event->from][event->to] += 1;
  if (block && event->to == SUBJECT_WHITE_CURRENT)
    oracle->blocks.records[block].whitened = oracle->survey.sweep;
  if (block && event->from <= SUBJECT_WHITE_OTHER)
    oracle->blocks.records[block].revived = check_has_separated(oracle);
  if (oracle->stage == ORACLE_CLOSING ||
      !oracle_applies(oracle, LAW_COLOUR_CHANGE))
    return;
  if (!is_legal_change(oracle, event)) {
    if (!explain_begin(oracle, LAW_COLOUR_CHANGE))
      return;
    explain_object(oracle, event->base);
    explain_say(oracle, " turned from %s to %s in phase %s",
                oracle_colour_text(event->from), oracle_colour_text(event->to),
                oracle_phase_text(oracle->phase));
    explain_end(oracle);
    return;
  }
  if (event->from == SUBJECT_GREY && event->to == SUBJECT_BLACK)
    count_propagate(oracle, event->base);
  else if (event->to == SUBJECT_WHITE_CURRENT)
    count_sweep(oracle, event->base);
}

static bool
check_not_atomic(struct oracle *oracle, const char *what)
{
  if (oracle->phase != SUBJECT_PHASE_ATOMIC ||
      oracle->stage == ORACLE_CLOSING ||
      !explain_begin(oracle, LAW_ATOMIC_INTERRUPTED))
    return true;
  explain_say(oracle, "%s inside the atomic phase", what);
  explain_end(oracle);
  return false;
}

static void
on_birth(struct oracle *oracle, const struct subject_event *event)
{
  uint32_t block = blocks_find(&oracle->blocks, event->base);
  oracle->stats.births += 1;
  if (block && event->kind < SUBJECT_KIND_COUNT) {
    blocks_set_kind(&oracle->blocks, block, event->kind);
    oracle->blocks.records[block].whitened = oracle->survey.sweep;
  }
  check_call_birth(oracle, event);
  if (!check_not_atomic(oracle, "an object was born"))
    return;
  if (!oracle_applies(oracle, LAW_BIRTH_COLOUR) ||
      event->to == SUBJECT_WHITE_CURRENT ||
      !explain_begin(oracle, LAW_BIRTH_COLOUR))
    return;
  explain_object(oracle, event->base);
  explain_say(oracle, " was born %s", oracle_colour_text(event->to));
  explain_end(oracle);
}

/* ---- phases and steps ------------------------------------------------ */

/* A full collection that begins in mid-mark: by the operation, by a closer
 * that the operation runs, because an allocation was refused, or while the
 * subject opens. */
static bool
may_collect(const struct oracle *oracle)
{
  return check_is_emergency(oracle) || oracle->stage == ORACLE_OPENING ||
         oracle_is_mutator(oracle) ||
         (oracle->in_operation && oracle->op.code == OP_COLLECT);
}

/* Generational collections have their own ways: a minor one begins in the
 * resting phase with the atomic phase and ends there, as does one that makes
 * all that lives old; before that the mark is made in one go, from the pause
 * on. Generational cycles are left by giving up the mark. */
static bool
is_generational(const struct oracle *oracle, const struct subject_event *event)
{
  bool by_age = oracle->ages.mode == OP_MODE_GENERATIONAL;
  bool may_enter =
      oracle->stage == ORACLE_OPENING || oracle->op.code == OP_MODE ||
      shadow_mode(oracle->shadow) == OP_MODE_GENERATIONAL;
  if (!oracle->step.depth)
    return false;
  if (event->from == SUBJECT_PHASE_PROPAGATE)
    return (event->to == SUBJECT_PHASE_SWEEP && by_age) ||
           (event->to == SUBJECT_PHASE_ATOMIC && (by_age || may_enter));
  return event->from == SUBJECT_PHASE_SWEEP_END &&
         event->to == SUBJECT_PHASE_PROPAGATE && by_age;
}

/* What only an incremental cycle does. */
static bool
is_incremental(const struct subject_event *event)
{
  return event->to == SUBJECT_PHASE_ENTER_ATOMIC ||
         event->to == SUBJECT_PHASE_FINALIZE;
}

static bool
is_legal_phase(const struct oracle *oracle, const struct subject_event *event)
{
  bool is_mark = event->from == SUBJECT_PHASE_PROPAGATE ||
                 event->from == SUBJECT_PHASE_ENTER_ATOMIC;
  if (event->from != oracle->phase || event->to >= SUBJECT_PHASE_COUNT)
    return false;
  if (is_generational(oracle, event))
    return true;
  if (oracle->ages.mode == OP_MODE_GENERATIONAL && is_incremental(event))
    return false;
  if (is_mark && event->to == SUBJECT_PHASE_SWEEP)
    return may_collect(oracle);
  return follows[event->from] >> event->to & 1;
}

static void
on_phase(struct oracle *oracle, const struct subject_event *event)
{
  bool is_legal = is_legal_phase(oracle, event);
  uint8_t before = oracle->phase;
  oracle->phase = event->to;
  if (before == SUBJECT_PHASE_ATOMIC)
    check_claims_atomic_end(oracle);
  if (event->to == SUBJECT_PHASE_SWEEP) {
    oracle->flipped = event->from == SUBJECT_PHASE_ATOMIC;
    oracle->survey.sweep += 1;
  }
  if (event->to == SUBJECT_PHASE_ATOMIC) {
    oracle_applies(oracle, LAW_ATOMIC_INTERRUPTED);
    check_finalizers_atomic(oracle);
  }
  if (oracle->stage == ORACLE_CLOSING ||
      !oracle_applies(oracle, LAW_PHASE_CHANGE) || is_legal ||
      !explain_begin(oracle, LAW_PHASE_CHANGE))
    return;
  explain_say(oracle, "phase %s followed on %s", oracle_phase_text(event->to),
              oracle_phase_text(event->from));
  if (event->from != before)
    explain_say(oracle, ", though it was %s", oracle_phase_text(before));
  explain_end(oracle);
}

static void
on_step_begin(struct oracle *oracle)
{
  struct oracle_step *step = &oracle->step;
  if (!check_not_atomic(oracle, "a micro-step began"))
    return;
  step->depth += 1;
  step->phase = oracle->phase;
  step->blackened = 0;
  step->swept = 0;
}

static void
on_step_end(struct oracle *oracle)
{
  struct oracle_step *step = &oracle->step;
  if (!check_not_atomic(oracle, "a micro-step ended"))
    return;
  step->depth -= step->depth > 0;
  step->phase = SUBJECT_PHASE_COUNT; /* of an outer step nothing is left */
}

/* ---- all ------------------------------------------------------------- */

/* For signatures: "lgc.c:12" of "DIR/lgc.c:12: condition", or nothing. */
static void
name_place(char *kinds, size_t size, const char *text)
{
  size_t length = strcspn(text, ":"), start = length;
  length += text[length] ? 1 : 0;
  size_t digits = strspn(text + length, "0123456789");
  while (start > 0 && text[start - 1] != '/')
    start--;
  if (digits)
    snprintf(kinds, size, "%.*s", (int)(length + digits - start),
             text + start);
}

static void
on_assertion(struct oracle *oracle, const struct subject_event *event)
{
  const char *text = event->text ? event->text : "an assertion failed";
  if (!explain_begin(oracle, LAW_ASSERTION))
    return;
  explain_say(oracle, "%s", text);
  explain_end(oracle);
  name_place(oracle->finding.kinds, sizeof oracle->finding.kinds, text);
}

void
check_event(struct oracle *oracle, const struct subject_event *event)
{
  tally_event(oracle, event);
  check_emergency_event(oracle, event);
  check_pace_event(oracle, event);
  check_age_event(oracle, event);
  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_ALLOCATED:
    on_allocated(oracle, event);
    break;
  case SUBJECT_EVENT_FREED:
    oracle->has_worked = true;
    on_freed(oracle, event);
    break;
  case SUBJECT_EVENT_BAD_FREE:
    on_bad_free(oracle, event);
    break;
  case SUBJECT_EVENT_REFUSED:
    oracle->refused += 1;
    break;
  case SUBJECT_EVENT_EXHAUSTED:
    oracle->exhausted = true;
    break;
  case SUBJECT_EVENT_BIRTH:
    on_birth(oracle, event);
    break;
  case SUBJECT_EVENT_DEATH:
    oracle->stats.deaths += 1;
    count_sweep(oracle, event->base);
    break;
  case SUBJECT_EVENT_RECOLOURED:
    on_recoloured(oracle, event);
    break;
  case SUBJECT_EVENT_STORE:
    check_not_atomic(oracle, "a store was made");
    break;
  case SUBJECT_EVENT_PHASE:
    on_phase(oracle, event);
    break;
  case SUBJECT_EVENT_STEP_BEGIN:
    oracle->has_worked = true;
    on_step_begin(oracle);
    break;
  case SUBJECT_EVENT_STEP_END:
    on_step_end(oracle);
    break;
  case SUBJECT_EVENT_ASSERTION:
    on_assertion(oracle, event);
    break;
  case SUBJECT_EVENT_CLOSED:
    check_keep_closing(oracle, event->base);
    break;
  case SUBJECT_EVENT_RELISTED:
    check_relisted(oracle, event);
    break;
  case SUBJECT_EVENT_CLEARED:
    check_keep_cleared(oracle, event);
    break;
  case SUBJECT_EVENT_FINALIZER:
    check_finalizer(oracle, event);
    break;
  case SUBJECT_EVENT_FINALIZED:
    check_finalized(oracle, event);
    break;
  case SUBJECT_EVENT_WARNING:
    oracle->finalizers.warnings += 1;
    break;
  default:
    break;
  }
}
