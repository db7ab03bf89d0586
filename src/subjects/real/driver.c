/* SPDX-License-Identifier: MIT
 *
 * The Lua text of the adapter: the driver, whose activations are the language's
 * frames (see real.h), the access function, which holds the accesses that the
 * adapter makes by bytecode, and a loop of stores (perform_hot.c).
 *
 * The text is compiled once, in a state of its own, and loaded as binary,
 * stripped of names where the version can: a survey shows every object, so
 * each string and prototype less is less work. Expressions of closures are one
 * for each number of captures; before one is evaluated it is aimed at the
 * registers wanted (puc_inside.c).
 *
 * What await() is given is kept by the frame and comes back with the next
 * await(): the number of the register that results of a call go to.
 */
#include <stdlib.h>
#include <string.h>

#include "subjects/real/perform.h"

#define LIST_16 "r0,r1,r2,r3,r4,r5,r6,r7,r8,r9,r10,r11,r12,r13,r14,r15"

#define BODY_0(SHARE) \
  "function(a)if a==8 then return " SHARE " end end"
#define BODY_1(SHARE) \
  "function(a,v)if a==0 then return r0 elseif a==4 then r0=v " \
  "elseif a==8 then return " SHARE " end end"
#define BODY_2(SHARE) \
  "function(a,v)if a==0 then return r0 elseif a==1 then return r1 " \
  "elseif a==4 then r0=v elseif a==5 then r1=v " \
  "elseif a==8 then return " SHARE " end end"
#define BODY_3(SHARE) \
  "function(a,v)if a==0 then return r0 elseif a==1 then return r1 " \
  "elseif a==2 then return r2 " \
  "elseif a==4 then r0=v elseif a==5 then r1=v elseif a==6 then r2=v " \
  "elseif a==8 then return " SHARE " end end"

/* A closure made by sharing makes others in its turn where the API cannot. */
#if REAL_HAS_JOIN
#define CLOSURE(n) BODY_##n(BODY_##n##_LAST)
#else
#define CLOSURE(n) BODY_##n(BODY_##n##_MORE)
#endif
#define BODY_0_LAST BODY_0("nil")
#define BODY_1_LAST BODY_1("nil")
#define BODY_2_LAST BODY_2("nil")
#define BODY_3_LAST BODY_3("nil")
#define BODY_0_MORE BODY_0(BODY_0(BODY_0("nil")))
#define BODY_1_MORE BODY_1(BODY_1(BODY_1("nil")))
#define BODY_2_MORE BODY_2(BODY_2(BODY_2("nil")))
#define BODY_3_MORE BODY_3(BODY_3(BODY_3("nil")))

static const char driver_text[] =
    "local await,act,protect=... "
    "local D "
    "D=function(f," LIST_16 ",t0,t1,t2,t3,...)"
    "local what,place "
    "while true do "
    "what,place=await(place)"
    "if what<2 then "
    "if what==0 then D(act())else protect(D,act())end "
    "elseif what==2 then return D(act())"
    "elseif what==3 then return "
    "elseif what==4 then act()"
    "elseif what==5 then act(" CLOSURE(0) ")"
    "elseif what==6 then act(" CLOSURE(1) ")"
    "elseif what==7 then act(" CLOSURE(2) ")"
    "else act(" CLOSURE(3) ")end "
    "end "
    "end "
    "return D,function(a,t,k,v,...)"
    "if a==0 then return t[k]"
    "elseif a==1 then t[k]=v "
    "elseif a==2 then return t.s0 "
    "elseif a==3 then t.s0=v "
    "elseif a==4 then return t[1]"
    "elseif a==5 then t[1]=v "
    "elseif a==6 then local n=#t+1 t[n]=v return n "
    "elseif a==7 then return{t,k,v,...}"
    "elseif a==8 then return{t(),t(),t()}"
    "elseif a==9 then return t..k "
    "elseif a==10 then local y for i=1,v do y={k}t[1]=y end return y "
    "else local y for i=1,v do y={k}t.s1=y end return y end "
    "end";

static const char loop_text[] =
    "local u "
    "return function(x,n)"
    "local y for i=1,n do y={x}u=y end return y "
    "end";

/* ---- compiled once --------------------------------------------------- */

/* Of size 0: not compiled yet. */
static struct real_binary driver, loop;

static void *
allocate(void *user, void *block, size_t old_size, size_t new_size)
{
  (void)user;
  (void)old_size;
  if (new_size)
    return realloc(block, new_size);
  free(block);
  return NULL;
}

static int
write_binary(lua_State *L, const void *bytes, size_t size, void *user)
{
  struct real_binary *binary = user;
  (void)L;
  if (size > sizeof binary->bytes - binary->size)
    return 1;
  if (size)
    memcpy(binary->bytes + binary->size, bytes, size);
  binary->size += size;
  return 0;
}

int
real_dump(lua_State *L, struct real_binary *binary)
{
  binary->size = 0;
  return real_dump_by(L, write_binary, binary);
}

static bool
compile(const char *text, size_t size, struct real_binary *binary)
{
  if (binary->size)
    return true;
#if LUA_VERSION_NUM >= 505
  lua_State *L = lua_newstate(allocate, NULL, 0);
#else
  lua_State *L = lua_newstate(allocate, NULL);
#endif
  if (!L)
    return false;
  bool done = luaL_loadbuffer(L, text, size, "=driver") == 0 &&
              real_dump(L, binary) == 0;
  lua_close(L);
  if (!done)
    binary->size = 0;
  return done;
}

bool
real_compile_driver(void)
{
  return compile(driver_text, sizeof driver_text - 1, &driver) &&
         compile(loop_text, sizeof loop_text - 1, &loop);
}

void
real_push_driver(lua_State *L)
{
  if (luaL_loadbuffer(L, driver.bytes, driver.size, "=driver") != 0)
    lua_error(L);
  lua_pushcfunction(L, real_await);
  lua_pushcfunction(L, real_act);
#if REAL_JIT
  real_push_pcall(L);
#else
  lua_pushcfunction(L, real_protect);
#endif
  lua_call(L, 3, 2);
}

int
real_push_loop(lua_State *L)
{
  int status = luaL_loadbuffer(L, loop.bytes, loop.size, "=driver");
  if (status == 0)
    lua_call(L, 0, 1);
  return status;
}
