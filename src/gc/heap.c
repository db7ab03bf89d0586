/* SPDX-License-Identifier: MIT
 *
 * The heap as a whole: opening and closing it, memory and the byte count, and
 * the choke points through which births, colours, heap lists and phases
 * change, so that a listener misses none. Owns struct gc_heap.
 *
 * Byte count: total + debt is what the heap has from the host's allocator,
 * its own record included [memory.count]; gc_memory_resize is the only
 * function that allocates, but for that record.
 *
 * A BIRTH says that the object is the first of `all`; a DEATH that it leaves
 * the list that holds it. Other moves between heap lists are LIST events.
 */
#include "gc/heap.h"

#include <string.h>

#include "gc/gc_assert.h"
#include "gc/thread.h"

/* ---- memory ---------------------------------------------------------- */

/* Not before everything that a mark starts from is there, and not inside a
 * step: that is where stacks and the string table shrink, and they can do
 * without. A stop of the host's does not count, nor does a finalizer. */
static bool
may_collect(const struct gc_heap *heap)
{
  if (GC_FAULTY(heap, EMERGENCY_NONE)
      || (GC_FAULTY(heap, EMERGENCY_STOPPED) && heap->stopped)
      || (GC_FAULTY(heap, EMERGENCY_FINALIZING) && heap->finalizing)) {
    return false;
  }
  return heap->open && !heap->emergency
         && (!heap->stepping || GC_FAULTY(heap, EMERGENCY_STEPPING));
}

static void
tell_emergency(struct gc_heap *heap, bool begins)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_EMERGENCY,
                                      .to = begins });
  }
}

/* A full collection because there is no memory. */
static void
collect_in_emergency(struct gc_heap *heap)
{
  heap->emergency = true;
  tell_emergency(heap, true);
  if (GC_FAULTY(heap, EMERGENCY_HALF)
      && heap->cycle_mode == GC_MODE_INCREMENTAL) {
    gc_run_until(heap, GC_PHASE_PAUSE);
  } else {
    gc_collect_by_mode(heap);
  }
  tell_emergency(heap, false);
  heap->emergency = GC_FAULTY(heap, EMERGENCY_STAYS);
  if (GC_FAULTY(heap, EMERGENCY_STOPS)) {
    heap->stopped = true;
  }
}

void *
gc_memory_resize(struct gc_heap *heap, void *block, size_t old_size,
                 size_t new_size)
{
  void *result;

  if (new_size > PTRDIFF_MAX) {
    return NULL;
  }
  result = heap->allocate(heap->user, block, old_size, new_size);
  if (result == NULL && new_size > 0 && may_collect(heap)) {
    collect_in_emergency(heap);
    if (!GC_FAULTY(heap, EMERGENCY_ONCE)) {
      result = heap->allocate(heap->user, block, old_size, new_size);
    }
  }
  if (result == NULL && new_size > 0) {
    if (GC_FAULTY(heap, BYTES_FAILED)) {
      heap->debt += (int64_t)new_size;
    }
    return NULL;
  }
  if (GC_FAULTY(heap, BYTES_NOT_LOWERED) && new_size == 0) {
    return NULL;
  }
  heap->debt += (int64_t)new_size - (int64_t)old_size;
  return result;
}

/* ---- choke points ---------------------------------------------------- */

void
gc_tell(struct gc_heap *heap, const struct gc_event *event)
{
  if (heap->listener != NULL) {
    heap->listener->event(heap->listener, event);
  }
}

static uint8_t
colour_bits(const struct gc_heap *heap, enum gc_colour colour)
{
  if (colour == GC_BLACK) {
    return GC_MARK_BLACK;
  }
  if (colour == GC_GREY) {
    return 0;
  }
  return colour == GC_WHITE_CURRENT ? heap->current_white
                                    : GC_MARK_WHITES & ~heap->current_white;
}

void
gc_set_colour(struct gc_heap *heap, struct gc_object *object,
              enum gc_colour colour)
{
  uint8_t bits = colour_bits(heap, colour);
  enum gc_colour before;

  if ((object->mark & GC_MARK_COLOURS) == bits) {
    return;
  }
  before = gc_colour_of(heap, object);
  object->mark = (uint8_t)((object->mark & ~GC_MARK_COLOURS) | bits);
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_COLOUR,
                                      .object = object,
                                      .from = before,
                                      .to = colour });
  }
}

void
gc_set_phase(struct gc_heap *heap, enum gc_phase phase)
{
  enum gc_phase before = heap->phase;

  if (before == phase) {
    return;
  }
  heap->phase = phase;
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){
                      .type = GC_EVENT_PHASE, .from = before, .to = phase });
  }
}

void
gc_set_age(struct gc_heap *heap, struct gc_object *object, enum gc_age age)
{
  enum gc_age before = object->age;

  if (before == age) {
    return;
  }
  object->age = age;
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_AGE,
                                      .object = object,
                                      .from = before,
                                      .to = age });
  }
}

void
gc_tell_list(struct gc_heap *heap, const struct gc_object *object,
             enum gc_list from, enum gc_list to)
{
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_LIST,
                                      .object = object,
                                      .from = from,
                                      .to = to });
  }
}

void
gc_flip(struct gc_heap *heap)
{
  heap->current_white ^= GC_MARK_WHITES;
}

static enum gc_colour
birth_colour(const struct gc_heap *heap)
{
  if (GC_FAULTY(heap, BORN_OTHER_WHITE)) {
    return GC_WHITE_OTHER;
  }
  if (GC_FAULTY(heap, BORN_BLACK) && gc_keeps_invariant(heap)) {
    return GC_BLACK;
  }
  return GC_WHITE_CURRENT;
}

struct gc_object *
gc_object_new(struct gc_heap *heap, enum gc_kind kind, size_t size)
{
  struct gc_object *object = gc_memory_resize(heap, NULL, 0, size);
  enum gc_colour colour = birth_colour(heap);

  if (object == NULL && !GC_FAULTY(heap, ALLOCATION_UNCHECKED)) {
    return NULL;
  }
  object->kind = kind;
  object->mark = colour_bits(heap, colour);
  object->grey = GC_GREY_NONE;
  object->age = GC_AGE_NEW;
  object->sequence = ++heap->sequence;
  object->next = heap->all;
  heap->all = object;
  if (GC_FAULTY(heap, SEGMENT_SURVIVAL) && heap->survival != NULL) {
    heap->survival = object;
  }
  if (heap->listener != NULL) {
    gc_tell(heap, &(struct gc_event){ .type = GC_EVENT_BIRTH,
                                      .object = object,
                                      .to = colour });
  }
  return object;
}

void
gc_object_fix(struct gc_heap *heap, struct gc_object *object)
{
  GC_ASSERT(heap->all == object);
  gc_set_colour(heap, object, GC_GREY);
  heap->all = object->next;
  object->next = heap->fixed;
  heap->fixed = object;
  object->mark |= GC_MARK_FIXED;
  gc_set_age(heap, object, GC_AGE_OLD);
  gc_tell_list(heap, object, GC_LIST_ALL, GC_LIST_FIXED);
}

/* ---- opening --------------------------------------------------------- */

/* The registry and what it holds. Each table is anchored as soon as it is
 * there, though nothing can collect yet. */
static bool
open_registry(struct gc_heap *heap)
{
  struct gc_table *registry = gc_table_new(heap);
  struct gc_table *globals;
  struct gc_value key = { .tag = GC_TAG_INTEGER };
  struct gc_value value = { .tag = GC_TAG_OBJECT };

  if (registry == NULL) {
    return false;
  }
  heap->registry.as.object = &registry->head;
  heap->registry.tag = GC_TAG_OBJECT;
  if (gc_table_resize(heap, registry, GC_REGISTRY_GLOBALS, 0) != GC_OK) {
    return false;
  }
  key.as.integer = GC_REGISTRY_MAIN;
  value.as.object = &heap->main->head;
  if (gc_table_set(heap, registry, &key, &value) != GC_OK) {
    return false;
  }
  globals = gc_table_new(heap);
  if (globals == NULL) {
    return false;
  }
  key.as.integer = GC_REGISTRY_GLOBALS;
  value.as.object = &globals->head;
  return gc_table_set(heap, registry, &key, &value) == GC_OK;
}

static bool
open_names(struct gc_heap *heap)
{
  static const char *const texts[GC_NAME_COUNT] = {
    [GC_NAME_INDEX] = "__index",
    [GC_NAME_NEWINDEX] = "__newindex",
    [GC_NAME_CLOSE] = "__close",
    [GC_NAME_GC] = "__gc",
    [GC_NAME_MODE] = "__mode",
  };

  for (int i = 0; i < GC_NAME_COUNT; i++) {
    struct gc_string *name
        = gc_string_new(heap, texts[i], strlen(texts[i]));

    if (name == NULL) {
      return false;
    }
    gc_object_fix(heap, &name->head);
    heap->names[i] = name;
  }
  return true;
}

/* The main coroutine always keeps a record for one more frame, so that what is
 * called at close has one. */
static bool
open_main(struct gc_heap *heap)
{
  struct gc_thread *main = gc_thread_new(heap);

  if (main == NULL) {
    return false;
  }
  gc_thread_start(main);
  main->status = GC_THREAD_RUNNING;
  heap->main = main;
  heap->running = main;
  return gc_frame_native_room(main, 1) == GC_OK;
}

/* Objects first, newest first, for their modules unlink them from what older
 * ones own; then the string table, which they leave; then the record. Works
 * on a heap whose opening failed anywhere. */
static void
heap_free(struct gc_heap *heap)
{
  gc_sweep_everything(heap);
  if (!GC_FAULTY(heap, CLOSE_LEAKS_STRINGS)) {
    gc_string_table_free(heap);
  }
  heap->allocate(heap->user, heap, sizeof(*heap), 0);
}

struct gc_heap *
gc_open(const struct gc_config *config)
{
  const struct gc_dialect *dialect = gc_dialect_find(config->dialect);
  enum gc_fault fault = GC_FAULT_NONE;
  struct gc_heap *heap;

  if (config->fault != NULL) {
    fault = gc_fault_find(config->fault);
    if (fault == GC_FAULT_NONE) {
      return NULL;
    }
  }
  if (dialect == NULL) {
    return NULL;
  }
  heap = config->allocate(config->user, NULL, 0, sizeof(*heap));
  if (heap == NULL) {
    return NULL;
  }
  *heap = (struct gc_heap){
    .allocate = config->allocate,
    .user = config->user,
    .listener = config->listener,
    .dialect = dialect,
    .fault = fault,
    .total = sizeof(*heap),
    .parameters = {
      [GC_PARAMETER_PAUSE] = dialect->pause_percent,
      [GC_PARAMETER_STEP_MULTIPLIER] = dialect->step_multiplier_percent,
      [GC_PARAMETER_STEP_SIZE] = dialect->step_size_log2,
      [GC_PARAMETER_MINOR_MULTIPLIER] = dialect->minor_multiplier_percent,
      [GC_PARAMETER_MAJOR_MULTIPLIER] = dialect->major_multiplier_percent,
    },
    .warn = config->warn,
    .phase = GC_PHASE_PAUSE,
    .current_white = GC_MARK_WHITE0,
  };
  if (!open_main(heap) || !open_registry(heap) || !open_names(heap)) {
    heap_free(heap);
    return NULL;
  }
  heap->open = true;
  return heap;
}

/* ---- closing --------------------------------------------------------- */

/* First what is to be closed on the main thread's stack, while everything
 * still works; the closers may allocate and collect. Then all finalizers, in
 * incremental mode, where `finalizable` has no segments to keep. */
void
gc_close(struct gc_heap *heap)
{
  if (heap == NULL) {
    return;
  }
  heap->running = heap->main;
  heap->main->status = GC_THREAD_RUNNING;
  gc_thread_unwind(heap->main);
  gc_set_mode(heap, GC_MODE_INCREMENTAL);
  gc_finalize_close(heap);
  heap_free(heap);
}

/* ---- looking --------------------------------------------------------- */

struct gc_thread *
gc_main_thread(struct gc_heap *heap)
{
  return heap->main;
}

struct gc_thread *
gc_running_thread(struct gc_heap *heap)
{
  return heap->running;
}

struct gc_heap *
gc_heap_of(struct gc_thread *thread)
{
  return thread->heap;
}
