/* SPDX-License-Identifier: MIT
 *
 * Finalizers: when they are called, in what order and how often, what they may
 * do, and what an error in one does.
 */
#include "tests/gc_drive.h"

/* ---- finalizers ------------------------------------------------------ */

enum { CALLS_MAX = 64 };

static int called[CALLS_MAX]; /* field 1 of each object called */
static int call_count;
static char warned[CALLS_MAX];
static int warn_count;

static void
reset(void)
{
  call_count = warn_count = 0;
}

static void
note_warning(void *user, const char *text)
{
  (void)user;
  warn_count++;
  strncpy(warned, text, sizeof(warned) - 1);
}

static void
note(struct gc_thread *thread)
{
  assert_int_equal(gc_top(thread), 1);
  assert_true(gc_is_finalizing(gc_heap_of(thread)));
  gc_raw_geti(thread, 1, 1);
  assert_true(call_count < CALLS_MAX);
  called[call_count++] = (int)gc_to_integer(thread, -1);
}

/* Pushes a table with its number in field 1 and that finalizer. */
static struct gc_object *
push_object(struct gc_thread *thread, int number, gc_native finalizer)
{
  new_table(thread);
  gc_push_integer(thread, number);
  set_field(thread, -2, 1);
  push_metatable(thread, finalizer);
  gc_set_metatable(thread, -2);
  return object_at(thread, -1);
}

static void
assert_called(const int *expected, int count)
{
  assert_int_equal(call_count, count);
  for (int i = 0; i < count; i++) {
    assert_int_equal(called[i], expected[i]);
  }
  call_count = 0;
}

#define ASSERT_CALLED(...)                            \
  assert_called((const int[]){ __VA_ARGS__ },         \
                sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* ---- which objects --------------------------------------------------- */

/* Catches one of a reachable object, one called twice, and memory that goes in
 * the same cycle or never. */
static void
test_gc_finalizers_are_called_once_for_the_dead(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  const struct gc_object *object;

  reset();
  object = push_object(thread, 1, note);
  assert_int_equal(list_length(heap->finalizable), 1);
  collect(heap);
  collect(heap);
  assert_int_equal(call_count, 0);
  gc_pop(thread, 1);
  run_to(heap, GC_PHASE_FINALIZE);
  assert_int_equal(call_count, 0);
  assert_int_equal(list_length(heap->pending), 1);
  run_to(heap, GC_PHASE_PAUSE);
  ASSERT_CALLED(1);
  assert_false(gc_is_finalizing(heap));
  assert_true(is_in_list(heap->all, object));
  collect(heap);
  assert_int_equal(call_count, 0);
  assert_false(is_in_heap(heap, object));
  close_heap_of(thread);
  assert_int_equal(call_count, 0);
}

/* Catches a finalizer that is set too late and counts, one that is taken away
 * and is called, and objects marked twice. */
static void
test_gc_finalizers_are_marked_when_the_metatable_is_set(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  push_object(thread, 1, NULL); /* __gc comes later */
  gc_push_metatable(thread, -1);
  push_string(thread, "__gc");
  gc_push_native(thread, note);
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  gc_pop(thread, 2);
  push_object(thread, 2, note); /* __gc goes */
  gc_push_metatable(thread, -1);
  push_string(thread, "__gc");
  gc_push_nil(thread);
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  gc_pop(thread, 2);
  push_object(thread, 3, note); /* the metatable goes */
  gc_push_nil(thread);
  gc_set_metatable(thread, -2);
  gc_pop(thread, 1);
  push_object(thread, 4, note); /* set again */
  push_metatable(thread, note);
  gc_set_metatable(thread, -2);
  assert_int_equal(list_length(heap->finalizable), 3);
  gc_pop(thread, 1);
  collect(heap);
  ASSERT_CALLED(4);
  assert_int_equal(warn_count, 0);
  close_heap_of(thread);
  assert_int_equal(call_count, 0);
}

static void
note_userdata(struct gc_thread *thread)
{
  called[call_count++] = *(int *)gc_to_userdata(thread, 1);
}

/* Catches a kind of userdata that is left out. */
static void
test_gc_finalizers_of_userdata(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  for (int i = 0; i < 2; i++) {
    assert_int_equal(gc_new_userdata(thread, sizeof(int), (uint16_t)i),
                     GC_OK);
    *(int *)gc_to_userdata(thread, -1) = i;
    push_metatable(thread, note_userdata);
    gc_set_metatable(thread, -2);
    gc_pop(thread, 1);
  }
  collect(heap);
  ASSERT_CALLED(1, 0);
  close_heap_of(thread);
}

static int depth_seen;

static void
walk_chain(struct gc_thread *thread)
{
  depth_seen = 0;
  gc_push_copy(thread, 1);
  while (gc_type_of(thread, -1) == GC_TYPE_TABLE) {
    depth_seen++;
    gc_raw_geti(thread, -1, 2);
    gc_replace(thread, -2);
  }
}

/* Catches what is behind the object freed before the call. */
static void
test_gc_finalizers_find_all_that_the_object_refers_to(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  for (int i = 0; i < PHASES; i++) {
    depth_seen = 0;
    run_to(heap, phases[i]);
    push_object(thread, 1, walk_chain);
    gc_push_copy(thread, 1);
    for (int n = 0; n < 100; n++) {
      new_table(thread);
      gc_push_copy(thread, -1);
      set_field(thread, 2, 2);
      gc_replace(thread, 2);
    }
    gc_set_top(thread, 0);
    collect(heap);
    assert_int_equal(depth_seen, 101);
  }
  close_heap_of(thread);
}

/* ---- order ----------------------------------------------------------- */

/* Catches the order of creation, or of marking, unreversed. */
static void
test_gc_finalizers_are_called_last_marked_first(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  for (int i = 1; i <= 3; i++) {
    push_object(thread, i, NULL);
  }
  for (int i = 2; i >= 0; i--) { /* marked 2, 3, 1 */
    int index = i == 2 ? 2 : i == 1 ? 3 : 1;

    push_metatable(thread, note);
    gc_set_metatable(thread, index);
  }
  gc_set_top(thread, 0);
  collect(heap);
  ASSERT_CALLED(1, 3, 2);
  close_heap_of(thread);
}

/* A collection that separates and calls nothing: an emergency one. */
static void
collect_in_emergency(struct gc_thread *thread)
{
  struct host *host = gc_heap_of(thread)->user;

  host->fail_at = host->calls;
  new_table(thread);
  gc_pop(thread, 1);
  assert_true(host->calls > host->fail_at);
  check_heap(gc_heap_of(thread));
}

/* Catches a new batch that is called before the old one, and finalizers called
 * in an emergency. */
static void
test_gc_finalizers_of_an_older_batch_come_first(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  push_object(thread, 1, note);
  push_object(thread, 2, note);
  gc_pop(thread, 2);
  collect_in_emergency(thread);
  assert_int_equal(list_length(heap->pending), 2);
  push_object(thread, 3, note);
  push_object(thread, 4, note);
  gc_pop(thread, 2);
  collect_in_emergency(thread);
  assert_int_equal(list_length(heap->pending), 4);
  assert_int_equal(call_count, 0);
  push_object(thread, 5, note);
  gc_pop(thread, 1);
  collect(heap);
  ASSERT_CALLED(2, 1, 4, 3, 5);
  close_heap_of(thread);
}

/* Catches a step that calls more or less than a batch, and a wrong cost. */
static void
test_gc_finalizers_are_called_in_batches(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  for (int i = 0; i < 25; i++) {
    push_object(thread, i, note);
    gc_pop(thread, 1);
  }
  run_to(heap, GC_PHASE_FINALIZE);
  assert_int_equal(gc_micro_step(heap), 500);
  assert_int_equal(call_count, 10);
  assert_int_equal(gc_micro_step(heap), 500);
  assert_int_equal(gc_micro_step(heap), 250);
  assert_int_equal(call_count, 25);
  assert_int_equal(gc_phase_of(heap), GC_PHASE_FINALIZE);
  assert_int_equal(gc_micro_step(heap), 0);
  assert_int_equal(gc_phase_of(heap), GC_PHASE_PAUSE);
  close_heap_of(thread);
}

/* ---- phases ---------------------------------------------------------- */

/* Catches an object that is marked in mid-cycle and forgotten, freed or called
 * twice. */
static void
test_gc_finalizers_are_marked_in_each_phase(void **state)
{
  (void)state;
  for (int i = 0; i < PHASES; i++) {
    for (int age = 0; age < 3; age++) {
      struct host host;
      struct gc_heap *heap = open_heap(&host);
      struct gc_thread *thread = start(heap);

      reset();
      if (age == 0) {
        push_object(thread, 1, NULL); /* older than the cycle */
        new_table(thread);
      }
      run_to(heap, phases[i]);
      if (age > 0) {
        push_object(thread, 1, NULL);
      }
      if (age == 2) {
        gc_micro_step(heap);
      }
      push_metatable(thread, note);
      gc_set_metatable(thread, 1);
      check_heap(heap);
      gc_run_until(heap, GC_PHASE_PAUSE);
      check_heap(heap);
      collect(heap);
      assert_int_equal(call_count, 0);
      gc_set_top(thread, 0);
      collect(heap);
      ASSERT_CALLED(1);
      collect(heap);
      close_heap(heap, &host);
      assert_int_equal(call_count, 0);
    }
  }
}

/* Catches a sweep that goes on in another list: it stands on the object that is
 * moved, by the link in it. */
static void
test_gc_finalizers_are_marked_under_the_sweep(void **state)
{
  (void)state;
  for (int newer = 0; newer < 3; newer++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = start(heap);
    struct gc_object *object;

    reset();
    for (int i = 0; i < 500; i++) {
      new_table(thread);
      gc_pop(thread, 1);
    }
    push_metatable(thread, note);
    object = push_object(thread, 1, NULL);
    gc_push_nil(thread);
    gc_set_metatable(thread, 2);
    for (int i = 0; i < newer; i++) {
      new_table(thread);
    }
    run_to(heap, GC_PHASE_SWEEP);
    while (heap->sweep != &object->next) {
      gc_sweep_some(heap, 1);
    }
    gc_push_copy(thread, 1);
    gc_set_metatable(thread, 2);
    check_heap(heap);
    run_to(heap, GC_PHASE_PAUSE);
    assert_true(list_length(heap->all) < 100);
    assert_int_equal(list_length(heap->finalizable), 1);
    close_heap(heap, &host);
    ASSERT_CALLED(1);
  }
}

/* ---- what they may do ------------------------------------------------ */

static void
note_and_remark(struct gc_thread *thread)
{
  note(thread);
  gc_push_metatable(thread, 1);
  gc_set_metatable(thread, 1);
}

/* Catches a re-marking that is ignored, and one that never ends a cycle. */
static void
test_gc_finalizers_may_mark_again(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  push_object(thread, 1, note_and_remark);
  gc_pop(thread, 1);
  for (int i = 0; i < 3; i++) {
    collect(heap);
    ASSERT_CALLED(1);
  }
  close_heap_of(thread);
  ASSERT_CALLED(1);
}

static void
note_and_save(struct gc_thread *thread)
{
  note(thread);
  gc_push_copy(thread, 1);
  set_field(thread, GC_INDEX_REGISTRY, 10);
}

/* Catches a resurrected object that is freed, or called again. */
static void
test_gc_finalizers_may_resurrect(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  const struct gc_object *object;

  reset();
  object = push_object(thread, 1, note_and_save);
  gc_pop(thread, 1);
  collect(heap);
  collect(heap);
  ASSERT_CALLED(1);
  assert_true(is_in_list(heap->all, object));
  gc_push_nil(thread);
  set_field(thread, GC_INDEX_REGISTRY, 10);
  collect(heap);
  assert_false(is_in_heap(heap, object));
  close_heap_of(thread);
  assert_int_equal(call_count, 0);
}

static void
note_and_breed(struct gc_thread *thread)
{
  note(thread);
  push_object(thread, called[call_count - 1] + 1, NULL);
  gc_push_metatable(thread, 1);
  gc_set_metatable(thread, -2);
}

/* Catches a cycle that runs after its own children. */
static void
test_gc_finalizers_may_breed(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  push_object(thread, 1, note_and_breed);
  gc_pop(thread, 1);
  collect(heap);
  ASSERT_CALLED(1);
  collect(heap);
  ASSERT_CALLED(2);
  close_heap_of(thread);
  ASSERT_CALLED(3);
}

static void
try_the_collector(struct gc_thread *thread)
{
  struct gc_heap *heap = gc_heap_of(thread);
  enum gc_phase phase = gc_phase_of(heap);
  size_t bytes = gc_bytes(heap);

  note(thread);
  gc_collect(heap);
  assert_false(gc_step(heap, 0));
  assert_false(gc_step(heap, 1000000));
  assert_int_equal(gc_micro_step(heap), 0);
  assert_int_equal(gc_set_mode(heap, GC_MODE_GENERATIONAL),
                   GC_MODE_INCREMENTAL);
  assert_int_equal(gc_mode_of(heap), GC_MODE_INCREMENTAL);
  gc_set_parameter(heap, GC_PARAMETER_PAUSE, 1000);
  assert_int_equal(gc_parameter(heap, GC_PARAMETER_PAUSE), 200);
  gc_restart(heap);
  assert_true(gc_is_stopped(heap));
  for (int i = 0; i < 1000; i++) {
    new_table(thread);
    gc_pop(thread, 1);
  }
  assert_int_equal(gc_phase_of(heap), phase);
  assert_true(gc_bytes(heap) >= bytes + 1000 * sizeof(struct gc_table));
  assert_int_equal(call_count, 1);
}

/* Catches a collection inside a finalizer, asked for or paced. */
static void
test_gc_finalizers_cannot_run_the_collector(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  push_object(thread, 9, note);
  push_object(thread, 1, try_the_collector);
  gc_pop(thread, 2);
  run_to(heap, GC_PHASE_FINALIZE);
  gc_micro_step(heap);
  ASSERT_CALLED(1, 9);
  close_heap_of(thread);
}

static void
meet_an_emergency(struct gc_thread *thread)
{
  note(thread);
  collect_in_emergency(thread);
  assert_true(gc_is_finalizing(gc_heap_of(thread)));
}

/* Catches an emergency inside a finalizer that calls the next ones from there,
 * loses them, or leaves the heap in disorder. */
static void
test_gc_finalizers_may_meet_an_emergency(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  push_object(thread, 3, note);
  push_object(thread, 2, meet_an_emergency);
  push_object(thread, 1, note);
  gc_pop(thread, 3);
  collect(heap);
  ASSERT_CALLED(1, 2, 3);
  collect(heap);
  close_heap_of(thread);
}

static void
try_to_yield(struct gc_thread *thread)
{
  note(thread);
  assert_int_equal(gc_yield(thread, 0), GC_ERROR);
  gc_push_integer(thread, 1);
  gc_raise(thread);
}

/* Catches a finalizer that does not run on the running coroutine, or suspends
 * it. */
static void
test_gc_finalizers_cannot_yield(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  struct gc_thread *coroutine;

  reset();
  push_object(thread, 1, try_to_yield);
  gc_pop(thread, 1);
  gc_push_native(thread, note);
  assert_int_equal(gc_new_thread(thread), GC_OK);
  coroutine = gc_to_thread(thread, 1);
  assert_int_equal(gc_resume(thread, 0, 2), GC_OK);
  collect(heap);
  ASSERT_CALLED(1);
  assert_ptr_equal(gc_running_thread(heap), coroutine);
  assert_int_equal(gc_top(coroutine), 2);
  assert_int_equal(gc_yield(coroutine, 0), GC_OK);
  close_heap_of(thread);
}

/* ---- errors ---------------------------------------------------------- */

static void
fail_plainly(struct gc_thread *thread)
{
  note(thread);
  push_string(thread, "no luck");
  assert_int_equal(gc_raise(thread), GC_ERROR);
}

static void
fail_with_table(struct gc_thread *thread)
{
  note(thread);
  new_table(thread);
  assert_int_equal(gc_raise(thread), GC_ERROR);
}

/* Raised two frames up. */
static void
fail_deeply(struct gc_thread *thread)
{
  uint32_t depth = gc_frame_depth(thread);

  note(thread);
  gc_push_native(thread, note);
  assert_int_equal(gc_enter(thread, 0, 0, 3, 0), GC_OK);
  gc_push_native(thread, note);
  assert_int_equal(gc_enter(thread, 0, 0, 3, 0), GC_OK);
  push_string(thread, "no luck at all");
  assert_int_equal(gc_raise(thread), GC_ERROR);
  assert_int_equal(gc_frame_depth(thread), depth);
}

/* Caught inside. */
static void
recover(struct gc_thread *thread)
{
  note(thread);
  gc_push_native(thread, note);
  assert_int_equal(gc_enter(thread, 0, 0, 3, GC_FRAME_PROTECTED), GC_OK);
  push_string(thread, "no harm");
  assert_int_equal(gc_raise(thread), GC_OK);
}

static struct gc_heap *
open_warning(struct host *host)
{
  struct gc_config config = { .allocate = host_allocate,
                              .user = host,
                              .warn = note_warning };
  struct gc_heap *heap;

  *host = (struct host){ .fail_at = SIZE_MAX };
  heap = gc_open(&config);
  assert_non_null(heap);
  return heap;
}

/* Catches an error that gets out, is not told, or takes others with it. */
static void
test_gc_finalizers_errors_become_warnings(void **state)
{
  static const struct {
    gc_native finalizer;
    const char *warning;
  } cases[] = {
    { fail_plainly, "error in __gc (no luck)" },
    { fail_with_table, "error in __gc (error object is not a string)" },
    { fail_deeply, "error in __gc (no luck at all)" },
    { recover, NULL },
  };

  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct host host;
    struct gc_heap *heap = open_warning(&host);
    struct gc_thread *thread = start(heap);

    reset();
    gc_push_native(thread, note);
    assert_int_equal(gc_enter(thread, 0, 0, 2, GC_FRAME_PROTECTED), GC_OK);
    push_object(thread, 3, note);
    push_object(thread, 2, cases[i].finalizer);
    push_object(thread, 1, note);
    gc_pop(thread, 3);
    collect(heap);
    ASSERT_CALLED(1, 2, 3);
    assert_int_equal(warn_count, cases[i].warning != NULL);
    if (cases[i].warning != NULL) {
      assert_string_equal(warned, cases[i].warning);
    }
    assert_int_equal(gc_frame_depth(thread), 2);
    assert_int_equal(gc_top(thread), 2);
    close_heap(heap, &host);
    assert_int_equal(call_count, 0);
  }
}

/* Catches a __gc that cannot be called and is not told, or stops the others. */
static void
test_gc_finalizers_that_cannot_be_called(void **state)
{
  struct host host;
  struct gc_heap *heap = open_warning(&host);
  struct gc_thread *thread = start(heap);
  const struct gc_object *object;

  (void)state;
  reset();
  push_object(thread, 2, note);
  object = push_object(thread, 1, note);
  gc_push_metatable(thread, -1);
  push_string(thread, "__gc");
  gc_push_boolean(thread, false);
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  gc_set_top(thread, 0);
  collect(heap);
  ASSERT_CALLED(2);
  assert_int_equal(warn_count, 1);
  assert_string_equal(warned, "error in __gc (not callable)");
  assert_true(is_in_list(heap->all, object));
  collect(heap);
  assert_int_equal(warn_count, 1);
  close_heap(heap, &host);
}

/* ---- room ------------------------------------------------------------ */

/* Catches finalizers that are lost when there is no memory for their frame. */
static void
test_gc_finalizers_wait_for_room(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  struct host *host = heap->user;

  reset();
  gc_push_native(thread, note);
  assert_int_equal(gc_enter(thread, 0, 0, 2, 0), GC_OK);
  push_object(thread, 1, note);
  gc_pop(thread, 1);
  run_to(heap, GC_PHASE_FINALIZE);
  host->fail_at = host->calls;
  host->fail_more = SIZE_MAX;
  gc_micro_step(heap);
  assert_int_equal(gc_phase_of(heap), GC_PHASE_PAUSE);
  assert_int_equal(call_count, 0);
  assert_int_equal(list_length(heap->pending), 1);
  collect(heap);
  assert_int_equal(call_count, 0);
  host->fail_at = SIZE_MAX;
  collect(heap);
  ASSERT_CALLED(1);
  close_heap_of(thread);
}

/* ---- closing --------------------------------------------------------- */

static void
note_and_mark_others(struct gc_thread *thread)
{
  note(thread);
  gc_collect(gc_heap_of(thread));
  push_object(thread, 100, note);
  gc_push_metatable(thread, 1);
  gc_set_metatable(thread, 1);
}

/* Catches finalizers that closing forgets, calls twice, or calls for what is
 * marked while it runs; in each phase. */
static void
test_gc_finalizers_are_called_at_close(void **state)
{
  (void)state;
  for (int i = 0; i < PHASES; i++) {
    for (int mode = 0; mode < 2; mode++) {
      struct host host;
      struct gc_heap *heap = open_warning(&host);
      struct gc_thread *thread = start(heap);

      reset();
      push_object(thread, 1, note);
      push_object(thread, 2, note_and_mark_others);
      push_object(thread, 3, fail_plainly);
      if (mode == 1) {
        gc_set_mode(heap, GC_MODE_GENERATIONAL);
      }
      push_object(thread, 4, note);
      push_object(thread, 5, note);
      push_object(thread, 7, meet_an_emergency);
      gc_pop(thread, 2);
      if (mode == 0) {
        run_to(heap, phases[i]);
      }
      if (heap->sweep != NULL && *heap->sweep != NULL) {
        gc_sweep_some(heap, 1); /* stands in the list that is closed */
      }
      push_object(thread, 6, note);
      close_heap(heap, &host);
      if (mode == 0 && phases[i] >= GC_PHASE_SWEEP) {
        ASSERT_CALLED(7, 5, 6, 4, 3, 2, 1);
      } else {
        ASSERT_CALLED(6, 7, 5, 4, 3, 2, 1);
      }
      assert_int_equal(warn_count, 1);
    }
  }
}

static int chain_calls;

static void
count(struct gc_thread *thread)
{
  (void)thread;
  chain_calls++;
}

/* Pushes the head of a chain of finalizable userdata. */
static void
push_chain(struct gc_thread *thread, int length)
{
  push_metatable(thread, count);
  gc_push_nil(thread);
  for (int i = 0; i < length; i++) {
    assert_int_equal(gc_new_userdata(thread, 0, 1), GC_OK);
    gc_push_copy(thread, -2);
    assert_true(gc_set_user_value(thread, -2, 0));
    gc_push_copy(thread, 1);
    gc_set_metatable(thread, -2);
    gc_replace(thread, -2);
  }
}

/* Catches recursion over what is resurrected, called and freed. */
static void
test_gc_finalizers_of_a_long_chain(void **state)
{
  enum { LENGTH = 1000000 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = start(heap);

  (void)state;
  chain_calls = 0;
  push_chain(thread, LENGTH);
  close_heap(heap, &host);
  assert_int_equal(chain_calls, LENGTH);
  heap = open_heap(&host);
  thread = start(heap);
  chain_calls = 0;
  push_chain(thread, LENGTH);
  gc_set_top(thread, 0);
  gc_collect(heap);
  assert_int_equal(chain_calls, LENGTH);
  gc_collect(heap);
  assert_null(heap->finalizable);
  close_heap(heap, &host);
  assert_int_equal(chain_calls, LENGTH);
}

/* ---- generations ----------------------------------------------------- */

/* Catches finalizers that minor collections forget, or call for the old. */
static void
test_gc_finalizers_in_minor_collections(void **state)
{
  (void)state;
  for (int age = 0; age < 5; age++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = start(heap);

    reset();
    gc_set_mode(heap, GC_MODE_GENERATIONAL);
    push_object(thread, 1, note);
    for (int i = 0; i < age; i++) {
      gc_micro_step(heap);
    }
    gc_pop(thread, 1);
    gc_micro_step(heap);
    assert_int_equal(call_count, age < 2);
    gc_collect(heap);
    gc_collect(heap);
    ASSERT_CALLED(1);
    close_heap(heap, &host);
  }
}

static void
remark_in_an_emergency(struct gc_thread *thread)
{
  note_and_remark(thread);
  collect_in_emergency(thread);
}

/* Catches finalizers that keep each other going for ever: each marks its object
 * again, and the emergency collection inside the next one finds that dead. */
static void
test_gc_finalizers_do_not_keep_each_other_going(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  reset();
  gc_set_mode(heap, GC_MODE_GENERATIONAL);
  push_object(thread, 1, remark_in_an_emergency);
  push_object(thread, 2, remark_in_an_emergency);
  gc_pop(thread, 2);
  gc_micro_step(heap);
  ASSERT_CALLED(2, 1);
  gc_micro_step(heap);
  assert_true(call_count >= 1 && call_count <= 2);
  call_count = 0;
  close_heap_of(thread);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    WITH_HEAP(test_gc_finalizers_are_called_once_for_the_dead),
    WITH_HEAP(test_gc_finalizers_are_marked_when_the_metatable_is_set),
    WITH_HEAP(test_gc_finalizers_of_userdata),
    WITH_HEAP(test_gc_finalizers_find_all_that_the_object_refers_to),
    WITH_HEAP(test_gc_finalizers_are_called_last_marked_first),
    WITH_HEAP(test_gc_finalizers_of_an_older_batch_come_first),
    WITH_HEAP(test_gc_finalizers_are_called_in_batches),
    cmocka_unit_test(test_gc_finalizers_are_marked_in_each_phase),
    cmocka_unit_test(test_gc_finalizers_are_marked_under_the_sweep),
    WITH_HEAP(test_gc_finalizers_may_mark_again),
    WITH_HEAP(test_gc_finalizers_may_resurrect),
    WITH_HEAP(test_gc_finalizers_may_breed),
    WITH_HEAP(test_gc_finalizers_cannot_run_the_collector),
    WITH_HEAP(test_gc_finalizers_may_meet_an_emergency),
    WITH_HEAP(test_gc_finalizers_cannot_yield),
    cmocka_unit_test(test_gc_finalizers_errors_become_warnings),
    cmocka_unit_test(test_gc_finalizers_that_cannot_be_called),
    WITH_HEAP(test_gc_finalizers_wait_for_room),
    cmocka_unit_test(test_gc_finalizers_are_called_at_close),
    cmocka_unit_test(test_gc_finalizers_of_a_long_chain),
    cmocka_unit_test(test_gc_finalizers_in_minor_collections),
    WITH_HEAP(test_gc_finalizers_do_not_keep_each_other_going),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
