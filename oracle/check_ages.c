/* SPDX-License-Identifier: MIT
 *
 * The laws of ages, of collectors that have them [T]. A collection by ages
 * visits young objects and what keeps them; what is old is black for good and
 * is freed by a major collection only. Between two of them:
 *
 *   ages.colour: young objects are white, but for those that a barrier has
 *     marked since the last collection; old ones are black, but for touched1,
 *     old0, coroutines, open upvalues and fixed objects, and none is white;
 *   ages.touched: what is touched1 is grey, what is touched2 is black, and both
 *     are on a grey list;
 *   ages.segment: the parts of a list follow each other from young to old, no
 *     object lies in a part of older ones, and each collection moves what a
 *     list holds on to the next part;
 *   ages.old-to-young: no strong edge leads from a black old object to one
 *     that is young;
 *   ages.recent-to-new: no strong edge leads from a black old1 or touched2
 *     object to a new one, nor from a black old0 object to a white one;
 *   ages.change: each object has the age that its last change led to, and what
 *     was there before the last collection, old objects excepted, has changed
 *     its age in it.
 *
 * Coroutines and open upvalues are exempt as parents: every collection visits
 * them. In incremental cycles:
 *
 *   ages.incremental: every object, fixed ones excepted, is new.
 *
 * Of events:
 *
 *   ages.change: ages change only as the tables below allow; inside a
 *     collection a barrier may be needed for what an old upvalue takes over
 *     from a coroutine that dies;
 *   ages.minor-frees-old: while cycles go by ages only young objects die.
 *
 * Which kind of cycle is run is what MODE events tell; the ages that it takes
 * away or gives change between the event and the end of the micro-step. A
 * micro-step that begins in generational cycles is a collection of its own: it
 * gets a number.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

#define BIT(n) (1u << (n))
#define AGE(name) BIT(SUBJECT_AGE_##name)
#define YOUNG (AGE(NEW) | AGE(SURVIVAL))

/* What a barrier does, from (index) to (set). */
static const uint8_t by_barrier[SUBJECT_AGE_COUNT] = {
    [SUBJECT_AGE_NEW] = AGE(OLD0),
    [SUBJECT_AGE_SURVIVAL] = AGE(OLD0),
    [SUBJECT_AGE_OLD0] = AGE(TOUCHED1),
    [SUBJECT_AGE_OLD1] = AGE(TOUCHED1),
    [SUBJECT_AGE_OLD] = AGE(TOUCHED1),
    [SUBJECT_AGE_TOUCHED2] = AGE(TOUCHED1),
};

/* What a minor collection does. */
static const uint8_t by_minor[SUBJECT_AGE_COUNT] = {
    [SUBJECT_AGE_NEW] = AGE(SURVIVAL),
    [SUBJECT_AGE_SURVIVAL] = AGE(OLD1),
    [SUBJECT_AGE_OLD0] = AGE(OLD1),
    [SUBJECT_AGE_OLD1] = AGE(OLD),
    [SUBJECT_AGE_TOUCHED1] = AGE(TOUCHED2),
    [SUBJECT_AGE_TOUCHED2] = AGE(OLD),
};

/* The youngest that may lie in a part of a list, as a rank. */
static const uint8_t rank_of_segment[SUBJECT_SEGMENT_COUNT] = {
    [SUBJECT_SEGMENT_SURVIVAL] = 1,
    [SUBJECT_SEGMENT_OLD1] = 2,
    [SUBJECT_SEGMENT_OLD] = 3};
static const uint8_t rank_of_age[SUBJECT_AGE_COUNT] = {
    [SUBJECT_AGE_SURVIVAL] = 1, [SUBJECT_AGE_OLD0] = 1,
    [SUBJECT_AGE_OLD1] = 2,     [SUBJECT_AGE_OLD] = 3,
    [SUBJECT_AGE_TOUCHED1] = 3, [SUBJECT_AGE_TOUCHED2] = 3};

static bool
is_young(uint8_t age)
{
  return YOUNG >> age & 1;
}

static bool
accuse(struct oracle *oracle, enum law law, uint32_t object, const char *what)
{
  if (!explain_begin(oracle, law))
    return true;
  explain_aged(oracle, object);
  explain_say(oracle, " %s", what);
  explain_end(oracle);
  return false;
}

/* ---- single objects -------------------------------------------------- */

static bool
judge_touched(struct oracle *oracle, uint32_t index,
              const struct survey_object *object)
{
  if (object->age == SUBJECT_AGE_TOUCHED1) {
    oracle_applies(oracle, LAW_AGE_TOUCHED);
    if (object->colour != SUBJECT_GREY)
      return accuse(oracle, LAW_AGE_TOUCHED, index, "is not grey");
  } else if (object->age == SUBJECT_AGE_TOUCHED2) {
    oracle_applies(oracle, LAW_AGE_TOUCHED);
    if (object->colour != SUBJECT_BLACK)
      return accuse(oracle, LAW_AGE_TOUCHED, index, "is not black");
  } else {
    return true;
  }
  return object->grey || accuse(oracle, LAW_AGE_TOUCHED, index,
                                "is on no grey list, so that the next "
                                "collection will not visit it");
}

static bool
judge_colour(struct oracle *oracle, uint32_t index,
             const struct survey_object *object)
{
  const struct block *record = &oracle->blocks.records[object->block];
  bool is_white = object->colour <= SUBJECT_WHITE_OTHER;
  if (is_young(object->age))
    return is_white || record->darkened == oracle->ages.collection ||
           accuse(oracle, LAW_AGE_COLOUR, index,
                  object->colour == SUBJECT_BLACK
                      ? "is black, and no barrier has marked it"
                      : "is grey, and no barrier has marked it");
  if (is_white)
    return accuse(oracle, LAW_AGE_COLOUR, index, "is white");
  return object->colour == SUBJECT_BLACK || object->age == SUBJECT_AGE_OLD0 ||
         object->age == SUBJECT_AGE_TOUCHED1 ||
         object->kind == SUBJECT_KIND_THREAD ||
         object->flags & SUBJECT_OBJECT_OPEN ||
         accuse(oracle, LAW_AGE_COLOUR, index, "is grey");
}

/* How many collections may have passed since an object joined its list. */
static const uint8_t stay_of_segment[SUBJECT_SEGMENT_COUNT] = {
    [SUBJECT_SEGMENT_NEW] = 0,
    [SUBJECT_SEGMENT_SURVIVAL] = 1,
    [SUBJECT_SEGMENT_OLD1] = 2};

/* One that stays behind is swept again and again. */
static bool
judge_stay(struct oracle *oracle, uint32_t index,
           const struct survey_object *object)
{
  uint32_t joined = oracle->blocks.records[object->block].joined;
  return object->segment == SUBJECT_SEGMENT_OLD || !joined ||
         oracle->ages.collection - joined <= stay_of_segment[object->segment] ||
         accuse(oracle, LAW_AGE_SEGMENT, index,
                "lies in a part of its list that collections have not moved "
                "on");
}

/* last: the part that the object before it in its list lay in. */
static bool
judge_segment(struct oracle *oracle, uint32_t index,
              const struct survey_object *object, uint8_t *last)
{
  uint8_t before = *last;
  if (object->segment == SUBJECT_SEGMENT_NONE)
    return true;
  oracle_applies(oracle, LAW_AGE_SEGMENT);
  *last = object->segment;
  if (object->segment < before)
    return accuse(oracle, LAW_AGE_SEGMENT, index,
                  "lies in a part of its list that comes after a part of "
                  "older objects");
  if (rank_of_age[object->age] < rank_of_segment[object->segment])
    return accuse(oracle, LAW_AGE_SEGMENT, index,
                  "lies in a part of its list where all are older");
  return judge_stay(oracle, index, object);
}

static bool
judge_progress(struct oracle *oracle, uint32_t index,
               const struct survey_object *object)
{
  struct block *record = &oracle->blocks.records[object->block];
  const struct oracle_ages *ages = &oracle->ages;
  if (record->age != object->age)
    return accuse(oracle, LAW_AGE_CHANGE, index,
                  "has got this age though nothing was told of it");
  if (object->age == SUBJECT_AGE_OLD || !ages->is_marked ||
      record->number > ages->number || record->aged == ages->collection)
    return true;
  return accuse(oracle, LAW_AGE_CHANGE, index,
                "was so before the last collection and has not grown older "
                "in it");
}

static bool
check_at_rest(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  uint8_t last[SUBJECT_LIST_COUNT] = {SUBJECT_SEGMENT_NONE};
  oracle_applies(oracle, LAW_AGE_COLOUR);
  oracle_applies(oracle, LAW_AGE_CHANGE);
  for (uint32_t i = 0; i < survey->object_count; i++) {
    const struct survey_object *object = &survey->objects[i];
    if (!object->base || object->flags & SUBJECT_OBJECT_FIXED)
      continue;
    if (!judge_touched(oracle, i, object) ||
        !judge_segment(oracle, i, object, &last[object->list]) ||
        !judge_colour(oracle, i, object) || !judge_progress(oracle, i, object))
      return false;
  }
  return true;
}

/* Whether a sweep, which is to take its age away, has not yet been at it. */
static bool
awaits_sweep(const struct oracle *oracle, const struct survey_object *object)
{
  uint8_t phase = oracle->survey.heap.phase;
  return oracle->subject->traits->ages_swept &&
         phase >= SUBJECT_PHASE_SWEEP &&
         phase <= SUBJECT_PHASE_SWEEP_PENDING &&
         !(object->flags & SUBJECT_OBJECT_SWEPT);
}

static bool
check_ageless(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  oracle_applies(oracle, LAW_AGE_INCREMENTAL);
  for (uint32_t i = 0; i < survey->object_count; i++) {
    const struct survey_object *object = &survey->objects[i];
    if (object->base && object->age != SUBJECT_AGE_NEW &&
        !(object->flags & SUBJECT_OBJECT_FIXED) &&
        !awaits_sweep(oracle, object))
      return accuse(oracle, LAW_AGE_INCREMENTAL, i,
                    "should have no age: cycles are incremental");
  }
  return true;
}

bool
check_ages(struct oracle *oracle)
{
  if (!oracle->subject->traits->ages)
    return true;
  return oracle->survey.heap.by_age ? check_at_rest(oracle)
                                    : check_ageless(oracle);
}

/* ---- references ------------------------------------------------------ */

/* The ages that a parent may not refer to by a strong edge. Of an old0 one it
 * is the colour that counts: its children have been marked. */
static unsigned
forbidden(const struct survey_object *parent)
{
  if (!parent->base || parent->colour != SUBJECT_BLACK ||
      parent->kind == SUBJECT_KIND_THREAD ||
      parent->flags & SUBJECT_OBJECT_OPEN)
    return 0;
  switch ((enum subject_age)parent->age) {
  case SUBJECT_AGE_OLD:
    return YOUNG;
  case SUBJECT_AGE_OLD1:
  case SUBJECT_AGE_TOUCHED2:
    return AGE(NEW);
  case SUBJECT_AGE_OLD0:
    return YOUNG;
  default:
    return 0;
  }
}

static bool
accuse_edge(struct oracle *oracle, uint32_t parent,
            const struct subject_edge *edge, uint32_t child)
{
  uint8_t age = oracle->survey.objects[parent].age;
  enum law law =
      age == SUBJECT_AGE_OLD ? LAW_OLD_TO_YOUNG : LAW_RECENT_TO_NEW;
  if (!explain_begin(oracle, law))
    return true;
  explain_say(oracle, "black ");
  explain_aged(oracle, parent);
  explain_say(oracle, " refers to ");
  explain_aged(oracle, child);
  explain_say(oracle, ": ");
  explain_place(oracle, parent, edge);
  explain_say(oracle, " is not seen by the collections that would keep it");
  explain_end(oracle);
  return false;
}

static bool
judge_end(struct oracle *oracle, uint32_t parent, unsigned ages,
          const struct subject_edge *edge, struct subject_value end)
{
  uint32_t child;
  if (end.tag != SUBJECT_OBJECT || !survey_find(oracle, end.bits, &child))
    return true;
  const struct survey_object *object = &oracle->survey.objects[child];
  bool by_colour = oracle->survey.objects[parent].age == SUBJECT_AGE_OLD0;
  bool is_suspect = ages >> object->age & 1 &&
                    !(object->flags & SUBJECT_OBJECT_FIXED) &&
                    !(by_colour && object->colour > SUBJECT_WHITE_OTHER);
  return !is_suspect || accuse_edge(oracle, parent, edge, child);
}

bool
check_age_edges(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  if (!survey->heap.by_age || !oracle->subject->traits->ages ||
      !oracle->able[LAW_OLD_TO_YOUNG])
    return true;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    const struct survey_object *parent = &survey->objects[i];
    unsigned ages = forbidden(parent);
    if (!ages)
      continue;
    oracle_applies(oracle, parent->age == SUBJECT_AGE_OLD ? LAW_OLD_TO_YOUNG
                                                          : LAW_RECENT_TO_NEW);
    for (uint32_t at = parent[0].first; at < parent[1].first; at++) {
      const struct subject_edge *edge = &survey->edges[at];
      if (edge->value_strength == SUBJECT_STRONG &&
          !judge_end(oracle, i, ages, edge, edge->value))
        return false;
      if (edge->key_strength == SUBJECT_STRONG &&
          !judge_end(oracle, i, ages, edge, edge->key))
        return false;
    }
  }
  return true;
}

/* ---- events ---------------------------------------------------------- */

/* Inside a collection, and in none of its finalizers; but these may be in
 * need of a collection themselves. */
static bool
is_collecting(const struct oracle *oracle)
{
  return oracle->step.depth &&
         (!oracle_is_finalizing(oracle) || check_is_emergency(oracle));
}

/* Collections that change the kind of cycle make all that lives new, or old. */
static bool
is_legal_age(const struct oracle *oracle, const struct subject_event *event)
{
  const struct oracle_ages *ages = &oracle->ages;
  const uint8_t *table = is_collecting(oracle) ? by_minor : by_barrier;
  if (event->from >= SUBJECT_AGE_COUNT || event->to >= SUBJECT_AGE_COUNT)
    return false;
  if (event->from == event->to)
    return true;
  if (ages->mode != OP_MODE_GENERATIONAL)
    return ages->is_changing && event->to == SUBJECT_AGE_NEW;
  if (ages->is_changing && is_collecting(oracle))
    return event->to == SUBJECT_AGE_OLD;
  if (oracle->phase == SUBJECT_PHASE_ATOMIC && event->to == SUBJECT_AGE_OLD0)
    table = by_barrier;
  return table[event->from] >> event->to & 1;
}

static void
accuse_change(struct oracle *oracle, const struct subject_event *event,
              uint8_t before)
{
  if (!explain_begin(oracle, LAW_AGE_CHANGE))
    return;
  explain_object(oracle, event->base);
  explain_say(oracle, " turned from %s to %s", oracle_age_text(event->from),
              oracle_age_text(event->to));
  if (before != event->from)
    explain_say(oracle, ", though it was %s", oracle_age_text(before));
  else if (oracle->ages.mode != OP_MODE_GENERATIONAL)
    explain_say(oracle, " in an incremental cycle");
  else
    explain_say(oracle, is_collecting(oracle) ? " in a collection"
                                              : " by a barrier");
  explain_end(oracle);
}

static void
on_aged(struct oracle *oracle, const struct subject_event *event)
{
  uint32_t block = blocks_find(&oracle->blocks, event->base);
  struct block *record = &oracle->blocks.records[block];
  uint8_t before = block ? record->age : event->from;
  if (block) {
    record->age = event->to;
    record->aged = oracle->ages.collection;
  }
  if (oracle->stage != ORACLE_RUNNING || !oracle->subject->traits->ages ||
      !oracle_applies(oracle, LAW_AGE_CHANGE))
    return;
  if (before != event->from || !is_legal_age(oracle, event))
    accuse_change(oracle, event, before);
}

static void
on_death(struct oracle *oracle, const struct subject_event *event)
{
  uint32_t block = blocks_find(&oracle->blocks, event->base);
  uint8_t age = oracle->blocks.records[block].age;
  if (!block || oracle->stage != ORACLE_RUNNING ||
      oracle->ages.mode != OP_MODE_GENERATIONAL ||
      !oracle->subject->traits->ages ||
      !oracle_applies(oracle, LAW_MINOR_FREES_OLD) || is_young(age) ||
      !explain_begin(oracle, LAW_MINOR_FREES_OLD))
    return;
  explain_say(oracle, "%s ", oracle_age_text(age));
  explain_object(oracle, event->base);
  explain_say(oracle, " was freed by a minor collection");
  explain_end(oracle);
}

static void
on_step_begin(struct oracle *oracle)
{
  struct oracle_ages *ages = &oracle->ages;
  if (ages->mode != OP_MODE_GENERATIONAL)
    return;
  ages->collection += 1;
  ages->number = oracle->blocks.number;
  ages->is_marked = false;
}

void
check_age_event(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_ages *ages = &oracle->ages;
  uint32_t block;
  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_MODE:
    ages->is_changing = event->to != ages->mode;
    ages->mode = event->to;
    break;
  case SUBJECT_EVENT_STEP_END:
    ages->is_changing = false;
    break;
  case SUBJECT_EVENT_STEP_BEGIN:
    on_step_begin(oracle);
    break;
  case SUBJECT_EVENT_PHASE:
    if (event->to == SUBJECT_PHASE_ATOMIC && oracle->step.depth)
      ages->is_marked = true;
    break;
  case SUBJECT_EVENT_RECOLOURED:
    block = blocks_find(&oracle->blocks, event->base);
    if (block && event->to >= SUBJECT_GREY && !is_collecting(oracle))
      oracle->blocks.records[block].darkened = ages->collection;
    break;
  case SUBJECT_EVENT_BIRTH:
  case SUBJECT_EVENT_RELISTED:
    /* Known only where each further change of lists is told, too. */
    block = blocks_find(&oracle->blocks, event->base);
    if (block && oracle->subject->capabilities & SUBJECT_CAN_EVENTS)
      oracle->blocks.records[block].joined = ages->collection;
    break;
  case SUBJECT_EVENT_AGED:
    on_aged(oracle, event);
    break;
  case SUBJECT_EVENT_DEATH:
    on_death(oracle, event);
    break;
  default:
    break;
  }
}
