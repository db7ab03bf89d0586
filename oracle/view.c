/* SPDX-License-Identifier: MIT
 *
 * See view.h.
 */
#include "oracle/view.h"

#include <string.h>

#include "oracle/shadow_internal.h"
#include "oracle/state.h"

/* ---- entries that may go --------------------------------------------- */

static bool
is_lost(const struct shadow *shadow, struct shadow_value value)
{
  return shadow_is_collectable(value) &&
         !shadow_is_reachable(shadow, (uint32_t)value.bits);
}

/* weak: OP_WEAK_* of the table. */
static bool
is_loose(const struct shadow *shadow, int32_t weak, struct shadow_value key,
         struct shadow_value value)
{
  return ((weak & OP_WEAK_KEYS) && is_lost(shadow, key)) ||
         ((weak & OP_WEAK_VALUES) && is_lost(shadow, value));
}

bool
oracle_is_loose(const struct oracle *oracle, uint32_t table,
                struct shadow_value key, struct shadow_value value)
{
  const struct shadow *shadow = oracle->shadow;
  return is_loose(shadow, shadow_weakness(shadow, table), key, value);
}

struct search {
  const struct shadow *shadow;
  int32_t weak;
  bool found;
};

static bool
look(void *user, uint8_t label, struct shadow_value key,
     struct shadow_value value)
{
  struct search *search = user;
  search->found = label == SUBJECT_LABEL_ENTRY &&
                  is_loose(search->shadow, search->weak, key, value);
  return !search->found;
}

bool
oracle_has_loose(const struct oracle *oracle, uint32_t table)
{
  struct search search = {.shadow = oracle->shadow,
                          .weak = shadow_weakness(oracle->shadow, table)};
  if (search.weak != OP_WEAK_NONE)
    shadow_visit(oracle->shadow, table, look, &search);
  return search.found;
}

/* ---- nodes ----------------------------------------------------------- */

static void
view_object(const struct oracle *oracle, uint32_t object, uint32_t node,
            struct oracle_view *view)
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
    if (edge->label == SUBJECT_LABEL_ENTRY &&
        is_loose(oracle->shadow, weak, key, value))
      view->loose += hash;
    else
      view->firm += hash;
  }
}

void
oracle_view(const struct oracle *oracle, struct oracle_view *ret_views,
            uint32_t count)
{
  const struct survey *survey = &oracle->survey;
  const struct shadow *shadow = oracle->shadow;
  uint32_t known = shadow_node_count(shadow);
  memset(ret_views, 0, count * sizeof *ret_views);
  shadow_reach(oracle->shadow);
  for (uint32_t node = 0; node < known && node < count; node++) {
    if (shadow_is_reachable(shadow, node))
      ret_views[node].flags |= ORACLE_VIEW_REACHABLE;
    if (shadow_marking(shadow, node))
      ret_views[node].flags |= ORACLE_VIEW_OWED;
  }
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (node != BIND_NO_NODE && node < count)
      view_object(oracle, i, node, &ret_views[node]);
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
