/* SPDX-License-Identifier: MIT
 *
 * See view.h.
 */
#include "oracle/view.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/shadow_internal.h"
#include "oracle/state.h"

/* ---- entries that may go --------------------------------------------- */

static bool
is_lost(const struct oracle_firm *firm, struct shadow_value value)
{
  return shadow_is_collectable(value) &&
         (value.bits >= firm->count || !firm->marks[value.bits]);
}

/* weak: OP_WEAK_* of the table. */
static bool
is_loose(const struct oracle_firm *firm, int32_t weak, struct shadow_value key,
         struct shadow_value value)
{
  return ((weak & OP_WEAK_KEYS) && is_lost(firm, key)) ||
         ((weak & OP_WEAK_VALUES) && is_lost(firm, value));
}

bool
oracle_is_loose(const struct oracle *oracle, const struct oracle_firm *firm,
                uint32_t table, struct shadow_value key,
                struct shadow_value value)
{
  return is_loose(firm, shadow_weakness(oracle->shadow, table), key, value);
}

struct search {
  const struct oracle_firm *firm;
  int32_t weak;
  bool found;
};

static bool
look(void *user, uint8_t label, struct shadow_value key,
     struct shadow_value value)
{
  struct search *search = user;
  search->found = label == SUBJECT_LABEL_ENTRY &&
                  is_loose(search->firm, search->weak, key, value);
  return !search->found;
}

bool
oracle_has_loose(const struct oracle *oracle, const struct oracle_firm *firm,
                 uint32_t table)
{
  struct search search = {.firm = firm,
                          .weak = shadow_weakness(oracle->shadow, table)};
  if (search.weak != OP_WEAK_NONE)
    shadow_visit(oracle->shadow, table, look, &search);
  return search.found;
}

/* ---- what is firm ---------------------------------------------------- */

struct walk {
  struct oracle_firm *firm;
  uint32_t queued;
  int32_t weak; /* of the table that is visited */
};

static void
meet(struct walk *walk, struct shadow_value value)
{
  struct oracle_firm *firm = walk->firm;
  if (!is_lost(firm, value) || value.bits >= firm->count)
    return;
  firm->marks[value.bits] = 1;
  firm->queue[walk->queued++] = (uint32_t)value.bits;
}

static bool
follow(void *user, uint8_t label, struct shadow_value key,
       struct shadow_value value)
{
  struct walk *walk = user;
  bool is_entry = label == SUBJECT_LABEL_ENTRY;
  if (is_entry && is_loose(walk->firm, walk->weak, key, value))
    return true;
  if (is_entry)
    meet(walk, key);
  meet(walk, value);
  return true;
}

static void
visit(const struct oracle *oracle, struct walk *walk, uint32_t node)
{
  walk->weak = shadow_weakness(oracle->shadow, node);
  shadow_visit(oracle->shadow, node, follow, walk);
}

/* Weak tables are visited again until no entry leads on any more. */
static void
walk_all(const struct oracle *oracle, struct oracle_firm *firm)
{
  struct walk walk = {.firm = firm};
  uint32_t next = 0, before;
  memset(firm->marks, 0, firm->count);
  meet(&walk, (struct shadow_value){SHADOW_ROOT, SHADOW_NODE});
  do {
    before = walk.queued;
    while (next < walk.queued)
      visit(oracle, &walk, firm->queue[next++]);
    for (uint32_t i = 0; i < next; i++)
      if (shadow_weakness(oracle->shadow, firm->queue[i]) != OP_WEAK_NONE)
        visit(oracle, &walk, firm->queue[i]);
  } while (walk.queued > before);
}

bool
oracle_firm_take(const struct oracle *oracle, struct oracle_firm *firm)
{
  uint32_t count = shadow_node_count(oracle->shadow);
  if (count > firm->capacity) {
    uint8_t *marks = realloc(firm->marks, (size_t)2 * count);
    if (marks)
      firm->marks = marks;
    uint32_t *queue =
        realloc(firm->queue, (size_t)2 * count * sizeof *firm->queue);
    if (queue)
      firm->queue = queue;
    if (!marks || !queue)
      return false;
    firm->capacity = 2 * count;
  }
  firm->count = count;
  if (oracle->shadow->mode_count > 0) {
    walk_all(oracle, firm);
    return true;
  }
  shadow_reach(oracle->shadow);
  for (uint32_t node = 0; node < count; node++)
    firm->marks[node] = shadow_is_reachable(oracle->shadow, node);
  return true;
}

void
oracle_firm_done(struct oracle_firm *firm)
{
  free(firm->marks);
  free(firm->queue);
}

/* ---- nodes ----------------------------------------------------------- */

static void
view_object(const struct oracle *oracle, const struct oracle_firm *firm,
            uint32_t object, uint32_t node, struct oracle_view *view)
{
  const struct survey *survey = &oracle->survey;
  const struct survey_object *it = &survey->objects[object];
  int32_t weak = shadow_weakness(oracle->shadow, node);
  view->flags |= ORACLE_VIEW_SHOWN;
  view->kind = it->kind;
  view->colour = it->colour;
  view->age = it->age;
  for (uint32_t at = it[0].first; at < it[1].first; at++) {
    const struct subject_edge *edge = &survey->edges[at];
    if (!(bind_labels[edge->label] & BIND_COUNTED))
      continue;
    struct shadow_value key = bind_key(oracle, edge);
    struct shadow_value value = bind_value(oracle, edge);
    uint64_t hash = shadow_hash(edge->label, key, value);
    if (edge->label == SUBJECT_LABEL_ENTRY && is_loose(firm, weak, key, value))
      view->loose += hash;
    else
      view->firm += hash;
  }
}

void
oracle_view(const struct oracle *oracle, const struct oracle_firm *firm,
            struct oracle_view *ret_views)
{
  const struct survey *survey = &oracle->survey;
  memset(ret_views, 0, firm->count * sizeof *ret_views);
  for (uint32_t node = 0; node < firm->count; node++)
    if (firm->marks[node])
      ret_views[node].flags |= ORACLE_VIEW_FIRM;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (node != BIND_NO_NODE && node < firm->count)
      view_object(oracle, firm, i, node, &ret_views[node]);
  }
}

/* ---- values ---------------------------------------------------------- */

struct shadow_value
oracle_translate(const struct oracle *oracle, struct subject_value value)
{
  return bind_translate(oracle, value);
}

struct shadow_value
oracle_register(const struct oracle *oracle, int32_t reg)
{
  return shadow_register(oracle->shadow, reg);
}

uint32_t
oracle_finalizing(const struct oracle *oracle)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  if (!it->depth || it->running[it->depth - 1].node == BIND_NO_NODE)
    return SHADOW_ROOT;
  return it->running[it->depth - 1].node;
}
