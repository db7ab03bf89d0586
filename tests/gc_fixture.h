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

static inline void
child_is_fit(const struct gc_heap *heap, const struct gc_object *parent,
             const struct gc_object *child)
{
  assert_false(gc_is_dead(heap, child));
  if (gc_keeps_invariant(heap) && gc_is_black(parent)) {
    assert_false(gc_is_white(child));
  }
}

static inline void
check_listed(const struct gc_object *object, enum gc_grey list,
             size_t *ret_count)
{
  for (; object != NULL;
       object = *gc_grey_link((struct gc_object *)(uintptr_t)object)) {
    assert_true(gc_is_grey(object));
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
  }
  check_finalizable(heap, heap->finalizable);
  check_finalizable(heap, heap->pending);
  check_grey_lists(heap);
}

#endif
