/* SPDX-License-Identifier: MIT
 *
 * penumbra asm: the text of a stream as canonical bytes.
 */
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"

struct arguments {
  const char *input;
  const char *output;
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;

  switch (key) {
  case 'o':
    arguments->output = argument;
    return 0;
  case ARGP_KEY_ARG:
    if (arguments->input)
      return cli_refuse("asm takes one file, '%s' is one more", argument);
    arguments->input = argument;
    return 0;
  case ARGP_KEY_END:
    if (!arguments->input)
      return cli_refuse("asm needs a file: penumbra asm IN.pen -o OUT");
    if (!arguments->output)
      return cli_refuse("asm needs a file to write: -o OUT, or -o -");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
  {"output", 'o', "OUT", 0, "write the bytes to OUT; - is standard output",
   0},
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .args_doc = "IN.pen",
  .doc = "Turn the text of a stream into its canonical bytes: four for each "
         "operation. IN.pen is text whatever its name; - is standard input."
         "\vThe language is told by penumbra-ops(7) and 'penumbra ops'.",
};

int
cmd_asm(int argc, char **argv)
{
  struct arguments arguments = {NULL, NULL};
  struct stream stream;
  struct input input = {NULL, 0};
  int status = cli_parse(&parser, "asm", argc, argv, &arguments);

  if (status != 0)
    return status;
  input.path = (char *)arguments.input;
  switch (input_read(&input, true, &stream)) {
  case INPUT_OK:
    break;
  case INPUT_BAD:
    return CLI_BAD;
  case INPUT_NO_MEMORY:
    return CLI_UNCHECKED;
  }
  status = output_stream(arguments.output, &stream, false, "");
  stream_done(&stream);
  return status;
}
