/* SPDX-License-Identifier: MIT
 *
 * What a fuzzing session counts, and its summary for people. A fuzz target
 * keeps its counters in a file that both it and the command map, so that they
 * survive the target, however it ends. The target writes, the command reads;
 * a counter that is read while it is written is only a little late.
 *
 * The input that is being run lies in the file, too: should the target be
 * killed before it can write an artefact, the input is not lost.
 */
#ifndef PENUMBRA_REPORT_SUMMARY_H
#define PENUMBRA_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "oracle/oracle.h"

enum {
  SUMMARY_OPS_MAX = 4096, /* operations in an input that a target runs */
  SUMMARY_INPUT_MAX = 4 * SUMMARY_OPS_MAX
};

#define SUMMARY_MAGIC UINT64_C(0x31736d7265706e75)

struct summary {
  uint64_t magic; /* SUMMARY_MAGIC once the target has begun */
  uint64_t executions;
  uint64_t operations; /* not skipped */
  uint64_t skipped;
  uint64_t micro_steps;
  uint64_t clean, broken, unchecked;
  uint64_t known; /* of the broken ones: known findings */
  struct oracle_stats oracle;
  uint64_t input_size; /* bytes of input; 0 between two inputs */
  uint8_t input[SUMMARY_INPUT_MAX];
};

/* Adds the counters of part to sum. */
void summary_add(struct summary *sum, const struct summary *part);

/* seconds are those that have passed. */
void summary_print(FILE *stream, const struct summary *sum, double seconds);
/* The same in a few words, for a line of progress; no newline. */
void summary_print_progress(FILE *stream, const struct summary *sum,
                            double seconds);

#endif
