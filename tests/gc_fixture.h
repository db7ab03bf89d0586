/* SPDX-License-Identifier: MIT
 *
 * A host and an examiner for tests of src/gc: an allocator that counts, checks
 * old sizes and fails on demand, and a walk that holds a heap against the
 * collector's invariants. The walk is written from object.h alone, so that it
 * does not repeat the collector's mistakes. For one test program each.
 */
#ifndef PENUMBRA_TESTS_GC_FIXTURE_H
#define PENUMBRA_TESTS_GC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gc/gc.h"
#include "gc/heap.h"

/* ---- a host: an allocator that counts -------------------------------- */

struct host {
  size_t bytes;
  size_t blocks;
  size_t calls;   /* that ask for memory */
  size_t fail_at; /* the call that fails; SIZE_MAX: none */
  size_t fail_more; /* how many calls after it fail, too */
  size_t limit;     /* in bytes; what goes beyond fails; 0: none */
};

/* Whether the next call that asks for memory fails. */
static inline bool
host_refuses(struct host *host, size_t old_size, size_t new_size)
{
  size_t call = host->calls++;

  if (host->limit > 0 && host->bytes - old_size + new_size > host->limit) {
    return true;
  }
  return call >= host->fail_at && call - host->fail_at <= host->fail_more;
}

/* Each block has its size in front, so that a wrong old size is seen. */
enum { BLOCK_HEAD = 16 };

static inline void
give_back(struct host *host, void *block, size_t size)
{
  char *start = (char *)block - BLOCK_HEAD;
  size_t true_size;

  memcpy(&true_size, start, sizeof(true_size));
  assert_int_equal(size, true_size);
  host->bytes -= size;
  host->blocks--;
  free(start);
}

static inline void *
host_allocate(void *user, void *block, size_t old_size, size_t new_size)
{
  struct host *host = user;
  char *start;

  if (block == NULL) {
    assert_int_equal(old_size, 0);
  }
  if (new_size == 0) {
    if (block != NULL) {
      give_back(host, block, old_size);
    }
    return NULL;
  }
  if (host_refuses(host, old_size, new_size)) {
    return NULL;
  }
  start = malloc(BLOCK_HEAD + new_size);
  assert_non_null(start);
  memcpy(start, &new_size, sizeof(new_size));
  memset(start + BLOCK_HEAD, 0xa5, new_size);
  host->bytes += new_size;
  host->blocks++;
  if (block != NULL) {
    memcpy(start + BLOCK_HEAD, block,
           old_size < new_size ? old_size : new_size);
    give_back(host, block, old_size);
  }
  return start + BLOCK_HEAD;
}

static inline struct gc_heap *
open_with(struct host *host, struct gc_listener *listener, const char *fault)
{
  struct gc_config config = { .allocate = host_allocate,
                              .user = host,
                              .listener = listener,
                              .fault = fault };

  *host = (struct host){ .fail_at = SIZE_MAX };
  return gc_open(&config);
}

static inline struct gc_heap *
open_heap(struct host *host)
{
  struct gc_heap *heap = open_with(host, NULL, NULL);

  assert_non_null(heap);
  return heap;
}

static inline void
close_heap(struct gc_heap *heap, struct host *host)
{
  assert_int_equal(gc_bytes(heap), host->bytes);
  gc_close(heap);
  assert_int_equal(host->bytes, 0);
  assert_int_equal(host->blocks, 0);
}

/* ---- looking at a heap ----------------------------------------------- */

static inline struct gc_object *
object_at(struct gc_thread *thread, int index)
{
  uint32_t slot = index > 0 ? thread->frame->base + (uint32_t)index - 1
                            : thread->top - (uint32_t)-index;

  assert_int_equal(thread->stack[slot].tag, GC_TAG_OBJECT);
  return thread->stack[slot].as.object;
}

static inline size_t
list_length(const struct gc_object *object)
{
  size_t count = 0;

  for (; object != NULL; object = object->next) {
    count++;
  }
  return count;
}

static inline bool
is_in_list(const struct gc_object *object, const struct gc_object *wanted)
{
  while (object != NULL && object != wanted) {
    object = object->next;
  }
  return object != NULL;
}

static inline bool
is_in_heap(const struct gc_heap *heap, const struct gc_object *wanted)
{
  return is_in_list(heap->all, wanted) || is_in_list(heap->finalizable, wanted)
         || is_in_list(heap->pending, wanted);
}

/* Calls see for each object that object refers to strongly. */
typedef void (*see_child)(const struct gc_heap *heap,
                          const struct gc_object *parent,
                          const struct gc_object *child);

static inline void
see_value(const struct gc_heap *heap, const struct gc_object *parent,
          const struct gc_value *value, see_child see)
{
  if (value->tag == GC_TAG_OBJECT) {
    see(heap, parent, value->as.object);
  }
}

static inline void
see_table(const struct gc_heap *heap, const struct gc_table *table,
          see_child see)
{
  if (table->metatable != NULL) {
    see(heap, &table->head, &table->metatable->head);
  }
  for (uint32_t i = 0; i < table->array_size; i++) {
    see_value(heap, &table->head, &table->array[i], see);
  }
  for (uint32_t i = 0; i < table->node_count; i++) {
    if (table->nodes[i].value.tag != GC_TAG_NIL) {
      see_value(heap, &table->head, &table->nodes[i].key, see);
      see_value(heap, &table->head, &table->nodes[i].value, see);
    }
  }
}

static inline void
see_prototype(const struct gc_heap *heap,
              const struct gc_prototype *prototype, see_child see)
{
  for (uint32_t i = 0; i < prototype->constant_count; i++) {
    see_value(heap, &prototype->head, &prototype->constants[i], see);
  }
  for (uint32_t i = 0; i < prototype->nested_count; i++) {
    see(heap, &prototype->head, &prototype->nested[i]->head);
  }
}

/* One that was given up while it was being built lacks parts. */
static inline void
see_closure(const struct gc_heap *heap, const struct gc_closure *closure,
            see_child see)
{
  if (closure->prototype != NULL) {
    see(heap, &closure->head, &closure->prototype->head);
  }
  for (int i = 0; i < closure->upvalue_count; i++) {
    if (closure->upvalues[i] != NULL) {
      see(heap, &closure->head, &closure->upvalues[i]->head);
    }
  }
}

static inline void
see_userdata(const struct gc_heap *heap, const struct gc_userdata *userdata,
             see_child see)
{
  if (userdata->metatable != NULL) {
    see(heap, &userdata->head, &userdata->metatable->head);
  }
  for (int i = 0; i < userdata->user_value_count; i++) {
    see_value(heap, &userdata->head, &userdata->user_values[i], see);
  }
}

static inline void
see_thread(const struct gc_heap *heap, const struct gc_thread *thread,
           see_child see)
{
  for (uint32_t i = 0; i < thread->top; i++) {
    see_value(heap, &thread->head, &thread->stack[i], see);
  }
}

static inline void
see_native(const struct gc_heap *heap,
           const struct gc_native_closure *closure, see_child see)
{
  for (int i = 0; i < closure->value_count; i++) {
    see_value(heap, &closure->head, &closure->values[i], see);
  }
}

static inline void
see_children(const struct gc_heap *heap, const struct gc_object *object,
             see_child see)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_TABLE:
    see_table(heap, (const struct gc_table *)object, see);
    break;
  case GC_KIND_USERDATA:
    see_userdata(heap, (const struct gc_userdata *)object, see);
    break;
  case GC_KIND_NATIVE_CLOSURE:
    see_native(heap, (const struct gc_native_closure *)object, see);
    break;
  case GC_KIND_CLOSURE:
    see_closure(heap, (const struct gc_closure *)object, see);
    break;
  case GC_KIND_THREAD:
    see_thread(heap, (const struct gc_thread *)object, see);
    break;
  case GC_KIND_PROTOTYPE:
    see_prototype(heap, (const struct gc_prototype *)object, see);
    break;
  case GC_KIND_UPVALUE:
    see_value(heap, object, ((const struct gc_upvalue *)object)->slot, see);
    break;
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
  case GC_KIND_COUNT:
    break;
  }
}

/* Written without barriers. */
static inline bool
is_stack_like(const struct gc_object *object)
{
  return object->kind == GC_KIND_THREAD
         || (object->kind == GC_KIND_UPVALUE
             && gc_upvalue_is_open((const struct gc_upvalue *)object));
}

/* Between two collections in generational mode. */
static inline void
child_suits_age(const struct gc_object *parent,
                    const struct gc_object *child)
{
  if (is_stack_like(parent) || !gc_is_black(parent)) {
    return;
  }
  if (parent->age == GC_AGE_OLD) {
    assert_true(child->age >= GC_AGE_OLD0);
  } else if (parent->age == GC_AGE_OLD1 || parent->age == GC_AGE_TOUCHED2) {
    assert_int_not_equal(child->age, GC_AGE_NEW);
  } else {
    assert_false(gc_is_white(child));
  }
}

static inline void
child_is_fit(const struct gc_heap *heap, const struct gc_object *parent,
             const struct gc_object *child)
{
  assert_false(gc_is_dead(heap, child));
  if (heap->cycle_mode == GC_MODE_GENERATIONAL) {
    child_suits_age(parent, child);
  } else if (gc_keeps_invariant(heap) && gc_is_black(parent)) {
    assert_false(gc_is_white(child));
  }
}

static inline void
check_listed(const struct gc_object *object, enum gc_grey list,
             size_t *ret_count)
{
  for (; object != NULL;
       object = *gc_grey_link((struct gc_object *)(uintptr_t)object)) {
    assert_true(object->age == GC_AGE_TOUCHED2 ? gc_is_black(object)
                                               : gc_is_grey(object));
    assert_int_equal(object->grey, list);
    ++*ret_count;
  }
}

/* How many objects of a heap list say that they are on a grey list. */
static inline size_t
check_greys_of(const struct gc_heap *heap, const struct gc_object *object)
{
  size_t grey = 0;

  for (; object != NULL; object = object->next) {
    bool open = object->kind == GC_KIND_UPVALUE
                && gc_upvalue_is_open((const struct gc_upvalue *)object);

    if (object->grey != GC_GREY_NONE) {
      grey++;
    } else if (gc_keeps_invariant(heap) && !open) {
      assert_false(gc_is_grey(object));
    }
    if (open) {
      assert_false(gc_is_black(object) && gc_keeps_invariant(heap));
    }
    assert_false(object->mark & GC_MARK_AWAITED);
  }
  return grey;
}

static inline void
check_grey_lists(const struct gc_heap *heap)
{
  size_t listed = 0;

  check_listed(heap->grey, GC_GREY_NOW, &listed);
  check_listed(heap->grey_again, GC_GREY_AGAIN, &listed);
  assert_null(heap->grey_weak);
  assert_null(heap->grey_ephemeron);
  assert_null(heap->grey_allweak);
  assert_null(heap->ready);
  assert_int_equal(check_greys_of(heap, heap->all)
                       + check_greys_of(heap, heap->finalizable)
                       + check_greys_of(heap, heap->pending),
                   listed);
  if (!gc_keeps_invariant(heap)) {
    assert_int_equal(listed, 0);
  }
}

/* What is marked for finalization is never dead. */
static inline void
check_finalizable(const struct gc_heap *heap, const struct gc_object *object)
{
  for (; object != NULL; object = object->next) {
    assert_true(object->mark & GC_MARK_FINALIZABLE);
    assert_false(gc_is_dead(heap, object));
    see_children(heap, object, child_is_fit);
    if (heap->phase == GC_PHASE_PAUSE) {
      assert_int_equal(gc_colour_of(heap, object), GC_WHITE_CURRENT);
    }
  }
}

/* The age of an object between two collections in generational mode, and the
 * colour and list that go with it. */
static inline void
check_age(const struct gc_object *object)
{
  switch ((enum gc_age)object->age) {
  case GC_AGE_NEW:
  case GC_AGE_SURVIVAL:
  case GC_AGE_OLD0:
    break;
  case GC_AGE_OLD1:
  case GC_AGE_OLD:
    if (object->kind == GC_KIND_THREAD) {
      assert_true(gc_is_grey(object) ? object->grey == GC_GREY_AGAIN
                                     : gc_is_black(object)
                                           && object->age == GC_AGE_OLD1);
    } else if (is_stack_like(object)) {
      assert_true(gc_is_grey(object));
    } else {
      assert_true(gc_is_black(object));
      assert_int_equal(object->grey, GC_GREY_NONE);
    }
    break;
  case GC_AGE_TOUCHED1:
    assert_true(gc_is_grey(object));
    assert_int_equal(object->grey, GC_GREY_AGAIN);
    break;
  case GC_AGE_TOUCHED2:
    assert_true(gc_is_black(object));
    assert_int_equal(object->grey, GC_GREY_AGAIN);
    break;
  }
}

/* A list of generational mode: its parts begin in order, and none holds what
 * is younger than it. Whether OLD1 objects lie before first_old1 is told. */
static inline void
check_segments(const struct gc_object *object,
               const struct gc_object *survival,
               const struct gc_object *old1,
               const struct gc_object *really_old,
               const struct gc_object *first_old1, bool *ret_missed)
{
  bool is_before = true;
  int part = 0;

  *ret_missed = false;
  for (; object != NULL; object = object->next) {
    check_age(object);
    part = object == survival && part < 1 ? 1 : part;
    part = object == old1 && part >= 1 ? 2 : part;
    part = object == really_old && part >= 2 ? 3 : part;
    is_before = is_before && object != first_old1;
    if (object->age == GC_AGE_OLD1 && is_before) {
      *ret_missed = true;
    }
    if (part == 1) {
      assert_int_not_equal(object->age, GC_AGE_NEW);
    } else if (part >= 2) {
      assert_true(object->age >= GC_AGE_OLD0);
    }
    if (part == 3) {
      assert_int_not_equal(object->age, GC_AGE_OLD1);
    }
  }
  assert_true(part == 3 || really_old == NULL);
}

/* What an incremental cycle leaves of ages: nothing. */
static inline void
check_no_ages(const struct gc_object *object)
{
  for (; object != NULL; object = object->next) {
    assert_int_equal(object->age, GC_AGE_NEW);
  }
}

static inline void
check_ages(const struct gc_heap *heap)
{
  bool missed;

  if (heap->cycle_mode == GC_MODE_INCREMENTAL) {
    assert_null(heap->survival);
    assert_null(heap->first_old1);
    assert_null(heap->finalizable_survival);
    check_no_ages(heap->all);
    check_no_ages(heap->finalizable);
    check_no_ages(heap->pending);
    return;
  }
  assert_int_equal(heap->phase, GC_PHASE_PROPAGATE);
  check_segments(heap->all, heap->survival, heap->old1, heap->really_old,
                 heap->first_old1, &missed);
  assert_false(missed);
  check_segments(heap->finalizable, heap->finalizable_survival,
                 heap->finalizable_old1, heap->finalizable_really_old, NULL,
                 &missed);
}

/* The collector's invariants, as between any two micro-steps. */
static inline void
check_heap(const struct gc_heap *heap)
{
  struct gc_object *const *link = &heap->all;
  bool swept = true;

  assert_int_not_equal(heap->phase, GC_PHASE_ATOMIC);
  for (; *link != NULL; link = &(*link)->next) {
    const struct gc_object *object = *link;

    assert_false(object->mark & GC_MARK_FINALIZABLE);
    if (heap->phase == GC_PHASE_SWEEP && heap->sweep == link) {
      swept = false;
    }
    if (gc_is_dead(heap, object)) {
      assert_int_equal(heap->phase, GC_PHASE_SWEEP);
      assert_false(swept);
    } else {
      see_children(heap, object, child_is_fit);
    }
    if (heap->phase == GC_PHASE_PAUSE) {
      assert_int_equal(gc_colour_of(heap, object), GC_WHITE_CURRENT);
    }
  }
  for (const struct gc_object *fixed = heap->fixed; fixed != NULL;
       fixed = fixed->next) {
    assert_true(gc_is_grey(fixed));
    assert_int_equal(fixed->grey, GC_GREY_NONE);
    assert_int_equal(fixed->age, GC_AGE_OLD);
  }
  check_finalizable(heap, heap->finalizable);
  check_finalizable(heap, heap->pending);
  check_grey_lists(heap);
  check_ages(heap);
}

#endif
