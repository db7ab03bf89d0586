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

/* The caller owns the bytes. */
static inline uint8_t *
read_file(const char *path, size_t *ret_size)
{
  FILE *file = fopen(path, "rb");
  if (!file)
    fail_msg("%s cannot be opened", path);
  uint8_t *bytes = malloc(1 << 20);
  assert_non_null(bytes);
  *ret_size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static inline uint8_t *
read_bytes(const char *folder, const char *name, size_t *ret_size)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return read_file(path, ret_size);
}

static inline struct stream
read_input(const char *folder, const char *name)
{
  size_t size;
  uint8_t *bytes = read_bytes(folder, name, &size);
  struct stream stream;
  assert_int_equal(stream_decode(bytes, size, &stream), STREAM_OK);
  free(bytes);
  return stream;
}

#endif
