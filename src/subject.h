/* SPDX-License-Identifier: MIT
 *
 * The contract: what anything under verification must do and must show. It
 * includes only the operation language. An adapter implements struct subject
 * (the functions) and reports what its heap looks like in the terms below;
 * the oracle knows a collector by nothing else.
 *
 * Capabilities say how much a subject can show. Each law names those that it
 * needs, so an adapter that can only be opened, driven and closed is already
 * held against the laws that see events of the arena and answers.
 */
#ifndef PENUMBRA_SUBJECT_H
#define PENUMBRA_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/ops.h"

/* ---- values ---------------------------------------------------------- */

enum subject_tag {
  SUBJECT_NIL,
  SUBJECT_BOOLEAN,  /* bits 0 or 1 */
  SUBJECT_INTEGER,  /* bits of an int64_t; where the language has no integers,
                     * every number that is one */
  SUBJECT_FLOAT,    /* bits of a double; any other number */
  SUBJECT_LIGHTUD,  /* bits: its number (op lightud), never an address */
  SUBJECT_CFUNC,    /* bits: its number (op cfunc) */
  SUBJECT_OBJECT,   /* bits: base address of the object's block */
  SUBJECT_OTHER     /* a value no operation can make; bits: anything stable */
};

struct subject_value {
  uint64_t bits;
  uint8_t tag; /* enum subject_tag */
};

/* ---- objects --------------------------------------------------------- */

enum subject_kind {
  SUBJECT_KIND_STRING_SHORT, /* interned */
  SUBJECT_KIND_STRING_LONG,
  SUBJECT_KIND_TABLE,
  SUBJECT_KIND_USERDATA,
  SUBJECT_KIND_CCLOSURE,
  SUBJECT_KIND_CLOSURE, /* Lua closure */
  SUBJECT_KIND_THREAD,
  SUBJECT_KIND_PROTOTYPE,
  SUBJECT_KIND_UPVALUE,
  SUBJECT_KIND_CDATA,
  SUBJECT_KIND_TRACE,
  SUBJECT_KIND_ROOT, /* not an object: the state itself; base is 0. Counts as
                      * grey: what it refers to may be white */
  SUBJECT_KIND_COUNT
};

/* White is two colours while sweeping: CURRENT (alive, or born since the
 * flip) and OTHER (found dead by the last mark). Outside the time from flip
 * to end of sweep no object is OTHER. */
enum subject_colour {
  SUBJECT_WHITE_CURRENT,
  SUBJECT_WHITE_OTHER,
  SUBJECT_GREY,
  SUBJECT_BLACK,
  SUBJECT_COLOUR_COUNT
};

/* The list that an object is linked into as heap member. */
enum subject_list {
  SUBJECT_LIST_NONE, /* e.g. the main thread where it is in no list */
  SUBJECT_LIST_ALL,
  SUBJECT_LIST_FINALIZABLE,
  SUBJECT_LIST_PENDING, /* separated, waits for its finalizer */
  SUBJECT_LIST_FIXED,
  SUBJECT_LIST_STRINGS, /* only in the string table */
  SUBJECT_LIST_COUNT
};

/* Grey lists (the collector's work lists). */
enum subject_grey {
  SUBJECT_GREY_NONE,
  SUBJECT_GREY_NOW,   /* to be visited */
  SUBJECT_GREY_AGAIN, /* to be visited again in the atomic phase */
  SUBJECT_GREY_WEAK,
  SUBJECT_GREY_EPHEMERON,
  SUBJECT_GREY_ALLWEAK,
  SUBJECT_GREY_COUNT
};

enum subject_object_flag {
  /* In a list that is being swept, and the sweep has been here already (or
   * the object is newer than the sweep). Meaningless outside sweeps. */
  SUBJECT_OBJECT_SWEPT = 1,
  SUBJECT_OBJECT_FIXED = 2,    /* never collected */
  SUBJECT_OBJECT_OPEN = 4,     /* an open upvalue */
  SUBJECT_OBJECT_INTERNED = 8, /* found in the string table while surveying */
  SUBJECT_OBJECT_MARKED = 16   /* its finalizer is owed: marked for
                                * finalization and not called since */
};

/* Ages of generational modes; NEW where there are none. */
enum subject_age {
  SUBJECT_AGE_NEW,      /* born since the last collection */
  SUBJECT_AGE_SURVIVAL, /* survived one */
  SUBJECT_AGE_OLD0,     /* made old by a forward barrier since then */
  SUBJECT_AGE_OLD1,     /* old for the first whole cycle */
  SUBJECT_AGE_OLD,      /* not visited by minor collections */
  SUBJECT_AGE_TOUCHED1, /* old, and caught by a back barrier since then */
  SUBJECT_AGE_TOUCHED2, /* the same one collection ago */
  SUBJECT_AGE_COUNT
};

/* The part of a heap list that an object lies in, by the collector's own
 * pointers: from the list's head on NEW, SURVIVAL, OLD1, OLD. */
enum subject_segment {
  SUBJECT_SEGMENT_NONE, /* no generational mode, or a list without parts */
  SUBJECT_SEGMENT_NEW,
  SUBJECT_SEGMENT_SURVIVAL,
  SUBJECT_SEGMENT_OLD1,
  SUBJECT_SEGMENT_OLD,
  SUBJECT_SEGMENT_COUNT
};

struct subject_object {
  uint64_t base;       /* of its block; 0 for the root */
  const uint8_t *text; /* strings: their bytes; borrows until survey ends */
  uint32_t size;       /* bytes of the main block */
  uint32_t text_size;
  uint8_t kind;   /* enum subject_kind */
  uint8_t colour; /* enum subject_colour */
  uint8_t list;   /* enum subject_list */
  uint8_t age;    /* enum subject_age */
  uint8_t segment; /* enum subject_segment */
  uint8_t flags;  /* enum subject_object_flag */
};

/* Edge labels. key is used where the row says so, else it is nil. */
enum subject_label {
  SUBJECT_LABEL_ENTRY,     /* table entry: key -> value, value not nil */
  SUBJECT_LABEL_METATABLE, /* of a table or userdata */
  SUBJECT_LABEL_UPVALUE,   /* closure: key n; value: the upvalue object where
                            * the subject has such, else the value */
  SUBJECT_LABEL_VALUE,     /* upvalue object: its value */
  SUBJECT_LABEL_USERVALUE, /* userdata: key n from 0 */
  SUBJECT_LABEL_ENVIRONMENT, /* closure or thread, of versions that have it;
                            * none if it is the globals table */
  SUBJECT_LABEL_PROTOTYPE, /* closure: its prototype */
  SUBJECT_LABEL_CONSTANT,  /* prototype: key n */
  SUBJECT_LABEL_NESTED,    /* prototype: key n */
  SUBJECT_LABEL_FUNCTION,  /* thread: function of frame n (base frame 0); the
                            * main coroutine's base frame has none */
  SUBJECT_LABEL_REGISTER,  /* thread: key frame * 65536 + register */
  SUBJECT_LABEL_VARARG,    /* thread: key frame * 65536 + n */
  SUBJECT_LABEL_TBC,       /* thread: key frame * 65536 + n from 0, until it is
                            * closed */
  SUBJECT_LABEL_START,     /* thread: function of a not yet started one */
  SUBJECT_LABEL_RESUMED,   /* thread: the coroutine that it waits for */
  SUBJECT_LABEL_REGISTRY,  /* root */
  SUBJECT_LABEL_GLOBALS,   /* root: the globals table */
  SUBJECT_LABEL_MAIN,      /* root: the operation language's main coroutine; a
                            * VM's own main thread, if another, is INTERNAL */
  SUBJECT_LABEL_CURRENT,   /* root: the operation language's running one */
  SUBJECT_LABEL_BASICMETA, /* root: key basic type (OP_BASIC_*) */
  SUBJECT_LABEL_INTERNAL,  /* anything else that is a strong reference but not
                            * of the stream: fixed names, caches, drivers,
                            * open upvalues as a thread's list holds them,
                            * registry entries other than "k<n>" and references
                            * in use */
  SUBJECT_LABEL_COUNT
};

enum subject_strength {
  SUBJECT_STRONG,
  SUBJECT_WEAK,     /* must not dangle once its referent is swept, but does
                     * not keep it. By what the metatable says now; strings
                     * are held strongly by weak tables too */
  SUBJECT_EPHEMERON, /* value held only through its key */
  SUBJECT_LATE,      /* strong, but the collector sees to it in the atomic
                      * phase: until then it may lead from black to white */
  SUBJECT_LOOSE      /* weak, and no atomic phase removes it: it may lead to
                      * what is dead until that is swept */
};

/* A reference from the object last surveyed. A table entry is one edge with
 * both its key and its value. Nil-valued entries, slots above a stack's top
 * and edges out of dead (OTHER white) objects are not edges. Scalars are
 * given too: contents are compared. */
struct subject_edge {
  struct subject_value key; /* number operands: SUBJECT_INTEGER */
  struct subject_value value;
  uint8_t label;          /* enum subject_label */
  uint8_t key_strength;   /* enum subject_strength */
  uint8_t value_strength; /* enum subject_strength */
};

/* Abstract phases, in cycle order; the first eight are the operation
 * language's PHASE words. ATOMIC is seen in events only. */
enum subject_phase {
  SUBJECT_PHASE_PAUSE = OP_PHASE_PAUSE,
  SUBJECT_PHASE_PROPAGATE = OP_PHASE_PROPAGATE,
  SUBJECT_PHASE_ENTER_ATOMIC = OP_PHASE_ENTER_ATOMIC,
  SUBJECT_PHASE_SWEEP = OP_PHASE_SWEEP,
  SUBJECT_PHASE_SWEEP_FINALIZABLE = OP_PHASE_SWEEP_FINALIZABLE,
  SUBJECT_PHASE_SWEEP_PENDING = OP_PHASE_SWEEP_PENDING,
  SUBJECT_PHASE_SWEEP_END = OP_PHASE_SWEEP_END,
  SUBJECT_PHASE_FINALIZE = OP_PHASE_FINALIZE,
  SUBJECT_PHASE_ATOMIC,
  SUBJECT_PHASE_COUNT
};

/* ---- the survey ------------------------------------------------------ */

/* What the oracle gives to survey(). The subject shows its whole heap:
 * heap() once, then the root with its edges, then each object of each heap
 * list with its edges and parts, then each member of each grey list. A walk
 * asks is_live() before it follows a list link or reads a stack through a
 * pointer; on false it calls broken() and leaves that walk. */
struct subject_heap {
  uint64_t bytes; /* the subject's own byte count; 0 if it keeps none */
  uint8_t phase;  /* enum subject_phase */
  uint8_t mode;   /* OP_MODE_*: as the host set it last */
  bool by_age;    /* generational, and at rest between two collections: the
                   * laws of ages hold, not those of an incremental mark */
  bool stopped;
};

struct subject_visitor {
  void (*heap)(struct subject_visitor *, const struct subject_heap *);
  void (*object)(struct subject_visitor *, const struct subject_object *);
  void (*edge)(struct subject_visitor *, const struct subject_edge *);
  /* A further block that the object last surveyed owns. */
  void (*part)(struct subject_visitor *, uint64_t base, size_t size);
  /* Membership of a grey list, after all objects. */
  void (*grey)(struct subject_visitor *, uint64_t base, enum subject_grey);
  /* A link of the named structure ("allgc", "grey list", "string table",
   * "open upvalues", "stack", ...) leads to target, which is no live block. */
  void (*broken)(struct subject_visitor *, const char *where,
                 uint64_t target);
  bool (*is_live)(struct subject_visitor *, uint64_t base);
};

/* Whether link may be followed; tells if not. */
static inline bool
subject_may_follow(struct subject_visitor *visitor, uint64_t link,
                   const char *where)
{
  if (visitor->is_live(visitor, link))
    return true;
  visitor->broken(visitor, where, link);
  return false;
}

/* ---- events ---------------------------------------------------------- */

enum subject_event_type {
  SUBJECT_EVENT_ALLOCATED,  /* arena: base, size */
  SUBJECT_EVENT_FREED,      /* arena: base, size as the subject said,
                             * value: the size allocated */
  SUBJECT_EVENT_BAD_FREE,   /* arena: base was no live block; size */
  SUBJECT_EVENT_REFUSED,    /* arena: an allocation of size failed; base: the
                             * block that was to be of it, or 0 */
  SUBJECT_EVENT_EXHAUSTED,  /* arena: out of addresses; the run is unchecked */
  SUBJECT_EVENT_BIRTH,      /* base, kind, to: colour. Sent by every subject
                             * for the table that a finalizer of behaviour touch
                             * or breed makes, while it runs */
  SUBJECT_EVENT_DEATH,      /* base, kind, from: colour; precedes FREED */
  SUBJECT_EVENT_RECOLOURED, /* base, kind, from, to: colours */
  SUBJECT_EVENT_RELISTED,   /* base, kind, from, to: lists */
  SUBJECT_EVENT_GREYED,     /* base, kind, from, to: grey lists */
  SUBJECT_EVENT_STORE,      /* base, kind: parent; value: base of the child */
  SUBJECT_EVENT_BARRIER,    /* base, kind: parent; value: child or 0;
                             * from: 0 forward, 1 back; to: taken or not */
  SUBJECT_EVENT_PHASE,      /* from, to: phases */
  SUBJECT_EVENT_STEP_BEGIN, /* a micro-step starts */
  SUBJECT_EVENT_STEP_END,   /* a micro-step has ended: the lab may survey */
  SUBJECT_EVENT_CLOSED,     /* a to-be-closed value (base) is being closed;
                             * sent by every subject */
  SUBJECT_EVENT_AGED,       /* base, kind, from, to: ages */
  SUBJECT_EVENT_CLEARED,    /* base: weak table; value: the dead side; from: 0
                             * it was the value, 1 the key. Precedes the
                             * removal of the pair */
  SUBJECT_EVENT_FINALIZER,  /* the finalizer of base is being called: base is
                             * no longer marked; sent by every subject */
  SUBJECT_EVENT_FINALIZED,  /* it has returned; base; to: 0 it did what its
                             * behaviour says, 1 it raised an error and changed
                             * nothing; sent by every subject */
  SUBJECT_EVENT_WARNING,    /* text */
  SUBJECT_EVENT_EMERGENCY,  /* to: 1 an emergency collection begins, 0 ends */
  SUBJECT_EVENT_MODE,       /* from, to: OP_MODE_*, whoever changed it (also the
                             * collector itself, for a while): the kind of cycle
                             * that is run from now on. Before the ages that it
                             * gives or takes away, in the same micro-step */
  SUBJECT_EVENT_CLOSE_ASKED, /* a finalizer asks that the state be closed */
  SUBJECT_EVENT_ASSERTION,  /* the subject's own assertion failed; text. The
                             * call does not return: the run ends */
  SUBJECT_EVENT_COUNT
};

struct subject_event {
  uint64_t base;
  uint64_t size;
  uint64_t value;
  const char *text; /* borrows until the call returns */
  uint8_t type;     /* enum subject_event_type */
  uint8_t kind;     /* enum subject_kind */
  uint8_t from;
  uint8_t to;
};

struct subject_sink {
  void (*event)(struct subject_sink *, const struct subject_event *);
};

/* ---- the subject ----------------------------------------------------- */

enum subject_status {
  SUBJECT_DONE,
  SUBJECT_NO_MEMORY,
  SUBJECT_ERROR, /* the operation raised an error that its row allows */
  SUBJECT_UNSUPPORTED
};

enum { SUBJECT_ANSWERS_MAX = 2 };

/* Answers of an open operation: append, len, ref, gets, getglobal, getreg:
 * value[0]; next: key and value; param: value[0] as it reads back. */
struct subject_answer {
  struct subject_value value[SUBJECT_ANSWERS_MAX];
};

/* What a subject lives in: owned by the lab, borrowed from open to close.
 * allocate follows the realloc convention with the old size (which means
 * nothing when block is NULL): new_size 0 frees; NULL means no memory and the
 * old block stays as it was. fault is
 * the name of a seeded fault or NULL. */
struct subject_env {
  void *allocator;
  void *(*allocate)(void *allocator, void *block, size_t old_size,
                    size_t new_size);
  /* While held, no allocation is refused: for adapters of VMs in which a
   * refusal at some place ends a coroutine, which no row describes. Not
   * counted: calls do not nest. */
  void (*hold)(void *allocator, bool held);
  struct subject_sink *sink;
  const char *fault;
  uint8_t mode; /* OP_MODE_* */
};

enum subject_capability {
  SUBJECT_CAN_SURVEY = 1,     /* survey() shows objects, edges, parts */
  SUBJECT_CAN_COLOUR = 2,     /* colours, lists and phases are true */
  SUBJECT_CAN_STEP = 4,       /* micro_step() is the smallest unit */
  SUBJECT_CAN_EVENTS = 8,     /* all of BIRTH to STEP_END are sent */
  SUBJECT_CAN_COUNT = 16,     /* the byte count covers all its blocks */
  SUBJECT_CAN_TELL_STEPS = 32, /* STEP_BEGIN and STEP_END are sent around each
                                * micro-step, also those inside operations;
                                * collecting work that is no micro-step (a
                                * whole generational collection, a change of
                                * modes) may lie outside. Part of EVENTS */
  SUBJECT_CAN_TELL_EMERGENCIES = 64 /* EMERGENCY is sent, at once after the
                                     * REFUSED that it is for. Part of EVENTS */
};

/* How many user values a userdata may be made with, and what they hold. */
enum subject_user_values {
  SUBJECT_USER_VALUES_MANY, /* any number, any value */
  SUBJECT_USER_VALUE_ANY,   /* one at most, any value */
  SUBJECT_USER_VALUE_TABLE, /* one at most, a table or nil */
  SUBJECT_USER_ENVIRONMENT, /* one at most, a table but the globals, or nil */
  SUBJECT_USER_VALUES_NONE
};

/* How a subject keeps a parameter of its collector. */
enum subject_form {
  SUBJECT_FORM_NONE,    /* it has no such parameter: param is unsupported */
  SUBJECT_FORM_WHOLE,   /* as it is */
  SUBJECT_FORM_BYTE,    /* value / granule, of which the lowest byte stays */
  SUBJECT_FORM_FLOATING /* 128ths of a percent, rounded up, of which the five
                         * leading bits stay; reads back rounded down; at most
                         * 396800 */
};

struct subject_parameter {
  uint8_t form;     /* enum subject_form */
  uint8_t granule;  /* BYTE */
  uint16_t least;   /* a smaller value counts as this one when it is set */
  uint16_t initial; /* what reads back before any is set */
};

enum { SUBJECT_PARAMETERS = OP_PARAMETER_MAJORMUL + 1 };

/* What differs by version, as the laws use it. Hand-written from manuals and
 * sources (traits.def), never derived from the collector's code. */
struct subject_traits {
  /* the language: operations that a version cannot do are not admitted */
  bool integers;       /* a kind of number of its own; else an integral float
                        * is the integer */
  uint8_t user_values; /* enum subject_user_values; a finalizer of behaviour
                        * link raises an error if it cannot hold the value */
  bool closes_values;  /* has to-be-closed values */
  bool closes_coroutines; /* can close a coroutine from outside */
  bool joins_upvalues; /* can make two closures share one */
  bool catches_across_yields; /* a coroutine can be suspended within a
                               * protected call: else there are none */
  bool load_upvalue;   /* what is loaded has the globals as its upvalue, and
                        * the registry holds them */
  bool libraries;      /* loads libraries of its own */
  bool external_strings; /* can make long strings of bytes that lie outside of
                          * the heap */
  bool cdata;          /* has cdata, whose finalizers are found by the sweep:
                        * they have left weak tables before, as keys, too */

  /* colours */
  uint32_t phases_kept;  /* bit (1 << phase): black never points to white; in
                          * generational mode the resting phase is among them */
  uint32_t never_black;  /* bit (1 << kind): kinds that are never black */
  uint32_t never_grey;   /* bit (1 << kind): kinds that are never grey */
  uint32_t grey_unlisted; /* bit (1 << kind): kinds that are grey in no list */
  bool open_upvalues_grey; /* open upvalues may be grey and in no list */
  bool threads_grey;     /* a visited thread stays grey until atomic; in
                          * generational mode see the laws of ages */
  bool fixed_grey;       /* fixed objects are grey and in no list */
  bool pending_swept;    /* objects that wait for finalizers are whitened */
  uint16_t sweep_batch;  /* objects that one sweep micro-step handles at most;
                          * 0: not limited. Not so in generational mode */

  /* modes */
  bool generational;  /* has a generational mode */
  bool ages;          /* with enum subject_age; else only NEW and OLD */
  bool ages_swept;    /* leaving the mode, and a major collection, take ages
                       * away by a sweep; else all at once */
  uint8_t old_after;  /* minor collections until a survivor is old */

  /* weak tables */
  bool ephemerons;       /* else tables with weak keys hold their values */
  bool mode_short;       /* __mode counts only as a short string */
  bool mode_at_atomic;   /* which sides are weak is settled by the atomic phase;
                          * else by any visit of the cycle */
  bool values_cleared_first; /* what only a finalizable object reaches has left
                              * weak values before its finalizer; the object
                              * itself has in all versions */
  bool drops_finalized;  /* an object whose finalizer has run leaves weak values
                          * though it lives */

  /* finalizers */
  bool finalizes_tables;
  bool marked_when_set;   /* by setting a metatable with __gc; else what has a
                           * __gc when it dies */
  bool finalizer_rearms;  /* marking again after the call counts */
  bool order_of_marking;  /* reversed; else reversed order of creation */
  bool not_callable_ignored; /* a __gc that cannot be called; else an error */
  bool errors_contained;  /* else they are raised in the operation, which the
                           * subject then does anew, and nothing is told but
                           * FINALIZED */
  bool errors_warned;     /* each of them becomes a warning */
  bool finalizer_steps;   /* steps, collections and changes of the mode work
                           * inside a finalizer, so that calls nest; a stop
                           * ends with the call in any case */
  bool marks_at_close;    /* while the state closes objects are still marked */

  /* collections */
  bool emergency;        /* a failed allocation collects and tries again */
  bool emergency_stopped; /* also while the collector is stopped */
  bool emergency_stacks;  /* also for the stack of a coroutine that grows */
  bool shrink_may_fail;  /* refused shrinking is tolerated everywhere */
  uint8_t cycles_plain;   /* full collections until garbage is freed */
  uint8_t cycles_finalizer; /* ... until a finalizer is called */
  uint8_t cycles_finalized; /* ... after the call until the memory is freed */
  bool upvalues_linger;   /* what an open upvalue of a dead coroutine has may
                           * need one more */
  bool step_ends_stop;    /* an explicit step or collection ends a stop */

  /* pacing: what the laws of pacing can be judged by */
  bool pause_of_total;  /* the pause is a percentage of the bytes in use when
                         * the sweep is over */
  bool step_saves_size; /* a step that ends no cycle leaves a credit of the step
                         * size */
  uint8_t step_unit;    /* for each so many bytes of debt, and of the credit
                         * that it saves, a step does as many units of work
                         * (objects and slots) as the multiplier, made odd,
                         * says; 0: otherwise */
  bool step_size_log2;  /* the step size is a logarithm; else bytes */
  bool minor_of_total;  /* the growth until a minor collection is a percentage
                         * of the bytes in use after the one before */
  bool major_of_growth; /* a major one is due when bytes in use exceed those
                         * after the last major one by a percentage */

  struct subject_parameter parameter[SUBJECT_PARAMETERS];
};

struct subject_instance; /* an adapter's own */

struct subject {
  const char *name;
  const char *title; /* one line */
  uint32_t capabilities; /* enum subject_capability */
  const struct subject_traits *traits;
  /* The seeded faults that env.fault may name; NULL-terminated or NULL. */
  const char *const *faults;
  /* From nothing: allocates only through env. NULL on no memory. Then the
   * collector runs, the phase is pause, and the main coroutine has one frame
   * whose registers are all nil. */
  struct subject_instance *(*open)(const struct subject_env *env);
  /* To nothing: everything is freed. */
  void (*close)(struct subject_instance *);
  /* One admitted operation through the subject's real API. Leaves nothing of
   * the stream on the C stack. Never setup, close, microstep, runto, finish,
   * failalloc, heaplimit, outofmem: the lab does these. What an operation
   * creates it creates first; no finalizer runs after its first store into
   * what existed before, but in hot, whose stores nobody can lose by. */
  enum subject_status (*perform)(struct subject_instance *, struct op,
                                 struct subject_answer *ret_answer);
  /* The smallest unit of collector work. */
  void (*micro_step)(struct subject_instance *);
  enum subject_phase (*phase)(struct subject_instance *);
  /* Whether a micro-step is a whole collection as things are, so that there
   * are no phases to stop at (generational modes). NULL: never. */
  bool (*steps_are_whole)(struct subject_instance *);
  void (*survey)(struct subject_instance *, struct subject_visitor *);
};

/* The registry of built-in subjects (src/subjects/subjects.c). */
extern const struct subject *const subject_all[]; /* NULL-terminated */
const struct subject *subject_find(const char *name);

#endif
