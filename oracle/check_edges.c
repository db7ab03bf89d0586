/* SPDX-License-Identifier: MIT
 *
 * The laws of references, in one pass over all edges:
 *
 *   safety.dangling: every reference out of an object that is not dead leads
 *     to a live object;
 *   tricolour.black-to-white: while the invariant is kept no strong edge leads
 *     from a black object to a white one;
 *   tricolour.live-to-dead: no strong edge leads from an object that is not
 *     dead to one of the other white;
 *   weak.not-removed: after the atomic phase no table that is not dead has an
 *     entry of which a weak side is;
 *   weak.ephemeron: after the atomic phase no entry whose key is not dead has a
 *     value, held through its key, that is.
 *
 * Edges out of dead objects are not in the survey. The same pass makes the
 * sums that check_contents.c compares, since it has each edge and its target
 * at hand anyway. This is where the oracle spends its time.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

#define COLOUR(colour) (1u << SUBJECT_##colour)

enum { STRENGTHS = 8 }; /* a power of two that holds them all */
_Static_assert((int)SUBJECT_LOOSE < (int)STRENGTHS,
               "strengths are an index");

/* What one pass carries along. */
struct pass {
  struct oracle *oracle;
  const struct block_view *views;
  uint32_t stamp;
  /* Shades that a reference out of the object at hand may not lead to, by
   * strength; parts are never led to, colours matter to strong ones only. */
  unsigned forbidden[STRENGTHS];
  bool from_black; /* a black parent while the invariant is kept was seen */
  unsigned seen;   /* bit (1 << strength): such a reference was seen */
};

/* ---- accusations ----------------------------------------------------- */

/* The law that an edge to something freed or dead breaks: where the key of the
 * entry was removed alone, it is that. */
static enum law
law_of(const struct subject_edge *edge, enum law law)
{
  bool is_half = edge->label == SUBJECT_LABEL_ENTRY &&
                 edge->key.tag == SUBJECT_OTHER;
  return is_half ? LAW_WEAK_HALF_REMOVED : law;
}

static bool
is_dead(const struct oracle *oracle, struct subject_value value)
{
  const struct block_view *view =
      &oracle->blocks.views[blocks_find(&oracle->blocks, value.bits)];
  return value.tag == SUBJECT_OBJECT && view->shade == SUBJECT_WHITE_OTHER;
}

static bool
is_part(const struct oracle *oracle, uint32_t block)
{
  const struct block_view *view = &oracle->blocks.views[block];
  return view->survey == oracle->survey.stamp &&
         view->shade == BLOCK_SHADE_PART;
}

/* The target is no surveyed object. */
static bool
accuse_target(struct oracle *oracle, uint32_t object,
              const struct subject_edge *edge, bool is_key)
{
  uint64_t target = is_key ? edge->key.bits : edge->value.bits;
  uint32_t block = blocks_find(&oracle->blocks, target);
  bool is_lost = block && !is_part(oracle, block);
  enum law law = is_lost ? LAW_UNOWNED : law_of(edge, LAW_DANGLING);
  if (!explain_begin(oracle, law))
    return true;
  if (is_key)
    explain_say(oracle, "the key of ");
  explain_place(oracle, object, edge);
  explain_say(oracle, " leads to ");
  explain_object(oracle, target);
  if (is_lost)
    explain_say(oracle, ", which is in no list of the collector");
  else if (block)
    explain_say(oracle, ", which is a part of another object");
  else
    explain_say(oracle, ", which has been freed");
  explain_end(oracle);
  return false;
}

/* Between generational collections what is old is black for good: there the
 * laws of ages say what it may refer to [T]. What waits for its finalizer and
 * is not swept [T] is still black when the next mark begins. */
static bool
keeps_white_out(const struct oracle *oracle, const struct survey_object *parent)
{
  const struct survey *survey = &oracle->survey;
  const struct subject_traits *traits = oracle->subject->traits;
  return survey->keeps && parent->colour == SUBJECT_BLACK &&
         !(survey->heap.by_age && traits->ages &&
           parent->age > SUBJECT_AGE_SURVIVAL) &&
         !(parent->list == SUBJECT_LIST_PENDING && !traits->pending_swept);
}

/* A weak side that is dead, or the value of an ephemeron. */
static bool
accuse_weak(struct oracle *oracle, uint32_t object,
            const struct subject_edge *edge, bool is_key)
{
  struct subject_value target = is_key ? edge->key : edge->value;
  bool is_ephemeron = !is_key && edge->value_strength == SUBJECT_EPHEMERON &&
                      !is_dead(oracle, edge->key);
  enum law law = is_ephemeron ? LAW_WEAK_EPHEMERON : LAW_WEAK_NOT_REMOVED;
  if (!explain_begin(oracle, law_of(edge, law)))
    return true;
  explain_place(oracle, object, edge);
  explain_say(oracle, " still has the dead %s ", is_key ? "key" : "value");
  explain_object(oracle, target.bits);
  if (law == LAW_WEAK_EPHEMERON)
    explain_say(oracle, ", though its key is alive");
  explain_end(oracle);
  return false;
}

/* The target has a shade that the reference may not lead to. */
static bool
accuse_colour(struct oracle *oracle, uint32_t object,
              const struct subject_edge *edge, bool is_key)
{
  struct subject_value target = is_key ? edge->key : edge->value;
  const struct survey_object *parent = &oracle->survey.objects[object];
  uint8_t strength = is_key ? edge->key_strength : edge->value_strength;
  bool is_kept = keeps_white_out(oracle, parent) &&
                 strength != SUBJECT_LATE;
  enum law law =
      is_kept ? LAW_BLACK_TO_WHITE : law_of(edge, LAW_LIVE_TO_DEAD);
  if (is_part(oracle, blocks_find(&oracle->blocks, target.bits)))
    return accuse_target(oracle, object, edge, is_key);
  if (strength != SUBJECT_STRONG && strength != SUBJECT_LATE)
    return accuse_weak(oracle, object, edge, is_key);
  if (!explain_begin(oracle, law))
    return true;
  if (is_kept) {
    explain_say(oracle, "black ");
    explain_surveyed(oracle, object);
    explain_say(oracle, " refers to white ");
  } else {
    explain_surveyed(oracle, object);
    explain_say(oracle, " refers to dead ");
  }
  explain_object(oracle, target.bits);
  explain_say(oracle, ": ");
  if (is_key)
    explain_say(oracle, "the key of ");
  explain_place(oracle, object, edge);
  if (is_kept)
    explain_say(oracle, " was not seen by the collector");
  else
    explain_say(oracle, " was missed by the last mark");
  explain_end(oracle);
  return false;
}

static bool
accuse_cell(struct oracle *oracle, uint32_t object,
            const struct subject_edge *edge, uint32_t cell)
{
  const struct binding *binding = &oracle->binding;
  uint32_t upvalue = blocks_find(&oracle->blocks, edge->value.bits);
  uint32_t other = cell < binding->cell_count ? binding->cell_block[cell] : 0;
  if (!explain_begin(oracle, LAW_IDENTITY))
    return true;
  explain_place(oracle, object, edge);
  explain_say(oracle, " is ");
  explain_object(oracle, edge->value.bits);
  if (other && other != upvalue) {
    explain_say(oracle, ", the shadow says ");
    explain_object(oracle, oracle->blocks.records[other].base);
  } else {
    explain_say(oracle, ", which the shadow knows as another upvalue");
  }
  explain_end(oracle);
  return false;
}

/* ---- the pass -------------------------------------------------------- */

/* An edge of label UPVALUE that leads to an upvalue object: what it means is
 * the object's value, and the object is the shadow's cell. */
static bool
pass_upvalue(struct pass *pass, uint32_t object, uint32_t node,
             const struct subject_edge *edge, struct shadow_value *ret_value)
{
  struct oracle *oracle = pass->oracle;
  uint32_t upvalue = blocks_find(&oracle->blocks, edge->value.bits);
  *ret_value = bind_value(oracle, edge);
  if (!shadow_is_reachable(oracle->shadow, node))
    return true;
  uint32_t cell = shadow_cell(oracle->shadow, node, (uint32_t)edge->key.bits);
  if (!cell)
    return true;
  oracle_applies(oracle, LAW_IDENTITY);
  return bind_cell(oracle, cell, upvalue) ||
         accuse_cell(oracle, object, edge, cell);
}

/* One end of an edge, an object. */
static inline bool
pass_target(struct pass *pass, uint32_t object, const struct subject_edge *edge,
            uint8_t strength, bool is_key, const struct block_view *target)
{
  pass->seen |= 1u << strength % STRENGTHS;
  if (target->survey != pass->stamp)
    return accuse_target(pass->oracle, object, edge, is_key);
  if (pass->forbidden[strength % STRENGTHS] >> target->shade & 1)
    return accuse_colour(pass->oracle, object, edge, is_key);
  return true;
}

/* The edges of one object. node: what it is in the shadow, for its sum;
 * BIND_NO_NODE: no sum is wanted. */
static inline bool
pass_object(struct pass *pass, uint32_t object, uint32_t node,
            uint64_t *ret_sum)
{
  const struct survey *survey = &pass->oracle->survey;
  const struct blocks *blocks = &pass->oracle->blocks;
  const struct subject_edge *edge =
      &survey->edges[survey->objects[object].first];
  const struct subject_edge *end =
      &survey->edges[survey->objects[object + 1].first];
  uint64_t sum = 0;
  for (; edge < end; edge++) {
    struct shadow_value value = {edge->value.bits, edge->value.tag};
    struct shadow_value key = {edge->key.bits, edge->key.tag};
    if (value.tag == SUBJECT_OBJECT) {
      const struct block_view *target =
          &pass->views[blocks_find(blocks, value.bits)];
      if (!pass_target(pass, object, edge, edge->value_strength, false, target))
        return false;
      value = (struct shadow_value){target->bits, target->tag};
      if (value.tag == BLOCK_TAG_UPVALUE && node != BIND_NO_NODE &&
          edge->label == SUBJECT_LABEL_UPVALUE &&
          !pass_upvalue(pass, object, node, edge, &value))
        return false;
    }
    if (key.tag == SUBJECT_OBJECT) {
      const struct block_view *target =
          &pass->views[blocks_find(blocks, key.bits)];
      if (!pass_target(pass, object, edge, edge->key_strength, true, target))
        return false;
      key = (struct shadow_value){target->bits, target->tag};
    }
    uint8_t label = bind_labels[edge->label];
    if (node != BIND_NO_NODE && label & BIND_COUNTED) {
      if (!(label & BIND_KEYED))
        key = (struct shadow_value){0, SUBJECT_NIL};
      sum += shadow_hash(edge->label, key, value);
    }
  }
  *ret_sum = sum;
  return true;
}

static void
forbid(struct pass *pass, const struct survey_object *parent)
{
  unsigned forbidden = COLOUR(WHITE_OTHER) | 1u << BLOCK_SHADE_PART;
  pass->forbidden[SUBJECT_LATE] = forbidden;
  if (keeps_white_out(pass->oracle, parent)) {
    forbidden |= COLOUR(WHITE_CURRENT);
    pass->from_black = true;
  }
  pass->forbidden[SUBJECT_STRONG] = forbidden;
}

static bool
pass_all(struct pass *pass, bool contents)
{
  struct oracle *oracle = pass->oracle;
  struct survey *survey = &oracle->survey;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    struct survey_object *object = &survey->objects[i];
    if (object->first == survey->objects[i + 1].first) {
      object->sum = 0;
      continue;
    }
    uint32_t node = contents ? oracle_node(oracle, i) : BIND_NO_NODE;
    forbid(pass, object);
    /* Two calls, so that each is compiled for what it has to do. */
    bool ok = node == BIND_NO_NODE
                  ? pass_object(pass, i, BIND_NO_NODE, &object->sum)
                  : pass_object(pass, i, node, &object->sum);
    if (!ok)
      return false;
  }
  return true;
}

bool
check_edges(struct oracle *oracle, bool contents)
{
  struct pass pass = {.oracle = oracle,
                      .views = oracle->blocks.views,
                      .stamp = oracle->survey.stamp};
  bool is_swept = check_is_sweep(oracle->survey.heap.phase) && oracle->flipped;
  for (unsigned i = 0; i < STRENGTHS; i++)
    pass.forbidden[i] =
        1u << BLOCK_SHADE_PART | (is_swept ? COLOUR(WHITE_OTHER) : 0);
  pass.forbidden[SUBJECT_LOOSE] = 1u << BLOCK_SHADE_PART;
  if (!pass_all(&pass, contents))
    return false;
  if (pass.seen) {
    oracle_applies(oracle, LAW_DANGLING);
    oracle_applies(oracle, LAW_LIVE_TO_DEAD);
  }
  if (is_swept && pass.seen & 1u << SUBJECT_WEAK)
    oracle_applies(oracle, LAW_WEAK_NOT_REMOVED);
  if (is_swept && pass.seen & 1u << SUBJECT_EPHEMERON)
    oracle_applies(oracle, LAW_WEAK_EPHEMERON);
  if (pass.from_black)
    oracle_applies(oracle, LAW_BLACK_TO_WHITE);
  return !oracle_is_over(oracle);
}
