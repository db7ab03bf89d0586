/* SPDX-License-Identifier: MIT
 *
 * What the adapter of PUC Lua does inside the VM's structures because no API
 * does it: it aims the driver's function expressions at registers, so that a
 * few of them capture any; has closures made anew where a version keeps the
 * last one; dumps without names; and sets parameters that the API sets only
 * together with the mode. Nothing here stores a reference.
 */
#ifndef LUA_CORE
#define LUA_CORE
#endif

#include "subjects/real/perform.h"

#include "lobject.h"
#include "lstate.h"

#include "lfunc.h"
#include "lgc.h"
#include "lundump.h"

/* ---- closures -------------------------------------------------------- */

static Proto *
prototype_of(const void *closure)
{
  return ((const LClosure *)closure)->p;
}

#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
/* A prototype keeps the last closure over it and gives it again if all its
 * upvalues are those wanted. */
static void
forget(Proto *prototype, TValue *const *wanted)
{
  const LClosure *kept = (const LClosure *)prototype->cache;
  if (!kept)
    return;
  for (int i = 0; i < prototype->sizeupvalues; i++)
    if (kept->upvals[i]->v != wanted[i])
      return;
  prototype->cache = NULL;
}
#endif

void
real_forget_shared(lua_State *L, int index)
{
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
  const LClosure *closure = lua_topointer(L, index);
  TValue *wanted[UCHAR_MAX];
  if (closure->p->sizep == 0)
    return;
  for (int i = 0; i < closure->nupvalues; i++)
    wanted[i] = closure->upvals[i]->v;
  forget(closure->p->p[0], wanted);
#else
  (void)L;
  (void)index;
#endif
}

#if LUA_VERSION_NUM == 501
/* Captures are named by the instructions that follow the one which makes the
 * closure: a move's operand B is the register. (The header that names the
 * instructions has names of the operation language's.) */
enum {
  OPCODE_MASK = 0x3F,
  OPCODE_CLOSURE = 36,
  FUNCTION_SHIFT = 14, /* of the operand that numbers the expression */
  MOVED_SHIFT = 23
};

static void
aim(Proto *driver, int count, const int *slots)
{
  for (int pc = 0; pc < driver->sizecode; pc++) {
    Instruction at = driver->code[pc];
    if ((at & OPCODE_MASK) != OPCODE_CLOSURE ||
        (int)(at >> FUNCTION_SHIFT) != count)
      continue;
    for (int i = 0; i < count; i++) {
      Instruction *move = &driver->code[pc + 1 + i];
      *move &= (1u << MOVED_SHIFT) - 1;
      *move |= (Instruction)slots[i] << MOVED_SHIFT;
    }
    return;
  }
}
#else
static void
aim(Proto *driver, int count, const int *slots)
{
  for (int i = 0; i < count; i++)
    driver->p[count]->upvalues[i].idx = (lu_byte)slots[i];
}
#endif

void
real_aim(struct subject_instance *real, int32_t first, int32_t count)
{
  Proto *driver = prototype_of(real->driver);
  int slots[CAPTURES_MAX];
  for (int32_t i = 0; i < count; i++)
    slots[i] = local_of(first + i) - 1;
  aim(driver, (int)count, slots);
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
  TValue *wanted[CAPTURES_MAX];
  for (int32_t i = 0; i < count; i++)
    wanted[i] = real->running->ci->previous->u.l.base + slots[i];
  forget(driver->p[count], wanted);
#endif
}

/* ---- the collector --------------------------------------------------- */

#if LUA_VERSION_NUM == 501
static lu_mem held_threshold;
#elif LUA_VERSION_NUM == 502
static lu_byte held_running;
#endif

bool
real_hold_collector(struct subject_instance *real, bool held)
{
  bool was_held = real->collector_held;
  if (held == was_held)
    return was_held;
  real->collector_held = held;
#if LUA_VERSION_NUM == 501
  global_State *g = G(real->state);
  if (held) {
    held_threshold = g->GCthreshold;
    g->GCthreshold = MAX_LUMEM;
  } else {
    g->GCthreshold = held_threshold;
  }
#elif LUA_VERSION_NUM == 502
  global_State *g = G(real->state);
  if (held) {
    held_running = g->gcrunning;
    g->gcrunning = 0;
  } else {
    g->gcrunning = held_running;
  }
#endif
  return was_held;
}

/* ---- dumping --------------------------------------------------------- */

int
real_dump_by(lua_State *L, lua_Writer writer, void *user)
{
#if LUA_VERSION_NUM == 501
  return lua_dump(L, writer, user); /* upvalues are found by their names */
#elif LUA_VERSION_NUM == 502
  return luaU_dump(L, prototype_of(lua_topointer(L, -1)), writer, user, 1);
#else
  return lua_dump(L, writer, user, 1);
#endif
}

/* ---- parameters ------------------------------------------------------ */

#if LUA_VERSION_NUM < 505
/* Setting twice reads back. */
static int64_t
set_twice(lua_State *L, int what, int value)
{
  lua_gc(L, what, value);
  return lua_gc(L, what, value);
}
#endif

#if LUA_VERSION_NUM >= 505
bool
real_set_parameter(lua_State *L, int32_t parameter, int32_t value,
                   int64_t *ret_value)
{
  static const int names[] = {[OP_PARAMETER_PAUSE] = LUA_GCPPAUSE,
                              [OP_PARAMETER_STEPMUL] = LUA_GCPSTEPMUL,
                              [OP_PARAMETER_STEPSIZE] = LUA_GCPSTEPSIZE,
                              [OP_PARAMETER_MINORMUL] = LUA_GCPMINORMUL,
                              [OP_PARAMETER_MAJORMUL] = LUA_GCPMINORMAJOR};
  lua_gc(L, LUA_GCPARAM, names[parameter], (int)value);
  *ret_value = lua_gc(L, LUA_GCPARAM, names[parameter], -1);
  return true;
}
#else
bool
real_set_parameter(lua_State *L, int32_t parameter, int32_t value,
                   int64_t *ret_value)
{
  switch (parameter) {
  case OP_PARAMETER_PAUSE:
    *ret_value = set_twice(L, LUA_GCSETPAUSE, (int)value);
    return true;
  case OP_PARAMETER_STEPMUL:
    *ret_value = set_twice(L, LUA_GCSETSTEPMUL, (int)value);
    return true;
#if LUA_VERSION_NUM == 504
  case OP_PARAMETER_STEPSIZE:
    *ret_value = G(L)->gcstepsize = (lu_byte)value;
    return true;
  case OP_PARAMETER_MINORMUL:
    *ret_value = G(L)->genminormul = (lu_byte)value;
    return true;
  case OP_PARAMETER_MAJORMUL:
    setgcparam(G(L)->genmajormul, (int)value);
    *ret_value = getgcparam(G(L)->genmajormul);
    return true;
#elif LUA_VERSION_NUM == 502
  case OP_PARAMETER_MAJORMUL:
    *ret_value = set_twice(L, LUA_GCSETMAJORINC, (int)value);
    return true;
#endif
  default:
    return false;
  }
}
#endif
