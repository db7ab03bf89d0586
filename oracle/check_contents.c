/* SPDX-License-Identifier: MIT
 *
 * safety.contents: between operations each object holds what the operations
 * stored in it, and nothing else. safety.identity: a shadow node and an
 * object, once bound, meet each other only, and are of one kind.
 *
 * Contents are compared by sums; only where two sums differ is the edge looked
 * for by which they do. Only what is held is judged: what neither the mutator
 * nor a finalizer can reach may be in any state. Each reachable node must have
 * an object.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

/* What a walk over the shadow's edges looks for: one that no surveyed edge
 * answers to. */
struct missing {
  const struct oracle *oracle;
  uint32_t object;
  bool found;
  uint8_t label;
  struct shadow_value key, value;
};

static bool
is_same(struct shadow_value a, struct shadow_value b)
{
  return a.tag == b.tag && a.bits == b.bits;
}

/* A refused allocation may fail its operation, but may not lose anything. */
static enum law
law_of_contents(const struct oracle *oracle)
{
  return oracle->refused ? LAW_FAILED_OP : LAW_CONTENTS;
}

static void
say_if_refused(struct oracle *oracle)
{
  if (oracle->refused)
    explain_say(oracle, "after an allocation was refused, ");
}

/* An object and a node that do not belong together meet, and one of them is
 * not bound: they were taken for each other. If both are bound elsewhere, a
 * wrong value was stored. */
static bool
is_confusion(const struct oracle *oracle, struct subject_value shown,
             struct shadow_value there)
{
  if (shown.tag != SUBJECT_OBJECT || there.tag != SHADOW_NODE)
    return false;
  uint32_t block = blocks_find(&oracle->blocks, shown.bits);
  uint8_t tag = oracle->blocks.views[block].tag;
  if (tag == SHADOW_STRING)
    return false;
  return tag != SHADOW_NODE ||
         !bind_block(&oracle->binding, (uint32_t)there.bits);
}

/* Whether the surveyed edge differs from the shadow's; accuses then. */
static bool
judge_edge(struct oracle *oracle, uint32_t object, uint32_t node,
           const struct subject_edge *edge)
{
  struct shadow_value key = bind_key(oracle, edge);
  struct shadow_value value = bind_value(oracle, edge);
  struct shadow_value there = {0, SUBJECT_NIL};
  if (!(bind_labels[edge->label] & BIND_COUNTED) || value.tag == SUBJECT_NIL)
    return true;
  shadow_lookup(oracle->shadow, node, edge->label, key, &there);
  if (is_same(value, there))
    return true;
  if (!check_half(oracle, object, edge))
    return false;
  struct subject_value shown = bind_behind(oracle, edge);
  bool is_confused = is_confusion(oracle, shown, there);
  if (!explain_begin(oracle,
                     is_confused ? LAW_IDENTITY : law_of_contents(oracle)))
    return true;
  say_if_refused(oracle);
  explain_place(oracle, object, edge);
  explain_say(oracle, " holds ");
  explain_value(oracle, shown);
  explain_say(oracle, ", the shadow says ");
  explain_shadow_value(oracle, there);
  explain_end(oracle);
  return false;
}

static bool
is_shown(void *user, uint8_t label, struct shadow_value key,
         struct shadow_value value)
{
  struct missing *missing = user;
  const struct survey *survey = &missing->oracle->survey;
  const struct survey_object *object = &survey->objects[missing->object];
  for (uint32_t at = object[0].first; at < object[1].first; at++) {
    const struct subject_edge *edge = &survey->edges[at];
    if (edge->label == label && is_same(bind_key(missing->oracle, edge), key) &&
        is_same(bind_value(missing->oracle, edge), value))
      return true;
  }
  missing->found = true;
  missing->label = label;
  missing->key = key;
  missing->value = value;
  return false;
}

/* All edges shown are right: one is missing, or shown twice. */
static bool
judge_missing(struct oracle *oracle, uint32_t object, uint32_t node)
{
  struct missing missing = {.oracle = oracle, .object = object};
  enum law law = law_of_contents(oracle);
  shadow_visit(oracle->shadow, node, is_shown, &missing);
  if (missing.found && missing.label == SUBJECT_LABEL_ENTRY &&
      law == LAW_CONTENTS && shadow_weakness(oracle->shadow, node))
    law = LAW_WEAK_REMOVED_LIVE;
  if (!explain_begin(oracle, law))
    return true;
  say_if_refused(oracle);
  if (missing.found) {
    explain_shadow_place(oracle, object, missing.label, missing.key);
    explain_say(oracle, " holds nil, the shadow says ");
    explain_shadow_value(oracle, missing.value);
  } else {
    explain_surveyed(oracle, object);
    explain_say(oracle, " shows one of its contents twice");
  }
  explain_end(oracle);
  return false;
}

/* A bound object is shown as one of another kind than before. */
static bool
judge_kind(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  const struct odd_place *odd = &survey->oddities[ODDITY_KIND];
  if (!(survey->odd >> ODDITY_KIND & 1) || !explain_begin(oracle, LAW_IDENTITY))
    return true;
  explain_surveyed(oracle, odd->object);
  explain_say(oracle, " was a %s before", oracle_kind_text((uint8_t)odd->a));
  explain_end(oracle);
  return false;
}

/* What only a finalizer can reach and is taken for dead. Of a dead object no
 * contents are shown. */
static bool
judge_held_dead(struct oracle *oracle, uint32_t object, uint32_t node)
{
  if (!shadow_marking(oracle->shadow, node) ||
      !explain_begin(oracle, LAW_FINALIZERS_SAME_CYCLE))
    return true;
  explain_surveyed(oracle, object);
  explain_say(oracle, " is dead before its finalizer is called");
  explain_end(oracle);
  return false;
}

static bool
is_dead(const struct oracle *oracle, const struct survey_object *object)
{
  return oracle->subject->capabilities & SUBJECT_CAN_COLOUR &&
         object->colour == SUBJECT_WHITE_OTHER &&
         !(object->flags & SUBJECT_OBJECT_FIXED);
}

static bool
judge_object(struct oracle *oracle, uint32_t object, uint32_t node)
{
  const struct survey *survey = &oracle->survey;
  if (is_dead(oracle, &survey->objects[object]) &&
      !shadow_is_reachable(oracle->shadow, node))
    return judge_held_dead(oracle, object, node);
  if (survey->objects[object].sum == shadow_sum(oracle->shadow, node))
    return true;
  for (uint32_t at = survey->objects[object].first;
       at < survey->objects[object + 1].first; at++)
    if (!judge_edge(oracle, object, node, &survey->edges[at]))
      return false;
  return judge_missing(oracle, object, node);
}

/* Fewer objects than reachable nodes: accuses for the first that has none. */
static bool
judge_absent(struct oracle *oracle)
{
  uint32_t count = shadow_node_count(oracle->shadow);
  for (uint32_t node = SHADOW_ROOT + 1; node < count; node++) {
    uint32_t block = bind_block(&oracle->binding, node);
    bool is_there =
        block && oracle->blocks.views[block].survey == oracle->survey.stamp;
    if (is_there || !shadow_is_reachable(oracle->shadow, node))
      continue;
    if (!explain_begin(oracle, law_of_contents(oracle)))
      return true;
    say_if_refused(oracle);
    explain_say(oracle, "no object is found for ");
    explain_node(oracle, node);
    explain_path(oracle, ", which is", node);
    explain_end(oracle);
    return false;
  }
  return true;
}

bool
check_contents(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  uint32_t reachable = shadow_reach(oracle->shadow);
  uint32_t met = 0;
  if (!judge_kind(oracle))
    return false;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (node == BIND_NO_NODE || !shadow_is_held(oracle->shadow, node))
      continue;
    met += shadow_is_reachable(oracle->shadow, node);
    if (!judge_object(oracle, i, node))
      return false;
  }
  oracle_applies(oracle, LAW_CONTENTS);
  if (oracle->has_cleared)
    oracle_applies(oracle, LAW_WEAK_HALF_REMOVED);
  if (met > 1)
    oracle_applies(oracle, LAW_IDENTITY);
  return met == reachable || judge_absent(oracle);
}
