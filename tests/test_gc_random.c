/* SPDX-License-Identifier: MIT
 *
 * Random mutators against the collector: streams of all that gc.h offers, on
 * coroutines that come and go, with micro-steps, collections and failing
 * allocations in between. After each step and each operation the heap is held
 * against the collector's invariants, and against what its events have said.
 */
#include "tests/gc_fixture.h"

/* ---- what events say --------------------------------------------------- */

enum { RECORDS_MAX = 4096 };

struct record {
  const struct gc_object *object; /* NULL: dead */
  uint8_t colour;
  uint8_t grey;
  uint8_t age;
};

/* What the events alone say about the heap. */
struct recorder {
  struct gc_listener listener;
  struct gc_heap *heap; /* NULL while it is opened or closed */
  struct record records[RECORDS_MAX];
  size_t count;
  size_t births, deaths;
  uint8_t phase;
  bool stepping;
  bool changes_mode; /* in this step */
};

static struct record *
record_of(struct recorder *recorder, const struct gc_object *object)
{
  for (size_t i = 0; i < recorder->count; i++) {
    if (recorder->records[i].object == object) {
      return &recorder->records[i];
    }
  }
  fail_msg("an event about an object that is not alive");
  return NULL;
}

static void
record_birth(struct recorder *recorder, const struct gc_event *event)
{
  struct record *record = NULL;

  for (size_t i = 0; i < recorder->count; i++) {
    assert_ptr_not_equal(recorder->records[i].object, event->object);
    if (recorder->records[i].object == NULL) {
      record = &recorder->records[i];
    }
  }
  if (record == NULL) {
    assert_true(recorder->count < RECORDS_MAX);
    record = &recorder->records[recorder->count++];
  }
  assert_int_equal(event->to, GC_WHITE_CURRENT);
  *record = (struct record){ .object = event->object, .colour = event->to };
  recorder->births++;
}

static void
record_death(struct recorder *recorder, const struct gc_event *event)
{
  struct record *record = record_of(recorder, event->object);

  assert_int_equal(record->colour, event->from);
  assert_int_equal(record->grey, GC_GREY_NONE);
  record->object = NULL;
  recorder->deaths++;
}

static void
record_colour(struct recorder *recorder, const struct gc_event *event)
{
  struct record *record = record_of(recorder, event->object);

  assert_int_equal(record->colour, event->from);
  assert_int_not_equal(event->from, event->to);
  record->colour = event->to;
}

static void
record_grey(struct recorder *recorder, const struct gc_event *event)
{
  struct record *record = record_of(recorder, event->object);

  assert_int_equal(record->grey, event->from);
  record->grey = event->to;
}

#define TO(AGE) (1u << GC_AGE_##AGE)

/* What an age may become, but for what a change of modes does, and the birth
 * of fixed names when the heap is opened. */
static const uint8_t ages_after[] = {
  [GC_AGE_NEW] = TO(SURVIVAL) | TO(OLD0),
  [GC_AGE_SURVIVAL] = TO(OLD1) | TO(OLD0),
  [GC_AGE_OLD0] = TO(OLD1) | TO(TOUCHED1),
  [GC_AGE_OLD1] = TO(OLD) | TO(TOUCHED1),
  [GC_AGE_OLD] = TO(TOUCHED1),
  [GC_AGE_TOUCHED1] = TO(TOUCHED2),
  [GC_AGE_TOUCHED2] = TO(TOUCHED1) | TO(OLD),
};

#undef TO

static bool
is_age_after(const struct recorder *recorder, uint8_t from, uint8_t to)
{
  if ((recorder->changes_mode || recorder->heap == NULL)
      && (to == GC_AGE_NEW || (from == GC_AGE_NEW && to == GC_AGE_OLD))) {
    return true;
  }
  return ages_after[from] >> to & 1;
}

static void
record_age(struct recorder *recorder, const struct gc_event *event)
{
  struct record *record = record_of(recorder, event->object);

  assert_int_equal(record->age, event->from);
  assert_true(is_age_after(recorder, event->from, event->to));
  record->age = event->to;
}

/* Leaving the atomic phase, every white becomes other white. */
static void
record_phase(struct recorder *recorder, const struct gc_event *event)
{
  assert_int_equal(recorder->phase, event->from);
  recorder->phase = event->to;
  if (event->from != GC_PHASE_ATOMIC) {
    return;
  }
  for (size_t i = 0; i < recorder->count; i++) {
    if (recorder->records[i].colour == GC_WHITE_CURRENT) {
      recorder->records[i].colour = GC_WHITE_OTHER;
    }
  }
}

/* What the events said is what the heap shows. */
static void
check_records(struct recorder *recorder, const struct gc_heap *heap)
{
  for (const struct gc_object *object = heap->all; object != NULL;
       object = object->next) {
    struct record *record = record_of(recorder, object);

    assert_int_equal(record->colour, gc_colour_of(heap, object));
    assert_int_equal(record->grey, object->grey);
    assert_int_equal(record->age, object->age);
  }
  assert_int_equal(recorder->births - recorder->deaths,
                   list_length(heap->all) + list_length(heap->fixed));
  assert_int_equal(recorder->phase, gc_phase_of(heap));
}

static void
record_step(struct recorder *recorder, bool begins)
{
  assert_int_equal(recorder->stepping, !begins);
  recorder->stepping = begins;
  recorder->changes_mode = false;
  if (!begins && recorder->heap != NULL) {
    check_heap(recorder->heap);
    check_records(recorder, recorder->heap);
  }
}

static void
record(struct gc_listener *listener, const struct gc_event *event)
{
  struct recorder *recorder = (struct recorder *)listener;

  switch ((enum gc_event_type)event->type) {
  case GC_EVENT_BIRTH:
    record_birth(recorder, event);
    break;
  case GC_EVENT_DEATH:
    record_death(recorder, event);
    break;
  case GC_EVENT_COLOUR:
    record_colour(recorder, event);
    break;
  case GC_EVENT_GREY:
    record_grey(recorder, event);
    break;
  case GC_EVENT_PHASE:
    record_phase(recorder, event);
    break;
  case GC_EVENT_AGE:
    record_age(recorder, event);
    break;
  case GC_EVENT_MODE:
    recorder->changes_mode = true;
    break;
  case GC_EVENT_STEP_BEGIN:
  case GC_EVENT_STEP_END:
    record_step(recorder, event->type == GC_EVENT_STEP_BEGIN);
    break;
  case GC_EVENT_LIST:
  case GC_EVENT_BARRIER:
  case GC_EVENT_STORE:
  case GC_EVENT_CLOSING:
  case GC_EVENT_CLEARED:
  case GC_EVENT_FINALIZER:
  case GC_EVENT_FINALIZED:
  case GC_EVENT_WARNING:
  case GC_EVENT_EMERGENCY:
    break;
  }
}

/* ---- a random mutator ------------------------------------------------ */

/* Each frame has this many slots, and nothing above them between two
 * operations. */
enum { SLOTS = 8, DEPTH_MAX = 4, RESUMED_MAX = 4 };

struct driver {
  struct host host;
  struct recorder recorder;
  struct gc_heap *heap;
  struct gc_thread *thread; /* the running one */
  uint32_t seed;
  int resumed; /* coroutines that wait for another */
  const enum gc_mode *modes; /* two: what is switched between; the first is on
                              * at the start */
};

static uint32_t
draw(struct driver *driver, uint32_t below)
{
  driver->seed = driver->seed * 1664525u + 1013904223u;
  return (driver->seed >> 8) % below;
}

static int
draw_slot(struct driver *driver)
{
  return 1 + (int)draw(driver, SLOTS);
}

/* A slot that holds a value of the type; 0 if the one drawn does not, nor any
 * after it. */
static int
draw_typed(struct driver *driver, enum gc_type type)
{
  int slot = draw_slot(driver);

  for (int i = 0; i < SLOTS; i++) {
    if (gc_type_of(driver->thread, slot) == type) {
      return slot;
    }
    slot = slot % SLOTS + 1;
  }
  return 0;
}

/* A slot that holds a Lua closure, or 0. */
static int
draw_closure(struct driver *driver)
{
  int slot = draw_slot(driver);

  for (int i = 0; i < SLOTS; i++) {
    if (gc_type_of(driver->thread, slot) == GC_TYPE_FUNCTION
        && object_at(driver->thread, slot)->kind == GC_KIND_CLOSURE) {
      return slot;
    }
    slot = slot % SLOTS + 1;
  }
  return 0;
}

/* Pushes a copy of some slot. */
static void
push_any(struct driver *driver)
{
  gc_push_copy(driver->thread, draw_slot(driver));
}

static void
do_table(struct driver *driver)
{
  gc_new_table(driver->thread, draw(driver, 4), draw(driver, 4));
}

static void
do_string(struct driver *driver)
{
  char text[60];
  size_t length = draw(driver, 4) == 0 ? sizeof(text) : 5;

  memset(text, 'a', sizeof(text));
  text[0] = (char)('a' + (int)draw(driver, 26));
  text[1] = (char)('a' + (int)draw(driver, 8));
  gc_push_string(driver->thread, text, length);
}

static void
do_concat(struct driver *driver)
{
  int slot = draw_typed(driver, GC_TYPE_STRING);
  size_t length;

  if (slot != 0 && gc_to_string(driver->thread, slot, &length) != NULL
      && length < 1000) {
    gc_push_copy(driver->thread, slot);
    gc_push_copy(driver->thread, slot);
    gc_concat(driver->thread);
  }
}

static void
do_store(struct driver *driver)
{
  int table = draw_typed(driver, GC_TYPE_TABLE);
  int key = draw_slot(driver);

  if (table == 0) {
    return;
  }
  if (draw(driver, 2) == 0) {
    push_any(driver);
    gc_raw_seti(driver->thread, table, (int64_t)draw(driver, 12));
  } else if (gc_type_of(driver->thread, key) != GC_TYPE_NIL) {
    gc_push_copy(driver->thread, key);
    push_any(driver);
    gc_raw_set(driver->thread, table);
  }
}

/* Goes through a table and empties some entries on the way. */
static void
do_traverse(struct driver *driver)
{
  struct gc_thread *thread = driver->thread;
  int table = draw_typed(driver, GC_TYPE_TABLE);

  if (table == 0) {
    return;
  }
  gc_push_nil(thread);
  while (gc_next(thread, table)) {
    gc_pop(thread, 1);
    if (draw(driver, 3) == 0) {
      gc_push_copy(thread, -1);
      gc_push_nil(thread);
      assert_int_equal(gc_raw_set(thread, table), GC_OK);
    }
    if (draw(driver, 3) == 0) {
      gc_micro_step(driver->heap);
    }
  }
}

static void
do_load(struct driver *driver)
{
  int table = draw_typed(driver, GC_TYPE_TABLE);

  if (table != 0) {
    gc_raw_geti(driver->thread, table, (int64_t)draw(driver, 12));
  }
}

static void
do_metatable(struct driver *driver)
{
  int table = draw_typed(driver, GC_TYPE_TABLE);
  int userdata = draw_typed(driver, GC_TYPE_USERDATA);

  if (table == 0) {
    return;
  }
  gc_push_copy(driver->thread, table);
  if (draw(driver, 4) == 0) {
    gc_set_basic_metatable(driver->thread,
                           (enum gc_basic)draw(driver, GC_BASIC_COUNT));
  } else if (userdata != 0 && draw(driver, 2) == 0) {
    gc_set_metatable(driver->thread, userdata);
  } else {
    gc_set_metatable(driver->thread, draw_typed(driver, GC_TYPE_TABLE));
  }
}

static void
do_userdata(struct driver *driver)
{
  gc_new_userdata(driver->thread, draw(driver, 30),
                  (uint16_t)draw(driver, 3));
}

static void
do_user_value(struct driver *driver)
{
  int userdata = draw_typed(driver, GC_TYPE_USERDATA);

  if (userdata != 0) {
    push_any(driver);
    gc_set_user_value(driver->thread, userdata, (uint16_t)draw(driver, 3));
  }
}

static void
do_native_closure(struct driver *driver)
{
  uint8_t count = (uint8_t)draw(driver, 3);

  for (int i = 0; i < count; i++) {
    push_any(driver);
  }
  gc_new_native_closure(driver->thread, NULL, count);
}

/* A prototype that is built piece by piece. */
static void
do_prototype(struct driver *driver)
{
  struct gc_thread *thread = driver->thread;
  int built = SLOTS + 1;
  int nested = draw_closure(driver);

  if (gc_new_prototype(thread, 1) != GC_OK) {
    return;
  }
  for (uint32_t i = draw(driver, 6); i > 0; i--) {
    do_string(driver);
    if (gc_top(thread) == built
        || gc_prototype_add_constant(thread, built) != GC_OK) {
      return;
    }
    gc_micro_step(driver->heap);
  }
  if (nested != 0) {
    gc_push_copy(thread, nested);
    gc_prototype_add_nested(thread, built);
  }
}

static void
do_closure(struct driver *driver)
{
  int from = draw_closure(driver);
  struct gc_capture captures[2];

  if (from == 0) {
    return;
  }
  for (int i = 0; i < 2; i++) {
    captures[i] = (struct gc_capture){ .in_stack = true,
                                       .index = (uint8_t)draw_slot(driver) };
  }
  if (draw(driver, 2) == 0) {
    push_any(driver);
    push_any(driver);
    gc_new_closure_over_values(driver->thread, from, 2);
  } else {
    gc_new_closure(driver->thread, from, captures, 2);
  }
}

static void
do_upvalue(struct driver *driver)
{
  struct gc_thread *thread = driver->thread;
  int closure = draw_typed(driver, GC_TYPE_FUNCTION);
  int a;
  int b;

  if (closure != 0 && gc_upvalue_count(thread, closure) > 0) {
    push_any(driver);
    gc_set_upvalue(thread, closure, 0);
  }
  a = draw_closure(driver); /* now: the upvalue may be a slot */
  b = draw_closure(driver);
  if (a != 0 && gc_upvalue_count(thread, a) > 0
      && gc_upvalue_count(thread, b) > 0) {
    gc_join_upvalue(thread, a, 0, b, 0);
    gc_get_upvalue(thread, b, 0);
  }
}

static void
do_close_slots(struct driver *driver)
{
  gc_close_slots(driver->thread, draw_slot(driver));
}

static void
do_global(struct driver *driver)
{
  struct gc_thread *thread = driver->thread;

  gc_raw_geti(thread, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS);
  if (draw(driver, 2) == 0) {
    push_any(driver);
    gc_raw_seti(thread, -2, (int64_t)draw(driver, 4));
  } else {
    gc_raw_geti(thread, -1, (int64_t)draw(driver, 4));
  }
}

static void
do_call(struct driver *driver)
{
  int function = draw_typed(driver, GC_TYPE_FUNCTION);

  if (function != 0 && gc_frame_depth(driver->thread) < DEPTH_MAX) {
    gc_push_copy(driver->thread, function);
    push_any(driver);
    gc_enter(driver->thread, draw(driver, 2), 0, SLOTS,
             draw(driver, 2) == 0 ? GC_FRAME_PROTECTED : 0);
  }
}

/* Leaves the frame by a return, a tail call or an error. */
static void
do_leave(struct driver *driver)
{
  struct gc_thread *thread = driver->thread;
  int function = draw_typed(driver, GC_TYPE_FUNCTION);

  if (gc_frame_depth(thread) == 1) {
    return;
  }
  switch (draw(driver, 3)) {
  case 0:
    gc_leave(thread, 1);
    break;
  case 1:
    if (function != 0) {
      gc_push_copy(thread, function);
      gc_reenter(thread, 0, SLOTS);
    }
    break;
  default:
    if (gc_raise(thread) == GC_ERROR && driver->resumed > 0) {
      gc_fail(thread);
      driver->resumed--;
    }
    break;
  }
}

static void
do_coroutine(struct driver *driver)
{
  int function = draw_typed(driver, GC_TYPE_FUNCTION);

  if (function != 0) {
    gc_push_copy(driver->thread, function);
    gc_new_thread(driver->thread);
  }
}

/* A coroutine that yields has a value for its resumer at its top, and gets
 * one when it is resumed. */
static void
do_resume(struct driver *driver)
{
  struct gc_thread *thread = driver->thread;
  int slot = draw_typed(driver, GC_TYPE_THREAD);
  struct gc_thread *coroutine;

  if (slot == 0 || driver->resumed == RESUMED_MAX) {
    return;
  }
  coroutine = gc_to_thread(thread, slot);
  if (gc_status_of(coroutine) != GC_THREAD_SUSPENDED) {
    return;
  }
  gc_push_copy(thread, slot);
  push_any(driver);
  if (gc_resume(thread, 1, SLOTS) == GC_OK) {
    driver->resumed++;
  }
}

static void
do_yield(struct driver *driver)
{
  struct gc_thread *thread = driver->thread;
  enum gc_status status;

  if (driver->resumed == 0) {
    return;
  }
  push_any(driver);
  if (gc_frame_depth(thread) == 1 && draw(driver, 3) == 0) {
    status = gc_finish(thread, 1);
  } else {
    status = gc_yield(thread, 1);
  }
  if (status == GC_OK) {
    driver->resumed--;
  }
}

static void
do_other_thread(struct driver *driver)
{
  int slot = draw_typed(driver, GC_TYPE_THREAD);
  struct gc_thread *other;

  if (slot == 0) {
    return;
  }
  other = gc_to_thread(driver->thread, slot);
  if (gc_status_of(other) != GC_THREAD_SUSPENDED
      && gc_status_of(other) != GC_THREAD_FAILED) {
    return;
  }
  if (draw(driver, 8) == 0) {
    gc_thread_close(other);
  } else if (gc_is_started(other)) {
    gc_copy_across(driver->thread, draw_slot(driver), other, 1);
  }
}

static void
do_reserve(struct driver *driver)
{
  gc_reserve(driver->thread, draw(driver, 200));
}

static void
do_steps(struct driver *driver)
{
  switch (draw(driver, 40)) {
  case 0:
    gc_collect(driver->heap);
    break;
  case 3:
    gc_set_mode(driver->heap, driver->modes[draw(driver, 2)]);
    break;
  case 4:
    gc_set_parameter(driver->heap,
                     (enum gc_parameter)draw(driver, GC_PARAMETER_COUNT),
                     draw(driver, 300));
    break;
  case 1:
    gc_step(driver->heap, draw(driver, 3));
    break;
  case 2:
    if (gc_is_stopped(driver->heap)) {
      gc_restart(driver->heap);
    } else {
      gc_stop(driver->heap);
    }
    break;
  default:
    gc_micro_step(driver->heap);
    break;
  }
}

static void
do_forget(struct driver *driver)
{
  gc_push_nil(driver->thread);
}

typedef void (*operation)(struct driver *);

static const operation operations[] = {
  do_table,      do_table,          do_string,      do_string,
  do_store,      do_store,          do_store,       do_load,
  do_concat,     do_traverse,       do_metatable,   do_userdata,
  do_user_value, do_native_closure, do_prototype,   do_closure,
  do_closure,    do_upvalue,        do_upvalue,     do_close_slots,
  do_global,     do_call,           do_leave,       do_coroutine,
  do_resume,     do_yield,          do_other_thread, do_reserve,
  do_steps,      do_steps,          do_steps,       do_steps,
  do_forget,     do_forget,
};

enum { OPERATION_COUNT = sizeof(operations) / sizeof(operations[0]) };

/* What is above the slots of the running frame goes into one of them. */
static void
settle(struct driver *driver)
{
  driver->thread = gc_running_thread(driver->heap);
  if (gc_top(driver->thread) > SLOTS) {
    gc_replace(driver->thread, draw_slot(driver));
  }
  gc_set_top(driver->thread, SLOTS);
}

static void
operate(struct driver *driver, bool failing)
{
  if (failing && draw(driver, 10) == 0) {
    driver->host.fail_at = driver->host.calls + draw(driver, 4);
    driver->host.fail_more = draw(driver, 3);
  }
  operations[draw(driver, OPERATION_COUNT)](driver);
  driver->host.fail_at = SIZE_MAX;
  settle(driver);
  check_heap(driver->heap);
  check_records(&driver->recorder, driver->heap);
  assert_int_equal(gc_bytes(driver->heap), driver->host.bytes);
}

static void
drive(uint32_t seed, int operation_count, bool failing,
      const enum gc_mode *modes)
{
  static struct driver driver;

  memset(&driver, 0, sizeof(driver));
  driver.seed = seed;
  driver.recorder.listener.event = record;
  driver.heap = open_with(&driver.host, &driver.recorder.listener, NULL);
  assert_non_null(driver.heap);
  driver.recorder.heap = driver.heap;
  driver.modes = modes;
  gc_set_mode(driver.heap, modes[0]);
  driver.thread = gc_main_thread(driver.heap);
  gc_set_top(driver.thread, SLOTS);
  assert_int_equal(gc_new_prototype(driver.thread, 0), GC_OK);
  settle(&driver);
  for (int i = 0; i < operation_count; i++) {
    operate(&driver, failing);
  }
  assert_true(driver.recorder.deaths > 0);
  driver.recorder.heap = NULL;
  close_heap(driver.heap, &driver.host);
  assert_int_equal(driver.recorder.births, driver.recorder.deaths);
}

/* ---- tests ----------------------------------------------------------- */

enum { STREAMS = 60, OPERATIONS = 600 };

static const enum gc_mode incremental[]
    = { GC_MODE_INCREMENTAL, GC_MODE_INCREMENTAL };
static const enum gc_mode generational[]
    = { GC_MODE_GENERATIONAL, GC_MODE_GENERATIONAL };
static const enum gc_mode both[]
    = { GC_MODE_GENERATIONAL, GC_MODE_INCREMENTAL };

/* Catches a missing barrier, a root that is not marked again, an event that
 * lies, a colour or list that is wrong, wherever steps may fall. */
static void
test_gc_random_streams_keep_the_invariants(void **state)
{
  (void)state;
  for (uint32_t seed = 1; seed <= STREAMS; seed++) {
    drive(seed * 7919, OPERATIONS, false, incremental);
  }
}

/* Catches the same after an allocation has failed in the middle of things. */
static void
test_gc_random_streams_survive_failing_allocations(void **state)
{
  (void)state;
  for (uint32_t seed = 1; seed <= STREAMS; seed++) {
    drive(seed * 104729, OPERATIONS, true, incremental);
  }
}

/* Catches an old object that refers to a young one, an age that is not as
 * colour and list have it, a segment with younger objects in it, an OLD1
 * object that the next minor collection would not find. */
static void
test_gc_random_generational_streams_keep_the_ages(void **state)
{
  (void)state;
  for (uint32_t seed = 1; seed <= STREAMS; seed++) {
    drive(seed * 7907, OPERATIONS, false, generational);
    drive(seed * 7901, OPERATIONS, true, generational);
  }
}

/* Catches what a change of modes leaves behind, in any phase. */
static void
test_gc_random_streams_may_change_modes(void **state)
{
  (void)state;
  for (uint32_t seed = 1; seed <= STREAMS; seed++) {
    drive(seed * 6997, OPERATIONS, false, both);
    drive(seed * 6991, OPERATIONS, true, both);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_random_generational_streams_keep_the_ages),
    cmocka_unit_test(test_gc_random_streams_may_change_modes),
    cmocka_unit_test(test_gc_random_streams_keep_the_invariants),
    cmocka_unit_test(test_gc_random_streams_survive_failing_allocations),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
