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
      cmocka_unit_test(test_what_is_known_of_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
