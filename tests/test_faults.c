/* SPDX-License-Identifier: MIT
 *
 * The fault matrix: each seeded fault, on the seed that its row names, is found
 * with the law that its row expects; each seed is clean without the fault; and
 * each law is tripped by a fault. It would catch an oracle that has gone
 * silent, a law that cannot fail, and a seed that shows nothing.
 *
 * Each run is made in a child process, since a fault may crash.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gc/fault.h"
#include "lab/lab.h"
#include "ops/op_text.h"
#include "subjects/subjects.h"
#include "tests/corpus_fixture.h"

enum { FAULTS_MAX = 256 };

struct outcome {
  enum lab_verdict verdict;
  enum law law;
  char message[ORACLE_TEXT_MAX];
};

static struct stream
read_seed(const char *seed)
{
  char path[4096];
  const char *top = getenv("abs_top_srcdir");
  snprintf(path, sizeof path, "%s/corpus/pen/lua54/%s.pen", top ? top : ".",
           seed);
  struct stream stream;
  struct stream_text_error error;
  size_t size;
  uint8_t *text = read_file(path, &size);
  if (stream_parse((const char *)text, size, &stream, &error) != STREAM_OK)
    fail_msg("%s:%zu: %s", path, error.line, error.message);
  free(text);
  return stream;
}

#if PENUMBRA_COVERAGE
void __gcov_dump(void); /* of the compiler's library */
#endif

/* Leaves the child without cleaning up: what a fault leaves behind must not be
 * reported as a leak of the test. Counts of lines are kept. */
static _Noreturn void
leave(int status)
{
#if PENUMBRA_COVERAGE
  __gcov_dump();
#endif
  _exit(status);
}

/* In the child: runs and writes the outcome. */
static _Noreturn void
run_child(int output, const struct stream *stream, const char *fault)
{
  /* cmocka's handlers would go on with the next test, in the child. */
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
    signal(crashes[i], SIG_DFL);
  struct lab *lab = lab_new();
  if (!lab)
    leave(3);
  if (!freopen("/dev/null", "w", stderr))
    leave(3);
  struct lab_options options = {.fault = fault};
  struct lab_result result;
  lab_run(lab, &subject_lua54, stream, &options, &result);
  struct outcome outcome = {.verdict = result.verdict, .law = result.law};
  snprintf(outcome.message, sizeof outcome.message, "%s",
           result.verdict == LAB_UNCHECKED ? result.reason
                                           : lab_finding(lab)->message);
  if (write(output, &outcome, sizeof outcome) != (ssize_t)sizeof outcome)
    leave(3);
  leave(0);
}

static struct outcome
run(const struct stream *stream, const char *fault)
{
  struct outcome outcome = {.verdict = LAB_BROKEN, .law = LAW_CRASH};
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    run_child(ends[1], stream, fault);
  close(ends[1]);
  struct outcome told;
  bool is_told = read(ends[0], &told, sizeof told) == (ssize_t)sizeof told;
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (is_told)
    return told;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
    fail_msg("the child could not run");
  return outcome;
}

/* Freed memory that is read crashes only where a sanitizer looks on. */
static bool
needs_sanitizer(const struct gc_fault_info *fault)
{
  const char *sanitizers = getenv("PENUMBRA_SANITIZERS");
  return law_find(fault->law) == LAW_CRASH && sanitizers &&
         strcmp(sanitizers, "no") == 0;
}

static void
test_fault_is_caught_with_its_law(void **state)
{
  const struct gc_fault_info *fault = *state;
  struct stream stream = read_seed(fault->seed);
  struct outcome outcome = run(&stream, fault->name);
  stream_done(&stream);
  if (outcome.verdict != LAB_BROKEN)
    fail_msg("%s: seed %s gives verdict %s %s", fault->name, fault->seed,
             lab_verdict_text(outcome.verdict), outcome.message);
  if (law_find(fault->law) != outcome.law)
    fail_msg("%s: expected %s, but %s: %s", fault->name, fault->law,
             law_infos[outcome.law].id, outcome.message);
}

static void
test_fault_seed_is_clean_without_it(void **state)
{
  const struct gc_fault_info *fault = *state;
  struct stream stream = read_seed(fault->seed);
  struct outcome outcome = run(&stream, NULL);
  stream_done(&stream);
  if (outcome.verdict != LAB_CLEAN)
    fail_msg("seed %s without a fault: %s: %s", fault->seed,
             law_infos[outcome.law].id, outcome.message);
}

static void
test_fault_for_every_law(void **state)
{
  (void)state;
  for (int law = LAW_NONE + 1; law < LAW_COUNT; law++) {
    const struct gc_fault_info *fault = subject_fault_infos();
    while (fault->name && law_find(fault->law) != (enum law)law)
      fault++;
    if (!fault->name)
      fail_msg("no fault trips the law %s", law_infos[law].id);
  }
}

static struct CMUnitTest tests[2 * FAULTS_MAX + 1];
static char names[2 * FAULTS_MAX][96];

int
main(void)
{
  size_t count = 0;
  for (const struct gc_fault_info *fault = subject_fault_infos();
       fault->name && count < 2 * FAULTS_MAX; fault++) {
    if (!needs_sanitizer(fault)) {
      snprintf(names[count], sizeof names[0], "fault %s is caught by %s",
               fault->name, fault->law);
      tests[count] =
          (struct CMUnitTest){.name = names[count],
                              .test_func = test_fault_is_caught_with_its_law,
                              .initial_state = (void *)(uintptr_t)fault};
      count++;
    }
    snprintf(names[count], sizeof names[0], "seed of %s is clean without it",
             fault->name);
    tests[count] =
        (struct CMUnitTest){.name = names[count],
                            .test_func = test_fault_seed_is_clean_without_it,
                            .initial_state = (void *)(uintptr_t)fault};
    count++;
  }
  if (count == 0) {
    puts("1..0 # SKIP this build has no seeded faults");
    return 0;
  }
  tests[count++] = (struct CMUnitTest){.name = "test_fault_for_every_law",
                                       .test_func = test_fault_for_every_law};
  return _cmocka_run_group_tests("faults", tests, count, NULL, NULL);
}
