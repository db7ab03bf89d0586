/* SPDX-License-Identifier: MIT
 *
 * Inputs of the corpus, for the tests that run them all.
 */
#ifndef PENUMBRA_TESTS_CORPUS_FIXTURE_H
#define PENUMBRA_TESTS_CORPUS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "ops/ops.h"

static inline struct stream
read_input(const char *folder, const char *name)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file)
    fail_msg("%s cannot be opened", path);
  uint8_t *bytes = malloc(1 << 20);
  assert_non_null(bytes);
  size_t size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  struct stream stream;
  assert_int_equal(stream_decode(bytes, size, &stream), STREAM_OK);
  free(bytes);
  return stream;
}

#endif
