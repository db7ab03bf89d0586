/* SPDX-License-Identifier: MIT
 *
 * Workers of a fuzzing session; see fuzzer.h.
 */
#include "cli/fuzzer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/artefact.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "ops/op_gen.h"
#include "report/known.h"

/* Where an installation has them; the build says. */
#ifndef PKGLIBEXECDIR
#define PKGLIBEXECDIR "/usr/local/libexec/penumbra"
#endif
#ifndef PKGDATADIR
#define PKGDATADIR "/usr/local/share/penumbra"
#endif

enum { ARGUMENTS_MAX = 24 };

/* ---- finding files --------------------------------------------------- */

/* The folder that this program lies in; owned by the caller; NULL if the
 * system does not say. */
static char *
own_folder(void)
{
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

  if (length <= 0)
    return NULL;
  path[length] = '\0';
  return strdup(dirname(path));
}

/* The file of a subject's target in a folder, or below it ("/..."); owned by
 * the caller; NULL if there is none. */
static char *
look(const char *folder, const char *below, const char *subject,
     const char *suffix, int mode)
{
  char *path = NULL;

  if (asprintf(&path, "%s%s/fuzz_%s%s", folder, below, subject, suffix) < 0)
    return NULL;
  if (access(path, mode) == 0)
    return path;
  free(path);
  return NULL;
}

/* Whose dictionary and seeds are for every subject that has none of its own:
 * the language is the same. */
static const char everybody[] = "lua54";

/* In the first folder that has it: one beside our own, or the installed one. */
static char *
find(const char *beside, const char *installed, const char *subject,
     const char *suffix, int mode)
{
  char *folder = own_folder();
  char *path = folder ? look(folder, beside, subject, suffix, mode) : NULL;

  free(folder);
  return path ? path : look(installed, "", subject, suffix, mode);
}

char *
fuzzer_find_target(const char *subject)
{
  return find("/fuzz", PKGLIBEXECDIR, subject, "", X_OK);
}

/* A folder of the corpus, which is the source tree's: we lie in that, or in a
 * folder of it. Owned by the caller; NULL if there is none. */
static char *
find_in_corpus(const char *name)
{
  static const char *const places[] = {"/corpus/", "/../corpus/"};
  char *folder = own_folder();
  char *path = NULL;

  for (size_t i = 0; folder && i < sizeof places / sizeof *places; i++) {
    if (asprintf(&path, "%s%s%s", folder, places[i], name) < 0)
      path = NULL;
    if (path && access(path, R_OK | X_OK) == 0)
      break;
    free(path);
    path = NULL;
  }
  free(folder);
  if (!path && asprintf(&path, "%s/corpus/%s", PKGDATADIR, name) < 0)
    path = NULL;
  if (path && access(path, R_OK | X_OK) == 0)
    return path;
  free(path);
  return NULL;
}

char *
fuzzer_find_dict(const char *subject)
{
  char *path = find("/fuzz", PKGDATADIR, subject, ".dict", R_OK);

  return path ? path : find("/fuzz", PKGDATADIR, everybody, ".dict", R_OK);
}

/* path without what it need not say: seen from here, if it lies below. Takes
 * path; returns owned. */
static char *
shorten(char *path)
{
  char *full = path ? realpath(path, NULL) : NULL;
  char *here = getcwd(NULL, 0);
  size_t length = here ? strlen(here) : 0;

  if (full) {
    free(path);
    path = full;
    if (here && strncmp(full, here, length) == 0 && full[length] == '/')
      memmove(full, full + length + 1, strlen(full + length));
  }
  free(here);
  return path;
}

char *
fuzzer_known_folder(const char *given)
{
  char *path = given ? strdup(given) : shorten(find_in_corpus("findings"));

  if (!path)
    cli_error("--known: the corpus has no findings here; name their folder");
  return path;
}

static char *
find_seeds(const char *subject)
{
  char *name = NULL;
  char *path = NULL;

  if (asprintf(&name, "fuzz_%s", subject) < 0)
    return NULL;
  path = find_in_corpus(name);
  free(name);
  return path;
}

char *
fuzzer_find_seeds(const char *subject)
{
  char *path = find_seeds(subject);

  return shorten(path ? path : find_seeds(everybody));
}

/* ---- libFuzzer ------------------------------------------------------- */

struct command {
  char *words[ARGUMENTS_MAX + 1]; /* own; NULL-terminated */
  size_t count;
  bool has_failed;
};

static void
command_add(struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
command_add(struct command *command, const char *format, ...)
{
  va_list arguments;
  char *word;

  va_start(arguments, format);
  if (command->count == ARGUMENTS_MAX ||
      vasprintf(&word, format, arguments) < 0)
    command->has_failed = true;
  else
    command->words[command->count++] = word;
  va_end(arguments);
}

static void
command_done(struct command *command)
{
  for (size_t i = 0; i < command->count; i++)
    free(command->words[i]);
}

/* A name that begins with a hyphen would be taken for an option. */
static void
command_add_folder(struct command *command, const char *path)
{
  command_add(command, "%s%s", path[0] == '-' ? "./" : "", path);
}

static void
command_make(struct command *command, const struct fuzzer *fuzzer,
             unsigned index, const struct fuzzer_worker *worker)
{
  command_add(command, "%s", fuzzer->target);
  command_add(command, "--subject=%s", fuzzer->subject->name);
  command_add(command, "--stats=%s", worker->stats);
  if (fuzzer->fault)
    command_add(command, "--fault=%s", fuzzer->fault);
  if (fuzzer->known)
    command_add(command, "--known=%s", fuzzer->known);
  if (fuzzer->left_out)
    command_add(command, "--leave-out=%s", fuzzer->left_out);
  command_add(command, "-exact_artifact_path=%s", worker->artefact);
  command_add(command, "-max_total_time=%" PRIu64, fuzzer->seconds);
  /* libFuzzer's seed has 32 bits, and 0 means a random one. */
  command_add(command, "-seed=%" PRIu64,
              1 + (fuzzer->seed + index) % UINT32_MAX);
  command_add(command, "-max_len=4096");
  command_add(command, "-timeout=60");
  command_add(command, "-reload=5");
  command_add(command, "-detect_leaks=0");
  command_add(command, "-print_final_stats=1");
  if (fuzzer->dict)
    command_add(command, "-dict=%s", fuzzer->dict);
  command_add_folder(command, fuzzer->corpus);
  if (fuzzer->seeds)
    command_add_folder(command, fuzzer->seeds);
}

static _Noreturn void
run_libfuzzer(const struct fuzzer *fuzzer, const struct command *command)
{
  /* All that a subject owns is the arena's; what is looked for here is not
   * memory that we forgot. The user's own options are left alone. */
  setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
  execv(fuzzer->target, command->words);
  fprintf(stderr, "penumbra: %s: %s\n", fuzzer->target, strerror(errno));
  _exit(CLI_UNCHECKED);
}

/* ---- the generator --------------------------------------------------- */

struct generator {
  const struct fuzzer *fuzzer;
  struct summary *summary;
  struct lab *lab;
  struct known known;
};

/* One stream; leaves the process when a law is broken. */
static void
generator_run(struct generator *generator, const struct stream *stream)
{
  const struct lab_options options = {.fault = generator->fuzzer->fault};
  struct summary *summary = generator->summary;
  struct lab_result result;

  if (stream->count > SUMMARY_OPS_MAX)
    return;
  stream_encode(stream, summary->input);
  summary->input_size = 4 * stream->count;
  lab_run(generator->lab, generator->fuzzer->subject, stream, &options,
          &result);
  summary->executions++;
  summary->operations += result.ops_run;
  summary->skipped += result.ops_skipped;
  summary->micro_steps += result.micro_steps;
  summary->clean += result.verdict == LAB_CLEAN;
  summary->broken += result.verdict == LAB_BROKEN;
  summary->unchecked += result.verdict == LAB_UNCHECKED;
  summary->oracle = *lab_statistics(generator->lab);
  if (result.verdict == LAB_BROKEN) {
    if (!known_meet(&generator->known, result.signature))
      _exit(CLI_FINDING);
    summary->known++;
  }
  summary->input_size = 0;
}

/* The seeds first: they know the way to where bugs were. */
static void
generator_run_seeds(struct generator *generator)
{
  struct input_list seeds = {NULL, 0, 0};
  struct stream stream;

  if (!generator->fuzzer->seeds ||
      !input_list_add(&seeds, generator->fuzzer->seeds))
    return;
  input_list_sort(&seeds);
  for (size_t i = 0; i < seeds.count; i++) {
    if (input_read(&seeds.items[i], false, &stream) != INPUT_OK)
      continue;
    generator_run(generator, &stream);
    stream_done(&stream);
  }
  input_list_done(&seeds);
}

static _Noreturn void
run_generator(const struct fuzzer *fuzzer, unsigned index,
              struct summary *summary)
{
  struct generator generator = {fuzzer, summary, lab_new(), {NULL, 0}};
  struct op_random random;
  struct stream stream;

  if (!generator.lab) {
    fprintf(stderr, "penumbra: cannot set up the memory for a run: %s\n",
            strerror(errno));
    _exit(CLI_UNCHECKED);
  }
  if (fuzzer->known &&
      !known_read(fuzzer->known, fuzzer->subject->name, &generator.known)) {
    fprintf(stderr, "penumbra: %s: %s\n", fuzzer->known, strerror(errno));
    _exit(CLI_UNCHECKED);
  }
  summary->magic = SUMMARY_MAGIC;
  if (index == 0)
    generator_run_seeds(&generator);
  op_random_init(&random, fuzzer->seed + index);
  for (;;) {
    size_t count = (size_t)16 << op_random_below(&random, 5);

    if (stream_generate(op_random_next(&random), count, &stream) != STREAM_OK)
      _exit(CLI_UNCHECKED);
    generator_run(&generator, &stream);
    stream_done(&stream);
  }
}

/* ---- workers --------------------------------------------------------- */

static char *
worker_file(const struct fuzzer *fuzzer, const char *what, unsigned index)
{
  char *path;

  if (asprintf(&path, "%s/%s-%u", fuzzer->session, what, index) < 0)
    return NULL;
  return path;
}

/* The file of the counters, mapped; NULL with errno. */
static struct summary *
map_stats(const char *path)
{
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  void *memory = MAP_FAILED;
  int error;

  if (file < 0)
    return NULL;
  error = posix_fallocate(file, 0, sizeof(struct summary));
  if (error == 0) {
    memory = mmap(NULL, sizeof(struct summary), PROT_READ | PROT_WRITE,
                  MAP_SHARED, file, 0);
    error = errno;
  }
  close(file);
  errno = error;
  return memory == MAP_FAILED ? NULL : memory;
}

static _Noreturn void
work(const struct fuzzer *fuzzer, unsigned index,
     const struct fuzzer_worker *worker, const struct command *command)
{
  int log = open(worker->log, O_WRONLY | O_CREAT | O_TRUNC, 0666);

  /* Ctrl-C is for us; we tell the workers. */
  setpgid(0, 0);
  if (log >= 0) {
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
  }
  if (fuzzer->engine == FUZZER_LIBFUZZER)
    run_libfuzzer(fuzzer, command);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  run_generator(fuzzer, index, worker->summary);
}

int
fuzzer_start(const struct fuzzer *fuzzer, unsigned index,
             struct fuzzer_worker *ret_worker)
{
  struct fuzzer_worker worker = {
    .stats = worker_file(fuzzer, "stats", index),
    .artefact = worker_file(fuzzer, "artefact", index),
    .log = worker_file(fuzzer, "log", index),
    .has_ended = true,
  };
  struct command command = {.count = 0};
  int error = ENOMEM;

  if (!worker.stats || !worker.artefact || !worker.log)
    goto fail;
  if (fuzzer->engine == FUZZER_LIBFUZZER)
    command_make(&command, fuzzer, index, &worker);
  if (command.has_failed)
    goto fail;
  worker.summary = map_stats(worker.stats);
  if (!worker.summary) {
    error = errno;
    goto fail;
  }
  worker.pid = child_fork();
  if (worker.pid == 0)
    work(fuzzer, index, &worker, &command);
  if (worker.pid < 0) {
    error = errno;
    goto fail;
  }
  command_done(&command);
  worker.has_ended = false;
  *ret_worker = worker;
  return 0;
fail:
  command_done(&command);
  fuzzer_done(&worker, false);
  return error;
}

void
fuzzer_poll(struct fuzzer_worker *worker)
{
  if (!worker->has_ended &&
      waitpid(worker->pid, &worker->status, WNOHANG) == worker->pid)
    worker->has_ended = true;
}

void
fuzzer_stop(struct fuzzer_worker *worker, bool with_force)
{
  if (!worker->has_ended)
    kill(worker->pid, with_force ? SIGKILL : SIGINT);
}

void
fuzzer_done(struct fuzzer_worker *worker, bool keep_log)
{
  if (worker->summary)
    munmap(worker->summary, sizeof *worker->summary);
  if (worker->stats)
    unlink(worker->stats);
  if (worker->artefact)
    unlink(worker->artefact);
  if (worker->log && !keep_log)
    unlink(worker->log);
  free(worker->stats);
  free(worker->artefact);
  free(worker->log);
  *worker = (struct fuzzer_worker){.has_ended = true};
}
