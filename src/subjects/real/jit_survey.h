/* SPDX-License-Identifier: MIT
 *
 * The heap of LuaJIT as the oracle wants to see it. Included by jit_heap.c
 * alone, after the tree's collector. It reads and changes nothing; before a
 * link is followed the visitor is asked whether it leads to a live block.
 *
 * What is no object of the stream's, and is shown all the same: prototypes,
 * upvalues, traces, environments of functions, the VM's main thread. What is
 * not shown: the empty string, which lies in the state's own block; keys of
 * nil-valued nodes, which are left as they are; keys of the table of cdata
 * finalizers, which is weak in a way of its own.
 *
 * Functions of C are objects in this VM; a closure without upvalues over one of
 * the adapter's natives is the light C function of that number all the same.
 */
#ifndef PENUMBRA_SUBJECTS_REAL_JIT_SURVEY_H
#define PENUMBRA_SUBJECTS_REAL_JIT_SURVEY_H

#include <math.h>
#include <string.h>

#define BASE(pointer) ((uint64_t)(uintptr_t)(pointer))

enum {
  REAL_STACK_MARGIN = 64, /* slots: what the driver needs beside its locals */
  /* Before a variable-sized cdata lies its header. */
  CDATA_HEADER = sizeof(GCcdataVar)
};

struct survey {
  struct subject_visitor *visitor;
  global_State *g;
  const struct subject_instance *instance;
  bool dead; /* the object last shown is: it has parts but no edges */
  bool swept; /* the sweep has been at the object at hand */
};

/* One activation of the driver. */
struct frame {
  TValue *base; /* its first local; NULL: there is none */
  TValue *bottom; /* the first slot that belongs to it, above the next one */
  TValue *varargs;
  int vararg_count;
};

/* ---- values ---------------------------------------------------------- */

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

static struct subject_value
number(uint64_t n)
{
  return (struct subject_value){.bits = n, .tag = SUBJECT_INTEGER};
}

static struct subject_value
number_of(double n)
{
  struct subject_value v = {.tag = SUBJECT_INTEGER};
  if (n >= -0x1p53 && n <= 0x1p53 && n == floor(n))
    v.bits = (uint64_t)(int64_t)n;
  else {
    v.tag = SUBJECT_FLOAT;
    memcpy(&v.bits, &n, sizeof v.bits);
  }
  return v;
}

/* The base of a cdata's block. If the object is no live block it is the
 * header before it that is, or neither. */
static uint64_t
base_of_cdata(const struct survey *s, GCcdata *cdata)
{
  uint64_t header = BASE(cdata) - CDATA_HEADER;
  if (s->visitor && !is_live(s, cdata) &&
      s->visitor->is_live(s->visitor, header))
    return BASE(memcdatav(cdata));
  return BASE(cdata);
}

static struct subject_value
object_value(const struct survey *s, GCobj *object, bool is_cdata)
{
  return (struct subject_value){
      .bits = is_cdata ? base_of_cdata(s, &object->cd) : BASE(object),
      .tag = SUBJECT_OBJECT};
}

/* Functions are looked into only if they are live blocks. */
static struct subject_value
function_value(const struct survey *s, GCobj *object)
{
  if (!s->visitor || is_live(s, object)) {
    const GCfuncC *function = &object->fn.c;
    if (function->ffid == FF_C && function->nupvalues == 0) {
      uint64_t n = real_native_number(function->f);
      if (n < REAL_NATIVES)
        return (struct subject_value){.bits = n, .tag = SUBJECT_CFUNC};
    }
  }
  return object_value(s, object, false);
}

static struct subject_value
value_of(const struct survey *s, cTValue *value)
{
  struct subject_value v = {.bits = 0, .tag = SUBJECT_NIL};
  if (tvisnil(value))
    return v;
  if (tvisint(value))
    return number((uint64_t)(int64_t)intV(value));
  if (tvisnumber(value))
    return number_of(numV(value));
  if (tvisbool(value)) {
    v.tag = SUBJECT_BOOLEAN;
    v.bits = tvistrue(value);
  } else if (tvislightud(value)) {
    v.tag = SUBJECT_LIGHTUD;
    v.bits = BASE(lightudV(s->g, value));
  } else if (tvisstr(value) && gcval(value) == obj2gco(&s->g->strempty)) {
    v.tag = SUBJECT_OTHER;
  } else if (tvisfunc(value)) {
    v = function_value(s, gcval(value));
  } else {
    v = object_value(s, gcval(value), tviscdata(value));
  }
  return v;
}

/* ---- edges and parts ------------------------------------------------- */

static void
edge(const struct survey *s, enum subject_label label, struct subject_value key,
     struct subject_value value)
{
  struct subject_edge e = {.key = key, .value = value, .label = label};
  if (value.tag != SUBJECT_NIL && !s->dead)
    s->visitor->edge(s->visitor, &e);
}

/* The object behind a light C function. */
static void
native_edge(const struct survey *s, struct subject_value shown, cTValue *value)
{
  if (shown.tag == SUBJECT_CFUNC)
    edge(s, SUBJECT_LABEL_INTERNAL, number(shown.bits),
         object_value(s, gcval(value), false));
}

static void
value_edge(const struct survey *s, enum subject_label label,
           struct subject_value key, cTValue *value)
{
  struct subject_value shown = value_of(s, value);
  edge(s, label, key, shown);
  native_edge(s, shown, value);
}

static void
edge_at(const struct survey *s, enum subject_label label, uint64_t n,
        cTValue *value)
{
  value_edge(s, label, number(n), value);
}

/* An edge without key. */
static void
plain_edge_at(const struct survey *s, enum subject_label label, cTValue *value)
{
  value_edge(s, label, (struct subject_value){0, SUBJECT_NIL}, value);
}

/* An edge to an object, if it is there; not to be used for cdata. */
static void
edge_to(const struct survey *s, enum subject_label label, uint64_t n,
        const void *object)
{
  if (object && object != &s->g->strempty)
    edge(s, label, number(n),
         (struct subject_value){.bits = BASE(object), .tag = SUBJECT_OBJECT});
}

static void
plain_edge(const struct survey *s, enum subject_label label, const void *object)
{
  if (object)
    edge(s, label, (struct subject_value){0, SUBJECT_NIL},
         (struct subject_value){.bits = BASE(object), .tag = SUBJECT_OBJECT});
}

static void
part(const struct survey *s, const void *block, size_t size)
{
  if (block && size)
    s->visitor->part(s->visitor, BASE(block), size);
}

/* ---- tables ---------------------------------------------------------- */

/* Which sides of a table are weak. */
struct weakness {
  bool keys, values;
};

/* What a metatable says now, not what the cache does that the collector asks;
 * NULL: nothing. */
static cTValue *
event_of(const struct survey *s, const GCtab *metatable, MMS event)
{
  if (!metatable || !is_live(s, metatable) || !metatable->hmask ||
      !is_live(s, noderef(metatable->node)))
    return NULL;
  const Node *node = noderef(metatable->node);
  const GCobj *name = obj2gco(mmname_str(s->g, event));
  for (uint32_t i = 0; i <= metatable->hmask; i++)
    if (tvisstr(&node[i].key) && gcval(&node[i].key) == name)
      return tvisnil(&node[i].val) ? NULL : &node[i].val;
  return NULL;
}

static struct weakness
weakness_of(const struct survey *s, const GCtab *table)
{
  struct weakness weak = {false, false};
  if (s->dead)
    return weak;
  cTValue *mode = event_of(s, tabref(table->metatable), MM_mode);
  if (mode && tvisstr(mode) && is_live(s, gcval(mode))) {
    weak.keys = strchr(strVdata(mode), 'k') != NULL;
    weak.values = strchr(strVdata(mode), 'v') != NULL;
  }
  return weak;
}

/* Whether a weak side loses such a value. */
static bool
may_be_lost(cTValue *value)
{
  return tvisgcv(value) && !tvisstr(value);
}

/* Low integer keys of the registry are the adapter's own, and names with an
 * underscore first are those of the libraries. */
static bool
is_internal(const struct survey *s, const GCtab *table,
            struct subject_value key, cTValue *key_at)
{
  if (table != tabV(&s->g->registrytv))
    return false;
  if (key_at && tvisstr(key_at))
    return strVdata(key_at)[0] == '_';
  return key.tag == SUBJECT_INTEGER && (int64_t)key.bits < REAL_REFERENCE;
}

static void
entry(const struct survey *s, const GCtab *table, struct weakness weak,
      struct subject_value key, cTValue *key_at, cTValue *value)
{
  if (s->dead || tvisnil(value))
    return;
  struct subject_edge e = {.key = key, .value = value_of(s, value)};
  e.label = is_internal(s, table, key, key_at) ? SUBJECT_LABEL_INTERNAL
                                               : SUBJECT_LABEL_ENTRY;
  if (weak.keys && key_at && may_be_lost(key_at))
    e.key_strength = SUBJECT_WEAK;
  if (weak.values && may_be_lost(value))
    e.value_strength = SUBJECT_WEAK;
  s->visitor->edge(s->visitor, &e);
  native_edge(s, e.value, value);
  if (key_at)
    native_edge(s, key, key_at);
}

/* The table of cdata finalizers; older releases keep it with the C types, which
 * are there when the library has been opened. */
static const GCobj *
finalizers_of(const global_State *g)
{
#ifdef REAL_FINALIZERS_WITH_TYPES
  const CTState *types = mref(g->ctype_state, CTState);
  return types ? obj2gco(types->finalizer) : NULL;
#else
  return gcref(g->gcroot[GCROOT_FFI_FIN]);
#endif
}

static void
survey_table(const struct survey *s, const GCtab *table)
{
  struct weakness weak = weakness_of(s, table);
  const TValue *array = tvref(table->array);
  const Node *node = noderef(table->node);
  bool is_finalizers = finalizers_of(s->g) == obj2gco(table);
  if (table->colo <= 0 && table->asize)
    part(s, array, table->asize * sizeof *array);
  if (table->hmask)
    part(s, node, (table->hmask + (size_t)1) * sizeof *node);
  plain_edge(s, SUBJECT_LABEL_METATABLE, tabref(table->metatable));
  if (table->asize &&
      (table->colo > 0 || may_follow(s, array, "array part of a table")))
    for (uint32_t i = 0; i < table->asize; i++)
      entry(s, table, weak, number(i), NULL, &array[i]);
  if (!table->hmask || !may_follow(s, node, "hash part of a table"))
    return;
  for (uint32_t i = 0; i <= table->hmask; i++)
    if (is_finalizers)
      edge_at(s, SUBJECT_LABEL_INTERNAL, i, &node[i].val);
    else
      entry(s, table, weak, value_of(s, &node[i].key), &node[i].key,
            &node[i].val);
}

/* ---- functions ------------------------------------------------------- */

/* That of the globals stands for nil. */
static bool
is_globals(const struct survey *s, const GCtab *environment)
{
  return environment == tabref(mainthread(s->g)->env);
}

static void
environment_edge(const struct survey *s, const GCtab *environment)
{
  plain_edge(s,
             is_globals(s, environment) ? SUBJECT_LABEL_INTERNAL
                                        : SUBJECT_LABEL_ENVIRONMENT,
             environment);
}

static void
survey_function(const struct survey *s, GCfunc *function)
{
  environment_edge(s, tabref(function->c.env));
  if (isluafunc(function)) {
    plain_edge(s, SUBJECT_LABEL_PROTOTYPE, funcproto(function));
    for (uint32_t i = 0; i < function->l.nupvalues; i++)
      edge_to(s, SUBJECT_LABEL_UPVALUE, i, gcref(function->l.uvptr[i]));
  } else {
    for (uint32_t i = 0; i < function->c.nupvalues; i++)
      edge_at(s, SUBJECT_LABEL_UPVALUE, i, &function->c.upvalue[i]);
  }
}

static void
survey_trace_number(const struct survey *s, uint64_t key, TraceNo n)
{
  const jit_State *J = G2J(s->g);
  if (n && n < J->sizetrace)
    edge_to(s, SUBJECT_LABEL_INTERNAL, key, gcref(J->trace[n]));
}

/* Constants that are objects, and the traces that it leads to. */
static void
survey_trace(const struct survey *s, GCtrace *trace)
{
  if (s->dead || !trace->traceno)
    return; /* a flushed trace holds nothing */
  for (IRRef ref = trace->nk; ref < REF_TRUE; ref++) {
    IRIns *ir = &trace->ir[ref];
    if (ir->o == IR_KGC)
      edge(s, SUBJECT_LABEL_INTERNAL, number(ref),
           object_value(s, ir_kgc(ir), ir_kgc(ir)->gch.gct == ~LJ_TCDATA));
    if (irt_is64(ir->t) && ir->o != IR_KNULL)
      ref++;
  }
  survey_trace_number(s, 0, trace->link);
  survey_trace_number(s, 1, trace->nextroot);
  survey_trace_number(s, 2, trace->nextside);
  edge_to(s, SUBJECT_LABEL_INTERNAL, 3, gcref(trace->startpt));
}

static void
survey_prototype(const struct survey *s, GCproto *prototype)
{
  const GCRef *constants = mref(prototype->k, GCRef);
  edge_to(s, SUBJECT_LABEL_INTERNAL, 0, gcref(prototype->chunkname));
  survey_trace_number(s, 1, prototype->trace);
  for (MSize i = 1; !s->dead && i <= prototype->sizekgc; i++) {
    GCobj *constant = gcref(constants[-(ptrdiff_t)i]);
    if (!is_live(s, constant))
      edge_to(s, SUBJECT_LABEL_CONSTANT, i, constant);
    else if (constant->gch.gct == ~LJ_TPROTO)
      edge_to(s, SUBJECT_LABEL_NESTED, i, constant);
    else
      edge(s, SUBJECT_LABEL_CONSTANT, number(i),
           object_value(s, constant, constant->gch.gct == ~LJ_TCDATA));
  }
}

/* ---- coroutines ------------------------------------------------------ */

/* The driver is the one function of its shape. */
static bool
is_driver(const GCfunc *function)
{
  return function->c.gct == ~LJ_TFUNC && isluafunc(function) &&
         funcproto(function)->numparams == REAL_LOCAL_COUNT &&
         funcproto(function)->flags & PROTO_VARARG;
}

/* The driver's frame at or below link, a frame link. A vararg function has its
 * parameters in a frame of its own above the one that it was called with, which
 * has the rest. */
static struct frame
frame_from(lua_State *thread, TValue *link)
{
  const TValue *lowest = tvref(thread->stack) + LJ_FR2;
  for (; link > lowest; link = frame_prev(link)) {
    if (!frame_isvarg(link) || !is_driver(frame_func(link)))
      continue;
    TValue *below = frame_prevd(link);
    struct frame frame = {.base = link + 1,
                          .bottom = below - LJ_FR2,
                          .varargs = below + 1 + REAL_LOCAL_COUNT};
    ptrdiff_t count = link - LJ_FR2 - frame.varargs;
    frame.vararg_count = count > 0 ? (int)count : 0;
    return frame;
  }
  return (struct frame){.base = NULL};
}

static struct frame
innermost_frame(lua_State *thread)
{
  return frame_from(thread, thread->base - 1);
}

static struct frame
next_frame(lua_State *thread, const struct frame *frame)
{
  return frame_from(thread, frame_prev(frame->bottom + LJ_FR2));
}

/* Slots that are no local of a driver: temporaries of calls under way. */
static void
survey_slots(const struct survey *s, const lua_State *thread, TValue *from,
             const TValue *end)
{
  for (TValue *slot = from; slot < end; slot++)
    edge_at(s, SUBJECT_LABEL_INTERNAL,
            (uint64_t)(slot - tvref(thread->stack)), slot);
}

static void
survey_frame(const struct survey *s, const struct frame *frame, uint64_t depth)
{
  uint64_t key = depth << 16;
  const TValue *local = frame->base - 1; /* they count from 1 */
  edge_at(s, SUBJECT_LABEL_FUNCTION, depth, &local[REAL_LOCAL_FUNCTION]);
  for (int i = 0; i < OP_REGISTERS; i++)
    edge_at(s, SUBJECT_LABEL_REGISTER, key + (uint64_t)i,
            &local[REAL_LOCAL_REGISTER + i]);
  for (int i = 0; i < REAL_CLOSE_MAX; i++)
    edge_at(s, SUBJECT_LABEL_TBC, key + (uint64_t)i,
            &local[REAL_LOCAL_CLOSE + i]);
  for (int i = 0; i < frame->vararg_count; i++)
    edge_at(s, SUBJECT_LABEL_VARARG, key + (uint64_t)i, &frame->varargs[i]);
}

/* A coroutine that waits holds the one that it waits for in await's frame. */
static void
survey_waiting(const struct survey *s, const lua_State *thread,
               const struct frame *frame)
{
  TValue *slot = thread->base;
  if (!isluafunc(curr_func(thread)) && slot < thread->top && tvisthread(slot)) {
    plain_edge_at(s, SUBJECT_LABEL_RESUMED, slot);
    slot++;
  }
  if (slot > frame->base)
    survey_slots(s, thread, slot, thread->top);
  survey_slots(s, thread, frame->base + REAL_LOCAL_COUNT,
               thread->base > frame->base ? thread->base : thread->top);
}

/* The language's coroutine: its frames from the innermost on, which is the
 * last in depth. Not yet started, its function is the last on the stack. */
static void
survey_coroutine(const struct survey *s, lua_State *thread)
{
  struct frame frame = innermost_frame(thread);
  uint64_t depth = 0;
  TValue *lowest = tvref(thread->stack) + 1 + LJ_FR2;
  if (!frame.base) {
    TValue *top = thread->top;
    if (thread->status == LUA_OK && thread->base == lowest && top > lowest)
      plain_edge_at(s, SUBJECT_LABEL_START, --top);
    survey_slots(s, thread, lowest, top);
    return;
  }
  for (struct frame at = frame; at.base; at = next_frame(thread, &at))
    depth++;
  survey_waiting(s, thread, &frame);
  while (frame.base) {
    survey_frame(s, &frame, --depth);
    survey_slots(s, thread, frame.bottom, frame.varargs);
    struct frame next = next_frame(thread, &frame);
    survey_slots(s, thread, next.base ? next.base + REAL_LOCAL_COUNT : lowest,
                 frame.bottom);
    frame = next;
  }
}

/* The list of open upvalues does not hold them: the sweep of the coroutine
 * takes out what is dead. */
static void
survey_open_list(const struct survey *s, const lua_State *thread)
{
  uint64_t n = 0;
  for (GCobj *o = gcref(thread->openupval); o; o = gcnext(o)) {
    if (!may_follow(s, o, "open upvalues of a coroutine"))
      return;
    struct subject_edge e = {
        .key = number(n++),
        .value = {.bits = BASE(o), .tag = SUBJECT_OBJECT},
        .label = SUBJECT_LABEL_INTERNAL,
        .value_strength = SUBJECT_LOOSE};
    s->visitor->edge(s->visitor, &e);
  }
}

/* One for whose stack there was no memory is garbage without a stack. */
static void
survey_thread(const struct survey *s, lua_State *thread)
{
  part(s, tvref(thread->stack), thread->stacksize * sizeof(TValue));
  if (s->dead || !thread->stacksize)
    return;
  environment_edge(s, tabref(thread->env));
  survey_open_list(s, thread);
  if (!may_follow(s, tvref(thread->stack), "stack of a coroutine"))
    return;
  if (thread == s->instance->state)
    survey_slots(s, thread, tvref(thread->stack) + 1 + LJ_FR2, thread->top);
  else
    survey_coroutine(s, thread);
}

/* ---- objects --------------------------------------------------------- */

static void
survey_userdata(const struct survey *s, const GCudata *userdata)
{
  const GCtab *environment = tabref(userdata->env);
  plain_edge(s, SUBJECT_LABEL_METATABLE, tabref(userdata->metatable));
  edge_to(s,
          is_globals(s, environment) ? SUBJECT_LABEL_INTERNAL
                                     : SUBJECT_LABEL_USERVALUE,
          0, environment);
}

static void
survey_upvalue(const struct survey *s, const GCupval *upvalue)
{
  plain_edge_at(s, SUBJECT_LABEL_VALUE, uvval(upvalue));
}

static void
survey_contents(const struct survey *s, GCobj *object)
{
  switch (object->gch.gct) {
  case ~LJ_TTAB:
    survey_table(s, &object->tab);
    break;
  case ~LJ_TUDATA:
    survey_userdata(s, &object->ud);
    break;
  case ~LJ_TFUNC:
    survey_function(s, &object->fn);
    break;
  case ~LJ_TUPVAL:
    if (!s->dead)
      survey_upvalue(s, &object->uv);
    break;
  case ~LJ_TPROTO:
    survey_prototype(s, &object->pt);
    break;
  case ~LJ_TTHREAD:
    survey_thread(s, &object->th);
    break;
  case ~LJ_TTRACE:
    survey_trace(s, (GCtrace *)object);
    break;
  default:
    break;
  }
}

static uint8_t
kind_of(const GCobj *object)
{
  switch (object->gch.gct) {
  case ~LJ_TSTR:
    return SUBJECT_KIND_STRING_SHORT; /* all are interned */
  case ~LJ_TUDATA:
    return SUBJECT_KIND_USERDATA;
  case ~LJ_TFUNC:
    return isluafunc(&object->fn) ? SUBJECT_KIND_CLOSURE
                                  : SUBJECT_KIND_CCLOSURE;
  case ~LJ_TTHREAD:
    return SUBJECT_KIND_THREAD;
  case ~LJ_TPROTO:
    return SUBJECT_KIND_PROTOTYPE;
  case ~LJ_TUPVAL:
    return SUBJECT_KIND_UPVALUE;
  case ~LJ_TCDATA:
    return SUBJECT_KIND_CDATA;
  case ~LJ_TTRACE:
    return SUBJECT_KIND_TRACE;
  default:
    return SUBJECT_KIND_TABLE;
  }
}

static size_t
size_of_cdata(const struct survey *s, const GCcdata *cdata)
{
  if (cdataisv(cdata))
    return sizecdatav(cdata);
  const CType *type = ctype_raw(ctype_ctsG(s->g), cdata->ctypeid);
  return sizeof *cdata + (ctype_hassize(type->info) ? type->size : CTSIZE_PTR);
}

static size_t
size_of(const struct survey *s, const GCobj *object)
{
  const GCtrace *trace = (const GCtrace *)object;
  switch (object->gch.gct) {
  case ~LJ_TSTR:
    return lj_str_size(object->str.len);
  case ~LJ_TUDATA:
    return sizeudata(&object->ud);
  case ~LJ_TFUNC:
    return isluafunc(&object->fn) ? sizeLfunc((size_t)object->fn.l.nupvalues)
                                  : sizeCfunc((size_t)object->fn.c.nupvalues);
  case ~LJ_TTHREAD: /* the VM's main thread shares a block with its state */
    return &object->th == mainthread(s->g) ? sizeof(GG_State)
                                           : sizeof(lua_State);
  case ~LJ_TPROTO:
    return object->pt.sizept;
  case ~LJ_TUPVAL:
    return sizeof(GCupval);
  case ~LJ_TCDATA:
    return size_of_cdata(s, &object->cd);
  case ~LJ_TTRACE:
    return ((sizeof *trace + 7) & ~(size_t)7) +
           (trace->nins - trace->nk) * sizeof(IRIns) +
           trace->nsnap * sizeof(SnapShot) +
           trace->nsnapmap * sizeof(SnapEntry);
  default:
    return object->tab.colo ? sizetabcolo((size_t)(object->tab.colo & 0x7f))
                            : sizeof(GCtab);
  }
}

static uint8_t
colour_of(const global_State *g, const GCobj *object)
{
  if (object->gch.marked & LJ_GC_WHITES)
    return isdead(g, object) ? SUBJECT_WHITE_OTHER : SUBJECT_WHITE_CURRENT;
  return isblack(object) ? SUBJECT_BLACK : SUBJECT_GREY;
}

/* What has a finalizer is owed it until it has been called, or has once been
 * found dead without one. What waits may lose it again: a key of a weak table
 * can be read meanwhile. */
static bool
is_owed(const struct survey *s, const GCobj *object, enum subject_list list)
{
  if (object->gch.gct == ~LJ_TCDATA)
    return object->gch.marked & LJ_GC_CDATA_FIN;
  return object->gch.gct == ~LJ_TUDATA &&
         (list == SUBJECT_LIST_PENDING ||
          !(object->gch.marked & LJ_GC_FINALIZED)) &&
         event_of(s, tabref(object->ud.metatable), MM_gc);
}

static void
show(struct survey *s, GCobj *object, enum subject_list list, uint8_t flags)
{
  bool is_cdata = object->gch.gct == ~LJ_TCDATA;
  struct subject_object shown = {
      .base = is_cdata && cdataisv(&object->cd) ? BASE(memcdatav(&object->cd))
                                                : BASE(object),
      .size = (uint32_t)size_of(s, object),
      .kind = kind_of(object),
      .colour = colour_of(s->g, object),
      .list = (uint8_t)list,
      .flags = flags};
  if (s->swept)
    shown.flags |= SUBJECT_OBJECT_SWEPT;
  if (object->gch.marked & (LJ_GC_FIXED | LJ_GC_SFIXED))
    shown.flags |= SUBJECT_OBJECT_FIXED;
  if (is_owed(s, object, list))
    shown.flags |= SUBJECT_OBJECT_MARKED;
  s->dead = shown.colour == SUBJECT_WHITE_OTHER &&
            !(shown.flags & SUBJECT_OBJECT_FIXED);
  if (object->gch.gct == ~LJ_TSTR) {
    shown.text = (const uint8_t *)strdata(&object->str);
    shown.text_size = object->str.len;
  }
  s->visitor->object(s->visitor, &shown);
  survey_contents(s, object);
}

/* ---- the lists ------------------------------------------------------- */

/* A coroutine's open upvalues, which are swept with it. */
static void
survey_open(struct survey *s, const lua_State *thread)
{
  const TValue *stack = tvref(thread->stack);
  for (GCobj *o = gcref(thread->openupval); o; o = gcnext(o)) {
    if (!may_follow(s, o, "open upvalues of a coroutine"))
      return;
    const TValue *slot = uvval(&o->uv);
    if (slot < stack || slot >= stack + thread->stacksize)
      s->visitor->broken(s->visitor, "slot of an open upvalue", BASE(slot));
    else
      show(s, o, SUBJECT_LIST_NONE, SUBJECT_OBJECT_OPEN);
  }
}

static void
survey_all(struct survey *s)
{
  const GCRef *sweep = mref(s->g->gc.sweep, GCRef);
  s->swept = s->g->gc.state == GCSsweep;
  for (const GCRef *link = &s->g->gc.root; gcref(*link);
       link = &gcref(*link)->gch.nextgc) {
    GCobj *object = gcref(*link);
    if (link == sweep)
      s->swept = false;
    if (!is_live(s, object) && !is_live(s, (char *)object - CDATA_HEADER)) {
      s->visitor->broken(s->visitor, "heap list", BASE(object));
      return;
    }
    show(s, object, SUBJECT_LIST_ALL, 0);
    if (object->gch.gct == ~LJ_TTHREAD)
      survey_open(s, &object->th);
  }
}

/* The circle of what waits for its finalizer, whose last member is known. */
static void
survey_pending(struct survey *s)
{
  GCobj *last = gcref(s->g->gc.mmudata);
  s->swept = false;
  for (GCobj *o = last ? gcnext(last) : NULL; o; o = gcnext(o)) {
    if (!may_follow(s, o, "list of pending objects"))
      return;
    show(s, o, SUBJECT_LIST_PENDING, 0);
    if (o == last)
      return;
  }
}

static void
survey_strings(struct survey *s)
{
  const StrInternState *strings = &s->g->str;
  if (!may_follow(s, strings->tab, "string table"))
    return;
  for (MSize i = 0; i <= strings->mask; i++) {
    uintptr_t first = (uintptr_t)gcrefu(strings->tab[i]) & ~(uintptr_t)1;
    s->swept = s->g->gc.state > GCSsweepstring || i < s->g->gc.sweepstr;
    for (GCobj *o = (GCobj *)first; o; o = gcnext(o)) {
      if (!may_follow(s, o, "string table"))
        return;
      show(s, o, SUBJECT_LIST_STRINGS,
           (o->str.hash & strings->mask) == i ? SUBJECT_OBJECT_INTERNED : 0);
    }
  }
}

static void
survey_grey(const struct survey *s, GCRef first, enum subject_grey list)
{
  for (GCobj *o = gcref(first); o; o = gcref(o->gch.gclist)) {
    if (!may_follow(s, o, "grey list"))
      return;
    s->visitor->grey(s->visitor, BASE(o), list);
  }
}

/* The ring of all open upvalues, which the atomic phase goes round. */
static void
survey_ring(const struct survey *s)
{
  GCupval *head = &s->g->uvhead;
  for (GCupval *uv = uvnext(head); uv != head; uv = uvnext(uv))
    if (!may_follow(s, uv, "ring of open upvalues"))
      return;
}

/* ---- the root -------------------------------------------------------- */

static void
survey_ffi(const struct survey *s)
{
  const CTState *types = mref(s->g->ctype_state, CTState);
  if (!types)
    return;
  part(s, types, sizeof *types);
  part(s, types->tab, types->sizetab * sizeof *types->tab);
  part(s, types->cb.cbid, types->cb.sizeid * sizeof *types->cb.cbid);
}

/* What the compiler keeps; the trace that is being recorded is a root. */
static void
survey_compiler(const struct survey *s)
{
  jit_State *J = G2J(s->g);
  part(s, J->snapmapbuf, J->sizesnapmap * sizeof *J->snapmapbuf);
  part(s, J->snapbuf, J->sizesnap * sizeof *J->snapbuf);
  if (J->irtoplim > J->irbotlim)
    part(s, J->irbuf + J->irbotlim,
         (J->irtoplim - J->irbotlim) * sizeof *J->irbuf);
  part(s, J->trace, J->sizetrace * sizeof *J->trace);
  survey_trace(s, &J->cur);
}

static void
survey_parts(const struct survey *s)
{
  const global_State *g = s->g;
  part(s, s->instance, sizeof *s->instance);
  part(s, g->str.tab, (g->str.mask + (size_t)1) * sizeof *g->str.tab);
  part(s, g->tmpbuf.b, sbufsz(&g->tmpbuf));
  if (mref(g->gc.lightudseg, uint32_t)) {
    uint8_t last = g->gc.lightudnum;
    size_t count = last ? (size_t)2 << lj_fls(last) : 2;
    part(s, mref(g->gc.lightudseg, uint32_t), count * sizeof(uint32_t));
  }
  survey_ffi(s);
  survey_compiler(s);
}

static void
survey_root(struct survey *s)
{
  static const uint8_t basic[] = {
      [OP_BASIC_NIL] = (uint8_t)~LJ_TNIL,
      [OP_BASIC_BOOLEAN] = (uint8_t)~LJ_TFALSE,
      [OP_BASIC_NUMBER] = (uint8_t)~LJ_TNUMX,
      [OP_BASIC_STRING] = (uint8_t)~LJ_TSTR,
      [OP_BASIC_FUNCTION] = (uint8_t)~LJ_TFUNC,
      [OP_BASIC_THREAD] = (uint8_t)~LJ_TTHREAD,
      [OP_BASIC_LIGHTUD] = (uint8_t)~LJ_TLIGHTUD,
  };
  global_State *g = s->g;
  struct subject_object root = {.kind = SUBJECT_KIND_ROOT,
                                .colour = SUBJECT_GREY};
  s->dead = false;
  s->visitor->object(s->visitor, &root);
  survey_parts(s);
  survey_ring(s);
  plain_edge_at(s, SUBJECT_LABEL_REGISTRY, &g->registrytv);
  plain_edge(s, SUBJECT_LABEL_GLOBALS, tabref(mainthread(g)->env));
  plain_edge(s, SUBJECT_LABEL_MAIN, s->instance->main);
  plain_edge(s, SUBJECT_LABEL_CURRENT, s->instance->running);
  for (size_t i = 0; i < sizeof basic; i++)
    edge_to(s, SUBJECT_LABEL_BASICMETA, i,
            gcref(g->gcroot[GCROOT_BASEMT + basic[i]]));
  edge_to(s, SUBJECT_LABEL_INTERNAL, 0, mainthread(g));
  for (uint64_t i = 0; i < GCROOT_MAX; i++)
    edge_to(s, SUBJECT_LABEL_INTERNAL, i + 1, gcref(g->gcroot[i]));
}

static void
jit_survey(const struct subject_instance *instance,
           struct subject_visitor *visitor, enum subject_phase phase)
{
  global_State *g = G(instance->state);
  struct survey s = {.visitor = visitor, .g = g, .instance = instance};
  struct subject_heap heap = {.bytes = g->gc.total + sizeof *instance,
                              .phase = (uint8_t)phase,
                              .mode = instance->mode,
                              .stopped = instance->stopped};
  visitor->heap(visitor, &heap);
  survey_root(&s);
  survey_all(&s);
  survey_pending(&s);
  survey_strings(&s);
  survey_grey(&s, g->gc.gray, SUBJECT_GREY_NOW);
  survey_grey(&s, g->gc.grayagain, SUBJECT_GREY_AGAIN);
  survey_grey(&s, g->gc.weak, SUBJECT_GREY_WEAK);
}

#endif
