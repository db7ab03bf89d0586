/* SPDX-License-Identifier: MIT
 *
 * The random generator of streams. It knows operand types, the few operations
 * whose sizes need care, and of the state no more than a guess at what each
 * register holds (op_guess.h): a generator that knew what is legal would never
 * try what is nearly so. It makes streams collide with themselves: few
 * registers, few names, few indices, small sizes, so that operations meet what
 * earlier ones left.
 *
 * The source is splitmix64, in integers only, so that a seed means the same
 * stream on every machine.
 */
#include "ops/op_gen.h"

#include <stdlib.h>

#include "ops/op_assert.h"
#include "ops/op_guess.h"
#include "ops/op_recipe.h"

enum {
  REGISTERS_NEAR = 6, /* drawn from half of the time */
  REGISTERS_FEW = 5,  /* all that one stream in three uses */
  NUMBERS_NEAR = 8    /* drawn from three times out of four */
};

/* ---- the random source ----------------------------------------------- */

void
op_random_init(struct op_random *random, uint64_t seed)
{
  random->state = seed;
}

uint64_t
op_random_next(struct op_random *random)
{
  uint64_t mixed;

  random->state += 0x9e3779b97f4a7c15u;
  mixed = random->state;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return mixed ^ mixed >> 31;
}

/* Scales 32 random bits to the bound. Where 2^32 is no multiple of it, some
 * results would come from one more of the 2^32 than others; those few draws
 * are thrown away. */
uint32_t
op_random_below(struct op_random *random, uint32_t bound)
{
  uint32_t excess;
  uint64_t product;

  PENUMBRA_ASSERT(bound > 0);
  excess = (0u - bound) % bound; /* 2^32 modulo bound */
  do
    product = (op_random_next(random) >> 32) * bound;
  while ((uint32_t)product < excess);
  return (uint32_t)(product >> 32);
}

static bool
one_in(struct op_random *random, uint32_t bound)
{
  return op_random_below(random, bound) == 0;
}

/* ---- swarms ---------------------------------------------------------- */

/* How many of eight operations are off differs by stream, from none to half;
 * the others are up to eight times as frequent as the list says. Streams in
 * which everything happens a little are the ones in which nothing deep
 * happens. */
void
op_swarm_init(struct op_swarm *swarm, struct op_random *random)
{
  uint32_t off_eighths = op_random_below(random, 5);

  swarm->total = 0;
  for (size_t i = 0; i < OP_COUNT; i++) {
    bool is_off = op_random_below(random, 8) < off_eighths;
    uint32_t factor = 1u << op_random_below(random, 4);

    swarm->weight[i] = is_off ? 0 : op_infos[i].weight * factor;
    swarm->total += swarm->weight[i];
  }
  if (swarm->total > 0)
    return;
  for (size_t i = 0; i < OP_COUNT; i++) {
    swarm->weight[i] = op_infos[i].weight;
    swarm->total += swarm->weight[i];
  }
}

/* ---- operands -------------------------------------------------------- */

/* The values of a logarithmic operand: least is drawn one time in four,
 * from least to usual mostly, up to most now and then, anything rarely. most
 * is the limit above which the operation would be skipped, or what still
 * leaves the heap of a small stream some room. */
struct range {
  uint16_t least;
  uint16_t usual;
  uint16_t most;
};

static const struct range ranges[OP_COUNT] = {
    [OP_LSTR] = {0, 8, OP_STRING_MAX - OP_SHORT_STRING_MAX - 1},
    [OP_NEWTABLE] = {0, 8, OP_TABLE_SLOTS_MAX},
    [OP_NEWUD] = {0, 63, OP_USERDATA_MAX},
    [OP_LOAD] = {0, 8, OP_CONSTANTS_MAX},
    [OP_LOADCUT] = {0, 8, OP_CONSTANTS_MAX},
    [OP_EXTSTR] = {0, 8, OP_STRING_MAX - OP_SHORT_STRING_MAX - 1},
    [OP_CALLV] = {0, 8, OP_VARARGS_MAX},
    [OP_VARARG] = {0, 8, OP_VARARGS_MAX},
    [OP_RESERVE] = {1, 63, OP_RESERVE_SMALL_MAX},
    [OP_MICROSTEP] = {1, 20, OP_MICROSTEP_SMALL_MAX},
    [OP_STEP] = {0, 8, 1000},
    [OP_FAILALLOC] = {0, 7, 1000},
    [OP_HEAPLIMIT] = {0, 63, 1000},
    [OP_CHURN] = {1, 63, OP_CHURN_SMALL_MAX},
    [OP_CHAIN] = {1, 63, 1000},
    [OP_WIDE] = {1, 63, 1000},
    [OP_EPHEMERONS] = {1, 20, 1000},
    [OP_MINOR] = {1, 3, OP_MINOR_MAX},
    [OP_PARAM] = {0, 400, 1000},
    [OP_OUTOFMEM] = {0, 7, 1000},
    [OP_HOT] = {1, 31, OP_CHURN_SMALL_MAX},
};

/* For an operation that the table above does not name. */
static const struct range range_default = {0, 8, 1000};

/* Draws codes, not values, so that each octave is as likely as the next. */
static int32_t
log_generate(uint8_t code, const struct op_operand_info *type,
             struct op_random *random)
{
  const struct range *range = &ranges[code];
  uint32_t low;
  uint32_t high;

  if (range->usual == 0)
    range = &range_default;
  if (one_in(random, 4))
    return range->least;
  low = op_log_floor(range->least, type->bytes);
  high = op_log_floor(range->usual, type->bytes);
  if (one_in(random, 16)) {
    low = 0;
    high = one_in(random, 16) ? type->count - 1
                              : op_log_floor(range->most, type->bytes);
  }
  return op_log_value(low + op_random_below(random, high - low + 1),
                      type->bytes);
}

static int32_t
operand_generate(uint8_t code, enum op_operand operand,
                 struct op_random *random)
{
  const struct op_operand_info *type = &op_operand_infos[operand];
  int32_t half = (int32_t)type->count / 2;
  uint32_t bound = type->count;

  switch (type->scale) {
  case OP_SCALE_REG:
    if (one_in(random, 2))
      bound = REGISTERS_NEAR;
    break;
  case OP_SCALE_LINEAR:
    /* A small number of registers would mostly mean "nearly all of them". */
    if (operand != OP_OPERAND_TOP && bound > NUMBERS_NEAR && !one_in(random, 4))
      bound = NUMBERS_NEAR;
    break;
  case OP_SCALE_LOG:
    return log_generate(code, type, random);
  case OP_SCALE_SIGNED:
    if (!one_in(random, 4))
      return (int32_t)op_random_below(random, 2 * NUMBERS_NEAR) - NUMBERS_NEAR;
    return (int32_t)op_random_below(random, bound) - half;
  case OP_SCALE_WORD:
    break;
  }
  return (int32_t)op_random_below(random, bound);
}

static struct op
operands_generate(uint8_t code, struct op_random *random)
{
  const struct op_info *info = &op_infos[code];
  int32_t value[3];

  for (size_t i = 0; i < 3; i++) {
    value[i] = 0;
    if (info->operand[i] != OP_OPERAND_NONE)
      value[i] = operand_generate(code, info->operand[i], random);
  }
  return (struct op){code, value[0], value[1], value[2]};
}

struct op
op_generate(const struct op_swarm *swarm, struct op_random *random)
{
  uint32_t left = op_random_below(random, swarm->total);
  uint8_t code = 0;

  while (left >= swarm->weight[code])
    left -= swarm->weight[code++];
  return operands_generate(code, random);
}

/* ---- streams --------------------------------------------------------- */

static void
swarm_off(struct op_swarm *swarm, enum op_code code)
{
  if (swarm->total == swarm->weight[code])
    return;
  swarm->total -= swarm->weight[code];
  swarm->weight[code] = 0;
}

/* What a stream is drawn from. */
struct source {
  struct op_random random;
  struct op_swarm swarm;
  struct op_guess guess;
  uint32_t recipes; /* bits of those that are on */
  uint32_t rarity;  /* one operation in so many begins a recipe; 0: none */
  struct op_recipe recipe; /* the one that is followed */
  size_t followed;         /* operations of it */
  struct op wanted;
  bool wanted_again;
};

static void
source_init(struct source *source, uint64_t seed)
{
  static const uint32_t rarities[] = {0, 3, 6, 12};

  op_random_init(&source->random, seed);
  op_swarm_init(&source->swarm, &source->random);
  /* A stream ends at the first close: what follows would be wasted. */
  if (!one_in(&source->random, 8))
    swarm_off(&source->swarm, OP_CLOSE);
  source->recipes = op_random_below(&source->random, 1u << OP_RECIPE_COUNT);
  source->rarity = rarities[op_random_below(&source->random, 4)];
  if (source->recipes == 0)
    source->rarity = 0;
  source->recipe.count = 0;
  source->followed = 0;
  source->wanted_again = false;
}

static struct op
setup_generate(struct op_random *random)
{
  struct op setup = operands_generate(OP_SETUP, random);

  setup.b = OP_SCALE_SMALL;
  setup.c = one_in(random, 3) ? OP_MODE_INCREMENTAL : OP_MODE_GENERATIONAL;
  return setup;
}

/* What a recipe names stays as it is, so that its operations meet. */
static struct op
source_follow(struct source *source)
{
  struct op op = source->recipe.ops[source->followed++];

  if (!op_recipe_is_open(op))
    return op;
  op = op_recipe_fill(&source->swarm, &source->random);
  return op_guess_fit(&source->guess, op, &source->random);
}

static struct op
source_draw(struct source *source)
{
  struct op op;

  if (source->followed == source->recipe.count && source->rarity
      && one_in(&source->random, source->rarity)) {
    op_recipe_draw(source->recipes, source->guess.registers, &source->random,
                   &source->recipe);
    source->followed = 0;
  }
  if (source->followed < source->recipe.count)
    return source_follow(source);
  if (!source->wanted_again)
    source->wanted = op_generate(&source->swarm, &source->random);
  op = op_guess_fit(&source->guess, source->wanted, &source->random);
  /* What was missing has been made, or a step towards it. */
  source->wanted_again =
      op.code != source->wanted.code && !one_in(&source->random, 8);
  return op;
}

enum stream_status
stream_generate(uint64_t seed, size_t count, struct stream *ret_stream)
{
  struct source source;
  struct op *ops = NULL;
  size_t start = 0;

  if (count > OP_STREAM_MAX)
    return STREAM_TOO_LONG;
  if (count > 0) {
    ops = malloc(count * sizeof *ops);
    if (ops == NULL)
      return STREAM_NO_MEMORY;
  }
  source_init(&source, seed);
  if (count > 0 && !one_in(&source.random, 4)) {
    ops[0] = setup_generate(&source.random);
    start = 1;
  }
  op_guess_init(&source.guess, one_in(&source.random, 3) ? REGISTERS_FEW
                                                         : OP_REGISTERS);
  for (size_t i = start; i < count; i++) {
    ops[i] = source_draw(&source);
    op_guess_apply(&source.guess, ops[i]);
  }
  *ret_stream = (struct stream){ops, count};
  return STREAM_OK;
}
