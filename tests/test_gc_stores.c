/* SPDX-License-Identifier: MIT
 *
 * Every way to make an object refer to another, done at every step of a cycle:
 * each store has its barrier, and the right one of the two.
 */
#include "tests/gc_drive.h"

static void
push_prototype(struct gc_thread *thread)
{
  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
}

/* The parent is in slot 1, something for it in slot 2, the child, white, at
 * the top. A store pops the child. */
struct store {
  const char *name;
  void (*prepare)(struct gc_thread *thread);
  void (*store)(struct gc_thread *thread);
  bool back;
};

static void
prepare_table(struct gc_thread *thread)
{
  assert_int_equal(gc_new_table(thread, 1, 1), GC_OK);
  push_string(thread, "key");
  gc_push_copy(thread, 2);
  gc_push_boolean(thread, true);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
}

static void
store_array(struct gc_thread *thread)
{
  assert_int_equal(gc_raw_seti(thread, 1, 1), GC_OK);
}

static void
store_old_key(struct gc_thread *thread)
{
  gc_push_copy(thread, 2);
  gc_push_copy(thread, -2);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  gc_pop(thread, 1);
}

static void
store_new_key(struct gc_thread *thread)
{
  gc_push_boolean(thread, true);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
}

static void
store_new_value(struct gc_thread *thread)
{
  assert_int_equal(gc_raw_seti(thread, 1, 1000), GC_OK);
}

static void
store_metatable(struct gc_thread *thread)
{
  gc_set_metatable(thread, 1);
}

static void
prepare_userdata(struct gc_thread *thread)
{
  assert_int_equal(gc_new_userdata(thread, 1, 1), GC_OK);
  gc_push_nil(thread);
}

static void
store_user_value(struct gc_thread *thread)
{
  assert_true(gc_set_user_value(thread, 1, 0));
}

static void
prepare_native(struct gc_thread *thread)
{
  gc_push_nil(thread);
  assert_int_equal(gc_new_native_closure(thread, do_nothing, 1), GC_OK);
  gc_push_nil(thread);
}

static void
prepare_closure(struct gc_thread *thread)
{
  push_prototype(thread);
  gc_push_nil(thread);
  assert_int_equal(gc_new_closure_over_values(thread, 1, 1), GC_OK);
  gc_replace(thread, 1);
  gc_push_nil(thread);
}

static void
store_upvalue(struct gc_thread *thread)
{
  gc_set_upvalue(thread, 1, 0);
}

/* The child goes into the closed upvalue of a new closure: that is white. */
static void
store_join(struct gc_thread *thread)
{
  assert_int_equal(gc_new_closure_over_values(thread, 1, 1), GC_OK);
  gc_join_upvalue(thread, 1, 0, -1, 0);
  gc_pop(thread, 1);
}

/* Slot 2 is captured and marked as an open upvalue. */
static void
prepare_open(struct gc_thread *thread)
{
  struct gc_capture capture = { .in_stack = true, .index = 2 };

  push_prototype(thread);
  gc_push_nil(thread);
  assert_int_equal(gc_new_closure(thread, 1, &capture, 1), GC_OK);
  gc_replace(thread, 1);
}

static void
store_closing(struct gc_thread *thread)
{
  gc_set_upvalue(thread, 1, 0);
  gc_close_slots(thread, 2);
  gc_push_nil(thread);
  gc_replace(thread, 2);
}

static void
prepare_parts(struct gc_thread *thread)
{
  push_prototype(thread);
  gc_push_nil(thread);
}

static void
store_constant(struct gc_thread *thread)
{
  assert_int_equal(gc_prototype_add_constant(thread, 1), GC_OK);
}

static void
store_nested(struct gc_thread *thread)
{
  push_prototype(thread);
  gc_push_copy(thread, -2);
  assert_int_equal(gc_prototype_add_constant(thread, -2), GC_OK);
  assert_int_equal(gc_prototype_add_nested(thread, 1), GC_OK);
  gc_pop(thread, 1);
}

static const struct store stores[] = {
  { "array", prepare_table, store_array, true },
  { "old key", prepare_table, store_old_key, true },
  { "new key", prepare_table, store_new_key, true },
  { "new value", prepare_table, store_new_value, true },
  { "metatable of a table", prepare_table, store_metatable, false },
  { "metatable of a userdata", prepare_userdata, store_metatable, false },
  { "user value", prepare_userdata, store_user_value, true },
  { "native value", prepare_native, store_upvalue, false },
  { "closed upvalue", prepare_closure, store_upvalue, false },
  { "join", prepare_closure, store_join, false },
  { "closing an upvalue", prepare_open, store_closing, false },
  { "constant", prepare_parts, store_constant, false },
  { "nested prototype", prepare_parts, store_nested, false },
};

/* Does a store after some micro-steps; finishes the cycle. The child must
 * still be there, and no black object may have led to a white one. Gives
 * whether the parent was grey again. */
static bool
store_at(const struct store *store, int steps)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *parent, *child;
  bool again;

  gc_stop(heap);
  store->prepare(thread);
  parent = object_at(thread, 1);
  for (int i = 0; i < steps; i++) {
    gc_micro_step(heap);
  }
  new_table(thread);
  child = object_at(thread, -1);
  again = gc_is_black(parent) && gc_phase_of(heap) == GC_PHASE_PROPAGATE;
  store->store(thread);
  again = again && parent->grey == GC_GREY_AGAIN;
  check_heap(heap);
  assert_int_equal(gc_top(thread), 2);
  gc_run_until(heap, GC_PHASE_PAUSE);
  check_heap(heap);
  assert_true(is_in_heap(heap, child));
  gc_collect(heap);
  assert_true(is_in_heap(heap, child));
  close_heap(heap, &host);
  return again;
}

/* Catches a store without its barrier, or with the other one. */
static void
test_gc_stores_each_store_has_its_barrier(void **state)
{
  enum { STEPS_MAX = 24 };

  (void)state;
  for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
    bool back = false;

    for (int steps = 0; steps <= STEPS_MAX; steps++) {
      back |= store_at(&stores[i], steps);
    }
    if (back != stores[i].back) {
      print_error("%s has the wrong barrier\n", stores[i].name);
    }
    assert_int_equal(back, stores[i].back);
  }
}

/* Metatables of basic types have no barrier, and live all the same. */
static void
test_gc_stores_basic_metatables_are_marked_again(void **state)
{
  (void)state;
  for (int steps = 0; steps <= 24; steps++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = gc_main_thread(heap);
    const struct gc_object *metatable;

    gc_stop(heap);
    for (int i = 0; i < steps; i++) {
      gc_micro_step(heap);
    }
    new_table(thread);
    metatable = object_at(thread, -1);
    gc_set_basic_metatable(thread, GC_BASIC_NUMBER);
    gc_run_until(heap, GC_PHASE_PAUSE);
    check_heap(heap);
    assert_true(is_in_heap(heap, metatable));
    close_heap(heap, &host);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_stores_each_store_has_its_barrier),
    cmocka_unit_test(test_gc_stores_basic_metatables_are_marked_again),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
