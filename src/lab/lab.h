/* SPDX-License-Identifier: MIT
 *
 * One stream, one subject, one oracle. The lab owns the arena and the oracle
 * and hands the arena to the subject; events go from arena and subject through
 * the lab to the oracle and to an observer. It performs the operations that
 * steer the collector by micro-steps (microstep, runto, finish), the arena's
 * (failalloc, outofmem, heaplimit), setup and close; all others go to the
 * subject. When a finalizer asks that the state be closed, the stream ends
 * with the operation in which it was called.
 *
 * All state lives and dies inside one stream: the same stream gives the same
 * result and the same trace hash. A finding made inside an operation leaves
 * it by longjmp: all memory of the subject is the arena's, so nothing leaks.
 */
#ifndef PENUMBRA_LAB_LAB_H
#define PENUMBRA_LAB_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/ops.h"
#include "oracle/oracle.h"
#include "subject.h"

struct lab;

enum lab_verdict { LAB_CLEAN, LAB_BROKEN, LAB_UNCHECKED };

/* Watches a run. Each function may be NULL. Calls come in the order of what
 * happens; an observer only looks. */
struct lab_observer {
  void (*operation)(struct lab_observer *, size_t index, struct op op,
                    bool skipped);
  /* also those of open() (before operation 0) and close */
  void (*event)(struct lab_observer *, const struct subject_event *event);
  void (*operation_end)(struct lab_observer *, size_t index, struct op op,
                        enum subject_status status);
};

/* Leads a run: it may leave operations of the stream out and put others in. Not
 * for runs without checks. */
struct lab_guide {
  /* Whether an operation that the oracle admits is to be performed. */
  bool (*admits)(struct lab_guide *, size_t index, struct op op);
  /* An operation was performed and the heap judged. answer means something
   * where the operation is OP_OPEN. */
  void (*ended)(struct lab_guide *, size_t index, struct op op,
                enum subject_status status,
                const struct subject_answer *answer);
  /* Asked after each operation, whether performed or left out, until it is
   * false: what is to be performed next, if the oracle admits it. It belongs
   * to the operation: also when that has asked that the state be closed. */
  bool (*follows)(struct lab_guide *, size_t index, struct op *ret_op);
  /* All that belongs to the operation has been performed. */
  void (*settled)(struct lab_guide *, size_t index, struct op op);
};

struct lab_options {
  const char *fault; /* NULL: none */
  struct lab_observer *observer;
  struct lab_guide *guide; /* NULL: none */
  bool sparse; /* judged sparsely from the start: see lab.c */
  bool unchecked; /* no survey and no events judged; for benchmarks */
};

enum { LAB_SIGNATURE_MAX = 160, LAB_REASON_MAX = 240 };

struct lab_result {
  enum lab_verdict verdict;
  enum law law;                      /* LAW_NONE unless broken */
  char reason[LAB_REASON_MAX];       /* unchecked: why */
  char signature[LAB_SIGNATURE_MAX]; /* "law|kinds|phase|operation" */
  size_t op_index;     /* broken: the operation; else how many came */
  bool close_was_asked; /* by a finalizer in the last operation that came */
  uint64_t micro_step; /* broken: micro-steps ended before; from 0 */
  uint64_t ops_run, ops_skipped, micro_steps, checks;
  uint64_t trace_hash; /* of operations, statuses and events */
};

/* NULL if the arena's addresses are taken or on no memory: errno says. */
struct lab *lab_new(void);
void lab_free(struct lab *lab);
void lab_run(struct lab *lab, const struct subject *subject,
             const struct stream *stream, const struct lab_options *options,
             struct lab_result *ret_result);
/* Of the last run; valid until the next. law is LAW_NONE if there is none. */
const struct oracle_finding *lab_finding(const struct lab *lab);
const struct oracle *lab_oracle(const struct lab *lab);
/* While a run goes on, for its guide: the phase of the collector (pause while
 * the subject opens and closes), and whether a micro-step is a whole
 * collection. */
enum subject_phase lab_phase(const struct lab *lab);
bool lab_steps_are_whole(const struct lab *lab);
/* Sums over all runs of this lab. */
const struct oracle_stats *lab_statistics(const struct lab *lab);

/* The operations of stream that are not skipped, as a new stream: for
 * benchmarks and shrinking. */
enum stream_status lab_resolve(struct lab *lab, const struct subject *subject,
                               const struct stream *stream,
                               struct stream *ret_stream);

/* Words for people and for JSON. */
const char *lab_verdict_text(enum lab_verdict verdict);

#endif
