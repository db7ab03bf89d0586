/* SPDX-License-Identifier: MIT
 *
 * See twin_rules.h.
 */
#include "lab/twin_rules.h"

#include "oracle/view.h"

#define NONE TWIN_DIFFERENCES

/* op cfunc */
enum { CLOSERS = 4, CLOSER_STEPS = 2, CLOSER_COLLECTS = 3 };

struct scene {
  const struct twin_pair *pair;
  const struct oracle *oracle;
  const struct oracle_firm *firm;
};

static bool
concerns(const struct scene *scene, enum twin_difference row)
{
  return twin_concerns(row, scene->pair->subject[0], scene->pair->subject[1]);
}

/* The row if it is about these two, else none. */
static enum twin_difference
if_concerned(const struct scene *scene, enum twin_difference row)
{
  return concerns(scene, row) ? row : NONE;
}

/* ---- finalizers and weak tables -------------------------------------- */

static enum twin_difference
finalizer(const struct scene *scene, int32_t behaviour)
{
  if (concerns(scene, TWIN_FINALIZERS))
    return TWIN_FINALIZERS;
  switch (behaviour) {
  case OP_BEHAVIOUR_STEP:
  case OP_BEHAVIOUR_COLLECT:
  case OP_BEHAVIOUR_SWITCH:
  case OP_BEHAVIOUR_STOP:
    return if_concerned(scene, TWIN_FINALIZER_STEPS);
  default:
    return NONE;
  }
}

/* ---- tables ---------------------------------------------------------- */

/* The table in a register; SHADOW_ROOT if there is none. */
static uint32_t
table_in(const struct scene *scene, int32_t reg)
{
  struct shadow_value value = oracle_register(scene->oracle, reg);
  const struct shadow *shadow = oracle_shadow(scene->oracle);
  if (value.tag != SHADOW_NODE ||
      shadow_kind(shadow, (uint32_t)value.bits) != SUBJECT_KIND_TABLE)
    return SHADOW_ROOT;
  return (uint32_t)value.bits;
}

static enum twin_difference
whole_table(const struct scene *scene, uint32_t table)
{
  return oracle_has_loose(scene->oracle, scene->firm, table) ? TWIN_LOOSE
                                                              : NONE;
}

static enum twin_difference
entry(const struct scene *scene, uint32_t table, struct shadow_value key)
{
  const struct shadow *shadow = oracle_shadow(scene->oracle);
  struct shadow_value value;
  if (!shadow_lookup(shadow, table, SUBJECT_LABEL_ENTRY, key, &value))
    return NONE;
  return oracle_is_loose(scene->oracle, scene->firm, table, key, value)
             ? TWIN_LOOSE
             : NONE;
}

/* A key that is a float may be an integer to the table: then all of it is
 * looked at. */
static enum twin_difference
entry_by_register(const struct scene *scene, int32_t table, int32_t key)
{
  struct shadow_value value = oracle_register(scene->oracle, key);
  if (value.tag == SUBJECT_FLOAT)
    return whole_table(scene, table_in(scene, table));
  return entry(scene, table_in(scene, table), value);
}

static enum twin_difference
entry_by_name(const struct scene *scene, uint32_t table, const char *name,
              size_t length)
{
  uint32_t id = shadow_string_find(oracle_shadow(scene->oracle),
                                   (const uint8_t *)name, length);
  struct shadow_value key = {id, SHADOW_STRING};
  return id ? entry(scene, table, key) : NONE;
}

/* All tables on the way of __index or __newindex, and their metatables; then a
 * function that is called. */
static enum twin_difference
chain(const struct scene *scene, int32_t reg, int32_t event)
{
  const struct shadow *shadow = oracle_shadow(scene->oracle);
  const struct shadow_value none = {0, SUBJECT_NIL};
  struct shadow_value at = oracle_register(scene->oracle, reg);
  char name[OP_STRING_MAX];
  size_t length = op_string_event(event, name);
  struct shadow_value key = {
      shadow_string_find(shadow, (const uint8_t *)name, length), SHADOW_STRING};
  for (int links = 0; links <= OP_META_CHAIN_MAX; links++) {
    struct shadow_value metatable;
    if (at.tag == SUBJECT_CFUNC && at.bits % CLOSERS == CLOSER_COLLECTS)
      return TWIN_REGISTERS;
    if (at.tag != SHADOW_NODE)
      return NONE;
    if (oracle_has_loose(scene->oracle, scene->firm, (uint32_t)at.bits))
      return TWIN_LOOSE;
    if (!shadow_lookup(shadow, (uint32_t)at.bits, SUBJECT_LABEL_METATABLE, none,
                       &metatable) ||
        metatable.tag != SHADOW_NODE)
      return NONE;
    if (oracle_has_loose(scene->oracle, scene->firm, (uint32_t)metatable.bits))
      return TWIN_LOOSE;
    if (!key.bits || !shadow_lookup(shadow, (uint32_t)metatable.bits,
                                    SUBJECT_LABEL_ENTRY, key, &at))
      return NONE;
  }
  return NONE;
}

/* What decides whether a table has one border: how many positive keys it has,
 * and the largest. */
struct borders {
  uint64_t count, largest;
};

static bool
count_key(void *user, uint8_t label, struct shadow_value key,
          struct shadow_value value)
{
  struct borders *borders = user;
  (void)value;
  if (label == SUBJECT_LABEL_ENTRY && key.tag == SUBJECT_INTEGER &&
      (int64_t)key.bits > 0) {
    borders->count += 1;
    if (key.bits > borders->largest)
      borders->largest = key.bits;
  }
  return true;
}

static enum twin_difference
length_of(const struct scene *scene, int32_t reg)
{
  uint32_t table = table_in(scene, reg);
  struct borders borders = {0, 0};
  if (oracle_has_loose(scene->oracle, scene->firm, table))
    return TWIN_LOOSE;
  shadow_visit(oracle_shadow(scene->oracle), table, count_key, &borders);
  return borders.count == borders.largest ? NONE : TWIN_BORDERS;
}

/* The second subject goes on in the table until it is where the first is: so
 * the register must still hold it. */
static enum twin_difference
next_in(const struct scene *scene, struct op op)
{
  if (op.a == op.b || op.a == op.c)
    return TWIN_ORDER;
  return whole_table(scene, table_in(scene, op.a));
}

static enum twin_difference
access_to(const struct scene *scene, struct op op)
{
  char name[OP_STRING_MAX];
  struct shadow_value key = {(uint64_t)op.c, SUBJECT_INTEGER};
  const struct shadow *shadow = oracle_shadow(scene->oracle);
  switch (op.code) {
  case OP_GET:
    return entry_by_register(scene, op.b, op.c);
  case OP_GETI:
    return entry(scene, table_in(scene, op.b), key);
  case OP_GETS:
    return entry_by_name(scene, table_in(scene, op.b), name,
                         op_string_name(op.c, name));
  default:
    return entry_by_name(scene, shadow_globals(shadow), name,
                         op_string_global(op.b, name));
  }
}

/* ---- what changes which tables are weak ------------------------------- */

/* Entries that may go would stay from now on, if they are there still. */
static enum twin_difference
any_table(const struct scene *scene)
{
  const struct shadow *shadow = oracle_shadow(scene->oracle);
  uint32_t count = shadow_node_count(shadow);
  for (uint32_t node = 1; node < count; node++)
    if (oracle_has_loose(scene->oracle, scene->firm, node))
      return TWIN_LOOSE;
  return NONE;
}

static enum twin_difference
event(const struct scene *scene, int32_t event)
{
  if (event == OP_EVENT_GC)
    return if_concerned(scene, TWIN_FINALIZERS);
  if (event != OP_EVENT_MODE)
    return NONE;
  return concerns(scene, TWIN_WEAKNESS) ? TWIN_WEAKNESS : any_table(scene);
}

static enum twin_difference
mode(const struct scene *scene, int32_t weak)
{
  if (weak != OP_WEAK_NONE && concerns(scene, TWIN_WEAKNESS))
    return TWIN_WEAKNESS;
  return any_table(scene);
}

/* A key that traversals of metatables may have brought. */
static enum twin_difference
set_by_register(const struct scene *scene, int32_t key)
{
  struct shadow_value value = oracle_register(scene->oracle, key);
  char name[OP_STRING_MAX];
  size_t length = op_string_event(OP_EVENT_MODE, name);
  uint32_t id = shadow_string_find(oracle_shadow(scene->oracle),
                                   (const uint8_t *)name, length);
  return value.tag == SHADOW_STRING && id && value.bits == id
             ? any_table(scene)
             : NONE;
}

/* ---- all ------------------------------------------------------------- */

enum twin_difference
twin_leaves_out(const struct twin_pair *pair, const struct oracle *oracle,
                const struct oracle_firm *firm, struct op op, bool is_whole)
{
  const struct scene scene = {pair, oracle, firm};
  enum twin_difference row;
  switch ((enum op_code)op.code) {
  case OP_RESTART:
    return TWIN_WEIGHT;
  case OP_FAILALLOC:
  case OP_HEAPLIMIT:
  case OP_OUTOFMEM:
    return TWIN_REFUSALS;
  case OP_STEP:
  case OP_MICROSTEP:
  case OP_RUNTO:
  case OP_FINISH:
    return is_whole ? TWIN_DEBT : NONE;
  case OP_MODE:
    return op.a == OP_MODE_GENERATIONAL ? if_concerned(&scene, TWIN_MODES)
                                        : NONE;
  case OP_CFUNC:
    return op.b % CLOSERS == CLOSER_STEPS ? TWIN_CLOSERS : NONE;
  case OP_SETGC:
  case OP_NEWFIN:
    return finalizer(&scene, op.b);
  case OP_SETEVENT:
    return event(&scene, op.b);
  case OP_SETMODE:
    return mode(&scene, op.b);
  case OP_NEWWEAK:
    return op.b == OP_WEAK_NONE ? NONE : if_concerned(&scene, TWIN_WEAKNESS);
  case OP_SETMETA:
    return whole_table(&scene, table_in(&scene, op.a));
  case OP_SET:
    return set_by_register(&scene, op.b);
  case OP_EPHEMERONS:
    return if_concerned(&scene, TWIN_WEAKNESS);
  case OP_LEN:
    return length_of(&scene, op.b);
  case OP_APPEND:
    return length_of(&scene, op.a);
  case OP_NEXT:
    return next_in(&scene, op);
  case OP_INDEX:
  case OP_CALLINDEX:
    return chain(&scene, op.b, OP_EVENT_INDEX);
  case OP_NEWINDEX:
  case OP_CALLSTORE:
    row = chain(&scene, op.a, OP_EVENT_NEWINDEX);
    return row == NONE ? set_by_register(&scene, op.b) : row;
  case OP_DELETE:
    row = entry_by_register(&scene, op.a, op.b);
    return row == NONE ? set_by_register(&scene, op.b) : row;
  case OP_GET:
  case OP_GETI:
  case OP_GETS:
  case OP_GETGLOBAL:
    return access_to(&scene, op);
  default:
    return NONE;
  }
}
