/* SPDX-License-Identifier: MIT
 *
 * The entries of the shadow heap's tables: an array in no order that means
 * anything, with an index once it is too long to be scanned. A removed entry's
 * place is taken by the last one. Called by the shadow heap only.
 */
#include "oracle/shadow_internal.h"

#include <string.h>

#include "ops/op_assert.h"

enum {
  ENTRIES_MIN = 2,
  ENTRIES_SCANNED = 8 /* no index up to this capacity */
};

/* ---- keys ------------------------------------------------------------ */

static double
float_of(struct shadow_value value)
{
  double number;

  memcpy(&number, &value.bits, sizeof number);
  return number;
}

struct shadow_value
shadow_key(struct shadow_value key)
{
  const double limit = 9223372036854775808.0; /* 2^63 */
  double number;

  if (key.tag != SUBJECT_FLOAT)
    return key;
  number = float_of(key);
  if (number >= -limit && number < limit && (double)(int64_t)number == number)
    return shadow_integer((int64_t)number);
  return key;
}

bool
shadow_is_key(struct shadow_value value)
{
  return value.tag != SUBJECT_NIL &&
         (value.tag != SUBJECT_FLOAT || float_of(value) == float_of(value));
}

/* ---- the index ------------------------------------------------------- */

static uint32_t
slot_of(struct shadow_value key, uint32_t mask)
{
  return (uint32_t)(shadow_mix(key.bits * 64 + key.tag) >> 16) & mask;
}

/* The slot that holds entry number (from 1). */
static uint32_t
slot_holding(const struct shadow_entries *table, uint32_t number)
{
  uint32_t mask = 2 * table->capacity - 1;
  uint32_t slot = slot_of(shadow_entry_key(table->entries + number - 1), mask);

  while (table->index[slot] != number)
    slot = (slot + 1) & mask;
  return slot;
}

static void
index_entry(struct shadow_entries *table, uint32_t number)
{
  uint32_t mask = 2 * table->capacity - 1;
  uint32_t slot = slot_of(shadow_entry_key(table->entries + number - 1), mask);

  while (table->index[slot])
    slot = (slot + 1) & mask;
  table->index[slot] = number;
}

/* Empties the slot and moves up what was displaced past it. */
static void
unindex_slot(struct shadow_entries *table, uint32_t hole)
{
  uint32_t mask = 2 * table->capacity - 1;
  uint32_t slot = hole;

  for (;;) {
    uint32_t number, home;

    slot = (slot + 1) & mask;
    number = table->index[slot];
    if (!number)
      break;
    home = slot_of(shadow_entry_key(table->entries + number - 1), mask);
    if (((slot - home) & mask) >= ((slot - hole) & mask)) {
      table->index[hole] = number;
      hole = slot;
    }
  }
  table->index[hole] = 0;
}

/* ---- entries --------------------------------------------------------- */

static struct shadow_entry *
find_entry(const struct shadow_entries *table, struct shadow_value key)
{
  if (table->index) {
    uint32_t mask = 2 * table->capacity - 1;
    uint32_t slot = slot_of(key, mask);

    for (; table->index[slot]; slot = (slot + 1) & mask) {
      struct shadow_entry *entry = table->entries + table->index[slot] - 1;

      if (entry->key_bits == key.bits && entry->key_tag == key.tag)
        return entry;
    }
    return NULL;
  }
  for (uint32_t i = 0; i < table->count; i++) {
    if (shadow_same(shadow_entry_key(table->entries + i), key))
      return table->entries + i;
  }
  return NULL;
}

struct shadow_value
shadow_get(const struct shadow *shadow, uint32_t table, struct shadow_value key)
{
  const struct shadow_entry *entry =
      find_entry(&shadow->nodes[table].as.table, key);

  return entry ? shadow_entry_value(entry) : shadow_nil();
}

static bool
resize_entries(struct shadow_memory *memory, struct shadow_entries *table,
               uint32_t capacity)
{
  struct shadow_entries old = *table;

  table->entries = shadow_take(memory, capacity * sizeof *table->entries);
  table->index = NULL;
  if (table->entries && capacity > ENTRIES_SCANNED)
    table->index = shadow_take(memory, 2 * capacity * sizeof *table->index);
  if (!table->entries || (capacity > ENTRIES_SCANNED && !table->index)) {
    shadow_give(memory, table->entries, capacity * sizeof *table->entries);
    *table = old;
    return false;
  }
  table->capacity = capacity;
  if (old.count)
    memcpy(table->entries, old.entries, old.count * sizeof *old.entries);
  if (table->index) {
    memset(table->index, 0, 2 * capacity * sizeof *table->index);
    for (uint32_t i = 1; i <= table->count; i++)
      index_entry(table, i);
  }
  shadow_give(memory, old.entries, old.capacity * sizeof *old.entries);
  shadow_give(memory, old.index, 2 * old.capacity * sizeof *old.index);
  return true;
}

bool
shadow_reserve_entries(struct shadow *shadow, uint32_t table, uint32_t count)
{
  struct shadow_entries *entries = &shadow->nodes[table].as.table;
  uint64_t need = (uint64_t)entries->count + count;
  uint64_t capacity = entries->capacity ? entries->capacity : ENTRIES_MIN;

  if (need <= entries->capacity)
    return true;
  while (capacity < need)
    capacity *= 2;
  if (capacity > UINT32_MAX / 2)
    return false;
  return resize_entries(&shadow->memory, entries, (uint32_t)capacity);
}

static void
remove_entry(struct shadow_entries *table, struct shadow_entry *entry)
{
  uint32_t number = (uint32_t)(entry - table->entries) + 1;
  uint32_t last = table->count;

  if (table->index) {
    unindex_slot(table, slot_holding(table, number));
    if (number != last)
      table->index[slot_holding(table, last)] = number;
  }
  *entry = table->entries[last - 1];
  table->count--;
}

/* What a string says as __mode. */
static uint8_t
weakness_of(const struct shadow *shadow, struct shadow_value value)
{
  const struct shadow_string *string;
  uint8_t weak = OP_WEAK_NONE;

  if (value.tag != SHADOW_STRING)
    return OP_WEAK_NONE;
  string = shadow->strings + value.bits;
  if (shadow->traits->mode_short && string->length > OP_SHORT_STRING_MAX)
    return OP_WEAK_NONE;
  if (memchr(string->bytes, 'k', string->length))
    weak |= OP_WEAK_KEYS;
  if (memchr(string->bytes, 'v', string->length))
    weak |= OP_WEAK_VALUES;
  return weak;
}

void
shadow_note_was_weak(struct shadow *shadow, uint32_t table)
{
  if (shadow->traits->mode_at_atomic ||
      shadow->nodes[table].kind != SUBJECT_KIND_TABLE)
    return;
  shadow->nodes[table].flags |= SHADOW_WAS_WEAK;
  shadow->has_been_weak = true;
}

static void
change_mode(struct shadow *shadow, uint32_t id, uint8_t mode)
{
  struct shadow_node *node = shadow->nodes + id;

  shadow->mode_count += (mode != OP_WEAK_NONE) - (node->mode != OP_WEAK_NONE);
  shadow->is_stale = true;
  if (node->mode == OP_WEAK_BOTH && !shadow->traits->mode_at_atomic) {
    for (uint32_t at = SHADOW_GLOBALS; at < shadow->node_count; at++) {
      if (shadow->nodes[at].metatable == id)
        shadow_note_was_weak(shadow, at);
    }
  }
  node->mode = mode;
}

/* The table has a new value at a key: that may be its __mode, or decide on what
 * is finalized. */
static void
note_event(struct shadow *shadow, uint32_t id, struct shadow_value key,
           struct shadow_value value)
{
  uint8_t mode;

  if (key.tag != SHADOW_STRING)
    return;
  if (key.bits == shadow->events[OP_EVENT_GC])
    shadow->is_owed_stale = true;
  if (key.bits != shadow->events[OP_EVENT_MODE])
    return;
  mode = weakness_of(shadow, value);
  if (mode != shadow->nodes[id].mode)
    change_mode(shadow, id, mode);
}

static void
set_removed(struct shadow_entries *table, struct shadow_value key)
{
  table->removed_bits = key.bits;
  table->removed_tag = key.tag;
}

struct shadow_value
shadow_removed(const struct shadow *shadow, uint32_t table)
{
  const struct shadow_entries *it = &shadow->nodes[table].as.table;

  return (struct shadow_value){it->removed_bits, it->removed_tag};
}

static void
lose_entry(struct shadow *shadow, uint32_t id, struct shadow_entry *entry)
{
  struct shadow_value key = shadow_entry_key(entry);
  struct shadow_value value = shadow_entry_value(entry);

  shadow->nodes[id].sum -= shadow_hash(SUBJECT_LABEL_ENTRY, key, value);
  shadow_lose(shadow, value);
  shadow_lose(shadow, key);
  remove_entry(&shadow->nodes[id].as.table, entry);
  note_event(shadow, id, key, shadow_nil());
}

void
shadow_set(struct shadow *shadow, uint32_t id, struct shadow_value key,
           struct shadow_value value)
{
  struct shadow_entries *table = &shadow->nodes[id].as.table;
  struct shadow_entry *entry = find_entry(table, key);

  if (entry && value.tag != SUBJECT_NIL) {
    struct shadow_value place = shadow_entry_value(entry);

    shadow_store(shadow, id, SUBJECT_LABEL_ENTRY, key, &place, value);
    entry->value_bits = place.bits;
    entry->value_tag = place.tag;
    note_event(shadow, id, key, value);
  } else if (entry) {
    lose_entry(shadow, id, entry);
    set_removed(table, key);
  } else if (value.tag != SUBJECT_NIL) {
    PENUMBRA_ASSERT(table->count < table->capacity);
    table->entries[table->count++] =
        (struct shadow_entry){.key_bits = key.bits,
                              .key_tag = key.tag,
                              .value_bits = value.bits,
                              .value_tag = value.tag};
    set_removed(table, shadow_nil());
    shadow->added_at = shadow->operation;
    if (table->index)
      index_entry(table, table->count);
    shadow->nodes[id].sum += shadow_hash(SUBJECT_LABEL_ENTRY, key, value);
    note_event(shadow, id, key, value);
  } else if (!shadow_same(key, shadow_removed(shadow, id))) {
    set_removed(table, shadow_nil()); /* nil for a new key may add it (5.2) */
  }
}

/* Whether next may go on from a key whose entry was cleared: it is alive then,
 * for the running frame has it, or nothing that dies. Not if the operation has
 * added an entry: that may have come after the clearing. */
static bool
is_resumable(const struct shadow *shadow, struct shadow_value key)
{
  const struct shadow_frame *frame = shadow_frame_now(shadow);

  if (key.tag == SHADOW_STRING || shadow->added_at == shadow->operation)
    return false;
  if (key.tag != SHADOW_NODE)
    return true;
  for (uint32_t reg = 0; reg < OP_REGISTERS; reg++) {
    if (shadow_same(frame->registers[reg], key))
      return true;
  }
  return false;
}

void
shadow_clear_entry(struct shadow *shadow, uint32_t id, struct shadow_value key)
{
  struct shadow_entries *table = &shadow->nodes[id].as.table;
  struct shadow_entry *entry;

  PENUMBRA_ASSERT(id < shadow->node_count &&
                  shadow->nodes[id].kind == SUBJECT_KIND_TABLE);
  entry = find_entry(table, key);
  if (!entry)
    return;
  lose_entry(shadow, id, entry);
  table->cleared_at = shadow->operation;
  if (is_resumable(shadow, key))
    set_removed(table, key);
}
