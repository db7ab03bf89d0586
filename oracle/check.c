/* SPDX-License-Identifier: MIT
 *
 * Judges a survey, and holds the laws of memory, of the collector's own lists
 * and of strings. The order is that of cause and effect, so that the law that
 * is named is the one that was broken and not one that broke in consequence:
 *
 *   0. the phase is the one that events have told  tricolour.phase-change
 *   1. lists of the collector lead to live blocks  safety.dangling-list
 *   2. what is shown is there, and once            memory.unowned
 *   3. ages, colours and grey lists                ages.*, tricolour.*
 *      whether the collector is stopped            pacing.stopped
 *   4. references                                  safety.dangling,
 *                                                  tricolour.black-to-white,
 *                                                  tricolour.live-to-dead,
 *                                                  ages.old-to-young,
 *                                                  ages.recent-to-new,
 *                                                  weak.not-removed,
 *                                                  weak.ephemeron
 *   5. strings                                     safety.interning,
 *                                                  safety.contents
 *   6. entries that were removed untold            weak.removed-live
 *      identity and contents                       safety.*,
 *                                                  weak.half-removed,
 *                                                  finalizers.same-cycle
 *   7. marks of finalizers                         finalizers.lost, .twice
 *   8. what a collection left                      liveness.*,
 *                                                  weak.not-removed
 *   9. every block is owned; the byte count        memory.*
 *
 * Before 4 objects are bound to the nodes born since the last check. Contents
 * and what follows from them, 6 to 8 and the stop, are judged between
 * operations only.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

static bool
is_odd(const struct survey *survey, enum oddity oddity)
{
  return survey->odd >> oddity & 1;
}

/* ---- 1: the collector's lists ---------------------------------------- */

static bool
check_lists(struct oracle *oracle)
{
  struct survey *survey = &oracle->survey;
  oracle_applies(oracle, LAW_DANGLING_LIST);
  if (is_odd(survey, ODDITY_ENDLESS)) {
    if (is_odd(survey, ODDITY_TWICE) || is_odd(survey, ODDITY_GREY_TWICE) ||
        !explain_begin(oracle, LAW_DANGLING_LIST))
      return true; /* judged as what they are, below */
    explain_say(oracle, "a list of the collector does not end");
  } else if (is_odd(survey, ODDITY_BROKEN)) {
    if (!explain_begin(oracle, LAW_DANGLING_LIST))
      return true;
    explain_say(oracle, "%s leads to ", survey->where);
    explain_object(oracle, survey->oddities[ODDITY_BROKEN].base);
    explain_say(oracle, ", which is no live block");
  } else if (is_odd(survey, ODDITY_GREY_LOST)) {
    if (!explain_begin(oracle, LAW_DANGLING_LIST))
      return true;
    explain_say(oracle, "a grey list leads to ");
    explain_object(oracle, survey->oddities[ODDITY_GREY_LOST].base);
    explain_say(oracle, ", which is no object of the heap");
  } else {
    return true;
  }
  explain_end(oracle);
  return false;
}

/* ---- 2 and 9: blocks ------------------------------------------------- */

static bool
accuse_object_block(struct oracle *oracle, enum oddity oddity)
{
  const struct odd_place *odd = &oracle->survey.oddities[oddity];
  if (!explain_begin(oracle, LAW_UNOWNED))
    return true;
  switch (oddity) {
  case ODDITY_NO_BLOCK:
    explain_object(oracle, odd->base);
    explain_say(oracle, " is shown as an object and is no live block");
    break;
  case ODDITY_SIZE:
    explain_surveyed(oracle, odd->object);
    explain_say(oracle, " claims %llu bytes, its block has %llu",
                (unsigned long long)odd->a, (unsigned long long)odd->b);
    break;
  default:
    explain_object(oracle, oracle->survey.objects[odd->object].base);
    explain_say(oracle, odd->a ? " is an object and a part of "
                               : " is in two lists, or in one twice");
    if (odd->a)
      explain_surveyed(oracle, odd->other);
    break;
  }
  explain_end(oracle);
  return false;
}

static bool
accuse_part(struct oracle *oracle, enum oddity oddity)
{
  const struct odd_place *odd = &oracle->survey.oddities[oddity];
  if (!explain_begin(oracle, LAW_UNOWNED))
    return true;
  explain_surveyed(oracle, odd->object);
  switch (oddity) {
  case ODDITY_PART_LOST:
    explain_say(oracle, " has a part of %llu bytes that is no live block",
                (unsigned long long)odd->a);
    break;
  case ODDITY_PART_SIZE:
    explain_say(oracle, " has a part of %llu bytes, its block has %llu",
                (unsigned long long)odd->a, (unsigned long long)odd->b);
    break;
  default:
    explain_say(oracle, " has a part of %llu bytes that belongs to ",
                (unsigned long long)odd->a);
    explain_surveyed(oracle, odd->other);
    break;
  }
  explain_end(oracle);
  return false;
}

static bool
check_shown(struct oracle *oracle)
{
  static const enum oddity objects[] = {ODDITY_NO_BLOCK, ODDITY_SIZE,
                                        ODDITY_TWICE};
  static const enum oddity parts[] = {ODDITY_PART_LOST, ODDITY_PART_SIZE,
                                      ODDITY_PART_TWICE};
  for (unsigned i = 0; i < sizeof objects / sizeof objects[0]; i++)
    if (is_odd(&oracle->survey, objects[i]) &&
        !accuse_object_block(oracle, objects[i]))
      return false;
  for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (is_odd(&oracle->survey, parts[i]) && !accuse_part(oracle, parts[i]))
      return false;
  return true;
}

/* Inside an operation a block may be on its way to its owner: only those that
 * were there before have to be owned. */
static bool
check_owned(struct oracle *oracle, enum oracle_when when)
{
  const struct survey *survey = &oracle->survey;
  const struct blocks *blocks = &oracle->blocks;
  uint32_t young = when == ORACLE_INSIDE ? oracle->number_before : UINT32_MAX;
  oracle_applies(oracle, LAW_UNOWNED);
  if (survey->block_count == blocks->live_count &&
      survey->bytes == blocks->live_bytes)
    return true;
  for (uint32_t i = 1; i < blocks->used; i++) {
    const struct block *record = &blocks->records[i];
    if (!record->base || record->number > young ||
        blocks->views[i].survey == survey->stamp)
      continue;
    if (!explain_begin(oracle, LAW_UNOWNED))
      return true;
    explain_object(oracle, record->base);
    explain_say(oracle,
                " of %llu bytes belongs to nothing that the subject "
                "shows",
                (unsigned long long)record->size);
    explain_end(oracle);
    return false;
  }
  return true;
}

static bool
check_count(struct oracle *oracle)
{
  uint64_t bytes = oracle->survey.heap.bytes;
  uint64_t live = oracle->blocks.live_bytes;
  if (!bytes)
    return true; /* it keeps none */
  if (!oracle_applies(oracle, LAW_BYTE_COUNT) || bytes == live ||
      !explain_begin(oracle, LAW_BYTE_COUNT))
    return true;
  explain_say(oracle, "the collector counts %llu bytes, it holds %llu",
              (unsigned long long)bytes, (unsigned long long)live);
  explain_end(oracle);
  return false;
}

/* ---- 5: strings ------------------------------------------------------ */

static bool
check_strings(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  const struct odd_place *odd = &survey->oddities[ODDITY_TWIN];
  if (survey->strings)
    oracle_applies(oracle, LAW_INTERNING);
  if (is_odd(survey, ODDITY_TWIN) && explain_begin(oracle, LAW_INTERNING)) {
    explain_surveyed(oracle, odd->other);
    explain_say(oracle, " and ");
    explain_surveyed(oracle, odd->object);
    explain_say(oracle, " are equal short strings");
    explain_end(oracle);
    return false;
  }
  odd = &survey->oddities[ODDITY_UNINTERNED];
  if (is_odd(survey, ODDITY_UNINTERNED) &&
      explain_begin(oracle, LAW_INTERNING)) {
    explain_surveyed(oracle, odd->object);
    explain_say(oracle, " is a short string that the string table does not "
                        "find");
    explain_end(oracle);
    return false;
  }
  odd = &survey->oddities[ODDITY_BYTES];
  if (is_odd(survey, ODDITY_BYTES) && explain_begin(oracle, LAW_CONTENTS)) {
    explain_surveyed(oracle, odd->object);
    explain_say(oracle, " has changed its bytes, they were ");
    explain_shadow_value(oracle, (struct shadow_value){odd->a, SHADOW_STRING});
    explain_end(oracle);
    return false;
  }
  return true;
}

/* ---- the whole ------------------------------------------------------- */

/* A survey may show a phase that no event has told. */
static bool
check_phase(struct oracle *oracle)
{
  uint8_t phase = oracle->survey.heap.phase;
  uint8_t told = oracle->phase;
  if (!oracle->able[LAW_PHASE_CHANGE]) {
    oracle->phase = phase;
    return true;
  }
  if (phase == told || !explain_begin(oracle, LAW_PHASE_CHANGE))
    return true;
  explain_say(oracle, "the phase is %s, by the events it is %s",
              oracle_phase_text(phase), oracle_phase_text(told));
  explain_end(oracle);
  return false;
}

static void
count_survey(struct oracle *oracle)
{
  oracle->stats.checks += 1;
  oracle->stats.objects += oracle->survey.object_count;
  oracle->stats.edges += oracle->survey.edge_count;
  if (oracle->survey.heap.phase < SUBJECT_PHASE_COUNT)
    oracle->stats.phase[oracle->survey.heap.phase] += 1;
  tally_survey(oracle);
}

void
check_survey(struct oracle *oracle, enum oracle_when when)
{
  bool is_between = when == ORACLE_BETWEEN;
  count_survey(oracle);
  if (!check_phase(oracle) || !check_lists(oracle) || !check_shown(oracle))
    return;
  if (oracle->subject->capabilities & SUBJECT_CAN_COLOUR &&
      (!check_ages(oracle) || !check_colours(oracle)))
    return;
  if (is_between && (!check_stopped(oracle) || !bind_births(oracle)))
    return;
  if (!check_edges(oracle, is_between) || !check_age_edges(oracle) ||
      !check_strings(oracle))
    return;
  check_pending(oracle);
  if (!is_between && !oracle_is_told(oracle) &&
      shadow_has_weak_tables(oracle->shadow))
    check_follow_cleared(oracle);
  if (oracle_is_over(oracle))
    return;
  if (is_between && (!check_weak_tables(oracle) || !check_contents(oracle) ||
                     !check_marked(oracle) || !check_liveness(oracle)))
    return;
  if (check_owned(oracle, when))
    check_count(oracle);
}
