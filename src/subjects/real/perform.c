/* SPDX-License-Identifier: MIT
 *
 * The adapter of real collectors: opens and closes a state, and performs the
 * operations, each by the file that its group is in. See real.h for how the
 * operation language lies in a VM.
 *
 * What cannot fail is done at once on the VM's main thread; what may, under
 * lua_pcall there. An error of a finalizer comes out of the operation in which
 * it ran where the version does not contain such errors; the operation has not
 * stored anything yet then and is begun again.
 */
#include "subjects/real/perform.h"

#include <string.h>

enum { REDONE_MAX = 1 << 16 }; /* errors of finalizers in one operation */

struct subject_instance *real_instance;

/* ---- events ---------------------------------------------------------- */

void
real_tell(struct subject_instance *instance, enum subject_event_type type,
          uint64_t base, uint8_t to)
{
  struct subject_event told = {
      .type = (uint8_t)type, .base = base, .kind = SUBJECT_KIND_ROOT, .to = to};
  instance->env.sink->event(instance->env.sink, &told);
}

static void
tell_text(struct subject_instance *real, enum subject_event_type type,
          const char *text)
{
  struct subject_event told = {.type = (uint8_t)type, .text = text};
  real->env.sink->event(real->env.sink, &told);
}

void
real_assertion(const char *text)
{
  if (real_instance)
    tell_text(real_instance, SUBJECT_EVENT_ASSERTION, text);
  __builtin_trap(); /* before a state is open, or nobody has left */
}

/* An error that nothing catches. */
static int
panic(lua_State *L)
{
  (void)L;
  real_assertion("panic: an error outside of any protected call");
  return 0;
}

#if LUA_VERSION_NUM >= 504
/* A warning comes in pieces. */
static void
warn(void *user, const char *text, int is_continued)
{
  struct subject_instance *real = user;
  size_t room = sizeof real->warning - 1 - real->warning_length;
  size_t length = strlen(text);
  if (length > room)
    length = room;
  memcpy(real->warning + real->warning_length, text, length);
  real->warning_length += length;
  real->warning[real->warning_length] = '\0';
  if (is_continued)
    return;
  tell_text(real, SUBJECT_EVENT_WARNING, real->warning);
  real->warning_length = 0;
}
#endif

/* ---- open and close -------------------------------------------------- */

/* The old size is a tag if there is no block. Up to 5.3 a block that shrinks
 * may not be refused. */
static void *
allocate(void *user, void *block, size_t old_size, size_t new_size)
{
  struct subject_instance *real = user;
  const struct subject_env *env = &real->env;
  bool shrinks = !REAL_MAY_FAIL_TO_SHRINK && block && new_size &&
                 new_size <= old_size && !real->held;
  if (!block && !new_size)
    return NULL;
  if (shrinks)
    real_hold(real, true);
  void *new = env->allocate(env->allocator, block, block ? old_size : 0,
                            new_size);
  if (shrinks)
    real_hold(real, false);
  if (!new && new_size && real->forgives) {
    real->forgives = false;
    real_hold(real, true);
  }
  return new;
}

void
real_hold(struct subject_instance *real, bool held)
{
  real->held = held;
  real->env.hold(real->env.allocator, held);
}

static void
keep(lua_State *L, int key)
{
  lua_rawseti(L, LUA_REGISTRYINDEX, key);
}

#if REAL_HAS_CLOSING
static int
do_nothing(lua_State *L)
{
  (void)L;
  return 0;
}
#endif

/* What the adapter names. */
static void
keep_names(lua_State *L)
{
  char bytes[OP_STRING_MAX];
  lua_pushlstring(L, bytes, op_string_name(0, bytes));
  keep(L, KEY_FIELD);
  lua_pushlstring(L, bytes, op_string_global(0, bytes));
  keep(L, KEY_GLOBAL_0);
  lua_pushlstring(L, bytes, op_string_global(1, bytes));
  keep(L, KEY_GLOBAL_1);
  lua_pushlstring(L, bytes, op_string_name(OP_HOT_NAME, bytes));
  keep(L, KEY_HOT);
  lua_pushliteral(L, "as the finalizer's behaviour says");
  keep(L, KEY_ERROR);
#if REAL_HAS_CLOSING
  lua_createtable(L, 0, 0);
  lua_createtable(L, 0, 1);
  lua_pushlstring(L, bytes, op_string_event(OP_EVENT_CLOSE, bytes));
  lua_pushvalue(L, -1);
  keep(L, KEY_CLOSE);
  lua_pushcfunction(L, do_nothing);
  lua_rawset(L, -3);
  lua_setmetatable(L, -2);
  keep(L, KEY_CLOSABLE);
#endif
}

static void
keep_functions(lua_State *L)
{
#if REAL_OLD_API
  for (int i = 0; i < KEY_NATIVE - KEY_FUNCTION; i++) {
    lua_pushcfunction(L, real_functions[i]);
    keep(L, KEY_FUNCTION + i);
  }
  for (int i = 0; i < REAL_NATIVES; i++) {
    lua_pushcfunction(L, real_natives[i]);
    keep(L, KEY_NATIVE + i);
  }
#else
  (void)L;
#endif
  real_push_driver(L);
  keep(L, KEY_ACCESS);
  real_instance->driver = lua_topointer(L, -1);
  keep(L, KEY_DRIVER);
}

/* A coroutine of the language with one frame that has no function. */
static void
make_main(lua_State *L)
{
  struct subject_instance *real = real_instance;
  real->main = lua_newthread(L);
  keep(L, KEY_MAIN);
  real->running = real->main;
  lua_pushnil(real->main);
  real_start(real, real->main, 0);
}

/* One closure for each number of captures, over upvalues of its own. */
static void
make_seeds(lua_State *L)
{
#if REAL_HAS_JOIN
  for (int i = 0; i <= CAPTURES_MAX; i++) {
    if (!real_capture(real_instance, 0, i))
      real_assertion("a closure cannot be made");
    keep(L, KEY_SEED + i);
    real_instance->op = (struct op){.code = OP_CLOSEUP};
    real_perform_flow(real_instance, real_instance->op);
  }
#else
  (void)L;
#endif
}

static int
set_up(lua_State *L)
{
  keep_names(L);
  keep_functions(L);
#if REAL_JIT
  real_keep_libraries(L);
#endif
  make_main(L);
  make_seeds(L);
  return 0;
}

/* The collector makes no step of its own meanwhile: nobody can watch it
 * yet. */
static bool
prepare(struct subject_instance *real)
{
  lua_State *L = real->state;
  collector(L, LUA_GCSTOP, 0);
  lua_atpanic(L, panic);
#if LUA_VERSION_NUM >= 504
  lua_setwarnf(L, warn, real);
#endif
#if LUA_VERSION_NUM >= 502
  lua_pushcfunction(L, set_up);
  if (lua_pcall(L, 0, 0, 0) != 0)
    return false;
#else
  if (lua_cpcall(L, set_up, NULL) != 0)
    return false;
#endif
#if defined(LUA_GCGEN)
  if (real->mode == OP_MODE_GENERATIONAL)
    collector(L, LUA_GCGEN, 0);
#endif
  collector(L, LUA_GCRESTART, 0);
  collector(L, LUA_GCCOLLECT, 0);
  real->watched = true;
  return true;
}

static void
real_close(struct subject_instance *real)
{
  struct subject_env env = real->env;
  real->closing = true;
  if (real->state) {
    lua_close(real->state);
    real_expect_given_back();
  }
  real_instance = NULL;
  env.allocate(env.allocator, real, sizeof *real, 0);
}

static struct subject_instance *
real_open(const struct subject_env *env)
{
  real_instance = NULL;
  if (!real_compile_driver())
    return NULL;
  real_forget_code();
  real_forget_external();
  struct subject_instance *real =
      env->allocate(env->allocator, NULL, 0, sizeof *real);
  if (!real)
    return NULL;
  *real = (struct subject_instance){.env = *env, .mode = env->mode};
  real_instance = real;
#if LUA_VERSION_NUM >= 505
  real->state = lua_newstate(allocate, real, 0);
#else
  real->state = lua_newstate(allocate, real);
#endif
  if (!real->state || !prepare(real)) {
    real_close(real);
    return NULL;
  }
  return real;
}

/* ---- what cannot fail ------------------------------------------------ */

/* Pushes a value of the basic type. */
static void
push_basic(lua_State *L, int32_t basic)
{
  switch (basic) {
  case OP_BASIC_NIL:
    lua_pushnil(L);
    break;
  case OP_BASIC_BOOLEAN:
    lua_pushboolean(L, 1);
    break;
  case OP_BASIC_NUMBER:
    lua_pushinteger(L, 1);
    break;
  case OP_BASIC_STRING:
    push_kept(L, KEY_FIELD);
    break;
  case OP_BASIC_FUNCTION:
    push_native(L, 0);
    break;
  case OP_BASIC_THREAD:
    lua_pushthread(L);
    break;
  default:
    lua_pushlightuserdata(L, NULL);
    break;
  }
}

/* In place of the top. */
static void
replace_by_metatable(lua_State *L)
{
  if (!lua_getmetatable(L, -1))
    lua_pushnil(L);
  lua_remove(L, -2);
}

static void
push_coroutine(lua_State *L, lua_State *coroutine)
{
  lua_pushthread(coroutine);
  lua_xmove(coroutine, L, 1);
}

/* Pushes what the operation gives its register a; false: it is none of
 * these. */
static bool
push_result(lua_State *L, struct op op)
{
  switch (op.code) {
  case OP_NIL:
    lua_pushnil(L);
    return true;
  case OP_BOOL:
    lua_pushboolean(L, op.b);
    return true;
  case OP_INT:
    lua_pushinteger(L, op.b);
    return true;
  case OP_FLOAT:
    lua_pushnumber(L, op.b / 4.0);
    return true;
  case OP_LIGHTUD:
    lua_pushlightuserdata(L, (void *)(uintptr_t)op.b);
    return true;
  case OP_CFUNC:
    push_native(L, op.b);
    return true;
  case OP_MOVE:
    push_register(L, op.b);
    return true;
  case OP_GETMETA:
    push_register(L, op.b);
    replace_by_metatable(L);
    return true;
  case OP_GETBASIC:
    push_basic(L, op.b);
    replace_by_metatable(L);
    return true;
  case OP_VARARG:
    real_push_vararg(L, real_instance->running, op.b);
    return true;
  case OP_RUNNING:
    push_coroutine(L, real_instance->running);
    return true;
  case OP_GLOBALS:
    push_globals(L);
    return true;
  case OP_GETREF:
    push_register(L, op.b);
    lua_rawget(L, LUA_REGISTRYINDEX);
    return true;
  default:
    return false;
  }
}

static void
set_basic_metatable(lua_State *L, struct op op)
{
  push_basic(L, op.a);
  push_register(L, op.b);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* ---- the collector --------------------------------------------------- */

static enum subject_status
set_mode(lua_State *L, int32_t mode)
{
#if defined(LUA_GCGEN)
  collector(L, mode == OP_MODE_GENERATIONAL ? LUA_GCGEN : LUA_GCINC, 0);
  real_instance->mode = (uint8_t)mode;
  return SUBJECT_DONE;
#else
  (void)L;
  return mode == OP_MODE_INCREMENTAL ? SUBJECT_DONE : SUBJECT_UNSUPPORTED;
#endif
}

/* An explicit step in bytes where the version reckons so. */
static void
step(lua_State *L, int32_t kilobytes)
{
#if LUA_VERSION_NUM >= 505
  kilobytes *= 1024;
#endif
  collector(L, LUA_GCSTEP, kilobytes);
}

static enum subject_status
perform_collector(lua_State *L, struct op op, struct subject_answer *answer)
{
  int64_t value;
  switch (op.code) {
  case OP_STEP:
    step(L, op.a);
    return SUBJECT_DONE;
  case OP_COLLECT:
    collector(L, LUA_GCCOLLECT, 0);
    return SUBJECT_DONE;
  case OP_STOP:
    collector(L, LUA_GCSTOP, 0);
    real_instance->stopped = true;
    return SUBJECT_DONE;
  case OP_RESTART:
    collector(L, LUA_GCRESTART, 0);
    real_instance->stopped = false;
    return SUBJECT_DONE;
  case OP_MODE:
    return set_mode(L, op.a);
  case OP_MINOR:
    for (int32_t i = 0; i < op.a; i++)
      collector(L, LUA_GCSTEP, 0);
    return SUBJECT_DONE;
  case OP_PARAM:
    if (!real_set_parameter(L, op.a, op.b, &value))
      return SUBJECT_UNSUPPORTED;
    answer->value[0] =
        (struct subject_value){(uint64_t)value, SUBJECT_INTEGER};
    return SUBJECT_DONE;
  default:
    return SUBJECT_UNSUPPORTED;
  }
}

/* ---- what may fail --------------------------------------------------- */

static bool
is_of_collector(uint8_t code)
{
  return op_infos[code].flags & OP_STEERS;
}

static int
perform_protected(lua_State *L)
{
  struct subject_instance *real = real_instance;
  struct op op = real->op;
  real->status = is_of_collector(op.code)
                     ? perform_collector(L, op, real->answer)
                     : real_perform_value(L, op, real->answer);
  real_hold_collector(real, true); /* it is over: 5.1 would check now */
  return 0;
}

const lua_CFunction real_functions[] = {[FUNCTION_PERFORM] = perform_protected,
                                        [FUNCTION_BEHAVE] = real_behave,
                                        [FUNCTION_ACT] = real_do_number,
                                        [FUNCTION_MAKE] = real_make_table};

static bool
is_finalizers_error(int status)
{
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
  return status == LUA_ERRGCMM;
#else
  return !REAL_CONTAINS_ERRORS && status == LUA_ERRRUN;
#endif
}

/* Calls what has been pushed. Gives lua_pcall's status. */
static int
run(lua_State *L, struct op op)
{
  if (calls_metamethod(op)) {
    real_hold(real_instance, true);
    int status = lua_pcall(L, 0, 0, 0);
    real_hold(real_instance, false);
    return status;
  }
  if (op.code != OP_HOT)
    return lua_pcall(L, 0, 0, 0);
  real_switch_compiler(L, true);
  int status = lua_pcall(L, 0, 0, 0);
  real_switch_compiler(L, false);
  if (status != 0)
    real_undo_hot(L, op);
  return status;
}

static enum subject_status
protect(struct subject_instance *real)
{
  lua_State *L = real->state;
  for (uint32_t i = 0; i < REDONE_MAX; i++) {
    push_function(L, FUNCTION_PERFORM);
    if (!real_may_collect(real->op) || calls_metamethod(real->op))
      real_hold_collector(real, true);
    int status = run(L, real->op);
    real_hold_collector(real, false);
    lua_settop(L, 0);
    if (status == 0 && (int)real->status != STATUS_AGAIN)
      return real->status;
    if (status == LUA_ERRMEM)
      return SUBJECT_NO_MEMORY;
    if (status != 0 && !is_finalizers_error(status))
      return SUBJECT_ERROR;
  }
  real_assertion("an operation meets errors of finalizers without end");
  return SUBJECT_ERROR;
}

static enum subject_status
real_perform(struct subject_instance *real, struct op op,
             struct subject_answer *answer)
{
  lua_State *L = real->state;
  real->op = op;
  real->answer = answer;
  if (push_result(L, op)) {
    pop_register(L, op.a);
    return SUBJECT_DONE;
  }
  switch (op.code) {
  case OP_BASICMETA:
    set_basic_metatable(L, op);
    return SUBJECT_DONE;
  case OP_CALL:
  case OP_PCALL:
  case OP_CALLV:
  case OP_RETURN:
  case OP_TAILCALL:
  case OP_SETTOP:
  case OP_RESERVE:
  case OP_ERROR:
  case OP_TBC:
  case OP_CLOSEUP:
  case OP_CLOSURE:
  case OP_RESUME:
  case OP_YIELD:
  case OP_COSET:
  case OP_COGET:
  case OP_COCLOSE:
    return real_perform_flow(real, op);
  default:
    return protect(real);
  }
}

const struct subject REAL_SUBJECT = {
    .name = REAL_NAME,
    .title = REAL_TITLE,
    .capabilities = SUBJECT_CAN_SURVEY | SUBJECT_CAN_COLOUR |
                    SUBJECT_CAN_STEP | SUBJECT_CAN_COUNT |
                    SUBJECT_CAN_TELL_STEPS | REAL_TELLS_EMERGENCIES,
    .traits = &real_traits,
    .open = real_open,
    .close = real_close,
    .perform = real_perform,
    .micro_step = real_micro_step,
    .phase = real_phase,
    .steps_are_whole = real_steps_are_whole,
    .survey = real_survey};
