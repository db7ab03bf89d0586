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

enum { VERSIONS = 7 };

static const struct subject_traits *const all[VERSIONS] = {
    &subject_traits_lua50, &subject_traits_lua51, &subject_traits_lua52,
    &subject_traits_lua53, &subject_traits_lua54, &subject_traits_lua55,
    &subject_traits_luajit};

static void
test_subject_has_its_column(void **state)
{
  (void)state;
  const struct subject *subject = subject_find("lua54");
  assert_ptr_equal(subject->traits, &subject_traits_lua54);
  assert_true(subject->traits->emergency);
}

static void
test_every_row_is_filled(void **state)
{
  (void)state;
  for (int i = 0; i < VERSIONS; i++) {
    assert_int_equal(all[i]->cycles_plain, 1);
    assert_int_equal(all[i]->cycles_finalizer, 1);
    assert_int_equal(all[i]->cycles_finalized, 1);
    /* What is old after some collections has a generational mode. */
    assert_int_equal(all[i]->generational, all[i]->old_after > 0);
    assert_true(all[i]->generational || !all[i]->ages);
    assert_true(all[i]->emergency || !all[i]->emergency_stopped);
    /* A kind that is always grey or always black is not both. */
    assert_int_equal(all[i]->never_black & all[i]->never_grey, 0);
    /* What is only listed when it is not grey is no case of unlisted. */
    assert_int_equal(all[i]->grey_unlisted & all[i]->never_grey, 0);
  }
}

static void
test_what_is_known_of_colours(void **state)
{
  (void)state;
  const uint32_t string = 1u << SUBJECT_KIND_STRING_SHORT;
  const uint32_t thread = 1u << SUBJECT_KIND_THREAD;
  const uint32_t userdata = 1u << SUBJECT_KIND_USERDATA;
  assert_int_equal(subject_traits_lua50.phases_kept, 0);
  assert_true(subject_traits_lua54.phases_kept >> SUBJECT_PHASE_ENTER_ATOMIC &
              1);
  assert_false(subject_traits_lua54.phases_kept >> SUBJECT_PHASE_SWEEP & 1);
  assert_true(subject_traits_lua51.never_black & string);
  assert_true(subject_traits_lua52.never_grey & string);
  assert_true(subject_traits_lua53.never_black & thread);
  assert_false(subject_traits_lua54.never_black & thread);
  assert_true(subject_traits_lua53.never_grey & userdata);
  assert_false(subject_traits_lua54.never_grey & userdata);
  assert_true(subject_traits_luajit.grey_unlisted >> SUBJECT_KIND_CDATA & 1);
  assert_false(subject_traits_lua53.open_upvalues_grey);
  assert_int_equal(subject_traits_lua51.sweep_batch, 40);
  assert_int_equal(subject_traits_lua53.sweep_batch, 85);
  assert_int_equal(subject_traits_lua54.sweep_batch, 100);
  assert_int_equal(subject_traits_lua55.sweep_batch, 20);
}

static void
test_what_is_known_of_tables_and_finalizers(void **state)
{
  (void)state;
  assert_false(subject_traits_lua51.ephemerons);
  assert_true(subject_traits_lua52.ephemerons);
  assert_false(subject_traits_luajit.ephemerons);
  assert_true(subject_traits_lua54.mode_short);
  assert_false(subject_traits_lua55.mode_short);
  assert_true(subject_traits_lua50.values_cleared_first);
  assert_false(subject_traits_lua51.values_cleared_first);
  assert_false(subject_traits_lua52.finalizer_rearms);
  assert_true(subject_traits_lua53.finalizer_rearms);
  assert_true(subject_traits_lua51.finalizer_steps);
  assert_false(subject_traits_lua54.finalizer_steps);
  assert_false(subject_traits_lua53.errors_contained);
  assert_true(subject_traits_luajit.errors_contained);
  assert_false(subject_traits_lua52.emergency_stopped);
  assert_true(subject_traits_lua53.emergency_stopped);
  assert_false(subject_traits_lua51.emergency);
  assert_true(subject_traits_luajit.step_ends_stop);
  assert_int_equal(subject_traits_lua52.old_after, 1);
  assert_int_equal(subject_traits_lua55.old_after, 2);
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
    expect_parameter(&subject_traits_lua50, i, SUBJECT_FORM_NONE, 0);
    for (int j = 0; j < VERSIONS; j++)
      assert_int_equal(all[j]->parameter[i].form == SUBJECT_FORM_BYTE,
                       all[j]->parameter[i].granule > 0);
  }
  expect_parameter(&subject_traits_lua51, OP_PARAMETER_PAUSE,
                   SUBJECT_FORM_WHOLE, 200);
  expect_parameter(&subject_traits_lua54, OP_PARAMETER_STEPMUL,
                   SUBJECT_FORM_BYTE, 100);
  expect_parameter(&subject_traits_lua54, OP_PARAMETER_STEPSIZE,
                   SUBJECT_FORM_BYTE, 13);
  expect_parameter(&subject_traits_lua55, OP_PARAMETER_PAUSE,
                   SUBJECT_FORM_FLOATING, 250);
  expect_parameter(&subject_traits_lua55, OP_PARAMETER_MAJORMUL,
                   SUBJECT_FORM_FLOATING, 68);
  expect_parameter(&subject_traits_luajit, OP_PARAMETER_MINORMUL,
                   SUBJECT_FORM_NONE, 0);
  assert_int_equal(
      subject_traits_lua54.parameter[OP_PARAMETER_MAJORMUL].granule, 4);
  assert_int_equal(
      subject_traits_lua54.parameter[OP_PARAMETER_MINORMUL].granule, 1);
  assert_int_equal(subject_traits_lua53.parameter[OP_PARAMETER_STEPMUL].least,
                   40);
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
