/* SPDX-License-Identifier: MIT
 *
 * What the files of the adapter that perform operations share: perform*.c,
 * natives.c, driver.c and puc_inside.c or jit_inside.c. Nobody else includes
 * it. The differences of the versions' APIs are here, as small functions of one
 * name.
 */
#ifndef PENUMBRA_SUBJECTS_REAL_PERFORM_H
#define PENUMBRA_SUBJECTS_REAL_PERFORM_H

#include "subjects/real/real.h"

#if LUA_VERSION_NUM == 501
/* Functions have environments, C functions are objects, a call that is
 * protected by the API cannot be yielded across. */
#define REAL_OLD_API 1
#else
#define REAL_OLD_API 0
#endif

/* Whether the tree is LuaJIT's: by the build. */
#ifndef REAL_JIT
#define REAL_JIT 0
#endif

/* Errors of finalizers become warnings; else they come out of what ran the
 * collector. */
#define REAL_CONTAINS_ERRORS (LUA_VERSION_NUM >= 504 || REAL_JIT)
/* 5.2 makes none while it prepares the call of a finalizer, of which nobody can
 * tell. */
#if LUA_VERSION_NUM >= 503
#define REAL_TELLS_EMERGENCIES SUBJECT_CAN_TELL_EMERGENCIES
#else
#define REAL_TELLS_EMERGENCIES 0
#endif
/* What a collection makes room for is not refused. */
#define REAL_CURES (LUA_VERSION_NUM >= 504)
#define REAL_MAY_FAIL_TO_SHRINK (LUA_VERSION_NUM >= 504)
#define REAL_HAS_CLOSING (LUA_VERSION_NUM >= 504)
#define REAL_HAS_EXTERNAL (LUA_VERSION_NUM >= 505)
#define REAL_HAS_JOIN (LUA_VERSION_NUM >= 502 || REAL_JIT)

/* Keys of the registry that are the adapter's, below REAL_REFERENCE. */
enum {
  KEY_DRIVER = 10, /* the driver */
  KEY_ACCESS,      /* the function of the accesses by bytecode */
  KEY_MAIN,        /* the language's main coroutine */
  KEY_FIELD,       /* the strings "s0", "g0", "g1" that finalizers name */
  KEY_GLOBAL_0,
  KEY_GLOBAL_1,
  KEY_HOT,      /* the string "s1" */
  KEY_ERROR,    /* what a finalizer raises */
  KEY_CLOSE,    /* the string "__close" */
  KEY_CLOSABLE, /* a table that can be closed, of which nothing is told */
  KEY_SEED,  /* one closure for each number of captures */
  KEY_SEED_LAST = KEY_SEED + 3,
  /* C functions, where these are objects: enum real_function, natives */
  KEY_FUNCTION,
  KEY_NATIVE = KEY_FUNCTION + 4
};

enum real_function {
  FUNCTION_PERFORM,
  FUNCTION_BEHAVE,
  FUNCTION_ACT,
  FUNCTION_MAKE
};

/* What await() tells the driver to do. */
enum {
  DRIVER_CALL,
  DRIVER_PCALL,
  DRIVER_TAILCALL,
  DRIVER_RETURN,
  DRIVER_ACT,    /* call act(), which raises or closes */
  DRIVER_CLOSURE /* + number of captures */
};

/* The first argument of a stream's closure: what its body is to do. */
enum {
  BODY_GET = 0, /* + number of the upvalue; returns it */
  BODY_SET = 4, /* + number; := the second argument */
  BODY_SHARE = 8 /* returns a closure with the same upvalues */
};

/* The first argument of the access function: see driver.c. */
enum {
  ACCESS_GET,
  ACCESS_SET,
  ACCESS_GET_FIELD, /* "s0" */
  ACCESS_SET_FIELD,
  ACCESS_GET_ONE, /* 1 */
  ACCESS_SET_ONE,
  ACCESS_APPEND,
  ACCESS_LIST,
  ACCESS_MAKE,
  ACCESS_CONCAT,
  ACCESS_HOT_ONE,  /* 1; the value is the number of turns */
  ACCESS_HOT_FIELD /* "s1" */
};

enum { CAPTURES_MAX = 3 };

/* Beside enum subject_status: a finalizer's error was caught, and the operation
 * is to be begun again. */
enum { STATUS_AGAIN = SUBJECT_UNSUPPORTED + 1 };

/* ---- shims ----------------------------------------------------------- */

static inline void
push_globals(lua_State *L)
{
#if REAL_OLD_API
  lua_pushvalue(L, LUA_GLOBALSINDEX);
#else
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
#endif
}

static inline void
push_kept(lua_State *L, int key)
{
  lua_rawgeti(L, LUA_REGISTRYINDEX, key);
}

extern const lua_CFunction real_functions[];
int real_behave(lua_State *L);
int real_do_number(lua_State *L);
/* A light userdata that no stream can make. Called with it, the number of an
 * upvalue from 1 and a value, a C closure over native 0 stores the value into
 * that upvalue of its own. */
void *real_store_asked(void);
int real_make_table(lua_State *L);

/* Allocates nothing. */
static inline void
push_function(lua_State *L, enum real_function function)
{
#if REAL_OLD_API
  push_kept(L, KEY_FUNCTION + (int)function);
#else
  lua_pushcfunction(L, real_functions[function]);
#endif
}

static inline void
push_native(lua_State *L, int number)
{
#if REAL_OLD_API
  push_kept(L, KEY_NATIVE + number);
#else
  lua_pushcfunction(L, real_natives[number]);
#endif
}

static inline int
resume(lua_State *coroutine, lua_State *from, int arguments)
{
#if LUA_VERSION_NUM >= 504
  int results;
  return lua_resume(coroutine, from, arguments, &results);
#elif LUA_VERSION_NUM >= 502
  return lua_resume(coroutine, from, arguments);
#else
  (void)from;
  return lua_resume(coroutine, arguments);
#endif
}

static inline int
collector(lua_State *L, int what, int data)
{
#if LUA_VERSION_NUM >= 505
  if (what == LUA_GCSTEP)
    return lua_gc(L, what, (size_t)data);
#endif
#if LUA_VERSION_NUM == 504
  if (what == LUA_GCGEN || what == LUA_GCINC)
    return lua_gc(L, what, 0, 0, 0);
#endif
  return lua_gc(L, what, data);
}

/* ---- registers ------------------------------------------------------- */

static inline int
local_of(int32_t reg)
{
  return REAL_LOCAL_REGISTER + (int)(reg & (OP_REGISTERS - 1));
}

/* Pushes a register of the running coroutine. */
static inline void
push_register(lua_State *L, int32_t reg)
{
  real_push_local(L, real_instance->running, 0, local_of(reg));
}

/* Pops the top into one. */
static inline void
pop_register(lua_State *L, int32_t reg)
{
  real_set_local(L, real_instance->running, 0, local_of(reg));
}

/* Whether an operation takes the way through bytecode where there are two. By
 * its operands alone, so that leaving others out changes nothing. */
static inline bool
by_bytecode(struct op op)
{
  return (op.a ^ op.b ^ op.c) & 1;
}

/* Whether an operation calls a C function through __index or __newindex. */
static inline bool
calls_metamethod(struct op op)
{
  return op.code == OP_CALLINDEX || op.code == OP_CALLSTORE;
}

/* ---- perform.c ------------------------------------------------------- */

/* Whether the collector may run in an operation. */
static inline bool
real_may_collect(struct op op)
{
  return op_infos[op.code].flags & (OP_ALLOCATES | OP_STEERS);
}
/* While held, no allocation is refused. */
void real_hold(struct subject_instance *real, bool held);

/* ---- perform_flow.c: frames and coroutines --------------------------- */

enum subject_status real_perform_flow(struct subject_instance *real,
                                      struct op op);
/* A closure over count registers from first on, made by the driver, is pushed
 * on the VM's main thread. false: no memory. */
bool real_capture(struct subject_instance *real, int32_t first, int32_t count);
/* Starts a coroutine whose stack is a function and its arguments, the driver
 * below them. There must be room. */
void real_start(struct subject_instance *real, lua_State *coroutine,
                int arguments);
/* C functions that the driver calls. */
int real_await(lua_State *L);
int real_act(lua_State *L);
int real_protect(lua_State *L);

/* ---- perform_values.c, _load.c, _hot.c: under protection ------------- */

enum subject_status real_perform_value(lua_State *L, struct op op,
                                       struct subject_answer *answer);
/* Upvalues and the closures that share them. */
enum subject_status real_perform_function(lua_State *L, struct op op);
enum subject_status real_perform_load(lua_State *L, struct op op);
enum subject_status real_perform_hot(lua_State *L, struct op op);
/* Takes back what a failed OP_HOT has stored. Allocates nothing. */
void real_undo_hot(lua_State *L, struct op op);
/* User value n of the userdata at index, of those that the version has. */
void real_push_user_value(lua_State *L, int index, int n);
/* Pops the top into it; false: the version cannot hold such a value there, and
 * nothing is done but that it is popped. */
bool real_set_user_value(lua_State *L, int index, int n);
/* How many it has at most, and whether the version can hold the value at the
 * top. */
bool real_has_user_value(lua_State *L, int index, int n);

/* ---- driver.c -------------------------------------------------------- */

/* A dumped function. */
struct real_binary {
  size_t size;
  char bytes[1 << 16];
};

/* Dumps the function at the top in the place of what binary held. Gives 0 or a
 * status of the VM; not 0 where there is no room in it. */
int real_dump(lua_State *L, struct real_binary *binary);

/* To be called once before a state is opened; false: no memory. */
bool real_compile_driver(void);
/* Pushes the driver and the access function. Raises on no memory. */
void real_push_driver(lua_State *L);
/* Pushes a new loop of stores in its only upvalue: its arguments are what each
 * table has at 1 and the number of turns; it gives the last table. Gives 0, or
 * a status of the VM with its message pushed. */
int real_push_loop(lua_State *L);

/* ---- puc_inside.c, jit_inside.c: where the API does not reach --------- */

/* Makes the driver's function expression of so many captures one over
 * registers from first on. */
void real_aim(struct subject_instance *real, int32_t first, int32_t count);
/* While held, the collector makes no step by itself; its debt grows. For what
 * is to run no collector though the VM checks its debt at each call (5.1, 5.2);
 * nothing elsewhere. Gives whether it was held. */
bool real_hold_collector(struct subject_instance *real, bool held);
/* The closure at index is about to make one that shares its upvalues: it is to
 * be a new one (5.2 and 5.3 may give the one made before). */
void real_forget_shared(lua_State *L, int index);
/* Dumps the function at the top, without names where upvalues do not need
 * them. */
int real_dump_by(lua_State *L, lua_Writer writer, void *user);
#if REAL_JIT
/* Pushes the VM's own pcall, across which a coroutine can yield. */
void real_push_pcall(lua_State *L);
/* Makes empty tables of libraries, which a load of one fills anew each time. */
void real_keep_libraries(lua_State *L);
void real_load_library(lua_State *L, int32_t number);
/* Pushes a fresh cdata, as ffi.new does; false: this release cannot without its
 * library. Pops a function, which becomes the finalizer of the cdata below it,
 * as ffi.gc does. */
bool real_push_cdata(lua_State *L);
void real_set_cdata_finalizer(lua_State *L);
#endif
/* Turns the compiler on and off; machine code that an earlier run has left
 * behind is forgotten when a state is opened. */
#if REAL_JIT
void real_switch_compiler(lua_State *L, bool on);
void real_forget_code(void);
#else
static inline void
real_switch_compiler(lua_State *L, bool on)
{
  (void)L;
  (void)on;
}
static inline void
real_forget_code(void)
{
}
#endif
/* Pushes an external string of these bytes; false: no memory for them. When the
 * state has been closed all must have been given back; what a state that was
 * left has not is freed when another is opened. */
#if REAL_HAS_EXTERNAL
bool real_push_external(lua_State *L, const char *bytes, size_t size);
void real_expect_given_back(void);
void real_forget_external(void);
#else
static inline void
real_expect_given_back(void)
{
}
static inline void
real_forget_external(void)
{
}
#endif
/* Sets a parameter of the collector (OP_PARAMETER_*); false: there is none
 * such. Gives what reads back. */
bool real_set_parameter(lua_State *L, int32_t parameter, int32_t value,
                        int64_t *ret_value);

#endif
