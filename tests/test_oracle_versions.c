/* SPDX-License-Identifier: MIT
 *
 * The laws by version, on heaps drawn by hand: each trait that lets something
 * be is tripped without it, and each strength of a reference is tripped where
 * it forbids something.
 */
#include "tests/oracle_collect_fixture.h"

/* ---- references ------------------------------------------------------ */

/* A black table whose entry 1 leads to a white one. */
static struct subject_edge *
draw_black_to_white(uint8_t strength)
{
  begin();
  struct drawn *table = make_table_at(0);
  struct drawn *child = make_table_at(1);
  operate(OP_SETI, 0, 1, 1);
  struct subject_edge *edge =
      draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(child));
  edge->value_strength = strength;
  enter(SUBJECT_PHASE_PROPAGATE);
  paint(table, SUBJECT_BLACK);
  return edge;
}

static void
test_versions_lets_a_late_reference_be(void **state)
{
  (void)state;
  draw_black_to_white(SUBJECT_LATE);
  expect_clean();
  draw_black_to_white(SUBJECT_STRONG);
  expect(LAW_BLACK_TO_WHITE);
}

/* After the atomic phase a late one is as good as any; a loose one may lead to
 * what is dead, and must not dangle. */
static void
test_versions_tells_late_from_loose(void **state)
{
  (void)state;
  for (int is_loose = 0; is_loose < 2; is_loose++) {
    begin();
    struct drawn *table = make_table_at(0);
    struct drawn *string = draw_string("dead");
    struct subject_edge *edge =
        draw_edge(table, SUBJECT_LABEL_INTERNAL, 0, to(string));
    edge->value_strength = is_loose ? SUBJECT_LOOSE : SUBJECT_LATE;
    enter_sweep();
    paint(string, SUBJECT_WHITE_OTHER);
    if (!is_loose) {
      expect(LAW_LIVE_TO_DEAD);
      continue;
    }
    expect_clean();
    erase(string);
    expect(LAW_DANGLING);
  }
}

/* ---- colours --------------------------------------------------------- */

/* What waits for its finalizer is black from the last mark where it is not
 * swept. */
static void
test_versions_lets_the_pending_be_black(void **state)
{
  (void)state;
  for (int is_swept = 0; is_swept < 2; is_swept++) {
    traits.pending_swept = is_swept;
    struct subject_edge *edge = draw_black_to_white(SUBJECT_STRONG);
    for (unsigned i = 0; i < page.count; i++)
      if (edge >= page.drawn[i].edges &&
          edge < page.drawn[i].edges + EDGES_MAX)
        page.drawn[i].object.list = SUBJECT_LIST_PENDING;
    if (is_swept)
      expect(LAW_BLACK_TO_WHITE);
    else
      expect_clean();
  }
}

/* ---- finalizers ------------------------------------------------------ */

static struct drawn *outer, *inner;

static void
begin_two(int32_t behaviour)
{
  begin_colourless();
  outer = make_finalizable(3, behaviour);
  inner = make_finalizable(4, OP_BEHAVIOUR_ERROR);
  drop_register(3);
  drop_register(4);
  begin_atomic();
  separate(outer);
  separate(inner);
  enter(SUBJECT_PHASE_FINALIZE);
}

static void
test_versions_lets_calls_nest(void **state)
{
  (void)state;
  for (int steps = 0; steps < 2; steps++) {
    traits.finalizer_steps = steps;
    begin_two(OP_BEHAVIOUR_COLLECT);
    begin_call(inner);
    begin_call(outer);
    if (!steps) {
      expect_finding(LAW_FINALIZERS_MOMENT);
      continue;
    }
    end_call(outer, false);
    warn();
    end_call(inner, true);
    end_operation(SUBJECT_DONE);
    expect_clean();
  }
}

/* An error inside a call comes out of it where it is not contained. */
static void
test_versions_lets_errors_come_through(void **state)
{
  (void)state;
  for (int is_contained = 0; is_contained < 2; is_contained++) {
    begin_colourless();
    traits.finalizer_steps = traits.not_callable_ignored = true;
    traits.errors_contained = traits.errors_warned = is_contained;
    inner = make_finalizable(4, OP_BEHAVIOUR_ERROR);
    outer = make_finalizable(3, OP_BEHAVIOUR_COLLECT);
    drop_register(3);
    drop_register(4);
    begin_atomic();
    separate(outer);
    separate(inner);
    enter(SUBJECT_PHASE_FINALIZE);
    begin_call(outer);
    begin_call(inner);
    end_call(inner, true);
    end_call(outer, true);
    if (is_contained)
      expect_finding(LAW_FINALIZERS_ERROR);
    else
      expect_none();
  }
}

/* Where nobody tells of lists: what was reachable all the time is not
 * finalized. */
static void
test_versions_finds_a_call_of_what_lives(void **state)
{
  (void)state;
  for (int is_dead = 0; is_dead < 2; is_dead++) {
    begin_silent();
    outer = make_finalizable(3, OP_BEHAVIOUR_NOTHING);
    if (is_dead)
      drop_register(3);
    begin_operation(OP_COLLECT, 0, 0, 0);
    tell((struct subject_event){.type = SUBJECT_EVENT_FINALIZER,
                                .base = outer->object.base});
    if (is_dead)
      expect_none();
    else
      expect_finding(LAW_FINALIZERS_NOT_DEAD);
  }
}

/* Where nobody tells of lists, what cannot be called may still be owed its
 * finalizer: it is let live as long, with what it leads to, and no longer. */
static void
test_versions_lets_what_is_in_doubt_be_for_a_while(void **state)
{
  (void)state;
  begin_silent();
  make_finalizable(3, OP_BEHAVIOUR_NUMBER);
  inner = make_finalizable(4, OP_BEHAVIOUR_NUMBER);
  drop_register(3);
  drop_register(4);
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  enter(SUBJECT_PHASE_SWEEP);
  erase(page.drawn + page.count - 1); /* the metatable of the inner one */
  erase(inner);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
  expect_clean(); /* it was owed before */
  collect_nothing();
  expect_clean();
  collect_nothing();
  expect(LAW_LIVENESS_GARBAGE);
}

/* ---- cdata ----------------------------------------------------------- */

static struct drawn *
make_cdata(int32_t n)
{
  operate(OP_NEWCDATA, n, OP_BEHAVIOUR_NOTHING, 0);
  struct drawn *cdata = draw(SUBJECT_KIND_CDATA);
  cdata->object.flags |= SUBJECT_OBJECT_MARKED;
  undraw_register(n);
  draw_register(n, to(cdata));
  look(ORACLE_BETWEEN);
  return cdata;
}

/* What the sweep finds dead was dead when weak tables were cleared: it is no
 * key any more when it waits for its finalizer. */
static void
test_versions_lets_cdata_leave_keys(void **state)
{
  (void)state;
  traits.cdata = true;
  for (int is_cdata = 0; is_cdata < 2; is_cdata++) {
    begin_silent();
    struct drawn *table = make_weak(0, OP_WEAK_KEYS);
    struct drawn *value = make_table_at(1);
    struct drawn *key =
        is_cdata ? make_cdata(3) : make_finalizable(3, OP_BEHAVIOUR_NOTHING);
    make_entry(table, 0, 3, key, 1, value);
    expect_clean();
    drop_register(3);
    expect_clean();
    begin_operation(OP_MICROSTEP, 1, 0, 0);
    end_operation(SUBJECT_DONE);
    table->edge_count -= 1;
    if (is_cdata)
      expect_clean();
    else
      expect(LAW_WEAK_REMOVED_LIVE);
  }
}

int
main(void)
{
#define T(name) \
  cmocka_unit_test_setup_teardown(test_versions_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      T(lets_a_late_reference_be),
      T(tells_late_from_loose),
      T(lets_the_pending_be_black),
      T(lets_calls_nest),
      T(lets_errors_come_through),
      T(finds_a_call_of_what_lives),
      T(lets_what_is_in_doubt_be_for_a_while),
      T(lets_cdata_leave_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
