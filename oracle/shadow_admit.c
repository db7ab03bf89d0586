/* SPDX-License-Identifier: MIT
 *
 * Which operations are well-typed in the shadow's state: each row's "skip"
 * and the limits of op_limits.h. Reads the shadow heap and changes nothing.
 */
#include "oracle/shadow_internal.h"

/* ---- types ----------------------------------------------------------- */

static bool
is_table(const struct shadow *shadow, struct shadow_value value)
{
  return shadow_is_kind(shadow, value, SUBJECT_KIND_TABLE);
}

static bool
is_userdata(const struct shadow *shadow, struct shadow_value value)
{
  return shadow_is_kind(shadow, value, SUBJECT_KIND_USERDATA);
}

static bool
is_closure(const struct shadow *shadow, struct shadow_value value)
{
  return shadow_is_kind(shadow, value, SUBJECT_KIND_CLOSURE);
}

static bool
is_function(const struct shadow *shadow, struct shadow_value value)
{
  return value.tag == SUBJECT_CFUNC || is_closure(shadow, value) ||
         shadow_is_kind(shadow, value, SUBJECT_KIND_CCLOSURE);
}

/* Whether a value of an event may be the one that an operation sets: as __gc no
 * code of the stream's own, which a finalizer would have to run. */
static bool
is_event_value(const struct shadow *shadow, int32_t event,
               struct shadow_value value)
{
  return event != OP_EVENT_GC || value.tag == SUBJECT_CFUNC ||
         !(is_function(shadow, value) ||
           shadow_is_kind(shadow, value, SUBJECT_KIND_THREAD));
}

static bool
is_nil(struct shadow_value value)
{
  return value.tag == SUBJECT_NIL;
}

static bool
has_metatable(const struct shadow *shadow, struct shadow_value value)
{
  return is_table(shadow, value) || is_userdata(shadow, value);
}

static bool
is_metatable(const struct shadow *shadow, struct shadow_value value)
{
  return is_table(shadow, value) || is_nil(value);
}

/* The coroutine in a register; NULL if there is none in it. */
static const struct shadow_thread *
coroutine(const struct shadow *shadow, int32_t reg)
{
  struct shadow_value value = shadow_register(shadow, reg);

  if (!shadow_is_kind(shadow, value, SUBJECT_KIND_THREAD))
    return NULL;
  return &shadow->nodes[value.bits].as.thread;
}

/* ---- limits ---------------------------------------------------------- */

static bool
fits_nodes(const struct shadow *shadow, uint32_t count)
{
  uint32_t max = shadow->is_large ? OP_NODES_LARGE_MAX : OP_NODES_SMALL_MAX;

  return shadow->node_count - SHADOW_FIRST + count <= max;
}

static bool
fits_string(const struct shadow *shadow, uint64_t length)
{
  uint64_t max = shadow->is_large ? OP_STRINGS_LARGE_MAX : OP_STRINGS_SMALL_MAX;

  return length <= OP_STRING_MAX && shadow->string_bytes + length <= max;
}

static bool
fits_frame(const struct shadow *shadow)
{
  return shadow->nodes[shadow->running].as.thread.depth < OP_FRAMES_MAX;
}

/* ---- one question a kind of operation -------------------------------- */

static bool
admits_concat(const struct shadow *shadow, struct op op)
{
  struct shadow_value left = shadow_register(shadow, op.b);
  struct shadow_value right = shadow_register(shadow, op.c);

  return left.tag == SHADOW_STRING && right.tag == SHADOW_STRING &&
         fits_string(shadow, (uint64_t)shadow->strings[left.bits].length +
                                 shadow->strings[right.bits].length);
}

/* Raw access to the table in a register by the key in another. */
static bool
admits_access(const struct shadow *shadow, int32_t table, int32_t key)
{
  return is_table(shadow, shadow_register(shadow, table)) &&
         shadow_is_key(shadow_register(shadow, key));
}

static bool
admits_delete(const struct shadow *shadow, struct op op)
{
  struct shadow_value key = shadow_register(shadow, op.b);

  return admits_access(shadow, op.a, op.b) &&
         !is_nil(shadow_get(shadow,
                            (uint32_t)shadow_register(shadow, op.a).bits,
                            shadow_key(key)));
}

/* A string that was removed may be another object by now, of the same bytes:
 * only keys with an identity, or without any, are known again. */
static bool
admits_next(const struct shadow *shadow, struct op op)
{
  struct shadow_value table = shadow_register(shadow, op.a);
  struct shadow_value key = shadow_register(shadow, op.b);

  if (op.b == op.c || !is_table(shadow, table))
    return false;
  if (is_nil(key) || !is_nil(shadow_get(shadow, (uint32_t)table.bits, key)))
    return true;
  return key.tag != SHADOW_STRING &&
         shadow_same(key, shadow_removed(shadow, (uint32_t)table.bits));
}

static bool
admits_index(const struct shadow *shadow, int32_t object, int32_t key,
             bool is_store)
{
  struct shadow_value ignored;
  uint32_t table;

  return shadow_is_key(shadow_register(shadow, key)) &&
         shadow_resolve(shadow, shadow_register(shadow, object),
                        shadow_key(shadow_register(shadow, key)), is_store,
                        &table, &ignored);
}

/* Whether a C function is called for the access to the object in a register. */
static bool
admits_metamethod(const struct shadow *shadow, int32_t object, int32_t key,
                  bool is_store)
{
  return shadow_is_key(shadow_register(shadow, key)) &&
         shadow_resolve_call(shadow, shadow_register(shadow, object),
                             shadow_key(shadow_register(shadow, key)),
                             is_store) != 0;
}

/* Where an access ends: at the object from which no link leads on to a table or
 * userdata. */
struct access {
  uint32_t object;
  bool is_table;
  struct shadow_value value; /* raw, of a table */
  struct shadow_value link;
};

/* False: it goes round, or meets what is neither table nor userdata. */
static bool
follow(const struct shadow *shadow, struct shadow_value object,
       struct shadow_value key, bool is_store, struct access *ret_access)
{
  struct shadow_value event = shadow_of_string(
      shadow_event_find(shadow, is_store ? OP_EVENT_NEWINDEX : OP_EVENT_INDEX));

  for (int links = 0; links <= OP_META_CHAIN_MAX; links++) {
    struct access at = {.is_table = is_table(shadow, object),
                        .value = shadow_nil(),
                        .link = shadow_nil()};
    uint32_t metatable;

    if (!has_metatable(shadow, object))
      return false;
    at.object = (uint32_t)object.bits;
    metatable = shadow->nodes[at.object].metatable;
    if (at.is_table)
      at.value = shadow_get(shadow, at.object, key);
    if (is_nil(at.value) && metatable)
      at.link = shadow_get(shadow, metatable, event);
    if (!has_metatable(shadow, at.link)) {
      *ret_access = at;
      return true;
    }
    object = at.link;
  }
  return false;
}

bool
shadow_resolve(const struct shadow *shadow, struct shadow_value object,
               struct shadow_value key, bool is_store, uint32_t *ret_table,
               struct shadow_value *ret_value)
{
  struct access at;

  if (!follow(shadow, object, key, is_store, &at) || !is_nil(at.link) ||
      !at.is_table)
    return false;
  *ret_table = at.object;
  *ret_value = at.value;
  return true;
}

uint32_t
shadow_resolve_call(const struct shadow *shadow, struct shadow_value object,
                    struct shadow_value key, bool is_store)
{
  struct access at;

  if (!follow(shadow, object, key, is_store, &at) ||
      at.link.tag != SUBJECT_CFUNC)
    return 0;
  return at.object;
}

static bool
has_environment(const struct shadow *shadow, int32_t reg)
{
  struct shadow_value value = shadow_register(shadow, reg);

  return shadow->traits->user_values == SUBJECT_USER_ENVIRONMENT &&
         (is_closure(shadow, value) ||
          shadow_is_kind(shadow, value, SUBJECT_KIND_CCLOSURE) ||
          shadow_is_kind(shadow, value, SUBJECT_KIND_THREAD));
}

/* User value or upvalue n of the value, of which kinds (bits) may be. */
static bool
has_place(const struct shadow *shadow, struct shadow_value value,
          uint32_t kinds, int32_t n)
{
  const struct shadow_node *node;

  if (value.tag != SHADOW_NODE)
    return false;
  node = shadow->nodes + value.bits;
  return (kinds >> node->kind & 1) && n < node->count;
}

static bool
has_user_value(const struct shadow *shadow, int32_t reg, int32_t n)
{
  return has_place(shadow, shadow_register(shadow, reg),
                   1u << SUBJECT_KIND_USERDATA, n);
}

static bool
has_upvalue(const struct shadow *shadow, int32_t reg, int32_t n)
{
  return has_place(shadow, shadow_register(shadow, reg),
                   1u << SUBJECT_KIND_CLOSURE | 1u << SUBJECT_KIND_CCLOSURE, n);
}

bool
shadow_is_user_value(const struct shadow *shadow, struct shadow_value value)
{
  switch ((enum subject_user_values)shadow->traits->user_values) {
  case SUBJECT_USER_VALUE_TABLE:
    return is_nil(value) || is_table(shadow, value);
  case SUBJECT_USER_ENVIRONMENT:
    return is_nil(value) || (is_table(shadow, value) &&
                             value.bits != shadow->globals_table);
  case SUBJECT_USER_VALUES_NONE:
    return false;
  case SUBJECT_USER_VALUES_MANY:
  case SUBJECT_USER_VALUE_ANY:
    break;
  }
  return true;
}

/* So many user values at the most. */
static int32_t
user_value_limit(const struct shadow *shadow)
{
  if (shadow->traits->user_values == SUBJECT_USER_VALUES_MANY)
    return INT32_MAX;
  return shadow->traits->user_values != SUBJECT_USER_VALUES_NONE;
}

static bool
admits_join(const struct shadow *shadow, struct op op)
{
  return shadow->traits->joins_upvalues &&
         is_closure(shadow, shadow_register(shadow, op.a)) &&
         is_closure(shadow, shadow_register(shadow, op.b)) &&
         has_upvalue(shadow, op.a, op.c / 4) &&
         has_upvalue(shadow, op.b, op.c % 4);
}

static bool
admits_call(const struct shadow *shadow, struct op op)
{
  return is_function(shadow, shadow_register(shadow, op.a)) &&
         fits_frame(shadow) &&
         (op.code != OP_CALLV || op.c <= OP_VARARGS_MAX) &&
         (op.code != OP_PCALL || shadow->traits->catches_across_yields);
}

static bool
is_base_frame(const struct shadow *shadow)
{
  return shadow_frame_now(shadow)->previous == 0;
}

bool
shadow_has_closer(const struct shadow *shadow, struct shadow_value value)
{
  struct shadow_value event =
      shadow_of_string(shadow_event_find(shadow, OP_EVENT_CLOSE));
  uint32_t metatable;

  if (!has_metatable(shadow, value))
    return false;
  metatable = shadow->nodes[value.bits].metatable;
  return metatable && shadow_get(shadow, metatable, event).tag == SUBJECT_CFUNC;
}

static bool
admits_tbc(const struct shadow *shadow, struct op op)
{
  return shadow->traits->closes_values &&
         shadow_frame_now(shadow)->closing_count < OP_TBC_MAX &&
         shadow_has_closer(shadow, shadow_register(shadow, op.a));
}

static bool
admits_resume(const struct shadow *shadow, struct op op)
{
  const struct shadow_thread *it = coroutine(shadow, op.a);

  return it && it->status == SHADOW_SUSPENDED &&
         shadow->normal_count < OP_RESUME_DEPTH_MAX;
}

/* Whether the registers of the coroutine in a register may be reached. */
static bool
admits_coroutine_access(const struct shadow *shadow, int32_t reg)
{
  const struct shadow_thread *it = coroutine(shadow, reg);

  return it && it->frame &&
         (it->status == SHADOW_SUSPENDED || it->status == SHADOW_FAILED);
}

static bool
admits_coclose(const struct shadow *shadow, struct op op)
{
  const struct shadow_thread *it = coroutine(shadow, op.a);

  return shadow->traits->closes_coroutines && it &&
         it->status != SHADOW_RUNNING && it->status != SHADOW_NORMAL;
}

/* Whether there is a place for hot to store in, and nothing in it. */
static bool
has_hot_place(const struct shadow *shadow, struct op op)
{
  struct shadow_value place = shadow_register(shadow, op.a);
  struct shadow_value key = shadow_integer(1);
  char name[OP_STRING_MAX];

  if (is_closure(shadow, place))
    return has_upvalue(shadow, op.a, 0) &&
           is_nil(shadow_cell_get(shadow,
                                  shadow->nodes[place.bits].as.cells[0]));
  if (!is_table(shadow, place))
    return false;
  if (op.b % 2) {
    size_t length = op_string_name(OP_HOT_NAME, name);
    uint32_t id = shadow_string_find(shadow, (const uint8_t *)name, length);

    if (!id)
      return true;
    key = shadow_of_string(id);
  }
  return is_nil(shadow_get(shadow, (uint32_t)place.bits, key));
}

static bool
admits_hot(const struct shadow *shadow, struct op op)
{
  return op.c > 0 && (shadow->is_large || op.c <= OP_CHURN_SMALL_MAX) &&
         has_hot_place(shadow, op) && fits_nodes(shadow, 1);
}

bool
shadow_admits(const struct shadow *shadow, struct op op)
{
  switch ((enum op_code)op.code) {
  case OP_SETUP:
  case OP_NIL:
  case OP_BOOL:
  case OP_INT:
  case OP_FLOAT:
  case OP_LIGHTUD:
  case OP_CFUNC:
  case OP_STR:
  case OP_MOVE:
  case OP_GETBASIC:
  case OP_CLOSEUP:
  case OP_VARARG:
  case OP_SETTOP:
  case OP_RUNNING:
  case OP_GETGLOBAL:
  case OP_SETGLOBAL:
  case OP_GLOBALS:
  case OP_GETREG:
  case OP_SETREG:
  case OP_STEP:
  case OP_RUNTO:
  case OP_FINISH:
  case OP_COLLECT:
  case OP_STOP:
  case OP_RESTART:
  case OP_FAILALLOC:
  case OP_HEAPLIMIT:
  case OP_CLOSE:
  case OP_PARAM:
  case OP_OUTOFMEM:
    return true;
  case OP_EXTSTR:
    return shadow->traits->external_strings &&
           fits_string(shadow, OP_SHORT_STRING_MAX + 1 + (uint64_t)op.c);
  case OP_LSTR:
    return fits_string(shadow, OP_SHORT_STRING_MAX + 1 + (uint64_t)op.c);
  case OP_CONCAT:
    return admits_concat(shadow, op);
  case OP_NEWTABLE:
    return op.b <= OP_TABLE_SLOTS_MAX && op.c <= OP_TABLE_SLOTS_MAX &&
           fits_nodes(shadow, 1);
  case OP_GET:
    return admits_access(shadow, op.b, op.c);
  case OP_SET:
    return admits_access(shadow, op.a, op.b);
  case OP_GETI:
  case OP_GETS:
  case OP_LEN:
    return is_table(shadow, shadow_register(shadow, op.b));
  case OP_SETI:
  case OP_SETS:
  case OP_SETMODE:
  case OP_SETGC:
    return is_table(shadow, shadow_register(shadow, op.a));
  case OP_SETGLOBALS:
    return shadow->traits->load_upvalue &&
           is_table(shadow, shadow_register(shadow, op.a));
  case OP_SETEVENT:
    return is_table(shadow, shadow_register(shadow, op.a)) &&
           is_event_value(shadow, op.b, shadow_register(shadow, op.c));
  case OP_DELETE:
    return admits_delete(shadow, op);
  case OP_APPEND:
    return is_table(shadow, shadow_register(shadow, op.a)) &&
           !is_nil(shadow_register(shadow, op.b));
  case OP_NEXT:
    return admits_next(shadow, op);
  case OP_INDEX:
    return admits_index(shadow, op.b, op.c, false);
  case OP_NEWINDEX:
    return admits_index(shadow, op.a, op.b, true);
  case OP_CALLINDEX:
    return admits_metamethod(shadow, op.b, op.c, false);
  case OP_CALLSTORE:
    return admits_metamethod(shadow, op.a, op.b, true);
  case OP_SETMETA:
    return has_metatable(shadow, shadow_register(shadow, op.a)) &&
           is_metatable(shadow, shadow_register(shadow, op.b));
  case OP_GETMETA:
    return !shadow_is_kind(shadow, shadow_register(shadow, op.b),
                           SUBJECT_KIND_CDATA);
  case OP_BASICMETA:
    return is_metatable(shadow, shadow_register(shadow, op.b));
  case OP_NEWUD:
    return op.b <= OP_USERDATA_MAX && op.c <= user_value_limit(shadow) &&
           fits_nodes(shadow, 1);
  case OP_GETUV:
    return has_user_value(shadow, op.b, op.c);
  case OP_SETUV:
    return has_user_value(shadow, op.a, op.b) &&
           shadow_is_user_value(shadow, shadow_register(shadow, op.c));
  case OP_SETENV:
    return has_environment(shadow, op.a) &&
           shadow_is_user_value(shadow, shadow_register(shadow, op.b));
  case OP_GETENV:
    return has_environment(shadow, op.b);
  case OP_LIBRARY:
    return shadow->traits->libraries;
  case OP_CCLOSURE:
    return op.c > 0 && fits_nodes(shadow, 1);
  case OP_CLOSURE:
    return fits_nodes(shadow, 1);
  case OP_SHARE:
    return is_closure(shadow, shadow_register(shadow, op.b)) &&
           fits_nodes(shadow, 1);
  case OP_GETUPVAL:
    return has_upvalue(shadow, op.b, op.c);
  case OP_SETUPVAL:
    return has_upvalue(shadow, op.a, op.b);
  case OP_JOIN:
    return admits_join(shadow, op);
  case OP_LOAD:
    return op.b <= OP_CONSTANTS_MAX && fits_nodes(shadow, 1);
  case OP_LOADCUT:
    return op.b <= OP_CONSTANTS_MAX;
  case OP_CALL:
  case OP_PCALL:
  case OP_CALLV:
    return admits_call(shadow, op);
  case OP_RETURN:
    return shadow->running != SHADOW_MAIN || !is_base_frame(shadow);
  case OP_TAILCALL:
    return is_function(shadow, shadow_register(shadow, op.a)) &&
           !shadow_frame_now(shadow)->closing_count && !is_base_frame(shadow);
  case OP_RESERVE:
    return op.a <=
           (shadow->is_large ? OP_RESERVE_LARGE_MAX : OP_RESERVE_SMALL_MAX);
  case OP_ERROR:
    return shadow->running != SHADOW_MAIN || shadow_protected_frame(shadow);
  case OP_TBC:
    return admits_tbc(shadow, op);
  case OP_CONEW:
    return is_function(shadow, shadow_register(shadow, op.b)) &&
           fits_nodes(shadow, 1);
  case OP_RESUME:
    return admits_resume(shadow, op);
  case OP_YIELD:
    return shadow->running != SHADOW_MAIN;
  case OP_COSET:
    return admits_coroutine_access(shadow, op.a);
  case OP_COGET:
    return admits_coroutine_access(shadow, op.b);
  case OP_COCLOSE:
    return admits_coclose(shadow, op);
  case OP_REF:
    return !is_nil(shadow_register(shadow, op.b));
  case OP_UNREF:
    return shadow_is_reference(shadow, shadow_register(shadow, op.a));
  case OP_GETREF:
    return shadow_is_reference(shadow, shadow_register(shadow, op.b));
  case OP_MICROSTEP:
    return op.a <=
           (shadow->is_large ? OP_MICROSTEP_MAX : OP_MICROSTEP_SMALL_MAX);
  case OP_CHURN:
    return shadow->is_large || op.a <= OP_CHURN_SMALL_MAX;
  case OP_CHAIN:
    return op.b > 0 && fits_nodes(shadow, (uint32_t)op.b);
  case OP_WIDE:
    return fits_nodes(shadow, (uint32_t)op.b + 1);
  case OP_NEWWEAK:
  case OP_NEWFIN:
    return fits_nodes(shadow, 2);
  case OP_NEWCDATA:
    return shadow->traits->cdata && op.b != OP_BEHAVIOUR_NUMBER &&
           fits_nodes(shadow, 1);
  case OP_EPHEMERONS:
    return op.b > 0 && fits_nodes(shadow, (uint32_t)op.b + 3);
  case OP_HOT:
    return admits_hot(shadow, op);
  case OP_MODE:
    return op.a == OP_MODE_INCREMENTAL || shadow->traits->generational;
  case OP_MINOR:
    return shadow->mode == OP_MODE_GENERATIONAL && op.a <= OP_MINOR_MAX;
  }
  return false;
}
