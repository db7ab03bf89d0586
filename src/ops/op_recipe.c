/* SPDX-License-Identifier: MIT
 *
 * See op_recipe.h. Registers are few, so that recipes meet each other's
 * objects; those of one recipe differ as far as there are enough.
 */
#include "ops/op_recipe.h"

#include "ops/op_assert.h"

/* Tries to draw an operation that changes the heap before any will do. */
enum { TRIES_MAX = 32 };

static int32_t
below(struct op_random *random, uint32_t bound)
{
  return (int32_t)op_random_below(random, bound);
}

/* At most one operand is drawn in the call: the order of arguments is the
 * compiler's. */
static void
add(struct op_recipe *recipe, enum op_code code, int32_t a, int32_t b,
    int32_t c)
{
  PENUMBRA_ASSERT(recipe->count < OP_RECIPE_MAX);
  recipe->ops[recipe->count++] = (struct op){(uint8_t)code, a, b, c};
}

/* A change of the heap, to be drawn. */
static void
add_open(struct op_recipe *recipe)
{
  add(recipe, OP_SETUP, 0, 0, 0);
}

/* To a phase, and sometimes a few steps into it. */
static void
add_run_to(struct op_recipe *recipe, int32_t phase, uint32_t steps,
           struct op_random *random)
{
  add(recipe, OP_RUNTO, phase, 0, 0);
  if (below(random, 2))
    add(recipe, OP_MICROSTEP, 1 + below(random, steps), 0, 0);
}

/* To somewhere in a cycle. */
static void
add_schedule(struct op_recipe *recipe, struct op_random *random)
{
  switch (below(random, 6)) {
  case 0:
    add(recipe, OP_MICROSTEP, 1 + below(random, 8), 0, 0);
    break;
  case 1:
    add(recipe, OP_MINOR, 1 + below(random, 3), 0, 0);
    break;
  case 2:
    add(recipe, OP_COLLECT, 0, 0, 0);
    break;
  default:
    add_run_to(recipe, below(random, 8), 4, random);
  }
}

/* The register after the larger one. */
static int32_t
register_after(int32_t r, int32_t s)
{
  return ((r > s ? r : s) + 1) % OP_REGISTERS;
}

/* ---- the recipes ----------------------------------------------------- */

static void
make_phase(struct op_recipe *recipe, int32_t r, int32_t s,
           struct op_random *random)
{
  (void)r;
  (void)s;
  add_run_to(recipe, below(random, 8), 4, random);
  add_open(recipe);
  if (below(random, 2))
    add_open(recipe);
}

/* An old object, too: what minor collections have seen twice. */
static void
make_age(struct op_recipe *recipe, int32_t r, int32_t s,
         struct op_random *random)
{
  if (below(random, 2))
    add(recipe, OP_NEWTABLE, r, 0, 4);
  else
    add_open(recipe);
  add(recipe, OP_MINOR, 1 + below(random, 3), 0, 0);
  if (below(random, 2)) {
    add(recipe, OP_NEWTABLE, s, 0, 0);
    add(recipe, OP_SETI, r, below(random, 4), s);
  } else {
    add_open(recipe);
  }
  add(recipe, OP_MINOR, 1 + below(random, 3), 0, 0);
  add_open(recipe);
}

static void
make_mode(struct op_recipe *recipe, int32_t r, int32_t s,
          struct op_random *random)
{
  int32_t mode = below(random, 2);

  (void)r;
  (void)s;
  add(recipe, OP_RUNTO, below(random, 8), 0, 0);
  add(recipe, OP_MODE, mode, 0, 0);
  add_open(recipe);
  if (below(random, 2))
    add_schedule(recipe, random);
  add(recipe, OP_MODE, !mode, 0, 0);
  if (below(random, 2))
    add_open(recipe);
}

static void
make_failure(struct op_recipe *recipe, int32_t r, int32_t s,
             struct op_random *random)
{
  enum op_code failure;

  (void)r;
  (void)s;
  if (below(random, 2))
    add_schedule(recipe, random);
  failure = below(random, 2) ? OP_FAILALLOC : OP_OUTOFMEM;
  add(recipe, failure, below(random, 4), 0, 0);
  add_open(recipe);
}

static void
make_upvalues(struct op_recipe *recipe, int32_t r, int32_t s,
              struct op_random *random)
{
  add(recipe, OP_CLOSURE, r, s, 1 + below(random, 3));
  if (below(random, 2))
    add(recipe, OP_SHARE, s, r, 0);
  else
    add(recipe, OP_CLOSURE, s, r, 1);
  add_schedule(recipe, random);
  add(recipe, OP_NEWTABLE, s, 0, 0);
  add(recipe, OP_SETUPVAL, r, 0, s);
  if (below(random, 2))
    add_schedule(recipe, random);
  add(recipe, OP_CLOSEUP, below(random, 4), 0, 0);
  add_open(recipe);
}

static void
make_weak_keys(struct op_recipe *recipe, int32_t r, int32_t s,
               struct op_random *random)
{
  int32_t pairs = 1 + below(random, 2);

  add(recipe, OP_NEWWEAK, r, below(random, 4) ? OP_WEAK_KEYS : OP_WEAK_BOTH, 0);
  for (int32_t i = 0; i < pairs; i++) {
    add(recipe, OP_NEWFIN, s, below(random, OP_BEHAVIOUR_NONE), 1);
    add(recipe, OP_SET, r, s, below(random, 2) ? s : r);
  }
  add(recipe, OP_NIL, s, 0, 0);
  add_schedule(recipe, random);
  add_open(recipe);
  add_schedule(recipe, random);
  add(recipe, OP_NEXT, r, s, (s + 1) % OP_REGISTERS);
}

static void
make_pending(struct op_recipe *recipe, int32_t r, int32_t s,
             struct op_random *random)
{
  int32_t count = below(random, 4) ? 3 : 13; /* more than one batch */

  for (int32_t i = 0; i < count; i++) {
    int32_t behaviour = below(random, OP_BEHAVIOUR_NONE);

    add(recipe, OP_NEWFIN, r, behaviour, below(random, 2));
  }
  add(recipe, OP_NIL, r, 0, 0);
  add(recipe, OP_RUNTO,
      below(random, 2) ? OP_PHASE_FINALIZE : OP_PHASE_SWEEP_PENDING, 0, 0);
  if (below(random, 2))
    add(recipe, OP_MICROSTEP, 1, 0, 0);
  add_open(recipe);
  add(recipe, OP_GETGLOBAL, s, 0, 0);
  add(recipe, OP_SETGLOBAL, below(random, 2), r, 0);
}

static void
make_root(struct op_recipe *recipe, int32_t r, int32_t s,
          struct op_random *random)
{
  (void)s;
  add_run_to(recipe,
             below(random, 4) ? OP_PHASE_PROPAGATE : OP_PHASE_ENTER_ATOMIC, 6,
             random);
  add(recipe, OP_NEWTABLE, r, 0, 0);
  switch (below(random, 3)) {
  case 0:
    add(recipe, OP_SETGLOBAL, below(random, 32), r, 0);
    break;
  case 1:
    add(recipe, OP_SETREG, below(random, 32), r, 0);
    break;
  default:
    add(recipe, OP_BASICMETA, below(random, 7), r, 0);
  }
  add(recipe, OP_NIL, r, 0, 0);
  add_schedule(recipe, random);
}

static void
make_ephemeron(struct op_recipe *recipe, int32_t r, int32_t s,
               struct op_random *random)
{
  add(recipe, OP_EPHEMERONS, r, 1 + below(random, 12), 0);
  add_schedule(recipe, random);
  if (below(random, 2)) {
    add(recipe, OP_GETI, s, r, 2);
    add(recipe, OP_NIL, r, 0, 0);
  } else {
    add(recipe, OP_GETI, s, r, 1);
    add(recipe, OP_SETI, r, 1, r);
    add(recipe, OP_NIL, s, 0, 0);
  }
  add_schedule(recipe, random);
  add_open(recipe);
}

/* Two tables with weak keys have a pair each of one key, which only a third
 * pair leads to; their value leads to another key, and that to a table. What
 * waits for what depends on the order in which all this is visited. */
static void
make_shared_key(struct op_recipe *recipe, int32_t r, int32_t s,
                struct op_random *random)
{
  int32_t t = register_after(r, s);
  int32_t u = (t + 1) % OP_REGISTERS;
  int32_t first = (t + 2) % OP_REGISTERS;

  add(recipe, OP_NEWWEAK, r, OP_WEAK_KEYS, 0);
  add(recipe, OP_NEWWEAK, u, OP_WEAK_KEYS, 0);
  add(recipe, OP_NEWTABLE, s, 0, 0);
  add(recipe, OP_NEWTABLE, first, 0, 0);
  add(recipe, OP_SET, r, first, s);
  add(recipe, OP_NEWTABLE, t, 1, 0);
  add(recipe, OP_SET, r, s, t);
  add(recipe, OP_SET, u, s, t);
  add(recipe, OP_SETGLOBAL, below(random, 4), u, 0);
  add(recipe, OP_NEWTABLE, u, 0, 0);
  add(recipe, OP_SETI, t, 1, u);
  add(recipe, OP_NEWTABLE, s, 1, 0);
  add(recipe, OP_SET, r, u, s);
  add(recipe, OP_NEWTABLE, t, 0, 0);
  add(recipe, OP_SETI, s, 1, t);
  add(recipe, OP_NIL, s, 0, 0);
  add(recipe, OP_NIL, t, 0, 0);
  add(recipe, OP_NIL, u, 0, 0);
  add_schedule(recipe, random);
  add(recipe, OP_NEXT, r, s, u);
  add_open(recipe);
}

/* A weak table that was visited is given a pair of which only it knows, and
 * perhaps loses it. */
static void
make_weak_store(struct op_recipe *recipe, int32_t r, int32_t s,
                struct op_random *random)
{
  int32_t t = register_after(r, s);

  add(recipe, OP_NEWWEAK, r, 1 + below(random, 3), 0);
  add(recipe, OP_NEWTABLE, s, 0, 0);
  add(recipe, OP_SETI, r, 1, s);
  add_run_to(recipe,
             below(random, 4) ? OP_PHASE_ENTER_ATOMIC : OP_PHASE_PROPAGATE, 8,
             random);
  add(recipe, OP_NEWTABLE, s, 0, 0);
  add(recipe, OP_NEWTABLE, t, 0, 0);
  add(recipe, OP_SET, r, s, t);
  if (below(random, 4) == 0) {
    add(recipe, OP_NIL, t, 0, 0);
    add(recipe, OP_SET, r, s, t);
  }
  add(recipe, OP_NIL, below(random, 2) ? s : t, 0, 0);
  add_schedule(recipe, random);
  add(recipe, OP_NEXT, r, s, t);
  add_open(recipe);
}

static void
make_revive(struct op_recipe *recipe, int32_t r, int32_t s,
            struct op_random *random)
{
  static const uint8_t keeping[] = {OP_BEHAVIOUR_SAVE, OP_BEHAVIOUR_SAVE_TOO,
                                    OP_BEHAVIOUR_REMARK, OP_BEHAVIOUR_LINK,
                                    OP_BEHAVIOUR_TOUCH, OP_BEHAVIOUR_SIBLING};

  int32_t behaviour = keeping[below(random, sizeof keeping)];

  add(recipe, OP_NEWFIN, r, behaviour, below(random, 2));
  if (below(random, 2))
    add(recipe, OP_MINOR, 1 + below(random, 3), 0, 0);
  add(recipe, OP_NIL, r, 0, 0);
  add_schedule(recipe, random);
  add(recipe, OP_GETGLOBAL, r, below(random, 2), 0);
  if (below(random, 2)) {
    add(recipe, OP_GETMETA, s, r, 0);
    add(recipe, OP_SETMETA, r, s, 0);
  }
  add(recipe, OP_SETGLOBAL, 0, s, 0);
  add_schedule(recipe, random);
}

static void
make_pace(struct op_recipe *recipe, int32_t r, int32_t s,
          struct op_random *random)
{
  static const uint16_t values[] = {0, 1, 4, 20, 100, 200, 400, 1000};

  int32_t parameter = below(random, 5);

  (void)s;
  add(recipe, OP_PARAM, parameter,
      values[below(random, sizeof values / sizeof *values)], 0);
  if (below(random, 2))
    add(recipe, OP_STEP, below(random, 4), 0, 0);
  else
    add(recipe, OP_WIDE, r, 1 + below(random, 60), 0);
  add(recipe, OP_CHURN, 1 + below(random, 60), 0, 0);
}

/* What is called for may be held by a weak metatable alone. */
static void
make_metamethod(struct op_recipe *recipe, int32_t r, int32_t s,
                struct op_random *random)
{
  int32_t t = register_after(r, s);
  bool is_store = below(random, 2);
  int32_t event = is_store ? OP_EVENT_NEWINDEX : OP_EVENT_INDEX;

  if (below(random, 4))
    add(recipe, OP_NEWTABLE, r, 0, 0);
  else
    add(recipe, OP_NEWUD, r, 8, 1);
  add(recipe, OP_NEWTABLE, s, 0, 0);
  add(recipe, OP_CFUNC, t, below(random, 8), 0);
  add(recipe, OP_SETEVENT, s, event, t);
  add(recipe, OP_SETMETA, r, s, 0);
  if (below(random, 2)) {
    add(recipe, OP_NEWWEAK, s, OP_WEAK_VALUES, 0);
    add(recipe, OP_SETEVENT, s, event, r);
    add(recipe, OP_NEWTABLE, r, 0, 0);
    add(recipe, OP_SETMETA, r, s, 0);
  }
  add(recipe, OP_INT, t, below(random, 4), 0);
  add_schedule(recipe, random);
  if (below(random, 2))
    add_open(recipe);
  if (is_store)
    add(recipe, OP_CALLSTORE, r, t, s);
  else
    add(recipe, OP_CALLINDEX, s, r, t);
  add_schedule(recipe, random);
}

void
op_recipe_draw(uint32_t on, int32_t registers, struct op_random *random,
               struct op_recipe *ret_recipe)
{
  static void (*const make[OP_RECIPE_COUNT])(struct op_recipe *, int32_t,
                                             int32_t, struct op_random *) = {
    [OP_RECIPE_PHASE] = make_phase,
    [OP_RECIPE_AGE] = make_age,
    [OP_RECIPE_MODE] = make_mode,
    [OP_RECIPE_FAILURE] = make_failure,
    [OP_RECIPE_UPVALUES] = make_upvalues,
    [OP_RECIPE_WEAK_KEYS] = make_weak_keys,
    [OP_RECIPE_PENDING] = make_pending,
    [OP_RECIPE_ROOT] = make_root,
    [OP_RECIPE_EPHEMERON] = make_ephemeron,
    [OP_RECIPE_REVIVE] = make_revive,
    [OP_RECIPE_PACE] = make_pace,
    [OP_RECIPE_SHARED_KEY] = make_shared_key,
    [OP_RECIPE_WEAK_STORE] = make_weak_store,
    [OP_RECIPE_METAMETHOD] = make_metamethod,
  };
  uint32_t kind;
  int32_t r = below(random, (uint32_t)registers);
  int32_t s = below(random, (uint32_t)registers);

  PENUMBRA_ASSERT(on & ((1u << OP_RECIPE_COUNT) - 1));
  do
    kind = op_random_below(random, OP_RECIPE_COUNT);
  while (!(on & 1u << kind));
  if (s == r)
    s = (r + 1) % registers;
  ret_recipe->count = 0;
  make[kind](ret_recipe, r, s, random);
}

struct op
op_recipe_fill(const struct op_swarm *swarm, struct op_random *random)
{
  struct op op = op_generate(swarm, random);

  for (int i = 0; i < TRIES_MAX; i++) {
    if (op_infos[op.code].flags & OP_ALLOCATES
        || op.code == OP_SETMETA || op.code == OP_BASICMETA
        || op.code == OP_SETUV || op.code == OP_SETUPVAL || op.code == OP_COSET
        || op.code == OP_JOIN || op.code == OP_MOVE)
      break;
    op = op_generate(swarm, random);
  }
  return op;
}
