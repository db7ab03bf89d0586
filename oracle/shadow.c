/* SPDX-License-Identifier: MIT
 *
 * The shadow heap's life, its strings, and what readers may ask of it. What
 * operations do to it is in shadow_apply.c and shadow_flow.c; the invariants
 * are in shadow_internal.h. Owns everything; the oracle alone calls it.
 */
#include "oracle/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "ops/op_assert.h"
#include "oracle/shadow_internal.h"

enum { STRING_SLOTS_MIN = 256 };

/* A version that has all that the operation language has. */
static const struct subject_traits complete = {.integers = true,
                                               .closes_values = true,
                                               .closes_coroutines = true,
                                               .joins_upvalues = true,
                                               .catches_across_yields = true,
                                               .load_upvalue = true,
                                               .generational = true,
                                               .ephemerons = true,
                                               .mode_short = true,
                                               .mode_at_atomic = true,
                                               .finalizes_tables = true,
                                               .marked_when_set = true,
                                               .finalizer_rearms = true};

/* ---- life ------------------------------------------------------------ */

static void *
allocate_plainly(void *user, void *block, size_t size)
{
  (void)user;
  if (size)
    return realloc(block, size);
  free(block);
  return NULL;
}

static bool
reserve_strings(struct shadow *shadow, uint32_t slots)
{
  uint32_t *index =
      shadow_vector(&shadow->memory, shadow->string_index,
                    &shadow->string_index_capacity, sizeof *index, slots);
  struct shadow_string *strings;

  if (!index)
    return false;
  shadow->string_index = index;
  /* At most half of the slots are used; ids count from 1. */
  strings =
      shadow_vector(&shadow->memory, shadow->strings, &shadow->string_capacity,
                    sizeof *strings, slots / 2 + 1);
  if (!strings)
    return false;
  shadow->strings = strings;
  return true;
}

struct shadow *
shadow_new(void)
{
  return shadow_new_in(allocate_plainly, NULL);
}

struct shadow *
shadow_new_in(shadow_allocator allocate, void *user)
{
  struct shadow *shadow = allocate(user, NULL, sizeof *shadow);

  if (!shadow)
    return NULL;
  memset(shadow, 0, sizeof *shadow);
  shadow_memory_init(&shadow->memory, allocate, user);
  shadow->traits = &complete;
  if (!shadow_reserve_nodes(shadow, SHADOW_FIRST) ||
      !shadow_reserve_cells(shadow, 1) || !shadow_reserve_frame(shadow) ||
      !reserve_strings(shadow, STRING_SLOTS_MIN)) {
    shadow_free(shadow);
    return NULL;
  }
  shadow_clear(shadow, false);
  return shadow;
}

void
shadow_free(struct shadow *shadow)
{
  void *vectors[13];

  if (!shadow)
    return;
  vectors[0] = shadow->nodes;
  vectors[1] = shadow->cells;
  vectors[2] = shadow->frames;
  vectors[3] = shadow->strings;
  vectors[4] = shadow->string_index;
  vectors[5] = shadow->is;
  vectors[6] = shadow->was;
  vectors[7] = shadow->queue;
  vectors[8] = shadow->parents;
  vectors[9] = shadow->seen;
  vectors[10] = shadow->waiting;
  vectors[11] = shadow->owed;
  vectors[12] = shadow;
  shadow_memory_done(&shadow->memory);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    if (vectors[i])
      shadow->memory.allocate(shadow->memory.user, vectors[i], 0);
  }
}

/* What a large stream has grown is given back, the rest is kept. */
static void
trim(struct shadow *shadow)
{
  struct shadow_memory *memory = &shadow->memory;

  shadow->nodes =
      shadow_vector_trim(memory, shadow->nodes, &shadow->node_capacity,
                         sizeof *shadow->nodes, SHADOW_FIRST);
  shadow->is = shadow_vector_trim(memory, shadow->is, &shadow->is_capacity,
                                  sizeof *shadow->is, SHADOW_FIRST);
  shadow->was = shadow_vector_trim(memory, shadow->was, &shadow->was_capacity,
                                   sizeof *shadow->was, SHADOW_FIRST);
  shadow->queue =
      shadow_vector_trim(memory, shadow->queue, &shadow->queue_capacity,
                         sizeof *shadow->queue, SHADOW_FIRST);
  shadow->parents =
      shadow_vector_trim(memory, shadow->parents, &shadow->parents_capacity,
                         sizeof *shadow->parents, SHADOW_FIRST);
  shadow->seen =
      shadow_vector_trim(memory, shadow->seen, &shadow->seen_capacity,
                         sizeof *shadow->seen, SHADOW_FIRST);
  shadow->waiting =
      shadow_vector_trim(memory, shadow->waiting, &shadow->waiting_capacity,
                         sizeof *shadow->waiting, SHADOW_FIRST);
  shadow->owed =
      shadow_vector_trim(memory, shadow->owed, &shadow->owed_capacity,
                         sizeof *shadow->owed, SHADOW_FIRST);
  shadow->cells = shadow_vector_trim(
      memory, shadow->cells, &shadow->cell_capacity, sizeof *shadow->cells, 1);
  shadow->frames =
      shadow_vector_trim(memory, shadow->frames, &shadow->frame_capacity,
                         sizeof *shadow->frames, 2);
  shadow->strings =
      shadow_vector_trim(memory, shadow->strings, &shadow->string_capacity,
                         sizeof *shadow->strings, STRING_SLOTS_MIN / 2 + 1);
  shadow->string_index = shadow_vector_trim(
      memory, shadow->string_index, &shadow->string_index_capacity,
      sizeof *shadow->string_index, STRING_SLOTS_MIN);
}

/* The root, the registry, the globals and the main coroutine, which runs. */
static void
make_first_nodes(struct shadow *shadow)
{
  struct shadow_node *root;

  shadow->node_count = 0;
  shadow_node_new(shadow, SUBJECT_KIND_ROOT);
  shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  shadow_node_new(shadow, SUBJECT_KIND_THREAD);
  shadow->running = SHADOW_MAIN;
  shadow->globals_table = SHADOW_GLOBALS;
  shadow->nodes[SHADOW_MAIN].as.thread.status = SHADOW_RUNNING;
  shadow_enter_main(shadow);
  root = shadow->nodes + SHADOW_ROOT;
  root->sum = shadow_hash(SUBJECT_LABEL_REGISTRY, shadow_nil(),
                          shadow_of_node(SHADOW_REGISTRY)) +
              shadow_hash(SUBJECT_LABEL_GLOBALS, shadow_nil(),
                          shadow_of_node(SHADOW_GLOBALS)) +
              shadow_hash(SUBJECT_LABEL_MAIN, shadow_nil(),
                          shadow_of_node(SHADOW_MAIN)) +
              shadow_hash(SUBJECT_LABEL_CURRENT, shadow_nil(),
                          shadow_of_node(SHADOW_MAIN));
}

void
shadow_clear(struct shadow *shadow, bool large)
{
  shadow_memory_reset(&shadow->memory);
  trim(shadow);
  shadow->cell_count = 0;
  shadow->frame_count = 0;
  shadow->frame_free = 0;
  shadow->string_count = 0;
  shadow->string_bytes = 0;
  shadow->string_slots = STRING_SLOTS_MIN;
  memset(shadow->string_index, 0,
         STRING_SLOTS_MIN * sizeof *shadow->string_index);
  memset(shadow->names, 0, sizeof shadow->names);
  memset(shadow->globals, 0, sizeof shadow->globals);
  memset(shadow->registry, 0, sizeof shadow->registry);
  memset(shadow->events, 0, sizeof shadow->events);
  memset(shadow->basic, 0, sizeof shadow->basic);
  shadow->normal_count = 0;
  shadow->is_large = large;
  shadow->operation = 1;
  shadow->added_at = 0;
  shadow->mode_count = 0;
  shadow->has_been_weak = false;
  shadow->mode = OP_MODE_INCREMENTAL;
  shadow->is_stopped = false;
  shadow->owed_count = 0;
  shadow->is_owed_stale = false;
  shadow->marking_count = 0;
  make_first_nodes(shadow);
  shadow->birth_first = SHADOW_FIRST;
  shadow->birth_count = 0;
  shadow->closing_count = 0;
  shadow->pending_count = 0;
  shadow->was_count = SHADOW_FIRST;
  shadow->reach_count = SHADOW_FIRST;
  shadow->was_is_is = true;
  shadow->is_stale = false;
}

/* ---- nodes and cells ------------------------------------------------- */

/* The marks, what is owed and the scratch of the search, so that neither a
 * marking nor a search can fail. */
static bool
reserve_search(struct shadow *shadow, uint32_t need)
{
  struct shadow_memory *memory = &shadow->memory;
  uint8_t *is, *was, *seen;
  uint32_t *queue, *parents, *owed;
  struct shadow_entry **waiting;

  is =
      shadow_vector(memory, shadow->is, &shadow->is_capacity, sizeof *is, need);
  shadow->is = is ? is : shadow->is;
  was = shadow_vector(memory, shadow->was, &shadow->was_capacity, sizeof *was,
                      need);
  shadow->was = was ? was : shadow->was;
  queue = shadow_vector(memory, shadow->queue, &shadow->queue_capacity,
                        sizeof *queue, need);
  shadow->queue = queue ? queue : shadow->queue;
  parents = shadow_vector(memory, shadow->parents, &shadow->parents_capacity,
                          sizeof *parents, need);
  shadow->parents = parents ? parents : shadow->parents;
  seen = shadow_vector(memory, shadow->seen, &shadow->seen_capacity,
                       sizeof *seen, need);
  shadow->seen = seen ? seen : shadow->seen;
  owed = shadow_vector(memory, shadow->owed, &shadow->owed_capacity,
                       sizeof *owed, need);
  shadow->owed = owed ? owed : shadow->owed;
  waiting = shadow_vector(memory, shadow->waiting, &shadow->waiting_capacity,
                          sizeof(struct shadow_entry *), need);
  shadow->waiting = waiting ? waiting : shadow->waiting;
  return is && was && queue && parents && seen && owed && waiting;
}

bool
shadow_reserve_nodes(struct shadow *shadow, uint32_t count)
{
  uint32_t need = shadow->node_count + count;
  struct shadow_node *nodes;

  if (need <= shadow->node_capacity)
    return true;
  /* Last of all, so that its capacity speaks for the others. */
  if (!reserve_search(shadow, need))
    return false;
  nodes = shadow_vector(&shadow->memory, shadow->nodes, &shadow->node_capacity,
                        sizeof *nodes, need);
  if (!nodes)
    return false;
  shadow->nodes = nodes;
  return true;
}

bool
shadow_reserve_cells(struct shadow *shadow, uint32_t count)
{
  struct shadow_cell *cells =
      shadow_vector(&shadow->memory, shadow->cells, &shadow->cell_capacity,
                    sizeof *cells, shadow->cell_count + count + 1);

  if (!cells)
    return false;
  shadow->cells = cells;
  return true;
}

uint32_t
shadow_node_new(struct shadow *shadow, enum subject_kind kind)
{
  uint32_t id = shadow->node_count++;

  PENUMBRA_ASSERT(id < shadow->node_capacity);
  memset(shadow->nodes + id, 0, sizeof *shadow->nodes);
  shadow->nodes[id].kind = (uint8_t)kind;
  shadow->is[id] = SHADOW_REACHED | SHADOW_HELD;
  shadow->waiting[id] = NULL;
  return id;
}

/* ---- strings --------------------------------------------------------- */

static uint32_t
hash_bytes(const uint8_t *bytes, size_t length)
{
  uint64_t hash = 0x9e3779b97f4a7c15u + length;
  uint64_t word;

  for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 29;
  }
  word = 0;
  memcpy(&word, bytes, length);
  return (uint32_t)(shadow_mix(hash ^ word) >> 32);
}

/* The slot of the index that holds the string, or the empty one where it
 * would be. */
static uint32_t
find_slot(const struct shadow *shadow, const uint8_t *bytes, size_t length,
          uint32_t hash)
{
  uint32_t mask = shadow->string_slots - 1;
  uint32_t slot = hash & mask;

  for (; shadow->string_index[slot]; slot = (slot + 1) & mask) {
    const struct shadow_string *string =
        shadow->strings + shadow->string_index[slot];

    if (string->hash == hash && string->length == length &&
        memcmp(string->bytes, bytes, length) == 0)
      break;
  }
  return slot;
}

uint32_t
shadow_string_find(const struct shadow *shadow, const uint8_t *bytes,
                   size_t length)
{
  uint32_t hash = hash_bytes(bytes, length);

  return shadow->string_index[find_slot(shadow, bytes, length, hash)];
}

const uint8_t *
shadow_string_bytes(const struct shadow *shadow, uint32_t id,
                    size_t *ret_length)
{
  PENUMBRA_ASSERT(id >= 1 && id <= shadow->string_count);
  *ret_length = shadow->strings[id].length;
  return shadow->strings[id].bytes;
}

/* Twice as many slots once half of them are used. */
static bool
grow_strings(struct shadow *shadow)
{
  uint32_t slots = 2 * shadow->string_slots;

  if (shadow->string_count + 1 <= shadow->string_slots / 2)
    return true;
  if (!reserve_strings(shadow, slots))
    return false;
  shadow->string_slots = slots;
  memset(shadow->string_index, 0, slots * sizeof *shadow->string_index);
  for (uint32_t id = 1; id <= shadow->string_count; id++) {
    uint32_t slot = shadow->strings[id].hash & (slots - 1);

    while (shadow->string_index[slot])
      slot = (slot + 1) & (slots - 1);
    shadow->string_index[slot] = id;
  }
  return true;
}

uint32_t
shadow_intern(struct shadow *shadow, const uint8_t *bytes, size_t length)
{
  uint32_t hash = hash_bytes(bytes, length);
  uint32_t slot = find_slot(shadow, bytes, length, hash);
  uint32_t id = shadow->string_index[slot];
  uint8_t *copy;

  if (id)
    return id;
  if (!grow_strings(shadow))
    return 0;
  copy = shadow_take(&shadow->memory, length);
  if (!copy)
    return 0;
  memcpy(copy, bytes, length);
  id = ++shadow->string_count;
  PENUMBRA_ASSERT(id < shadow->string_capacity);
  shadow->strings[id] = (struct shadow_string){
      .bytes = copy, .length = (uint32_t)length, .hash = hash};
  slot = find_slot(shadow, bytes, length, hash);
  shadow->string_index[slot] = id;
  return id;
}

uint32_t
shadow_named(struct shadow *shadow, enum shadow_naming naming, int32_t n)
{
  static size_t (*const text_of[])(int32_t, char *) = {
      [SHADOW_NAMED_NAME] = op_string_name,
      [SHADOW_NAMED_GLOBAL] = op_string_global,
      [SHADOW_NAMED_REGISTRY] = op_string_registry,
      [SHADOW_NAMED_EVENT] = op_string_event,
  };
  uint32_t *const ids[] = {
      [SHADOW_NAMED_NAME] = shadow->names,
      [SHADOW_NAMED_GLOBAL] = shadow->globals,
      [SHADOW_NAMED_REGISTRY] = shadow->registry,
      [SHADOW_NAMED_EVENT] = shadow->events,
  };
  uint32_t *id = ids[naming] + n;
  char text[OP_STRING_MAX];

  if (!*id) {
    size_t length = text_of[naming](n, text);

    *id = shadow_intern(shadow, (const uint8_t *)text, length);
  }
  return *id;
}

uint32_t
shadow_event_find(const struct shadow *shadow, int32_t event)
{
  char text[OP_STRING_MAX];
  size_t length;

  if (shadow->events[event])
    return shadow->events[event];
  length = op_string_event(event, text);
  return shadow_string_find(shadow, (const uint8_t *)text, length);
}

/* ---- operations ------------------------------------------------------ */

void
shadow_begin(struct shadow *shadow, struct op op)
{
  shadow_reach(shadow);
  shadow->was_is_is = true;
  shadow->was_count = shadow->node_count;
  shadow->birth_first = shadow->node_count;
  shadow->birth_count = 0;
  shadow->closing_count = 0;
  shadow->operation++;
  shadow_aim(shadow, op);
}

/* ---- questions ------------------------------------------------------- */

uint32_t
shadow_births(const struct shadow *shadow, uint32_t *ret_first)
{
  *ret_first = shadow->birth_first;
  return shadow->birth_count;
}

uint32_t
shadow_node_count(const struct shadow *shadow)
{
  return shadow->node_count;
}

enum subject_kind
shadow_kind(const struct shadow *shadow, uint32_t id)
{
  PENUMBRA_ASSERT(id < shadow->node_count);
  return shadow->nodes[id].kind;
}

uint32_t
shadow_closings(const struct shadow *shadow, const uint32_t **ret_ids)
{
  *ret_ids = shadow->closings;
  return shadow->closing_count;
}

bool
shadow_may_close(const struct shadow *shadow, struct op op)
{
  return shadow->pending_count > 0 &&
         (op.code == OP_RETURN || op.code == OP_ERROR ||
          op.code == OP_CLOSEUP || op.code == OP_COCLOSE);
}

uint32_t
shadow_globals(const struct shadow *shadow)
{
  return shadow->globals_table;
}

uint32_t
shadow_running(const struct shadow *shadow)
{
  return shadow->running;
}

int32_t
shadow_weakness(const struct shadow *shadow, uint32_t id)
{
  const struct shadow_node *node = shadow->nodes + id;

  PENUMBRA_ASSERT(id < shadow->node_count);
  if (node->kind != SUBJECT_KIND_TABLE)
    return OP_WEAK_NONE;
  if (node->flags & SHADOW_WAS_WEAK)
    return OP_WEAK_BOTH;
  return node->metatable ? shadow->nodes[node->metatable].mode : OP_WEAK_NONE;
}

bool
shadow_has_weak_tables(const struct shadow *shadow)
{
  return shadow->mode_count || shadow->has_been_weak;
}

void
shadow_forget_modes(struct shadow *shadow)
{
  if (!shadow->has_been_weak)
    return;
  shadow->has_been_weak = false;
  for (uint32_t id = SHADOW_GLOBALS; id < shadow->node_count; id++) {
    if (shadow->nodes[id].flags & SHADOW_WAS_WEAK)
      shadow->is_stale = true;
    shadow->nodes[id].flags &= (uint8_t)~SHADOW_WAS_WEAK;
  }
}

bool
shadow_has_old_modes(const struct shadow *shadow)
{
  return shadow->has_been_weak;
}

uint8_t
shadow_mode(const struct shadow *shadow)
{
  return shadow->mode;
}

bool
shadow_is_stopped(const struct shadow *shadow)
{
  return shadow->is_stopped;
}

void
shadow_set_mode(struct shadow *shadow, uint8_t mode)
{
  shadow->mode = shadow->traits->generational ? mode : OP_MODE_INCREMENTAL;
}

void
shadow_set_traits(struct shadow *shadow, const struct subject_traits *traits)
{
  shadow->traits = traits;
}

uint32_t
shadow_cell(const struct shadow *shadow, uint32_t closure, uint32_t n)
{
  const struct shadow_node *node = shadow->nodes + closure;

  PENUMBRA_ASSERT(closure < shadow->node_count);
  if (node->kind != SUBJECT_KIND_CLOSURE || n >= node->count)
    return 0;
  return node->as.cells[n];
}

uint32_t
shadow_cell_count(const struct shadow *shadow)
{
  return shadow->cell_count;
}

uint64_t
shadow_sum(const struct shadow *shadow, uint32_t id)
{
  const struct shadow_node *node = shadow->nodes + id;
  uint64_t sum = node->sum;

  PENUMBRA_ASSERT(id < shadow->node_count);
  if (node->kind == SUBJECT_KIND_CLOSURE) {
    for (uint32_t n = 0; n < node->count; n++)
      sum += shadow_hash(SUBJECT_LABEL_UPVALUE, shadow_integer(n),
                         shadow_cell_get(shadow, node->as.cells[n]));
  }
  return sum;
}

bool
shadow_is_reference(const struct shadow *shadow, struct shadow_value value)
{
  return value.tag == SUBJECT_INTEGER &&
         shadow_get(shadow, SHADOW_REGISTRY, value).tag != SUBJECT_NIL;
}
