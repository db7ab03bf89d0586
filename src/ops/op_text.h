/* SPDX-License-Identifier: MIT
 *
 * The text form of streams (.pen): one operation a line, words separated by
 * blanks, `#` starts a comment. Printing and parsing are inverse to each
 * other. Owns nothing; any part of the project may call it.
 */
#ifndef PENUMBRA_OPS_OP_TEXT_H
#define PENUMBRA_OPS_OP_TEXT_H

#include <stddef.h>

#include "ops/ops.h"

enum { OP_TEXT_LINE_MAX = 4096, OP_TEXT_OP_MAX = 96, OP_TEXT_ERROR_MAX = 240 };

/* Writes op as text without a newline, NUL-terminated, into at least
 * OP_TEXT_OP_MAX bytes; returns its length. */
size_t op_print(struct op op, char *ret_text);

enum op_parse_status { OP_PARSE_OK, OP_PARSE_EMPTY, OP_PARSE_ERROR };

/* One line of length bytes (no newline). OP_PARSE_EMPTY for a blank line or
 * comment. On OP_PARSE_ERROR ret_error (OP_TEXT_ERROR_MAX bytes) says what is
 * wrong and what was expected, without file and line. */
enum op_parse_status op_parse(const char *line, size_t length,
                              struct op *ret_op, char *ret_error);

struct stream_text_error {
  size_t line; /* from 1 */
  char message[OP_TEXT_ERROR_MAX];
};

/* A whole text. Returns STREAM_OK, or STREAM_NO_MEMORY, STREAM_TOO_LONG or
 * STREAM_BAD_TEXT with ret_error filled in. A line over OP_TEXT_LINE_MAX bytes
 * is an error, as is a NUL byte. */
enum { STREAM_BAD_TEXT = STREAM_TOO_LONG + 1 };
int stream_parse(const char *text, size_t size, struct stream *ret_stream,
                 struct stream_text_error *ret_error);

#endif
