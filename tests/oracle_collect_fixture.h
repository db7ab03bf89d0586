/* SPDX-License-Identifier: MIT
 *
 * What the tests of weak tables, finalizers and full collections draw and tell
 * beside oracle_fixture.h: tables with metatables, entries whose keys are
 * objects, atomic phases, separations and calls.
 */
#ifndef PENUMBRA_TESTS_ORACLE_COLLECT_FIXTURE_H
#define PENUMBRA_TESTS_ORACLE_COLLECT_FIXTURE_H

#include "tests/oracle_fixture.h"

/* ---- drawing --------------------------------------------------------- */

/* The traits of 5.4 that the laws of these tests ask for. */
static inline void
set_collecting_traits(void)
{
  traits.mode_at_atomic = true;
  traits.values_cleared_first = true;
  traits.order_of_marking = true;
  traits.errors_contained = traits.errors_warned = true;
  traits.cycles_plain = 1;
  traits.cycles_finalizer = 1;
  traits.cycles_finalized = 1;
}

/* Colours have laws of their own: a test that is not about them goes without,
 * and need not paint. */
static inline void
begin_colourless(void)
{
  set_collecting_traits();
  subject.capabilities &= ~(uint32_t)SUBJECT_CAN_COLOUR;
  begin();
}

/* The same for a subject that tells only what the arena and every subject
 * does. */
static inline void
begin_silent(void)
{
  subject.capabilities &= ~(uint32_t)SUBJECT_CAN_EVENTS;
  begin_colourless();
}

/* An object of whose birth nothing is told. */
static inline struct drawn *
draw_untold(enum subject_kind kind)
{
  struct drawn *drawn = &page.drawn[page.count++];
  assert_true(page.count <= OBJECTS_MAX);
  *drawn = (struct drawn){
      .object = {.kind = (uint8_t)kind, .size = 40, .list = SUBJECT_LIST_ALL}};
  drawn->object.base = allocate(drawn->object.size);
  return drawn;
}

/* The interned string of the text, drawn when it is first needed. */
static inline struct drawn *
name_of(const char *text)
{
  for (unsigned i = 0; i < page.count; i++) {
    struct drawn *drawn = &page.drawn[i];
    if (drawn->object.text && !drawn->hidden &&
        strcmp((const char *)drawn->object.text, text) == 0)
      return drawn;
  }
  return draw_string(text);
}

static inline struct subject_edge *
draw_entry(struct drawn *table, struct subject_value key,
           struct subject_value value)
{
  struct subject_edge *edge = draw_edge(table, SUBJECT_LABEL_ENTRY, 0, value);
  edge->key = key;
  return edge;
}

static inline struct drawn *
draw_metatable(struct drawn *of, const char *event, struct subject_value value)
{
  struct drawn *name = name_of(event);
  struct drawn *metatable = draw(SUBJECT_KIND_TABLE);
  draw_entry(metatable, to(name), value);
  draw_edge(of, SUBJECT_LABEL_METATABLE, 0, to(metatable));
  return metatable;
}

/* A weak table in register n; weak: OP_WEAK_*. */
static inline struct drawn *
make_weak(int32_t n, int32_t weak)
{
  operate(OP_NEWWEAK, n, weak, 0);
  struct drawn *table = draw(SUBJECT_KIND_TABLE);
  struct drawn *mode = name_of(op_word_text(OP_OPERAND_WEAK, weak));
  draw_metatable(table, "__mode", to(mode));
  undraw_register(n);
  draw_register(n, to(table));
  return table;
}

/* table[key] := value, in registers t, k and v. */
static inline struct subject_edge *
make_entry(struct drawn *table, int32_t t, int32_t k, struct drawn *key,
           int32_t v, struct drawn *value)
{
  operate(OP_SET, t, k, v);
  return draw_entry(table, to(key), to(value));
}

/* A table that is marked for finalization, in register n. */
static inline struct drawn *
make_finalizable(int32_t n, int32_t behaviour)
{
  struct subject_value call = {.bits = 8 + (uint64_t)behaviour,
                               .tag = SUBJECT_CFUNC};
  operate(OP_NEWFIN, n, behaviour, 0);
  struct drawn *table = draw(SUBJECT_KIND_TABLE);
  draw_metatable(table, "__gc",
                 behaviour == OP_BEHAVIOUR_NUMBER ? number(1) : call);
  table->object.list = SUBJECT_LIST_FINALIZABLE;
  table->object.flags |= SUBJECT_OBJECT_MARKED;
  undraw_register(n);
  draw_register(n, to(table));
  look(ORACLE_BETWEEN); /* it is bound while a register has it */
  return table;
}

/* ---- events ---------------------------------------------------------- */

/* A micro-step that reaches the atomic phase. */
static inline void
begin_atomic(void)
{
  begin_operation(OP_MICROSTEP, 1, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
}

/* ... and goes on to wherever. */
static inline void
end_atomic(uint8_t wanted)
{
  enter(wanted);
  end_operation(SUBJECT_DONE);
}

static inline void
tell_cleared(const struct drawn *table, const struct drawn *side, bool is_key)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_CLEARED,
                              .base = table->object.base,
                              .kind = table->object.kind,
                              .value = side->object.base,
                              .from = is_key});
}

static inline void
relist(struct drawn *drawn, uint8_t list)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_RELISTED,
                              .base = drawn->object.base,
                              .kind = drawn->object.kind,
                              .from = drawn->object.list,
                              .to = list});
  drawn->object.list = list;
}

static inline void
separate(struct drawn *drawn)
{
  relist(drawn, SUBJECT_LIST_PENDING);
}

static inline void
begin_call(struct drawn *drawn)
{
  relist(drawn, SUBJECT_LIST_ALL);
  drawn->object.flags &= (uint8_t)~SUBJECT_OBJECT_MARKED;
  tell((struct subject_event){.type = SUBJECT_EVENT_FINALIZER,
                              .base = drawn->object.base,
                              .kind = drawn->object.kind});
}

static inline void
end_call(const struct drawn *drawn, bool has_raised)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_FINALIZED,
                              .base = drawn->object.base,
                              .kind = drawn->object.kind,
                              .to = has_raised});
}

static inline void
call(struct drawn *drawn)
{
  begin_call(drawn);
  end_call(drawn, false);
}

static inline void
warn(void)
{
  tell((struct subject_event){.type = SUBJECT_EVENT_WARNING,
                              .text = "error in __gc"});
}

/* A cycle in one operation: atomic phase, then the pause. Nothing is told of
 * it but phases. */
static inline void
collect_nothing(void)
{
  begin_operation(OP_COLLECT, 0, 0, 0);
  enter(SUBJECT_PHASE_ATOMIC);
  enter(SUBJECT_PHASE_PAUSE);
  end_operation(SUBJECT_DONE);
}

#endif
