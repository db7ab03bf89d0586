/* SPDX-License-Identifier: MIT
 *
 * The tally on hand-drawn heaps: each event is counted in its cell and in no
 * other, what is not running is not counted, and the list of cells is sound:
 * names differ, reasons fit something, traits leave out what a subject lacks.
 */
#include "tests/oracle_fixture.h"

enum { CELLS_MAX = 1024 };

static struct tally_cell cells[CELLS_MAX];
static size_t cell_count;
static uint64_t before[CELLS_MAX]; /* counts at the last expect_one() */

static void
list_cells(void)
{
  size_t cursor = 0;
  cell_count = 0;
  while (tally_next(oracle_statistics(oracle), &subject, &cursor,
                    &cells[cell_count])) {
    cell_count++;
    assert_true(cell_count < CELLS_MAX);
  }
  assert_false(tally_next(oracle_statistics(oracle), &subject, &cursor,
                          &cells[cell_count]));
}

static void
begin_everything(void)
{
  traits.generational = true;
  traits.emergency = true;
  traits.ephemerons = true;
  subject.capabilities |= SUBJECT_CAN_STEP;
}

/* What has been counted outside the laws since the last call is this cell,
 * once. */
static void
expect_one(enum tally_group group, const char *name)
{
  bool found = false;
  list_cells();
  for (size_t i = 0; i < cell_count; i++) {
    bool is_it = cells[i].group == group && strcmp(cells[i].name, name) == 0;
    uint64_t more = cells[i].count - before[i];
    before[i] = cells[i].count;
    found = found || is_it;
    if (cells[i].group != TALLY_LAWS && more != is_it)
      fail_msg("%s, %s: counted %u times", tally_title(cells[i].group),
               cells[i].name, (unsigned)more);
  }
  if (name[0] && !found)
    fail_msg("no cell %s", name);
}

static void
expect_from_here(void)
{
  list_cells();
  for (size_t i = 0; i < cell_count; i++)
    before[i] = cells[i].count;
}

static void
tell_barrier(const struct drawn *parent, const struct drawn *child, bool back,
             bool taken)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_BARRIER,
                              .base = parent->object.base,
                              .kind = parent->object.kind,
                              .value = child->object.base,
                              .from = back,
                              .to = taken});
}

static void
tell_change(enum subject_event_type type, const struct drawn *drawn,
            uint8_t from, uint8_t to)
{
  tell((struct subject_event){.type = (uint8_t)type,
                              .base = drawn ? drawn->object.base : 0,
                              .from = from,
                              .to = to});
}

/* ---- the list -------------------------------------------------------- */

static void
test_tally_names_each_cell_once(void **state)
{
  (void)state;
  begin_everything();
  list_cells();
  assert_int_equal(cell_count, TALLY_COUNTERS + LAW_COUNT - 1);
  for (size_t i = 0; i < cell_count; i++) {
    assert_true(cells[i].name[0] != '\0');
    assert_true(strlen(cells[i].name) < TALLY_NAME_MAX - 1);
    for (size_t j = 0; j < i; j++)
      if (cells[i].group == cells[j].group)
        assert_string_not_equal(cells[i].name, cells[j].name);
  }
}

static void
test_tally_demands_something_of_each_group(void **state)
{
  unsigned wanted[TALLY_GROUPS] = {0};
  (void)state;
  begin_everything();
  list_cells();
  for (size_t i = 0; i < cell_count; i++)
    wanted[cells[i].group] += !cells[i].never;
  for (int group = 0; group < TALLY_GROUPS; group++)
    if (!wanted[group])
      fail_msg("%s: nothing has to be seen",
               tally_title((enum tally_group)group));
}

/* A reason that fits no cell would be a mistake in its places. */
static void
test_tally_uses_each_reason(void **state)
{
  static const char *const reasons[] = {
#define NEVER(reason, GROUP, ...) reason,
#include "oracle/tally.def"
  };
  (void)state;
  begin_everything();
  list_cells();
  for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
    size_t at = 0;
    while (at < cell_count &&
           (!cells[at].never || strcmp(cells[at].never, reasons[i]) != 0))
      at++;
    if (at == cell_count)
      fail_msg("no cell is ruled out by: %s", reasons[i]);
  }
}

static void
test_tally_has_a_place_for_each_behaviour(void **state)
{
  (void)state;
  assert_int_equal(TALLY_PLACES_BEHAVIOUR,
                   op_operand_infos[OP_OPERAND_BEHAVIOUR].count);
  assert_int_equal(TALLY_PLACES_MODE, op_operand_infos[OP_OPERAND_MODE].count);
}

static void
expect_left_out(size_t all, const char *words)
{
  list_cells();
  assert_true(cell_count < all);
  for (size_t i = 0; i < cell_count; i++)
    if (strstr(cells[i].name, words))
      fail_msg("%s is not left out", cells[i].name);
}

static void
test_tally_leaves_out_what_a_subject_lacks(void **state)
{
  size_t all;
  (void)state;
  begin_everything();
  list_cells();
  all = cell_count;
  traits.generational = false;
  expect_left_out(all, "touched1");
  expect_left_out(all, "generational");
  traits.generational = true;
  traits.emergency = false;
  expect_left_out(all, "an emergency");
  traits.emergency = true;
  traits.ephemerons = false;
  expect_left_out(all, "alone kept");
  traits.ephemerons = true;
  subject.capabilities &= ~(uint32_t)SUBJECT_CAN_EVENTS;
  list_cells();
  for (size_t i = 0; i < cell_count; i++)
    assert_int_equal(cells[i].group, TALLY_LAWS);
}

/* ---- counting -------------------------------------------------------- */

static void
test_tally_follows_colours_by_events(void **state)
{
  (void)state;
  expect_from_here();
  tell_barrier(globals, registry, true, false);
  expect_one(TALLY_BARRIERS, "incremental, back, not taken: white to white");
  enter(SUBJECT_PHASE_PROPAGATE);
  recolour(globals, SUBJECT_WHITE_CURRENT, SUBJECT_GREY);
  expect_one(TALLY_PHASES, "propagate");
  tell_barrier(globals, registry, true, false);
  expect_one(TALLY_BARRIERS, "incremental, back, not taken: grey to white");
  recolour(globals, SUBJECT_GREY, SUBJECT_BLACK);
  tell_barrier(globals, registry, false, true);
  expect_one(TALLY_BARRIERS, "incremental, forward, taken: black to white");
  tell_barrier(globals, globals, false, false);
  expect_one(TALLY_BARRIERS, "incremental, forward, not taken: black to black");
}

static void
test_tally_sees_the_flip(void **state)
{
  struct drawn *born;
  (void)state;
  enter(SUBJECT_PHASE_SWEEP);
  expect_from_here();
  tell_barrier(globals, registry, false, false);
  expect_one(TALLY_BARRIERS,
             "incremental, forward, not taken: dead white to dead white");
  born = draw(SUBJECT_KIND_TABLE);
  tell_barrier(born, globals, false, false);
  expect_one(TALLY_BARRIERS,
             "incremental, forward, not taken: white to dead white");
  recolour(globals, SUBJECT_BLACK, SUBJECT_WHITE_CURRENT);
  tell_barrier(globals, born, false, false);
  expect_one(TALLY_BARRIERS, "incremental, forward, not taken: white to white");
}

/* A mark that is given up leaves the whites as they are. */
static void
test_tally_sees_no_flip_where_none_is(void **state)
{
  (void)state;
  enter(SUBJECT_PHASE_PROPAGATE);
  begin_operation(OP_COLLECT, 0, 0, 0);
  tell_phase(SUBJECT_PHASE_PROPAGATE, SUBJECT_PHASE_SWEEP);
  expect_from_here();
  tell_barrier(globals, registry, true, false);
  expect_one(TALLY_BARRIERS, "incremental, back, not taken: white to white");
}

static void
test_tally_counts_changes_of_age(void **state)
{
  (void)state;
  begin_everything();
  expect_from_here();
  tell_change(SUBJECT_EVENT_AGED, globals, SUBJECT_AGE_OLD,
              SUBJECT_AGE_TOUCHED1);
  expect_one(TALLY_AGES, "old to touched1");
  tell_change(SUBJECT_EVENT_AGED, globals, 200, SUBJECT_AGE_OLD);
  expect_one(TALLY_AGES, "");
}

static void
test_tally_counts_emergencies_by_mode_and_phase(void **state)
{
  (void)state;
  begin_everything();
  enter(SUBJECT_PHASE_SWEEP_END);
  expect_from_here();
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  tell_change(SUBJECT_EVENT_EMERGENCY, NULL, 0, 1);
  expect_one(TALLY_EMERGENCIES, "incremental, in sweep-end");
  tell_change(SUBJECT_EVENT_EMERGENCY, NULL, 0, 0);
  expect_one(TALLY_EMERGENCIES, "");
  end_operation(SUBJECT_DONE);
  expect_one(TALLY_HAPPENINGS,
             "an operation done after an emergency collection");
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  end_operation(SUBJECT_DONE);
  expect_one(TALLY_HAPPENINGS, "");
}

static void
test_tally_tells_emergencies_in_vain(void **state)
{
  (void)state;
  begin_everything();
  tell_change(SUBJECT_EVENT_MODE, NULL, OP_MODE_INCREMENTAL,
              OP_MODE_GENERATIONAL);
  enter(SUBJECT_PHASE_PROPAGATE);
  expect_from_here();
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  tell((struct subject_event){.type = SUBJECT_EVENT_REFUSED, .size = 64});
  tell_change(SUBJECT_EVENT_EMERGENCY, NULL, 0, 1);
  expect_one(TALLY_EMERGENCIES, "generational, in propagate");
  end_operation(SUBJECT_NO_MEMORY);
  expect_one(TALLY_HAPPENINGS,
             "an operation failed after an emergency collection");
}

static void
test_tally_counts_heaps(void **state)
{
  (void)state;
  begin_everything();
  expect_from_here();
  look(ORACLE_BETWEEN);
  expect_one(TALLY_HEAPS, "incremental, in pause");
}

static void
test_tally_counts_separation(void **state)
{
  (void)state;
  expect_from_here();
  tell_change(SUBJECT_EVENT_RELISTED, globals, SUBJECT_LIST_FINALIZABLE,
              SUBJECT_LIST_PENDING);
  expect_one(TALLY_HAPPENINGS, "a dead object separated for its finalizer");
  tell_change(SUBJECT_EVENT_RELISTED, globals, SUBJECT_LIST_ALL,
              SUBJECT_LIST_FINALIZABLE);
  expect_one(TALLY_HAPPENINGS, "");
}

static void
test_tally_counts_nothing_that_is_not_running(void **state)
{
  (void)state;
  begin_everything();
  oracle_close_begin(oracle);
  expect_from_here();
  tell_barrier(globals, registry, true, false);
  tell_change(SUBJECT_EVENT_AGED, globals, SUBJECT_AGE_OLD,
              SUBJECT_AGE_TOUCHED1);
  expect_one(TALLY_AGES, "");
}

static void
test_tally_sums_and_subtracts(void **state)
{
  struct oracle_stats sum = {.checks = 1}, part = {.checks = 2};
  (void)state;
  part.tally[TALLY_FIRST_BARRIERS] = 5;
  part.tally[TALLY_LAST_BARRIERS] = 7;
  part.tally[TALLY_FIRST_AGES] = 11;
  oracle_stats_add(&sum, &part);
  oracle_stats_add(&sum, &part);
  assert_int_equal(sum.checks, 5);
  assert_int_equal(tally_sum(&sum, TALLY_BARRIERS,
                             (const int[]){TALLY_ANY, TALLY_ANY, TALLY_ANY,
                                           TALLY_ANY, TALLY_ANY}),
                   24);
  assert_int_equal(tally_sum(&sum, TALLY_BARRIERS,
                             (const int[]){0, TALLY_ANY, TALLY_ANY,
                                           TALLY_ANY, TALLY_ANY}),
                   10);
  oracle_stats_subtract(&sum, &part);
  assert_int_equal(sum.checks, 3);
  assert_int_equal(sum.tally[TALLY_FIRST_AGES], 11);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_tally_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(names_each_cell_once),
      T(demands_something_of_each_group),
      T(uses_each_reason),
      T(has_a_place_for_each_behaviour),
      T(leaves_out_what_a_subject_lacks),
      T(follows_colours_by_events),
      T(sees_the_flip),
      T(sees_no_flip_where_none_is),
      T(counts_changes_of_age),
      T(counts_emergencies_by_mode_and_phase),
      T(tells_emergencies_in_vain),
      T(counts_heaps),
      T(counts_separation),
      T(counts_nothing_that_is_not_running),
      T(sums_and_subtracts),
  };
  return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
