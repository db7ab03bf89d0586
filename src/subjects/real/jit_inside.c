/* SPDX-License-Identifier: MIT
 *
 * What the adapter does inside LuaJIT's structures because no API does it: it
 * aims the driver's function expressions at registers, so that a few of them
 * capture any; dumps without names; takes the VM's own pcall out of its
 * library; makes cdata; and loads libraries. No reference is stored past a
 * barrier here.
 */
#ifndef LUA_CORE
#define LUA_CORE
#endif

#include "subjects/real/perform.h"

#include <string.h>

#include "lualib.h"

#include "lj_obj.h"

#include "lj_bcdump.h"
#include "lj_cdata.h"
#include "lj_ctype.h"
#include "lj_gc.h"
#include "lj_state.h"

/* ---- closures -------------------------------------------------------- */

/* The driver's nested prototypes differ in how much they capture. */
void
real_aim(struct subject_instance *real, int32_t first, int32_t count)
{
  const GCproto *driver = funcproto((const GCfunc *)real->driver);
  for (ptrdiff_t i = 1; i <= (ptrdiff_t)driver->sizekgc; i++) {
    GCobj *constant = proto_kgc(driver, -i);
    if (constant->gch.gct != ~LJ_TPROTO || constant->pt.sizeuv != count)
      continue;
    for (int32_t n = 0; n < count; n++)
      proto_uv(&constant->pt)[n] =
          (uint16_t)(PROTO_UV_LOCAL | (local_of(first + n) - 1));
  }
}

/* Each evaluation of an expression makes a new closure. */
void
real_forget_shared(lua_State *L, int index)
{
  (void)L;
  (void)index;
}

/* What finalizers raise harms no coroutine: it may run. */
bool
real_hold_collector(struct subject_instance *real, bool held)
{
  (void)real;
  (void)held;
  return false;
}

int
real_dump_by(lua_State *L, lua_Writer writer, void *user)
{
  GCproto *prototype = funcproto((const GCfunc *)lua_topointer(L, -1));
  return lj_bcwrite(L, prototype, writer, user, BCDUMP_F_STRIP);
}

/* The library is opened with an environment of its own, so that nothing but
 * the function is left of it. */
void
real_push_pcall(lua_State *L)
{
  lua_State *other = lua_newthread(L);
  lua_createtable(L, 0, 0);
  lua_pushvalue(L, -1);
  lua_setfenv(L, -3);
  lua_pushcfunction(other, luaopen_base);
  lua_call(other, 0, 0);
  lua_getfield(L, -1, "pcall");
  push_globals(L);
  lua_setfenv(L, -2);
  lua_replace(L, -3);
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "_PRELOAD");
}

/* ---- libraries ------------------------------------------------------- */

static const struct {
  const char *name;
  lua_CFunction open;
} libraries[] = {{LUA_MATHLIBNAME, luaopen_math},
                 {LUA_TABLIBNAME, luaopen_table},
                 {LUA_BITLIBNAME, luaopen_bit}};

enum { LIBRARIES = sizeof libraries / sizeof *libraries };

/* Where a library finds its table it makes none, which would be a global. */
void
real_keep_libraries(lua_State *L)
{
  lua_createtable(L, 0, LIBRARIES);
  for (int i = 0; i < LIBRARIES; i++) {
    lua_newtable(L);
    lua_setfield(L, -2, libraries[i].name);
  }
  lua_setfield(L, LUA_REGISTRYINDEX, "_LOADED");
}

void
real_load_library(lua_State *L, int32_t number)
{
  lua_pushcfunction(L, libraries[number % LIBRARIES].open);
  lua_call(L, 0, 0);
}

/* ---- cdata ----------------------------------------------------------- */

/* The C types are made before the first one; nothing of that may be refused,
 * since it could not be taken back. The library itself is never opened. */
bool
real_push_cdata(lua_State *L)
{
#ifdef REAL_FINALIZERS_WITH_TYPES
  (void)L;
  return false;
#else
  if (!ctype_ctsG(G(L))) {
    real_hold(real_instance, true);
    lj_ctype_init(L);
    real_hold(real_instance, false);
  }
  GCcdata *cdata = lj_cdata_new(ctype_cts(L), CTID_INT32, sizeof(int32_t));
  memset(cdataptr(cdata), 0, sizeof(int32_t));
  setcdataV(L, L->top, cdata);
  incr_top(L);
  lj_gc_check(L);
  return true;
#endif
}

void
real_set_cdata_finalizer(lua_State *L)
{
  const TValue *finalizer = L->top - 1;
  lj_cdata_setfin(L, cdataV(L->top - 2), gcval(finalizer), itype(finalizer));
  L->top--;
}

/* ---- parameters ------------------------------------------------------ */

/* Setting twice reads back. */
bool
real_set_parameter(lua_State *L, int32_t parameter, int32_t value,
                   int64_t *ret_value)
{
  int what;
  switch (parameter) {
  case OP_PARAMETER_PAUSE:
    what = LUA_GCSETPAUSE;
    break;
  case OP_PARAMETER_STEPMUL:
    what = LUA_GCSETSTEPMUL;
    break;
  default:
    return false;
  }
  lua_gc(L, what, (int)value);
  *ret_value = lua_gc(L, what, (int)value);
  return true;
}
