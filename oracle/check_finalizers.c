/* SPDX-License-Identifier: MIT
 *
 * Calls of finalizers. It owns who waits for one, and the call that runs.
 *
 *   finalizers.twice: a finalizer is called, and an object is marked for
 *     finalization, only if it is owed;
 *   finalizers.order: objects are finalized in the order in which they were
 *     separated, and those of one atomic phase in the reverse order of marking
 *     [T];
 *   finalizers.lost: no object is freed while its finalizer is owed, none
 *     ceases to wait without the call unless it cannot be called;
 *   finalizers.emergency: no finalizer is called in an emergency collection;
 *   finalizers.moment: finalizers are called outside the atomic phase, one
 *     after another, in operations that may run the collector;
 *   finalizers.error: an error in a finalizer becomes a warning and fails
 *     nothing else [T]; there is one if and only if what the finalizer does
 *     raises it;
 *   finalizers.at-close: when the state is closed no finalizer is owed that was
 *     when closing began, and from then on nothing is marked [T].
 *
 * That what is separated is dead is judged in check_claims.c, deaths with
 * finalizers.same-cycle in check_event.c.
 *
 * Closing begins with the closers of the main coroutine, which may collect;
 * then all that is marked is separated without an atomic phase, and only that
 * is called closing here.
 *
 * The shadow takes a finalizer as owed until the call is over, so that its
 * object is held while it runs; then come its effects. Where the collector
 * works inside a finalizer [T] calls nest; an inner one's effects come first.
 *
 * A subject that does not tell of lists shows in its surveys who waits; what is
 * separated and called between two of them is judged by whether it has been
 * unreachable, not by its order. A subject that cannot
 * show its objects names none that the oracle knows: where one object alone can
 * be meant it is that, else the oracle can follow no further.
 */
#include "oracle/check.h"

#include <stdlib.h>

#include "oracle/explain.h"
#include "oracle/state.h"

/* ---- words ----------------------------------------------------------- */

static bool
accuse_node(struct oracle *oracle, enum law law, uint32_t node,
            const char *what)
{
  if (!explain_begin(oracle, law))
    return true;
  explain_node(oracle, node);
  explain_say(oracle, " %s", what);
  explain_end(oracle);
  return false;
}

static bool
accuse_base(struct oracle *oracle, enum law law, uint64_t base,
            const char *what)
{
  if (!explain_begin(oracle, law))
    return true;
  explain_say(oracle, "the finalizer of ");
  explain_object(oracle, base);
  explain_say(oracle, " %s", what);
  explain_end(oracle);
  return false;
}

static bool
is_callable(const struct oracle *oracle, uint32_t node)
{
  int32_t behaviour = shadow_behaviour(oracle->shadow, node);
  return behaviour != OP_BEHAVIOUR_NONE && behaviour != OP_BEHAVIOUR_NUMBER;
}

static bool
raises(int32_t behaviour)
{
  return behaviour == OP_BEHAVIOUR_ERROR || behaviour == OP_BEHAVIOUR_YIELD;
}

/* Operations that leave frames behind do so before their closers, and what
 * they hand over, make the collector work. */
static bool
drops_first(uint8_t code)
{
  return code == OP_RETURN || code == OP_TAILCALL || code == OP_ERROR ||
         code == OP_CLOSEUP || code == OP_COCLOSE;
}

/* ---- who waits ------------------------------------------------------- */

static bool
is_waiting(const struct oracle_finalizers *it)
{
  return it->head < it->count;
}

bool
check_has_waited(const struct oracle *oracle, uint32_t node)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  for (uint32_t at = it->head; at < it->count; at++)
    if (it->pending[at].node == node)
      return it->pending[at].batch <= it->batch_before;
  return false;
}

static void
wait_for(struct oracle *oracle, uint32_t node)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  const struct blocks *blocks = &oracle->blocks;
  struct oracle_pending *room = oracle_reserve(
      it->pending, &it->capacity, (uint64_t)it->count + 1, sizeof *room);
  if (!room) {
    oracle->exhausted = true;
    return;
  }
  it->pending = room;
  struct oracle_pending *last = &it->pending[it->count++];
  *last = (struct oracle_pending){.node = node, .batch = it->batch};
  last->rank = oracle->subject->traits->order_of_marking
                   ? shadow_marking(oracle->shadow, node)
                   : blocks->records[bind_block(&oracle->binding, node)].number;
}

static int
compare_pending(const void *a, const void *b)
{
  const struct oracle_pending *x = a, *y = b;
  if (x->batch != y->batch)
    return x->batch < y->batch ? -1 : 1;
  if (x->rank != y->rank)
    return x->rank > y->rank ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

static void
accuse_order(struct oracle *oracle, const struct oracle_pending *early,
             const struct oracle_pending *due)
{
  if (!explain_begin(oracle, LAW_FINALIZERS_ORDER))
    return;
  explain_node(oracle, early->node);
  explain_say(oracle, " is finalized before ");
  explain_node(oracle, due->node);
  if (early->batch != due->batch)
    explain_say(oracle, ", which has waited longer");
  else if (oracle->subject->traits->order_of_marking)
    explain_say(oracle, ", which was marked later");
  else
    explain_say(oracle, ", which was made later");
  explain_end(oracle);
}

/* Those at the head, before the place, that cannot be called have been passed
 * over unseen. */
static void
pass_over(struct oracle *oracle, uint32_t at)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  while (!oracle_is_told(oracle) && it->head < at &&
         !is_callable(oracle, it->pending[it->head].node))
    it->head += 1;
}

/* The node waits no more; one that was not due is accused. False if it did not
 * wait. */
static bool
cease_to_wait(struct oracle *oracle, uint32_t node)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  if (it->sorted < it->count)
    qsort(it->pending + it->sorted, it->count - it->sorted, sizeof *it->pending,
          compare_pending);
  it->sorted = it->count;
  uint32_t at = it->head;
  while (at < it->count && it->pending[at].node != node)
    at++;
  if (at == it->count)
    return false;
  pass_over(oracle, at);
  oracle_applies(oracle, LAW_FINALIZERS_ORDER);
  if (at != it->head)
    accuse_order(oracle, &it->pending[at], &it->pending[it->head]);
  it->head += 1;
  if (it->head == it->count)
    it->head = it->sorted = it->count = 0;
  return true;
}

/* What was to be called next is not. */
static bool
judge_due(struct oracle *oracle)
{
  uint32_t due = oracle->finalizers.due;
  oracle->finalizers.due = 0;
  return !due || accuse_node(oracle, LAW_FINALIZERS_LOST, due,
                             "waits no more, and its finalizer was not called");
}

/* It is owed no more though nothing was called. */
static void
give_up(struct oracle *oracle, uint32_t node)
{
  oracle->finalizers.errors +=
      shadow_behaviour(oracle->shadow, node) == OP_BEHAVIOUR_NUMBER;
  shadow_finalizer_begin(oracle->shadow, node);
}

/* Everything is being separated, whether it is reachable or not. */
static void
begin_closing(struct oracle *oracle)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  const uint32_t *ids;
  uint32_t count = shadow_owed(oracle->shadow, &ids);
  it->batch += 1;
  it->marking_at_close = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t marking = shadow_marking(oracle->shadow, ids[i]);
    if (marking > it->marking_at_close)
      it->marking_at_close = marking;
  }
}

static void
on_marked(struct oracle *oracle, uint64_t base)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  if (it->depth)
    it->running[it->depth - 1].has_marked = true;
  if (it->is_closing && !oracle->subject->traits->marks_at_close)
    accuse_base(oracle, LAW_FINALIZERS_AT_CLOSE, base,
                "is to be called anew, and the state is closing");
}

void
check_relisted(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  uint32_t node = oracle_node_at(oracle, event->base);
  if (event->to == SUBJECT_LIST_FINALIZABLE)
    on_marked(oracle, event->base);
  if (oracle->stage == ORACLE_CLOSING && !it->is_closing &&
      event->to == SUBJECT_LIST_PENDING &&
      oracle->phase != SUBJECT_PHASE_ATOMIC) {
    it->is_closing = true;
    begin_closing(oracle);
  }
  if (oracle->stage == ORACLE_OPENING || node == BIND_NO_NODE ||
      (event->from == SUBJECT_LIST_PENDING) ==
          (event->to == SUBJECT_LIST_PENDING))
    return;
  if (event->to == SUBJECT_LIST_PENDING) {
    wait_for(oracle, node);
    check_keep_separated(oracle, event->base);
    return;
  }
  if (!judge_due(oracle) || !cease_to_wait(oracle, node) ||
      oracle_is_over(oracle))
    return;
  if (is_callable(oracle, node))
    it->due = node;
  else
    give_up(oracle, node);
}

/* ---- a call begins --------------------------------------------------- */

/* Which one is called, of a subject that cannot show: one that is owed and
 * unreachable. BIND_NO_NODE: there is none. */
static uint32_t
guess_called(struct oracle *oracle)
{
  const uint32_t *ids;
  uint32_t count = shadow_owed(oracle->shadow, &ids);
  uint32_t found = BIND_NO_NODE;
  shadow_reach(oracle->shadow);
  for (uint32_t i = 0; i < count; i++) {
    bool is_candidate = oracle->stage == ORACLE_CLOSING ||
                        !shadow_was_reachable(oracle->shadow, ids[i]) ||
                        !shadow_is_reachable(oracle->shadow, ids[i]);
    if (!is_candidate || !is_callable(oracle, ids[i]))
      continue;
    if (found != BIND_NO_NODE)
      oracle->exhausted = true;
    found = ids[i];
  }
  return found;
}

/* The node of an object whose finalizer is called. Where births are not told a
 * table that a finalizer has just bred is not bound yet; it is the last one
 * marked. */
static uint32_t
find_called(struct oracle *oracle, uint64_t base)
{
  uint32_t node = oracle_node_at(oracle, base);
  const uint32_t *ids;
  if (node != BIND_NO_NODE || oracle_is_told(oracle))
    return node;
  if (!(oracle->subject->capabilities & SUBJECT_CAN_SURVEY))
    return guess_called(oracle);
  uint32_t count = shadow_owed(oracle->shadow, &ids);
  uint64_t last = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t marking = shadow_marking(oracle->shadow, ids[i]);
    if (bind_block(&oracle->binding, ids[i]) || marking < last)
      continue;
    last = marking;
    node = ids[i];
  }
  return node;
}

static bool
judge_moment(struct oracle *oracle, uint64_t base)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  oracle_applies(oracle, LAW_FINALIZERS_EMERGENCY);
  oracle_applies(oracle, LAW_FINALIZERS_MOMENT);
  if (check_is_emergency(oracle))
    return accuse_base(oracle, LAW_FINALIZERS_EMERGENCY, base,
                       "is called in an emergency collection");
  if (oracle->phase == SUBJECT_PHASE_ATOMIC && oracle->stage != ORACLE_CLOSING)
    return accuse_base(oracle, LAW_FINALIZERS_MOMENT, base,
                       "is called in the atomic phase");
  if (it->depth && !oracle->subject->traits->finalizer_steps)
    return accuse_base(oracle, LAW_FINALIZERS_MOMENT, base,
                       "is called inside another one");
  /* Who is entered by a protected call may look there whether work is due. */
  if (oracle->in_operation && !it->may_call && oracle_is_told(oracle))
    return accuse_base(oracle, LAW_FINALIZERS_MOMENT, base,
                       "is called in an operation that runs no collector");
  return true;
}

/* In the midst of an operation: weak tables are to be as the subject has
 * them. */
static void
follow_cleared(struct oracle *oracle)
{
  if (oracle->stage != ORACLE_RUNNING ||
      !(oracle->capabilities & SUBJECT_CAN_SURVEY) || !survey_take(oracle))
    return;
  check_follow_cleared(oracle);
}

/* Where nobody tells what an atomic phase finds dead: it has been unreachable
 * since it was marked, or is since a pair that held it went from a weak table,
 * or what the operation leaves behind is not known yet. */
static bool
may_be_dead(struct oracle *oracle, uint32_t node)
{
  const struct shadow *shadow = oracle->shadow;
  shadow_reach(oracle->shadow);
  if (oracle->stage == ORACLE_CLOSING || shadow_has_lapsed(shadow, node) ||
      !shadow_is_reachable(shadow, node) ||
      (oracle->in_operation && drops_first(oracle->op.code)))
    return true;
  if (shadow_has_weak_tables(shadow))
    follow_cleared(oracle);
  shadow_reach(oracle->shadow);
  return !shadow_is_reachable(shadow, node);
}

static bool
judge_call(struct oracle *oracle, uint64_t base, uint32_t node)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  bool may_be_owed = node != BIND_NO_NODE &&
                     (shadow_marking(oracle->shadow, node) ||
                      (shadow_is_doubtful(oracle->shadow, node) &&
                       is_callable(oracle, node)));
  oracle_applies(oracle, LAW_FINALIZERS_TWICE);
  if (!may_be_owed)
    return accuse_base(oracle, LAW_FINALIZERS_TWICE, base,
                       "is called and is not owed");
  bool is_due = it->due == node;
  if (is_due)
    it->due = 0;
  else if (!judge_due(oracle))
    return false;
  if (is_due || cease_to_wait(oracle, node))
    return !oracle_is_over(oracle);
  if (!oracle_is_told(oracle) && may_be_dead(oracle, node))
    return true;
  oracle_applies(oracle, LAW_FINALIZERS_NOT_DEAD);
  return accuse_node(oracle, LAW_FINALIZERS_NOT_DEAD, node,
                     oracle_is_told(oracle)
                         ? "is finalized, and no atomic phase has found it dead"
                         : "is finalized and was reachable all the time");
}

/* What it does may read weak tables. */
static void
look_before_call(struct oracle *oracle, uint32_t node)
{
  const struct shadow *shadow = oracle->shadow;
  bool reads_weak = shadow_weakness(shadow, node) ||
                    shadow_weakness(shadow, shadow_globals(shadow));
  if (!oracle_is_told(oracle) && reads_weak)
    follow_cleared(oracle);
}

/* The record of one more call; NULL if the oracle is exhausted. */
static struct oracle_call *
push_call(struct oracle *oracle)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  struct oracle_call *room =
      oracle_reserve(it->running, &it->running_capacity,
                     (uint64_t)it->depth + 1, sizeof *room);
  if (!room) {
    oracle->exhausted = true;
    return NULL;
  }
  it->running = room;
  return &it->running[it->depth++];
}

void
check_finalizer(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  if (oracle->stage == ORACLE_OPENING || !judge_moment(oracle, event->base))
    return;
  uint32_t node = find_called(oracle, event->base);
  if (oracle_is_over(oracle) || !judge_call(oracle, event->base, node))
    return;
  look_before_call(oracle, node);
  struct oracle_call *call = push_call(oracle);
  if (!call)
    return;
  it->calls += 1;
  *call = (struct oracle_call){
      .base = event->base,
      .node = node,
      .behaviour = shadow_behaviour(oracle->shadow, node),
      .refused_before = oracle->refused};
  uint32_t block = blocks_find(&oracle->blocks, event->base);
  if (block) {
    oracle->blocks.records[block].call = it->calls;
    oracle->blocks.records[block].survived = 0;
    oracle->blocks.records[block].waited = 0;
    oracle->blocks.records[block].waits = false;
  }
}

void
check_call_birth(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_call *call = oracle_call_now(oracle);
  if (call && call->birth_count < ORACLE_CALL_BIRTHS_MAX &&
      event->kind >= SUBJECT_KIND_TABLE && event->kind <= SUBJECT_KIND_THREAD)
    call->births[call->birth_count++] = event->base;
}

/* ---- a call ends ----------------------------------------------------- */

/* Where errors are not contained one that is raised in a collection inside the
 * call that ends comes out of it; that of what cannot be called [T] is not
 * told. */
static bool
may_come_through(const struct oracle *oracle)
{
  const struct subject_traits *traits = oracle->subject->traits;
  const struct oracle_finalizers *it = &oracle->finalizers;
  return !traits->errors_contained &&
         (it->running[it->depth].has_met_error ||
          (traits->finalizer_steps && !traits->not_callable_ignored));
}

static bool
judge_error(struct oracle *oracle, const struct oracle_call *call,
            bool has_raised)
{
  bool is_refused = oracle->refused > call->refused_before;
  bool shall_raise =
      raises(call->behaviour) ||
      shadow_has_no_room(oracle->shadow, call->node, call->behaviour);
  oracle_applies(oracle, LAW_FINALIZERS_ERROR);
  if (has_raised && !shall_raise && !is_refused && !may_come_through(oracle))
    return accuse_node(oracle, LAW_FINALIZERS_ERROR, call->node,
                       "has a finalizer that raised an error without reason");
  if (!has_raised && shall_raise)
    return accuse_node(oracle, LAW_FINALIZERS_ERROR, call->node,
                       "has a finalizer that raises an error, of which "
                       "nothing is told");
  return true;
}

/* Objects born in the call are the nodes that its effect has made. */
static void
bind_call(struct oracle *oracle, const struct oracle_call *call, uint32_t first)
{
  uint32_t count = shadow_node_count(oracle->shadow) - first;
  if (count > call->birth_count)
    return;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t block = blocks_find(&oracle->blocks, call->births[i]);
    if (block && !oracle_is_told(oracle))
      blocks_set_kind(&oracle->blocks, block,
                      (uint8_t)shadow_kind(oracle->shadow, first + i));
    if (block)
      bind_node(oracle, first + i, block);
  }
}

void
check_finalized(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  struct shadow *shadow = oracle->shadow;
  const struct oracle_call *call = oracle_call_now(oracle);
  uint32_t first = shadow_node_count(shadow);
  if (!call || event->base != call->base)
    return;
  it->depth -= 1; /* the record stays until the next call */
  if (!it->depth)
    it->refused += oracle->refused - call->refused_before;
  it->errors += event->to != 0;
  if (it->depth)
    it->running[it->depth - 1].has_met_error |= event->to != 0;
  if (!judge_error(oracle, call, event->to != 0))
    return;
  shadow_finalizer_begin(shadow, call->node);
  /* In a micro-step the closers still run. */
  bool is_closing = oracle->stage == ORACLE_CLOSING &&
                    (oracle_is_told(oracle)
                         ? !call->has_marked
                         : !oracle->subject->traits->marks_at_close &&
                               !oracle->step.depth);
  if (event->to == 0 &&
      shadow_finalizer_end(shadow, call->node, is_closing) ==
          SHADOW_NO_MEMORY) {
    oracle->exhausted = true;
    return;
  }
  oracle->is_stale = true;
  oracle->survey.words_asked += 1;
  bind_call(oracle, call, first);
  if (!oracle_is_told(oracle))
    shadow_reach(shadow); /* what has not stayed is known by each state */
}

/* ---- operations ------------------------------------------------------ */

void
check_finalizers_clear(struct oracle *oracle)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  *it = (struct oracle_finalizers){.pending = it->pending,
                                   .capacity = it->capacity,
                                   .running = it->running,
                                   .running_capacity = it->running_capacity};
}

static bool
may_call(const struct oracle *oracle, struct op op)
{
  switch (op.code) {
  case OP_STOP:
  case OP_RESTART:
  case OP_PARAM:
  case OP_FAILALLOC:
  case OP_HEAPLIMIT:
  case OP_OUTOFMEM:
    return false;
  case OP_YIELD:
  case OP_RETURN: /* what they hand over may make a subject look at its pace */
    return true;
  default:
    return op_infos[op.code].flags & (OP_ALLOCATES | OP_STEERS) ||
           shadow_may_close(oracle->shadow, op);
  }
}

void
check_finalizers_begin(struct oracle *oracle, struct op op)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  /* Of a subject that does not tell of births it is not known what an operation
   * needs besides. */
  it->may_call = !oracle_is_told(oracle) || may_call(oracle, op);
  it->calls_before = it->calls;
  it->waited = is_waiting(it);
  it->batch_before = it->batch;
  it->errors = 0;
  it->warnings = 0;
  it->refused = 0;
}

void
check_finalizers_atomic(struct oracle *oracle)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  it->batch += 1;
  it->calls_at_atomic = it->calls;
  it->waited_at_atomic = is_waiting(it);
}

bool
check_has_separated(const struct oracle *oracle)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  return oracle->phase == SUBJECT_PHASE_ATOMIC && is_waiting(it) &&
         it->pending[it->count - 1].batch == it->batch;
}

bool
check_may_be_back(const struct oracle *oracle)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  return drops_first(oracle->op.code) && it->calls > it->calls_before;
}

static bool
accuse_error(struct oracle *oracle, const char *what)
{
  if (!explain_begin(oracle, LAW_FINALIZERS_ERROR))
    return true;
  explain_say(oracle, "%s", what);
  explain_end(oracle);
  return false;
}

/* All calls are over, all errors have become warnings. */
static bool
judge_calls(struct oracle *oracle)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  if (!judge_due(oracle))
    return false;
  if (it->depth)
    return accuse_node(oracle, LAW_FINALIZERS_MOMENT,
                       it->running[it->depth - 1].node,
                       "has a finalizer that did not come to its end");
  if (it->errors > it->warnings && oracle->subject->traits->errors_warned)
    return accuse_error(oracle, "an error in a finalizer became no warning");
  return true;
}

bool
check_finalizers_end(struct oracle *oracle, enum subject_status status)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  if (!judge_calls(oracle))
    return false;
  if (!oracle->subject->traits->errors_contained)
    return true;
  if (status == SUBJECT_ERROR && it->errors)
    return accuse_error(oracle,
                        "an error in a finalizer has failed the operation");
  if (status == SUBJECT_NO_MEMORY && it->refused &&
      it->refused == oracle->refused)
    return accuse_error(oracle, "memory was refused in finalizers only, and "
                                "the operation failed");
  return true;
}

/* ---- surveys --------------------------------------------------------- */

/* The shadow owes more finalizers than the survey shows marked objects. */
static bool
accuse_unmarked(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  const uint32_t *ids;
  uint32_t count = shadow_owed(oracle->shadow, &ids);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t block = bind_block(&oracle->binding, ids[i]);
    const struct block_view *view = &oracle->blocks.views[block];
    bool is_shown = block && view->survey == survey->stamp;
    if (is_shown && survey->objects[view->object].flags & SUBJECT_OBJECT_MARKED)
      continue;
    return accuse_node(oracle, LAW_FINALIZERS_LOST, ids[i],
                       is_shown ? "is owed a finalizer and is not marked for "
                                  "finalization"
                                : "is owed a finalizer and is nowhere");
  }
  return true;
}

/* A subject that does not tell of lists may have passed over it: it cannot be
 * called, or there was no memory for the call. */
static bool
may_be_passed_over(const struct oracle *oracle, uint32_t node)
{
  return !is_callable(oracle, node) ||
         (oracle->refused && shadow_has_lapsed(oracle->shadow, node));
}

/* What was passed over is owed no more once it is no longer marked. */
static void
forget_uncallable(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  const uint32_t *ids;
  if (oracle_is_told(oracle))
    return;
  for (uint32_t i = shadow_owed(oracle->shadow, &ids); i-- > 0;) {
    uint32_t block = bind_block(&oracle->binding, ids[i]);
    const struct block_view *view = &oracle->blocks.views[block];
    if (!may_be_passed_over(oracle, ids[i]) || !block ||
        view->survey != survey->stamp ||
        survey->objects[view->object].flags & SUBJECT_OBJECT_MARKED)
      continue;
    shadow_finalizer_begin(oracle->shadow, ids[i]);
    shadow_owed(oracle->shadow, &ids);
  }
  shadow_reach(oracle->shadow);
}

void
check_give_up_unseen(struct oracle *oracle)
{
  const uint32_t *ids;
  if (oracle_is_told(oracle))
    return;
  for (uint32_t i = shadow_owed(oracle->shadow, &ids); i-- > 0;) {
    if (!may_be_passed_over(oracle, ids[i]) ||
        !shadow_has_lapsed(oracle->shadow, ids[i]))
      continue;
    shadow_finalizer_doubt(oracle->shadow, ids[i]);
    shadow_owed(oracle->shadow, &ids);
  }
  shadow_reach(oracle->shadow);
}

/* Those that the survey shows waiting for the first time are one batch: it
 * comes at each step, and a step has one atomic phase at most. Those that wait
 * no more have been passed over, or are accused of as not marked. */
void
check_pending(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  struct oracle_finalizers *it = &oracle->finalizers;
  uint32_t kept = 0;
  if (oracle_is_told(oracle) ||
      !(oracle->capabilities & SUBJECT_CAN_COLOUR) ||
      (!survey->pending && !is_waiting(it)))
    return;
  for (uint32_t at = it->head; at < it->count; at++) {
    uint32_t block = bind_block(&oracle->binding, it->pending[at].node);
    const struct block_view *view = &oracle->blocks.views[block];
    bool is_there =
        block && view->survey == survey->stamp &&
        survey->objects[view->object].list == SUBJECT_LIST_PENDING;
    if (is_there)
      it->pending[kept++] = it->pending[at];
    else
      oracle->blocks.records[block].waits = false;
  }
  it->head = 0;
  it->sorted = it->count = kept; /* a batch is in order, or has not begun */
  it->batch += 1;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    const struct survey_object *object = &survey->objects[i];
    uint32_t node = oracle_node(oracle, i);
    struct block *record = &oracle->blocks.records[object->block];
    if (object->list != SUBJECT_LIST_PENDING || node == BIND_NO_NODE ||
        record->waits || !shadow_marking(oracle->shadow, node))
      continue;
    record->waits = true;
    wait_for(oracle, node);
  }
}

bool
check_marked(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  const uint32_t *ids;
  uint32_t marked = 0;
  if (!survey->marked && !shadow_owed(oracle->shadow, &ids))
    return true;
  forget_uncallable(oracle);
  oracle_applies(oracle, LAW_FINALIZERS_LOST);
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (!(survey->objects[i].flags & SUBJECT_OBJECT_MARKED) ||
        node == BIND_NO_NODE)
      continue;
    marked += shadow_marking(oracle->shadow, node) != 0;
    if (!shadow_marking(oracle->shadow, node) &&
        !shadow_is_doubtful(oracle->shadow, node))
      return accuse_node(oracle, LAW_FINALIZERS_TWICE, node,
                         "is marked for finalization, and no finalizer is "
                         "owed to it");
  }
  return marked == shadow_owed(oracle->shadow, &ids) || accuse_unmarked(oracle);
}

/* ---- the end --------------------------------------------------------- */

void
check_finalizers_close(struct oracle *oracle)
{
  struct oracle_finalizers *it = &oracle->finalizers;
  it->errors = it->warnings = 0;
  begin_closing(oracle);
}

void
check_finalizers_closed(struct oracle *oracle)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  const uint32_t *ids;
  uint32_t count = shadow_owed(oracle->shadow, &ids);
  if (!judge_calls(oracle))
    return;
  if (it->marking_at_close)
    oracle_applies(oracle, LAW_FINALIZERS_AT_CLOSE);
  for (uint32_t i = 0; i < count; i++) {
    if (!is_callable(oracle, ids[i]) ||
        shadow_marking(oracle->shadow, ids[i]) > it->marking_at_close)
      continue;
    accuse_node(oracle, LAW_FINALIZERS_AT_CLOSE, ids[i],
                "was not finalized when the state was closed");
    return;
  }
}
