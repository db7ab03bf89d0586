/* SPDX-License-Identifier: MIT
 *
 * What the collector takes for dead in an atomic phase. It owns the claims of
 * the operation that runs: sides of weak entries that were cleared, objects
 * that were separated to have their finalizers called.
 *
 *   weak.removed-live: an entry is removed from a table only if a side on which
 *     the table is weak is dead, and only in the atomic phase. A value is dead
 *     unless it is reachable, a key unless it is held; a string never is. A
 *     table that is itself only held loses no values that are held;
 *   finalizers.not-dead: no object is separated that is reachable before and
 *     after the operation;
 *   weak.resurrected: what is separated has left the values of reachable weak
 *     tables in the same atomic phase [T].
 *
 * Operations on the collector change the shadow only by finalizers, which the
 * shadow follows as they come, so that their claims are judged at once. Those
 * of other operations are judged at the end: what the operation has dropped may
 * be dead in it. But what is dead at the moment of the claim, by what
 * finalizers have done so far, may go whatever comes later; and nothing is
 * judged where a finalizer may have brought back what the operation dropped
 * (check_may_be_back, check_finalizers.c). The shadow loses the entries at the
 * end of the atomic phase in either case, for finalizers and the operation
 * itself come later.
 */
#include "oracle/check.h"

#include <stdlib.h>

#include "oracle/explain.h"
#include "oracle/state.h"

/* ---- words ----------------------------------------------------------- */

static bool
accuse_removed(struct oracle *oracle, const struct oracle_claim *claim,
               const char *why)
{
  if (!explain_begin(oracle, LAW_WEAK_REMOVED_LIVE))
    return true;
  explain_node(oracle, claim->table);
  explain_say(oracle, " lost an entry whose %s ",
              claim->sort == CLAIM_KEY ? "key" : "value");
  explain_dead(oracle, &claim->dead);
  explain_say(oracle, " %s", why);
  if (claim->dead.node != BIND_NO_NODE)
    explain_path(oracle, "", claim->dead.node);
  explain_end(oracle);
  return false;
}

/* ---- judging --------------------------------------------------------- */

/* The shadow is as the heap was in the atomic phase; else what was there when
 * the operation began and is still counts. */
static bool
is_settled(const struct oracle *oracle)
{
  return oracle->in_operation && !oracle_is_mutator(oracle);
}

/* Whether the table was reached only from what is to be finalized. One that is
 * unreachable may have been marked before it was. */
static bool
is_revived(const struct oracle *oracle, uint32_t table)
{
  uint32_t block = bind_block(&oracle->binding, table);
  return !oracle->finalizers.waited_at_atomic &&
         oracle->blocks.records[block].revived;
}

/* Whether the side of an entry had to stay. In a first round, before anything
 * is separated, the collector clears the values of what it has reached from the
 * root and from what waited before; in a second one those of what is
 * resurrected. */
static bool
is_alive(const struct oracle *oracle, const struct oracle_claim *claim,
         bool is_settled)
{
  const struct shadow *shadow = oracle->shadow;
  uint32_t node = claim->dead.node;
  bool is_reachable = shadow_is_reachable(shadow, node);
  bool is_held = shadow_is_held(shadow, node);
  bool is_second = !shadow_is_reachable(shadow, claim->table) &&
                   shadow_is_held(shadow, claim->table) &&
                   is_revived(oracle, claim->table);
  if (!is_settled) {
    is_reachable = is_reachable && shadow_was_reachable(shadow, node);
    is_held = is_held && shadow_was_held(shadow, node);
    is_second = is_second && !shadow_was_reachable(shadow, claim->table);
  }
  if (claim->sort == CLAIM_SEPARATED)
    return is_reachable;
  return claim->sort == CLAIM_KEY || is_second ? is_held : is_reachable;
}

static bool
judge_cleared(struct oracle *oracle, const struct oracle_claim *claim)
{
  int32_t side = claim->sort == CLAIM_KEY ? OP_WEAK_KEYS : OP_WEAK_VALUES;
  bool is_strong = claim->is_strong &&
                   !(shadow_weakness(oracle->shadow, claim->table) & side);
  oracle_applies(oracle, LAW_WEAK_REMOVED_LIVE);
  if (!claim->was_dead && is_alive(oracle, claim, is_settled(oracle)))
    return accuse_removed(oracle, claim, "is alive");
  if (is_strong && oracle->subject->traits->mode_at_atomic)
    return accuse_removed(oracle, claim, "it holds strongly");
  return true;
}

static bool
judge_separated(struct oracle *oracle, const struct oracle_claim *claim)
{
  if (!oracle_applies(oracle, LAW_FINALIZERS_NOT_DEAD) || claim->was_dead ||
      !is_alive(oracle, claim, is_settled(oracle)) ||
      !explain_begin(oracle, LAW_FINALIZERS_NOT_DEAD))
    return true;
  explain_dead(oracle, &claim->dead);
  explain_say(oracle, " is to be finalized and is reachable");
  explain_path(oracle, "", claim->dead.node);
  explain_end(oracle);
  return false;
}

static bool
judge(struct oracle *oracle, const struct oracle_claim *claim)
{
  if (check_may_be_back(oracle))
    return true;
  shadow_reach(oracle->shadow);
  return claim->sort == CLAIM_SEPARATED ? judge_separated(oracle, claim)
                                        : judge_cleared(oracle, claim);
}

/* ---- claims ---------------------------------------------------------- */

static void
keep(struct oracle *oracle, const struct oracle_claim *claim)
{
  struct oracle_claims *claims = &oracle->claims;
  struct oracle_claim *room =
      oracle_reserve(claims->all, &claims->capacity,
                     (uint64_t)claims->count + 1, sizeof *room);
  if (!room) {
    oracle->exhausted = true;
    return;
  }
  claims->all = room;
  claims->all[claims->count++] = *claim;
  shadow_reach(oracle->shadow);
  if (oracle_is_mutator(oracle))
    claims->all[claims->count - 1].was_dead = !is_alive(oracle, claim, true);
  else
    judge(oracle, claim);
}

/* False if the object is bound to no node: then nothing is to be claimed. */
static bool
name_claim(const struct oracle *oracle, uint64_t base,
           struct oracle_claim *ret_claim)
{
  uint32_t block = blocks_find(&oracle->blocks, base);
  uint32_t node = oracle_node_at(oracle, base);
  ret_claim->dead =
      (struct oracle_death){.base = base,
                            .node = node,
                            .number = oracle->blocks.records[block].number,
                            .kind = oracle->blocks.views[block].kind};
  return node != BIND_NO_NODE;
}

/* Whether the side is a string, which is held strongly whatever the mode. */
static bool
is_string(const struct oracle_claim *claim)
{
  return claim->dead.kind <= SUBJECT_KIND_STRING_LONG;
}

void
check_keep_cleared(struct oracle *oracle, const struct subject_event *event)
{
  struct oracle_claim claim = {.sort = event->from ? CLAIM_KEY : CLAIM_VALUE};
  int32_t side = event->from ? OP_WEAK_KEYS : OP_WEAK_VALUES;
  if (oracle->stage != ORACLE_RUNNING)
    return;
  claim.table = oracle_node_at(oracle, event->base);
  if (claim.table == BIND_NO_NODE)
    return;
  bool is_known = name_claim(oracle, event->value, &claim);
  if (is_string(&claim))
    accuse_removed(oracle, &claim, "is a string");
  if (!is_known ||
      shadow_kind(oracle->shadow, claim.table) != SUBJECT_KIND_TABLE)
    return;
  claim.is_strong = !(shadow_weakness(oracle->shadow, claim.table) & side);
  oracle->blocks.records[blocks_find(&oracle->blocks, event->base)].cleared =
      true;
  if (oracle->phase == SUBJECT_PHASE_ATOMIC)
    keep(oracle, &claim);
  else
    accuse_removed(oracle, &claim,
                   "was not judged by an atomic phase: none runs");
}

void
check_keep_separated(struct oracle *oracle, uint64_t base)
{
  struct oracle_claim claim = {.sort = CLAIM_SEPARATED};
  if (oracle->stage == ORACLE_RUNNING && name_claim(oracle, base, &claim))
    keep(oracle, &claim);
}

void
check_claims_begin(struct oracle *oracle)
{
  oracle->claims.count = 0;
  oracle->claims.followed = 0;
  oracle->claims.kept_table = 0;
}

/* ---- the shadow loses what was cleared ------------------------------- */

static int
compare_claims(const void *a, const void *b)
{
  const struct oracle_claim *x = a, *y = b;
  if (x->sort != y->sort)
    return x->sort < y->sort ? -1 : 1;
  if (x->table != y->table)
    return x->table < y->table ? -1 : 1;
  return (x->dead.node > y->dead.node) - (x->dead.node < y->dead.node);
}

bool
check_keep_key(struct oracle *oracle, struct shadow_value key)
{
  struct oracle_claims *claims = &oracle->claims;
  struct shadow_value *room =
      oracle_reserve(claims->keys, &claims->key_capacity,
                     (uint64_t)claims->key_count + 1, sizeof *room);
  if (!room) {
    oracle->exhausted = true;
    return false;
  }
  claims->keys = room;
  claims->keys[claims->key_count++] = key;
  return true;
}

void
check_clear_keys(struct oracle *oracle, uint32_t table)
{
  struct oracle_claims *claims = &oracle->claims;
  for (uint32_t i = 0; i < claims->key_count; i++)
    shadow_clear_entry(oracle->shadow, table, claims->keys[i]);
  claims->key_count = 0;
}

/* Claims of one table's values, sorted by node. */
struct group {
  struct oracle *oracle;
  const struct oracle_claim *first;
  uint32_t count;
};

static bool
find_value(void *user, uint8_t label, struct shadow_value key,
           struct shadow_value value)
{
  struct group *group = user;
  if (label != SUBJECT_LABEL_ENTRY || value.tag != SHADOW_NODE)
    return true;
  struct oracle_claim wanted = *group->first;
  wanted.dead.node = (uint32_t)value.bits;
  if (!bsearch(&wanted, group->first, group->count, sizeof wanted,
               compare_claims))
    return true;
  return check_keep_key(group->oracle, key);
}

/* The shadow's entries whose values are claimed dead; each table is gone
 * through once. */
static void
follow_values(struct oracle *oracle, const struct oracle_claim *first,
              uint32_t count)
{
  struct group group = {.oracle = oracle, .first = first, .count = count};
  oracle->claims.key_count = 0;
  shadow_visit(oracle->shadow, first->table, find_value, &group);
  check_clear_keys(oracle, first->table);
}

static void
follow_claims(struct oracle *oracle)
{
  struct oracle_claims *claims = &oracle->claims;
  uint32_t count = claims->count - claims->followed;
  struct oracle_claim *first = claims->all + claims->followed;
  if (!count)
    return;
  qsort(first, count, sizeof *first, compare_claims);
  for (uint32_t i = 0, next; i < count; i = next) {
    const struct oracle_claim *claim = &first[i];
    next = i + 1;
    oracle->has_cleared |= claim->sort != CLAIM_SEPARATED;
    if (claim->sort == CLAIM_KEY)
      shadow_clear_entry(oracle->shadow, claim->table,
                         (struct shadow_value){claim->dead.node, SHADOW_NODE});
    if (claim->sort != CLAIM_VALUE)
      continue;
    while (next < count && first[next].sort == CLAIM_VALUE &&
           first[next].table == claim->table)
      next++;
    follow_values(oracle, claim, next - i);
  }
  claims->followed = claims->count;
  shadow_reach(oracle->shadow);
}

/* ---- resurrected values ---------------------------------------------- */

/* A table that is weak in its values; separated ones, sorted by node. */
struct search {
  struct oracle *oracle;
  const struct oracle_claim *separated;
  uint32_t count, table;
};

static bool
find_separated(void *user, uint8_t label, struct shadow_value key,
               struct shadow_value value)
{
  struct search *search = user;
  struct oracle_claims *claims = &search->oracle->claims;
  struct oracle_claim wanted = {.sort = CLAIM_SEPARATED};
  (void)key;
  if (label != SUBJECT_LABEL_ENTRY || value.tag != SHADOW_NODE)
    return true;
  wanted.dead.node = (uint32_t)value.bits;
  if (!bsearch(&wanted, search->separated, search->count, sizeof wanted,
               compare_claims))
    return true;
  claims->kept_table = search->table;
  claims->kept_value = (uint32_t)value.bits;
  return false;
}

static void
accuse_resurrected(struct oracle *oracle)
{
  const struct oracle_claims *claims = &oracle->claims;
  if (!explain_begin(oracle, LAW_WEAK_RESURRECTED))
    return;
  explain_say(oracle, "the weak values of ");
  explain_node(oracle, claims->kept_table);
  explain_say(oracle, " still hold ");
  explain_node(oracle, claims->kept_value);
  explain_say(oracle, ", which waits for its finalizer");
  explain_end(oracle);
}

/* The separated stand last among the sorted claims from first on. */
static void
search_kept(struct oracle *oracle, uint32_t first)
{
  const struct shadow *shadow = oracle->shadow;
  struct oracle_claims *claims = &oracle->claims;
  uint32_t from = claims->count, nodes = shadow_node_count(shadow);
  while (from > first && claims->all[from - 1].sort == CLAIM_SEPARATED)
    from--;
  if (from == claims->count || !oracle->subject->traits->values_cleared_first ||
      !oracle_applies(oracle, LAW_WEAK_RESURRECTED))
    return;
  struct search search = {.oracle = oracle,
                          .separated = claims->all + from,
                          .count = claims->count - from};
  for (uint32_t node = SHADOW_REGISTRY; node < nodes; node++) {
    if (shadow_kind(shadow, node) != SUBJECT_KIND_TABLE ||
        !shadow_is_reachable(shadow, node) ||
        !(shadow_weakness(shadow, node) & OP_WEAK_VALUES))
      continue;
    search.table = node;
    shadow_visit(shadow, node, find_separated, &search);
    if (claims->kept_table)
      return;
  }
}

void
check_claims_atomic_end(struct oracle *oracle)
{
  struct oracle_claims *claims = &oracle->claims;
  uint32_t first = claims->followed;
  if (oracle->stage != ORACLE_RUNNING || claims->count == first)
    return;
  follow_claims(oracle);
  if (oracle_is_over(oracle) || claims->kept_table)
    return;
  search_kept(oracle, first);
  if (claims->kept_table && !oracle_is_mutator(oracle))
    accuse_resurrected(oracle);
}

bool
check_claims_end(struct oracle *oracle)
{
  struct oracle_claims *claims = &oracle->claims;
  for (uint32_t i = 0; i < claims->count; i++)
    if (!judge(oracle, &claims->all[i]))
      return false;
  if (claims->kept_table &&
      shadow_was_reachable(oracle->shadow, claims->kept_table) &&
      shadow_is_reachable(oracle->shadow, claims->kept_table))
    accuse_resurrected(oracle);
  check_claims_begin(oracle);
  return !oracle_is_over(oracle);
}
