/* SPDX-License-Identifier: MIT
 *
 * The light C functions of the built-in collector's adapter, by number: 0 to 7
 * are closers, MODEL_BEHAVIOURS and up are finalizers, one for each BEHAVIOUR
 * of the operation language that is a function. A light C function is told by
 * its address, so each is one of its own.
 *
 * A finalizer creates first and stores last, so that want of memory leaves
 * nothing behind: it raises an error then. The names that it needs are kept in
 * the registry; pushing them allocates nothing. Called as a closer it does
 * nothing. Called as metamethods all do what they do as closers.
 */
#include "gc/gc.h"
#include "subjects/model.h"

enum { OBJECT = 1, BREEDS = 8 }; /* the object's index; tables of allocate */

/* ---- closers --------------------------------------------------------- */

/* What a metamethod does last: __newindex, which alone has a value at 3, stores
 * it in the object. */
static void
store(struct gc_thread *t)
{
  enum { STORES = 3 };
  if (gc_top(t) < STORES || gc_type_of(t, OBJECT) != GC_TYPE_TABLE)
    return;
  gc_set_top(t, STORES);
  if (gc_raw_set(t, OBJECT) == GC_OK)
    return;
  gc_raw_geti(t, GC_INDEX_REGISTRY, MODEL_ERROR);
  gc_raise(t);
}

static void
do_nothing(struct gc_thread *thread)
{
  store(thread);
}

static void
make_table(struct gc_thread *thread)
{
  int top = gc_top(thread);
  (void)gc_new_table(thread, 0, 0); /* it may fail: it is no matter */
  gc_set_top(thread, top);
  store(thread);
}

static void
step(struct gc_thread *thread)
{
  gc_step(gc_heap_of(thread), 0);
  store(thread);
}

static void
collect(struct gc_thread *thread)
{
  gc_collect(gc_heap_of(thread));
  store(thread);
}

/* Numbers 4 to 7 do the same. */
static void
do_nothing_too(struct gc_thread *thread)
{
  if (thread)
    do_nothing(thread);
}

static void
make_table_too(struct gc_thread *thread)
{
  if (thread)
    make_table(thread);
}

static void
step_too(struct gc_thread *thread)
{
  if (thread)
    step(thread);
}

static void
collect_too(struct gc_thread *thread)
{
  if (thread)
    collect(thread);
}

/* ---- finalizers ------------------------------------------------------ */

static void
push_globals(struct gc_thread *t)
{
  gc_raw_geti(t, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS);
}

static void
push_kept(struct gc_thread *t, int64_t name)
{
  gc_raw_geti(t, GC_INDEX_REGISTRY, name);
}

/* globals[name] := the top, which stays. */
static enum gc_status
set_global(struct gc_thread *t, int64_t name)
{
  push_globals(t);
  push_kept(t, name);
  gc_push_copy(t, -3);
  enum gc_status status = gc_raw_set(t, -3);
  gc_pop(t, status == GC_OK ? 1 : 3);
  return status;
}

static void
push_global(struct gc_thread *t, int64_t name)
{
  push_globals(t);
  push_kept(t, name);
  gc_raw_get(t, -2);
  gc_replace(t, -2);
}

/* Whether the value at index has a field; pushes what it holds. */
static bool
push_field(struct gc_thread *t, int index)
{
  if (gc_type_of(t, index) == GC_TYPE_USERDATA)
    return gc_get_user_value(t, index, 0);
  push_kept(t, MODEL_FIELD);
  gc_raw_get(t, index);
  return true;
}

/* The field of the value at index, if it has one, := the top, which goes. */
static enum gc_status
set_field(struct gc_thread *t, int index)
{
  if (gc_type_of(t, index) == GC_TYPE_USERDATA) {
    if (!gc_set_user_value(t, index, 0))
      gc_pop(t, 1);
    return GC_OK;
  }
  push_kept(t, MODEL_FIELD);
  gc_push_copy(t, -2);
  enum gc_status status = gc_raw_set(t, index);
  gc_pop(t, status == GC_OK ? 1 : 3);
  return status;
}

static enum gc_status
save(struct gc_thread *t, int64_t name)
{
  gc_push_copy(t, OBJECT);
  return set_global(t, name);
}

static enum gc_status
make_tables(struct gc_thread *t)
{
  enum gc_status status = GC_OK;
  for (int i = 0; i < BREEDS && status == GC_OK; i++) {
    status = gc_new_table(t, 0, 0);
    if (status == GC_OK)
      gc_pop(t, 1);
  }
  return status;
}

static enum gc_status
touch(struct gc_thread *t)
{
  enum gc_status status = gc_new_table(t, 0, 0);
  return status == GC_OK ? set_field(t, OBJECT) : status;
}

static enum gc_status
touch_sibling(struct gc_thread *t)
{
  if (!push_field(t, OBJECT) || gc_type_of(t, -1) != GC_TYPE_TABLE)
    return GC_OK;
  int sibling = gc_top(t);
  gc_push_copy(t, OBJECT);
  return set_field(t, sibling);
}

/* Two stores; if the second one gets no memory the first is taken back, which
 * needs none: its key is there now. */
static enum gc_status
link_up(struct gc_thread *t)
{
  if (!push_field(t, OBJECT))
    return GC_OK;
  push_global(t, MODEL_GLOBAL_0);
  int old = gc_top(t);
  gc_push_copy(t, OBJECT);
  if (set_global(t, MODEL_GLOBAL_0) != GC_OK)
    return GC_NO_MEMORY;
  gc_push_copy(t, old);
  if (set_field(t, OBJECT) == GC_OK)
    return GC_OK;
  gc_push_copy(t, old);
  (void)set_global(t, MODEL_GLOBAL_0);
  return GC_NO_MEMORY;
}

static enum gc_status
breed(struct gc_thread *t)
{
  enum gc_status status = gc_new_table(t, 0, 0);
  if (status != GC_OK)
    return status;
  gc_push_metatable(t, OBJECT);
  gc_set_metatable(t, -2);
  return GC_OK;
}

static void
switch_mode(struct gc_heap *heap)
{
  gc_set_mode(heap, gc_mode_of(heap) == GC_MODE_INCREMENTAL
                        ? GC_MODE_GENERATIONAL
                        : GC_MODE_INCREMENTAL);
}

/* Not OK: the behaviour raises an error and has changed nothing. */
static enum gc_status
do_behaviour(struct gc_thread *t, enum op_word behaviour)
{
  struct gc_heap *heap = gc_heap_of(t);
  switch ((int)behaviour) {
  case OP_BEHAVIOUR_SAVE:
    return save(t, MODEL_GLOBAL_0);
  case OP_BEHAVIOUR_SAVE_TOO:
    return save(t, MODEL_GLOBAL_1);
  case OP_BEHAVIOUR_REMARK:
    gc_push_metatable(t, OBJECT);
    gc_set_metatable(t, OBJECT);
    break;
  case OP_BEHAVIOUR_ALLOCATE:
    return make_tables(t);
  case OP_BEHAVIOUR_ERROR:
    return GC_ERROR;
  case OP_BEHAVIOUR_YIELD: /* refused: a finalizer is called from C */
    return gc_yield(t, 0);
  case OP_BEHAVIOUR_STEP:
    gc_step(heap, 0);
    break;
  case OP_BEHAVIOUR_COLLECT:
    gc_collect(heap);
    break;
  case OP_BEHAVIOUR_SWITCH:
    switch_mode(heap);
    break;
  case OP_BEHAVIOUR_TOUCH:
    return touch(t);
  case OP_BEHAVIOUR_SIBLING:
    return touch_sibling(t);
  case OP_BEHAVIOUR_LINK:
    return link_up(t);
  case OP_BEHAVIOUR_CLOSE:
    model_ask_to_close(heap);
    break;
  case OP_BEHAVIOUR_BREED:
    return breed(t);
  case OP_BEHAVIOUR_STOP:
    gc_stop(heap);
    break;
  default:
    break;
  }
  return GC_OK;
}

static void
behave(struct gc_thread *t, enum op_word behaviour)
{
  if (!gc_is_finalizing(gc_heap_of(t))) {
    store(t);
    return;
  }
  if (do_behaviour(t, behaviour) == GC_OK)
    return;
  push_kept(t, MODEL_ERROR);
  gc_raise(t);
}

#define BEHAVIOUR(NAME, name)                \
  static void name(struct gc_thread *thread) \
  {                                          \
    behave(thread, OP_BEHAVIOUR_##NAME);     \
  }
BEHAVIOUR(NOTHING, finalize_nothing)
BEHAVIOUR(SAVE, finalize_save)
BEHAVIOUR(SAVE_TOO, finalize_save_too)
BEHAVIOUR(REMARK, finalize_remark)
BEHAVIOUR(ALLOCATE, finalize_allocate)
BEHAVIOUR(ERROR, finalize_error)
BEHAVIOUR(STEP, finalize_step)
BEHAVIOUR(COLLECT, finalize_collect)
BEHAVIOUR(SWITCH, finalize_switch)
BEHAVIOUR(TOUCH, finalize_touch)
BEHAVIOUR(SIBLING, finalize_sibling)
BEHAVIOUR(LINK, finalize_link)
BEHAVIOUR(YIELD, finalize_yield)
BEHAVIOUR(CLOSE, finalize_close)
BEHAVIOUR(BREED, finalize_breed)
BEHAVIOUR(STOP, finalize_stop)
#undef BEHAVIOUR

const gc_native model_natives[MODEL_NATIVES] = {
    do_nothing,
    make_table,
    step,
    collect,
    do_nothing_too,
    make_table_too,
    step_too,
    collect_too,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_NOTHING] = finalize_nothing,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_SAVE] = finalize_save,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_SAVE_TOO] = finalize_save_too,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_REMARK] = finalize_remark,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_ALLOCATE] = finalize_allocate,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_ERROR] = finalize_error,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_STEP] = finalize_step,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_COLLECT] = finalize_collect,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_SWITCH] = finalize_switch,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_TOUCH] = finalize_touch,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_SIBLING] = finalize_sibling,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_LINK] = finalize_link,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_YIELD] = finalize_yield,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_CLOSE] = finalize_close,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_BREED] = finalize_breed,
    [MODEL_BEHAVIOURS + OP_BEHAVIOUR_STOP] = finalize_stop};
