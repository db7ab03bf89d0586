/* SPDX-License-Identifier: MIT
 *
 * The history of a finding: an observer that looks for the objects which the
 * finding named, by birth number, while the run is repeated. It remembers how
 * each was born and the last events in which any of them took part.
 */
#include "report/report.h"

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
    if (event->value != 0 &&
        is_wanted(history, oracle_number(oracle, event->value)))
      return true;
    break;
  case SUBJECT_EVENT_BAD_FREE:
  case SUBJECT_EVENT_REFUSED:
  case SUBJECT_EVENT_EXHAUSTED:
  case SUBJECT_EVENT_ASSERTION:
    return true;
  case SUBJECT_EVENT_PHASE:
    return history->number_count == 0;
  case SUBJECT_EVENT_ALLOCATED:
  case SUBJECT_EVENT_STEP_BEGIN:
  case SUBJECT_EVENT_STEP_END:
  case SUBJECT_EVENT_COUNT:
    return false;
  case SUBJECT_EVENT_RELISTED:
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
  case SUBJECT_EVENT_CLOSED:
    break;
  }
  if (history->number_count == 0)
    return true;
  return event->base != 0 &&
         is_wanted(history, oracle_number(oracle, event->base));
}

static struct report_history_line *
line_next(struct report_historian *historian,
          const struct subject_event *event)
{
  struct report_history *history = historian->history;

  if (event->type == SUBJECT_EVENT_BIRTH && history->number_count > 0 &&
      history->birth_count < ORACLE_OBJECTS_MAX)
    return &history->births[history->birth_count++];
  return &history->events[history->event_count++ % REPORT_HISTORY_MAX];
}

static void
watch_event(struct lab_observer *observer, const struct subject_event *event)
{
  struct report_historian *historian = (struct report_historian *)observer;
  struct report_history_line *line;
  char text[REPORT_EVENT_MAX];

  if (event->type == SUBJECT_EVENT_STEP_END)
    historian->micro_step++;
  if (!concerns(historian, event) ||
      !report_event_print(lab_oracle(historian->lab), event, text))
    return;
  line = line_next(historian, event);
  line->op_index = historian->op_index;
  line->micro_step = historian->micro_step;
  memcpy(line->text, text, sizeof text);
}

static void
watch_operation(struct lab_observer *observer, size_t index, struct op op,
                bool skipped)
{
  struct report_historian *historian = (struct report_historian *)observer;

  (void)op;
  (void)skipped;
  historian->op_index = index;
}

void
report_historian_init(struct report_historian *historian,
                      struct report_history *history, const struct lab *lab)
{
  *historian = (struct report_historian){
    .observer = {.operation = watch_operation, .event = watch_event},
    .history = history,
    .lab = lab,
    .op_index = REPORT_OPENING,
  };
}
