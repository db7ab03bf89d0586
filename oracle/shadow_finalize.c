/* SPDX-License-Identifier: MIT
 *
 * Which nodes of the shadow heap are owed a finalizer, and what finalizers do
 * to it. A node is owed one from its marking until the call begins. Called by
 * the shadow heap and the oracle.
 *
 * A finalizer's effect takes what memory it may need before it changes
 * anything.
 *
 * Where what has a __gc when it dies is finalized, without a marking [T], a
 * userdata is owed a finalizer whenever its metatable has one, until it has had
 * it: such nodes are found anew when a metatable is set or a __gc changes. One
 * that was unreachable without any is doubtful: the subject may have settled
 * then that it has none. A cdata is marked when it is made.
 */
#include "oracle/shadow_internal.h"

#include "ops/op_assert.h"

enum {
  GLOBAL_SAVED = 0,    /* of save, link */
  GLOBAL_SAVED_TOO = 1,
  FIELD = 0 /* its field: "s0", or the user value */
};

/* ---- what is owed ---------------------------------------------------- */

/* The __gc of the node's metatable; nil without one. */
static struct shadow_value
finalizer_of(const struct shadow *shadow, uint32_t id)
{
  const struct shadow_node *node = shadow->nodes + id;
  uint32_t event = shadow_event_find(shadow, OP_EVENT_GC);
  bool has_metatable = node->kind == SUBJECT_KIND_TABLE ||
                       node->kind == SUBJECT_KIND_USERDATA;

  if (!event || !has_metatable || !node->metatable)
    return shadow_nil();
  return shadow_get(shadow, node->metatable, shadow_of_string(event));
}

int32_t
shadow_behaviour(const struct shadow *shadow, uint32_t id)
{
  struct shadow_value finalizer;

  if (shadow->nodes[id].kind == SUBJECT_KIND_CDATA)
    return shadow->nodes[id].as.behaviour;
  finalizer = finalizer_of(shadow, id);
  if (finalizer.tag == SUBJECT_NIL)
    return OP_BEHAVIOUR_NONE;
  if (finalizer.tag != SUBJECT_CFUNC)
    return OP_BEHAVIOUR_NUMBER;
  if (finalizer.bits < SHADOW_FINALIZER_FIRST ||
      finalizer.bits >= SHADOW_FINALIZER_FIRST + OP_BEHAVIOUR_NONE)
    return OP_BEHAVIOUR_NOTHING;
  return (int32_t)finalizer.bits - SHADOW_FINALIZER_FIRST;
}

void
shadow_owe_finalizer(struct shadow *shadow, uint32_t id)
{
  struct shadow_node *node = shadow->nodes + id;

  PENUMBRA_ASSERT(shadow->owed_count < shadow->owed_capacity);
  node->marking = ++shadow->marking_count;
  node->owed_at = shadow->owed_count;
  shadow->owed[shadow->owed_count++] = id;
}

static void
owe_no_more(struct shadow *shadow, uint32_t id)
{
  struct shadow_node *node = shadow->nodes + id;
  uint32_t last = shadow->owed[--shadow->owed_count];

  shadow->owed[node->owed_at] = last;
  shadow->nodes[last].owed_at = node->owed_at;
  node->marking = 0;
  if (!(shadow->is[id] & SHADOW_REACHED))
    shadow->is_stale = true;
}

/* It has a finalizer now, is of a kind that is finalized, and the version does
 * that to it once more. */
static bool
may_owe(const struct shadow *shadow, uint32_t id)
{
  const struct shadow_node *node = shadow->nodes + id;

  return !(node->flags & (SHADOW_SPENT | SHADOW_DOUBTFUL)) &&
         (node->kind == SUBJECT_KIND_USERDATA ||
          shadow->traits->finalizes_tables) &&
         finalizer_of(shadow, id).tag != SUBJECT_NIL;
}

void
shadow_mark_finalizer(struct shadow *shadow, uint32_t id)
{
  struct shadow_node *node = shadow->nodes + id;

  if (!shadow->traits->marked_when_set) {
    shadow->is_owed_stale = true;
    return;
  }
  if (node->marking || !may_owe(shadow, id))
    return;
  node->flags &= (uint8_t)~SHADOW_LAPSED;
  shadow_owe_finalizer(shadow, id);
}

void
shadow_update_owed(struct shadow *shadow)
{
  if (!shadow->is_owed_stale)
    return;
  shadow->is_owed_stale = false;
  if (shadow->traits->marked_when_set)
    return;
  for (uint32_t id = SHADOW_FIRST; id < shadow->node_count; id++) {
    bool is_owed = shadow->nodes[id].marking != 0;

    if (shadow->nodes[id].kind != SUBJECT_KIND_USERDATA ||
        is_owed == may_owe(shadow, id))
      continue;
    if (!is_owed) {
      shadow_owe_finalizer(shadow, id);
      continue;
    }
    owe_no_more(shadow, id);
    if (shadow->nodes[id].flags & SHADOW_LAPSED) /* it may wait already */
      shadow->nodes[id].flags |= SHADOW_DOUBTFUL;
  }
}

bool
shadow_has_lapsed(const struct shadow *shadow, uint32_t id)
{
  PENUMBRA_ASSERT(id < shadow->node_count);
  return shadow->nodes[id].flags & SHADOW_LAPSED;
}

bool
shadow_is_doubtful(const struct shadow *shadow, uint32_t id)
{
  PENUMBRA_ASSERT(id < shadow->node_count);
  return shadow->nodes[id].flags & SHADOW_DOUBTFUL;
}

uint64_t
shadow_marking(const struct shadow *shadow, uint32_t id)
{
  PENUMBRA_ASSERT(id < shadow->node_count);
  return shadow->nodes[id].marking;
}

uint32_t
shadow_owed(const struct shadow *shadow, const uint32_t **ret_ids)
{
  *ret_ids = shadow->owed;
  return shadow->owed_count;
}

void
shadow_finalizer_begin(struct shadow *shadow, uint32_t id)
{
  struct shadow_node *node = shadow->nodes + id;

  PENUMBRA_ASSERT(id < shadow->node_count);
  shadow->called = shadow_behaviour(shadow, id);
  if (!shadow->traits->finalizer_rearms)
    node->flags |= SHADOW_SPENT;
  if (node->marking)
    owe_no_more(shadow, id);
}

void
shadow_finalizer_doubt(struct shadow *shadow, uint32_t id)
{
  shadow_finalizer_begin(shadow, id);
  shadow->nodes[id].flags |= SHADOW_DOUBTFUL;
}

/* ---- what finalizers do ---------------------------------------------- */

static bool
is_table(const struct shadow *shadow, uint32_t id)
{
  return shadow->nodes[id].kind == SUBJECT_KIND_TABLE;
}

/* Its field: a table's entry, a userdata's first user value. */
static bool
has_field(const struct shadow *shadow, uint32_t id)
{
  return is_table(shadow, id) || shadow->nodes[id].count > 0;
}

static bool
reserve_field(struct shadow *shadow, uint32_t id)
{
  return !is_table(shadow, id) ||
         (shadow_named(shadow, SHADOW_NAMED_NAME, FIELD) &&
          shadow_reserve_entries(shadow, id, 1));
}

static struct shadow_value
field_key(const struct shadow *shadow)
{
  return shadow_of_string(shadow->names[FIELD]);
}

static struct shadow_value
field(const struct shadow *shadow, uint32_t id)
{
  if (is_table(shadow, id))
    return shadow_get(shadow, id, field_key(shadow));
  return shadow->nodes[id].as.values[FIELD];
}

/* There must be room. */
static void
set_field(struct shadow *shadow, uint32_t id, struct shadow_value value)
{
  if (is_table(shadow, id))
    shadow_set(shadow, id, field_key(shadow), value);
  else
    shadow_store(shadow, id, SUBJECT_LABEL_USERVALUE, shadow_integer(FIELD),
                 &shadow->nodes[id].as.values[FIELD], value);
}

static enum shadow_result
save(struct shadow *shadow, uint32_t id, int32_t global)
{
  uint32_t name = shadow_named(shadow, SHADOW_NAMED_GLOBAL, global);

  if (!name || !shadow_reserve_entries(shadow, shadow->globals_table, 1))
    return SHADOW_NO_MEMORY;
  shadow_set(shadow, shadow->globals_table, shadow_of_string(name),
             shadow_of_node(id));
  return SHADOW_OK;
}

bool
shadow_has_no_room(const struct shadow *shadow, uint32_t id, int32_t behaviour)
{
  uint32_t name = shadow->globals[GLOBAL_SAVED];
  struct shadow_value old = shadow_nil();

  if (behaviour != OP_BEHAVIOUR_LINK || is_table(shadow, id) ||
      !has_field(shadow, id))
    return false;
  if (name)
    old = shadow_get(shadow, shadow->globals_table, shadow_of_string(name));
  return !shadow_is_user_value(shadow, old);
}

static enum shadow_result
touch(struct shadow *shadow, uint32_t id)
{
  if (!has_field(shadow, id))
    return SHADOW_OK;
  if (!reserve_field(shadow, id) || !shadow_reserve_nodes(shadow, 1))
    return SHADOW_NO_MEMORY;
  set_field(shadow, id,
            shadow_of_node(shadow_node_new(shadow, SUBJECT_KIND_TABLE)));
  return SHADOW_OK;
}

/* The field of its field, which is a table. */
static enum shadow_result
touch_sibling(struct shadow *shadow, uint32_t id)
{
  struct shadow_value sibling;

  if (!has_field(shadow, id))
    return SHADOW_OK;
  if (is_table(shadow, id) && !shadow_named(shadow, SHADOW_NAMED_NAME, FIELD))
    return SHADOW_NO_MEMORY;
  sibling = field(shadow, id);
  if (!shadow_is_kind(shadow, sibling, SUBJECT_KIND_TABLE))
    return SHADOW_OK;
  if (!reserve_field(shadow, (uint32_t)sibling.bits))
    return SHADOW_NO_MEMORY;
  set_field(shadow, (uint32_t)sibling.bits, shadow_of_node(id));
  return SHADOW_OK;
}

/* In front of the list that the global holds. */
static enum shadow_result
link_saved(struct shadow *shadow, uint32_t id)
{
  struct shadow_value old;
  uint32_t name;

  if (!has_field(shadow, id))
    return SHADOW_OK;
  name = shadow_named(shadow, SHADOW_NAMED_GLOBAL, GLOBAL_SAVED);
  if (!name || !reserve_field(shadow, id))
    return SHADOW_NO_MEMORY;
  old = shadow_get(shadow, shadow->globals_table, shadow_of_string(name));
  if (save(shadow, id, GLOBAL_SAVED) != SHADOW_OK)
    return SHADOW_NO_MEMORY;
  set_field(shadow, id, old);
  return SHADOW_OK;
}

/* Nothing but its own marking holds the new table: where that is not to be, the
 * table is as if it had never been. */
static enum shadow_result
breed(struct shadow *shadow, uint32_t id, bool is_closing)
{
  uint32_t metatable = shadow->nodes[id].metatable;
  uint32_t child;

  if (is_closing || !shadow->traits->finalizes_tables)
    return SHADOW_OK;
  if (!shadow_reserve_nodes(shadow, 1))
    return SHADOW_NO_MEMORY;
  child = shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  shadow->nodes[child].metatable = metatable;
  shadow->nodes[child].sum = shadow_hash(
      SUBJECT_LABEL_METATABLE, shadow_nil(), shadow_of_node(metatable));
  shadow_mark_finalizer(shadow, child);
  return SHADOW_OK;
}

static enum shadow_result
perform(struct shadow *shadow, uint32_t id, bool is_closing)
{
  switch (shadow->called) {
  case OP_BEHAVIOUR_SAVE:
    return save(shadow, id, GLOBAL_SAVED);
  case OP_BEHAVIOUR_SAVE_TOO:
    return save(shadow, id, GLOBAL_SAVED_TOO);
  case OP_BEHAVIOUR_REMARK:
    if (!is_closing)
      shadow_mark_finalizer(shadow, id);
    return SHADOW_OK;
  case OP_BEHAVIOUR_TOUCH:
    return touch(shadow, id);
  case OP_BEHAVIOUR_SIBLING:
    return touch_sibling(shadow, id);
  case OP_BEHAVIOUR_LINK:
    return link_saved(shadow, id);
  case OP_BEHAVIOUR_BREED:
    return breed(shadow, id, is_closing);
  case OP_BEHAVIOUR_SWITCH:
    if (shadow->traits->finalizer_steps && shadow->traits->generational)
      shadow->mode = shadow->mode == OP_MODE_INCREMENTAL
                         ? OP_MODE_GENERATIONAL
                         : OP_MODE_INCREMENTAL;
    return SHADOW_OK;
  default: /* what they do is the collector's affair, or leaves nothing */
    return SHADOW_OK;
  }
}

enum shadow_result
shadow_finalizer_end(struct shadow *shadow, uint32_t id, bool is_closing)
{
  enum shadow_result result;

  PENUMBRA_ASSERT(id < shadow->node_count);
  result = perform(shadow, id, is_closing);
  shadow_update_owed(shadow);
  shadow->birth_count = shadow->node_count - shadow->birth_first;
  if (result == SHADOW_OK)
    shadow->is_stale = true;
  return result;
}
