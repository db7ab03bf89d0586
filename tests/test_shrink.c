/* SPDX-License-Identifier: MIT
 *
 * Shrinking, with predicates that look at the stream only: that it ends, keeps
 * what the predicate asks for and nothing else, and stays within its bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lab/shrink.h"
#include "ops/op_gen.h"
#include "ops/ops.h"

enum { RUNS_MAX = 100000 };

static const struct op integer = {OP_INT, 3, -7000, 0};

/* A generated stream with op in its middle; owned by the caller. */
static struct stream
padded(struct op op, size_t count)
{
  struct stream stream;

  assert_int_equal(stream_generate(1, count, &stream), STREAM_OK);
  for (size_t i = 0; i < count; i++)
    if (stream.ops[i].code == OP_INT)
      stream.ops[i] = (struct op){.code = OP_NIL};
  stream.ops[count / 2] = op;
  return stream;
}

struct wish {
  int32_t low, high; /* the operand of an integer */
  size_t asked;
};

static bool
has_integer(void *user, const struct stream *stream)
{
  struct wish *wish = user;

  wish->asked++;
  for (size_t i = 0; i < stream->count; i++) {
    struct op op = stream->ops[i];

    assert_true(op_is_valid(op));
    if (op.code == OP_INT && op.b >= wish->low && op.b <= wish->high)
      return true;
  }
  return false;
}

/* Would catch operations kept for nothing and operands that stay large, and,
 * by the number of runs, a search that goes away from zero and back. */
static void
test_shrink_keeps_what_is_asked_for(void **state)
{
  static const int32_t wishes[][3] = {
    /* low, high, what is left */
    {-32768, -1, -1}, {-32768, -6500, -6500}, {-32768, 32767, 0},
    {-7000, -7000, -7000},
  };

  (void)state;
  for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
    struct stream stream = padded(integer, 200);
    struct wish wish = {wishes[i][0], wishes[i][1], 0};
    size_t runs = stream_shrink(&stream, has_integer, &wish, RUNS_MAX);

    assert_int_equal(runs, wish.asked);
    assert_true(runs < 1000);
    assert_int_equal(stream.count, 1);
    assert_int_equal(stream.ops[0].code, OP_INT);
    assert_int_equal(stream.ops[0].a, 0);
    assert_int_equal(stream.ops[0].b, wishes[i][2]);
    stream_done(&stream);
  }
}

/* Would catch a bound that is only looked at now and then, and a stream that
 * is left at a candidate which did not hold. */
static void
test_shrink_stays_within_its_runs(void **state)
{
  (void)state;
  for (size_t runs_max = 0; runs_max < 40; runs_max++) {
    struct stream stream = padded(integer, 100);
    struct wish wish = {-32768, -1, 0};

    assert_true(stream_shrink(&stream, has_integer, &wish, runs_max) <=
                runs_max);
    assert_true(wish.asked <= runs_max);
    assert_true(has_integer(&wish, &stream));
    stream_done(&stream);
  }
}

static bool
is_anything(void *user, const struct stream *stream)
{
  (void)user;
  (void)stream;
  return true;
}

/* Would catch reads before the first or after the last operation. */
static void
test_shrink_takes_all_there_is(void **state)
{
  (void)state;
  for (size_t count = 0; count < 20; count++) {
    struct stream stream;

    assert_int_equal(stream_generate(count, count, &stream), STREAM_OK);
    stream_shrink(&stream, is_anything, NULL, RUNS_MAX);
    assert_int_equal(stream.count, 0);
    stream_done(&stream);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shrink_keeps_what_is_asked_for),
    cmocka_unit_test(test_shrink_stays_within_its_runs),
    cmocka_unit_test(test_shrink_takes_all_there_is),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
