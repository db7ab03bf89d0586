/* SPDX-License-Identifier: MIT
 *
 * Reports of verdicts that were made up here: the JSON that programs parse,
 * the commands that people copy into a shell, the history of a finding, and
 * the sums of a fuzzing session.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"
#include "report/json.h"
#include "report/report.h"
#include "report/summary.h"
#include "subjects/subjects.h"

static const struct subject_traits traits = {.sweep_batch = 1};
static const struct subject subject = {
    .name = "mock", .title = "a mock", .traits = &traits};
static struct op ops[] = {{OP_NIL, 1, 0, 0}, {OP_SETI, 0, 3, 1}};
static const struct stream stream = {ops, 2};

/* What was printed between begin() and end(), NUL-terminated. */
static char *printed;
static size_t printed_size;

static FILE *
begin(void)
{
  FILE *file = open_memstream(&printed, &printed_size);

  assert_non_null(file);
  return file;
}

static const char *
end(FILE *file)
{
  assert_int_equal(fclose(file), 0);
  return printed;
}

static void
forget(void)
{
  free(printed);
  printed = NULL;
}

static struct report_run
run_of(const char *file)
{
  return (struct report_run){
      .file = file, .subject = &subject, .stream = &stream};
}

static struct report_verdict
broken(void)
{
  struct report_verdict verdict = {
      .result = {.verdict = LAB_BROKEN,
                 .law = LAW_BLACK_TO_WHITE,
                 .signature = "tricolour.black-to-white|table>table|"
                              "propagate|seti",
                 .op_index = 1,
                 .micro_step = 7,
                 .ops_run = 2,
                 .micro_steps = 7},
      .finding = {.law = LAW_BLACK_TO_WHITE,
                  .phase = SUBJECT_PHASE_PROPAGATE,
                  .message = "black table #4 refers to white table #5",
                  .detail = "table #4: black\ntable #5: white",
                  .objects = {{.number = 4}, {.number = 5}},
                  .object_count = 2}};

  return verdict;
}

/* ---- JSON ------------------------------------------------------------ */

static void
test_report_json_of_a_finding(void **state)
{
  struct report_run run = run_of("a file");
  struct report_verdict verdict = broken();
  FILE *file = begin();

  (void)state;
  assert_true(report_json(file, &run, &verdict));
  assert_string_equal(
      end(file),
      "{\"file\":\"a file\",\"subject\":\"mock\",\"verdict\":\"broken\","
      "\"law\":\"tricolour.black-to-white\",\"op_index\":1,\"micro_step\":7,"
      "\"ops_run\":2,\"micro_steps\":7,"
      "\"message\":\"black table #4 refers to white table #5\","
      "\"signature\":\"tricolour.black-to-white|table>table|propagate|seti\"}"
      "\n");
  forget();
}

static void
test_report_json_is_null_where_there_is_nothing(void **state)
{
  struct report_run run = run_of("x");
  struct report_verdict verdict = {.result = {.verdict = LAB_CLEAN,
                                              .op_index = 2,
                                              .ops_run = 2}};
  FILE *file = begin();

  (void)state;
  assert_true(report_json(file, &run, &verdict));
  assert_string_equal(end(file),
                      "{\"file\":\"x\",\"subject\":\"mock\","
                      "\"verdict\":\"clean\",\"law\":null,\"op_index\":null,"
                      "\"micro_step\":null,\"ops_run\":2,\"micro_steps\":0,"
                      "\"message\":null,\"signature\":null}\n");
  forget();
  verdict.result.verdict = LAB_UNCHECKED;
  strcpy(verdict.result.reason, "no more addresses");
  file = begin();
  assert_true(report_json(file, &run, &verdict));
  assert_non_null(strstr(end(file), "\"message\":\"no more addresses\""));
  assert_non_null(strstr(printed, "\"law\":null,\"op_index\":null"));
  forget();
}

/* A file name can be any bytes; jansson takes UTF-8 only. */
static void
test_report_json_replaces_what_is_no_utf8(void **state)
{
  static const struct {
    const char *bytes;
    const char *text;
  } cases[] = {
      {"plain", "plain"},
      {"\xc3\xa4", "\xc3\xa4"},
      {"a\xff"
       "b",
       "a\xef\xbf\xbd"
       "b"},
      {"\xc3", "\xef\xbf\xbd"},
      {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf0\x9f\x98\x80!", "\xf0\x9f\x98\x80!"},
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
  };

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *string = report_json_string(cases[i].bytes);

    assert_non_null(string);
    assert_string_equal(json_string_value(string), cases[i].text);
    json_decref(string);
  }
}

/* ---- text ------------------------------------------------------------ */

static void
test_report_command_survives_a_shell(void **state)
{
  static const struct {
    const char *file;
    const char *text;
  } cases[] = {
      {"a/b-1.pen", "penumbra run -s mock a/b-1.pen"},
      {"a b", "penumbra run -s mock 'a b'"},
      {"it's", "penumbra run -s mock 'it'\\''s'"},
      {"$(x)", "penumbra run -s mock '$(x)'"},
      {"-x", "penumbra run -s mock ./-x"},
      {"-", "penumbra run -s mock -"},
  };

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct report_run run = run_of(cases[i].file);
    FILE *file = begin();

    report_command(file, "run", &run);
    assert_string_equal(end(file), cases[i].text);
    forget();
  }
}

static void
test_report_command_names_fault_and_text(void **state)
{
  struct report_run run = run_of("x");
  FILE *file = begin();

  (void)state;
  run.fault = "some-fault";
  run.is_text = true;
  report_command(file, "trace", &run);
  assert_string_equal(end(file),
                      "penumbra trace -s mock --fault some-fault --text x");
  forget();
}

/* A name with a newline or an escape must not look like output of ours. */
static void
test_report_line_escapes_names(void **state)
{
  struct report_run run = run_of("a\nclean \033[1m");
  struct report_verdict verdict = {.result = {.verdict = LAB_CLEAN}};
  FILE *file = begin();

  (void)state;
  report_line(file, &run, &verdict, false, false);
  assert_non_null(strstr(end(file), "a\\x0aclean \\x1b[1m"));
  assert_null(strchr(printed, '\033'));
  assert_ptr_equal(strchr(printed, '\n'), printed + printed_size - 1);
  forget();
}

static void
test_report_explanation_says_all(void **state)
{
  struct report_run run = run_of("x");
  struct report_verdict verdict = broken();
  static const char *const parts[] = {
      "law         tricolour.black-to-white\n",
      "found       black table #4 refers to white table #5\n",
      "operation 1 of 2", "seti r0 3 r1", "propagate\n",
      "objects     table #4: black\n              table #5: white\n",
      "replay      penumbra run -s mock x\n",
  };
  FILE *file = begin();

  (void)state;
  report_explain(file, &run, &verdict, NULL, false);
  end(file);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    assert_non_null(strstr(printed, parts[i]));
  assert_null(strchr(printed, '\033'));
  for (const char *line = printed; *line; line = strchr(line, '\n') + 1)
    assert_true(strcspn(line, "\n") < 80);
  forget();
}

/* The place of a finding at the close of an empty stream: there is no
 * operation that could be printed. */
static void
test_report_explanation_of_an_empty_stream(void **state)
{
  static const struct stream empty = {NULL, 0};
  struct report_run run = run_of("x");
  struct report_verdict verdict = broken();
  FILE *file = begin();

  (void)state;
  run.stream = &empty;
  verdict.result.op_index = 0;
  strcpy(verdict.result.signature, "memory.close-leak||pause|close");
  report_explain(file, &run, &verdict, NULL, false);
  assert_non_null(strstr(end(file), "while the state was being closed"));
  forget();
}

/* ---- history --------------------------------------------------------- */

static struct report_history_line
line(uint64_t op_index, const char *text)
{
  struct report_history_line result = {.op_index = op_index};

  snprintf(result.text, sizeof result.text, "%s", text);
  return result;
}

/* Births come from one list, other events from another: they are told in the
 * order in which they happened, and each operation once. */
static void
test_report_history_is_in_order(void **state)
{
  struct report_run run = run_of("x");
  struct report_verdict verdict = broken();
  struct report_history history = {
      .birth_count = 2,
      .event_count = 2,
      .births = {line(REPORT_OPENING, "born first"), line(1, "born third")},
      .events = {line(0, "second"), line(1, "fourth")}};
  FILE *file = begin();
  const char *at;

  (void)state;
  report_explain(file, &run, &verdict, &history, false);
  at = strstr(end(file), "the state is opened\n");
  assert_non_null(at);
  assert_non_null(at = strstr(at, "born first\n"));
  assert_non_null(at = strstr(at, "operation 0: nil r1\n"));
  assert_non_null(at = strstr(at, "second\n"));
  assert_non_null(at = strstr(at, "operation 1: seti r0 3 r1\n"));
  assert_non_null(at = strstr(at, "born third\n"));
  assert_non_null(at = strstr(at, "fourth\n"));
  assert_null(strstr(at, "earlier events"));
  forget();
}

static void
test_report_history_is_bounded(void **state)
{
  struct report_run run = run_of("x");
  struct report_verdict verdict = broken();
  struct report_history history = {.event_count = REPORT_HISTORY_MAX + 3};
  FILE *file = begin();

  (void)state;
  for (size_t i = 0; i < REPORT_HISTORY_MAX; i++)
    history.events[i] = line(0, i == 3 ? "the oldest" : "another");
  report_explain(file, &run, &verdict, &history, false);
  assert_non_null(strstr(end(file), "the oldest\n"));
  assert_non_null(strstr(printed, "(3 earlier events"));
  assert_true(strstr(printed, "the oldest") < strstr(printed, "another"));
  forget();
}

/* ---- summaries ------------------------------------------------------- */

static void
test_report_summary_adds_all_counters(void **state)
{
  static struct summary sum, part;
  uint64_t *words = (uint64_t *)&part.executions;
  size_t count = (size_t)((uint64_t *)&part.input_size - words);

  (void)state;
  for (size_t i = 0; i < count; i++)
    words[i] = i + 1;
  summary_add(&sum, &part);
  summary_add(&sum, &part);
  words = (uint64_t *)&sum.executions;
  for (size_t i = 0; i < count; i++)
    assert_int_equal(words[i], 2 * (i + 1));
}

static void
test_report_summary_tells_each_law(void **state)
{
  static struct summary sum;
  FILE *file = begin();

  (void)state;
  sum.executions = 1234567;
  sum.oracle.law[LAW_INTERNING] = 98765;
  summary_print(file, &sum, 10);
  end(file);
  for (size_t i = LAW_NONE + 1; i < LAW_COUNT; i++)
    assert_non_null(strstr(printed, law_infos[i].id));
  assert_non_null(strstr(printed, "1,234,567   123,457 a second"));
  assert_non_null(strstr(printed, "98,765"));
  forget();
}

/* ---- events ---------------------------------------------------------- */

static const uint64_t table_base = 0x200000000010, key_base = 0x200000000100;

/* An oracle that has seen two blocks: #1 and #2. */
static struct oracle *
oracle_with_blocks(void)
{
  static const struct oracle_config config = {
      .region_base = 0x200000000000, .region_size = 1 << 20, .granule = 16};
  struct oracle *oracle = oracle_new(&config);

  assert_non_null(oracle);
  oracle_begin(oracle, &subject, false, OP_MODE_INCREMENTAL);
  oracle_event(oracle, &(struct subject_event){.type = SUBJECT_EVENT_ALLOCATED,
                                               .base = table_base,
                                               .size = 64});
  oracle_event(oracle, &(struct subject_event){.type = SUBJECT_EVENT_ALLOCATED,
                                               .base = key_base,
                                               .size = 64});
  return oracle;
}

/* Would catch words that are missing, or that name the wrong object. */
static void
test_report_events_of_collections_have_words(void **state)
{
  (void)state;
  const struct {
    struct subject_event event;
    const char *text;
  } cases[] = {
      {{.type = SUBJECT_EVENT_AGED,
        .base = table_base,
        .kind = SUBJECT_KIND_TABLE,
        .from = SUBJECT_AGE_OLD,
        .to = SUBJECT_AGE_TOUCHED1},
       "table #1 ages from old to touched1"},
      {{.type = SUBJECT_EVENT_CLEARED,
        .base = table_base,
        .kind = SUBJECT_KIND_TABLE,
        .value = key_base,
        .from = 1},
       "pair removed from weak table #1: its key #2 is dead"},
      {{.type = SUBJECT_EVENT_CLEARED,
        .base = table_base,
        .kind = SUBJECT_KIND_TABLE,
        .value = key_base},
       "pair removed from weak table #1: its value #2 is dead"},
      {{.type = SUBJECT_EVENT_FINALIZER,
        .base = key_base,
        .kind = SUBJECT_KIND_USERDATA},
       "finalizer of userdata #2 is called"},
      {{.type = SUBJECT_EVENT_FINALIZED,
        .base = key_base,
        .kind = SUBJECT_KIND_USERDATA},
       "finalizer of userdata #2 has returned"},
      {{.type = SUBJECT_EVENT_FINALIZED,
        .base = key_base,
        .kind = SUBJECT_KIND_USERDATA,
        .to = 1},
       "finalizer of userdata #2 raised an error"},
      {{.type = SUBJECT_EVENT_WARNING, .text = "mind the gap"},
       "warning: mind the gap"},
      {{.type = SUBJECT_EVENT_EMERGENCY, .to = 1},
       "emergency collection begins"},
      {{.type = SUBJECT_EVENT_EMERGENCY}, "emergency collection ends"},
      {{.type = SUBJECT_EVENT_MODE,
        .from = OP_MODE_INCREMENTAL,
        .to = OP_MODE_GENERATIONAL},
       "cycles change from incremental to generational"},
      {{.type = SUBJECT_EVENT_CLOSE_ASKED},
       "a finalizer asks that the state be closed when the operation is over"},
  };
  struct oracle *oracle = oracle_with_blocks();
  char text[REPORT_EVENT_MAX];

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(report_event_print(oracle, &cases[i].event, text));
    assert_string_equal(text, cases[i].text);
  }
  oracle_free(oracle);
}

/* Where the block of a birth number was: blocks lie apart, in their order. */
static uint64_t
base_of(const struct lab *lab, uint32_t number)
{
  uint64_t base = ARENA_BASE;

  while (oracle_number(lab_oracle(lab), base) != number)
    base += ARENA_GRANULE;
  return base;
}

/* The text of the last event that a history holds after all that came. */
static const char *
last_text(const struct report_history *history)
{
  return history->events[(history->event_count - 1) % REPORT_HISTORY_MAX].text;
}

/* Would catch a history that leaves out what a finalizer or a minor collection
 * did to the objects of a finding, or that is crowded by what others met. */
static void
test_report_history_follows_finalizers_and_ages(void **state)
{
  struct lab *lab = lab_new();
  struct oracle_finding finding = {.law = LAW_FREED_LIVE, .object_count = 1};
  struct report_history history;
  struct report_historian historian;
  struct stream empty = {NULL, 0};
  struct lab_options options = {.observer = &historian.observer};
  struct lab_result result;
  const struct subject_event events[] = {
      {.type = SUBJECT_EVENT_RELISTED,
       .kind = SUBJECT_KIND_TABLE,
       .from = SUBJECT_LIST_ALL,
       .to = SUBJECT_LIST_FINALIZABLE},
      {.type = SUBJECT_EVENT_FINALIZER, .kind = SUBJECT_KIND_TABLE},
      {.type = SUBJECT_EVENT_FINALIZED, .kind = SUBJECT_KIND_TABLE},
      {.type = SUBJECT_EVENT_AGED,
       .kind = SUBJECT_KIND_TABLE,
       .to = SUBJECT_AGE_SURVIVAL},
  };
  static const char *const texts[] = {
      "moves from the list of all to the finalizable", "is called",
      "has returned", "ages from new to survival"};

  (void)state;
  assert_non_null(lab);
  finding.objects[0].number = 2;
  report_history_start(&history, &finding);
  report_historian_init(&historian, &history, lab);
  lab_run(lab, &subject_lua54, &empty, &options, &result);
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    uint64_t count = history.event_count;
    struct subject_event event = events[i];

    event.base = base_of(lab, 2);
    historian.observer.event(&historian.observer, &event);
    assert_int_equal(history.event_count, count + 1);
    assert_non_null(strstr(last_text(&history), texts[i]));
    event.base = base_of(lab, 3);
    historian.observer.event(&historian.observer, &event);
    assert_int_equal(history.event_count, count + 1);
  }
  lab_free(lab);
}

/* Would catch a line that hides why a stream ended early. */
static void
test_report_line_tells_that_a_finalizer_closed_the_state(void **state)
{
  (void)state;
  struct report_run run = run_of("a.pen");
  struct report_verdict verdict = {
      .result = {.verdict = LAB_CLEAN, .op_index = 1, .close_was_asked = true}};
  FILE *file = begin();

  report_line(file, &run, &verdict, false, false);
  assert_non_null(
      strstr(end(file), "closed by a finalizer in operation 0 of 2\n"));
  forget();
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_report_json_of_a_finding),
      cmocka_unit_test(test_report_json_is_null_where_there_is_nothing),
      cmocka_unit_test(test_report_json_replaces_what_is_no_utf8),
      cmocka_unit_test(test_report_command_survives_a_shell),
      cmocka_unit_test(test_report_command_names_fault_and_text),
      cmocka_unit_test(test_report_line_escapes_names),
      cmocka_unit_test(test_report_explanation_says_all),
      cmocka_unit_test(test_report_explanation_of_an_empty_stream),
      cmocka_unit_test(test_report_history_is_in_order),
      cmocka_unit_test(test_report_history_is_bounded),
      cmocka_unit_test(test_report_summary_adds_all_counters),
      cmocka_unit_test(test_report_summary_tells_each_law),
      cmocka_unit_test(test_report_history_follows_finalizers_and_ages),
      cmocka_unit_test(test_report_events_of_collections_have_words),
      cmocka_unit_test(
          test_report_line_tells_that_a_finalizer_closed_the_state),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
