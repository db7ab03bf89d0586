/* SPDX-License-Identifier: MIT
 *
 * Marking: roots, the visit of each kind of object, the grey lists and the
 * atomic phase. Owns heap->grey, heap->grey_again and heap->open_threads'
 * pruning. Called by cycle.c for the phases and by barrier.c for one object.
 * Frees nothing and allocates nothing, but that stacks shrink.
 *
 * THE COLOURS. White: not yet reached. Grey: reached, its children perhaps
 * not. Black: it and its children reached. The mark ends when nothing is
 * grey; what is white then is garbage. It runs in pieces while the mutator
 * goes on, and what holds between two pieces is:
 *
 *   a black object refers to no white one      [tricolour.black-to-white]
 *   each grey object is on exactly one grey list [tricolour.grey-unlisted,
 *     .listed-not-grey, .listed-twice]
 *
 * Exceptions to the second: an open upvalue is grey and on no list, since
 * what it holds is a stack slot, and stacks are visited again; a fixed name
 * is grey for ever, since it is never collected and refers to nothing.
 *
 * WHO PAINTS. white -> grey and white -> black: gc_mark_object, called for
 * roots, by visits and by the forward barrier. grey -> black: a visit; and
 * gc_upvalue_close for an open upvalue that has been marked. black -> grey:
 * the back barrier. Any -> current white: the sweep; black -> current white
 * also by barriers while sweeping; other white -> current white when a dead
 * interned string is found again. Current white turns to other white in one
 * stroke, without being touched, by the flip.
 *
 * MARKING ONE OBJECT by kind:
 *   strings                      black (they have no children)
 *   userdata, no user values     black; its metatable is marked at once
 *   closed upvalue               black; its value is marked at once
 *   open upvalue                 grey, on no list; its value likewise
 *   everything else              grey, put on `grey`
 * Only the second, third and fourth row mark further, and that is never deep:
 * an upvalue's value cannot be an upvalue (it is no value of the language),
 * so it is at worst a userdata, whose metatable is a table, which is put on
 * the list. So gc_mark_object is entered three deep at most, whatever the
 * heap looks like; a chain of a million tables is a million turns of the
 * propagation loop, each with one of them on the list.
 *
 * THREADS are written without barriers, on each push. So a thread that has
 * been visited does not turn black: it goes to `grey_again`, still grey, and
 * is visited once more in the atomic phase. Only then it turns black, its
 * slots above the top are cleared and its stack may shrink.
 *
 * WEAK TABLES also stay grey, for what in them is alive is known only in the
 * atomic phase (weak.c).
 *
 * THE ATOMIC PHASE is one piece. Its steps, in order:
 *   1. mark again the roots that are written without barriers (running
 *      thread, registry, metatables of basic types); propagate.
 *   2. walk open_threads, the threads that have open upvalues. One that is
 *      still white may be dead while closures hold its upvalues, and then
 *      nobody visits its stack: the values of its upvalues that were reached
 *      are marked here. Such a thread leaves the list, as does one whose
 *      upvalues have all been closed; propagate.
 *   3. visit what waited on grey_again when the phase began; propagate.
 *   4. ephemerons to a fixpoint (weak.c). Now all that the mutator can reach
 *      is marked; dead values are cleared from weak tables.
 *   5. separate the dead that have a finalizer; they and all that they lead
 *      to are marked after all, ephemerons again to a fixpoint.
 *   6. clear dead keys, and dead values of weak tables found in step 5. So a
 *      resurrected object has left the weak values when its finalizer sees
 *      it, and is still a weak key.
 *   7. flip the whites: what is white now has, from here on, the other white
 *      and is dead.
 * A thread that left the list in step 2 and is reached after all in step 3
 * puts itself back when it is visited.
 *
 * WHERE THE INVARIANT DOES NOT HOLD. Inside a visit: the object is black
 * before its children are marked. Inside a store, between the write and its
 * barrier. In the atomic phase nothing that was white at birth is excused,
 * but grey_again is still full until step 3. From the flip to the end of the
 * sweep black objects may refer to white ones, for births are white and the
 * sweep whitens one object after another; nothing relies on it then, since
 * the other white alone decides. In the pause there is no black.
 *
 * IN GENERATIONAL MODE grey_again also holds what minor collections must look
 * at again: objects that the back barrier has caught, for two of them, and old
 * threads, for ever (generation.c). An old thread or one of age TOUCHED1 goes
 * back there when it is visited, in the atomic phase as well; that is why step
 * 3 looks only at what the list held before.
 *
 * In a cycle of incremental mode, and in a major collection, where nothing is
 * old, the lists are empty at the flip, and a full collection that gives up a
 * mark empties them (gc_mark_abandon); barriers list nothing while sweeping.
 * So a list never holds freed memory [safety.dangling-list].
 */
#include "gc/heap.h"

/* ---- the grey lists: the choke points -------------------------------- */

static struct gc_object **
list_head(struct gc_heap *heap, enum gc_grey list)
{
  switch (list) {
  case GC_GREY_AGAIN:
    return &heap->grey_again;
  case GC_GREY_WEAK:
    return &heap->grey_weak;
  case GC_GREY_EPHEMERON:
    return &heap->grey_ephemeron;
  case GC_GREY_ALLWEAK:
    return &heap->grey_allweak;
  case GC_GREY_NONE:
  case GC_GREY_NOW:
    break;
  }
  return &heap->grey;
}

static void
relist(struct gc_heap *heap, struct gc_object *object, enum gc_grey list)
{
  uint8_t before = object->grey;

  object->grey = list;
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_GREY,
                                      .object = object,
                                      .from = before,
                                      .to = list });
  }
}

void
gc_grey_push(struct gc_heap *heap, struct gc_object *object,
             enum gc_grey list)
{
  struct gc_object **head = list_head(heap, list);

  *gc_grey_link(object) = *head;
  *head = object;
  relist(heap, object, list);
}

struct gc_object *
gc_grey_pop(struct gc_heap *heap, enum gc_grey list)
{
  struct gc_object **head = list_head(heap, list);
  struct gc_object *object = *head;

  if (object == NULL) {
    return NULL;
  }
  *head = *gc_grey_link(object);
  relist(heap, object, GC_GREY_NONE);
  return object;
}

void
gc_mark_abandon(struct gc_heap *heap)
{
  for (enum gc_grey list = GC_GREY_NOW; list <= GC_GREY_ALLWEAK; list++) {
    while (gc_grey_pop(heap, list) != NULL) {
    }
  }
}

/* ---- marking one object ---------------------------------------------- */

/* A table may be none. */
static void
mark_metatable(struct gc_heap *heap, struct gc_table *metatable)
{
  if (metatable != NULL) {
    gc_mark_object(heap, &metatable->head);
  }
}

static void
mark_listed(struct gc_heap *heap, struct gc_object *object)
{
  if (GC_FAULTY(heap, MARK_BLACK_AT_ONCE) && object->kind == GC_KIND_CLOSURE) {
    gc_set_colour(heap, object, GC_BLACK);
  } else {
    gc_set_colour(heap, object, GC_GREY);
  }
  if (GC_FAULTY(heap, MARK_UNLISTED) && object->kind == GC_KIND_TABLE) {
    return;
  }
  gc_grey_push(heap, object, GC_GREY_NOW);
}

static void
mark_userdata(struct gc_heap *heap, struct gc_userdata *userdata)
{
  if (userdata->user_value_count > 0
      || !heap->dialect->userdata_leaf_black) {
    mark_listed(heap, &userdata->head);
    return;
  }
  gc_set_colour(heap, &userdata->head, GC_BLACK);
  if (!GC_FAULTY(heap, LEAF_USERDATA_METATABLE)) {
    mark_metatable(heap, userdata->metatable);
  }
}

static void
mark_upvalue(struct gc_heap *heap, struct gc_upvalue *upvalue)
{
  bool open = gc_upvalue_is_open(upvalue);

  if (open && !GC_FAULTY(heap, OPEN_UPVALUE_BLACK)) {
    gc_set_colour(heap, &upvalue->head, GC_GREY);
  } else {
    gc_set_colour(heap, &upvalue->head, GC_BLACK);
  }
  if (open || !GC_FAULTY(heap, CLOSED_UPVALUE_VALUE)) {
    gc_mark_value(heap, upvalue->slot);
  }
}

/* Paints an object by its kind. */
static void
reach(struct gc_heap *heap, struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_STRING_LONG:
    if (GC_FAULTY(heap, STRING_GREY)) {
      gc_set_colour(heap, object, GC_GREY);
      return;
    }
    gc_set_colour(heap, object, GC_BLACK);
    return;
  case GC_KIND_STRING_SHORT:
    gc_set_colour(heap, object, GC_BLACK);
    return;
  case GC_KIND_USERDATA:
    mark_userdata(heap, (struct gc_userdata *)object);
    return;
  case GC_KIND_UPVALUE:
    mark_upvalue(heap, (struct gc_upvalue *)object);
    return;
  case GC_KIND_TABLE:
  case GC_KIND_NATIVE_CLOSURE:
  case GC_KIND_CLOSURE:
  case GC_KIND_THREAD:
  case GC_KIND_PROTOTYPE:
    mark_listed(heap, object);
    return;
  case GC_KIND_COUNT:
    break;
  }
}

void
gc_mark_object(struct gc_heap *heap, struct gc_object *object)
{
  if (!gc_is_white(object)) {
    return;
  }
  if (object->mark & GC_MARK_AWAITED) {
    gc_weak_key_reached(heap, object);
  }
  reach(heap, object);
}

void
gc_mark_requeue(struct gc_heap *heap, struct gc_object *object)
{
  if (gc_is_black(object)) {
    reach(heap, object);
  }
}

void
gc_mark_value(struct gc_heap *heap, const struct gc_value *value)
{
  if (gc_value_is_object(value)) {
    gc_mark_object(heap, value->as.object);
  }
}

static void
mark_values(struct gc_heap *heap, const struct gc_value *values,
            uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    gc_mark_value(heap, &values[i]);
  }
}

/* ---- visits: what an object refers to -------------------------------- */

/* Each returns its cost in work units: the object and its parts. */

/* The key of a node whose value is nil is no reference: it may be freed, and
 * its node is kept for traversals that stand on it. */
static void
visit_node(struct gc_heap *heap, struct gc_node *node)
{
  if (node->value.tag == GC_TAG_NIL && !GC_FAULTY(heap, REMOVED_KEY_MARKED)) {
    if (!GC_FAULTY(heap, EMPTY_KEY_KEPT)) {
      gc_node_clear_key(node);
    }
    return;
  }
  if (!GC_FAULTY(heap, TABLE_KEY_VISIT)) {
    gc_mark_value(heap, &node->key);
  }
  gc_mark_value(heap, &node->value);
}

static size_t
visit_table(struct gc_heap *heap, struct gc_table *table)
{
  uint32_t array_size = table->array_size;

  if (!GC_FAULTY(heap, TABLE_METATABLE_VISIT)) {
    mark_metatable(heap, table->metatable);
  }
  if (GC_FAULTY(heap, TABLE_ARRAY_VISIT) && array_size > 0) {
    array_size--;
  }
  mark_values(heap, table->array, array_size);
  for (uint32_t i = 0; i < table->node_count; i++) {
    visit_node(heap, &table->nodes[i]);
  }
  return 1 + (size_t)table->array_size + 2 * (size_t)table->node_count;
}

static size_t
visit_userdata(struct gc_heap *heap, struct gc_userdata *userdata)
{
  uint32_t count = userdata->user_value_count;

  mark_metatable(heap, userdata->metatable);
  if (GC_FAULTY(heap, USER_VALUE_VISIT) && count > 0) {
    count--;
  }
  mark_values(heap, userdata->user_values, count);
  return 1 + (size_t)userdata->user_value_count;
}

static size_t
visit_native_closure(struct gc_heap *heap, struct gc_native_closure *closure)
{
  uint32_t count = closure->value_count;

  if (GC_FAULTY(heap, NATIVE_VALUE_VISIT) && count > 0) {
    count--;
  }
  mark_values(heap, closure->values, count);
  return 1 + (size_t)closure->value_count;
}

/* Prototype and upvalues are NULL while the closure is being built. */
static size_t
visit_closure(struct gc_heap *heap, struct gc_closure *closure)
{
  if (closure->prototype != NULL
      && !GC_FAULTY(heap, CLOSURE_PROTOTYPE_VISIT)) {
    gc_mark_object(heap, &closure->prototype->head);
  }
  for (uint32_t i = 0; i < closure->upvalue_count; i++) {
    if (closure->upvalues[i] != NULL) {
      gc_mark_object(heap, &closure->upvalues[i]->head);
    }
  }
  return 1 + (size_t)closure->upvalue_count;
}

static size_t
visit_prototype(struct gc_heap *heap, struct gc_prototype *prototype)
{
  uint32_t constants = prototype->constant_count;
  uint32_t nested = prototype->nested_count;

  if (GC_FAULTY(heap, CONSTANT_VISIT) && constants > 0) {
    constants--;
  }
  if (GC_FAULTY(heap, NESTED_VISIT) && nested > 0) {
    nested--;
  }
  mark_values(heap, prototype->constants, constants);
  for (uint32_t i = 0; i < nested; i++) {
    gc_mark_object(heap, &prototype->nested[i]->head);
  }
  return 1 + (size_t)prototype->constant_count + prototype->upvalue_count
         + prototype->nested_count;
}

/* How many slots of the stack are roots: those below the top. */
static uint32_t
live_slots(const struct gc_heap *heap, const struct gc_thread *thread)
{
  enum { FAULTY_LIMIT = 48 };

  if (GC_FAULTY(heap, STACK_VISIT_LIMIT) && thread->top > FAULTY_LIMIT) {
    return FAULTY_LIMIT;
  }
  if (GC_FAULTY(heap, DEAD_SLOTS_MARKED)) {
    return thread->stack_size;
  }
  return thread->top;
}

static void
list_open_thread(struct gc_heap *heap, struct gc_thread *thread)
{
  if (thread->open != NULL && thread->open_next == thread) {
    thread->open_next = heap->open_threads;
    heap->open_threads = thread;
  }
}

/* An open upvalue lives as long as its thread, used or not. */
static void
mark_open_upvalues(struct gc_heap *heap, struct gc_thread *thread)
{
  for (struct gc_upvalue *upvalue = thread->open; upvalue != NULL;
       upvalue = upvalue->open_next) {
    gc_mark_object(heap, &upvalue->head);
  }
}

static size_t
visit_thread(struct gc_heap *heap, struct gc_thread *thread)
{
  size_t cost = 1 + (size_t)thread->stack_size;

  if ((GC_FAULTY(heap, REMARK_THREADS)
       || (GC_FAULTY(heap, REMARK_RUNNING) && thread == heap->running))
      && heap->phase == GC_PHASE_ATOMIC) {
    return cost;
  }
  mark_values(heap, thread->stack, live_slots(heap, thread));
  mark_open_upvalues(heap, thread);
  if (heap->phase == GC_PHASE_ATOMIC) {
    gc_thread_shrink(thread);
    if (!GC_FAULTY(heap, STACK_ABOVE_TOP)) {
      gc_thread_clear_dead_slots(thread);
    }
    list_open_thread(heap, thread);
  }
  return cost;
}

static size_t
visit_parts(struct gc_heap *heap, struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_TABLE:
    return visit_table(heap, (struct gc_table *)object);
  case GC_KIND_USERDATA:
    return visit_userdata(heap, (struct gc_userdata *)object);
  case GC_KIND_NATIVE_CLOSURE:
    return visit_native_closure(heap, (struct gc_native_closure *)object);
  case GC_KIND_CLOSURE:
    return visit_closure(heap, (struct gc_closure *)object);
  case GC_KIND_PROTOTYPE:
    return visit_prototype(heap, (struct gc_prototype *)object);
  case GC_KIND_THREAD:
    return visit_thread(heap, (struct gc_thread *)object);
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
  case GC_KIND_UPVALUE:
  case GC_KIND_COUNT:
    break; /* never on a grey list */
  }
  return 0;
}

/* Whether an object stays grey when it is visited and waits on grey_again. */
static bool
waits_again(const struct gc_heap *heap, const struct gc_object *object)
{
  if (object->kind != GC_KIND_THREAD) {
    return object->age == GC_AGE_TOUCHED1;
  }
  if (gc_is_old(object)) {
    return !GC_FAULTY(heap, OLD_THREAD_LEAVES);
  }
  return heap->phase != GC_PHASE_ATOMIC
         && !GC_FAULTY(heap, THREAD_NOT_AGAIN);
}

/* One of age TOUCHED2 has now been seen twice since it was written, and is OLD
 * again. */
void
gc_mark_settle(struct gc_heap *heap, struct gc_object *object)
{
  if (waits_again(heap, object)) {
    gc_grey_push(heap, object, GC_GREY_AGAIN);
    return;
  }
  gc_set_colour(heap, object, GC_BLACK);
  if (object->age == GC_AGE_TOUCHED2 && !GC_FAULTY(heap, TOUCHED2_STAYS)) {
    gc_set_age(heap, object, GC_AGE_OLD);
  }
}

/* Visits an object that has just left its grey list. A weak table is painted
 * when its visit has shown what is in it. */
static size_t
visit(struct gc_heap *heap, struct gc_object *object)
{
  if (object->kind == GC_KIND_TABLE) {
    struct gc_table *table = (struct gc_table *)object;
    enum gc_weakness mode = gc_weak_mode(heap, table);

    if (mode != GC_WEAK_NOTHING) {
      return gc_weak_visit(heap, table, mode);
    }
  }
  gc_mark_settle(heap, object);
  return visit_parts(heap, object);
}

size_t
gc_mark_propagate(struct gc_heap *heap)
{
  struct gc_object *object = gc_grey_pop(heap, GC_GREY_NOW);
  size_t cost = visit(heap, object);

  if (GC_FAULTY(heap, GREY_FOREVER) && object->kind == GC_KIND_TABLE
      && heap->phase == GC_PHASE_PROPAGATE
      && object->grey == GC_GREY_NONE) {
    gc_set_colour(heap, object, GC_GREY);
    gc_grey_push(heap, object, GC_GREY_NOW);
  }
  return cost;
}

size_t
gc_mark_propagate_all(struct gc_heap *heap)
{
  size_t cost = 0;

  while (heap->grey != NULL) {
    cost += gc_mark_propagate(heap);
  }
  return cost;
}

/* ---- start ----------------------------------------------------------- */

static void
mark_basic_metatables(struct gc_heap *heap)
{
  for (int i = 0; i < GC_BASIC_COUNT; i++) {
    mark_metatable(heap, heap->metatables[i]);
  }
}

static void
mark_registry(struct gc_heap *heap)
{
  if (!GC_FAULTY(heap, REGISTRY_UNMARKED)) {
    gc_mark_value(heap, &heap->registry);
  }
}

/* What is left over from the last cycle's finalizers. */
static void
mark_pending(struct gc_heap *heap)
{
  for (struct gc_object *object = heap->pending; object != NULL;
       object = object->next) {
    gc_mark_object(heap, object);
  }
}

void
gc_mark_start(struct gc_heap *heap)
{
  heap->grey = NULL;
  heap->grey_again = NULL;
  gc_mark_object(heap, &heap->main->head);
  mark_registry(heap);
  mark_basic_metatables(heap);
  mark_pending(heap);
}

/* ---- the atomic phase ------------------------------------------------ */

static void
remark_roots(struct gc_heap *heap)
{
  gc_mark_object(heap, &heap->running->head);
  mark_registry(heap);
  if (!GC_FAULTY(heap, REMARK_BASIC)) {
    mark_basic_metatables(heap);
  }
}

/* The values of the upvalues of a thread that may be dead, as far as
 * somebody else has reached the upvalues. Such an upvalue may be older than
 * its thread, which a minor collection then frees: closed by that, it is
 * black, and nobody would visit it again if it is OLD. */
static size_t
remark_open_upvalues(struct gc_heap *heap, struct gc_thread *thread)
{
  size_t cost = 0;

  for (struct gc_upvalue *upvalue = thread->open; upvalue != NULL;
       upvalue = upvalue->open_next) {
    cost++;
    if (!gc_is_white(&upvalue->head)
        && !GC_FAULTY(heap, REMARK_OPEN_UPVALUES)) {
      if (!GC_FAULTY(heap, MINOR_FREES_OLD)) {
        gc_mark_value(heap, upvalue->slot);
      }
      if (gc_value_is_object(upvalue->slot)
          && !GC_FAULTY(heap, UPVALUE_CLOSED_UNAGED)) {
        gc_age_child(heap, &upvalue->head, upvalue->slot->as.object);
      }
    }
  }
  return cost;
}

/* Step 2 of the atomic phase. The last thread of the list is followed by
 * NULL, a thread that is in no list by itself. */
static size_t
remark_open_threads(struct gc_heap *heap)
{
  struct gc_thread **link = &heap->open_threads;
  size_t cost = 0;

  while (*link != NULL) {
    struct gc_thread *thread = *link;
    bool white = gc_is_white(&thread->head);

    cost++;
    if (thread->open != NULL && !white) {
      link = &thread->open_next;
      continue;
    }
    cost += remark_open_upvalues(heap, thread);
    if (GC_FAULTY(heap, OPEN_THREAD_STAYS) && white) {
      link = &thread->open_next;
      continue;
    }
    *link = thread->open_next;
    thread->open_next = thread;
  }
  return cost;
}

/* What has just been found dead and is owed a finalizer lives until that has
 * been called, with all that it leads to. */
static void
resurrect(struct gc_heap *heap)
{
  if (GC_FAULTY(heap, NOT_RESURRECTED)) {
    return;
  }
  for (struct gc_object *object = heap->pending;
       object != NULL && GC_FAULTY(heap, RESURRECTED_SHALLOW);
       object = object->next) {
    if (gc_is_white(object)) {
      gc_set_colour(heap, object, GC_GREY);
      gc_set_colour(heap, object, GC_BLACK);
    }
  }
  mark_pending(heap);
}

/* Step 3 of the atomic phase: each object that waited when the phase began is
 * visited, then all that it leads to. */
static size_t
revisit(struct gc_heap *heap, struct gc_object *waiting)
{
  size_t cost = 0;

  while (waiting != NULL) {
    struct gc_object *object = waiting;

    waiting = *gc_grey_link(object);
    relist(heap, object, GC_GREY_NONE);
    if (GC_FAULTY(heap, REMARK_TOUCHED) && object->kind == GC_KIND_TABLE) {
      gc_set_colour(heap, object, GC_BLACK);
      continue;
    }
    cost += visit(heap, object);
    if (!GC_FAULTY(heap, GREY_AT_FLIP)) {
      cost += gc_mark_propagate_all(heap);
    }
  }
  return cost;
}

/* Steps 4 to 6 of the atomic phase. */
static size_t
clear_and_resurrect(struct gc_heap *heap)
{
  size_t cost = gc_weak_converge(heap);
  struct gc_object *done = NULL;

  if (GC_FAULTY(heap, WEAK_KEYS_EARLY)) {
    gc_weak_clear_keys(heap);
  }
  if (!GC_FAULTY(heap, WEAK_RESURRECTED_KEPT)) {
    done = gc_weak_clear_values(heap, NULL);
  }
  gc_finalize_separate(heap);
  resurrect(heap);
  cost += gc_weak_converge(heap);
  gc_weak_clear_keys(heap);
  if (!GC_FAULTY(heap, WEAK_SECOND_ROUND)) {
    gc_weak_clear_values(heap, done);
  }
  gc_weak_settle(heap);
  if (GC_FAULTY(heap, FINALIZER_IN_ATOMIC)) {
    gc_finalize_some(heap, 1);
  }
  return cost;
}

size_t
gc_mark_atomic(struct gc_heap *heap)
{
  struct gc_object *waiting = heap->grey_again;
  size_t cost = 0;

  gc_set_phase(heap, GC_PHASE_ATOMIC);
  heap->grey_again = NULL;
  remark_roots(heap);
  cost += gc_mark_propagate_all(heap);
  cost += remark_open_threads(heap);
  cost += gc_mark_propagate_all(heap);
  cost += revisit(heap, waiting);
  if (!GC_FAULTY(heap, GREY_AT_FLIP)) {
    cost += clear_and_resurrect(heap);
  }
  if (!GC_FAULTY(heap, WHITE_NOT_FLIPPED)
      && !GC_FAULTY(heap, WHITE_FLIPPED_LATE)) {
    gc_flip(heap);
  }
  return cost;
}
