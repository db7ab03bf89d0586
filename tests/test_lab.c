/* SPDX-License-Identifier: MIT
 *
 * The lab: verdicts, what it does itself, determinism, observers. Each test
 * says what it would catch. Runs real streams on the built-in collector.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gc/fault.h"
#include "lab/lab.h"
#include "ops/op_gen.h"
#include "ops/op_text.h"
#include "subjects/subjects.h"

static struct lab *lab;

static struct stream
parse(const char *text)
{
  struct stream stream;
  struct stream_text_error error;
  if (stream_parse(text, strlen(text), &stream, &error) != STREAM_OK)
    fail_msg("line %zu: %s", error.line, error.message);
  return stream;
}

static struct lab_result
run_text(const char *text, const struct lab_options *options)
{
  struct stream stream = parse(text);
  struct lab_result result;
  lab_run(lab, &subject_lua54, &stream, options, &result);
  stream_done(&stream);
  return result;
}

static const struct lab_options plain;

static const char store_into_black[] = "globals r2\n"
                                       "setglobal 2 r2\n"
                                       "runto enter-atomic\n"
                                       "newud r3 0 0\n"
                                       "setglobal 2 r3\n";

/* Would catch a lab that does not open, check or close. */
static void
test_lab_empty_stream_is_clean_and_checked(void **state)
{
  (void)state;
  struct lab_result result = run_text("", &plain);
  assert_int_equal(result.verdict, LAB_CLEAN);
  assert_int_equal(result.ops_run, 0);
  assert_int_equal(result.checks, 1);
}

/* Would catch counts that are off, and skips that reach the subject. */
static void
test_lab_counts_what_runs_and_what_is_skipped(void **state)
{
  (void)state;
  struct lab_result result =
      run_text("newtable r0 0 0\nget r1 r5 r0\nmicrostep 3\n", &plain);
  assert_int_equal(result.verdict, LAB_CLEAN);
  assert_int_equal(result.ops_run, 2);
  assert_int_equal(result.ops_skipped, 1);
  assert_true(result.micro_steps >= 3);
  assert_int_equal(result.op_index, 3);
}

/* Would catch a setup in the middle that is performed. */
static void
test_lab_setup_counts_only_as_the_first_operation(void **state)
{
  (void)state;
  struct lab_result first =
      run_text("setup recycle small incremental\nint r0 1\n", &plain);
  struct lab_result later =
      run_text("int r0 1\nsetup recycle small incremental\n", &plain);
  assert_int_equal(first.ops_run, 2);
  assert_int_equal(later.ops_run, 1);
  assert_int_equal(later.ops_skipped, 1);
}

/* Would catch operations after close that run on a closed state. */
static void
test_lab_close_ends_the_stream(void **state)
{
  (void)state;
  struct lab_result result = run_text("close\nnewtable r0 0 0\n", &plain);
  assert_int_equal(result.verdict, LAB_CLEAN);
  assert_int_equal(result.ops_run, 1);
}

/* Would catch a finding at a wrong place or with a wrong name. */
static void
test_lab_finding_names_operation_law_and_signature(void **state)
{
  (void)state;
  if (!PENUMBRA_FAULTS)
    skip();
  struct lab_options options = {.fault = "drop-table-barrier"};
  struct lab_result result = run_text(store_into_black, &options);
  assert_int_equal(result.verdict, LAB_BROKEN);
  assert_int_equal(result.law, LAW_BLACK_TO_WHITE);
  assert_int_equal(result.op_index, 4);
  assert_string_equal(
      result.signature,
      "tricolour.black-to-white|table>userdata|enter-atomic|setglobal");
  assert_int_equal(lab_finding(lab)->law, LAW_BLACK_TO_WHITE);
}

/* Would catch a state that a finding leaves behind: the lab must be as new. */
static void
test_lab_is_as_new_after_a_finding(void **state)
{
  (void)state;
  if (!PENUMBRA_FAULTS)
    skip();
  struct lab_options options = {.fault = "drop-table-barrier"};
  struct lab_result before = run_text(store_into_black, &plain);
  run_text(store_into_black, &options);
  struct lab_result after = run_text(store_into_black, &plain);
  assert_int_equal(after.verdict, LAB_CLEAN);
  assert_int_equal(after.trace_hash, before.trace_hash);
}

/* Would catch a cycle that never ends and hangs the run. */
static void
test_lab_calls_an_endless_cycle_no_progress(void **state)
{
  (void)state;
  if (!PENUMBRA_FAULTS)
    skip();
  struct lab_options options = {.fault = "visited-object-greyed-again"};
  struct lab_result result =
      run_text("runto propagate\nfinish\n", &options);
  assert_int_equal(result.verdict, LAB_BROKEN);
  assert_int_equal(result.law, LAW_NO_PROGRESS);
}

/* Would catch that an unknown fault is taken for none. */
static void
test_lab_unknown_fault_is_unchecked(void **state)
{
  (void)state;
  struct lab_options options = {.fault = "no-such-fault"};
  struct lab_result result = run_text("int r0 1\n", &options);
  assert_int_equal(result.verdict, LAB_UNCHECKED);
  assert_true(result.reason[0] != '\0');
}

/* Would catch state that leaks from stream to stream, or an address or clock
 * that reaches a decision. */
static void
test_lab_same_stream_same_trace(void **state)
{
  (void)state;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct stream stream, other;
    struct lab_result first, between, second;
    assert_int_equal(stream_generate(seed, 100, &stream), STREAM_OK);
    assert_int_equal(stream_generate(seed + 1000, 100, &other), STREAM_OK);
    lab_run(lab, &subject_lua54, &stream, &plain, &first);
    lab_run(lab, &subject_lua54, &other, &plain, &between);
    lab_run(lab, &subject_lua54, &stream, &plain, &second);
    assert_int_equal(first.verdict, LAB_CLEAN);
    assert_memory_equal(&first, &second, sizeof first);
    stream_done(&stream);
    stream_done(&other);
  }
}

/* Would catch a resolved stream that does something else. */
static void
test_lab_resolved_stream_runs_alike_without_skips(void **state)
{
  (void)state;
  struct stream stream, resolved;
  struct lab_result before, after;
  assert_int_equal(stream_generate(7, 300, &stream), STREAM_OK);
  lab_run(lab, &subject_lua54, &stream, &plain, &before);
  assert_int_equal(lab_resolve(lab, &subject_lua54, &stream, &resolved),
                   STREAM_OK);
  assert_int_equal(resolved.count, before.ops_run);
  lab_run(lab, &subject_lua54, &resolved, &plain, &after);
  assert_int_equal(after.ops_skipped, 0);
  assert_int_equal(after.trace_hash, before.trace_hash);
  struct lab_options options = {.unchecked = true};
  lab_run(lab, &subject_lua54, &resolved, &options, &after);
  assert_int_equal(after.verdict, LAB_CLEAN);
  assert_int_equal(after.checks, 0);
  stream_done(&stream);
  stream_done(&resolved);
}

/* Would catch a failure that strikes where no row answers it. */
static void
test_lab_refusals_wait_for_an_operation_that_may_answer(void **state)
{
  (void)state;
  struct lab_result result = run_text("cfunc r0 1\n"
                                      "call r0 r0 0\n"
                                      "failalloc 0\n"
                                      "return r0 1\n"
                                      "nil r1\n"
                                      "newtable r2 0 0\n"
                                      "newtable r3 0 0\n",
                                      &plain);
  assert_int_equal(result.verdict, LAB_CLEAN);
  assert_int_equal(result.ops_run, 7);
}

/* Would catch a stream that goes on with a state that a finalizer has asked to
 * close, or that does not tell where it ended. */
static void
test_lab_finalizer_that_asks_for_it_ends_the_stream(void **state)
{
  (void)state;
  struct lab_result result = run_text("newfin r0 close 1\n"
                                      "nil r0\n"
                                      "collect\n"
                                      "newtable r1 0 0\n",
                                      &plain);
  assert_int_equal(result.verdict, LAB_CLEAN);
  assert_true(result.close_was_asked);
  assert_int_equal(result.ops_run, 3);
  assert_int_equal(result.op_index, 3);
  /* While the state is closed anyway it changes nothing. */
  result = run_text("newfin r0 close 1\nclose\nnil r0\n", &plain);
  assert_int_equal(result.verdict, LAB_CLEAN);
  assert_false(result.close_was_asked);
  assert_int_equal(result.ops_run, 2);
}

/* Would catch an endless search for a phase that is never rested in, a false
 * "no progress", and a mode that setup does not hand on. */
static void
test_lab_runto_makes_one_collection_in_generational_mode(void **state)
{
  (void)state;
  const char *start = "setup fresh small generational\nnewtable r0 0 0\n";
  const char *more = "setup fresh small generational\nnewtable r0 0 0\n"
                     "runto propagate\nrunto sweep\nfinish\n";
  struct lab_result before = run_text(start, &plain);
  struct lab_result after = run_text(more, &plain);
  assert_int_equal(before.verdict, LAB_CLEAN);
  assert_int_equal(after.verdict, LAB_CLEAN);
  assert_int_equal(after.micro_steps, before.micro_steps + 2);
}

struct refusals {
  struct lab_observer observer;
  size_t count;       /* in the operation that runs */
  size_t by_index[8]; /* what each met */
  uint8_t status[8];
};

static void
count_refusal(struct lab_observer *observer, const struct subject_event *event)
{
  struct refusals *refusals = (struct refusals *)observer;
  refusals->count += event->type == SUBJECT_EVENT_REFUSED;
}

static void
note_refusals(struct lab_observer *observer, size_t index, struct op op,
              enum subject_status status)
{
  struct refusals *refusals = (struct refusals *)observer;
  (void)op;
  assert_true(index < 8);
  refusals->by_index[index] = refusals->count;
  refusals->status[index] = (uint8_t)status;
  refusals->count = 0;
}

/* Would catch a want of memory that strikes early, is over before the
 * operation that it hit, or outlasts it; and one that an operation which
 * allocates less uses up. */
static void
test_lab_out_of_memory_lasts_for_one_operation(void **state)
{
  (void)state;
  struct refusals refusals = {.observer = {.event = count_refusal,
                                           .operation_end = note_refusals}};
  struct lab_options options = {.observer = &refusals.observer};
  struct lab_result result = run_text("stop\n"
                                      "outofmem 1\n"
                                      "newtable r0 0 0\n"
                                      "nil r1\n"
                                      "newtable r2 4 4\n"
                                      "newtable r3 0 0\n",
                                      &options);
  assert_int_equal(result.verdict, LAB_CLEAN);
  assert_int_equal(refusals.by_index[2], 0);
  assert_true(refusals.by_index[4] >= 1);
  assert_int_equal(refusals.status[4], SUBJECT_NO_MEMORY);
  assert_int_equal(refusals.by_index[5], 0);
  assert_int_equal(refusals.status[5], SUBJECT_DONE);
}

struct order {
  struct lab_observer observer;
  size_t begun, ended, events_outside;
  bool inside;
};

static void
see_operation(struct lab_observer *observer, size_t index, struct op op,
              bool skipped)
{
  struct order *order = (struct order *)observer;
  (void)op;
  assert_int_equal(index, order->begun);
  order->begun += 1;
  order->inside = !skipped;
}

static void
see_event(struct lab_observer *observer, const struct subject_event *event)
{
  struct order *order = (struct order *)observer;
  assert_true(event->type < SUBJECT_EVENT_COUNT);
  order->events_outside += !order->inside;
}

static void
see_end(struct lab_observer *observer, size_t index, struct op op,
        enum subject_status status)
{
  struct order *order = (struct order *)observer;
  (void)op;
  assert_int_equal(index, order->begun - 1);
  assert_int_equal(status, SUBJECT_DONE);
  order->ended += 1;
  order->inside = false;
}

/* Would catch an observer that is told out of order or not at all. */
static void
test_lab_observer_sees_operations_and_their_events(void **state)
{
  (void)state;
  struct order order = {.observer = {.operation = see_operation,
                                     .event = see_event,
                                     .operation_end = see_end}};
  struct lab_options options = {.observer = &order.observer};
  run_text("newtable r0 0 0\nget r1 r5 r0\ncollect\n", &options);
  assert_int_equal(order.begun, 3);
  assert_int_equal(order.ended, 2);
  assert_true(order.events_outside > 0); /* those of open and close */
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lab_empty_stream_is_clean_and_checked),
      cmocka_unit_test(test_lab_counts_what_runs_and_what_is_skipped),
      cmocka_unit_test(test_lab_setup_counts_only_as_the_first_operation),
      cmocka_unit_test(test_lab_close_ends_the_stream),
      cmocka_unit_test(test_lab_finding_names_operation_law_and_signature),
      cmocka_unit_test(test_lab_is_as_new_after_a_finding),
      cmocka_unit_test(test_lab_calls_an_endless_cycle_no_progress),
      cmocka_unit_test(test_lab_unknown_fault_is_unchecked),
      cmocka_unit_test(test_lab_same_stream_same_trace),
      cmocka_unit_test(test_lab_resolved_stream_runs_alike_without_skips),
      cmocka_unit_test(
          test_lab_refusals_wait_for_an_operation_that_may_answer),
      cmocka_unit_test(test_lab_finalizer_that_asks_for_it_ends_the_stream),
      cmocka_unit_test(
          test_lab_runto_makes_one_collection_in_generational_mode),
      cmocka_unit_test(test_lab_out_of_memory_lasts_for_one_operation),
      cmocka_unit_test(test_lab_observer_sees_operations_and_their_events),
  };
  lab = lab_new();
  if (!lab)
    return 99;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  lab_free(lab);
  return failed;
}
