/* SPDX-License-Identifier: MIT
 *
 * Shows the heap of a PUC Lua to the oracle. Part of puc_heap.c, which alone
 * includes it. It reads the collector's structures and changes nothing. Before
 * a link is followed the visitor is asked whether it leads to a live block,
 * since the heap may be broken: that is what it is surveyed for.
 *
 * Stacks. What the operation language knows lies in the frames of the driver
 * (see real.h), which is told by its parameters. Any other slot of any stack
 * is INTERNAL: the VM's own thread, calls under way, what the frames of C
 * functions hold.
 */

/* Of what it shows last. */
struct survey {
  struct subject_visitor *visitor;
  const struct subject_instance *instance;
  const global_State *g;
  const void *registry;
  /* Whose stack the last open upvalue was found in: the next one is likely to
   * lie there, too. */
  const lua_State *stack_of;
  size_t objects;   /* shown so far: no grey list is longer */
  bool dead;        /* the object last shown is: it has parts but no edges */
  bool broken_table; /* the string table: no string is looked for there */
};

static const struct subject_value puc_nil = {.bits = 0, .tag = SUBJECT_NIL};

static bool
is_live(struct survey *s, uint64_t base)
{
  return s->visitor->is_live(s->visitor, base);
}

static bool
may_follow(struct survey *s, const void *link, const char *where)
{
  return subject_may_follow(s->visitor, BASE(link), where);
}

static bool
is_live_thread(struct survey *s, const void *thread)
{
  return is_live(s, puc_thread_base(s->g, thread));
}

/* Whether a link of unknown kind leads to an object. No block but that of a
 * coroutine is pointed into. */
static bool
is_live_object(struct survey *s, const GCObject *o)
{
  return is_live(s, BASE(o)) ||
         (is_live_thread(s, o) && (PUC_TYPE(o) & 0x0F) == LUA_TTHREAD);
}

static bool
may_follow_object(struct survey *s, const GCObject *o, const char *where)
{
  if (is_live_object(s, o))
    return true;
  s->visitor->broken(s->visitor, where, BASE(o));
  return false;
}

/* ---- values and edges ------------------------------------------------ */

static uint64_t
puc_bits(lua_Number number)
{
  uint64_t bits;
  double d = (double)number;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

#if LUA_VERSION_NUM < 503
/* There are no integers: what is one counts as one. */
static struct subject_value
number_value(lua_Number n)
{
  struct subject_value v = {.bits = puc_bits(n), .tag = SUBJECT_FLOAT};
  if (n >= -9007199254740992.0 && n <= 9007199254740992.0 &&
      (lua_Number)(int64_t)n == n && (n != 0 || v.bits == 0)) {
    v.bits = (uint64_t)(int64_t)n;
    v.tag = SUBJECT_INTEGER;
  }
  return v;
}
#endif

#if LUA_VERSION_NUM == 501
/* C functions are objects. Those without upvalues that are the adapter's are
 * what a light one is later. */
static bool
is_light(const GCObject *o, uint64_t *ret_number)
{
  const CClosure *c = &((const Closure *)o)->c;
  if (!c->isC || c->nupvalues)
    return false;
  *ret_number = real_native_number(c->f);
  return *ret_number < REAL_NATIVES;
}
#endif

static struct subject_value
puc_value(const global_State *g, int tag, const Value *value)
{
  struct subject_value v = {.bits = 0, .tag = SUBJECT_OTHER};
  if (PUC_IS_OBJECT(tag)) {
    v.tag = SUBJECT_OBJECT;
    v.bits = (tag & 0x0F) == LUA_TTHREAD ? puc_thread_base(g, value->gc)
                                         : BASE(value->gc);
    return v;
  }
  if (PUC_IS_NIL(tag))
    return puc_nil;
  switch (tag & 0x0F) {
  case LUA_TBOOLEAN:
    v.tag = SUBJECT_BOOLEAN;
#if LUA_VERSION_NUM >= 504
    v.bits = tag == LUA_VTRUE;
#else
    v.bits = value->b != 0;
#endif
    break;
  case LUA_TNUMBER:
#if LUA_VERSION_NUM >= 503
    v.tag = tag == PUC_TAG_INTEGER ? SUBJECT_INTEGER : SUBJECT_FLOAT;
    v.bits = tag == PUC_TAG_INTEGER ? (uint64_t)value->i : puc_bits(value->n);
#else
    v = number_value(value->n);
#endif
    break;
  case LUA_TLIGHTUSERDATA:
    v.tag = SUBJECT_LIGHTUD;
    v.bits = BASE(value->p);
    break;
#if LUA_VERSION_NUM >= 502
  case LUA_TFUNCTION:
    v.tag = SUBJECT_CFUNC;
    v.bits = real_native_number(value->f);
    break;
#endif
  default:
    break;
  }
  return v;
}

static struct subject_value
value_of(struct survey *s, const TValue *value)
{
  return puc_value(s->g, PUC_TAG(value), &PUC_VALUE(value));
}

static struct subject_value
number(uint64_t n)
{
  return (struct subject_value){.bits = n, .tag = SUBJECT_INTEGER};
}

static void
send_edge(struct survey *s, const struct subject_edge *edge)
{
  s->visitor->edge(s->visitor, edge);
}

static void
edge(struct survey *s, enum subject_label label, struct subject_value key,
     struct subject_value value)
{
  if (value.tag == SUBJECT_NIL || s->dead)
    return;
  struct subject_edge e = {.key = key, .value = value, .label = (uint8_t)label};
  send_edge(s, &e);
}

/* What only the collector has to see: objects. */
static void
internal_edge(struct survey *s, uint64_t n, struct subject_value value)
{
  if (value.tag == SUBJECT_OBJECT)
    edge(s, SUBJECT_LABEL_INTERNAL, number(n), value);
}

#if LUA_VERSION_NUM == 501
/* See is_light. The object stays a reference of the collector's own. */
static bool
lighten(struct survey *s, int tag, const Value *value,
        struct subject_value *shown)
{
  uint64_t native;
  if (tag != LUA_TFUNCTION || !is_live(s, shown->bits) ||
      !is_light(value->gc, &native))
    return false;
  internal_edge(s, native, *shown);
  *shown = (struct subject_value){.bits = native, .tag = SUBJECT_CFUNC};
  return true;
}
#endif

/* The value of a place of the stream's. */
static void
value_edge(struct survey *s, enum subject_label label,
           struct subject_value key, const TValue *value)
{
  struct subject_value v = value_of(s, value);
#if LUA_VERSION_NUM == 501
  lighten(s, PUC_TAG(value), &PUC_VALUE(value), &v);
#endif
  edge(s, label, key, v);
}

/* To what is no coroutine. */
static void
edge_to(struct survey *s, enum subject_label label, uint64_t n,
        const void *object)
{
  if (object)
    edge(s, label, number(n),
         (struct subject_value){BASE(object), SUBJECT_OBJECT});
}

/* An edge without key. */
static void
plain_edge(struct survey *s, enum subject_label label, const void *object)
{
  if (object)
    edge(s, label, puc_nil,
         (struct subject_value){BASE(object), SUBJECT_OBJECT});
}

static void
thread_edge(struct survey *s, enum subject_label label,
            const void *thread)
{
  if (thread)
    edge(s, label, puc_nil,
         (struct subject_value){puc_thread_base(s->g, thread), SUBJECT_OBJECT});
}

static void
part(struct survey *s, const void *block, size_t size)
{
  if (block && size)
    s->visitor->part(s->visitor, BASE(block), size);
}

/* ---- tables ---------------------------------------------------------- */

/* Which sides of a table are weak. */
struct weakness {
  bool keys, values;
};

/* The value at a metamethod's name, which is a short string. */
static const TValue *
named_value(struct survey *s, const Table *table, const TString *name)
{
  size_t count = puc_node_count(table);
  if (!count || !name ||
      !is_live(s, BASE(table->node) - PUC_NODE_LIMIT(table)) ||
      !is_live(s, BASE(name)))
    return NULL;
  const Node *node = &table->node[puc_hash(name) & (count - 1)];
  for (size_t patience = count; node && patience; patience--) {
    if (node < table->node || node >= table->node + count)
      return NULL;
    if (PUC_IS_STRING(PUC_KEY_TAG(node)) &&
        (const void *)PUC_KEY_VALUE(node).gc == (const void *)name)
      return PUC_NODE_VALUE(node);
    node = puc_chain(node);
  }
  return NULL;
}

/* By what the metatable says now. Read apart from the collector, so that a
 * mode which that misreads shows, and with an eye on what may be freed. */
static struct weakness
weakness_of(struct survey *s, const Table *table)
{
  struct weakness weak = {false, false};
  const Table *metatable = table->metatable;
  if (!metatable || s->dead || !is_live(s, BASE(metatable)))
    return weak;
  const TValue *mode = named_value(s, metatable, s->g->tmname[TM_MODE]);
  if (!mode || !PUC_IS_STRING(PUC_TAG(mode)) ||
      !is_live(s, BASE(PUC_VALUE(mode).gc)))
    return weak;
  const GCObject *o = PUC_VALUE(mode).gc;
#if LUA_VERSION_NUM == 504
  if (puc_kind(o) != SUBJECT_KIND_STRING_SHORT)
    return weak;
#endif
  const char *text = puc_text((const TString *)o);
  weak.keys = strchr(text, 'k') != NULL;
  weak.values = strchr(text, 'v') != NULL;
  return weak;
}

/* Whether a weak side loses such a value: an object that is no string. */
static bool
may_be_lost(int tag)
{
  return PUC_IS_OBJECT(tag) && !PUC_IS_STRING(tag);
}

/* Keys of the registry that are not the stream's. */
static bool
is_internal_key(int tag, struct subject_value key)
{
  return !PUC_IS_STRING(tag) && (key.tag != SUBJECT_INTEGER ||
                                 (int64_t)key.bits < REAL_REFERENCE);
}

/* While the key of an empty node is not tagged dead it is taken for what it
 * was. Up to 5.2 it is not always looked after. */
static void
empty_entry(struct survey *s, const Node *node)
{
#if LUA_VERSION_NUM >= 503
  if (node && PUC_IS_OBJECT(PUC_KEY_TAG(node))) {
    struct subject_value was =
        puc_value(s->g, PUC_KEY_TAG(node), &PUC_KEY_VALUE(node));
    if (!is_live(s, was.bits))
      s->visitor->broken(s->visitor, "key of an empty node", was.bits);
  }
#else
  (void)s, (void)node;
#endif
}

/* node: where the key is; NULL in the array part. */
static void
entry(struct survey *s, const Table *table, struct weakness weak,
      struct subject_value key, const Node *node, const TValue *value)
{
  int tag = PUC_TAG(value);
  int key_tag = node ? PUC_KEY_TAG(node) : LUA_TNIL;
  struct subject_edge e = {.key = key, .value = value_of(s, value),
                           .label = SUBJECT_LABEL_ENTRY};
  if ((const void *)table == s->registry && is_internal_key(key_tag, key))
    e.label = SUBJECT_LABEL_INTERNAL;
  if (weak.keys && may_be_lost(key_tag)) {
    e.key_strength = SUBJECT_WEAK;
#if LUA_VERSION_NUM >= 502
    if (PUC_IS_OBJECT(tag))
      e.value_strength = SUBJECT_EPHEMERON;
#endif
  }
  if (weak.values)
    e.value_strength = may_be_lost(tag) ? SUBJECT_WEAK : SUBJECT_STRONG;
#if LUA_VERSION_NUM == 501
  if (node && lighten(s, key_tag, &PUC_KEY_VALUE(node), &e.key))
    e.key_strength = SUBJECT_STRONG;
  if (lighten(s, tag, &PUC_VALUE(value), &e.value))
    e.value_strength = SUBJECT_STRONG;
#endif
  send_edge(s, &e);
}

static void
survey_table(struct survey *s, const Table *table)
{
  size_t array_size = puc_array_size(table);
  size_t node_count = puc_node_count(table);
  const void *nodes = (const char *)table->node - PUC_NODE_LIMIT(table);
  const void *array = puc_array_block(table);
  part(s, array, puc_array_bytes(table) * (array_size != 0));
  if (node_count)
    part(s, nodes, node_count * sizeof(Node) + PUC_NODE_LIMIT(table));
  if (s->dead)
    return;
  struct weakness weak = weakness_of(s, table);
  plain_edge(s, SUBJECT_LABEL_METATABLE, table->metatable);
  if (array_size && !may_follow(s, array, "array part of a table"))
    return;
  for (size_t i = 0; i < array_size; i++) {
    TValue value = puc_array_entry(table, i);
    if (PUC_IS_NIL(PUC_TAG(&value)))
      continue;
    entry(s, table, weak, number(i + 1), NULL, &value);
  }
  if (node_count && !may_follow(s, nodes, "hash part of a table"))
    return;
  for (size_t i = 0; i < node_count; i++) {
    const Node *node = &table->node[i];
    if (PUC_IS_NIL(PUC_TAG(PUC_NODE_VALUE(node))))
      empty_entry(s, node);
    else
      entry(s, table, weak,
            puc_value(s->g, PUC_KEY_TAG(node), &PUC_KEY_VALUE(node)), node,
            PUC_NODE_VALUE(node));
  }
}

/* ---- upvalues -------------------------------------------------------- */

static bool
is_in_stack(struct survey *s, const TValue *slot, const lua_State *thread)
{
  const puc_slot *stack = thread ? PUC_AT(thread->stack) : NULL;
  return stack && (const void *)slot >= (const void *)stack &&
         (const void *)slot <
             (const void *)(stack + puc_stack_slots(thread)) &&
         is_live(s, BASE(stack));
}

/* Whether slot lies in the stack of a live thread. */
static bool
is_in_some_stack(struct survey *s, const TValue *slot)
{
  if (is_in_stack(s, slot, s->stack_of))
    return true;
  for (const GCObject *o = PUC_ALL(s->g); o && is_live_object(s, o);
       o = PUC_NEXT(o))
    if ((PUC_TYPE(o) & 0x0F) == LUA_TTHREAD &&
        is_in_stack(s, slot, (const lua_State *)o)) {
      s->stack_of = (const lua_State *)o;
      return true;
    }
  return is_in_stack(s, slot, PUC_MAIN(s->g));
}

/* The value that an upvalue has. */
static void
upvalue_edge(struct survey *s, enum subject_label label,
             struct subject_value key, const UpVal *upvalue)
{
  const TValue *value = PUC_UPVALUE_AT(upvalue);
  if (s->dead)
    return;
  if (PUC_UPVALUE_IS_OPEN(upvalue) && !is_in_some_stack(s, value)) {
    s->visitor->broken(s->visitor, "slot of an open upvalue", BASE(value));
    return;
  }
#if LUA_VERSION_NUM == 503
  /* While it is open the coroutine, or the atomic phase, sees to the value. */
  if (PUC_UPVALUE_IS_OPEN(upvalue) && PUC_IS_OBJECT(PUC_TAG(value))) {
    struct subject_edge e = {.key = key,
                             .value = value_of(s, value),
                             .label = (uint8_t)label,
                             .value_strength = SUBJECT_LATE};
    send_edge(s, &e);
    return;
  }
#endif
  value_edge(s, label, key, value);
}

#if LUA_VERSION_NUM == 503
/* Upvalues that several closures have, met in this survey: a hash set. */
static struct {
  struct {
    const UpVal *upvalue;
    uint64_t survey;
  } *places;
  size_t capacity; /* a power of two */
  size_t count;    /* in this survey */
  uint64_t survey; /* its number */
} shared;

static void
put_shared(const UpVal *upvalue)
{
  size_t at = (size_t)(BASE(upvalue) >> 4) & (shared.capacity - 1);
  while (shared.places[at].survey == shared.survey)
    at = (at + 1) & (shared.capacity - 1);
  shared.places[at].upvalue = upvalue;
  shared.places[at].survey = shared.survey;
  shared.count += 1;
}

static bool
grow_shared(void)
{
  size_t before = shared.capacity;
  void *places = calloc(before ? before * 2 : 64, sizeof *shared.places);
  if (!places)
    return false;
  __auto_type old = shared.places;
  shared.places = places;
  shared.capacity = before ? before * 2 : 64;
  shared.count = 0;
  for (size_t i = 0; i < before; i++)
    if (old[i].survey == shared.survey)
      put_shared(old[i].upvalue);
  free(old);
  return true;
}

/* Whether it is met for the first time in this survey. */
static bool
meet_upvalue(const UpVal *upvalue)
{
  if (shared.count * 2 >= shared.capacity && !grow_shared())
    return false;
  size_t at = (size_t)(BASE(upvalue) >> 4) & (shared.capacity - 1);
  for (; shared.places[at].survey == shared.survey;
       at = (at + 1) & (shared.capacity - 1))
    if (shared.places[at].upvalue == upvalue)
      return false;
  put_shared(upvalue);
  return true;
}

/* Upvalues are no objects but counted. Each is a part of the one closure, or of
 * the first of those, that refer to it. */
static void
own_upvalue(struct survey *s, const UpVal *upvalue)
{
  if (PUC_UPVALUE_IS_OPEN(upvalue))
    return; /* its coroutine's */
  if (upvalue->refcount == 1 || meet_upvalue(upvalue))
    part(s, upvalue, sizeof *upvalue);
}
#endif

/* ---- other objects --------------------------------------------------- */

#if LUA_VERSION_NUM == 501
/* An environment: that of the globals stands for nil. */
static bool
puc_is_globals(const struct survey *s, const Table *environment)
{
  return (const void *)environment ==
         (const void *)PUC_VALUE(&PUC_MAIN(s->g)->l_gt).gc;
}

static void
environment_edge(struct survey *s, const Table *environment)
{
  plain_edge(s,
             puc_is_globals(s, environment) ? SUBJECT_LABEL_INTERNAL
                                            : SUBJECT_LABEL_ENVIRONMENT,
             environment);
}
#endif

static void
survey_userdata(struct survey *s, const Udata *udata)
{
  plain_edge(s, SUBJECT_LABEL_METATABLE, PUC_UDATA(udata)->metatable);
#if LUA_VERSION_NUM >= 504
  for (uint64_t i = 0; i < udata->nuvalue; i++)
    value_edge(s, SUBJECT_LABEL_USERVALUE, number(i), &udata->uv[i].uv);
#elif LUA_VERSION_NUM == 503
  TValue value;
  value.value_ = udata->user_;
  value.tt_ = udata->ttuv_;
  value_edge(s, SUBJECT_LABEL_USERVALUE, number(0), &value);
#elif LUA_VERSION_NUM == 502
  edge_to(s, SUBJECT_LABEL_USERVALUE, 0, udata->uv.env);
#else
  if (puc_is_globals(s, udata->uv.env))
    plain_edge(s, SUBJECT_LABEL_INTERNAL, udata->uv.env);
  else
    edge_to(s, SUBJECT_LABEL_USERVALUE, 0, udata->uv.env);
#endif
}

static void
survey_c_closure(struct survey *s, const CClosure *closure)
{
  for (uint64_t i = 0; i < closure->nupvalues; i++)
    value_edge(s, SUBJECT_LABEL_UPVALUE, number(i), &closure->upvalue[i]);
#if LUA_VERSION_NUM == 501
  environment_edge(s, closure->env);
#endif
}

static void
survey_lua_closure(struct survey *s, const LClosure *closure)
{
  plain_edge(s, SUBJECT_LABEL_PROTOTYPE, closure->p);
#if LUA_VERSION_NUM == 501
  environment_edge(s, closure->env);
#endif
  for (uint64_t i = 0; i < closure->nupvalues; i++) {
#if LUA_VERSION_NUM == 503
    const UpVal *upvalue = closure->upvals[i];
    if (!upvalue)
      continue;
    if (!may_follow(s, upvalue, "upvalue of a closure"))
      return;
    own_upvalue(s, upvalue);
    upvalue_edge(s, SUBJECT_LABEL_UPVALUE, number(i), upvalue);
#else
    edge_to(s, SUBJECT_LABEL_UPVALUE, i, closure->upvals[i]);
#endif
  }
}

static void
prototype_parts(struct survey *s, const Proto *p)
{
#define SHOW(array, size) part(s, p->array, (size_t)p->size * sizeof *p->array)
  SHOW(k, sizek);
  SHOW(p, sizep);
  SHOW(upvalues, sizeupvalues);
  SHOW(locvars, sizelocvars);
#if LUA_VERSION_NUM >= 505
  if (p->flag & PF_FIXED)
    return;
#endif
  SHOW(code, sizecode);
  SHOW(lineinfo, sizelineinfo);
#if LUA_VERSION_NUM >= 504
  SHOW(abslineinfo, sizeabslineinfo);
#endif
#undef SHOW
}

static void
survey_prototype(struct survey *s, const Proto *p)
{
  uint64_t n = 0;
  prototype_parts(s, p);
  if (s->dead)
    return;
  edge_to(s, SUBJECT_LABEL_INTERNAL, n++, p->source);
#if LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503
  /* Forgotten when it dies before the prototype does. */
  if (p->cache) {
    struct subject_edge e = {
        .key = number(n++),
        .value = {BASE(p->cache), SUBJECT_OBJECT},
        .label = SUBJECT_LABEL_INTERNAL,
        .value_strength = SUBJECT_LOOSE};
    send_edge(s, &e);
  }
#endif
  if (p->sizek && may_follow(s, p->k, "constants of a prototype"))
    for (int i = 0; i < p->sizek; i++)
      edge(s, SUBJECT_LABEL_CONSTANT, number((uint64_t)i),
           value_of(s, &p->k[i]));
  if (p->sizep && may_follow(s, p->p, "nested prototypes"))
    for (int i = 0; i < p->sizep; i++)
      edge_to(s, SUBJECT_LABEL_NESTED, (uint64_t)i, p->p[i]);
  if (p->sizeupvalues && may_follow(s, p->upvalues, "upvalue names"))
    for (int i = 0; i < p->sizeupvalues; i++)
#if LUA_VERSION_NUM == 501
      edge_to(s, SUBJECT_LABEL_INTERNAL, n++, p->upvalues[i]);
#else
      edge_to(s, SUBJECT_LABEL_INTERNAL, n++, p->upvalues[i].name);
#endif
  if (p->sizelocvars && may_follow(s, p->locvars, "names of locals"))
    for (int i = 0; i < p->sizelocvars; i++)
      edge_to(s, SUBJECT_LABEL_INTERNAL, n++, p->locvars[i].varname);
}
