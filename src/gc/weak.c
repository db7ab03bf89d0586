/* SPDX-License-Identifier: MIT
 *
 * Weak tables: visits, ephemerons to a fixpoint, clearing. Owns heap->ready
 * and what is on the grey lists `weak`, `ephemeron` and `allweak`. mark.c
 * calls it, for the visit of a table and for the steps of the atomic phase.
 *
 * THE MODE is read from the metatable's __mode at every visit, so that the
 * last one, in the atomic phase, decides: a short string that has a 'k' makes
 * the keys weak, one that has a 'v' the values. Every weak table is visited
 * in the atomic phase: an earlier visit only marks what is strong whatever
 * comes, and sends the table to grey_again.
 *
 *   weak      an earlier visit marks         the last visit lists it in
 *   values    its keys                       weak, if it may have dead values
 *   keys      its array; the value of each   ephemeron, if a key and its value
 *             key that has been reached      are white; allweak, if only a key
 *   both      nothing                        allweak
 *
 * A table that has nothing to clear turns black at once; the others stay grey
 * until the end of the atomic phase, which empties the three lists. Between
 * two micro-steps they are empty.
 *
 * Objects are what can be cleared. A string is as good as a value that is no
 * object: whoever asks whether it was reached marks it. So a pair with a
 * string goes only because of its other side.
 *
 * A pair goes by its value becoming nil. The key of a node that has no value
 * is tagged dead, and what it was may be freed.
 *
 * EPHEMERONS. The value of a weak key is reached only with the key. Pairs of
 * two white sides wait for their key: each such node is chained, through its
 * field `wait`, from the grey link of the key, which is free as the key is
 * white and thus on no grey list, and the key's mark says so
 * (GC_MARK_AWAITED). When something marks the key, its chain is moved to
 * heap->ready. The fixpoint is a loop: propagate; take one ready node and mark
 * its value; until nothing is grey and nothing ready. So each pair is looked
 * at once when its table is visited and once more if its key is reached after
 * that: the work is linear in the pairs, in whatever order a chain of them
 * lies. Nothing is allocated and nothing calls itself. A table is visited
 * once in an atomic phase, so no node is chained twice. Keys that are still
 * white after the last fixpoint get their links and marks back when their
 * pairs are cleared.
 */
#include <string.h>

#include "gc/gc_assert.h"
#include "gc/heap.h"

static const struct gc_value nil = { .tag = GC_TAG_NIL };

enum gc_weakness
gc_weak_mode(const struct gc_heap *heap, const struct gc_table *table)
{
  struct gc_value name = { .tag = GC_TAG_OBJECT,
                           .as.object = &heap->names[GC_NAME_MODE]->head };
  const struct gc_value *mode = NULL;
  const struct gc_string *text;
  enum gc_weakness result = GC_WEAK_NOTHING;

  if (table->metatable != NULL) {
    mode = gc_table_get(table->metatable, &name);
  }
  if (mode == NULL || !gc_value_is_object(mode)
      || (mode->as.object->kind != GC_KIND_STRING_SHORT
          && !(GC_FAULTY(heap, WEAK_MODE_LONG)
               && mode->as.object->kind == GC_KIND_STRING_LONG))) {
    return GC_WEAK_NOTHING;
  }
  text = (const struct gc_string *)mode->as.object;
  if (strchr(text->bytes, 'k') != NULL && !GC_FAULTY(heap, WEAK_KEYS_STRONG)) {
    result |= GC_WEAK_KEYS;
  }
  if (strchr(text->bytes, 'v') != NULL
      && !GC_FAULTY(heap, WEAK_VALUES_STRONG)) {
    result |= GC_WEAK_VALUES;
  }
  return result;
}

/* ---- sides of pairs -------------------------------------------------- */

static bool
is_white(const struct gc_value *value)
{
  return gc_value_is_object(value) && gc_is_white(value->as.object);
}

/* Whether this side of a pair is a white object, so that the pair goes if
 * nothing reaches it. A string is marked. */
static bool
is_unreached(struct gc_heap *heap, const struct gc_value *value)
{
  if (!is_white(value)) {
    return false;
  }
  if (gc_value_is_string(value)) {
    gc_mark_object(heap, value->as.object);
    return false;
  }
  return true;
}

/* The same for values in particular. */
static bool
is_value_unreached(struct gc_heap *heap, const struct gc_value *value)
{
  return GC_FAULTY(heap, WEAK_STRING_REMOVED) ? is_white(value)
                                              : is_unreached(heap, value);
}

static void
tell_cleared(struct gc_heap *heap, const struct gc_table *table,
             const struct gc_value *side, bool is_key)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_CLEARED,
                                      .object = &table->head,
                                      .other = side->as.object,
                                      .from = is_key });
  }
}

/* ---- ephemerons ------------------------------------------------------ */

static void
chain(const struct gc_heap *heap, struct gc_node *node)
{
  struct gc_object *key = node->key.as.object;
  struct gc_object **link = gc_grey_link(key);

  node->wait = NULL;
  if ((key->mark & GC_MARK_AWAITED)
      && !GC_FAULTY(heap, AWAITED_LAST_ONLY)) {
    node->wait = (struct gc_node *)(void *)*link;
  }
  *link = (struct gc_object *)(void *)node;
  key->mark |= GC_MARK_AWAITED;
}

void
gc_weak_key_reached(struct gc_heap *heap, struct gc_object *key)
{
  struct gc_object **link = gc_grey_link(key);
  struct gc_node *first = (struct gc_node *)(void *)*link;
  struct gc_node *last = first;

  while (last->wait != NULL && !GC_FAULTY(heap, AWAITED_FIRST_ONLY)) {
    last = last->wait;
  }
  last->wait = heap->ready;
  heap->ready = first;
  key->mark &= (uint8_t)~GC_MARK_AWAITED;
  *link = NULL;
}

size_t
gc_weak_converge(struct gc_heap *heap)
{
  size_t cost = gc_mark_propagate_all(heap);

  while (heap->ready != NULL) {
    struct gc_node *node = heap->ready;

    heap->ready = node->wait;
    node->wait = NULL;
    gc_mark_value(heap, &node->value);
    if (GC_FAULTY(heap, EPHEMERON_STOPS_EARLY)) {
      heap->ready = NULL;
    }
    cost += 1 + gc_mark_propagate_all(heap);
  }
  return cost;
}

/* ---- visits ---------------------------------------------------------- */

/* Where a table waits that the last visit would put on `list`. */
static enum gc_grey
waiting_list(const struct gc_heap *heap, enum gc_grey list)
{
  bool is_last = heap->phase == GC_PHASE_ATOMIC;

  if ((GC_FAULTY(heap, ALLWEAK_UNLISTED) && is_last
       && list == GC_GREY_ALLWEAK)
      || (GC_FAULTY(heap, WEAK_NOT_AGAIN) && !is_last)) {
    return GC_GREY_NONE;
  }
  if (GC_FAULTY(heap, MODE_NOT_REREAD) && list == GC_GREY_ALLWEAK) {
    return list;
  }
  return is_last ? list : GC_GREY_AGAIN;
}

/* One of age TOUCHED2 is black until now. */
static void
list_or_settle(struct gc_heap *heap, struct gc_table *table,
               enum gc_grey last)
{
  enum gc_grey list = waiting_list(heap, last);

  if (list == GC_GREY_NONE) {
    gc_mark_settle(heap, &table->head);
  } else {
    gc_set_colour(heap, &table->head, GC_GREY);
    gc_grey_push(heap, &table->head, list);
  }
}

/* Values of the array part may be dead: nobody looks before they are
 * cleared. */
static void
visit_weak_values(struct gc_heap *heap, struct gc_table *table)
{
  bool clears = table->array_size > 0;

  for (uint32_t i = 0; i < table->node_count; i++) {
    struct gc_node *node = &table->nodes[i];

    if (node->value.tag == GC_TAG_NIL) {
      gc_node_clear_key(node);
      continue;
    }
    if (!GC_FAULTY(heap, WEAK_VALUE_KEYS_UNMARKED)) {
      gc_mark_value(heap, &node->key);
    }
    if (is_value_unreached(heap, &node->value)) {
      clears = true;
    }
  }
  list_or_settle(heap, table, clears ? GC_GREY_WEAK : GC_GREY_NONE);
}

/* One pair of a table with weak keys. Raises *list to where the pair wants its
 * table to be. */
static void
visit_ephemeron(struct gc_heap *heap, struct gc_node *node,
                enum gc_grey *list)
{
  if (!is_unreached(heap, &node->key)
      || GC_FAULTY(heap, EPHEMERON_VALUES_STRONG)) {
    gc_mark_value(heap, &node->value);
    if (!is_white(&node->key)) {
      return;
    }
  }
  if (is_white(&node->value)) {
    if (heap->phase == GC_PHASE_ATOMIC) {
      chain(heap, node);
    }
    *list = GC_GREY_EPHEMERON;
  } else if (*list == GC_GREY_NONE
             && !GC_FAULTY(heap, WEAK_KEY_WITH_LIVE_VALUE)) {
    *list = GC_GREY_ALLWEAK;
  }
}

static void
visit_weak_keys(struct gc_heap *heap, struct gc_table *table)
{
  enum gc_grey list = GC_GREY_NONE;

  for (uint32_t i = 0;
       i < table->array_size && !GC_FAULTY(heap, EPHEMERON_ARRAY_UNMARKED);
       i++) {
    gc_mark_value(heap, &table->array[i]);
  }
  for (uint32_t i = 0; i < table->node_count; i++) {
    struct gc_node *node = &table->nodes[i];

    if (node->value.tag == GC_TAG_NIL) {
      gc_node_clear_key(node);
    } else {
      visit_ephemeron(heap, node, &list);
    }
  }
  list_or_settle(heap, table, list);
}

size_t
gc_weak_visit(struct gc_heap *heap, struct gc_table *table,
              enum gc_weakness mode)
{
  if (!GC_FAULTY(heap, WEAK_METATABLE_UNMARKED)) {
    gc_mark_object(heap, &table->metatable->head);
  }
  if (mode == GC_WEAK_VALUES) {
    visit_weak_values(heap, table);
  } else if (mode == GC_WEAK_KEYS) {
    visit_weak_keys(heap, table);
  } else {
    list_or_settle(heap, table, GC_GREY_ALLWEAK);
    return 1;
  }
  return 1 + (size_t)table->array_size + 2 * (size_t)table->node_count;
}

/* ---- clearing -------------------------------------------------------- */

/* Ends a node that has lost a side, or had no value anyway. */
static void
clear_node(struct gc_heap *heap, struct gc_node *node)
{
  if (!GC_FAULTY(heap, WEAK_KEY_NOT_DEAD)) {
    gc_node_clear_key(node);
  }
}

static void
clear_array(struct gc_heap *heap, struct gc_table *table)
{
  if (GC_FAULTY(heap, WEAK_ARRAY_KEPT)) {
    return;
  }
  for (uint32_t i = 0; i < table->array_size; i++) {
    if (is_value_unreached(heap, &table->array[i])) {
      tell_cleared(heap, table, &table->array[i], false);
      table->array[i] = nil;
    }
  }
}

/* Pairs whose value is dead. */
static void
clear_values_of(struct gc_heap *heap, struct gc_table *table)
{
  clear_array(heap, table);
  for (uint32_t i = 0; i < table->node_count; i++) {
    struct gc_node *node = &table->nodes[i];

    if (is_value_unreached(heap, &node->value)) {
      tell_cleared(heap, table, &node->value, false);
      node->value = nil;
    } else if (GC_FAULTY(heap, WEAK_SCALAR_REMOVED)
               && node->value.tag == GC_TAG_INTEGER) {
      node->value = nil;
    }
    if (node->value.tag == GC_TAG_NIL) {
      clear_node(heap, node);
    }
  }
}

/* Pairs whose key is dead. Nobody waits for it any more. */
static void
clear_keys_of(struct gc_heap *heap, struct gc_table *table)
{
  for (uint32_t i = 0; i < table->node_count; i++) {
    struct gc_node *node = &table->nodes[i];

    if (node->value.tag != GC_TAG_NIL && is_unreached(heap, &node->key)) {
      struct gc_object *key = node->key.as.object;

      if (key->mark & GC_MARK_AWAITED) {
        key->mark &= (uint8_t)~GC_MARK_AWAITED;
        *gc_grey_link(key) = NULL;
      }
      tell_cleared(heap, table, &node->key, true);
      if (GC_FAULTY(heap, KEY_CLEARED_VALUE_KEPT)) {
        gc_node_clear_key(node);
        continue;
      }
      node->value = nil;
    }
    if (node->value.tag == GC_TAG_NIL) {
      clear_node(heap, node);
    }
  }
}

struct gc_object *
gc_weak_clear_values(struct gc_heap *heap, const struct gc_object *done)
{
  struct gc_object *object;

  while ((object = gc_grey_pop(heap, GC_GREY_WEAK)) != NULL) {
    clear_values_of(heap, (struct gc_table *)object);
    gc_mark_settle(heap, object);
  }
  for (object = heap->grey_allweak; object != done;
       object = *gc_grey_link(object)) {
    clear_values_of(heap, (struct gc_table *)object);
  }
  return heap->grey_allweak;
}

static void
clear_keys(struct gc_heap *heap, struct gc_object *list)
{
  for (; list != NULL; list = *gc_grey_link(list)) {
    clear_keys_of(heap, (struct gc_table *)list);
  }
}

void
gc_weak_clear_keys(struct gc_heap *heap)
{
  GC_ASSERT(heap->ready == NULL);
  clear_keys(heap, heap->grey_ephemeron);
  clear_keys(heap, heap->grey_allweak);
}

void
gc_weak_settle(struct gc_heap *heap)
{
  for (enum gc_grey list = GC_GREY_WEAK; list <= GC_GREY_ALLWEAK; list++) {
    struct gc_object *object;

    while ((object = gc_grey_pop(heap, list)) != NULL) {
      gc_mark_settle(heap, object);
    }
  }
}
