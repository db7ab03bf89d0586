/* SPDX-License-Identifier: MIT
 *
 * The history of a finding: an observer that looks for the objects which the
 * finding named, by birth number, while the run is repeated. It remembers how
 * each was born and the last events in which any of them took part.
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

/* A move between grey lists goes with each change of colour: it is told only
 * where the finding is about lists. */
static bool
is_about_lists(enum law law)
{
  return law == LAW_DANGLING_LIST || law == LAW_GREY_UNLISTED ||
         law == LAW_LISTED_NOT_GREY || law == LAW_LISTED_TWICE;
}

void
report_history_start(struct report_history *history,
                     const struct oracle_finding *finding)
{
  memset(history, 0, sizeof *history);
  history->with_lists = is_about_lists(finding->law);
  for (uint32_t i = 0; i < finding->object_count; i++) {
    uint32_t number = finding->objects[i].number;

    if (number != 0)
      history->numbers[history->number_count++] = number;
  }
}

static bool
is_wanted(const struct report_history *history, uint32_t number)
{
  for (uint32_t i = 0; i < history->number_count; i++)
    if (history->numbers[i] == number)
      return true;
  return false;
}

/* What tells how an object came to be what it is. Where nothing in particular
 * is looked for, what would crowd out the rest is left away. */
static bool
concerns(const struct report_historian *historian,
         const struct subject_event *event)
{
  const struct report_history *history = historian->history;
  const struct oracle *oracle = lab_oracle(historian->lab);

  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_STORE:
  case SUBJECT_EVENT_BARRIER:
  case SUBJECT_EVENT_CLEARED:
    if (event->value != 0 &&
        is_wanted(history, oracle_number(oracle, event->value)))
      return true;
    break;
  case SUBJECT_EVENT_BAD_FREE:
  case SUBJECT_EVENT_REFUSED:
  case SUBJECT_EVENT_EXHAUSTED:
  case SUBJECT_EVENT_MODE:
  case SUBJECT_EVENT_CLOSE_ASKED:
  case SUBJECT_EVENT_ASSERTION:
    return true;
  case SUBJECT_EVENT_PHASE:
  case SUBJECT_EVENT_WARNING:
  case SUBJECT_EVENT_EMERGENCY:
    return history->number_count == 0;
  case SUBJECT_EVENT_ALLOCATED:
  case SUBJECT_EVENT_STEP_BEGIN:
  case SUBJECT_EVENT_STEP_END:
  case SUBJECT_EVENT_COUNT:
    return false;
  case SUBJECT_EVENT_GREYED:
    if (!history->with_lists)
      return false;
    break;
  case SUBJECT_EVENT_FREED: /* of an object its death says as much */
    if (history->number_count == 0)
      return event->size != event->value;
    break;
  case SUBJECT_EVENT_BIRTH:
  case SUBJECT_EVENT_DEATH:
  case SUBJECT_EVENT_RECOLOURED:
  case SUBJECT_EVENT_RELISTED: /* marked for finalization, waits for it */
  case SUBJECT_EVENT_CLOSED:
  case SUBJECT_EVENT_AGED:
  case SUBJECT_EVENT_FINALIZER:
  case SUBJECT_EVENT_FINALIZED:
    break;
  }
  if (history->number_count == 0)
    return true;
  return event->base != 0 &&
         is_wanted(history, oracle_number(oracle, event->base));
}

/* Where the birth of an object is told; that of its block is replaced. NULL if
 * there is no more room. */
static struct report_history_line *
birth_line(struct report_history *history, uint32_t number)
{
  for (uint32_t i = 0; i < history->birth_count; i++)
    if (history->birth_numbers[i] == number)
      return &history->births[i];
  if (history->birth_count == ORACLE_OBJECTS_MAX)
    return NULL;
  history->birth_numbers[history->birth_count] = number;
  return &history->births[history->birth_count++];
}

static void
line_fill(const struct report_historian *historian,
          struct report_history_line *line, const char *text)
{
  line->op_index = historian->op_index;
  line->micro_step = historian->micro_step;
  snprintf(line->text, sizeof line->text, "%s", text);
}

/* The oracle numbers a block after we have heard of it, so it is looked for
 * when the next event comes. */
static void
note_block(struct report_historian *historian)
{
  struct report_history_line *line;
  char text[REPORT_EVENT_MAX];
  uint32_t number;

  if (historian->allocated == 0)
    return;
  number = oracle_number(lab_oracle(historian->lab), historian->allocated);
  historian->allocated = 0;
  if (!is_wanted(historian->history, number))
    return;
  line = birth_line(historian->history, number);
  snprintf(text, sizeof text, "block #%" PRIu32 " of %" PRIu64
           " bytes allocated", number, historian->allocated_size);
  if (line)
    line_fill(historian, line, text);
}

static void
note_event(struct report_historian *historian,
           const struct subject_event *event)
{
  struct report_history *history = historian->history;
  struct report_history_line *line = NULL;
  char text[REPORT_EVENT_MAX];

  if (!report_event_print(lab_oracle(historian->lab), event, text))
    return;
  if (event->type == SUBJECT_EVENT_BIRTH && history->number_count > 0)
    line = birth_line(history, oracle_number(lab_oracle(historian->lab),
                                             event->base));
  if (!line)
    line = &history->events[history->event_count++ % REPORT_HISTORY_MAX];
  line_fill(historian, line, text);
}

static void
watch_event(struct lab_observer *observer, const struct subject_event *event)
{
  struct report_historian *historian = (struct report_historian *)observer;

  note_block(historian);
  if (historian->op_index != REPORT_OPENING && !historian->is_inside)
    historian->op_index = REPORT_CLOSING; /* the lab does not tell */
  if (event->type == SUBJECT_EVENT_STEP_END)
    historian->micro_step++;
  if (event->type == SUBJECT_EVENT_ALLOCATED) {
    historian->allocated = event->base;
    historian->allocated_size = event->size;
  }
  if (concerns(historian, event))
    note_event(historian, event);
}

static void
watch_operation(struct lab_observer *observer, size_t index, struct op op,
                bool skipped)
{
  struct report_historian *historian = (struct report_historian *)observer;

  note_block(historian);
  historian->op_index = index;
  historian->is_inside = !skipped && op.code != OP_CLOSE;
}

static void
watch_operation_end(struct lab_observer *observer, size_t index, struct op op,
                    enum subject_status status)
{
  struct report_historian *historian = (struct report_historian *)observer;

  (void)index;
  (void)op;
  (void)status;
  historian->is_inside = false;
}

void
report_historian_init(struct report_historian *historian,
                      struct report_history *history, const struct lab *lab)
{
  *historian = (struct report_historian){
    .observer = {watch_operation, watch_event, watch_operation_end},
    .history = history,
    .lab = lab,
    .op_index = REPORT_OPENING,
  };
}
