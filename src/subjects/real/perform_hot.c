/* SPDX-License-Identifier: MIT
 *
 * The loop of stores. Where the VM can, it runs the loop itself: in the access
 * function for a table that has no metatable, in a function of its own for a
 * closure, whose upvalue it shares. The first lasts as long as the state, and
 * what LuaJIT compiles of it, too; the second is loaded anew each time, and is
 * garbage when the operation is over, with all that was compiled of it. The
 * compiler is on in this operation alone.
 *
 * It is the one operation that lets the collector run after it has stored: it
 * stores where nothing was, so that nobody loses anything by it, and what was
 * stored is taken back if the operation fails.
 */
#include "subjects/real/perform.h"

/* Pushes the key that a table is stored in at; allocates nothing. */
static void
push_place(lua_State *L, struct op op)
{
  if (op.b % 2)
    push_kept(L, KEY_HOT);
  else
    lua_pushinteger(L, 1);
}

/* The place of the table or closure at index := the top, which goes. */
static void
store(lua_State *L, struct op op, int index)
{
  if (lua_isfunction(L, index)) {
    lua_setupvalue(L, index, 1);
    return;
  }
  push_place(L, op);
  lua_insert(L, -2);
  lua_rawset(L, index);
}

static bool
is_empty(lua_State *L, struct op op, int index)
{
  if (lua_isfunction(L, index)) {
    lua_getupvalue(L, index, 1);
  } else {
    push_place(L, op);
    lua_rawget(L, index);
  }
  bool is_nil = lua_isnil(L, -1);
  lua_pop(L, 1);
  return is_nil;
}

void
real_undo_hot(lua_State *L, struct op op)
{
  lua_settop(L, 0);
  push_register(L, op.a);
  if (!is_empty(L, op, 1)) {
    lua_pushnil(L);
    store(L, op, 1);
  }
  lua_settop(L, 0);
}

/* ---- the loops ------------------------------------------------------- */

static void
run_by_api(lua_State *L, struct op op)
{
  enum { PLACE = 1, HELD, LAST };
  lua_settop(L, 0);
  push_register(L, op.a);
  push_register(L, op.b);
  lua_pushnil(L);
  for (int32_t i = 0; i < op.c; i++) {
    lua_createtable(L, 1, 0);
    lua_replace(L, LAST);
    lua_pushvalue(L, HELD);
    lua_rawseti(L, LAST, 1);
    lua_pushvalue(L, LAST);
    store(L, op, PLACE);
  }
}

static void
run_in_table(lua_State *L, struct op op)
{
  push_kept(L, KEY_ACCESS);
  lua_pushinteger(L, op.b % 2 ? ACCESS_HOT_FIELD : ACCESS_HOT_ONE);
  push_register(L, op.a);
  push_register(L, op.b);
  lua_pushinteger(L, op.c);
  lua_call(L, 4, 1);
}

/* Gives the status of loading the loop. */
static int
run_in_closure(lua_State *L, struct op op)
{
#if REAL_HAS_JOIN
  int status = real_push_loop(L);
  if (status != 0)
    return status;
  push_register(L, op.a);
  lua_upvaluejoin(L, -2, 1, -1, 1);
  lua_pop(L, 1);
  push_register(L, op.b);
  lua_pushinteger(L, op.c);
  lua_call(L, 2, 1);
#else
  run_by_api(L, op);
#endif
  return 0;
}

/* Whether stores by bytecode and raw ones are the same. */
static bool
is_plain_table(lua_State *L, int32_t reg)
{
  push_register(L, reg);
  return lua_istable(L, -1) && !lua_getmetatable(L, -1);
}

static bool
is_function(lua_State *L, int32_t reg)
{
  push_register(L, reg);
  return lua_isfunction(L, -1);
}

enum subject_status
real_perform_hot(lua_State *L, struct op op)
{
  int status = 0;
  if (is_function(L, op.a))
    status = run_in_closure(L, op);
  else if (is_plain_table(L, op.a))
    run_in_table(L, op);
  else
    run_by_api(L, op);
  if (status != 0) /* it was caught: one of a finalizer, or of no memory */
    return status == LUA_ERRMEM ? SUBJECT_NO_MEMORY : STATUS_AGAIN;
  pop_register(L, op.b);
  return SUBJECT_DONE;
}
