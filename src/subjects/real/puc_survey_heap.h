/* SPDX-License-Identifier: MIT
 *
 * The second half of puc_survey.h: stacks, strings and the lists of the heap.
 * Part of puc_heap.c, which alone includes it.
 */

/* ---- stacks ---------------------------------------------------------- */

/* Whether this frame is an activation of the driver. */
static bool
is_driver(struct survey *s, const lua_State *thread, const CallInfo *ci)
{
  if (thread == PUC_MAIN(s->g) || puc_is_base(thread, ci))
    return false;
  const TValue *function = PUC_SLOT(PUC_AT(ci->func));
  if ((PUC_TAG(function) & 0x0F) != LUA_TFUNCTION ||
      !PUC_IS_OBJECT(PUC_TAG(function)) ||
      !is_live(s, BASE(PUC_VALUE(function).gc)) ||
      puc_kind(PUC_VALUE(function).gc) != SUBJECT_KIND_CLOSURE ||
      !puc_is_lua(ci))
    return false;
  const Proto *p = ((const Closure *)PUC_VALUE(function).gc)->l.p;
  return p && is_live(s, BASE(p)) && puc_is_driver(p);
}

/* One frame while its slots are shown, from its last one down to start. */
struct frame {
  const puc_slot *start, *function, *locals;
  const puc_slot *resumed; /* where await keeps the coroutine resumed */
  uint64_t depth;          /* of a driver's frame */
  bool is_driver;
};

static struct frame
frame_of(struct survey *s, const lua_State *thread, const CallInfo *ci,
         uint64_t depth)
{
  struct frame frame = {.function = PUC_AT(ci->func), .depth = depth};
  frame.start = frame.function;
  frame.is_driver = is_driver(s, thread, ci);
  if (frame.is_driver) {
    frame.locals = puc_locals(ci);
    frame.start -= puc_hidden_varargs(thread, ci);
  } else if (thread->status == LUA_YIELD && ci == thread->ci &&
             !puc_is_base(thread, ci)) {
    frame.resumed = frame.function + 1;
  }
  return frame;
}

/* A slot below the locals of a driver's frame: its varargs stand there. */
static void
show_low_slot(struct survey *s, const struct frame *frame, const puc_slot *at,
              const TValue *value)
{
  const puc_slot *first = puc_first_vararg(frame->start, frame->function);
  const puc_slot *end =
      frame->start < frame->function ? frame->function : frame->locals;
  if (at >= first && at < end)
    value_edge(s, SUBJECT_LABEL_VARARG,
               number((frame->depth << 16) + (uint64_t)(at - first)), value);
  else
    internal_edge(s, (uint64_t)(at - frame->start), value_of(s, value));
}

static void
show_slot(struct survey *s, const lua_State *thread, const struct frame *frame,
          const puc_slot *at, bool closes)
{
  const TValue *value = PUC_SLOT(at);
  uint64_t slot = (uint64_t)(at - PUC_AT(thread->stack));
  if (PUC_IS_NIL(PUC_TAG(value)))
    return;
  if (at == frame->resumed && (PUC_TAG(value) & 0x0F) == LUA_TTHREAD) {
    edge(s, SUBJECT_LABEL_RESUMED, puc_nil, value_of(s, value));
    return;
  }
  if (!frame->is_driver) {
    internal_edge(s, slot, value_of(s, value));
    return;
  }
  if (at < frame->locals) {
    show_low_slot(s, frame, at, value);
    return;
  }
  uint64_t local = (uint64_t)(at - frame->locals) + 1;
  uint64_t key = frame->depth << 16;
  if (local == REAL_LOCAL_FUNCTION)
    value_edge(s, SUBJECT_LABEL_FUNCTION, number(frame->depth), value);
  else if (local < REAL_LOCAL_CLOSE)
    value_edge(s, SUBJECT_LABEL_REGISTER,
               number(key + local - REAL_LOCAL_REGISTER), value);
  else if (closes && local <= REAL_LOCAL_COUNT)
    value_edge(s, SUBJECT_LABEL_TBC, number(key + local - REAL_LOCAL_CLOSE),
               value);
  else
    internal_edge(s, slot, value_of(s, value));
}

/* The function of a coroutine that has not been started is its last value. */
static void
show_unstarted(struct survey *s, const lua_State *thread)
{
  const puc_slot *stack = PUC_AT(thread->stack);
  const puc_slot *top = PUC_AT(thread->top);
  for (const puc_slot *at = stack; at < top; at++)
    if (at > stack && at + 1 == top)
      value_edge(s, SUBJECT_LABEL_START, puc_nil, PUC_SLOT(at));
    else
      internal_edge(s, (uint64_t)(at - stack), value_of(s, PUC_SLOT(at)));
}

/* From the top down, since that is how to-be-closed slots are linked. */
static void
show_frames(struct survey *s, const lua_State *thread)
{
  const puc_slot *end = PUC_AT(thread->top);
  const puc_slot *to_close = puc_first_to_close(thread);
  uint64_t depth = 0;
  for (const CallInfo *ci = thread->ci; !puc_is_base(thread, ci);
       ci = PUC_BELOW(ci))
    depth += is_driver(s, thread, ci);
  for (const CallInfo *ci = thread->ci;; ci = PUC_BELOW(ci)) {
    struct frame frame = frame_of(s, thread, ci, depth - 1);
    depth -= frame.is_driver;
    for (const puc_slot *at = end; at-- > frame.start;) {
      while (to_close && to_close > at)
        to_close = puc_next_to_close(thread, to_close);
      show_slot(s, thread, &frame, at, at == to_close);
    }
    end = frame.start < end ? frame.start : end;
    if (puc_is_base(thread, ci))
      break;
  }
}

/* False if the frames do not lead where they should. */
static bool
own_frames(struct survey *s, const lua_State *thread)
{
#if LUA_VERSION_NUM == 501
  part(s, thread->base_ci, (size_t)thread->size_ci * sizeof(CallInfo));
  return may_follow(s, thread->base_ci, "frames of a coroutine");
#else
  bool met = thread->ci == &thread->base_ci;
  for (const CallInfo *ci = thread->base_ci.next; ci; ci = ci->next) {
    if (!may_follow(s, ci, "frames of a coroutine"))
      return false;
    part(s, ci, sizeof *ci);
    met |= ci == thread->ci;
  }
  if (!met)
    s->visitor->broken(s->visitor, "frames of a coroutine", BASE(thread->ci));
  return met;
#endif
}

static void
survey_thread(struct survey *s, const lua_State *thread)
{
  const puc_slot *stack = PUC_AT(thread->stack);
  if (!stack) { /* being made */
#if LUA_VERSION_NUM == 501
    part(s, thread->base_ci, (size_t)thread->size_ci * sizeof(CallInfo));
#endif
    return;
  }
  part(s, stack, puc_stack_slots(thread) * sizeof *stack);
  bool may_read = own_frames(s, thread);
#if LUA_VERSION_NUM == 503
  for (const UpVal *upvalue = thread->openupval; upvalue;
       upvalue = upvalue->u.open.next) {
    if (!may_follow(s, upvalue, "open upvalues of a coroutine"))
      return;
    part(s, upvalue, sizeof *upvalue);
  }
#endif
  if (s->dead || !may_read || !may_follow(s, stack, "stack of a coroutine"))
    return;
  if (puc_is_base(thread, thread->ci) && thread->status == 0 &&
      thread != PUC_MAIN(s->g))
    show_unstarted(s, thread);
  else
    show_frames(s, thread);
#if LUA_VERSION_NUM == 501
  environment_edge(s, (const Table *)PUC_VALUE(&thread->l_gt).gc);
#endif
#if LUA_VERSION_NUM != 503
  uint64_t n = 0;
  for (const UpVal *upvalue = (const UpVal *)thread->openupval; upvalue;
       upvalue = puc_next_open(upvalue)) {
    if (!may_follow(s, upvalue, "open upvalues of a coroutine"))
      return;
    struct subject_edge e = {
        .key = number(n++),
        .value = {BASE(upvalue), SUBJECT_OBJECT},
        .label = SUBJECT_LABEL_INTERNAL,
        /* Up to 5.2 one that no closure has dies though it is open. */
        .value_strength =
            LUA_VERSION_NUM < 503 ? SUBJECT_LOOSE : SUBJECT_STRONG};
    send_edge(s, &e);
  }
#endif
}

/* ---- strings --------------------------------------------------------- */

/* The whole table: each chain leads to live strings only. Comes before all
 * strings, so that is_interned() may follow chains unasked. */
static void
survey_string_table(struct survey *s)
{
  const stringtable *table = &s->g->strt;
  part(s, table->hash, (size_t)table->size * sizeof *table->hash);
  s->broken_table = !may_follow(s, table->hash, "string table");
  for (int i = 0; !s->broken_table && i < table->size; i++)
    for (const TString *link = puc_bucket(s->g, i); link;
         link = PUC_CHAIN(link))
      if (!may_follow(s, link, "string table")) {
        s->broken_table = true;
        break;
      }
}

static bool
is_interned(struct survey *s, const TString *string)
{
  if (s->broken_table)
    return true;
  unsigned mask = (unsigned)s->g->strt.size - 1;
  const TString *link = puc_bucket(s->g, (int)(puc_hash(string) & mask));
  while (link && link != string)
    link = PUC_CHAIN(link);
  return link == string;
}

/* ---- objects --------------------------------------------------------- */

/* The bytes of the main block. */
static size_t
size_of(struct survey *s, const GCObject *o, enum subject_kind kind)
{
  switch (kind) {
  case SUBJECT_KIND_STRING_SHORT:
  case SUBJECT_KIND_STRING_LONG:
    return puc_string_size((const TString *)o);
  case SUBJECT_KIND_TABLE:
    return sizeof(Table);
  case SUBJECT_KIND_USERDATA:
    return puc_udata_size((const Udata *)o);
  case SUBJECT_KIND_CCLOSURE:
    return offsetof(CClosure, upvalue) +
           sizeof(TValue) * ((const Closure *)o)->c.nupvalues;
  case SUBJECT_KIND_CLOSURE:
    return offsetof(LClosure, upvals) +
           sizeof(UpVal *) * ((const Closure *)o)->l.nupvalues;
  case SUBJECT_KIND_THREAD:
    return (const void *)o == (const void *)PUC_MAIN(s->g) ? PUC_MAIN_SIZE
                                                            : PUC_THREAD_SIZE;
  case SUBJECT_KIND_PROTOTYPE:
    return sizeof(Proto);
  default:
    return sizeof(UpVal);
  }
}

static void
survey_contents(struct survey *s, const GCObject *o, enum subject_kind kind)
{
  switch (kind) {
  case SUBJECT_KIND_TABLE:
    survey_table(s, (const Table *)o);
    break;
  case SUBJECT_KIND_USERDATA:
    survey_userdata(s, (const Udata *)o);
    break;
  case SUBJECT_KIND_CCLOSURE:
    survey_c_closure(s, &((const Closure *)o)->c);
    break;
  case SUBJECT_KIND_CLOSURE:
    survey_lua_closure(s, &((const Closure *)o)->l);
    break;
  case SUBJECT_KIND_THREAD:
    survey_thread(s, (const lua_State *)o);
    break;
  case SUBJECT_KIND_PROTOTYPE:
    survey_prototype(s, (const Proto *)o);
    break;
#if LUA_VERSION_NUM != 503
  case SUBJECT_KIND_UPVALUE:
    upvalue_edge(s, SUBJECT_LABEL_VALUE, puc_nil, (const UpVal *)o);
    break;
#endif
  default: /* an external string's bytes are no part: they lie outside */
    break;
  }
}

/* Where an object stands in the heap. */
struct place {
  enum subject_list list;
  enum subject_segment segment;
  bool swept;
};

/* Its finalizer is owed. 5.1 does not mark objects before they die: there it is
 * owed to each userdata that has one and has not been found dead. */
static bool
is_marked(struct survey *s, const GCObject *o, enum subject_list list)
{
#if LUA_VERSION_NUM >= 502
  (void)s, (void)list;
  return puc_is_marked(o);
#else
  if (list == SUBJECT_LIST_PENDING)
    return true;
  if (o->gch.tt != LUA_TUSERDATA || isfinalized(gco2u(o)))
    return false;
  const Table *metatable = gco2u(o)->metatable;
  if (!metatable || !is_live(s, BASE(metatable)))
    return false;
  const TValue *value = named_value(s, metatable, s->g->tmname[TM_GC]);
  return value && !PUC_IS_NIL(PUC_TAG(value));
#endif
}

static unsigned
flags_of(struct survey *s, const GCObject *o, enum subject_kind kind,
         const struct place *place)
{
  unsigned flags = place->swept ? SUBJECT_OBJECT_SWEPT : 0;
  if (place->list == SUBJECT_LIST_FIXED || puc_is_fixed(o))
    flags |= SUBJECT_OBJECT_FIXED;
  if (is_marked(s, o, place->list))
    flags |= SUBJECT_OBJECT_MARKED;
  if (kind == SUBJECT_KIND_STRING_SHORT &&
      (place->list == SUBJECT_LIST_STRINGS ||
       is_interned(s, (const TString *)o)))
    flags |= SUBJECT_OBJECT_INTERNED;
#if LUA_VERSION_NUM != 503
  if (kind == SUBJECT_KIND_UPVALUE && PUC_UPVALUE_IS_OPEN((const UpVal *)o))
    flags |= SUBJECT_OBJECT_OPEN;
#endif
  return flags;
}

static void
survey_object(struct survey *s, const GCObject *o, struct place place)
{
  enum subject_kind kind = puc_kind(o);
  if (kind == SUBJECT_KIND_COUNT) {
    s->visitor->broken(s->visitor, "an object of no kind", BASE(o));
    return;
  }
  struct subject_object shown = {
      .base = kind == SUBJECT_KIND_THREAD ? puc_thread_base(s->g, o) : BASE(o),
      .size = (uint32_t)size_of(s, o, kind),
      .kind = (uint8_t)kind,
      .colour = (uint8_t)puc_colour(s->g, o),
      .list = (uint8_t)place.list,
      .age = puc_age(s->g, o),
      .segment = (uint8_t)place.segment,
      .flags = (uint8_t)flags_of(s, o, kind, &place)};
  if (kind <= SUBJECT_KIND_STRING_LONG) {
    shown.text = (const uint8_t *)puc_text((const TString *)o);
    shown.text_size = (uint32_t)puc_length((const TString *)o);
  }
  s->dead = shown.colour == SUBJECT_WHITE_OTHER &&
            !(shown.flags & SUBJECT_OBJECT_FIXED);
  s->objects += 1;
  s->visitor->object(s->visitor, &shown);
  survey_contents(s, o, kind);
}

/* ---- lists ----------------------------------------------------------- */

#if LUA_VERSION_NUM >= 504
/* The part that object lies in, if the one before it lies in segment. Parts
 * may be empty. */
static enum subject_segment
segment_of(const global_State *g, enum subject_list list,
           enum subject_segment segment, const GCObject *o)
{
  bool is_all = list == SUBJECT_LIST_ALL;
  if (o == (is_all ? g->survival : g->finobjsur) &&
      segment < SUBJECT_SEGMENT_SURVIVAL)
    segment = SUBJECT_SEGMENT_SURVIVAL;
  if (o == (is_all ? g->old1 : g->finobjold1) &&
      segment < SUBJECT_SEGMENT_OLD1)
    segment = SUBJECT_SEGMENT_OLD1;
  if (o == (is_all ? g->reallyold : g->finobjrold))
    segment = SUBJECT_SEGMENT_OLD;
  return segment;
}
#endif

#if LUA_VERSION_NUM < 503
/* Open upvalues are in no list but their coroutine's, which is swept with
 * it. */
static void
survey_open_upvalues(struct survey *s, const lua_State *thread, bool swept)
{
  struct place place = {.list = SUBJECT_LIST_NONE, .swept = swept};
  for (const UpVal *upvalue = (const UpVal *)thread->openupval;
       upvalue && is_live(s, BASE(upvalue)); upvalue = puc_next_open(upvalue))
    survey_object(s, (const GCObject *)upvalue, place);
}
#endif

static void
survey_list(struct survey *s, GCObject *const *head, enum subject_list list,
            const char *name)
{
  struct place place = {.list = list};
  enum puc_progress progress = puc_progress(s->g, list);
  GCObject *const *at = puc_sweep_place(s->g, list);
  place.swept = progress != PUC_UNSWEPT;
#if LUA_VERSION_NUM >= 504
  bool has_parts = puc_rests_by_age(s->g) && (list == SUBJECT_LIST_ALL ||
                                              list == SUBJECT_LIST_FINALIZABLE);
  place.segment = has_parts ? SUBJECT_SEGMENT_NEW : SUBJECT_SEGMENT_NONE;
#endif
  for (GCObject *const *link = head; *link; link = &PUC_NEXT(*link)) {
    if (progress == PUC_INSIDE && link == at)
      place.swept = false;
    if (!may_follow_object(s, *link, name))
      return;
#if LUA_VERSION_NUM >= 504
    if (has_parts)
      place.segment = segment_of(s->g, list, place.segment, *link);
#endif
    survey_object(s, *link, place);
#if LUA_VERSION_NUM < 503
    if ((PUC_TYPE(*link) & 0x0F) == LUA_TTHREAD)
      survey_open_upvalues(s, (const lua_State *)*link, place.swept);
#endif
  }
}

#if LUA_VERSION_NUM < 503
/* Interned strings are in the chains of the string table alone. */
static void
survey_chains(struct survey *s)
{
  enum puc_progress progress = puc_progress(s->g, SUBJECT_LIST_STRINGS);
  struct place place = {.list = SUBJECT_LIST_STRINGS};
  for (int i = 0; !s->broken_table && i < s->g->strt.size; i++) {
    place.swept = progress == PUC_SWEPT ||
                  (progress == PUC_INSIDE && i < s->g->sweepstrgc);
    for (const TString *link = puc_bucket(s->g, i); link;
         link = PUC_CHAIN(link))
      survey_object(s, (const GCObject *)link, place);
  }
}
#endif

static void
survey_pending(struct survey *s)
{
#if LUA_VERSION_NUM == 501
  struct place place = {.list = SUBJECT_LIST_PENDING};
  const GCObject *last = s->g->tmudata;
  if (!last || !may_follow_object(s, last, "list of pending objects"))
    return;
  const GCObject *o = last;
  do {
    o = o->gch.next;
    if (!may_follow_object(s, o, "list of pending objects"))
      return;
    survey_object(s, o, place);
  } while (o != last);
#else
  survey_list(s, &s->g->tobefnz, SUBJECT_LIST_PENDING,
              "list of pending objects");
#endif
}

static void
survey_lists(struct survey *s)
{
  survey_list(s, &PUC_ALL(s->g), SUBJECT_LIST_ALL, "heap list");
#if LUA_VERSION_NUM >= 502
  survey_list(s, &s->g->finobj, SUBJECT_LIST_FINALIZABLE,
              "list of finalizable objects");
#endif
  survey_pending(s);
#if LUA_VERSION_NUM >= 503
  survey_list(s, &s->g->fixedgc, SUBJECT_LIST_FIXED, "list of fixed objects");
#else
  survey_chains(s);
#endif
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
  /* The main thread is in no list. */
  struct place place = {.list = SUBJECT_LIST_NONE};
  survey_object(s, (const GCObject *)PUC_MAIN(s->g), place);
#endif
#if LUA_VERSION_NUM == 502
  survey_open_upvalues(s, PUC_MAIN(s->g), false);
#endif
}

/* ---- the root -------------------------------------------------------- */

static void
survey_open_threads(struct survey *s)
{
#if LUA_VERSION_NUM >= 503
  for (const lua_State *thread = s->g->twups; thread; thread = thread->twups)
    if (!is_live_thread(s, thread)) {
      s->visitor->broken(s->visitor, "threads with open upvalues",
                         puc_thread_base(s->g, thread));
      return;
    }
#else
  (void)s;
#endif
}

/* Strings that the collector keeps by name, or that it caches. */
static void
survey_names(struct survey *s)
{
  uint64_t n = 0;
  for (int i = 0; i < TM_N; i++)
    edge_to(s, SUBJECT_LABEL_INTERNAL, n++, s->g->tmname[i]);
#if LUA_VERSION_NUM >= 502
  edge_to(s, SUBJECT_LABEL_INTERNAL, n++, s->g->memerrmsg);
#endif
#if LUA_VERSION_NUM >= 503
  TString *const *cached = &s->g->strcache[0][0];
  for (int i = 0; i < STRCACHE_N * STRCACHE_M; i++)
    if (cached[i] != s->g->memerrmsg)
      edge_to(s, SUBJECT_LABEL_INTERNAL, n++, cached[i]);
#endif
}

static void
survey_globals(struct survey *s)
{
#if LUA_VERSION_NUM == 501
  edge(s, SUBJECT_LABEL_GLOBALS, puc_nil, value_of(s, &PUC_MAIN(s->g)->l_gt));
#else
  const Table *registry = s->registry;
  if (!registry || !is_live(s, BASE(registry)) ||
      puc_array_size(registry) < LUA_RIDX_GLOBALS ||
      !is_live(s, BASE(puc_array_block(registry))))
    return;
  TValue globals = puc_array_entry(registry, LUA_RIDX_GLOBALS - 1);
  edge(s, SUBJECT_LABEL_GLOBALS, puc_nil, value_of(s, &globals));
#endif
}

static void
survey_basic(struct survey *s)
{
  static const uint8_t basic[] = {
      [LUA_TNIL] = OP_BASIC_NIL,           [LUA_TBOOLEAN] = OP_BASIC_BOOLEAN,
      [LUA_TNUMBER] = OP_BASIC_NUMBER,     [LUA_TSTRING] = OP_BASIC_STRING,
      [LUA_TFUNCTION] = OP_BASIC_FUNCTION, [LUA_TTHREAD] = OP_BASIC_THREAD,
      [LUA_TLIGHTUSERDATA] = OP_BASIC_LIGHTUD};
  for (uint64_t i = 0; i <= LUA_TTHREAD; i++)
    edge_to(s,
            i == LUA_TTABLE || i == LUA_TUSERDATA ? SUBJECT_LABEL_INTERNAL
                                                  : SUBJECT_LABEL_BASICMETA,
            basic[i], s->g->mt[i]);
}

static void
survey_root(struct survey *s)
{
  struct subject_object root = {.kind = SUBJECT_KIND_ROOT,
                                .colour = SUBJECT_GREY};
  s->dead = false;
  s->visitor->object(s->visitor, &root);
  part(s, s->instance, sizeof *s->instance);
  survey_string_table(s);
  survey_open_threads(s);
#if LUA_VERSION_NUM < 503
  part(s, s->g->buff.buffer, s->g->buff.buffsize);
#endif
  edge(s, SUBJECT_LABEL_REGISTRY, puc_nil, value_of(s, &s->g->l_registry));
  survey_globals(s);
  thread_edge(s, SUBJECT_LABEL_MAIN, s->instance->main);
  thread_edge(s, SUBJECT_LABEL_CURRENT, s->instance->running);
  thread_edge(s, SUBJECT_LABEL_INTERNAL, PUC_MAIN(s->g));
  survey_basic(s);
  survey_names(s);
}

/* ---- grey lists ------------------------------------------------------ */

static const GCObject *
grey_next(const GCObject *o)
{
  switch (puc_kind(o)) {
  case SUBJECT_KIND_TABLE:
    return ((const Table *)o)->gclist;
  case SUBJECT_KIND_CCLOSURE:
    return ((const Closure *)o)->c.gclist;
  case SUBJECT_KIND_CLOSURE:
    return ((const Closure *)o)->l.gclist;
  case SUBJECT_KIND_THREAD:
    return ((const lua_State *)o)->gclist;
  case SUBJECT_KIND_PROTOTYPE:
    return ((const Proto *)o)->gclist;
#if LUA_VERSION_NUM >= 504
  case SUBJECT_KIND_USERDATA:
    return ((const Udata *)o)->nuvalue ? ((const Udata *)o)->gclist : NULL;
#endif
  default:
    return NULL;
  }
}

/* A list longer than all objects runs in a circle: the visitor is shown a
 * member twice and finds it out; the walk ends there. */
static void
survey_grey_list(struct survey *s, const GCObject *first,
                 enum subject_grey list)
{
  size_t longest = s->objects + 1;
  for (const GCObject *o = first; o && longest; o = grey_next(o), longest--) {
    if (!may_follow_object(s, o, "grey list"))
      return;
    uint64_t base = (PUC_TYPE(o) & 0x0F) == LUA_TTHREAD
                        ? puc_thread_base(s->g, o)
                        : BASE(o);
    s->visitor->grey(s->visitor, base, list);
  }
}

/* They are left-overs where no mark goes on. */
static void
survey_grey_lists(struct survey *s)
{
  const global_State *g = s->g;
  if (!puc_is_marking(g))
    return;
  survey_grey_list(s, g->gray, SUBJECT_GREY_NOW);
  survey_grey_list(s, g->grayagain, SUBJECT_GREY_AGAIN);
  survey_grey_list(s, g->weak, SUBJECT_GREY_WEAK);
#if LUA_VERSION_NUM >= 502
  survey_grey_list(s, g->ephemeron, SUBJECT_GREY_EPHEMERON);
  survey_grey_list(s, g->allweak, SUBJECT_GREY_ALLWEAK);
#endif
}

/* ---- the whole ------------------------------------------------------- */

void
real_survey(struct subject_instance *instance, struct subject_visitor *visitor)
{
  const global_State *g = G(instance->state);
  struct survey s = {.visitor = visitor, .instance = instance, .g = g};
  struct subject_heap heap = {.bytes = PUC_BYTES(g) + sizeof *instance,
                              .phase = (uint8_t)real_phase(instance),
                              .mode = instance->mode,
                              .by_age = puc_rests_by_age(g),
                              .stopped = puc_is_stopped(g)};
  if (PUC_IS_OBJECT(PUC_TAG(&g->l_registry)))
    s.registry = PUC_VALUE(&g->l_registry).gc;
  if (instance->running && is_live_thread(&s, instance->running))
    s.stack_of = instance->running;
#if LUA_VERSION_NUM == 503
  shared.survey += 1;
  shared.count = 0;
#endif
  visitor->heap(visitor, &heap);
  survey_root(&s);
  survey_lists(&s);
  survey_grey_lists(&s);
}
