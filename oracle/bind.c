/* SPDX-License-Identifier: MIT
 *
 * See bind.h. New nodes nearly always hang from the running coroutine, so the
 * walk starts there and at the root, and goes on through what it binds. Only
 * if nodes that are reachable stay unbound are all bound objects walked. Each
 * object is walked once at most in either case, so that a chain of a million
 * costs a million.
 */
#include "oracle/bind.h"

#include <stdlib.h>
#include <string.h>

#include "oracle/state.h"

const uint8_t bind_labels[BIND_LABELS] = {
    [SUBJECT_LABEL_ENTRY] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_METATABLE] = BIND_COUNTED,
    [SUBJECT_LABEL_UPVALUE] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_VALUE] = 0,
    [SUBJECT_LABEL_USERVALUE] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_ENVIRONMENT] = BIND_COUNTED,
    [SUBJECT_LABEL_PROTOTYPE] = 0,
    [SUBJECT_LABEL_CONSTANT] = BIND_KEYED,
    [SUBJECT_LABEL_NESTED] = BIND_KEYED,
    [SUBJECT_LABEL_FUNCTION] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_REGISTER] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_VARARG] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_TBC] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_START] = BIND_COUNTED,
    [SUBJECT_LABEL_RESUMED] = BIND_COUNTED,
    [SUBJECT_LABEL_REGISTRY] = BIND_COUNTED,
    [SUBJECT_LABEL_GLOBALS] = BIND_COUNTED,
    [SUBJECT_LABEL_MAIN] = BIND_COUNTED,
    [SUBJECT_LABEL_CURRENT] = BIND_COUNTED,
    [SUBJECT_LABEL_BASICMETA] = BIND_COUNTED | BIND_KEYED,
    [SUBJECT_LABEL_INTERNAL] = BIND_KEYED,
};

/* ---- translation ----------------------------------------------------- */

struct shadow_value
bind_translate(const struct oracle *oracle, struct subject_value value)
{
  if (value.tag == SUBJECT_NIL)
    return (struct shadow_value){.bits = 0, .tag = SUBJECT_NIL};
  if (value.tag != SUBJECT_OBJECT)
    return (struct shadow_value){.bits = value.bits, .tag = value.tag};
  uint32_t block = blocks_find(&oracle->blocks, value.bits);
  const struct block_view *view = &oracle->blocks.views[block];
  if (view->tag == SHADOW_NODE || view->tag == SHADOW_STRING)
    return (struct shadow_value){.bits = view->bits, .tag = view->tag};
  return (struct shadow_value){.bits = value.bits, .tag = SUBJECT_OTHER};
}

struct shadow_value
bind_key(const struct oracle *oracle, const struct subject_edge *edge)
{
  if (!(bind_labels[edge->label] & BIND_KEYED))
    return (struct shadow_value){.bits = 0, .tag = SUBJECT_NIL};
  return bind_translate(oracle, edge->key);
}

struct subject_value
bind_behind(const struct oracle *oracle, const struct subject_edge *edge)
{
  const struct survey *survey = &oracle->survey;
  uint32_t upvalue;
  if (edge->label != SUBJECT_LABEL_UPVALUE ||
      edge->value.tag != SUBJECT_OBJECT ||
      !survey_find(oracle, edge->value.bits, &upvalue) ||
      survey->objects[upvalue].kind != SUBJECT_KIND_UPVALUE)
    return edge->value;
  const struct survey_object *object = &survey->objects[upvalue];
  for (uint32_t at = object[0].first; at < object[1].first; at++)
    if (survey->edges[at].label == SUBJECT_LABEL_VALUE)
      return survey->edges[at].value;
  return (struct subject_value){.bits = 0, .tag = SUBJECT_NIL};
}

struct shadow_value
bind_value(const struct oracle *oracle, const struct subject_edge *edge)
{
  return bind_translate(oracle, bind_behind(oracle, edge));
}

/* ---- tables ---------------------------------------------------------- */

/* Makes room for count entries; new ones are 0. */
static bool
extend(uint32_t **table, uint32_t *capacity, uint32_t *used, uint32_t count)
{
  if (count > *capacity) {
    uint32_t *room = oracle_reserve(*table, capacity, count, sizeof *room);
    if (!room)
      return false;
    *table = room;
  }
  if (count > *used)
    memset(*table + *used, 0, (count - *used) * sizeof **table);
  *used = count > *used ? count : *used;
  return true;
}

void
bind_clear(struct binding *binding)
{
  binding->node_count = 0;
  binding->looked_for = 0;
  binding->cell_count = 0;
  binding->later_count = 0;
}

void
bind_done(struct binding *binding)
{
  free(binding->node_block);
  free(binding->cell_block);
  free(binding->later);
}

uint32_t
bind_forget(struct oracle *oracle, uint32_t block)
{
  struct binding *binding = &oracle->binding;
  const struct block_view *view = &oracle->blocks.views[block];
  struct block *record = &oracle->blocks.records[block];
  if (record->cell) {
    binding->cell_block[record->cell] = 0;
    record->cell = 0;
  }
  if (view->tag != SHADOW_NODE)
    return BIND_NO_NODE;
  binding->node_block[view->bits] = 0;
  return view->bits;
}

bool
bind_cell(struct oracle *oracle, uint32_t cell, uint32_t block)
{
  struct binding *binding = &oracle->binding;
  struct block *record = &oracle->blocks.records[block];
  if (cell >= binding->cell_count &&
      !extend(&binding->cell_block, &binding->cell_capacity,
              &binding->cell_count, cell + 1)) {
    oracle->exhausted = true;
    return true;
  }
  if (record->cell == cell && binding->cell_block[cell] == block)
    return true;
  if (record->cell || binding->cell_block[cell])
    return false;
  record->cell = cell;
  binding->cell_block[cell] = block;
  return true;
}

static bool
extend_nodes(struct oracle *oracle, uint32_t count)
{
  struct binding *binding = &oracle->binding;
  if (extend(&binding->node_block, &binding->node_capacity,
             &binding->node_count, count))
    return true;
  oracle->exhausted = true;
  return false;
}

void
bind_node(struct oracle *oracle, uint32_t node, uint32_t block)
{
  struct binding *binding = &oracle->binding;
  struct block_view *view = &oracle->blocks.views[block];
  if (!extend_nodes(oracle, node + 1) || binding->node_block[node] ||
      view->tag != SUBJECT_OTHER ||
      shadow_kind(oracle->shadow, node) != (enum subject_kind)view->kind)
    return;
  view->tag = SHADOW_NODE;
  view->bits = node;
  binding->node_block[node] = block;
}

/* ---- births ---------------------------------------------------------- */

/* Kinds of objects that nodes stand for. */
static bool
has_node(uint8_t kind)
{
  return (kind >= SUBJECT_KIND_TABLE && kind <= SUBJECT_KIND_THREAD) ||
         kind == SUBJECT_KIND_CDATA;
}

static bool
postpone(struct oracle *oracle, uint32_t object, uint32_t edge)
{
  struct binding *binding = &oracle->binding;
  uint64_t count = (uint64_t)binding->later_count + 1;
  if (count > binding->later_capacity) {
    struct bind_place *room = oracle_reserve(
        binding->later, &binding->later_capacity, count, sizeof *room);
    if (!room)
      return false;
    binding->later = room;
  }
  binding->later[binding->later_count++] = (struct bind_place){object, edge};
  return true;
}

/* Binds what the edge of a bound object leads to, if that is unbound and the
 * shadow has an unbound node of that kind there. Pushes it. What does not fit
 * is left unbound: the edge then differs from the shadow's, and is judged as
 * contents or identity. */
static uint32_t
meet(struct oracle *oracle, uint32_t object, uint32_t at, uint32_t count)
{
  struct survey *survey = &oracle->survey;
  struct binding *binding = &oracle->binding;
  const struct subject_edge *edge = &survey->edges[at];
  uint32_t node = oracle_node(oracle, object);
  uint32_t child;
  if (!(bind_labels[edge->label] & BIND_COUNTED))
    return count;
  struct subject_value value = bind_behind(oracle, edge);
  if (value.tag != SUBJECT_OBJECT || !survey_find(oracle, value.bits, &child) ||
      !has_node(survey->objects[child].kind))
    return count;
  uint32_t block = survey->objects[child].block;
  struct block_view *view = &oracle->blocks.views[block];
  if (view->tag != SUBJECT_OTHER)
    return count;
  struct shadow_value key = bind_key(oracle, edge);
  struct shadow_value there;
  if (key.tag == SUBJECT_OTHER) {
    if (!postpone(oracle, object, at))
      oracle->exhausted = true;
    return count;
  }
  if (!shadow_lookup(oracle->shadow, node, edge->label, key, &there) ||
      there.tag != SHADOW_NODE || binding->node_block[there.bits] ||
      shadow_kind(oracle->shadow, (uint32_t)there.bits) !=
          (enum subject_kind)view->kind)
    return count;
  view->tag = SHADOW_NODE;
  view->bits = (uint32_t)there.bits;
  binding->node_block[there.bits] = block;
  survey->queue[count] = child;
  return count + 1;
}

/* Walks from the objects in the queue, between next and count. */
static uint32_t
drain(struct oracle *oracle, uint32_t next, uint32_t count)
{
  struct survey *survey = &oracle->survey;
  for (; next < count; next++) {
    uint32_t object = survey->queue[next];
    for (uint32_t at = survey->objects[object].first;
         at < survey->objects[object + 1].first; at++)
      count = meet(oracle, object, at, count);
  }
  return count;
}

static void
walk(struct oracle *oracle, uint32_t count)
{
  struct binding *binding = &oracle->binding;
  uint32_t before = 0;
  binding->later_count = 0;
  count = drain(oracle, 0, count);
  /* A key may have been bound since: again, as long as that helps. */
  while (binding->later_count && before != count && !oracle->exhausted) {
    uint32_t waiting = binding->later_count;
    before = count;
    binding->later_count = 0;
    for (uint32_t i = 0; i < waiting; i++)
      count =
          meet(oracle, binding->later[i].object, binding->later[i].edge, count);
    count = drain(oracle, before, count);
  }
}

static bool
is_all_bound(const struct oracle *oracle, uint32_t from, uint32_t to)
{
  for (uint32_t node = from; node < to; node++)
    if (node != SHADOW_ROOT && !oracle->binding.node_block[node] &&
        shadow_is_held(oracle->shadow, node))
      return false;
  return true;
}

static uint32_t
queue_all_bound(struct oracle *oracle)
{
  struct survey *survey = &oracle->survey;
  uint32_t count = 0;
  for (uint32_t object = 0; object < survey->object_count; object++) {
    uint32_t node = oracle_node(oracle, object);
    if (node != BIND_NO_NODE && shadow_is_held(oracle->shadow, node))
      survey->queue[count++] = object;
  }
  return count;
}

/* An object that an operation has made and marked for finalization, and that
 * stands for no node yet: the oldest one of the kind. */
static uint32_t
find_marked(const struct oracle *oracle, enum subject_kind kind)
{
  const struct survey *survey = &oracle->survey;
  uint32_t found = survey->object_count;
  for (uint32_t i = 0; i < survey->object_count; i++) {
    const struct survey_object *object = &survey->objects[i];
    if (object->flags & SUBJECT_OBJECT_MARKED && object->kind == kind &&
        object->number > oracle->number_before &&
        oracle->blocks.views[object->block].tag == SUBJECT_OTHER &&
        (found == survey->object_count ||
         object->number < survey->objects[found].number))
      found = i;
  }
  return found;
}

/* Nodes to which nothing leads and that are owed a finalizer: where births are
 * not told a finalizer has made them. */
static uint32_t
queue_marked(struct oracle *oracle, uint32_t from, uint32_t to)
{
  struct survey *survey = &oracle->survey;
  uint32_t count = 0;
  for (uint32_t node = from; node < to; node++) {
    if (node == SHADOW_ROOT || oracle->binding.node_block[node] ||
        !shadow_marking(oracle->shadow, node))
      continue;
    uint32_t object = find_marked(oracle, shadow_kind(oracle->shadow, node));
    if (object == survey->object_count)
      continue;
    bind_node(oracle, node, survey->objects[object].block);
    survey->queue[count++] = object;
  }
  return count;
}

bool
bind_births(struct oracle *oracle)
{
  struct survey *survey = &oracle->survey;
  struct binding *binding = &oracle->binding;
  uint32_t from = binding->looked_for;
  uint32_t to = shadow_node_count(oracle->shadow);
  uint32_t count = 0;
  uint32_t running;
  if (from == to)
    return true;
  if (!extend_nodes(oracle, to))
    return false;
  binding->looked_for = to;
  shadow_reach(oracle->shadow);
  if (!survey->object_count)
    return true;
  if (survey->has_root)
    survey->queue[count++] = survey->root;
  running = binding->node_block[shadow_running(oracle->shadow)];
  if (running && oracle->blocks.views[running].survey == survey->stamp)
    survey->queue[count++] = oracle->blocks.views[running].object;
  walk(oracle, count);
  if (!oracle->exhausted && !is_all_bound(oracle, from, to))
    walk(oracle, queue_all_bound(oracle));
  if (!oracle->exhausted && !is_all_bound(oracle, from, to))
    walk(oracle, queue_marked(oracle, from, to));
  return !oracle->exhausted;
}
