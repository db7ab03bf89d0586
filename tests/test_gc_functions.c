/* SPDX-License-Identifier: MIT
 *
 * Closures, the upvalues that they share, prototypes.
 */
#include <stdio.h>

#include "tests/gc_drive.h"

#define LONG_TEXT "a string that is longer than the forty bytes of a short one"

static void
push_numbered(struct gc_thread *thread, int number)
{
  char text[32];

  snprintf(text, sizeof(text), "string number %d", number);
  push_string(thread, text);
}

static void
native_one(struct gc_thread *thread)
{
  (void)thread;
}

static void
native_two(struct gc_thread *thread)
{
  gc_push_nil(thread);
}

static void
push_prototype(struct gc_thread *thread)
{
  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
}

static void
capture_slots(struct gc_thread *thread, int from, uint8_t first,
              uint8_t count)
{
  struct gc_capture captures[4];

  for (uint8_t i = 0; i < count; i++) {
    captures[i] = (struct gc_capture){ .in_stack = true,
                                       .index = (uint8_t)(first + i) };
  }
  assert_int_equal(gc_new_closure(thread, from, captures, count), GC_OK);
}

static int64_t
upvalue_integer(struct gc_thread *thread, int index, uint8_t n)
{
  int64_t integer;

  gc_get_upvalue(thread, index, n);
  integer = gc_to_integer(thread, -1);
  gc_pop(thread, 1);
  return integer;
}

static void
set_upvalue_integer(struct gc_thread *thread, int index, uint8_t n,
                    int64_t integer)
{
  gc_push_integer(thread, integer);
  gc_set_upvalue(thread, index, n);
}

/* Catches upvalues that are copies, before or after they are closed. */
static void
test_gc_functions_closures_share_upvalues(void **state)
{
  struct gc_capture inner = { .in_stack = false, .index = 1 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_push_integer(thread, 10);
  gc_push_integer(thread, 20);
  push_prototype(thread);
  capture_slots(thread, 3, 1, 2); /* 4 */
  capture_slots(thread, 3, 2, 1); /* 5: slot 2 */
  assert_int_equal(gc_new_closure(thread, 4, &inner, 1), GC_OK); /* 6 */
  assert_int_equal(gc_upvalue_count(thread, 4), 2);
  set_upvalue_integer(thread, 5, 0, 21);
  assert_int_equal(gc_to_integer(thread, 2), 21);
  gc_push_integer(thread, 22);
  gc_replace(thread, 2);
  assert_int_equal(upvalue_integer(thread, 4, 1), 22);
  assert_int_equal(upvalue_integer(thread, 6, 0), 22);
  gc_close_slots(thread, 2);
  gc_push_integer(thread, 23);
  gc_replace(thread, 2);
  assert_int_equal(upvalue_integer(thread, 5, 0), 22);
  set_upvalue_integer(thread, 6, 0, 24);
  assert_int_equal(upvalue_integer(thread, 4, 1), 24);
  assert_int_equal(upvalue_integer(thread, 5, 0), 24);
  assert_int_equal(gc_to_integer(thread, 2), 23);
  set_upvalue_integer(thread, 4, 0, 11);
  assert_int_equal(gc_to_integer(thread, 1), 11);
  gc_collect(heap);
  check_heap(heap);
  close_heap(heap, &host);
}

/* Catches a list of open upvalues out of order, or one slot with two. */
static void
test_gc_functions_each_slot_has_one_open_upvalue(void **state)
{
  static const uint8_t order[] = { 3, 1, 4, 2, 4, 1 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  int count = 0;

  (void)state;
  for (int i = 1; i <= 4; i++) {
    gc_push_integer(thread, i);
  }
  push_prototype(thread);
  for (size_t i = 0; i < sizeof(order); i++) {
    capture_slots(thread, 5, order[i], 1);
    assert_int_equal(upvalue_integer(thread, -1, 0), order[i]);
  }
  for (struct gc_upvalue *upvalue = thread->open; upvalue != NULL;
       upvalue = upvalue->open_next) {
    assert_int_equal(upvalue->slot->as.integer, 4 - count);
    assert_ptr_equal(*upvalue->open_link, upvalue);
    count++;
  }
  assert_int_equal(count, 4);
  assert_ptr_equal(heap->open_threads, thread);
  gc_close_slots(thread, 3);
  assert_int_equal(thread->open->slot->as.integer, 2);
  gc_close_slots(thread, gc_top(thread) + 1);
  gc_close_slots(thread, 1);
  assert_null(thread->open);
  close_heap(heap, &host);
}

static void
test_gc_functions_join_makes_closures_share(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  push_prototype(thread);
  for (int i = 1; i <= 4; i++) {
    gc_push_integer(thread, i);
    if (i % 2 == 0) {
      assert_int_equal(gc_new_closure_over_values(thread, 1, 2), GC_OK);
    }
  }
  assert_int_equal(gc_top(thread), 3);
  gc_join_upvalue(thread, 2, 0, 3, 1);
  gc_join_upvalue(thread, 2, 1, 2, 1);
  assert_int_equal(upvalue_integer(thread, 2, 0), 4);
  assert_int_equal(upvalue_integer(thread, 2, 1), 2);
  set_upvalue_integer(thread, 2, 0, 40);
  assert_int_equal(upvalue_integer(thread, 3, 1), 40);
  assert_int_equal(upvalue_integer(thread, 3, 0), 3);
  gc_collect(heap);
  check_heap(heap);
  close_heap(heap, &host);
}

static void
test_gc_functions_native_closures_have_values_of_their_own(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int i = 0; i < 2; i++) {
    push_string(thread, "first");
    push_string(thread, LONG_TEXT);
    assert_int_equal(gc_new_native_closure(thread, native_one, 2), GC_OK);
  }
  assert_int_equal(gc_new_native_closure(thread, native_two, 0), GC_OK);
  gc_push_nil(thread);
  gc_set_upvalue(thread, 1, 1);
  gc_collect(heap);
  assert_int_equal(gc_upvalue_count(thread, 2), 2);
  assert_int_equal(gc_upvalue_count(thread, 3), 0);
  gc_get_upvalue(thread, 2, 1);
  assert_string_equal(gc_to_string(thread, -1, NULL), LONG_TEXT);
  gc_get_upvalue(thread, 1, 1);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  gc_get_upvalue(thread, 1, 0);
  assert_string_equal(gc_to_string(thread, -1, NULL), "first");
  close_heap(heap, &host);
}

/* Built with steps in between, so that the prototype is black when parts are
 * added; what it holds lives as long as it. */
static void
test_gc_functions_prototypes_keep_their_parts(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_prototype *prototype;

  (void)state;
  push_prototype(thread);
  prototype = ((struct gc_closure *)object_at(thread, 1))->prototype;
  for (int i = 0; i < 20; i++) {
    push_numbered(thread, i);
    assert_int_equal(gc_prototype_add_constant(thread, 1), GC_OK);
    gc_micro_step(heap);
    push_prototype(thread);
    push_string(thread, LONG_TEXT);
    assert_int_equal(gc_prototype_add_constant(thread, 2), GC_OK);
    assert_int_equal(gc_prototype_add_nested(thread, 1), GC_OK);
    gc_micro_step(heap);
    check_heap(heap);
  }
  gc_collect(heap);
  check_heap(heap);
  assert_int_equal(gc_top(thread), 1);
  assert_int_equal(prototype->constant_count, 20);
  assert_int_equal(prototype->nested_count, 20);
  for (uint32_t i = 0; i < 20; i++) {
    const struct gc_prototype *nested = prototype->nested[i];

    push_numbered(thread, (int)i);
    assert_ptr_equal(prototype->constants[i].as.object,
                     object_at(thread, -1));
    assert_int_equal(nested->constant_count, 1);
    assert_int_equal(nested->constants[0].as.object->kind,
                     GC_KIND_STRING_LONG);
    gc_pop(thread, 1);
  }
  close_heap(heap, &host);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_functions_closures_share_upvalues),
    cmocka_unit_test(test_gc_functions_each_slot_has_one_open_upvalue),
    cmocka_unit_test(test_gc_functions_join_makes_closures_share),
    cmocka_unit_test(
        test_gc_functions_native_closures_have_values_of_their_own),
    cmocka_unit_test(test_gc_functions_prototypes_keep_their_parts),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
