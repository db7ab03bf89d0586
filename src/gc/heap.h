/* SPDX-License-Identifier: MIT
 *
 * The heap: the collector's state and the functions by which the object
 * modules and the collector's modules use each other. Internal to src/gc.
 *
 * The modules, and what each one owns:
 *   heap.c     open, close, allocation, byte count, births (gc_object_new)
 *   mark.c     roots, traversal by kind, grey lists, the atomic phase
 *   sweep.c    the flip's aftermath: sweeping lists, freeing by kind
 *   barrier.c  forward and back barrier
 *   weak.c     weak tables and ephemerons
 *   finalize.c finalizers
 *   generation.c  generational mode: ages, minor and major collections
 *   cycle.c    the micro-step function: phases; full collection
 *   pace.c     debt, paced and explicit steps, stop and restart
 *   string.c table.c function.c thread.c   object kinds
 *   api_*.c    gc.h
 *   dialect.c  the table of dialects; fault.c the seeded faults
 *
 * Invariants (the oracle's law ids in brackets):
 *   phase <= ENTER_ATOMIC: no black object refers to a white one
 *     [tricolour.black-to-white], except from grey parents;
 *   each grey object but open upvalues and fixed ones is on exactly one grey
 *     list [tricolour.grey-unlisted, .listed-not-grey, .listed-twice];
 *   OTHER white exists only from flip to the end of sweep, ahead of the
 *     sweep [tricolour.other-white]; births are CURRENT white.
 *
 * ANY ALLOCATION MAY COLLECT. One that the host refuses makes a full
 * collection, unless it is part of a collector step, and is then tried once
 * more. So whoever allocates keeps these rules:
 *   - what must be there afterwards is reachable before: on a stack
 *     (gc_anchor), in an object that is, or in a root. A C variable holds
 *     nothing;
 *   - an object's fields are all valid before the next allocation; parts that
 *     are still to come are NULL, and a visit passes over them;
 *   - after it an object that was just made may be black, or old: what it is
 *     given now needs the barrier;
 *   - counts and sizes that were read before are upper bounds: dead strings
 *     and weak entries may be gone. So values are copied after the last
 *     allocation, not between two;
 *   - stacks and the string table stay where they are, since an emergency
 *     collection shrinks nothing: pointers to slots may be kept;
 *   - what already changed is undone if it fails after all: parts are
 *     allocated first, changes made when nothing can fail any more.
 */
#ifndef PENUMBRA_GC_HEAP_H
#define PENUMBRA_GC_HEAP_H

#include "gc/dialect.h"
#include "gc/fault.h"
#include "gc/listen.h"
#include "gc/object.h"

/* Interned names that every heap holds fixed. */
enum gc_name {
  GC_NAME_INDEX,
  GC_NAME_NEWINDEX,
  GC_NAME_CLOSE,
  GC_NAME_GC,
  GC_NAME_MODE,
  GC_NAME_COUNT
};

struct gc_string_table {
  struct gc_string **buckets;
  uint32_t bucket_count; /* power of two */
  uint32_t count;        /* strings */
};

struct gc_heap {
  gc_allocator allocate;
  void *user;
  gc_warn warn; /* NULL for none */
  struct gc_listener *listener;
  const struct gc_dialect *dialect;
  enum gc_fault fault; /* GC_FAULT_NONE, or the one that is on */

  /* pacing, bytes; bytes in use = total + debt */
  int64_t total;
  int64_t debt; /* a step is due when positive */
  int64_t estimate; /* bytes in use after the last atomic phase */
  uint32_t parameters[GC_PARAMETER_COUNT]; /* as gc_parameter gives them */
  bool stopped;    /* by the host */
  bool stepping;   /* inside a micro-step: no paced step may start, and no
                    * emergency collection */
  bool finalizing; /* inside a finalizer: no step may start but those of an
                    * emergency collection */
  bool emergency;  /* inside an emergency collection: no finalizer is called,
                    * nothing in use shrinks */
  bool closing;    /* nothing is marked for finalization any more */
  bool open;       /* gc_open is over: emergency collections may be made */

  /* heap lists */
  struct gc_object *all;
  struct gc_object *finalizable;
  struct gc_object *pending;
  struct gc_object *fixed;
  struct gc_object **sweep; /* the link that the sweep looks at next */

  /* generational mode: where the parts of `all` and of `finalizable` begin;
   * each list goes NEW up to survival, SURVIVAL up to old1, OLD1 up to
   * really_old, the rest OLD. A part may hold older objects, never younger. */
  struct gc_object *survival, *old1, *really_old;
  struct gc_object *finalizable_survival, *finalizable_old1,
      *finalizable_really_old;
  struct gc_object *first_old1; /* none of age OLD1 lies before it in `all` */
  uint8_t mode;         /* enum gc_mode: as the host set it */
  uint8_t cycle_mode;   /* enum gc_mode: of the cycles that are run now */
  int64_t bad_work;     /* work of the last major collection if it freed too
                         * little, else 0 */

  /* grey lists, through grey_next */
  struct gc_object *grey;
  struct gc_object *grey_again;
  struct gc_object *grey_weak, *grey_ephemeron, *grey_allweak;
  struct gc_node *ready; /* weak.c: pairs whose key has been reached; empty
                          * outside the atomic phase */

  uint8_t phase;         /* enum gc_phase */
  uint8_t current_white; /* GC_MARK_WHITE0 or GC_MARK_WHITE1 */
  uint32_t sequence;     /* last birth number */

  struct gc_string_table strings;
  struct gc_string *names[GC_NAME_COUNT];

  /* roots */
  struct gc_value registry;
  struct gc_thread *main;
  struct gc_thread *running;
  struct gc_table *metatables[GC_BASIC_COUNT];

  struct gc_thread *open_threads; /* threads with open upvalues */
};

/* ---- heap.c ---------------------------------------------------------- */

/* Allocates, resizes, frees through the host's allocator and counts bytes.
 * What the host refuses is tried once more after an emergency collection, if
 * there can be one now. NULL on no memory (then nothing changed but what that
 * collection did). */
void *gc_memory_resize(struct gc_heap *heap, void *block, size_t old_size,
                       size_t new_size);
/* A new object of size bytes at the head of `all`: current white. Its fields
 * after the header are not initialised. NULL on no memory. Runs no step. */
struct gc_object *gc_object_new(struct gc_heap *heap, enum gc_kind kind,
                                size_t size);
/* Tells the listener, if there is one. Choke points call it; STORE and CLOSING
 * come from the one function of the object modules that does such a thing. */
void gc_tell(struct gc_heap *heap, const struct gc_event *event);
/* From `all` to `fixed`: never collected, grey for ever. object must be the
 * newest one; used only while the heap is opened. */
void gc_object_fix(struct gc_heap *heap, struct gc_object *object);

/* ---- colours: the choke points (heap.c) ------------------------------ */

void gc_set_colour(struct gc_heap *heap, struct gc_object *object,
                   enum gc_colour colour);
void gc_set_age(struct gc_heap *heap, struct gc_object *object,
                enum gc_age age);
/* Tells that an object went from one heap list to another. */
void gc_tell_list(struct gc_heap *heap, const struct gc_object *object,
                  enum gc_list from, enum gc_list to);
void gc_set_phase(struct gc_heap *heap, enum gc_phase phase);
/* What is current white becomes other white, and the other way round: no
 * event, no object is touched. Listeners know it by the end of ATOMIC. */
void gc_flip(struct gc_heap *heap);

static inline bool
gc_is_white(const struct gc_object *object)
{
  return object->mark & GC_MARK_WHITES;
}

static inline bool
gc_is_black(const struct gc_object *object)
{
  return object->mark & GC_MARK_BLACK;
}

static inline bool
gc_is_grey(const struct gc_object *object)
{
  return !(object->mark & GC_MARK_COLOURS);
}

/* Found dead by the last mark: the other white. */
static inline bool
gc_is_dead(const struct gc_heap *heap, const struct gc_object *object)
{
  return object->mark & (GC_MARK_WHITES & ~heap->current_white);
}

static inline enum gc_colour
gc_colour_of(const struct gc_heap *heap, const struct gc_object *object)
{
  if (gc_is_black(object)) {
    return GC_BLACK;
  }
  if (!gc_is_white(object)) {
    return GC_GREY;
  }
  return gc_is_dead(heap, object) ? GC_WHITE_OTHER : GC_WHITE_CURRENT;
}

static inline bool
gc_keeps_invariant(const struct gc_heap *heap)
{
  return heap->phase >= GC_PHASE_PROPAGATE && heap->phase <= GC_PHASE_ATOMIC;
}

static inline bool
gc_is_sweeping(const struct gc_heap *heap)
{
  return heap->phase >= GC_PHASE_SWEEP && heap->phase <= GC_PHASE_SWEEP_END;
}

static inline bool
gc_is_old(const struct gc_object *object)
{
  return object->age > GC_AGE_SURVIVAL;
}

/* parent has come to refer to child, which is marked. Under an old parent a
 * young child turns OLD0, so that nothing old is left with a young one when
 * the next minor collection has made it OLD. */
static inline void
gc_age_child(struct gc_heap *heap, const struct gc_object *parent,
             struct gc_object *child)
{
  if (gc_is_old(parent) && !gc_is_old(child)) {
    gc_set_age(heap, child, GC_AGE_OLD0);
  }
}

/* ---- weak.c ---------------------------------------------------------- */

/* What is weak in a table; bits. */
enum gc_weakness {
  GC_WEAK_NOTHING = 0,
  GC_WEAK_KEYS = 1,
  GC_WEAK_VALUES = 2
};
/* As the metatable says now. */
enum gc_weakness gc_weak_mode(const struct gc_heap *heap,
                              const struct gc_table *table);
/* Visits a weak table that has just left its grey list, and puts it on the
 * list where it waits or paints it. Returns the cost. */
size_t gc_weak_visit(struct gc_heap *heap, struct gc_table *table,
                     enum gc_weakness mode);
/* key, which is AWAITED, is about to be marked: the pairs that wait for it get
 * ready. */
void gc_weak_key_reached(struct gc_heap *heap, struct gc_object *key);
/* Marks until nothing is grey and no pair ready. Returns the cost. */
size_t gc_weak_converge(struct gc_heap *heap);
/* Clears dead values of the tables on `weak`, which leave it, and of those on
 * `allweak` before `done`, whose values have been cleared (NULL: of all).
 * Returns the head of `allweak`: what is done now. */
struct gc_object *gc_weak_clear_values(struct gc_heap *heap,
                                       const struct gc_object *done);
/* Clears dead keys of the tables on `ephemeron` and `allweak`. */
void gc_weak_clear_keys(struct gc_heap *heap);
/* Empties the three lists: their tables are done. */
void gc_weak_settle(struct gc_heap *heap);

/* ---- finalize.c ------------------------------------------------------ */

/* object has been given a metatable: marks it for finalization if that has a
 * __gc, unless it is marked already or the heap is closing. */
void gc_finalize_mark(struct gc_heap *heap, struct gc_object *object);
/* In the atomic phase, when all that is reachable is marked: the white objects
 * of `finalizable`, up to its old part, go to the end of `pending`. */
void gc_finalize_separate(struct gc_heap *heap);
/* Calls the finalizers of the first pending objects, at most limit. None is
 * called in an emergency, inside another one, or without room for it on the
 * running coroutine's stack, which is made here. Returns how many. */
size_t gc_finalize_some(struct gc_heap *heap, size_t limit);
/* Calls all that are pending now, as far as that goes. */
void gc_finalize_all(struct gc_heap *heap);
/* At close, in incremental mode: from now on nothing is marked; the finalizer
 * of everything that is marked or pending is called. */
void gc_finalize_close(struct gc_heap *heap);

/* ---- generation.c ---------------------------------------------------- */

/* One step in generational mode, with its STEP events and finalizers: a minor
 * collection, a major one if it is due, or a whole incremental cycle after a
 * bad one. Sets when the next is due. Returns its cost in work units. */
size_t gc_generation_step(struct gc_heap *heap);
/* A full collection while cycles are generational; they stay so. */
void gc_generation_collect(struct gc_heap *heap);
/* From generational cycles to incremental ones: all is white and NEW, the
 * phase is the pause. A step of its own; nothing if they are incremental. */
void gc_generation_leave(struct gc_heap *heap);
/* object is about to leave the list `all`: the segment pointers that point to
 * it go one further. */
void gc_segments_leave(struct gc_heap *heap, const struct gc_object *object);
/* object, of whatever age, has become the first of `all`. */
void gc_segments_return(struct gc_heap *heap, struct gc_object *object);

/* ---- barrier.c ------------------------------------------------------- */

/* Each call site passes the id of the fault that drops its barrier, so that
 * every site can be broken alone. parent has just been made to refer to
 * child. */
void gc_barrier_forward(struct gc_heap *heap, struct gc_object *parent,
                        struct gc_object *child, enum gc_fault dropped_by);
void gc_barrier_back(struct gc_heap *heap, struct gc_object *parent,
                     struct gc_object *child, enum gc_fault dropped_by);

/* ---- mark.c ---------------------------------------------------------- */

void gc_mark_object(struct gc_heap *heap, struct gc_object *object);
void gc_mark_value(struct gc_heap *heap, const struct gc_value *value);
/* Marks what a black object refers to again: it is queued once more, or, if
 * its kind is never queued, what it refers to is marked at once. */
void gc_mark_requeue(struct gc_heap *heap, struct gc_object *object);
/* Puts a grey object at the head of a grey list; it must be on none. */
void gc_grey_push(struct gc_heap *heap, struct gc_object *object,
                  enum gc_grey list);
/* Takes the first object of a grey list, or NULL. */
struct gc_object *gc_grey_pop(struct gc_heap *heap, enum gc_grey list);
/* A grey object that is on no list has been visited as often as is needed, or
 * is just being visited the last time: it turns black, or goes to grey_again
 * if its kind, its age and the phase want one more visit. */
void gc_mark_settle(struct gc_heap *heap, struct gc_object *object);
/* Empties the grey lists: a mark that will not be finished. */
void gc_mark_abandon(struct gc_heap *heap);
/* Resets the grey lists and marks the roots. */
void gc_mark_start(struct gc_heap *heap);
/* Visits one grey object; returns its cost in work units. */
size_t gc_mark_propagate(struct gc_heap *heap);
/* The same until nothing is grey. */
size_t gc_mark_propagate_all(struct gc_heap *heap);
/* The atomic phase: ends with the flip. Returns its cost. */
size_t gc_mark_atomic(struct gc_heap *heap);

/* ---- sweep.c --------------------------------------------------------- */

/* Begins sweeping `all`: sweeps up to the first live object. */
void gc_sweep_enter(struct gc_heap *heap);
/* Sweeps at most `limit` objects from *heap->sweep on. When the list ends
 * heap->sweep becomes NULL. Returns how many it looked at. */
size_t gc_sweep_some(struct gc_heap *heap, size_t limit);
void gc_object_free(struct gc_heap *heap, struct gc_object *object);
/* Takes the object that *list points to out of its list and frees it. */
void gc_free_first(struct gc_heap *heap, struct gc_object **list);
/* At close: frees every object of every list. */
void gc_sweep_everything(struct gc_heap *heap);

/* ---- string.c -------------------------------------------------------- */

/* NULL on no memory. A dead interned string that is found again is made
 * current white. */
struct gc_string *gc_string_new(struct gc_heap *heap, const char *bytes,
                                size_t length);
struct gc_string *gc_string_concat(struct gc_heap *heap,
                                   const struct gc_string *a,
                                   const struct gc_string *b);
/* Frees the buckets; gc_close calls it when the strings are gone. */
void gc_string_table_free(struct gc_heap *heap);
void gc_string_unlink(struct gc_heap *heap, struct gc_string *string);
/* Halves the string table if it is mostly empty; failure is tolerated. Not in
 * an emergency. */
void gc_string_table_shrink(struct gc_heap *heap);
/* The bytes of two strings; for two short ones identity says the same. */
bool gc_string_equal(const struct gc_string *a, const struct gc_string *b);

/* ---- table.c --------------------------------------------------------- */

struct gc_table *gc_table_new(struct gc_heap *heap);
enum gc_status gc_table_resize(struct gc_heap *heap, struct gc_table *table,
                               uint32_t array_size, uint32_t hash_slots);
/* The value at key, or NULL if absent or nil. */
const struct gc_value *gc_table_get(const struct gc_table *table,
                                    const struct gc_value *key);
/* Stores; runs the back barrier. */
enum gc_status gc_table_set(struct gc_heap *heap, struct gc_table *table,
                            const struct gc_value *key,
                            const struct gc_value *value);
int64_t gc_table_length(const struct gc_heap *heap,
                        const struct gc_table *table);
/* Advances key and gives the value; false at the end. key must be nil or a key
 * (possibly a dead one) of the table; one that it does not have is the end. */
bool gc_table_next(const struct gc_heap *heap, const struct gc_table *table,
                   struct gc_value *key, struct gc_value *ret_value);
/* This and the other _free functions free the parts and the object itself
 * (gc_object_size of it); gc_object_free has told of the death before. */
void gc_table_free(struct gc_heap *heap, struct gc_table *table);
/* Traversal: the key of a node whose value is nil is no reference any more; if
 * it is an object it gets GC_TAG_DEAD_KEY. */
static inline void
gc_node_clear_key(struct gc_node *node)
{
  if (gc_value_is_object(&node->key)) {
    node->key.tag = GC_TAG_DEAD_KEY;
  }
}
bool gc_value_equal(const struct gc_value *a, const struct gc_value *b);
/* Integral floats become integers; other keys stay. */
struct gc_value gc_key_normalised(const struct gc_value *key);

/* ---- function.c ------------------------------------------------------ */

struct gc_native_closure *gc_native_closure_new(struct gc_heap *heap,
                                                gc_native function,
                                                uint8_t count);
struct gc_prototype *gc_prototype_new(struct gc_heap *heap,
                                      uint8_t upvalue_count);
void gc_prototype_free(struct gc_heap *heap, struct gc_prototype *prototype);
/* All upvalues NULL; prototype may be NULL until it is there. */
struct gc_closure *gc_closure_new(struct gc_heap *heap,
                                  struct gc_prototype *prototype,
                                  uint8_t count);
/* A fresh closed upvalue that holds nil. */
struct gc_upvalue *gc_upvalue_new(struct gc_heap *heap);
/* The open upvalue of a slot, made if there is none. */
struct gc_upvalue *gc_upvalue_find(struct gc_thread *thread, uint32_t slot);
/* Closes the open upvalues of slots `from` and up. */
void gc_upvalue_close(struct gc_thread *thread, uint32_t from);
static inline bool
gc_upvalue_is_open(const struct gc_upvalue *upvalue)
{
  return upvalue->slot != &upvalue->closed;
}
/* Takes an open upvalue out of its thread's list. Upvalues are younger than
 * their thread, so a sweep meets dead ones before their thread is gone. */
static inline void
gc_upvalue_unlink(struct gc_upvalue *upvalue)
{
  *upvalue->open_link = upvalue->open_next;
  if (upvalue->open_next != NULL) {
    upvalue->open_next->open_link = upvalue->open_link;
  }
}

/* ---- thread.c -------------------------------------------------------- */

/* Suspended, not started, nil as its function; does not anchor it. NULL on no
 * memory. */
struct gc_thread *gc_thread_new(struct gc_heap *heap);
/* Gives a new thread its base frame, with no slots yet. gc_open calls it for
 * the main thread and makes it the running one. */
void gc_thread_start(struct gc_thread *thread);
/* Leaves all frames but the base frame and closes all that is open; the base
 * frame is empty then. gc_close calls it for the main thread. */
void gc_thread_unwind(struct gc_thread *thread);
/* Closes nothing in the mutator's sense: open upvalues become closed, blocks
 * are freed. heap->open_threads does not hold it any more (mark.c has taken
 * dead threads out; at close the list is dropped first). */
void gc_thread_free(struct gc_heap *heap, struct gc_thread *thread);
enum gc_status gc_thread_grow(struct gc_thread *thread, uint32_t slots);
/* In the atomic phase: clears dead slots; shrinks stack and frames, but not in
 * an emergency. */
void gc_thread_clear_dead_slots(struct gc_thread *thread);
void gc_thread_shrink(struct gc_thread *thread);

/* ---- cycle.c --------------------------------------------------------- */

/* A full collection of the mode that is on; ends where that mode rests. Unlike
 * gc_collect also inside a finalizer. */
void gc_collect_by_mode(struct gc_heap *heap);
/* Between these two the heap is at work: no paced step may start. The
 * listener is told. */
void gc_step_begin(struct gc_heap *heap);
void gc_step_end(struct gc_heap *heap);
/* One unit of one phase of an incremental cycle, whatever the mode. */
size_t gc_cycle_step(struct gc_heap *heap);
/* Such steps until the phase is reached. */
void gc_run_until(struct gc_heap *heap, enum gc_phase phase);

/* ---- pace.c ---------------------------------------------------------- */

/* Sets the debt after a cycle from the estimate and the pause. */
void gc_pace_after_cycle(struct gc_heap *heap);
/* Sets the debt after a collection that ends in generational mode. */
void gc_pace_after_minor(struct gc_heap *heap);
/* Whether the heap has grown so much since the last major collection, by the
 * estimate, that the next must be one. */
bool gc_pace_is_major_due(const struct gc_heap *heap);
/* The growth in bytes over base that the major multiplier allows. */
int64_t gc_pace_major_growth(const struct gc_heap *heap, int64_t base);
void gc_pace_set_debt(struct gc_heap *heap, int64_t debt);

#endif
