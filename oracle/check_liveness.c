/* SPDX-License-Identifier: MIT
 *
 * What a full collection leaves, and a minor one, judged in the survey after
 * it.
 *
 *   liveness.garbage: what is held neither before nor after a full collection
 *     is freed in it, or in the n-th one [T];
 *   liveness.finalizer: what is unreachable before and after a full collection
 *     has its finalizer called in it, or in the n-th one [T], if it was owed;
 *     no full or minor collection leaves an object that waits for the call [T];
 *   liveness.finalized: what is held no more since its finalizer was called is
 *     freed in the next full collection, or in the n-th one after it [T];
 *   liveness.minor: what is held neither before nor after a minor collection
 *     and is new or survival is freed in it, unless something old refers to it,
 *     or something that a barrier had marked;
 *   weak.not-removed: after a full collection no table has an entry of which a
 *     weak side is not held. That is looked for where something else was not
 *     freed: the entry may be the reason.
 *
 * What is not held will never be again: only finalizers bring anything back,
 * and what they reach is held. So a collection is counted to each object that
 * it should have freed.
 *
 * Objects that stand for no node (strings, upvalues, prototypes) are judged by
 * the survey alone: each is reachable from the root, from an object that may
 * stay, from a fixed one or one born in the operation. They are let be where a
 * finalizer has run, for it may just have dropped them, and where a pair went
 * from a weak table: its other side, if a string, was held until then.
 */
#include "oracle/check.h"

#include <string.h>

#include "oracle/explain.h"
#include "oracle/state.h"

/* ---- nodes ----------------------------------------------------------- */

static bool
is_held(const struct oracle *oracle, uint32_t node)
{
  return shadow_was_held(oracle->shadow, node) ||
         shadow_is_held(oracle->shadow, node);
}

static bool
is_newborn(const struct oracle *oracle, const struct survey_object *object)
{
  return object->number > oracle->number_before;
}

/* Owed since before the operation, and dead all the time: not marked again by
 * its finalizer in it. */
static bool
is_overdue(const struct oracle *oracle, uint32_t node, uint32_t block)
{
  const struct block *record = &oracle->blocks.records[block];
  return !shadow_was_reachable(oracle->shadow, node) &&
         !shadow_is_reachable(oracle->shadow, node) &&
         record->number <= oracle->number_before &&
         record->call <= oracle->finalizers.calls_before;
}

/* A weak side of an entry that should have gone. */
static bool
is_kept(const struct oracle *oracle, struct shadow_value value, bool is_weak)
{
  if (!is_weak || !shadow_is_collectable(value))
    return false;
  uint32_t node = (uint32_t)value.bits;
  uint32_t block = bind_block(&oracle->binding, node);
  if (shadow_marking(oracle->shadow, node))
    return is_overdue(oracle, node, block);
  return oracle->blocks.records[block].number <= oracle->number_before &&
         !is_held(oracle, node);
}

static bool
accuse_entry(struct oracle *oracle, uint32_t object, int32_t weak)
{
  const struct survey *survey = &oracle->survey;
  const struct survey_object *table = &survey->objects[object];
  for (uint32_t at = table[0].first; at < table[1].first; at++) {
    const struct subject_edge *edge = &survey->edges[at];
    bool is_entry =
        edge->label == SUBJECT_LABEL_ENTRY &&
        (is_kept(oracle, bind_key(oracle, edge), weak & OP_WEAK_KEYS) ||
         is_kept(oracle, bind_value(oracle, edge), weak & OP_WEAK_VALUES));
    if (!is_entry || !explain_begin(oracle, LAW_WEAK_NOT_REMOVED))
      continue;
    explain_place(oracle, object, edge);
    explain_say(oracle, " outlived a full collection with ");
    explain_value(oracle, edge->value);
    explain_say(oracle, ", and a weak side of it is unreachable");
    explain_end(oracle);
    return false;
  }
  return true;
}

/* Something was not freed: a weak table may have held it. */
static bool
judge_entries(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (node == BIND_NO_NODE || survey->objects[i].kind != SUBJECT_KIND_TABLE ||
        !is_held(oracle, node))
      continue;
    int32_t weak = shadow_weakness(oracle->shadow, node);
    if (weak != OP_WEAK_NONE && !accuse_entry(oracle, i, weak))
      return false;
  }
  return true;
}

/* Where a cycle that was given up has met a closure over an open upvalue, the
 * next one takes that as met [T]: what it has is kept once more though closure
 * and coroutine are dead. */
static bool
may_linger(const struct oracle *oracle, uint32_t node)
{
  return oracle->subject->traits->upvalues_linger &&
         shadow_is_behind_upvalue(oracle->shadow, node);
}

/* Whether it is owed a finalizer, or something is that leads to it, is in
 * doubt: it is let live as long as if it were. */
static bool
may_be_owed(const struct oracle *oracle, uint32_t node, uint32_t survived)
{
  const struct subject_traits *traits = oracle->subject->traits;
  return !oracle_is_told(oracle) &&
         survived < traits->cycles_finalizer + traits->cycles_finalized &&
         shadow_is_behind_doubt(oracle->shadow, node);
}

static bool
judge_node(struct oracle *oracle, uint32_t object, uint32_t node)
{
  const struct subject_traits *traits = oracle->subject->traits;
  const struct survey_object *shown = &oracle->survey.objects[object];
  struct block *record = &oracle->blocks.records[shown->block];
  uint8_t cycles =
      record->call ? traits->cycles_finalized : traits->cycles_plain;
  enum law law = record->call ? LAW_LIVENESS_FINALIZED : LAW_LIVENESS_GARBAGE;
  if (is_held(oracle, node))
    record->survived = 0;
  if (is_newborn(oracle, shown) || is_held(oracle, node))
    return true;
  record->survived += 1;
  if (record->survived < cycles ||
      (record->survived == cycles && may_linger(oracle, node)) ||
      may_be_owed(oracle, node, record->survived))
    return true;
  if (!judge_entries(oracle))
    return false;
  if (!explain_begin(oracle, law))
    return true;
  explain_surveyed(oracle, object);
  explain_say(oracle, record->call ? " has been finalized, is unreachable and "
                                   : " is unreachable and ");
  if (cycles > 1)
    explain_say(oracle, "was not freed by %u full collections", cycles);
  else
    explain_say(oracle, "was not freed by a full collection");
  explain_end(oracle);
  return false;
}

static bool
judge_nodes(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  if (oracle->had_old_modes)
    return true;
  oracle_applies(oracle, LAW_LIVENESS_GARBAGE);
  if (oracle->finalizers.calls_before)
    oracle_applies(oracle, LAW_LIVENESS_FINALIZED);
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (node != BIND_NO_NODE && !judge_node(oracle, i, node))
      return false;
  }
  return true;
}

/* ---- the rest -------------------------------------------------------- */

/* The collections were minor ones: they leave what is old, dead or not, and
 * what that refers to. */
static bool
is_minor(const struct oracle *oracle)
{
  return oracle->op.code == OP_MINOR;
}

/* A barrier has marked it since the collection before the last one. */
static bool
was_marked(const struct oracle *oracle, const struct survey_object *object)
{
  return oracle->blocks.records[object->block].darkened + 1 >=
         oracle->ages.collection;
}

/* Whether what the object refers to may stay. */
static bool
may_stay(const struct oracle *oracle, uint32_t index)
{
  const struct survey_object *object = &oracle->survey.objects[index];
  uint32_t node = oracle_node(oracle, index);
  if (!object->base || is_newborn(oracle, object) ||
      object->flags & (SUBJECT_OBJECT_FIXED | SUBJECT_OBJECT_MARKED) ||
      object->list == SUBJECT_LIST_PENDING)
    return true;
  if (is_minor(oracle) &&
      (object->age > SUBJECT_AGE_SURVIVAL || was_marked(oracle, object)))
    return true;
  return node != BIND_NO_NODE && (!is_minor(oracle) || is_held(oracle, node));
}

static bool
holds(uint8_t strength)
{
  return strength != SUBJECT_WEAK && strength != SUBJECT_LOOSE;
}

static uint32_t
push(struct oracle *oracle, struct subject_value value, uint32_t count)
{
  struct survey *survey = &oracle->survey;
  uint32_t index;
  if (value.tag != SUBJECT_OBJECT || !survey_find(oracle, value.bits, &index) ||
      survey->reached[index])
    return count;
  survey->reached[index] = 1;
  survey->queue[count] = index;
  return count + 1;
}

/* Which objects the edges, but the weak ones, of those that may stay lead
 * to. */
static void
reach_stayers(struct oracle *oracle)
{
  struct survey *survey = &oracle->survey;
  uint32_t count = 0;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    survey->reached[i] = may_stay(oracle, i);
    if (survey->reached[i])
      survey->queue[count++] = i;
  }
  for (uint32_t next = 0; next < count; next++) {
    const struct survey_object *object = &survey->objects[survey->queue[next]];
    for (uint32_t at = object[0].first; at < object[1].first; at++) {
      const struct subject_edge *edge = &survey->edges[at];
      if (holds(edge->value_strength))
        count = push(oracle, edge->value, count);
      if (holds(edge->key_strength))
        count = push(oracle, edge->key, count);
    }
  }
}

static bool
accuse_rest(struct oracle *oracle, enum law law, uint32_t object,
            const char *what)
{
  if (!explain_begin(oracle, law))
    return true;
  explain_surveyed(oracle, object);
  explain_say(oracle, " is unreachable and was not freed by %s", what);
  explain_end(oracle);
  return false;
}

static bool
judge_rest(struct oracle *oracle)
{
  struct survey *survey = &oracle->survey;
  const struct subject_traits *traits = oracle->subject->traits;
  uint8_t cycles =
      (uint8_t)(traits->cycles_plain + traits->upvalues_linger);
  reach_stayers(oracle);
  for (uint32_t i = 0; i < survey->object_count; i++) {
    struct block *record = &oracle->blocks.records[survey->objects[i].block];
    if (survey->reached[i])
      continue;
    if (is_minor(oracle) && !oracle->subject->traits->ages &&
        survey->objects[i].flags & SUBJECT_OBJECT_OPEN)
      continue; /* of a coroutine that minor collections do not sweep */
    if (is_minor(oracle))
      return accuse_rest(oracle, LAW_LIVENESS_MINOR, i, "a minor collection");
    record->survived += 1;
    if (record->survived >= cycles &&
        !accuse_rest(oracle, LAW_LIVENESS_GARBAGE, i, "a full collection"))
      return false;
  }
  return true;
}

/* ---- finalizers ------------------------------------------------------ */

/* What waited already when the collection began is a root of it: what only
 * that reaches is found dead by the next one, but itself it is called. Where
 * memory was refused, calls may have been put off for want of room. */
static bool
judge_owed(struct oracle *oracle)
{
  const uint32_t *ids;
  uint32_t count = shadow_owed(oracle->shadow, &ids);
  if (oracle->refused)
    return true;
  if (count || oracle->finalizers.calls > oracle->finalizers.calls_before)
    oracle_applies(oracle, LAW_LIVENESS_FINALIZER);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t block = bind_block(&oracle->binding, ids[i]);
    struct block *record = &oracle->blocks.records[block];
    if (!block || !is_overdue(oracle, ids[i], block) ||
        (oracle->finalizers.waited && !check_has_waited(oracle, ids[i])))
      continue;
    uint8_t cycles = oracle->subject->traits->cycles_finalizer;
    record->waited += 1;
    if (record->waited < cycles ||
        (record->waited == cycles && may_linger(oracle, ids[i])))
      continue;
    if (!judge_entries(oracle))
      return false;
    if (!explain_begin(oracle, LAW_LIVENESS_FINALIZER))
      continue;
    explain_node(oracle, ids[i]);
    explain_say(oracle, " is unreachable, and its finalizer was not called by "
                        "a full collection");
    explain_end(oracle);
    return false;
  }
  return true;
}

/* What waits when a collection is over would wait for the next one. Where
 * memory was refused there may have been no room for the calls. */
static bool
judge_pending(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  if (oracle->refused || !oracle->subject->traits->errors_contained)
    return true;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    if (!survey->objects[i].base ||
        survey->objects[i].list != SUBJECT_LIST_PENDING)
      continue;
    if (!explain_begin(oracle, LAW_LIVENESS_FINALIZER))
      return true;
    explain_surveyed(oracle, i);
    explain_say(oracle, " still waits for its finalizer though the collection "
                        "is over");
    explain_end(oracle);
    return false;
  }
  return true;
}

bool
check_liveness(struct oracle *oracle)
{
  const struct oracle_finalizers *finalizers = &oracle->finalizers;
  bool has_dropped =
      finalizers->calls > finalizers->calls_before || oracle->has_cleared;
  bool is_judged = oracle->survey.heap.by_age && oracle->pace.marks;
  if (is_judged && !judge_pending(oracle))
    return false;
  if (!oracle->collected)
    return true;
  oracle->collected = false;
  shadow_reach(oracle->shadow);
  if (is_minor(oracle))
    return has_dropped || !oracle->survey.heap.by_age ||
           !oracle_applies(oracle, LAW_LIVENESS_MINOR) || judge_rest(oracle);
  return judge_owed(oracle) && (is_judged || judge_pending(oracle)) &&
         judge_nodes(oracle) && (has_dropped || judge_rest(oracle));
}
