/* SPDX-License-Identifier: MIT
 *
 * Heaps drawn by hand, for the tests of the oracle. A drawing is what a
 * subject would show: objects, edges, parts, grey lists. The functions here
 * draw, send the events that go with it, and say what verdict is demanded.
 * Included by each of those tests once; all state is static.
 */
#ifndef PENUMBRA_TESTS_ORACLE_FIXTURE_H
#define PENUMBRA_TESTS_ORACLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "oracle/oracle.h"
#include "oracle/shadow.h"

/* ---- the drawing ----------------------------------------------------- */

enum {
  REGION_BASE = 0x100000,
  REGION_SIZE = 0x100000,
  GRANULE = 16,
  OBJECTS_MAX = 40,
  EDGES_MAX = 12,
  PARTS_MAX = 3,
  GREYS_MAX = 8,
  SWEEP_BATCH = 3
};

struct drawn {
  struct subject_object object;
  struct subject_edge edges[EDGES_MAX];
  uint64_t parts[PARTS_MAX];
  size_t part_sizes[PARTS_MAX];
  unsigned edge_count, part_count;
  bool hidden; /* not shown: in no list */
};

static struct drawing {
  struct drawn drawn[OBJECTS_MAX];
  unsigned count;
  uint64_t greys[GREYS_MAX];
  unsigned grey_count;
  struct subject_heap heap;
  const char *broken; /* a link of this name leads to broken_target */
  uint64_t broken_target;
  bool circle;  /* the heap list runs in a circle */
  bool endless; /* a list runs in a circle of which nothing is shown */
} page;

static struct oracle *oracle;
static uint64_t next_base;
static uint64_t live_bytes;
static uint8_t phase;
static bool tripped[LAW_COUNT];

/* Objects that every drawing begins with. */
static struct drawn *root, *registry, *globals, *thread;

static inline void
show(struct subject_visitor *visitor, const struct drawn *drawn)
{
  if (drawn->hidden)
    return;
  visitor->object(visitor, &drawn->object);
  for (unsigned i = 0; i < drawn->part_count; i++)
    visitor->part(visitor, drawn->parts[i], drawn->part_sizes[i]);
  for (unsigned i = 0; i < drawn->edge_count; i++)
    visitor->edge(visitor, &drawn->edges[i]);
}

static inline void
fake_survey(struct subject_instance *instance, struct subject_visitor *visitor)
{
  (void)instance;
  visitor->heap(visitor, &page.heap);
  for (unsigned i = 0; i < page.count; i++)
    show(visitor, &page.drawn[i]);
  while (page.circle && visitor->is_live(visitor, page.drawn[1].object.base))
    show(visitor, &page.drawn[1]);
  while (page.endless && visitor->is_live(visitor, page.drawn[1].object.base))
    continue;
  for (unsigned i = 0; i < page.grey_count; i++)
    visitor->grey(visitor, page.greys[i], SUBJECT_GREY_NOW);
  if (page.broken && !visitor->is_live(visitor, page.broken_target))
    visitor->broken(visitor, page.broken, page.broken_target);
}

static struct subject_traits traits;
static struct subject subject;

static const struct subject_traits traits_like_54 = {
    .integers = true,
    .closes_values = true,
    .closes_coroutines = true,
    .joins_upvalues = true,
    .catches_across_yields = true,
    .load_upvalue = true,
    .ephemerons = true,
    .finalizes_tables = true,
    .marked_when_set = true,
    .finalizer_rearms = true,
    .phases_kept = 1u << SUBJECT_PHASE_PROPAGATE |
                   1u << SUBJECT_PHASE_ENTER_ATOMIC |
                   1u << SUBJECT_PHASE_ATOMIC,
    .never_black = 1u << SUBJECT_KIND_CDATA,
    .never_grey =
        1u << SUBJECT_KIND_STRING_SHORT | 1u << SUBJECT_KIND_STRING_LONG,
    .open_upvalues_grey = true,
    .threads_grey = true,
    .fixed_grey = true,
    .pending_swept = true,
    .sweep_batch = SWEEP_BATCH};

static const struct subject subject_drawn = {
    .name = "drawn",
    .title = "a heap drawn by hand",
    .capabilities = SUBJECT_CAN_SURVEY | SUBJECT_CAN_COLOUR |
                    SUBJECT_CAN_EVENTS | SUBJECT_CAN_COUNT,
    .traits = &traits,
    .survey = fake_survey};

/* ---- events ---------------------------------------------------------- */

static inline void
tell(struct subject_event event)
{
  oracle_event(oracle, &event);
}

static inline uint64_t
allocate(uint32_t size)
{
  uint64_t base = next_base;
  next_base += (size + 2 * GRANULE - 1) / GRANULE * GRANULE;
  live_bytes += size;
  tell((struct subject_event){
      .type = SUBJECT_EVENT_ALLOCATED, .base = base, .size = size});
  return base;
}

static inline void
release(uint64_t base, uint32_t size)
{
  live_bytes -= size;
  tell((struct subject_event){
      .type = SUBJECT_EVENT_FREED, .base = base, .size = size, .value = size});
}

static inline void
tell_phase(uint8_t from, uint8_t to)
{
  tell((struct subject_event){
      .type = SUBJECT_EVENT_PHASE, .from = from, .to = to});
}

static inline void
tell_mode(uint8_t to)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_MODE,
                              .from = (uint8_t)!to,
                              .to = to});
}

/* Goes on to a phase, at once. */
static inline void
pass(uint8_t to)
{
  tell_phase(phase, to);
  phase = to;
  page.heap.phase = to;
}

/* Goes on to a phase, through all that lie between. */
static inline void
enter(uint8_t wanted)
{
  static const uint8_t next[SUBJECT_PHASE_COUNT] = {
      [SUBJECT_PHASE_PAUSE] = SUBJECT_PHASE_PROPAGATE,
      [SUBJECT_PHASE_PROPAGATE] = SUBJECT_PHASE_ENTER_ATOMIC,
      [SUBJECT_PHASE_ENTER_ATOMIC] = SUBJECT_PHASE_ATOMIC,
      [SUBJECT_PHASE_ATOMIC] = SUBJECT_PHASE_SWEEP,
      [SUBJECT_PHASE_SWEEP] = SUBJECT_PHASE_SWEEP_FINALIZABLE,
      [SUBJECT_PHASE_SWEEP_FINALIZABLE] = SUBJECT_PHASE_SWEEP_PENDING,
      [SUBJECT_PHASE_SWEEP_PENDING] = SUBJECT_PHASE_SWEEP_END,
      [SUBJECT_PHASE_SWEEP_END] = SUBJECT_PHASE_FINALIZE,
      [SUBJECT_PHASE_FINALIZE] = SUBJECT_PHASE_PAUSE};
  while (phase != wanted) {
    tell_phase(phase, next[phase]);
    phase = next[phase];
  }
  page.heap.phase = phase;
}

static inline void
recolour(const struct drawn *drawn, uint8_t from, uint8_t to)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_RECOLOURED,
                              .base = drawn->object.base,
                              .kind = drawn->object.kind,
                              .from = from,
                              .to = to});
}

static inline void
step(enum subject_event_type type)
{
  tell((struct subject_event){.type = (uint8_t)type});
}

/* A minor collection begins, and has marked and flipped. */
static inline void
begin_minor(void)
{
  step(SUBJECT_EVENT_STEP_BEGIN);
  pass(SUBJECT_PHASE_ATOMIC);
  pass(SUBJECT_PHASE_SWEEP);
}

/* From the sweep on to where generational cycles rest. */
static inline void
pass_sweep(void)
{
  pass(SUBJECT_PHASE_SWEEP_FINALIZABLE);
  pass(SUBJECT_PHASE_SWEEP_PENDING);
  pass(SUBJECT_PHASE_SWEEP_END);
  pass(SUBJECT_PHASE_PROPAGATE);
}

static inline void
end_minor(void)
{
  pass_sweep();
  step(SUBJECT_EVENT_STEP_END);
}

/* ---- drawing --------------------------------------------------------- */

static inline struct drawn *
draw(enum subject_kind kind)
{
  struct drawn *drawn = &page.drawn[page.count++];
  assert_true(page.count <= OBJECTS_MAX);
  *drawn = (struct drawn){
      .object = {.kind = (uint8_t)kind, .size = 40, .list = SUBJECT_LIST_ALL}};
  drawn->object.base = allocate(drawn->object.size);
  tell((struct subject_event){.type = SUBJECT_EVENT_BIRTH,
                              .base = drawn->object.base,
                              .kind = (uint8_t)kind});
  return drawn;
}

static inline struct drawn *
draw_string(const char *text)
{
  struct drawn *drawn = draw(SUBJECT_KIND_STRING_SHORT);
  drawn->object.text = (const uint8_t *)text;
  drawn->object.text_size = (uint32_t)strlen(text);
  drawn->object.flags = SUBJECT_OBJECT_INTERNED;
  return drawn;
}

static inline uint64_t
draw_part(struct drawn *drawn, uint32_t size)
{
  drawn->part_sizes[drawn->part_count] = size;
  drawn->parts[drawn->part_count] = allocate(size);
  return drawn->parts[drawn->part_count++];
}

static inline struct subject_value
number(int64_t n)
{
  return (struct subject_value){.bits = (uint64_t)n, .tag = SUBJECT_INTEGER};
}

static inline struct subject_value
to(const struct drawn *drawn)
{
  return (struct subject_value){.bits = drawn->object.base,
                                .tag = SUBJECT_OBJECT};
}

static inline struct subject_edge *
draw_edge(struct drawn *from, enum subject_label label, int64_t key,
          struct subject_value value)
{
  struct subject_edge *edge = &from->edges[from->edge_count++];
  assert_true(from->edge_count <= EDGES_MAX);
  *edge = (struct subject_edge){
      .key = number(key), .value = value, .label = (uint8_t)label};
  return edge;
}

static inline struct subject_edge *
draw_register(int64_t n, struct subject_value value)
{
  return draw_edge(thread, SUBJECT_LABEL_REGISTER, n, value);
}

static inline void
drop_edge(struct drawn *from, unsigned index)
{
  from->edge_count -= 1;
  memmove(&from->edges[index], &from->edges[index + 1],
          (from->edge_count - index) * sizeof from->edges[0]);
}

/* Register n is drawn as nil. */
static inline void
undraw_register(int64_t n)
{
  for (unsigned i = thread->edge_count; i-- > 0;)
    if (thread->edges[i].label == SUBJECT_LABEL_REGISTER &&
        thread->edges[i].key.bits == (uint64_t)n)
      drop_edge(thread, i);
}

static inline void
erase(const struct drawn *drawn)
{
  unsigned index = (unsigned)(drawn - page.drawn);
  release(drawn->object.base, drawn->object.size);
  page.drawn[index].hidden = true;
}

static inline void
paint(struct drawn *drawn, uint8_t colour)
{
  drawn->object.colour = colour;
}

static inline void
paint_all(uint8_t colour)
{
  for (unsigned i = 1; i < page.count; i++)
    paint(&page.drawn[i], colour);
}

static inline void
list_grey(const struct drawn *drawn)
{
  page.greys[page.grey_count++] = drawn->object.base;
}

/* Everything marked, the flip done, nothing swept. */
static inline void
enter_sweep(void)
{
  enter(SUBJECT_PHASE_SWEEP);
  paint_all(SUBJECT_BLACK);
}

/* ---- running --------------------------------------------------------- */

static inline void
operate_with(uint8_t code, int32_t a, int32_t b, int32_t c,
             const struct subject_answer *answer)
{
  struct op op = {.code = code, .a = a, .b = b, .c = c};
  assert_true(oracle_admits(oracle, op));
  oracle_operation_begin(oracle, op);
  oracle_operation_end(oracle, SUBJECT_DONE, answer);
}

static inline void
operate(uint8_t code, int32_t a, int32_t b, int32_t c)
{
  operate_with(code, a, b, c, NULL);
}

static inline void
begin_operation(uint8_t code, int32_t a, int32_t b, int32_t c)
{
  oracle_operation_begin(oracle,
                         (struct op){.code = code, .a = a, .b = b, .c = c});
}

static inline void
end_operation(enum subject_status status)
{
  oracle_operation_end(oracle, status, NULL);
}

static inline void
look(enum oracle_when when)
{
  page.heap.bytes = live_bytes;
  oracle_check(oracle, when);
}

static inline void
expect_finding(enum law law)
{
  const struct oracle_finding *finding = oracle_finding(oracle);
  assert_string_equal(law_infos[finding->law].id, law_infos[law].id);
  assert_true(finding->message[0] != '\0');
  assert_false(oracle_is_exhausted(oracle));
  assert_null(strstr(finding->message, "0x"));
  tripped[law] = true;
}

static inline void
expect(enum law law)
{
  look(ORACLE_BETWEEN);
  expect_finding(law);
}

static inline void
expect_none(void)
{
  if (oracle_finding(oracle)->law != LAW_NONE)
    print_error("%s: %s\n", law_infos[oracle_finding(oracle)->law].id,
                oracle_finding(oracle)->message);
  assert_int_equal(oracle_finding(oracle)->law, LAW_NONE);
}

static inline void
expect_clean(void)
{
  look(ORACLE_BETWEEN);
  expect_none();
}

static inline void
expect_text(const char *text)
{
  if (!strstr(oracle_finding(oracle)->message, text))
    fail_msg("\"%s\" is not in \"%s\"", text, oracle_finding(oracle)->message);
}

static inline void
expect_detail(const char *text)
{
  if (!strstr(oracle_finding(oracle)->detail, text))
    fail_msg("\"%s\" is not in \"%s\"", text, oracle_finding(oracle)->detail);
}

/* What every state has. */
static inline void
begin(void)
{
  memset(&page, 0, sizeof page);
  next_base = REGION_BASE + GRANULE;
  live_bytes = 0;
  phase = SUBJECT_PHASE_PAUSE;
  oracle_begin(oracle, &subject, false, OP_MODE_INCREMENTAL);
  root = &page.drawn[page.count++];
  root->object.kind = SUBJECT_KIND_ROOT;
  draw_part(root, 100);
  registry = draw(SUBJECT_KIND_TABLE);
  globals = draw(SUBJECT_KIND_TABLE);
  thread = draw(SUBJECT_KIND_THREAD);
  draw_part(thread, 320);
  draw_edge(root, SUBJECT_LABEL_REGISTRY, 0, to(registry));
  draw_edge(root, SUBJECT_LABEL_GLOBALS, 0, to(globals));
  draw_edge(root, SUBJECT_LABEL_MAIN, 0, to(thread));
  draw_edge(root, SUBJECT_LABEL_CURRENT, 0, to(thread));
  oracle_attach(oracle, (struct subject_instance *)&page);
}

static inline int
set_up(void **state)
{
  static const struct oracle_config config = {.region_base = REGION_BASE,
                                              .region_size = REGION_SIZE,
                                              .granule = GRANULE};
  (void)state;
  traits = traits_like_54;
  subject = subject_drawn;
  oracle = oracle_new(&config);
  if (!oracle)
    return -1;
  begin();
  return 0;
}

static inline int
tear_down(void **state)
{
  (void)state;
  oracle_free(oracle);
  return 0;
}

/* Register n is set to nil. */
static inline void
drop_register(int32_t n)
{
  operate(OP_NIL, n, 0, 0);
  undraw_register(n);
}

/* A fresh table in register n. */
static inline struct drawn *
make_table_at(int32_t n)
{
  operate(OP_NEWTABLE, n, 0, 0);
  struct drawn *table = draw(SUBJECT_KIND_TABLE);
  undraw_register(n);
  draw_register(n, to(table));
  return table;
}

/* A table in r0. */
static inline struct drawn *
make_table(void)
{
  return make_table_at(0);
}

/* A string "s5" in r1. */
static inline struct drawn *
make_string(void)
{
  operate(OP_STR, 1, 5, 0);
  struct drawn *string = draw_string("s5");
  draw_register(1, to(string));
  return string;
}

/* A table in r0 that holds the string in r1 at 1. */
static inline struct drawn *
make_pair(struct drawn **ret_string)
{
  struct drawn *table = make_table();
  *ret_string = make_string();
  operate(OP_SETI, 0, 1, 1);
  draw_edge(table, SUBJECT_LABEL_ENTRY, 1, to(*ret_string));
  return table;
}

/* A closure in r3 over r4, whose upvalue is open. */
static inline struct drawn *
make_closure(struct drawn **ret_upvalue)
{
  operate(OP_INT, 4, 44, 0);
  draw_register(4, number(44));
  operate(OP_CLOSURE, 3, 4, 1);
  struct drawn *prototype = draw(SUBJECT_KIND_PROTOTYPE);
  struct drawn *closure = draw(SUBJECT_KIND_CLOSURE);
  struct drawn *upvalue = draw(SUBJECT_KIND_UPVALUE);
  upvalue->object.flags = SUBJECT_OBJECT_OPEN;
  draw_edge(upvalue, SUBJECT_LABEL_VALUE, 0, number(44));
  draw_edge(closure, SUBJECT_LABEL_PROTOTYPE, 0, to(prototype));
  draw_edge(closure, SUBJECT_LABEL_UPVALUE, 0, to(upvalue));
  draw_register(3, to(closure));
  *ret_upvalue = upvalue;
  return closure;
}

/* ---- completeness ---------------------------------------------------- */

/* The laws that test_oracle_ages.c, test_oracle_pacing.c, test_oracle_weak.c,
 * test_oracle_finalizers.c and test_oracle_liveness.c trip, each by a list of
 * its own. */
static inline bool
is_law_of_others(enum law law)
{
  return (law >= LAW_OLD_TO_YOUNG && law <= LAW_EMERGENCY) ||
         (law >= LAW_PACING_STOPPED && law <= LAW_LIVENESS_MINOR);
}

/* The laws that test_oracle_events.c trips; test_oracle.c trips the rest. */
static inline bool
is_law_of_events(enum law law)
{
  return law == LAW_BIRTH_COLOUR || law == LAW_COLOUR_CHANGE ||
         law == LAW_PHASE_CHANGE || law == LAW_ATOMIC_INTERRUPTED ||
         law == LAW_STEP_SIZE || law >= LAW_BYTE_COUNT;
}

static inline void
expect_tripped(const enum law *laws, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (!tripped[laws[i]])
      fail_msg("no test trips %s", law_infos[laws[i]].id);
}

static inline void
expect_all_tripped(bool are_of_events)
{
  for (int law = LAW_NONE + 1; law < LAW_COUNT; law++)
    if (!is_law_of_others((enum law)law) &&
        is_law_of_events((enum law)law) == are_of_events && !tripped[law])
      fail_msg("no test trips %s", law_infos[law].id);
}

#endif
