/* SPDX-License-Identifier: MIT
 *
 * Pacing: what each parameter keeps, what follows from it in bytes, stopping
 * and starting again, explicit steps, and that no value does harm.
 */
#include "tests/gc_drive.h"

enum { STEP_BYTES = 8192, UNIT_BYTES = 16 };

static void
churn(struct gc_thread *thread)
{
  new_table(thread);
  gc_pop(thread, 1);
}

/* count tables that stay, in one at the top. */
static void
keep(struct gc_thread *thread, int count)
{
  new_table(thread);
  for (int i = 1; i <= count; i++) {
    new_table(thread);
    assert_int_equal(gc_raw_seti(thread, -2, i), GC_OK);
  }
}

/* ---- parameters ------------------------------------------------------ */

static void
test_gc_pacing_parameters_have_their_defaults(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  assert_int_equal(gc_parameter(heap, GC_PARAMETER_PAUSE), 200);
  assert_int_equal(gc_parameter(heap, GC_PARAMETER_STEP_MULTIPLIER), 100);
  assert_int_equal(gc_parameter(heap, GC_PARAMETER_STEP_SIZE), 13);
  assert_int_equal(gc_parameter(heap, GC_PARAMETER_MINOR_MULTIPLIER), 20);
  assert_int_equal(gc_parameter(heap, GC_PARAMETER_MAJOR_MULTIPLIER), 100);
  close_heap(heap, &host);
}

/* A byte each; the large percentages in fours. */
static void
test_gc_pacing_parameters_keep_a_byte(void **state)
{
  static const uint32_t set[]
      = { 0, 1, 3, 4, 20, 100, 203, 255, 256, 1023, 1024, 1027, UINT32_MAX };
  static const uint32_t fours[]
      = { 0, 0, 0, 4, 20, 100, 200, 252, 256, 1020, 0, 0, 1020 };
  static const uint32_t ones[]
      = { 0, 1, 3, 4, 20, 100, 203, 255, 0, 255, 0, 3, 255 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
    for (int which = 0; which < GC_PARAMETER_COUNT; which++) {
      bool is_one = which == GC_PARAMETER_STEP_SIZE
                    || which == GC_PARAMETER_MINOR_MULTIPLIER;

      gc_set_parameter(heap, (enum gc_parameter)which, set[i]);
      assert_int_equal(gc_parameter(heap, (enum gc_parameter)which),
                       is_one ? ones[i] : fours[i]);
    }
  }
  close_heap(heap, &host);
}

/* ---- incremental mode ------------------------------------------------ */

/* After a cycle the heap may grow to the pause's percentage of what lived. */
static void
test_gc_pacing_pause_is_a_percentage_of_what_lived(void **state)
{
  static const uint32_t pauses[] = { 0, 4, 100, 200, 400, 1020 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  keep(gc_main_thread(heap), 1000);
  for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
    int64_t bytes;
    int64_t debt;

    gc_set_parameter(heap, GC_PARAMETER_PAUSE, pauses[i]);
    gc_collect(heap);
    bytes = (int64_t)gc_bytes(heap);
    debt = bytes - heap->estimate / 100 * pauses[i];
    assert_int_equal(heap->debt, debt > 0 ? 0 : debt);
    if (pauses[i] >= 200) {
      assert_true(heap->debt <= bytes / 100 * (100 - (int64_t)pauses[i]) * 9
                                    / 10);
    }
  }
  close_heap(heap, &host);
}

/* A step that does not end the cycle saves up its size, to the unit; or, with
 * a large multiplier, to the last micro-step. */
static void
test_gc_pacing_step_saves_up_its_size(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  gc_stop(heap);
  keep(gc_main_thread(heap), 20000);
  gc_set_parameter(heap, GC_PARAMETER_STEP_MULTIPLIER, 4);
  for (uint32_t log2 = 6; log2 <= 13; log2++) {
    int64_t size = (int64_t)1 << log2;

    gc_collect(heap);
    gc_micro_step(heap);
    while (heap->phase == GC_PHASE_PROPAGATE) {
      gc_micro_step(heap);
    }
    while (heap->phase != GC_PHASE_SWEEP || heap->sweep == NULL) {
      gc_micro_step(heap);
    }
    gc_set_parameter(heap, GC_PARAMETER_STEP_SIZE, log2);
    assert_false(gc_step(heap, 0));
    assert_int_equal(heap->phase, GC_PHASE_SWEEP);
    assert_true(heap->debt <= -size / UNIT_BYTES * UNIT_BYTES);
    assert_true(heap->debt > -size - 100 / 5 * UNIT_BYTES - UNIT_BYTES);
  }
  close_heap(heap, &host);
}

/* Objects swept by one step of 8 KB while sweeping. */
static size_t
swept_by_step(uint32_t multiplier)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_object **before;
  size_t count = 0;

  gc_stop(heap);
  keep(gc_main_thread(heap), 400000);
  gc_set_parameter(heap, GC_PARAMETER_STEP_MULTIPLIER, multiplier);
  while (heap->phase != GC_PHASE_SWEEP) {
    gc_micro_step(heap);
  }
  before = heap->sweep;
  assert_false(gc_step(heap, 0));
  for (; before != heap->sweep; before = &(*before)->next) {
    count++;
  }
  close_heap(heap, &host);
  return count;
}

static void
test_gc_pacing_step_multiplier_is_the_work_of_a_unit(void **state)
{
  static const uint32_t multipliers[] = { 0, 4, 100, 400 };

  (void)state;
  for (size_t i = 0; i < sizeof(multipliers) / sizeof(multipliers[0]); i++) {
    size_t due = STEP_BYTES / UNIT_BYTES * (multipliers[i] | 1);
    size_t swept = swept_by_step(multipliers[i]);

    assert_in_range(swept, due, due + 100);
  }
}

/* From 2^63 bytes on a step is a whole cycle. */
static void
test_gc_pacing_largest_step_is_a_cycle(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  gc_stop(heap);
  keep(gc_main_thread(heap), 20000);
  gc_set_parameter(heap, GC_PARAMETER_STEP_SIZE, 255);
  assert_true(gc_step(heap, 0));
  close_heap(heap, &host);
}

/* ---- generational mode ----------------------------------------------- */

static void
test_gc_pacing_minor_multiplier_is_a_percentage_of_what_is_in_use(
    void **state)
{
  static const uint32_t percents[] = { 0, 1, 20, 100, 255 };
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  gc_stop(heap);
  keep(gc_main_thread(heap), 1000);
  gc_set_mode(heap, GC_MODE_GENERATIONAL);
  assert_int_equal(heap->debt, -((int64_t)gc_bytes(heap) / 100 * 20));
  for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
    gc_set_parameter(heap, GC_PARAMETER_MINOR_MULTIPLIER, percents[i]);
    assert_false(gc_step(heap, 0));
    assert_int_equal(heap->debt,
                     -((int64_t)gc_bytes(heap) / 100 * percents[i]));
  }
  close_heap(heap, &host);
}

/* Garbage is made until a minor collection takes it. */
static void
test_gc_pacing_minors_come_when_due(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  size_t before;
  size_t most = 0;

  (void)state;
  keep(thread, 1000);
  gc_set_mode(heap, GC_MODE_GENERATIONAL);
  before = gc_bytes(heap);
  for (int i = 0; i < 10000; i++) {
    churn(thread);
    most = gc_bytes(heap) > most ? gc_bytes(heap) : most;
  }
  assert_in_range(most, before / 100 * 119, before / 100 * 121);
  close_heap(heap, &host);
}

/* The growth over the last major collection at which the next one comes:
 * seen by what was old and is garbage, which only a major frees. */
static void
test_gc_pacing_majors_come_when_due(void **state)
{
  static const uint32_t percents[] = { 0, 4, 100, 400 };

  (void)state;
  for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = gc_main_thread(heap);
    int64_t base;

    gc_set_parameter(heap, GC_PARAMETER_MAJOR_MULTIPLIER, percents[i]);
    keep(thread, 1000);
    gc_set_mode(heap, GC_MODE_GENERATIONAL);
    base = heap->estimate;
    assert_int_equal(gc_pace_major_growth(heap, base),
                     base / 100 * percents[i]);
    keep(thread, 0);
    for (int k = 1; heap->estimate == base; k++) {
      new_table(thread);
      assert_int_equal(gc_raw_seti(thread, -2, k), GC_OK);
      if (heap->estimate == base) {
        /* A minor one may have been made meanwhile, and 20 % of growth may
         * pass before the next check. */
        assert_true((int64_t)gc_bytes(heap)
                    < (base + base / 100 * percents[i]) / 100 * 125);
      }
    }
    assert_true((int64_t)gc_bytes(heap)
                > base / 100 * (99 + (int64_t)percents[i]));
    close_heap(heap, &host);
  }
}

/* ---- stop, restart, explicit steps ----------------------------------- */

static void
test_gc_pacing_stopped_collector_makes_explicit_steps_only(void **state)
{
  static const enum gc_mode modes[]
      = { GC_MODE_INCREMENTAL, GC_MODE_GENERATIONAL };

  (void)state;
  for (int i = 0; i < 2; i++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = gc_main_thread(heap);
    size_t before;

    gc_set_mode(heap, modes[i]);
    gc_stop(heap);
    assert_true(gc_is_stopped(heap));
    before = gc_bytes(heap);
    for (int k = 0; k < 10000; k++) {
      churn(thread);
    }
    assert_int_equal(gc_bytes(heap), before + 10000 * sizeof(struct gc_table));
    while (!gc_step(heap, 0) && i == 0) {
    }
    assert_true(gc_bytes(heap) < before + 1000 * sizeof(struct gc_table));
    assert_true(gc_is_stopped(heap));
    gc_restart(heap);
    assert_false(gc_is_stopped(heap));
    assert_int_equal(heap->debt, 0);
    for (int k = 0; k < 10000; k++) {
      churn(thread);
    }
    assert_true(gc_bytes(heap) < before + 5000 * sizeof(struct gc_table));
    close_heap(heap, &host);
  }
}

/* The kilobytes are added to the debt; a credit that is larger than them is
 * only used up. */
static void
test_gc_pacing_explicit_steps_add_to_the_debt(void **state)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);

  (void)state;
  gc_stop(heap);
  keep(gc_main_thread(heap), 20000);
  gc_collect(heap);
  for (int i = 0; i < 10; i++) {
    int64_t debt = heap->debt;

    assert_true(debt < -1024);
    assert_false(gc_step(heap, 1));
    assert_int_equal(heap->debt, debt + 1024);
    assert_int_equal(heap->phase, GC_PHASE_PAUSE);
  }
  assert_true(gc_step(heap, SIZE_MAX));
  close_heap(heap, &host);
}

/* ---- extremes -------------------------------------------------------- */

/* Catches a division by zero, an overflow, a step without end. */
static void
test_gc_pacing_extreme_values_do_no_harm(void **state)
{
  static const uint32_t values[] = { 0, 1, 4, 63, 255, 1020, UINT32_MAX };
  enum { COUNT = sizeof(values) / sizeof(values[0]) };

  (void)state;
  for (int i = 0; i < GC_PARAMETER_COUNT * COUNT * 2; i++) {
    struct host host;
    struct gc_heap *heap = open_heap(&host);
    struct gc_thread *thread = gc_main_thread(heap);

    gc_set_mode(heap, i & 1 ? GC_MODE_GENERATIONAL : GC_MODE_INCREMENTAL);
    gc_set_parameter(heap, (enum gc_parameter)(i / 2 % GC_PARAMETER_COUNT),
                     values[i / 2 / GC_PARAMETER_COUNT]);
    keep(thread, 300);
    for (int k = 0; k < 300; k++) {
      churn(thread);
    }
    gc_step(heap, 0);
    gc_step(heap, SIZE_MAX);
    gc_collect(heap);
    check_heap(heap);
    close_heap(heap, &host);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_pacing_parameters_have_their_defaults),
    cmocka_unit_test(test_gc_pacing_parameters_keep_a_byte),
    cmocka_unit_test(test_gc_pacing_pause_is_a_percentage_of_what_lived),
    cmocka_unit_test(test_gc_pacing_step_saves_up_its_size),
    cmocka_unit_test(test_gc_pacing_step_multiplier_is_the_work_of_a_unit),
    cmocka_unit_test(test_gc_pacing_largest_step_is_a_cycle),
    cmocka_unit_test(
        test_gc_pacing_minor_multiplier_is_a_percentage_of_what_is_in_use),
    cmocka_unit_test(test_gc_pacing_minors_come_when_due),
    cmocka_unit_test(test_gc_pacing_majors_come_when_due),
    cmocka_unit_test(
        test_gc_pacing_stopped_collector_makes_explicit_steps_only),
    cmocka_unit_test(test_gc_pacing_explicit_steps_add_to_the_debt),
    cmocka_unit_test(test_gc_pacing_extreme_values_do_no_harm),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
