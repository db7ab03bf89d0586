/* SPDX-License-Identifier: MIT
 *
 * The vacuity guard: the clean corpus shows all that there is to see. Each
 * cell of the tally that can be must have been seen, and none that cannot;
 * each law must have been applied to something. It would catch a corpus from
 * which a part of the collector has dropped out, and a reason in tally.def
 * that is wrong.
 *
 * corpus/fuzz_lua54 also holds what corpus/pen/lua54 assembles to.
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
#include "subjects/subjects.h"
#include "tests/corpus_fixture.h"

static struct oracle_stats seen;
static unsigned broken;

/* Only what is clean counts: after a finding nothing is judged. */
static void
run_input(struct lab *lab, const char *folder, const char *name)
{
  const struct lab_options options = {.fault = NULL};
  struct lab_result result;
  struct stream stream = read_input(folder, name);
  struct oracle_stats before = *lab_statistics(lab);
  lab_run(lab, &subject_lua54, &stream, &options, &result);
  stream_done(&stream);
  if (result.verdict != LAB_CLEAN) {
    print_error("%s/%s: %s %s\n", folder, name,
                lab_verdict_text(result.verdict), result.signature);
    broken++;
    return;
  }
  struct oracle_stats now = *lab_statistics(lab);
  oracle_stats_subtract(&now, &before);
  oracle_stats_add(&seen, &now);
}

static int
run_corpus(void **state)
{
  const char *top = getenv("abs_top_srcdir");
  char folder[2048];
  struct dirent **names;
  struct lab *lab = lab_new();
  (void)state;
  snprintf(folder, sizeof folder, "%s/corpus/fuzz_lua54", top ? top : ".");
  int count = scandir(folder, &names, NULL, alphasort);
  if (count < 0 || !lab)
    return -1;
  for (int i = 0; i < count; i++) {
    if (names[i]->d_name[0] != '.')
      run_input(lab, folder, names[i]->d_name);
    free(names[i]);
  }
  free(names);
  lab_free(lab);
  return 0;
}

static void
test_vacuity_corpus_is_clean(void **state)
{
  (void)state;
  assert_int_equal(broken, 0);
}

static void
test_vacuity_of_group(void **state)
{
  enum tally_group group = (enum tally_group)(uintptr_t)*state;
  struct tally_cell cell;
  size_t cursor = 0;
  unsigned wrong = 0;
  while (tally_next(&seen, &subject_lua54, &cursor, &cell)) {
    if (cell.group != group || !cell.count == !!cell.never)
      continue;
    if (cell.never)
      print_error("seen, though it cannot be: %s (%s)\n", cell.name,
                  cell.never);
    else
      print_error("never seen: %s\n", cell.name);
    wrong++;
  }
  if (wrong)
    fail_msg("%s: %u cells are not as they must be", tally_title(group),
             wrong);
}

int
main(void)
{
  static struct CMUnitTest tests[TALLY_GROUPS + 1] = {
      cmocka_unit_test(test_vacuity_corpus_is_clean)};
  for (size_t i = 0; i < TALLY_GROUPS; i++)
    tests[i + 1] = (struct CMUnitTest){
        .name = tally_title((enum tally_group)i),
        .test_func = test_vacuity_of_group,
        .initial_state = (void *)(uintptr_t)i};
  return cmocka_run_group_tests_name("vacuity", tests, run_corpus, NULL);
}
