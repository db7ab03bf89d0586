/* SPDX-License-Identifier: MIT
 *
 * The processes that fuzz. There are two engines: libFuzzer, in the target
 * that was built for the subject, and the generator of operations, in children
 * of our own, for builds without libFuzzer. Either keeps its counters and the
 * input that it runs in memory that it shares with us, and dies with us.
 */
#ifndef PENUMBRA_CLI_FUZZER_H
#define PENUMBRA_CLI_FUZZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/summary.h"
#include "subject.h"

enum fuzzer_engine { FUZZER_LIBFUZZER, FUZZER_GENERATOR };

/* What all workers of a session share. All pointers borrow. */
struct fuzzer {
  enum fuzzer_engine engine;
  const struct subject *subject;
  const char *fault;   /* NULL: none */
  const char *target;  /* libFuzzer: the program */
  const char *dict;    /* libFuzzer: NULL: none */
  const char *known;   /* a folder of known findings; NULL: none */
  const char *left_out; /* libFuzzer: the file of known inputs; NULL: none */
  const char *seeds;   /* a folder to read; NULL: none */
  const char *corpus;  /* libFuzzer: a folder to read and to write */
  const char *session; /* a folder for what workers leave */
  uint64_t seconds;    /* 0: no limit */
  uint64_t seed;
};

struct fuzzer_worker {
  pid_t pid;
  struct summary *summary; /* shared; owns the mapping */
  char *stats;             /* the file behind it; own their names */
  char *artefact;
  char *log;
  bool has_ended;
  int status; /* waitpid()'s, once it has ended */
};

/* The target of a subject, its dictionary, its seeds: the first of the places
 * where they can be (the build tree, then the installation). A subject without
 * a dictionary or seeds of its own has those of lua54. Owned by the caller;
 * NULL if there is none. */
char *fuzzer_find_target(const char *subject);
char *fuzzer_find_dict(const char *subject);
char *fuzzer_find_seeds(const char *subject);
/* The folder that --known names; given NULL, that of the corpus. Owned by the
 * caller; NULL after an error. */
char *fuzzer_known_folder(const char *given);

/* Starts worker number index. 0, or an errno. */
int fuzzer_start(const struct fuzzer *fuzzer, unsigned index,
                 struct fuzzer_worker *ret_worker);
/* Notices whether it has ended. */
void fuzzer_poll(struct fuzzer_worker *worker);
/* Asks it to end, or, with force, ends it. */
void fuzzer_stop(struct fuzzer_worker *worker, bool with_force);
/* Frees what it owns; removes its counters, and its log unless that is to be
 * kept. It must have ended, or never have been started. */
void fuzzer_done(struct fuzzer_worker *worker, bool keep_log);

#endif
