/* SPDX-License-Identifier: MIT
 *
 * penumbra twin: one stream on two subjects, held against each other. All runs
 * are made in a child, which prints as it goes; what it is at lies in shared
 * memory, so that the parent can say at which input it died and start another
 * one behind it.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/artefact.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/list.h"
#include "lab/shrink.h"
#include "lab/twin.h"
#include "ops/op_gen.h"
#include "ops/op_text.h"
#include "report/json.h"

enum { SHRINK_RUNS_MAX = 20000, PROGRESS_SECONDS = 10 };

#define ARTEFACTS "penumbra-artefacts"

struct arguments {
  struct input_arguments inputs;
  struct cli_target target;
  uint64_t ops; /* random: so many are to be compared; 0: inputs */
  uint64_t seed;
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;
  error_t error;

  switch (key) {
  case CLI_KEY_RANDOM:
    return cli_number("--random", argument, 1, UINT64_MAX, &arguments->ops);
  case CLI_KEY_SEED:
    return cli_number("--seed", argument, 0, UINT64_MAX, &arguments->seed);
  case ARGP_KEY_END:
    if (!arguments->target.subject)
      return cli_refuse("twin needs two subjects: -s A,B");
    if ((arguments->inputs.list.count > 0) == (arguments->ops > 0))
      return cli_refuse("twin needs an input, a file, a folder or -, or "
                        "--random N");
    return 0;
  default:
    error = input_arguments_parse(key, argument, &arguments->inputs);
    return error == ARGP_ERR_UNKNOWN
               ? cli_target_parse(key, argument, &arguments->target)
               : error;
  }
}

static const struct argp_option options[] = {
  {"subjects", 's', "A,B", 0, "the two subjects", 0},
  {"fault", CLI_KEY_FAULT, "NAME", 0,
   "plant a bug of 'penumbra faults' in the second one", 0},
  {"random", CLI_KEY_RANDOM, "N", 0,
   "make up streams until N operations have been compared", 0},
  {"seed", CLI_KEY_SEED, "N", 0, "seed of the random source (default 0)", 0},
  INPUT_OPTIONS,
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .args_doc = "INPUT...",
  .doc = "Give a stream to two subjects and compare, at the end of every "
         "operation, what they hold, whom they have finalized, and who still "
         "lives. An operation is performed if both allow it; automatic steps "
         "are off. What may differ by design is told at the end, and how often "
         "it came into play."
         "\vExit codes: 1 if they differ, or if one of them breaks a law by "
         "itself, else 2 if an input was missing or malformed, else 3 if one "
         "could not be checked, else 0. With --random the first stream in "
         "which they differ is made short, kept in ./penumbra-artefacts, and "
         "ends the run; of those that break a law the first of each law is "
         "kept.",
};

/* ---- what parent and child share ------------------------------------- */

struct shared {
  uint64_t next;    /* the first input, or random stream, that is not done */
  bool is_running;  /* the one before next: it runs */
  bool is_over;     /* all is done */
  uint64_t bad;     /* inputs that are missing or malformed */
  uint64_t compared, left_out, streams;
  uint64_t verdicts[TWIN_UNCHECKED + 1];
  uint64_t ended; /* streams that were compared to some operation only */
  uint64_t rows[TWIN_DIFFERENCES];
  bool is_told[LAW_COUNT]; /* random: this law was broken, and told */
  struct twin_result result; /* of what runs, or ran last */
};

struct session {
  const struct arguments *arguments;
  struct twin_pair pair;
  struct shared *shared;
  struct twin *twin; /* in the child */
  time_t progress;
};

/* "a,b" as two subjects; the fault is the second one's. */
static int
choose(const struct arguments *arguments, struct twin_pair *ret_pair)
{
  char *names = strdup(arguments->target.subject);
  char *comma = names ? strchr(names, ',') : NULL;
  struct cli_choice first, second;
  int status = CLI_BAD;

  if (!comma) {
    cli_error("-s '%s': two subjects with a comma between are wanted",
              arguments->target.subject);
    free(names);
    return status;
  }
  *comma = '\0';
  status = cli_choose_one(names, NULL, &first);
  if (status == 0)
    status = cli_choose_one(comma + 1, arguments->target.fault, &second);
  if (status == 0)
    *ret_pair = (struct twin_pair){
      .subject = {first.subjects[0], second.subjects[0]},
      .fault = {NULL, second.fault},
    };
  free(names);
  return status;
}

/* ---- telling --------------------------------------------------------- */

static const char *
law_of(const struct twin_result *result)
{
  return result->verdict == TWIN_BROKEN ? law_infos[result->result.law].id
                                        : NULL;
}

static void
tell_json(const struct session *session, const char *file,
          const struct twin_result *result)
{
  bool is_same = result->verdict == TWIN_SAME;
  json_t *object = json_pack(
      "{s:o, s:[s,s], s:s, s:s?, s:s?, s:I, s:I, s:s?, s:o, s:s?}",
      "file", report_json_string(file),
      "subjects", session->pair.subject[0]->name,
      session->pair.subject[1]->name,
      "verdict", twin_verdict_text(result->verdict),
      "aspect", result->verdict == TWIN_DIFFERENT ? result->aspect : NULL,
      "law", law_of(result),
      "op_index", (json_int_t)result->op_index,
      "compared", (json_int_t)result->compared,
      "ended_by",
      result->has_ended ? twin_differences[result->end].name : NULL,
      "message", report_json_text(is_same ? NULL : result->message),
      "signature",
      result->verdict == TWIN_BROKEN ? result->result.signature : NULL);

  if (!report_json_print(stdout, object))
    cli_error("no memory");
}

static void
tell(const struct session *session, const char *file,
     const struct twin_result *result)
{
  if (session->arguments->inputs.is_json) {
    tell_json(session, file, result);
    return;
  }
  printf("%-9s  %6" PRIu64 " ops compared  ",
         twin_verdict_text(result->verdict), result->compared);
  report_name(stdout, file);
  if (result->has_ended)
    printf("  (to operation %zu: %s)", result->op_index,
           twin_differences[result->end].name);
  putchar('\n');
  if (result->verdict == TWIN_DIFFERENT)
    printf("  operation %zu, ", result->op_index);
  if (result->verdict == TWIN_BROKEN)
    printf("  a law of its own, %s, which 'penumbra run -s %s' explains\n  ",
           law_of(result), session->pair.subject[result->who]->name);
  if (result->verdict != TWIN_SAME)
    printf("%s%s\n", result->verdict == TWIN_UNCHECKED ? "  " : "",
           result->message);
}

static void
tell_rows(const struct shared *shared)
{
  puts("  What may differ, how often it came into play, and why");
  for (size_t i = 0; i < TWIN_DIFFERENCES; i++) {
    if (!shared->rows[i])
      continue;
    printf("    %-16s %-12s %12" PRIu64 "\n", twin_differences[i].name,
           twin_effect_text(twin_differences[i].effect), shared->rows[i]);
    list_paragraph(8, twin_differences[i].why);
  }
}

static void
sum_json(const struct session *session)
{
  const struct shared *shared = session->shared;
  json_t *rows = json_object();

  for (size_t i = 0; i < TWIN_DIFFERENCES; i++)
    json_object_set_new(rows, twin_differences[i].name,
                        json_integer((json_int_t)shared->rows[i]));
  if (!report_json_print(
          stdout,
          json_pack("{s:[s,s], s:I, s:I, s:I, s:I, s:o}", "subjects",
                    session->pair.subject[0]->name,
                    session->pair.subject[1]->name, "streams",
                    (json_int_t)shared->streams, "compared",
                    (json_int_t)shared->compared, "ended",
                    (json_int_t)shared->ended, "different",
                    (json_int_t)shared->verdicts[TWIN_DIFFERENT], "rows",
                    rows)))
    cli_error("no memory");
}

static void
sum(const struct session *session)
{
  const struct shared *shared = session->shared;

  if (session->arguments->inputs.is_json) {
    sum_json(session);
    return;
  }
  printf("%" PRIu64 " streams, %" PRIu64 " operations compared: %" PRIu64
         " same, %" PRIu64 " of them not to the end, %" PRIu64
         " different, %" PRIu64 " broken, %" PRIu64 " unchecked\n",
         shared->streams, shared->compared, shared->verdicts[TWIN_SAME],
         shared->ended, shared->verdicts[TWIN_DIFFERENT],
         shared->verdicts[TWIN_BROKEN], shared->verdicts[TWIN_UNCHECKED]);
  tell_rows(shared);
}

static void
count(struct shared *shared, const struct twin_result *result)
{
  shared->streams++;
  shared->verdicts[result->verdict]++;
  shared->compared += result->compared;
  shared->ended += result->verdict == TWIN_SAME && result->has_ended;
  for (size_t i = 0; i < TWIN_DIFFERENCES; i++)
    shared->rows[i] += result->rows[i];
}

/* ---- in the child: inputs -------------------------------------------- */

static void
run_input(struct session *session, const struct input *input)
{
  struct shared *shared = session->shared;
  struct stream stream;

  if (input_read(input, session->arguments->inputs.is_text, &stream) !=
      INPUT_OK) {
    shared->bad++;
    return;
  }
  twin_run(session->twin, &session->pair, &stream, &shared->result);
  stream_done(&stream);
  count(shared, &shared->result);
  tell(session, input->path, &shared->result);
}

static void
run_inputs(struct session *session)
{
  const struct input_list *inputs = &session->arguments->inputs.list;
  struct shared *shared = session->shared;

  while (shared->next < inputs->count) {
    shared->is_running = true;
    run_input(session, &inputs->items[shared->next++]);
    fflush(stdout);
    shared->is_running = false;
  }
}

/* ---- in the child: random streams ------------------------------------ */

struct candidate {
  struct session *session;
  struct twin_result wanted;
};

static bool
is_alike(void *user, const struct stream *stream)
{
  struct candidate *candidate = user;
  const struct twin_result *wanted = &candidate->wanted;
  struct twin_result *result = &candidate->session->shared->result;

  twin_run(candidate->session->twin, &candidate->session->pair, stream,
           result);
  if (result->verdict != wanted->verdict)
    return false;
  if (result->verdict == TWIN_DIFFERENT)
    return strcmp(result->aspect, wanted->aspect) == 0;
  return result->who == wanted->who &&
         result->result.law == wanted->result.law;
}

/* Whether nobody has broken this law in this session yet. */
static bool
is_new(struct session *session, const struct lab_result *result)
{
  bool was_broken = session->shared->is_told[result->law];

  session->shared->is_told[result->law] = true;
  return !was_broken;
}

/* Keeps what ran last as bytes; the name is told with it. */
static void
keep(struct session *session, const struct stream *stream)
{
  uint8_t *bytes = malloc(4 * stream->count + 1);
  char name[96];
  char *path = NULL;
  int error = artefact_folder(ARTEFACTS);

  snprintf(name, sizeof name, "twin-%s-%s", session->pair.subject[0]->name,
           session->pair.subject[1]->name);
  if (bytes && error == 0) {
    stream_encode(stream, bytes);
    path = artefact_store(ARTEFACTS, name, bytes, 4 * stream->count);
  }
  if (!path)
    cli_error("%s: cannot keep a finding there: %s", ARTEFACTS,
              strerror(error ? error : errno));
  tell(session, path ? path : "(not kept)", &session->shared->result);
  free(path);
  free(bytes);
}

static void
found(struct session *session, struct stream *stream)
{
  struct candidate candidate = {session, session->shared->result};

  stream_shrink(stream, is_alike, &candidate, SHRINK_RUNS_MAX);
  twin_run(session->twin, &session->pair, stream, &session->shared->result);
  keep(session, stream);
}

static void
show_progress(struct session *session)
{
  const struct shared *shared = session->shared;
  time_t now = time(NULL);

  if (now < session->progress + PROGRESS_SECONDS)
    return;
  session->progress = now;
  fprintf(stderr, "%" PRIu64 " operations compared in %" PRIu64 " streams\n",
          shared->compared, shared->streams);
}

/* Stream number next of the seed: the same however many children it took. */
static bool
make_stream(const struct session *session, struct stream *ret_stream)
{
  struct op_random random;
  size_t ops;

  op_random_init(&random,
                 session->arguments->seed * 1000003 + session->shared->next);
  ops = (size_t)16 << op_random_below(&random, 5);
  return stream_generate(op_random_next(&random), ops, ret_stream) ==
         STREAM_OK;
}

static bool
run_random(struct session *session)
{
  struct shared *shared = session->shared;
  const struct twin_result *result = &shared->result;
  struct stream stream;
  bool is_finding = false;

  session->progress = time(NULL);
  while (shared->compared < session->arguments->ops && !is_finding) {
    if (!make_stream(session, &stream))
      return false;
    shared->next++;
    shared->is_running = true;
    twin_run(session->twin, &session->pair, &stream, &shared->result);
    count(shared, result);
    is_finding = result->verdict == TWIN_DIFFERENT;
    if (is_finding || (result->verdict == TWIN_BROKEN &&
                       is_new(session, &result->result)))
      found(session, &stream);
    stream_done(&stream);
    shared->is_running = false;
    show_progress(session);
  }
  return true;
}

/* ---- processes ------------------------------------------------------- */

static _Noreturn void
work(struct session *session)
{
  struct lab *lab = lab_new();

  session->twin = lab ? twin_new(lab) : NULL;
  if (!session->twin) {
    cli_error("cannot set up the memory for a run: %s", strerror(errno));
    _exit(CLI_UNCHECKED);
  }
  if (session->arguments->ops == 0) {
    run_inputs(session);
  } else if (!run_random(session)) {
    cli_error("no memory");
    _exit(CLI_UNCHECKED);
  }
  session->shared->is_over = true;
  fflush(stdout);
  _exit(CLI_CLEAN);
}

/* The child died of a run. */
static void
tell_death(struct session *session, int status)
{
  struct shared *shared = session->shared;
  struct twin_result result = {
    .verdict = TWIN_BROKEN, .who = shared->result.who, .result.law = LAW_CRASH};
  const char *name = session->pair.subject[result.who]->name;
  char file[64];

  if (WIFSIGNALED(status))
    snprintf(result.message, sizeof result.message,
             "%s ends the process: %s", name, strsignal(WTERMSIG(status)));
  else
    snprintf(result.message, sizeof result.message,
             "%s leaves the process with status %d", name,
             WEXITSTATUS(status));
  snprintf(file, sizeof file, "random stream %" PRIu64 " of the seed",
           shared->next - 1);
  count(shared, &result);
  tell(session,
       session->arguments->ops
           ? file
           : session->arguments->inputs.list.items[shared->next - 1].path,
       &result);
  shared->is_running = false;
}

static int
run(struct session *session)
{
  struct shared *shared = session->shared;

  while (!shared->is_over) {
    pid_t pid = child_fork();
    int status;

    if (pid == 0)
      work(session);
    if (pid < 0) {
      cli_error("cannot start a process: %s", strerror(errno));
      return CLI_UNCHECKED;
    }
    status = child_wait(pid);
    if (shared->is_over)
      break;
    if (!shared->is_running)
      return CLI_UNCHECKED; /* it has said why */
    tell_death(session, status);
    if (session->arguments->ops)
      break;
  }
  if (session->arguments->ops || session->arguments->inputs.list.count > 1)
    sum(session);
  if (shared->verdicts[TWIN_DIFFERENT] || shared->verdicts[TWIN_BROKEN])
    return CLI_FINDING;
  if (shared->bad)
    return CLI_BAD;
  return shared->verdicts[TWIN_UNCHECKED] ? CLI_UNCHECKED : CLI_CLEAN;
}

int
cmd_twin(int argc, char **argv)
{
  struct arguments arguments = {.ops = 0};
  struct session session = {.arguments = &arguments};
  int status = cli_parse(&parser, "twin", argc, argv, &arguments);

  if (status == CLI_CLEAN)
    status = choose(&arguments, &session.pair);
  if (status == CLI_CLEAN) {
    input_list_sort(&arguments.inputs.list);
    session.shared = child_share(sizeof *session.shared);
    if (session.shared) {
      status = run(&session);
    } else {
      cli_error("cannot share memory with a process: %s", strerror(errno));
      status = CLI_UNCHECKED;
    }
  }
  child_unshare(session.shared, sizeof *session.shared);
  input_list_done(&arguments.inputs.list);
  return status;
}
