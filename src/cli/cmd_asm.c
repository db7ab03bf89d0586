/* SPDX-License-Identifier: MIT
 *
 * penumbra asm: the text of a stream as canonical bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
  uint8_t *bytes;
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
  bytes = malloc(4 * stream.count + 1);
  if (bytes) {
    stream_encode(&stream, bytes);
    status = output_write(arguments.output, bytes, 4 * stream.count);
  } else {
    cli_error("no memory");
    status = CLI_UNCHECKED;
  }
  free(bytes);
  stream_done(&stream);
  return status;
}
