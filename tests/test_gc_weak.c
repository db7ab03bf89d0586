/* SPDX-License-Identifier: MIT
 *
 * Weak tables and ephemerons: what is cleared, when, and what never is.
 */
#include "tests/gc_drive.h"

enum { OBJECTS_MAX = 100000 };

/* Sets the __mode of the table at the top to the text; NULL: to nil. */
static void
set_mode_of_top(struct gc_thread *thread, const char *mode)
{
  push_string(thread, "__mode");
  if (mode != NULL) {
    push_string(thread, mode);
  } else {
    gc_push_nil(thread);
  }
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
}

/* Pushes a table whose metatable has that mode. */
static struct gc_object *
new_weak(struct gc_thread *thread, const char *mode, uint32_t hash_slots)
{
  assert_int_equal(gc_new_table(thread, 0, hash_slots), GC_OK);
  new_table(thread);
  set_mode_of_top(thread, mode);
  gc_set_metatable(thread, -2);
  return object_at(thread, -1);
}

/* Changes the mode of the table at index. */
static void
change_mode(struct gc_thread *thread, int index, const char *mode)
{
  gc_push_metatable(thread, index);
  set_mode_of_top(thread, mode);
  gc_pop(thread, 1);
}

/* How many pairs the table at index has. */
static int
count_pairs(struct gc_thread *thread, int index)
{
  int count = 0;

  if (index < 0) {
    index += gc_top(thread) + 1;
  }
  gc_push_nil(thread);
  while (gc_next(thread, index)) {
    count++;
    gc_pop(thread, 1);
  }
  return count;
}

/* Whether the value of the key at the top, which is popped, is there. */
static bool
has_key(struct gc_thread *thread, int index)
{
  bool found;

  gc_raw_get(thread, index);
  found = gc_type_of(thread, -1) != GC_TYPE_NIL;
  gc_pop(thread, 1);
  return found;
}

/* No node without a value has a key that looks like an object. */
static void
assert_dead_keys(const struct gc_object *object)
{
  const struct gc_table *table = (const struct gc_table *)object;

  for (uint32_t i = 0; i < table->node_count; i++) {
    if (table->nodes[i].value.tag == GC_TAG_NIL) {
      assert_int_not_equal(table->nodes[i].key.tag, GC_TAG_OBJECT);
    }
  }
}

/* What CLEARED events have told. */
static int told_values, told_keys;
static const struct gc_object *told_table, *told_side;

static void
hear(struct gc_listener *listener, const struct gc_event *event)
{
  (void)listener;
  if (event->type == GC_EVENT_CLEARED) {
    told_values += event->from == 0;
    told_keys += event->from == 1;
    told_table = event->object;
    told_side = event->other;
  }
}

/* ---- modes ----------------------------------------------------------- */

/* A weak table at 1 with these pairs; live things are at 2 (a table) and 3 (a
 * userdata):
 *   live -> dead, dead -> live, dead -> 7, 5 -> dead, "dead" -> live,
 *   live userdata -> "dead", dead -> "dead", "dead2" -> dead, 6 -> 8 */
static void
fill_with_each_pair(struct gc_thread *thread)
{
  gc_push_copy(thread, 2);
  new_table(thread);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  new_table(thread);
  gc_push_copy(thread, 2);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  new_table(thread);
  gc_push_integer(thread, 7);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  new_table(thread);
  set_field(thread, 1, 5);
  push_string(thread, "dead");
  gc_push_copy(thread, 2);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  gc_push_copy(thread, 3);
  push_string(thread, "dead value");
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  new_table(thread);
  push_string(thread, "dead value");
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  push_string(thread, "a dead string that is longer than forty bytes are");
  new_table(thread);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  gc_push_integer(thread, 8);
  set_field(thread, 1, 6);
}

/* One for each way to be weak. */
enum { MODES = 3 };

static const char *const mode_texts[MODES] = { "k", "v", "kv" };

static const struct {
  const char *mode;
  bool keys, values;
} modes[] = {
  { NULL, false, false },
  { "k", true, false },
  { "v", false, true },
  { "kv", true, true },
  { "vk and more", true, true },
  { "weak", true, false }, /* it has the letter */
  { "", false, false },
  { "KV", false, false },
  { "a long string, with a k and a v, of more than forty bytes", false,
    false },
};

/* Catches a side that is cleared though it is strong, a string or no object,
 * one that is left, and half a pair. */
static void
test_gc_weak_modes_say_what_is_cleared(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
    struct gc_listener listener = { .event = hear };
    struct host host;
    struct gc_heap *heap = open_with(&host, &listener, NULL);
    struct gc_thread *thread = start(heap);
    struct gc_object *weak = new_weak(thread, modes[i].mode, 0);
    int dead_keys = modes[i].keys ? 3 : 0;
    int dead_values = modes[i].values ? 3 : 0;

    new_table(thread);
    assert_int_equal(gc_new_userdata(thread, 8, 0), GC_OK);
    fill_with_each_pair(thread);
    assert_int_equal(count_pairs(thread, 1), 9);
    told_values = told_keys = 0;
    collect(heap);
    assert_int_equal(count_pairs(thread, 1), 9 - dead_keys - dead_values);
    assert_int_equal(told_keys, dead_keys);
    assert_int_equal(told_values, dead_values);
    assert_dead_keys(weak);
    push_string(thread, "dead");
    assert_true(has_key(thread, 1));
    gc_push_copy(thread, 3);
    assert_true(has_key(thread, 1));
    gc_push_copy(thread, 2);
    assert_int_equal(has_key(thread, 1), !modes[i].values);
    gc_push_integer(thread, 6);
    assert_true(has_key(thread, 1));
    collect(heap);
    assert_int_equal(count_pairs(thread, 1), 9 - dead_keys - dead_values);
    close_heap(heap, &host);
  }
}

/* Catches a number that is taken for a mode. */
static void
test_gc_weak_mode_that_is_no_string(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  new_weak(thread, "kv", 0);
  gc_push_metatable(thread, 1);
  push_string(thread, "__mode");
  gc_push_integer(thread, 'k');
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  gc_pop(thread, 1);
  new_table(thread);
  set_field(thread, 1, 1);
  collect(heap);
  assert_int_equal(count_pairs(thread, 1), 1);
  close_heap_of(thread);
}

/* Catches an array part that is left out: weak with the values, strong where
 * only keys are weak. */
static void
test_gc_weak_array_parts(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  for (int m = 0; m < MODES; m++) {
    const struct gc_object *dead;

    assert_int_equal(gc_new_table(thread, 8, 0), GC_OK);
    new_table(thread);
    set_mode_of_top(thread, mode_texts[m]);
    gc_set_metatable(thread, -2);
    dead = new_table(thread);
    set_field(thread, 1, 1);
    push_string(thread, "kept");
    set_field(thread, 1, 2);
    new_table(thread);
    gc_push_copy(thread, -1);
    set_field(thread, 1, 3);
    gc_push_integer(thread, 4);
    set_field(thread, 1, 4);
    collect(heap);
    assert_int_equal(is_in_heap(heap, dead), m == 0);
    assert_int_equal(count_pairs(thread, 1), m == 0 ? 4 : 3);
    gc_set_top(thread, 0);
  }
  close_heap_of(thread);
}

/* Catches keys of weak values that are not held, and a metatable that is
 * not. */
static void
test_gc_weak_strong_sides_are_held(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  const struct gc_object *key;

  new_weak(thread, "v", 0);
  key = new_table(thread);
  gc_push_integer(thread, 1);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  collect(heap);
  collect(heap);
  assert_true(is_in_heap(heap, key));
  assert_int_equal(count_pairs(thread, 1), 1);
  gc_push_metatable(thread, 1);
  assert_int_equal(count_pairs(thread, 2), 1);
  close_heap_of(thread);
}

/* ---- events ---------------------------------------------------------- */

/* Catches the wrong side or table in an event. */
static void
test_gc_weak_clearing_is_told(void **state)
{
  struct gc_listener listener = { .event = hear };
  struct host host;
  struct gc_heap *heap = open_with(&host, &listener, NULL);
  struct gc_thread *thread = start(heap);
  const struct gc_object *weak = new_weak(thread, "k", 0);
  const struct gc_object *side;

  (void)state;
  told_values = told_keys = 0;
  side = new_table(thread);
  gc_push_integer(thread, 1);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  collect(heap);
  assert_int_equal(told_keys, 1);
  assert_int_equal(told_values, 0);
  assert_ptr_equal(told_table, weak);
  assert_ptr_equal(told_side, side);
  change_mode(thread, 1, "v");
  side = new_table(thread);
  set_field(thread, 1, 1);
  collect(heap);
  assert_int_equal(told_keys, 1);
  assert_int_equal(told_values, 1);
  assert_ptr_equal(told_side, side);
  close_heap(heap, &host);
}

/* ---- ephemerons ------------------------------------------------------ */

static struct gc_object *objects[OBJECTS_MAX];

/* Rising, falling, or all over the place: the stride is a prime. */
static uint32_t
shuffled(uint32_t i, uint32_t count, int order)
{
  switch (order) {
  case 0:
    return i;
  case 1:
    return count - 1 - i;
  default:
    return (uint32_t)((uint64_t)i * 70001 % count);
  }
}

/* In the weak table at 1, object i is the key of object i + 1, of `count`
 * objects that nothing else holds but the first, at 2. The order in which
 * pairs are made decides how they lie. */
static void
chain_ephemerons(struct gc_thread *thread, uint32_t count, int order)
{
  new_table(thread); /* 3: holds them until they are chained */
  for (uint32_t i = 0; i < count; i++) {
    objects[i] = new_table(thread);
    set_field(thread, 3, (int64_t)i + 1);
  }
  gc_raw_geti(thread, 3, 1);
  gc_replace(thread, 2);
  for (uint32_t i = 0; i + 1 < count; i++) {
    uint32_t n = shuffled(i, count - 1, order);

    gc_raw_geti(thread, 3, (int64_t)n + 1);
    gc_raw_geti(thread, 3, (int64_t)n + 2);
    assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  }
  gc_pop(thread, 1);
}

/* Catches a fixpoint that stops too early, in any order of the pairs, and one
 * that keeps what nobody reaches. */
static void
test_gc_weak_ephemeron_chains(void **state)
{
  enum { COUNT = 2000 };

  (void)state;
  for (int order = 0; order < 3; order++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = start(heap);
    struct gc_object *weak = new_weak(thread, "k", COUNT);

    gc_push_nil(thread);
    chain_ephemerons(thread, COUNT, order);
    collect(heap);
    assert_int_equal(count_pairs(thread, 1), COUNT - 1);
    assert_true(is_in_heap(heap, objects[COUNT - 1]));
    /* The chain is cut: the second half goes, whole. */
    gc_push_nil(thread);
    for (int i = 0; gc_next(thread, 1); i++) {
      if (object_at(thread, -2) == objects[COUNT / 2]) {
        gc_pop(thread, 1);
        break;
      }
      gc_pop(thread, 1);
    }
    gc_push_nil(thread);
    assert_int_equal(gc_raw_set(thread, 1), GC_OK);
    collect(heap);
    assert_int_equal(count_pairs(thread, 1), COUNT / 2);
    assert_false(is_in_heap(heap, objects[COUNT - 1]));
    assert_dead_keys(weak);
    gc_push_nil(thread);
    gc_replace(thread, 2);
    collect(heap);
    assert_int_equal(count_pairs(thread, 1), 0);
    close_heap(heap, &host);
  }
}

/* The work of one cycle's atomic phase. */
static size_t
atomic_work(struct gc_heap *heap)
{
  gc_collect(heap);
  gc_run_until(heap, GC_PHASE_ENTER_ATOMIC);
  return gc_micro_step(heap);
}

static size_t
work_of_chain(uint32_t count, int order)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = start(heap);
  size_t work;

  new_weak(thread, "k", count);
  gc_push_nil(thread);
  chain_ephemerons(thread, count, order);
  work = atomic_work(heap);
  assert_int_equal(count_pairs(thread, 1), (int)count - 1);
  close_heap(heap, &host);
  return work;
}

/* Catches time that grows with the square of the pairs, by counting work: an
 * object visited, a slot looked at or a pair that got ready is one unit. */
static void
test_gc_weak_ephemeron_work_is_linear(void **state)
{
  (void)state;
  for (int order = 0; order < 3; order++) {
    size_t work = work_of_chain(1000, order);

    assert_true(work < 8 * 1000);
    assert_true(work_of_chain(OBJECTS_MAX, order) < 8 * OBJECTS_MAX);
  }
}

/* Pushes the last object of the chain in the table at 1. */
static void
push_end_of_chain(struct gc_thread *thread)
{
  gc_push_copy(thread, 2);
  for (;;) {
    gc_push_copy(thread, -1);
    gc_raw_get(thread, 1);
    if (gc_type_of(thread, -1) == GC_TYPE_NIL) {
      gc_pop(thread, 1);
      return;
    }
    gc_replace(thread, -2);
  }
}

/* Catches a key of which only one pair is remembered. It is at the end of a
 * chain, so that it is reached when all tables have been visited. */
static void
test_gc_weak_ephemerons_share_a_key(void **state)
{
  enum { TABLES = 5, CHAIN = 200 };
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  new_weak(thread, "k", CHAIN);
  gc_push_nil(thread);
  chain_ephemerons(thread, CHAIN, 2);
  for (int i = 0; i < TABLES; i++) {
    new_weak(thread, "k", 0); /* 3 to 7 */
    push_end_of_chain(thread);
    new_table(thread);
    gc_push_integer(thread, i);
    set_field(thread, -2, 1);
    assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  }
  collect(heap);
  for (int i = 0; i < TABLES; i++) {
    push_end_of_chain(thread);
    gc_raw_get(thread, 3 + i);
    assert_int_equal(gc_type_of(thread, -1), GC_TYPE_TABLE);
    gc_raw_geti(thread, -1, 1);
    assert_int_equal(gc_to_integer(thread, -1), i);
    gc_pop(thread, 2);
  }
  gc_push_nil(thread);
  gc_replace(thread, 2);
  collect(heap);
  for (int i = 0; i < TABLES; i++) {
    assert_int_equal(count_pairs(thread, 3 + i), 0);
  }
  close_heap_of(thread);
}

/* Catches values that hold their own keys, over one pair or a ring. */
static void
test_gc_weak_ephemeron_rings_go(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);

  new_weak(thread, "k", 0);
  new_table(thread);
  gc_push_copy(thread, 2);
  gc_push_copy(thread, 2);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  new_table(thread);
  new_table(thread);
  gc_push_copy(thread, 3);
  gc_push_copy(thread, 4);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  gc_push_copy(thread, 4);
  gc_push_copy(thread, 3);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  collect(heap);
  assert_int_equal(count_pairs(thread, 1), 3);
  gc_set_top(thread, 1);
  collect(heap);
  assert_int_equal(count_pairs(thread, 1), 0);
  close_heap_of(thread);
}

/* Pushes key n of the kinds that can be a white one, and its identity. */
static struct gc_object *
push_key(struct gc_thread *thread, int n)
{
  struct gc_capture capture = { .in_stack = true, .index = 1 };

  switch (n) {
  case 0:
    new_table(thread);
    break;
  case 1:
    assert_int_equal(gc_new_userdata(thread, 8, 0), GC_OK);
    break;
  case 2:
    assert_int_equal(gc_new_userdata(thread, 0, 2), GC_OK);
    break;
  case 3:
    gc_push_integer(thread, 1);
    assert_int_equal(gc_new_native_closure(thread, NULL, 1), GC_OK);
    break;
  case 4:
    assert_int_equal(gc_new_prototype(thread, 1), GC_OK);
    assert_int_equal(gc_new_closure(thread, -1, &capture, 1), GC_OK);
    gc_replace(thread, -2);
    break;
  default:
    gc_push_native(thread, NULL);
    assert_int_equal(gc_new_thread(thread), GC_OK);
    break;
  }
  return object_at(thread, -1);
}

/* Catches a kind of key that cannot be waited for. */
static void
test_gc_weak_ephemeron_keys_of_each_kind(void **state)
{
  (void)state;
  for (int n = 0; n < 6; n++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = start(heap);
    struct gc_object *key, *value;

    new_table(thread);        /* 1: will hold the key */
    new_weak(thread, "k", 0); /* 2 */
    new_table(thread);        /* 3 */
    gc_push_copy(thread, 3);
    key = push_key(thread, n);
    gc_push_copy(thread, -1);
    gc_replace(thread, 1);
    assert_int_equal(gc_raw_set(thread, 2), GC_OK); /* [3] = key */
    gc_push_copy(thread, 1);
    value = new_table(thread);
    assert_int_equal(gc_raw_set(thread, 2), GC_OK); /* [key] = value */
    gc_push_nil(thread);
    gc_replace(thread, 1);
    collect(heap);
    assert_true(is_in_heap(heap, value));
    assert_int_equal(count_pairs(thread, 2), 2);
    gc_set_top(thread, 2);
    collect(heap);
    assert_false(is_in_heap(heap, key));
    assert_false(is_in_heap(heap, value));
    assert_int_equal(count_pairs(thread, 2), 0);
    close_heap(heap, &host);
  }
}

/* ---- changes in mid-cycle -------------------------------------------- */

/* Goes on to the end of the cycle that is under way. */
static void
finish(struct gc_heap *heap)
{
  if (gc_phase_of(heap) == GC_PHASE_PAUSE) {
    run_to(heap, GC_PHASE_PROPAGATE);
  }
  run_to(heap, GC_PHASE_PAUSE);
}

/* A table at 1 of that mode, with a pair of a dead key and a dead value. */
static void
make_dead_pair(struct gc_thread *thread, const char *mode)
{
  new_weak(thread, mode, 0);
  new_table(thread);
  new_table(thread);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
}

/* Catches a mode that is not read again in the atomic phase: a table that is
 * strong by then loses nothing, however weak it was. */
static void
test_gc_weak_mode_dropped_in_each_phase(void **state)
{
  (void)state;
  for (int i = 0; i < PHASES; i++) {
    for (int m = 0; m < MODES; m++) {
      for (int by_metatable = 0; by_metatable < 2; by_metatable++) {
        struct host host;
        struct gc_heap *heap = open_heap(&host);
        struct gc_thread *thread = start(heap);

        make_dead_pair(thread, mode_texts[m]);
        run_to(heap, phases[i]);
        if (phases[i] == GC_PHASE_PROPAGATE) {
          gc_micro_step(heap);
          gc_micro_step(heap);
        }
        if (by_metatable) {
          gc_push_nil(thread);
          gc_set_metatable(thread, 1);
        } else {
          change_mode(thread, 1, NULL);
        }
        check_heap(heap);
        finish(heap);
        assert_int_equal(count_pairs(thread, 1),
                         phases[i] < GC_PHASE_SWEEP ? 1 : 0);
        collect(heap);
        close_heap(heap, &host);
      }
    }
  }
}

/* Catches a table that turns weak in mid-cycle and is broken by it; it holds
 * from the next cycle at the latest. */
static void
test_gc_weak_mode_set_in_each_phase(void **state)
{
  (void)state;
  for (int i = 0; i < PHASES; i++) {
    for (int m = 0; m < MODES; m++) {
      struct host host;
      struct gc_heap *heap = open_heap(&host);
      struct gc_thread *thread = start(heap);

      make_dead_pair(thread, NULL);
      run_to(heap, phases[i]);
      change_mode(thread, 1, mode_texts[m]);
      check_heap(heap);
      finish(heap);
      collect(heap);
      assert_int_equal(count_pairs(thread, 1), 0);
      close_heap(heap, &host);
    }
  }
}

/* Catches pairs made in mid-cycle that are cleared though both sides live, or
 * whose strong side is not held. */
static void
test_gc_weak_pairs_made_in_each_phase(void **state)
{
  (void)state;
  for (int i = 0; i < PHASES; i++) {
    for (int m = 0; m < MODES; m++) {
      struct host host;
      struct gc_heap *heap = open_heap(&host);
      struct gc_thread *thread = start(heap);

      new_weak(thread, mode_texts[m], 0);
      run_to(heap, phases[i]);
      new_table(thread); /* 2: a key */
      new_table(thread); /* 3: a value */
      gc_push_copy(thread, 2);
      gc_push_copy(thread, 3);
      assert_int_equal(gc_raw_set(thread, 1), GC_OK);
      if (m != 0) {
        new_table(thread);
      } else {
        gc_push_copy(thread, 2);
      }
      gc_pop(thread, 1);
      check_heap(heap);
      finish(heap);
      assert_int_equal(count_pairs(thread, 1), 1);
      gc_push_nil(thread);
      gc_replace(thread, m == 0 ? 3 : 2);
      collect(heap);
      assert_int_equal(count_pairs(thread, 1), m == 2 ? 0 : 1);
      gc_set_top(thread, 1);
      collect(heap);
      assert_int_equal(count_pairs(thread, 1), 0);
      close_heap(heap, &host);
    }
  }
}

/* ---- resurrection ---------------------------------------------------- */

static int calls;
static bool seen_as_value, seen_as_key, seen_behind;
static int pairs_behind;

/* What a finalizer finds: at registry 10 a table with weak values that held
 * the object at 1 and what it refers to at 2, at registry 11 one with both as
 * weak keys. The object's field 1 is a weak table. */
static void
look_around(struct gc_thread *thread)
{
  calls++;
  gc_raw_geti(thread, GC_INDEX_REGISTRY, 10);
  gc_raw_geti(thread, -1, 1);
  seen_as_value = gc_type_of(thread, -1) != GC_TYPE_NIL;
  gc_raw_geti(thread, -2, 2);
  seen_behind = gc_type_of(thread, -1) != GC_TYPE_NIL;
  gc_raw_geti(thread, GC_INDEX_REGISTRY, 11);
  gc_push_copy(thread, 1);
  gc_raw_get(thread, -2);
  seen_as_key = gc_type_of(thread, -1) != GC_TYPE_NIL;
  gc_raw_geti(thread, 1, 1);
  pairs_behind = count_pairs(thread, -1);
}

static void
set_finalizer(struct gc_thread *thread, int index, gc_native finalizer)
{
  gc_push_copy(thread, index);
  push_metatable(thread, finalizer);
  gc_set_metatable(thread, -2);
  gc_pop(thread, 1);
}

/* Catches a resurrected object that is still a weak value for its finalizer or
 * no weak key any more, and a weak table behind it that keeps what is dead. */
static void
test_gc_weak_resurrected_objects(void **state)
{
  (void)state;
  for (int m = 0; m < MODES; m++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = start(heap);

    calls = 0;
    new_weak(thread, "v", 0);
    set_field(thread, GC_INDEX_REGISTRY, 10);
    new_weak(thread, "k", 0);
    set_field(thread, GC_INDEX_REGISTRY, 11);
    new_table(thread);           /* 1: the object */
    new_weak(thread, mode_texts[m], 0); /* 2: behind it */
    new_table(thread);
    new_table(thread);
    assert_int_equal(gc_raw_set(thread, 2), GC_OK);
    gc_push_copy(thread, 2);
    set_field(thread, 1, 1);
    gc_raw_geti(thread, GC_INDEX_REGISTRY, 10);
    gc_push_copy(thread, 1);
    set_field(thread, 3, 1);
    gc_push_copy(thread, 2);
    set_field(thread, 3, 2);
    gc_pop(thread, 1);
    gc_raw_geti(thread, GC_INDEX_REGISTRY, 11);
    gc_push_copy(thread, 1);
    gc_push_integer(thread, 1);
    assert_int_equal(gc_raw_set(thread, 3), GC_OK);
    gc_set_top(thread, 2);
    set_finalizer(thread, 1, look_around);
    gc_set_top(thread, 0);
    collect(heap);
    assert_int_equal(calls, 1);
    assert_false(seen_as_value);
    assert_false(seen_behind);
    assert_true(seen_as_key);
    assert_int_equal(pairs_behind, 0);
    gc_raw_geti(thread, GC_INDEX_REGISTRY, 11);
    assert_int_equal(count_pairs(thread, 1), 1);
    collect(heap);
    assert_int_equal(count_pairs(thread, 1), 0);
    close_heap(heap, &host);
  }
}

/* Catches an ephemeron whose key is resurrected and whose value is not. */
static void
test_gc_weak_resurrected_keys_hold_their_values(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  const struct gc_object *value;

  new_weak(thread, "k", 0);
  new_table(thread);
  set_finalizer(thread, 2, do_nothing);
  value = new_table(thread);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  run_to(heap, GC_PHASE_FINALIZE);
  assert_true(is_in_heap(heap, value));
  assert_int_equal(count_pairs(thread, 1), 1);
  collect(heap);
  assert_false(is_in_heap(heap, value));
  assert_int_equal(count_pairs(thread, 1), 0);
  close_heap_of(thread);
}

/* ---- traversals ------------------------------------------------------ */

/* Catches a traversal that loses its place when the pair that it stands on is
 * cleared, its key still in a register. */
static void
test_gc_weak_next_goes_on_from_a_dead_key(void **state)
{
  enum { PAIRS = 40 };
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  int seen = 0;

  new_weak(thread, "v", 0);
  new_table(thread); /* 2: the keys; every second value lives in it */
  for (int i = 1; i <= PAIRS; i++) {
    new_table(thread);
    new_table(thread);
    gc_push_copy(thread, 3);
    set_field(thread, 2, i);
    if (i % 2 == 0) {
      gc_push_copy(thread, 4);
      set_field(thread, 2, 1000 + i);
    }
    assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  }
  gc_push_nil(thread);
  while (gc_next(thread, 1)) {
    gc_pop(thread, 1);
    if (seen++ == 0) {
      collect(heap);
    }
    assert_true(seen <= PAIRS);
  }
  assert_true(seen == PAIRS / 2 || seen == PAIRS / 2 + 1);
  assert_int_equal(count_pairs(thread, 1), PAIRS / 2);
  close_heap_of(thread);
}

/* Catches dead keys that get in the way of new ones. */
static void
test_gc_weak_tables_are_used_again(void **state)
{
  struct gc_thread *thread = *state;
  struct gc_heap *heap = gc_heap_of(thread);
  uint32_t nodes = 0;

  new_weak(thread, "k", 0);
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 50; i++) {
      new_table(thread);
      new_table(thread);
      assert_int_equal(gc_raw_set(thread, 1), GC_OK);
    }
    collect(heap);
    assert_int_equal(count_pairs(thread, 1), 0);
    if (round == 0) {
      nodes = ((struct gc_table *)object_at(thread, 1))->node_count;
    }
  }
  assert_true(((struct gc_table *)object_at(thread, 1))->node_count
              <= 2 * nodes);
  close_heap_of(thread);
}

/* ---- generations ----------------------------------------------------- */

/* Catches an old weak table that minor collections do not clear, or break. */
static void
test_gc_weak_tables_in_minor_collections(void **state)
{
  (void)state;
  for (int m = 0; m < MODES; m++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = start(heap);

    new_weak(thread, mode_texts[m], 0);
    gc_set_mode(heap, GC_MODE_GENERATIONAL);
    for (int round = 0; round < 6; round++) {
      gc_push_nil(thread);
      gc_push_nil(thread);
      new_table(thread);
      gc_replace(thread, 2);
      new_table(thread);
      gc_replace(thread, 3);
      gc_push_copy(thread, 2);
      gc_push_copy(thread, 3);
      assert_int_equal(gc_raw_set(thread, 1), GC_OK);
      for (int i = 0; i < round; i++) {
        gc_micro_step(heap);
        assert_int_equal(count_pairs(thread, 1), 1);
      }
      gc_set_top(thread, 1);
      gc_micro_step(heap);
      assert_int_equal(count_pairs(thread, 1), round < 2 ? 0 : 1);
      gc_collect(heap);
      assert_int_equal(count_pairs(thread, 1), 0);
    }
    close_heap(heap, &host);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_weak_modes_say_what_is_cleared),
    WITH_HEAP(test_gc_weak_mode_that_is_no_string),
    WITH_HEAP(test_gc_weak_array_parts),
    WITH_HEAP(test_gc_weak_strong_sides_are_held),
    cmocka_unit_test(test_gc_weak_clearing_is_told),
    cmocka_unit_test(test_gc_weak_ephemeron_chains),
    cmocka_unit_test(test_gc_weak_ephemeron_work_is_linear),
    WITH_HEAP(test_gc_weak_ephemerons_share_a_key),
    WITH_HEAP(test_gc_weak_ephemeron_rings_go),
    cmocka_unit_test(test_gc_weak_ephemeron_keys_of_each_kind),
    cmocka_unit_test(test_gc_weak_mode_dropped_in_each_phase),
    cmocka_unit_test(test_gc_weak_mode_set_in_each_phase),
    cmocka_unit_test(test_gc_weak_pairs_made_in_each_phase),
    cmocka_unit_test(test_gc_weak_resurrected_objects),
    WITH_HEAP(test_gc_weak_resurrected_keys_hold_their_values),
    WITH_HEAP(test_gc_weak_next_goes_on_from_a_dead_key),
    WITH_HEAP(test_gc_weak_tables_are_used_again),
    cmocka_unit_test(test_gc_weak_tables_in_minor_collections),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
