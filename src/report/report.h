/* SPDX-License-Identifier: MIT
 *
 * What is told of a run: a verdict as one line, as an explanation for people,
 * as one JSON object for machines; a trace; the history of the objects in a
 * finding; the summary of a fuzzing session. It reads what the lab and the
 * oracle show, writes to the stream it is given, and runs nothing. The command
 * and the fuzz targets call it.
 *
 * Nothing here prints an address, a time or anything else that differs between
 * two runs of the same input.
 */
#ifndef PENUMBRA_REPORT_REPORT_H
#define PENUMBRA_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lab/lab.h"
#include "oracle/oracle.h"
#include "ops/ops.h"
#include "subject.h"

/* One run, as it is told. All pointers borrow until the report is written. */
struct report_run {
  const char *file; /* as the user named it; "-" is standard input */
  const struct subject *subject;
  const char *fault; /* NULL: none */
  const struct stream *stream;
  bool is_text; /* only --text says so: a replay needs it, too */
};

/* What came of it. Plain data, fit for a pipe. */
struct report_verdict {
  struct lab_result result;
  struct oracle_finding finding;
};

/* The sentence that a verdict comes with; NULL when it is clean. Borrows
 * verdict. */
const char *report_message(const struct report_verdict *verdict);

/* ---- the history of a finding ---------------------------------------- */

enum { REPORT_HISTORY_MAX = 24, REPORT_EVENT_MAX = 200 };
/* Before the first operation and after the last one. */
#define REPORT_OPENING UINT64_MAX
#define REPORT_CLOSING (UINT64_MAX - 1)

struct report_history_line {
  uint64_t op_index;   /* or REPORT_OPENING, REPORT_CLOSING */
  uint64_t micro_step; /* micro-steps ended before */
  char text[REPORT_EVENT_MAX];
};

/* The births of the objects that a finding names, and the last events that
 * concern them; where it names none, the last events. Plain data, so that it
 * can lie in memory shared with a child that crashes. */
struct report_history {
  uint32_t numbers[ORACLE_OBJECTS_MAX]; /* birth numbers to look for */
  uint32_t number_count;
  uint32_t birth_count;
  bool with_lists;      /* the collector's lists matter, too */
  uint64_t event_count; /* all that came; the ring holds the last of them */
  uint32_t birth_numbers[ORACLE_OBJECTS_MAX];
  struct report_history_line births[ORACLE_OBJECTS_MAX];
  struct report_history_line events[REPORT_HISTORY_MAX]; /* a ring */
};

/* Collects a history while a run is repeated. */
struct report_historian {
  struct lab_observer observer; /* first: the lab knows only this */
  struct report_history *history;
  const struct lab *lab;
  uint64_t op_index;
  uint64_t micro_step;
  bool is_inside; /* of operation op_index */
  uint64_t allocated; /* a block that has no number yet; 0: none */
  uint64_t allocated_size;
};

/* Empties history, to look for what finding names. */
void report_history_start(struct report_history *history,
                          const struct oracle_finding *finding);
/* history and lab must outlive the run. */
void report_historian_init(struct report_historian *historian,
                           struct report_history *history,
                           const struct lab *lab);

/* An event in words ("table #7 becomes grey"), NUL-terminated, into
 * REPORT_EVENT_MAX bytes; false if there is nothing to say about it. */
bool report_event_print(const struct oracle *oracle,
                        const struct subject_event *event, char *ret_text);

/* ---- for people ------------------------------------------------------ */

/* Whether stream is a terminal whose user has not asked for plain text. */
bool report_wants_colour(FILE *stream);

/* One line: the verdict, counts, file. with_subject: name it, too. */
void report_line(FILE *stream, const struct report_run *run,
                 const struct report_verdict *verdict, bool with_subject,
                 bool with_colour);
/* The verdict in full. history may be NULL. */
void report_explain(FILE *stream, const struct report_run *run,
                    const struct report_verdict *verdict,
                    const struct report_history *history, bool with_colour);
/* "penumbra COMMAND -s lua54 --fault x 'a file'" without a newline: a line
 * for a shell. */
void report_command(FILE *stream, const char *command,
                    const struct report_run *run);
/* A file name with its control characters escaped. */
void report_name(FILE *stream, const char *name);

/* ---- for machines ---------------------------------------------------- */

/* One object on one line; false, and nothing is written, on no memory. */
bool report_json(FILE *stream, const struct report_run *run,
                 const struct report_verdict *verdict);

/* ---- what was seen --------------------------------------------------- */

/* The tally of runs on subject: each cell and its count. As JSON one object a
 * cell; false on no memory. */
void report_stats(FILE *stream, const struct subject *subject,
                  const struct oracle_stats *stats);
bool report_stats_json(FILE *stream, const struct subject *subject,
                       const struct oracle_stats *stats);

/* ---- traces ---------------------------------------------------------- */

struct report_trace_options {
  bool is_json;
  bool with_colour;
  bool is_verbose; /* blocks, stores, lists, barriers that did nothing, too */
};

/* Tells a run while it happens. */
struct report_tracer {
  struct lab_observer observer; /* first: the lab knows only this */
  struct report_trace_options options;
  FILE *stream;
  const struct lab *lab;
  uint64_t micro_step;
  uint8_t phase;
  bool tells_phases; /* the subject does */
  bool has_begun; /* an operation has */
  bool is_inside; /* of an operation */
};

/* stream and lab must outlive the run. */
void report_tracer_init(struct report_tracer *tracer, FILE *stream,
                        const struct lab *lab,
                        const struct report_trace_options *options);
/* The first line of a trace, and, in JSON, its last one; false on no memory. */
bool report_trace_begin(FILE *stream, const struct report_run *run,
                        const struct report_trace_options *options);
bool report_trace_json_end(FILE *stream, const struct report_run *run,
                           const struct report_verdict *verdict);

#endif
