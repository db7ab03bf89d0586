/* SPDX-License-Identifier: MIT
 *
 * The inside of the shadow heap, shared by its parts and its tests:
 *
 *   shadow.c         life, strings, what readers may ask
 *   shadow_memory.c  the memory that all of it lives in
 *   shadow_table.c   the entries of tables
 *   shadow_flow.c    registers, cells, frames, coroutines
 *   shadow_admit.c   which operations are well-typed
 *   shadow_apply.c   what operations do
 *   shadow_make.c    operations that make weak tables, objects with
 *                    finalizers, and many objects
 *   shadow_finalize.c  who is owed a finalizer, what finalizers do
 *   shadow_reach.c   what is reachable
 *   shadow_words.c   nodes, values and paths for people
 *
 * Invariants between operations:
 * - node->sum is the sum of shadow_hash() over the node's edges, for all kinds
 *   but closures, whose sum is made from their cells when asked for.
 * - A cell with a frame is open and that frame's cells[reg] names it; its
 *   value is the register. A cell without one holds its value itself.
 * - Marks of reachability are right unless is_stale is set. What can make them
 *   stale: the loss of an edge to a node; a table that becomes weak; a node in
 *   a register that was not reachable, which only a read of a weak table can
 *   bring about; a finalizer. All else that an operation stores was reachable
 *   before or is new and reachable at once.
 * - mode of a node is what its "__mode" says to the tables that have it as
 *   their metatable.
 * - owed holds each node whose marking is not 0, at its owed_at.
 * - The normal coroutines are a chain from the main one by waits_for, which
 *   the running one ends.
 *
 * An operation first takes all the memory that it may need and changes the
 * heap only then, so that want of memory changes nothing.
 */
#ifndef PENUMBRA_ORACLE_SHADOW_INTERNAL_H
#define PENUMBRA_ORACLE_SHADOW_INTERNAL_H

#include "oracle/shadow.h"

/* ---- memory ---------------------------------------------------------- */

/* realloc convention; size 0 frees. NULL: no memory, block is as before. */
typedef void *(*shadow_allocator)(void *user, void *block, size_t size);

enum { SHADOW_BLOCK_CLASSES = 12 }; /* 16 bytes to 32 KiB */

struct shadow_chunk;
struct shadow_big;

/* Vectors (resized) last as long as the shadow; blocks (take, give) until the
 * next reset, which keeps the chunks that they were cut from. */
struct shadow_memory {
  shadow_allocator allocate;
  void *user;
  struct shadow_chunk *chunks;  /* owns */
  struct shadow_chunk *current; /* the one being cut; NULL before the first */
  size_t used;                  /* bytes of current */
  struct shadow_big *big;       /* owns: blocks too large for chunks */
  void *given[SHADOW_BLOCK_CLASSES]; /* to be taken again; linked */
};

void shadow_memory_init(struct shadow_memory *memory, shadow_allocator allocate,
                        void *user);
void shadow_memory_reset(struct shadow_memory *memory);
void shadow_memory_done(struct shadow_memory *memory);
/* A block of size bytes, aligned to 16, not cleared; NULL on no memory. size
 * must be the same in give. Giving NULL is legal. */
void *shadow_take(struct shadow_memory *memory, size_t size);
void shadow_give(struct shadow_memory *memory, void *block, size_t size);
/* Makes the next block that none was given back for need a new chunk: for
 * tests that let that fail. */
void shadow_memory_exhaust(struct shadow_memory *memory);
/* A vector of at least need items of size item: the array itself where
 * *capacity suffices. NULL on no memory; array and *capacity are as before. */
void *shadow_vector(struct shadow_memory *memory, void *array,
                    uint32_t *capacity, size_t item, uint32_t need);
/* Gives back what exceeds count items, if that is much. */
void *shadow_vector_trim(struct shadow_memory *memory, void *array,
                         uint32_t *capacity, size_t item, uint32_t count);

/* ---- nodes ----------------------------------------------------------- */

/* The value is never nil. waiting and table are of the search that runs: the
 * next entry that waits for the same key, and the table that it is in. */
struct shadow_entry {
  uint64_t key_bits, value_bits;
  struct shadow_entry *waiting;
  uint32_t table;
  uint8_t key_tag, value_tag;
};

/* index: over ENTRIES_SCANNED entries, 2 * capacity slots that hold the number
 * of an entry from 1, by linear probing; else NULL. */
struct shadow_entries {
  struct shadow_entry *entries;
  uint32_t *index;
  uint32_t count, capacity;
  uint64_t removed_bits; /* the last key, since one was added; or nil */
  uint32_t cleared_at;   /* the operation in which the collector last removed
                          * an entry; 0 for none */
  uint8_t removed_tag;
};

enum shadow_status {
  SHADOW_SUSPENDED,
  SHADOW_RUNNING,
  SHADOW_NORMAL,
  SHADOW_FINISHED,
  SHADOW_FAILED
};

struct shadow_thread {
  struct shadow_value start; /* its function until it is started, then nil */
  uint32_t frame;            /* the last one; 0 if there is none */
  uint32_t waits_for;        /* normal: the coroutine that it resumed; else 0 */
  uint32_t resumer;          /* running, normal: who resumed it; main: 0 */
  uint8_t status;            /* enum shadow_status */
  uint8_t depth;             /* frames */
  uint8_t place; /* of its results: the register that held it when resumed */
};

enum { SHADOW_CELLS_MAX = 3 };

struct shadow_node {
  uint64_t sum;
  uint32_t metatable; /* node, or 0; of a closure or thread its environment */
  uint32_t marking;   /* number of the marking for finalization, or 0 */
  uint32_t owed_at;   /* where in owed; if marking is not 0 */
  uint8_t kind;       /* enum subject_kind */
  uint8_t count;      /* user values, values of a C closure, cells */
  uint8_t mode;       /* OP_WEAK_*: of tables that it is the metatable of */
  uint8_t flags;      /* enum shadow_node_flag */
  union {
    struct shadow_entries table;
    struct shadow_value *values; /* userdata, C closure */
    uint32_t cells[SHADOW_CELLS_MAX];
    struct shadow_thread thread;
    int32_t behaviour; /* cdata: OP_BEHAVIOUR_* of its finalizer */
  } as;
};

/* What the node's field of that name is to it. */
static inline uint8_t
shadow_metatable_label(const struct shadow_node *node)
{
  bool has_metatable = node->kind == SUBJECT_KIND_TABLE ||
                       node->kind == SUBJECT_KIND_USERDATA;

  return has_metatable ? SUBJECT_LABEL_METATABLE : SUBJECT_LABEL_ENVIRONMENT;
}

enum shadow_node_flag {
  SHADOW_SPENT = 1,  /* it has had its finalizer and is not marked again [T] */
  SHADOW_LAPSED = 2, /* it has been unreachable since it was marked; of a
                      * userdata, ever */
  SHADOW_DOUBTFUL = 4, /* a userdata that has been unreachable while it had no
                       * finalizer, or lost it after that: the subject may
                       * have noticed, and then it will never have one [T]; or
                       * a node whose finalizer may have been passed over
                       * unseen */
  SHADOW_WAS_WEAK = 8 /* a table that has been weak on both sides since a cycle
                       * began that may still go by that [T] */
};

struct shadow_cell {
  struct shadow_value value; /* closed */
  uint32_t frame;            /* open; else 0 */
  uint8_t reg;
};

/* Frames are numbered from 1 and used again. */
struct shadow_frame {
  struct shadow_value registers[OP_REGISTERS];
  struct shadow_value function;
  struct shadow_value closing[OP_TBC_MAX];
  struct shadow_value *varargs; /* a block; NULL if there are none */
  uint32_t cells[OP_REGISTERS]; /* valid where the bit of open is set */
  uint32_t thread;
  uint32_t previous; /* the caller's; 0 in a base frame; free: the next one */
  uint32_t vararg_count;
  uint16_t open; /* bit n: register n is captured */
  uint8_t depth; /* 0 in a base frame */
  uint8_t place; /* of results: the caller's register of the function */
  uint8_t closing_count;
  bool is_protected;
};

struct shadow_string {
  const uint8_t *bytes; /* a block */
  uint32_t length;
  uint32_t hash;
};

/* To-be-closed values that one operation may leave: all of a coroutine. */
enum { SHADOW_CLOSINGS_MAX = OP_FRAMES_MAX * OP_TBC_MAX };

enum {
#define OPERAND(NAME, name, bytes, count, scale, help) \
  SHADOW_OPERAND_##NAME = (count),
#include "ops/operands.def"
#undef OPERAND
};

/* Strings that operations name by number: their ids, 0 until made. */
enum shadow_naming {
  SHADOW_NAMED_NAME,
  SHADOW_NAMED_GLOBAL,
  SHADOW_NAMED_REGISTRY,
  SHADOW_NAMED_EVENT
};

struct shadow {
  struct shadow_memory memory;

  struct shadow_node *nodes;
  uint32_t node_count, node_capacity;
  struct shadow_cell *cells; /* from 1 */
  uint32_t cell_count, cell_capacity;
  struct shadow_frame *frames; /* from 1 */
  uint32_t frame_count, frame_capacity;
  uint32_t frame_free; /* first of those to be used again; 0 for none */

  struct shadow_string *strings; /* from 1 */
  uint32_t string_count, string_capacity;
  uint32_t *string_index; /* ids by linear probing; a power of two of slots */
  uint32_t string_slots, string_index_capacity;
  uint64_t string_bytes; /* of lstr and concat: against the limit */
  uint32_t names[SHADOW_OPERAND_NAME];
  uint32_t globals[SHADOW_OPERAND_SLOT];
  uint32_t registry[SHADOW_OPERAND_SLOT];
  uint32_t events[SHADOW_OPERAND_EVENT];

  uint32_t running;
  uint32_t globals_table; /* SHADOW_GLOBALS until it is replaced */
  uint32_t normal_count;                /* coroutines that wait for another */
  uint32_t basic[SHADOW_OPERAND_BASIC]; /* metatables; 0 for none */
  bool is_large;

  uint32_t operation; /* number of the one that began last, from 1 */
  uint32_t added_at;  /* the one that added an entry last */
  uint32_t target;    /* of newindex: the table that it will store into */
  uint32_t mode_count; /* nodes whose mode is not OP_WEAK_NONE */
  bool has_been_weak;  /* some node may bear SHADOW_WAS_WEAK */
  uint8_t mode;        /* OP_MODE_*: of the collector */
  bool is_stopped;
  const struct subject_traits *traits; /* borrows */

  uint32_t *owed; /* nodes marked for finalization */
  uint32_t owed_count, owed_capacity;
  uint32_t marking_count; /* markings so far */
  int32_t called;         /* OP_BEHAVIOUR_* of the finalizer that is called */
  bool is_owed_stale;     /* owed is to be made anew [T] */

  uint32_t birth_first, birth_count; /* since the operation began */
  uint32_t closings[SHADOW_CLOSINGS_MAX]; /* of the last apply */
  uint32_t closing_count;
  uint32_t pending_count; /* values in the frames' closing */

  /* Marks by node id, of enum shadow_mark. is and was are swapped by the first
   * search in an operation; until then was_is_is, and the marks when the
   * operation began are those of now for the ids below was_count. */
  uint8_t *is, *was;
  uint32_t is_capacity, was_capacity;
  /* Scratch of searches; those for a path leave the marks alone. waiting: for
   * each node the first entry that waits for it; NULL outside of searches. */
  uint32_t *queue, *parents;
  uint8_t *seen;
  struct shadow_entry **waiting;
  uint32_t queue_capacity, parents_capacity, seen_capacity, waiting_capacity;
  uint32_t was_count, reach_count;
  bool was_is_is;
  bool is_stale;
};

enum shadow_mark {
  SHADOW_REACHED = 1, /* from the root */
  SHADOW_HELD = 2,    /* from the root or from a node in owed */
  /* Of was: the same in all states that were searched since, but the last. */
  SHADOW_STAYED = 2,  /* a shift */
  SHADOW_STAYED_REACHED = SHADOW_REACHED << SHADOW_STAYED,
  SHADOW_STAYED_HELD = SHADOW_HELD << SHADOW_STAYED
};

/* As shadow_new(), out of an allocator: for tests that let it fail. */
struct shadow *shadow_new_in(shadow_allocator allocate, void *user);

/* Room for so many more; false on no memory. */
bool shadow_reserve_nodes(struct shadow *shadow, uint32_t count);
bool shadow_reserve_cells(struct shadow *shadow, uint32_t count);
/* A new node without edges; there must be room. */
uint32_t shadow_node_new(struct shadow *shadow, enum subject_kind kind);

/* The id of a string; 0 on no memory. */
uint32_t shadow_intern(struct shadow *shadow, const uint8_t *bytes,
                       size_t length);
/* The id of a string that an operation names; named makes it (0 on no
 * memory), find gives 0 where it was never made. */
uint32_t shadow_named(struct shadow *shadow, enum shadow_naming naming,
                      int32_t n);
uint32_t shadow_event_find(const struct shadow *shadow, int32_t event);

/* ---- values ---------------------------------------------------------- */

static inline struct shadow_value
shadow_nil(void)
{
  return (struct shadow_value){0, SUBJECT_NIL};
}

static inline struct shadow_value
shadow_integer(int64_t n)
{
  return (struct shadow_value){(uint64_t)n, SUBJECT_INTEGER};
}

static inline struct shadow_value
shadow_of_node(uint32_t id)
{
  return (struct shadow_value){id, SHADOW_NODE};
}

static inline struct shadow_value
shadow_of_string(uint32_t id)
{
  return (struct shadow_value){id, SHADOW_STRING};
}

/* A node, or nil for 0. */
static inline struct shadow_value
shadow_of_node_or_nil(uint32_t id)
{
  return id ? shadow_of_node(id) : shadow_nil();
}

static inline bool
shadow_same(struct shadow_value a, struct shadow_value b)
{
  return a.bits == b.bits && a.tag == b.tag;
}

static inline bool
shadow_is_kind(const struct shadow *shadow, struct shadow_value value,
               enum subject_kind kind)
{
  return value.tag == SHADOW_NODE && shadow->nodes[value.bits].kind == kind;
}

static inline struct shadow_value
shadow_register_key(uint32_t depth, uint32_t n)
{
  return shadow_integer((int64_t)depth * 65536 + n);
}

/* An edge to value is gone. */
static inline void
shadow_lose(struct shadow *shadow, struct shadow_value value)
{
  if (value.tag == SHADOW_NODE)
    shadow->is_stale = true;
}

static inline struct shadow_value
shadow_entry_key(const struct shadow_entry *entry)
{
  return (struct shadow_value){entry->key_bits, entry->key_tag};
}

static inline struct shadow_value
shadow_entry_value(const struct shadow_entry *entry)
{
  return (struct shadow_value){entry->value_bits, entry->value_tag};
}

/* The place of an edge of owner, which holds *place, now holds value. */
static inline void
shadow_store(struct shadow *shadow, uint32_t owner, uint8_t label,
             struct shadow_value key, struct shadow_value *place,
             struct shadow_value value)
{
  if (shadow_same(*place, value))
    return;
  shadow->nodes[owner].sum +=
      shadow_hash(label, key, value) - shadow_hash(label, key, *place);
  shadow_lose(shadow, *place);
  *place = value;
}

/* ---- tables ---------------------------------------------------------- */

/* The key as a table keeps it: integral floats are integers. */
struct shadow_value shadow_key(struct shadow_value key);
/* Whether a value may be a key at all. */
bool shadow_is_key(struct shadow_value value);
/* nil if there is no such entry. */
struct shadow_value shadow_get(const struct shadow *shadow, uint32_t table,
                               struct shadow_value key);
/* Room for count more entries; false on no memory. */
bool shadow_reserve_entries(struct shadow *shadow, uint32_t table,
                            uint32_t count);
/* The last key that was removed from a table and may still be known to it. */
struct shadow_value shadow_removed(const struct shadow *shadow, uint32_t table);
/* Whether the collector has removed an entry in the operation that runs. */
static inline bool
shadow_has_cleared(const struct shadow *shadow, uint32_t table)
{
  return shadow->nodes[table].as.table.cleared_at == shadow->operation;
}
/* table[key] := value; a new entry needs room. */
void shadow_set(struct shadow *shadow, uint32_t table, struct shadow_value key,
                struct shadow_value value);

/* A table is not weak on both sides any more: a cycle that runs may still go by
 * what it was. */
void shadow_note_was_weak(struct shadow *shadow, uint32_t table);

/* ---- flow ------------------------------------------------------------ */

/* The frame whose registers are r0 to r15. */
static inline struct shadow_frame *
shadow_frame_now(const struct shadow *shadow)
{
  return shadow->frames + shadow->nodes[shadow->running].as.thread.frame;
}

static inline struct shadow_value
shadow_register(const struct shadow *shadow, int32_t reg)
{
  return shadow_frame_now(shadow)->registers[reg];
}

void shadow_register_set(struct shadow *shadow, struct shadow_frame *frame,
                         uint32_t reg, struct shadow_value value);
struct shadow_value shadow_cell_get(const struct shadow *shadow, uint32_t cell);
void shadow_cell_set(struct shadow *shadow, uint32_t cell,
                     struct shadow_value value);
/* The open cell of a register of the running frame, made if there is none;
 * there must be room. */
uint32_t shadow_capture(struct shadow *shadow, uint32_t reg);
/* A new closed cell; there must be room. */
uint32_t shadow_cell_new(struct shadow *shadow, struct shadow_value value);
/* Closes the cells of registers from and up. */
void shadow_close_cells(struct shadow *shadow, struct shadow_frame *frame,
                        uint32_t from);
bool shadow_reserve_frame(struct shadow *shadow);
/* Enters the base frame of the main coroutine; there must be room. */
void shadow_enter_main(struct shadow *shadow);

/* The nearest protected frame of the running coroutine; 0 for none. */
uint32_t shadow_protected_frame(const struct shadow *shadow);

/* One operation each. */
enum shadow_result shadow_call(struct shadow *shadow, struct op op);
enum shadow_result shadow_tailcall(struct shadow *shadow, struct op op);
enum shadow_result shadow_return(struct shadow *shadow, struct op op);
enum shadow_result shadow_error(struct shadow *shadow, struct op op);
enum shadow_result shadow_closeup(struct shadow *shadow, struct op op);
enum shadow_result shadow_tbc(struct shadow *shadow, struct op op);
enum shadow_result shadow_conew(struct shadow *shadow, struct op op);
enum shadow_result shadow_resume(struct shadow *shadow, struct op op);
enum shadow_result shadow_yield(struct shadow *shadow, struct op op);
enum shadow_result shadow_coset(struct shadow *shadow, struct op op);
enum shadow_result shadow_coget(struct shadow *shadow, struct op op);
enum shadow_result shadow_coclose(struct shadow *shadow, struct op op);

/* ---- making ---------------------------------------------------------- */

/* table[name] := value, with the name and room made. */
enum shadow_result shadow_put_named(struct shadow *shadow, uint32_t table,
                                    enum shadow_naming naming, int32_t n,
                                    struct shadow_value value);
/* A userdata or C closure with count places; 0 on no memory. */
uint32_t shadow_new_with_values(struct shadow *shadow, enum subject_kind kind,
                                uint32_t count);

/* One operation each. */
enum shadow_result shadow_chain(struct shadow *shadow, struct op op);
enum shadow_result shadow_wide(struct shadow *shadow, struct op op);
enum shadow_result shadow_hot(struct shadow *shadow, struct op op);
enum shadow_result shadow_newcdata(struct shadow *shadow, struct op op);
enum shadow_result shadow_setmode(struct shadow *shadow, struct op op);
enum shadow_result shadow_newweak(struct shadow *shadow, struct op op);
enum shadow_result shadow_ephemerons(struct shadow *shadow, struct op op);
enum shadow_result shadow_setgc(struct shadow *shadow, struct op op);
enum shadow_result shadow_newfin(struct shadow *shadow, struct op op);

/* ---- finalizers ------------------------------------------------------ */

/* Light C functions from this number on are finalizers, by behaviour. */
enum { SHADOW_FINALIZER_FIRST = 8 };

/* Its metatable was set: marks the node for finalization if that has a __gc,
 * it is of a kind that is finalized, and neither marked nor spent. */
void shadow_mark_finalizer(struct shadow *shadow, uint32_t id);
/* The node, which is owed none, is owed one; there is room. */
void shadow_owe_finalizer(struct shadow *shadow, uint32_t id);
/* An operation or a finalizer's effect is over: where what has a __gc when it
 * dies is finalized, these are found anew if need be. */
void shadow_update_owed(struct shadow *shadow);

/* ---- search ---------------------------------------------------------- */

/* Finds for each held node but the root a parent on a way from the root
 * (shadow->parents); of a node that only its own owed finalizer holds it is
 * the node itself. False if the node is not held. */
bool shadow_find_parents(const struct shadow *shadow, uint32_t id);

/* ---- questions that admission and effect share ----------------------- */

/* Whether the version's user values can hold a value. */
bool shadow_is_user_value(const struct shadow *shadow,
                          struct shadow_value value);

/* Follows __index (__newindex where is_store) from object with key: false if
 * the row says skip. ret_object is the table where the search ends, ret_value
 * what it holds. */
bool shadow_resolve(const struct shadow *shadow, struct shadow_value object,
                    struct shadow_value key, bool is_store, uint32_t *ret_table,
                    struct shadow_value *ret_value);
/* The same where it leads to a C function, which is called: the object that it
 * is called for; 0 if the row says skip. */
uint32_t shadow_resolve_call(const struct shadow *shadow,
                             struct shadow_value object,
                             struct shadow_value key, bool is_store);
/* Whether the registry holds something under this integer for ref. */
bool shadow_is_reference(const struct shadow *shadow,
                         struct shadow_value value);
/* An operation that follows links and may collect begins: which object the
 * links lead to. */
void shadow_aim(struct shadow *shadow, struct op op);
/* Whether the value has a closer: a light C function as __close. */
bool shadow_has_closer(const struct shadow *shadow, struct shadow_value value);

#endif
