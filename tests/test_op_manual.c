/* SPDX-License-Identifier: MIT
 *
 * What is written from the lists: that nothing is left out of the manual or
 * the dictionary, that mandoc has no complaint about the one where it is
 * installed, and that the other says what libFuzzer can read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op_manual.h"
#include "ops/ops.h"

/* Everything that write() writes, to be freed. */
static char *
written(void (*write)(FILE *))
{
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);

  assert_non_null(file);
  write(file);
  assert_int_equal(ferror(file), 0);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(strlen(text), size);
  return text;
}

static void
assert_contains(const char *text, const char *wanted)
{
  if (strstr(text, wanted) == NULL)
    fail_msg("'%s' is missing", wanted);
}

/* A copy with each hyphen plain again, to be freed. */
static char *
without_escapes(const char *text)
{
  char *copy = malloc(strlen(text) + 1);
  char *end = copy;

  assert_non_null(copy);
  for (; *text != '\0'; text++) {
    if (text[0] != '\\' || text[1] != '-')
      *end++ = *text;
  }
  *end = '\0';
  return copy;
}

/* Would catch a group or type that has no place in the manual. */
static void
test_op_manual_has_every_row(void **state)
{
  char *text = written(op_manual_write);
  char *plain = without_escapes(text);
  char wanted[128];

  (void)state;
  for (int i = 0; i < OP_COUNT; i++) {
    snprintf(wanted, sizeof wanted, "\n.It Ic %s%s", op_infos[i].name,
             op_infos[i].operand[0] == OP_OPERAND_NONE ? "\n" : " Ar a : ");
    assert_contains(text, wanted);
    snprintf(wanted, sizeof wanted, "\nopcode %d; weight %d", i,
             op_infos[i].weight);
    assert_contains(text, wanted);
  }
  for (int i = OP_OPERAND_NONE + 1; i < OP_OPERAND_COUNT; i++) {
    snprintf(wanted, sizeof wanted, "\n.It Ar %s\n", op_operand_infos[i].name);
    assert_contains(text, wanted);
  }
#define WORD(TYPE, index, NAME, word) assert_contains(plain, "\n.Cm " word);
#include "ops/op_words.def"
#undef WORD
  assert_contains(text, "\n.Ss Coroutines\n");
  assert_contains(text, "a[\"s\" .. n] := c, raw\n");
  assert_contains(text, "\nrunto enter\\-atomic  ");
  assert_contains(text, "from \\-32768 to");
  free(text);
  free(plain);
}

/* Would catch text that roff takes for a macro, and lines that nobody can
 * read in a diff. */
static void
test_op_manual_lines_are_clean(void **state)
{
  char *text = written(op_manual_write);

  (void)state;
  for (char *line = strtok(text, "\n"); line != NULL;
       line = strtok(NULL, "\n")) {
    size_t length = strlen(line);

    assert_true(length <= 80);
    assert_int_not_equal(line[length - 1], ' ');
    assert_int_not_equal(line[0], '\'');
    if (line[0] == '.')
      assert_true((line[1] >= 'A' && line[1] <= 'Z') || line[1] == '\\' ||
                  strcmp(line, ".br") == 0);
  }
  free(text);
}

static void
test_op_manual_passes_mandoc(void **state)
{
  FILE *mandoc;

  (void)state;
  if (system("command -v mandoc >/dev/null 2>&1") != 0)
    skip();
  mandoc = popen("mandoc -T lint -W warning >/dev/null", "w");
  assert_non_null(mandoc);
  op_manual_write(mandoc);
  assert_int_equal(pclose(mandoc), 0);
}

static unsigned
hex_digit(char digit)
{
  static const char digits[] = "0123456789abcdef";
  const char *found = strchr(digits, digit);

  assert_true(digit != '\0' && found != NULL);
  return (unsigned)(found - digits);
}

/* The bytes of name="\x01\x02"; checks the form. */
static size_t
entry_read(const char *line, uint8_t *ret_bytes)
{
  size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_");
  const char *at = line + name + 2;
  size_t count = 0;

  assert_true(name > 0);
  assert_memory_equal(line + name, "=\"", 2);
  while (*at == '\\') {
    assert_true(count < 4);
    assert_int_equal(at[1], 'x');
    ret_bytes[count++] = (uint8_t)(hex_digit(at[2]) << 4 | hex_digit(at[3]));
    at += 4;
  }
  assert_string_equal(at, "\"");
  return count;
}

/* Would catch an entry that libFuzzer cannot parse (it then refuses to run),
 * an opcode under a wrong name, and a whole operation that is not canonical
 * or not the one that its name says. */
static void
test_op_manual_dictionary_is_true(void **state)
{
  char *text = written(op_dict_write);
  unsigned opcodes = 0;
  unsigned operations = 0;

  (void)state;
  for (char *line = strtok(text, "\n"); line != NULL;
       line = strtok(NULL, "\n")) {
    uint8_t bytes[4], canonical[4];
    size_t size, length;

    if (line[0] == '#')
      continue;
    size = entry_read(line, bytes);
    assert_true(bytes[0] < OP_COUNT);
    length = strlen(op_infos[bytes[0]].name);
    assert_memory_equal(line, op_infos[bytes[0]].name, length);
    if (size == 1) {
      assert_int_equal(line[length], '=');
      assert_int_equal(bytes[0], opcodes);
      opcodes++;
      continue;
    }
    assert_int_equal(size, 4);
    op_encode(op_decode(bytes), canonical);
    assert_memory_equal(bytes, canonical, 4);
    operations++;
  }
  assert_int_equal(opcodes, OP_COUNT);
  assert_true(operations >= 40);
  free(text);
}

static void
test_op_manual_is_the_same_every_time(void **state)
{
  char *first = written(op_manual_write);
  char *second = written(op_manual_write);

  (void)state;
  assert_string_equal(first, second);
  free(first);
  free(second);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_op_manual_has_every_row),
      cmocka_unit_test(test_op_manual_lines_are_clean),
      cmocka_unit_test(test_op_manual_passes_mandoc),
      cmocka_unit_test(test_op_manual_dictionary_is_true),
      cmocka_unit_test(test_op_manual_is_the_same_every_time),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
