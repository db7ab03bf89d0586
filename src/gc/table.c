/* SPDX-License-Identifier: MIT
 *
 * Tables: an array part for the keys 1..array_size and a hash part for all
 * others. The hash part is a chained scatter table: every key has a main
 * node, given by its hash; the keys that share it are chained through the
 * nodes, and a key whose main node is taken lives in one from the end of the
 * part (last_free only goes down). A key that sits in another's main node
 * gives way to it, so each chain starts in its keys' main node. When no free
 * node is left, the keys are counted and both parts are made anew.
 *
 * Removing a key makes its value nil; the node stays, so that a traversal can
 * go on from it, until its main node's next key or a rehash takes it. The key
 * of such a node is no reference: the collector tags it as dead when it
 * visits the table (gc_node_clear_key) and may free the object. A dead key is
 * therefore compared by identity only, and only to go on with a traversal;
 * its hash is never asked for, since only keys with a value are ever moved.
 *
 * Hashes come from contents and birth numbers, never from addresses. Light
 * functions have nothing but an address and all hash to the same node: a
 * table with many of them as keys is slow, but two runs are alike.
 */
#include <string.h>

#include "gc/gc_assert.h"
#include "gc/heap.h"
#include "gc/store.h"

enum {
  SLOTS_MAX_LOG2 = 26,
  SLOTS_MAX = 1 << SLOTS_MAX_LOG2 /* of one part */
};

_Static_assert(SLOTS_MAX <= SIZE_MAX / sizeof(struct gc_node),
               "the size of the largest part fits");

static const struct gc_value nil = { .tag = GC_TAG_NIL };

/* ---- keys ------------------------------------------------------------ */

/* Whether number is an integer that an int64_t holds. */
static bool
number_to_integer(double number, int64_t *ret_integer)
{
  int64_t integer;

  if (!(number >= -0x1p63 && number < 0x1p63)) {
    return false;
  }
  integer = (int64_t)number;
  if ((double)integer != number) {
    return false;
  }
  *ret_integer = integer;
  return true;
}

struct gc_value
gc_key_normalised(const struct gc_value *key)
{
  struct gc_value result = *key;
  int64_t integer;

  if (key->tag == GC_TAG_FLOAT
      && number_to_integer(key->as.number, &integer)) {
    result.tag = GC_TAG_INTEGER;
    result.as.integer = integer;
  }
  return result;
}

static bool
object_equal(const struct gc_object *a, const struct gc_object *b)
{
  if (a == b) {
    return true;
  }
  return a->kind == GC_KIND_STRING_LONG && b->kind == GC_KIND_STRING_LONG
         && gc_string_equal((const struct gc_string *)a,
                            (const struct gc_string *)b);
}

bool
gc_value_equal(const struct gc_value *a, const struct gc_value *b)
{
  struct gc_value x, y;

  if (a->tag != b->tag) {
    x = gc_key_normalised(a);
    y = gc_key_normalised(b);
    return x.tag == GC_TAG_INTEGER && y.tag == GC_TAG_INTEGER
           && x.as.integer == y.as.integer;
  }
  switch ((enum gc_tag)a->tag) {
  case GC_TAG_NIL:
  case GC_TAG_FALSE:
  case GC_TAG_TRUE:
    return true;
  case GC_TAG_INTEGER:
    return a->as.integer == b->as.integer;
  case GC_TAG_FLOAT:
    return a->as.number == b->as.number;
  case GC_TAG_POINTER:
    return a->as.pointer == b->as.pointer;
  case GC_TAG_NATIVE:
    return a->as.native == b->as.native;
  case GC_TAG_OBJECT:
    return object_equal(a->as.object, b->as.object);
  case GC_TAG_DEAD_KEY:
    break;
  }
  return false;
}

static uint32_t
mix(uint64_t bits)
{
  bits ^= bits >> 32;
  bits *= 0x9e3779b97f4a7c15u;
  return (uint32_t)(bits >> 32);
}

static uint32_t
object_hash(const struct gc_object *object)
{
  if (object->kind == GC_KIND_STRING_SHORT
      || object->kind == GC_KIND_STRING_LONG) {
    return ((const struct gc_string *)object)->hash;
  }
  return mix(object->sequence);
}

static uint32_t
key_hash(const struct gc_value *key)
{
  uint64_t bits = 0;

  switch ((enum gc_tag)key->tag) {
  case GC_TAG_INTEGER:
    return mix((uint64_t)key->as.integer);
  case GC_TAG_FLOAT:
    memcpy(&bits, &key->as.number, sizeof(bits));
    return mix(bits);
  case GC_TAG_POINTER:
    return mix((uint64_t)(uintptr_t)key->as.pointer);
  case GC_TAG_OBJECT:
    return object_hash(key->as.object);
  case GC_TAG_NIL:
  case GC_TAG_FALSE:
  case GC_TAG_TRUE:
  case GC_TAG_NATIVE:
  case GC_TAG_DEAD_KEY:
    break;
  }
  return key->tag;
}

/* ---- the two parts --------------------------------------------------- */

/* The array slot of a normalised key, or NULL. */
static struct gc_value *
array_slot(const struct gc_table *table, const struct gc_value *key)
{
  if (key->tag != GC_TAG_INTEGER
      || (uint64_t)key->as.integer - 1 >= table->array_size) {
    return NULL;
  }
  return &table->array[key->as.integer - 1];
}

/* Keys of the array part if it had size slots. */
static bool
is_array_key(const struct gc_value *key, uint32_t size)
{
  return key->tag == GC_TAG_INTEGER && (uint64_t)key->as.integer - 1 < size;
}

static struct gc_node *
main_node(const struct gc_table *table, const struct gc_value *key)
{
  return &table->nodes[key_hash(key) & (table->node_count - 1)];
}

static struct gc_node *
node_after(struct gc_node *node)
{
  return node->next == 0 ? NULL : node + node->next;
}

static void
node_link(struct gc_node *node, const struct gc_node *after)
{
  node->next = after == NULL ? 0 : (int32_t)(after - node);
}

/* The node with a normalised key, whatever its value, or NULL. */
static struct gc_node *
node_find(const struct gc_table *table, const struct gc_value *key)
{
  struct gc_node *node = NULL;

  if (table->node_count > 0) {
    node = main_node(table, key);
  }
  while (node != NULL && !gc_value_equal(&node->key, key)) {
    node = node_after(node);
  }
  return node;
}

static struct gc_node *
node_take_free(struct gc_table *table)
{
  while (table->last_free > 0) {
    struct gc_node *node = &table->nodes[--table->last_free];

    if (node->key.tag == GC_TAG_NIL) {
      return node;
    }
  }
  return NULL;
}

/* Gives the contents of a node that is in a chain started elsewhere to spare,
 * which takes its place in that chain. */
static void
node_move(const struct gc_table *table, struct gc_node *node,
          struct gc_node *spare)
{
  struct gc_node *before = main_node(table, &node->key);
  struct gc_node *after = node_after(node);

  while (node_after(before) != node) {
    before = node_after(before);
  }
  node_link(before, spare);
  spare->key = node->key;
  spare->value = node->value;
  node_link(spare, after);
  node->next = 0;
}

/* A node for a normalised key that the hash part does not have; its value is
 * nil and has to be set. NULL if there is no free node. */
static struct gc_node *
node_insert(struct gc_table *table, const struct gc_value *key)
{
  struct gc_node *node, *spare;

  if (table->node_count == 0) {
    return NULL;
  }
  node = main_node(table, key);
  if (node->value.tag != GC_TAG_NIL) {
    spare = node_take_free(table);
    if (spare == NULL) {
      return NULL;
    }
    if (main_node(table, &node->key) == node) {
      node_link(spare, node_after(node));
      node_link(node, spare);
      node = spare;
    } else {
      node_move(table, node, spare);
    }
  }
  node->key = *key;
  node->value = nil;
  return node;
}

/* ---- resizing -------------------------------------------------------- */

/* How many keys of the table an array part of size slots would not hold. */
static uint32_t
count_outside(const struct gc_table *table, uint32_t size)
{
  uint32_t count = 0;

  for (uint32_t i = size; i < table->array_size; i++) {
    count += table->array[i].tag != GC_TAG_NIL;
  }
  for (uint32_t i = 0; i < table->node_count; i++) {
    const struct gc_node *node = &table->nodes[i];

    count += node->value.tag != GC_TAG_NIL && !is_array_key(&node->key, size);
  }
  return count;
}

/* Makes an empty hash part for at least slots keys. */
static bool
nodes_new(struct gc_heap *heap, struct gc_table *table, uint32_t slots)
{
  uint32_t count = 1;

  table->nodes = NULL;
  table->node_count = table->last_free = 0;
  if (slots == 0) {
    return true;
  }
  if (slots > SLOTS_MAX) {
    return false;
  }
  while (count < slots) {
    count *= 2;
  }
  table->nodes = gc_memory_resize(heap, NULL, 0,
                                  count * sizeof(struct gc_node));
  if (table->nodes == NULL) {
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    table->nodes[i] = (struct gc_node){ .key = nil, .value = nil };
  }
  table->node_count = table->last_free = count;
  return true;
}

static void
nodes_free(struct gc_heap *heap, struct gc_table *table)
{
  if (table->node_count > 0) {
    gc_memory_resize(heap, table->nodes,
                     table->node_count * sizeof(struct gc_node), 0);
  }
}

/* Copies what fresh's array part does not hold into its hash part. */
static void
carry_to_nodes(struct gc_heap *heap, const struct gc_table *table,
               struct gc_table *fresh)
{
  uint32_t count = table->node_count;

  if (GC_FAULTY(heap, TABLE_REHASH_LOSES) && count > 0
      && fresh->node_count > count) {
    count--;
  }
  for (uint32_t i = fresh->array_size; i < table->array_size; i++) {
    struct gc_value key = { .as.integer = (int64_t)i + 1,
                            .tag = GC_TAG_INTEGER };

    if (table->array[i].tag != GC_TAG_NIL) {
      node_insert(fresh, &key)->value = table->array[i];
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct gc_node *node = &table->nodes[i];

    if (node->value.tag != GC_TAG_NIL
        && !is_array_key(&node->key, fresh->array_size)) {
      node_insert(fresh, &node->key)->value = node->value;
    }
  }
}

/* A block for fresh's array part, whose values are still to come; table's own
 * if it has the right size. */
static bool
array_new(struct gc_heap *heap, const struct gc_table *table,
          struct gc_table *fresh)
{
  if (fresh->array_size == table->array_size) {
    fresh->array = table->array;
    return true;
  }
  if (fresh->array_size > 0) {
    fresh->array
        = gc_memory_resize(heap, NULL, 0,
                           fresh->array_size * sizeof(struct gc_value));
  }
  return fresh->array != NULL || fresh->array_size == 0;
}

/* Copies what fresh's array part holds. */
static void
carry_to_array(const struct gc_table *table, struct gc_table *fresh)
{
  for (uint32_t i = 0; i < fresh->array_size; i++) {
    fresh->array[i] = i < table->array_size ? table->array[i] : nil;
  }
  for (uint32_t i = 0; i < table->node_count; i++) {
    const struct gc_node *node = &table->nodes[i];

    if (node->value.tag != GC_TAG_NIL
        && is_array_key(&node->key, fresh->array_size)) {
      fresh->array[node->key.as.integer - 1] = node->value;
    }
  }
}

/* Frees table's array unless fresh goes on with it. */
static void
array_replace(struct gc_heap *heap, const struct gc_table *table,
              const struct gc_table *fresh)
{
  uint32_t size = table->array_size;

  if (size == 0 || size == fresh->array_size) {
    return;
  }
  if (GC_FAULTY(heap, TABLE_ARRAY_OLD_SIZE)) {
    size = fresh->array_size;
  }
  gc_memory_resize(heap, table->array, size * sizeof(struct gc_value), 0);
}

static enum gc_status
resize_failed(struct gc_heap *heap, const struct gc_table *table)
{
  if (GC_FAULTY(heap, TABLE_FAILED_RESIZE) && table->array_size > 0) {
    table->array[table->array_size - 1] = nil;
  }
  return GC_NO_MEMORY;
}

/* Both blocks are allocated first, so that a failure leaves the table as it
 * was, and nothing is copied before they are there: an allocation may collect
 * and clear entries of the table if it is weak. Then fewer are left than were
 * counted. */
enum gc_status
gc_table_resize(struct gc_heap *heap, struct gc_table *table,
                uint32_t array_size, uint32_t hash_slots)
{
  struct gc_table fresh = { .array_size = array_size };
  uint32_t outside = count_outside(table, array_size);

  if (array_size > SLOTS_MAX) {
    return resize_failed(heap, table);
  }
  if (!nodes_new(heap, &fresh, hash_slots > outside ? hash_slots : outside)) {
    return resize_failed(heap, table);
  }
  if (GC_FAULTY(heap, TABLE_CARRIED_EARLY)) {
    carry_to_nodes(heap, table, &fresh);
  }
  if (!array_new(heap, table, &fresh)) {
    nodes_free(heap, &fresh);
    return resize_failed(heap, table);
  }
  if (!GC_FAULTY(heap, TABLE_CARRIED_EARLY)) {
    carry_to_nodes(heap, table, &fresh);
  }
  carry_to_array(table, &fresh);
  nodes_free(heap, table);
  array_replace(heap, table, &fresh);
  table->array = fresh.array;
  table->array_size = fresh.array_size;
  table->nodes = fresh.nodes;
  table->node_count = fresh.node_count;
  table->last_free = fresh.last_free;
  return GC_OK;
}

/* Integer keys by size: bin 0 holds key 1, bin b keys 2^(b-1)+1 to 2^b. */
struct census {
  uint32_t bins[SLOTS_MAX_LOG2 + 1];
  uint32_t total; /* keys of any type */
};

static void
census_add(struct census *census, const struct gc_value *key)
{
  uint32_t bin = 0;

  census->total++;
  if (is_array_key(key, SLOTS_MAX)) {
    while (((int64_t)1 << bin) < key->as.integer) {
      bin++;
    }
    census->bins[bin]++;
  }
}

static void
census_take(struct census *census, const struct gc_table *table)
{
  for (uint32_t i = 0; i < table->array_size; i++) {
    struct gc_value key = { .as.integer = (int64_t)i + 1,
                            .tag = GC_TAG_INTEGER };

    if (table->array[i].tag != GC_TAG_NIL) {
      census_add(census, &key);
    }
  }
  for (uint32_t i = 0; i < table->node_count; i++) {
    if (table->nodes[i].value.tag != GC_TAG_NIL) {
      census_add(census, &table->nodes[i].key);
    }
  }
}

/* Makes room for a new key: the array part becomes the largest power of two
 * of which more than half is used. The census may be out of date when the new
 * parts are there, but only by entries that have gone. */
static enum gc_status
rehash(struct gc_heap *heap, struct gc_table *table,
       const struct gc_value *key)
{
  struct census census = { .total = 0 };
  uint32_t up_to = 0, array_size = 0, in_array = 0;

  census_take(&census, table);
  census_add(&census, key);
  for (uint32_t bin = 0; bin <= SLOTS_MAX_LOG2; bin++) {
    up_to += census.bins[bin];
    if (up_to > ((uint32_t)1 << bin) / 2) {
      array_size = (uint32_t)1 << bin;
      in_array = up_to;
    }
  }
  return gc_table_resize(heap, table, array_size, census.total - in_array);
}

/* ---- the table ------------------------------------------------------- */

struct gc_table *
gc_table_new(struct gc_heap *heap)
{
  struct gc_table *table;

  table = (struct gc_table *)gc_object_new(heap, GC_KIND_TABLE,
                                           sizeof(struct gc_table));
  if (table == NULL) {
    return NULL;
  }
  table->grey_next = NULL;
  table->metatable = NULL;
  table->array = NULL;
  table->nodes = NULL;
  table->array_size = table->node_count = table->last_free = 0;
  return table;
}

void
gc_table_free(struct gc_heap *heap, struct gc_table *table)
{
  if (!GC_FAULTY(heap, TABLE_NODES_LEAK)) {
    nodes_free(heap, table);
  }
  if (GC_FAULTY(heap, TABLE_NODES_TWICE)) {
    nodes_free(heap, table);
  }
  if (table->array_size > 0) {
    gc_memory_resize(heap, table->array,
                     table->array_size * sizeof(struct gc_value), 0);
  }
  gc_memory_resize(heap, table, sizeof(struct gc_table), 0);
}

const struct gc_value *
gc_table_get(const struct gc_table *table, const struct gc_value *key)
{
  struct gc_value normal = gc_key_normalised(key);
  const struct gc_value *value = array_slot(table, &normal);

  if (value == NULL) {
    const struct gc_node *node = node_find(table, &normal);

    if (node == NULL) {
      return NULL;
    }
    value = &node->value;
  }
  return value->tag == GC_TAG_NIL ? NULL : value;
}

/* A store of a new key and a value: both have just become references. */
static void
store_pair(struct gc_heap *heap, struct gc_table *table, struct gc_node *node,
           const struct gc_value *value)
{
  node->value = *value;
  gc_store_back(heap, &table->head, &node->key, GC_FAULT_TABLE_NEW_KEY_BARRIER);
  gc_store_back(heap, &table->head, value, GC_FAULT_TABLE_NEW_KEY_BARRIER);
}

enum gc_status
gc_table_set(struct gc_heap *heap, struct gc_table *table,
             const struct gc_value *key, const struct gc_value *value)
{
  struct gc_value normal = gc_key_normalised(key);
  struct gc_value *slot = array_slot(table, &normal);
  struct gc_node *node;

  GC_ASSERT(key->tag != GC_TAG_NIL);
  GC_ASSERT(key->tag != GC_TAG_FLOAT || key->as.number == key->as.number);
  if (slot != NULL) {
    *slot = *value;
    gc_store_back(heap, &table->head, value, GC_FAULT_TABLE_ARRAY_BARRIER);
    return GC_OK;
  }
  node = node_find(table, &normal);
  if (node != NULL) {
    node->value = *value;
    gc_store_back(heap, &table->head, value, GC_FAULT_TABLE_BARRIER);
    return GC_OK;
  }
  if (value->tag == GC_TAG_NIL) {
    return GC_OK;
  }
  node = node_insert(table, &normal);
  if (node == NULL) {
    if (rehash(heap, table, &normal) != GC_OK) {
      return GC_NO_MEMORY;
    }
    slot = array_slot(table, &normal);
    if (slot != NULL) {
      *slot = *value;
      gc_store_back(heap, &table->head, value, GC_FAULT_TABLE_ARRAY_BARRIER);
      return GC_OK;
    }
    node = node_insert(table, &normal);
    GC_ASSERT(node != NULL);
  }
  store_pair(heap, table, node, value);
  return GC_OK;
}

static bool
has_integer(const struct gc_table *table, uint64_t key)
{
  struct gc_value value = { .as.integer = (int64_t)key,
                            .tag = GC_TAG_INTEGER };

  return gc_table_get(table, &value) != NULL;
}

/* A border between present (or 0) and absent. */
static int64_t
border_between(const struct gc_table *table, uint64_t present, uint64_t absent)
{
  while (absent - present > 1) {
    uint64_t middle = present + (absent - present) / 2;

    if (has_integer(table, middle)) {
      present = middle;
    } else {
      absent = middle;
    }
  }
  return (int64_t)present;
}

static int64_t
find_border(const struct gc_table *table)
{
  uint64_t present = table->array_size;
  uint64_t absent = present + 1;

  if (present > 0 && table->array[present - 1].tag == GC_TAG_NIL) {
    return border_between(table, 0, present);
  }
  while (has_integer(table, absent)) {
    present = absent;
    if (present == INT64_MAX) {
      return INT64_MAX;
    }
    absent = present > INT64_MAX / 2 ? INT64_MAX : present * 2;
  }
  return border_between(table, present, absent);
}

int64_t
gc_table_length(const struct gc_heap *heap, const struct gc_table *table)
{
  return find_border(table) + (GC_FAULTY(heap, TABLE_LENGTH) ? 1 : 0);
}

/* ---- traversal ------------------------------------------------------- */

/* A traversal goes through the positions 0 to array_size + node_count - 1.
 * The position after key's; the end if the table does not have the key. */
static uint64_t
position_after(const struct gc_table *table, const struct gc_value *key)
{
  struct gc_value normal = gc_key_normalised(key);
  uint64_t end = (uint64_t)table->array_size + table->node_count;
  const struct gc_value *slot = array_slot(table, &normal);
  struct gc_node *node;

  if (key->tag == GC_TAG_NIL) {
    return 0;
  }
  if (slot != NULL) {
    return (uint64_t)(slot - table->array) + 1;
  }
  node = node_find(table, &normal);
  if (node == NULL && key->tag == GC_TAG_OBJECT && table->node_count > 0) {
    /* The caller holds the object, so that no other can have its address:
     * a dead key with it is this key, removed during the traversal. */
    node = main_node(table, &normal);
    while (node != NULL
           && !(node->key.tag == GC_TAG_DEAD_KEY
                && node->key.as.object == key->as.object)) {
      node = node_after(node);
    }
  }
  if (node == NULL) {
    return end;
  }
  return (uint64_t)table->array_size + (uint64_t)(node - table->nodes) + 1;
}

bool
gc_table_next(const struct gc_heap *heap, const struct gc_table *table,
              struct gc_value *key, struct gc_value *ret_value)
{
  uint64_t position = position_after(table, key);

  for (; position < table->array_size; position++) {
    if (table->array[position].tag != GC_TAG_NIL) {
      key->tag = GC_TAG_INTEGER;
      key->as.integer = (int64_t)position + 1;
      *ret_value = table->array[position];
      return true;
    }
  }
  position -= table->array_size;
  if (GC_FAULTY(heap, TABLE_NEXT) && position == 0) {
    position = 1;
  }
  for (; position < table->node_count; position++) {
    const struct gc_node *node = &table->nodes[position];

    if (node->value.tag != GC_TAG_NIL) {
      *key = node->key;
      *ret_value = node->value;
      return true;
    }
  }
  return false;
}
