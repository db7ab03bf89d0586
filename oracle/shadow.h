/* SPDX-License-Identifier: MIT
 *
 * The shadow heap: what the operations have built, as a plain graph that
 * never collects anything. It owns the nodes and knows nothing of objects,
 * colours or memory; the oracle binds its nodes to objects. Only the oracle
 * calls it.
 *
 * Nodes: the root, tables, userdata, closures and coroutines, by id. Strings
 * are values, by content. Upvalues are cells: open ones alias a register of a
 * frame, closed ones hold a value.
 *
 * Each node has a sum over its edges: the commutative sum of shadow_hash() of
 * each (label, key, value). The oracle computes the same over an object's
 * surveyed edges, so that equal contents are recognised without a search; a
 * difference is then looked up edge by edge (shadow_lookup, shadow_visit).
 */
#ifndef PENUMBRA_ORACLE_SHADOW_H
#define PENUMBRA_ORACLE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "subject.h"

struct shadow;

/* Tags of shadow values: the scalars of enum subject_tag (never
 * SUBJECT_OBJECT), and: */
enum {
  SHADOW_STRING = 16, /* bits: string id */
  SHADOW_NODE = 17    /* bits: node id */
};

struct shadow_value {
  uint64_t bits;
  uint8_t tag;
};

enum shadow_id {
  SHADOW_ROOT,     /* edges REGISTRY, GLOBALS, MAIN, CURRENT, BASICMETA */
  SHADOW_REGISTRY, /* a table; holds "k<n>" and references */
  SHADOW_GLOBALS,  /* a table: that of the globals until it is replaced */
  SHADOW_MAIN,     /* the main coroutine */
  SHADOW_FIRST     /* first id that an operation may make */
};

/* NULL on no memory. */
struct shadow *shadow_new(void);
void shadow_free(struct shadow *shadow);
/* Back to an empty heap, keeping memory for reuse. large: OP_SCALE_LARGE. */
void shadow_clear(struct shadow *shadow, bool large);

/* Whether op is well-typed in this state; else it is to be skipped. setup and
 * close are not the shadow's business: always admitted. */
bool shadow_admits(const struct shadow *shadow, struct op op);

enum { SHADOW_MESSAGE_MAX = 240 };
enum shadow_result {
  SHADOW_OK,
  SHADOW_ILLEGAL,  /* the answer or status is none that the row allows */
  SHADOW_NO_MEMORY /* the shadow itself is out of memory */
};

/* Follows an admitted operation that has begun. answer holds
 * SUBJECT_ANSWERS_MAX values for operations marked OP_OPEN and not OP_STEERS
 * (an object that is bound to no node comes as tag SUBJECT_OTHER), else it is
 * not read. The status NO_MEMORY changes nothing and is legal for operations
 * marked OP_ALLOCATES; UNSUPPORTED changes nothing; ERROR is legal for none. On
 * SHADOW_ILLEGAL ret_message (SHADOW_MESSAGE_MAX bytes) says why; then and on
 * SHADOW_NO_MEMORY the state is as before. Of an operation marked OP_STEERS it
 * follows the mode and whether the collector is stopped. */
enum shadow_result shadow_apply(struct shadow *shadow, struct op op,
                                enum subject_status status,
                                const struct shadow_value *answer,
                                char *ret_message);

/* Nodes made since the operation began, by finalizers first: ids first <= id <
 * first + count. */
uint32_t shadow_births(const struct shadow *shadow, uint32_t *ret_first);
uint32_t shadow_node_count(const struct shadow *shadow);
enum subject_kind shadow_kind(const struct shadow *shadow, uint32_t id);
/* To-be-closed values that the last shadow_apply left behind and whose closer
 * is to be called, in the order of the calls: node ids, borrowed until the next
 * apply. Returns how many. */
uint32_t shadow_closings(const struct shadow *shadow, const uint32_t **ret_ids);
/* Whether applying op may leave to-be-closed values behind. */
bool shadow_may_close(const struct shadow *shadow, struct op op);
/* The running coroutine. */
uint32_t shadow_running(const struct shadow *shadow);
/* The globals table. */
uint32_t shadow_globals(const struct shadow *shadow);

/* An admitted operation begins: "was" below means the state of this moment, and
 * births are counted from here, whatever finalizers do before the operation
 * itself is applied. What it reads before it can run a collection is settled
 * here. */
void shadow_begin(struct shadow *shadow, struct op op);

/* Reachability. shadow_reach() brings it up to date (cheap when nothing
 * changed) and returns how many nodes are reachable. was: when the operation
 * began; is: now.
 *
 * reachable: from the root, over strong edges; the value of a weak-key entry
 * counts once its key is reachable (to a fixpoint), weak sides do not count.
 * Which tables are weak is what their metatables say now.
 * held: reachable, or reachable in this sense from a node whose finalizer is
 * owed. What is held may not be freed. */
uint32_t shadow_reach(struct shadow *shadow);
bool shadow_was_reachable(const struct shadow *shadow, uint32_t id);
bool shadow_is_reachable(const struct shadow *shadow, uint32_t id);
bool shadow_was_held(const struct shadow *shadow, uint32_t id);
bool shadow_is_held(const struct shadow *shadow, uint32_t id);
/* The same now, when the operation began, and whenever shadow_reach() was
 * called in between: what finalizers have dropped and brought back did not
 * stay. */
bool shadow_stayed_reachable(const struct shadow *shadow, uint32_t id);
bool shadow_stayed_held(const struct shadow *shadow, uint32_t id);

/* Whether it is held also if tables with weak keys hold their values through
 * the keys only. */
bool shadow_is_held_by_keys(const struct shadow *shadow, uint32_t id);
/* Whether a coroutine that is not held can reach the node, through a register
 * that some closure has captured. */
bool shadow_is_behind_upvalue(const struct shadow *shadow, uint32_t id);
/* Whether a doubtful node that is not held is the node, or can reach it. */
bool shadow_is_behind_doubt(const struct shadow *shadow, uint32_t id);

/* Weak tables. The sides of a table that are weak now: OP_WEAK_*; of a
 * node that is no table OP_WEAK_NONE. */
int32_t shadow_weakness(const struct shadow *shadow, uint32_t id);
/* Whether any table may be weak. */
bool shadow_has_weak_tables(const struct shadow *shadow);
/* Whether a value is one that a weak side may lose: a node. */
static inline bool
shadow_is_collectable(struct shadow_value value)
{
  return value.tag == SHADOW_NODE;
}
/* The subject has removed the entry of this key from a table; nothing happens
 * if there is none. It may come before or after the operation in which that
 * happens is applied. */
void shadow_clear_entry(struct shadow *shadow, uint32_t table,
                        struct shadow_value key);
/* Where a mode that was taken away may count until the cycle is over [T]: one
 * has begun since, or a whole collection has been made. */
void shadow_forget_modes(struct shadow *shadow);
/* Whether some table has such a mode. */
bool shadow_has_old_modes(const struct shadow *shadow);

/* Finalizers. The number of the marking of a node whose finalizer is owed
 * (later ones are larger, from 1), else 0. */
uint64_t shadow_marking(const struct shadow *shadow, uint32_t id);
/* The nodes whose finalizers are owed, in no order: borrowed until the shadow
 * changes. Returns how many. */
uint32_t shadow_owed(const struct shadow *shadow, const uint32_t **ret_ids);
/* The finalizer of a node is being called: it is owed no more. */
void shadow_finalizer_begin(struct shadow *shadow, uint32_t id);
/* The finalizer of a node may have been passed over unseen: the node is owed it
 * no more, and doubtful. */
void shadow_finalizer_doubt(struct shadow *shadow, uint32_t id);
/* It has returned and has done what its behaviour says, which the node's
 * metatable had as __gc when it was called. While the state is closing nothing
 * is marked. SHADOW_NO_MEMORY: the state is as before. touch makes one node,
 * the table; breed makes one, the table, unless nothing would mark it. Not to
 * be called for a finalizer that raised an error. */
enum shadow_result shadow_finalizer_end(struct shadow *shadow, uint32_t id,
                                        bool is_closing);
/* Whether what the finalizer of a node does needs a user value to hold what it
 * cannot [T]: it raises an error then. */
bool shadow_has_no_room(const struct shadow *shadow, uint32_t id,
                        int32_t behaviour);
/* Whether the node has been unreachable, whenever shadow_reach() was called,
 * since it was marked; of a userdata, ever. */
bool shadow_has_lapsed(const struct shadow *shadow, uint32_t id);
/* Whether the node may be owed a finalizer though it is not owed: it was
 * unreachable without one, and whether the subject has noticed then is its own
 * affair [T]; or its finalizer may have been passed over unseen. */
bool shadow_is_doubtful(const struct shadow *shadow, uint32_t id);
/* The behaviour (OP_BEHAVIOUR_*; NOTHING for light C functions 0 to 7) that a
 * call of the node's finalizer would have now; NONE without one, NUMBER for a
 * value that is no light C function. */
int32_t shadow_behaviour(const struct shadow *shadow, uint32_t id);

/* The mode of the collector, OP_MODE_*, and whether it is stopped, as the
 * operations set them. */
uint8_t shadow_mode(const struct shadow *shadow);
bool shadow_is_stopped(const struct shadow *shadow);
/* The mode by setup: incremental, whatever is set, where there is no other.
 * After a clear it is incremental. */
void shadow_set_mode(struct shadow *shadow, uint8_t mode);
/* The version that the subject is of: borrows. After shadow_new it is one that
 * has all that the operation language has. */
void shadow_set_traits(struct shadow *shadow,
                       const struct subject_traits *traits);

/* Strings: contents to id and back. Ids are dense from 1; find gives 0 for
 * contents that no operation has made. */
uint32_t shadow_string_find(const struct shadow *shadow, const uint8_t *bytes,
                            size_t length);
const uint8_t *shadow_string_bytes(const struct shadow *shadow, uint32_t id,
                                   size_t *ret_length);

/* ---- edges ----------------------------------------------------------- */

/* The hash of one edge; label UPVALUE means the value in the cell. Both sides
 * call it. An edge whose value is nil counts as 0, whatever its label: whether
 * a subject shows empty registers, user values and the like is its own
 * affair. */
static inline uint64_t
shadow_mix(uint64_t x)
{
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  return x;
}

static inline uint64_t
shadow_hash(uint8_t label, struct shadow_value key, struct shadow_value value)
{
  uint64_t h;

  if (value.tag == SUBJECT_NIL)
    return 0;
  h = shadow_mix(key.bits + ((uint64_t)key.tag << 56) + label * 0x9e37u);
  h = (h ^ value.bits) * 0xbf58476d1ce4e5b9u + value.tag;
  return h ^ (h >> 31);
}

/* Sum over all edges of the node, labels INTERNAL, PROTOTYPE, VALUE, CONSTANT
 * and NESTED excluded: they are never the stream's. Keys are as in enum
 * subject_label; labels without key have key nil. */
uint64_t shadow_sum(const struct shadow *shadow, uint32_t id);
/* false if the node has no such edge. A place of fixed number that is empty (a
 * register, an upvalue, a user value, a metatable) gives true and nil; a table
 * entry that is absent gives false. Nil values have bits 0. */
bool shadow_lookup(const struct shadow *shadow, uint32_t id, uint8_t label,
                   struct shadow_value key, struct shadow_value *ret_value);
/* Calls visit for each edge whose value is not nil, in a fixed order, until it
 * returns false. */
void shadow_visit(const struct shadow *shadow, uint32_t id,
                  bool (*visit)(void *user, uint8_t label,
                                struct shadow_value key,
                                struct shadow_value value),
                  void *user);
/* The cell behind upvalue n of a Lua closure; 0 if it has none such. Cell ids
 * are dense from 1. */
uint32_t shadow_cell(const struct shadow *shadow, uint32_t closure,
                     uint32_t n);
uint32_t shadow_cell_count(const struct shadow *shadow);

/* ---- words ----------------------------------------------------------- */

/* Writes a path from the root to the node, as "globals.g3[1].metatable", or
 * from one that is owed a finalizer, as "finalizer of table 7.s0",
 * NUL-terminated and shortened to size; false if the node is not held. */
bool shadow_path(const struct shadow *shadow, uint32_t id, char *ret_text,
                 size_t size);
/* A value for people: "nil", "12", "\"s3\"", "table 7". */
void shadow_print(const struct shadow *shadow, struct shadow_value value,
                  char *ret_text, size_t size);

#endif
