/* SPDX-License-Identifier: MIT
 *
 * penumbra gen: a random stream, the same for the same seed everywhere.
 */
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "ops/op_gen.h"

struct arguments {
  const char *output;
  uint64_t seed;
  uint64_t ops;
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;

  switch (key) {
  case CLI_KEY_SEED:
    return cli_number("--seed", argument, 0, UINT64_MAX, &arguments->seed);
  case CLI_KEY_OPS:
    return cli_number("--ops", argument, 0, OP_STREAM_MAX, &arguments->ops);
  case 'o':
    arguments->output = argument;
    return 0;
  case ARGP_KEY_ARG:
    return cli_refuse("gen takes options only, not '%s'", argument);
  case ARGP_KEY_END:
    if (!arguments->output)
      return cli_refuse("gen needs a file to write: -o OUT, or -o -");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
  {"seed", CLI_KEY_SEED, "N", 0, "seed of the random source (default 0)", 0},
  {"ops", CLI_KEY_OPS, "N", 0, "number of operations (default 64)", 0},
  {"output", 'o', "OUT", 0,
   "write to OUT, as text if its name ends in .pen; - is standard output",
   0},
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .doc = "Make a random stream. Each stream leaves some operations out and "
         "weights the rest unevenly. The same seed and number of operations "
         "give the same stream on every machine.",
};

int
cmd_gen(int argc, char **argv)
{
  struct arguments arguments = {.ops = 64};
  struct stream stream = {NULL, 0};
  int status = cli_parse(&parser, "gen", argc, argv, &arguments);

  if (status != 0)
    return status;
  if (stream_generate(arguments.seed, (size_t)arguments.ops, &stream) ==
      STREAM_OK) {
    status = output_stream(arguments.output, &stream,
                           input_is_text(arguments.output), "");
  } else {
    cli_error("no memory");
    status = CLI_UNCHECKED;
  }
  stream_done(&stream);
  return status;
}
