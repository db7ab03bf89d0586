/* SPDX-License-Identifier: MIT
 *
 * Which nodes of the shadow heap are reachable from its root, and which are
 * held, over all strong edges: keys and values of tables that are not weak,
 * and what upvalues hold through their cells. Also the walk over a node's
 * edges that everybody else uses, and the look at one of them. Called by the
 * shadow heap and the oracle.
 *
 * A search is breadth first with a queue of its own, never recursive: streams
 * build long chains. It is made only where the marks may have become wrong:
 * shadow_internal.h says when. It goes from the root, and when all is reached
 * goes on from the nodes that are owed a finalizer.
 *
 * An entry of a table with weak keys whose key is not marked yet waits for it,
 * in a list that its key heads. When the key's turn in the queue comes, what
 * waits for it is marked. So each entry is looked at twice at most, in whatever
 * order keys and tables are met.
 */
#include "oracle/shadow_internal.h"

#include <string.h>

#include "ops/op_assert.h"

/* ---- the search ------------------------------------------------------ */

struct search {
  const struct shadow *shadow;
  uint8_t *marks;
  uint32_t *queue;
  uint32_t *parents; /* NULL where nobody asks */
  uint32_t count;    /* of queue */
  uint32_t node;     /* whose edges are looked at */
  uint8_t mark;      /* what is met becomes */
  bool is_waiting;   /* some entry may wait */
  bool by_keys;      /* weak keys hold the values, not the table */
};

static inline void
meet_node(struct search *search, uint32_t id)
{
  if (search->marks[id])
    return;
  search->marks[id] = search->mark;
  search->queue[search->count++] = id;
  if (search->parents)
    search->parents[id] = search->node;
}

static inline void
meet(struct search *search, struct shadow_value value)
{
  if (value.tag == SHADOW_NODE)
    meet_node(search, (uint32_t)value.bits);
}

static inline void
meet_all(struct search *search, const struct shadow_value *values,
         uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    meet(search, values[i]);
}

static void
search_root(struct search *search)
{
  const struct shadow *shadow = search->shadow;

  meet_node(search, SHADOW_REGISTRY);
  meet_node(search, shadow->globals_table);
  meet_node(search, SHADOW_MAIN);
  meet_node(search, shadow->running);
  for (int type = 0; type < SHADOW_OPERAND_BASIC; type++) {
    if (shadow->basic[type])
      meet_node(search, shadow->basic[type]);
  }
}

/* Marks the value of an entry whose key is marked or needs no mark; else the
 * entry waits for its key. */
static void
search_ephemeron(struct search *search, struct shadow_entry *entry)
{
  struct shadow_entry **first;

  if (entry->value_tag != SHADOW_NODE ||
      search->marks[entry->value_bits])
    return;
  if (entry->key_tag != SHADOW_NODE || search->marks[entry->key_bits]) {
    meet_node(search, (uint32_t)entry->value_bits);
    return;
  }
  first = search->shadow->waiting + entry->key_bits;
  entry->waiting = *first;
  entry->table = search->node;
  *first = entry;
  search->is_waiting = true;
}

static void
search_table(struct search *search, const struct shadow_entries *table,
             int32_t weak)
{
  if (weak == OP_WEAK_BOTH)
    return;
  for (uint32_t i = 0; i < table->count; i++) {
    struct shadow_entry *entry = table->entries + i;

    if (weak == OP_WEAK_KEYS && search->by_keys) {
      search_ephemeron(search, entry);
      continue;
    }
    if (!(weak & OP_WEAK_KEYS))
      meet(search, shadow_entry_key(entry));
    if (!(weak & OP_WEAK_VALUES))
      meet(search, shadow_entry_value(entry));
  }
}

/* What waits for a node that is marked now. */
static void
search_waiting(struct search *search, uint32_t id)
{
  struct shadow_entry *entry = search->shadow->waiting[id];

  search->shadow->waiting[id] = NULL;
  for (; entry; entry = entry->waiting) {
    search->node = entry->table;
    meet_node(search, (uint32_t)entry->value_bits);
  }
}

static void
search_thread(struct search *search, const struct shadow_thread *thread)
{
  const struct shadow *shadow = search->shadow;
  uint32_t id = thread->frame;

  meet(search, thread->start);
  if (thread->waits_for)
    meet_node(search, thread->waits_for);
  while (id) {
    const struct shadow_frame *frame = shadow->frames + id;

    meet(search, frame->function);
    meet_all(search, frame->registers, OP_REGISTERS);
    meet_all(search, frame->varargs, frame->vararg_count);
    meet_all(search, frame->closing, frame->closing_count);
    id = frame->previous;
  }
}

static void
search_node(struct search *search, uint32_t id)
{
  const struct shadow_node *node = search->shadow->nodes + id;

  search->node = id;
  if (node->metatable)
    meet_node(search, node->metatable);
  switch ((enum subject_kind)node->kind) {
  case SUBJECT_KIND_ROOT:
    search_root(search);
    break;
  case SUBJECT_KIND_TABLE:
    search_table(search, &node->as.table,
                 shadow_weakness(search->shadow, id));
    break;
  case SUBJECT_KIND_USERDATA:
  case SUBJECT_KIND_CCLOSURE:
    meet_all(search, node->as.values, node->count);
    break;
  case SUBJECT_KIND_CLOSURE:
    for (uint32_t n = 0; n < node->count; n++)
      meet(search, shadow_cell_get(search->shadow, node->as.cells[n]));
    break;
  case SUBJECT_KIND_THREAD:
    search_thread(search, &node->as.thread);
    break;
  case SUBJECT_KIND_CDATA:
    break;
  case SUBJECT_KIND_STRING_SHORT:
  case SUBJECT_KIND_STRING_LONG:
  case SUBJECT_KIND_PROTOTYPE:
  case SUBJECT_KIND_UPVALUE:
  case SUBJECT_KIND_TRACE:
  case SUBJECT_KIND_COUNT:
    PENUMBRA_ASSERT(!"a node of this kind");
  }
}

/* Everything that the queue leads to from a place on. */
static void
drain(struct search *search, uint32_t at)
{
  for (; at < search->count; at++) {
    if (search->is_waiting && search->shadow->waiting[search->queue[at]])
      search_waiting(search, search->queue[at]);
    search_node(search, search->queue[at]);
  }
}

/* No entry waits outside of searches. */
static void
forget_waiting(struct search *search)
{
  const struct shadow *shadow = search->shadow;

  if (search->is_waiting)
    memset(shadow->waiting, 0, shadow->node_count * sizeof *shadow->waiting);
}

/* Marks what is reachable and what is held, and lets entries wait; returns how
 * many are reachable. */
static uint32_t
search_held(struct search *search)
{
  const struct shadow *shadow = search->shadow;
  uint32_t reached;

  memset(search->marks, 0, shadow->node_count);
  search->node = SHADOW_ROOT;
  search->mark = SHADOW_REACHED | SHADOW_HELD;
  search->count = 0;
  meet_node(search, SHADOW_ROOT);
  drain(search, 0);
  reached = search->count;
  search->mark = SHADOW_HELD;
  for (uint32_t i = 0; i < shadow->owed_count; i++) {
    search->node = shadow->owed[i];
    meet_node(search, search->node);
  }
  drain(search, reached);
  return reached;
}

static uint32_t
search_all(struct search *search)
{
  uint32_t reached = search_held(search);

  forget_waiting(search);
  return reached;
}

/* The first search of an operation keeps the marks of its begin, later ones
 * what has been the case in all states since. */
static void
keep_marks(struct shadow *shadow)
{
  uint8_t *marks = shadow->was;
  uint32_t capacity = shadow->was_capacity;

  if (!shadow->was_is_is) {
    for (uint32_t id = 0; id < shadow->was_count; id++)
      marks[id] &= (uint8_t)(shadow->is[id] << SHADOW_STAYED |
                             SHADOW_REACHED | SHADOW_HELD);
    return;
  }
  shadow->was = shadow->is;
  shadow->was_capacity = shadow->is_capacity;
  shadow->is = marks;
  shadow->is_capacity = capacity;
  shadow->was_is_is = false;
  for (uint32_t id = 0; id < shadow->was_count; id++)
    shadow->was[id] |= (uint8_t)(shadow->was[id] << SHADOW_STAYED);
}

/* What is unreachable now and may come back by a finalizer. */
static void
note_lapsed(struct shadow *shadow)
{
  for (uint32_t i = 0; i < shadow->owed_count; i++) {
    uint32_t id = shadow->owed[i];

    if (!(shadow->is[id] & SHADOW_REACHED))
      shadow->nodes[id].flags |= SHADOW_LAPSED;
  }
  if (shadow->traits->marked_when_set)
    return;
  for (uint32_t id = SHADOW_FIRST; id < shadow->node_count; id++) {
    struct shadow_node *node = shadow->nodes + id;

    if (node->kind != SUBJECT_KIND_USERDATA || shadow->is[id] & SHADOW_REACHED)
      continue;
    node->flags |= SHADOW_LAPSED;
    if (!node->marking && !(node->flags & SHADOW_SPENT))
      node->flags |= SHADOW_DOUBTFUL;
  }
}

uint32_t
shadow_reach(struct shadow *shadow)
{
  struct search search = {.shadow = shadow,
                          .queue = shadow->queue,
                          .by_keys = shadow->traits->ephemerons};

  if (!shadow->is_stale)
    return shadow->reach_count;
  keep_marks(shadow);
  search.marks = shadow->is;
  shadow->reach_count = search_all(&search);
  shadow->is_stale = false;
  note_lapsed(shadow);
  return shadow->reach_count;
}

static uint8_t
marks_before(const struct shadow *shadow, uint32_t id)
{
  if (id >= shadow->was_count)
    return 0;
  return shadow->was_is_is ? shadow->is[id] : shadow->was[id];
}

static uint8_t
marks_now(const struct shadow *shadow, uint32_t id)
{
  PENUMBRA_ASSERT(id < shadow->node_count && !shadow->is_stale);
  return shadow->is[id];
}

bool
shadow_was_reachable(const struct shadow *shadow, uint32_t id)
{
  return marks_before(shadow, id) & SHADOW_REACHED;
}

bool
shadow_is_reachable(const struct shadow *shadow, uint32_t id)
{
  return marks_now(shadow, id) & SHADOW_REACHED;
}

bool
shadow_was_held(const struct shadow *shadow, uint32_t id)
{
  return marks_before(shadow, id) & SHADOW_HELD;
}

bool
shadow_is_held(const struct shadow *shadow, uint32_t id)
{
  return marks_now(shadow, id) & SHADOW_HELD;
}

/* Whether a mark has been there since the operation began. */
static bool
has_stayed(const struct shadow *shadow, uint32_t id, uint8_t mark)
{
  if (id >= shadow->was_count || !(marks_now(shadow, id) & mark))
    return false;
  return shadow->was_is_is || shadow->was[id] & mark << SHADOW_STAYED;
}

bool
shadow_stayed_reachable(const struct shadow *shadow, uint32_t id)
{
  return has_stayed(shadow, id, SHADOW_REACHED);
}

bool
shadow_stayed_held(const struct shadow *shadow, uint32_t id)
{
  return has_stayed(shadow, id, SHADOW_HELD);
}

bool
shadow_find_parents(const struct shadow *shadow, uint32_t id)
{
  struct search search = {.shadow = shadow,
                          .marks = shadow->seen,
                          .queue = shadow->queue,
                          .parents = shadow->parents,
                          .by_keys = shadow->traits->ephemerons};

  search_all(&search);
  return shadow->seen[id];
}

bool
shadow_is_held_by_keys(const struct shadow *shadow, uint32_t id)
{
  struct search search = {.shadow = shadow,
                          .marks = shadow->seen,
                          .queue = shadow->queue,
                          .by_keys = true};

  search_all(&search);
  return shadow->seen[id];
}

/* Marks what a register leads to that is captured. */
static void
meet_captured(struct search *search, const struct shadow_thread *thread)
{
  const struct shadow *shadow = search->shadow;

  for (uint32_t id = thread->frame; id; id = shadow->frames[id].previous) {
    const struct shadow_frame *frame = shadow->frames + id;

    for (uint32_t reg = 0; reg < OP_REGISTERS; reg++) {
      if (frame->open >> reg & 1)
        meet(search, frame->registers[reg]);
    }
  }
}

/* Meets what may keep things alive unseen: a node that is not held, or what it
 * has. */
typedef void (*meet_first)(struct search *search, uint32_t id);

static void
meet_behind_thread(struct search *search, uint32_t id)
{
  if (search->shadow->nodes[id].kind == SUBJECT_KIND_THREAD)
    meet_captured(search, &search->shadow->nodes[id].as.thread);
}

static void
meet_doubtful(struct search *search, uint32_t id)
{
  if (shadow_is_doubtful(search->shadow, id))
    meet_node(search, id);
}

/* Whether a node is held, or what is not held but is met leads to it. */
static bool
is_behind(const struct shadow *shadow, uint32_t id, meet_first meet_it)
{
  struct search search = {.shadow = shadow,
                          .marks = shadow->seen,
                          .queue = shadow->queue,
                          .by_keys = shadow->traits->ephemerons};
  uint32_t held;

  search_held(&search);
  held = search.count;
  for (uint32_t node = SHADOW_FIRST; node < shadow->node_count; node++) {
    if (!(marks_now(shadow, node) & SHADOW_HELD))
      meet_it(&search, node);
  }
  drain(&search, held);
  forget_waiting(&search);
  return shadow->seen[id];
}

bool
shadow_is_behind_upvalue(const struct shadow *shadow, uint32_t id)
{
  return is_behind(shadow, id, meet_behind_thread);
}

bool
shadow_is_behind_doubt(const struct shadow *shadow, uint32_t id)
{
  return is_behind(shadow, id, meet_doubtful);
}

/* ---- edges ----------------------------------------------------------- */

struct visit {
  bool (*function)(void *, uint8_t, struct shadow_value, struct shadow_value);
  void *user;
  bool goes_on;
};

static void
visit_edge(struct visit *visit, uint8_t label, struct shadow_value key,
           struct shadow_value value)
{
  if (visit->goes_on && value.tag != SUBJECT_NIL)
    visit->goes_on = visit->function(visit->user, label, key, value);
}

static void
visit_numbered(struct visit *visit, uint8_t label, uint32_t first,
               const struct shadow_value *values, uint32_t count)
{
  for (uint32_t n = 0; n < count && visit->goes_on; n++)
    visit_edge(visit, label, shadow_integer((int64_t)first + n), values[n]);
}

static void
visit_root(const struct shadow *shadow, struct visit *visit)
{
  struct shadow_value none = shadow_nil();

  visit_edge(visit, SUBJECT_LABEL_REGISTRY, none,
             shadow_of_node(SHADOW_REGISTRY));
  visit_edge(visit, SUBJECT_LABEL_GLOBALS, none,
             shadow_of_node(shadow->globals_table));
  visit_edge(visit, SUBJECT_LABEL_MAIN, none, shadow_of_node(SHADOW_MAIN));
  visit_edge(visit, SUBJECT_LABEL_CURRENT, none,
             shadow_of_node(shadow->running));
  for (int type = 0; type < SHADOW_OPERAND_BASIC; type++)
    visit_edge(visit, SUBJECT_LABEL_BASICMETA, shadow_integer(type),
               shadow_of_node_or_nil(shadow->basic[type]));
}

static void
visit_frame(const struct shadow_frame *frame, struct visit *visit)
{
  uint32_t first = frame->depth * 65536u;

  visit_edge(visit, SUBJECT_LABEL_FUNCTION, shadow_integer(frame->depth),
             frame->function);
  visit_numbered(visit, SUBJECT_LABEL_REGISTER, first, frame->registers,
                 OP_REGISTERS);
  visit_numbered(visit, SUBJECT_LABEL_VARARG, first, frame->varargs,
                 frame->vararg_count);
  visit_numbered(visit, SUBJECT_LABEL_TBC, first, frame->closing,
                 frame->closing_count);
}

static void
visit_thread(const struct shadow *shadow, const struct shadow_thread *thread,
             struct visit *visit)
{
  visit_edge(visit, SUBJECT_LABEL_START, shadow_nil(), thread->start);
  visit_edge(visit, SUBJECT_LABEL_RESUMED, shadow_nil(),
             shadow_of_node_or_nil(thread->waits_for));
  for (uint32_t id = thread->frame; id && visit->goes_on;
       id = shadow->frames[id].previous)
    visit_frame(shadow->frames + id, visit);
}

static void
visit_closure(const struct shadow *shadow, const struct shadow_node *node,
              struct visit *visit)
{
  for (uint32_t n = 0; n < node->count; n++)
    visit_edge(visit, SUBJECT_LABEL_UPVALUE, shadow_integer(n),
               shadow_cell_get(shadow, node->as.cells[n]));
}

static void
visit_table(const struct shadow_entries *table, struct visit *visit)
{
  for (uint32_t i = 0; i < table->count && visit->goes_on; i++)
    visit_edge(visit, SUBJECT_LABEL_ENTRY, shadow_entry_key(table->entries + i),
               shadow_entry_value(table->entries + i));
}

void
shadow_visit(const struct shadow *shadow, uint32_t id,
             bool (*function)(void *user, uint8_t label,
                              struct shadow_value key,
                              struct shadow_value value),
             void *user)
{
  struct visit visit = {function, user, true};
  const struct shadow_node *node = shadow->nodes + id;

  PENUMBRA_ASSERT(id < shadow->node_count);
  visit_edge(&visit, shadow_metatable_label(node), shadow_nil(),
             shadow_of_node_or_nil(node->metatable));
  if (node->kind == SUBJECT_KIND_ROOT)
    visit_root(shadow, &visit);
  else if (node->kind == SUBJECT_KIND_TABLE)
    visit_table(&node->as.table, &visit);
  else if (node->kind == SUBJECT_KIND_THREAD)
    visit_thread(shadow, &node->as.thread, &visit);
  else if (node->kind == SUBJECT_KIND_CLOSURE)
    visit_closure(shadow, node, &visit);
  else
    visit_numbered(&visit,
                   node->kind == SUBJECT_KIND_USERDATA ? SUBJECT_LABEL_USERVALUE
                                                       : SUBJECT_LABEL_UPVALUE,
                   0, node->as.values, node->count);
}

/* Place n of count values. */
static bool
look_numbered(const struct shadow_value *values, uint64_t count,
              struct shadow_value key, struct shadow_value *ret_value)
{
  if (key.tag != SUBJECT_INTEGER || key.bits >= count)
    return false;
  *ret_value = values[key.bits];
  return true;
}

static bool
look_root(const struct shadow *shadow, uint8_t label, struct shadow_value key,
          struct shadow_value *ret_value)
{
  uint32_t id;

  if (label == SUBJECT_LABEL_REGISTRY)
    id = SHADOW_REGISTRY;
  else if (label == SUBJECT_LABEL_GLOBALS)
    id = shadow->globals_table;
  else if (label == SUBJECT_LABEL_MAIN)
    id = SHADOW_MAIN;
  else if (label == SUBJECT_LABEL_CURRENT)
    id = shadow->running;
  else if (label == SUBJECT_LABEL_BASICMETA && key.tag == SUBJECT_INTEGER &&
           key.bits < SHADOW_OPERAND_BASIC)
    id = shadow->basic[key.bits];
  else
    return false;
  *ret_value = shadow_of_node_or_nil(id);
  return true;
}

/* The frame of a coroutine at a depth; NULL if there is none. */
static const struct shadow_frame *
frame_at(const struct shadow *shadow, const struct shadow_thread *thread,
         uint64_t depth)
{
  uint32_t id = thread->frame;

  if (depth >= thread->depth)
    return NULL;
  while (shadow->frames[id].depth > depth)
    id = shadow->frames[id].previous;
  return shadow->frames + id;
}

static bool
look_frame(const struct shadow *shadow, const struct shadow_thread *thread,
           uint8_t label, struct shadow_value key,
           struct shadow_value *ret_value)
{
  bool is_function = label == SUBJECT_LABEL_FUNCTION;
  uint64_t depth = is_function ? key.bits : key.bits >> 16;
  const struct shadow_frame *frame = frame_at(shadow, thread, depth);

  if (key.tag != SUBJECT_INTEGER || !frame)
    return false;
  key.bits &= 65535;
  if (is_function)
    *ret_value = frame->function;
  else if (label == SUBJECT_LABEL_REGISTER)
    return look_numbered(frame->registers, OP_REGISTERS, key, ret_value);
  else if (label == SUBJECT_LABEL_VARARG)
    return look_numbered(frame->varargs, frame->vararg_count, key, ret_value);
  else if (label == SUBJECT_LABEL_TBC)
    return look_numbered(frame->closing, frame->closing_count, key, ret_value);
  else
    return false;
  return true;
}

static bool
look_thread(const struct shadow *shadow, const struct shadow_thread *thread,
            uint8_t label, struct shadow_value key,
            struct shadow_value *ret_value)
{
  if (label == SUBJECT_LABEL_START)
    *ret_value = thread->start;
  else if (label == SUBJECT_LABEL_RESUMED)
    *ret_value = shadow_of_node_or_nil(thread->waits_for);
  else
    return look_frame(shadow, thread, label, key, ret_value);
  return true;
}

static bool
look_upvalue(const struct shadow *shadow, const struct shadow_node *node,
             struct shadow_value key, struct shadow_value *ret_value)
{
  if (node->kind == SUBJECT_KIND_CCLOSURE)
    return look_numbered(node->as.values, node->count, key, ret_value);
  if (key.tag != SUBJECT_INTEGER || key.bits >= node->count)
    return false;
  *ret_value = shadow_cell_get(shadow, node->as.cells[key.bits]);
  return true;
}

bool
shadow_lookup(const struct shadow *shadow, uint32_t id, uint8_t label,
              struct shadow_value key, struct shadow_value *ret_value)
{
  const struct shadow_node *node = shadow->nodes + id;
  bool is_table = node->kind == SUBJECT_KIND_TABLE;
  bool is_userdata = node->kind == SUBJECT_KIND_USERDATA;

  PENUMBRA_ASSERT(id < shadow->node_count);
  if (node->kind == SUBJECT_KIND_ROOT)
    return look_root(shadow, label, key, ret_value);
  if (label == shadow_metatable_label(node) &&
      (label == SUBJECT_LABEL_METATABLE ||
       shadow->traits->user_values == SUBJECT_USER_ENVIRONMENT)) {
    *ret_value = shadow_of_node_or_nil(node->metatable);
    return true;
  }
  if (node->kind == SUBJECT_KIND_THREAD)
    return look_thread(shadow, &node->as.thread, label, key, ret_value);
  if (label == SUBJECT_LABEL_ENTRY && is_table) {
    struct shadow_value value = shadow_get(shadow, id, key);

    if (value.tag == SUBJECT_NIL)
      return false;
    *ret_value = value;
    return true;
  }
  if (label == SUBJECT_LABEL_USERVALUE && is_userdata)
    return look_numbered(node->as.values, node->count, key, ret_value);
  if (label == SUBJECT_LABEL_UPVALUE && !is_table && !is_userdata)
    return look_upvalue(shadow, node, key, ret_value);
  return false;
}
