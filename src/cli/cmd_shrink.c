/* SPDX-License-Identifier: MIT
 *
 * penumbra shrink: a stream that breaks a law, as short as leaving out and
 * making smaller can get it. Candidates are tried in a child, so that crashes
 * count as well. What has come out of it is judged once more, in a process of
 * its own: a finding that needs what ran before it would be no finding.
 */
#include <stdio.h>
#include <string.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "lab/shrink.h"

enum { RUNS_DEFAULT = 100000, RUNS_MAX = 1000000000 };

struct arguments {
  const char *input;
  struct cli_target target;
  const char *output; /* NULL: text to standard output */
  uint64_t runs_max;
  bool by_signature;
  bool is_text;
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;

  switch (key) {
  case 'o':
    arguments->output = argument;
    return 0;
  case CLI_KEY_SIGNATURE:
    arguments->by_signature = true;
    return 0;
  case CLI_KEY_TEXT:
    arguments->is_text = true;
    return 0;
  case CLI_KEY_MAX_RUNS:
    return cli_number("--max-runs", argument, 1, RUNS_MAX,
                      &arguments->runs_max);
  case ARGP_KEY_ARG:
    if (arguments->input)
      return cli_refuse("shrink takes one input, '%s' is one more", argument);
    arguments->input = argument;
    return 0;
  case ARGP_KEY_END:
    if (!arguments->input)
      return cli_refuse("shrink needs an input: a file or -");
    return 0;
  default:
    return cli_target_parse(key, argument, &arguments->target);
  }
}

static const struct argp_option options[] = {
  CLI_OPTION_SUBJECT,
  CLI_OPTION_FAULT,
  {"signature", CLI_KEY_SIGNATURE, NULL, 0,
   "keep the whole signature: also the kinds of the objects, the phase and "
   "the operation",
   0},
  {"output", 'o', "OUT", 0,
   "write to OUT, as text if its name ends in .pen, else as bytes; - is "
   "standard output (default: as text to standard output)",
   0},
  {"text", CLI_KEY_TEXT, NULL, 0, "write text whatever the name of OUT", 0},
  {"max-runs", CLI_KEY_MAX_RUNS, "N", 0,
   "give up after so many runs, with the shortest so far (default 100000)",
   0},
  {"timeout", CLI_KEY_TIMEOUT, "SECONDS", 0,
   "processor time before a run is given up (default 600; 0: no limit)", 0},
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .args_doc = "INPUT",
  .doc = "Make a stream as short as it can be while it breaks the law that "
         "INPUT breaks: leave out operations and make operands smaller until "
         "none can be spared. INPUT is a file of bytes, a .pen file "
         "of text, or - for bytes from standard input."
         "\vThe same input gives the same stream. Exit codes: 0 if it was "
         "written, 2 also if INPUT is clean, 3 if INPUT or the result could "
         "not be checked.",
};

/* ---- shrinking ------------------------------------------------------- */

struct hunt {
  const struct arguments *arguments;
  struct report_run run;
  struct report_verdict verdict; /* of the input */
  struct child_service *service;
  size_t count; /* operations of the input */
  size_t runs;
  bool has_failed; /* an error was printed */
};

static bool
is_same(const struct hunt *hunt, const struct report_verdict *verdict)
{
  const struct lab_result *wanted = &hunt->verdict.result;
  const struct lab_result *result = &verdict->result;

  return result->verdict == LAB_BROKEN && result->law == wanted->law &&
         (!hunt->arguments->by_signature ||
          strcmp(result->signature, wanted->signature) == 0);
}

static bool
holds(void *user, const struct stream *stream)
{
  static struct report_verdict verdict;
  struct hunt *hunt = user;

  if (hunt->has_failed)
    return false;
  if (child_ask(hunt->service, stream, &verdict) != CHILD_OK) {
    hunt->has_failed = true;
    return false;
  }
  return is_same(hunt, &verdict);
}

/* The verdict on a stream in a process that has run nothing before. */
static bool
judge(const struct hunt *hunt, struct report_verdict *ret_verdict)
{
  const struct child_options child = {
    .timeout = hunt->arguments->target.timeout};
  static struct child_job job;

  job = (struct child_job){.run = hunt->run};
  if (child_run(&job, 1, &child) != CHILD_OK)
    return false;
  *ret_verdict = job.verdict;
  return true;
}

/* Whether there is anything to shrink. */
static int
judge_input(struct hunt *hunt)
{
  const struct lab_result *result = &hunt->verdict.result;

  if (!judge(hunt, &hunt->verdict))
    return CLI_UNCHECKED;
  switch (result->verdict) {
  case LAB_BROKEN:
    return CLI_CLEAN;
  case LAB_CLEAN:
    cli_error("%s: clean: it breaks no law of %s%s%s, so that there is "
              "nothing to shrink",
              hunt->run.file, hunt->run.subject->name,
              hunt->run.fault ? " with the fault " : "",
              hunt->run.fault ? hunt->run.fault : "");
    return CLI_BAD;
  case LAB_UNCHECKED:
    break;
  }
  cli_error("%s: could not be checked: %s", hunt->run.file, result->reason);
  return CLI_UNCHECKED;
}

static int
shrink(struct hunt *hunt, struct stream *stream)
{
  static struct report_verdict verdict;

  hunt->service =
    child_service_new(&hunt->run, hunt->arguments->target.timeout);
  if (!hunt->service)
    return CLI_UNCHECKED;
  hunt->runs = stream_shrink(stream, holds, hunt,
                             (size_t)hunt->arguments->runs_max);
  child_service_free(hunt->service);
  if (hunt->has_failed)
    return CLI_UNCHECKED;
  if (hunt->runs == 0 && stream->count > 0) {
    cli_error("no memory");
    return CLI_UNCHECKED;
  }
  if (!judge(hunt, &verdict))
    return CLI_UNCHECKED;
  if (!is_same(hunt, &verdict)) {
    cli_error("%s: one stream has different verdicts in different processes",
              hunt->run.file);
    return CLI_UNCHECKED;
  }
  return CLI_CLEAN;
}

/* ---- telling --------------------------------------------------------- */

static bool
is_given_up(const struct hunt *hunt)
{
  return hunt->runs == hunt->arguments->runs_max;
}

static int
write_result(const struct hunt *hunt, const struct stream *stream)
{
  const struct arguments *arguments = hunt->arguments;
  const char *path = arguments->output ? arguments->output : "-";
  const char *law = law_infos[hunt->verdict.result.law].id;
  bool is_text =
      arguments->is_text || !arguments->output || input_is_text(path);
  char heading[512];
  int status;

  snprintf(heading, sizeof heading, "# %s, broken by %s%s%s\n%s", law,
           hunt->run.subject->name, hunt->run.fault ? " with " : "",
           hunt->run.fault ? hunt->run.fault : "",
           is_given_up(hunt) ? "# perhaps not the shortest: out of runs\n"
                             : "");
  status = output_stream(path, stream, is_text, heading);
  if (status != CLI_CLEAN || strcmp(path, "-") == 0)
    return status;
  printf("%zu of %zu operations, %zu runs%s: %s, ", stream->count,
         hunt->count, hunt->runs, is_given_up(hunt) ? " (given up)" : "",
         law);
  report_name(stdout, path);
  putchar('\n');
  return CLI_CLEAN;
}

int
cmd_shrink(int argc, char **argv)
{
  static struct hunt hunt;
  struct arguments arguments = {.runs_max = RUNS_DEFAULT,
                                .target = {.timeout = 600}};
  struct cli_choice choice;
  struct input input = {NULL, 0};
  struct stream stream;
  int status = cli_parse(&parser, "shrink", argc, argv, &arguments);

  if (status == CLI_CLEAN)
    status = cli_choose_one(arguments.target.subject, arguments.target.fault,
                            &choice);
  if (status != CLI_CLEAN)
    return status;
  if (choice.count > 1) {
    cli_error("shrink runs one subject: -s names one, not all");
    return CLI_BAD;
  }
  input.path = (char *)arguments.input;
  switch (input_read(&input, false, &stream)) {
  case INPUT_OK:
    break;
  case INPUT_BAD:
    return CLI_BAD;
  case INPUT_NO_MEMORY:
    return CLI_UNCHECKED;
  }
  hunt.arguments = &arguments;
  hunt.count = stream.count;
  hunt.run = (struct report_run){
    .file = input.path,
    .subject = choice.subjects[0],
    .fault = choice.fault,
    .stream = &stream,
  };
  status = judge_input(&hunt);
  if (status == CLI_CLEAN)
    status = shrink(&hunt, &stream);
  if (status == CLI_CLEAN)
    status = write_result(&hunt, &stream);
  stream_done(&stream);
  return status;
}
