/* SPDX-License-Identifier: MIT
 *
 * The collector half of src/gc: opening and closing, the cycle, barriers,
 * sizes of steps, pacing. Events are in test_gc_random.c.
 */
#include "tests/gc_drive.h"

/* ---- driving a heap -------------------------------------------------- */

/* Micro-steps until the object is black. */
static void
run_to_black(struct gc_heap *heap, const struct gc_object *object)
{
  run_to(heap, GC_PHASE_PROPAGATE);
  for (int i = 0; i < 100000 && !gc_is_black(object); i++) {
    assert_int_equal(gc_phase_of(heap), GC_PHASE_PROPAGATE);
    gc_micro_step(heap);
  }
  assert_true(gc_is_black(object));
}

/* Makes a bit of everything and leaves it on the stack: 1 a table, 2 a
 * userdata with a user value, 3 a native closure, 4 a Lua closure over an
 * open upvalue (slot 1), 5 a coroutine, 6 a closure over a closed one. */
static void
make_of_each_kind(struct gc_thread *thread)
{
  struct gc_capture capture = { .in_stack = true, .index = 1 };

  new_table(thread);
  push_string(thread, "a long string, of more than forty bytes in all");
  set_field(thread, 1, 1);
  assert_int_equal(gc_new_userdata(thread, 24, 1), GC_OK);
  new_table(thread);
  assert_true(gc_set_user_value(thread, 2, 0));
  new_table(thread);
  assert_int_equal(gc_new_native_closure(thread, NULL, 1), GC_OK);
  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
  push_string(thread, "constant");
  assert_int_equal(gc_prototype_add_constant(thread, 4), GC_OK);
  assert_int_equal(gc_new_closure(thread, 4, &capture, 1), GC_OK);
  gc_replace(thread, 4);
  gc_push_copy(thread, 4);
  assert_int_equal(gc_new_thread(thread), GC_OK);
  new_table(thread);
  assert_int_equal(gc_new_closure_over_values(thread, 4, 1), GC_OK);
  assert_int_equal(gc_top(thread), 6);
}

/* ---- opening and closing --------------------------------------------- */

static void
test_gc_collector_open_gives_a_heap_at_rest(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  assert_int_equal(gc_phase_of(heap), GC_PHASE_PAUSE);
  assert_ptr_equal(gc_running_thread(heap), gc_main_thread(heap));
  assert_int_equal(gc_top(gc_main_thread(heap)), 0);
  assert_int_equal(list_length(heap->fixed), GC_NAME_COUNT);
  check_heap(heap);
  close_heap(heap, &host);
}

static void
test_gc_collector_open_refuses_unknown_names(void **state)
{
  struct host host = { .fail_at = SIZE_MAX };
  struct gc_config config = { .allocate = host_allocate, .user = &host };

  (void)state;
  config.dialect = "lua99";
  assert_null(gc_open(&config));
  config.dialect = "lua54";
  config.fault = "no-such-fault";
  assert_null(gc_open(&config));
  assert_int_equal(host.calls, 0);
  gc_close(NULL);
}

/* Catches a leak, or the use of what is not there yet, wherever opening can
 * run out of memory. */
static void
test_gc_collector_open_fails_at_each_allocation(void **state)
{
  struct host host = { .fail_at = SIZE_MAX };
  struct gc_config config = { .allocate = host_allocate, .user = &host };
  struct gc_heap *heap = gc_open(&config);
  size_t calls = host.calls;

  (void)state;
  close_heap(heap, &host);
  assert_true(calls > 5);
  for (size_t k = 0; k < calls; k++) {
    host = (struct host){ .fail_at = k };
    heap = gc_open(&config);
    if (heap != NULL) {
      close_heap(heap, &host); /* a failure that opening tolerates */
    }
    assert_int_equal(host.bytes, 0);
    assert_int_equal(host.blocks, 0);
  }
}

static void
test_gc_collector_close_leaves_nothing_in_any_phase(void **state)
{
  (void)state;
  for (int phase = GC_PHASE_PAUSE; phase <= GC_PHASE_FINALIZE; phase++) {
    struct host host;
    struct gc_heap *heap;

    if (phase == GC_PHASE_ATOMIC) {
      continue;
    }
    heap = open_heap(&host);
    make_of_each_kind(gc_main_thread(heap));
    run_to(heap, (enum gc_phase)phase);
    new_table(gc_main_thread(heap));
    push_string(gc_main_thread(heap), "one more");
    close_heap(heap, &host);
  }
}

/* ---- cycles ---------------------------------------------------------- */

static void
test_gc_collector_cycle_goes_through_all_phases(void **state)
{
  static const uint8_t order[]
      = { GC_PHASE_PAUSE,         GC_PHASE_PROPAGATE,
          GC_PHASE_ENTER_ATOMIC,  GC_PHASE_SWEEP,
          GC_PHASE_SWEEP_FINALIZABLE, GC_PHASE_SWEEP_PENDING,
          GC_PHASE_SWEEP_END,     GC_PHASE_FINALIZE,
          GC_PHASE_PAUSE };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  size_t at = 0;

  (void)state;
  gc_stop(heap);
  make_of_each_kind(gc_main_thread(heap));
  while (at + 1 < sizeof(order)) {
    assert_int_equal(gc_phase_of(heap), order[at]);
    gc_micro_step(heap);
    check_heap(heap);
    if (gc_phase_of(heap) != order[at]) {
      at++;
    }
  }
  close_heap(heap, &host);
}

static void
test_gc_collector_cycle_frees_garbage_and_keeps_the_rest(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *kept;
  const struct gc_object *lost;

  (void)state;
  gc_stop(heap);
  make_of_each_kind(thread);
  new_table(thread);
  kept = object_at(thread, -1);
  set_field(thread, 1, 7);
  new_table(thread);
  lost = object_at(thread, -1);
  gc_pop(thread, 1);
  run_to(heap, GC_PHASE_PROPAGATE);
  run_to(heap, GC_PHASE_PAUSE);
  assert_true(is_in_heap(heap, kept));
  assert_false(is_in_heap(heap, lost));
  gc_raw_geti(thread, 1, 7);
  assert_ptr_equal(object_at(thread, -1), kept);
  close_heap(heap, &host);
}

static void
test_gc_collector_collect_returns_to_the_bytes_before(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t before;

  (void)state;
  for (int i = 0; i < 10; i++) {
    gc_collect(heap); /* stack and string table get as small as they can */
  }
  before = gc_bytes(heap);
  make_of_each_kind(thread);
  gc_close_slots(thread, 1);
  gc_set_top(thread, 0);
  gc_collect(heap);
  gc_collect(heap);
  assert_int_equal(gc_bytes(heap), before);
  assert_int_equal(gc_bytes(heap), host.bytes);
  close_heap(heap, &host);
}

/* A full collection frees also what the running cycle has already reached;
 * a finished cycle keeps it. */
static void
test_gc_collector_collect_gives_up_a_running_mark(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *lost;

  (void)state;
  gc_stop(heap);
  for (int collected = 0; collected < 2; collected++) {
    new_table(thread);
    lost = object_at(thread, -1);
    run_to_black(heap, lost);
    gc_pop(thread, 1);
    if (collected) {
      gc_collect(heap);
    } else {
      run_to(heap, GC_PHASE_PAUSE);
    }
    check_heap(heap);
    assert_int_equal(is_in_heap(heap, lost), !collected);
  }
  close_heap(heap, &host);
}

/* Born while marking and dropped: dies in this cycle. Born after the flip:
 * cannot die in it. */
static void
test_gc_collector_births_are_current_white(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_stop(heap);
  for (int phase = GC_PHASE_PROPAGATE; phase <= GC_PHASE_FINALIZE; phase++) {
    const struct gc_object *born;

    if (phase == GC_PHASE_ATOMIC) {
      continue;
    }
    run_to(heap, (enum gc_phase)phase);
    new_table(thread);
    born = object_at(thread, -1);
    assert_int_equal(gc_colour_of(heap, born), GC_WHITE_CURRENT);
    gc_pop(thread, 1);
    run_to(heap, GC_PHASE_PAUSE);
    assert_int_equal(is_in_heap(heap, born), phase >= GC_PHASE_SWEEP);
  }
  close_heap(heap, &host);
}

static void
test_gc_collector_fixed_names_outlive_everything(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int i = 0; i < 5; i++) {
    gc_collect(heap);
  }
  push_string(thread, "__close");
  assert_ptr_equal(object_at(thread, -1), &heap->names[GC_NAME_CLOSE]->head);
  gc_pop(thread, 1);
  close_heap(heap, &host);
}

/* ---- threads and upvalues -------------------------------------------- */

static void
test_gc_collector_threads_wait_for_the_atomic_phase(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *late;

  (void)state;
  gc_stop(heap);
  run_to(heap, GC_PHASE_ENTER_ATOMIC);
  assert_true(gc_is_grey(&thread->head));
  assert_int_equal(thread->head.grey, GC_GREY_AGAIN);
  new_table(thread); /* white, on a stack that has been visited */
  late = object_at(thread, -1);
  run_to(heap, GC_PHASE_PAUSE);
  assert_true(is_in_heap(heap, late));
  close_heap(heap, &host);
}

/* Slots above the top are no roots, and the atomic phase clears them. */
static void
test_gc_collector_dead_slots_are_cleared(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *lost;

  (void)state;
  gc_stop(heap);
  new_table(thread);
  lost = object_at(thread, -1);
  gc_pop(thread, 1);
  run_to(heap, GC_PHASE_SWEEP);
  for (uint32_t i = thread->top; i < thread->stack_size; i++) {
    assert_int_equal(thread->stack[i].tag, GC_TAG_NIL);
  }
  run_to(heap, GC_PHASE_PAUSE);
  assert_false(is_in_heap(heap, lost));
  close_heap(heap, &host);
}

/* Leaves on main's stack a closure over an open upvalue (register 1) of a
 * suspended coroutine, and the coroutine on top of it. */
static struct gc_thread *
make_suspended_with_upvalue(struct gc_thread *thread)
{
  struct gc_capture capture = { .in_stack = true, .index = 1 };
  struct gc_thread *coroutine;

  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
  gc_push_copy(thread, -1);
  assert_int_equal(gc_new_thread(thread), GC_OK);
  coroutine = gc_to_thread(thread, -1);
  gc_push_copy(thread, -2);
  assert_int_equal(gc_resume(thread, 1, 1), GC_OK);
  assert_int_equal(gc_new_closure(coroutine, 1, &capture, 1), GC_OK);
  assert_int_equal(gc_yield(coroutine, 1), GC_OK);
  /* prototype's closure, new closure in place of the coroutine */
  gc_replace(thread, -2);
  return coroutine;
}

static void
test_gc_collector_upvalues_of_dead_threads_live(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_thread *coroutine;
  const struct gc_object *late;

  (void)state;
  gc_stop(heap);
  coroutine = make_suspended_with_upvalue(thread);
  assert_int_equal(gc_top(thread), 1);
  assert_ptr_equal(heap->open_threads, coroutine);
  run_to_black(heap, object_at(thread, 1));
  new_table(thread); /* white, into an upvalue that has been reached */
  late = object_at(thread, -1);
  gc_set_upvalue(thread, 1, 0);
  run_to(heap, GC_PHASE_PAUSE);
  assert_false(is_in_heap(heap, &coroutine->head));
  assert_null(heap->open_threads);
  assert_true(is_in_heap(heap, late));
  gc_get_upvalue(thread, 1, 0);
  assert_ptr_equal(object_at(thread, -1), late);
  close_heap(heap, &host);
}

static void
test_gc_collector_dead_open_upvalues_leave_their_thread(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_stop(heap);
  make_suspended_with_upvalue(thread);
  gc_set_top(thread, 0);
  run_to(heap, GC_PHASE_PROPAGATE);
  run_to(heap, GC_PHASE_PAUSE);
  assert_null(heap->open_threads);
  close_heap(heap, &host);
}

/* ---- barriers -------------------------------------------------------- */

static void
test_gc_collector_back_barrier_greys_the_parent(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *parent;

  (void)state;
  gc_stop(heap);
  new_table(thread);
  parent = object_at(thread, 1);
  run_to_black(heap, parent);
  gc_push_integer(thread, 1); /* nothing collectable: no barrier */
  set_field(thread, 1, 1);
  assert_true(gc_is_black(parent));
  new_table(thread);
  set_field(thread, 1, 1);
  assert_true(gc_is_grey(parent));
  assert_int_equal(parent->grey, GC_GREY_AGAIN);
  check_heap(heap);
  run_to(heap, GC_PHASE_PAUSE);
  gc_raw_geti(thread, 1, 1);
  assert_true(is_in_heap(heap, object_at(thread, -1)));
  close_heap(heap, &host);
}

static void
test_gc_collector_forward_barrier_marks_the_child(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *parent;
  const struct gc_object *child;

  (void)state;
  gc_stop(heap);
  new_table(thread);
  parent = object_at(thread, 1);
  run_to_black(heap, parent);
  new_table(thread);
  child = object_at(thread, -1);
  gc_set_metatable(thread, 1);
  assert_true(gc_is_black(parent));
  assert_true(gc_is_grey(child));
  assert_int_equal(child->grey, GC_GREY_NOW);
  check_heap(heap);
  close_heap(heap, &host);
}

/* Many tables, so that the sweep has not come to the first while the others
 * are swept; then both barriers whiten a black parent. */
static void
test_gc_collector_barriers_whiten_while_sweeping(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_stop(heap);
  for (int forward = 0; forward < 2; forward++) {
    const struct gc_object *parent;

    gc_set_top(thread, 0);
    new_table(thread);
    parent = object_at(thread, 1);
    new_table(thread);
    for (int i = 1; i <= 500; i++) {
      new_table(thread);
      set_field(thread, 2, i);
    }
    run_to(heap, GC_PHASE_SWEEP);
    assert_true(gc_is_black(parent));
    new_table(thread);
    if (forward) {
      gc_set_metatable(thread, 1);
    } else {
      set_field(thread, 1, 1);
    }
    assert_int_equal(gc_colour_of(heap, parent), GC_WHITE_CURRENT);
    assert_int_equal(parent->grey, GC_GREY_NONE);
    check_heap(heap);
    run_to(heap, GC_PHASE_PAUSE);
    assert_true(is_in_heap(heap, parent));
  }
  close_heap(heap, &host);
}

/* ---- sizes of steps, long chains ------------------------------------- */

static void
test_gc_collector_sweep_step_keeps_to_its_batch(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t batch = heap->dialect->sweep_batch;

  (void)state;
  gc_stop(heap);
  new_table(thread);
  for (int i = 1; i <= 1000; i++) {
    new_table(thread);
    set_field(thread, 1, i);
    new_table(thread);
    gc_pop(thread, 1);
  }
  new_table(thread); /* newest and alive: the first step stops here */
  run_to(heap, GC_PHASE_SWEEP);
  while (heap->sweep != NULL) {
    size_t before = list_length(heap->all);

    assert_true(gc_micro_step(heap) <= batch);
    assert_true(before - list_length(heap->all) <= batch);
  }
  assert_int_equal(gc_phase_of(heap), GC_PHASE_SWEEP);
  assert_int_equal(gc_micro_step(heap), 0);
  assert_int_equal(gc_phase_of(heap), GC_PHASE_SWEEP_FINALIZABLE);
  close_heap(heap, &host);
}

#if defined(__SANITIZE_ADDRESS__)
#define CHAIN_LENGTH 100000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHAIN_LENGTH 100000
#endif
#endif
#ifndef CHAIN_LENGTH
#define CHAIN_LENGTH 1000000
#endif

/* Catches recursion over the object graph, in marking, freeing or closing:
 * tables through a field, and upvalues through closures. */
static void
test_gc_collector_long_chains_need_no_stack(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
  gc_push_nil(thread);
  gc_push_nil(thread);
  for (int i = 0; i < CHAIN_LENGTH; i++) {
    assert_int_equal(gc_new_table(thread, 1, 0), GC_OK);
    gc_push_copy(thread, 2);
    set_field(thread, -2, 1);
    gc_replace(thread, 2);
    gc_push_copy(thread, 3);
    assert_int_equal(gc_new_closure_over_values(thread, 1, 1), GC_OK);
    gc_replace(thread, 3);
  }
  gc_collect(heap);
  assert_true(list_length(heap->all) >= 3 * (size_t)CHAIN_LENGTH);
  gc_push_nil(thread);
  gc_replace(thread, 2);
  gc_collect(heap);
  assert_true(list_length(heap->all) < 2 * (size_t)CHAIN_LENGTH + 100);
  close_heap(heap, &host);
}

/* ---- pacing ---------------------------------------------------------- */

static void
test_gc_collector_pace_keeps_the_heap_small(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t most = 0;

  (void)state;
  for (int i = 0; i < 100000; i++) {
    assert_int_equal(gc_new_table(thread, 4, 0), GC_OK);
    gc_pop(thread, 1);
    most = host.bytes > most ? host.bytes : most;
  }
  assert_true(most < 200000); /* of twelve million */
  close_heap(heap, &host);
}

static void
test_gc_collector_stop_holds_until_restart(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_collect(heap);
  gc_stop(heap);
  assert_true(gc_is_stopped(heap));
  for (int i = 0; i < 10000; i++) {
    new_table(thread);
    gc_pop(thread, 1);
    assert_int_equal(gc_phase_of(heap), GC_PHASE_PAUSE);
  }
  assert_true(host.bytes > 10000 * sizeof(struct gc_table));
  gc_collect(heap); /* works, and does not end the stop */
  assert_true(gc_is_stopped(heap));
  assert_true(host.bytes < 10000 * sizeof(struct gc_table));
  gc_restart(heap);
  assert_false(gc_is_stopped(heap));
  for (int i = 0; i < 10000; i++) {
    new_table(thread);
    gc_pop(thread, 1);
  }
  assert_true(host.bytes < 10000 * sizeof(struct gc_table));
  close_heap(heap, &host);
}

static void
test_gc_collector_check_while_stopped_gives_a_credit(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  gc_stop(heap);
  assert_true(heap->debt > 0);
  gc_check(gc_main_thread(heap));
  assert_int_equal(heap->debt, -2000);
  assert_int_equal(gc_bytes(heap), host.bytes);
  close_heap(heap, &host);
}

static void
test_gc_collector_explicit_steps_finish_cycles(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  bool finished = false;

  (void)state;
  gc_stop(heap); /* explicit steps work all the same */
  for (int i = 0; i < 1000 && !finished; i++) {
    finished = gc_step(heap, 0);
  }
  assert_true(finished);
  assert_int_equal(gc_phase_of(heap), GC_PHASE_PAUSE);
  gc_pace_set_debt(heap, -100 * 1024);
  assert_false(gc_step(heap, 50)); /* the credit covers it: no step */
  assert_int_equal(heap->debt, -50 * 1024);
  assert_true(gc_step(heap, 100000)); /* enough for any cycle */
  assert_true(gc_step(heap, SIZE_MAX));
  assert_int_equal(gc_bytes(heap), host.bytes);
  close_heap(heap, &host);
}

/* The heap may grow to the pause's percentage of what lived before the next
 * cycle. */
static void
test_gc_collector_pause_waits_for_growth(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t before;
  size_t most = 0;

  (void)state;
  new_table(thread);
  for (int i = 1; i <= 1000; i++) {
    new_table(thread);
    set_field(thread, 1, i);
  }
  gc_collect(heap);
  before = gc_bytes(heap);
  for (int i = 0; i < 10000; i++) {
    new_table(thread);
    gc_pop(thread, 1);
    most = gc_bytes(heap) > most ? gc_bytes(heap) : most;
  }
  assert_true(most > before * 19 / 10);
  assert_true(most < before * 21 / 10);
  close_heap(heap, &host);
}

static void
test_gc_collector_extreme_parameters_end(void **state)
{
  static const uint32_t values[] = { 0, 4, 1000, UINT32_MAX };
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  for (int i = 0; i < 64; i++) {
    gc_set_parameter(heap, GC_PARAMETER_PAUSE, values[i & 3]);
    gc_set_parameter(heap, GC_PARAMETER_STEP_MULTIPLIER, values[i >> 2 & 3]);
    gc_set_parameter(heap, GC_PARAMETER_STEP_SIZE, values[i >> 4 & 3]);
    for (int k = 0; k < 10; k++) {
      gc_step(heap, 0);
    }
    gc_step(heap, SIZE_MAX);
    gc_collect(heap);
    assert_int_equal(gc_bytes(heap), host.bytes);
  }
  close_heap(heap, &host);
}

/* ---- faults ---------------------------------------------------------- */

static void
test_gc_collector_faults_have_names_of_their_own(void **state)
{
  size_t count = 0;

  (void)state;
  for (; gc_fault_infos[count].name != NULL; count++) {
    const char *name = gc_fault_infos[count].name;

    assert_int_equal(gc_fault_find(name), count + 1);
    assert_non_null(strchr(gc_fault_infos[count].law, '.'));
  }
#if PENUMBRA_FAULTS
  assert_true(count >= 30);
#else
  assert_int_equal(count, 0);
#endif
  assert_int_equal(gc_fault_find("no-such-fault"), GC_FAULT_NONE);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_collector_open_gives_a_heap_at_rest),
    cmocka_unit_test(test_gc_collector_open_refuses_unknown_names),
    cmocka_unit_test(test_gc_collector_open_fails_at_each_allocation),
    cmocka_unit_test(test_gc_collector_close_leaves_nothing_in_any_phase),
    cmocka_unit_test(test_gc_collector_cycle_goes_through_all_phases),
    cmocka_unit_test(test_gc_collector_cycle_frees_garbage_and_keeps_the_rest),
    cmocka_unit_test(test_gc_collector_collect_returns_to_the_bytes_before),
    cmocka_unit_test(test_gc_collector_collect_gives_up_a_running_mark),
    cmocka_unit_test(test_gc_collector_births_are_current_white),
    cmocka_unit_test(test_gc_collector_fixed_names_outlive_everything),
    cmocka_unit_test(test_gc_collector_threads_wait_for_the_atomic_phase),
    cmocka_unit_test(test_gc_collector_dead_slots_are_cleared),
    cmocka_unit_test(test_gc_collector_upvalues_of_dead_threads_live),
    cmocka_unit_test(test_gc_collector_dead_open_upvalues_leave_their_thread),
    cmocka_unit_test(test_gc_collector_back_barrier_greys_the_parent),
    cmocka_unit_test(test_gc_collector_forward_barrier_marks_the_child),
    cmocka_unit_test(test_gc_collector_barriers_whiten_while_sweeping),
    cmocka_unit_test(test_gc_collector_sweep_step_keeps_to_its_batch),
    cmocka_unit_test(test_gc_collector_long_chains_need_no_stack),
    cmocka_unit_test(test_gc_collector_pace_keeps_the_heap_small),
    cmocka_unit_test(test_gc_collector_stop_holds_until_restart),
    cmocka_unit_test(test_gc_collector_check_while_stopped_gives_a_credit),
    cmocka_unit_test(test_gc_collector_explicit_steps_finish_cycles),
    cmocka_unit_test(test_gc_collector_pause_waits_for_growth),
    cmocka_unit_test(test_gc_collector_extreme_parameters_end),
    cmocka_unit_test(test_gc_collector_faults_have_names_of_their_own),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
