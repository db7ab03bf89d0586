/* SPDX-License-Identifier: MIT
 *
 * Generational mode: each change of age, both barriers for parents of each
 * age, threads and upvalues, the segments, major collections that pay and that
 * do not, and the change of modes in every phase. The collector is stopped,
 * so that only the steps of a test are made.
 */
#include "tests/gc_drive.h"

static struct gc_heap *
open_generational(struct host *host)
{
  struct gc_heap *heap = open_heap(host);

  gc_stop(heap);
  assert_int_equal(gc_set_mode(heap, GC_MODE_GENERATIONAL),
                   GC_MODE_INCREMENTAL);
  check_heap(heap);
  return heap;
}

static void
minors(struct gc_heap *heap, int count)
{
  for (int i = 0; i < count; i++) {
    assert_false(gc_step(heap, 0));
    check_heap(heap);
  }
}

static struct gc_object *
new_userdata(struct gc_thread *thread, uint16_t user_values)
{
  assert_int_equal(gc_new_userdata(thread, 8, user_values), GC_OK);
  return object_at(thread, -1);
}

static void
expect(const struct gc_heap *heap, const struct gc_object *object,
       enum gc_age age, enum gc_colour colour)
{
  assert_int_equal(object->age, age);
  assert_int_equal(gc_colour_of(heap, object), colour);
}

/* ---- ages ------------------------------------------------------------ */

/* Catches a step of ageing that is left out or made twice. */
static void
test_gc_generations_survivors_grow_old(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_object *table = new_table(gc_main_thread(heap));

  (void)state;
  expect(heap, table, GC_AGE_NEW, GC_WHITE_CURRENT);
  minors(heap, 1);
  expect(heap, table, GC_AGE_SURVIVAL, GC_WHITE_CURRENT);
  minors(heap, 1);
  expect(heap, table, GC_AGE_OLD1, GC_BLACK);
  assert_ptr_equal(heap->first_old1, table);
  minors(heap, 1);
  expect(heap, table, GC_AGE_OLD, GC_BLACK);
  minors(heap, 2);
  expect(heap, table, GC_AGE_OLD, GC_BLACK);
  close_heap(heap, &host);
}

/* Catches a minor collection that frees too little or too much. */
static void
test_gc_generations_minors_free_the_young_only(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int age = 0; age < 4; age++) {
    struct gc_object *table = new_table(thread);

    minors(heap, age);
    gc_pop(thread, 1);
    minors(heap, 3);
    assert_int_equal(is_in_heap(heap, table), age >= 2);
    gc_collect(heap);
    check_heap(heap);
    assert_false(is_in_heap(heap, table));
    assert_int_equal(heap->cycle_mode, GC_MODE_GENERATIONAL);
  }
  close_heap(heap, &host);
}

/* What a SURVIVAL object that turns OLD1 refers to is visited once more. */
static void
test_gc_generations_old1_keeps_its_younger_children(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *parent = new_table(thread);
  struct gc_object *child;

  (void)state;
  minors(heap, 1);
  child = new_table(thread);
  gc_raw_seti(thread, -2, 1);
  minors(heap, 1);
  expect(heap, parent, GC_AGE_OLD1, GC_BLACK);
  expect(heap, child, GC_AGE_SURVIVAL, GC_WHITE_CURRENT);
  minors(heap, 1);
  expect(heap, parent, GC_AGE_OLD, GC_BLACK);
  expect(heap, child, GC_AGE_OLD1, GC_BLACK);
  close_heap(heap, &host);
}

/* ---- barriers -------------------------------------------------------- */

/* A parent that is so old, at the top of the stack. */
static struct gc_object *
table_of_age(struct gc_heap *heap, enum gc_age age)
{
  static const int collections[] = {
    [GC_AGE_NEW] = 0, [GC_AGE_SURVIVAL] = 1, [GC_AGE_OLD1] = 2,
    [GC_AGE_OLD] = 3, [GC_AGE_TOUCHED1] = 3, [GC_AGE_TOUCHED2] = 3,
  };
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *table = new_table(thread);

  minors(heap, collections[age]);
  if (age >= GC_AGE_TOUCHED1) {
    new_table(thread);
    gc_raw_seti(thread, -2, 2);
    minors(heap, age == GC_AGE_TOUCHED2);
  }
  assert_int_equal(table->age, age);
  return table;
}

/* Catches a back barrier that does not see an old parent, or a touched one
 * that is forgotten before what it holds is old. */
static void
test_gc_generations_back_barrier_touches_old_parents(void **state)
{
  static const enum gc_age ages[] = { GC_AGE_NEW,      GC_AGE_SURVIVAL,
                                      GC_AGE_OLD1,     GC_AGE_OLD,
                                      GC_AGE_TOUCHED1, GC_AGE_TOUCHED2 };
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
    struct gc_object *parent = table_of_age(heap, ages[i]);
    struct gc_object *child = new_table(thread);

    gc_raw_seti(thread, -2, 1);
    check_heap(heap);
    if (ages[i] < GC_AGE_OLD1) {
      expect(heap, parent, ages[i], GC_WHITE_CURRENT);
    } else {
      expect(heap, parent, GC_AGE_TOUCHED1, GC_GREY);
      minors(heap, 1);
      expect(heap, parent, GC_AGE_TOUCHED2, GC_BLACK);
      expect(heap, child, GC_AGE_SURVIVAL, GC_WHITE_CURRENT);
      minors(heap, 1);
      expect(heap, parent, GC_AGE_OLD, GC_BLACK);
      expect(heap, child, GC_AGE_OLD1, GC_BLACK);
    }
    minors(heap, 3);
    assert_true(is_in_heap(heap, child));
    gc_pop(thread, 1);
  }
  close_heap(heap, &host);
}

/* Catches a forward barrier that marks the child and leaves it young. */
static void
test_gc_generations_forward_barrier_makes_the_child_old(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int parent_age = 0; parent_age < 4; parent_age++) {
    for (int child_age = 0; child_age < 2; child_age++) {
      struct gc_object *child;

      new_userdata(thread, 0);
      minors(heap, parent_age - (parent_age > 0 ? child_age : 0));
      child = new_table(thread);
      minors(heap, child_age);
      gc_set_metatable(thread, -2);
      check_heap(heap);
      if (parent_age >= 2) {
        expect(heap, child, GC_AGE_OLD0, GC_GREY);
        minors(heap, 1);
        expect(heap, child, GC_AGE_OLD1, GC_BLACK);
        minors(heap, 1);
        expect(heap, child, GC_AGE_OLD, GC_BLACK);
      } else {
        expect(heap, child, (enum gc_age)child_age, GC_WHITE_CURRENT);
      }
      minors(heap, 2);
      assert_true(is_in_heap(heap, child));
      gc_pop(thread, 1);
    }
  }
  close_heap(heap, &host);
}

/* A userdata without user values marks its metatable the moment a barrier
 * marks it. That is young and no longer white, and an old table that gets it
 * needs a barrier all the same: or, once the userdata lets go of it, the table
 * would hold what the second minor collection frees. */
static void
test_gc_generations_marked_young_children_need_a_barrier(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *table = new_table(thread);
  struct gc_object *metatable;

  (void)state;
  gc_push_nil(thread);
  assert_int_equal(gc_new_native_closure(thread, NULL, 1), GC_OK);
  minors(heap, 3);
  new_userdata(thread, 0);
  metatable = new_table(thread);
  gc_push_copy(thread, -1);
  gc_set_metatable(thread, -3);
  gc_push_copy(thread, -2);
  gc_set_upvalue(thread, 2, 0);
  expect(heap, object_at(thread, 3), GC_AGE_OLD0, GC_BLACK);
  expect(heap, metatable, GC_AGE_NEW, GC_GREY);
  gc_raw_seti(thread, 1, 1);
  expect(heap, table, GC_AGE_TOUCHED1, GC_GREY);
  minors(heap, 1);
  gc_push_nil(thread);
  gc_set_metatable(thread, 3);
  minors(heap, 2);
  assert_true(is_in_heap(heap, metatable));
  close_heap(heap, &host);
}

/* ---- threads and upvalues -------------------------------------------- */

/* An old stack is written without barriers, and is looked at every time. */
static void
test_gc_generations_old_threads_are_visited_by_each_minor(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *child;

  (void)state;
  assert_int_equal(gc_new_prototype(thread, 0), GC_OK);
  assert_int_equal(gc_new_thread(thread), GC_OK);
  minors(heap, 2);
  expect(heap, object_at(thread, 1), GC_AGE_OLD1, GC_BLACK);
  minors(heap, 1);
  expect(heap, object_at(thread, 1), GC_AGE_OLD, GC_GREY);
  assert_int_equal(object_at(thread, 1)->grey, GC_GREY_AGAIN);
  gc_push_copy(thread, 1);
  assert_int_equal(gc_resume(thread, 0, 4), GC_OK);
  child = new_table(gc_running_thread(heap));
  assert_int_equal(gc_yield(gc_running_thread(heap), 0), GC_OK);
  for (int i = 0; i < 3; i++) {
    minors(heap, 1);
    assert_int_equal(object_at(thread, 1)->grey, GC_GREY_AGAIN);
  }
  expect(heap, child, GC_AGE_OLD, GC_BLACK);
  close_heap(heap, &host);
}

/* A closed upvalue is black: a young value in an old one must not be
 * forgotten when it is closed. */
static void
test_gc_generations_closing_an_old_upvalue_keeps_the_value(void **state)
{
  struct gc_capture capture = { .in_stack = true, .index = 2 };
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *value;
  struct gc_object *upvalue;

  (void)state;
  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
  gc_push_nil(thread);
  assert_int_equal(gc_new_closure(thread, 1, &capture, 1), GC_OK);
  minors(heap, 3);
  upvalue = &((struct gc_closure *)object_at(thread, 3))->upvalues[0]->head;
  expect(heap, upvalue, GC_AGE_OLD, GC_GREY);
  value = new_table(thread);
  gc_replace(thread, 2);
  gc_close_slots(thread, 2);
  expect(heap, upvalue, GC_AGE_OLD, GC_BLACK);
  expect(heap, value, GC_AGE_OLD0, GC_GREY);
  gc_push_nil(thread);
  gc_replace(thread, 2);
  minors(heap, 3);
  assert_true(is_in_heap(heap, value));
  close_heap(heap, &host);
}

/* Resumes a new coroutine (kept in slot 3) that captures its slot 2 and gives
 * the closure back, which then is on the top. */
static void
capture_in_coroutine(struct gc_heap *heap)
{
  struct gc_capture capture = { .in_stack = true, .index = 2 };
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_thread *coroutine;

  gc_push_copy(thread, 1);
  assert_int_equal(gc_new_thread(thread), GC_OK);
  gc_push_copy(thread, 3);
  gc_push_copy(thread, 1);
  assert_int_equal(gc_resume(thread, 1, 4), GC_OK);
  coroutine = gc_running_thread(heap);
  assert_int_equal(gc_new_closure(coroutine, 1, &capture, 1), GC_OK);
  assert_int_equal(gc_yield(coroutine, 1), GC_OK);
}

/* The same where a minor collection closes it: the thread dies young, and the
 * upvalue, which an old closure shares, was made old before it. */
static void
test_gc_generations_dead_threads_leave_no_young_value_behind(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_upvalue *upvalue;
  struct gc_object *coroutine;
  struct gc_object *value;

  (void)state;
  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
  gc_push_nil(thread);
  assert_int_equal(gc_new_closure_over_values(thread, 1, 1), GC_OK);
  minors(heap, 3);
  capture_in_coroutine(heap);
  gc_join_upvalue(thread, 2, 0, -1, 0);
  gc_pop(thread, 1);
  upvalue = ((struct gc_closure *)object_at(thread, 2))->upvalues[0];
  expect(heap, &upvalue->head, GC_AGE_OLD0, GC_GREY);
  minors(heap, 1);
  coroutine = object_at(thread, 3);
  expect(heap, coroutine, GC_AGE_SURVIVAL, GC_WHITE_CURRENT);
  expect(heap, &upvalue->head, GC_AGE_OLD1, GC_GREY);
  value = new_table(thread);
  gc_copy_across(thread, -1, gc_to_thread(thread, 3), 2);
  gc_set_top(thread, 2);
  minors(heap, 1);
  assert_false(is_in_heap(heap, coroutine));
  expect(heap, &upvalue->head, GC_AGE_OLD, GC_BLACK);
  expect(heap, value, GC_AGE_OLD1, GC_BLACK);
  minors(heap, 2);
  assert_true(is_in_heap(heap, value));
  close_heap(heap, &host);
}

/* ---- finalizers ------------------------------------------------------ */

static int finalized;

static void
count_finalized(struct gc_thread *thread)
{
  (void)thread;
  finalized++;
}

/* A userdata that is marked for finalization, on the top. */
static struct gc_object *
new_finalizable(struct gc_thread *thread)
{
  struct gc_object *object = new_userdata(thread, 0);

  assert_int_equal(gc_new_table(thread, 0, 1), GC_OK);
  assert_int_equal(gc_push_string(thread, "__gc", 4), GC_OK);
  gc_push_native(thread, count_finalized);
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  gc_set_metatable(thread, -2);
  return object;
}

/* Died NEW: called by the next minor, freed by the one after that. Died
 * SURVIVAL: it is OLD1 by the call, and only a major frees it. Died OLD1 or
 * OLD: a major calls it, the next frees it. */
static void
test_gc_generations_finalizable_objects_age_too(void **state)
{
  static const int called_by_minor[] = { 1, 1, 0, 0 };
  static const int freed_by_minor[] = { 1, 0, 0, 0 };
  static const int majors[] = { 0, 1, 2, 2 };
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int age = 0; age < 4; age++) {
    struct gc_object *object = new_finalizable(thread);

    minors(heap, age);
    assert_int_equal(object->age,
                     ((int[]){ GC_AGE_NEW, GC_AGE_SURVIVAL, GC_AGE_OLD1,
                               GC_AGE_OLD })[age]);
    gc_pop(thread, 1);
    finalized = 0;
    minors(heap, 1);
    assert_int_equal(finalized, called_by_minor[age]);
    minors(heap, 1);
    assert_int_equal(is_in_heap(heap, object), !freed_by_minor[age]);
    for (int i = 0; i < majors[age]; i++) {
      gc_collect(heap);
      check_heap(heap);
    }
    assert_int_equal(finalized, 1);
    assert_null(heap->finalizable);
    assert_false(is_in_heap(heap, object));
  }
  close_heap(heap, &host);
}

/* ---- modes ----------------------------------------------------------- */

static void
all_are_old(const struct gc_object *object)
{
  for (; object != NULL; object = object->next) {
    assert_int_equal(object->age, GC_AGE_OLD);
  }
}

/* Catches what one mode leaves to the other, in whatever phase it is left. */
static void
test_gc_generations_begin_and_end_in_every_phase(void **state)
{
  (void)state;
  for (int steps = 0; steps < 60; steps++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = gc_main_thread(heap);
    struct gc_object *kept;

    gc_stop(heap);
    new_finalizable(thread);
    kept = new_table(thread);
    for (int i = 0; i < steps; i++) {
      gc_micro_step(heap);
    }
    new_table(thread);
    gc_pop(thread, 1);
    gc_set_mode(heap, GC_MODE_GENERATIONAL);
    check_heap(heap);
    expect(heap, kept, GC_AGE_OLD, GC_BLACK);
    all_are_old(heap->all);
    all_are_old(heap->finalizable);
    new_table(thread);
    gc_raw_seti(thread, -2, 1);
    minors(heap, steps % 4);
    assert_int_equal(gc_set_mode(heap, GC_MODE_INCREMENTAL),
                     GC_MODE_GENERATIONAL);
    assert_int_equal(heap->phase, GC_PHASE_PAUSE);
    check_heap(heap);
    gc_collect(heap);
    check_heap(heap);
    assert_true(is_in_heap(heap, kept));
    close_heap(heap, &host);
  }
}

/* ---- phases ---------------------------------------------------------- */

struct phases {
  struct gc_listener listener;
  int count;
  uint8_t seen[32];
};

static void
note_phase(struct gc_listener *listener, const struct gc_event *event)
{
  struct phases *phases = (struct phases *)listener;

  if (event->type == GC_EVENT_PHASE && phases->count < 32) {
    phases->seen[phases->count++] = event->to;
  }
}

static void
test_gc_generations_collections_go_through_their_phases(void **state)
{
  static const uint8_t minor[]
      = { GC_PHASE_ATOMIC,
          GC_PHASE_SWEEP,
          GC_PHASE_SWEEP_FINALIZABLE,
          GC_PHASE_SWEEP_PENDING,
          GC_PHASE_SWEEP_END,
          GC_PHASE_PROPAGATE };
  static const uint8_t leave[]
      = { GC_PHASE_SWEEP,
          GC_PHASE_SWEEP_FINALIZABLE,
          GC_PHASE_SWEEP_PENDING,
          GC_PHASE_SWEEP_END,
          GC_PHASE_FINALIZE,
          GC_PHASE_PAUSE,
          GC_PHASE_PROPAGATE };
  struct phases phases = { .listener.event = note_phase };
  struct host host;
  struct gc_heap *heap = open_with(&host, &phases.listener, NULL);

  (void)state;
  gc_set_mode(heap, GC_MODE_GENERATIONAL);
  phases.count = 0;
  gc_micro_step(heap);
  assert_int_equal(phases.count, sizeof(minor));
  assert_memory_equal(phases.seen, minor, sizeof(minor));
  phases.count = 0;
  gc_collect(heap);
  assert_int_equal(phases.count, sizeof(leave) + sizeof(minor));
  assert_memory_equal(phases.seen, leave, sizeof(leave));
  assert_memory_equal(phases.seen + sizeof(leave), minor, sizeof(minor));
  close_heap(heap, &host);
}

/* ---- major collections ----------------------------------------------- */

/* A table at the top gets `count` more tables. */
static void
fill(struct gc_thread *thread, int first, int count)
{
  for (int i = first; i < first + count; i++) {
    new_table(thread);
    assert_int_equal(gc_raw_seti(thread, -2, i), GC_OK);
  }
}

/* Grown by garbage: the major collection pays, and minor ones go on. */
static void
test_gc_generations_major_collections_pay(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t before = gc_bytes(heap);

  (void)state;
  new_table(thread);
  fill(thread, 1, 1000);
  minors(heap, 3);
  gc_pop(thread, 1);
  assert_true(gc_bytes(heap) > before * 2);
  assert_false(gc_step(heap, 1000));
  check_heap(heap);
  assert_true(gc_bytes(heap) < before * 2);
  assert_int_equal(heap->bad_work, 0);
  close_heap(heap, &host);
}

/* Grown by what lives: whole cycles until it grows no more. */
static void
test_gc_generations_bad_majors_end_with_the_growth(void **state)
{
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  new_table(thread);
  fill(thread, 1, 1000);
  assert_false(gc_step(heap, 1000));
  assert_true(heap->bad_work > 0);
  assert_int_equal(heap->cycle_mode, GC_MODE_GENERATIONAL);
  check_heap(heap);
  for (int i = 1; i <= 3; i++) {
    fill(thread, 1 + i * 1000, 1000);
    assert_true(gc_step(heap, 0));
    assert_true(heap->bad_work > 0);
    assert_int_equal(heap->cycle_mode, GC_MODE_INCREMENTAL);
    assert_int_equal(gc_mode_of(heap), GC_MODE_GENERATIONAL);
    check_heap(heap);
  }
  assert_false(gc_step(heap, 0));
  assert_int_equal(heap->bad_work, 0);
  assert_int_equal(heap->cycle_mode, GC_MODE_GENERATIONAL);
  check_heap(heap);
  minors(heap, 2);
  close_heap(heap, &host);
}

/* Catches recursion, which a chain of a million objects would end. */
static void
test_gc_generations_long_chains_need_no_recursion(void **state)
{
  enum { LENGTH = 1000000 };
  struct host host;
  struct gc_heap *heap = open_generational(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  new_table(thread);
  for (int i = 0; i < LENGTH; i++) {
    new_userdata(thread, 1);
    gc_push_copy(thread, -2);
    assert_true(gc_set_user_value(thread, -2, 0));
    gc_replace(thread, 1);
  }
  for (int i = 0; i < 3; i++) {
    assert_false(gc_step(heap, 0));
  }
  assert_int_equal(object_at(thread, 1)->age, GC_AGE_OLD);
  gc_set_mode(heap, GC_MODE_INCREMENTAL);
  gc_set_mode(heap, GC_MODE_GENERATIONAL);
  assert_true(list_length(heap->all) > LENGTH);
  gc_set_top(thread, 0);
  gc_collect(heap);
  assert_true(list_length(heap->all) < 100);
  close_heap(heap, &host);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_generations_survivors_grow_old),
    cmocka_unit_test(test_gc_generations_minors_free_the_young_only),
    cmocka_unit_test(test_gc_generations_old1_keeps_its_younger_children),
    cmocka_unit_test(test_gc_generations_back_barrier_touches_old_parents),
    cmocka_unit_test(test_gc_generations_forward_barrier_makes_the_child_old),
    cmocka_unit_test(test_gc_generations_marked_young_children_need_a_barrier),
    cmocka_unit_test(
        test_gc_generations_old_threads_are_visited_by_each_minor),
    cmocka_unit_test(
        test_gc_generations_closing_an_old_upvalue_keeps_the_value),
    cmocka_unit_test(
        test_gc_generations_dead_threads_leave_no_young_value_behind),
    cmocka_unit_test(test_gc_generations_finalizable_objects_age_too),
    cmocka_unit_test(test_gc_generations_begin_and_end_in_every_phase),
    cmocka_unit_test(test_gc_generations_collections_go_through_their_phases),
    cmocka_unit_test(test_gc_generations_major_collections_pay),
    cmocka_unit_test(test_gc_generations_bad_majors_end_with_the_growth),
    cmocka_unit_test(test_gc_generations_long_chains_need_no_recursion),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
