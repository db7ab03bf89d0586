/* SPDX-License-Identifier: MIT
 *
 * Each function of gc.h that may allocate, called in a way that makes it
 * allocate all that it can; and a print of what is reachable in a heap, by
 * which one sees that a call has changed nothing. For one test program each.
 */
#ifndef PENUMBRA_TESTS_GC_SCENARIOS_H
#define PENUMBRA_TESTS_GC_SCENARIOS_H

#include <stdio.h>

#include "tests/gc_drive.h"

#define LONG_TEXT "a string that is longer than the forty bytes of a short one"

/* ---- the state before and after -------------------------------------- */

static uint64_t
mix(uint64_t hash, uint64_t bits)
{
  hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

static uint64_t
mix_pointer(uint64_t hash, const void *pointer)
{
  return mix(hash, (uint64_t)(uintptr_t)pointer);
}

static uint64_t
mix_value(uint64_t hash, const struct gc_value *value)
{
  uint64_t bits = 0;

  if (value->tag >= GC_TAG_INTEGER) {
    memcpy(&bits, &value->as, sizeof(bits));
  }
  return mix(mix(hash, value->tag), bits);
}

static uint64_t
mix_values(uint64_t hash, const struct gc_value *values, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    hash = mix_value(hash, &values[i]);
  }
  return hash;
}

/* Pairs, not places: a failed store may have found a better layout. */
static uint64_t
table_print(const struct gc_table *table)
{
  uint64_t sum = mix_pointer(1, table->metatable);

  for (uint32_t i = 0; i < table->array_size; i++) {
    struct gc_value key = { .as.integer = (int64_t)i + 1,
                            .tag = GC_TAG_INTEGER };

    if (table->array[i].tag != GC_TAG_NIL) {
      sum += mix_value(mix_value(2, &key), &table->array[i]);
    }
  }
  for (uint32_t i = 0; i < table->node_count; i++) {
    const struct gc_node *node = &table->nodes[i];

    if (node->value.tag != GC_TAG_NIL) {
      sum += mix_value(mix_value(2, &node->key), &node->value);
    }
  }
  return sum;
}

static uint64_t
thread_print(const struct gc_thread *thread)
{
  uint64_t hash = mix(3, thread->top);

  hash = mix_values(hash, thread->stack, thread->top);
  for (const struct gc_frame *frame = thread->frame; frame != NULL;
       frame = frame->previous) {
    hash = mix(mix(mix(hash, frame->function), frame->base), frame->flags);
  }
  for (uint32_t i = 0; i < thread->to_close_count; i++) {
    hash = mix(hash, thread->to_close[i]);
  }
  hash = mix(mix(hash, thread->frame_depth), thread->status);
  return mix_pointer(hash, thread->resumer);
}

static uint64_t
closure_print(const struct gc_closure *closure)
{
  uint64_t hash = mix_pointer(4, closure->prototype);

  for (int i = 0; i < closure->upvalue_count; i++) {
    hash = mix_pointer(hash, closure->upvalues[i]);
  }
  return hash;
}

static uint64_t
prototype_print(const struct gc_prototype *prototype)
{
  uint64_t hash
      = mix_values(5, prototype->constants, prototype->constant_count);

  for (uint32_t i = 0; i < prototype->nested_count; i++) {
    hash = mix_pointer(hash, prototype->nested[i]);
  }
  return hash;
}

static uint64_t
object_print(const struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_TABLE:
    return table_print((const struct gc_table *)object);
  case GC_KIND_THREAD:
    return thread_print((const struct gc_thread *)object);
  case GC_KIND_CLOSURE:
    return closure_print((const struct gc_closure *)object);
  case GC_KIND_PROTOTYPE:
    return prototype_print((const struct gc_prototype *)object);
  case GC_KIND_UPVALUE:
    return mix_value(6, ((const struct gc_upvalue *)object)->slot);
  case GC_KIND_USERDATA:
  case GC_KIND_NATIVE_CLOSURE:
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
  case GC_KIND_COUNT:
    break;
  }
  return 7;
}

/* The objects that have been found, and those of them to be looked at. */
struct reached {
  bool *seen; /* by sequence number */
  const struct gc_object **found;
  size_t count;
};

static struct reached reached;

static void
reach(const struct gc_heap *heap, const struct gc_object *parent,
      const struct gc_object *object)
{
  (void)parent;
  assert_true(object->sequence <= heap->sequence);
  if (!reached.seen[object->sequence]) {
    reached.seen[object->sequence] = true;
    reached.found[reached.count++] = object;
  }
}

static void
reach_roots(const struct gc_heap *heap)
{
  reach(heap, NULL, &heap->main->head);
  reach(heap, NULL, &heap->running->head);
  see_value(heap, NULL, &heap->registry, reach);
  for (int i = 0; i < GC_BASIC_COUNT; i++) {
    if (heap->metatables[i] != NULL) {
      reach(heap, NULL, &heap->metatables[i]->head);
    }
  }
}

/* Of all that can be reached; the order does not count. */
static inline uint64_t
heap_print(const struct gc_heap *heap)
{
  uint64_t sum = mix_pointer(8, heap->running);

  reached.seen = calloc(heap->sequence + 1, sizeof(*reached.seen));
  reached.found = calloc(heap->sequence + 1, sizeof(void *));
  reached.count = 0;
  assert_non_null(reached.seen);
  assert_non_null(reached.found);
  reach_roots(heap);
  for (size_t i = 0; i < reached.count; i++) {
    const struct gc_object *object = reached.found[i];

    sum += mix(mix_pointer(9, object), object_print(object));
    see_children(heap, object, reach);
  }
  free(reached.seen);
  free(reached.found);
  return sum;
}

/* ---- generations ----------------------------------------------------- */

/* What is excused from the laws of ages: what is grey is visited by the next
 * collection, threads and open upvalues always are. */
static bool
is_aged_strictly(const struct gc_object *object)
{
  return gc_is_black(object) && gc_is_old(object)
         && object->kind != GC_KIND_THREAD;
}

static void
child_is_old_enough(const struct gc_heap *heap,
                    const struct gc_object *parent,
                    const struct gc_object *child)
{
  assert_false(gc_is_dead(heap, child));
  if (!is_aged_strictly(parent)) {
    return;
  }
  if (parent->age == GC_AGE_OLD) {
    assert_true(gc_is_old(child) || (child->mark & GC_MARK_FIXED));
  } else {
    assert_int_not_equal(child->age, GC_AGE_NEW);
  }
}

/* The invariants of either mode, as between any two micro-steps. */
static inline void
check_mode(const struct gc_heap *heap)
{
  const struct gc_object *object;

  if (heap->cycle_mode == GC_MODE_INCREMENTAL) {
    check_heap(heap);
    return;
  }
  assert_int_equal(heap->phase, GC_PHASE_PROPAGATE);
  for (object = heap->all; object != NULL; object = object->next) {
    see_children(heap, object, child_is_old_enough);
  }
}

/* ---- the scenarios --------------------------------------------------- */

enum { MANY = 500 }; /* values: more than a stack has room for */

static void
ok(enum gc_status status)
{
  assert_int_equal(status, GC_OK);
}

static void
prepare_nothing(struct gc_thread *thread)
{
  gc_push_nil(thread);
}

static enum gc_status
act_push_short(struct gc_thread *thread)
{
  return gc_push_string(thread, "unheard of", 10);
}

static enum gc_status
act_push_long(struct gc_thread *thread)
{
  return gc_push_string(thread, LONG_TEXT, sizeof(LONG_TEXT) - 1);
}

/* As many strings as there are buckets: the next one makes the table grow. */
static void
prepare_full_strings(struct gc_thread *thread)
{
  struct gc_heap *heap = gc_heap_of(thread);
  char text[32];

  gc_stop(heap);
  for (int i = 0; heap->strings.count < heap->strings.bucket_count; i++) {
    snprintf(text, sizeof(text), "filler %d", i);
    push_string(thread, text);
    gc_pop(thread, 1);
  }
}

static void
prepare_short_operands(struct gc_thread *thread)
{
  push_string(thread, "short and ");
  push_string(thread, "sweet");
}

static void
prepare_long_operands(struct gc_thread *thread)
{
  push_string(thread, LONG_TEXT);
  push_string(thread, LONG_TEXT);
}

static enum gc_status
act_new_table(struct gc_thread *thread)
{
  return gc_new_table(thread, 10, 10);
}

/* A full hash part of integers that will move to an array part. */
static void
prepare_full_hash(struct gc_thread *thread)
{
  ok(gc_new_table(thread, 0, 4));
  for (int i = 2; i <= 4; i++) {
    gc_push_integer(thread, i);
    ok(gc_raw_seti(thread, 1, i));
  }
  push_string(thread, LONG_TEXT);
  gc_push_boolean(thread, true);
  ok(gc_raw_set(thread, 1));
  gc_push_integer(thread, 1);
  push_string(thread, "value");
}

/* An array part half of which has been emptied, and which will shrink. */
static void
prepare_wide_array(struct gc_thread *thread)
{
  new_table(thread);
  for (int i = 1; i <= 64; i++) {
    gc_push_integer(thread, i);
    ok(gc_raw_seti(thread, 1, i));
  }
  for (int i = 2; i <= 60; i++) {
    gc_push_nil(thread);
    ok(gc_raw_seti(thread, 1, i));
  }
  push_string(thread, "key");
  push_string(thread, "value");
}

static enum gc_status
act_raw_set(struct gc_thread *thread)
{
  return gc_raw_set(thread, 1);
}

static void
prepare_empty_table(struct gc_thread *thread)
{
  new_table(thread);
  push_string(thread, "value");
}

static enum gc_status
act_raw_seti(struct gc_thread *thread)
{
  return gc_raw_seti(thread, 1, 1);
}

/* 1 a table whose __newindex is 2. */
static void
prepare_newindex(struct gc_thread *thread)
{
  new_table(thread);
  new_table(thread);
  ok(gc_new_table(thread, 0, 1));
  push_string(thread, "__newindex");
  gc_push_copy(thread, 2);
  ok(gc_raw_set(thread, 3));
  gc_set_metatable(thread, 1);
  push_string(thread, "key");
  push_string(thread, "value");
}

static enum gc_status
act_set(struct gc_thread *thread)
{
  return gc_set(thread, 1);
}

static enum gc_status
act_new_userdata(struct gc_thread *thread)
{
  return gc_new_userdata(thread, 100, 3);
}

static enum gc_status
act_new_native_closure(struct gc_thread *thread)
{
  return gc_new_native_closure(thread, do_nothing, 2);
}

static enum gc_status
act_new_prototype(struct gc_thread *thread)
{
  return gc_new_prototype(thread, 2);
}

/* 1, 2 values; 3 a closure whose parts fill their blocks; 4 a closure. */
static void
prepare_prototype(struct gc_thread *thread)
{
  prepare_long_operands(thread);
  ok(gc_new_prototype(thread, 1));
  for (int i = 0; i < 4; i++) {
    gc_push_integer(thread, i);
    ok(gc_prototype_add_constant(thread, 3));
    ok(gc_new_prototype(thread, 0));
    ok(gc_prototype_add_nested(thread, 3));
  }
  ok(gc_new_prototype(thread, 1));
}

static enum gc_status
act_add_constant(struct gc_thread *thread)
{
  return gc_prototype_add_constant(thread, 3);
}

static enum gc_status
act_add_nested(struct gc_thread *thread)
{
  return gc_prototype_add_nested(thread, 3);
}

static enum gc_status
act_new_closure(struct gc_thread *thread)
{
  static const struct gc_capture captures[] = {
    { .in_stack = true, .index = 2 },
    { .in_stack = true, .index = 1 },
    { .in_stack = true, .index = 2 },
  };

  return gc_new_closure(thread, 3, captures, 3);
}

/* 1 a prototype; 2, 3 values. */
static void
prepare_values(struct gc_thread *thread)
{
  ok(gc_new_prototype(thread, 2));
  prepare_long_operands(thread);
}

static enum gc_status
act_new_closure_over_values(struct gc_thread *thread)
{
  return gc_new_closure_over_values(thread, 1, 2);
}

/* A function with varargs and arguments, above an open upvalue. */
static void
prepare_call(struct gc_thread *thread)
{
  prepare_prototype(thread);
  ok(act_new_closure(thread));
  gc_push_native(thread, do_nothing);
  prepare_long_operands(thread);
  prepare_long_operands(thread);
}

static enum gc_status
act_enter(struct gc_thread *thread)
{
  return gc_enter(thread, 2, 2, 50, GC_FRAME_PROTECTED);
}

/* One frame up: the main coroutine always has a record for that one. */
static void
prepare_inner_call(struct gc_thread *thread)
{
  gc_push_native(thread, do_nothing);
  ok(gc_enter(thread, 0, 0, 0, 0));
  prepare_call(thread);
}

static enum gc_status
act_reenter(struct gc_thread *thread)
{
  return gc_reenter(thread, 4, 500);
}

static enum gc_status
act_reserve(struct gc_thread *thread)
{
  return gc_reserve(thread, 500);
}

static void
prepare_closer(struct gc_thread *thread)
{
  new_table(thread);
  ok(gc_new_table(thread, 0, 1));
  push_string(thread, "__close");
  gc_push_native(thread, do_nothing);
  ok(gc_raw_set(thread, -3));
  gc_set_metatable(thread, -2);
}

/* Four slots to be closed fill their block. */
static void
prepare_closers(struct gc_thread *thread)
{
  for (int i = 0; i < 4; i++) {
    prepare_closer(thread);
    ok(gc_mark_to_close(thread));
  }
  prepare_closer(thread);
}

static enum gc_status
act_mark_to_close(struct gc_thread *thread)
{
  return gc_mark_to_close(thread);
}

static void
prepare_function(struct gc_thread *thread)
{
  gc_push_native(thread, do_nothing);
}

static enum gc_status
act_new_thread(struct gc_thread *thread)
{
  return gc_new_thread(thread);
}

static void
prepare_coroutine(struct gc_thread *thread)
{
  prepare_function(thread);
  ok(gc_new_thread(thread));
  prepare_long_operands(thread);
}

static enum gc_status
act_start(struct gc_thread *thread)
{
  return gc_resume(thread, 2, 100);
}

/* A suspended coroutine, and a hundred values for it. */
static void
prepare_suspended(struct gc_thread *thread)
{
  prepare_function(thread);
  ok(gc_new_thread(thread));
  gc_push_copy(thread, 1);
  ok(gc_resume(thread, 0, 1));
  ok(gc_yield(gc_running_thread(gc_heap_of(thread)), 0));
  ok(gc_reserve(thread, 100));
  for (int i = 0; i < 100; i++) {
    gc_push_integer(thread, i);
  }
}

static enum gc_status
act_resume(struct gc_thread *thread)
{
  return gc_resume(thread, 100, 1);
}

/* A running coroutine with many values for its resumer. */
static void
prepare_running(struct gc_thread *thread)
{
  struct gc_thread *coroutine;

  prepare_suspended(thread);
  ok(gc_resume(thread, 100, 1));
  coroutine = gc_running_thread(gc_heap_of(thread));
  ok(gc_reserve(coroutine, GC_STACK_MIN));
  ok(gc_new_prototype(coroutine, 1));
  ok(gc_new_closure(coroutine, -1,
                    &(struct gc_capture){ .in_stack = true, .index = 1 }, 1));
  ok(gc_reserve(coroutine, MANY));
  gc_set_top(coroutine, MANY);
}

static enum gc_status
act_yield(struct gc_thread *thread)
{
  return gc_yield(gc_running_thread(gc_heap_of(thread)), MANY);
}

static enum gc_status
act_finish(struct gc_thread *thread)
{
  return gc_finish(gc_running_thread(gc_heap_of(thread)), MANY);
}

struct scenario {
  const char *name;
  void (*prepare)(struct gc_thread *thread);
  enum gc_status (*act)(struct gc_thread *thread);
  unsigned failures; /* allocations whose failure must be told */
};

static const struct scenario scenarios[] = {
  { "push a short string", prepare_nothing, act_push_short, 1 },
  { "push a long string", prepare_nothing, act_push_long, 1 },
  { "push beyond the buckets", prepare_full_strings, act_push_short, 1 },
  { "concat to short", prepare_short_operands, gc_concat, 1 },
  { "concat to long", prepare_long_operands, gc_concat, 1 },
  { "new table", prepare_nothing, act_new_table, 3 },
  { "set that grows both parts", prepare_full_hash, act_raw_set, 2 },
  { "set that shrinks the array", prepare_wide_array, act_raw_set, 2 },
  { "set by integer", prepare_empty_table, act_raw_seti, 1 },
  { "set through __newindex", prepare_newindex, act_set, 1 },
  { "new userdata", prepare_nothing, act_new_userdata, 1 },
  { "new native closure", prepare_long_operands, act_new_native_closure, 1 },
  { "new prototype", prepare_nothing, act_new_prototype, 2 },
  { "add a constant", prepare_prototype, act_add_constant, 1 },
  { "add a nested prototype", prepare_prototype, act_add_nested, 1 },
  { "new closure", prepare_prototype, act_new_closure, 3 },
  { "new closure over values", prepare_values, act_new_closure_over_values,
    3 },
  { "enter", prepare_inner_call, act_enter, 2 },
  { "reenter", prepare_inner_call, act_reenter, 1 },
  { "reserve", prepare_long_operands, act_reserve, 1 },
  { "mark the first slot to close", prepare_closer, act_mark_to_close, 1 },
  { "mark the fifth slot to close", prepare_closers, act_mark_to_close, 1 },
  { "new coroutine", prepare_function, act_new_thread, 2 },
  { "start a coroutine", prepare_coroutine, act_start, 1 },
  { "resume with many values", prepare_suspended, act_resume, 1 },
  { "yield many values", prepare_running, act_yield, 1 },
  { "finish with many values", prepare_running, act_finish, 1 },
};

#endif
