/* SPDX-License-Identifier: MIT
 *
 * penumbra fuzz: a fuzzing session. It starts the workers, shows how they do,
 * and when one has found something, or the time is over, or the user has had
 * enough, it stops them all, keeps what they found, and tells it.
 *
 * A worker leaves the input that it was running in memory that outlives it.
 * Each such input is replayed at the end, however the worker ended, so that
 * neither Ctrl-C nor a kill from outside can lose a finding.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/artefact.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/fuzzer.h"
#include "ops/op_text.h"
#include "report/known.h"

enum {
  WORKERS_MAX = 64,
  SECONDS_MAX = 10000000,
  REPLAY_SECONDS = 60, /* of processor time */
  GRACE = 5,            /* seconds that a worker has to end */
  OVERTIME = 30         /* seconds that libFuzzer may be late */
};

struct arguments {
  struct cli_target target;
  const char *folder;
  uint64_t workers;
  uint64_t seconds;
  uint64_t seed;
  bool has_seed;
  bool has_seconds;
  bool no_seeds;
  bool has_known;
  const char *known; /* NULL: the corpus's */
};

static error_t
parse_seconds(struct arguments *arguments, const char *text)
{
  if (arguments->has_seconds)
    return cli_refuse("fuzz takes one number of seconds, '%s' is one more",
                      text);
  arguments->has_seconds = true;
  return cli_number("SECONDS", text, 0, SECONDS_MAX, &arguments->seconds);
}

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;

  switch (key) {
  case 'j':
    return cli_number("-j", argument, 1, WORKERS_MAX, &arguments->workers);
  case CLI_KEY_ARTEFACTS:
    arguments->folder = argument;
    return 0;
  case CLI_KEY_SEED:
    arguments->has_seed = true;
    return cli_number("--seed", argument, 0, UINT64_MAX, &arguments->seed);
  case CLI_KEY_KNOWN:
    arguments->has_known = true;
    arguments->known = argument;
    return 0;
  case CLI_KEY_NO_SEEDS:
    arguments->no_seeds = true;
    return 0;
  case ARGP_KEY_ARG:
    return parse_seconds(arguments, argument);
  default:
    return cli_target_parse(key, argument, &arguments->target);
  }
}

static const struct argp_option options[] = {
  CLI_OPTION_SUBJECT,
  CLI_OPTION_FAULT,
  CLI_OPTION_KNOWN,
  {"jobs", 'j', "N", 0, "number of processes (default 1)", 0},
  {"artefacts", CLI_KEY_ARTEFACTS, "DIR", 0,
   "folder for findings and for the corpus that grows (default "
   "./penumbra-artefacts)",
   0},
  {"seed", CLI_KEY_SEED, "N", 0,
   "seed of the random source (default: a new one, which is printed)", 0},
  {"no-seeds", CLI_KEY_NO_SEEDS, NULL, 0,
   "start from nothing: neither from the seeds nor from what earlier "
   "sessions found",
   0},
  {0},
};

static const struct argp parser = {
  .options = options,
  .parser = parse,
  .args_doc = "[SECONDS]",
  .doc = "Look for a stream that breaks a law, for SECONDS (default 60; 0: "
         "until Ctrl-C). A finding is kept in the artefact folder, replayed "
         "and explained, and ends the session; so does Ctrl-C, which loses "
         "nothing."
         "\vUses libFuzzer if this build has it, else the built-in generator "
         "of streams. Exit codes: 1 if a law was broken, 0 if none was, 3 if "
         "that could not be checked.",
};

/* ---- the session ----------------------------------------------------- */

struct session {
  const struct arguments *arguments;
  const char *folder; /* of artefacts */
  struct fuzzer fuzzer;
  struct fuzzer_worker workers[WORKERS_MAX];
  unsigned worker_count;
  struct timespec start;
  double seconds; /* that the workers ran */
  char *target, *dict, *seeds, *corpus, *private_folder; /* own ... */
  char *known_folder, *left_out; /* ... these, too */
  struct known known; /* for what is replayed */
  struct summary before; /* of processes that a known finding ended */
  uint64_t restarts;
  uint64_t findings;
  bool has_failed;
  bool keep_logs;
};

static volatile sig_atomic_t interruptions;

static void
interrupted(int number)
{
  interruptions++;
  if (interruptions > 2)
    signal(number, SIG_DFL); /* who insists is obeyed */
}

static void
catch_signals(void)
{
  struct sigaction action = {.sa_handler = interrupted};

  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
}

static double
seconds_since(const struct timespec *start)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) +
         (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

static void
nap(void)
{
  nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
}

/* ---- setting up ------------------------------------------------------ */

static int
refuse_folder(const char *path, int error)
{
  cli_error("%s: cannot keep artefacts there: %s", path, strerror(error));
  return CLI_UNCHECKED;
}

/* The folders, and the proof that they can be written to. */
static int
make_folders(struct session *session)
{
  const struct fuzzer *fuzzer = &session->fuzzer;
  char name[128];
  int error = artefact_folder(session->folder);

  if (error != 0)
    return refuse_folder(session->folder, error);
  session->private_folder = artefact_path(session->folder, "session-XXXXXX");
  if (!session->private_folder || !mkdtemp(session->private_folder)) {
    error = session->private_folder ? errno : ENOMEM;
    free(session->private_folder);
    session->private_folder = NULL;
    return refuse_folder(session->folder, error);
  }
  if (fuzzer->engine == FUZZER_GENERATOR)
    return CLI_CLEAN; /* it keeps no corpus */
  snprintf(name, sizeof name, "corpus-%s%s%s", fuzzer->subject->name,
           fuzzer->fault ? "-" : "", fuzzer->fault ? fuzzer->fault : "");
  session->corpus = artefact_path(session->arguments->no_seeds
                                      ? session->private_folder
                                      : session->folder,
                                  name);
  error = session->corpus ? artefact_folder(session->corpus) : ENOMEM;
  return error == 0 ? CLI_CLEAN : refuse_folder(session->folder, error);
}

/* Which engine there is: a build without libFuzzer has targets, too, but they
 * only replay. */
static void
find_engine(struct session *session)
{
  const char *name = session->fuzzer.subject->name;

  session->fuzzer.engine = FUZZER_GENERATOR;
#ifdef PENUMBRA_LIBFUZZER
  session->target = fuzzer_find_target(name);
  session->dict = fuzzer_find_dict(name);
  if (session->target)
    session->fuzzer.engine = FUZZER_LIBFUZZER;
#endif
  if (!session->arguments->no_seeds)
    session->seeds = fuzzer_find_seeds(name);
}

static int
find_known(struct session *session)
{
  const struct arguments *arguments = session->arguments;

  if (!arguments->has_known)
    return CLI_CLEAN;
  session->known_folder = fuzzer_known_folder(arguments->known);
  if (!session->known_folder)
    return CLI_BAD;
  session->fuzzer.known = session->known_folder;
  if (known_read(session->known_folder, session->fuzzer.subject->name,
                 &session->known))
    return CLI_CLEAN;
  cli_error("%s: %s", session->known_folder, strerror(errno));
  return CLI_BAD;
}

static int
set_up(struct session *session)
{
  const struct arguments *arguments = session->arguments;
  struct cli_choice choice;
  int status = cli_choose_one(arguments->target.subject,
                              arguments->target.fault, &choice);

  if (status != CLI_CLEAN)
    return status;
  if (choice.count > 1) {
    cli_error("a session fuzzes one subject: -s names one, not all");
    return CLI_BAD;
  }
  session->folder = arguments->folder;
  session->fuzzer.subject = choice.subjects[0];
  session->fuzzer.fault = choice.fault;
  session->fuzzer.seconds = arguments->seconds;
  session->fuzzer.seed = arguments->seed;
  if (!arguments->has_seed) {
    uint32_t seed = 0;

    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
      seed = (uint32_t)getpid();
    session->fuzzer.seed = seed;
  }
  status = find_known(session);
  if (status != CLI_CLEAN)
    return status;
  find_engine(session);
  status = make_folders(session);
  session->fuzzer.target = session->target;
  session->fuzzer.dict = session->dict;
  session->fuzzer.seeds = session->seeds;
  session->fuzzer.corpus = session->corpus;
  session->fuzzer.session = session->private_folder;
  if (arguments->has_known && status == CLI_CLEAN &&
      session->fuzzer.engine == FUZZER_LIBFUZZER) {
    session->left_out = artefact_path(session->private_folder, "left-out");
    session->fuzzer.left_out = session->left_out;
  }
  return status;
}

static void
introduce(const struct session *session)
{
  const struct fuzzer *fuzzer = &session->fuzzer;
  uint64_t workers = session->arguments->workers;

  printf("Fuzzing %s", fuzzer->subject->name);
  if (fuzzer->fault)
    printf(" with the fault %s", fuzzer->fault);
  if (fuzzer->seconds)
    printf(" for %llu seconds", (unsigned long long)fuzzer->seconds);
  else
    printf(" until Ctrl-C");
  printf(", %llu process%s\n", (unsigned long long)workers,
         workers == 1 ? "" : "es");
  if (fuzzer->engine == FUZZER_LIBFUZZER)
    puts("  engine     libFuzzer");
  else
    puts("  engine     the built-in generator (this build has no libFuzzer: "
         "it takes clang\n"
         "             and ./configure --enable-fuzzing)");
  printf("  seed       %llu\n", (unsigned long long)fuzzer->seed);
  printf("  seeds      %s\n", fuzzer->seeds                ? fuzzer->seeds
                              : session->arguments->no_seeds ? "none"
                                                             : "none found");
  printf("  artefacts  %s\n", session->folder);
  fflush(stdout);
}

/* ---- running --------------------------------------------------------- */

static void
sum_up(const struct session *session, struct summary *ret_sum)
{
  *ret_sum = session->before;
  for (unsigned i = 0; i < session->worker_count; i++)
    summary_add(ret_sum, session->workers[i].summary);
}

/* A line that is written over on a terminal; elsewhere a line now and then. */
static void
show_progress(const struct session *session, double *next)
{
  static struct summary sum;
  bool is_terminal = isatty(STDERR_FILENO);
  double now = seconds_since(&session->start);

  if (now < *next)
    return;
  *next = now + (is_terminal ? 0.5 : 10);
  sum_up(session, &sum);
  if (is_terminal)
    fputs("\r\033[K", stderr);
  summary_print_progress(stderr, &sum, now);
  if (!is_terminal)
    fputc('\n', stderr);
  fflush(stderr);
}

static bool
is_over(const struct session *session)
{
  const struct fuzzer *fuzzer = &session->fuzzer;
  double limit = (double)fuzzer->seconds;
  bool all_ended = true;

  if (fuzzer->engine == FUZZER_LIBFUZZER)
    limit += OVERTIME; /* it keeps the time itself */
  for (unsigned i = 0; i < session->worker_count; i++) {
    const struct fuzzer_worker *worker = &session->workers[i];

    if (worker->has_ended && worker->status != 0)
      return true;
    all_ended = all_ended && worker->has_ended;
  }
  return all_ended || interruptions > 0 ||
         (fuzzer->seconds && seconds_since(&session->start) >= limit);
}

static bool
poll_workers(struct session *session)
{
  bool all_ended = true;

  for (unsigned i = 0; i < session->worker_count; i++) {
    fuzzer_poll(&session->workers[i]);
    all_ended = all_ended && session->workers[i].has_ended;
  }
  return all_ended;
}

/* Ends the workers that have not ended; status 0 says that it was we. */
static void
stop_workers(struct session *session)
{
  bool is_ours[WORKERS_MAX];
  sig_atomic_t before = interruptions;
  struct timespec start;
  bool with_force = false;

  clock_gettime(CLOCK_MONOTONIC, &start);
  for (unsigned i = 0; i < session->worker_count; i++) {
    is_ours[i] = !session->workers[i].has_ended;
    fuzzer_stop(&session->workers[i], false);
  }
  while (!poll_workers(session)) {
    if (!with_force &&
        (interruptions > before || seconds_since(&start) > GRACE)) {
      with_force = true;
      for (unsigned i = 0; i < session->worker_count; i++)
        fuzzer_stop(&session->workers[i], true);
    }
    nap();
  }
  for (unsigned i = 0; i < session->worker_count; i++)
    if (is_ours[i])
      session->workers[i].status = 0;
}

/* ---- findings -------------------------------------------------------- */

/* Better on the screen than nowhere. */
static void
print_stream(const struct stream *stream)
{
  char text[OP_TEXT_OP_MAX];

  puts("The stream, as text for 'penumbra run --text':");
  for (size_t i = 0; i < stream->count; i++) {
    op_print(stream->ops[i], text);
    puts(text);
  }
}

static char *
keep(struct session *session, const char *what, const uint8_t *bytes,
     size_t size)
{
  const struct fuzzer *fuzzer = &session->fuzzer;
  char name[192];
  char *path;

  snprintf(name, sizeof name, "%s%s%s-%s", fuzzer->subject->name,
           fuzzer->fault ? "-" : "", fuzzer->fault ? fuzzer->fault : "",
           what);
  path = artefact_store(session->folder, name, bytes, size);
  if (!path) {
    cli_error("%s: cannot keep a finding there: %s", session->folder,
              strerror(errno));
    session->has_failed = true;
  }
  return path;
}

static void
tell_finding(struct session *session, struct child_job *job,
             const uint8_t *bytes, size_t size)
{
  struct report_history history;
  char *path = keep(session, law_infos[job->verdict.result.law].id, bytes,
                    size);

  session->findings++;
  printf("\nFinding %llu: %s\n\n", (unsigned long long)session->findings,
         path ? path : "could not be kept");
  if (path)
    job->run.file = path;
  else
    print_stream(job->run.stream);
  if (child_history(job, REPLAY_SECONDS, &history) == CHILD_OK)
    report_explain(stdout, &job->run, &job->verdict, &history,
                   report_wants_colour(stdout));
  fflush(stdout);
  free(path);
}

/* Runs an input that a worker left, in a process of its own. The stream that
 * the job borrows is the caller's to free, unless this is false. */
static bool
run_input(struct session *session, const uint8_t *bytes, size_t size,
          struct stream *stream, struct child_job *job)
{
  const struct child_options child = {.timeout = REPLAY_SECONDS};

  if (stream_decode(bytes, size, stream) != STREAM_OK)
    return false;
  *job = (struct child_job){.run = {.file = "an input",
                                    .subject = session->fuzzer.subject,
                                    .fault = session->fuzzer.fault,
                                    .stream = stream}};
  if (child_run(job, 1, &child) == CHILD_OK)
    return true;
  session->has_failed = true;
  stream_done(stream);
  return false;
}

/* true if the input breaks a law. */
static bool
replay(struct session *session, const uint8_t *bytes, size_t size)
{
  struct stream stream;
  struct child_job job;
  bool is_broken;

  if (!run_input(session, bytes, size, &stream, &job))
    return false;
  is_broken = job.verdict.result.verdict == LAB_BROKEN;
  if (is_broken && !known_meet(&session->known, job.verdict.result.signature))
    tell_finding(session, &job, bytes, size);
  if (job.verdict.result.verdict == LAB_UNCHECKED)
    cli_error("an input could not be checked: %s", job.verdict.result.reason);
  stream_done(&stream);
  return is_broken;
}

/* The last of our own lines in a worker's log. */
static void
quote_log(const char *path)
{
  FILE *log = fopen(path, "re");
  char line[512], last[512] = "";

  while (log && fgets(line, sizeof line, log))
    if (strncmp(line, "penumbra: ", strlen("penumbra: ")) == 0)
      strcpy(last, line);
  if (log)
    fclose(log);
  if (last[0])
    cli_error("it said: %.*s", (int)strcspn(last, "\n"), last);
}

/* A worker that ended by itself, but not by what the replay can see. */
static void
tell_failure(struct session *session, const struct fuzzer_worker *worker,
             const uint8_t *bytes, size_t size)
{
  char *path = size ? keep(session, "unconfirmed", bytes, size) : NULL;
  int status = worker->status;

  cli_error("a fuzzer ended with %s %d; its own words are in %s",
            WIFSIGNALED(status) ? "signal" : "exit status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
            worker->log);
  quote_log(worker->log);
  if (path)
    cli_error("its last input breaks no law when it is run again; it is kept "
              "as %s",
              path);
  session->has_failed = true;
  session->keep_logs = true;
  free(path);
}

/* What a worker left. */
struct left {
  uint8_t *artefact; /* libFuzzer's; owns; NULL: none */
  const uint8_t *bytes[2]; /* the artefact, and the input that it was running */
  size_t size[2];          /* 0: none */
};

static void
take_left(const struct fuzzer_worker *worker, struct left *ret_left)
{
  const struct summary *summary = worker->summary;
  size_t size = 0;
  uint8_t *artefact = artefact_read(worker->artefact, 1 << 24, &size);
  bool is_whole = summary->input_size <= SUMMARY_INPUT_MAX;

  *ret_left = (struct left){.artefact = artefact,
                            .bytes = {artefact, summary->input},
                            .size = {artefact ? size : 0,
                                     is_whole ? summary->input_size : 0}};
}

static void
judge_worker(struct session *session, const struct fuzzer_worker *worker)
{
  struct left left;
  bool is_broken = false;

  take_left(worker, &left);
  for (int i = 0; i < 2 && !is_broken; i++)
    is_broken = (left.size[i] > 0 || (i == 1 && worker->summary->broken > 0)) &&
                replay(session, left.bytes[i], left.size[i]);
  if (!is_broken && worker->status != 0) {
    int which = left.artefact ? 0 : 1;

    tell_failure(session, worker, left.bytes[which], left.size[which]);
  }
  free(left.artefact);
}

/* ---- past known findings ---------------------------------------------- */

/* Whether the input shows a known finding: then it is left out from now on. */
static bool
leave_out_known(struct session *session, const uint8_t *bytes, size_t size)
{
  struct stream stream;
  struct child_job job;
  bool is_known;

  if (!run_input(session, bytes, size, &stream, &job))
    return false;
  is_known = job.verdict.result.verdict == LAB_BROKEN &&
             known_meet(&session->known, job.verdict.result.signature);
  stream_done(&stream);
  if (is_known && !known_inputs_add(session->left_out, bytes, size)) {
    cli_error("%s: %s", session->left_out, strerror(errno));
    session->has_failed = true;
    is_known = false; /* nobody can go on without it */
  }
  return is_known;
}

static bool
ended_by_known(struct session *session, const struct fuzzer_worker *worker)
{
  struct left left;
  bool is_known = false;

  take_left(worker, &left);
  for (int i = 0; i < 2 && !is_known; i++)
    is_known = left.size[i] > 0 &&
               leave_out_known(session, left.bytes[i], left.size[i]);
  free(left.artefact);
  return is_known;
}

/* A process that runs libFuzzer does not outlive a crash. If that is a known
 * finding another one goes on in its place, for the time that is left, without
 * the input. 0, or an errno. */
static int
go_on_past_known(struct session *session)
{
  struct fuzzer *fuzzer = &session->fuzzer;
  int error = 0;

  for (unsigned i = 0; i < session->worker_count && error == 0; i++) {
    struct fuzzer_worker *worker = &session->workers[i];
    double left = (double)session->arguments->seconds -
                  seconds_since(&session->start);
    bool has_time = session->arguments->seconds == 0 || left >= 1;

    if (!worker->has_ended || worker->status == 0 || !has_time ||
        interruptions > 0 || !session->left_out ||
        !ended_by_known(session, worker))
      continue;
    summary_add(&session->before, worker->summary);
    session->restarts++;
    fuzzer_done(worker, false);
    fuzzer->seconds = session->arguments->seconds ? (uint64_t)left : 0;
    fuzzer->seed += session->arguments->workers;
    error = fuzzer_start(fuzzer, i, worker);
    fuzzer->seconds = session->arguments->seconds;
  }
  return error;
}

static int
fuzz(struct session *session)
{
  double next_progress = isatty(STDERR_FILENO) ? 0.5 : 10;
  int error = 0;

  clock_gettime(CLOCK_MONOTONIC, &session->start);
  for (unsigned i = 0; i < session->arguments->workers && error == 0; i++) {
    error = fuzzer_start(&session->fuzzer, i, &session->workers[i]);
    session->worker_count += error == 0;
  }
  while (error == 0 && !is_over(session)) {
    nap();
    poll_workers(session);
    error = go_on_past_known(session);
    if (error == 0)
      show_progress(session, &next_progress);
  }
  if (error != 0) {
    cli_error("cannot start a fuzzer: %s", strerror(error));
    session->has_failed = true;
  }
  session->seconds = seconds_since(&session->start);
  stop_workers(session);
  if (isatty(STDERR_FILENO))
    fputs("\r\033[K", stderr);
  return error;
}

/* ---- the whole ------------------------------------------------------- */

static void
conclude(struct session *session)
{
  static struct summary sum;

  sum_up(session, &sum);
  putchar('\n');
  summary_print(stdout, &sum, session->seconds);
  if (session->restarts)
    printf("\nKnown findings ended a process %llu times; another one went "
           "on.\n",
           (unsigned long long)session->restarts);
  fflush(stdout);
  for (unsigned i = 0; i < session->worker_count; i++)
    judge_worker(session, &session->workers[i]);
  if (session->findings == 0)
    printf("\nNo finding%s.\n",
           session->has_failed ? ", but see the errors" : "");
  if (sum.executions == 0 && session->findings == 0)
    session->has_failed = true; /* nothing was checked */
}

static void
clean_up(struct session *session)
{
  for (unsigned i = 0; i < session->worker_count; i++)
    fuzzer_done(&session->workers[i], session->keep_logs);
  if (session->arguments->no_seeds && session->corpus)
    artefact_remove_folder(session->corpus);
  if (session->left_out)
    unlink(session->left_out);
  if (session->private_folder)
    rmdir(session->private_folder); /* unless there are logs to keep */
  free(session->target);
  free(session->dict);
  free(session->seeds);
  free(session->corpus);
  free(session->private_folder);
  free(session->known_folder);
  free(session->left_out);
  known_done(&session->known);
}

int
cmd_fuzz(int argc, char **argv)
{
  static struct session session;
  struct arguments arguments = {
    .folder = "penumbra-artefacts", .workers = 1, .seconds = 60};
  int status = cli_parse(&parser, "fuzz", argc, argv, &arguments);

  if (status != CLI_CLEAN)
    return status;
  session.arguments = &arguments;
  status = set_up(&session);
  if (status == CLI_CLEAN) {
    introduce(&session);
    catch_signals();
    if (fuzz(&session) == 0)
      conclude(&session);
    status = session.findings     ? CLI_FINDING
             : session.has_failed ? CLI_UNCHECKED
                                  : CLI_CLEAN;
  }
  clean_up(&session);
  return status;
}
