/* SPDX-License-Identifier: MIT
 *
 * Shows the heap of the built-in collector to the oracle. It reads the
 * collector's structures and changes nothing. Before a link is followed the
 * visitor is asked whether it leads to a live block, since the heap may be
 * broken: that is what it is surveyed for.
 *
 * Labels: slots of a frame's 16 registers are REGISTER, to-be-closed slots
 * above them TBC, the coroutine at the top of a stack that waits for it
 * RESUMED. Any other slot is a temporary of an operation under way: it is
 * shown as a register beyond the 16, which between operations none may be.
 */
#include <stddef.h>
#include <string.h>

#include "gc/heap.h"
#include "subjects/model.h"

#define BASE(pointer) ((uint64_t)(uintptr_t)(pointer))

/* The enumerations of collector and contract agree where they are cast. */
_Static_assert((int)GC_KIND_STRING_SHORT == (int)SUBJECT_KIND_STRING_SHORT &&
                   (int)GC_KIND_STRING_LONG == (int)SUBJECT_KIND_STRING_LONG &&
                   (int)GC_KIND_TABLE == (int)SUBJECT_KIND_TABLE &&
                   (int)GC_KIND_USERDATA == (int)SUBJECT_KIND_USERDATA &&
                   (int)GC_KIND_NATIVE_CLOSURE == (int)SUBJECT_KIND_CCLOSURE &&
                   (int)GC_KIND_CLOSURE == (int)SUBJECT_KIND_CLOSURE &&
                   (int)GC_KIND_THREAD == (int)SUBJECT_KIND_THREAD &&
                   (int)GC_KIND_PROTOTYPE == (int)SUBJECT_KIND_PROTOTYPE &&
                   (int)GC_KIND_UPVALUE == (int)SUBJECT_KIND_UPVALUE,
               "kinds");
_Static_assert((int)GC_WHITE_CURRENT == (int)SUBJECT_WHITE_CURRENT &&
                   (int)GC_WHITE_OTHER == (int)SUBJECT_WHITE_OTHER &&
                   (int)GC_GREY == (int)SUBJECT_GREY &&
                   (int)GC_BLACK == (int)SUBJECT_BLACK,
               "colours");
_Static_assert((int)GC_GREY_NOW == (int)SUBJECT_GREY_NOW &&
                   (int)GC_GREY_AGAIN == (int)SUBJECT_GREY_AGAIN &&
                   (int)GC_GREY_ALLWEAK == (int)SUBJECT_GREY_ALLWEAK,
               "grey lists");
_Static_assert((int)GC_AGE_NEW == (int)SUBJECT_AGE_NEW &&
                   (int)GC_AGE_SURVIVAL == (int)SUBJECT_AGE_SURVIVAL &&
                   (int)GC_AGE_OLD0 == (int)SUBJECT_AGE_OLD0 &&
                   (int)GC_AGE_OLD1 == (int)SUBJECT_AGE_OLD1 &&
                   (int)GC_AGE_OLD == (int)SUBJECT_AGE_OLD &&
                   (int)GC_AGE_TOUCHED1 == (int)SUBJECT_AGE_TOUCHED1 &&
                   (int)GC_AGE_TOUCHED2 == (int)SUBJECT_AGE_TOUCHED2,
               "ages");

struct survey {
  struct subject_visitor *visitor;
  const struct gc_heap *heap;
  bool dead; /* the object last shown is: it has parts but no edges */
  bool table_is_broken; /* the string table: no string is looked for there */
};

static bool
is_live(const struct survey *s, const void *block)
{
  return s->visitor->is_live(s->visitor, BASE(block));
}

static bool
may_follow(const struct survey *s, const void *link, const char *where)
{
  return subject_may_follow(s->visitor, BASE(link), where);
}

/* ---- values and edges ------------------------------------------------ */

/* Which sides of a table are weak. */
struct weakness {
  bool keys, values;
};

uint64_t
model_native_number(gc_native native)
{
  for (uint64_t i = 0; i < MODEL_NATIVES; i++)
    if (model_natives[i] == native)
      return i;
  return MODEL_NATIVES;
}

static struct subject_value
value_of(const struct gc_value *value)
{
  struct subject_value v = {.bits = 0, .tag = SUBJECT_NIL};
  switch ((enum gc_tag)value->tag) {
  case GC_TAG_NIL:
    break;
  case GC_TAG_FALSE:
  case GC_TAG_TRUE:
    v.tag = SUBJECT_BOOLEAN;
    v.bits = value->tag == GC_TAG_TRUE;
    break;
  case GC_TAG_INTEGER:
    v.tag = SUBJECT_INTEGER;
    v.bits = (uint64_t)value->as.integer;
    break;
  case GC_TAG_FLOAT:
    v.tag = SUBJECT_FLOAT;
    v.bits = (uint64_t)value->as.integer; /* the bits of the double */
    break;
  case GC_TAG_POINTER:
    v.tag = SUBJECT_LIGHTUD;
    v.bits = BASE(value->as.pointer);
    break;
  case GC_TAG_NATIVE:
    v.tag = SUBJECT_CFUNC;
    v.bits = model_native_number(value->as.native);
    break;
  case GC_TAG_OBJECT:
    v.tag = SUBJECT_OBJECT;
    v.bits = BASE(value->as.object);
    break;
  case GC_TAG_DEAD_KEY:
    v.tag = SUBJECT_OTHER;
    break;
  }
  return v;
}

static struct subject_value
number(uint64_t n)
{
  return (struct subject_value){.bits = n, .tag = SUBJECT_INTEGER};
}

static struct subject_value
object_value(const void *object)
{
  return (struct subject_value){.bits = BASE(object), .tag = SUBJECT_OBJECT};
}

/* By what the metatable says now. Only a short string counts as __mode. Read
 * apart from the collector (weak.c), so that a mode which that misreads shows,
 * and with an eye on what may be freed memory. */
static struct weakness
weakness_of(const struct survey *s, const struct gc_table *table)
{
  const struct gc_table *metatable = table->metatable;
  struct weakness weak = {false, false};
  if (s->dead || !metatable || !is_live(s, metatable) ||
      (metatable->node_count && !is_live(s, metatable->nodes)))
    return weak;
  struct gc_value key = {.tag = GC_TAG_OBJECT,
                         .as.object = &s->heap->names[GC_NAME_MODE]->head};
  const struct gc_value *mode = gc_table_get(metatable, &key);
  if (!mode || !gc_value_is_object(mode) || !is_live(s, mode->as.object) ||
      mode->as.object->kind != GC_KIND_STRING_SHORT)
    return weak;
  const char *bytes = ((const struct gc_string *)mode->as.object)->bytes;
  weak.keys = strchr(bytes, 'k') != NULL;
  weak.values = strchr(bytes, 'v') != NULL;
  return weak;
}

/* Whether a weak side loses such a value: an object that is no string. What is
 * no live block any more is said to be one: it shows as dangling. */
static bool
may_be_lost(const struct survey *s, const struct gc_value *value)
{
  return gc_value_is_object(value) &&
         (!is_live(s, value->as.object) ||
          value->as.object->kind > GC_KIND_STRING_LONG);
}

static void
edge(const struct survey *s, enum subject_label label, struct subject_value key,
     struct subject_value value)
{
  if (value.tag == SUBJECT_NIL || s->dead)
    return;
  struct subject_edge e = {.key = key, .value = value, .label = label};
  s->visitor->edge(s->visitor, &e);
}

static void
edge_to(const struct survey *s, enum subject_label label, uint64_t n,
        const void *object)
{
  if (object)
    edge(s, label, number(n), object_value(object));
}

/* An edge without key: key nil. */
static void
plain_edge(const struct survey *s, enum subject_label label, const void *object)
{
  if (object)
    edge(s, label, (struct subject_value){0, SUBJECT_NIL},
         object_value(object));
}

static void
part(const struct survey *s, const void *block, size_t size)
{
  if (block)
    s->visitor->part(s->visitor, BASE(block), size);
}

/* ---- objects by kind ------------------------------------------------- */

/* Integer keys of the registry that are the adapter's own. */
static bool
is_internal_key(const struct survey *s, const struct gc_table *table,
                const struct gc_value *key)
{
  return key->tag == GC_TAG_INTEGER && key->as.integer > 0 &&
         key->as.integer < MODEL_REFERENCE &&
         s->heap->registry.as.object == &table->head;
}

/* Nil-valued entries are none. The key of such a node is no reference; while it
 * is not tagged dead it is taken for what it was all the same. */
static void
entry(const struct survey *s, const struct gc_table *table,
      struct weakness weak, const struct gc_value *key,
      const struct gc_value *value)
{
  if (s->dead)
    return;
  if (value->tag == GC_TAG_NIL) {
    if (key->tag == GC_TAG_OBJECT)
      may_follow(s, key->as.object, "key of an empty node");
    return;
  }
  struct subject_edge e = {.key = value_of(key), .value = value_of(value)};
  e.label = is_internal_key(s, table, key) ? SUBJECT_LABEL_INTERNAL
                                           : SUBJECT_LABEL_ENTRY;
  if (weak.keys && may_be_lost(s, key)) {
    e.key_strength = SUBJECT_WEAK;
    if (gc_value_is_object(value))
      e.value_strength = SUBJECT_EPHEMERON;
  }
  if (weak.values)
    e.value_strength = may_be_lost(s, value) ? SUBJECT_WEAK : SUBJECT_STRONG;
  s->visitor->edge(s->visitor, &e);
}

static void
survey_table(const struct survey *s, const struct gc_table *table)
{
  struct weakness weak = weakness_of(s, table);
  part(s, table->array, table->array_size * sizeof *table->array);
  part(s, table->nodes, table->node_count * sizeof *table->nodes);
  plain_edge(s, SUBJECT_LABEL_METATABLE, table->metatable);
  if (table->array_size &&
      !may_follow(s, table->array, "array part of a table"))
    return;
  for (uint32_t i = 0; i < table->array_size; i++) {
    struct gc_value key = {.tag = GC_TAG_INTEGER, .as.integer = i + 1};
    entry(s, table, weak, &key, &table->array[i]);
  }
  if (table->node_count && !may_follow(s, table->nodes, "hash part of a table"))
    return;
  for (uint32_t i = 0; i < table->node_count; i++)
    entry(s, table, weak, &table->nodes[i].key, &table->nodes[i].value);
}

static void
survey_userdata(const struct survey *s, const struct gc_userdata *userdata)
{
  plain_edge(s, SUBJECT_LABEL_METATABLE, userdata->metatable);
  for (uint16_t i = 0; i < userdata->user_value_count; i++)
    edge(s, SUBJECT_LABEL_USERVALUE, number(i),
         value_of(&userdata->user_values[i]));
}

static void
survey_native_closure(const struct survey *s,
                      const struct gc_native_closure *closure)
{
  for (uint8_t i = 0; i < closure->value_count; i++)
    edge(s, SUBJECT_LABEL_UPVALUE, number(i), value_of(&closure->values[i]));
}

static void
survey_closure(const struct survey *s, const struct gc_closure *closure)
{
  plain_edge(s, SUBJECT_LABEL_PROTOTYPE, closure->prototype);
  for (uint8_t i = 0; i < closure->upvalue_count; i++)
    edge_to(s, SUBJECT_LABEL_UPVALUE, i, closure->upvalues[i]);
}

static void
survey_prototype(const struct survey *s, const struct gc_prototype *prototype)
{
  part(s, prototype->constants,
       prototype->constant_capacity * sizeof *prototype->constants);
  part(s, prototype->nested,
       prototype->nested_capacity * sizeof *prototype->nested);
  if (prototype->constant_count &&
      may_follow(s, prototype->constants, "constants of a prototype"))
    for (uint32_t i = 0; i < prototype->constant_count; i++)
      edge(s, SUBJECT_LABEL_CONSTANT, number(i),
           value_of(&prototype->constants[i]));
  if (prototype->nested_count &&
      may_follow(s, prototype->nested, "nested prototypes"))
    for (uint32_t i = 0; i < prototype->nested_count; i++)
      edge_to(s, SUBJECT_LABEL_NESTED, i, prototype->nested[i]);
}

static bool
is_in_stack(const struct survey *s, const struct gc_value *slot,
            const struct gc_thread *thread)
{
  return thread && slot >= thread->stack &&
         slot < thread->stack + thread->stack_size && is_live(s, thread->stack);
}

/* Whether slot lies in the stack of a live thread. The running and the main
 * thread are the likely ones; the others are looked for. */
static bool
is_in_some_stack(const struct survey *s, const struct gc_value *slot)
{
  if (is_in_stack(s, slot, s->heap->running) ||
      is_in_stack(s, slot, s->heap->main))
    return true;
  for (const struct gc_object *o = s->heap->all; o && is_live(s, o);
       o = o->next)
    if (o->kind == GC_KIND_THREAD &&
        is_in_stack(s, slot, (const struct gc_thread *)o))
      return true;
  return false;
}

static void
survey_upvalue(const struct survey *s, const struct gc_upvalue *upvalue)
{
  if (s->dead)
    return;
  if (gc_upvalue_is_open(upvalue) && !is_in_some_stack(s, upvalue->slot)) {
    s->visitor->broken(s->visitor, "slot of an open upvalue",
                       BASE(upvalue->slot));
    return;
  }
  edge(s, SUBJECT_LABEL_VALUE, (struct subject_value){0, SUBJECT_NIL},
       value_of(upvalue->slot));
}

/* ---- threads --------------------------------------------------------- */

/* Where a slot stands in its frame: label and key. end is the first slot that
 * is not the frame's. */
static void
survey_frame(const struct survey *s, const struct gc_thread *thread,
             const struct gc_frame *frame, uint64_t depth, uint32_t end)
{
  uint64_t key = depth << 16;
  uint32_t registers_end = frame->base + OP_REGISTERS;
  uint32_t to_close = 0;
  uint64_t closers = 0;
  if (frame->function < frame->base)
    edge(s, SUBJECT_LABEL_FUNCTION, number(depth),
         value_of(&thread->stack[frame->function]));
  for (uint32_t i = frame->function + 1; i < frame->base; i++)
    edge(s, SUBJECT_LABEL_VARARG, number(key + i - frame->function - 1),
         value_of(&thread->stack[i]));
  for (uint32_t i = frame->base; i < end && i < registers_end; i++)
    edge(s, SUBJECT_LABEL_REGISTER, number(key + i - frame->base),
         value_of(&thread->stack[i]));
  for (uint32_t i = registers_end; i < end; i++) {
    enum subject_label label = SUBJECT_LABEL_REGISTER;
    while (to_close < thread->to_close_count && thread->to_close[to_close] < i)
      to_close++;
    bool closes =
        to_close < thread->to_close_count && thread->to_close[to_close] == i;
    if (closes)
      label = SUBJECT_LABEL_TBC;
    else if (i + 1 == thread->top && thread->status == GC_THREAD_NORMAL)
      label = SUBJECT_LABEL_RESUMED;
    struct subject_value value = value_of(&thread->stack[i]);
    if (label == SUBJECT_LABEL_RESUMED)
      edge(s, label, (struct subject_value){0, SUBJECT_NIL}, value);
    else
      edge(s, label, number(key + (closes ? closers++ : i - frame->base)),
           value);
  }
}

static void
survey_stack(const struct survey *s, const struct gc_thread *thread)
{
  if (!may_follow(s, thread->stack, "stack of a coroutine"))
    return;
  if (thread->to_close_count &&
      !may_follow(s, thread->to_close, "to-be-closed slots"))
    return;
  if (!gc_is_started(thread)) {
    if (thread->top)
      edge(s, SUBJECT_LABEL_START, (struct subject_value){0, SUBJECT_NIL},
           value_of(&thread->stack[thread->top - 1]));
    return;
  }
  uint64_t depth = 0;
  for (const struct gc_frame *frame = thread->frame ? &thread->first : NULL;
       frame; frame = frame->next, depth++) {
    bool last = frame == thread->frame;
    uint32_t end = last ? thread->top : frame->next->function;
    survey_frame(s, thread, frame, depth, end);
    if (last)
      break;
  }
}

static void
survey_thread(const struct survey *s, const struct gc_thread *thread)
{
  part(s, thread->stack, thread->stack_size * sizeof *thread->stack);
  part(s, thread->to_close,
       thread->to_close_capacity * sizeof *thread->to_close);
  for (const struct gc_frame *frame = thread->first.next; frame;
       frame = frame->next) {
    if (!may_follow(s, frame, "frames of a coroutine"))
      return;
    part(s, frame, sizeof *frame);
  }
  if (s->dead)
    return;
  survey_stack(s, thread);
  uint64_t n = 0;
  for (const struct gc_upvalue *upvalue = thread->open; upvalue;
       upvalue = upvalue->open_next) {
    if (!may_follow(s, upvalue, "open upvalues of a coroutine"))
      return;
    edge_to(s, SUBJECT_LABEL_INTERNAL, n++, upvalue);
  }
}

/* ---- strings --------------------------------------------------------- */

/* The whole table: each chain leads to live strings only. Comes before all
 * strings, so that is_interned() may follow chains unasked. */
static void
survey_string_table(struct survey *s)
{
  const struct gc_string_table *table = &s->heap->strings;
  part(s, table->buckets, table->bucket_count * sizeof *table->buckets);
  s->table_is_broken = !may_follow(s, table->buckets, "string table");
  if (s->table_is_broken)
    return;
  for (uint32_t i = 0; i < table->bucket_count; i++)
    for (const struct gc_string *link = table->buckets[i]; link;
         link = link->chain)
      if (!may_follow(s, link, "string table")) {
        s->table_is_broken = true;
        break;
      }
}

static bool
is_interned(const struct survey *s, const struct gc_string *string)
{
  const struct gc_string_table *table = &s->heap->strings;
  const struct gc_string *link =
      table->buckets[string->hash & (table->bucket_count - 1)];
  if (s->table_is_broken)
    return true;
  while (link && link != string)
    link = link->chain;
  return link == string;
}

/* ---- the heap -------------------------------------------------------- */

static void
survey_contents(const struct survey *s, const struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_TABLE:
    survey_table(s, (const struct gc_table *)object);
    break;
  case GC_KIND_USERDATA:
    survey_userdata(s, (const struct gc_userdata *)object);
    break;
  case GC_KIND_NATIVE_CLOSURE:
    survey_native_closure(s, (const struct gc_native_closure *)object);
    break;
  case GC_KIND_CLOSURE:
    survey_closure(s, (const struct gc_closure *)object);
    break;
  case GC_KIND_THREAD:
    survey_thread(s, (const struct gc_thread *)object);
    break;
  case GC_KIND_PROTOTYPE:
    survey_prototype(s, (const struct gc_prototype *)object);
    break;
  case GC_KIND_UPVALUE:
    survey_upvalue(s, (const struct gc_upvalue *)object);
    break;
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
  case GC_KIND_COUNT:
    break;
  }
}

static void
survey_object(struct survey *s, const struct gc_object *object,
              enum subject_list list, enum subject_segment segment, bool swept)
{
  struct subject_object shown = {
      .base = BASE(object),
      .size = (uint32_t)gc_object_size(object),
      .kind = object->kind,
      .colour = (uint8_t)gc_colour_of(s->heap, object),
      .list = (uint8_t)list,
      .age = object->age,
      .segment = (uint8_t)segment,
      .flags = swept ? SUBJECT_OBJECT_SWEPT : 0};
  if (object->mark & GC_MARK_FIXED)
    shown.flags |= SUBJECT_OBJECT_FIXED;
  if (object->mark & GC_MARK_FINALIZABLE)
    shown.flags |= SUBJECT_OBJECT_MARKED;
  s->dead = gc_is_dead(s->heap, object);
  if (object->kind <= GC_KIND_STRING_LONG) {
    const struct gc_string *string = (const struct gc_string *)object;
    shown.text = (const uint8_t *)string->bytes;
    shown.text_size = string->length;
    if (object->kind == GC_KIND_STRING_SHORT && is_interned(s, string))
      shown.flags |= SUBJECT_OBJECT_INTERNED;
  } else if (object->kind == GC_KIND_UPVALUE &&
             gc_upvalue_is_open((const struct gc_upvalue *)object)) {
    shown.flags |= SUBJECT_OBJECT_OPEN;
  }
  s->visitor->object(s->visitor, &shown);
  survey_contents(s, object);
}

/* The phase that sweeps a list; lists that are never swept: the pause. */
static enum gc_phase
sweep_phase_of(enum subject_list list)
{
  switch (list) {
  case SUBJECT_LIST_ALL:
    return GC_PHASE_SWEEP;
  case SUBJECT_LIST_FINALIZABLE:
    return GC_PHASE_SWEEP_FINALIZABLE;
  case SUBJECT_LIST_PENDING:
    return GC_PHASE_SWEEP_PENDING;
  default:
    return GC_PHASE_PAUSE;
  }
}

/* Where the parts of a list begin, while cycles go by age. */
struct parts {
  const struct gc_object *survival, *old1, *really_old;
};

static struct parts
parts_of(const struct gc_heap *heap, enum subject_list list)
{
  switch (list) {
  case SUBJECT_LIST_ALL:
    return (struct parts){heap->survival, heap->old1, heap->really_old};
  case SUBJECT_LIST_FINALIZABLE:
    return (struct parts){heap->finalizable_survival, heap->finalizable_old1,
                          heap->finalizable_really_old};
  default:
    return (struct parts){NULL, NULL, NULL};
  }
}

/* The part that object lies in, if the one before it lies in segment. Parts
 * may be empty. */
static enum subject_segment
segment_of(const struct parts *parts, enum subject_segment segment,
           const struct gc_object *object)
{
  if (object == parts->survival && segment < SUBJECT_SEGMENT_SURVIVAL)
    segment = SUBJECT_SEGMENT_SURVIVAL;
  if (object == parts->old1 && segment < SUBJECT_SEGMENT_OLD1)
    segment = SUBJECT_SEGMENT_OLD1;
  if (object == parts->really_old)
    segment = SUBJECT_SEGMENT_OLD;
  return segment;
}

static void
survey_list(struct survey *s, struct gc_object *const *head,
            enum subject_list list, const char *name)
{
  struct parts parts = parts_of(s->heap, list);
  bool has_parts = s->heap->cycle_mode == GC_MODE_GENERATIONAL &&
                   (list == SUBJECT_LIST_ALL ||
                    list == SUBJECT_LIST_FINALIZABLE);
  enum subject_segment segment =
      has_parts ? SUBJECT_SEGMENT_NEW : SUBJECT_SEGMENT_NONE;
  enum gc_phase phase = (enum gc_phase)s->heap->phase;
  enum gc_phase sweep = sweep_phase_of(list);
  bool swept = phase >= sweep;
  for (struct gc_object *const *link = head; *link; link = &(*link)->next) {
    if (phase == sweep && link == s->heap->sweep)
      swept = false;
    if (!may_follow(s, *link, name))
      return;
    if (has_parts)
      segment = segment_of(&parts, segment, *link);
    survey_object(s, *link, list, segment, swept);
  }
}

static void
survey_open_threads(const struct survey *s)
{
  for (const struct gc_thread *thread = s->heap->open_threads; thread;
       thread = thread->open_next)
    if (!may_follow(s, thread, "threads with open upvalues"))
      return;
}

static void
survey_root(struct survey *s, const struct subject_instance *model)
{
  const struct gc_heap *heap = s->heap;
  struct subject_object root = {.kind = SUBJECT_KIND_ROOT,
                                .colour = SUBJECT_GREY};
  s->dead = false;
  s->visitor->object(s->visitor, &root);
  part(s, model, sizeof *model);
  part(s, heap, sizeof *heap);
  survey_string_table(s);
  survey_open_threads(s);
  edge(s, SUBJECT_LABEL_REGISTRY, (struct subject_value){0, SUBJECT_NIL},
       value_of(&heap->registry));
  plain_edge(s, SUBJECT_LABEL_MAIN, heap->main);
  plain_edge(s, SUBJECT_LABEL_CURRENT, heap->running);
  for (uint64_t i = 0; i < GC_BASIC_COUNT; i++)
    edge_to(s, SUBJECT_LABEL_BASICMETA, i, heap->metatables[i]);
  for (uint64_t i = 0; i < GC_NAME_COUNT; i++)
    edge_to(s, SUBJECT_LABEL_INTERNAL, i, heap->names[i]);
  if (heap->registry.tag == GC_TAG_OBJECT &&
      is_live(s, heap->registry.as.object)) {
    struct gc_value key = {.tag = GC_TAG_INTEGER,
                           .as.integer = GC_REGISTRY_GLOBALS};
    const struct gc_value *globals =
        gc_table_get((const struct gc_table *)heap->registry.as.object, &key);
    if (globals)
      edge(s, SUBJECT_LABEL_GLOBALS, (struct subject_value){0, SUBJECT_NIL},
           value_of(globals));
  }
}

static struct gc_object *
grey_next(const struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_TABLE:
    return ((const struct gc_table *)object)->grey_next;
  case GC_KIND_USERDATA:
    return ((const struct gc_userdata *)object)->grey_next;
  case GC_KIND_NATIVE_CLOSURE:
    return ((const struct gc_native_closure *)object)->grey_next;
  case GC_KIND_CLOSURE:
    return ((const struct gc_closure *)object)->grey_next;
  case GC_KIND_THREAD:
    return ((const struct gc_thread *)object)->grey_next;
  case GC_KIND_PROTOTYPE:
    return ((const struct gc_prototype *)object)->grey_next;
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
  case GC_KIND_UPVALUE:
  case GC_KIND_COUNT:
    break;
  }
  return NULL;
}

/* A list longer than all live blocks runs in a circle: the visitor is shown a
 * member twice and finds it out; the walk ends there. */
static void
survey_grey_list(const struct survey *s, const struct gc_object *first,
                 enum subject_grey list, size_t longest)
{
  for (const struct gc_object *o = first; o && longest; o = grey_next(o)) {
    if (!may_follow(s, o, "grey list"))
      return;
    s->visitor->grey(s->visitor, BASE(o), list);
    longest--;
  }
}

void
model_survey(struct subject_instance *model, struct subject_visitor *visitor)
{
  struct survey s = {.visitor = visitor, .heap = model->heap};
  struct subject_heap heap = {.bytes = gc_bytes(s.heap) + sizeof *model,
                              .phase = (uint8_t)model_phase(model),
                              .mode = (uint8_t)gc_mode_of(s.heap),
                              .by_age = model_rests_by_age(model),
                              .stopped = gc_is_stopped(s.heap)};
  visitor->heap(visitor, &heap);
  survey_root(&s, model);
  survey_list(&s, &s.heap->all, SUBJECT_LIST_ALL, "heap list");
  survey_list(&s, &s.heap->finalizable, SUBJECT_LIST_FINALIZABLE,
              "list of finalizable objects");
  survey_list(&s, &s.heap->pending, SUBJECT_LIST_PENDING,
              "list of pending objects");
  survey_list(&s, &s.heap->fixed, SUBJECT_LIST_FIXED, "list of fixed objects");
  survey_grey_list(&s, s.heap->grey, SUBJECT_GREY_NOW, s.heap->sequence);
  survey_grey_list(&s, s.heap->grey_again, SUBJECT_GREY_AGAIN,
                   s.heap->sequence);
  survey_grey_list(&s, s.heap->grey_weak, SUBJECT_GREY_WEAK, s.heap->sequence);
  survey_grey_list(&s, s.heap->grey_ephemeron, SUBJECT_GREY_EPHEMERON,
                   s.heap->sequence);
  survey_grey_list(&s, s.heap->grey_allweak, SUBJECT_GREY_ALLWEAK,
                   s.heap->sequence);
}
