/* SPDX-License-Identifier: MIT
 *
 * penumbra dis: a stream as text.
 */
#include "cli/cli.h"
#include "cli/input.h"
#include "ops/op_text.h"

struct arguments {
  const char *input;
  bool is_text;
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;

  switch (key) {
  case CLI_KEY_TEXT:
    arguments->is_text = true;
    return 0;
  case ARGP_KEY_ARG:
    if (arguments->input)
      return cli_refuse("dis takes one file, '%s' is one more", argument);
    arguments->input = argument;
    return 0;
  case ARGP_KEY_END:
    if (!arguments->input)
      return cli_refuse("dis needs a file: penumbra dis IN");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
  {"text", CLI_KEY_TEXT, NULL, 0,
   "IN is text already: print it in its canonical form", 0},
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .args_doc = "IN",
  .doc = "Print a stream as text, one operation a line. IN is bytes, or text "
         "if its name ends in .pen; - is standard input."
         "\vEvery file is a stream: opcodes and operands are taken modulo "
         "what exists, a tail shorter than four bytes is dropped.",
};

int
cmd_dis(int argc, char **argv)
{
  struct arguments arguments = {NULL, false};
  struct input input = {NULL, 0};
  struct stream stream;
  char text[OP_TEXT_OP_MAX];
  int status = cli_parse(&parser, "dis", argc, argv, &arguments);

  if (status != 0)
    return status;
  input.path = (char *)arguments.input;
  switch (input_read(&input, arguments.is_text, &stream)) {
  case INPUT_OK:
    break;
  case INPUT_BAD:
    return CLI_BAD;
  case INPUT_NO_MEMORY:
    return CLI_UNCHECKED;
  }
  for (size_t i = 0; i < stream.count; i++) {
    op_print(stream.ops[i], text);
    puts(text);
  }
  stream_done(&stream);
  return CLI_CLEAN;
}
