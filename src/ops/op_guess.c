/* SPDX-License-Identifier: MIT
 *
 * See op_guess.h. Two tables by operation: which kinds its register operands
 * need, and which kind it leaves in register a.
 */
#include "ops/op_guess.h"

#include <string.h>

enum {
  NIL = 1,
  SCALAR = 2,
  NATIVE = 4, /* light C function */
  STRING = 8,
  TABLE = 16,
  USERDATA = 32,
  CCLOSURE = 64,
  CLOSURE = 128,
  COROUTINE = 256,
  REFERENCE = 512,
  CLOSES = 1024,   /* a table with a C function as __close */
  CLOSABLE = 2048, /* what has such a metatable */
  FUNCTION = NATIVE | CCLOSURE | CLOSURE,
  HAS_META = TABLE | USERDATA
};

/* By operand; 0: anything. */
static const uint16_t needs[OP_COUNT][3] = {
    [OP_CONCAT] = {0, STRING, STRING},
    [OP_GET] = {0, TABLE, 0},
    [OP_SET] = {TABLE, 0, 0},
    [OP_GETI] = {0, TABLE, 0},
    [OP_SETI] = {TABLE, 0, 0},
    [OP_GETS] = {0, TABLE, 0},
    [OP_SETS] = {TABLE, 0, 0},
    [OP_DELETE] = {TABLE, 0, 0},
    [OP_APPEND] = {TABLE, 0, 0},
    [OP_LEN] = {0, TABLE, 0},
    [OP_NEXT] = {TABLE, 0, 0},
    [OP_INDEX] = {0, HAS_META, 0},
    [OP_NEWINDEX] = {HAS_META, 0, 0},
    [OP_SETMETA] = {HAS_META, TABLE | NIL, 0},
    [OP_GETMETA] = {0, HAS_META, 0}, /* takes any; these say most */
    [OP_BASICMETA] = {0, TABLE | NIL, 0},
    [OP_SETEVENT] = {TABLE, 0, 0},
    [OP_GETUV] = {0, USERDATA, 0},
    [OP_SETUV] = {USERDATA, 0, 0},
    [OP_SHARE] = {0, CLOSURE, 0},
    [OP_GETUPVAL] = {0, CLOSURE | CCLOSURE, 0},
    [OP_SETUPVAL] = {CLOSURE | CCLOSURE, 0, 0},
    [OP_JOIN] = {CLOSURE, CLOSURE, 0},
    [OP_CALL] = {FUNCTION, 0, 0},
    [OP_PCALL] = {FUNCTION, 0, 0},
    [OP_CALLV] = {FUNCTION, 0, 0},
    [OP_TAILCALL] = {FUNCTION, 0, 0},
    [OP_TBC] = {CLOSABLE, 0, 0},
    [OP_CONEW] = {0, FUNCTION, 0},
    [OP_RESUME] = {COROUTINE, 0, 0},
    [OP_COSET] = {COROUTINE, 0, 0},
    [OP_COGET] = {0, COROUTINE, 0},
    [OP_COCLOSE] = {COROUTINE, 0, 0},
    [OP_UNREF] = {REFERENCE, 0, 0},
    [OP_GETREF] = {0, REFERENCE, 0},
    [OP_SETMODE] = {TABLE, 0, 0},
    [OP_SETGC] = {TABLE, 0, 0},
    [OP_HOT] = {TABLE | CLOSURE, 0, 0},
    [OP_SETGLOBALS] = {TABLE, 0, 0},
    [OP_CALLINDEX] = {0, HAS_META, 0},
    [OP_CALLSTORE] = {HAS_META, 0, 0},
    [OP_SETENV] = {CLOSURE | CCLOSURE | COROUTINE, TABLE | NIL, 0},
    [OP_GETENV] = {0, CLOSURE | CCLOSURE | COROUTINE, 0},
};

/* What register a holds afterwards. An operation that writes it and has no
 * row leaves something that is not known. */
static const uint16_t gives[OP_COUNT] = {
    [OP_NIL] = NIL,           [OP_BOOL] = SCALAR,
    [OP_INT] = SCALAR,        [OP_FLOAT] = SCALAR,
    [OP_LIGHTUD] = SCALAR,    [OP_CFUNC] = NATIVE,
    [OP_STR] = STRING,        [OP_LSTR] = STRING,
    [OP_CONCAT] = STRING,     [OP_NEWTABLE] = TABLE,
    [OP_GLOBALS] = TABLE,     [OP_CHAIN] = TABLE,
    [OP_WIDE] = TABLE,        [OP_NEWUD] = USERDATA,
    [OP_CCLOSURE] = CCLOSURE, [OP_CLOSURE] = CLOSURE,
    [OP_SHARE] = CLOSURE,     [OP_LOAD] = CLOSURE,
    [OP_CONEW] = COROUTINE,   [OP_RUNNING] = COROUTINE,
    [OP_REF] = REFERENCE,     [OP_LEN] = SCALAR,
    [OP_NEWWEAK] = TABLE,     [OP_EPHEMERONS] = TABLE,
    [OP_EXTSTR] = STRING,     [OP_CALLINDEX] = HAS_META,
};

/* Operations whose first operand is a register that they do not write. */
static const bool reads_a[OP_COUNT] = {
    [OP_SET] = true,      [OP_SETI] = true,    [OP_SETS] = true,
    [OP_DELETE] = true,   [OP_APPEND] = true,  [OP_NEXT] = true,
    [OP_NEWINDEX] = true, [OP_SETMETA] = true, [OP_SETEVENT] = true,
    [OP_SETUV] = true,    [OP_JOIN] = true,    [OP_SETUPVAL] = true,
    [OP_CALL] = true,     [OP_PCALL] = true,   [OP_CALLV] = true,
    [OP_RETURN] = true,   [OP_TAILCALL] = true, [OP_ERROR] = true,
    [OP_TBC] = true,      [OP_RESUME] = true,  [OP_YIELD] = true,
    [OP_COSET] = true,    [OP_COCLOSE] = true, [OP_UNREF] = true,
    [OP_SETMODE] = true,  [OP_SETGC] = true,   [OP_HOT] = true,
    [OP_SETGLOBALS] = true, [OP_CALLSTORE] = true, [OP_SETENV] = true,
};

void
op_guess_init(struct op_guess *guess, int32_t registers)
{
  guess->depth = 0;
  guess->registers = registers;
  for (size_t i = 0; i < OP_REGISTERS; i++)
    guess->kinds[0][i] = NIL;
}

/* A register that holds one of the kinds; -1 if there is none. */
static int32_t
find_register(const struct op_guess *guess, uint16_t kinds,
              struct op_random *random)
{
  const uint16_t *row = guess->kinds[guess->depth];
  int32_t found[OP_REGISTERS];
  uint32_t count = 0;

  for (int32_t i = 0; i < guess->registers; i++)
    if (row[i] & kinds)
      found[count++] = i;
  return count ? found[op_random_below(random, count)] : -1;
}

/* The next step towards a closable value: it takes a table, a C function as
 * its __close, and something that has the table as its metatable. */
static struct op
towards_closable(const struct op_guess *guess, int32_t into,
                 struct op_random *random)
{
  int32_t closes = find_register(guess, CLOSES, random);
  int32_t object = find_register(guess, HAS_META, random);
  int32_t native = find_register(guess, NATIVE, random);
  int32_t table = find_register(guess, TABLE, random);

  /* What was taken for a table may be none. */
  if (closes >= 0 && object >= 0)
    return (struct op){OP_SETMETA, object, closes, 0};
  if (native < 0)
    return (struct op){OP_CFUNC, into,
                       (int32_t)op_random_below(random, 8), 0};
  if (table < 0)
    return (struct op){OP_NEWTABLE, into, 0, 0};
  return (struct op){OP_SETEVENT, table, OP_EVENT_CLOSE, native};
}

/* An operation that makes a value of one of the kinds. */
static struct op
make_one(const struct op_guess *guess, uint16_t kinds,
         struct op_random *random)
{
  uint32_t registers = (uint32_t)guess->registers;
  int32_t into = (int32_t)op_random_below(random, registers);
  int32_t from = (int32_t)op_random_below(random, registers);

  if (kinds & CLOSABLE)
    return towards_closable(guess, into, random);
  if (kinds & TABLE)
    return (struct op){OP_NEWTABLE, into, 0, 0};
  if (kinds & USERDATA)
    return (struct op){OP_NEWUD, into, 8, 1 + from % 3};
  if (kinds & CLOSURE)
    return (struct op){OP_CLOSURE, into, from, 1 + from % 3};
  if (kinds & COROUTINE) {
    int32_t function = find_register(guess, FUNCTION, random);

    if (function < 0)
      return (struct op){OP_CFUNC, into, from % 8, 0};
    return (struct op){OP_CONEW, into, function, 0};
  }
  if (kinds & STRING)
    return (struct op){OP_STR, into, from, 0};
  return (struct op){OP_REF, into, from, 0};
}

struct op
op_guess_fit(const struct op_guess *guess, struct op op,
             struct op_random *random)
{
  int32_t *operands[3] = {&op.a, &op.b, &op.c};

  for (size_t i = 0; i < 3; i++)
    if (op_infos[op.code].operand[i] == OP_OPERAND_REG)
      *operands[i] %= guess->registers;
  for (size_t i = 0; i < 3; i++) {
    uint16_t kinds = needs[op.code][i];

    /* One operand in eight stays as it was drawn. */
    if (kinds == 0 || op_random_below(random, 8) == 0)
      continue;
    int32_t reg = find_register(guess, kinds, random);

    if (reg >= 0)
      *operands[i] = reg;
    else if (op_random_below(random, 4) != 0)
      return make_one(guess, kinds, random);
  }
  return op;
}

/* ---- following ------------------------------------------------------- */

static void
enter(struct op_guess *guess, int32_t first, int32_t count)
{
  uint16_t row[OP_REGISTERS];

  for (int32_t i = 0; i < OP_REGISTERS; i++)
    row[i] = i < count ? guess->kinds[guess->depth][(first + i) %
                                                    OP_REGISTERS]
                       : NIL;
  if (guess->depth + 1 < OP_GUESS_DEPTH_MAX)
    guess->depth += 1;
  memcpy(guess->kinds[guess->depth], row, sizeof row);
}

static void
leave(struct op_guess *guess)
{
  if (guess->depth > 0)
    guess->depth -= 1;
}

void
op_guess_apply(struct op_guess *guess, struct op op)
{
  uint16_t *row = guess->kinds[guess->depth];

  switch (op.code) {
  case OP_CALL:
  case OP_PCALL:
  case OP_RESUME:
    enter(guess, op.b, op.c);
    return;
  case OP_CALLV:
    enter(guess, op.b, 0);
    return;
  case OP_RETURN:
  case OP_YIELD:
  case OP_ERROR:
    leave(guess);
    return;
  case OP_TAILCALL:
    enter(guess, op.b, op.c);
    leave(guess);
    return;
  case OP_MOVE:
    row[op.a] = row[op.b];
    return;
  case OP_SETEVENT:
    if (op.b == OP_EVENT_CLOSE && row[op.c] & NATIVE)
      row[op.a] |= CLOSES;
    return;
  case OP_NEWFIN:
    row[op.a] = op.c ? USERDATA : TABLE;
    return;
  case OP_SETMETA:
    if (row[op.b] & CLOSES)
      row[op.a] |= CLOSABLE;
    return;
  case OP_NEXT:
    row[op.b] = 0;
    row[op.c] = 0;
    return;
  case OP_SETTOP:
    for (int32_t i = op.a; i < OP_REGISTERS; i++)
      row[i] = NIL;
    return;
  default:
    break;
  }
  if (op_infos[op.code].operand[0] == OP_OPERAND_REG && !reads_a[op.code])
    row[op.a] = gives[op.code];
}
