/* SPDX-License-Identifier: MIT
 *
 * The structure-aware mutator of the fuzz targets. An input is a stream of
 * four-byte operations; a mutation is one thing that a person would try on
 * it: put an operation in, leave one out, repeat or move a stretch, change
 * one operand, follow a recipe, and above all move the collector to another
 * point between two operations, for the schedule is what hides a collector's
 * bugs.
 *
 * The result depends on the input, the bound and the seed only, and is
 * canonical. One time in sixteen the engine's own mutator has the bytes, so
 * that its dictionary and its records of comparisons are not wasted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ops/op_gen.h"
#include "ops/op_guess.h"
#include "ops/op_recipe.h"
#include "ops/ops.h"
#include "report/summary.h"

enum { OP_BYTES = 4, OPS_MAX = SUMMARY_OPS_MAX, STRETCH_MAX = 16 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max)
    __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max,
                               unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                 const uint8_t *data2, size_t size2,
                                 uint8_t *out, size_t size_max,
                                 unsigned int seed);

struct draft {
  struct op ops[OPS_MAX];
  size_t count;
  size_t max; /* operations that there is room for */
  struct op_random random;
};

static size_t
below(struct draft *draft, size_t bound)
{
  return op_random_below(&draft->random, (uint32_t)bound);
}

static size_t
smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* ---- reading and writing --------------------------------------------- */

static void
draft_read(struct draft *draft, const uint8_t *data, size_t size)
{
  draft->count = smaller(size / OP_BYTES, draft->max);
  for (size_t i = 0; i < draft->count; i++)
    draft->ops[i] = op_decode(data + OP_BYTES * i);
}

static size_t
draft_write(const struct draft *draft, uint8_t *data)
{
  for (size_t i = 0; i < draft->count; i++)
    op_encode(draft->ops[i], data + OP_BYTES * i);
  return OP_BYTES * draft->count;
}

/* Makes room for count operations at index; what falls off the end is lost. */
static size_t
open_gap(struct draft *draft, size_t index, size_t count)
{
  size_t tail;

  count = smaller(count, draft->max - index);
  tail = smaller(draft->count - index, draft->max - index - count);
  memmove(draft->ops + index + count, draft->ops + index,
          tail * sizeof *draft->ops);
  draft->count = index + count + tail;
  return count;
}

static void
close_gap(struct draft *draft, size_t index, size_t count)
{
  memmove(draft->ops + index, draft->ops + index + count,
          (draft->count - index - count) * sizeof *draft->ops);
  draft->count -= count;
}

/* What the registers hold before operation index, as far as can be guessed. */
static void
guess(const struct draft *draft, size_t index, struct op_guess *ret_guess)
{
  op_guess_init(ret_guess, OP_REGISTERS);
  for (size_t i = 0; i < index; i++)
    op_guess_apply(ret_guess, draft->ops[i]);
}

/* count operations over those from index on, which fit what comes before. */
static void
generate(struct draft *draft, size_t index, size_t count)
{
  struct op_swarm swarm;
  struct op_guess registers;

  op_swarm_init(&swarm, &draft->random);
  guess(draft, index, &registers);
  for (size_t i = 0; i < count; i++) {
    struct op op = op_generate(&swarm, &draft->random);

    op = op_guess_fit(&registers, op, &draft->random);
    op_guess_apply(&registers, op);
    draft->ops[index + i] = op;
  }
}

/* An operation with all operands drawn anew from bytes. */
static struct op
op_of(struct draft *draft, enum op_code code)
{
  uint64_t bits = op_random_next(&draft->random);
  uint8_t bytes[OP_BYTES] = {(uint8_t)code, (uint8_t)bits,
                             (uint8_t)(bits >> 8), (uint8_t)(bits >> 16)};

  return op_decode(bytes);
}

/* ---- mutations ------------------------------------------------------- */

/* Each returns false if the draft has nothing to work on. */

static bool
insert_generated(struct draft *draft)
{
  size_t index = below(draft, draft->count + 1);
  size_t count = open_gap(draft, index, 1 + below(draft, 4));

  generate(draft, index, count);
  return count > 0;
}

/* A sequence that has found bugs before. */
static bool
insert_recipe(struct draft *draft)
{
  struct op_recipe recipe;
  size_t index = below(draft, draft->count + 1);
  size_t count;

  op_recipe_draw((1u << OP_RECIPE_COUNT) - 1, OP_REGISTERS, &draft->random,
                 &recipe);
  count = open_gap(draft, index, recipe.count);
  for (size_t i = 0; i < count; i++) {
    if (op_recipe_is_open(recipe.ops[i]))
      generate(draft, index + i, 1);
    else
      draft->ops[index + i] = recipe.ops[i];
  }
  return count > 0;
}

/* Something right before an operation that allocates or stores: the phase, the
 * age or the want of memory in which it is done. */
static bool
insert_before_store(struct draft *draft)
{
  static const uint8_t codes[] = {OP_RUNTO,     OP_MINOR,    OP_MINOR,
                                  OP_FAILALLOC, OP_OUTOFMEM, OP_MODE};
  size_t start = draft->count ? below(draft, draft->count) : 0;
  enum op_code code = codes[below(draft, sizeof codes)];

  for (size_t i = 0; i < draft->count; i++) {
    size_t at = (start + i) % draft->count;
    struct op op;

    if (!(op_infos[draft->ops[at].code].flags & OP_ALLOCATES))
      continue;
    op = op_of(draft, code);
    if (code == OP_MINOR)
      op.a = 1 + (int32_t)below(draft, 3);
    else if (code == OP_FAILALLOC || code == OP_OUTOFMEM)
      op.a = (int32_t)below(draft, 4);
    if (open_gap(draft, at, 1) == 0)
      return false;
    draft->ops[at] = op;
    return true;
  }
  return false;
}

/* A few micro-steps, or a run to a phase, somewhere between two operations. */
static bool
insert_schedule(struct draft *draft)
{
  static const uint8_t steers[] = {OP_MICROSTEP, OP_MICROSTEP, OP_RUNTO,
                                   OP_RUNTO,     OP_STEP,      OP_FINISH,
                                   OP_COLLECT,   OP_MINOR,     OP_MINOR,
                                   OP_MODE};
  enum op_code code = steers[below(draft, sizeof steers)];
  size_t index = below(draft, draft->count + 1);
  struct op op = op_of(draft, code);

  if (open_gap(draft, index, 1) == 0)
    return false;
  if (code == OP_MICROSTEP)
    op.a = 1 + (int32_t)below(draft, 8);
  else if (code == OP_MINOR)
    op.a = 1 + (int32_t)below(draft, 3);
  else if (code == OP_STEP)
    op.a = (int32_t)below(draft, 4);
  draft->ops[index] = op;
  return true;
}

/* The same number of micro-steps earlier or later. */
static bool
shift_schedule(struct draft *draft)
{
  size_t start = draft->count ? below(draft, draft->count) : 0;

  for (size_t i = 0; i < draft->count; i++) {
    size_t at = (start + i) % draft->count;
    size_t to = at + 1;

    if (!(op_infos[draft->ops[at].code].flags & OP_STEERS))
      continue;
    if (below(draft, 2))
      to = at + draft->count - 1;
    to %= draft->count;
    struct op op = draft->ops[at];
    draft->ops[at] = draft->ops[to];
    draft->ops[to] = op;
    return true;
  }
  return false;
}

static bool
drop(struct draft *draft)
{
  size_t index;

  if (draft->count == 0)
    return false;
  index = below(draft, draft->count);
  close_gap(draft, index,
            1 + below(draft, smaller(draft->count - index, STRETCH_MAX)));
  return true;
}

static bool
repeat(struct draft *draft)
{
  struct op stretch[STRETCH_MAX];
  size_t from, to, count;

  if (draft->count == 0)
    return false;
  from = below(draft, draft->count);
  count = 1 + below(draft, smaller(draft->count - from, STRETCH_MAX));
  memcpy(stretch, draft->ops + from, count * sizeof *stretch);
  to = below(draft, 2) ? from + count : below(draft, draft->count + 1);
  count = open_gap(draft, to, count);
  memcpy(draft->ops + to, stretch, count * sizeof *stretch);
  return count > 0;
}

static bool
swap(struct draft *draft)
{
  size_t a, b;
  struct op op;

  if (draft->count < 2)
    return false;
  a = below(draft, draft->count);
  b = below(draft, 2) ? (a + 1) % draft->count : below(draft, draft->count);
  op = draft->ops[a];
  draft->ops[a] = draft->ops[b];
  draft->ops[b] = op;
  return true;
}

static bool
replace(struct draft *draft)
{
  if (draft->count == 0)
    return false;
  generate(draft, below(draft, draft->count), 1);
  return true;
}

/* An operation that may have been skipped gets registers that hold what it
 * needs. */
static bool
refit(struct draft *draft)
{
  struct op_guess registers;
  size_t index;

  if (draft->count == 0)
    return false;
  index = below(draft, draft->count);
  guess(draft, index, &registers);
  draft->ops[index] =
      op_guess_fit(&registers, draft->ops[index], &draft->random);
  return true;
}

/* One operand becomes another value, often a neighbouring one, or that of
 * another operation: registers that meet are what makes a heap. */
static bool
change_operand(struct draft *draft)
{
  uint8_t bytes[OP_BYTES], other[OP_BYTES];
  size_t index, byte;

  if (draft->count == 0)
    return false;
  index = below(draft, draft->count);
  byte = 1 + below(draft, 3);
  op_encode(draft->ops[index], bytes);
  op_encode(draft->ops[below(draft, draft->count)], other);
  switch (below(draft, 4)) {
  case 0:
    bytes[byte] = (uint8_t)(bytes[byte] + 1);
    break;
  case 1:
    bytes[byte] = (uint8_t)(bytes[byte] - 1);
    break;
  case 2:
    bytes[byte] = other[1 + below(draft, 3)];
    break;
  default:
    bytes[byte] = (uint8_t)op_random_next(&draft->random);
  }
  draft->ops[index] = op_decode(bytes);
  return true;
}

/* The address policy changes what a stale pointer meets; the mode changes all
 * that follows. */
static bool
change_setup(struct draft *draft)
{
  struct op setup = op_of(draft, OP_SETUP);

  setup.b = OP_SCALE_SMALL;
  if (draft->count > 0 && draft->ops[0].code == OP_SETUP) {
    draft->ops[0] = setup;
    return true;
  }
  if (open_gap(draft, 0, 1) == 0)
    return false;
  draft->ops[0] = setup;
  return true;
}

typedef bool mutation(struct draft *);

/* Twice as often: listed twice. */
static mutation *const mutations[] = {
  insert_generated, insert_generated, insert_schedule, insert_schedule,
  shift_schedule,   change_operand,   change_operand,  repeat,
  drop,             swap,             replace,         refit,
  change_setup,     insert_recipe,    insert_recipe,   insert_before_store,
};

enum { MUTATIONS = sizeof mutations / sizeof *mutations };

/* ---- entry points ---------------------------------------------------- */

static void
draft_init(struct draft *draft, size_t size_max, unsigned int seed)
{
  draft->count = 0;
  draft->max = smaller(size_max / OP_BYTES, OPS_MAX);
  op_random_init(&draft->random, seed);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max,
                        unsigned int seed)
{
  static struct draft draft;
  size_t wanted;

  draft_init(&draft, size_max, seed);
  if (LLVMFuzzerMutate && below(&draft, 16) == 0)
    size = LLVMFuzzerMutate(data, size, size_max);
  draft_read(&draft, data, size);
  wanted = 1 + below(&draft, 4);
  /* A full draft and an empty one refuse some, but never all of them. */
  for (size_t tries = 0; wanted > 0 && tries < 32; tries++)
    if (draft.max > 0 && mutations[below(&draft, MUTATIONS)](&draft))
      wanted--;
  while (draft.count == 0 && draft.max > 0)
    insert_generated(&draft); /* the engine takes no empty one */
  return draft_write(&draft, data);
}

/* A stretch of the second stream put into the first one, or over it. */
size_t
LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                          const uint8_t *data2, size_t size2, uint8_t *out,
                          size_t size_max, unsigned int seed)
{
  static struct draft draft, other;
  size_t from, to, count;

  draft_init(&draft, size_max, seed);
  draft_init(&other, size_max, seed);
  draft_read(&draft, data1, size1);
  draft_read(&other, data2, size2);
  if (other.count == 0)
    return draft_write(&draft, out);
  from = below(&draft, other.count);
  count = 1 + below(&draft, other.count - from);
  to = below(&draft, draft.count + 1);
  if (below(&draft, 2)) {
    count = open_gap(&draft, to, count);
  } else {
    count = smaller(count, draft.max - to);
    if (to + count > draft.count)
      draft.count = to + count;
  }
  memcpy(draft.ops + to, other.ops + from, count * sizeof *draft.ops);
  return draft_write(&draft, out);
}
