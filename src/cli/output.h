/* SPDX-License-Identifier: MIT
 *
 * Writing a file whole or not at all.
 */
#ifndef PENUMBRA_CLI_OUTPUT_H
#define PENUMBRA_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct stream;

/* Writes size bytes to the file path, "-" for standard output. A file is
 * first written beside its place and then renamed, so that it never is half
 * there; what is no regular file (/dev/null, a pipe) is written directly.
 * Returns CLI_CLEAN, or, after an error, CLI_BAD (a wrong path) or
 * CLI_UNCHECKED (the system would not). */
int output_write(const char *path, const void *bytes, size_t size);

/* Writes stream in the same way: as text, below the heading, or as bytes. */
int output_stream(const char *path, const struct stream *stream, bool is_text,
                  const char *heading);

#endif
