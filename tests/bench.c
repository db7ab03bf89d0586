/* SPDX-License-Identifier: MIT
 *
 * `make bench`: how many steps a second are checked, beside the same streams
 * unchecked. A step is a point at which the whole heap is surveyed and judged:
 * the end of an operation or of a micro-step. Timings are benchmarks and judge
 * nothing; they are CPU time, so that a busy machine counts less.
 *
 * The load: generated streams behind a prologue that builds a heap of about
 * 100 objects; skipped operations are taken out beforehand, so that the
 * unchecked run performs exactly the same ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab/lab.h"
#include "ops/op_gen.h"
#include "subjects/subjects.h"

enum { STREAMS = 40, OPS = 400, ROUNDS = 5 };

/* Operations that build a live heap: tables in tables, closures, coroutines,
 * userdata and strings, held by globals. */
static size_t
prologue(struct op *ops)
{
  size_t n = 0;
  ops[n++] = (struct op){.code = OP_STOP};
  for (int32_t i = 0; i < 6; i++) {
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
make_stream(uint64_t seed, struct lab *lab, struct stream *ret_stream)
{
  struct stream generated, whole = {.count = 0};
  if (stream_generate(seed, OPS, &generated) != STREAM_OK)
    exit(3);
  whole.ops = malloc((OPS + 128) * sizeof *whole.ops);
  if (!whole.ops)
    exit(3);
  whole.count = prologue(whole.ops);
  for (size_t i = 0; i < generated.count; i++)
    if (keeps_the_heap_small(generated.ops[i].code))
      whole.ops[whole.count++] = generated.ops[i];
  if (lab_resolve(lab, &subject_lua54, &whole, ret_stream) != STREAM_OK)
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
run_all(struct lab *lab, const struct stream *streams, bool unchecked)
{
  struct total total = {.seconds = 0};
  struct lab_options options = {.unchecked = unchecked};
  double start = seconds();
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < STREAMS; i++) {
      struct lab_result result;
      lab_run(lab, &subject_lua54, &streams[i], &options, &result);
      if (result.verdict != LAB_CLEAN) {
        fprintf(stderr, "bench: stream %d is not clean: %s %s\n", i,
                result.signature, lab_finding(lab)->message);
        exit(1);
      }
      total.operations += result.ops_run;
      total.micro_steps += result.micro_steps;
      total.checks += result.checks;
    }
  total.seconds = seconds() - start;
  return total;
}

int
main(void)
{
  struct stream streams[STREAMS];
  struct lab *lab = lab_new();
  if (!lab) {
    perror("bench: the arena cannot be mapped");
    return 3;
  }
  for (uint64_t i = 0; i < STREAMS; i++)
    make_stream(i + 1, lab, &streams[i]);
  struct oracle_stats before = *lab_statistics(lab);
  struct total checked = run_all(lab, streams, false);
  const struct oracle_stats *after = lab_statistics(lab);
  struct total unchecked = run_all(lab, streams, true);
  double objects = (double)(after->objects - before.objects) /
                   (double)(after->checks - before.checks);
  double edges = (double)(after->edges - before.edges) /
                 (double)(after->checks - before.checks);
  printf("full check: %.0f checked steps/s (%.0f objects, %.0f edges a "
         "survey; %.0f operations/s)\n",
         (double)checked.checks / checked.seconds, objects, edges,
         (double)checked.operations / checked.seconds);
  printf("unchecked:  %.0f operations/s, the same streams; checking costs "
         "%.1f times the run\n",
         (double)unchecked.operations / unchecked.seconds,
         checked.seconds / unchecked.seconds);
  for (int i = 0; i < STREAMS; i++)
    stream_done(&streams[i]);
  lab_free(lab);
  return 0;
}
