/* SPDX-License-Identifier: MIT
 *
 * The operations on functions: C closures, upvalues, closures that share them,
 * and loading. Under protection, as those of perform_values.c.
 *
 * The bodies of the stream's Lua closures get, set and share their upvalues
 * when they are called so (BODY_*), and its C closures set theirs while they
 * run: for half of the operands that is done, so that the VM's own instructions
 * and barriers run; for the others the API does it from outside.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subjects/real/perform.h"

/* ---- upvalues -------------------------------------------------------- */

static bool
is_lua_closure(lua_State *L, int index)
{
  return lua_isfunction(L, index) && !lua_iscfunction(L, index);
}

static void
native_closure(lua_State *L, struct op op)
{
  for (int32_t i = 0; i < op.c; i++)
    push_register(L, op.b + i);
  lua_pushcclosure(L, real_natives[0], (int)op.c);
  pop_register(L, op.a);
}

static void
get_upvalue(lua_State *L, struct op op)
{
  push_register(L, op.b);
  if (by_bytecode(op) && is_lua_closure(L, -1)) {
    lua_pushinteger(L, BODY_GET + op.c);
    lua_call(L, 1, 1);
  } else {
    lua_getupvalue(L, -1, (int)op.c + 1);
  }
  pop_register(L, op.a);
}

static void
set_upvalue(lua_State *L, struct op op)
{
  push_register(L, op.a);
  if (by_bytecode(op) && is_lua_closure(L, -1)) {
    lua_pushinteger(L, BODY_SET + op.b);
    push_register(L, op.c);
    lua_call(L, 2, 0);
  } else if (by_bytecode(op)) {
    lua_pushlightuserdata(L, real_store_asked());
    lua_pushinteger(L, op.b + 1);
    push_register(L, op.c);
    lua_call(L, 3, 0);
  } else {
    push_register(L, op.c);
    lua_setupvalue(L, -2, (int)op.b + 1);
  }
}

static enum subject_status
join(lua_State *L, struct op op)
{
#if REAL_HAS_JOIN
  push_register(L, op.a);
  push_register(L, op.b);
  lua_upvaluejoin(L, -2, (int)op.c / 4 + 1, -1, (int)op.c % 4 + 1);
  return SUBJECT_DONE;
#else
  (void)L;
  (void)op;
  return SUBJECT_UNSUPPORTED;
#endif
}

/* Calls the closure at the top so that it makes another one with its upvalues,
 * which is pushed, or nil. */
static void
call_to_share(lua_State *L)
{
  real_forget_shared(L, -1);
  lua_pushvalue(L, -1);
  lua_pushinteger(L, BODY_SHARE);
  lua_call(L, 1, 1);
}

#if REAL_HAS_JOIN
static int
upvalue_count(lua_State *L, int index)
{
  lua_Debug about;
  lua_pushvalue(L, index);
  lua_getinfo(L, ">u", &about);
  return about.nups;
}

/* The same by the API: a seed makes a closure, which is given the upvalues. */
static void
join_to_share(lua_State *L)
{
  int count = upvalue_count(L, -1);
  push_kept(L, KEY_SEED + count);
  call_to_share(L);
  lua_remove(L, -2);
  for (int i = 1; i <= count; i++)
    lua_upvaluejoin(L, -1, i, -2, i);
#if REAL_OLD_API
  lua_getfenv(L, -2);
  lua_setfenv(L, -2);
#endif
}
#endif

static enum subject_status
share(lua_State *L, struct op op)
{
  push_register(L, op.b);
#if REAL_HAS_JOIN
  if (by_bytecode(op))
    call_to_share(L);
  else
    lua_pushnil(L);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    join_to_share(L);
  }
#else
  call_to_share(L);
  if (lua_isnil(L, -1))
    return SUBJECT_UNSUPPORTED;
#endif
  pop_register(L, op.a);
  return SUBJECT_DONE;
}

#if REAL_OLD_API
/* That of the globals stands for nil. */
static void
set_environment(lua_State *L, struct op op)
{
  push_register(L, op.a);
  push_register(L, op.b);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    push_globals(L);
  }
  lua_setfenv(L, -2);
}

static void
get_environment(lua_State *L, struct op op)
{
  push_register(L, op.b);
  lua_getfenv(L, -1);
  push_globals(L);
  if (lua_rawequal(L, -1, -2))
    lua_pushnil(L);
  else
    lua_pop(L, 1);
  pop_register(L, op.a);
}
#endif

enum subject_status
real_perform_function(lua_State *L, struct op op)
{
  switch (op.code) {
#if REAL_OLD_API
  case OP_SETENV:
    set_environment(L, op);
    return SUBJECT_DONE;
  case OP_GETENV:
    get_environment(L, op);
    return SUBJECT_DONE;
#endif
  case OP_CCLOSURE:
    native_closure(L, op);
    return SUBJECT_DONE;
  case OP_GETUPVAL:
    get_upvalue(L, op);
    return SUBJECT_DONE;
  case OP_SETUPVAL:
    set_upvalue(L, op);
    return SUBJECT_DONE;
  case OP_SHARE:
    return share(L, op);
  case OP_JOIN:
    return join(L, op);
  default:
    return SUBJECT_UNSUPPORTED;
  }
}

/* ---- loading --------------------------------------------------------- */

/* The text comes in pieces: a head and, for each constant and each nested
 * prototype, one or more. Up to 5.1 a chunk has no upvalue. Setting it ends the
 * call: nothing may be created after the store. What is cut ends in the middle
 * of a statement, a binary before its last byte. */
#if REAL_OLD_API
#define HEAD "local a=... if a==8 then return function()end end local x "
#else
#define HEAD                                                               \
  "local a,v=... if a==0 then return _ENV elseif a==4 then _ENV=v return " \
  "elseif a==8 then return function(a,v)if a==0 then return _ENV "         \
  "elseif a==4 then _ENV=v end end end local x "
#endif

enum {
  PIECE_MAX = 512,
  BINARY_PIECE = 48,
  CONSTANTS_MAX = 64,
  NESTED_FIXED = 3 /* with so many nested ones a binary stays where it is */
};

struct source {
  int constants, nested;
  int at;      /* the next piece: 0 the head */
  int inner;   /* constants of the nested one that is being written */
  int pieces;  /* that may yet come */
  bool is_cut, is_over;
  bool steps;  /* a micro-step comes between pieces */
  size_t read, end; /* of the binary */
  const struct image *image; /* that is used where it lies; NULL: none */
  char piece[PIECE_MAX];
};

/* A dumped chunk on its way to be loaded: only within an operation. */
static struct real_binary binary;

static void
step_between(const struct source *source, bool is_first)
{
  if (source->steps && !is_first && !real_instance->stopped)
    real_micro_step(real_instance);
}

/* Constant n, of short strings and, every fourth, a long one. Another fourth
 * has a variable of its own, whose name is one more string. */
static const char *
constant_piece(struct source *source, int n, size_t *ret_size)
{
  char bytes[OP_STRING_MAX + 1];
  size_t size = n % 4 == 3 ? op_string_long(n, n, bytes)
                           : op_string_name(1024 + n, bytes);
  bytes[size] = '\0';
  char variable[32] = "x";
  if (n % 4 == 2)
    snprintf(variable, sizeof variable, "local y%d", n);
  *ret_size = (size_t)snprintf(source->piece, PIECE_MAX, "%s=\"%s\" ",
                               variable, bytes);
  return source->piece;
}

static const char *
whole_piece(const char *text, size_t *ret_size)
{
  *ret_size = strlen(text);
  return text;
}

/* The pieces of the nested prototypes. Half of the constants are the outer
 * one's, too; half are theirs together. */
static const char *
nested_piece(struct source *source, size_t *ret_size)
{
  int each = source->constants / 2;
  if (source->inner < 0) {
    source->inner = 0;
    return whole_piece("x=function()local x ", ret_size);
  }
  if (source->inner < each) {
    int n = source->inner++;
    return constant_piece(source, n % 2 ? source->constants + n : n, ret_size);
  }
  source->inner = -1;
  source->nested--;
  return whole_piece("end ", ret_size);
}

/* NULL: there is none any more. */
static const char *
text_piece(struct source *source, size_t *ret_size)
{
  if (source->at == 0) {
    source->at++;
    return whole_piece(HEAD, ret_size);
  }
  if (source->at <= source->constants)
    return constant_piece(source, source->at++ - 1, ret_size);
  return source->nested ? nested_piece(source, ret_size) : NULL;
}

static const char *
read_text(lua_State *L, void *user, size_t *ret_size)
{
  struct source *source = user;
  const char *piece = NULL;
  (void)L;
  step_between(source, source->at == 0);
  if (source->pieces-- > 0)
    piece = text_piece(source, ret_size);
  if (!piece && source->is_cut && !source->is_over) {
    source->is_over = true;
    piece = whole_piece("x=", ret_size);
  }
  if (!piece)
    *ret_size = 0;
  return piece;
}

static const char *
read_binary(lua_State *L, void *user, size_t *ret_size)
{
  struct source *source = user;
  (void)L;
  step_between(source, source->read == 0);
  const char *piece = binary.bytes + source->read;
  size_t left = source->end - source->read;
  *ret_size = left < BINARY_PIECE ? left : BINARY_PIECE;
  source->read += *ret_size;
  return *ret_size ? piece : NULL;
}

#if LUA_VERSION_NUM >= 505
/* Binaries that functions go on using where they lie: they are kept for good,
 * one for each number of constants. */
static struct image {
  char *bytes;
  size_t size;
} images[CONSTANTS_MAX + 1];

static const struct image *
keep_image(int constants)
{
  struct image *image = &images[constants];
  if (!image->bytes && (image->bytes = malloc(binary.size))) {
    memcpy(image->bytes, binary.bytes, binary.size);
    image->size = binary.size;
  }
  return image->bytes ? image : NULL;
}

static bool
is_long_string(const char *bytes, size_t size)
{
  size_t digits = 1;
  while (digits < size && bytes[digits] >= '0' && bytes[digits] <= '9')
    digits++;
  return bytes[0] == 'L' && digits > 1 && digits < size &&
         bytes[digits] == ':';
}

/* What is to stay where it is must come in one piece: cut is only before long
 * strings. */
static const char *
read_image(lua_State *L, void *user, size_t *ret_size)
{
  struct source *source = user;
  const struct image *image = source->image;
  (void)L;
  step_between(source, source->read == 0);
  const char *piece = image->bytes + source->read;
  size_t left = source->end - source->read, size = left ? 1 : 0;
  while (size < left && !is_long_string(piece + size, left - size))
    size++;
  source->read += size;
  *ret_size = size;
  return size ? piece : NULL;
}
#endif

static int
load_pieces(lua_State *L, lua_Reader reader, struct source *source)
{
#if LUA_VERSION_NUM >= 505
  return lua_load(L, reader, source, "=load", source->image ? "B" : NULL);
#elif LUA_VERSION_NUM >= 502
  return lua_load(L, reader, source, "=load", NULL);
#else
  return lua_load(L, reader, source, "=load");
#endif
}

/* Dumps the function at the top, pops it, and pushes what is loaded from that.
 * Gives lua_load's status. */
static int
load_again(lua_State *L, struct source *source)
{
  int status = real_dump(L, &binary);
  if (status != 0) /* LuaJIT's allocates */
    return status;
  lua_pop(L, 1);
  source->steps = true;
  source->end = binary.size;
  if (source->is_cut && (size_t)source->pieces < binary.size / BINARY_PIECE)
    source->end = ((size_t)source->pieces + 1) * BINARY_PIECE;
  if (source->is_cut && source->end >= binary.size)
    source->end = binary.size - 1;
#if LUA_VERSION_NUM >= 505
  if (source->nested == NESTED_FIXED) {
    source->image = keep_image(source->constants);
    return source->image ? load_pieces(L, read_image, source) : LUA_ERRMEM;
  }
#endif
  return load_pieces(L, read_binary, source);
}

static enum subject_status
load(lua_State *L, struct op op, bool is_cut)
{
  bool is_binary = by_bytecode(op);
  struct source whole = {.constants = (int)op.b,
                         .nested = (int)op.c,
                         .inner = -1,
                         .pieces = INT_MAX,
                         .steps = !is_binary};
  struct source cut = whole;
  cut.is_cut = true;
  cut.pieces = (int)op.a;
  int status =
      load_pieces(L, read_text, is_cut && !is_binary ? &cut : &whole);
  if (status == 0 && is_binary) {
    whole.nested = cut.nested; /* which reading has counted down */
    status = load_again(L, is_cut ? &cut : &whole);
  }
  if (status == LUA_ERRMEM)
    return SUBJECT_NO_MEMORY;
  if (is_cut && status == LUA_ERRSYNTAX)
    return SUBJECT_DONE;
  if (is_cut && status == 0) /* it must not be */
    return SUBJECT_ERROR;
  if (status != 0) /* it was caught: a finalizer's */
    return (enum subject_status)STATUS_AGAIN;
  pop_register(L, op.a);
  return SUBJECT_DONE;
}

enum subject_status
real_perform_load(lua_State *L, struct op op)
{
  return load(L, op, op.code == OP_LOADCUT);
}
