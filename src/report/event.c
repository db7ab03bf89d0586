/* SPDX-License-Identifier: MIT
 *
 * Events in words. Objects are named as kind #number, blocks as block
 * #number; the number is that of the block's birth.
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

static const char *const list_names[SUBJECT_LIST_COUNT] = {
    [SUBJECT_LIST_NONE] = "no list",
    [SUBJECT_LIST_ALL] = "the list of all",
    [SUBJECT_LIST_FINALIZABLE] = "the finalizable",
    [SUBJECT_LIST_PENDING] = "the pending",
    [SUBJECT_LIST_FIXED] = "the fixed",
    [SUBJECT_LIST_STRINGS] = "the string table",
};

static const char *const grey_names[SUBJECT_GREY_COUNT] = {
    [SUBJECT_GREY_NONE] = "no grey list",
    [SUBJECT_GREY_NOW] = "the grey list",
    [SUBJECT_GREY_AGAIN] = "the grey-again list",
    [SUBJECT_GREY_WEAK] = "the weak list",
    [SUBJECT_GREY_EPHEMERON] = "the ephemeron list",
    [SUBJECT_GREY_ALLWEAK] = "the all-weak list",
};

static const char *
mode_name(uint8_t mode)
{
  const char *word = op_word_text(OP_OPERAND_MODE, mode);

  return word ? word : "an unknown mode";
}

static const char *
list_name(uint8_t list)
{
  return list < SUBJECT_LIST_COUNT ? list_names[list] : "an unknown list";
}

static const char *
grey_name(uint8_t grey)
{
  return grey < SUBJECT_GREY_COUNT ? grey_names[grey] : "an unknown list";
}

/* A child is told by its number only: events do not say its kind. */
static int
barrier_print(const struct oracle *oracle, const struct subject_event *event,
              char *text, uint32_t number)
{
  uint32_t child = oracle_number(oracle, event->value);
  const char *way = event->from == 0 ? "forward" : "back";
  const char *taken = event->to ? "" : ", nothing to do";

  if (event->value == 0)
    return snprintf(text, REPORT_EVENT_MAX, "barrier %s at %s #%" PRIu32 "%s",
                    way, oracle_kind_text(event->kind), number, taken);
  return snprintf(text, REPORT_EVENT_MAX,
                  "barrier %s from %s #%" PRIu32 " to #%" PRIu32 "%s", way,
                  oracle_kind_text(event->kind), number, child, taken);
}

/* Events of the arena. */
static int
block_print(const struct subject_event *event, char *text, uint32_t number)
{
  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_ALLOCATED:
    return snprintf(text, REPORT_EVENT_MAX, "block of %" PRIu64 " bytes",
                    event->size);
  case SUBJECT_EVENT_FREED:
    if (event->size != event->value)
      return snprintf(text, REPORT_EVENT_MAX,
                      "block #%" PRIu32 " of %" PRIu64
                      " bytes freed as one of %" PRIu64,
                      number, event->value, event->size);
    return snprintf(text, REPORT_EVENT_MAX,
                    "block #%" PRIu32 " of %" PRIu64 " bytes freed", number,
                    event->size);
  case SUBJECT_EVENT_BAD_FREE:
    return snprintf(text, REPORT_EVENT_MAX,
                    "something freed that is no live block (last block "
                    "there: #%" PRIu32 "), as %" PRIu64 " bytes",
                    number, event->size);
  case SUBJECT_EVENT_REFUSED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "allocation of %" PRIu64 " bytes refused", event->size);
  case SUBJECT_EVENT_EXHAUSTED:
    return snprintf(text, REPORT_EVENT_MAX, "the arena is used up");
  default:
    return 0;
  }
}

/* What collections do beside marking and sweeping, and their phases. */
static int
collection_print(const struct oracle *oracle,
                 const struct subject_event *event, char *text,
                 uint32_t number)
{
  const char *kind = oracle_kind_text(event->kind);

  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_PHASE:
    return snprintf(text, REPORT_EVENT_MAX, "phase %s to %s",
                    oracle_phase_text(event->from),
                    oracle_phase_text(event->to));
  case SUBJECT_EVENT_AGED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "%s #%" PRIu32 " ages from %s to %s", kind, number,
                    oracle_age_text(event->from), oracle_age_text(event->to));
  case SUBJECT_EVENT_CLEARED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "pair removed from weak table #%" PRIu32
                    ": its %s #%" PRIu32 " is dead",
                    number, event->from ? "key" : "value",
                    oracle_number(oracle, event->value));
  case SUBJECT_EVENT_FINALIZER:
    return snprintf(text, REPORT_EVENT_MAX,
                    "finalizer of %s #%" PRIu32 " is called", kind, number);
  case SUBJECT_EVENT_FINALIZED:
    return snprintf(text, REPORT_EVENT_MAX, "finalizer of %s #%" PRIu32 " %s",
                    kind, number,
                    event->to ? "raised an error" : "has returned");
  case SUBJECT_EVENT_WARNING:
    return snprintf(text, REPORT_EVENT_MAX, "warning: %s",
                    event->text ? event->text : "?");
  case SUBJECT_EVENT_EMERGENCY:
    return snprintf(text, REPORT_EVENT_MAX, "emergency collection %s",
                    event->to ? "begins" : "ends");
  case SUBJECT_EVENT_MODE:
    return snprintf(text, REPORT_EVENT_MAX, "cycles change from %s to %s",
                    mode_name(event->from), mode_name(event->to));
  case SUBJECT_EVENT_CLOSE_ASKED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "a finalizer asks that the state be closed when the "
                    "operation is over");
  default:
    return 0;
  }
}

/* What happens to one object. */
static int
object_print(const struct oracle *oracle, const struct subject_event *event,
             char *text, uint32_t number)
{
  const char *kind = oracle_kind_text(event->kind);

  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_BIRTH:
    return snprintf(text, REPORT_EVENT_MAX, "%s #%" PRIu32 " born %s", kind,
                    number, oracle_colour_text(event->to));
  case SUBJECT_EVENT_DEATH:
    return snprintf(text, REPORT_EVENT_MAX, "%s #%" PRIu32 " dies %s", kind,
                    number, oracle_colour_text(event->from));
  case SUBJECT_EVENT_RECOLOURED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "%s #%" PRIu32 " turns from %s to %s", kind, number,
                    oracle_colour_text(event->from),
                    oracle_colour_text(event->to));
  case SUBJECT_EVENT_RELISTED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "%s #%" PRIu32 " moves from %s to %s", kind, number,
                    list_name(event->from), list_name(event->to));
  case SUBJECT_EVENT_GREYED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "%s #%" PRIu32 " goes from %s to %s", kind, number,
                    grey_name(event->from), grey_name(event->to));
  case SUBJECT_EVENT_STORE:
    return snprintf(text, REPORT_EVENT_MAX,
                    "#%" PRIu32 " stored in %s #%" PRIu32,
                    oracle_number(oracle, event->value), kind, number);
  case SUBJECT_EVENT_BARRIER:
    return barrier_print(oracle, event, text, number);
  case SUBJECT_EVENT_CLOSED:
    return snprintf(text, REPORT_EVENT_MAX,
                    "to-be-closed value #%" PRIu32 " is closed", number);
  default:
    return 0;
  }
}

bool
report_event_print(const struct oracle *oracle,
                   const struct subject_event *event, char *ret_text)
{
  uint32_t number = event->base ? oracle_number(oracle, event->base) : 0;

  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_ALLOCATED:
  case SUBJECT_EVENT_FREED:
  case SUBJECT_EVENT_BAD_FREE:
  case SUBJECT_EVENT_REFUSED:
  case SUBJECT_EVENT_EXHAUSTED:
    return block_print(event, ret_text, number) > 0;
  case SUBJECT_EVENT_BIRTH:
  case SUBJECT_EVENT_DEATH:
  case SUBJECT_EVENT_RECOLOURED:
  case SUBJECT_EVENT_RELISTED:
  case SUBJECT_EVENT_GREYED:
  case SUBJECT_EVENT_STORE:
  case SUBJECT_EVENT_BARRIER:
  case SUBJECT_EVENT_CLOSED:
    return object_print(oracle, event, ret_text, number) > 0;
  case SUBJECT_EVENT_PHASE:
  case SUBJECT_EVENT_AGED:
  case SUBJECT_EVENT_CLEARED:
  case SUBJECT_EVENT_FINALIZER:
  case SUBJECT_EVENT_FINALIZED:
  case SUBJECT_EVENT_WARNING:
  case SUBJECT_EVENT_EMERGENCY:
  case SUBJECT_EVENT_MODE:
  case SUBJECT_EVENT_CLOSE_ASKED:
    return collection_print(oracle, event, ret_text, number) > 0;
  case SUBJECT_EVENT_ASSERTION:
    return snprintf(ret_text, REPORT_EVENT_MAX, "assertion failed: %s",
                    event->text ? event->text : "?") > 0;
  case SUBJECT_EVENT_STEP_BEGIN:
  case SUBJECT_EVENT_STEP_END:
  case SUBJECT_EVENT_COUNT:
    break;
  }
  return false;
}
