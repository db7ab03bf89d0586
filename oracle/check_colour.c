/* SPDX-License-Identifier: MIT
 *
 * The laws of single objects' colours, and of grey lists both ways:
 *
 *   tricolour.never-black: kinds that are never black are not [T], nor are
 *     open upvalues, nor threads before the atomic phase [T];
 *   tricolour.never-grey: kinds that are never grey are not [T]; fixed objects
 *     excepted;
 *   tricolour.other-white: objects of the other white exist only while
 *     sweeping, and only where the sweep has not yet been;
 *   tricolour.colour-change: what is of the current white where the sweep has
 *     not yet been was made so since the flip;
 *   tricolour.pause-white: in the pause every object, fixed and finalizable
 *     ones excepted, is of the current white;
 *   tricolour.grey-unlisted: while the invariant is kept each grey object, but
 *     open upvalues and fixed objects, is on a grey list;
 *   tricolour.listed-not-grey, tricolour.listed-twice: each member of a grey
 *     list is grey, and is there once.
 *
 * Which colours are out of the question is put in a mask for each kind before
 * the objects are gone through, so that a sound heap costs one test an object.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

#define BIT(n) (UINT32_C(1) << (n))

/* Colours that need a closer look, by kind. */
struct suspects {
  uint8_t colours[SUBJECT_KIND_COUNT];
};

static bool
accuse(struct oracle *oracle, enum law law, uint32_t object, const char *what)
{
  if (!explain_begin(oracle, law))
    return true;
  explain_surveyed(oracle, object);
  explain_say(oracle, " %s", what);
  explain_end(oracle);
  return false;
}

static struct suspects
suspect(const struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  const struct subject_traits *traits = oracle->subject->traits;
  uint8_t phase = survey->heap.phase;
  unsigned always = BIT(SUBJECT_WHITE_OTHER);
  struct suspects suspects;
  if (phase == SUBJECT_PHASE_PAUSE)
    always |= BIT(SUBJECT_GREY) | BIT(SUBJECT_BLACK);
  if (check_is_sweep(phase) && oracle->flipped)
    always |= BIT(SUBJECT_WHITE_CURRENT);
  if (survey->keeps)
    always |= BIT(SUBJECT_GREY);
  for (unsigned kind = 0; kind < SUBJECT_KIND_COUNT; kind++) {
    unsigned colours = always;
    if (traits->never_black & BIT(kind) || kind == SUBJECT_KIND_UPVALUE ||
        kind == SUBJECT_KIND_THREAD)
      colours |= BIT(SUBJECT_BLACK);
    if (traits->never_grey & BIT(kind))
      colours |= BIT(SUBJECT_GREY);
    suspects.colours[kind] = (uint8_t)colours;
  }
  return suspects;
}

static bool
judge_black(struct oracle *oracle, uint32_t index,
            const struct survey_object *object)
{
  const struct subject_traits *traits = oracle->subject->traits;
  uint8_t phase = oracle->survey.heap.phase;
  if (traits->never_black & BIT(object->kind))
    return accuse(oracle, LAW_NEVER_BLACK, index,
                  "is black, which its kind never is");
  if (object->flags & SUBJECT_OBJECT_OPEN)
    return accuse(oracle, LAW_NEVER_BLACK, index,
                  "is black, which an open upvalue never is");
  if (traits->threads_grey && object->kind == SUBJECT_KIND_THREAD &&
      !oracle->survey.heap.by_age &&
      (phase == SUBJECT_PHASE_PROPAGATE || phase == SUBJECT_PHASE_ENTER_ATOMIC))
    return accuse(oracle, LAW_NEVER_BLACK, index,
                  "is black, which no coroutine is before the atomic phase");
  return true;
}

static bool
judge_grey(struct oracle *oracle, uint32_t index,
           const struct survey_object *object)
{
  const struct subject_traits *traits = oracle->subject->traits;
  bool is_fixed = object->flags & SUBJECT_OBJECT_FIXED;
  bool is_open = object->flags & SUBJECT_OBJECT_OPEN;
  if (is_fixed && traits->fixed_grey)
    return true;
  if (!is_fixed && traits->never_grey & BIT(object->kind))
    return accuse(oracle, LAW_NEVER_GREY, index,
                  "is grey, which its kind never is");
  if (!oracle->survey.keeps || object->grey ||
      traits->grey_unlisted & BIT(object->kind) ||
      (is_open && traits->open_upvalues_grey))
    return true;
  return accuse(oracle, LAW_GREY_UNLISTED, index,
                "is grey and on no grey list");
}

/* Whether the sweep has left this object's list behind, or this object. */
static bool
is_swept(const struct oracle *oracle, const struct survey_object *object)
{
  uint8_t phase = oracle->survey.heap.phase;
  if (object->flags & SUBJECT_OBJECT_SWEPT)
    return true;
  switch (object->list) {
  case SUBJECT_LIST_ALL:
    return phase > SUBJECT_PHASE_SWEEP;
  case SUBJECT_LIST_FINALIZABLE:
    return phase > SUBJECT_PHASE_SWEEP_FINALIZABLE;
  case SUBJECT_LIST_PENDING:
    return phase > SUBJECT_PHASE_SWEEP_PENDING;
  default:
    return phase >= SUBJECT_PHASE_SWEEP_END;
  }
}

/* Where generational cycles know no ages but old and not old a sweep ends at
 * what is old: the open upvalues of an old coroutine, which are swept with it
 * and are in no list, keep their colour. */
static bool
awaits_its_coroutine(const struct oracle *oracle,
                     const struct survey_object *object)
{
  return oracle->subject->traits->generational &&
         !oracle->subject->traits->ages && oracle->survey.heap.by_age &&
         object->flags & SUBJECT_OBJECT_OPEN &&
         object->list == SUBJECT_LIST_NONE;
}

static bool
judge_other_white(struct oracle *oracle, uint32_t index,
                  const struct survey_object *object)
{
  uint8_t phase = oracle->survey.heap.phase;
  if (object->flags & SUBJECT_OBJECT_FIXED ||
      awaits_its_coroutine(oracle, object))
    return true;
  if (!check_is_sweep(phase))
    return accuse(oracle, LAW_OTHER_WHITE, index,
                  "has the dead white though no sweep goes on");
  if (is_swept(oracle, object))
    return accuse(oracle, LAW_OTHER_WHITE, index,
                  "has the dead white where the sweep has been");
  return true;
}

/* Births since the flip stand where the sweep has been; so only a barrier or
 * a string that was found again can have whitened what it has not reached. */
static bool
judge_current_white(struct oracle *oracle, uint32_t index,
                    const struct survey_object *object)
{
  const struct block *record = &oracle->blocks.records[object->block];
  if (!oracle->flipped || !check_is_sweep(oracle->survey.heap.phase) ||
      object->flags & SUBJECT_OBJECT_FIXED || !object->block ||
      object->list == SUBJECT_LIST_NONE || is_swept(oracle, object) ||
      record->whitened == oracle->survey.sweep)
    return true;
  return accuse(oracle, LAW_COLOUR_CHANGE, index,
                "has the current white where the sweep has yet to come, and "
                "nothing has made it so since the flip");
}

static bool
judge_pause(struct oracle *oracle, uint32_t index,
            const struct survey_object *object)
{
  bool is_excepted = object->flags & SUBJECT_OBJECT_FIXED ||
                     object->list == SUBJECT_LIST_FIXED ||
                     (object->list == SUBJECT_LIST_PENDING &&
                      !oracle->subject->traits->pending_swept);
  if (oracle->survey.heap.phase != SUBJECT_PHASE_PAUSE || is_excepted ||
      object->colour == SUBJECT_WHITE_CURRENT)
    return true;
  return accuse(oracle, LAW_PAUSE_WHITE, index,
                object->colour == SUBJECT_BLACK ? "is black between two cycles"
                                                : "is grey between two cycles");
}

static bool
judge_object(struct oracle *oracle, uint32_t index)
{
  const struct survey_object *object = &oracle->survey.objects[index];
  switch ((enum subject_colour)object->colour) {
  case SUBJECT_BLACK:
    return judge_black(oracle, index, object) &&
           judge_pause(oracle, index, object);
  case SUBJECT_GREY:
    return judge_grey(oracle, index, object) &&
           judge_pause(oracle, index, object);
  case SUBJECT_WHITE_OTHER:
    return judge_other_white(oracle, index, object);
  case SUBJECT_WHITE_CURRENT:
    return judge_current_white(oracle, index, object);
  case SUBJECT_COLOUR_COUNT:
    break;
  }
  return true;
}

static bool
judge_lists(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  const struct odd_place *colour = &survey->oddities[ODDITY_GREY_COLOUR];
  const struct odd_place *twice = &survey->oddities[ODDITY_GREY_TWICE];
  if (survey->odd & BIT(ODDITY_GREY_COLOUR) &&
      explain_begin(oracle, LAW_LISTED_NOT_GREY)) {
    const struct survey_object *object = &survey->objects[colour->object];
    explain_surveyed(oracle, colour->object);
    explain_say(oracle, " is on a grey list and %s",
                oracle_colour_text(object->colour));
    explain_end(oracle);
    return false;
  }
  if (survey->odd & BIT(ODDITY_GREY_TWICE))
    return accuse(oracle, LAW_LISTED_TWICE, twice->object,
                  "is on the grey lists twice");
  return true;
}

static void
count_laws(struct oracle *oracle, unsigned seen)
{
  const struct survey *survey = &oracle->survey;
  uint8_t phase = survey->heap.phase;
  if (survey->keeps && seen & BIT(SUBJECT_GREY))
    oracle_applies(oracle, LAW_GREY_UNLISTED);
  if (survey->greys) {
    oracle_applies(oracle, LAW_LISTED_NOT_GREY);
    oracle_applies(oracle, LAW_LISTED_TWICE);
  }
  if (seen & BIT(SUBJECT_BLACK))
    oracle_applies(oracle, LAW_NEVER_BLACK);
  if (seen & BIT(SUBJECT_GREY))
    oracle_applies(oracle, LAW_NEVER_GREY);
  if (phase == SUBJECT_PHASE_PAUSE)
    oracle_applies(oracle, LAW_PAUSE_WHITE);
  oracle_applies(oracle, LAW_OTHER_WHITE);
}

bool
check_colours(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  struct suspects suspects = suspect(oracle);
  unsigned seen = 0;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    const struct survey_object *object = &survey->objects[i];
    if (!object->base)
      continue; /* the root has no colour */
    seen |= BIT(object->colour);
    if (suspects.colours[object->kind] & BIT(object->colour) &&
        !judge_object(oracle, i))
      return false;
  }
  count_laws(oracle, seen);
  return judge_lists(oracle);
}
