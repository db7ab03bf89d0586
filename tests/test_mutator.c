/* SPDX-License-Identifier: MIT
 *
 * The mutator of the fuzz targets: that its output is a function of its
 * arguments, canonical and within its bound, and that it does not stand still.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ops/op_gen.h"
#include "ops/ops.h"

enum { SEEDS = 2000, SIZE_MAX_TESTED = 256 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max,
                               unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1,
                                 const uint8_t *data2, size_t size2,
                                 uint8_t *out, size_t size_max,
                                 unsigned int seed);

static unsigned engine_calls;

/* Stands for the engine's own mutator: leaves bytes that are not canonical
 * and a tail. */
size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max)
{
  (void)size;
  engine_calls++;
  memset(data, 0xff, size_max);
  return size_max;
}

/* The output of one mutation in a block of just size_max bytes, so that a
 * write beyond it is seen by AddressSanitizer. */
static uint8_t *
mutate(const uint8_t *data, size_t size, size_t size_max, unsigned seed,
       size_t *ret_size)
{
  uint8_t *block = malloc(size_max ? size_max : 1);

  assert_non_null(block);
  if (size > 0)
    memcpy(block, data, size);
  *ret_size = LLVMFuzzerCustomMutator(block, size, size_max, seed);
  assert_true(*ret_size <= size_max);
  return block;
}

static void
assert_canonical(const uint8_t *data, size_t size)
{
  struct stream stream;
  uint8_t *again = malloc(size + 1);

  assert_non_null(again);
  assert_int_equal(size % 4, 0);
  assert_int_equal(stream_decode(data, size, &stream), STREAM_OK);
  stream_encode(&stream, again);
  assert_memory_equal(data, again, size);
  stream_done(&stream);
  free(again);
}

static size_t
seed_bytes(uint64_t seed, size_t count, uint8_t *ret_bytes)
{
  struct stream stream;

  assert_int_equal(stream_generate(seed, count, &stream), STREAM_OK);
  stream_encode(&stream, ret_bytes);
  stream_done(&stream);
  return 4 * count;
}

static void
test_mutator_output_is_canonical_and_bounded(void **state)
{
  static const size_t bounds[] = {0, 1, 3, 4, 5, 8, 63, 64, SIZE_MAX_TESTED};
  uint8_t bytes[SIZE_MAX_TESTED];

  (void)state;
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
      size_t size = seed_bytes(seed, seed % (bounds[i] / 4 + 1), bytes);
      size_t result_size;
      uint8_t *result =
          mutate(bytes, size, bounds[i], seed, &result_size);

      assert_canonical(result, result_size);
      free(result);
    }
  }
}

static void
test_mutator_output_depends_on_its_arguments_only(void **state)
{
  uint8_t bytes[SIZE_MAX_TESTED];
  size_t size = seed_bytes(1, 32, bytes);
  unsigned differ = 0;

  (void)state;
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    size_t size1, size2, other;
    uint8_t *result1 = mutate(bytes, size, sizeof bytes, seed, &size1);
    uint8_t *between = mutate(bytes, 4, sizeof bytes, seed + 7, &other);
    uint8_t *result2 = mutate(bytes, size, sizeof bytes, seed, &size2);

    assert_int_equal(size1, size2);
    assert_memory_equal(result1, result2, size1);
    differ += size1 != size || memcmp(result1, bytes, size) != 0;
    free(result1);
    free(between);
    free(result2);
  }
  /* Swapping two equal operations changes nothing; most do. */
  assert_true(differ > SEEDS * 9 / 10);
}

/* Would catch a kind of mutation that is listed but never does anything. */
static void
test_mutator_grows_shrinks_and_keeps(void **state)
{
  uint8_t bytes[SIZE_MAX_TESTED];
  size_t size = seed_bytes(2, 32, bytes);
  unsigned grown = 0, shrunk = 0, kept = 0, steered = 0;

  (void)state;
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    size_t result_size;
    uint8_t *result = mutate(bytes, size, sizeof bytes, seed, &result_size);

    grown += result_size > size;
    shrunk += result_size < size;
    kept += result_size == size;
    for (size_t i = 0; i < result_size; i += 4)
      steered += (op_infos[result[i]].flags & OP_STEERS) != 0;
    free(result);
  }
  assert_true(grown > SEEDS / 4);
  assert_true(shrunk > SEEDS / 20);
  assert_true(kept > SEEDS / 20);
  assert_true(steered > SEEDS);
}

static void
test_mutator_engine_has_a_share(void **state)
{
  uint8_t bytes[64];
  size_t size = seed_bytes(3, 16, bytes);

  (void)state;
  engine_calls = 0;
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    size_t result_size;

    free(mutate(bytes, size, sizeof bytes, seed, &result_size));
  }
  assert_in_range(engine_calls, SEEDS / 32, SEEDS / 8);
}

static void
test_mutator_makes_something_of_nothing(void **state)
{
  (void)state;
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    size_t size;
    uint8_t *result = mutate(NULL, 0, 64, seed, &size);

    assert_true(size > 0);
    free(result);
  }
}

/* Each operation of the result is one of the first or of the second stream,
 * and now and then there are some of both. */
static void
test_mutator_crosses_over(void **state)
{
  const struct op first = {.code = OP_COLLECT};
  const struct op second = {.code = OP_FINISH};
  uint8_t data1[32], data2[32];
  unsigned both = 0;

  (void)state;
  for (size_t i = 0; i < 8; i++) {
    op_encode(first, data1 + 4 * i);
    op_encode(second, data2 + 4 * i);
  }
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    size_t max = seed % 80;
    uint8_t *out = malloc(max ? max : 1);
    size_t size, count1 = 0, count2 = 0;

    assert_non_null(out);
    size = LLVMFuzzerCustomCrossOver(data1, sizeof data1, data2,
                                     4 * (seed % 9), out, max, seed);
    assert_true(size <= max);
    assert_canonical(out, size);
    for (size_t i = 0; i < size; i += 4) {
      count1 += out[i] == OP_COLLECT;
      count2 += out[i] == OP_FINISH;
    }
    assert_int_equal(4 * (count1 + count2), size);
    both += count1 > 0 && count2 > 0;
    free(out);
  }
  assert_true(both > SEEDS / 2);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mutator_output_is_canonical_and_bounded),
      cmocka_unit_test(test_mutator_output_depends_on_its_arguments_only),
      cmocka_unit_test(test_mutator_grows_shrinks_and_keeps),
      cmocka_unit_test(test_mutator_engine_has_a_share),
      cmocka_unit_test(test_mutator_makes_something_of_nothing),
      cmocka_unit_test(test_mutator_crosses_over),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
