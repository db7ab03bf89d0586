/* SPDX-License-Identifier: MIT
 *
 * Runs in processes of their own, so that a subject that crashes is a verdict
 * and not our end. One child works through many jobs and is replaced when it
 * dies; a job that kills its child is judged by how it died (autopsy.h).
 * Children die with their parent, whatever ends it.
 */
#ifndef PENUMBRA_CLI_CHILD_H
#define PENUMBRA_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lab/lab.h"
#include "report/report.h"

struct child_job {
  struct report_run run;
  struct report_verdict verdict; /* filled in when it is done */
  struct oracle_stats stats;     /* the same; nothing if it crashed */
};

/* Where a run is: shared with the child, and read when it has died. */
struct child_progress {
  uint64_t op_index;
  uint64_t ops_run;
  uint64_t micro_steps;
  uint8_t phase;    /* enum subject_phase */
  bool has_begun;   /* an operation has */
  bool is_inside;   /* of operation op_index */
  bool is_closing;
  bool close_is_asked; /* by a finalizer */
};

struct child_options {
  uint64_t timeout; /* seconds of processor time a job; 0: no limit */
  /* In the child, before its first run: an observer, or NULL. May be NULL. */
  struct lab_observer *(*observe)(void *user, const struct lab *lab);
  /* In the parent, after each job, in their order. May be NULL. */
  void (*done)(void *user, struct child_job *job);
  void *user;
  bool writes_output; /* the observer writes to standard output */
};

enum child_status {
  CHILD_OK,
  CHILD_FAILED /* the environment: an error was printed */
};

enum child_status child_run(struct child_job *jobs, size_t count,
                            const struct child_options *options);

/* Repeats job in a child that collects its history. CHILD_OK: *ret_history is
 * filled in (with what was seen before the crash, if it crashes). */
enum child_status child_history(const struct child_job *job, uint64_t timeout,
                                struct report_history *ret_history);

/* A child that is asked for one verdict after another, for whoever makes the
 * next stream of the last answer. It is replaced when it dies. */
struct child_service;

/* The stream of run says how long those that are asked about can be; the other
 * pointers of run borrow until the end of the service. NULL after an error. */
struct child_service *child_service_new(const struct report_run *run,
                                        uint64_t timeout);
void child_service_free(struct child_service *service);
/* The verdict on stream is in *ret_verdict if CHILD_OK. */
enum child_status child_ask(struct child_service *service,
                            const struct stream *stream,
                            struct report_verdict *ret_verdict);

/* fork(), with standard output and error flushed first, and the child set to
 * die with its parent and to leave no core file. */
pid_t child_fork(void);
/* waitpid() that goes on when it was interrupted. */
int child_wait(pid_t pid);
/* size bytes shared with children, zeroed; NULL with errno. */
void *child_share(size_t size);
void child_unshare(void *memory, size_t size);

#endif
