/* SPDX-License-Identifier: MIT
 *
 * The built-in collector as a subject that tells as little as real collectors
 * do: blocks, steps, emergencies, calls of finalizers and closers. The oracle
 * has to follow all else by surveys. The clean corpus and random streams are to
 * be clean here, too; and what surveys show is to be found without events.
 *
 * QUIET_SEEDS says how many random streams are run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"
#include "ops/op_gen.h"
#include "subjects/subjects.h"
#include "tests/corpus_fixture.h"

enum { SEEDS = 150, OPERATIONS = 300 };

/* ---- the subject ----------------------------------------------------- */

/* Between the collector and the lab. */
struct filter {
  struct subject_sink sink; /* first: the sink is the filter */
  struct subject_sink *lab; /* borrows */
};

static struct filter filter;
static unsigned calls; /* of finalizers, that run */
static struct subject_env quiet_env;
static struct subject quiet;

static void
filter_event(struct subject_sink *sink, const struct subject_event *event)
{
  calls += event->type == SUBJECT_EVENT_FINALIZER;
  calls -= event->type == SUBJECT_EVENT_FINALIZED;
  switch ((enum subject_event_type)event->type) {
  case SUBJECT_EVENT_BIRTH:
    if (calls && event->kind == SUBJECT_KIND_TABLE)
      filter.lab->event(filter.lab, event);
    break;
  case SUBJECT_EVENT_STEP_BEGIN:
  case SUBJECT_EVENT_STEP_END:
  case SUBJECT_EVENT_CLOSED:
  case SUBJECT_EVENT_FINALIZER:
  case SUBJECT_EVENT_FINALIZED:
  case SUBJECT_EVENT_WARNING:
  case SUBJECT_EVENT_EMERGENCY:
  case SUBJECT_EVENT_CLOSE_ASKED:
  case SUBJECT_EVENT_ASSERTION:
    filter.lab->event(filter.lab, event);
    break;
  default:
    (void)sink;
    break;
  }
}

static struct subject_instance *
open_quiet(const struct subject_env *env)
{
  filter = (struct filter){.sink = {.event = filter_event}, .lab = env->sink};
  calls = 0;
  quiet_env = *env;
  quiet_env.sink = &filter.sink;
  return subject_lua54.open(&quiet_env);
}

static void
make_quiet(void)
{
  quiet = subject_lua54;
  quiet.name = "quiet";
  quiet.capabilities &= ~(uint32_t)SUBJECT_CAN_EVENTS;
  quiet.capabilities |= SUBJECT_CAN_TELL_STEPS | SUBJECT_CAN_TELL_EMERGENCIES;
  quiet.open = open_quiet;
}

/* ---- running --------------------------------------------------------- */

static struct lab *lab;
static unsigned broken;

static void
run(const char *name, const struct stream *stream)
{
  const struct lab_options options = {.fault = NULL};
  struct lab_result result;
  lab_run(lab, &quiet, stream, &options, &result);
  if (result.verdict == LAB_CLEAN)
    return;
  print_error("%s: operation %zu, %s %s: %s\n", name, result.op_index,
              lab_verdict_text(result.verdict), result.signature,
              lab_finding(lab)->message);
  broken++;
}

static int
set_up(void **state)
{
  (void)state;
  make_quiet();
  lab = lab_new();
  return lab ? 0 : -1;
}

static int
tear_down(void **state)
{
  (void)state;
  lab_free(lab);
  return 0;
}

static void
test_quiet_corpus_is_clean(void **state)
{
  const char *top = getenv("abs_top_srcdir");
  char folder[2048];
  struct dirent **names;
  (void)state;
  snprintf(folder, sizeof folder, "%s/corpus/fuzz_lua54", top ? top : ".");
  int count = scandir(folder, &names, NULL, alphasort);
  assert_true(count > 0);
  broken = 0;
  for (int i = 0; i < count; i++) {
    if (names[i]->d_name[0] != '.') {
      struct stream stream = read_input(folder, names[i]->d_name);
      run(names[i]->d_name, &stream);
      stream_done(&stream);
    }
    free(names[i]);
  }
  free(names);
  assert_int_equal(broken, 0);
}

static void
test_quiet_random_streams_are_clean(void **state)
{
  const char *wanted = getenv("QUIET_SEEDS");
  uint64_t seeds = wanted ? strtoull(wanted, NULL, 10) : SEEDS;
  (void)state;
  broken = 0;
  for (uint64_t seed = 0; seed < seeds; seed++) {
    char name[32];
    struct stream stream;
    snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
    assert_int_equal(stream_generate(seed, OPERATIONS, &stream), STREAM_OK);
    run(name, &stream);
    stream_done(&stream);
  }
  assert_int_equal(broken, 0);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quiet_corpus_is_clean),
      cmocka_unit_test(test_quiet_random_streams_are_clean),
  };
  return cmocka_run_group_tests_name("quiet", tests, set_up, tear_down);
}
