/* SPDX-License-Identifier: MIT
 *
 * The adapter's file that includes LuaJIT's collector: makes micro-steps, does
 * what the public API cannot, and, in jit_survey.h, shows the heap. It is
 * compiled in place of the tree's lj_gc.c and lj_assert.c.
 *
 * A micro-step is one call of the collector's state machine, wherever it comes
 * from: the preprocessor tells the definition of that function from its calls,
 * by the first word in the brackets, and the calls go through one of ours.
 *
 * Where the machine is between marking and the atomic phase is a phase like
 * others, ENTER_ATOMIC: the interpreter never rests there, compiled code does,
 * since the atomic phase does not run beneath it. Both kinds of sweep, of the
 * string table and of the list of all objects, are the phase SWEEP.
 */
#include "subjects/real/real.h"

#define LUA_CORE

#include "lj_obj.h"

#include "lj_buf.h"
#include "lj_dispatch.h"
#include "lj_frame.h"
#include "lj_gc.h"
#include "lj_jit.h"
#include "lj_tab.h"
#include "lj_vmevent.h"

/* An error in a finalizer goes to whoever listens to the VM's events: here. */
static void tell_warning(const char *event);
#undef lj_vmevent_send
#define lj_vmevent_send(L, event, ...) tell_warning(#event)

#define gc_onestep(...) PENUMBRA_STEP_##__VA_ARGS__)
#define PENUMBRA_STEP_lua_State raw_step(lua_State
#define PENUMBRA_STEP_L micro_step(L
static size_t micro_step(lua_State *L);

#define gc_call_finalizer(...) PENUMBRA_CALL_##__VA_ARGS__)
#define PENUMBRA_CALL_global_State raw_call(global_State
#define PENUMBRA_CALL_g call_finalizer(g
static void call_finalizer(global_State *g, lua_State *L, cTValue *function,
                           GCobj *object);

#include "lj_gc.c"

#include <stdarg.h>
#include <stdio.h>

#include "subjects/real/uncovered.h"

UNCOVERED_BEGIN
#include "subjects/real/jit_survey.h"
UNCOVERED_END

enum { ASSERTION_MAX = 256 };

/* ---- assertions ------------------------------------------------------ */

/* All of the tree's assertions and API checks end here. */
void
lj_assert_fail(global_State *g, const char *file, int line,
               const char *function, const char *format, ...)
{
  char text[ASSERTION_MAX];
  va_list arguments;
  (void)g;
  int length =
      snprintf(text, sizeof text, "%s:%d: %s: ", file, line, function);
  va_start(arguments, format);
  if (length >= 0 && length < ASSERTION_MAX)
    vsnprintf(text + length, sizeof text - (size_t)length, format, arguments);
  va_end(arguments);
  real_assertion(text);
  abort();
}

static void
tell_warning(const char *event)
{
  struct subject_event told = {.type = SUBJECT_EVENT_WARNING, .text = event};
  real_instance->env.sink->event(real_instance->env.sink, &told);
}

/* ---- steps ----------------------------------------------------------- */

static enum subject_phase
phase_of(const global_State *g)
{
  static const uint8_t phases[] = {
      [GCSpause] = SUBJECT_PHASE_PAUSE,
      [GCSpropagate] = SUBJECT_PHASE_PROPAGATE,
      [GCSatomic] = SUBJECT_PHASE_ENTER_ATOMIC,
      [GCSsweepstring] = SUBJECT_PHASE_SWEEP,
      [GCSsweep] = SUBJECT_PHASE_SWEEP,
      [GCSfinalize] = SUBJECT_PHASE_FINALIZE,
  };
  return (enum subject_phase)phases[g->gc.state];
}

static void
tell_phase(enum subject_phase from, enum subject_phase to)
{
  struct subject_event told = {.type = SUBJECT_EVENT_PHASE,
                               .from = (uint8_t)from,
                               .to = (uint8_t)to};
  if (from != to)
    real_instance->env.sink->event(real_instance->env.sink, &told);
}

/* A full collection goes to the sweep, and to the pause, without a step. */
static void
tell_phase_now(struct subject_instance *instance, enum subject_phase now)
{
  enum subject_phase before = (enum subject_phase)instance->phase;
  instance->phase = (uint8_t)now;
  tell_phase(before, now);
}

/* An error that left the last step, for want of memory, has left it open. */
static void
begin_step(struct subject_instance *instance, const global_State *g)
{
  if (instance->steps)
    real_tell(instance, SUBJECT_EVENT_STEP_END, 0, 0);
  instance->steps = 1;
  tell_phase_now(instance, phase_of(g));
  real_tell(instance, SUBJECT_EVENT_STEP_BEGIN, 0, 0);
  if (g->gc.state == GCSatomic && !tvref(g->jit_base))
    tell_phase_now(instance, SUBJECT_PHASE_ATOMIC);
}

static size_t
micro_step(lua_State *L)
{
  struct subject_instance *instance = real_instance;
  global_State *g = G(L);
  if (!instance->watched || instance->closing)
    return raw_step(L);
  begin_step(instance, g);
  size_t cost = raw_step(L);
  tell_phase_now(instance, phase_of(g));
  instance->steps = 0;
  real_tell(instance, SUBJECT_EVENT_STEP_END, 0, 0);
  return cost;
}

/* Steps that the finalizer asks for are inside this one. */
static void
call_finalizer(global_State *g, lua_State *L, cTValue *function, GCobj *object)
{
  struct subject_instance *instance = real_instance;
  uint32_t steps = instance->steps;
  instance->steps = 0;
  raw_call(g, L, function, object);
  if (instance->steps)
    real_tell(instance, SUBJECT_EVENT_STEP_END, 0, 0);
  instance->steps = steps;
}

/* The pause after a cycle is set as lj_gc_step does. */
void
real_micro_step(struct subject_instance *instance)
{
  lua_State *L = instance->state;
  global_State *g = G(L);
  int32_t vmstate = g->vmstate;
  setvmstate(g, GC);
  micro_step(L);
  if (g->gc.state == GCSpause && g->gc.threshold != LJ_MAX_MEM)
    g->gc.threshold = (g->gc.estimate / 100) * g->gc.pause;
  g->vmstate = vmstate;
}

enum subject_phase
real_phase(struct subject_instance *instance)
{
  return phase_of(G(instance->state));
}

bool
real_steps_are_whole(struct subject_instance *instance)
{
  (void)instance;
  return false;
}

void
real_survey(struct subject_instance *instance, struct subject_visitor *visitor)
{
  jit_survey(instance, visitor, phase_of(G(instance->state)));
}

/* ---- slots ----------------------------------------------------------- */

static TValue *
slot_at(lua_State *L, int index)
{
  if (index == LUA_REGISTRYINDEX)
    return registry(L);
  return index > 0 ? L->base + index - 1 : L->top + index;
}

struct subject_value
real_value(lua_State *L, int index)
{
  struct survey plain = {.g = G(L)};
  return value_of(&plain, slot_at(L, index));
}

/* The first local of a driver frame of a suspended coroutine. */
static TValue *
driver_base(lua_State *coroutine, int depth)
{
  struct frame frame = innermost_frame(coroutine);
  while (depth-- > 0)
    frame = next_frame(coroutine, &frame);
  return frame.base;
}

void
real_push_local(lua_State *to, lua_State *coroutine, int depth, int n)
{
  copyTV(to, to->top, driver_base(coroutine, depth) + n - 1);
  incr_top(to);
}

/* Coroutines are never black: no barrier. */
void
real_set_local(lua_State *from, lua_State *coroutine, int depth, int n)
{
  copyTV(coroutine, driver_base(coroutine, depth) + n - 1, from->top - 1);
  from->top--;
}

void
real_push_vararg(lua_State *to, lua_State *coroutine, int n)
{
  struct frame frame = innermost_frame(coroutine);
  if (n < frame.vararg_count)
    copyTV(to, to->top, frame.varargs + n);
  else
    setnilV(to->top);
  incr_top(to);
}

/* Refused, it leaves a suspended coroutine in a status in which it cannot be
 * resumed. */
bool
real_reserve(lua_State *coroutine, int slots)
{
  uint8_t status = coroutine->status;
  if (lua_checkstack(coroutine, slots + REAL_STACK_MARGIN))
    return true;
  coroutine->status = status;
  return false;
}

/* LuaJIT has no to-be-closed variables. */
bool
real_mark_to_close(lua_State *coroutine, int n)
{
  (void)coroutine;
  (void)n;
  return false;
}

void
real_close_from(lua_State *coroutine, int n)
{
  lj_func_closeuv(coroutine, driver_base(coroutine, 0) + n - 1);
}

/* ---- traits ---------------------------------------------------------- */

#include "subjects/traits.h"

#define TRAIT(field, l50, l51, l52, l53, l54, l55, jit) .field = jit,
const struct subject_traits real_traits = {
#include "subjects/traits.def"
};
#undef TRAIT
