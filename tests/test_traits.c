/* SPDX-License-Identifier: MIT
 *
 * Cells of the table of traits, against what the versions are known to do; and
 * that no cell was left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "subjects/subjects.h"

static const struct subject_traits *const lua50 =
    &subject_traits[SUBJECT_LUA50];
static const struct subject_traits *const lua51 =
    &subject_traits[SUBJECT_LUA51];
static const struct subject_traits *const lua52 =
    &subject_traits[SUBJECT_LUA52];
static const struct subject_traits *const lua53 =
    &subject_traits[SUBJECT_LUA53];
static const struct subject_traits *const lua54 =
    &subject_traits[SUBJECT_LUA54];
static const struct subject_traits *const lua55 =
    &subject_traits[SUBJECT_LUA55];
static const struct subject_traits *const luajit =
    &subject_traits[SUBJECT_LUAJIT];

static void
test_subject_has_its_column(void **state)
{
  (void)state;
  const struct subject *subject = subject_find("lua54");
  assert_ptr_equal(subject->traits, lua54);
  assert_true(subject->traits->emergency);
}

static void
test_every_row_is_filled(void **state)
{
  (void)state;
  for (int i = 0; i < SUBJECT_VERSION_COUNT; i++) {
    assert_int_equal(subject_traits[i].cycles_plain, 1);
    assert_int_equal(subject_traits[i].cycles_finalizer, 1);
    assert_int_equal(subject_traits[i].cycles_finalized, 1);
    /* What is old after some collections has a generational mode. */
    assert_int_equal(subject_traits[i].generational,
                     subject_traits[i].old_after > 0);
    assert_true(subject_traits[i].generational || !subject_traits[i].ages);
    assert_true(subject_traits[i].emergency ||
                !subject_traits[i].emergency_stopped);
    /* A kind that is always grey or always black is not both. */
    assert_int_equal(
        subject_traits[i].never_black & subject_traits[i].never_grey, 0);
    /* What is only listed when it is not grey is no case of unlisted. */
    assert_int_equal(
        subject_traits[i].grey_unlisted & subject_traits[i].never_grey, 0);
  }
}

static void
test_what_is_known_of_colours(void **state)
{
  (void)state;
  const uint32_t string = 1u << SUBJECT_KIND_STRING_SHORT;
  const uint32_t thread = 1u << SUBJECT_KIND_THREAD;
  const uint32_t userdata = 1u << SUBJECT_KIND_USERDATA;
  assert_int_equal(lua50->phases_kept, 0);
  assert_true(lua54->phases_kept >> SUBJECT_PHASE_ENTER_ATOMIC & 1);
  assert_false(lua54->phases_kept >> SUBJECT_PHASE_SWEEP & 1);
  assert_true(lua51->never_black & string);
  assert_true(lua52->never_grey & string);
  assert_true(lua53->never_black & thread);
  assert_false(lua54->never_black & thread);
  assert_true(lua53->never_grey & userdata);
  assert_false(lua54->never_grey & userdata);
  assert_true(luajit->grey_unlisted >> SUBJECT_KIND_CDATA & 1);
  assert_false(lua53->open_upvalues_grey);
  assert_int_equal(lua51->sweep_batch, 40);
  assert_int_equal(lua53->sweep_batch, 85);
  assert_int_equal(lua54->sweep_batch, 100);
  assert_int_equal(lua55->sweep_batch, 20);
}

static void
test_what_is_known_of_tables_and_finalizers(void **state)
{
  (void)state;
  assert_false(lua51->ephemerons);
  assert_true(lua52->ephemerons);
  assert_false(luajit->ephemerons);
  assert_true(lua54->mode_short);
  assert_false(lua55->mode_short);
  assert_true(lua50->values_cleared_first);
  assert_false(lua51->values_cleared_first);
  assert_false(lua52->finalizer_rearms);
  assert_true(lua53->finalizer_rearms);
  assert_true(lua51->finalizer_steps);
  assert_false(lua54->finalizer_steps);
  assert_false(lua53->errors_contained);
  assert_true(luajit->errors_contained);
  assert_false(lua52->emergency_stopped);
  assert_true(lua53->emergency_stopped);
  assert_true(lua54->emergency_stacks);
  assert_false(lua55->emergency_stacks);
  assert_false(lua51->emergency);
  assert_true(luajit->step_ends_stop);
  assert_int_equal(lua52->old_after, 1);
  assert_int_equal(lua55->old_after, 2);
}

/* Rows of yes and no: who has it, and who of the neighbours has it not. A cell
 * that slips into the next column would be caught. */
#define ONLY_FROM(field, without, with) \
  do {                                  \
    assert_false(without->field);       \
    assert_true(with->field);           \
  } while (0)

static void
test_what_is_known_of_the_language(void **state)
{
  (void)state;
  ONLY_FROM(integers, lua52, lua53);
  ONLY_FROM(integers, luajit, lua55);
  assert_int_equal(lua50->user_values, SUBJECT_USER_VALUES_NONE);
  assert_int_equal(lua51->user_values, SUBJECT_USER_ENVIRONMENT);
  assert_int_equal(lua52->user_values, SUBJECT_USER_VALUE_TABLE);
  assert_int_equal(lua53->user_values, SUBJECT_USER_VALUE_ANY);
  assert_int_equal(lua54->user_values, SUBJECT_USER_VALUES_MANY);
  assert_int_equal(luajit->user_values, SUBJECT_USER_ENVIRONMENT);
  ONLY_FROM(closes_values, lua53, lua54);
  ONLY_FROM(closes_values, luajit, lua55);
  ONLY_FROM(closes_coroutines, lua53, lua54);
  ONLY_FROM(closes_coroutines, lua51, luajit);
  ONLY_FROM(joins_upvalues, lua51, lua52);
  ONLY_FROM(joins_upvalues, lua50, luajit);
  ONLY_FROM(catches_across_yields, lua51, lua52);
  ONLY_FROM(catches_across_yields, lua50, luajit);
  ONLY_FROM(load_upvalue, lua51, lua52);
  ONLY_FROM(load_upvalue, luajit, lua55);
  ONLY_FROM(external_strings, lua54, lua55);
  ONLY_FROM(external_strings, luajit, lua55);
  ONLY_FROM(libraries, lua51, luajit);
  ONLY_FROM(cdata, lua55, luajit);
}

static void
test_what_is_known_of_cycles(void **state)
{
  (void)state;
  ONLY_FROM(threads_grey, lua50, lua51);
  ONLY_FROM(fixed_grey, lua52, lua53);
  ONLY_FROM(fixed_grey, luajit, lua55);
  ONLY_FROM(pending_swept, lua52, lua53);
  ONLY_FROM(pending_swept, luajit, lua55);
  ONLY_FROM(ages_swept, lua54, lua55);
  ONLY_FROM(mode_at_atomic, lua50, lua51);
  ONLY_FROM(mode_at_atomic, lua53, lua54);
  ONLY_FROM(mode_at_atomic, lua52, luajit);
  ONLY_FROM(drops_finalized, lua50, lua51);
  ONLY_FROM(drops_finalized, lua52, luajit);
  ONLY_FROM(finalizes_tables, lua51, lua52);
  ONLY_FROM(finalizes_tables, luajit, lua55);
  ONLY_FROM(marked_when_set, lua51, lua52);
  ONLY_FROM(marked_when_set, luajit, lua55);
  ONLY_FROM(order_of_marking, lua51, lua52);
  ONLY_FROM(order_of_marking, luajit, lua55);
  ONLY_FROM(not_callable_ignored, lua51, lua52);
  ONLY_FROM(not_callable_ignored, lua54, lua53);
  ONLY_FROM(errors_warned, lua53, lua54);
  ONLY_FROM(errors_warned, luajit, lua55);
  ONLY_FROM(marks_at_close, lua54, lua53);
  ONLY_FROM(marks_at_close, lua55, luajit);
  ONLY_FROM(shrink_may_fail, lua53, lua54);
  ONLY_FROM(shrink_may_fail, luajit, lua55);
  ONLY_FROM(upvalues_linger, lua52, lua53);
  ONLY_FROM(upvalues_linger, lua54, lua53);
}

static void
test_what_is_known_of_pacing(void **state)
{
  (void)state;
  ONLY_FROM(pause_of_total, lua52, lua53);
  ONLY_FROM(pause_of_total, lua55, lua54);
  ONLY_FROM(pause_of_total, lua51, lua50);
  ONLY_FROM(step_saves_size, lua53, lua54);
  ONLY_FROM(step_saves_size, luajit, lua55);
  assert_int_equal(lua53->step_unit, 0);
  assert_int_equal(lua54->step_unit, 16);
  assert_int_equal(lua55->step_unit, 0);
  ONLY_FROM(step_size_log2, lua53, lua54);
  ONLY_FROM(step_size_log2, lua55, lua54);
  ONLY_FROM(minor_of_total, lua53, lua54);
  ONLY_FROM(minor_of_total, lua55, lua54);
  ONLY_FROM(major_of_growth, lua53, lua54);
  ONLY_FROM(major_of_growth, lua55, lua54);
}

static void
expect_parameter(const struct subject_traits *traits, int which, uint8_t form,
                 unsigned initial)
{
  assert_int_equal(traits->parameter[which].form, form);
  assert_int_equal(traits->parameter[which].initial, initial);
}

static void
test_what_is_known_of_parameters(void **state)
{
  (void)state;
  for (int i = 0; i < SUBJECT_PARAMETERS; i++) {
    expect_parameter(lua50, i, SUBJECT_FORM_NONE, 0);
    for (int j = 0; j < SUBJECT_VERSION_COUNT; j++)
      assert_int_equal(subject_traits[j].parameter[i].form == SUBJECT_FORM_BYTE,
                       subject_traits[j].parameter[i].granule > 0);
  }
  expect_parameter(lua51, OP_PARAMETER_PAUSE, SUBJECT_FORM_WHOLE, 200);
  expect_parameter(lua54, OP_PARAMETER_STEPMUL, SUBJECT_FORM_BYTE, 100);
  expect_parameter(lua54, OP_PARAMETER_STEPSIZE, SUBJECT_FORM_BYTE, 13);
  expect_parameter(lua55, OP_PARAMETER_PAUSE, SUBJECT_FORM_FLOATING, 250);
  expect_parameter(lua55, OP_PARAMETER_MAJORMUL, SUBJECT_FORM_FLOATING, 68);
  expect_parameter(luajit, OP_PARAMETER_MINORMUL, SUBJECT_FORM_NONE, 0);
  assert_int_equal(lua54->parameter[OP_PARAMETER_MAJORMUL].granule, 4);
  assert_int_equal(lua54->parameter[OP_PARAMETER_MINORMUL].granule, 1);
  assert_int_equal(lua53->parameter[OP_PARAMETER_STEPMUL].least, 40);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_subject_has_its_column),
      cmocka_unit_test(test_every_row_is_filled),
      cmocka_unit_test(test_what_is_known_of_colours),
      cmocka_unit_test(test_what_is_known_of_tables_and_finalizers),
      cmocka_unit_test(test_what_is_known_of_the_language),
      cmocka_unit_test(test_what_is_known_of_cycles),
      cmocka_unit_test(test_what_is_known_of_pacing),
      cmocka_unit_test(test_what_is_known_of_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
