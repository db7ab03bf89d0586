/* SPDX-License-Identifier: MIT
 *
 * penumbra run: judges inputs. They are read in batches, so that a folder of
 * many thousands needs few processes and little memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/fuzzer.h"
#include "cli/input.h"
#include "report/known.h"

enum { BATCH_INPUTS = 256, BATCH_OPS = 1 << 21, SIGNATURES_MAX = 64 };

struct arguments {
  struct input_arguments inputs;
  struct cli_target target;
  bool wants_stats;
  bool has_known;
  const char *known; /* NULL: the corpus's */
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;
  error_t error;

  switch (key) {
  case CLI_KEY_KNOWN:
    arguments->has_known = true;
    arguments->known = argument;
    return 0;
  case CLI_KEY_STATS:
    arguments->wants_stats = true;
    return 0;
  case ARGP_KEY_NO_ARGS:
    return cli_refuse("run needs an input: a file, a folder or -");
  default:
    error = input_arguments_parse(key, argument, &arguments->inputs);
    return error == ARGP_ERR_UNKNOWN
               ? cli_target_parse(key, argument, &arguments->target)
               : error;
  }
}

static const struct argp_option options[] = {
  {"subject", 's', "SUBJECT", 0,
   "what to verify, or all (default: the first of 'penumbra subjects')", 0},
  CLI_OPTION_FAULT,
  CLI_OPTION_KNOWN,
  INPUT_OPTIONS,
  {"stats", CLI_KEY_STATS, NULL, 0,
   "then tell what was seen and how often, and what was not", 0},
  {"timeout", CLI_KEY_TIMEOUT, "SECONDS", 0,
   "processor time that an input may take before it is given up as "
   "unchecked (default 600; 0: no limit)",
   0},
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .args_doc = "INPUT...",
  .doc = "Judge streams of operations. An INPUT is a file of bytes, a .pen "
         "file of text, a folder (all files below it) or - for standard "
         "input. Each is run in a process of its own; inputs come in the "
         "order of their names, bytewise."
         "\vExit codes: 1 if a law was broken, else 2 if an input was missing "
         "or malformed, else 3 if one could not be checked, else 0.",
};

/* ---- the session ----------------------------------------------------- */

struct session {
  const struct arguments *arguments;
  struct cli_choice choice;
  struct stream streams[BATCH_INPUTS]; /* of the batch; own */
  struct child_job *jobs;              /* of the batch; owns */
  size_t stream_count;
  size_t job_count;
  size_t op_count; /* of the batch */
  struct oracle_stats stats[CLI_SUBJECTS_MAX]; /* as in choice */
  struct known known[CLI_SUBJECTS_MAX];        /* as in choice */
  uint64_t verdicts[LAB_UNCHECKED + 1];
  uint64_t known_runs; /* broken, by a known finding: not among them */
  uint64_t bad; /* inputs that are missing or malformed */
  bool has_failed; /* the environment, or our memory */
  bool has_colour;
  size_t signature_count; /* those explained already */
  char signatures[SIGNATURES_MAX][LAB_SIGNATURE_MAX];
};

/* Whether this signature is a new one, which is then remembered. When there
 * is no more room for it each finding is explained. */
static bool
signature_is_new(struct session *session, const char *signature)
{
  for (size_t i = 0; i < session->signature_count; i++)
    if (strcmp(session->signatures[i], signature) == 0)
      return false;
  if (session->signature_count < SIGNATURES_MAX)
    strcpy(session->signatures[session->signature_count++], signature);
  return true;
}

static void
job_explain(struct session *session, const struct child_job *job)
{
  struct report_history history;

  if (!signature_is_new(session, job->verdict.result.signature)) {
    printf("  the signature is that of a finding above: %s\n\n",
           job->verdict.result.signature);
    return;
  }
  if (child_history(job, session->arguments->target.timeout, &history) !=
      CHILD_OK) {
    session->has_failed = true;
    return;
  }
  report_explain(stdout, &job->run, &job->verdict, &history,
                 session->has_colour);
  putchar('\n');
}

static void
job_count(struct session *session, const struct child_job *job)
{
  for (size_t i = 0; i < session->choice.count; i++)
    if (session->choice.subjects[i] == job->run.subject)
      oracle_stats_add(&session->stats[i], &job->stats);
}

static struct known_signature *
job_known(struct session *session, const struct child_job *job)
{
  for (size_t i = 0; i < session->choice.count; i++)
    if (session->choice.subjects[i] == job->run.subject)
      return known_meet(&session->known[i], job->verdict.result.signature);
  return NULL;
}

static void
job_done(void *user, struct child_job *job)
{
  struct session *session = user;
  enum lab_verdict verdict = job->verdict.result.verdict;
  const struct known_signature *known;

  known = verdict == LAB_BROKEN ? job_known(session, job) : NULL;
  session->verdicts[verdict] += known == NULL;
  session->known_runs += known != NULL;
  job_count(session, job);
  if (session->arguments->inputs.is_json) {
    if (!report_json(stdout, &job->run, &job->verdict)) {
      cli_error("no memory");
      session->has_failed = true;
    }
    return;
  }
  report_line(stdout, &job->run, &job->verdict, session->choice.count > 1,
              session->has_colour);
  if (known)
    printf("  a known finding: %s\n", known->file);
  else if (verdict == LAB_BROKEN)
    job_explain(session, job);
}

static void
batch_run(struct session *session)
{
  const struct child_options child = {
    .timeout = session->arguments->target.timeout,
    .done = job_done,
    .user = session,
  };

  if (session->job_count > 0 &&
      child_run(session->jobs, session->job_count, &child) != CHILD_OK)
    session->has_failed = true;
  for (size_t i = 0; i < session->stream_count; i++)
    stream_done(&session->streams[i]);
  session->stream_count = 0;
  session->job_count = 0;
  session->op_count = 0;
}

static void
input_add(struct session *session, const struct input *input)
{
  struct stream *stream = &session->streams[session->stream_count];

  switch (input_read(input, session->arguments->inputs.is_text, stream)) {
  case INPUT_OK:
    break;
  case INPUT_BAD:
    session->bad++;
    return;
  case INPUT_NO_MEMORY:
    session->has_failed = true;
    return;
  }
  session->stream_count++;
  session->op_count += stream->count;
  for (size_t i = 0; i < session->choice.count; i++)
    session->jobs[session->job_count++] = (struct child_job){.run = {
      .file = input->path,
      .subject = session->choice.subjects[i],
      .fault = session->choice.fault,
      .stream = stream,
      .is_text = session->arguments->inputs.is_text &&
                 !input_is_text(input->path),
    }};
}

static void
session_run(struct session *session)
{
  const struct input_list *inputs = &session->arguments->inputs.list;

  for (size_t i = 0; i < inputs->count && !session->has_failed; i++) {
    input_add(session, &inputs->items[i]);
    if (session->stream_count == BATCH_INPUTS ||
        session->op_count >= BATCH_OPS)
      batch_run(session);
  }
  batch_run(session);
}

static void
session_sum(const struct session *session)
{
  const uint64_t *verdicts = session->verdicts;
  uint64_t all = verdicts[LAB_CLEAN] + verdicts[LAB_BROKEN] +
                 verdicts[LAB_UNCHECKED] + session->known_runs;

  if (session->arguments->inputs.is_json ||
      session->arguments->inputs.list.count < 2)
    return;
  printf("%llu runs: %llu clean, %llu broken, %llu unchecked",
         (unsigned long long)all, (unsigned long long)verdicts[LAB_CLEAN],
         (unsigned long long)verdicts[LAB_BROKEN],
         (unsigned long long)verdicts[LAB_UNCHECKED]);
  if (session->known_runs)
    printf(", %llu known", (unsigned long long)session->known_runs);
  if (session->bad)
    printf("; %llu inputs could not be read",
           (unsigned long long)session->bad);
  putchar('\n');
}

static void
session_known(const struct session *session)
{
  for (size_t i = 0; i < session->choice.count; i++)
    for (size_t j = 0; j < session->known[i].count; j++) {
      const struct known_signature *it = &session->known[i].all[j];

      if (it->times && !session->arguments->inputs.is_json)
        printf("known: %s of %s %llu times (%s)\n", it->file,
               session->choice.subjects[i]->name,
               (unsigned long long)it->times, it->text);
    }
}

/* The findings that are known of each subject. */
static int
session_read_known(struct session *session)
{
  const struct arguments *arguments = session->arguments;
  int status = CLI_CLEAN;
  char *folder;

  if (!arguments->has_known)
    return status;
  folder = fuzzer_known_folder(arguments->known);
  if (!folder)
    return CLI_BAD;
  for (size_t i = 0; i < session->choice.count && status == CLI_CLEAN; i++)
    if (!known_read(folder, session->choice.subjects[i]->name,
                    &session->known[i])) {
      cli_error("%s: %s", folder, strerror(errno));
      status = CLI_BAD;
    }
  free(folder);
  return status;
}

/* One table a subject: what one shows says nothing of another. */
static void
session_stats(struct session *session)
{
  for (size_t i = 0; i < session->choice.count; i++) {
    const struct subject *subject = session->choice.subjects[i];

    if (!session->arguments->inputs.is_json) {
      report_stats(stdout, subject, &session->stats[i]);
    } else if (!report_stats_json(stdout, subject, &session->stats[i])) {
      cli_error("no memory");
      session->has_failed = true;
    }
  }
}

static int
session_status(const struct session *session)
{
  if (session->verdicts[LAB_BROKEN])
    return CLI_FINDING;
  if (session->bad)
    return CLI_BAD;
  if (session->verdicts[LAB_UNCHECKED] || session->has_failed)
    return CLI_UNCHECKED;
  return CLI_CLEAN;
}

static int
run(struct arguments *arguments)
{
  struct session *session = calloc(1, sizeof *session);
  int status = CLI_UNCHECKED;

  if (session)
    session->jobs = calloc((size_t)BATCH_INPUTS * CLI_SUBJECTS_MAX,
                           sizeof *session->jobs);
  if (!session || !session->jobs) {
    cli_error("no memory");
    free(session);
    return status;
  }
  session->arguments = arguments;
  session->has_colour =
      !arguments->inputs.is_json && report_wants_colour(stdout);
  status = cli_choose(arguments->target.subject, arguments->target.fault,
                      &session->choice);
  if (status == CLI_CLEAN)
    status = session_read_known(session);
  if (status == CLI_CLEAN) {
    session_run(session);
    session_sum(session);
    session_known(session);
    if (arguments->wants_stats)
      session_stats(session);
    status = session_status(session);
  }
  for (size_t i = 0; i < CLI_SUBJECTS_MAX; i++)
    known_done(&session->known[i]);
  free(session->jobs);
  free(session);
  return status;
}

int
cmd_run(int argc, char **argv)
{
  struct arguments arguments = {.target = {.timeout = 600}};
  int status = cli_parse(&parser, "run", argc, argv, &arguments);

  if (status == CLI_CLEAN) {
    input_list_sort(&arguments.inputs.list);
    status = run(&arguments);
  }
  input_list_done(&arguments.inputs.list);
  return status;
}
