/* SPDX-License-Identifier: MIT
 *
 * What a survey shows of the entries of weak tables.
 *
 *   weak.removed-live: an entry is removed from a table only if a side on which
 *     the table is weak is dead. A subject that sends no events tells of
 *     removed entries by not showing them; the shadow loses them then;
 *   weak.half-removed: an entry is removed as a pair: no table shows one side
 *     of it.
 *
 * What is dead, and what may be back by a finalizer, is as in check_claims.c,
 * which has the same law where events tell of it. That nothing dead stays is
 * judged with the references (check_edges.c).
 */
#include "oracle/check.h"

#include <stdlib.h>

#include "oracle/explain.h"
#include "oracle/state.h"

/* ---- removed entries ------------------------------------------------- */

/* The entries of one table that the survey shows, by hash and sorted; what the
 * shadow has beside them. */
struct shown {
  struct oracle *oracle;
  const uint64_t *hashes;
  uint32_t count, table;
  int32_t weak;  /* OP_WEAK_* */
  bool is_judged; /* else what has to stay is passed over */
};

static int
compare_hashes(const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

bool
check_is_alive_key(const struct oracle *oracle, struct shadow_value key)
{
  const struct shadow *shadow = oracle->shadow;
  uint32_t node = (uint32_t)key.bits;
  if (!shadow_is_collectable(key))
    return true;
  return shadow_kind(shadow, node) == SUBJECT_KIND_CDATA
             ? shadow_stayed_reachable(shadow, node)
             : shadow_stayed_held(shadow, node);
}

/* Once a userdata has been found dead it leaves the values of weak tables [T],
 * also of those whose keys alone are weak. */
static bool
is_dropped(const struct oracle *oracle, struct shadow_value value)
{
  const struct shadow *shadow = oracle->shadow;
  uint32_t node = (uint32_t)value.bits;
  return oracle->subject->traits->drops_finalized &&
         shadow_is_collectable(value) &&
         shadow_kind(shadow, node) == SUBJECT_KIND_USERDATA &&
         shadow_has_lapsed(shadow, node);
}

/* Where values are cleared after what waits for finalizers has been marked only
 * the userdata that have been found dead leave, at once or in each cycle. */
bool
check_is_alive_value(const struct oracle *oracle, struct shadow_value value)
{
  const struct shadow *shadow = oracle->shadow;
  const struct subject_traits *traits = oracle->subject->traits;
  uint32_t node = (uint32_t)value.bits;
  if (!shadow_is_collectable(value))
    return true;
  uint8_t kind = shadow_kind(shadow, node);
  bool leaves_first =
      kind == SUBJECT_KIND_USERDATA || kind == SUBJECT_KIND_CDATA;
  if (is_dropped(oracle, value))
    return false;
  if (traits->values_cleared_first || leaves_first)
    return shadow_stayed_reachable(shadow, node);
  return shadow_stayed_held(shadow, node);
}

static bool
accuse_lost(const struct shown *shown, struct shadow_value key,
            struct shadow_value value)
{
  struct oracle *oracle = shown->oracle;
  if (!explain_begin(oracle, LAW_WEAK_REMOVED_LIVE))
    return true;
  explain_node(oracle, shown->table);
  explain_say(oracle, " lost the entry of ");
  explain_shadow_value(oracle, key);
  explain_say(oracle, " and ");
  explain_shadow_value(oracle, value);
  explain_say(oracle, ", of which no weak side is dead");
  explain_end(oracle);
  return false;
}

static bool
judge_entry(void *user, uint8_t label, struct shadow_value key,
            struct shadow_value value)
{
  struct shown *shown = user;
  struct oracle *oracle = shown->oracle;
  uint64_t hash = shadow_hash(label, key, value);
  if (label != SUBJECT_LABEL_ENTRY ||
      bsearch(&hash, shown->hashes, shown->count, sizeof hash, compare_hashes))
    return true;
  bool is_dead =
      (shown->weak & OP_WEAK_KEYS && !check_is_alive_key(oracle, key)) ||
      (shown->weak & OP_WEAK_VALUES && !check_is_alive_value(oracle, value)) ||
      is_dropped(oracle, value);
  if (!shown->is_judged)
    return !is_dead || check_keep_key(oracle, key);
  oracle_applies(oracle, LAW_WEAK_REMOVED_LIVE);
  if (!is_dead && !check_may_be_back(oracle))
    return accuse_lost(shown, key, value);
  return check_keep_key(oracle, key);
}

/* The table shows something else than the shadow holds. */
static bool
follow_table(struct oracle *oracle, uint32_t object, uint32_t node,
             bool is_judged)
{
  const struct survey *survey = &oracle->survey;
  const struct survey_object *at = &survey->objects[object];
  struct oracle_claims *claims = &oracle->claims;
  uint32_t edges = at[1].first - at[0].first;
  uint64_t *hashes = oracle_allocate(NULL, (edges + 1) * sizeof *hashes);
  struct shown shown = {.oracle = oracle,
                        .hashes = hashes,
                        .table = node,
                        .is_judged = is_judged,
                        .weak = shadow_weakness(oracle->shadow, node)};
  if (!hashes) {
    oracle->exhausted = true;
    return false;
  }
  for (uint32_t i = at[0].first; i < at[1].first; i++) {
    const struct subject_edge *edge = &survey->edges[i];
    if (edge->label == SUBJECT_LABEL_ENTRY)
      hashes[shown.count++] = shadow_hash(edge->label, bind_key(oracle, edge),
                                          bind_value(oracle, edge));
  }
  qsort(hashes, shown.count, sizeof *hashes, compare_hashes);
  claims->key_count = 0;
  shadow_visit(oracle->shadow, node, judge_entry, &shown);
  free(hashes);
  oracle->has_cleared |= claims->key_count > 0;
  if (!oracle_is_over(oracle))
    check_clear_keys(oracle, node);
  return !oracle_is_over(oracle);
}

/* A dead object shows nothing. */
static bool
is_mute(const struct oracle *oracle, const struct survey_object *object)
{
  return object->colour == SUBJECT_WHITE_OTHER &&
         oracle->capabilities & SUBJECT_CAN_COLOUR;
}

/* No sums are made in the midst of an operation: every weak table is
 * compared. */
static bool
follow_once(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  bool has_cleared = false;
  shadow_reach(oracle->shadow);
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (survey->objects[i].kind != SUBJECT_KIND_TABLE || node == BIND_NO_NODE ||
        !shadow_weakness(oracle->shadow, node) ||
        !shadow_is_held(oracle->shadow, node) ||
        is_mute(oracle, &survey->objects[i]))
      continue;
    uint64_t sum = shadow_sum(oracle->shadow, node);
    if (!follow_table(oracle, i, node, false))
      return false;
    has_cleared |= sum != shadow_sum(oracle->shadow, node);
    shadow_reach(oracle->shadow);
  }
  return has_cleared;
}

/* Where a table with weak keys holds its values [T] an entry that is removed
 * may have been all that held the key of another one: in one operation several
 * cycles may have gone along such a chain. */
static void
follow_chains(struct oracle *oracle)
{
  while (follow_once(oracle))
    continue;
}

void
check_follow_cleared(struct oracle *oracle)
{
  if (oracle->subject->traits->ephemerons)
    follow_once(oracle);
  else
    follow_chains(oracle);
}

bool
check_weak_tables(struct oracle *oracle)
{
  const struct survey *survey = &oracle->survey;
  if (oracle_is_told(oracle))
    return true; /* it has told of what it cleared */
  if (!oracle->subject->traits->ephemerons)
    follow_chains(oracle);
  for (uint32_t i = 0; i < survey->object_count; i++) {
    uint32_t node = oracle_node(oracle, i);
    if (survey->objects[i].kind != SUBJECT_KIND_TABLE || node == BIND_NO_NODE ||
        !shadow_weakness(oracle->shadow, node) ||
        is_mute(oracle, &survey->objects[i]) ||
        survey->objects[i].sum == shadow_sum(oracle->shadow, node))
      continue;
    shadow_reach(oracle->shadow);
    /* One that is dead and old loses pairs, too. */
    if (!follow_table(oracle, i, node, shadow_is_held(oracle->shadow, node)))
      return false;
  }
  return true;
}

/* ---- halves ---------------------------------------------------------- */

static bool
is_half(const struct oracle *oracle, uint32_t object,
        const struct subject_edge *edge)
{
  const struct survey_object *table = &oracle->survey.objects[object];
  struct shadow_value key = bind_key(oracle, edge);
  struct shadow_value there;
  uint32_t node = oracle_node(oracle, object);
  if (table->kind != SUBJECT_KIND_TABLE || edge->label != SUBJECT_LABEL_ENTRY)
    return false;
  if (key.tag == SUBJECT_NIL || edge->key.tag == SUBJECT_OTHER)
    return true; /* a key that was removed alone */
  return oracle->blocks.records[table->block].cleared &&
         !shadow_lookup(oracle->shadow, node, edge->label, key, &there);
}

bool
check_half(struct oracle *oracle, uint32_t object,
           const struct subject_edge *edge)
{
  if (!is_half(oracle, object, edge) ||
      !explain_begin(oracle, LAW_WEAK_HALF_REMOVED))
    return true;
  explain_place(oracle, object, edge);
  explain_say(oracle, " was removed and still holds ");
  explain_value(oracle, edge->value);
  explain_end(oracle);
  return false;
}
