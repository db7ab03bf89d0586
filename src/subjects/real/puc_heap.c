/* SPDX-License-Identifier: MIT
 *
 * The collector of a tree of PUC Lua, and around it what the adapter needs of
 * it (real.h): micro-steps, the phase, the survey, and what the public API
 * cannot do with a suspended coroutine. It includes the tree's lstate.c and
 * lgc.c, so that their own types and functions are in reach without a change
 * to the tree; nothing else compiles these two.
 *
 * Micro-steps that the collector makes by itself are told as those that the
 * lab asks for. For that the preprocessor tells the definition of the single
 * step, which begins with a type, from its calls, which begin with L: each call
 * goes through a function of ours. Likewise whole generational collections.
 * A micro-step inside another one, as finalizers and emergencies make them, is
 * not told: the heap need not be whole there.
 */
#include "subjects/real/real.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tree's own files -------------------------------------------- */

#if LUA_VERSION_NUM < 503
static void note_dummy_node(lua_State *L);
#undef luai_userstateopen
#define luai_userstateopen(L) note_dummy_node(L)
#endif

#include "lstate.c"

#if LUA_VERSION_NUM == 501 || LUA_VERSION_NUM >= 505
typedef l_mem step_result;
#else
typedef lu_mem step_result;
#endif

#if LUA_VERSION_NUM < 505
static step_result hooked_step(lua_State *L);
#else
static step_result hooked_step(lua_State *L, int fast);
#endif
#define singlestep(...) HOOK_STEP_##__VA_ARGS__)
#define HOOK_STEP_lua_State raw_step(lua_State
#define HOOK_STEP_L hooked_step(L

#if LUA_VERSION_NUM == 502
static void hooked_generation(lua_State *L);
#define generationalcollection(...) HOOK_GENERATION_##__VA_ARGS__)
#define HOOK_GENERATION_lua_State raw_generation(lua_State
#define HOOK_GENERATION_L hooked_generation(L
#endif

#if LUA_VERSION_NUM >= 504
static void hooked_generation(lua_State *L, global_State *g);
#if LUA_VERSION_NUM == 504
#define genstep(...) HOOK_GENERATION_##__VA_ARGS__)
#else
#define youngcollection(...) HOOK_GENERATION_##__VA_ARGS__)
#endif
#define HOOK_GENERATION_lua_State raw_generation(lua_State
#define HOOK_GENERATION_L hooked_generation(L
#endif

#if LUA_VERSION_NUM >= 502
static void raw_fullgc(lua_State *L, int is_emergency);
#define luaC_fullgc raw_fullgc
#endif
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM >= 504
static void raw_changemode(lua_State *L, int mode);
#define luaC_changemode raw_changemode
#endif

#include "lgc.c"

#undef singlestep
#undef genstep
#undef youngcollection
#undef generationalcollection
#undef luaC_fullgc
#undef luaC_changemode

#include "ldo.h"
#include "lfunc.h"
#include "lmem.h"
#include "lstring.h"
#include "ltable.h"
#include "ltm.h"

#include "subjects/real/puc_shim.h"
#include "subjects/real/uncovered.h"

/* ---- telling of steps ------------------------------------------------ */

/* Whether there is somebody to tell. While the state closes nothing is
 * surveyed. */
static bool
is_watched(const struct subject_instance *instance)
{
  return instance && instance->watched && !instance->closing;
}

/* Whether this is the outermost micro-step, whose end is to be told. */
static bool
step_begins(void)
{
  struct subject_instance *instance = real_instance;
  if (!is_watched(instance) || instance->steps)
    return false;
  instance->steps = 1;
  real_tell(instance, SUBJECT_EVENT_STEP_BEGIN, 0, 0);
  return true;
}

static void
step_ends(bool is_told)
{
  if (!is_told)
    return;
  real_instance->steps = 0;
  real_tell(real_instance, SUBJECT_EVENT_STEP_END, 0, 0);
}

#if LUA_VERSION_NUM >= 505
static step_result
hooked_step(lua_State *L, int fast)
{
  bool is_told = step_begins();
  step_result result = raw_step(L, fast);
  step_ends(is_told);
  return result;
}
#elif LUA_VERSION_NUM == 504
static step_result
hooked_step(lua_State *L)
{
  bool is_told = step_begins();
  step_result result = raw_step(L);
  step_ends(is_told);
  return result;
}
#else
/* An error of a finalizer comes out of the step: the step ends all the same,
 * and the error goes on. */
static void
protected_step(lua_State *L, void *result)
{
  *(step_result *)result = raw_step(L);
}

static step_result
hooked_step(lua_State *L)
{
  step_result result = 0;
  if (!step_begins())
    return raw_step(L);
  int status = luaD_rawrunprotected(L, protected_step, &result);
  step_ends(true);
  if (status)
    luaD_throw(L, status);
  return result;
}
#endif

#if LUA_VERSION_NUM == 502
static void
hooked_generation(lua_State *L)
{
  bool is_told = step_begins();
  raw_generation(L);
  step_ends(is_told);
}
#elif LUA_VERSION_NUM >= 504
static void
hooked_generation(lua_State *L, global_State *g)
{
  bool is_told = step_begins();
  raw_generation(L, g);
  step_ends(is_told);
}
#endif

#if LUA_VERSION_NUM >= 502
void
luaC_fullgc(lua_State *L, int is_emergency)
{
  bool is_told = is_emergency && is_watched(real_instance);
  if (is_told)
    real_tell(real_instance, SUBJECT_EVENT_EMERGENCY, 0, 1);
  bool is_whole = puc_rests_by_age(G(L)) && step_begins();
  raw_fullgc(L, is_emergency);
  step_ends(is_whole);
  if (is_told)
    real_tell(real_instance, SUBJECT_EVENT_EMERGENCY, 0, 0);
}
#endif

#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM >= 504
void
luaC_changemode(lua_State *L, int mode)
{
  bool is_generational = puc_is_generational(G(L));
  bool shall_be = mode == PUC_GENERATIONAL;
  if (is_generational == shall_be || !is_watched(real_instance)) {
    raw_changemode(L, mode);
    return;
  }
  /* What entering does first, so that the end of the cycle under way is told
   * as its own steps. */
#if LUA_VERSION_NUM == 504
  if (shall_be)
    luaC_runtilstate(L, bitmask(GCSpause));
#elif LUA_VERSION_NUM >= 505
  if (shall_be)
    luaC_runtilstate(L, GCSpause, 1);
#endif
  bool is_told = step_begins();
  real_tell(real_instance, SUBJECT_EVENT_MODE, 0,
            shall_be ? OP_MODE_GENERATIONAL : OP_MODE_INCREMENTAL);
  raw_changemode(L, mode);
  step_ends(is_told);
}
#endif

/* ---- micro-steps ----------------------------------------------------- */

bool
real_steps_are_whole(struct subject_instance *instance)
{
#if LUA_VERSION_NUM == 504
  return puc_is_generational(G(instance->state));
#else
  return puc_rests_by_age(G(instance->state));
#endif
}

/* One step, as the version's own loops make it; where it ends a cycle the
 * next one is set to begin when it would. */
static void
step_once(lua_State *L, void *unused)
{
  global_State *g = G(L);
  (void)unused;
#if LUA_VERSION_NUM >= 505
  if (g->gckind == KGC_GENMINOR) {
    hooked_generation(L, g);
    setminordebt(g);
  } else if (hooked_step(L, 0) != step2minor && g->gcstate == GCSpause) {
    setpause(g);
  }
#elif LUA_VERSION_NUM == 504
  if (puc_is_generational(g)) {
    luaE_setdebt(g, 0);
    hooked_generation(L, g);
  } else {
    hooked_step(L);
    if (g->gcstate == GCSpause)
      setpause(g);
  }
#elif LUA_VERSION_NUM == 503
  hooked_step(L);
  if (g->gcstate == GCSpause)
    setpause(g);
#elif LUA_VERSION_NUM == 502
  if (isgenerational(g)) {
    hooked_generation(L);
  } else {
    hooked_step(L);
    if (g->gcstate == GCSpause)
      setpause(g, g->GCestimate);
  }
  /* There is no phase for finalizers. */
  for (int i = 0; g->tobefnz && (i < GCFINALIZENUM || g->gcstate == GCSpause);
       i++)
    GCTM(L, 1);
#else
  bool is_stopped = puc_is_stopped(g);
  hooked_step(L);
  if (g->gcstate == GCSpause && !is_stopped)
    setthreshold(g);
#endif
}

/* The collector is at work: a finalizer runs, or the state closes. */
static bool
is_busy(const global_State *g)
{
#if LUA_VERSION_NUM >= 504
  return g->gcstp & (GCSTPGC | GCSTPCLS);
#else
  (void)g;
  return false;
#endif
}

/* Errors of finalizers end here. */
void
real_micro_step(struct subject_instance *instance)
{
  lua_State *L = instance->state;
  if (is_busy(G(L)))
    return;
  if (luaD_pcall(L, step_once, NULL, savestack(L, PUC_AT(L->top)), 0))
    PUC_PLACE(L->top) -= 1;
}

/* Whether nothing is left to visit: up to 5.2 no state of its own says so. */
static bool
enters_atomic(const global_State *g)
{
#if LUA_VERSION_NUM <= 502
  return !g->gray && !puc_rests_by_age(g);
#else
  (void)g;
  return false;
#endif
}

enum subject_phase
real_phase(struct subject_instance *instance)
{
  const global_State *g = G(instance->state);
  switch (g->gcstate) {
  case GCSpause:
    return SUBJECT_PHASE_PAUSE;
  case GCSpropagate:
    return enters_atomic(g) ? SUBJECT_PHASE_ENTER_ATOMIC
                            : SUBJECT_PHASE_PROPAGATE;
#if LUA_VERSION_NUM >= 504
  case GCSenteratomic:
    return SUBJECT_PHASE_ENTER_ATOMIC;
  case GCSatomic:
    return SUBJECT_PHASE_ATOMIC;
#elif LUA_VERSION_NUM == 503
  case GCSatomic:
    return SUBJECT_PHASE_ENTER_ATOMIC;
  case GCSinsideatomic:
    return SUBJECT_PHASE_ATOMIC;
#elif LUA_VERSION_NUM == 502
  case GCSatomic:
    return SUBJECT_PHASE_ATOMIC;
#endif
#if LUA_VERSION_NUM >= 503
  case GCSswpfinobj:
    return SUBJECT_PHASE_SWEEP_FINALIZABLE;
  case GCSswptobefnz:
    return SUBJECT_PHASE_SWEEP_PENDING;
  case GCSswpend:
    return SUBJECT_PHASE_SWEEP_END;
  case GCScallfin:
    return SUBJECT_PHASE_FINALIZE;
#elif LUA_VERSION_NUM == 501
  case GCSfinalize:
    return SUBJECT_PHASE_FINALIZE;
#endif
  default:
    /* Up to 5.2 strings come first, and all lists are one phase. */
    return SUBJECT_PHASE_SWEEP;
  }
}

/* ---- the survey ------------------------------------------------------ */

UNCOVERED_BEGIN
#include "subjects/real/puc_survey.h"

#include "subjects/real/puc_survey_heap.h"
UNCOVERED_END

struct subject_value
real_value(lua_State *L, int index)
{
  const puc_slot *at =
      index > 0 ? PUC_AT(L->ci->func) + index : PUC_AT(L->top) + index;
  const TValue *value = PUC_SLOT(at);
#if LUA_VERSION_NUM == 501
  uint64_t native;
  if (PUC_TAG(value) == LUA_TFUNCTION &&
      is_light(PUC_VALUE(value).gc, &native))
    return (struct subject_value){.bits = native, .tag = SUBJECT_CFUNC};
#endif
  return puc_value(G(L), PUC_TAG(value), &PUC_VALUE(value));
}

/* ---- suspended coroutines -------------------------------------------- */

/* The driver's frame that lies depth below the innermost one. */
static const CallInfo *
driver_frame(const lua_State *thread, int depth)
{
  for (const CallInfo *ci = thread->ci; !puc_is_base(thread, ci);
       ci = PUC_BELOW(ci)) {
    const TValue *function = PUC_SLOT(PUC_AT(ci->func));
    if (puc_is_lua(ci) && PUC_IS_OBJECT(PUC_TAG(function)) &&
        (PUC_TAG(function) & 0x0F) == LUA_TFUNCTION &&
        puc_is_driver(((const Closure *)PUC_VALUE(function).gc)->l.p) &&
        depth-- == 0)
      return ci;
  }
  real_assertion("the coroutine has no such frame");
  return NULL;
}

static StkId
driver_local(const lua_State *thread, int depth, int n)
{
  return puc_locals(driver_frame(thread, depth)) + n - 1;
}

void
real_push_local(lua_State *to, lua_State *coroutine, int depth, int n)
{
  puc_copy(PUC_SLOT(PUC_AT(to->top)),
           PUC_SLOT(driver_local(coroutine, depth, n)));
  PUC_PLACE(to->top) += 1;
}

void
real_set_local(lua_State *from, lua_State *coroutine, int depth, int n)
{
  PUC_PLACE(from->top) -= 1;
  puc_copy(PUC_SLOT(driver_local(coroutine, depth, n)),
           PUC_SLOT(PUC_AT(from->top)));
}

void
real_push_vararg(lua_State *to, lua_State *coroutine, int n)
{
  const CallInfo *ci = driver_frame(coroutine, 0);
  StkId function = PUC_AT(ci->func);
#if LUA_VERSION_NUM >= 504
  StkId first = function - puc_hidden_varargs(coroutine, ci);
  StkId end = function;
#else
  StkId first = function + 1 + REAL_LOCAL_COUNT;
  StkId end = puc_locals(ci);
#endif
  if (n < end - first) {
    puc_copy(PUC_SLOT(PUC_AT(to->top)), PUC_SLOT(first + n));
    PUC_PLACE(to->top) += 1;
  } else {
    lua_pushnil(to);
  }
}

/* Frame records for a call of the driver, of a protected call around it, and
 * of C functions and a metamethod above. */
enum { RESERVED_FRAMES = 8 };

static void
reserve_frames(lua_State *L)
{
#if LUA_VERSION_NUM == 501
  if (L->end_ci - L->ci <= RESERVED_FRAMES)
    luaD_reallocCI(L, L->size_ci + RESERVED_FRAMES);
#else
  /* An emergency while one is made may free others. */
  for (int i = 0; i < RESERVED_FRAMES; i++) {
    int count = 0;
    CallInfo *last = L->ci;
    for (; last->next; last = last->next)
      count += 1;
    if (count >= RESERVED_FRAMES)
      return;
    CallInfo *ci = luaM_new(L, CallInfo);
    for (last = L->ci; last->next; last = last->next)
      continue;
    memset(ci, 0, sizeof *ci);
    ci->previous = last;
    last->next = ci;
#if LUA_VERSION_NUM >= 503
    L->nci += 1;
#endif
  }
#endif
}

static void
reserve(lua_State *L, void *slots)
{
  int count = *(int *)slots;
  if (PUC_AT(L->stack_last) - PUC_AT(L->top) <= count)
#if LUA_VERSION_NUM >= 504
    luaD_growstack(L, count, 1);
#else
    luaD_growstack(L, count);
#endif
  reserve_frames(L);
}

/* Runs what may raise an error on a suspended coroutine; false if it did. */
static bool
run_on(lua_State *coroutine, Pfunc function, void *argument)
{
  ptrdiff_t top = savestack(coroutine, PUC_AT(coroutine->top));
  CallInfo *ci = coroutine->ci;
  lu_byte allowhook = coroutine->allowhook;
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
  unsigned short nny = coroutine->nny;
#endif
  if (luaD_rawrunprotected(coroutine, function, argument) == 0)
    return true;
  coroutine->ci = ci;
  coroutine->allowhook = allowhook;
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
  coroutine->nny = nny;
#endif
  PUC_PLACE(coroutine->top) = (StkId)restorestack(coroutine, top);
  return false;
}

bool
real_reserve(lua_State *coroutine, int slots)
{
  return run_on(coroutine, reserve, &slots);
}

#if LUA_VERSION_NUM >= 504
static void
mark_to_close(lua_State *L, void *local)
{
  luaF_newtbcupval(L, driver_local(L, 0, *(int *)local));
}
#endif

bool
real_mark_to_close(lua_State *coroutine, int n)
{
#if LUA_VERSION_NUM >= 504
  return run_on(coroutine, mark_to_close, &n);
#else
  (void)coroutine, (void)n;
  return false;
#endif
}

static void
close_from(lua_State *L, void *local)
{
  StkId level = driver_local(L, 0, *(int *)local);
#if LUA_VERSION_NUM >= 504
  luaF_close(L, level, CLOSEKTOP, 0);
#else
  luaF_close(L, level);
#endif
}

/* What a closer raises goes nowhere; the others are closed all the same. A
 * value that has been closed is not held any longer. */
void
real_close_from(lua_State *coroutine, int n)
{
  for (int i = 0; i <= REAL_CLOSE_MAX; i++)
    if (run_on(coroutine, close_from, &n))
      break;
  for (int i = n > REAL_LOCAL_CLOSE ? n : REAL_LOCAL_CLOSE;
       i <= REAL_LOCAL_COUNT; i++)
    setnilvalue(PUC_SLOT(driver_local(coroutine, 0, i)));
}

#if LUA_VERSION_NUM < 503
/* What a table without a hash part refers to. */
static void
note_dummy_node(lua_State *L)
{
  puc_dummy_node = luaH_new(L
#if LUA_VERSION_NUM == 501
                            , 0, 0
#endif
                            )->node;
}
#endif

#include "subjects/real/puc_traits.h"
