/* SPDX-License-Identifier: MIT
 *
 * Children; see child.h. A child writes one record for each job to a pipe.
 * What it cannot say any more when it dies lies in shared memory (where it
 * was) and in a file without a name (what it wrote to standard error).
 */
#include "cli/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/autopsy.h"
#include "cli/cli.h"

enum { WORDS_MAX = 64 * 1024 };

/* Called by the sanitizer of undefined behaviour if the build has it: a stack
 * says more than a line. */
const char *__ubsan_default_options(void);

const char *
__ubsan_default_options(void)
{
  return "print_stacktrace=1";
}

enum record_type { RECORD_VERDICT, RECORD_NO_LAB, RECORD_OUTPUT };

struct record {
  enum record_type type;
  int error; /* an errno, but for RECORD_VERDICT */
  size_t index;
  struct report_verdict verdict;
  struct oracle_stats stats; /* of this job alone */
};

/* What parent and child share of a batch of jobs. */
struct batch {
  struct child_job *jobs;
  size_t count;
  size_t next; /* the first job that is not done */
  const struct child_options *options;
  struct child_progress *progress; /* shared */
  int words;                       /* file of the child's standard error */
};

/* ---- processes and memory -------------------------------------------- */

pid_t
child_fork(void)
{
  static const struct rlimit no_core = {0, 0};
  pid_t parent = getpid();
  pid_t pid;

  fflush(stdout);
  fflush(stderr);
  pid = fork();
  if (pid != 0)
    return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(CLI_UNCHECKED); /* it died before it could be bound to it */
  setrlimit(RLIMIT_CORE, &no_core);
  return 0;
}

int
child_wait(pid_t pid)
{
  int status = 0;

  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

void *
child_share(size_t size)
{
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  return memory == MAP_FAILED ? NULL : memory;
}

void
child_unshare(void *memory, size_t size)
{
  if (memory)
    munmap(memory, size);
}

/* ---- in the child ---------------------------------------------------- */

/* Keeps the progress, and passes all on to the job's own observer. */
struct watcher {
  struct lab_observer observer; /* first: the lab knows only this */
  struct lab_observer *next;    /* NULL: none */
  struct child_progress *progress;
  size_t op_count;
  size_t job;   /* its index */
  int pipe_end;
};

static void
record_write(int pipe_end, const struct record *record)
{
  const char *at = (const char *)record;
  size_t left = sizeof *record;

  while (left > 0) {
    ssize_t count = write(pipe_end, at, left);

    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      _exit(CLI_UNCHECKED); /* nobody is listening */
    at += count;
    left -= (size_t)count;
  }
}

/* Leaves the child as soon as what its observer writes gets lost: errno is
 * that of the last call that failed. */
static void
output_check(const struct watcher *watcher)
{
  static struct record record;

  if (!watcher->next || !ferror(stdout))
    return;
  record.type = RECORD_OUTPUT;
  record.error = errno ? errno : EIO;
  record.index = watcher->job;
  record_write(watcher->pipe_end, &record);
  _exit(0);
}

static void
watch_operation(struct lab_observer *observer, size_t index, struct op op,
                bool skipped)
{
  struct watcher *watcher = (struct watcher *)observer;
  struct child_progress *progress = watcher->progress;

  progress->has_begun = true;
  progress->op_index = index;
  progress->ops_run += !skipped;
  progress->is_inside = !skipped && op.code != OP_SETUP;
  progress->is_closing = !skipped && op.code == OP_CLOSE;
  if (watcher->next && watcher->next->operation)
    watcher->next->operation(watcher->next, index, op, skipped);
  output_check(watcher);
}

static void
watch_operation_end(struct lab_observer *observer, size_t index, struct op op,
                    enum subject_status status)
{
  struct watcher *watcher = (struct watcher *)observer;

  watcher->progress->is_inside = false;
  if (watcher->next && watcher->next->operation_end)
    watcher->next->operation_end(watcher->next, index, op, status);
}

static void
watch_event(struct lab_observer *observer, const struct subject_event *event)
{
  struct watcher *watcher = (struct watcher *)observer;
  struct child_progress *progress = watcher->progress;

  if (event->type == SUBJECT_EVENT_STEP_END)
    progress->micro_steps++;
  if (event->type == SUBJECT_EVENT_PHASE)
    progress->phase = event->to;
  if (event->type == SUBJECT_EVENT_CLOSE_ASKED)
    progress->close_is_asked = true;
  /* The lab does not tell that it closes the state after the last one. */
  if (progress->has_begun && !progress->is_inside &&
      (progress->close_is_asked ||
       progress->op_index + 1 == watcher->op_count))
    progress->is_closing = true;
  if (watcher->next && watcher->next->event)
    watcher->next->event(watcher->next, event);
  output_check(watcher);
}

/* Grants the process so many more seconds of processor time. */
static void
limit_time(uint64_t seconds)
{
  struct rusage usage;
  struct rlimit limit;

  if (seconds == 0 || getrusage(RUSAGE_SELF, &usage) != 0 ||
      getrlimit(RLIMIT_CPU, &limit) != 0)
    return;
  limit.rlim_cur = seconds + 1 + (uint64_t)usage.ru_utime.tv_sec +
                   (uint64_t)usage.ru_stime.tv_sec;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_cur > limit.rlim_max)
    limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CPU, &limit);
}

static void
job_run(const struct batch *batch, struct lab *lab, struct watcher *watcher,
        const struct child_job *job, struct record *record)
{
  const struct lab_options options = {
    .fault = job->run.fault,
    .observer = &watcher->observer,
  };
  struct oracle_stats before;

  *batch->progress = (struct child_progress){.phase = SUBJECT_PHASE_PAUSE};
  watcher->op_count = job->run.stream->count;
  watcher->job = record->index;
  limit_time(batch->options->timeout);
  before = *lab_statistics(lab);
  lab_run(lab, job->run.subject, job->run.stream, &options,
          &record->verdict.result);
  record->verdict.finding = *lab_finding(lab);
  record->stats = *lab_statistics(lab);
  oracle_stats_subtract(&record->stats, &before);
  fflush(stdout);
  output_check(watcher);
}

/* What each child does before its first run. Leaves it if there is no lab. */
static struct lab *
work_begin(const struct batch *batch, struct watcher *watcher)
{
  const struct child_options *options = batch->options;
  struct lab *lab;

  signal(SIGPIPE, SIG_IGN);
  dup2(batch->words, STDERR_FILENO);
  if (options->writes_output)
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  else
    dup2(batch->words, STDOUT_FILENO);
  lab = lab_new();
  if (!lab) {
    static struct record record;

    record = (struct record){.type = RECORD_NO_LAB, .error = errno};
    record_write(watcher->pipe_end, &record);
    _exit(0);
  }
  if (options->observe)
    watcher->next = options->observe(options->user, lab);
  return lab;
}

static _Noreturn void
work(const struct batch *batch, int pipe_end)
{
  struct watcher watcher = {
    .observer = {watch_operation, watch_event, watch_operation_end},
    .progress = batch->progress,
    .pipe_end = pipe_end,
  };
  struct lab *lab = work_begin(batch, &watcher);
  static struct record record;

  for (size_t i = batch->next; i < batch->count; i++) {
    memset(&record, 0, sizeof record);
    record.index = i;
    job_run(batch, lab, &watcher, &batch->jobs[i], &record);
    record_write(pipe_end, &record);
  }
  _exit(0);
}

/* ---- in the parent --------------------------------------------------- */

/* false at the end of the pipe. */
static bool
record_read(int pipe_end, struct record *ret_record)
{
  char *at = (char *)ret_record;
  size_t left = sizeof *ret_record;

  while (left > 0) {
    ssize_t count = read(pipe_end, at, left);

    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count;
    left -= (size_t)count;
  }
  return true;
}

static void
job_done(struct batch *batch)
{
  struct child_job *job = &batch->jobs[batch->next++];

  if (batch->options->done)
    batch->options->done(batch->options->user, job);
}

/* What the child wrote to standard error; NUL-terminated, owned by the
 * caller; NULL on no memory. */
static char *
words_read(const struct batch *batch)
{
  char *words = malloc(WORDS_MAX + 1);
  ssize_t length;

  if (!words)
    return NULL;
  length = pread(batch->words, words, WORDS_MAX, 0);
  words[length > 0 ? length : 0] = '\0';
  return words;
}

static enum child_status
fail(const struct record *record)
{
  if (record->type == RECORD_OUTPUT) {
    if (record->error == EPIPE) { /* as if the child had not stood between */
      signal(SIGPIPE, SIG_DFL);
      raise(SIGPIPE);
    }
    cli_output_error(record->error);
  } else {
    cli_error("cannot set up the memory for a run: %s",
              strerror(record->error));
  }
  return CHILD_FAILED;
}

/* Reads records until the child has nothing more to say. */
static enum child_status
records_take(struct batch *batch, int pipe_end)
{
  static struct record record;
  enum child_status status = CHILD_OK;

  while (status == CHILD_OK && record_read(pipe_end, &record)) {
    if (record.type != RECORD_VERDICT) {
      status = fail(&record);
      break;
    }
    batch->jobs[batch->next].verdict = record.verdict;
    batch->jobs[batch->next].stats = record.stats;
    job_done(batch);
  }
  return status;
}

/* The job at which the child died, and what a living one had to say. */
static enum child_status
child_bury(struct batch *batch, int status)
{
  char *words = words_read(batch);

  if (!words) {
    cli_error("no memory");
    return CHILD_FAILED;
  }
  if (batch->next < batch->count) {
    autopsy(&batch->jobs[batch->next], status, words, batch->progress,
            batch->options->timeout);
    job_done(batch);
  } else {
    fputs(words, stderr);
  }
  free(words);
  return CHILD_OK;
}

/* One child, from the first job that is not done to its end. */
static enum child_status
child_spawn(struct batch *batch)
{
  enum child_status result;
  int ends[2];
  int status;
  pid_t pid;

  if (ftruncate(batch->words, 0) != 0 || pipe(ends) != 0) {
    cli_error("cannot start a process: %s", strerror(errno));
    return CHILD_FAILED;
  }
  pid = child_fork();
  if (pid == 0) {
    close(ends[0]);
    work(batch, ends[1]);
  }
  close(ends[1]);
  if (pid < 0) {
    cli_error("cannot start a process: %s", strerror(errno));
    close(ends[0]);
    return CHILD_FAILED;
  }
  result = records_take(batch, ends[0]);
  close(ends[0]);
  status = child_wait(pid);
  return result == CHILD_OK ? child_bury(batch, status) : result;
}

/* The memory and the file that a batch shares with its children. */
static enum child_status
batch_share(struct batch *batch)
{
  batch->progress = child_share(sizeof *batch->progress);
  batch->words = memfd_create("penumbra-stderr", MFD_CLOEXEC);
  if (batch->progress && batch->words >= 0)
    return CHILD_OK;
  cli_error("cannot share memory with a process: %s", strerror(errno));
  return CHILD_FAILED;
}

static void
batch_done(struct batch *batch)
{
  if (batch->words >= 0)
    close(batch->words);
  child_unshare(batch->progress, sizeof *batch->progress);
}

enum child_status
child_run(struct child_job *jobs, size_t count,
          const struct child_options *options)
{
  struct batch batch = {.jobs = jobs, .count = count, .options = options};
  enum child_status status = batch_share(&batch);

  while (status == CHILD_OK && batch.next < count)
    status = child_spawn(&batch);
  batch_done(&batch);
  return status;
}

/* ---- services -------------------------------------------------------- */

/* A batch of one job, which is done again and again: parent and child look at
 * the same operations, and a request is their number. */
struct child_service {
  struct batch batch;
  struct child_options options;
  struct child_job job;
  struct stream stream; /* the job's; ops are shared */
  size_t ops_max;
  pid_t pid;  /* 0: there is no child */
  int socket; /* to the child */
};

static _Noreturn void
serve(struct child_service *service, int socket_end)
{
  struct watcher watcher = {
    .observer = {watch_operation, watch_event, watch_operation_end},
    .progress = service->batch.progress,
    .pipe_end = socket_end,
  };
  struct lab *lab = work_begin(&service->batch, &watcher);
  static struct record record;
  size_t count;

  while (recv(socket_end, &count, sizeof count, MSG_WAITALL) ==
         (ssize_t)sizeof count) {
    service->stream.count = count;
    memset(&record, 0, sizeof record);
    job_run(&service->batch, lab, &watcher, &service->job, &record);
    record_write(socket_end, &record);
  }
  _exit(0);
}

static enum child_status
service_start(struct child_service *service)
{
  int ends[2];
  pid_t pid;

  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
    cli_error("cannot start a process: %s", strerror(errno));
    return CHILD_FAILED;
  }
  pid = child_fork();
  if (pid == 0) {
    close(ends[0]);
    serve(service, ends[1]);
  }
  close(ends[1]);
  if (pid < 0) {
    cli_error("cannot start a process: %s", strerror(errno));
    close(ends[0]);
    return CHILD_FAILED;
  }
  service->pid = pid;
  service->socket = ends[0];
  return CHILD_OK;
}

/* Without its socket the child ends, if it has not ended before. Returns
 * waitpid()'s status. */
static int
service_stop(struct child_service *service)
{
  int status;

  if (service->pid == 0)
    return 0;
  close(service->socket);
  status = child_wait(service->pid);
  service->pid = 0;
  return status;
}

struct child_service *
child_service_new(const struct report_run *run, uint64_t timeout)
{
  struct child_service *service = calloc(1, sizeof *service);

  if (!service) {
    cli_error("no memory");
    return NULL;
  }
  service->options.timeout = timeout;
  service->ops_max = run->stream->count;
  service->stream.ops =
      child_share((service->ops_max + 1) * sizeof *service->stream.ops);
  service->job.run = *run;
  service->job.run.stream = &service->stream;
  service->batch = (struct batch){.jobs = &service->job,
                                  .count = 1,
                                  .options = &service->options,
                                  .words = -1};
  if (service->stream.ops && batch_share(&service->batch) == CHILD_OK)
    return service;
  if (!service->stream.ops)
    cli_error("cannot share memory with a process: %s", strerror(errno));
  child_service_free(service);
  return NULL;
}

void
child_service_free(struct child_service *service)
{
  if (!service)
    return;
  service_stop(service);
  batch_done(&service->batch);
  child_unshare(service->stream.ops,
                (service->ops_max + 1) * sizeof *service->stream.ops);
  free(service);
}

enum child_status
child_ask(struct child_service *service, const struct stream *stream,
          struct report_verdict *ret_verdict)
{
  struct batch *batch = &service->batch;
  static struct record record;
  enum child_status status = CHILD_OK;

  /* What it said of other streams is no reason for how it dies of this one. */
  if (ftruncate(batch->words, 0) != 0 || lseek(batch->words, 0, SEEK_SET)) {
    cli_error("cannot share memory with a process: %s", strerror(errno));
    return CHILD_FAILED;
  }
  *batch->progress = (struct child_progress){.phase = SUBJECT_PHASE_PAUSE};
  if (service->pid == 0)
    status = service_start(service);
  if (status != CHILD_OK)
    return status;
  memcpy(service->stream.ops, stream->ops, stream->count * sizeof *stream->ops);
  service->stream.count = stream->count;
  /* If it does not get through the child is dead, and so is found below. */
  send(service->socket, &stream->count, sizeof stream->count, MSG_NOSIGNAL);
  if (record_read(service->socket, &record)) {
    if (record.type != RECORD_VERDICT)
      return fail(&record);
    *ret_verdict = record.verdict;
    return CHILD_OK;
  }
  batch->next = 0;
  status = child_bury(batch, service_stop(service));
  if (status == CHILD_OK)
    *ret_verdict = service->job.verdict;
  return status;
}

/* ---- histories ------------------------------------------------------- */

/* In the child: what it collects lies in memory shared with the parent. */
static struct lab_observer *
observe_history(void *user, const struct lab *lab)
{
  static struct report_historian historian;

  report_historian_init(&historian, user, lab);
  return &historian.observer;
}

enum child_status
child_history(const struct child_job *job, uint64_t timeout,
              struct report_history *ret_history)
{
  struct report_history *shared = child_share(sizeof *shared);
  struct child_job again = *job;
  const struct child_options options = {
    .timeout = timeout,
    .observe = observe_history,
    .user = shared,
  };
  enum child_status status;

  if (!shared) {
    cli_error("cannot share memory with a process: %s", strerror(errno));
    return CHILD_FAILED;
  }
  report_history_start(shared, &job->verdict.finding);
  status = child_run(&again, 1, &options);
  if (status == CHILD_OK)
    *ret_history = *shared;
  child_unshare(shared, sizeof *shared);
  return status;
}
