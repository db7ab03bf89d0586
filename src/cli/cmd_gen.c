/* SPDX-License-Identifier: MIT
 *
 * penumbra gen: a random stream, the same for the same seed everywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "ops/op_gen.h"
#include "ops/op_text.h"

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

/* The stream as bytes, or as text; owned by the caller; NULL on no memory. */
static char *
encode(const struct stream *stream, bool is_text, size_t *ret_size)
{
  char *bytes;
  size_t size = 4 * stream->count;

  if (is_text)
    size = OP_TEXT_OP_MAX * stream->count;
  bytes = malloc(size + 1);
  if (!bytes)
    return NULL;
  *ret_size = size;
  if (!is_text) {
    stream_encode(stream, (uint8_t *)bytes);
    return bytes;
  }
  size = 0;
  for (size_t i = 0; i < stream->count; i++) {
    size += op_print(stream->ops[i], bytes + size);
    bytes[size++] = '\n';
  }
  *ret_size = size;
  return bytes;
}

int
cmd_gen(int argc, char **argv)
{
  struct arguments arguments = {.ops = 64};
  struct stream stream = {NULL, 0};
  char *bytes = NULL;
  size_t size = 0;
  int status = cli_parse(&parser, "gen", argc, argv, &arguments);

  if (status != 0)
    return status;
  if (stream_generate(arguments.seed, (size_t)arguments.ops, &stream) ==
      STREAM_OK)
    bytes = encode(&stream, input_is_text(arguments.output), &size);
  if (bytes) {
    status = output_write(arguments.output, bytes, size);
  } else {
    cli_error("no memory");
    status = CLI_UNCHECKED;
  }
  free(bytes);
  stream_done(&stream);
  return status;
}
