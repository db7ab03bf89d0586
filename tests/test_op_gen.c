/* SPDX-License-Identifier: MIT
 *
 * The generator of streams: that a seed means one stream for ever and
 * everywhere, that swarms are uneven but never empty, that no operation is
 * out of reach, and that sizes are small often enough for streams to get
 * anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ops/op_gen.h"
#include "ops/op_guess.h"
#include "ops/op_recipe.h"

/* Of 256 operations from seed 42. */
static const uint64_t hash_pinned = 0xb35c5ffffc123a04;

/* FNV-1a over the canonical bytes of a stream. */
static uint64_t
stream_hash(const struct stream *stream)
{
  uint64_t hash = 0xcbf29ce484222325u;

  for (size_t i = 0; i < stream->count; i++) {
    uint8_t bytes[4];

    op_encode(stream->ops[i], bytes);
    for (size_t j = 0; j < 4; j++)
      hash = (hash ^ bytes[j]) * 0x100000001b3u;
  }
  return hash;
}

static uint64_t
seed_hash(uint64_t seed, size_t count)
{
  struct stream stream;
  uint64_t hash;

  assert_int_equal(stream_generate(seed, count, &stream), STREAM_OK);
  assert_int_equal(stream.count, count);
  hash = stream_hash(&stream);
  stream_done(&stream);
  return hash;
}

/* Known values of splitmix64. Would catch a generator that is deterministic
 * but not the one that others can check. */
static void
test_op_gen_random_is_splitmix64(void **state)
{
  struct op_random random;

  (void)state;
  op_random_init(&random, 1234567);
  assert_true(op_random_next(&random) == 6457827717110365317u);
  assert_true(op_random_next(&random) == 3203168211198807973u);
  assert_true(op_random_next(&random) == 9817491932198370423u);
}

static void
test_op_gen_random_below_is_below(void **state)
{
  struct op_random random;
  int count[7] = {0};
  int thirds;

  (void)state;
  op_random_init(&random, 1);
  for (int i = 0; i < 70000; i++) {
    uint32_t value = op_random_below(&random, 7);

    assert_true(value < 7);
    count[value]++;
  }
  for (int i = 0; i < 7; i++)
    assert_true(count[i] > 9500 && count[i] < 10500);
  /* With a bound of 3/4 of 2^32 a careless scaling hits each third value
   * twice as often as the others. */
  thirds = 0;
  for (int i = 0; i < 30000; i++)
    thirds += op_random_below(&random, 0xc0000000u) % 3 == 0;
  assert_true(thirds > 9500 && thirds < 10500);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(op_random_below(&random, 1), 0);
    assert_true(op_random_below(&random, UINT32_MAX) < UINT32_MAX);
    assert_true(op_random_below(&random, 0x80000001u) <= 0x80000000u);
  }
}

/* The hash changes whenever the language or the generator does; then, and
 * only then, it is set anew. Would catch a stream that depends on the
 * compiler, the machine, or what was generated before. */
static void
test_op_gen_stream_is_pinned(void **state)
{
  uint64_t hash = seed_hash(42, 256);

  (void)state;
  assert_true(seed_hash(43, 256) != hash);
  assert_true(seed_hash(42, 256) == hash);
  if (hash != hash_pinned)
    print_error("the stream of seed 42 now has the hash 0x%llx\n",
                (unsigned long long)hash);
  assert_true(hash == hash_pinned);
}

/* A longer stream begins with the shorter one: a finding can be cut off. */
static void
test_op_gen_stream_is_a_prefix(void **state)
{
  struct stream shorter, longer;

  (void)state;
  for (uint64_t seed = 0; seed < 50; seed++) {
    assert_int_equal(stream_generate(seed, 20, &shorter), STREAM_OK);
    assert_int_equal(stream_generate(seed, 100, &longer), STREAM_OK);
    longer.count = 20;
    assert_true(stream_hash(&shorter) == stream_hash(&longer));
    stream_done(&shorter);
    stream_done(&longer);
  }
}

static void
test_op_gen_stream_limits(void **state)
{
  struct stream stream = {NULL, 77};

  (void)state;
  assert_int_equal(stream_generate(1, (size_t)OP_STREAM_MAX + 1, &stream),
                   STREAM_TOO_LONG);
  assert_int_equal(stream.count, 77);
  assert_int_equal(stream_generate(1, 0, &stream), STREAM_OK);
  assert_int_equal(stream.count, 0);
  stream_done(&stream);
}

/* Would catch an operation that is never drawn, one that cannot be encoded, a
 * setup that is not first or not small, and a lost policy or mode. */
static void
test_op_gen_every_operation_is_generated(void **state)
{
  static unsigned drawn[OP_COUNT];
  unsigned policies[2] = {0, 0};
  unsigned modes[2] = {0, 0};
  unsigned setups = 0;

  (void)state;
  for (uint64_t seed = 0; seed < 4000; seed++) {
    struct stream stream;

    assert_int_equal(stream_generate(seed, 64, &stream), STREAM_OK);
    for (size_t i = 0; i < stream.count; i++) {
      assert_true(op_is_valid(stream.ops[i]));
      drawn[stream.ops[i].code]++;
      if (stream.ops[i].code == OP_SETUP) {
        assert_int_equal(i, 0);
        assert_int_equal(stream.ops[i].b, OP_SCALE_SMALL);
        policies[stream.ops[i].a]++;
        modes[stream.ops[i].c]++;
        setups++;
      }
    }
    stream_done(&stream);
  }
  for (int i = 0; i < OP_COUNT; i++) {
    if (drawn[i] < 20)
      print_error("%s was drawn %u times\n", op_infos[i].name, drawn[i]);
    assert_true(drawn[i] >= 20);
  }
  assert_true(setups > 2800 && setups < 3200);
  assert_true(policies[0] > 1200 && policies[1] > 1200);
  assert_true(modes[OP_MODE_INCREMENTAL] > 800);
  assert_true(modes[OP_MODE_GENERATIONAL] > 1800);
}

/* Would catch a swarm that can be empty, one whose total is wrong (the draw
 * would run off the table), and swarms that do not differ. */
static void
test_op_gen_swarms_are_uneven_and_never_empty(void **state)
{
  unsigned off[OP_COUNT] = {0};
  unsigned off_total = 0;
  unsigned all_on = 0;
  struct op_random random;

  (void)state;
  op_random_init(&random, 5);
  for (int i = 0; i < 4000; i++) {
    struct op_swarm swarm;
    uint32_t total = 0;
    unsigned off_here = 0;

    op_swarm_init(&swarm, &random);
    assert_int_equal(swarm.weight[OP_SETUP], 0);
    for (int j = 0; j < OP_COUNT; j++) {
      total += swarm.weight[j];
      if (swarm.weight[j] == 0 && op_infos[j].weight > 0) {
        off[j]++;
        off_here++;
      }
    }
    assert_true(total > 0);
    assert_int_equal(total, swarm.total);
    assert_true(off_here < OP_COUNT - 1);
    all_on += off_here == 0;
    off_total += off_here;
  }
  assert_true(all_on > 400);
  assert_true(off_total > 4000u * OP_COUNT / 8);
  for (int i = 0; i < OP_COUNT; i++)
    assert_true(op_infos[i].weight == 0 || (off[i] > 600 && off[i] < 1400));
}

/* Draws only of one operation: how often the value of its operand a, b or c
 * is at most the given one, in thousandths. */
static unsigned
thousandths_upto(enum op_code code, int operand, int32_t least, int32_t most)
{
  enum { DRAWS = 20000 };
  struct op_swarm swarm = {.total = 1};
  struct op_random random;
  unsigned count = 0;

  swarm.weight[code] = 1;
  op_random_init(&random, 99);
  for (int i = 0; i < DRAWS; i++) {
    struct op op = op_generate(&swarm, &random);
    int32_t value = operand == 0 ? op.a : operand == 1 ? op.b : op.c;

    assert_int_equal(op.code, code);
    assert_true(op_is_valid(op));
    count += value >= least && value <= most;
  }
  return count / (DRAWS / 1000);
}

static void
test_op_gen_operands_are_mostly_small(void **state)
{
  unsigned near = thousandths_upto(OP_SET, 0, 0, 5);

  (void)state;
  assert_true(near > 620 && near < 750);
  assert_true(thousandths_upto(OP_SET, 0, 15, 15) > 20);
  assert_true(thousandths_upto(OP_MICROSTEP, 0, 1, 20) > 930);
  assert_true(thousandths_upto(OP_MICROSTEP, 0, 21, 1000) > 15);
  assert_true(thousandths_upto(OP_CHAIN, 1, 1, 63) > 930);
  assert_true(thousandths_upto(OP_CHURN, 0, 1, 63) > 930);
  assert_true(thousandths_upto(OP_WIDE, 1, 1, 63) > 930);
  assert_true(thousandths_upto(OP_FAILALLOC, 0, 0, 63) > 930);
  assert_true(thousandths_upto(OP_NEWTABLE, 1, 0, 8) > 930);
  assert_true(thousandths_upto(OP_NEWTABLE, 2, 9, 1024) > 15);
  assert_true(thousandths_upto(OP_LSTR, 2, 0, 8) > 930);
  assert_true(thousandths_upto(OP_NEWUD, 1, 0, 63) > 930);
  assert_true(thousandths_upto(OP_STR, 1, 0, 7) > 700);
  assert_true(thousandths_upto(OP_STR, 1, 512, 1023) > 50);
  assert_true(thousandths_upto(OP_INT, 1, -8, 7) > 700);
  assert_true(thousandths_upto(OP_INT, 1, -32768, -9) > 50);
  assert_true(thousandths_upto(OP_INT, 1, 8, 32767) > 50);
}

/* Would catch a recipe that is never made, is made though it is off, does not
 * fit, or names what cannot be encoded; and one that leaves nothing open. */
static void
test_op_gen_recipes_are_valid_and_switched(void **state)
{
  struct op_random random;
  struct op_swarm swarm;

  (void)state;
  op_random_init(&random, 3);
  op_swarm_init(&swarm, &random);
  for (int kind = 0; kind < OP_RECIPE_COUNT; kind++) {
    for (int i = 0; i < 300; i++) {
      struct op_recipe recipe;
      int32_t registers = 1 + (int32_t)op_random_below(&random, OP_REGISTERS);

      op_recipe_draw(1u << kind, registers, &random, &recipe);
      assert_in_range(recipe.count, 2, OP_RECIPE_MAX);
      for (size_t j = 0; j < recipe.count; j++) {
        struct op op = recipe.ops[j];

        if (op_recipe_is_open(op))
          op = op_recipe_fill(&swarm, &random);
        assert_int_not_equal(op.code, OP_SETUP);
        assert_true(op_is_valid(op));
      }
    }
  }
}

/* What tells each recipe from the others: in a stream that follows one, the
 * operation is there. */
static void
test_op_gen_each_recipe_does_what_it_is_for(void **state)
{
  static const uint8_t marks[OP_RECIPE_COUNT][2] = {
      [OP_RECIPE_PHASE] = {OP_RUNTO, OP_SETUP},
      [OP_RECIPE_AGE] = {OP_MINOR, OP_SETUP},
      [OP_RECIPE_MODE] = {OP_MODE, OP_RUNTO},
      [OP_RECIPE_FAILURE] = {OP_SETUP, OP_SETUP},
      [OP_RECIPE_UPVALUES] = {OP_SETUPVAL, OP_CLOSEUP},
      [OP_RECIPE_WEAK_KEYS] = {OP_NEWFIN, OP_NEXT},
      [OP_RECIPE_PENDING] = {OP_RUNTO, OP_SETGLOBAL},
      [OP_RECIPE_ROOT] = {OP_RUNTO, OP_NEWTABLE},
      [OP_RECIPE_EPHEMERON] = {OP_EPHEMERONS, OP_SETUP},
      [OP_RECIPE_REVIVE] = {OP_NEWFIN, OP_SETGLOBAL},
      [OP_RECIPE_PACE] = {OP_PARAM, OP_CHURN},
      [OP_RECIPE_SHARED_KEY] = {OP_NEWWEAK, OP_NEXT},
      [OP_RECIPE_WEAK_STORE] = {OP_NEWWEAK, OP_NEXT},
      [OP_RECIPE_METAMETHOD] = {OP_CFUNC, OP_SETEVENT},
  };
  struct op_random random;

  (void)state;
  op_random_init(&random, 4);
  for (int kind = 0; kind < OP_RECIPE_COUNT; kind++) {
    for (int i = 0; i < 50; i++) {
      struct op_recipe recipe;
      unsigned found = 0;

      op_recipe_draw(1u << kind, OP_REGISTERS, &random, &recipe);
      for (size_t j = 0; j < recipe.count; j++)
        found |= (recipe.ops[j].code == marks[kind][0])
                 | (recipe.ops[j].code == marks[kind][1]) << 1;
      assert_int_equal(found, 3);
    }
  }
}

/* The guess may take for a table with a closer what is no table at all; would
 * catch an operation on a register that was not found. */
static void
test_op_gen_wrong_guesses_make_valid_operations(void **state)
{
  const struct op closes = {OP_SETEVENT, 0, OP_EVENT_CLOSE, 1};
  struct op_random random;

  (void)state;
  op_random_init(&random, 6);
  for (int i = 0; i < 100; i++) {
    struct op_guess guess;

    op_guess_init(&guess, OP_REGISTERS);
    op_guess_apply(&guess, (struct op){OP_CFUNC, 1, 1, 0});
    op_guess_apply(&guess, closes);
    assert_true(op_is_valid(
        op_guess_fit(&guess, (struct op){OP_TBC, 0, 0, 0}, &random)));
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_op_gen_random_is_splitmix64),
      cmocka_unit_test(test_op_gen_random_below_is_below),
      cmocka_unit_test(test_op_gen_stream_is_pinned),
      cmocka_unit_test(test_op_gen_stream_is_a_prefix),
      cmocka_unit_test(test_op_gen_stream_limits),
      cmocka_unit_test(test_op_gen_every_operation_is_generated),
      cmocka_unit_test(test_op_gen_swarms_are_uneven_and_never_empty),
      cmocka_unit_test(test_op_gen_operands_are_mostly_small),
      cmocka_unit_test(test_op_gen_wrong_guesses_make_valid_operations),
      cmocka_unit_test(test_op_gen_recipes_are_valid_and_switched),
      cmocka_unit_test(test_op_gen_each_recipe_does_what_it_is_for),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
