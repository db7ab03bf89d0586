/* SPDX-License-Identifier: MIT
 *
 * See twin.h. The two runs: what each leaves of an operation, how the second
 * one is led and compared.
 *
 * A run's collector stands somewhere on a circle of phases. The way it has gone
 * in an operation is counted in phases (`way'); the second subject makes
 * micro-steps until its way is as long as the first one's.
 *
 * A node floats if it ceased to be firm (oracle/view.h) in an operation that
 * began, ended or had a micro-step while the collector marked: no collector
 * need have seen that. What it refers to floats with it, once that is not firm
 * either. It floats until it is firm again: even a full collection need not
 * free it, if an entry of a weak table that goes only now has held it.
 *
 * A run is blurred once a node was held by such an entry alone, or by what
 * floats: how long it lives hangs on when that goes, which may differ, and with
 * it what the two shadows know of garbage. Who lives is not compared any more
 * then.
 */
#include "lab/twin.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/twin_internal.h"
#include "lab/twin_rules.h"
#include "oracle/view.h"

enum {
  PHASES = OP_PHASE_FINALIZE + 1, /* on the circle */
  RERUNS_MAX = 64,                /* for operations that are left out late */
  PUT_IN_MAX = 1 << 16            /* operations, to lead the second one */
};

/* ---- memory ---------------------------------------------------------- */

static void *
reserve(struct twin *twin, void *array, uint32_t *capacity, uint32_t count,
        size_t size)
{
  uint32_t wanted = *capacity ? *capacity : 256;
  void *room;
  while (wanted < count)
    wanted *= 2;
  if (wanted == *capacity)
    return array;
  room = realloc(array, wanted * size);
  if (room)
    *capacity = wanted;
  else
    twin->is_exhausted = true;
  return room;
}

static void
add_call(struct twin_side *side, uint32_t node)
{
  struct twin_calls *calls = &side->calls;
  if (calls->count == calls->capacity) {
    size_t capacity = calls->capacity ? 2 * calls->capacity : 256;
    uint32_t *room = realloc(calls->nodes, capacity * sizeof *room);
    if (!room) {
      side->twin->is_exhausted = true;
      return;
    }
    calls->nodes = room;
    calls->capacity = capacity;
  }
  calls->nodes[calls->count++] = node;
}

/* ---- watching a run -------------------------------------------------- */

static const struct oracle *
oracle_of(const struct twin_side *side)
{
  return lab_oracle(side->twin->lab);
}

static void
go_on(struct twin_side *side)
{
  uint8_t phase = (uint8_t)lab_phase(side->twin->lab);
  side->now.way += (uint32_t)(phase + PHASES - side->phase) % PHASES;
  side->phase = phase;
}

static void
see_event(struct lab_observer *observer, const struct subject_event *event)
{
  struct twin_side *side = (struct twin_side *)((char *)observer -
                                      offsetof(struct twin_side, observer));
  if (event->type == SUBJECT_EVENT_FINALIZED)
    add_call(side, oracle_finalizing(oracle_of(side)));
  if (event->type != SUBJECT_EVENT_STEP_END)
    return;
  side->now.micro_steps += 1;
  go_on(side);
}

static bool
is_marking(uint8_t phase, bool is_whole)
{
  return !is_whole && (phase == SUBJECT_PHASE_PROPAGATE ||
                       phase == SUBJECT_PHASE_ENTER_ATOMIC);
}

/* ---- what is left of an operation ------------------------------------ */

static uint64_t
mix(uint32_t node, uint64_t a, uint64_t b)
{
  return shadow_mix(shadow_mix(a + node) + b * 0x9e3779b97f4a7c15u + node);
}

struct drift {
  struct twin_side *side;
  bool has_grown;
};

static void
float_with(struct drift *drift, struct shadow_value value)
{
  struct twin_mark *mark;
  if (value.tag != SHADOW_NODE || value.bits >= drift->side->mark_count)
    return;
  mark = &drift->side->marks[value.bits];
  if (mark->floats || mark->flags & ORACLE_VIEW_FIRM)
    return;
  mark->floats = mark->floated = true;
  drift->side->is_blurred = true;
  drift->has_grown = true;
}

static bool
float_along(void *user, uint8_t label, struct shadow_value key,
            struct shadow_value value)
{
  (void)label;
  float_with(user, key);
  float_with(user, value);
  return true;
}

/* What floats may be held by the collector yet, and what it refers to, too. */
static void
drift_on(struct twin_side *side)
{
  const struct shadow *shadow = oracle_shadow(oracle_of(side));
  struct drift drift = {side, true};
  while (drift.has_grown) {
    drift.has_grown = false;
    for (uint32_t node = 1; node < side->mark_count; node++)
      if (side->marks[node].floats)
        shadow_visit(shadow, node, float_along, &drift);
  }
}

/* Marks what floats now. All flags are those of views. */
static void
mark_nodes(struct twin_side *side, const struct oracle_view *views,
           uint32_t count, bool may_float)
{
  struct twin *twin = side->twin;
  uint32_t floating = 0;
  bool has_lost = false;
  const struct shadow *shadow = oracle_shadow(oracle_of(side));
  struct twin_mark *marks = reserve(twin, side->marks, &side->mark_capacity,
                                    count, sizeof *marks);
  if (!marks)
    return;
  side->marks = marks;
  for (uint32_t node = 0; node < count; node++) {
    struct twin_mark *mark = &side->marks[node];
    bool is_new = node >= side->mark_count;
    bool was_reachable = is_new || mark->flags & ORACLE_VIEW_FIRM;
    if (is_new)
      mark->floats = false;
    mark->flags = views[node].flags;
    mark->floated = mark->floats;
    if (mark->flags & ORACLE_VIEW_FIRM)
      mark->floats = false;
    else if (was_reachable && may_float)
      mark->floats = mark->floated = true;
    has_lost = has_lost ||
               (was_reachable && !(mark->flags & ORACLE_VIEW_FIRM));
    floating += mark->floats;
    if (!(mark->flags & ORACLE_VIEW_FIRM) &&
        shadow_is_reachable(shadow, node))
      side->is_blurred = true;
  }
  side->mark_count = count;
  side->now.is_settled = floating == 0;
  if (floating > 0 && has_lost)
    drift_on(side);
}

/*   firm   what is firm, and what it holds
 *   loose  entries of weak tables that a collection may take
 *   live   which nodes have an object, floating ones aside
 *   paint  their colours and ages */
static void
sum_up(struct twin_side *side, const struct oracle_view *views, uint32_t count)
{
  struct twin_step *now = &side->now;
  for (uint32_t node = 0; node < count; node++) {
    const struct oracle_view *view = &views[node];
    if (view->flags & ORACLE_VIEW_FIRM) {
      now->firm += mix(node, view->firm, view->kind);
      now->loose += mix(node, view->loose, 1);
    }
    if (!(view->flags & ORACLE_VIEW_SHOWN) || side->marks[node].floats)
      continue;
    now->live += mix(node, 1, 1);
    now->paint += mix(node, twin_paint(view), 2);
  }
}

static bool
is_collection(struct op op)
{
  return op.code == OP_COLLECT;
}

static void
summarise(struct twin_side *side, struct op op)
{
  struct twin *twin = side->twin;
  struct oracle_view *views;
  struct twin_step *now = &side->now;
  bool is_whole = lab_steps_are_whole(twin->lab);
  uint32_t count;
  bool may_float = is_marking(side->phase_before, side->was_whole) ||
                   is_marking(side->phase, is_whole) || now->micro_steps > 0;
  if (!oracle_firm_take(oracle_of(side), &twin->firm)) {
    twin->is_exhausted = true;
    return;
  }
  count = twin->firm.count;
  views = reserve(twin, twin->views, &twin->view_capacity, count,
                  sizeof *views);
  if (!views)
    return;
  twin->views = views;
  oracle_view(oracle_of(side), &twin->firm, twin->views);
  mark_nodes(side, twin->views, count, may_float);
  if (twin->is_exhausted)
    return;
  now->phase = side->phase;
  now->is_at_rest = !side->is_blurred &&
                    (is_whole || side->phase == SUBJECT_PHASE_PAUSE);
  now->is_settled = now->is_settled && now->is_performed && is_collection(op);
  sum_up(side, twin->views, count);
}

/* goal: where the first side is. The second may be at the end of a mark of
 * which the first has something left: that part of the way it has gone
 * already. */
static void
begin_next(struct twin_side *side, const struct twin_step *goal)
{
  bool is_ahead = side->which == 1 &&
                  side->phase == SUBJECT_PHASE_ENTER_ATOMIC &&
                  goal->phase == SUBJECT_PHASE_PROPAGATE;
  side->now = (struct twin_step){.calls = side->calls.count, .row = LEFT_IN};
  side->phase_before = side->phase;
  side->now.way = is_ahead;
  side->was_whole = lab_steps_are_whole(side->twin->lab);
  side->is_stopped_again = false;
  side->is_mine = true;
  side->put_in = 0;
}

/* ---- comparing ------------------------------------------------------- */

static void
end_comparison(struct twin *twin, size_t index, enum twin_difference row)
{
  twin->result->has_ended = true;
  twin->result->end = row;
  twin->result->op_index = index;
  twin->result->rows[row] += 1;
  twin->side[1].is_over = true;
}

static void
differ(struct twin *twin, size_t index, const char *aspect)
{
  twin->result->verdict = TWIN_DIFFERENT;
  twin->result->op_index = index;
  twin->result->aspect = aspect;
  twin->second = twin->side[1].now;
  twin->second_calls = twin->side[1].calls.count;
  twin->side[1].is_over = true;
}

static bool
is_same(const struct shadow_value *a, const struct shadow_value *b)
{
  return a->tag == b->tag && a->bits == b->bits;
}

static bool
forms_differ(const struct twin *twin, int32_t parameter)
{
  const struct subject_parameter *a, *b;
  a = &twin->pair->subject[0]->traits->parameter[parameter];
  b = &twin->pair->subject[1]->traits->parameter[parameter];
  return a->form != b->form || a->granule != b->granule ||
         a->least != b->least;
}

/* The first has performed what the second cannot, or may not: it is left out,
 * and both run again. */
static void
leave_out_late(struct twin *twin, size_t index, enum twin_difference row)
{
  twin->rows[index] = (uint8_t)row;
  twin->must_rerun = true;
  twin->side[1].is_over = true;
}

/* Their numbers differ once: then they will again. */
static void
leave_out_references(struct twin *twin, size_t index)
{
  for (size_t i = index; i < twin->stream.count; i++)
    if (twin->stream.ops[i].code == OP_REF)
      leave_out_late(twin, i, TWIN_REFERENCES);
}

/* Of next the registers say more, since the second one was led. */
static bool
compare_answers(struct twin *twin, size_t index, struct op op,
                const struct twin_step *a, const struct twin_step *b)
{
  if (!(op_infos[op.code].flags & OP_OPEN) || op.code == OP_NEXT ||
      a->status != SUBJECT_DONE)
    return true;
  if (op.code == OP_PARAM && forms_differ(twin, op.a)) {
    twin->result->rows[TWIN_FORMS] += 1;
    return true;
  }
  if (is_same(&a->answer[0], &b->answer[0]))
    return true;
  if (op.code == OP_REF)
    leave_out_references(twin, index);
  else
    differ(twin, index, "answer");
  return false;
}

/* A finalizer may have made it reachable again in this very operation. */
static bool
has_floated(const struct twin_side *side, uint32_t node)
{
  return node < side->mark_count && side->marks[node].floated;
}

bool
twin_floats(const struct twin_side *side, uint32_t node)
{
  return node < side->mark_count && side->marks[node].floats;
}

/* end: behind the last call of the first side in this operation. */
static bool
compare_calls(struct twin *twin, size_t index, const struct twin_step *a,
              const struct twin_step *b, size_t end)
{
  const struct twin_calls *first = &twin->side[0].calls;
  const struct twin_calls *second = &twin->side[1].calls;
  size_t count = end - a->calls, other = second->count - b->calls;
  for (size_t i = 0; i < count || i < other; i++) {
    uint32_t x = i < count ? first->nodes[a->calls + i] : SHADOW_ROOT;
    uint32_t y = i < other ? second->nodes[b->calls + i] : SHADOW_ROOT;
    if (x == y)
      continue;
    if (has_floated(&twin->side[1], x) || has_floated(&twin->side[1], y)) {
      end_comparison(twin, index, TWIN_FLOATING);
      return false;
    }
    differ(twin, index, "finalizers");
    return false;
  }
  return true;
}

static bool
phases_agree(const struct twin_step *a, const struct twin_step *b, struct op op)
{
  if (a->phase == b->phase)
    return true;
  /* One has nothing grey left and the other has. */
  return op.code != OP_RUNTO && is_marking(a->phase, false) &&
         is_marking(b->phase, false);
}

static const char *
different_aspect(const struct twin *twin, struct op op,
                 const struct twin_step *a, const struct twin_step *b,
                 bool is_whole)
{
  bool has_phases = !twin_is_between(twin, TWIN_PHASES) && !is_whole;
  bool has_cycles = !twin_is_between(twin, TWIN_CYCLES);
  bool is_at_rest = a->is_at_rest && b->is_at_rest;
  if (a->status != b->status)
    return "status";
  if (a->firm != b->firm)
    return "contents";
  if (has_phases && !phases_agree(a, b, op))
    return "phase";
  if (is_at_rest && has_cycles && a->live != b->live)
    return "live";
  if (is_at_rest && has_cycles && !twin_is_between(twin, TWIN_PHASES) &&
      a->paint != b->paint)
    return "paint";
  if (a->is_settled && has_cycles && a->loose != b->loose)
    return "weak";
  return NULL;
}

static void
compare(struct twin_side *side, size_t index, struct op op)
{
  struct twin *twin = side->twin;
  const struct twin_step *a = &twin->steps[index], *b = &side->now;
  const char *aspect;
  if (!a->is_performed)
    return;
  if (!compare_calls(twin, index, a, b, twin->steps[index + 1].calls) ||
      !compare_answers(twin, index, op, a, b))
    return;
  aspect = different_aspect(twin, op, a, b, lab_steps_are_whole(twin->lab));
  if (aspect && strcmp(aspect, "paint") == 0 && a->is_black != b->is_black) {
    end_comparison(twin, index, TWIN_TOUCHED);
    return;
  }
  if (aspect) {
    differ(twin, index, aspect);
    return;
  }
  twin->result->compared += index > twin->stop_at;
  if (a->micro_steps != b->micro_steps)
    twin->result->rows[TWIN_PROGRESS] += 1;
}

/* ---- guiding --------------------------------------------------------- */

static struct twin_side *
side_of(struct lab_guide *guide)
{
  return (struct twin_side *)guide;
}

/* Operations instead of which the second one is led. */
static bool
is_led(const struct twin_side *side, struct op op)
{
  return side->which == 1 && !side->was_whole &&
         (op.code == OP_MICROSTEP || op.code == OP_STEP);
}

/* The views are those after the operation before. */
static bool
gives_to_black(const struct twin_side *side, struct op op)
{
  const struct twin *twin = side->twin;
  struct shadow_value parent;
  if (op.code != OP_SETMETA)
    return false;
  parent = oracle_register(oracle_of(side), op.a);
  return parent.tag == SHADOW_NODE && parent.bits < twin->firm.count &&
         twin->views[parent.bits].colour == SUBJECT_BLACK;
}

static bool
admits(struct lab_guide *guide, size_t index, struct op op)
{
  struct twin_side *side = side_of(guide);
  struct twin *twin = side->twin;
  enum twin_difference row;
  if (side->is_over)
    return false;
  if (twin->rows[index] != LEFT_IN) {
    side->now.row = twin->rows[index];
    return false;
  }
  if (side->which == 1 && !twin->steps[index].is_performed) {
    side->now.row = twin->steps[index].row;
    return false;
  }
  row = twin_leaves_out(twin->pair, oracle_of(side), &twin->firm, op,
                        side->was_whole);
  side->now.row = (uint8_t)row;
  if (row != TWIN_DIFFERENCES)
    return false;
  side->now.is_performed = true;
  side->now.is_black = gives_to_black(side, op);
  return !is_led(side, op);
}

static void
ended(struct lab_guide *guide, size_t index, struct op op,
      enum subject_status status, const struct subject_answer *answer)
{
  struct twin_side *side = side_of(guide);
  (void)index;
  go_on(side);
  for (int i = 0; i < SUBJECT_ANSWERS_MAX; i++)
    side->last[i] = oracle_translate(oracle_of(side), answer->value[i]);
  if (side->put_in > 0)
    return;
  side->now.status = (uint8_t)status;
  if (op_infos[op.code].flags & OP_OPEN)
    memcpy(side->now.answer, side->last, sizeof side->last);
}

/* In versions in which it does not stay stopped. */
static bool
stops_again(struct twin_side *side, struct op op, struct op *ret_op)
{
  bool ends_stop = op.code == OP_STEP || op.code == OP_COLLECT ||
                   op.code == OP_MODE;
  if (!ends_stop || side->is_stopped_again ||
      !twin_is_between(side->twin, TWIN_STOP))
    return false;
  side->is_stopped_again = true;
  *ret_op = (struct op){.code = OP_STOP};
  return true;
}

/* Until the second one is where the first one is. */
static bool
leads_collector(struct twin_side *side, const struct twin_step *goal,
                struct op op, size_t goal_calls, struct op *ret_op)
{
  const struct twin_step *now = &side->now;
  bool is_short = now->way < goal->way;
  bool is_there = now->way == goal->way;
  bool is_stepwise = op.code == OP_MICROSTEP || op.code == OP_STEP;
  if (!is_stepwise && op.code != OP_RUNTO && op.code != OP_FINISH)
    return false;
  if (lab_steps_are_whole(side->twin->lab))
    return false;
  *ret_op = (struct op){.code = OP_MICROSTEP, .a = 1};
  if (is_there && is_stepwise && side->phase == SUBJECT_PHASE_PROPAGATE)
    return now->micro_steps < goal->micro_steps;
  if (is_there && side->phase == SUBJECT_PHASE_FINALIZE)
    return side->calls.count - now->calls < goal_calls;
  return is_short;
}

/* The second one goes on from pair to pair until it meets the first one's; the
 * end is where the first one came to it. */
static bool
leads_traversal(struct twin_side *side, const struct twin_step *goal,
                struct op op, struct op *ret_op)
{
  if (op.code != OP_NEXT || goal->status != SUBJECT_DONE ||
      (is_same(&side->last[0], &goal->answer[0]) && side->put_in == 0))
    return false;
  if (goal->answer[0].tag == SUBJECT_NIL) {
    *ret_op = (struct op){.code = OP_NIL,
                          .a = side->put_in == 0 ? op.b : op.c};
    return side->put_in < 2;
  }
  *ret_op = op;
  return !is_same(&side->last[0], &goal->answer[0]);
}

static bool
follows(struct lab_guide *guide, size_t index, struct op *ret_op)
{
  struct twin_side *side = side_of(guide);
  struct twin *twin = side->twin;
  const struct twin_step *goal = &twin->steps[index];
  struct op op = twin->stream.ops[index];
  bool is_going = false;
  if (side->is_over || !side->now.is_performed || twin->is_exhausted)
    return false;
  if (side->which == 1 && side->put_in < PUT_IN_MAX)
    is_going = leads_traversal(side, goal, op, ret_op) ||
               leads_collector(side, goal, op, goal[1].calls - goal->calls,
                               ret_op);
  if (!is_going && !stops_again(side, op, ret_op))
    return false;
  side->put_in += 1;
  return true;
}

static void
settle_second(struct twin_side *side, size_t index, struct op op)
{
  struct twin *twin = side->twin;
  const struct twin_step *a = &twin->steps[index];
  if (a->is_performed && !side->now.is_performed)
    leave_out_late(twin, index, side->now.row == LEFT_IN
                                    ? TWIN_UNSUPPORTED
                                    : side->now.row);
  else if (a->is_performed && side->now.status == SUBJECT_UNSUPPORTED &&
           a->status != SUBJECT_UNSUPPORTED)
    leave_out_late(twin, index, TWIN_UNSUPPORTED);
  else
    compare(side, index, op);
}

static void
settled(struct lab_guide *guide, size_t index, struct op op)
{
  struct twin_side *side = side_of(guide);
  struct twin *twin = side->twin;
  if (side->is_over || twin->is_exhausted)
    return;
  summarise(side, op);
  if (twin->is_exhausted)
    return;
  if (side->now.status == SUBJECT_UNSUPPORTED && side->which == 0) {
    side->now.is_performed = false;
    side->now.row = TWIN_UNSUPPORTED;
  }
  if (twin->look.is_on) {
    if (twin->look.at == index) {
      twin_look(side);
      side->is_over = true;
    }
  } else if (side->which == 0) {
    twin->steps[index] = side->now;
    twin->steps[index + 1] = (struct twin_step){.calls = side->calls.count};
  } else {
    settle_second(side, index, op);
  }
  if (side->now.row != LEFT_IN && side->which == 0 && !twin->look.is_on)
    twin->result->rows[side->now.row] += 1;
  begin_next(side, &twin->steps[index]);
}

/* ---- a run ----------------------------------------------------------- */

void
twin_run_side(struct twin *twin, uint8_t which, struct lab_result *ret_result)
{
  struct twin_side *side = &twin->side[which];
  const struct lab_options options = {.fault = twin->pair->fault[which],
                                      .observer = &side->observer,
                                      .guide = &side->guide,
                                      .sparse = true};
  twin->result->who = which;
  side->calls.count = 0;
  twin->firm.count = 0;
  side->mark_count = 0;
  side->is_over = false;
  side->is_blurred = false;
  side->phase = SUBJECT_PHASE_PAUSE;
  side->was_whole = twin->stream.ops[0].code == OP_SETUP &&
                    twin->stream.ops[0].c == OP_MODE_GENERATIONAL;
  side->now = (struct twin_step){.row = LEFT_IN};
  side->phase_before = SUBJECT_PHASE_PAUSE;
  side->put_in = 0;
  side->is_stopped_again = false;
  lab_run(twin->lab, twin->pair->subject[which], &twin->stream, &options,
          ret_result);
}

/* False if there is nothing to compare with. */
static bool
take_verdict(struct twin *twin, const struct lab_result *result)
{
  if (twin->is_exhausted) {
    twin->result->verdict = TWIN_UNCHECKED;
    snprintf(twin->result->message, TWIN_MESSAGE_MAX, "no memory");
    return false;
  }
  if (result->verdict == LAB_CLEAN)
    return true;
  twin->result->verdict =
      result->verdict == LAB_BROKEN ? TWIN_BROKEN : TWIN_UNCHECKED;
  twin->result->result = *result;
  snprintf(twin->result->message, TWIN_MESSAGE_MAX, "%.32s: %.900s",
           twin->pair->subject[twin->result->who]->name,
           result->verdict == LAB_BROKEN ? lab_finding(twin->lab)->message
                                         : result->reason);
  return false;
}

static bool
is_no_closer(void *user, uint8_t label, struct shadow_value key,
             struct shadow_value value)
{
  bool *ret_has = user;
  (void)key;
  (void)value;
  *ret_has = label == SUBJECT_LABEL_TBC;
  return !*ret_has;
}

/* What is called while the state closes. */
static void
compare_end(struct twin *twin, const struct lab_result *first,
            const struct lab_result *second)
{
  size_t end = first->op_index;
  const struct twin_step *a = &twin->steps[end];
  bool has_closers = false;
  if (first->op_index != second->op_index) {
    differ(twin, end, "end");
    return;
  }
  shadow_visit(oracle_shadow(lab_oracle(twin->lab)), SHADOW_MAIN,
               is_no_closer, &has_closers);
  if (has_closers) {
    twin->result->rows[TWIN_VALUES_AT_CLOSE] += 1;
    twin->result->op_index = end;
    return;
  }
  if (twin_is_between(twin, TWIN_AT_CLOSE)) {
    twin->result->rows[TWIN_AT_CLOSE] += 1;
    twin->result->op_index = end;
    return;
  }
  twin->result->op_index = end;
  compare_calls(twin, end, a, &twin->side[1].now, twin->side[0].calls.count);
}

/* False: a verdict, or an operation is left out and all is to be done again. */
static bool
run_both(struct twin *twin)
{
  struct lab_result first, second;
  memset(twin->result->rows, 0, sizeof twin->result->rows);
  twin->result->compared = 0;
  twin->must_rerun = false;
  twin->steps[0] = (struct twin_step){.calls = 0};
  twin_run_side(twin, 0, &first);
  if (!take_verdict(twin, &first))
    return false;
  twin_run_side(twin, 1, &second);
  if (!twin->side[1].is_over && !take_verdict(twin, &second))
    return false;
  if (!twin->side[1].is_over)
    compare_end(twin, &first, &second);
  return twin->result->verdict == TWIN_SAME && !twin->result->has_ended &&
         !twin->must_rerun;
}

/* ---- the whole ------------------------------------------------------- */

struct twin *
twin_new(struct lab *lab)
{
  struct twin *twin = calloc(1, sizeof *twin);
  if (!twin)
    return NULL;
  twin->lab = lab;
  for (uint8_t i = 0; i < 2; i++) {
    twin->side[i].guide = (struct lab_guide){admits, ended, follows, settled};
    twin->side[i].observer.event = see_event;
    twin->side[i].twin = twin;
    twin->side[i].which = i;
  }
  return twin;
}

void
twin_free(struct twin *twin)
{
  if (!twin)
    return;
  for (int i = 0; i < 2; i++) {
    free(twin->side[i].calls.nodes);
    free(twin->side[i].marks);
    free(twin->look.views[i]);
  }
  oracle_firm_done(&twin->firm);
  free(twin->views);
  free(twin->stream.ops);
  free(twin->rows);
  free(twin->steps);
  free(twin);
}

static bool
make_room(struct twin *twin, size_t count)
{
  if (count <= twin->capacity)
    return true;
  struct op *ops = realloc(twin->stream.ops, count * sizeof *ops);
  if (ops)
    twin->stream.ops = ops;
  uint8_t *rows = realloc(twin->rows, count);
  if (rows)
    twin->rows = rows;
  struct twin_step *steps = realloc(twin->steps, (count + 1) * sizeof *steps);
  if (steps)
    twin->steps = steps;
  if (!ops || !rows || !steps)
    return false;
  twin->capacity = count;
  return true;
}

/* The stream with the stop that both begin with: behind setup if there is
 * one. */
static bool
prepare(struct twin *twin, const struct stream *stream)
{
  bool has_setup = stream->count && stream->ops[0].code == OP_SETUP;
  struct op *to;
  if (!make_room(twin, stream->count + 1))
    return false;
  to = twin->stream.ops;
  if (has_setup)
    *to++ = stream->ops[0];
  *to++ = (struct op){.code = OP_STOP};
  if (stream->count > has_setup)
    memcpy(to, stream->ops + has_setup,
           (stream->count - has_setup) * sizeof *to);
  twin->stream.count = stream->count + 1;
  twin->stop_at = has_setup;
  memset(twin->rows, LEFT_IN, twin->stream.count);
  if (has_setup && twin_is_between(twin, TWIN_MODES))
    twin->stream.ops[0].c = OP_MODE_INCREMENTAL;
  return true;
}

void
twin_run(struct twin *twin, const struct twin_pair *pair,
         const struct stream *stream, struct twin_result *ret_result)
{
  size_t runs = 0, index;
  memset(ret_result, 0, sizeof *ret_result);
  twin->pair = pair;
  twin->result = ret_result;
  twin->is_exhausted = false;
  twin->look.is_on = false;
  if (!prepare(twin, stream)) {
    twin->is_exhausted = true;
    take_verdict(twin, NULL);
    return;
  }
  while (!run_both(twin) && twin->must_rerun) {
    if (++runs == RERUNS_MAX) {
      end_comparison(twin, 0, TWIN_UNSUPPORTED);
      break;
    }
  }
  index = ret_result->op_index;
  if (ret_result->verdict == TWIN_DIFFERENT)
    twin_explain(twin, index);
  ret_result->op_index = index > 0 ? index - 1 : 0;
}
