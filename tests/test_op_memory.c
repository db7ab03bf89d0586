/* SPDX-License-Identifier: MIT
 *
 * Streams when memory runs out: each allocation that a clean run makes fails
 * once, and what comes back is the status for that, an untouched result, and
 * no leak (which a sanitizer sees). To reach the allocations, the sources are
 * compiled here once more, with an allocator that can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static size_t allocations;     /* tried so far */
static size_t allocation_fail; /* the one that fails, from 1; 0 for none */

static void *
failing_realloc(void *block, size_t size)
{
  if (++allocations == allocation_fail)
    return NULL;
  return (realloc)(block, size);
}

static void *
failing_malloc(size_t size)
{
  return failing_realloc(NULL, size);
}

#define malloc(size)         failing_malloc(size)
#define realloc(block, size) failing_realloc(block, size)
#include "ops/op_gen.c"
#include "ops/op_text.c"
#include "ops/ops.c"

static int
decode(struct stream *ret_stream)
{
  static const uint8_t bytes[400];

  return (int)stream_decode(bytes, sizeof bytes, ret_stream);
}

static int
generate(struct stream *ret_stream)
{
  return (int)stream_generate(1, 100, ret_stream);
}

static int
parse(struct stream *ret_stream)
{
  static char text[7 * 1000 + 1];
  struct stream_text_error error = {0, ""};
  int status;

  for (size_t i = 0; i < 1000; i++)
    memcpy(text + 7 * i, "finish\n", 7);
  status = stream_parse(text, sizeof text - 1, ret_stream, &error);
  if (status == STREAM_NO_MEMORY) {
    assert_string_equal(error.message, "out of memory");
    assert_true(error.line > 0);
  }
  return status;
}

/* Would catch an unchecked allocation, a leak of what was there before, and a
 * result that was changed all the same. */
static void
each_allocation_fails(int (*run)(struct stream *), size_t at_least)
{
  struct stream stream;
  size_t count;

  allocations = 0;
  allocation_fail = 0;
  assert_int_equal(run(&stream), STREAM_OK);
  stream_done(&stream);
  count = allocations;
  assert_true(count >= at_least);
  for (size_t k = 1; k <= count; k++) {
    stream = (struct stream){NULL, 77};
    allocations = 0;
    allocation_fail = k;
    assert_int_equal(run(&stream), STREAM_NO_MEMORY);
    assert_null(stream.ops);
    assert_int_equal(stream.count, 77);
  }
}

static void
test_op_memory_decode_fails_cleanly(void **state)
{
  (void)state;
  each_allocation_fails(decode, 1);
}

static void
test_op_memory_generate_fails_cleanly(void **state)
{
  (void)state;
  each_allocation_fails(generate, 1);
}

static void
test_op_memory_parse_fails_cleanly(void **state)
{
  (void)state;
  each_allocation_fails(parse, 3);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_op_memory_decode_fails_cleanly),
      cmocka_unit_test(test_op_memory_generate_fails_cleanly),
      cmocka_unit_test(test_op_memory_parse_fails_cleanly),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
