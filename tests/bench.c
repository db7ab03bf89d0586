/* SPDX-License-Identifier: MIT
 *
 * `make bench`: how many steps a second are checked, beside the same streams
 * unchecked. A step is a point at which the whole heap is surveyed and judged:
 * the end of an operation or of a micro-step. Timings are benchmarks and judge
 * nothing; they are CPU time, so that a busy machine counts less.
 *
 * The load: generated streams behind a prologue that makes the heap one of
 * about 100 objects, the subject's own counted; skipped operations are taken
 * out beforehand, so that the unchecked run performs exactly the same ones.
 * Streams that show a finding are passed over: real collectors have some.
 *
 * bench [SUBJECT...]: all that this build has without one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab/lab.h"
#include "ops/op_gen.h"
#include "subjects/subjects.h"

enum { STREAMS = 40, OPS = 400, ROUNDS = 5 };
enum { OBJECTS = 100, GLOBALS = 6, OBJECTS_PER_GLOBAL = 15 };

/* Operations that build a live heap: tables in tables, closures, coroutines,
 * userdata and strings, held by so many globals. */
static size_t
prologue(int32_t globals, struct op *ops)
{
  size_t n = 0;
  ops[n++] = (struct op){.code = OP_STOP};
  for (int32_t i = 0; i < globals; i++) {
    ops[n++] = (struct op){OP_WIDE, 0, 5, 0};
    ops[n++] = (struct op){OP_STR, 1, i, 0};
    ops[n++] = (struct op){OP_SETS, 0, i, 1};
    ops[n++] = (struct op){OP_CLOSURE, 2, 0, 2};
    ops[n++] = (struct op){OP_NEWUD, 3, 16, 1};
    ops[n++] = (struct op){OP_SETUV, 3, 0, 2};
    ops[n++] = (struct op){OP_SETI, 0, 7, 3};
    ops[n++] = (struct op){OP_SETGLOBAL, i, 0, 0};
  }
  ops[n++] = (struct op){.code = OP_RESTART};
  return n;
}

static bool
keeps_the_heap_small(uint8_t code)
{
  return code != OP_CHAIN && code != OP_WIDE && code != OP_CHURN &&
         code != OP_CLOSE && code != OP_FAILALLOC && code != OP_HEAPLIMIT;
}

static void
make_stream(const struct subject *subject, int32_t globals, uint64_t seed,
            struct lab *lab, struct stream *ret_stream)
{
  struct stream generated, whole = {.count = 0};
  if (stream_generate(seed, OPS, &generated) != STREAM_OK)
    exit(3);
  whole.ops = malloc((OPS + 128) * sizeof *whole.ops);
  if (!whole.ops)
    exit(3);
  whole.count = prologue(globals, whole.ops);
  for (size_t i = 0; i < generated.count; i++)
    if (keeps_the_heap_small(generated.ops[i].code))
      whole.ops[whole.count++] = generated.ops[i];
  if (lab_resolve(lab, subject, &whole, ret_stream) != STREAM_OK)
    exit(3);
  stream_done(&generated);
  stream_done(&whole);
}

static double
seconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct total {
  double seconds;
  uint64_t operations, micro_steps, checks;
};

static struct total
run_all(struct lab *lab, const struct subject *subject,
        const struct stream *streams, bool unchecked)
{
  struct total total = {.seconds = 0};
  struct lab_options options = {.unchecked = unchecked};
  double start = seconds();
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < STREAMS; i++) {
      struct lab_result result;
      lab_run(lab, subject, &streams[i], &options, &result);
      total.operations += result.ops_run;
      total.micro_steps += result.micro_steps;
      total.checks += result.checks;
    }
  total.seconds = seconds() - start;
  return total;
}

static bool
is_clean(struct lab *lab, const struct subject *subject,
         const struct stream *stream)
{
  struct lab_options options = {.unchecked = false};
  struct lab_result result;
  lab_run(lab, subject, stream, &options, &result);
  return result.verdict == LAB_CLEAN;
}

/* How many globals of the prologue make about 100 objects, beside those that
 * the subject has from the start. */
static int32_t
globals_for(struct lab *lab, const struct subject *subject)
{
  struct stream empty = {.count = 0};
  struct oracle_stats before = *lab_statistics(lab);
  (void)is_clean(lab, subject, &empty);
  const struct oracle_stats *after = lab_statistics(lab);
  uint64_t checks = after->checks - before.checks;
  uint64_t objects = checks ? (after->objects - before.objects) / checks : 0;
  for (int32_t globals = 1; globals < GLOBALS; globals++)
    if (objects + (uint64_t)globals * OBJECTS_PER_GLOBAL >= OBJECTS)
      return globals;
  return GLOBALS;
}

/* Returns how many streams were passed over. */
static uint64_t
make_streams(struct lab *lab, const struct subject *subject,
             struct stream *ret_streams)
{
  uint64_t seed = 0;
  int32_t globals = globals_for(lab, subject);
  for (int i = 0; i < STREAMS; i++)
    for (;;) {
      make_stream(subject, globals, ++seed, lab, &ret_streams[i]);
      if (is_clean(lab, subject, &ret_streams[i]))
        break;
      stream_done(&ret_streams[i]);
    }
  return seed - STREAMS;
}

static void
bench(struct lab *lab, const struct subject *subject)
{
  struct stream streams[STREAMS];
  uint64_t passed_over = make_streams(lab, subject, streams);
  struct oracle_stats before = *lab_statistics(lab);
  struct total checked = run_all(lab, subject, streams, false);
  const struct oracle_stats *after = lab_statistics(lab);
  struct total unchecked = run_all(lab, subject, streams, true);
  double objects = (double)(after->objects - before.objects) /
                   (double)(after->checks - before.checks);
  double edges = (double)(after->edges - before.edges) /
                 (double)(after->checks - before.checks);
  printf("%s: %.0f checked steps/s (%.0f objects, %.0f edges a survey; %.0f "
         "operations/s)\n",
         subject->name, (double)checked.checks / checked.seconds, objects,
         edges, (double)checked.operations / checked.seconds);
  printf("  unchecked %.0f operations/s, the same streams; checking costs %.1f "
         "times the run; %llu streams passed over\n",
         (double)unchecked.operations / unchecked.seconds,
         checked.seconds / unchecked.seconds, (unsigned long long)passed_over);
  for (int i = 0; i < STREAMS; i++)
    stream_done(&streams[i]);
}

int
main(int argc, char **argv)
{
  struct lab *lab = lab_new();
  if (!lab) {
    perror("bench: the arena cannot be mapped");
    return 3;
  }
  for (int i = 1; i < argc; i++) {
    const struct subject *subject = subject_find(argv[i]);
    if (!subject) {
      fprintf(stderr, "bench: there is no subject %s\n", argv[i]);
      return 2;
    }
    bench(lab, subject);
  }
  if (argc == 1)
    for (size_t i = 0; subject_all[i]; i++)
      bench(lab, subject_all[i]);
  lab_free(lab);
  return 0;
}
