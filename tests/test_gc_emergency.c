/* SPDX-License-Identifier: MIT
 *
 * Emergency collections: an allocation that the host refuses makes a full
 * collection and is tried once more. Each function of gc.h that may allocate
 * is called with each of its allocations refused once, in each phase that a
 * mutator can see: it does what it should, and what it had made by then is
 * there. A stale pointer is seen because freed blocks are not given out again
 * soon by a sanitizer's allocator.
 */
#include "tests/gc_scenarios.h"

/* ---- what events say ------------------------------------------------- */

struct watcher {
  struct gc_listener listener;
  unsigned begun, ended; /* emergency collections */
  unsigned steps;        /* inside of them */
  unsigned births;       /* inside of them */
  const struct gc_object *doomed;
  bool is_dead; /* doomed has been freed inside of one */
};

/* Those of the heap that was opened last. */
static struct host host;
static struct watcher watcher;

static void
watch(struct gc_listener *listener, const struct gc_event *event)
{
  bool inside = watcher.begun > watcher.ended;

  (void)listener;
  switch ((enum gc_event_type)event->type) {
  case GC_EVENT_EMERGENCY:
    assert_int_equal(event->to, !inside);
    if (event->to) {
      watcher.begun++;
    } else {
      watcher.ended++;
    }
    break;
  case GC_EVENT_STEP_BEGIN:
    watcher.steps += inside;
    break;
  case GC_EVENT_BIRTH:
    watcher.births += inside;
    break;
  case GC_EVENT_DEATH:
    watcher.is_dead |= inside && event->object == watcher.doomed;
    break;
  default:
    break;
  }
}

static struct gc_heap *
open_watched(void)
{
  struct gc_heap *heap;

  watcher = (struct watcher){ .listener = { .event = watch } };
  heap = open_with(&host, &watcher.listener, NULL);
  assert_non_null(heap);
  assert_int_equal(watcher.begun, 0);
  return heap;
}

static void
assert_emergencies(unsigned count)
{
  assert_int_equal(watcher.begun, count);
  assert_int_equal(watcher.ended, count);
  assert_int_equal(watcher.births, 0);
  assert_int_equal(watcher.steps > 0, count > 0);
}

/* A test whose heap is watched; the collector is stopped. */
#define WITH_WATCHED(test) cmocka_unit_test_setup(test, set_up_watched)

static int
set_up_watched(void **state)
{
  struct gc_heap *heap = open_watched();

  gc_stop(heap);
  *state = gc_main_thread(heap);
  return 0;
}

/* ---- one refusal, everywhere ----------------------------------------- */

/* Where in a cycle an operation is made. */
struct spot {
  enum gc_phase phase;
  int steps; /* after it was reached */
};

static const struct spot spots[] = {
  { GC_PHASE_PAUSE, 0 },          { GC_PHASE_PROPAGATE, 0 },
  { GC_PHASE_PROPAGATE, 1 },      { GC_PHASE_PROPAGATE, 2 },
  { GC_PHASE_PROPAGATE, 4 },      { GC_PHASE_PROPAGATE, 7 },
  { GC_PHASE_ENTER_ATOMIC, 0 },   { GC_PHASE_SWEEP, 0 },
  { GC_PHASE_SWEEP_FINALIZABLE, 0 }, { GC_PHASE_SWEEP_PENDING, 0 },
  { GC_PHASE_SWEEP_END, 0 },      { GC_PHASE_FINALIZE, 0 },
};

enum { SPOTS = sizeof(spots) / sizeof(spots[0]) };

static void
go_to(struct gc_heap *heap, const struct spot *spot)
{
  gc_run_until(heap, spot->phase);
  for (int i = 0; i < spot->steps; i++) {
    gc_micro_step(heap);
  }
}

/* Runs a scenario with its k-th allocation refused once. false if it does not
 * make that many. */
static bool
is_cured(const struct scenario *scenario, const struct spot *spot, size_t k)
{
  struct gc_heap *heap = open_watched();
  struct gc_thread *thread = gc_main_thread(heap);
  uint64_t before;
  bool reached;

  scenario->prepare(thread);
  gc_stop(heap);
  go_to(heap, spot);
  before = heap_print(heap);
  host.fail_at = host.calls + k;
  assert_int_equal(scenario->act(thread), GC_OK);
  reached = host.calls > host.fail_at;
  assert_emergencies(reached);
  assert_true(gc_is_stopped(heap));
  assert_false(heap->emergency);
  assert_true(heap_print(heap) != before || scenario->act == act_reserve);
  check_heap(heap);
  gc_collect(heap);
  check_heap(heap);
  close_heap(heap, &host);
  return reached;
}

/* Catches what is not anchored between two allocations, a visit of what is
 * half built, a stale count, a missing second try. */
static void
test_gc_emergency_cures_each_allocation(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
    for (size_t spot = 0; spot < SPOTS; spot++) {
      size_t k = 0;

      while (is_cured(&scenarios[i], &spots[spot], k)) {
        k++;
      }
      if (k < scenarios[i].failures) {
        print_error("%s: %zu allocations\n", scenarios[i].name, k);
      }
      assert_true(k >= scenarios[i].failures);
    }
  }
}

/* The same in generational mode, after some minor collections: what the
 * operation makes before the refusal is old after the emergency collection,
 * what it makes later is new. */
static bool
is_cured_among_old(const struct scenario *scenario, int minors, size_t k)
{
  struct gc_heap *heap = open_watched();
  struct gc_thread *thread = gc_main_thread(heap);
  uint64_t after;
  bool reached;

  gc_stop(heap);
  scenario->prepare(thread);
  gc_set_mode(heap, GC_MODE_GENERATIONAL);
  for (int i = 0; i < minors; i++) {
    gc_micro_step(heap);
  }
  host.fail_at = host.calls + k;
  assert_int_equal(scenario->act(thread), GC_OK);
  reached = host.calls > host.fail_at;
  assert_emergencies(reached);
  assert_int_equal(heap->cycle_mode, GC_MODE_GENERATIONAL);
  check_mode(heap);
  after = heap_print(heap);
  for (int i = 0; i < 3; i++) {
    gc_micro_step(heap);
    check_mode(heap);
    assert_true(heap_print(heap) == after);
  }
  close_heap(heap, &host);
  return reached;
}

/* Catches a store into what a collection in its midst has made old, without a
 * barrier. */
static void
test_gc_emergency_cures_among_old_objects(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
    for (int minors = 0; minors < 4; minors++) {
      for (size_t k = 0; is_cured_among_old(&scenarios[i], minors, k); k++) {
      }
    }
  }
}

/* Catches a rehash that mixes what was before a collection with what was
 * after it. */
static void
test_gc_emergency_keeps_contents(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  new_table(thread);
  for (int i = 1; i <= 200; i++) {
    char text[32];

    snprintf(text, sizeof(text), "value %d", i);
    host.fail_at = host.calls + (size_t)(i % 3);
    push_string(thread, text);
    ok(gc_raw_seti(thread, 1, i % 2 == 0 ? i : -i));
    host.fail_at = SIZE_MAX;
  }
  for (int i = 1; i <= 200; i++) {
    char text[32];
    const char *found;

    snprintf(text, sizeof(text), "value %d", i);
    gc_raw_geti(thread, 1, i % 2 == 0 ? i : -i);
    found = gc_to_string(thread, -1, NULL);
    assert_string_equal(found, text);
    gc_pop(thread, 1);
  }
  assert_true(watcher.begun > 50);
  check_heap(heap);
  close_heap_of(thread);
}

/* ---- what an emergency collection does ------------------------------- */

/* Catches one that frees too little: with little room, what is garbage makes
 * place for what is wanted, again and again, though the collector is
 * stopped. */
static void
test_gc_emergency_frees_garbage(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  host.limit = host.bytes + 20000;
  for (int i = 0; i < 200; i++) {
    ok(gc_new_userdata(thread, 1000, 1));
    gc_pop(thread, 1);
    if (i % 10 == 0) {
      gc_micro_step(heap);
    }
  }
  assert_true(watcher.begun >= 200 * 1000 / 20000 - 1);
  assert_true(watcher.begun < 30);
  assert_true(gc_is_stopped(heap));
  close_heap_of(thread);
}

/* Catches one that does not free what the mark under way has reached. */
static void
test_gc_emergency_frees_what_was_marked(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  new_table(thread);
  watcher.doomed = object_at(thread, 1);
  go_to(heap, &(struct spot){ .phase = GC_PHASE_ENTER_ATOMIC });
  assert_true(gc_is_black(watcher.doomed));
  gc_pop(thread, 1);
  host.fail_at = host.calls;
  ok(gc_new_userdata(thread, 10, 0));
  assert_emergencies(1);
  assert_true(watcher.is_dead); /* what was made may lie where it lay */
  assert_int_equal(gc_phase_of(heap), GC_PHASE_PAUSE);
  close_heap_of(thread);
}

/* Catches stacks and a string table that shrink in it, and such that do not
 * any more afterwards. */
static void
test_gc_emergency_shrinks_nothing(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  uint32_t slots, buckets;

  gc_push_native(thread, do_nothing);
  ok(gc_enter(thread, 0, 0, 3000, 0));
  gc_leave(thread, 0);
  for (int i = 0; i < 3000; i++) {
    char text[32];

    snprintf(text, sizeof(text), "string %d", i);
    push_string(thread, text);
    gc_pop(thread, 1);
  }
  slots = thread->stack_size;
  buckets = heap->strings.bucket_count;
  host.fail_at = host.calls;
  new_table(thread);
  assert_emergencies(1);
  assert_true(heap->strings.count < 20);
  assert_int_equal(thread->stack_size, slots);
  assert_int_equal(heap->strings.bucket_count, buckets);
  gc_collect(heap);
  assert_true(thread->stack_size < slots);
  assert_true(heap->strings.bucket_count < buckets);
  close_heap_of(thread);
}

/* Catches an emergency collection that begins inside a step, where stacks and
 * the string table ask for smaller blocks. */
static void
test_gc_emergency_not_inside_steps(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  size_t calls;

  gc_push_native(thread, do_nothing);
  ok(gc_enter(thread, 0, 0, 3000, 0));
  gc_leave(thread, 0);
  calls = host.calls;
  host.fail_at = calls;
  host.fail_more = SIZE_MAX;
  gc_collect(heap);
  assert_true(host.calls > calls);
  assert_emergencies(0);
  assert_true(thread->stack_size > 3000);
  close_heap_of(thread);
}

/* Catches one that begins before there is a heap to collect. */
static void
test_gc_emergency_not_while_opening(void **state)
{
  struct gc_heap *heap = NULL;

  (void)state;
  for (size_t k = 0; heap == NULL; k++) {
    struct gc_config config = { .allocate = host_allocate,
                                .user = &host,
                                .listener = &watcher.listener };

    host = (struct host){ .fail_at = k };
    watcher = (struct watcher){ .listener = { .event = watch } };
    heap = gc_open(&config);
    assert_int_equal(watcher.begun, 0);
    if (heap == NULL) {
      assert_int_equal(host.calls, k + 1);
      assert_int_equal(host.bytes, 0);
    } else {
      assert_true(host.calls <= k);
      close_heap(heap, &host);
    }
  }
}

/* Catches a credit of all that was freed: the next cycle is due when the heap
 * has grown by what lives, as after any other. */
static void
test_gc_emergency_sets_the_pace(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  for (int i = 0; i < 100; i++) {
    ok(gc_new_userdata(thread, 1000, 0));
    gc_pop(thread, 1);
  }
  gc_restart(heap);
  host.fail_at = host.calls;
  ok(gc_new_userdata(thread, 10, 0));
  assert_emergencies(1);
  assert_true(heap->debt < 0);
  assert_true(heap->debt > -2 * (int64_t)gc_bytes(heap));
  assert_false(gc_is_stopped(heap));
  close_heap_of(thread);
}

/* ---- particular places ----------------------------------------------- */

/* Catches an interned string of the second try that is not the one that a
 * later push finds: the table has grown, and lost strings, in between. */
static void
test_gc_emergency_keeps_strings_interned(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  uint32_t buckets;

  prepare_full_strings(thread);
  buckets = heap->strings.bucket_count;
  host.fail_at = host.calls;
  push_string(thread, "wanted");
  assert_emergencies(1);
  assert_int_equal(heap->strings.bucket_count, 2 * buckets);
  assert_int_equal(heap->strings.count, GC_NAME_COUNT + 1);
  push_string(thread, "wanted");
  assert_ptr_equal(object_at(thread, 1), object_at(thread, 2));
  close_heap_of(thread);
}

/* Catches room that is made, and a collection with it, between the finding of a
 * dead string and its resurrection. */
static void
test_gc_emergency_not_for_what_is_found(void **state)
{
  struct gc_thread *thread = *state;

  prepare_full_strings(thread);
  host.fail_at = host.calls;
  push_string(thread, "filler 0");
  assert_string_equal(gc_to_string(thread, 1, NULL), "filler 0");
  assert_emergencies(0);
  close_heap_of(thread);
}

/* Catches an anchor that has no slot in a full frame, and a result that takes
 * the wrong one. */
static void
test_gc_emergency_full_frame(void **state)
{
  struct gc_thread *thread = *state;

  ok(gc_new_prototype(thread, 2));
  ok(gc_reserve(thread, thread->stack_size - thread->top - 1));
  gc_set_top(thread, (int)(thread->frame->limit - thread->frame->base) - 2);
  gc_push_integer(thread, 1);
  gc_push_integer(thread, 2);
  assert_int_equal(thread->top, thread->frame->limit);
  host.fail_at = host.calls + 2;
  ok(gc_new_closure_over_values(thread, 1, 2));
  assert_emergencies(1);
  gc_get_upvalue(thread, -1, 0);
  assert_int_equal(gc_to_integer(thread, -1), 1);
  gc_pop(thread, 1);
  gc_get_upvalue(thread, -1, 1);
  assert_int_equal(gc_to_integer(thread, -1), 2);
  close_heap_of(thread);
}

/* ---- weak tables ----------------------------------------------------- */

/* A fresh table whose fresh metatable holds value as `name`; pops value. */
static void
push_with_metafield(struct gc_thread *thread, const char *name)
{
  new_table(thread);
  ok(gc_new_table(thread, 0, 1));
  push_string(thread, name);
  gc_push_copy(thread, -4);
  ok(gc_raw_set(thread, -3));
  gc_set_metatable(thread, -2);
  gc_replace(thread, -2);
}

static void
push_weak(struct gc_thread *thread, const char *mode)
{
  push_string(thread, mode);
  push_with_metafield(thread, "__mode");
}

/* Catches pairs that were copied before the collection that clears them: the
 * rehash allocates a hash part, then an array part. */
static void
test_gc_emergency_clears_in_a_rehash(void **state)
{
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    struct gc_heap *heap = open_watched();
    struct gc_thread *thread = gc_main_thread(heap);

    gc_stop(heap);
    push_weak(thread, "v");
    gc_push_integer(thread, 1);
    ok(gc_raw_seti(thread, 1, 1));
    push_string(thread, "lost");
    new_table(thread);
    ok(gc_raw_set(thread, 1));
    gc_push_integer(thread, 2);
    host.fail_at = host.calls + k;
    ok(gc_raw_seti(thread, 1, 2));
    assert_emergencies(1);
    push_string(thread, "lost");
    gc_raw_get(thread, 1);
    assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
    assert_int_equal(gc_length(thread, 1), 2);
    check_mode(heap);
    close_heap(heap, &host);
  }
}

/* Catches a store into a table that only weak entries led to, and that has
 * died in the middle of the store. */
static void
test_gc_emergency_holds_what_newindex_found(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  new_table(thread);
  push_weak(thread, "v");
  push_string(thread, "__newindex");
  new_table(thread);
  ok(gc_raw_set(thread, 2));
  gc_set_metatable(thread, 1);
  push_string(thread, "key");
  push_string(thread, "value");
  host.fail_at = host.calls;
  ok(gc_set(thread, 1));
  assert_emergencies(1);
  assert_int_equal(gc_top(thread), 1);
  check_mode(heap);
  gc_collect(heap);
  check_mode(heap);
  close_heap_of(thread);
}

/* ---- finalizers ------------------------------------------------------ */

static unsigned finalized;

static void
note_finalized(struct gc_thread *thread)
{
  assert_int_equal(gc_type_of(thread, 1), GC_TYPE_TABLE);
  finalized++;
}

/* Asks for memory, which is refused at first. */
static void
allocate_refused(struct gc_thread *thread)
{
  unsigned before = finalized;

  assert_true(gc_is_finalizing(gc_heap_of(thread)));
  host.fail_at = host.calls;
  ok(gc_new_table(thread, 4, 4));
  assert_int_equal(finalized, before);
  assert_true(gc_is_finalizing(gc_heap_of(thread)));
  note_finalized(thread);
}

static void
drop_finalizable(struct gc_thread *thread, gc_native finalizer)
{
  gc_push_native(thread, finalizer);
  push_with_metafield(thread, "__gc");
  gc_pop(thread, 1);
}

/* Catches finalizers that are called in an emergency, and such that are not
 * called any more after one: whatever the mode and the phase. */
static void
check_called_later(enum gc_mode mode, const struct spot *spot)
{
  enum { OBJECTS = 20 };
  struct gc_heap *heap = open_watched();
  struct gc_thread *thread = gc_main_thread(heap);

  finalized = 0;
  gc_stop(heap);
  for (int i = 0; i < OBJECTS; i++) {
    drop_finalizable(thread, note_finalized);
  }
  gc_set_mode(heap, mode);
  if (mode == GC_MODE_INCREMENTAL) {
    go_to(heap, spot);
  } else {
    for (int i = 0; i < OBJECTS; i++) {
      drop_finalizable(thread, note_finalized);
    }
  }
  gc_push_integer(thread, (int64_t)finalized);
  host.fail_at = host.calls;
  new_table(thread);
  assert_emergencies(1);
  assert_int_equal(gc_to_integer(thread, 1), finalized);
  assert_true(heap->pending != NULL || finalized == OBJECTS);
  check_mode(heap);
  gc_collect(heap);
  assert_null(heap->pending);
  assert_int_equal(finalized,
                   mode == GC_MODE_INCREMENTAL ? OBJECTS : 2 * OBJECTS);
  close_heap(heap, &host);
}

static void
test_gc_emergency_calls_no_finalizer(void **state)
{
  (void)state;
  for (size_t spot = 0; spot < SPOTS; spot++) {
    check_called_later(GC_MODE_INCREMENTAL, &spots[spot]);
  }
  check_called_later(GC_MODE_GENERATIONAL, NULL);
}

/* Catches an emergency inside a finalizer that is not dealt with, that calls
 * another finalizer, or after which the others are forgotten. */
static void
test_gc_emergency_inside_finalizers(void **state)
{
  (void)state;
  for (int mode = GC_MODE_INCREMENTAL; mode <= GC_MODE_GENERATIONAL; mode++) {
    struct gc_heap *heap = open_watched();
    struct gc_thread *thread = gc_main_thread(heap);

    finalized = 0;
    gc_stop(heap);
    gc_set_mode(heap, mode);
    for (int i = 0; i < 5; i++) {
      drop_finalizable(thread, note_finalized);
      drop_finalizable(thread, allocate_refused);
    }
    gc_collect(heap);
    check_mode(heap);
    assert_int_equal(finalized, 10);
    assert_emergencies(5);
    assert_true(gc_is_stopped(heap));
    assert_int_equal(gc_top(thread), 0);
    gc_collect(heap);
    assert_int_equal(finalized, 10);
    close_heap(heap, &host);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_emergency_cures_each_allocation),
    cmocka_unit_test(test_gc_emergency_cures_among_old_objects),
    WITH_WATCHED(test_gc_emergency_keeps_contents),
    WITH_WATCHED(test_gc_emergency_frees_garbage),
    WITH_WATCHED(test_gc_emergency_frees_what_was_marked),
    WITH_WATCHED(test_gc_emergency_shrinks_nothing),
    WITH_WATCHED(test_gc_emergency_not_inside_steps),
    cmocka_unit_test(test_gc_emergency_not_while_opening),
    WITH_WATCHED(test_gc_emergency_sets_the_pace),
    WITH_WATCHED(test_gc_emergency_keeps_strings_interned),
    WITH_WATCHED(test_gc_emergency_not_for_what_is_found),
    WITH_WATCHED(test_gc_emergency_full_frame),
    cmocka_unit_test(test_gc_emergency_clears_in_a_rehash),
    WITH_WATCHED(test_gc_emergency_holds_what_newindex_found),
    cmocka_unit_test(test_gc_emergency_calls_no_finalizer),
    cmocka_unit_test(test_gc_emergency_inside_finalizers),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
