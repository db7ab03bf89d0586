/* SPDX-License-Identifier: MIT
 *
 * The oracle's state, shared by its own files and by nobody else. Each part
 * is owned by the module of its name.
 *
 *   oracle.c            lifecycle; operations, answers, deaths
 *   blocks.c            live blocks by address
 *   survey.c            what the subject shows
 *   bind.c              which object is which node of the shadow
 *   check.c             the order in which a survey is judged; memory, strings
 *   check_event.c       laws of events; hands each on to the modules below
 *   check_colour.c      laws of single objects and of grey lists
 *   check_ages.c        laws of ages, of generational collections
 *   check_edges.c       laws of references; the sums of contents
 *   check_contents.c    contents and identity
 *   check_weak.c        entries of weak tables, as surveys show them
 *   check_claims.c      what the collector takes for dead: clearings,
 *                       separations
 *   check_finalizers.c  calls of finalizers; which one runs
 *   check_liveness.c    what full and minor collections leave
 *   check_closing.c     to-be-closed values
 *   check_emergency.c   refused allocations
 *   check_pacing.c      when the collector works, and how much
 *   tally.c             what was seen: counts only
 *   view.c              the heap in the shadow's names, to be compared
 *   explain.c           findings in words
 */
#ifndef PENUMBRA_ORACLE_STATE_H
#define PENUMBRA_ORACLE_STATE_H

#include "oracle/bind.h"
#include "oracle/blocks.h"
#include "oracle/oracle.h"
#include "oracle/shadow.h"
#include "oracle/survey.h"
#include "oracle/tally.h"

/* Where the stream is. */
enum oracle_stage {
  ORACLE_IDLE,    /* before begin, after closed */
  ORACLE_OPENING, /* the subject builds its state: nothing is bound yet, so that
                   * deaths are its own affair, and so is what it paints
                   * outside the collector's steps */
  ORACLE_RUNNING,
  ORACLE_CLOSING /* everything dies, reachable or not */
};

/* What is known of the micro-step that runs. */
struct oracle_step {
  uint32_t depth;     /* 0: none runs */
  uint32_t blackened; /* grey objects turned black while propagating */
  uint32_t swept;     /* objects recoloured or freed by the sweep */
  uint8_t phase;      /* enum subject_phase at its begin */
};

/* What events tell of generational collections; check_ages.c. */
struct oracle_ages {
  uint8_t mode;        /* OP_MODE_*: the kind of cycle that is run */
  bool is_changing;    /* it has changed in this micro-step */
  bool is_marked;      /* the last collection has passed its atomic phase */
  uint32_t collection; /* number of the last collection by ages, from 1 */
  uint32_t number;     /* birth number of the last block before it */
};

/* When the next step is due, as far as it is known; check_pacing.c. */
struct oracle_pace {
  uint32_t parameter[SUBJECT_PARAMETERS]; /* as they read back */
  uint8_t waiting;     /* enum waiting */
  uint32_t percent;    /* that amount is made of */
  uint64_t amount;     /* bytes */
  uint64_t bytes;      /* in use when the debt was set */
  uint64_t estimate;   /* in use after the last atomic phase, less what the
                        * sweep has freed since */
  uint64_t major_base; /* in use after the last major collection ... */
  uint64_t major_base_next; /* ... after that of the step that runs; else 0 */
  /* the step that runs */
  uint64_t step_bytes; /* in use when the micro-step began */
  uint64_t work, work_due; /* units, of the paced step; 0: not known */
  bool is_lost;        /* one of its finalizers has made an emergency
                        * collection, which set the debt meanwhile */
  bool may_be_bad;     /* the last collection may have been a bad major one
                        * ... */
  bool is_bad;         /* ... was one */
  bool is_atomic;      /* the micro-step has passed the atomic phase */
  bool has_ended;      /* it has come to the end of a collection by ages */
  bool has_changed_mode;
  bool is_due;         /* it is a paced one */
  bool began_by_age;
  /* the operation that runs */
  uint64_t op_bytes;   /* in use when it began */
  uint64_t op_births;  /* counted when it began */
  uint32_t births, steps, marks;
  bool may_step, must_step; /* an explicit step of some KiB */
  bool has_called;     /* a closer or metamethod has run */
  bool has_allocated;  /* outside of micro-steps, since the last one */
};

/* An allocation that was refused, until it is settled; check_emergency.c. */
struct oracle_emergency {
  uint64_t size;  /* of the allocation */
  uint64_t stack; /* base of what may have been a stack and did not grow; 0 */
  uint8_t stage;  /* enum emergency_stage */
  bool is_owed;   /* the collection that runs was */
  bool has_begun; /* the collection has begun a mark ... */
  bool is_whole;  /* ... and has brought it to its end */
  bool failed;    /* in this operation an allocation failed for good */
};

/* A bound object that was freed inside the operation that runs. */
struct oracle_death {
  uint64_t base;
  uint32_t node;
  uint32_t number;
  uint32_t call; /* of its finalizer, as in struct block; 0: none */
  uint8_t kind;
};

/* What the subject has taken for dead in an atomic phase of the operation that
 * runs: a side of an entry that it cleared, or an object that it separated to
 * call its finalizer; check_claims.c. */
enum oracle_claim_sort { CLAIM_VALUE, CLAIM_KEY, CLAIM_SEPARATED };

struct oracle_claim {
  struct oracle_death dead; /* it may be freed by the time it is judged */
  uint32_t table;           /* node of the weak table */
  uint8_t sort;             /* enum oracle_claim_sort */
  bool is_strong;           /* the table was not weak on that side */
  bool was_dead;            /* at that moment, whatever came later */
};

struct oracle_claims {
  struct oracle_claim *all; /* owns capacity */
  uint32_t count, capacity;
  uint32_t followed;         /* so many of them the shadow has followed */
  struct shadow_value *keys; /* owns key_capacity: for clearing */
  uint32_t key_count, key_capacity;
  uint32_t kept_table, kept_value; /* nodes: a weak entry that still leads to
                                    * what was separated; table 0: none */
};

/* An object that waits for its finalizer. */
struct oracle_pending {
  uint32_t node;
  uint32_t batch;
  uint64_t rank; /* the larger, the earlier it is due in its batch */
};

enum { ORACLE_CALL_BIRTHS_MAX = 16 };

/* A call of a finalizer that runs. */
struct oracle_call {
  uint64_t base;
  uint32_t node;
  int32_t behaviour;       /* OP_BEHAVIOUR_* */
  uint32_t refused_before; /* allocations refused in the operation */
  bool has_marked;         /* it has marked something for finalization */
  bool has_met_error;      /* a call inside it has raised one */
  uint64_t births[ORACLE_CALL_BIRTHS_MAX]; /* bases */
  uint32_t birth_count;
};

/* Calls of finalizers; check_finalizers.c. Those that wait stand in the order
 * in which they are due from head up to sorted; behind that come those of the
 * last batches, in any. */
struct oracle_finalizers {
  struct oracle_pending *pending; /* owns capacity */
  uint32_t head, sorted, count, capacity;
  uint32_t batch;           /* of atomic phases */
  uint32_t batch_before;    /* ... when the operation began */
  uint32_t calls;           /* number of the last call, from 1 */
  uint32_t calls_at_atomic; /* ... when an atomic phase began last */
  uint32_t calls_before;    /* ... when the operation began */
  bool waited;       /* some waited when the operation began */
  bool waited_at_atomic; /* ... when an atomic phase began last */
  bool may_call;     /* the operation may run a collector's step */
  uint32_t due;      /* node: the next call must be its; 0: none */
  uint32_t errors;   /* in the operation: calls that raised one, or were to be
                      * of what cannot be called */
  uint32_t warnings; /* in the operation */
  uint32_t refused;  /* allocations refused in the calls of the operation */
  uint64_t marking_at_close; /* the last marking before closing began */
  bool is_closing; /* everything has been separated: the closers are over */
  struct oracle_call *running; /* owns running_capacity: the calls that run,
                                * the innermost last */
  uint32_t depth, running_capacity;
};

/* A value that the subject closed inside the operation that runs. */
struct oracle_closing {
  uint64_t base;
  uint32_t node; /* 0: bound to none */
};

/* One more than any operation may close shows that there were too many. */
enum { ORACLE_CLOSINGS_MAX = OP_FRAMES_MAX * OP_TBC_MAX + 1 };

struct oracle {
  struct subject_visitor visitor;    /* first: the visitor is the oracle */
  const struct subject *subject;     /* borrows */
  struct subject_instance *instance; /* borrows */
  struct shadow *shadow;             /* owns */
  struct blocks blocks;
  struct survey survey;
  struct binding binding;

  uint32_t capabilities; /* of the subject, with what they bring along */
  uint8_t stage; /* enum oracle_stage */
  uint8_t phase; /* enum subject_phase, as events and surveys tell it */
  bool exhausted;
  bool able[LAW_COUNT]; /* the subject shows what the law needs */

  struct op op; /* the operation that runs or ran last */
  bool in_operation;
  bool is_stale; /* no survey since the last operation: bindings lag behind */
  uint32_t refused;       /* allocations refused in op */
  struct oracle_ages ages;
  struct oracle_emergency emergency;
  struct oracle_pace pace;
  uint32_t number_before; /* birth number of the last block before op */
  struct oracle_step step;
  bool flipped; /* the sweep that runs, or ran last, came from the atomic
                 * phase */

  struct oracle_death *deaths; /* owns death_capacity */
  uint32_t death_count, death_capacity;

  struct oracle_closing closings[ORACLE_CLOSINGS_MAX];
  uint32_t closing_count;
  struct oracle_claims claims;
  struct oracle_finalizers finalizers;
  bool had_old_modes; /* when op began: of what tables were weak or not it is
                       * not known what they held */
  bool collected; /* op was a full collection, or minor ones, and succeeded; no
                   * survey since */
  bool has_cleared; /* in op a pair went from a weak table */
  bool has_worked;  /* in op there was sign of a collector's work */

  struct oracle_finding finding;
  struct tally tally;
  struct oracle_stats stats;
};

/* Nothing is judged any more: there is a finding, or the oracle could not go
 * on. */
static inline bool
oracle_is_over(const struct oracle *oracle)
{
  return oracle->finding.law != LAW_NONE || oracle->exhausted;
}

/* The law is about to be applied to something. False if the subject does not
 * show what it needs; else it is counted. */
static inline bool
oracle_applies(struct oracle *oracle, enum law law)
{
  oracle->stats.law[law] += oracle->able[law];
  return oracle->able[law];
}

/* The node of a surveyed object, or BIND_NO_NODE. */
static inline uint32_t
oracle_node(const struct oracle *oracle, uint32_t object)
{
  const struct survey *survey = &oracle->survey;
  const struct block_view *view =
      &oracle->blocks.views[survey->objects[object].block];
  if (view->tag == SHADOW_NODE)
    return view->bits;
  if (survey->has_root && object == survey->root)
    return SHADOW_ROOT;
  return BIND_NO_NODE;
}

/* The node that the live object at base is bound to, or BIND_NO_NODE. */
static inline uint32_t
oracle_node_at(const struct oracle *oracle, uint64_t base)
{
  const struct block_view *view =
      &oracle->blocks.views[blocks_find(&oracle->blocks, base)];
  return view->tag == SHADOW_NODE ? view->bits : BIND_NO_NODE;
}

/* The operation that runs changes the shadow: what it leaves unreachable may
 * die in it, so that deaths are judged at its end. */
static inline bool
oracle_is_mutator(const struct oracle *oracle)
{
  return oracle->in_operation &&
         !(op_infos[oracle->op.code].flags & OP_STEERS);
}

/* A finalizer runs. */
static inline bool
oracle_is_finalizing(const struct oracle *oracle)
{
  return oracle->finalizers.depth > 0;
}

/* The innermost call of a finalizer that runs; NULL for none. */
static inline struct oracle_call *
oracle_call_now(const struct oracle *oracle)
{
  const struct oracle_finalizers *it = &oracle->finalizers;
  return it->depth ? &it->running[it->depth - 1] : NULL;
}

/* What a subject can show and tell: who tells of everything tells of steps and
 * emergencies. */
uint32_t oracle_capabilities(const struct subject *subject);

/* The subject tells of every change; else the oracle follows its surveys. */
static inline bool
oracle_is_told(const struct oracle *oracle)
{
  return oracle->capabilities & SUBJECT_CAN_EVENTS;
}

/* All memory of the oracle but the shadow's: realloc, size is not 0. A test may
 * put its own function here that fails; nobody else writes it. */
extern void *(*oracle_allocate)(void *block, size_t size);
/* An array of at least count members, or NULL on no memory, when the old one
 * stays. *capacity is adapted. */
void *oracle_reserve(void *array, uint32_t *capacity, uint64_t count,
                     size_t member_size);

#endif
