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
static uint64_t before[CELLS_MAX]; /* counts at the last expect_two() */

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

/* What has been counted outside the laws since the last call is these cells,
 * once each; an empty name stands for none. */
static void
expect_two(enum tally_group group, const char *name, enum tally_group other,
           const char *other_name)
{
  unsigned found = 0;
  list_cells();
  for (size_t i = 0; i < cell_count; i++) {
    bool is_it =
        (cells[i].group == group && strcmp(cells[i].name, name) == 0) ||
        (cells[i].group == other && strcmp(cells[i].name, other_name) == 0);
    uint64_t more = cells[i].count - before[i];
    before[i] = cells[i].count;
    found += is_it;
    if (cells[i].group != TALLY_LAWS && more != is_it)
      fail_msg("%s, %s: counted %u times", tally_title(cells[i].group),
               cells[i].name, (unsigned)more);
  }
  if (found != (unsigned)(name[0] != '\0') + (other_name[0] != '\0'))
    fail_msg("no cell %s or %s", name, other_name);
}

static void
expect_one(enum tally_group group, const char *name)
{
  expect_two(group, name, group, "");
}

/* Forgets what has been counted so far. */
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
test_tally_counts_changes_of_mode_where_they_come(void **state)
{
  (void)state;
  begin_everything();
  enter(SUBJECT_PHASE_ENTER_ATOMIC);
  expect_from_here();
  begin_operation(OP_MODE, OP_MODE_INCREMENTAL, 0, 0);
  end_operation(SUBJECT_DONE);
  expect_one(TALLY_SWITCHES, "");
  begin_operation(OP_MODE, OP_MODE_GENERATIONAL, 0, 0);
  expect_one(TALLY_SWITCHES, "from incremental, in enter-atomic");
}

/* ---- weak tables ----------------------------------------------------- */

/* A table in r0 that is weak as said, with a fresh table in r1 as key and one
 * in r2 as value. */
static struct drawn *
make_weak(int32_t weakness, struct drawn **ret_key, struct drawn **ret_value)
{
  static const char *const modes[] = {"", "k", "v", "kv"};
  struct drawn *table, *meta, *mode, *words;
  struct subject_edge *edge;
  operate(OP_NEWWEAK, 0, weakness, 0);
  table = draw(SUBJECT_KIND_TABLE);
  meta = draw(SUBJECT_KIND_TABLE);
  mode = draw_string("__mode");
  words = draw_string(modes[weakness]);
  draw_register(0, to(table));
  draw_edge(table, SUBJECT_LABEL_METATABLE, 0, to(meta));
  draw_edge(meta, SUBJECT_LABEL_ENTRY, 0, to(words))->key = to(mode);
  operate(OP_NEWTABLE, 1, 0, 0);
  *ret_key = draw(SUBJECT_KIND_TABLE);
  draw_register(1, to(*ret_key));
  operate(OP_NEWTABLE, 2, 0, 0);
  *ret_value = draw(SUBJECT_KIND_TABLE);
  draw_register(2, to(*ret_value));
  operate(OP_SET, 0, 1, 2);
  edge = draw_edge(table, SUBJECT_LABEL_ENTRY, 0, to(*ret_value));
  edge->key = to(*ret_key);
  edge->key_strength =
      weakness == OP_WEAK_VALUES ? SUBJECT_STRONG : SUBJECT_WEAK;
  edge->value_strength =
      weakness == OP_WEAK_KEYS ? SUBJECT_EPHEMERON : SUBJECT_WEAK;
  expect_clean();
  return table;
}

static void
tell_cleared(const struct drawn *table, const struct drawn *dead, bool is_key)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_CLEARED,
                              .base = table->object.base,
                              .kind = SUBJECT_KIND_TABLE,
                              .value = dead->object.base,
                              .from = is_key});
}

static void
expect_cleared(int32_t weakness, bool keeps_value, bool is_key,
               const char *name)
{
  struct drawn *key, *value, *table = make_weak(weakness, &key, &value);
  begin_everything();
  operate(OP_NIL, 1, 0, 0);
  if (!keeps_value)
    operate(OP_NIL, 2, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  expect_from_here();
  tell_cleared(table, is_key ? key : value, is_key);
  expect_one(TALLY_CLEARED, name);
}

static void
test_tally_tells_dead_values(void **state)
{
  (void)state;
  expect_cleared(OP_WEAK_VALUES, false, false, "a dead value");
}

static void
test_tally_tells_dead_keys_of_two_weak_sides(void **state)
{
  (void)state;
  expect_cleared(OP_WEAK_BOTH, true, true,
                 "a dead key of a table with weak keys and values");
}

static void
test_tally_tells_dead_keys_of_living_values(void **state)
{
  (void)state;
  expect_cleared(OP_WEAK_KEYS, true, true,
                 "a dead key whose value lives elsewhere or is no object");
}

static void
test_tally_tells_dead_ephemerons(void **state)
{
  (void)state;
  expect_cleared(OP_WEAK_KEYS, false, true,
                 "a dead key that alone kept its value");
}

/* ---- finalizers ------------------------------------------------------ */

/* A table whose finalizer does b, and which nothing reaches. */
static struct drawn *
make_finalizable(int32_t b)
{
  struct drawn *table, *meta, *name;
  struct subject_value function = {.bits = 8 + (uint64_t)b,
                                   .tag = SUBJECT_CFUNC};
  operate(OP_NEWFIN, 0, b, 0);
  table = draw(SUBJECT_KIND_TABLE);
  table->object.list = SUBJECT_LIST_FINALIZABLE;
  table->object.flags = SUBJECT_OBJECT_MARKED;
  meta = draw(SUBJECT_KIND_TABLE);
  name = draw_string("__gc");
  draw_register(0, to(table));
  draw_edge(table, SUBJECT_LABEL_METATABLE, 0, to(meta));
  draw_edge(meta, SUBJECT_LABEL_ENTRY, 0, function)->key = to(name);
  expect_clean();
  operate(OP_NIL, 0, 0, 0);
  return table;
}

static void
test_tally_follows_a_finalizer(void **state)
{
  struct drawn *table = make_finalizable(OP_BEHAVIOUR_SAVE_TOO);
  (void)state;
  begin_everything();
  enter(SUBJECT_PHASE_ATOMIC);
  tell_change(SUBJECT_EVENT_RELISTED, table, SUBJECT_LIST_FINALIZABLE,
              SUBJECT_LIST_PENDING);
  enter(SUBJECT_PHASE_FINALIZE);
  tell_change(SUBJECT_EVENT_RELISTED, table, SUBJECT_LIST_PENDING,
              SUBJECT_LIST_ALL);
  expect_from_here();
  tell_change(SUBJECT_EVENT_FINALIZER, table, 0, 0);
  expect_two(TALLY_FINALIZERS, "incremental, in finalize", TALLY_BEHAVIOURS,
             "save-too");
  tell_change(SUBJECT_EVENT_EMERGENCY, NULL, 0, 1);
  expect_two(TALLY_EMERGENCIES, "incremental, in finalize", TALLY_HAPPENINGS,
             "an emergency collection inside a finalizer");
  tell_change(SUBJECT_EVENT_EMERGENCY, NULL, 0, 0);
  tell_change(SUBJECT_EVENT_RELISTED, table, SUBJECT_LIST_ALL,
              SUBJECT_LIST_FINALIZABLE);
  expect_one(TALLY_HAPPENINGS, "an object marked again by its finalizer");
  tell_change(SUBJECT_EVENT_FINALIZED, table, 0, 0);
  expect_one(TALLY_HAPPENINGS,
             "an object made reachable again by its finalizer");
}

static void
test_tally_counts_errors_of_finalizers(void **state)
{
  (void)state;
  begin_everything();
  expect_from_here();
  tell_change(SUBJECT_EVENT_FINALIZED, globals, 0, 1);
  expect_one(TALLY_HAPPENINGS, "an error raised by a finalizer");
}

static void
test_tally_counts_warnings(void **state)
{
  (void)state;
  begin_everything();
  expect_from_here();
  tell((struct subject_event){.type = SUBJECT_EVENT_WARNING, .text = "error"});
  expect_one(TALLY_HAPPENINGS, "a warning");
}

static void
test_tally_counts_finalizers_at_close(void **state)
{
  struct drawn *table = make_finalizable(OP_BEHAVIOUR_NOTHING);
  (void)state;
  begin_everything();
  oracle_close_begin(oracle);
  expect_from_here();
  tell_change(SUBJECT_EVENT_FINALIZER, table, 0, 0);
  expect_one(TALLY_HAPPENINGS, "a finalizer called while the state closes");
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
      T(counts_changes_of_mode_where_they_come),
      T(tells_dead_values),
      T(tells_dead_keys_of_two_weak_sides),
      T(tells_dead_keys_of_living_values),
      T(tells_dead_ephemerons),
      T(follows_a_finalizer),
      T(counts_errors_of_finalizers),
      T(counts_warnings),
      T(counts_finalizers_at_close),
      T(counts_heaps),
      T(counts_separation),
      T(counts_nothing_that_is_not_running),
      T(sums_and_subtracts),
  };
  return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
