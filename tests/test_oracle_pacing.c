/* SPDX-License-Identifier: MIT
 *
 * The laws of pacing: each is tripped by events drawn by hand, and left alone
 * by a near miss.
 */
#include "tests/oracle_fixture.h"

enum {
  UNIT = 8,
  STEP_SIZE_LOG2 = 12,
  MULTIPLIER = 4,
  BALLAST = 100000, /* so that the size of the state does not matter */
  STATE = 1000      /* more than it may matter */
};

static void
start(void)
{
  subject.capabilities |= SUBJECT_CAN_STEP;
  traits.generational = true;
  traits.emergency = true;
  traits.pause_of_total = traits.step_saves_size = true;
  traits.step_size_log2 = true;
  traits.minor_of_total = traits.major_of_growth = true;
  traits.step_unit = UNIT;
  traits.parameter[OP_PARAMETER_PAUSE] =
      (struct subject_parameter){SUBJECT_FORM_BYTE, 4, 0, 200};
  traits.parameter[OP_PARAMETER_STEPMUL] =
      (struct subject_parameter){SUBJECT_FORM_WHOLE, 0, 0, MULTIPLIER};
  traits.parameter[OP_PARAMETER_STEPSIZE] =
      (struct subject_parameter){SUBJECT_FORM_WHOLE, 0, 0, STEP_SIZE_LOG2};
  traits.parameter[OP_PARAMETER_MINORMUL] =
      (struct subject_parameter){SUBJECT_FORM_WHOLE, 0, 0, 20};
  traits.parameter[OP_PARAMETER_MAJORMUL] =
      (struct subject_parameter){SUBJECT_FORM_WHOLE, 0, 0, 100};
  begin();
  draw_part(globals, BALLAST);
  look(ORACLE_BETWEEN);
}

static void
micro_step_to(uint8_t to)
{
  step(SUBJECT_EVENT_STEP_BEGIN);
  enter(to);
  step(SUBJECT_EVENT_STEP_END);
}

static void
run_cycle(void)
{
  static const uint8_t stops[] = {
      SUBJECT_PHASE_PROPAGATE,         SUBJECT_PHASE_ENTER_ATOMIC,
      SUBJECT_PHASE_SWEEP,             SUBJECT_PHASE_SWEEP_FINALIZABLE,
      SUBJECT_PHASE_SWEEP_PENDING,     SUBJECT_PHASE_SWEEP_END,
      SUBJECT_PHASE_FINALIZE,          SUBJECT_PHASE_PAUSE};
  for (unsigned i = 0; i < sizeof stops; i++)
    if (stops[i] > phase || stops[i] == SUBJECT_PHASE_PAUSE)
      micro_step_to(stops[i]);
}

static void
collect(void)
{
  begin_operation(OP_COLLECT, 0, 0, 0);
  run_cycle();
  end_operation(SUBJECT_DONE);
}

/* An operation that makes a table, and so many bytes beside. */
static void
begin_creation(uint32_t bytes)
{
  begin_operation(OP_NEWTABLE, 0, 0, 0);
  if (bytes)
    allocate(bytes);
  draw(SUBJECT_KIND_TABLE)->hidden = true;
}

static void
create(uint32_t bytes)
{
  begin_creation(bytes);
  end_operation(SUBJECT_DONE);
}

/* ---- stops, parameters ----------------------------------------------- */

static void
test_stopped_collector_makes_no_step(void **state)
{
  (void)state;
  start();
  operate(OP_STOP, 0, 0, 0);
  begin_operation(OP_STEP, 0, 0, 0);
  micro_step_to(SUBJECT_PHASE_PROPAGATE); /* an explicit one */
  end_operation(SUBJECT_DONE);
  begin_creation(0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_finding(LAW_PACING_STOPPED);
  start();
  operate(OP_STOP, 0, 0, 0);
  begin_creation(0);
  tell((struct subject_event){.type = SUBJECT_EVENT_CLOSED,
                              .base = globals->object.base});
  step(SUBJECT_EVENT_STEP_BEGIN); /* a closer's */
  expect_none();
}

static void
test_stop_is_shown_as_long_as_it_lasts(void **state)
{
  (void)state;
  start();
  operate(OP_STOP, 0, 0, 0);
  page.heap.stopped = true;
  expect_clean();
  operate(OP_RESTART, 0, 0, 0);
  expect(LAW_PACING_STOPPED);
  expect_text("nobody stopped it");
  start();
  page.heap.stopped = false;
  operate(OP_STOP, 0, 0, 0);
  expect(LAW_PACING_STOPPED);
}

static void
set_parameter(int32_t which, int32_t value, int64_t answer)
{
  struct subject_answer answers = {.value[0] = number(answer)};
  operate_with(OP_PARAM, which, value, 0, &answers);
}

static void
test_parameter_reads_back_by_its_form(void **state)
{
  (void)state;
  start();
  set_parameter(OP_PARAMETER_PAUSE, 203, 200);
  set_parameter(OP_PARAMETER_PAUSE, 1024, 0);
  set_parameter(OP_PARAMETER_STEPMUL, 1023, 1023);
  traits.parameter[OP_PARAMETER_STEPMUL].least = 40;
  set_parameter(OP_PARAMETER_STEPMUL, 7, 40);
  traits.parameter[OP_PARAMETER_PAUSE].form = SUBJECT_FORM_FLOATING;
  set_parameter(OP_PARAMETER_PAUSE, 70, 68);
  set_parameter(OP_PARAMETER_PAUSE, 201, 200);
  set_parameter(OP_PARAMETER_PAUSE, 250, 250);
  set_parameter(OP_PARAMETER_PAUSE, 9600, 9600);
  set_parameter(OP_PARAMETER_PAUSE, 20, 20);
  set_parameter(OP_PARAMETER_PAUSE, 1040384, 396800);
  expect_none();
  set_parameter(OP_PARAMETER_PAUSE, 20, 200);
  expect_finding(LAW_PACING_PARAMETER);
  expect_text("pause");
}

/* ---- pause and step size --------------------------------------------- */

static void
test_pause_lasts_until_the_heap_has_grown(void **state)
{
  (void)state;
  start();
  collect();
  begin_creation(BALLAST / 2);
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_finding(LAW_PACING_PAUSE);
  expect_text("started in the pause");
  start();
  collect();
  begin_creation(BALLAST + STATE);
  micro_step_to(SUBJECT_PHASE_PROPAGATE);
  expect_none();
  start();
  begin_operation(OP_FINISH, 0, 0, 0);
  end_operation(SUBJECT_UNSUPPORTED);
  begin_creation(0); /* no cycle has ended yet: nothing is known */
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_none();
}

static void
test_pause_ends_when_the_heap_has_grown(void **state)
{
  (void)state;
  start();
  collect();
  create(BALLAST - STATE);
  create(0);
  expect_none();
  create(3 * STATE);
  create(0);
  expect_finding(LAW_PACING_PAUSE);
  expect_text("no cycle was started");
  start();
  collect();
  create(BALLAST + STATE);
  operate(OP_STOP, 0, 0, 0);
  create(0);
  expect_none();
}

static void
test_pause_counts_what_the_sweep_has_left(void **state)
{
  (void)state;
  start();
  uint64_t garbage = allocate(BALLAST);
  begin_operation(OP_COLLECT, 0, 0, 0);
  micro_step_to(SUBJECT_PHASE_SWEEP);
  step(SUBJECT_EVENT_STEP_BEGIN);
  release(garbage, BALLAST);
  step(SUBJECT_EVENT_STEP_END);
  run_cycle();
  end_operation(SUBJECT_DONE);
  begin_creation(BALLAST + STATE); /* twice of what is left */
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_none();
}

static void
step_once(void)
{
  begin_operation(OP_STEP, 0, 0, 0);
  micro_step_to(SUBJECT_PHASE_PROPAGATE);
  end_operation(SUBJECT_DONE);
}

static void
test_steps_are_a_step_size_apart(void **state)
{
  (void)state;
  start();
  step_once();
  begin_creation((1 << STEP_SIZE_LOG2) - 200);
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_finding(LAW_PACING_STEP_SIZE);
  start();
  step_once();
  begin_creation(1 << STEP_SIZE_LOG2);
  micro_step_to(phase);
  micro_step_to(phase); /* goes on */
  expect_none();
  allocate(8);
  step(SUBJECT_EVENT_STEP_BEGIN); /* another one */
  expect_finding(LAW_PACING_STEP_SIZE);
  start();
  step_once();
  operate(OP_RESTART, 0, 0, 0); /* sets the debt anew */
  begin_creation(0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_none();
}

/* Objects that a sweep step handles cost a unit each. */
static void
sweep_some(void)
{
  step(SUBJECT_EVENT_STEP_BEGIN);
  for (unsigned i = 0; i < SWEEP_BATCH; i++)
    recolour(globals, SUBJECT_BLACK, SUBJECT_WHITE_CURRENT);
  step(SUBJECT_EVENT_STEP_END);
}

static void
test_steps_end_when_their_work_is_done(void **state)
{
  enum { DUE = (1 << STEP_SIZE_LOG2) / UNIT * (MULTIPLIER | 1) };
  (void)state;
  for (unsigned more = 0; more < 2; more++) {
    start();
    begin_operation(OP_MICROSTEP, 1, 0, 0);
    micro_step_to(SUBJECT_PHASE_SWEEP);
    end_operation(SUBJECT_DONE);
    begin_operation(OP_STEP, 0, 0, 0);
    for (unsigned i = 0; i < DUE / SWEEP_BATCH + more; i++)
      sweep_some();
    expect_none();
    step(SUBJECT_EVENT_STEP_BEGIN);
    if (more)
      expect_finding(LAW_PACING_STEP_SIZE);
    else
      expect_none();
  }
}

/* ---- what is asked for ----------------------------------------------- */

static void
ask(uint8_t code, int32_t a)
{
  begin_operation(code, a, 0, 0);
  end_operation(SUBJECT_DONE);
}

static void
test_explicit_work_is_done(void **state)
{
  (void)state;
  start();
  operate(OP_STOP, 0, 0, 0);
  step_once();
  expect_none();
  ask(OP_STEP, 0);
  expect_finding(LAW_PACING_EXPLICIT);
  start();
  ask(OP_STEP, 1); /* a credit may cover it */
  expect_none();
  ask(OP_COLLECT, 0);
  expect_finding(LAW_PACING_EXPLICIT);
  start();
  ask(OP_MICROSTEP, 1);
  expect_finding(LAW_PACING_EXPLICIT);
  start();
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  micro_step_to(SUBJECT_PHASE_PROPAGATE);
  micro_step_to(SUBJECT_PHASE_PROPAGATE);
  end_operation(SUBJECT_DONE);
  expect_finding(LAW_PACING_EXPLICIT);
}

static void
test_restart_makes_a_step_due(void **state)
{
  (void)state;
  start();
  operate(OP_RESTART, 0, 0, 0);
  create(0);
  expect_finding(LAW_PACING_EXPLICIT);
  start();
  operate(OP_RESTART, 0, 0, 0);
  operate(OP_INT, 0, 1, 0); /* creates nothing */
  operate(OP_STOP, 0, 0, 0);
  create(0);
  expect_none();
  start();
  operate(OP_RESTART, 0, 0, 0);
  begin_creation(0);
  micro_step_to(SUBJECT_PHASE_PROPAGATE);
  end_operation(SUBJECT_DONE);
  expect_none();
}

/* ---- generational mode ----------------------------------------------- */

static void
minor_collection(void)
{
  begin_minor();
  end_minor();
}

static void
enter_generations(void)
{
  pass(SUBJECT_PHASE_PROPAGATE);
  pass(SUBJECT_PHASE_ATOMIC);
  pass(SUBJECT_PHASE_SWEEP);
  tell_mode(OP_MODE_GENERATIONAL);
  end_minor();
}

static void
leave_generations(void)
{
  step(SUBJECT_EVENT_STEP_BEGIN);
  pass(SUBJECT_PHASE_SWEEP);
  tell_mode(OP_MODE_INCREMENTAL);
  enter(SUBJECT_PHASE_PAUSE);
}

static void
start_generational(void)
{
  start();
  begin_operation(OP_MODE, OP_MODE_GENERATIONAL, 0, 0);
  step(SUBJECT_EVENT_STEP_BEGIN);
  enter_generations();
  end_operation(SUBJECT_DONE);
}

static void
test_minor_collection_comes_when_due(void **state)
{
  (void)state;
  start_generational();
  begin_creation(BALLAST / 10);
  step(SUBJECT_EVENT_STEP_BEGIN);
  expect_finding(LAW_PACING_MINOR);
  start_generational();
  begin_creation(BALLAST / 5 + STATE);
  minor_collection();
  end_operation(SUBJECT_DONE);
  create(BALLAST / 5 - STATE);
  create(0);
  expect_none();
  create(BALLAST / 5);
  create(0);
  expect_finding(LAW_PACING_MINOR);
  expect_text("no collection was made");
}

/* What finalizers create in the step counts as in use after it. */
static void
test_minor_collection_waits_from_the_end_of_its_step(void **state)
{
  (void)state;
  start_generational();
  begin_operation(OP_MINOR, 1, 0, 0);
  begin_minor();
  pass_sweep();
  draw_part(globals, BALLAST);
  step(SUBJECT_EVENT_STEP_END);
  end_operation(SUBJECT_DONE);
  create(BALLAST / 5);
  create(0);
  expect_none();
  create(BALLAST / 5 + STATE);
  create(0);
  expect_finding(LAW_PACING_MINOR);
}

static void
test_minor_steps_are_as_many_as_asked(void **state)
{
  (void)state;
  start_generational();
  begin_operation(OP_MINOR, 2, 0, 0);
  minor_collection();
  minor_collection();
  end_operation(SUBJECT_DONE);
  expect_none();
  begin_operation(OP_MINOR, 2, 0, 0);
  minor_collection();
  end_operation(SUBJECT_DONE);
  expect_finding(LAW_PACING_EXPLICIT);
}

/* One that is due; frees all that the heap has grown by, or nothing. */
static void
major_collection(bool frees)
{
  begin_creation(0);
  uint64_t base = allocate(BALLAST + 2 * STATE);
  leave_generations();
  if (frees)
    release(base, BALLAST + 2 * STATE);
  enter_generations();
  end_operation(SUBJECT_DONE);
}

static void
test_minor_collections_come_back(void **state)
{
  (void)state;
  for (int back = 0; back < 2; back++) {
    start_generational();
    major_collection(false);
    begin_operation(OP_MINOR, 3, 0, 0);
    leave_generations();
    step(SUBJECT_EVENT_STEP_END);
    run_cycle();
    run_cycle();
    step(SUBJECT_EVENT_STEP_BEGIN);
    if (back) {
      enter_generations();
    } else {
      step(SUBJECT_EVENT_STEP_END);
      run_cycle();
    }
    end_operation(SUBJECT_DONE);
    if (back)
      expect_none();
    else
      expect_finding(LAW_PACING_MINOR);
  }
}

static void
test_major_collection_comes_when_due(void **state)
{
  (void)state;
  start_generational();
  begin_creation(BALLAST + STATE);
  minor_collection();
  expect_finding(LAW_PACING_MAJOR);
  start_generational();
  begin_creation(BALLAST / 2);
  leave_generations();
  enter_generations();
  expect_finding(LAW_PACING_MAJOR);
  expect_text("too early");
  start_generational();
  major_collection(true);
  begin_creation(BALLAST / 2); /* counted from the last major one */
  minor_collection();
  expect_none();
}

static void
test_whole_cycles_follow_on_a_bad_major_collection(void **state)
{
  (void)state;
  start_generational();
  major_collection(false);
  begin_operation(OP_MINOR, 1, 0, 0);
  minor_collection();
  expect_finding(LAW_PACING_MAJOR);
  expect_text("too little");
  start_generational();
  major_collection(false);
  begin_operation(OP_MINOR, 1, 0, 0);
  leave_generations();
  step(SUBJECT_EVENT_STEP_END);
  expect_none();
  start_generational();
  major_collection(true);
  begin_operation(OP_MINOR, 1, 0, 0);
  leave_generations();
  step(SUBJECT_EVENT_STEP_END);
  expect_finding(LAW_PACING_MAJOR);
  expect_text("too early");
}

static void
test_basic_step_is_no_major_collection(void **state)
{
  (void)state;
  start_generational();
  begin_operation(OP_STEP, 0, 0, 0);
  minor_collection();
  end_operation(SUBJECT_DONE);
  expect_none();
  allocate(2 * BALLAST);
  begin_operation(OP_STEP, 0, 0, 0);
  leave_generations();
  enter_generations();
  expect_finding(LAW_PACING_MAJOR);
  expect_text("basic step");
}

/* After the collection BALLAST more bytes are free to be used. */
static void
test_explicit_step_is_made_when_credit_is_used_up(void **state)
{
  static const struct {
    int32_t kilobytes;
    bool made, legal;
  } cases[] = { { 1, true, false },
                { 1, false, true },
                { 2 * BALLAST / 1024, true, true },
                { 2 * BALLAST / 1024, false, false } };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    start();
    collect();
    begin_operation(OP_STEP, cases[i].kilobytes, 0, 0);
    if (cases[i].made)
      micro_step_to(SUBJECT_PHASE_PROPAGATE);
    end_operation(SUBJECT_DONE);
    if (cases[i].legal)
      expect_none();
    else
      expect_finding(LAW_PACING_EXPLICIT);
  }
}

static void
test_step_comes_when_its_credit_is_used_up(void **state)
{
  (void)state;
  start();
  step_once();
  create(1 << STEP_SIZE_LOG2);
  create(0); /* the last micro-step may have done more than was due */
  expect_none();
  create(2 * BALLAST);
  create(0);
  expect_finding(LAW_PACING_STEP_SIZE);
  expect_text("no step was made");
}

static void
test_every_law_of_pacing_was_tripped(void **state)
{
  (void)state;
  for (int law = LAW_PACING_STOPPED; law <= LAW_PACING_MAJOR; law++)
    if (!tripped[law])
      fail_msg("no test trips %s", law_infos[law].id);
}

#define T(name) \
  cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int
main(void)
{
  const struct CMUnitTest tests[] = {
      T(stopped_collector_makes_no_step),
      T(stop_is_shown_as_long_as_it_lasts),
      T(parameter_reads_back_by_its_form),
      T(pause_lasts_until_the_heap_has_grown),
      T(pause_ends_when_the_heap_has_grown),
      T(pause_counts_what_the_sweep_has_left),
      T(steps_are_a_step_size_apart),
      T(steps_end_when_their_work_is_done),
      T(explicit_work_is_done),
      T(restart_makes_a_step_due),
      T(whole_cycles_follow_on_a_bad_major_collection),
      T(basic_step_is_no_major_collection),
      T(explicit_step_is_made_when_credit_is_used_up),
      T(step_comes_when_its_credit_is_used_up),
      T(minor_collection_comes_when_due),
      T(minor_collection_waits_from_the_end_of_its_step),
      T(minor_steps_are_as_many_as_asked),
      T(minor_collections_come_back),
      T(major_collection_comes_when_due),
      T(every_law_of_pacing_was_tripped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
