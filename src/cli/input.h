/* SPDX-License-Identifier: MIT
 *
 * The inputs that a user names: files of bytes, .pen files, folders, standard
 * input; what they hold as streams. Each is read once, so that a pipe is as
 * good as a file.
 */
#ifndef PENUMBRA_CLI_INPUT_H
#define PENUMBRA_CLI_INPUT_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "ops/ops.h"

struct input {
  char *path; /* owns; "-" is standard input */
  int error;  /* an errno of finding it; 0: none */
};

struct input_list {
  struct input *items; /* owns */
  size_t count;
  size_t capacity;
};

/* Adds path, or all regular files below it if it is a folder. What cannot be
 * opened becomes an input with an error. false on no memory. */
bool input_list_add(struct input_list *list, const char *path);
/* Sorts bytewise by path, the same in every locale. */
void input_list_sort(struct input_list *list);
void input_list_done(struct input_list *list);

/* What the commands that take any number of inputs have in common: these, and
 * two options. */
struct input_arguments {
  struct input_list list; /* owns */
  bool is_json;
  bool is_text; /* whatever their names */
  bool has_stdin;
};

#define INPUT_OPTIONS                                                \
  {"json", CLI_KEY_JSON, NULL, 0, "one JSON object a line", 0},      \
  {"text", CLI_KEY_TEXT, NULL, 0,                                    \
   "inputs are text whatever their names", 0}

/* The parser that takes them. Others are ARGP_ERR_UNKNOWN. */
error_t input_arguments_parse(int key, char *argument,
                              struct input_arguments *arguments);

enum input_status {
  INPUT_OK,
  INPUT_BAD,      /* missing or malformed */
  INPUT_NO_MEMORY /* could not be read for want of memory */
};

/* Reads an input as a stream, which is owned by the caller; after any other
 * status than INPUT_OK an error has been printed. is_text: text whatever its
 * name. */
enum input_status input_read(const struct input *input, bool is_text,
                             struct stream *ret_stream);
/* Whether the name says text. */
bool input_is_text(const char *path);

#endif
