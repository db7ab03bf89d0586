/* SPDX-License-Identifier: MIT
 *
 * The object half of src/gc: strings, tables against a naive model,
 * metatables, userdata. Functions are in test_gc_functions.c.
 */
#include <stdio.h>

#include "tests/gc_drive.h"

#define LONG_TEXT "a string that is longer than the forty bytes of a short one"

static struct gc_table *
table_at(struct gc_thread *thread, int index)
{
  struct gc_object *object = object_at(thread, index);

  assert_int_equal(object->kind, GC_KIND_TABLE);
  return (struct gc_table *)object;
}

static uint32_t
random_below(uint32_t *seed, uint32_t limit)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 17;
  *seed ^= *seed << 5;
  return *seed % limit;
}

/* ---- strings --------------------------------------------------------- */

/* Catches a wrong limit between the two kinds of strings, and a comparison
 * that stops at a NUL. */
static void
test_gc_objects_strings_are_interned_up_to_forty_bytes(void **state)
{
  static const char text[] = "0123456789012345678901234567890123456789x";
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t length;

  (void)state;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(gc_push_string(thread, text, 40), GC_OK);
    assert_int_equal(gc_push_string(thread, text, 41), GC_OK);
    assert_int_equal(gc_push_string(thread, "a\0b", 3), GC_OK);
    assert_int_equal(gc_push_string(thread, "a\0c", 3), GC_OK);
    assert_int_equal(gc_push_string(thread, "", 0), GC_OK);
  }
  assert_ptr_equal(object_at(thread, 1), object_at(thread, 6));
  assert_ptr_not_equal(object_at(thread, 2), object_at(thread, 7));
  assert_true(gc_raw_equal(thread, 2, 7));
  assert_ptr_equal(object_at(thread, 3), object_at(thread, 8));
  assert_ptr_not_equal(object_at(thread, 3), object_at(thread, 4));
  assert_false(gc_raw_equal(thread, 3, 4));
  assert_ptr_equal(object_at(thread, 5), object_at(thread, 10));
  assert_memory_equal(gc_to_string(thread, 2, &length), text, 42);
  assert_int_equal(length, 41);
  close_heap(heap, &host);
}

static void
push_numbered(struct gc_thread *thread, int number)
{
  char text[32];

  snprintf(text, sizeof(text), "string number %d", number);
  push_string(thread, text);
}

/* Catches strings lost when the table grows or shrinks, and a table that does
 * neither. */
static void
test_gc_objects_string_table_follows_its_count(void **state)
{
  enum { COUNT = 3000 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  uint32_t first = heap->strings.bucket_count;

  (void)state;
  new_table(thread);
  for (int i = 1; i <= COUNT; i++) {
    push_numbered(thread, i);
    assert_int_equal(gc_raw_seti(thread, 1, i), GC_OK);
  }
  assert_int_equal(heap->strings.count, COUNT + GC_NAME_COUNT);
  assert_true(heap->strings.bucket_count >= COUNT);
  for (int i = 1; i <= COUNT; i++) {
    push_numbered(thread, i);
    gc_raw_geti(thread, 1, i);
    assert_ptr_equal(object_at(thread, -1), object_at(thread, -2));
    gc_pop(thread, 2);
  }
  gc_pop(thread, 1);
  for (int i = 0; i < 20; i++) {
    gc_collect(heap);
  }
  assert_int_equal(heap->strings.count, GC_NAME_COUNT);
  assert_true(heap->strings.bucket_count < first);
  push_string(thread, "__index");
  assert_ptr_equal(object_at(thread, 1), heap->names[GC_NAME_INDEX]);
  close_heap(heap, &host);
}

/* Catches a string that is not made because the table could not grow. */
static void
test_gc_objects_string_table_may_fail_to_grow(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  uint32_t buckets = heap->strings.bucket_count;
  int number = 0;

  (void)state;
  gc_stop(heap);
  new_table(thread);
  while (heap->strings.count < buckets) {
    push_numbered(thread, ++number);
    assert_int_equal(gc_raw_seti(thread, 1, number), GC_OK);
  }
  gc_set_basic_metatable(thread, GC_BASIC_NIL);
  number++;
  host.fail_at = host.calls;
  host.fail_more = 1;
  push_numbered(thread, number);
  assert_int_equal(heap->strings.bucket_count, buckets);
  assert_int_equal(heap->strings.count, buckets + 1);
  push_numbered(thread, number + 1);
  assert_int_equal(heap->strings.bucket_count, 2 * buckets);
  push_numbered(thread, number);
  assert_ptr_equal(object_at(thread, 1), object_at(thread, 3));
  close_heap(heap, &host);
}

/* Puts a string on the heap, drops it, and goes on until it is found dead but
 * not yet swept: newer objects that live keep the sweep busy. */
static struct gc_object *
make_dead_string(struct gc_heap *heap, const char *text)
{
  enum { NEWER = 500 };
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *string;

  new_table(thread);
  push_string(thread, text);
  string = object_at(thread, -1);
  for (int i = 1; i <= NEWER; i++) {
    new_table(thread);
    assert_int_equal(gc_raw_seti(thread, -3, i), GC_OK);
  }
  gc_collect(heap);
  gc_stop(heap);
  gc_pop(thread, 1);
  gc_run_until(heap, GC_PHASE_SWEEP);
  assert_true(gc_is_dead(heap, string));
  return string;
}

/* Catches a dead string that is found again and then swept. */
static void
test_gc_objects_dead_strings_come_back(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *string;

  (void)state;
  string = make_dead_string(heap, "phoenix");
  push_string(thread, "phoenix");
  assert_ptr_equal(object_at(thread, -1), string);
  assert_int_equal(gc_colour_of(heap, string), GC_WHITE_CURRENT);
  gc_run_until(heap, GC_PHASE_PAUSE);
  check_heap(heap);
  assert_true(is_in_heap(heap, string));
  gc_pop(thread, 1);
  gc_collect(heap);
  assert_false(is_in_heap(heap, string));
  close_heap(heap, &host);
}

/* A concatenation finds interned strings too, and dead ones again. */
static void
test_gc_objects_concat_gives_the_string_of_its_contents(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *string;

  (void)state;
  string = make_dead_string(heap, "half and half");
  push_string(thread, "half and");
  push_string(thread, " half");
  assert_int_equal(gc_concat(thread), GC_OK);
  assert_ptr_equal(object_at(thread, -1), string);
  assert_int_equal(gc_colour_of(heap, string), GC_WHITE_CURRENT);
  push_string(thread, "");
  assert_int_equal(gc_concat(thread), GC_OK);
  assert_ptr_equal(object_at(thread, -1), string);
  push_string(thread, LONG_TEXT);
  assert_int_equal(gc_concat(thread), GC_OK);
  assert_string_equal(gc_to_string(thread, -1, NULL),
                      "half and half" LONG_TEXT);
  push_string(thread, "half and half" LONG_TEXT);
  assert_true(gc_raw_equal(thread, -1, -2));
  close_heap(heap, &host);
}

/* ---- tables against a model ------------------------------------------ */

/* Keys, from stack slots 2 and up; key k is found again by its slot. */
enum { KEYS = 120, OBJECT_KEYS = 24, MODEL_VALUES = 1000 };

struct model {
  int64_t values[KEYS]; /* 0: absent */
};

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

/* Pushes key k; long strings are a new object each time. */
static void
push_key(struct gc_thread *thread, int k)
{
  char text[80];

  if (k < OBJECT_KEYS) {
    gc_push_copy(thread, 2 + k);
  } else if (k < 70) {
    gc_push_integer(thread, k - OBJECT_KEYS - 3);
  } else if (k < 76) {
    gc_push_integer(thread, (int64_t)1 << (k - 46));
  } else if (k < 82) {
    gc_push_float(thread, k + 0.5);
  } else if (k < 84) {
    gc_push_boolean(thread, k == 82);
  } else if (k < 86) {
    gc_push_native(thread, k == 84 ? native_one : native_two);
  } else if (k < 90) {
    gc_push_pointer(thread, (void *)(uintptr_t)(k - 86));
  } else {
    snprintf(text, sizeof(text), k < 105 ? "s%d" : LONG_TEXT " %d", k);
    push_string(thread, text);
  }
}

/* The number of the key at index: the inverse of push_key. */
static int
key_number(struct gc_thread *thread, int index)
{
  for (int k = 0; k < KEYS; k++) {
    bool same;

    push_key(thread, k);
    same = gc_raw_equal(thread, -1, index < 0 ? index - 1 : index);
    gc_pop(thread, 1);
    if (same) {
      return k;
    }
  }
  fail_msg("a key that was never stored");
  return 0;
}

static void
model_set(struct gc_thread *thread, struct model *model, int k, int64_t value)
{
  push_key(thread, k);
  if (value == 0) {
    gc_push_nil(thread);
  } else {
    gc_push_integer(thread, value);
  }
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  model->values[k] = value;
}

static void
model_get(struct gc_thread *thread, const struct model *model, int k)
{
  push_key(thread, k);
  gc_raw_get(thread, 1);
  if (model->values[k] == 0) {
    assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  } else {
    assert_int_equal(gc_to_integer(thread, -1), model->values[k]);
  }
  gc_pop(thread, 1);
}

/* Each key once and with its value. Removes some of them on the way, and
 * collects: the traversal goes on from a removed key. */
static void
model_traverse(struct gc_thread *thread, struct model *model, uint32_t *seed,
               bool removes)
{
  struct model seen = { { 0 } };
  struct model before = *model;

  gc_push_nil(thread);
  while (gc_next(thread, 1)) {
    int k = key_number(thread, -2);

    assert_int_equal(seen.values[k], 0);
    seen.values[k] = gc_to_integer(thread, -1);
    gc_pop(thread, 1);
    if (removes && random_below(seed, 3) > 0) {
      gc_push_copy(thread, -1);
      gc_push_nil(thread);
      assert_int_equal(gc_raw_set(thread, 1), GC_OK);
      model->values[k] = 0;
      if (random_below(seed, 4) == 0) {
        gc_collect(gc_heap_of(thread));
      }
    }
  }
  assert_memory_equal(&seen, &before, sizeof(seen));
}

static void
model_length(struct gc_thread *thread, const struct model *model)
{
  int64_t length = gc_length(thread, 1);

  assert_true(length >= 0 && length < 50);
  assert_true(length == 0 || model->values[OBJECT_KEYS + 3 + length] != 0);
  assert_true(model->values[OBJECT_KEYS + 3 + length + 1] == 0);
}

static void
model_step(struct gc_thread *thread, struct model *model, uint32_t *seed)
{
  struct gc_heap *heap = gc_heap_of(thread);
  int k = (int)random_below(seed, KEYS);

  switch (random_below(seed, 16)) {
  case 0:
    model_traverse(thread, model, seed, random_below(seed, 2) == 0);
    break;
  case 1:
  case 2:
  case 3:
    model_set(thread, model, k, 0);
    break;
  case 4:
    for (int i = (int)random_below(seed, 40); i >= 0; i--) {
      gc_micro_step(heap);
      check_heap(heap);
    }
    break;
  case 5:
    assert_int_equal(gc_table_resize(heap, table_at(thread, 1),
                                     random_below(seed, 40),
                                     random_below(seed, 40)),
                     GC_OK);
    break;
  default:
    model_set(thread, model, k, 1 + random_below(seed, MODEL_VALUES));
    break;
  }
  model_length(thread, model);
  for (k = 0; k < KEYS; k++) {
    model_get(thread, model, k);
  }
}

/* Catches a lost, doubled or confused key in any part of the table, through
 * collisions, removals, rehashes and dead keys. */
static void
test_gc_objects_tables_do_as_a_naive_model(void **state)
{
  (void)state;
  for (uint32_t seed = 1; seed <= 12; seed++) {
    uint32_t random = seed * 2654435761u;
    struct model model = { { 0 } };
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = gc_main_thread(heap);

    assert_int_equal(gc_reserve(thread, OBJECT_KEYS + 40), GC_OK);
    for (int i = 0; i <= OBJECT_KEYS; i++) {
      new_table(thread);
    }
    for (int step = 0; step < 250; step++) {
      model_step(thread, &model, &random);
    }
    close_heap(heap, &host);
  }
}

/* Catches a dead key that a lookup takes for the object at its address. */
static void
test_gc_objects_dead_keys_are_found_by_traversal_only(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_table *table;

  (void)state;
  new_table(thread);
  new_table(thread);
  gc_push_copy(thread, 2);
  gc_push_integer(thread, 7);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  gc_push_copy(thread, 2);
  gc_push_nil(thread);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  gc_collect(heap);
  table = table_at(thread, 1);
  assert_int_equal(table->node_count, 1);
  assert_int_equal(table->nodes[0].key.tag, GC_TAG_DEAD_KEY);
  gc_push_copy(thread, 2);
  assert_false(gc_next(thread, 1)); /* found, and it is the last */
  gc_push_copy(thread, 2);
  gc_raw_get(thread, 1);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  gc_push_copy(thread, 2);
  gc_push_integer(thread, 8);
  assert_int_equal(gc_raw_set(thread, 1), GC_OK);
  gc_push_copy(thread, 2);
  gc_raw_get(thread, 1);
  assert_int_equal(gc_to_integer(thread, -1), 8);
  close_heap(heap, &host);
}

/* A removed key that is not a reference any more must not keep its object,
 * nor be read once that is gone. */
static void
test_gc_objects_removed_keys_are_no_references(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_object *key;

  (void)state;
  new_table(thread);
  for (int i = 0; i < 40; i++) {
    push_string(thread, LONG_TEXT);
    key = object_at(thread, -1);
    gc_push_copy(thread, -1);
    gc_push_integer(thread, 1);
    assert_int_equal(gc_raw_set(thread, 1), GC_OK);
    gc_push_copy(thread, -1);
    gc_push_nil(thread);
    assert_int_equal(gc_raw_set(thread, 1), GC_OK);
    gc_pop(thread, 1);
    gc_collect(heap);
    assert_false(is_in_heap(heap, key));
  }
  close_heap(heap, &host);
}

/* Catches numbers that are the same key and are taken for two. */
static void
test_gc_objects_integral_floats_are_integer_keys(void **state)
{
  static const struct {
    double number;
    int64_t integer;
  } same[] = { { 1.0, 1 },
               { -0.0, 0 },
               { 9007199254740992.0, 9007199254740992 },
               { -9223372036854775808.0, INT64_MIN } };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  new_table(thread);
  for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
    gc_push_float(thread, same[i].number);
    gc_push_integer(thread, same[i].integer);
    assert_true(gc_raw_equal(thread, -1, -2));
    gc_pop(thread, 1);
    gc_push_integer(thread, (int64_t)i);
    assert_int_equal(gc_raw_set(thread, 1), GC_OK);
    gc_raw_geti(thread, 1, same[i].integer);
    assert_int_equal(gc_to_integer(thread, -1), i);
    gc_pop(thread, 1);
  }
  gc_push_float(thread, 9223372036854775808.0);
  gc_push_integer(thread, INT64_MAX);
  assert_false(gc_raw_equal(thread, -1, -2));
  gc_pop(thread, 1);
  gc_raw_get(thread, 1);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  close_heap(heap, &host);
}

/* Catches an array part that is not more than half used, or keys that should
 * be in it and are not. */
static void
test_gc_objects_array_part_is_more_than_half_used(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  new_table(thread);
  for (int i = 1; i <= 1000; i++) {
    gc_push_boolean(thread, true);
    assert_int_equal(gc_raw_seti(thread, 1, i), GC_OK);
    assert_int_equal(gc_length(thread, 1), i);
  }
  assert_int_equal(table_at(thread, 1)->array_size, 1024);
  assert_int_equal(table_at(thread, 1)->node_count, 0);
  for (int i = 1; i <= 1000; i++) {
    gc_push_boolean(thread, true);
    assert_int_equal(gc_raw_seti(thread, 1, (int64_t)i << 32), GC_OK);
  }
  assert_int_equal(table_at(thread, 1)->array_size, 1024);
  for (int i = 3; i <= 1000; i++) {
    gc_push_nil(thread);
    assert_int_equal(gc_raw_seti(thread, 1, i), GC_OK);
  }
  for (int i = 1001; i <= 2000; i++) {
    gc_push_boolean(thread, true);
    assert_int_equal(gc_raw_seti(thread, 1, (int64_t)i << 32), GC_OK);
  }
  assert_int_equal(table_at(thread, 1)->array_size, 2);
  assert_int_equal(gc_length(thread, 1), 2);
  close_heap(heap, &host);
}

/* Borders beyond the array part, up to the largest integer. */
static void
test_gc_objects_length_is_a_border(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  struct gc_table *table;

  (void)state;
  assert_int_equal(gc_new_table(thread, 0, 256), GC_OK);
  table = table_at(thread, 1);
  for (int i = 1; i <= 100; i++) {
    gc_push_boolean(thread, true);
    assert_int_equal(gc_raw_seti(thread, 1, i), GC_OK);
    assert_int_equal(gc_length(thread, 1), i);
  }
  assert_int_equal(table->array_size, 0);
  for (int bit = 1; bit <= 56; bit++) { /* where a doubling search looks */
    gc_push_boolean(thread, true);
    assert_int_equal(gc_raw_seti(thread, 1, (int64_t)65 << bit), GC_OK);
  }
  assert_int_equal(gc_table_resize(heap, table, 64, 0), GC_OK);
  gc_raw_geti(thread, 1, gc_length(thread, 1));
  assert_true(gc_to_boolean(thread, -1));
  gc_raw_geti(thread, 1, gc_length(thread, 1) + 1);
  assert_false(gc_to_boolean(thread, -1));
  gc_pop(thread, 2);
  gc_push_boolean(thread, true);
  assert_int_equal(gc_raw_seti(thread, 1, INT64_MAX), GC_OK);
  assert_int_equal(gc_length(thread, 1), INT64_MAX);
  close_heap(heap, &host);
}

/* Same contents, same order, wherever the heap lies: other addresses must not
 * change a traversal. */
static void
test_gc_objects_traversal_does_not_depend_on_addresses(void **state)
{
  enum { COUNT = 50 };
  int64_t orders[2][COUNT];
  void *padding[2] = { NULL, malloc(12345) };

  (void)state;
  for (int run = 0; run < 2; run++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = gc_main_thread(heap);
    void *hole = malloc((size_t)run * 4096 + 16);
    int n = 0;

    new_table(thread);
    for (int i = 0; i < COUNT; i++) {
      new_table(thread);
      free(hole);
      hole = malloc((size_t)run * 64 * (size_t)i + 16);
      gc_push_integer(thread, i);
      assert_int_equal(gc_raw_set(thread, 1), GC_OK);
    }
    gc_push_nil(thread);
    while (gc_next(thread, 1)) {
      orders[run][n++] = gc_to_integer(thread, -1);
      gc_pop(thread, 1);
    }
    assert_int_equal(n, COUNT);
    free(hole);
    close_heap(heap, &host);
  }
  assert_memory_equal(orders[0], orders[1], sizeof(orders[0]));
  free(padding[1]);
}

/* Catches a size computed without a look at its overflow. */
static void
test_gc_objects_sizes_beyond_reason_are_no_memory(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t calls;

  (void)state;
  calls = host.calls;
  assert_int_equal(gc_new_table(thread, UINT32_MAX, 0), GC_NO_MEMORY);
  assert_int_equal(gc_new_table(thread, 0, UINT32_MAX), GC_NO_MEMORY);
  assert_int_equal(gc_new_userdata(thread, SIZE_MAX, 1), GC_NO_MEMORY);
  assert_int_equal(gc_new_userdata(thread, SIZE_MAX - 60, UINT16_MAX),
                   GC_NO_MEMORY);
  assert_int_equal(gc_push_string(thread, "", SIZE_MAX), GC_NO_MEMORY);
  assert_int_equal(gc_push_string(thread, "", (size_t)1 << 32),
                   GC_NO_MEMORY);
  assert_int_equal(gc_reserve(thread, UINT32_MAX), GC_NO_MEMORY);
  assert_int_equal(host.calls, calls + 2); /* the two tables themselves */
  assert_int_equal(gc_top(thread), 0);
  close_heap(heap, &host);
}

/* ---- metatables and userdata ----------------------------------------- */

/* The table at the top gets field name := the value below it, which goes. */
static void
set_metafield(struct gc_thread *thread, const char *name)
{
  push_string(thread, name);
  gc_push_copy(thread, -3);
  assert_int_equal(gc_raw_set(thread, -3), GC_OK);
  gc_replace(thread, -2);
}

/* Slots 1 to count: each the metatable's `name` of the one before. */
static void
push_chain(struct gc_thread *thread, int count, const char *name)
{
  for (int i = 0; i < count; i++) {
    new_table(thread);
  }
  for (int i = 1; i < count; i++) {
    gc_push_copy(thread, i + 1);
    new_table(thread);
    set_metafield(thread, name);
    gc_set_metatable(thread, i);
  }
  assert_int_equal(gc_top(thread), count);
}

/* Catches a chain that is cut short or followed too far. */
static void
test_gc_objects_index_chains_have_sixteen_links(void **state)
{
  enum { TABLES = GC_META_CHAIN_MAX + 2 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  assert_int_equal(gc_reserve(thread, 64), GC_OK);
  push_chain(thread, TABLES, "__index");
  gc_push_integer(thread, 99);
  assert_int_equal(gc_raw_seti(thread, TABLES, 1), GC_OK);
  gc_push_integer(thread, 1);
  assert_int_equal(gc_get(thread, 2), GC_OK);
  assert_int_equal(gc_to_integer(thread, -1), 99);
  gc_pop(thread, 1);
  gc_push_integer(thread, 1);
  assert_int_equal(gc_get(thread, 1), GC_ERROR);
  assert_int_equal(gc_to_integer(thread, -1), 1);
  assert_int_equal(gc_get(thread, 3), GC_OK);
  gc_push_integer(thread, 2);
  assert_int_equal(gc_get(thread, 2), GC_OK);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  close_heap(heap, &host);
}

static void
test_gc_objects_newindex_stores_at_the_end_of_the_chain(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  push_chain(thread, 3, "__newindex");
  gc_push_boolean(thread, true);
  assert_int_equal(gc_raw_seti(thread, 2, 1), GC_OK);
  for (int key = 1; key <= 2; key++) {
    gc_push_integer(thread, key);
    gc_push_integer(thread, 50 + key);
    assert_int_equal(gc_set(thread, 1), GC_OK);
  }
  gc_raw_geti(thread, 2, 1);
  assert_int_equal(gc_to_integer(thread, -1), 51);
  gc_raw_geti(thread, 3, 2);
  assert_int_equal(gc_to_integer(thread, -1), 52);
  gc_raw_geti(thread, 1, 1);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  close_heap(heap, &host);
}

/* A userdata hands on, a number does not; a store cannot end in a userdata. */
static void
test_gc_objects_chains_end_at_what_has_no_fields(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  assert_int_equal(gc_new_userdata(thread, 8, 0), GC_OK);
  gc_push_integer(thread, 1);
  assert_int_equal(gc_get(thread, 1), GC_OK);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  gc_replace(thread, -1);
  gc_push_integer(thread, 1);
  gc_push_integer(thread, 2);
  assert_int_equal(gc_set(thread, 1), GC_ERROR);
  assert_int_equal(gc_top(thread), 3);
  new_table(thread);
  gc_push_integer(thread, 5);
  gc_replace(thread, -3);
  gc_push_copy(thread, -2);
  gc_replace(thread, 2);
  gc_set_top(thread, 2);
  new_table(thread);
  set_metafield(thread, "__index");
  gc_set_metatable(thread, 1);
  gc_push_integer(thread, 1);
  assert_int_equal(gc_get(thread, 1), GC_ERROR);
  assert_int_equal(gc_to_integer(thread, -1), 1);
  close_heap(heap, &host);
}

/* A metamethod that stores what it is given in its object, if there is
 * something, and fails where the key is 0. */
static void
store_or_fail(struct gc_thread *thread)
{
  gc_collect(gc_heap_of(thread));
  if (gc_to_integer(thread, 2) == 0) {
    gc_push_integer(thread, 7);
    assert_int_equal(gc_raise(thread), GC_ERROR);
    return;
  }
  if (gc_top(thread) == 3) {
    assert_int_equal(gc_raw_set(thread, 1), GC_OK);
    return;
  }
  assert_int_equal(gc_top(thread), 2);
  gc_push_integer(thread, 8);
  gc_replace(thread, 2); /* the result is at 1 */
}

/* Catches arguments, results and errors that go astray, and a function that is
 * called for the first object of a chain instead of the last. */
static void
test_gc_objects_metamethods_are_called(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int i = 0; i < 3; i++) {
    new_table(thread);
  }
  for (int i = 0; i < 2; i++) {
    push_string(thread, i ? "__newindex" : "__index");
    gc_push_native(thread, store_or_fail);
    assert_int_equal(gc_raw_set(thread, 3), GC_OK);
  }
  gc_set_metatable(thread, 2);
  new_table(thread);
  for (int i = 0; i < 2; i++) {
    push_string(thread, i ? "__newindex" : "__index");
    gc_push_copy(thread, 2);
    assert_int_equal(gc_raw_set(thread, 3), GC_OK);
  }
  gc_set_metatable(thread, 1);
  gc_push_integer(thread, 5);
  assert_int_equal(gc_get(thread, 1), GC_OK);
  assert_int_equal(gc_top(thread), 3);
  assert_true(gc_raw_equal(thread, -1, 2));
  gc_push_integer(thread, 5);
  gc_push_integer(thread, 6);
  assert_int_equal(gc_set(thread, 1), GC_OK);
  gc_raw_geti(thread, 2, 5);
  assert_int_equal(gc_to_integer(thread, -1), 6);
  gc_push_integer(thread, 0);
  assert_int_equal(gc_get(thread, 1), GC_ERROR);
  gc_push_integer(thread, 6);
  assert_int_equal(gc_set(thread, 1), GC_ERROR);
  assert_int_equal(gc_top(thread), 6);
  assert_int_equal(gc_to_integer(thread, -2), 0);
  close_heap(heap, &host);
}

static void
test_gc_objects_metatables_by_type(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  for (int type = 0; type < GC_BASIC_COUNT; type++) {
    gc_push_basic_metatable(thread, (enum gc_basic)type);
    assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
    gc_pop(thread, 1);
    assert_int_equal(gc_new_table(thread, (uint32_t)type + 1, 0), GC_OK);
    gc_set_basic_metatable(thread, (enum gc_basic)type);
  }
  gc_collect(heap);
  gc_push_nil(thread);
  gc_push_boolean(thread, false);
  gc_push_float(thread, 1.5);
  push_string(thread, LONG_TEXT);
  gc_push_native(thread, native_one);
  gc_push_thread(thread);
  gc_push_pointer(thread, NULL);
  for (int type = 0; type < GC_BASIC_COUNT; type++) {
    gc_push_metatable(thread, type + 1);
    assert_int_equal(table_at(thread, -1)->array_size, type + 1);
    gc_pop(thread, 1);
  }
  new_table(thread);
  gc_push_metatable(thread, -1);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  gc_set_basic_metatable(thread, GC_BASIC_STRING);
  gc_push_metatable(thread, 4);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  close_heap(heap, &host);
}

static void
test_gc_objects_userdata_keep_payload_and_user_values(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  uint8_t *payload;

  (void)state;
  assert_int_equal(gc_new_userdata(thread, 100, 2), GC_OK);
  payload = gc_to_userdata(thread, 1);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(payload[i], 0);
    payload[i] = (uint8_t)i;
  }
  push_string(thread, LONG_TEXT);
  assert_true(gc_set_user_value(thread, 1, 1));
  gc_push_nil(thread);
  assert_false(gc_set_user_value(thread, 1, 2));
  assert_int_equal(gc_top(thread), 2);
  assert_false(gc_get_user_value(thread, 1, 2));
  assert_int_equal(gc_top(thread), 2);
  gc_collect(heap);
  assert_true(gc_get_user_value(thread, 1, 0));
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_NIL);
  assert_true(gc_get_user_value(thread, 1, 1));
  assert_string_equal(gc_to_string(thread, -1, NULL), LONG_TEXT);
  payload = gc_to_userdata(thread, 1);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(payload[i], i);
  }
  close_heap(heap, &host);
}

/* ---- reading --------------------------------------------------------- */

static void
test_gc_objects_values_read_as_what_they_are(void **state)
{
  static const enum gc_type types[] = {
    GC_TYPE_NIL,      GC_TYPE_BOOLEAN, GC_TYPE_INTEGER,  GC_TYPE_FLOAT,
    GC_TYPE_POINTER,  GC_TYPE_NATIVE,  GC_TYPE_STRING,   GC_TYPE_STRING,
    GC_TYPE_FUNCTION, GC_TYPE_TABLE,   GC_TYPE_FUNCTION, GC_TYPE_USERDATA,
    GC_TYPE_THREAD,
  };
  enum { COUNT = sizeof(types) / sizeof(types[0]) };
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);

  (void)state;
  gc_push_nil(thread);
  gc_push_boolean(thread, false);
  gc_push_integer(thread, INT64_MIN);
  gc_push_float(thread, 0.25);
  gc_push_pointer(thread, &host);
  gc_push_native(thread, native_one);
  push_string(thread, "short");
  push_string(thread, LONG_TEXT);
  assert_int_equal(gc_new_native_closure(thread, native_one, 0), GC_OK);
  new_table(thread);
  assert_int_equal(gc_new_prototype(thread, 0), GC_OK);
  assert_int_equal(gc_new_userdata(thread, 1, 0), GC_OK);
  gc_push_thread(thread);
  for (int i = 0; i < COUNT; i++) {
    assert_int_equal(gc_type_of(thread, i + 1), types[i]);
    assert_int_equal(gc_type_of(thread, i - COUNT), types[i]);
    assert_int_equal(gc_to_boolean(thread, i + 1), i >= 2);
    for (int k = 0; k < COUNT; k++) {
      assert_int_equal(gc_raw_equal(thread, i + 1, k + 1), i == k);
    }
  }
  assert_true(gc_to_integer(thread, 3) == INT64_MIN);
  assert_true(gc_to_float(thread, 4) == 0.25);
  assert_ptr_equal(gc_to_pointer(thread, 5), &host);
  assert_true(gc_to_native(thread, 6) == native_one);
  assert_null(gc_to_object(thread, 6));
  assert_ptr_equal(gc_to_object(thread, 10), object_at(thread, 10));
  assert_ptr_equal(gc_to_thread(thread, COUNT), thread);
  assert_int_equal(gc_type_of(thread, GC_INDEX_REGISTRY), GC_TYPE_TABLE);
  gc_raw_geti(thread, GC_INDEX_REGISTRY, GC_REGISTRY_MAIN);
  assert_ptr_equal(gc_to_thread(thread, -1), thread);
  gc_raw_geti(thread, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS);
  assert_int_equal(gc_type_of(thread, -1), GC_TYPE_TABLE);
  gc_set_top(thread, COUNT);
  for (int i = 9; i <= 11; i += 2) {
    new_table(thread);
    gc_set_basic_metatable(thread, GC_BASIC_FUNCTION);
    gc_push_metatable(thread, i);
    assert_int_equal(gc_type_of(thread, -1), GC_TYPE_TABLE);
    gc_pop(thread, 1);
  }
  close_heap(heap, &host);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_objects_strings_are_interned_up_to_forty_bytes),
    cmocka_unit_test(test_gc_objects_string_table_follows_its_count),
    cmocka_unit_test(test_gc_objects_string_table_may_fail_to_grow),
    cmocka_unit_test(test_gc_objects_dead_strings_come_back),
    cmocka_unit_test(test_gc_objects_concat_gives_the_string_of_its_contents),
    cmocka_unit_test(test_gc_objects_tables_do_as_a_naive_model),
    cmocka_unit_test(test_gc_objects_dead_keys_are_found_by_traversal_only),
    cmocka_unit_test(test_gc_objects_removed_keys_are_no_references),
    cmocka_unit_test(test_gc_objects_integral_floats_are_integer_keys),
    cmocka_unit_test(test_gc_objects_array_part_is_more_than_half_used),
    cmocka_unit_test(test_gc_objects_length_is_a_border),
    cmocka_unit_test(test_gc_objects_traversal_does_not_depend_on_addresses),
    cmocka_unit_test(test_gc_objects_sizes_beyond_reason_are_no_memory),
    cmocka_unit_test(test_gc_objects_index_chains_have_sixteen_links),
    cmocka_unit_test(test_gc_objects_newindex_stores_at_the_end_of_the_chain),
    cmocka_unit_test(test_gc_objects_chains_end_at_what_has_no_fields),
    cmocka_unit_test(test_gc_objects_metamethods_are_called),
    cmocka_unit_test(test_gc_objects_metatables_by_type),
    cmocka_unit_test(test_gc_objects_userdata_keep_payload_and_user_values),
    cmocka_unit_test(test_gc_objects_values_read_as_what_they_are),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
