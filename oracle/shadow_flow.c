/* SPDX-License-Identifier: MIT
 *
 * Where the shadow's control is: registers and the cells that alias them,
 * frames, coroutines, and the operations that enter and leave them. Called by
 * the shadow heap only.
 *
 * Leaving a frame closes its cells, which then hold what the registers held,
 * and drops everything else that it held. To-be-closed values are held until
 * then, and the order in which their closers are due is recorded; what closers
 * do leaves no trace.
 *
 * A coroutine that fails keeps its frames, and their cells stay open, until it
 * is closed.
 */
#include "oracle/shadow_internal.h"

#include <string.h>

#include "ops/op_assert.h"

enum { RESULTS_MAX = OP_REGISTERS };

/* Values on their way from one frame to another. */
struct values {
  struct shadow_value value[RESULTS_MAX];
  uint32_t count;
};

static void
gather(const struct shadow_frame *frame, uint32_t from, uint32_t count,
       struct values *ret_values)
{
  PENUMBRA_ASSERT(count <= RESULTS_MAX);
  ret_values->count = count;
  for (uint32_t i = 0; i < count; i++)
    ret_values->value[i] = frame->registers[(from + i) % OP_REGISTERS];
}

static void
spread(struct shadow *shadow, struct shadow_frame *frame, uint32_t to,
       const struct values *values)
{
  for (uint32_t i = 0; i < values->count; i++)
    shadow_register_set(shadow, frame, (to + i) % OP_REGISTERS,
                        values->value[i]);
}

/* ---- registers and cells --------------------------------------------- */

static bool
holds(const struct shadow_frame *frame, struct shadow_value value)
{
  for (uint32_t i = 0; i < OP_REGISTERS; i++) {
    if (shadow_same(frame->registers[i], value))
      return true;
  }
  return false;
}

void
shadow_register_set(struct shadow *shadow, struct shadow_frame *frame,
                    uint32_t reg, struct shadow_value value)
{
  struct shadow_value old = frame->registers[reg];
  struct shadow_value key = shadow_register_key(frame->depth, reg);

  if (shadow_same(old, value))
    return;
  shadow->nodes[frame->thread].sum +=
      shadow_hash(SUBJECT_LABEL_REGISTER, key, value) -
      shadow_hash(SUBJECT_LABEL_REGISTER, key, old);
  frame->registers[reg] = value;
  /* It was read from a weak table. */
  if (value.tag == SHADOW_NODE && !(shadow->is[value.bits] & SHADOW_REACHED))
    shadow->is_stale = true;
  /* Most registers that are overwritten have a copy beside them; what the
   * running coroutine holds is reachable. */
  if (old.tag == SHADOW_NODE &&
      (frame->thread != shadow->running || !holds(frame, old)))
    shadow->is_stale = true;
}

struct shadow_value
shadow_cell_get(const struct shadow *shadow, uint32_t cell)
{
  const struct shadow_cell *it = shadow->cells + cell;

  return it->frame ? shadow->frames[it->frame].registers[it->reg] : it->value;
}

void
shadow_cell_set(struct shadow *shadow, uint32_t cell, struct shadow_value value)
{
  struct shadow_cell *it = shadow->cells + cell;

  if (it->frame) {
    shadow_register_set(shadow, shadow->frames + it->frame, it->reg, value);
  } else if (!shadow_same(it->value, value)) {
    shadow_lose(shadow, it->value);
    it->value = value;
  }
}

uint32_t
shadow_cell_new(struct shadow *shadow, struct shadow_value value)
{
  uint32_t id = ++shadow->cell_count;

  PENUMBRA_ASSERT(id < shadow->cell_capacity);
  shadow->cells[id] = (struct shadow_cell){.value = value};
  return id;
}

uint32_t
shadow_capture(struct shadow *shadow, uint32_t reg)
{
  struct shadow_frame *frame = shadow_frame_now(shadow);

  if (!(frame->open & 1u << reg)) {
    uint32_t id = shadow_cell_new(shadow, shadow_nil());

    shadow->cells[id].frame = (uint32_t)(frame - shadow->frames);
    shadow->cells[id].reg = (uint8_t)reg;
    frame->cells[reg] = id;
    frame->open |= (uint16_t)(1u << reg);
  }
  return frame->cells[reg];
}

void
shadow_close_cells(struct shadow *shadow, struct shadow_frame *frame,
                   uint32_t from)
{
  uint32_t open = frame->open & ~((1u << from) - 1);

  frame->open &= (uint16_t)((1u << from) - 1);
  for (; open; open &= open - 1) {
    uint32_t reg = (uint32_t)__builtin_ctz(open);
    struct shadow_cell *cell = shadow->cells + frame->cells[reg];

    cell->value = frame->registers[reg];
    cell->frame = 0;
  }
}

/* ---- frames ---------------------------------------------------------- */

bool
shadow_reserve_frame(struct shadow *shadow)
{
  struct shadow_frame *frames;

  if (shadow->frame_free)
    return true;
  frames =
      shadow_vector(&shadow->memory, shadow->frames, &shadow->frame_capacity,
                    sizeof *frames, shadow->frame_count + 2);
  if (!frames)
    return false;
  shadow->frames = frames;
  return true;
}

/* An empty frame on top of the coroutine's; there must be room. */
static struct shadow_frame *
push_frame(struct shadow *shadow, uint32_t thread, struct shadow_value function)
{
  struct shadow_node *node = shadow->nodes + thread;
  uint32_t id = shadow->frame_free;
  struct shadow_frame *frame;

  if (id)
    shadow->frame_free = shadow->frames[id].previous;
  else
    id = ++shadow->frame_count;
  PENUMBRA_ASSERT(id < shadow->frame_capacity);
  frame = shadow->frames + id;
  memset(frame, 0, sizeof *frame);
  frame->function = function;
  frame->thread = thread;
  frame->previous = node->as.thread.frame;
  frame->depth = node->as.thread.depth++;
  node->as.thread.frame = id;
  node->sum += shadow_hash(SUBJECT_LABEL_FUNCTION, shadow_integer(frame->depth),
                           function);
  return frame;
}

static void
set_varargs(struct shadow *shadow, struct shadow_frame *frame,
            struct shadow_value *varargs, uint32_t count)
{
  uint64_t sum = 0;

  frame->varargs = varargs;
  frame->vararg_count = count;
  for (uint32_t i = 0; i < count; i++)
    sum += shadow_hash(SUBJECT_LABEL_VARARG,
                       shadow_register_key(frame->depth, i), varargs[i]);
  shadow->nodes[frame->thread].sum += sum;
}

static void
drop_varargs(struct shadow *shadow, struct shadow_frame *frame)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < frame->vararg_count; i++) {
    sum += shadow_hash(SUBJECT_LABEL_VARARG,
                       shadow_register_key(frame->depth, i), frame->varargs[i]);
    shadow_lose(shadow, frame->varargs[i]);
  }
  shadow->nodes[frame->thread].sum -= sum;
  shadow_give(&shadow->memory, frame->varargs,
              frame->vararg_count * sizeof *frame->varargs);
  frame->varargs = NULL;
  frame->vararg_count = 0;
}

/* Its to-be-closed values are due, the last one first: those that have a
 * closer now. */
static void
record_closings(struct shadow *shadow, const struct shadow_frame *frame)
{
  for (uint32_t i = frame->closing_count; i-- > 0;) {
    if (!shadow_has_closer(shadow, frame->closing[i]))
      continue;
    PENUMBRA_ASSERT(shadow->closing_count < SHADOW_CLOSINGS_MAX);
    shadow->closings[shadow->closing_count++] =
        (uint32_t)frame->closing[i].bits;
  }
}

/* Its to-be-closed values are closed. */
static void
drop_closing(struct shadow *shadow, struct shadow_frame *frame)
{
  uint64_t sum = 0;

  record_closings(shadow, frame);
  shadow->pending_count -= frame->closing_count;
  for (uint32_t i = 0; i < frame->closing_count; i++) {
    sum += shadow_hash(SUBJECT_LABEL_TBC, shadow_register_key(frame->depth, i),
                       frame->closing[i]);
    shadow_lose(shadow, frame->closing[i]);
  }
  shadow->nodes[frame->thread].sum -= sum;
  frame->closing_count = 0;
}

/* Closes its cells and drops all that it holds. */
static void
empty_frame(struct shadow *shadow, struct shadow_frame *frame)
{
  uint64_t sum = shadow_hash(SUBJECT_LABEL_FUNCTION,
                             shadow_integer(frame->depth), frame->function);

  shadow_close_cells(shadow, frame, 0);
  shadow_lose(shadow, frame->function);
  for (uint32_t i = 0; i < OP_REGISTERS; i++) {
    sum +=
        shadow_hash(SUBJECT_LABEL_REGISTER,
                    shadow_register_key(frame->depth, i), frame->registers[i]);
    shadow_lose(shadow, frame->registers[i]);
  }
  shadow->nodes[frame->thread].sum -= sum;
  drop_varargs(shadow, frame);
  drop_closing(shadow, frame);
  memset(frame->registers, 0, sizeof frame->registers);
  frame->function = shadow_nil();
}

static void
pop_frame(struct shadow *shadow, uint32_t thread)
{
  struct shadow_thread *it = &shadow->nodes[thread].as.thread;
  uint32_t id = it->frame;
  struct shadow_frame *frame = shadow->frames + id;

  empty_frame(shadow, frame);
  it->frame = frame->previous;
  it->depth--;
  frame->previous = shadow->frame_free;
  shadow->frame_free = id;
}

void
shadow_enter_main(struct shadow *shadow)
{
  push_frame(shadow, SHADOW_MAIN, shadow_nil());
}

uint32_t
shadow_protected_frame(const struct shadow *shadow)
{
  uint32_t id = shadow->nodes[shadow->running].as.thread.frame;

  while (id && !shadow->frames[id].is_protected)
    id = shadow->frames[id].previous;
  return id;
}

/* ---- calls ----------------------------------------------------------- */

/* call, pcall, callv */
enum shadow_result
shadow_call(struct shadow *shadow, struct op op)
{
  uint32_t vararg_count = op.code == OP_CALLV ? (uint32_t)op.c : 0;
  uint32_t count = op.code == OP_CALLV ? 0 : (uint32_t)op.c;
  struct shadow_value function = shadow_register(shadow, op.a);
  struct shadow_value *varargs = NULL;
  const struct shadow_frame *caller;
  struct shadow_frame *frame;
  struct values arguments;

  if (!shadow_reserve_frame(shadow))
    return SHADOW_NO_MEMORY;
  if (vararg_count) {
    varargs = shadow_take(&shadow->memory, vararg_count * sizeof *varargs);
    if (!varargs)
      return SHADOW_NO_MEMORY;
  }
  caller = shadow_frame_now(shadow);
  for (uint32_t i = 0; i < vararg_count; i++)
    varargs[i] = caller->registers[((uint32_t)op.b + i) % OP_REGISTERS];
  gather(caller, (uint32_t)op.b, count, &arguments);
  frame = push_frame(shadow, shadow->running, function);
  frame->place = (uint8_t)op.a;
  frame->is_protected = op.code == OP_PCALL;
  set_varargs(shadow, frame, varargs, vararg_count);
  spread(shadow, frame, 0, &arguments);
  return SHADOW_OK;
}

enum shadow_result
shadow_tailcall(struct shadow *shadow, struct op op)
{
  struct shadow_frame *frame = shadow_frame_now(shadow);
  struct shadow_value function = frame->registers[op.a];
  struct values arguments;

  gather(frame, (uint32_t)op.b, (uint32_t)op.c, &arguments);
  empty_frame(shadow, frame);
  frame->function = function;
  shadow->nodes[frame->thread].sum += shadow_hash(
      SUBJECT_LABEL_FUNCTION, shadow_integer(frame->depth), function);
  spread(shadow, frame, 0, &arguments);
  return SHADOW_OK;
}

/* The running coroutine makes way for its resumer, which gets the values. */
static void
give_control_back(struct shadow *shadow, enum shadow_status status,
                  const struct values *values)
{
  struct shadow_thread *from = &shadow->nodes[shadow->running].as.thread;
  struct shadow_node *to = shadow->nodes + from->resumer;

  to->sum -= shadow_hash(SUBJECT_LABEL_RESUMED, shadow_nil(),
                         shadow_of_node(shadow->running));
  shadow->nodes[SHADOW_ROOT].sum +=
      shadow_hash(SUBJECT_LABEL_CURRENT, shadow_nil(),
                  shadow_of_node(from->resumer)) -
      shadow_hash(SUBJECT_LABEL_CURRENT, shadow_nil(),
                  shadow_of_node(shadow->running));
  to->as.thread.waits_for = 0;
  to->as.thread.status = SHADOW_RUNNING;
  shadow->running = from->resumer;
  shadow->normal_count--;
  shadow->is_stale = true;
  from->resumer = 0;
  from->status = (uint8_t)status;
  spread(shadow, shadow_frame_now(shadow), from->place, values);
}

enum shadow_result
shadow_return(struct shadow *shadow, struct op op)
{
  const struct shadow_frame *frame = shadow_frame_now(shadow);
  uint32_t caller = frame->previous;
  uint8_t place = frame->place;
  struct values results;

  gather(frame, (uint32_t)op.a, (uint32_t)op.b, &results);
  pop_frame(shadow, shadow->running);
  if (caller)
    spread(shadow, shadow->frames + caller, place, &results);
  else
    give_control_back(shadow, SHADOW_FINISHED, &results);
  return SHADOW_OK;
}

enum shadow_result
shadow_error(struct shadow *shadow, struct op op)
{
  uint32_t catcher = shadow_protected_frame(shadow);
  struct values raised;
  uint32_t caller;
  uint8_t place;

  gather(shadow_frame_now(shadow), (uint32_t)op.a, 1, &raised);
  if (!catcher) {
    give_control_back(shadow, SHADOW_FAILED, &raised);
    return SHADOW_OK;
  }
  caller = shadow->frames[catcher].previous;
  place = shadow->frames[catcher].place;
  while (shadow->nodes[shadow->running].as.thread.frame != caller)
    pop_frame(shadow, shadow->running);
  spread(shadow, shadow->frames + caller, place, &raised);
  return SHADOW_OK;
}

enum shadow_result
shadow_tbc(struct shadow *shadow, struct op op)
{
  struct shadow_frame *frame = shadow_frame_now(shadow);
  struct shadow_value value = frame->registers[op.a];
  uint32_t n = frame->closing_count++;

  frame->closing[n] = value;
  shadow->pending_count++;
  shadow->nodes[frame->thread].sum += shadow_hash(
      SUBJECT_LABEL_TBC, shadow_register_key(frame->depth, n), value);
  return SHADOW_OK;
}

/* The frame's to-be-closed values lie above its registers: they go whatever
 * the register is. */
enum shadow_result
shadow_closeup(struct shadow *shadow, struct op op)
{
  struct shadow_frame *frame = shadow_frame_now(shadow);

  shadow_close_cells(shadow, frame, (uint32_t)op.a);
  drop_closing(shadow, frame);
  return SHADOW_OK;
}

/* ---- coroutines ------------------------------------------------------ */

enum shadow_result
shadow_conew(struct shadow *shadow, struct op op)
{
  struct shadow_value function = shadow_register(shadow, op.b);
  uint32_t id;

  if (!shadow_reserve_nodes(shadow, 1))
    return SHADOW_NO_MEMORY;
  id = shadow_node_new(shadow, SUBJECT_KIND_THREAD);
  shadow->nodes[id].as.thread.start = function;
  shadow->nodes[id].sum =
      shadow_hash(SUBJECT_LABEL_START, shadow_nil(), function);
  shadow_register_set(shadow, shadow_frame_now(shadow), (uint32_t)op.a,
                      shadow_of_node(id));
  return SHADOW_OK;
}

/* Its function moves from its start to its base frame. */
static void
start_coroutine(struct shadow *shadow, uint32_t id)
{
  struct shadow_node *node = shadow->nodes + id;
  struct shadow_value function = node->as.thread.start;

  node->sum -= shadow_hash(SUBJECT_LABEL_START, shadow_nil(), function);
  node->as.thread.start = shadow_nil();
  push_frame(shadow, id, function);
}

enum shadow_result
shadow_resume(struct shadow *shadow, struct op op)
{
  uint32_t id = (uint32_t)shadow_register(shadow, op.a).bits;
  struct shadow_node *from = shadow->nodes + shadow->running;
  struct shadow_thread *to = &shadow->nodes[id].as.thread;
  struct values values;

  if (!to->frame && !shadow_reserve_frame(shadow))
    return SHADOW_NO_MEMORY;
  gather(shadow_frame_now(shadow), (uint32_t)op.b, (uint32_t)op.c, &values);
  if (!to->frame)
    start_coroutine(shadow, id);
  from->sum +=
      shadow_hash(SUBJECT_LABEL_RESUMED, shadow_nil(), shadow_of_node(id));
  shadow->nodes[SHADOW_ROOT].sum +=
      shadow_hash(SUBJECT_LABEL_CURRENT, shadow_nil(), shadow_of_node(id)) -
      shadow_hash(SUBJECT_LABEL_CURRENT, shadow_nil(),
                  shadow_of_node(shadow->running));
  from->as.thread.status = SHADOW_NORMAL;
  from->as.thread.waits_for = id;
  to->status = SHADOW_RUNNING;
  to->resumer = shadow->running;
  to->place = (uint8_t)op.a;
  shadow->running = id;
  shadow->normal_count++;
  spread(shadow, shadow_frame_now(shadow), 0, &values);
  return SHADOW_OK;
}

enum shadow_result
shadow_yield(struct shadow *shadow, struct op op)
{
  struct values values;

  gather(shadow_frame_now(shadow), (uint32_t)op.a, (uint32_t)op.b, &values);
  give_control_back(shadow, SHADOW_SUSPENDED, &values);
  return SHADOW_OK;
}

static struct shadow_frame *
frame_of_coroutine(const struct shadow *shadow, int32_t reg)
{
  uint64_t id = shadow_register(shadow, reg).bits;

  return shadow->frames + shadow->nodes[id].as.thread.frame;
}

enum shadow_result
shadow_coset(struct shadow *shadow, struct op op)
{
  shadow_register_set(shadow, frame_of_coroutine(shadow, op.a), (uint32_t)op.b,
                      shadow_register(shadow, op.c));
  return SHADOW_OK;
}

enum shadow_result
shadow_coget(struct shadow *shadow, struct op op)
{
  struct shadow_value value = frame_of_coroutine(shadow, op.b)->registers[op.c];

  shadow_register_set(shadow, shadow_frame_now(shadow), (uint32_t)op.a, value);
  return SHADOW_OK;
}

enum shadow_result
shadow_coclose(struct shadow *shadow, struct op op)
{
  uint32_t id = (uint32_t)shadow_register(shadow, op.a).bits;
  struct shadow_node *node = shadow->nodes + id;

  while (node->as.thread.frame)
    pop_frame(shadow, id);
  shadow_store(shadow, id, SUBJECT_LABEL_START, shadow_nil(),
               &node->as.thread.start, shadow_nil());
  node->as.thread.status = SHADOW_FINISHED;
  return SHADOW_OK;
}
