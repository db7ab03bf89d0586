/* SPDX-License-Identifier: MIT
 *
 * The operations on the shadow heap that make many nodes, weak tables and
 * objects that are owed a finalizer, and those that set the fields which decide
 * on these. Called by shadow_apply.c only.
 *
 * New nodes are numbered in the order that each function tells. Memory is taken
 * first, as shadow_apply.c says.
 */
#include "oracle/shadow_internal.h"

static enum shadow_result
set_register(struct shadow *shadow, int32_t reg, struct shadow_value value)
{
  shadow_register_set(shadow, shadow_frame_now(shadow), (uint32_t)reg, value);
  return SHADOW_OK;
}

static uint32_t
node_in(const struct shadow *shadow, int32_t reg)
{
  return (uint32_t)shadow_register(shadow, reg).bits;
}

/* ---- load ------------------------------------------------------------ */

/* count tables without edges from the next id on. */
static bool
new_tables(struct shadow *shadow, uint32_t count, uint32_t *ret_first)
{
  if (!shadow_reserve_nodes(shadow, count))
    return false;
  *ret_first = shadow->node_count;
  for (uint32_t i = 0; i < count; i++)
    shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  return true;
}

enum shadow_result
shadow_chain(struct shadow *shadow, struct op op)
{
  uint32_t count = (uint32_t)op.b, first;

  if (!new_tables(shadow, count, &first))
    return SHADOW_NO_MEMORY;
  for (uint32_t i = 0; i + 1 < count; i++) {
    if (!shadow_reserve_entries(shadow, first + i, 1))
      return SHADOW_NO_MEMORY;
    shadow_set(shadow, first + i, shadow_integer(1),
               shadow_of_node(first + i + 1));
  }
  return set_register(shadow, op.a, shadow_of_node(first));
}

enum shadow_result
shadow_wide(struct shadow *shadow, struct op op)
{
  uint32_t count = (uint32_t)op.b, first;

  if (!new_tables(shadow, count + 1, &first) ||
      !shadow_reserve_entries(shadow, first, count))
    return SHADOW_NO_MEMORY;
  for (uint32_t i = 1; i <= count; i++)
    shadow_set(shadow, first, shadow_integer(i), shadow_of_node(first + i));
  return set_register(shadow, op.a, shadow_of_node(first));
}

/* Puts a value in the place that op names. */
static enum shadow_result
store_hot(struct shadow *shadow, struct op op, struct shadow_value value)
{
  uint32_t place = node_in(shadow, op.a);

  if (shadow->nodes[place].kind == SUBJECT_KIND_CLOSURE) {
    shadow_cell_set(shadow, shadow->nodes[place].as.cells[0], value);
    return SHADOW_OK;
  }
  if (op.b % 2)
    return shadow_put_named(shadow, place, SHADOW_NAMED_NAME, OP_HOT_NAME,
                            value);
  if (!shadow_reserve_entries(shadow, place, 1))
    return SHADOW_NO_MEMORY;
  shadow_set(shadow, place, shadow_integer(1), value);
  return SHADOW_OK;
}

/* The table of the last turn is all that is left. */
enum shadow_result
shadow_hot(struct shadow *shadow, struct op op)
{
  enum shadow_result result;
  uint32_t id;

  if (!new_tables(shadow, 1, &id) || !shadow_reserve_entries(shadow, id, 1))
    return SHADOW_NO_MEMORY;
  shadow_set(shadow, id, shadow_integer(1), shadow_register(shadow, op.b));
  result = store_hot(shadow, op, shadow_of_node(id));
  if (result == SHADOW_OK)
    set_register(shadow, op.b, shadow_of_node(id));
  return result;
}

/* ---- weak tables and finalizers -------------------------------------- */

/* "k", "v", "kv", or nil; false on no memory. */
static bool
mode_value(struct shadow *shadow, int32_t weak, struct shadow_value *ret_value)
{
  char text[OP_STRING_MAX];
  size_t length = op_string_weak(weak, text);
  uint32_t id = 0;

  *ret_value = shadow_nil();
  if (!length)
    return true;
  id = shadow_intern(shadow, (const uint8_t *)text, length);
  *ret_value = shadow_of_string(id);
  return id != 0;
}

/* What setgc and newfin set as __gc. */
static struct shadow_value
finalizer_value(int32_t behaviour)
{
  if (behaviour == OP_BEHAVIOUR_NONE)
    return shadow_nil();
  if (behaviour == OP_BEHAVIOUR_NUMBER)
    return shadow_integer(1);
  return (struct shadow_value){SHADOW_FINALIZER_FIRST + (uint64_t)behaviour,
                               SUBJECT_CFUNC};
}

enum shadow_result
shadow_setmode(struct shadow *shadow, struct op op)
{
  struct shadow_value mode;

  if (!mode_value(shadow, op.b, &mode))
    return SHADOW_NO_MEMORY;
  return shadow_put_named(shadow, node_in(shadow, op.a), SHADOW_NAMED_EVENT,
                          OP_EVENT_MODE, mode);
}

enum shadow_result
shadow_setgc(struct shadow *shadow, struct op op)
{
  return shadow_put_named(shadow, node_in(shadow, op.a), SHADOW_NAMED_EVENT,
                          OP_EVENT_GC, finalizer_value(op.b));
}

/* A fresh metatable with one event, of a fresh node that has none: there must
 * be room for the node; false on no memory. */
static bool
new_metatable(struct shadow *shadow, uint32_t node, int32_t event,
              struct shadow_value value)
{
  uint32_t id = shadow_node_new(shadow, SUBJECT_KIND_TABLE);

  if (shadow_put_named(shadow, id, SHADOW_NAMED_EVENT, event, value) !=
      SHADOW_OK)
    return false;
  shadow->nodes[node].metatable = id;
  shadow->nodes[node].sum += shadow_hash(SUBJECT_LABEL_METATABLE, shadow_nil(),
                                         shadow_of_node(id));
  return true;
}

/* The table, then its metatable. */
enum shadow_result
shadow_newweak(struct shadow *shadow, struct op op)
{
  struct shadow_value mode;
  uint32_t table;

  if (!mode_value(shadow, op.b, &mode) || !shadow_reserve_nodes(shadow, 2))
    return SHADOW_NO_MEMORY;
  table = shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  if (!new_metatable(shadow, table, OP_EVENT_MODE, mode))
    return SHADOW_NO_MEMORY;
  return set_register(shadow, op.a, shadow_of_node(table));
}

/* The object, then its metatable. */
enum shadow_result
shadow_newfin(struct shadow *shadow, struct op op)
{
  uint32_t id;

  if (!shadow_reserve_nodes(shadow, 2))
    return SHADOW_NO_MEMORY;
  if (op.c)
    id = shadow_new_with_values(shadow, SUBJECT_KIND_USERDATA, 1);
  else
    id = shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  if (!id || !new_metatable(shadow, id, OP_EVENT_GC, finalizer_value(op.b)))
    return SHADOW_NO_MEMORY;
  shadow_mark_finalizer(shadow, id);
  return set_register(shadow, op.a, shadow_of_node(id));
}

enum shadow_result
shadow_newcdata(struct shadow *shadow, struct op op)
{
  uint32_t id;

  if (!shadow_reserve_nodes(shadow, 1))
    return SHADOW_NO_MEMORY;
  id = shadow_node_new(shadow, SUBJECT_KIND_CDATA);
  shadow->nodes[id].as.behaviour = op.b;
  if (op.b != OP_BEHAVIOUR_NONE)
    shadow_owe_finalizer(shadow, id);
  return set_register(shadow, op.a, shadow_of_node(id));
}

/* The table, the weak one, its metatable, then the keys. */
enum shadow_result
shadow_ephemerons(struct shadow *shadow, struct op op)
{
  const struct shadow_value last = {1, SUBJECT_BOOLEAN};
  uint32_t count = (uint32_t)op.b, table, weak, first;
  struct shadow_value mode;

  if (!mode_value(shadow, OP_WEAK_KEYS, &mode) ||
      !shadow_reserve_nodes(shadow, count + 3))
    return SHADOW_NO_MEMORY;
  table = shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  weak = shadow_node_new(shadow, SUBJECT_KIND_TABLE);
  if (!shadow_reserve_entries(shadow, table, 2) ||
      !shadow_reserve_entries(shadow, weak, count) ||
      !new_metatable(shadow, weak, OP_EVENT_MODE, mode) ||
      !new_tables(shadow, count, &first))
    return SHADOW_NO_MEMORY;
  shadow_set(shadow, table, shadow_integer(1), shadow_of_node(first));
  shadow_set(shadow, table, shadow_integer(2), shadow_of_node(weak));
  for (uint32_t i = 0; i < count; i++)
    shadow_set(shadow, weak, shadow_of_node(first + i),
               i + 1 < count ? shadow_of_node(first + i + 1) : last);
  return set_register(shadow, op.a, shadow_of_node(table));
}
