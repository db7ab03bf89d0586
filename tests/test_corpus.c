/* SPDX-License-Identifier: MIT
 *
 * The corpus as it is kept: each source under corpus/pen/lua54 says what it
 * shows and stands in corpus/fuzz_lua54 as the bytes that it assembles to; each
 * input there is written as the assembler writes it.
 */
#include "tests/corpus_fixture.h"

#include <dirent.h>
#include <string.h>

#include "ops/op_text.h"

static char inputs[4096], sources[4096];

static int
find_folders(void **state)
{
  const char *top = getenv("abs_top_srcdir");
  (void)state;
  snprintf(inputs, sizeof inputs, "%s/corpus/fuzz_lua54", top ? top : ".");
  snprintf(sources, sizeof sources, "%s/corpus/pen/lua54", top ? top : ".");
  return 0;
}

/* Calls a function for each file; there are some. */
static void
for_each(const char *folder, void (*function)(const char *name))
{
  struct dirent **names;
  int count = scandir(folder, &names, NULL, alphasort), files = 0;
  if (count < 0)
    fail_msg("%s cannot be read", folder);
  for (int i = 0; i < count; i++) {
    if (names[i]->d_name[0] != '.') {
      function(names[i]->d_name);
      files++;
    }
    free(names[i]);
  }
  free(names);
  assert_true(files > 0);
}

static void
expect_assembled(const char *text, size_t size, const uint8_t *bytes,
                 size_t byte_count, const char *name)
{
  struct stream stream;
  struct stream_text_error error;
  if (stream_parse(text, size, &stream, &error) != STREAM_OK)
    fail_msg("%s:%zu: %s", name, error.line, error.message);
  uint8_t *assembled = malloc(4 * stream.count + 1);
  assert_non_null(assembled);
  stream_encode(&stream, assembled);
  if (byte_count != 4 * stream.count ||
      memcmp(assembled, bytes, byte_count) != 0)
    fail_msg("%s is not what its text assembles to", name);
  free(assembled);
  stream_done(&stream);
}

static void
check_source(const char *file)
{
  char name[256];
  size_t length = strlen(file), size, byte_count;
  assert_true(length > 4 && length < sizeof name);
  assert_string_equal(file + length - 4, ".pen");
  snprintf(name, sizeof name, "%.*s", (int)length - 4, file);
  uint8_t *text = read_bytes(sources, file, &size);
  uint8_t *bytes = read_bytes(inputs, name, &byte_count);
  if (size < 3 || memcmp(text, "# ", 2) != 0)
    fail_msg("the first line of %s is no comment", file);
  expect_assembled((const char *)text, size, bytes, byte_count, name);
  free(text);
  free(bytes);
}

static void
check_input(const char *name)
{
  size_t size, length = 0;
  uint8_t *bytes = read_bytes(inputs, name, &size);
  struct stream stream = read_input(inputs, name);
  char *text = malloc((OP_TEXT_OP_MAX + 1) * (stream.count + 1));
  assert_non_null(text);
  for (size_t i = 0; i < stream.count; i++) {
    length += op_print(stream.ops[i], text + length);
    text[length++] = '\n';
  }
  expect_assembled(text, length, bytes, size, name);
  free(text);
  free(bytes);
  stream_done(&stream);
}

static void
test_corpus_has_the_bytes_of_each_source(void **state)
{
  (void)state;
  for_each(sources, check_source);
}

static void
test_corpus_is_written_as_the_assembler_writes(void **state)
{
  (void)state;
  for_each(inputs, check_input);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_corpus_has_the_bytes_of_each_source),
      cmocka_unit_test(test_corpus_is_written_as_the_assembler_writes),
  };
  return cmocka_run_group_tests(tests, find_folders, NULL);
}
