/* SPDX-License-Identifier: MIT
 *
 * Printing and parsing of the text form. Errors are written for a person who
 * has the line before them: what stands there, what was expected, and where
 * it is near enough, what was probably meant. A message never repeats more
 * than a few bytes of the input, and those escaped.
 */
#include "ops/op_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op_assert.h"

enum {
  OPERANDS_MAX = 3,
  SHOWN_MAX = 24,    /* bytes of escaped input in a message */
  GUESS_LENGTH = 24, /* no guesses for longer words */
  EXPECTED_MAX = 112 /* bytes of what an operand can be */
};

struct word {
  const char *text; /* borrows the line */
  size_t length;
};

static size_t
operand_count(const struct op_info *info)
{
  size_t count = OPERANDS_MAX;

  while (count > 0 && info->operand[count - 1] == OP_OPERAND_NONE)
    count--;
  return count;
}

/* ---- printing -------------------------------------------------------- */

static size_t
operand_print(enum op_operand operand, int32_t value, char *ret_text,
              size_t size)
{
  const char *word = op_word_text(operand, value);
  int length;

  if (word != NULL)
    length = snprintf(ret_text, size, " %s", word);
  else if (op_operand_infos[operand].scale == OP_SCALE_REG)
    length = snprintf(ret_text, size, " r%d", (int)value);
  else
    length = snprintf(ret_text, size, " %d", (int)value);
  PENUMBRA_ASSERT(length > 0 && (size_t)length < size);
  return (size_t)length;
}

size_t
op_print(struct op op, char *ret_text)
{
  const int32_t value[OPERANDS_MAX] = {op.a, op.b, op.c};
  const struct op_info *info;
  size_t length;

  PENUMBRA_ASSERT(op_is_valid(op));
  info = &op_infos[op.code];
  length = strlen(info->name);
  PENUMBRA_ASSERT(length < OP_TEXT_OP_MAX);
  memcpy(ret_text, info->name, length + 1);
  for (size_t i = 0; i < operand_count(info); i++) {
    length += operand_print(info->operand[i], value[i], ret_text + length,
                            OP_TEXT_OP_MAX - length);
  }
  return length;
}

/* ---- showing input --------------------------------------------------- */

struct shown {
  char text[SHOWN_MAX + 8]; /* with room for the last escape and the dots */
};

/* The word with what is not printable ASCII escaped, and shortened. */
static struct shown
word_show(struct word word)
{
  static const char hex[] = "0123456789abcdef";
  struct shown shown;
  size_t length = 0;

  for (size_t i = 0; i < word.length; i++) {
    unsigned char byte = (unsigned char)word.text[i];

    if (length >= SHOWN_MAX) {
      memcpy(shown.text + length, "...", 3);
      length += 3;
      break;
    }
    if (byte > ' ' && byte < 127 && byte != '\\') {
      shown.text[length++] = (char)byte;
      continue;
    }
    shown.text[length++] = '\\';
    if (byte == '\\') {
      shown.text[length++] = '\\';
      continue;
    }
    shown.text[length++] = 'x';
    shown.text[length++] = hex[byte >> 4];
    shown.text[length++] = hex[byte & 15];
  }
  shown.text[length] = '\0';
  return shown;
}

/* ---- guesses --------------------------------------------------------- */

static size_t
min_size(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* How many letters must be inserted, dropped, replaced or swapped with their
 * neighbour to make one word of the other (each place edited once). Both are
 * at most GUESS_LENGTH long. */
static size_t
word_distance(struct word a, struct word b)
{
  size_t row[GUESS_LENGTH + 1][GUESS_LENGTH + 1];

  for (size_t i = 0; i <= a.length; i++) {
    for (size_t j = 0; j <= b.length; j++) {
      if (i == 0 || j == 0) {
        row[i][j] = i + j;
        continue;
      }
      row[i][j] = row[i - 1][j - 1] + (a.text[i - 1] != b.text[j - 1]);
      row[i][j] = min_size(row[i][j], row[i - 1][j] + 1);
      row[i][j] = min_size(row[i][j], row[i][j - 1] + 1);
      if (i > 1 && j > 1 && a.text[i - 1] == b.text[j - 2] &&
          a.text[i - 2] == b.text[j - 1])
        row[i][j] = min_size(row[i][j], row[i - 2][j - 2] + 1);
    }
  }
  return row[a.length][b.length];
}

/* The candidate nearest to word so far; the first one wins a draw. */
struct guess {
  struct word word;
  const char *best; /* borrows the candidate; NULL for none */
  size_t distance;  /* a candidate must be nearer than this */
};

/* A guess is worth making within two edits, and when at least half of what
 * was written is right. */
static struct guess
guess_start(struct word word)
{
  return (struct guess){word, NULL, min_size(2, word.length / 2) + 1};
}

static void
guess_offer(struct guess *guess, const char *candidate)
{
  struct word word = {candidate, strlen(candidate)};
  size_t distance;

  if (guess->word.length > GUESS_LENGTH || word.length > GUESS_LENGTH)
    return;
  distance = word_distance(guess->word, word);
  if (distance < guess->distance) {
    guess->best = candidate;
    guess->distance = distance;
  }
}

struct hint {
  char text[GUESS_LENGTH + 24];
};

static struct hint
guess_hint(const struct guess *guess)
{
  struct hint hint = {""};

  if (guess->best != NULL)
    snprintf(hint.text, sizeof hint.text, " (did you mean '%s'?)", guess->best);
  return hint;
}

/* ---- parsing --------------------------------------------------------- */

static bool
word_equals(struct word word, const char *text)
{
  return strlen(text) == word.length &&
         memcmp(text, word.text, word.length) == 0;
}

static bool
is_blank(char byte)
{
  return byte == ' ' || byte == '\t';
}

/* The next word of the line from *at on; of length 0 at the end. */
static struct word
word_next(const char *line, size_t length, size_t *at)
{
  size_t start;

  while (*at < length && is_blank(line[*at]))
    ++*at;
  start = *at;
  while (*at < length && !is_blank(line[*at]))
    ++*at;
  return (struct word){line + start, *at - start};
}

static bool
name_parse(struct word word, uint8_t *ret_code, char *ret_error)
{
  struct guess guess = guess_start(word);

  for (size_t i = 0; i < OP_COUNT; i++) {
    if (word_equals(word, op_infos[i].name)) {
      *ret_code = (uint8_t)i;
      return true;
    }
  }
  for (size_t i = 0; i < OP_COUNT; i++)
    guess_offer(&guess, op_infos[i].name);
  snprintf(ret_error, OP_TEXT_ERROR_MAX, "unknown operation '%s'%s",
           word_show(word).text, guess_hint(&guess).text);
  return false;
}

/* A decimal number with an optional minus. A number too large to hold becomes
 * one that no operand can have. */
static bool
number_parse(struct word word, int32_t *ret_number)
{
  const int32_t number_max = 1 << 30;
  bool is_negative = word.length > 0 && word.text[0] == '-';
  size_t start = is_negative ? 1 : 0;
  int32_t number = 0;

  if (word.length == start)
    return false;
  for (size_t i = start; i < word.length; i++) {
    char digit = word.text[i];

    if (digit < '0' || digit > '9')
      return false;
    if (number < number_max / 10)
      number = 10 * number + (digit - '0');
    else
      number = number_max;
  }
  *ret_number = is_negative ? -number : number;
  return true;
}

/* The words of a type as "pause, propagate, ..." */
static void
words_list(enum op_operand operand, char *ret_text, size_t size)
{
  size_t length = 0;

  ret_text[0] = '\0';
  for (uint32_t i = 0; i < op_operand_infos[operand].count; i++) {
    int more = snprintf(ret_text + length, size - length, "%s%s",
                        i == 0 ? "" : ", ", op_word_text(operand, (int32_t)i));

    if (more < 0 || (size_t)more >= size - length)
      return; /* cut short, which the size of a message does anyway */
    length += (size_t)more;
  }
}

/* What an operand can be, for messages: "a register r0 to r15". */
static void
operand_expect(enum op_operand operand, char *ret_text, size_t size)
{
  const struct op_operand_info *info = &op_operand_infos[operand];
  int32_t count = (int32_t)info->count;
  size_t length;

  switch (info->scale) {
  case OP_SCALE_REG:
    snprintf(ret_text, size, "a register r0 to r%d", (int)(count - 1));
    return;
  case OP_SCALE_LINEAR:
    snprintf(ret_text, size, count == 2 ? "0 or %d" : "a number from 0 to %d",
             (int)(count - 1));
    return;
  case OP_SCALE_SIGNED:
    snprintf(ret_text, size, "a number from %d to %d", (int)(-count / 2),
             (int)(count / 2 - 1));
    return;
  case OP_SCALE_LOG:
    snprintf(ret_text, size, "a number from 0 to %d",
             (int)op_log_value(info->count - 1, info->bytes));
    return;
  case OP_SCALE_WORD:
    length = (size_t)snprintf(ret_text, size, count == 1 ? "" : "one of ");
    words_list(operand, ret_text + length, size - length);
    return;
  }
}

/* Takes a word for an operand; false if it is none in the operand's range. */
static bool
operand_read(enum op_operand operand, struct word word, int32_t *ret_value)
{
  const struct op_operand_info *info = &op_operand_infos[operand];
  int32_t count = (int32_t)info->count;
  int32_t value;

  if (info->scale == OP_SCALE_WORD) {
    for (value = 0; value < count; value++) {
      if (word_equals(word, op_word_text(operand, value))) {
        *ret_value = value;
        return true;
      }
    }
    return false;
  }
  if (info->scale == OP_SCALE_REG) {
    if (word.length < 2 || word.text[0] != 'r' || word.text[1] == '-')
      return false;
    word = (struct word){word.text + 1, word.length - 1};
  }
  if (!number_parse(word, &value))
    return false;
  if (info->scale == OP_SCALE_SIGNED) {
    if (value < -count / 2 || value >= count / 2)
      return false;
  } else if (info->scale == OP_SCALE_LOG) {
    if (value < 0 || value > op_log_value(info->count - 1, info->bytes))
      return false;
  } else if (value < 0 || value >= count) {
    return false;
  }
  *ret_value = value;
  return true;
}

/* A value in range that falls between two steps of a logarithmic operand. */
static bool
log_check(const struct op_operand_info *info, int32_t value, char *ret_error)
{
  uint32_t code;

  if (info->scale != OP_SCALE_LOG || op_log_code(value, info->bytes, &code))
    return true;
  code = op_log_floor(value, info->bytes);
  snprintf(ret_error, OP_TEXT_ERROR_MAX,
           "%d is no value of this logarithmic operand; nearest are %d and %d",
           (int)value, (int)op_log_value(code, info->bytes),
           (int)op_log_value(code + 1, info->bytes));
  return false;
}

/* Operand number index (from 0) of the operation. */
static bool
operand_parse(const struct op_info *info, size_t index, struct word word,
              int32_t *ret_value, char *ret_error)
{
  enum op_operand operand = info->operand[index];
  const struct op_operand_info *type = &op_operand_infos[operand];
  struct guess guess = guess_start(word);
  char expected[EXPECTED_MAX];

  if (operand_read(operand, word, ret_value))
    return log_check(type, *ret_value, ret_error);
  if (type->scale == OP_SCALE_WORD) {
    for (uint32_t i = 0; i < type->count; i++)
      guess_offer(&guess, op_word_text(operand, (int32_t)i));
  }
  operand_expect(operand, expected, sizeof expected);
  snprintf(ret_error, OP_TEXT_ERROR_MAX,
           "operand %zu of '%s' is %s, got '%s'%s", index + 1, info->name,
           expected, word_show(word).text, guess_hint(&guess).text);
  return false;
}

static void
count_error(const struct op_info *info, size_t count, char *ret_error)
{
  size_t wanted = operand_count(info);

  if (wanted == 0)
    snprintf(ret_error, OP_TEXT_ERROR_MAX, "'%s' has no operands, got %zu",
             info->name, count);
  else
    snprintf(ret_error, OP_TEXT_ERROR_MAX, "'%s' has %zu operand%s, got %zu",
             info->name, wanted, wanted == 1 ? "" : "s", count);
}

/* The words of a line, which is not empty, as an operation. */
static bool
words_parse(const char *line, size_t length, size_t at, struct op *ret_op,
            char *ret_error)
{
  int32_t value[OPERANDS_MAX] = {0};
  struct word words[OPERANDS_MAX];
  const struct op_info *info;
  struct word word;
  uint8_t code;
  size_t count = 0;

  if (!name_parse(word_next(line, length, &at), &code, ret_error))
    return false;
  info = &op_infos[code];
  while ((word = word_next(line, length, &at)).length > 0) {
    if (count < OPERANDS_MAX)
      words[count] = word;
    count++;
  }
  if (count != operand_count(info)) {
    count_error(info, count, ret_error);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (!operand_parse(info, i, words[i], &value[i], ret_error))
      return false;
  }
  *ret_op = (struct op){code, value[0], value[1], value[2]};
  return true;
}

enum op_parse_status
op_parse(const char *line, size_t length, struct op *ret_op, char *ret_error)
{
  const char *comment;
  size_t at = 0;

  if (length > 0 && line[length - 1] == '\r')
    length--;
  if (length > OP_TEXT_LINE_MAX) {
    snprintf(ret_error, OP_TEXT_ERROR_MAX, "line is longer than %d bytes",
             OP_TEXT_LINE_MAX);
    return OP_PARSE_ERROR;
  }
  if (length == 0)
    return OP_PARSE_EMPTY;
  if (memchr(line, '\0', length) != NULL) {
    snprintf(ret_error, OP_TEXT_ERROR_MAX,
             "line has a NUL byte; expected text (is this a stream in bytes?)");
    return OP_PARSE_ERROR;
  }
  comment = memchr(line, '#', length);
  if (comment != NULL)
    length = (size_t)(comment - line);
  while (at < length && is_blank(line[at]))
    at++;
  if (at == length)
    return OP_PARSE_EMPTY;
  if (!words_parse(line, length, at, ret_op, ret_error))
    return OP_PARSE_ERROR;
  return OP_PARSE_OK;
}

/* ---- whole texts ----------------------------------------------------- */

static enum stream_status
stream_append(struct stream *stream, size_t *capacity, struct op op)
{
  struct op *ops;

  if (stream->count == OP_STREAM_MAX)
    return STREAM_TOO_LONG;
  if (stream->count == *capacity) {
    size_t larger = *capacity == 0 ? 64 : 2 * *capacity;

    ops = realloc(stream->ops, larger * sizeof *ops);
    if (ops == NULL)
      return STREAM_NO_MEMORY;
    stream->ops = ops;
    *capacity = larger;
  }
  stream->ops[stream->count++] = op;
  return STREAM_OK;
}

/* The length of the line at text without its newline. Looks no further than
 * it takes to see that the line is too long, so that a huge line costs as
 * little as a long one. */
static size_t
line_length(const char *text, size_t size)
{
  size_t window = min_size(size, OP_TEXT_LINE_MAX + 2); /* "\r\n" */
  const char *newline = memchr(text, '\n', window);

  return newline != NULL ? (size_t)(newline - text) : window;
}

static int
line_parse(const char *line, size_t length, struct stream *stream,
           size_t *capacity, char *ret_message)
{
  int status = STREAM_OK;
  struct op op;

  switch (op_parse(line, length, &op, ret_message)) {
  case OP_PARSE_ERROR:
    return STREAM_BAD_TEXT;
  case OP_PARSE_EMPTY:
    break;
  case OP_PARSE_OK:
    status = stream_append(stream, capacity, op);
    break;
  }
  if (status == STREAM_TOO_LONG)
    snprintf(ret_message, OP_TEXT_ERROR_MAX,
             "stream is longer than %d operations", OP_STREAM_MAX);
  else if (status == STREAM_NO_MEMORY)
    snprintf(ret_message, OP_TEXT_ERROR_MAX, "out of memory");
  return status;
}

int
stream_parse(const char *text, size_t size, struct stream *ret_stream,
             struct stream_text_error *ret_error)
{
  struct stream stream = {NULL, 0};
  size_t capacity = 0;
  size_t line = 1;

  for (size_t at = 0; at < size; line++) {
    size_t length = line_length(text + at, size - at);
    int status =
        line_parse(text + at, length, &stream, &capacity, ret_error->message);

    if (status != STREAM_OK) {
      ret_error->line = line;
      stream_done(&stream);
      return status;
    }
    at += length + 1;
  }
  *ret_stream = stream;
  return STREAM_OK;
}
