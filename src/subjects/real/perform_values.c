/* SPDX-License-Identifier: MIT
 *
 * The operations that make, read and write values: strings, tables, userdata,
 * roots, and those that make many. They run on the VM's main thread under
 * lua_pcall (perform.c), so that a refused allocation ends them: each creates
 * first and stores last.
 *
 * Raw accesses go through bytecode for half of the operands, where the table
 * has no metatable, so that the VM's own barriers run too.
 */
#include "subjects/real/perform.h"

/* ---- accesses by bytecode -------------------------------------------- */

/* Whether an access to the table in a register may go through bytecode and is
 * to: one without a metatable then means the same raw and not. */
static bool
goes_through_vm(lua_State *L, struct op op, int32_t table)
{
  if (!by_bytecode(op))
    return false;
  push_register(L, table);
  bool is_plain = !lua_getmetatable(L, -1);
  lua_pop(L, is_plain ? 1 : 2);
  return is_plain;
}

static void
begin_access(lua_State *L, int access)
{
  push_kept(L, KEY_ACCESS);
  lua_pushinteger(L, access);
}

/* Calls it. 5.1 looks for work of the collector when a call is over, and so
 * after the store. */
static void
call_access(lua_State *L, int arguments, int results)
{
#if LUA_VERSION_NUM == 501
  bool was_held = real_hold_collector(real_instance, true);
  lua_call(L, arguments, results);
  real_hold_collector(real_instance, was_held);
#else
  lua_call(L, arguments, results);
#endif
}

/* register := table[key], both in registers */
static void
get_by_vm(lua_State *L, int32_t reg, int32_t table, int32_t key)
{
  begin_access(L, ACCESS_GET);
  push_register(L, table);
  push_register(L, key);
  call_access(L, 3, 1);
  pop_register(L, reg);
}

static void
set_by_vm(lua_State *L, int32_t table, int32_t key, int32_t reg)
{
  begin_access(L, ACCESS_SET);
  push_register(L, table);
  push_register(L, key);
  push_register(L, reg);
  call_access(L, 4, 0);
}

/* The field of a name in the access function's text. */
static void
get_fixed_by_vm(lua_State *L, int access, int32_t reg, int32_t table)
{
  begin_access(L, access);
  push_register(L, table);
  call_access(L, 2, 1);
  pop_register(L, reg);
}

static void
set_fixed_by_vm(lua_State *L, int access, int32_t table, int32_t reg)
{
  begin_access(L, access);
  push_register(L, table);
  lua_pushnil(L);
  push_register(L, reg);
  call_access(L, 4, 0);
}

/* ---- strings --------------------------------------------------------- */

static void
push_name(lua_State *L, size_t (*content)(int32_t, char *), int32_t n)
{
  char bytes[OP_STRING_MAX];
  lua_pushlstring(L, bytes, content(n, bytes));
}

static void
long_string(lua_State *L, struct op op)
{
  char bytes[OP_STRING_MAX];
  lua_pushlstring(L, bytes, op_string_long(op.b, op.c, bytes));
  pop_register(L, op.a);
}

#if REAL_HAS_EXTERNAL
static enum subject_status
external_string(lua_State *L, struct op op)
{
  char bytes[OP_STRING_MAX];
  if (!real_push_external(L, bytes, op_string_long(op.b, op.c, bytes)))
    return SUBJECT_NO_MEMORY;
  pop_register(L, op.a);
  return SUBJECT_DONE;
}
#endif

static void
concat(lua_State *L, struct op op)
{
  if (by_bytecode(op)) {
    begin_access(L, ACCESS_CONCAT);
    push_register(L, op.b);
    push_register(L, op.c);
    lua_call(L, 3, 1);
  } else {
    push_register(L, op.b);
    push_register(L, op.c);
    lua_concat(L, 2);
  }
  pop_register(L, op.a);
}

/* ---- tables ---------------------------------------------------------- */

/* table[name] := register, the table at index 1 of the frame. */
static void
set_named(lua_State *L, size_t (*content)(int32_t, char *), int32_t n,
          int32_t reg)
{
  push_name(L, content, n);
  push_register(L, reg);
  lua_rawset(L, 1);
}

static void
get_named(lua_State *L, size_t (*content)(int32_t, char *), int32_t n,
          int32_t reg, struct subject_answer *answer)
{
  push_name(L, content, n);
  lua_rawget(L, 1);
  answer->value[0] = real_value(L, -1);
  pop_register(L, reg);
}

static void
get(lua_State *L, struct op op)
{
  if (goes_through_vm(L, op, op.b)) {
    get_by_vm(L, op.a, op.b, op.c);
    return;
  }
  push_register(L, op.b);
  push_register(L, op.c);
  lua_rawget(L, -2);
  pop_register(L, op.a);
}

static void
set(lua_State *L, struct op op)
{
  if (goes_through_vm(L, op, op.a)) {
    set_by_vm(L, op.a, op.b, op.c);
    return;
  }
  push_register(L, op.a);
  push_register(L, op.b);
  push_register(L, op.c);
  lua_rawset(L, -3);
}

static void
get_integer(lua_State *L, struct op op)
{
  if (op.c == 1 && goes_through_vm(L, op, op.b)) {
    get_fixed_by_vm(L, ACCESS_GET_ONE, op.a, op.b);
    return;
  }
  push_register(L, op.b);
  lua_rawgeti(L, -1, op.c);
  pop_register(L, op.a);
}

static void
set_integer(lua_State *L, struct op op)
{
  if (op.b == 1 && goes_through_vm(L, op, op.a)) {
    set_fixed_by_vm(L, ACCESS_SET_ONE, op.a, op.c);
    return;
  }
  push_register(L, op.a);
  push_register(L, op.c);
  lua_rawseti(L, -2, op.b);
}

static void
get_field(lua_State *L, struct op op, struct subject_answer *answer)
{
  if (op.c == 0 && goes_through_vm(L, op, op.b)) {
    get_fixed_by_vm(L, ACCESS_GET_FIELD, op.a, op.b);
    push_register(L, op.a);
    answer->value[0] = real_value(L, -1);
    return;
  }
  push_register(L, op.b);
  get_named(L, op_string_name, op.c, op.a, answer);
}

static void
set_field(lua_State *L, struct op op)
{
  if (op.b == 0 && goes_through_vm(L, op, op.a)) {
    set_fixed_by_vm(L, ACCESS_SET_FIELD, op.a, op.c);
    return;
  }
  push_register(L, op.a);
  set_named(L, op_string_name, op.b, op.c);
}

static void
erase(lua_State *L, struct op op)
{
  push_register(L, op.a);
  push_register(L, op.b);
  lua_pushnil(L);
  lua_rawset(L, -3);
}

static struct subject_value
integer_answer(int64_t value)
{
  return (struct subject_value){(uint64_t)value, SUBJECT_INTEGER};
}

static int64_t
border(lua_State *L, int index)
{
#if REAL_OLD_API
  return (int64_t)lua_objlen(L, index);
#else
  return (int64_t)lua_rawlen(L, index);
#endif
}

static void
append(lua_State *L, struct op op, struct subject_answer *answer)
{
  if (goes_through_vm(L, op, op.a)) {
    begin_access(L, ACCESS_APPEND);
    push_register(L, op.a);
    lua_pushnil(L);
    push_register(L, op.b);
    call_access(L, 4, 1);
    answer->value[0] = integer_answer((int64_t)lua_tointeger(L, -1));
    return;
  }
  push_register(L, op.a);
  int64_t index = border(L, -1) + 1;
  push_register(L, op.b);
  lua_rawseti(L, -2, (int)index);
  answer->value[0] = integer_answer(index);
}

static void
length(lua_State *L, struct op op, struct subject_answer *answer)
{
  push_register(L, op.b);
  int64_t n = border(L, -1);
  answer->value[0] = integer_answer(n);
  lua_pushinteger(L, (lua_Integer)n);
  pop_register(L, op.a);
}

static void
next(lua_State *L, struct op op, struct subject_answer *answer)
{
  push_register(L, op.a);
  push_register(L, op.b);
  if (!lua_next(L, -2)) {
    lua_pushnil(L);
    lua_pushnil(L);
  }
  answer->value[0] = real_value(L, -2);
  answer->value[1] = real_value(L, -1);
  pop_register(L, op.c);
  pop_register(L, op.b);
}

/* Through __index and __newindex, by the API or by bytecode. */
static void
index_get(lua_State *L, struct op op)
{
  if (by_bytecode(op)) {
    get_by_vm(L, op.a, op.b, op.c);
    return;
  }
  push_register(L, op.b);
  push_register(L, op.c);
  lua_gettable(L, -2);
  pop_register(L, op.a);
}

static void
index_set(lua_State *L, struct op op)
{
  if (by_bytecode(op)) {
    set_by_vm(L, op.a, op.b, op.c);
    return;
  }
  push_register(L, op.a);
  push_register(L, op.b);
  push_register(L, op.c);
  lua_settable(L, -3);
}

static void
set_metatable(lua_State *L, struct op op)
{
  push_register(L, op.a);
  push_register(L, op.b);
  lua_setmetatable(L, -2);
}

/* ---- userdata -------------------------------------------------------- */

#if LUA_VERSION_NUM >= 504
enum { USER_VALUES_MAX = 3 };
#else
enum { USER_VALUES_MAX = 1 };
#endif

bool
real_has_user_value(lua_State *L, int index, int n)
{
#if LUA_VERSION_NUM >= 504
  bool has = lua_getiuservalue(L, index, n + 1) != LUA_TNONE;
  lua_pop(L, 1);
  return has;
#else
  const uint8_t *bytes = lua_touserdata(L, index);
  return n < bytes[border(L, index) - 1];
#endif
}

void
real_push_user_value(lua_State *L, int index, int n)
{
#if LUA_VERSION_NUM >= 504
  lua_getiuservalue(L, index, n + 1);
#elif !REAL_OLD_API
  (void)n;
  lua_getuservalue(L, index);
#else
  (void)n;
  lua_getfenv(L, index);
  push_globals(L);
  bool is_none = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  if (is_none) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
#endif
}

/* Whether user values of this version can hold the top. */
static bool
is_user_value(lua_State *L)
{
#if LUA_VERSION_NUM >= 503
  (void)L;
  return true;
#elif LUA_VERSION_NUM == 502
  return lua_isnil(L, -1) || lua_istable(L, -1);
#else
  push_globals(L);
  bool is_globals = lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  return lua_isnil(L, -1) || (lua_istable(L, -1) && !is_globals);
#endif
}

bool
real_set_user_value(lua_State *L, int index, int n)
{
  if (!is_user_value(L)) {
    lua_pop(L, 1);
    return false;
  }
#if LUA_VERSION_NUM >= 504
  lua_setiuservalue(L, index, n + 1);
#elif !REAL_OLD_API
  (void)n;
  lua_setuservalue(L, index);
#else
  (void)n;
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    push_globals(L);
  }
  lua_setfenv(L, index);
#endif
  return true;
}

/* Where each userdata has a user value, its last byte says whether it is to
 * have one. */
static void
push_userdata(lua_State *L, size_t size, int values)
{
#if LUA_VERSION_NUM >= 504
  lua_newuserdatauv(L, size, values);
#else
  uint8_t *bytes = lua_newuserdata(L, size + 1);
  bytes[size] = (uint8_t)values;
#endif
}

static enum subject_status
new_userdata(lua_State *L, struct op op)
{
  if (op.c > USER_VALUES_MAX)
    return SUBJECT_UNSUPPORTED;
  push_userdata(L, (size_t)op.b, (int)op.c);
  pop_register(L, op.a);
  return SUBJECT_DONE;
}

static void
get_user_value(lua_State *L, struct op op)
{
  push_register(L, op.b);
  real_push_user_value(L, 1, (int)op.c);
  pop_register(L, op.a);
}

static enum subject_status
set_user_value(lua_State *L, struct op op)
{
  push_register(L, op.a);
  push_register(L, op.c);
  return real_set_user_value(L, 1, (int)op.b) ? SUBJECT_DONE
                                              : SUBJECT_UNSUPPORTED;
}

/* ---- weak tables and finalizers -------------------------------------- */

/* Pushes the string of a WEAK word, or nil. */
static void
push_weak(lua_State *L, int32_t weak)
{
  if (weak == OP_WEAK_NONE)
    lua_pushnil(L);
  else
    push_name(L, op_string_weak, weak);
}

/* Pushes what __gc is to be for a BEHAVIOUR word. */
static void
push_behaviour(lua_State *L, int32_t behaviour)
{
  if (behaviour == OP_BEHAVIOUR_NONE)
    lua_pushnil(L);
  else if (behaviour == OP_BEHAVIOUR_NUMBER)
    lua_pushinteger(L, 1);
  else
    push_native(L, REAL_BEHAVIOURS + (int)behaviour);
}

/* The table at the top has weak as its __mode. */
static void
store_mode(lua_State *L, int32_t weak)
{
  push_name(L, op_string_event, OP_EVENT_MODE);
  push_weak(L, weak);
  lua_rawset(L, -3);
}

static void
store_behaviour(lua_State *L, int32_t behaviour)
{
  push_name(L, op_string_event, OP_EVENT_GC);
  push_behaviour(L, behaviour);
  lua_rawset(L, -3);
}

/* Pushes a fresh table with a fresh metatable that says it is weak. */
static void
push_weak_table(lua_State *L, int32_t weak)
{
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 0);
  store_mode(L, weak);
  lua_setmetatable(L, -2);
}

/* The chain grows at its end, which the top of the stack holds. */
static void
ephemerons(lua_State *L, struct op op)
{
  enum { RESULT = 1, WEAK };
  lua_createtable(L, 2, 0);
  push_weak_table(L, OP_WEAK_KEYS);
  lua_createtable(L, 0, 0);
  lua_pushvalue(L, -1);
  lua_rawseti(L, RESULT, 1);
  for (int32_t i = 1; i < op.b; i++) {
    lua_createtable(L, 0, 0);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, WEAK);
    lua_replace(L, -2);
  }
  lua_pushboolean(L, 1);
  lua_rawset(L, WEAK);
  lua_rawseti(L, RESULT, 2);
  pop_register(L, op.a);
}

/* Marks last: from then on the object is owed its finalizer. */
static void
new_finalizable(lua_State *L, struct op op)
{
  if (op.c)
    push_userdata(L, 0, 1);
  else
    lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 0);
  store_behaviour(L, op.b);
  lua_setmetatable(L, -2);
  pop_register(L, op.a);
}

#if REAL_JIT
/* The finalizer is set last, as above. */
static enum subject_status
new_cdata(lua_State *L, struct op op)
{
  if (!real_push_cdata(L))
    return SUBJECT_UNSUPPORTED;
  if (op.b != OP_BEHAVIOUR_NONE) {
    push_behaviour(L, op.b);
    real_set_cdata_finalizer(L);
  }
  pop_register(L, op.a);
  return SUBJECT_DONE;
}
#endif

/* ---- roots ----------------------------------------------------------- */

static void
reference(lua_State *L, struct op op, struct subject_answer *answer)
{
  int key = REAL_REFERENCE;
  for (;; key++) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, key);
    bool is_free = lua_isnil(L, -1);
    lua_pop(L, 1);
    if (is_free)
      break;
  }
  answer->value[0] = integer_answer(key);
  push_register(L, op.b);
  lua_rawseti(L, LUA_REGISTRYINDEX, key);
  lua_pushinteger(L, key);
  pop_register(L, op.a);
}

static void
release(lua_State *L, struct op op)
{
  push_register(L, op.a);
  int key = (int)lua_tointeger(L, -1);
  lua_pushnil(L);
  lua_rawseti(L, LUA_REGISTRYINDEX, key);
}

static void
new_coroutine(lua_State *L, struct op op)
{
  lua_State *coroutine = lua_newthread(L);
  push_register(L, op.b);
  lua_xmove(L, coroutine, 1);
  pop_register(L, op.a);
}

/* ---- load ------------------------------------------------------------ */

static void
churn(lua_State *L, int32_t count)
{
  for (int32_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 0);
    lua_pop(L, 1);
  }
}

static void
chain(lua_State *L, struct op op)
{
  lua_pushnil(L);
  for (int32_t i = 0; i < op.b; i++) {
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, 1);
    lua_replace(L, -2);
  }
  pop_register(L, op.a);
}

int
real_make_table(lua_State *L)
{
  lua_createtable(L, 0, 0);
  return 1;
}

/* A constructor that makes the first three when it has made the list, so that
 * a collection between may have been at the list alone. */
static void
wide_with_new(lua_State *L, struct op op)
{
  begin_access(L, ACCESS_MAKE);
  push_function(L, FUNCTION_MAKE);
  lua_call(L, 2, 1);
  for (int i = 4; i <= (int)op.b; i++) {
    lua_createtable(L, 0, 0);
    lua_rawseti(L, -2, i);
  }
  pop_register(L, op.a);
}

/* In a constructor, which fills it all at once. */
static enum subject_status
wide_by_vm(lua_State *L, struct op op)
{
  int count = (int)op.b;
  if (count % 2) {
    wide_with_new(L, op);
    return SUBJECT_DONE;
  }
  if (!lua_checkstack(L, count + 2))
    return SUBJECT_NO_MEMORY;
  begin_access(L, ACCESS_LIST);
  for (int i = 0; i < count; i++)
    lua_createtable(L, 0, 0);
  lua_call(L, 1 + count, 1);
  pop_register(L, op.a);
  return SUBJECT_DONE;
}

static enum subject_status
wide(lua_State *L, struct op op)
{
  enum { LEAST = 3, MOST = 150 };
  if (op.b >= LEAST && op.b <= MOST && by_bytecode(op))
    return wide_by_vm(L, op);
  lua_createtable(L, 0, 0);
  for (int i = 1; i <= (int)op.b; i++) {
    lua_createtable(L, 0, 0);
    lua_rawseti(L, -2, i);
  }
  pop_register(L, op.a);
  return SUBJECT_DONE;
}

/* ---- the table of operations ----------------------------------------- */

static enum subject_status
perform_function(lua_State *L, struct op op)
{
  switch (op.code) {
  case OP_NEWUD:
    return new_userdata(L, op);
  case OP_SETUV:
    return set_user_value(L, op);
#if REAL_HAS_EXTERNAL
  case OP_EXTSTR:
    return external_string(L, op);
#endif
  case OP_LOAD:
  case OP_LOADCUT:
    return real_perform_load(L, op);
  default:
    return real_perform_function(L, op);
  }
}

enum subject_status
real_perform_value(lua_State *L, struct op op, struct subject_answer *answer)
{
  switch (op.code) {
  case OP_STR:
    push_name(L, op_string_name, op.b);
    pop_register(L, op.a);
    break;
  case OP_LSTR:
    long_string(L, op);
    break;
  case OP_CONCAT:
    concat(L, op);
    break;
  case OP_NEWTABLE:
    lua_createtable(L, (int)op.b, (int)op.c);
    pop_register(L, op.a);
    break;
  case OP_GET:
    get(L, op);
    break;
  case OP_SET:
    set(L, op);
    break;
  case OP_GETI:
    get_integer(L, op);
    break;
  case OP_SETI:
    set_integer(L, op);
    break;
  case OP_GETS:
    get_field(L, op, answer);
    break;
  case OP_SETS:
    set_field(L, op);
    break;
  case OP_DELETE:
    erase(L, op);
    break;
  case OP_APPEND:
    append(L, op, answer);
    break;
  case OP_LEN:
    length(L, op, answer);
    break;
  case OP_NEXT:
    next(L, op, answer);
    break;
  case OP_INDEX:
  case OP_CALLINDEX:
    index_get(L, op);
    break;
  case OP_NEWINDEX:
  case OP_CALLSTORE:
    index_set(L, op);
    break;
  case OP_SETMETA:
    set_metatable(L, op);
    break;
  case OP_SETEVENT:
    push_register(L, op.a);
    set_named(L, op_string_event, op.b, op.c);
    break;
  case OP_GETUV:
    get_user_value(L, op);
    break;
  case OP_CONEW:
    new_coroutine(L, op);
    break;
  case OP_GETGLOBAL:
    push_globals(L);
    get_named(L, op_string_global, op.b, op.a, answer);
    break;
  case OP_SETGLOBAL:
    push_globals(L);
    set_named(L, op_string_global, op.a, op.b);
    break;
  case OP_GETREG:
    lua_pushvalue(L, LUA_REGISTRYINDEX);
    get_named(L, op_string_registry, op.b, op.a, answer);
    break;
  case OP_SETREG:
    lua_pushvalue(L, LUA_REGISTRYINDEX);
    set_named(L, op_string_registry, op.a, op.b);
    break;
#if !REAL_OLD_API
  case OP_SETGLOBALS:
    push_register(L, op.a);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    break;
#endif
  case OP_REF:
    reference(L, op, answer);
    break;
  case OP_UNREF:
    release(L, op);
    break;
  case OP_SETMODE:
    push_register(L, op.a);
    store_mode(L, op.b);
    break;
  case OP_NEWWEAK:
    push_weak_table(L, op.b);
    pop_register(L, op.a);
    break;
  case OP_EPHEMERONS:
    ephemerons(L, op);
    break;
  case OP_SETGC:
    push_register(L, op.a);
    store_behaviour(L, op.b);
    break;
  case OP_NEWFIN:
    new_finalizable(L, op);
    break;
  case OP_CHURN:
    churn(L, op.a);
    break;
  case OP_CHAIN:
    chain(L, op);
    break;
  case OP_WIDE:
    return wide(L, op);
  case OP_HOT:
    return real_perform_hot(L, op);
#if REAL_JIT
  case OP_NEWCDATA:
    return new_cdata(L, op);
  case OP_LIBRARY:
    real_load_library(L, op.a);
    break;
#endif
  default:
    return perform_function(L, op);
  }
  return SUBJECT_DONE;
}
