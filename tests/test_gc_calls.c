/* SPDX-License-Identifier: MIT
 *
 * Calls and coroutines: frames, varargs, tail calls, errors, to-be-closed
 * slots; stacks that move, grow and shrink under open upvalues; resuming,
 * yielding, failing, closing.
 */
#include "tests/gc_drive.h"

#define LONG_TEXT "a string that is longer than the forty bytes of a short one"

static void
push_integers(struct gc_thread *thread, int from, int to)
{
  for (int i = from; i <= to; i++) {
    gc_push_integer(thread, i);
  }
}

/* The frame's slots are these integers; 0 stands for nil. */
static void
assert_slots(struct gc_thread *thread, const int *expected, int count)
{
  assert_int_equal(gc_top(thread), count);
  for (int i = 0; i < count; i++) {
    if (expected[i] == 0) {
      assert_int_equal(gc_type_of(thread, i + 1), GC_TYPE_NIL);
    } else {
      assert_int_equal(gc_to_integer(thread, i + 1), expected[i]);
    }
  }
}

#define ASSERT_SLOTS(thread, ...)                              \
  assert_slots(thread, (const int[]){ __VA_ARGS__ },           \
               sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* Enters a frame of a native function with no arguments. */
static void
enter(struct gc_thread *thread, uint32_t slots, uint32_t flags)
{
  gc_push_native(thread, do_nothing);
  assert_int_equal(gc_enter(thread, 0, 0, slots, flags), GC_OK);
}

/* Pushes a closure over slot n, by way of a prototype. */
static void
push_capture(struct gc_thread *thread, uint8_t n)
{
  struct gc_capture capture = { .in_stack = true, .index = n };

  assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
  assert_int_equal(gc_new_closure(thread, -1, &capture, 1), GC_OK);
  gc_replace(thread, -2);
}

static int64_t
upvalue_integer(struct gc_thread *thread, int index)
{
  int64_t integer;

  gc_get_upvalue(thread, index, 0);
  integer = gc_to_integer(thread, -1);
  gc_pop(thread, 1);
  return integer;
}

/* ---- frames ---------------------------------------------------------- */

/* Catches slots, varargs or results that are off by one. */
static void
test_gc_calls_frames_hold_function_varargs_and_slots(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  push_integers(thread, 1, 2);
  gc_push_native(thread, do_nothing);
  push_integers(thread, 11, 15);
  assert_int_equal(gc_enter(thread, 3, 2, 4, 0), GC_OK);
  assert_int_equal(gc_frame_depth(thread), 2);
  ASSERT_SLOTS(thread, 14, 15, 0, 0);
  assert_int_equal(gc_vararg_count(thread), 3);
  for (uint32_t i = 0; i < 3; i++) {
    gc_push_vararg(thread, i);
  }
  gc_push_vararg(thread, 3);
  ASSERT_SLOTS(thread, 14, 15, 0, 0, 11, 12, 13, 0);
  gc_push_copy(thread, GC_INDEX_FUNCTION);
  assert_true(gc_to_native(thread, -1) == do_nothing);
  gc_pop(thread, 2);
  gc_leave(thread, 2);
  ASSERT_SLOTS(thread, 1, 2, 12, 13);
  enter(thread, 0, 0);
  gc_leave(thread, 0);
  ASSERT_SLOTS(thread, 1, 2, 12, 13);
  assert_int_equal(gc_frame_depth(thread), 1);
  close_heap(heap, &host);
}

/* More results than the frame below had room for. */
static void
test_gc_calls_leaving_brings_many_results(void **state)
{
  enum { COUNT = 300 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  enter(thread, 0, 0);
  assert_int_equal(gc_reserve(thread, COUNT), GC_OK);
  push_integers(thread, 1, COUNT);
  gc_leave(thread, COUNT);
  gc_collect(heap);
  assert_int_equal(gc_top(thread), COUNT);
  for (int i = 1; i <= COUNT; i++) {
    assert_int_equal(gc_to_integer(thread, i), i);
  }
  assert_int_equal(gc_reserve(thread, 1), GC_OK);
  gc_push_nil(thread);
  close_heap(heap, &host);
}

/* Arguments beyond the slots are dropped; nothing stale shows up. */
static void
test_gc_calls_new_slots_are_nil(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_stop(heap); /* a cycle would clear what is stale */
  gc_push_native(thread, do_nothing);
  push_integers(thread, 1, 10);
  assert_int_equal(gc_enter(thread, 0, 10, 2, 0), GC_OK);
  ASSERT_SLOTS(thread, 1, 2);
  enter(thread, 5, 0);
  ASSERT_SLOTS(thread, 0, 0, 0, 0, 0);
  gc_set_top(thread, 2);
  push_integers(thread, 3, 3);
  gc_set_top(thread, 4);
  ASSERT_SLOTS(thread, 0, 0, 3, 0);
  gc_set_top(thread, 0);
  gc_set_top(thread, 3);
  ASSERT_SLOTS(thread, 0, 0, 0);
  close_heap(heap, &host);
}

/* Catches a tail call that leaves the old frame's varargs or upvalues. */
static void
test_gc_calls_tail_calls_replace_the_frame(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t bytes = 0;

  (void)state;
  gc_push_nil(thread);
  gc_push_native(thread, do_nothing);
  push_integers(thread, 1, 4);
  assert_int_equal(gc_enter(thread, 2, 2, 3, GC_FRAME_PROTECTED), GC_OK);
  push_capture(thread, 1);
  push_integers(thread, 7, 8);
  assert_int_equal(gc_reenter(thread, 2, 4), GC_OK);
  ASSERT_SLOTS(thread, 7, 8, 0, 0);
  assert_int_equal(gc_vararg_count(thread), 0);
  assert_int_equal(upvalue_integer(thread, GC_INDEX_FUNCTION), 3);
  assert_null(thread->open);
  for (int i = 0; i < 1000; i++) {
    gc_push_native(thread, do_nothing);
    push_integers(thread, i + 1, i + 1);
    assert_int_equal(gc_reenter(thread, 1, 1), GC_OK);
    bytes = i == 0 ? gc_bytes(heap) : bytes;
  }
  assert_int_equal(gc_bytes(heap), bytes);
  assert_int_equal(gc_frame_depth(thread), 2);
  gc_push_integer(thread, 5);
  assert_int_equal(gc_raise(thread), GC_OK); /* still protected */
  ASSERT_SLOTS(thread, 0, 5);
  close_heap(heap, &host);
}

/* Catches upvalues that stay open when their frame is gone, or that are
 * closed with it though they are of the frame below. */
static void
test_gc_calls_leaving_closes_upvalues_of_the_frame(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_push_integer(thread, 1);
  push_capture(thread, 1);
  enter(thread, 1, 0);
  gc_push_integer(thread, 2);
  push_capture(thread, 2);
  gc_leave(thread, 1);
  enter(thread, 6, 0);
  gc_leave(thread, 0);
  assert_int_equal(upvalue_integer(thread, 3), 2);
  gc_push_integer(thread, 4);
  gc_replace(thread, 1);
  assert_int_equal(upvalue_integer(thread, 2), 4);
  close_heap(heap, &host);
}

static void
test_gc_calls_errors_end_in_the_nearest_protected_frame(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  push_integers(thread, 1, 1);
  enter(thread, 2, GC_FRAME_PROTECTED);
  enter(thread, 2, 0);
  push_integers(thread, 9, 9);
  enter(thread, 2, GC_FRAME_PROTECTED);
  enter(thread, 2, 0);
  enter(thread, 2, 0);
  push_integers(thread, 100, 101);
  assert_int_equal(gc_raise(thread), GC_OK);
  ASSERT_SLOTS(thread, 0, 0, 9, 101);
  assert_int_equal(gc_frame_depth(thread), 3);
  gc_push_integer(thread, 102);
  assert_int_equal(gc_raise(thread), GC_OK);
  ASSERT_SLOTS(thread, 1, 102);
  assert_int_equal(gc_raise(thread), GC_ERROR);
  ASSERT_SLOTS(thread, 1, 102);
  enter(thread, 0, 0);
  gc_push_integer(thread, 103);
  assert_int_equal(gc_raise(thread), GC_ERROR);
  assert_int_equal(gc_frame_depth(thread), 2);
  assert_int_equal(gc_status_of(thread), GC_THREAD_RUNNING);
  close_heap(heap, &host);
}

/* ---- to-be-closed slots ---------------------------------------------- */

/* What the closers were called with: the integers at 1. */
static int closed[16];
static int closed_count;
static const struct gc_object *told[16];
static int told_count;

static void
close_and_collect(struct gc_thread *thread)
{
  assert_int_equal(gc_top(thread), 1);
  gc_raw_geti(thread, 1, 1);
  closed[closed_count++] = (int)gc_to_integer(thread, -1);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(gc_push_string(thread, LONG_TEXT, sizeof(LONG_TEXT)),
                     GC_OK);
    gc_pop(thread, 1);
  }
  gc_collect(gc_heap_of(thread));
}

static void
close_noting(struct gc_thread *thread)
{
  gc_raw_geti(thread, 1, 1);
  closed[closed_count++] = (int)gc_to_integer(thread, -1);
}

/* Leaves an upvalue open and values on its stack. */
static void
close_untidily(struct gc_thread *thread)
{
  close_noting(thread);
  push_capture(thread, 1);
  gc_push_copy(thread, -1);
  assert_int_equal(gc_raw_seti(thread, GC_INDEX_REGISTRY, 9), GC_OK);
  enter(thread, 3, 0);
  gc_leave(thread, 0);
}

/* Pushes a table with its number at 1 and a closer, as a slot to be closed. */
static void
push_to_close(struct gc_thread *thread, int number, gc_native closer)
{
  assert_int_equal(gc_new_table(thread, 1, 0), GC_OK);
  gc_push_integer(thread, number);
  assert_int_equal(gc_raw_seti(thread, -2, 1), GC_OK);
  assert_int_equal(gc_new_table(thread, 0, 1), GC_OK);
  assert_int_equal(gc_push_string(thread, "__close", 7), GC_OK);
  gc_push_native(thread, closer);
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  gc_set_metatable(thread, -2);
  assert_int_equal(gc_mark_to_close(thread), GC_OK);
}

static void
assert_closed(const int *expected, int count)
{
  assert_int_equal(closed_count, count);
  for (int i = 0; i < count; i++) {
    assert_int_equal(closed[i], expected[i]);
  }
  closed_count = 0;
}

#define ASSERT_CLOSED(...)                            \
  assert_closed((const int[]){ __VA_ARGS__ },         \
                sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

static void
hear(struct gc_listener *listener, const struct gc_event *event)
{
  (void)listener;
  if (event->type == GC_EVENT_CLOSING) {
    told[told_count++] = event->object;
  }
}

/* Catches closers called out of order, twice, or not; results lost. */
static void
test_gc_calls_leaving_calls_closers_last_first(void **state)
{
  struct gc_listener listener = { .event = hear };
  struct host host;
  struct gc_heap *heap = open_with(&host, &listener, NULL);
  struct gc_thread *thread = gc_main_thread(heap);
  const struct gc_object *second;

  (void)state;
  closed_count = told_count = 0;
  push_to_close(thread, 1, close_and_collect);
  enter(thread, 1, 0);
  push_to_close(thread, 2, close_and_collect);
  second = object_at(thread, -1);
  gc_push_nil(thread);
  push_to_close(thread, 3, close_and_collect);
  push_to_close(thread, 4, close_untidily);
  assert_int_equal(gc_to_close_count(thread), 3);
  push_integers(thread, 7, 8);
  gc_leave(thread, 2);
  ASSERT_CLOSED(4, 3, 2);
  assert_int_equal(told_count, 3);
  assert_ptr_equal(told[2], second);
  assert_int_equal(gc_to_integer(thread, 2), 7);
  assert_int_equal(gc_to_integer(thread, 3), 8);
  assert_int_equal(gc_top(thread), 3);
  assert_null(thread->open);
  assert_int_equal(gc_to_close_count(thread), 1);
  gc_close_slots(thread, 2);
  assert_int_equal(closed_count, 0);
  close_heap(heap, &host);
  ASSERT_CLOSED(1); /* closing the heap is the last to leave */
}

static void
test_gc_calls_errors_call_closers_of_each_frame(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  closed_count = 0;
  enter(thread, 0, GC_FRAME_PROTECTED);
  push_to_close(thread, 1, close_untidily);
  push_to_close(thread, 2, close_and_collect);
  enter(thread, 4, 0);
  push_to_close(thread, 3, close_and_collect);
  enter(thread, 4, 0);
  gc_push_integer(thread, 44);
  assert_int_equal(gc_raise(thread), GC_OK);
  ASSERT_CLOSED(3, 2, 1);
  ASSERT_SLOTS(thread, 44);
  assert_int_equal(thread->to_close_count, 0);
  close_heap(heap, &host);
}

/* Leaving a block: the frame stays, with what is below. */
static void
test_gc_calls_blocks_close_their_slots(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  closed_count = 0;
  push_to_close(thread, 1, close_noting);
  push_to_close(thread, 2, close_noting);
  gc_push_integer(thread, 3);
  push_capture(thread, 3);
  gc_push_nil(thread);
  gc_set_metatable(thread, 2); /* has no closer any more */
  gc_close_slots(thread, 3);
  assert_null(thread->open);
  assert_int_equal(gc_to_close_count(thread), 2);
  gc_close_slots(thread, 1);
  ASSERT_CLOSED(1);
  assert_int_equal(gc_to_close_count(thread), 0);
  assert_int_equal(gc_top(thread), 4);
  close_heap(heap, &host);
}

/* Catches a return that is given up, or that closes no more, when there is no
 * memory for one closer's frame. */
static void
test_gc_calls_closers_without_memory_are_left_out(void **state)
{
  struct gc_listener listener = { .event = hear };
  struct host host;
  struct gc_heap *heap = open_with(&host, &listener, NULL);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  closed_count = told_count = 0;
  enter(thread, 0, 0); /* the main coroutine has a record for this one */
  push_to_close(thread, 1, close_noting);
  push_to_close(thread, 2, close_noting);
  push_to_close(thread, 3, close_noting);
  host.fail_at = host.calls;
  host.fail_more = 1;
  gc_close_slots(thread, 1);
  ASSERT_CLOSED(2, 1);
  assert_int_equal(told_count, 2);
  assert_int_equal(gc_top(thread), 3);
  gc_leave(thread, 0);
  close_heap(heap, &host);
}

/* ---- stacks ---------------------------------------------------------- */

/* Catches upvalues that point into the block that the stack has left. */
static void
test_gc_calls_open_upvalues_follow_the_stack(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  push_integers(thread, 1, 2);
  push_capture(thread, 2);
  push_capture(thread, 1);
  for (int round = 0; round < 3; round++) {
    enter(thread, 5000, 0);
    assert_true(thread->stack_size >= 5000);
    gc_leave(thread, 0);
    assert_int_equal(upvalue_integer(thread, 3), 2);
    gc_push_integer(thread, 10 + round);
    gc_set_upvalue(thread, 4, 0);
    assert_int_equal(gc_to_integer(thread, 1), 10 + round);
    gc_collect(heap);
    assert_true(thread->stack_size < 100);
    assert_int_equal(upvalue_integer(thread, 4), 10 + round);
    gc_push_integer(thread, 20 + round);
    gc_replace(thread, 1);
    assert_int_equal(upvalue_integer(thread, 4), 20 + round);
  }
  close_heap(heap, &host);
}

/* Catches a stack that shrinks under a frame that was promised its room. */
static void
test_gc_calls_reserved_room_stays_with_the_frame(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  enter(thread, 0, 0);
  assert_int_equal(gc_reserve(thread, 3000), GC_OK);
  enter(thread, 0, 0);
  gc_collect(heap);
  gc_leave(thread, 0);
  for (int i = 0; i < 3000; i++) {
    gc_push_integer(thread, i);
    if (i % 1000 == 0) {
      gc_collect(heap);
    }
  }
  assert_int_equal(gc_to_integer(thread, 2500), 2499);
  gc_leave(thread, 0);
  gc_collect(heap);
  assert_true(thread->stack_size < 100);
  close_heap(heap, &host);
}

static void
test_gc_calls_stacks_have_a_limit(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  enter(thread, 10, 0);
  assert_int_equal(gc_reserve(thread, 1000000), GC_NO_MEMORY);
  assert_int_equal(gc_reserve(thread, 900000), GC_OK);
  gc_push_native(thread, do_nothing);
  assert_int_equal(gc_enter(thread, 0, 0, 1000000 - 32, 0), GC_NO_MEMORY);
  assert_int_equal(gc_enter(thread, 0, 0, 1000000 - 33, 0), GC_OK);
  assert_int_equal(thread->stack_size, 1000000 + 1); /* one is spare */
  gc_leave(thread, 0);
  gc_push_native(thread, do_nothing);
  assert_int_equal(gc_reenter(thread, 0, 1000000), GC_NO_MEMORY);
  assert_int_equal(gc_reenter(thread, 0, 10), GC_OK);
  gc_collect(heap);
  assert_true(thread->stack_size < 100);
  close_heap(heap, &host);
}

static int
count_records(const struct gc_thread *thread)
{
  int count = 0;

  for (const struct gc_frame *frame = &thread->first; frame != NULL;
       frame = frame->next) {
    assert_true(frame->next == NULL || frame->next->previous == frame);
    count++;
  }
  return count;
}

/* Catches recursion, and call records that are lost or kept for ever. */
static void
test_gc_calls_frames_go_deep(void **state)
{
  enum { DEPTH = 20000 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  enter(thread, 1, GC_FRAME_PROTECTED);
  for (int i = 1; i < DEPTH; i++) {
    enter(thread, 2, 0);
    gc_push_integer(thread, i);
    gc_replace(thread, 1);
    if (i % 1000 == 0) {
      push_capture(thread, 1);
    }
  }
  gc_collect(heap);
  assert_int_equal(gc_frame_depth(thread), DEPTH + 1);
  assert_int_equal(count_records(thread), DEPTH + 1);
  gc_push_integer(thread, 5);
  assert_int_equal(gc_raise(thread), GC_OK);
  assert_int_equal(gc_frame_depth(thread), 1);
  assert_null(thread->open);
  ASSERT_SLOTS(thread, 5);
  gc_collect(heap);
  assert_int_equal(count_records(thread), DEPTH / 2 + 1);
  for (int i = 0; i < 20; i++) {
    gc_collect(heap);
  }
  assert_int_equal(count_records(thread), 2);
  close_heap(heap, &host);
}

/* Catches a collection that does not bear that nothing can be shrunk. */
static void
test_gc_calls_shrinking_may_fail(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  enter(thread, 3000, 0);
  gc_leave(thread, 0);
  gc_push_integer(thread, 1);
  push_capture(thread, 1);
  host.fail_at = host.calls;
  gc_collect(heap);
  assert_true(host.calls > host.fail_at);
  assert_true(thread->stack_size > 3000);
  assert_int_equal(upvalue_integer(thread, 2), 1);
  gc_collect(heap);
  assert_true(thread->stack_size < 100);
  close_heap(heap, &host);
}

/* ---- coroutines ------------------------------------------------------ */

static struct gc_thread *
push_coroutine(struct gc_thread *thread)
{
  gc_push_native(thread, do_nothing);
  assert_int_equal(gc_new_thread(thread), GC_OK);
  return gc_to_thread(thread, -1);
}

/* Catches values that get lost between coroutines, and wrong states. */
static void
test_gc_calls_coroutines_pass_values(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *main = gc_main_thread(heap);
  struct gc_thread *coroutine;

  (void)state;
  gc_push_integer(main, 1);
  coroutine = push_coroutine(main);
  assert_false(gc_is_started(coroutine));
  assert_int_equal(gc_frame_depth(coroutine), 0);
  push_integers(main, 11, 12);
  assert_int_equal(gc_resume(main, 2, 3), GC_OK);
  assert_true(gc_is_started(coroutine));
  assert_ptr_equal(gc_running_thread(heap), coroutine);
  assert_int_equal(gc_status_of(main), GC_THREAD_NORMAL);
  assert_int_equal(gc_status_of(coroutine), GC_THREAD_RUNNING);
  ASSERT_SLOTS(coroutine, 11, 12, 0);
  assert_true(gc_to_native(coroutine, GC_INDEX_FUNCTION) == do_nothing);
  push_integers(coroutine, 21, 23);
  assert_int_equal(gc_yield(coroutine, 3), GC_OK);
  ASSERT_SLOTS(main, 1, 21, 22, 23);
  ASSERT_SLOTS(coroutine, 11, 12, 0); /* what was yielded is gone here */
  close_heap(heap, &host);
}

/* After a yield the coroutine is where the host has kept it. */
static void
test_gc_calls_coroutines_go_on_where_they_were(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *main = gc_main_thread(heap);
  struct gc_thread *coroutine = push_coroutine(main);

  (void)state;
  gc_push_copy(main, 1);
  assert_int_equal(gc_resume(main, 0, 1), GC_OK);
  for (int i = 1; i <= 5; i++) {
    enter(coroutine, 1, 0);
    assert_int_equal(gc_yield(coroutine, 0), GC_OK);
    assert_int_equal(gc_status_of(coroutine), GC_THREAD_SUSPENDED);
    assert_int_equal(gc_top(main), 1);
    gc_collect(heap);
    gc_push_copy(main, 1);
    gc_push_integer(main, i);
    assert_int_equal(gc_resume(main, 1, 77), GC_OK);
    ASSERT_SLOTS(coroutine, 0, i);
    assert_int_equal(gc_frame_depth(coroutine), (uint32_t)i + 1);
  }
  for (int i = 1; i <= 5; i++) {
    gc_leave(coroutine, 0);
  }
  gc_push_integer(coroutine, 9);
  assert_int_equal(gc_finish(coroutine, 1), GC_OK);
  assert_int_equal(gc_status_of(coroutine), GC_THREAD_FINISHED);
  assert_int_equal(gc_to_integer(main, 2), 9);
  assert_true(gc_is_started(coroutine));
  assert_int_equal(gc_frame_depth(coroutine), 0);
  close_heap(heap, &host);
}

/* Each is anchored only on the stack of the one that has resumed it. */
static void
test_gc_calls_coroutines_nest(void **state)
{
  enum { DEPTH = 50 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int i = 1; i <= DEPTH; i++) {
    push_coroutine(thread);
    gc_push_integer(thread, i);
    assert_int_equal(gc_resume(thread, 1, 1), GC_OK);
    thread = gc_running_thread(heap);
    gc_collect(heap);
    check_heap(heap);
  }
  for (int i = DEPTH; i >= 1; i--) {
    ASSERT_SLOTS(thread, i);
    if (i % 2 == 0) {
      assert_int_equal(gc_yield(thread, 1), GC_OK);
    } else {
      assert_int_equal(gc_finish(thread, 1), GC_OK);
    }
    thread = gc_running_thread(heap);
    gc_collect(heap);
    gc_pop(thread, 1);
  }
  assert_ptr_equal(thread, gc_main_thread(heap));
  close_heap(heap, &host);
}

static void
test_gc_calls_finishing_closes_what_is_open(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *main = gc_main_thread(heap);
  struct gc_thread *coroutine = push_coroutine(main);

  (void)state;
  closed_count = 0;
  gc_push_copy(main, 1);
  gc_push_integer(main, 3);
  assert_int_equal(gc_resume(main, 1, 1), GC_OK);
  push_to_close(coroutine, 5, close_and_collect);
  push_capture(coroutine, 1);
  gc_push_integer(coroutine, 6);
  assert_int_equal(gc_finish(coroutine, 2), GC_OK);
  ASSERT_CLOSED(5);
  assert_null(coroutine->open);
  assert_int_equal(upvalue_integer(main, 2), 3);
  assert_int_equal(gc_to_integer(main, 3), 6);
  close_heap(heap, &host);
}

/* An error that nobody catches: the frames stay and can be looked at. */
static void
test_gc_calls_failed_coroutines_keep_their_frames(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *main = gc_main_thread(heap);
  struct gc_thread *coroutine = push_coroutine(main);

  (void)state;
  closed_count = 0;
  gc_push_copy(main, 1);
  assert_int_equal(gc_resume(main, 0, 1), GC_OK);
  push_to_close(coroutine, 8, close_noting);
  enter(coroutine, 2, 0);
  push_capture(coroutine, 2);
  gc_push_integer(coroutine, 66);
  assert_int_equal(gc_raise(coroutine), GC_ERROR);
  assert_int_equal(gc_status_of(coroutine), GC_THREAD_FAILED);
  gc_fail(coroutine);
  assert_ptr_equal(gc_running_thread(heap), main);
  assert_int_equal(gc_to_integer(main, 2), 66);
  assert_int_equal(gc_frame_depth(coroutine), 2);
  gc_copy_across(main, 2, coroutine, 2);
  gc_copy_across(coroutine, 3, main, 2);
  assert_int_equal(upvalue_integer(main, 2), 66);
  assert_int_equal(closed_count, 0);
  gc_thread_close(coroutine);
  ASSERT_CLOSED(8);
  assert_int_equal(gc_status_of(coroutine), GC_THREAD_FINISHED);
  assert_int_equal(upvalue_integer(main, 2), 66);
  gc_thread_close(coroutine);
  assert_int_equal(gc_frame_depth(coroutine), 0);
  gc_collect(heap);
  close_heap(heap, &host);
}

/* Also of one that never started: it drops its function. */
static void
test_gc_calls_closing_drops_everything(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *main = gc_main_thread(heap);
  struct gc_object *function;
  struct gc_thread *coroutine;

  (void)state;
  closed_count = 0;
  assert_int_equal(gc_new_native_closure(main, do_nothing, 0), GC_OK);
  function = object_at(main, -1);
  assert_int_equal(gc_new_thread(main), GC_OK);
  gc_collect(heap);
  assert_true(is_in_heap(heap, function));
  gc_thread_close(gc_to_thread(main, 1));
  gc_collect(heap);
  assert_false(is_in_heap(heap, function));
  coroutine = push_coroutine(main);
  gc_push_copy(main, -1);
  assert_int_equal(gc_resume(main, 0, 2), GC_OK);
  for (int i = 1; i <= 3; i++) {
    push_to_close(coroutine, i, close_and_collect);
    enter(coroutine, 2, i == 2 ? GC_FRAME_PROTECTED : 0);
  }
  assert_int_equal(gc_yield(coroutine, 0), GC_OK);
  gc_thread_close(coroutine);
  ASSERT_CLOSED(3, 2, 1);
  assert_int_equal(gc_status_of(coroutine), GC_THREAD_FINISHED);
  assert_ptr_equal(gc_running_thread(heap), main);
  close_heap(heap, &host);
}

/* Pushes a closure over slot 1 (a table with 5 at 1) of a coroutine that
 * nobody else refers to. */
static void
push_orphan(struct gc_thread *main)
{
  struct gc_thread *coroutine = push_coroutine(main);

  assert_int_equal(gc_resume(main, 0, 1), GC_OK);
  assert_int_equal(gc_new_table(coroutine, 0, 0), GC_OK);
  gc_replace(coroutine, 1);
  push_capture(coroutine, 1);
  assert_int_equal(gc_yield(coroutine, 1), GC_OK);
}

static void
assert_orphan(struct gc_thread *thread, int index, int64_t expected)
{
  gc_get_upvalue(thread, index, 0);
  gc_raw_geti(thread, -1, 1);
  assert_int_equal(gc_to_integer(thread, -1), expected);
  gc_pop(thread, 2);
}

/* Catches the value of an open upvalue that dies with its coroutine, or that
 * is left behind in its stack, whatever the phase in which it is dropped and
 * written to. */
static void
test_gc_calls_upvalues_outlive_their_coroutine(void **state)
{
  (void)state;
  for (int before = 0; before < 40; before++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *main = gc_main_thread(heap);

    gc_stop(heap);
    push_orphan(main);
    for (int i = 0; i < before; i++) {
      gc_micro_step(heap);
      check_heap(heap);
    }
    assert_int_equal(gc_new_table(main, 0, 0), GC_OK);
    gc_push_integer(main, before);
    assert_int_equal(gc_raw_seti(main, -2, 1), GC_OK);
    gc_set_upvalue(main, 1, 0);
    for (int i = 0; i < 60; i++) {
      gc_micro_step(heap);
      check_heap(heap);
      assert_orphan(main, 1, before);
    }
    close_heap(heap, &host);
  }
}

/* Catches a yield that writes past the end of the resumer's stack. */
static void
test_gc_calls_yield_makes_room_for_its_values(void **state)
{
  enum { COUNT = 2000 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *main = gc_main_thread(heap);
  struct gc_thread *coroutine = push_coroutine(main);

  (void)state;
  gc_push_copy(main, 1);
  assert_int_equal(gc_resume(main, 0, 1), GC_OK);
  assert_int_equal(gc_reserve(coroutine, COUNT), GC_OK);
  push_integers(coroutine, 1, COUNT);
  assert_int_equal(gc_yield(coroutine, COUNT), GC_OK);
  assert_int_equal(gc_top(main), 1 + COUNT);
  assert_int_equal(gc_to_integer(main, 1 + COUNT), COUNT);
  gc_copy(main, 1, 2);
  assert_int_equal(gc_resume(main, COUNT - 1, 1), GC_OK);
  assert_int_equal(gc_top(coroutine), COUNT);
  gc_collect(heap);
  assert_int_equal(gc_to_integer(coroutine, COUNT), COUNT);
  close_heap(heap, &host);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_calls_frames_hold_function_varargs_and_slots),
    cmocka_unit_test(test_gc_calls_leaving_brings_many_results),
    cmocka_unit_test(test_gc_calls_new_slots_are_nil),
    cmocka_unit_test(test_gc_calls_tail_calls_replace_the_frame),
    cmocka_unit_test(test_gc_calls_leaving_closes_upvalues_of_the_frame),
    cmocka_unit_test(test_gc_calls_errors_end_in_the_nearest_protected_frame),
    cmocka_unit_test(test_gc_calls_leaving_calls_closers_last_first),
    cmocka_unit_test(test_gc_calls_errors_call_closers_of_each_frame),
    cmocka_unit_test(test_gc_calls_blocks_close_their_slots),
    cmocka_unit_test(test_gc_calls_closers_without_memory_are_left_out),
    cmocka_unit_test(test_gc_calls_open_upvalues_follow_the_stack),
    cmocka_unit_test(test_gc_calls_reserved_room_stays_with_the_frame),
    cmocka_unit_test(test_gc_calls_stacks_have_a_limit),
    cmocka_unit_test(test_gc_calls_frames_go_deep),
    cmocka_unit_test(test_gc_calls_shrinking_may_fail),
    cmocka_unit_test(test_gc_calls_coroutines_pass_values),
    cmocka_unit_test(test_gc_calls_coroutines_go_on_where_they_were),
    cmocka_unit_test(test_gc_calls_coroutines_nest),
    cmocka_unit_test(test_gc_calls_finishing_closes_what_is_open),
    cmocka_unit_test(test_gc_calls_failed_coroutines_keep_their_frames),
    cmocka_unit_test(test_gc_calls_closing_drops_everything),
    cmocka_unit_test(test_gc_calls_upvalues_outlive_their_coroutine),
    cmocka_unit_test(test_gc_calls_yield_makes_room_for_its_values),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
