/* SPDX-License-Identifier: MIT
 *
 * Traces: an observer that tells each operation, event and micro-step when it
 * comes. Written line by line, so that a subject which crashes takes none of
 * what led there with it, if the stream is line-buffered.
 */
#include <inttypes.h>
#include <string.h>

#include "ops/op_text.h"
#include "report/json.h"
#include "report/report.h"

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static const char *const status_names[] = {
  [SUBJECT_DONE] = "done",
  [SUBJECT_NO_MEMORY] = "no memory",
  [SUBJECT_ERROR] = "error",
  [SUBJECT_UNSUPPORTED] = "unsupported",
};

static const char *const event_names[SUBJECT_EVENT_COUNT] = {
  [SUBJECT_EVENT_ALLOCATED] = "allocated",
  [SUBJECT_EVENT_FREED] = "freed",
  [SUBJECT_EVENT_BAD_FREE] = "bad-free",
  [SUBJECT_EVENT_REFUSED] = "refused",
  [SUBJECT_EVENT_EXHAUSTED] = "exhausted",
  [SUBJECT_EVENT_BIRTH] = "birth",
  [SUBJECT_EVENT_DEATH] = "death",
  [SUBJECT_EVENT_RECOLOURED] = "recoloured",
  [SUBJECT_EVENT_RELISTED] = "relisted",
  [SUBJECT_EVENT_GREYED] = "greyed",
  [SUBJECT_EVENT_STORE] = "store",
  [SUBJECT_EVENT_BARRIER] = "barrier",
  [SUBJECT_EVENT_PHASE] = "phase",
  [SUBJECT_EVENT_STEP_BEGIN] = "step-begin",
  [SUBJECT_EVENT_STEP_END] = "step-end",
  [SUBJECT_EVENT_CLOSED] = "closed",
  [SUBJECT_EVENT_AGED] = "aged",
  [SUBJECT_EVENT_CLEARED] = "cleared",
  [SUBJECT_EVENT_FINALIZER] = "finalizer",
  [SUBJECT_EVENT_FINALIZED] = "finalized",
  [SUBJECT_EVENT_WARNING] = "warning",
  [SUBJECT_EVENT_EMERGENCY] = "emergency",
  [SUBJECT_EVENT_MODE] = "mode",
  [SUBJECT_EVENT_CLOSE_ASKED] = "close-asked",
  [SUBJECT_EVENT_ASSERTION] = "assertion",
};

/* What only --verbose tells. */
static bool
is_detail(const struct subject_event *event)
{
  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_ALLOCATED:
  case SUBJECT_EVENT_STORE:
  case SUBJECT_EVENT_GREYED:
    return true;
  case SUBJECT_EVENT_RELISTED:
    return event->to == SUBJECT_LIST_FIXED;
  case SUBJECT_EVENT_FREED: /* an object's death says it */
    return event->size == event->value;
  case SUBJECT_EVENT_BARRIER:
    return event->to == 0;
  case SUBJECT_EVENT_BAD_FREE:
  case SUBJECT_EVENT_REFUSED:
  case SUBJECT_EVENT_EXHAUSTED:
  case SUBJECT_EVENT_BIRTH:
  case SUBJECT_EVENT_DEATH:
  case SUBJECT_EVENT_RECOLOURED:
  case SUBJECT_EVENT_PHASE:
  case SUBJECT_EVENT_STEP_BEGIN:
  case SUBJECT_EVENT_STEP_END:
  case SUBJECT_EVENT_CLOSED:
  case SUBJECT_EVENT_AGED:
  case SUBJECT_EVENT_CLEARED:
  case SUBJECT_EVENT_FINALIZER:
  case SUBJECT_EVENT_FINALIZED:
  case SUBJECT_EVENT_WARNING:
  case SUBJECT_EVENT_EMERGENCY:
  case SUBJECT_EVENT_MODE:
  case SUBJECT_EVENT_CLOSE_ASKED:
  case SUBJECT_EVENT_ASSERTION:
  case SUBJECT_EVENT_COUNT:
    break;
  }
  return false;
}

/* ---- where ----------------------------------------------------------- */

static void
operation_begin(struct report_tracer *tracer, struct op op, bool skipped)
{
  tracer->has_begun = true;
  tracer->is_inside = !skipped && op.code != OP_SETUP;
}

/* Whether an event is the first one of the close after the last operation,
 * which the lab does not announce: no operation goes on. */
static bool
is_close(struct report_tracer *tracer)
{
  if (!tracer->has_begun || tracer->is_inside)
    return false;
  tracer->is_inside = true;
  return true;
}

static void
follow_phase(struct report_tracer *tracer, const struct subject_event *event)
{
  if (event->type != SUBJECT_EVENT_PHASE || event->to >= SUBJECT_PHASE_COUNT)
    return;
  tracer->tells_phases = true;
  tracer->phase = event->to;
}

/* As events tell it; of a subject that tells of none, as it is asked. */
static const char *
phase_text(const struct report_tracer *tracer)
{
  return oracle_phase_text(tracer->tells_phases
                               ? (uint8_t)tracer->phase
                               : (uint8_t)lab_phase(tracer->lab));
}

/* ---- text ------------------------------------------------------------ */

static void
text_operation(struct lab_observer *observer, size_t index, struct op op,
               bool skipped)
{
  struct report_tracer *tracer = (struct report_tracer *)observer;
  bool with_colour = tracer->options.with_colour;
  char text[OP_TEXT_OP_MAX];

  operation_begin(tracer, op, skipped);
  op_print(op, text);
  fprintf(tracer->stream, "%s%5zu  %s%s%s\n",
          !with_colour ? ""
          : skipped    ? DIM
                       : BOLD,
          index, text, skipped ? "   # skipped: not well-typed here" : "",
          with_colour ? PLAIN : "");
}

static void
text_operation_end(struct lab_observer *observer, size_t index, struct op op,
                   enum subject_status status)
{
  struct report_tracer *tracer = (struct report_tracer *)observer;

  (void)index;
  (void)op;
  tracer->is_inside = false;
  if (status != SUBJECT_DONE)
    fprintf(tracer->stream, "         answers: %s\n", status_names[status]);
}

static void
text_event(struct lab_observer *observer, const struct subject_event *event)
{
  struct report_tracer *tracer = (struct report_tracer *)observer;
  char text[REPORT_EVENT_MAX];

  if (is_close(tracer))
    fputs("  close the state\n", tracer->stream);
  if (event->type == SUBJECT_EVENT_STEP_END) {
    tracer->micro_step++;
    fprintf(tracer->stream, "         micro-step %" PRIu64 " ends in %s\n",
            tracer->micro_step, phase_text(tracer));
    return;
  }
  follow_phase(tracer, event);
  if (is_detail(event) && !tracer->options.is_verbose)
    return;
  if (report_event_print(lab_oracle(tracer->lab), event, text))
    fprintf(tracer->stream, "         %s\n", text);
}

/* ---- JSON ------------------------------------------------------------ */

/* A trace that lacks a line would be a wrong one: the stream's error flag
 * cannot be set from outside, so the line says so itself. */
static void
json_line(const struct report_tracer *tracer, json_t *object)
{
  if (!report_json_print(tracer->stream, object))
    fputs("{\"type\":\"out-of-memory\"}\n", tracer->stream);
}

static void
json_operation(struct lab_observer *observer, size_t index, struct op op,
               bool skipped)
{
  struct report_tracer *tracer = (struct report_tracer *)observer;
  char text[OP_TEXT_OP_MAX];

  operation_begin(tracer, op, skipped);
  op_print(op, text);
  json_line(tracer,
            json_pack("{s:s, s:I, s:s, s:b}", "type", "operation", "index",
                      (json_int_t)index, "text", text, "skipped", skipped));
}

static void
json_operation_end(struct lab_observer *observer, size_t index, struct op op,
                   enum subject_status status)
{
  struct report_tracer *tracer = (struct report_tracer *)observer;

  (void)op;
  tracer->is_inside = false;
  json_line(tracer, json_pack("{s:s, s:I, s:s, s:s}", "type", "end", "index",
                              (json_int_t)index, "status",
                              status_names[status], "phase",
                              phase_text(tracer)));
}

static json_t *
number_json(const struct report_tracer *tracer, uint64_t base)
{
  uint32_t number = oracle_number(lab_oracle(tracer->lab), base);

  return base == 0 || number == 0 ? json_null()
                                  : json_integer((json_int_t)number);
}

static void
json_event(struct lab_observer *observer, const struct subject_event *event)
{
  struct report_tracer *tracer = (struct report_tracer *)observer;
  char text[REPORT_EVENT_MAX];

  if (is_close(tracer))
    json_line(tracer, json_pack("{s:s}", "type", "close"));
  follow_phase(tracer, event);
  if (event->type == SUBJECT_EVENT_STEP_END) {
    tracer->micro_step++;
    json_line(tracer,
              json_pack("{s:s, s:I, s:s}", "type", "micro-step", "number",
                        (json_int_t)tracer->micro_step, "phase",
                        phase_text(tracer)));
    return;
  }
  if (is_detail(event) && !tracer->options.is_verbose)
    return;
  if (event->type >= SUBJECT_EVENT_COUNT ||
      !report_event_print(lab_oracle(tracer->lab), event, text))
    return;
  /* A block that is being allocated has no number before it is told. */
  json_line(tracer, json_pack("{s:s, s:o, s:s}", "type",
                              event_names[event->type], "number",
                              event->type == SUBJECT_EVENT_ALLOCATED
                                  ? json_null()
                                  : number_json(tracer, event->base),
                              "text", text));
}

/* ---- beginning and end ----------------------------------------------- */

void
report_tracer_init(struct report_tracer *tracer, FILE *stream,
                   const struct lab *lab,
                   const struct report_trace_options *options)
{
  *tracer = (struct report_tracer){
    .options = *options,
    .stream = stream,
    .lab = lab,
    .phase = SUBJECT_PHASE_PAUSE,
  };
  if (options->is_json)
    tracer->observer = (struct lab_observer){
      json_operation, json_event, json_operation_end};
  else
    tracer->observer = (struct lab_observer){
      text_operation, text_event, text_operation_end};
}

bool
report_trace_begin(FILE *stream, const struct report_run *run,
                   const struct report_trace_options *options)
{
  if (options->is_json)
    return report_json_print(
        stream, json_pack("{s:s, s:o, s:s, s:s?, s:I}", "type", "stream",
                          "file", report_json_string(run->file), "subject",
                          run->subject->name, "fault", run->fault,
                          "operations", (json_int_t)run->stream->count));
  report_name(stream, run->file);
  fprintf(stream, ": %zu operations, subject %s", run->stream->count,
          run->subject->name);
  if (run->fault)
    fprintf(stream, ", fault %s", run->fault);
  fputs("\n  open the state\n", stream);
  return true;
}

bool
report_trace_json_end(FILE *stream, const struct report_run *run,
                      const struct report_verdict *verdict)
{
  json_t *object = json_pack("{s:s}", "type", "verdict");
  json_t *keys = report_json_verdict(run, verdict);
  const char *detail = verdict->finding.detail;
  json_t *line = NULL;

  if (verdict->result.verdict != LAB_BROKEN || !detail[0])
    detail = NULL;
  if (object && keys && json_object_update(object, keys) == 0 &&
      json_object_set_new(object, "detail", report_json_text(detail)) == 0)
    line = json_incref(object);
  json_decref(object);
  json_decref(keys);
  return report_json_print(stream, line);
}
