/* SPDX-License-Identifier: MIT
 *
 * The fuzz targets; see target.h. All state lives and dies inside one input,
 * but for the lab's memory and the counters.
 */
#include "fuzz/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab/lab.h"
#include "ops/ops.h"
#include "report/known.h"
#include "report/summary.h"
#include "subject.h"

enum { COULD_NOT_CHECK = 3 };

static const struct subject *subject;
static const char *fault; /* borrows; NULL: none */
static const char *known_folder; /* borrows; NULL: none */
static struct known known;
static const char *left_out_file; /* borrows; NULL: none */
static struct known_inputs left_out;
static bool runs_twice;
static struct lab *lab;
static struct summary own_summary;
static struct summary *summary = &own_summary;

/* ---- setting up ------------------------------------------------------ */

static _Noreturn void
give_up(const char *what, const char *why)
{
  fprintf(stderr, "penumbra: %s: %s\n", what, why);
  exit(COULD_NOT_CHECK);
}

static void
map_summary(const char *path)
{
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  void *memory = MAP_FAILED;

  if (file >= 0 && ftruncate(file, sizeof *summary) == 0)
    memory = mmap(NULL, sizeof *summary, PROT_READ | PROT_WRITE, MAP_SHARED,
                  file, 0);
  if (memory == MAP_FAILED)
    give_up(path, strerror(errno));
  close(file);
  summary = memory;
  memset(summary, 0, sizeof *summary);
}

static bool
has_fault(const char *name)
{
  for (size_t i = 0; subject->faults && subject->faults[i]; i++)
    if (strcmp(subject->faults[i], name) == 0)
      return true;
  return false;
}

/* What follows the option in argument; NULL if it is another one. */
static const char *
option_value(const char *argument, const char *option)
{
  size_t length = strlen(option);

  return strncmp(argument, option, length) == 0 ? argument + length : NULL;
}

/* The subject that a program of many names is called by: what follows "fuzz_"
 * in the last part of its path. */
static const char *
name_in_path(const char *path)
{
  const char *slash = strrchr(path, '/');
  const char *name = option_value(slash ? slash + 1 : path, "fuzz_");

  return name ? name : "";
}

static bool
take_option(const char *argument)
{
  const char *value;

  if ((value = option_value(argument, "--subject="))) {
    subject = subject_find(value);
    if (!subject)
      give_up(value, "no such subject");
  } else if ((value = option_value(argument, "--fault="))) {
    fault = value;
  } else if ((value = option_value(argument, "--stats="))) {
    map_summary(value);
  } else if ((value = option_value(argument, "--known="))) {
    known_folder = value;
  } else if ((value = option_value(argument, "--leave-out="))) {
    left_out_file = value;
  } else {
    return false;
  }
  return true;
}

/* libFuzzer leaves our options alone, and gives them to processes that it
 * starts itself; another main function need not see them. */
static void
take_options(int *argc, char **argv)
{
  int kept = 1;

  for (int i = 1; i < *argc; i++) {
    bool is_ours = take_option(argv[i]);

#ifdef PENUMBRA_LIBFUZZER
    is_ours = false;
#endif
    if (!is_ours)
      argv[kept++] = argv[i];
  }
  *argc = kept;
  argv[kept] = NULL;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
  const char *twice = getenv("PENUMBRA_TWICE");
  const char *name = target_subject ? target_subject : name_in_path(**argv);

  fault = target_fault;
  subject = subject_find(name);
  take_options(argc, *argv);
  if (!subject)
    give_up(name, "no such subject in this build");
  if (fault && !has_fault(fault))
    give_up(fault, "no such fault in this build");
  if (known_folder && !known_read(known_folder, subject->name, &known))
    give_up(known_folder, strerror(errno));
  if (left_out_file && !known_inputs_read(left_out_file, &left_out))
    give_up(left_out_file, strerror(errno));
  runs_twice = twice && strcmp(twice, "1") == 0;
  lab = lab_new();
  if (!lab)
    give_up("cannot set up the memory for a run", strerror(errno));
  summary->magic = SUMMARY_MAGIC;
  return 0;
}

/* ---- one input ------------------------------------------------------- */

/* Streams that ask for a large heap take seconds: they are for `run'. */
static bool
is_large(const struct stream *stream)
{
  return stream->count > SUMMARY_OPS_MAX ||
         (stream->count > 0 && stream->ops[0].code == OP_SETUP &&
          stream->ops[0].b == OP_SCALE_LARGE);
}

static void
count(const struct lab_result *result)
{
  summary->executions++;
  summary->operations += result->ops_run;
  summary->skipped += result->ops_skipped;
  summary->micro_steps += result->micro_steps;
  summary->clean += result->verdict == LAB_CLEAN;
  summary->broken += result->verdict == LAB_BROKEN;
  summary->unchecked += result->verdict == LAB_UNCHECKED;
  summary->oracle = *lab_statistics(lab);
}

static void
run(const struct stream *stream, struct lab_result *ret_result)
{
  const struct lab_options options = {.fault = fault};

  lab_run(lab, subject, stream, &options, ret_result);
  count(ret_result);
}

/* Leaves the input in the summary: whoever reads it knows what it was. */
static _Noreturn void
die(const struct lab_result *result)
{
  const struct oracle_finding *finding = lab_finding(lab);

  fprintf(stderr,
          "penumbra: %s: %s\n"
          "penumbra: operation %zu, micro-step %" PRIu64 ", signature %s\n",
          law_infos[finding->law].id, finding->message, result->op_index,
          result->micro_step, result->signature);
  abort();
}

static void
run_again(const struct stream *stream, const struct lab_result *first)
{
  struct lab_result second;

  run(stream, &second);
  if (second.trace_hash == first->trace_hash &&
      second.verdict == first->verdict)
    return;
  fprintf(stderr,
          "penumbra: two runs of one input differ: %s and %s, trace %016" PRIx64
          " and %016" PRIx64 "\n",
          lab_verdict_text(first->verdict), lab_verdict_text(second.verdict),
          first->trace_hash, second.trace_hash);
  abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct lab_result result;
  struct stream stream;

  if (size > SUMMARY_INPUT_MAX || known_inputs_has(&left_out, data, size) ||
      stream_decode(data, size, &stream) != STREAM_OK)
    return 0;
  if (!is_large(&stream)) {
    if (size > 0)
      memcpy(summary->input, data, size);
    summary->input_size = size;
    run(&stream, &result);
    if (result.verdict == LAB_BROKEN) {
      if (!known_meet(&known, result.signature))
        die(&result);
      summary->known++;
    }
    if (runs_twice)
      run_again(&stream, &result);
    summary->input_size = 0;
  }
  stream_done(&stream);
  return 0;
}
