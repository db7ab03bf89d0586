/* SPDX-License-Identifier: MIT
 *
 * penumbra trace: tells one run step by step, and then its verdict.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/input.h"

struct arguments {
  const char *input;
  struct cli_target target;
  bool is_text;
  struct report_trace_options trace;
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;

  switch (key) {
  case 'v':
    arguments->trace.is_verbose = true;
    return 0;
  case CLI_KEY_JSON:
    arguments->trace.is_json = true;
    return 0;
  case CLI_KEY_TEXT:
    arguments->is_text = true;
    return 0;
  case ARGP_KEY_ARG:
    if (arguments->input)
      return cli_refuse("trace takes one input, '%s' is one more", argument);
    arguments->input = argument;
    return 0;
  case ARGP_KEY_END:
    if (!arguments->input)
      return cli_refuse("trace needs an input: a file or -");
    return 0;
  default:
    return cli_target_parse(key, argument, &arguments->target);
  }
}

static const struct argp_option options[] = {
  CLI_OPTION_SUBJECT,
  CLI_OPTION_FAULT,
  {"json", CLI_KEY_JSON, NULL, 0, "one JSON object a line", 0},
  {"text", CLI_KEY_TEXT, NULL, 0, "INPUT is text whatever its name", 0},
  {"verbose", 'v', NULL, 0,
   "tell stores, moves between lists, blocks, and barriers that did nothing, "
   "too",
   0},
  {"timeout", CLI_KEY_TIMEOUT, "SECONDS", 0,
   "processor time before the run is given up (default 600; 0: no limit)",
   0},
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .args_doc = "INPUT",
  .doc = "Tell a run step by step: each operation, what was born, died and "
         "changed its colour or age, each finalizer, mode, phase and "
         "micro-step, and then the verdict. INPUT is a file of bytes, a .pen "
         "file of text, or - for standard input."
         "\vObjects are named as kind #number; the number counts births of "
         "blocks. Exit codes as for 'penumbra run'.",
};

/* In the child. */
static struct lab_observer *
observe(void *user, const struct lab *lab)
{
  static struct report_tracer tracer;
  const struct report_trace_options *trace = user;

  report_tracer_init(&tracer, stdout, lab, trace);
  return &tracer.observer;
}

/* The trace is written by the child, as it happens; the verdict by us. */
static int
trace(struct child_job *job, struct arguments *arguments)
{
  const struct child_options child = {
    .timeout = arguments->target.timeout,
    .observe = observe,
    .user = &arguments->trace,
    .writes_output = true,
  };
  bool has_memory = report_trace_begin(stdout, &job->run, &arguments->trace);

  if (has_memory && child_run(job, 1, &child) != CHILD_OK)
    return CLI_UNCHECKED;
  if (has_memory && arguments->trace.is_json)
    has_memory = report_trace_json_end(stdout, &job->run, &job->verdict);
  else if (has_memory)
    report_explain(stdout, &job->run, &job->verdict, NULL,
                   arguments->trace.with_colour);
  if (!has_memory) {
    cli_error("no memory");
    return CLI_UNCHECKED;
  }
  switch (job->verdict.result.verdict) {
  case LAB_CLEAN:
    return CLI_CLEAN;
  case LAB_BROKEN:
    return CLI_FINDING;
  case LAB_UNCHECKED:
    break;
  }
  return CLI_UNCHECKED;
}

int
cmd_trace(int argc, char **argv)
{
  struct arguments arguments = {.target = {.timeout = 600}};
  struct cli_choice choice;
  struct input input = {NULL, 0};
  struct stream stream;
  struct child_job job;
  int status = cli_parse(&parser, "trace", argc, argv, &arguments);

  if (status == CLI_CLEAN)
    status = cli_choose_one(arguments.target.subject, arguments.target.fault,
                            &choice);
  if (status != CLI_CLEAN)
    return status;
  if (choice.count > 1) {
    cli_error("trace tells one run: -s names one subject, not all");
    return CLI_BAD;
  }
  input.path = (char *)arguments.input;
  switch (input_read(&input, arguments.is_text, &stream)) {
  case INPUT_OK:
    break;
  case INPUT_BAD:
    return CLI_BAD;
  case INPUT_NO_MEMORY:
    return CLI_UNCHECKED;
  }
  arguments.trace.with_colour =
      !arguments.trace.is_json && report_wants_colour(stdout);
  job.run = (struct report_run){
    .file = input.path,
    .subject = choice.subjects[0],
    .fault = choice.fault,
    .stream = &stream,
    .is_text = arguments.is_text && !input_is_text(input.path),
  };
  status = trace(&job, &arguments);
  stream_done(&stream);
  return status;
}
