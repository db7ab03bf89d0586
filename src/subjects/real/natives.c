/* SPDX-License-Identifier: MIT
 *
 * The light C functions of the real collectors' adapter, by number: 0 to 7 are
 * closers, REAL_BEHAVIOURS and up are finalizers, one for each BEHAVIOUR of the
 * operation language that is a function. A C function is told by its address,
 * so each is one of its own.
 *
 * Each tells that it is called, and a finalizer that it has returned. A closer
 * that is called as a finalizer does nothing, and the other way round. Called
 * as metamethods they tell nothing and do what they do as closers. Number 0 is
 * the function of the stream's C closures as well, which store into their
 * own upvalues when the adapter asks them to.
 *
 * A finalizer creates first and stores last, so that want of memory leaves
 * nothing behind: it raises an error then. The names that it needs are kept in
 * the registry; pushing them allocates nothing. Where errors of finalizers are
 * not contained and a coroutine runs, the error would kill the coroutine: then
 * it is told as raised, and is not.
 */
#include <string.h>

#include "subjects/real/perform.h"

enum { OBJECT = 1, BREEDS = 8 }; /* the object's index; tables of allocate */

static void
tell_value(lua_State *L, enum subject_event_type type, uint8_t to)
{
  real_tell(real_instance, type, real_value(L, OBJECT).bits, to);
}

/* What a finalizer has made at the top of the stack, which may stay. */
static void
tell_birth(lua_State *L)
{
  struct subject_event told = {.type = SUBJECT_EVENT_BIRTH,
                               .base = real_value(L, -1).bits,
                               .kind = SUBJECT_KIND_TABLE};
  real_instance->env.sink->event(real_instance->env.sink, &told);
}

/* ---- what finalizers do ---------------------------------------------- */

/* globals[name] := the top, which goes. */
static void
set_global(lua_State *L, int name)
{
  push_globals(L);
  push_kept(L, name);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

static void
push_global(lua_State *L, int name)
{
  push_globals(L);
  push_kept(L, name);
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

static bool
has_field(lua_State *L, int index)
{
  return lua_istable(L, index) || (lua_isuserdata(L, index) &&
                                   real_has_user_value(L, index, 0));
}

static void
push_field(lua_State *L, int index)
{
  if (lua_isuserdata(L, index)) {
    real_push_user_value(L, index, 0);
    return;
  }
  push_kept(L, KEY_FIELD);
  lua_rawget(L, index);
}

/* The field of the value at index := the top, which goes. */
static bool
set_field(lua_State *L, int index)
{
  if (lua_isuserdata(L, index))
    return real_set_user_value(L, index, 0);
  push_kept(L, KEY_FIELD);
  lua_pushvalue(L, -2);
  lua_rawset(L, index);
  lua_pop(L, 1);
  return true;
}

static void
fail(lua_State *L)
{
  real_instance->gave_up = true;
  push_kept(L, KEY_ERROR);
  lua_error(L);
}

static void
save(lua_State *L, int name)
{
  lua_pushvalue(L, OBJECT);
  set_global(L, name);
}

static void
make_tables(lua_State *L)
{
  for (int i = 0; i < BREEDS; i++) {
    lua_createtable(L, 0, 0);
    lua_pop(L, 1);
  }
}

static void
touch(lua_State *L)
{
  lua_createtable(L, 0, 0);
  tell_birth(L);
  if (has_field(L, OBJECT) && !set_field(L, OBJECT))
    fail(L);
}

static void
touch_sibling(lua_State *L)
{
  if (!has_field(L, OBJECT))
    return;
  push_field(L, OBJECT);
  if (!lua_istable(L, -1))
    return;
  int sibling = lua_gettop(L);
  lua_pushvalue(L, OBJECT);
  set_field(L, sibling);
}

/* Under protection, which the caller is under, too. */
static bool
try_to_save(lua_State *L)
{
  push_function(L, FUNCTION_BEHAVE);
  lua_pushvalue(L, OBJECT);
  lua_pushinteger(L, OP_BEHAVIOUR_SAVE);
  bool done = lua_pcall(L, 2, 0, 0) == 0;
  real_hold_collector(real_instance, false);
  return done;
}

/* Two stores. First the field gets something, so that all that may fail after
 * it is the other store; then the field is as it was. */
static void
link_up(lua_State *L)
{
  if (!has_field(L, OBJECT))
    return;
  push_global(L, KEY_GLOBAL_0);
  int old = lua_gettop(L);
  push_field(L, OBJECT);
  int field = lua_gettop(L);
  if (lua_isuserdata(L, OBJECT))
    lua_pushvalue(L, old);
  else if (lua_isnil(L, field))
    lua_pushboolean(L, 1);
  else
    lua_pushvalue(L, field);
  if (!set_field(L, OBJECT))
    fail(L);
  if (!try_to_save(L)) {
    lua_pushvalue(L, field);
    set_field(L, OBJECT);
    fail(L);
  }
  lua_pushvalue(L, old);
  set_field(L, OBJECT);
}

static void
breed(lua_State *L)
{
  lua_createtable(L, 0, 0);
  tell_birth(L);
  if (lua_getmetatable(L, OBJECT))
    lua_setmetatable(L, -2);
}

static void
mark_again(lua_State *L)
{
  if (lua_getmetatable(L, OBJECT))
    lua_setmetatable(L, OBJECT);
}

/* Where the collector heeds it inside a finalizer. */
static void
switch_mode(lua_State *L)
{
#if defined(LUA_GCGEN)
  struct subject_instance *real = real_instance;
  bool to_ages = real->mode == OP_MODE_INCREMENTAL;
  if (collector(L, to_ages ? LUA_GCGEN : LUA_GCINC, 0) != -1)
    real->mode = to_ages ? OP_MODE_GENERATIONAL : OP_MODE_INCREMENTAL;
#else
  (void)L;
#endif
}

static void
do_behaviour(lua_State *L, enum op_word behaviour)
{
  switch ((int)behaviour) {
  case OP_BEHAVIOUR_SAVE:
    save(L, KEY_GLOBAL_0);
    break;
  case OP_BEHAVIOUR_SAVE_TOO:
    save(L, KEY_GLOBAL_1);
    break;
  case OP_BEHAVIOUR_REMARK:
    mark_again(L);
    break;
  case OP_BEHAVIOUR_ALLOCATE:
    make_tables(L);
    break;
  case OP_BEHAVIOUR_ERROR:
    fail(L);
    break;
  case OP_BEHAVIOUR_YIELD: /* refused: a finalizer is called from C */
    lua_yield(L, 0);
    break;
  case OP_BEHAVIOUR_STEP:
    collector(L, LUA_GCSTEP, 0);
    break;
  case OP_BEHAVIOUR_COLLECT:
    collector(L, LUA_GCCOLLECT, 0);
    break;
  case OP_BEHAVIOUR_SWITCH:
    switch_mode(L);
    break;
  case OP_BEHAVIOUR_TOUCH:
    touch(L);
    break;
  case OP_BEHAVIOUR_SIBLING:
    touch_sibling(L);
    break;
  case OP_BEHAVIOUR_LINK:
    link_up(L);
    break;
  case OP_BEHAVIOUR_CLOSE:
    real_tell(real_instance, SUBJECT_EVENT_CLOSE_ASKED, 0, 0);
    break;
  case OP_BEHAVIOUR_BREED:
    breed(L);
    break;
  case OP_BEHAVIOUR_STOP:
    collector(L, LUA_GCSTOP, 0);
    break;
  default:
    break;
  }
}

/* Under protection: the object and the number of the behaviour. */
int
real_behave(lua_State *L)
{
  int behaviour = (int)lua_tointeger(L, 2);
  lua_settop(L, 1);
  do_behaviour(L, (enum op_word)behaviour);
  real_hold_collector(real_instance, true); /* as when an operation is over */
  return 0;
}

/* ---- calls ----------------------------------------------------------- */

/* Finalizers have one argument; nothing is closed in the two operations that
 * call metamethods. */
static bool
is_metamethod(lua_State *L)
{
  return calls_metamethod(real_instance->op) && lua_gettop(L) > OBJECT;
}

/* Only versions with to-be-closed values call natives for anything else. */
static bool
is_finalizer(lua_State *L)
{
#if REAL_HAS_CLOSING
  lua_Debug call;
  return lua_getstack(L, 0, &call) && lua_getinfo(L, "n", &call) &&
         call.name && strcmp(call.name, "__gc") == 0;
#else
  (void)L;
  return true;
#endif
}

/* Whether an error that came out of a behaviour is one of a finalizer that was
 * called inside it, where errors are not contained. */
static bool
is_of_another(enum op_word behaviour, int status)
{
  return !REAL_CONTAINS_ERRORS && status != 0 && status != LUA_ERRMEM &&
         behaviour != OP_BEHAVIOUR_ERROR && behaviour != OP_BEHAVIOUR_YIELD &&
         !real_instance->gave_up;
}

/* Does what the behaviour says, protected; anew where the error of another
 * finalizer ended it. Gives lua_pcall's status. */
static int
behave(lua_State *L, enum op_word behaviour)
{
  int status;
  do {
    lua_settop(L, OBJECT);
    real_instance->gave_up = false;
    push_function(L, FUNCTION_BEHAVE);
    lua_pushvalue(L, OBJECT);
    lua_pushinteger(L, behaviour);
    bool was_held = real_instance->collector_held;
    status = lua_pcall(L, 2, 0, 0);
    real_hold_collector(real_instance, was_held);
  } while (is_of_another(behaviour, status));
  return status;
}

/* That it failed is told before its error goes on. */
static int
finalize(lua_State *L, enum op_word behaviour)
{
  tell_value(L, SUBJECT_EVENT_FINALIZER, 0);
  bool failed = behaviour != OP_BEHAVIOUR_NOTHING && behave(L, behaviour) != 0;
  tell_value(L, SUBJECT_EVENT_FINALIZED, failed);
  if (!failed || (!REAL_CONTAINS_ERRORS && real_instance->in_vm))
    return 0;
  push_kept(L, KEY_ERROR);
  return lua_error(L);
}

/* As the row cfunc says. What a closer makes may be refused: it is no matter,
 * and refusals are held while it runs. */
static void
act(lua_State *L, int number)
{
  switch (number % 4) {
  case 1:
    lua_createtable(L, 0, 0);
    lua_pop(L, 1);
    break;
  case 2:
    collector(L, LUA_GCSTEP, 0);
    break;
  case 3:
    collector(L, LUA_GCCOLLECT, 0);
    break;
  default:
    break;
  }
}

static int
close_value(lua_State *L, int number)
{
  tell_value(L, SUBJECT_EVENT_CLOSED, 0);
  act(L, number);
  return 0;
}

/* Under protection: the number. */
int
real_do_number(lua_State *L)
{
  act(L, (int)lua_tointeger(L, 1));
  real_hold_collector(real_instance, true); /* as when an operation is over */
  return 0;
}

/* Called with the object, the key and, if it stores, the value. The operation
 * holds refusals and the collector until here, since what the links lead to may
 * go as soon as the collector works; the error of a finalizer must not end what
 * cannot be begun again. Only the store may be refused. */
static int
serve(lua_State *L, int number)
{
  enum { STORES = 3 };
  bool was_held = real_hold_collector(real_instance, false);
  int status, count = lua_gettop(L);
  do {
    lua_settop(L, count);
    push_function(L, FUNCTION_ACT);
    lua_pushinteger(L, number);
    status = lua_pcall(L, 1, 0, 0);
  } while (status != 0);
  real_hold_collector(real_instance, was_held);
  if (count == STORES && lua_istable(L, OBJECT)) {
    real_hold(real_instance, false);
    lua_settop(L, STORES);
    lua_rawset(L, OBJECT);
    real_hold(real_instance, true);
  }
  lua_settop(L, OBJECT);
  return 1;
}

void *
real_store_asked(void)
{
  static char asked;
  return &asked;
}

static int
call_native(lua_State *L, int number)
{
  if (number == 0 && lua_touserdata(L, 1) == real_store_asked()) {
    lua_replace(L, lua_upvalueindex((int)lua_tointeger(L, 2)));
    return 0;
  }
  bool is_closer = number < REAL_BEHAVIOURS;
  if (is_metamethod(L))
    return serve(L, is_closer ? number : 0);
  if (is_finalizer(L))
    return finalize(L, is_closer ? OP_BEHAVIOUR_NOTHING
                                 : (enum op_word)(number - REAL_BEHAVIOURS));
  return close_value(L, is_closer ? number : 0);
}

#define NATIVES(NATIVE)                                                  \
  NATIVE(0) NATIVE(1) NATIVE(2) NATIVE(3) NATIVE(4) NATIVE(5) NATIVE(6)  \
  NATIVE(7) NATIVE(8) NATIVE(9) NATIVE(10) NATIVE(11) NATIVE(12)         \
  NATIVE(13) NATIVE(14) NATIVE(15) NATIVE(16) NATIVE(17) NATIVE(18)      \
  NATIVE(19) NATIVE(20) NATIVE(21) NATIVE(22) NATIVE(23)

#define NATIVE(n)                 \
  static int native_##n(lua_State *L) \
  {                               \
    return call_native(L, n);     \
  }
NATIVES(NATIVE)
#undef NATIVE

#define NATIVE(n) native_##n,
const lua_CFunction real_natives[REAL_NATIVES] = {NATIVES(NATIVE)};
#undef NATIVE

_Static_assert(REAL_NATIVES == 24, "one native for each number");

uint64_t
real_native_number(lua_CFunction function)
{
  for (uint64_t i = 0; i < REAL_NATIVES; i++)
    if (real_natives[i] == function)
      return i;
  return REAL_NATIVES;
}
