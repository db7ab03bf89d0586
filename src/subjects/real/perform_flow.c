/* SPDX-License-Identifier: MIT
 *
 * The operations on frames and coroutines. Between operations each coroutine
 * that has started is suspended in await(), so what moves values only is done
 * from outside, on its registers. What enters, leaves or captures resumes it,
 * and the driver does as await() then returns.
 *
 * While the VM runs, a refused allocation would kill the coroutine: room is
 * made before, which may fail, and then refusals are held.
 */
#include "subjects/real/perform.h"

enum {
  ROOM = 80, /* slots for a frame of the driver and what it calls */
  WAITED_FOR = 1, /* slots of await's frame while its coroutine waits */
  PLACE = 2
};

/* ---- what the driver calls ------------------------------------------- */

int
real_await(lua_State *L)
{
  return lua_yield(L, 1);
}

/* Pushes the function and arguments of a call: the driver's parameters. */
static int
push_call(lua_State *L, struct op op)
{
  int count = op.code == OP_CALLV ? REAL_LOCAL_COUNT + op.c : 1 + op.c;
  luaL_checkstack(L, count, "no room for a call");
  real_push_local(L, L, 0, local_of(op.a));
  if (op.code == OP_CALLV)
    for (int i = 1; i < REAL_LOCAL_COUNT; i++)
      lua_pushnil(L);
  for (int32_t i = 0; i < op.c; i++)
    real_push_local(L, L, 0, local_of(op.b + i));
  return count;
}

/* What the operation says, on the running coroutine. */
int
real_act(lua_State *L)
{
  struct subject_instance *real = real_instance;
  struct op op = real->op;
  switch (op.code) {
  case OP_CLOSURE:
    lua_xmove(L, real->state, 1);
    return 0;
  case OP_ERROR:
    real_push_local(L, L, 0, local_of(op.a));
    return lua_error(L);
  case OP_CLOSEUP:
    real_close_from(L, REAL_LOCAL_REGISTER + (int)op.a);
    return 0;
  default:
    return push_call(L, op);
  }
}

#if !REAL_JIT
#if LUA_VERSION_NUM >= 503
static int
protect_ended(lua_State *L, int status, lua_KContext context)
{
  (void)L;
  (void)status;
  (void)context;
  return 0;
}
#elif LUA_VERSION_NUM == 502
static int
protect_ended(lua_State *L)
{
  (void)L;
  return 0;
}
#endif

/* Calls its first argument with the others, protected. */
int
real_protect(lua_State *L)
{
#if LUA_VERSION_NUM >= 502
  lua_pcallk(L, lua_gettop(L) - 1, 0, 0, 0, protect_ended);
#else
  lua_pcall(L, lua_gettop(L) - 1, 0, 0);
#endif
  return 0;
}
#endif

/* ---- running the VM -------------------------------------------------- */

/* Runs a coroutine until it awaits again, is finished or has failed; what it
 * gave lies on its stack. */
static int
run(struct subject_instance *real, lua_State *coroutine, int arguments)
{
  real_hold(real, !real->forgives);
  /* An error of what cannot be called would kill the coroutine (5.1). */
  if (LUA_VERSION_NUM == 501 || !real_may_collect(real->op))
    real_hold_collector(real, true);
  real->in_vm = true;
  int status = resume(coroutine, real->state, arguments);
  real->in_vm = false;
  real_hold_collector(real, false);
  real_hold(real, false);
  real->forgives = false;
  return status;
}

/* Lets the driver do something in the running coroutine. place: the register
 * that results are to go to when it awaits again in this frame. Gives the
 * place of the frame in which it awaits then. */
static int
drive(struct subject_instance *real, int what, int32_t place, int *ret_place)
{
  lua_State *coroutine = real->running;
  lua_pushinteger(coroutine, what);
  lua_pushinteger(coroutine, place);
  int status = run(real, coroutine, 2);
  if (status == LUA_YIELD)
    *ret_place = (int)lua_tointeger(coroutine, -1);
  lua_settop(coroutine, 0);
  return status;
}

static void
expect(int status, int expected)
{
  if (status != expected)
    real_assertion("a coroutine does not do what its driver was told");
}

void
real_start(struct subject_instance *real, lua_State *coroutine, int arguments)
{
  push_kept(real->state, KEY_DRIVER);
  lua_xmove(real->state, coroutine, 1);
  lua_insert(coroutine, 1);
  expect(run(real, coroutine, arguments + 1), LUA_YIELD);
  lua_settop(coroutine, 0);
}

bool
real_capture(struct subject_instance *real, int32_t first, int32_t count)
{
  int place;
  if (!real_reserve(real->running, ROOM))
    return false;
  real->op = (struct op){.code = OP_CLOSURE};
  real_aim(real, first, count);
  real->forgives = REAL_CURES;
  expect(drive(real, DRIVER_CLOSURE + count, 0, &place), LUA_YIELD);
  return true;
}

/* ---- values on their way --------------------------------------------- */

/* Pushes count registers of the running coroutine, from first on, onto the
 * VM's main thread. */
static void
gather(struct subject_instance *real, int32_t first, int32_t count)
{
  for (int32_t i = 0; i < count; i++)
    push_register(real->state, first + i);
}

/* Pops count values into registers of the running coroutine. */
static void
spread(struct subject_instance *real, int32_t first, int32_t count)
{
  while (count-- > 0)
    pop_register(real->state, first + count);
}

/* The running coroutine makes way for the one that resumed it, which gets
 * count values from the top of the VM's main thread. */
static void
give_back(struct subject_instance *real, int32_t count)
{
  lua_State *to = real->main;
  for (;;) {
    lua_State *next = lua_tothread(to, WAITED_FOR);
    if (next == real->running)
      break;
    to = next;
  }
  int32_t place = (int32_t)lua_tointeger(to, PLACE);
  lua_settop(to, 0);
  real->running = to;
  spread(real, place, count);
}

/* ---- to-be-closed values --------------------------------------------- */

#if REAL_HAS_CLOSING
/* Pushes the to-be-closed value n of a frame; false: it has none such, and
 * nothing is pushed. */
static bool
push_value_to_close(struct subject_instance *real, lua_State *coroutine,
                    int depth, int n)
{
  lua_State *L = real->state;
  if (n == REAL_CLOSE_MAX)
    return false;
  real_push_local(L, coroutine, depth, REAL_LOCAL_CLOSE + n);
  if (!lua_isnil(L, -1))
    return true;
  lua_pop(L, 1);
  return false;
}

/* Its local := the top, which goes. */
static void
set_value_to_close(struct subject_instance *real, lua_State *coroutine,
                   int depth, int n)
{
  real_set_local(real->state, coroutine, depth, REAL_LOCAL_CLOSE + n);
}

/* Whether the __close of the top is a native. */
static bool
has_closer(lua_State *L)
{
  int top = lua_gettop(L);
  if (!lua_getmetatable(L, -1))
    return false;
  push_kept(L, KEY_CLOSE);
  lua_rawget(L, -2);
  lua_CFunction closer = lua_tocfunction(L, -1);
  bool has = closer && !lua_getupvalue(L, -1, 1) &&
             real_native_number(closer) < REAL_NATIVES;
  lua_settop(L, top);
  return has;
}

/* A frame is about to be left. The VM would raise an error for a value that
 * has lost its closer; the language passes over it: something that can be
 * closed takes its place. */
static void
replace_unclosable(struct subject_instance *real, lua_State *coroutine,
                   int depth)
{
  lua_State *L = real->state;
  for (int n = 0; push_value_to_close(real, coroutine, depth, n); n++) {
    bool is_lost = !has_closer(L);
    lua_pop(L, 1);
    if (!is_lost)
      continue;
    push_kept(L, KEY_CLOSABLE);
    set_value_to_close(real, coroutine, depth, n);
  }
}

/* How many frames of a coroutine an error leaves; 0: nothing catches it. */
static int
count_frames_left(struct subject_instance *real, lua_State *coroutine)
{
  lua_State *L = real->state;
  lua_Debug call;
  for (int level = 1, depth = 0; lua_getstack(coroutine, level, &call);
       level++) {
    lua_getinfo(coroutine, "f", &call);
    lua_xmove(coroutine, L, 1);
    lua_CFunction function = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    if (function == real_protect)
      return depth;
    depth += function == NULL;
  }
  return 0;
}

static int
count_frames(lua_State *coroutine)
{
  int depth = 0;
  lua_Debug call;
  for (int level = 1; lua_getstack(coroutine, level, &call); level++) {
    lua_getinfo(coroutine, "S", &call);
    depth += *call.what != 'C';
  }
  return depth;
}

static void
replace_all_unclosable(struct subject_instance *real, lua_State *coroutine,
                       int frames)
{
  for (int depth = 0; depth < frames; depth++)
    replace_unclosable(real, coroutine, depth);
}
#endif

/* ---- frames ---------------------------------------------------------- */

static enum subject_status
call(struct subject_instance *real, struct op op)
{
  static const int actions[OP_COUNT] = {[OP_CALL] = DRIVER_CALL,
                                        [OP_CALLV] = DRIVER_CALL,
                                        [OP_PCALL] = DRIVER_PCALL,
                                        [OP_TAILCALL] = DRIVER_TAILCALL};
  int place;
#if REAL_OLD_API && !REAL_JIT
  if (op.code == OP_PCALL)
    return SUBJECT_UNSUPPORTED;
#endif
  if (!real_reserve(real->running, ROOM + 2 * (int)op.c))
    return SUBJECT_NO_MEMORY;
  expect(drive(real, actions[op.code], op.a, &place), LUA_YIELD);
  return SUBJECT_DONE;
}

static enum subject_status
leave(struct subject_instance *real, struct op op)
{
  int place;
  gather(real, op.a, op.b);
#if REAL_HAS_CLOSING
  replace_unclosable(real, real->running, 0);
#endif
  int status = drive(real, DRIVER_RETURN, 0, &place);
  if (status == LUA_YIELD) {
    spread(real, place, op.b);
  } else {
    expect(status, 0);
    give_back(real, op.b);
  }
  return SUBJECT_DONE;
}

static enum subject_status
raise_error(struct subject_instance *real, struct op op)
{
  int place;
  gather(real, op.a, 1);
#if REAL_HAS_CLOSING
  replace_all_unclosable(real, real->running,
                         count_frames_left(real, real->running));
#endif
  int status = drive(real, DRIVER_ACT, 0, &place);
  if (status == LUA_YIELD) {
    spread(real, place, 1);
  } else {
    expect(status, LUA_ERRRUN);
    give_back(real, 1);
  }
  return SUBJECT_DONE;
}

static void
set_top(struct subject_instance *real, int32_t top)
{
  for (int32_t i = top; i < OP_REGISTERS; i++) {
    lua_pushnil(real->state);
    pop_register(real->state, i);
  }
}

static enum subject_status
to_be_closed(struct subject_instance *real, struct op op)
{
#if REAL_HAS_CLOSING
  lua_State *L = real->state;
  lua_State *coroutine = real->running;
  int n = 0;
  for (; push_value_to_close(real, coroutine, 0, n); n++)
    lua_pop(L, 1);
  push_register(L, op.a);
  set_value_to_close(real, coroutine, 0, n);
  if (real_mark_to_close(coroutine, REAL_LOCAL_CLOSE + n))
    return SUBJECT_DONE;
  lua_pushnil(L);
  set_value_to_close(real, coroutine, 0, n);
  return SUBJECT_NO_MEMORY;
#else
  (void)real;
  (void)op;
  return SUBJECT_UNSUPPORTED;
#endif
}

/* What is closed is also forgotten. */
static enum subject_status
close_up(struct subject_instance *real)
{
  int place;
#if REAL_HAS_CLOSING
  replace_unclosable(real, real->running, 0);
#endif
  expect(drive(real, DRIVER_ACT, 0, &place), LUA_YIELD);
  return SUBJECT_DONE;
}

static enum subject_status
capture(struct subject_instance *real, struct op op)
{
  if (!real_capture(real, op.b, op.c))
    return SUBJECT_NO_MEMORY;
  pop_register(real->state, op.a);
  return SUBJECT_DONE;
}

/* ---- coroutines ------------------------------------------------------ */

/* The coroutine in a register. */
static lua_State *
coroutine_in(struct subject_instance *real, int32_t reg)
{
  lua_State *L = real->state;
  push_register(L, reg);
  lua_State *coroutine = lua_tothread(L, -1);
  lua_pop(L, 1);
  return coroutine;
}

static enum subject_status
resume_coroutine(struct subject_instance *real, struct op op)
{
  lua_State *L = real->state;
  lua_State *from = real->running;
  lua_State *to = coroutine_in(real, op.a);
  bool starts = lua_status(to) == 0;
  if (!real_reserve(to, ROOM))
    return SUBJECT_NO_MEMORY;
  push_register(L, op.a);
  gather(real, op.b, op.c);
  if (starts) {
    lua_xmove(L, to, (int)op.c);
    real_start(real, to, (int)op.c);
  }
  real->running = to;
  if (!starts)
    spread(real, 0, op.c);
  lua_xmove(L, from, 1);
  lua_pushinteger(from, op.a);
  return SUBJECT_DONE;
}

static enum subject_status
yield(struct subject_instance *real, struct op op)
{
  gather(real, op.a, op.b);
  give_back(real, op.b);
  return SUBJECT_DONE;
}

static enum subject_status
close_coroutine(struct subject_instance *real, struct op op)
{
#if REAL_HAS_CLOSING
  lua_State *coroutine = coroutine_in(real, op.a);
  replace_all_unclosable(real, coroutine, count_frames(coroutine));
  real_hold(real, true);
#if LUA_VERSION_NUM >= 505 || LUA_VERSION_RELEASE_NUM >= 50406
  lua_closethread(coroutine, real->state);
#else
  lua_resetthread(coroutine);
#endif
  real_hold(real, false);
  lua_settop(coroutine, 0);
  return SUBJECT_DONE;
#else
  (void)real;
  (void)op;
  return SUBJECT_UNSUPPORTED;
#endif
}

enum subject_status
real_perform_flow(struct subject_instance *real, struct op op)
{
  lua_State *L = real->state;
  switch (op.code) {
  case OP_CALL:
  case OP_PCALL:
  case OP_CALLV:
  case OP_TAILCALL:
    return call(real, op);
  case OP_RETURN:
    return leave(real, op);
  case OP_ERROR:
    return raise_error(real, op);
  case OP_SETTOP:
    set_top(real, op.a);
    return SUBJECT_DONE;
  case OP_RESERVE:
    return real_reserve(real->running, (int)op.a) ? SUBJECT_DONE
                                                  : SUBJECT_NO_MEMORY;
  case OP_TBC:
    return to_be_closed(real, op);
  case OP_CLOSEUP:
    return close_up(real);
  case OP_CLOSURE:
    return capture(real, op);
  case OP_RESUME:
    return resume_coroutine(real, op);
  case OP_YIELD:
    return yield(real, op);
  case OP_COSET:
    push_register(L, op.c);
    real_set_local(L, coroutine_in(real, op.a), 0, local_of(op.b));
    return SUBJECT_DONE;
  case OP_COGET:
    real_push_local(L, coroutine_in(real, op.b), 0, local_of(op.c));
    pop_register(L, op.a);
    return SUBJECT_DONE;
  case OP_COCLOSE:
    return close_coroutine(real, op);
  default:
    return SUBJECT_UNSUPPORTED;
  }
}
