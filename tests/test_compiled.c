/* SPDX-License-Identifier: MIT
 *
 * That LuaJIT compiles the loop of `hot`, and only that, and that the survey
 * shows what it made: would catch a compiler that is never on, gives up each
 * time, or makes something else each time; and traces that are not shown, or
 * that nothing leads to. Skipped where there is no LuaJIT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arena/arena.h"
#include "subjects/subjects.h"

enum { TRACES_MAX = 16, PROTOTYPES_MAX = 64 };

/* What two surveys show of traces: the first who is there, the second who
 * refers to whom. */
struct seen {
  struct subject_visitor visitor;
  uint64_t traces[TRACES_MAX], sizes[TRACES_MAX];
  uint64_t prototypes[PROTOTYPES_MAX];
  size_t trace_count, prototype_count;
  bool is_second;
  uint8_t kind; /* of the object whose edges come */
  size_t from_prototypes, to_prototypes; /* references */
};

static struct arena *arena;

static void
see_heap(struct subject_visitor *visitor, const struct subject_heap *heap)
{
  (void)visitor;
  (void)heap;
}

static void
see_object(struct subject_visitor *visitor, const struct subject_object *object)
{
  struct seen *seen = (struct seen *)visitor;
  seen->kind = object->kind;
  if (seen->is_second)
    return;
  if (object->kind == SUBJECT_KIND_TRACE) {
    assert_true(seen->trace_count < TRACES_MAX);
    seen->traces[seen->trace_count] = object->base;
    seen->sizes[seen->trace_count++] = object->size;
  } else if (object->kind == SUBJECT_KIND_PROTOTYPE) {
    assert_true(seen->prototype_count < PROTOTYPES_MAX);
    seen->prototypes[seen->prototype_count++] = object->base;
  }
}

static bool
is_among(const uint64_t *bases, size_t count, uint64_t base)
{
  for (size_t i = 0; i < count; i++)
    if (bases[i] == base)
      return true;
  return false;
}

static void
see_edge(struct subject_visitor *visitor, const struct subject_edge *edge)
{
  struct seen *seen = (struct seen *)visitor;
  uint64_t target = edge->value.bits;
  if (!seen->is_second || edge->value.tag != SUBJECT_OBJECT)
    return;
  if (seen->kind == SUBJECT_KIND_PROTOTYPE)
    seen->from_prototypes += is_among(seen->traces, seen->trace_count, target);
  if (seen->kind == SUBJECT_KIND_TRACE)
    seen->to_prototypes +=
        is_among(seen->prototypes, seen->prototype_count, target);
}

static void
see_part(struct subject_visitor *visitor, uint64_t base, size_t size)
{
  (void)visitor;
  assert_int_equal(arena_block_size(arena, base), size);
}

static void
see_grey(struct subject_visitor *visitor, uint64_t base, enum subject_grey list)
{
  (void)visitor;
  (void)base;
  (void)list;
}

static void
see_broken(struct subject_visitor *visitor, const char *where, uint64_t target)
{
  (void)visitor;
  (void)target;
  fail_msg("%s is broken", where);
}

static bool
is_live(struct subject_visitor *visitor, uint64_t base)
{
  (void)visitor;
  return arena_block_size(arena, base) != 0;
}

static struct seen
survey(const struct subject *subject, struct subject_instance *instance)
{
  struct seen seen = {.visitor = {.heap = see_heap,
                                  .object = see_object,
                                  .edge = see_edge,
                                  .part = see_part,
                                  .grey = see_grey,
                                  .broken = see_broken,
                                  .is_live = is_live}};
  subject->survey(instance, &seen.visitor);
  seen.is_second = true;
  subject->survey(instance, &seen.visitor);
  return seen;
}

/* ---- a state --------------------------------------------------------- */

static void
ignore(struct subject_sink *sink, const struct subject_event *event)
{
  (void)sink;
  assert_int_not_equal(event->type, SUBJECT_EVENT_ASSERTION);
}

static const struct subject *
need_subject(void)
{
  const struct subject *subject = subject_find("ljit");
  if (!subject)
    skip();
  return subject;
}

static struct subject_instance *
open_state(const struct subject *subject)
{
  static struct subject_sink sink = {ignore};
  struct subject_env env = {.allocator = arena,
                            .allocate = arena_allocate,
                            .hold = arena_hold_refusals,
                            .sink = &sink};
  arena_clear(arena, ARENA_FRESH);
  struct subject_instance *instance = subject->open(&env);
  assert_non_null(instance);
  return instance;
}

static void
perform(const struct subject *subject, struct subject_instance *instance,
        struct op op)
{
  struct subject_answer answer;
  assert_int_equal(subject->perform(instance, op, &answer), SUBJECT_DONE);
}

/* Loops over a table, by both keys, and over a closure. */
static void
perform_loops(const struct subject *subject, struct subject_instance *instance)
{
  perform(subject, instance, (struct op){OP_NEWTABLE, 0, 0, 0});
  perform(subject, instance, (struct op){OP_HOT, 0, 1, 20});
  perform(subject, instance, (struct op){OP_HOT, 0, 2, 20});
  perform(subject, instance, (struct op){OP_CLOSURE, 3, 4, 1});
  perform(subject, instance, (struct op){OP_HOT, 3, 1, 20});
}

/* ---- tests ----------------------------------------------------------- */

static void
test_nothing_else_is_compiled(void **state)
{
  (void)state;
  const struct subject *subject = need_subject();
  struct subject_instance *instance = open_state(subject);
  for (int i = 0; i < 200; i++) {
    perform(subject, instance, (struct op){OP_NEWTABLE, 0, 0, 0});
    perform(subject, instance, (struct op){OP_SETI, 0, 1, 0});
    perform(subject, instance, (struct op){OP_WIDE, 0, 9, 0});
  }
  assert_int_equal(survey(subject, instance).trace_count, 0);
  subject->close(instance);
}

static void
test_each_loop_is_compiled(void **state)
{
  (void)state;
  const struct subject *subject = need_subject();
  struct subject_instance *instance = open_state(subject);
  size_t before = 0;
  perform(subject, instance, (struct op){OP_NEWTABLE, 0, 0, 0});
  perform(subject, instance, (struct op){OP_CLOSURE, 3, 4, 1});
  static const struct op loops[] = {
      {OP_HOT, 0, 1, 20}, {OP_HOT, 0, 2, 20}, {OP_HOT, 3, 1, 20}};
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    perform(subject, instance, loops[i]);
    struct seen seen = survey(subject, instance);
    assert_true(seen.trace_count > before);
    assert_true(seen.from_prototypes > 0);
    assert_int_equal(seen.to_prototypes, seen.trace_count);
    before = seen.trace_count;
  }
  subject->close(instance);
}

/* What was compiled of the loop over a closure is garbage with the loop. */
static void
test_traces_are_collected(void **state)
{
  (void)state;
  const struct subject *subject = need_subject();
  struct subject_instance *instance = open_state(subject);
  perform_loops(subject, instance);
  size_t all = survey(subject, instance).trace_count;
  perform(subject, instance, (struct op){.code = OP_COLLECT});
  size_t left = survey(subject, instance).trace_count;
  assert_true(left >= 2 && left < all);
  subject->close(instance);
  assert_int_equal(arena_live_blocks(arena), 0);
}

/* Also after a state that was left as it was. */
static void
test_each_run_compiles_the_same(void **state)
{
  (void)state;
  const struct subject *subject = need_subject();
  struct seen first = {.trace_count = 0};
  for (int i = 0; i < 20; i++) {
    struct subject_instance *instance = open_state(subject);
    perform_loops(subject, instance);
    struct seen seen = survey(subject, instance);
    if (i == 0)
      first = seen;
    assert_int_equal(seen.trace_count, first.trace_count);
    assert_memory_equal(seen.traces, first.traces, sizeof first.traces);
    assert_memory_equal(seen.sizes, first.sizes, sizeof first.sizes);
    if (i % 2)
      subject->close(instance);
  }
}

static int
set_up(void **state)
{
  (void)state;
  arena = arena_new();
  return arena ? 0 : -1;
}

static int
tear_down(void **state)
{
  (void)state;
  arena_free(arena);
  return 0;
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_else_is_compiled),
      cmocka_unit_test(test_each_loop_is_compiled),
      cmocka_unit_test(test_traces_are_collected),
      cmocka_unit_test(test_each_run_compiles_the_same),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
