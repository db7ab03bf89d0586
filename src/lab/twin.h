/* SPDX-License-Identifier: MIT
 *
 * The twin test: one stream on two subjects, held against each other at the
 * end of every operation. It owns what the runs left; it borrows the lab.
 *
 * How. The arena has one address, so two instances cannot live at once. The
 * first subject runs the whole stream and leaves a record of each operation:
 * some sums, a few words. The second one then runs, and each of its operations
 * is held against the record at once. To take turns by copies of the arena
 * would cost a copy of the heap for each operation, and a real collector's
 * state is not in the arena alone. What the first one cannot know (the second
 * one does not have an operation, or its oracle does not admit it) is left out
 * of the stream and both run again. When they differ, both run again, look at
 * that operation only and say what it was.
 *
 * What is held against each other:
 *   after every operation  its status and answers, the calls of finalizers in
 *                          their order, which nodes are reachable and what they
 *                          hold by the survey; not yet the entries of weak
 *                          tables that a collection may take away
 *   at rest (phase pause,  which objects live, their colours and ages; but for
 *   or between collections those that became unreachable during a mark
 *   by age)
 *   after a collection     all entries of weak tables, if there are none such
 *   after runto, finish    the phase
 *   at the end             the calls of finalizers while the state closes
 *
 * Names. Both shadows number nodes and strings in the order of the operations
 * and of the finalizers' calls, which are compared; so equal numbers name the
 * same, and sums over numbers are canonical.
 *
 * The rules for what may differ are rows of twin.def. Each operation is left
 * out, or the second subject led, by what both shadows say before it; nothing
 * is excused afterwards but what became unreachable during a mark, which is
 * known by both shadows, too. A law that is broken in either run is no
 * difference but a finding of its own; what is compared is looked at between
 * operations, so the laws are judged sparsely (lab.c).
 */
#ifndef PENUMBRA_LAB_TWIN_H
#define PENUMBRA_LAB_TWIN_H

#include <stddef.h>
#include <stdint.h>

#include "lab/lab.h"

enum twin_difference {
#define DIFFERENCE(NAME, name, between, effect, why) TWIN_##NAME,
#include "lab/twin.def"
#undef DIFFERENCE
  TWIN_DIFFERENCES
};

enum twin_effect {
  TWIN_LEFT_OUT,
  TWIN_LED,
  TWIN_UNCOMPARED,
  TWIN_ENDS
};

struct twin_difference_info {
  const char *name;
  const char *why;
  enum twin_effect effect;
};

extern const struct twin_difference_info twin_differences[TWIN_DIFFERENCES];
const char *twin_effect_text(enum twin_effect effect);
/* Whether a row is about these two. */
bool twin_concerns(enum twin_difference row, const struct subject *a,
                   const struct subject *b);

enum twin_verdict {
  TWIN_SAME,      /* as far as they were compared */
  TWIN_DIFFERENT, /* and no row says that they may */
  TWIN_BROKEN,    /* one of them breaks a law by itself */
  TWIN_UNCHECKED  /* one of them could not be run */
};

enum { TWIN_MESSAGE_MAX = 1024 };

struct twin_result {
  enum twin_verdict verdict;
  size_t op_index;    /* DIFFERENT: where; else how many were compared, counted
                       * from the start of the stream */
  const char *aspect; /* DIFFERENT: what differs: a word */
  char message[TWIN_MESSAGE_MAX];
  uint64_t compared;  /* operations that both performed, and were compared */
  bool has_ended;     /* compared to op_index only ... */
  enum twin_difference end; /* ... for this reason */
  uint64_t rows[TWIN_DIFFERENCES]; /* how often each came into play */
  uint8_t who; /* which subject runs, or ran last: 0 or 1 ... */
  struct lab_result result; /* ... BROKEN, UNCHECKED: what became of it */
};

struct twin_pair {
  const struct subject *subject[2];
  const char *fault[2]; /* NULL: none */
};

struct twin;

/* The lab must outlive it and is used by nobody else meanwhile. NULL on no
 * memory. */
struct twin *twin_new(struct lab *lab);
void twin_free(struct twin *twin);
void twin_run(struct twin *twin, const struct twin_pair *pair,
              const struct stream *stream, struct twin_result *ret_result);

/* Words for people and for JSON. */
const char *twin_verdict_text(enum twin_verdict verdict);

#endif
