/* SPDX-License-Identifier: MIT
 *
 * See survey.h. These callbacks run once for each object, edge and block of
 * the heap at each check, so they do little and branch little.
 */
#include "oracle/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op_assert.h"
#include "oracle/check.h"
#include "oracle/state.h"

enum {
  OBJECTS_FIRST = 256,
  EDGES_FIRST = 1024,
  WORDS_FIRST = 64,
  /* For one object, and for the root with the string table, a subject asks a
   * few times for each block at most; if it asks more it runs in a circle. */
  PATIENCE_PER_BLOCK = 64,
  PATIENCE_LEAST = 4096
};

static struct oracle *
oracle_of(struct subject_visitor *visitor)
{
  return (struct oracle *)visitor;
}

static bool
shows_colours(const struct oracle *oracle)
{
  return oracle->subject->capabilities & SUBJECT_CAN_COLOUR;
}

/* Notes an oddity; NULL if there is one of the sort already. */
static struct odd_place *
note(struct survey *survey, enum oddity oddity, uint32_t object)
{
  if (survey->odd & UINT32_C(1) << oddity)
    return NULL;
  survey->odd |= UINT32_C(1) << oddity;
  survey->oddities[oddity] = (struct odd_place){.object = object};
  return &survey->oddities[oddity];
}

/* ---- room ------------------------------------------------------------ */

static bool
reserve_objects(struct survey *survey)
{
  uint32_t capacity = survey->object_capacity;
  uint64_t count = (uint64_t)survey->object_count + 2;
  void *room = oracle_reserve(survey->objects, &capacity,
                              count < OBJECTS_FIRST ? OBJECTS_FIRST : count,
                              sizeof *survey->objects);
  if (!room)
    return false;
  survey->objects = room;
  uint32_t *queue =
      oracle_allocate(survey->queue, ((size_t)capacity + 2) * sizeof *queue);
  if (!queue)
    return false;
  survey->queue = queue;
  uint32_t *reached =
      oracle_allocate(survey->reached, capacity * sizeof *reached);
  if (!reached)
    return false;
  survey->reached = reached;
  survey->object_capacity = capacity;
  return true;
}

static bool
reserve_edges(struct survey *survey)
{
  uint64_t count = (uint64_t)survey->edge_count + 1;
  void *room = oracle_reserve(survey->edges, &survey->edge_capacity,
                              count < EDGES_FIRST ? EDGES_FIRST : count,
                              sizeof *survey->edges);
  if (!room)
    return false;
  survey->edges = room;
  return true;
}

/* ---- strings --------------------------------------------------------- */

static bool
reserve_words(struct survey *survey)
{
  uint32_t old_capacity = survey->word_capacity;
  uint32_t capacity = old_capacity ? old_capacity * 2 : WORDS_FIRST;
  struct survey_word *words = oracle_allocate(NULL, capacity * sizeof *words);
  if (!words)
    return false;
  memset(words, 0, capacity * sizeof *words);
  for (uint32_t i = 0; i < old_capacity; i++) {
    const struct survey_word *word = &survey->words[i];
    uint32_t at = (uint32_t)word->hash & (capacity - 1);
    if (word->stamp != survey->stamp)
      continue;
    while (words[at].stamp)
      at = (at + 1) & (capacity - 1);
    words[at] = *word;
  }
  free(survey->words);
  survey->words = words;
  survey->word_capacity = capacity;
  return true;
}

static uint64_t
hash_bytes(const uint8_t *bytes, uint32_t size)
{
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint32_t i = 0; i < size; i++)
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash ^ hash >> 32;
}

static bool
equal_bytes(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
  return a_size == b_size && (!a_size || memcmp(a, b, a_size) == 0);
}

/* Looks for an equal short string that this survey has shown; else keeps this
 * one. The shadow does not know it. */
static bool
meet_word(struct survey *survey, struct block *record, uint32_t object,
          const struct subject_object *shown)
{
  if (survey->word_count * 2 >= survey->word_capacity && !reserve_words(survey))
    return false;
  if (!record->hash)
    record->hash = hash_bytes(shown->text, shown->text_size) | 1;
  uint32_t mask = survey->word_capacity - 1;
  uint32_t at = (uint32_t)record->hash & mask;
  for (; survey->words[at].stamp == survey->stamp; at = (at + 1) & mask) {
    const struct survey_word *word = &survey->words[at];
    if (word->hash == record->hash &&
        equal_bytes(word->text, word->size, shown->text, shown->text_size)) {
      struct odd_place *place = note(survey, ODDITY_TWIN, object);
      if (place)
        place->other = word->object;
      return true;
    }
  }
  survey->words[at] = (struct survey_word){.text = shown->text,
                                           .hash = record->hash,
                                           .size = shown->text_size,
                                           .stamp = survey->stamp,
                                           .object = object};
  survey->word_count += 1;
  return true;
}

static bool
meet_string(struct survey *survey, uint32_t id, uint32_t object)
{
  if (id >= survey->known_capacity) {
    uint32_t capacity = survey->known_capacity;
    struct survey_string *known = oracle_reserve(
        survey->known, &capacity, (uint64_t)id + 1, sizeof *known);
    if (!known)
      return false;
    memset(known + survey->known_capacity, 0,
           (capacity - survey->known_capacity) * sizeof *known);
    survey->known = known;
    survey->known_capacity = capacity;
  }
  struct survey_string *string = &survey->known[id];
  if (string->stamp == survey->stamp) {
    struct odd_place *place = note(survey, ODDITY_TWIN, object);
    if (place)
      place->other = string->object;
  }
  *string = (struct survey_string){survey->stamp, object};
  return true;
}

/* Binds a string by content, or sees whether it still has the content by
 * which it was bound. */
static void
look_at_bytes(struct oracle *oracle, uint32_t object,
              const struct subject_object *shown, uint32_t block)
{
  struct survey *survey = &oracle->survey;
  struct block_view *view = &oracle->blocks.views[block];
  struct block *record = &oracle->blocks.records[block];
  if (view->tag == SHADOW_STRING) {
    size_t size;
    const uint8_t *bytes =
        shadow_string_bytes(oracle->shadow, view->bits, &size);
    if (!equal_bytes(bytes, size, shown->text, shown->text_size)) {
      struct odd_place *place = note(survey, ODDITY_BYTES, object);
      if (place)
        place->a = view->bits;
    }
  } else if (record->words != survey->words_asked) {
    uint32_t id =
        shadow_string_find(oracle->shadow, shown->text, shown->text_size);
    record->words = survey->words_asked;
    if (id) {
      view->tag = SHADOW_STRING;
      view->bits = id;
    }
  }
}

/* Dead strings are excepted: one may be on its way out while an equal one has
 * been made, where they are not interned alike. */
static void
look_at_string(struct oracle *oracle, uint32_t object,
               const struct subject_object *shown, uint32_t block)
{
  struct survey *survey = &oracle->survey;
  const struct block_view *view = &oracle->blocks.views[block];
  bool met;
  look_at_bytes(oracle, object, shown, block);
  if (shown->kind != SUBJECT_KIND_STRING_SHORT || survey->mute)
    return;
  survey->strings += 1;
  if (!(shown->flags & SUBJECT_OBJECT_INTERNED))
    note(survey, ODDITY_UNINTERNED, object);
  if (view->tag == SHADOW_STRING)
    met = meet_string(survey, view->bits, object);
  else
    met = meet_word(survey, &oracle->blocks.records[block], object, shown);
  if (!met)
    oracle->exhausted = true;
}

/* ---- callbacks ------------------------------------------------------- */

static void
visit_heap(struct subject_visitor *visitor, const struct subject_heap *heap)
{
  struct oracle *oracle = oracle_of(visitor);
  struct survey *survey = &oracle->survey;
  survey->heap = *heap;
  survey->keeps = shows_colours(oracle) && heap->phase < 32 &&
                  oracle->subject->traits->phases_kept >> heap->phase & 1;
}

/* Claims the block for the object; its record, or 0 if that is odd. */
static uint32_t
claim_block(struct oracle *oracle, uint32_t object,
            const struct subject_object *shown)
{
  struct survey *survey = &oracle->survey;
  uint32_t block = blocks_find(&oracle->blocks, shown->base);
  struct block_view *view = &oracle->blocks.views[block];
  const struct block *record = &oracle->blocks.records[block];
  struct odd_place *place = NULL;
  if (!block) {
    place = note(survey, ODDITY_NO_BLOCK, object);
    if (place)
      place->base = shown->base;
    return 0;
  }
  if (view->survey == survey->stamp) {
    place = note(survey, ODDITY_TWICE, object);
    if (place) {
      place->other = view->object;
      place->a = !view->is_object;
    }
    survey->gives_up = true;
    return 0;
  }
  if (record->size != shown->size) {
    place = note(survey, ODDITY_SIZE, object);
    if (place) {
      place->a = shown->size;
      place->b = record->size;
    }
  }
  survey->block_count += 1;
  survey->bytes += record->size;
  view->survey = survey->stamp;
  view->object = object;
  if (view->kind != shown->kind || !view->is_object) {
    if (view->tag == SHADOW_NODE) {
      place = note(survey, ODDITY_KIND, object);
      if (place)
        place->a = view->kind;
    }
    blocks_set_kind(&oracle->blocks, block, shown->kind);
  }
  return block;
}

static void
visit_object(struct subject_visitor *visitor,
             const struct subject_object *shown)
{
  struct oracle *oracle = oracle_of(visitor);
  struct survey *survey = &oracle->survey;
  uint32_t index = survey->object_count;
  PENUMBRA_ASSERT(shown->kind < SUBJECT_KIND_COUNT &&
                  shown->colour < SUBJECT_COLOUR_COUNT &&
                  shown->list < SUBJECT_LIST_COUNT &&
                  shown->age < SUBJECT_AGE_COUNT &&
                  shown->segment < SUBJECT_SEGMENT_COUNT);
  if (index + 2 > survey->object_capacity && !reserve_objects(survey)) {
    oracle->exhausted = true;
    return;
  }
  struct survey_object *object = &survey->objects[index];
  *object = (struct survey_object){.base = shown->base,
                                   .first = survey->edge_count,
                                   .kind = shown->kind,
                                   .colour = shown->colour,
                                   .list = shown->list,
                                   .age = shown->age,
                                   .segment = shown->segment,
                                   .flags = shown->flags};
  survey->object_count = index + 1;
  survey->marked += (shown->flags & SUBJECT_OBJECT_MARKED) != 0;
  survey->pending += shown->list == SUBJECT_LIST_PENDING;
  survey->patience = survey->patience_full;
  bool is_dead = shown->colour == SUBJECT_WHITE_OTHER &&
                 !(shown->flags & SUBJECT_OBJECT_FIXED);
  survey->mute = is_dead && shows_colours(oracle);
  if (!shown->base) {
    survey->has_root = true;
    survey->root = index;
    return;
  }
  uint32_t block = claim_block(oracle, index, shown);
  object->block = block;
  if (!block)
    return;
  object->number = oracle->blocks.records[block].number;
  struct block_view *view = &oracle->blocks.views[block];
  if (!shows_colours(oracle))
    view->shade = SUBJECT_WHITE_CURRENT;
  else if (shown->colour == SUBJECT_WHITE_OTHER && !is_dead)
    view->shade = SUBJECT_GREY;
  else
    view->shade = shown->colour;
  if (shown->kind <= SUBJECT_KIND_STRING_LONG)
    look_at_string(oracle, index, shown, block);
}

static void
visit_edge(struct subject_visitor *visitor, const struct subject_edge *edge)
{
  struct oracle *oracle = oracle_of(visitor);
  struct survey *survey = &oracle->survey;
  uint32_t index = survey->edge_count;
  if (survey->mute)
    return;
  if (index == survey->edge_capacity && !reserve_edges(survey)) {
    oracle->exhausted = true;
    return;
  }
  /* By member: the subject has just written them so, and a wider load would
   * have to wait for its stores. */
  struct subject_edge *copy = &survey->edges[index];
  copy->key.bits = edge->key.bits;
  copy->key.tag = edge->key.tag;
  copy->value.bits = edge->value.bits;
  copy->value.tag = edge->value.tag;
  copy->label = edge->label;
  copy->key_strength = edge->key_strength;
  copy->value_strength = edge->value_strength;
  survey->edge_count = index + 1;
}

static void
visit_part(struct subject_visitor *visitor, uint64_t base, size_t size)
{
  struct oracle *oracle = oracle_of(visitor);
  struct survey *survey = &oracle->survey;
  uint32_t block = blocks_find(&oracle->blocks, base);
  struct block_view *view = &oracle->blocks.views[block];
  const struct block *record = &oracle->blocks.records[block];
  struct odd_place *place = NULL;
  if (!survey->object_count)
    return;
  uint32_t object = survey->object_count - 1;
  if (!block) {
    place = note(survey, ODDITY_PART_LOST, object);
  } else if (view->survey == survey->stamp) {
    place = note(survey, ODDITY_PART_TWICE, object);
    if (place)
      place->other = view->object;
  } else {
    if (record->size != size)
      place = note(survey, ODDITY_PART_SIZE, object);
    if (view->is_object)
      blocks_set_part(&oracle->blocks, block);
    view->survey = survey->stamp;
    view->object = object;
    view->shade = BLOCK_SHADE_PART;
    survey->block_count += 1;
    survey->bytes += record->size;
    if (survey->has_root && object == survey->root)
      survey->root_bytes += record->size;
  }
  if (place) {
    place->base = base;
    place->a = size;
    place->b = record->size;
  }
}

/* Where the invariant is not kept grey lists are left-overs, which are
 * reset before they are used again: their members may be white, or freed. */
static void
visit_grey(struct subject_visitor *visitor, uint64_t base,
           enum subject_grey list)
{
  struct oracle *oracle = oracle_of(visitor);
  struct survey *survey = &oracle->survey;
  uint32_t index;
  if (!survey->keeps)
    return;
  survey->greys += 1;
  if (!survey_find(oracle, base, &index)) {
    struct odd_place *place = note(survey, ODDITY_GREY_LOST, 0);
    if (place)
      place->base = base;
    return;
  }
  struct survey_object *object = &survey->objects[index];
  if (object->grey) {
    note(survey, ODDITY_GREY_TWICE, index);
    survey->gives_up = true;
  }
  if (object->colour != SUBJECT_GREY &&
      !(survey->heap.by_age && object->age == SUBJECT_AGE_TOUCHED2))
    note(survey, ODDITY_GREY_COLOUR, index);
  object->grey = (uint8_t)list;
}

static void
visit_broken(struct subject_visitor *visitor, const char *where,
             uint64_t target)
{
  struct survey *survey = &oracle_of(visitor)->survey;
  bool is_grey = strncmp(where, "grey", 4) == 0;
  if (is_grey && !survey->keeps)
    return;
  struct odd_place *place = note(survey, ODDITY_BROKEN, 0);
  if (!place)
    return;
  place->base = target;
  snprintf(survey->where, sizeof survey->where, "%s", where);
}

static bool
visit_is_live(struct subject_visitor *visitor, uint64_t base)
{
  struct oracle *oracle = oracle_of(visitor);
  struct survey *survey = &oracle->survey;
  if (!survey->patience || survey->gives_up) {
    /* Ends the walk. What made it endless has been noted, or is now; the
     * link that is called broken for it is not. */
    note(survey, ODDITY_ENDLESS, 0);
    note(survey, ODDITY_BROKEN, 0);
    return false;
  }
  survey->patience -= 1;
  return blocks_find(&oracle->blocks, base) != 0;
}

void
survey_visitor_init(struct subject_visitor *ret_visitor)
{
  *ret_visitor = (struct subject_visitor){.heap = visit_heap,
                                          .object = visit_object,
                                          .edge = visit_edge,
                                          .part = visit_part,
                                          .grey = visit_grey,
                                          .broken = visit_broken,
                                          .is_live = visit_is_live};
}

/* ---- the survey ------------------------------------------------------ */

bool
survey_take(struct oracle *oracle)
{
  struct survey *survey = &oracle->survey;
  if (!survey->object_capacity && !reserve_objects(survey))
    goto fail;
  survey->stamp += 1;
  survey->object_count = 0;
  survey->edge_count = 0;
  survey->keeps = false;
  survey->mute = true; /* until there is an object that has edges */
  survey->has_root = false;
  survey->block_count = 0;
  survey->bytes = 0;
  survey->root_bytes = 0;
  survey->strings = 0;
  survey->greys = 0;
  survey->marked = 0;
  survey->pending = 0;
  survey->odd = 0;
  survey->word_count = 0;
  survey->heap = (struct subject_heap){.phase = oracle->phase};
  survey->gives_up = false;
  survey->patience_full =
      PATIENCE_LEAST + (uint64_t)PATIENCE_PER_BLOCK * oracle->blocks.live_count;
  survey->patience = survey->patience_full;
  oracle->subject->survey(oracle->instance, &oracle->visitor);
  if (oracle->exhausted)
    return false;
  survey->objects[survey->object_count] =
      (struct survey_object){.first = survey->edge_count};
  oracle->is_stale = false;
  return true;
fail:
  oracle->exhausted = true;
  return false;
}

bool
survey_find(const struct oracle *oracle, uint64_t base, uint32_t *ret_object)
{
  const struct block_view *view =
      &oracle->blocks.views[blocks_find(&oracle->blocks, base)];
  if (view->survey != oracle->survey.stamp || !view->is_object)
    return false;
  *ret_object = view->object;
  return true;
}

void
survey_clear(struct survey *survey)
{
  survey->stamp = 1; /* no block bears it: none has been shown */
  survey->sweep = 0;
  survey->odd = 0;
  survey->object_count = 0;
  survey->edge_count = 0;
  survey->has_root = false;
  survey->root_bytes = 0;
  survey->words_asked = 1;
  if (survey->known_capacity)
    memset(survey->known, 0, survey->known_capacity * sizeof *survey->known);
  if (survey->word_capacity)
    memset(survey->words, 0, survey->word_capacity * sizeof *survey->words);
}

void
survey_done(struct survey *survey)
{
  free(survey->objects);
  free(survey->edges);
  free(survey->queue);
  free(survey->reached);
  free(survey->known);
  free(survey->words);
}
