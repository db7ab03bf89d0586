/* SPDX-License-Identifier: MIT
 *
 * Want of memory: each function of gc.h that may allocate is called on a heap
 * where its first, second, ... allocation fails and fails again after the
 * emergency collection, up to the number that it makes. When it says
 * GC_NO_MEMORY, stack and all that is reachable are as before; then it is
 * called again and does what it should; nothing is left at the end.
 */
#include "tests/gc_scenarios.h"

/* Runs a scenario some micro-steps into a cycle (or, in generational mode,
 * after so many collections), with its k-th allocation failing, and `more`
 * calls after it. false if it does not make that many. */
static bool
fails_at(const struct scenario *scenario, enum gc_mode mode, int steps,
         size_t k, size_t more, unsigned *ret_failures)
{
  struct host host;
  struct gc_heap *heap = open_heap(&host);
  struct gc_thread *thread = gc_main_thread(heap);
  enum gc_status status;
  uint64_t before;
  bool reached;

  gc_stop(heap);
  scenario->prepare(thread);
  gc_set_mode(heap, mode);
  for (int i = 0; i < steps; i++) {
    gc_micro_step(heap);
  }
  before = heap_print(heap);
  host.fail_at = host.calls + k;
  host.fail_more = more;
  status = scenario->act(thread);
  reached = host.calls > host.fail_at;
  host.fail_at = SIZE_MAX;
  check_mode(heap);
  if (status == GC_NO_MEMORY) {
    ++*ret_failures;
    assert_true(reached);
    assert_true(heap_print(heap) == before);
    status = scenario->act(thread);
  }
  assert_int_equal(status, GC_OK);
  assert_true(heap_print(heap) != before || scenario->act == act_reserve);
  check_mode(heap);
  gc_collect(heap);
  check_mode(heap);
  close_heap(heap, &host);
  return reached;
}

static void
check_scenario(const struct scenario *scenario, enum gc_mode mode, int steps)
{
  unsigned failures = 0;
  size_t k = 0;

  while (fails_at(scenario, mode, steps, k, 1, &failures)) {
    k++;
  }
  if (failures != scenario->failures) {
    print_error("%s: %u failures\n", scenario->name, failures);
  }
  assert_int_equal(failures, scenario->failures);
}

enum { STEPS_MAX = 24 }; /* into the sweep */

/* Catches a failure that is not told, and one that changes something. */
static void
test_gc_failures_change_nothing(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
    for (int steps = 0; steps <= STEPS_MAX; steps += 3) {
      check_scenario(&scenarios[i], GC_MODE_INCREMENTAL, steps);
    }
    for (int minors = 0; minors < 4; minors++) {
      check_scenario(&scenarios[i], GC_MODE_GENERATIONAL, minors);
    }
  }
}

/* Catches the same where one failure is tolerated and the next one is not. */
static void
test_gc_failures_may_go_on(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
    unsigned failures = 0;

    for (size_t k = 0; fails_at(&scenarios[i], GC_MODE_INCREMENTAL, (int)i, k,
                                SIZE_MAX, &failures);
         k++) {
    }
    assert_true(failures >= scenarios[i].failures);
  }
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gc_failures_change_nothing),
    cmocka_unit_test(test_gc_failures_may_go_on),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
