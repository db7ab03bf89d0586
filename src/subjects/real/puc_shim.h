/* SPDX-License-Identifier: MIT
 *
 * What differs between the trees of PUC Lua 5.1 to 5.5 in how their structures
 * are read, under one name each. Included by puc_heap.c only, after the tree's
 * internal headers. These words read memory as it is: none of them asserts
 * anything, since the heap may be broken.
 */
#ifndef PENUMBRA_SUBJECTS_REAL_PUC_SHIM_H
#define PENUMBRA_SUBJECTS_REAL_PUC_SHIM_H

#define BASE(pointer) ((uint64_t)(uintptr_t)(pointer))

/* ---- headers of objects ---------------------------------------------- */

#if LUA_VERSION_NUM >= 503
#define PUC_NEXT(o) ((o)->next)
#define PUC_TYPE(o) ((o)->tt)
#define PUC_MARK(o) ((o)->marked)
#else
#define PUC_NEXT(o) ((o)->gch.next)
#define PUC_TYPE(o) ((o)->gch.tt)
#define PUC_MARK(o) ((o)->gch.marked)
#endif

#if LUA_VERSION_NUM == 501
#define PUC_ALL(g) ((g)->rootgc)
#else
#define PUC_ALL(g) ((g)->allgc)
#endif

static inline enum subject_kind
puc_kind(const GCObject *o)
{
  switch (PUC_TYPE(o) & 0x0F) {
  case LUA_TSTRING:
#if LUA_VERSION_NUM >= 502
    if (PUC_TYPE(o) & 0x10)
      return SUBJECT_KIND_STRING_LONG;
#endif
    return SUBJECT_KIND_STRING_SHORT;
  case LUA_TTABLE:
    return SUBJECT_KIND_TABLE;
  case LUA_TUSERDATA:
    return SUBJECT_KIND_USERDATA;
  case LUA_TFUNCTION:
#if LUA_VERSION_NUM == 501
    return ((const Closure *)o)->c.isC ? SUBJECT_KIND_CCLOSURE
                                       : SUBJECT_KIND_CLOSURE;
#else
    return PUC_TYPE(o) & 0x20 ? SUBJECT_KIND_CCLOSURE : SUBJECT_KIND_CLOSURE;
#endif
  case LUA_TTHREAD:
    return SUBJECT_KIND_THREAD;
#if LUA_VERSION_NUM < 503
  case LUA_TUPVAL:
    return SUBJECT_KIND_UPVALUE;
#elif LUA_VERSION_NUM >= 504
  case LUA_TUPVAL:
    return SUBJECT_KIND_UPVALUE;
#endif
  case LUA_TPROTO:
    return SUBJECT_KIND_PROTOTYPE;
  default:
    return SUBJECT_KIND_COUNT;
  }
}

/* ---- blocks ---------------------------------------------------------- */

/* A coroutine lies within its block. The main thread's holds the state, too. */
#if LUA_VERSION_NUM == 501
enum { PUC_THREAD_OFFSET = LUAI_EXTRASPACE };
#define PUC_THREAD_SIZE (sizeof(lua_State) + LUAI_EXTRASPACE)
#define PUC_MAIN_SIZE (sizeof(LG) + LUAI_EXTRASPACE)
#elif LUA_VERSION_NUM >= 505
enum { PUC_THREAD_OFFSET = offsetof(LX, l) };
#define PUC_THREAD_SIZE sizeof(LX)
#define PUC_MAIN_SIZE sizeof(global_State)
#else
enum { PUC_THREAD_OFFSET = offsetof(LX, l) };
#define PUC_THREAD_SIZE sizeof(LX)
#define PUC_MAIN_SIZE sizeof(LG)
#endif

#if LUA_VERSION_NUM >= 505
#define PUC_MAIN(g) ((lua_State *)&(g)->mainth.l)
#else
#define PUC_MAIN(g) ((g)->mainthread)
#endif

/* The base of a coroutine's block. */
static inline uint64_t
puc_thread_base(const global_State *g, const void *thread)
{
#if LUA_VERSION_NUM >= 505
  if (thread == (const void *)&g->mainth.l)
    return BASE(g);
#else
  (void)g;
#endif
  return BASE(thread) - PUC_THREAD_OFFSET;
}

/* ---- values ---------------------------------------------------------- */

#if LUA_VERSION_NUM == 501
#define PUC_TAG(v) ((v)->tt)
#define PUC_VALUE(v) ((v)->value)
#define PUC_IS_OBJECT(tag) ((tag) >= LUA_TSTRING && (tag) <= LUA_TTHREAD)
#else
#define PUC_TAG(v) ((v)->tt_)
#define PUC_VALUE(v) ((v)->value_)
#define PUC_IS_OBJECT(tag) (((tag) & BIT_ISCOLLECTABLE) != 0)
#endif
#define PUC_IS_NIL(tag) (((tag) & 0x0F) == LUA_TNIL)
#define PUC_IS_STRING(tag) (((tag) & 0x0F) == LUA_TSTRING)

#if LUA_VERSION_NUM >= 504
#define PUC_TAG_INTEGER LUA_VNUMINT
#elif LUA_VERSION_NUM == 503
#define PUC_TAG_INTEGER LUA_TNUMINT
#endif

/* ---- the stack ------------------------------------------------------- */

#if LUA_VERSION_NUM >= 504
#define PUC_SLOT(at) ((TValue *)&(at)->val)
typedef StackValue puc_slot;
#else
#define PUC_SLOT(at) (at)
typedef TValue puc_slot;
#endif

/* From 5.4.5 on places on a stack are unions around the pointer. */
#define PUC_AT(place) (*(StkId const *)(const void *)&(place))
#define PUC_PLACE(place) (*(StkId *)(void *)&(place))

static inline size_t
puc_stack_slots(const lua_State *thread)
{
#if LUA_VERSION_NUM >= 504
  return (size_t)(PUC_AT(thread->stack_last) - PUC_AT(thread->stack)) +
         EXTRA_STACK;
#else
  return (size_t)thread->stacksize;
#endif
}

/* Not the padding: it may hold something of its own. */
static inline void
puc_copy(TValue *to, const TValue *from)
{
  PUC_VALUE(to) = PUC_VALUE(from);
  PUC_TAG(to) = PUC_TAG(from);
}

static inline bool
puc_is_base(const lua_State *thread, const CallInfo *ci)
{
#if LUA_VERSION_NUM == 501
  return ci == thread->base_ci;
#else
  return ci == &thread->base_ci;
#endif
}

#if LUA_VERSION_NUM == 501
#define PUC_BELOW(ci) ((ci) - 1)
#else
#define PUC_BELOW(ci) ((ci)->previous)
#endif

static inline bool
puc_is_lua(const CallInfo *ci)
{
#if LUA_VERSION_NUM >= 504
  return !(ci->callstatus & CIST_C);
#elif LUA_VERSION_NUM >= 502
  return ci->callstatus & CIST_LUA;
#else
  return PUC_TAG(ci->func) == LUA_TFUNCTION &&
         !((const Closure *)PUC_VALUE(ci->func).gc)->c.isC;
#endif
}

/* The first local of a frame of a Lua function. */
static inline StkId
puc_locals(const CallInfo *ci)
{
#if LUA_VERSION_NUM >= 504
  return PUC_AT(ci->func) + 1;
#elif LUA_VERSION_NUM >= 502
  return ci->u.l.base;
#else
  return ci->base;
#endif
}

#if LUA_VERSION_NUM >= 505
#define PUC_IS_VARARG(p) (((p)->flag & (PF_VAHID | PF_VATAB)) != 0)
#elif LUA_VERSION_NUM >= 502
#define PUC_IS_VARARG(p) ((p)->is_vararg != 0)
#else
#define PUC_IS_VARARG(p) (((p)->is_vararg & VARARG_ISVARARG) != 0)
#endif

/* The driver is told by its parameters. */
static inline bool
puc_is_driver(const Proto *p)
{
  return p->numparams == REAL_LOCAL_COUNT && PUC_IS_VARARG(p);
}

/* Slots of varargs below the function of a driver's frame. Until a call is set
 * up the frame record does not tell: then there are none. */
static inline int
puc_hidden_varargs(const lua_State *thread, const CallInfo *ci)
{
#if LUA_VERSION_NUM >= 504
  int count = ci->u.l.nextraargs;
  return count > 0 && count < PUC_AT(ci->func) - PUC_AT(thread->stack) ? count
                                                                       : 0;
#else
  (void)thread, (void)ci;
  return 0;
#endif
}

/* Up to 5.3 the varargs lie above the function and the place of the
 * parameters. */
static inline const puc_slot *
puc_first_vararg(const puc_slot *start, const puc_slot *function)
{
#if LUA_VERSION_NUM >= 504
  return start < function ? start : function + 1;
#else
  (void)start;
  return function + 1 + REAL_LOCAL_COUNT;
#endif
}

/* To-be-closed slots, from the top down; NULL after the last. */
#if LUA_VERSION_NUM >= 504
static inline const puc_slot *
puc_first_to_close(const lua_State *thread)
{
  const puc_slot *at = PUC_AT(thread->tbclist);
  return at > PUC_AT(thread->stack) ? at : NULL;
}

/* A distance of 0 is that to a slot which is none but links on. */
static inline const puc_slot *
puc_next_to_close(const lua_State *thread, const puc_slot *at)
{
  const puc_slot *stack = PUC_AT(thread->stack);
  if (!at->tbclist.delta)
    return NULL;
  at -= at->tbclist.delta;
  while (at > stack && !at->tbclist.delta)
    at -= at - stack < USHRT_MAX ? at - stack : USHRT_MAX;
  return at > stack ? at : NULL;
}
#else
#define puc_first_to_close(thread) NULL
#define puc_next_to_close(thread, at) NULL
#endif

/* ---- tables ---------------------------------------------------------- */

#if LUA_VERSION_NUM >= 504
#define PUC_KEY_TAG(n) ((n)->u.key_tt)
#define PUC_KEY_VALUE(n) ((n)->u.key_val)
#else
#define PUC_KEY_TAG(n) PUC_TAG(&(n)->i_key.tvk)
#define PUC_KEY_VALUE(n) PUC_VALUE(&(n)->i_key.tvk)
#endif
#define PUC_NODE_VALUE(n) (&(n)->i_val)

/* The node that follows in its chain, or NULL. */
static inline const Node *
puc_chain(const Node *node)
{
#if LUA_VERSION_NUM >= 504
  return node->u.next ? node + node->u.next : NULL;
#elif LUA_VERSION_NUM == 503
  return node->i_key.nk.next ? node + node->i_key.nk.next : NULL;
#else
  return node->i_key.nk.next;
#endif
}

static inline size_t
puc_array_size(const Table *t)
{
#if LUA_VERSION_NUM >= 505
  return t->asize;
#elif LUA_VERSION_NUM == 504
  /* The limit is a hint unless the flag says that it is the size: this is
   * then the next power of two. */
  size_t size = t->alimit;
  if (t->flags & 0x80 && size & (size - 1)) {
    size_t power = 1;
    while (power < size)
      power *= 2;
    size = power;
  }
  return size;
#else
  return (size_t)t->sizearray;
#endif
}

/* Entry i of the array part. */
static inline TValue
puc_array_entry(const Table *t, size_t i)
{
#if LUA_VERSION_NUM >= 505
  TValue v;
  v.value_ = *getArrVal(t, i);
  v.tt_ = *getArrTag(t, i);
  return v;
#else
  return t->array[i];
#endif
}

/* The block of the array part; NULL if there is none. */
static inline const void *
puc_array_block(const Table *t)
{
#if LUA_VERSION_NUM >= 505
  return t->asize ? (const void *)(t->array - t->asize) : NULL;
#else
  return t->array;
#endif
}

static inline size_t
puc_array_bytes(const Table *t)
{
#if LUA_VERSION_NUM >= 505
  return t->asize * (sizeof(Value) + 1) + sizeof(unsigned);
#else
  return puc_array_size(t) * sizeof(TValue);
#endif
}

#if LUA_VERSION_NUM < 503
/* What the hash part of an empty table is; found when a state opens. */
static const Node *puc_dummy_node;
#endif

/* Nodes in the hash part; the one that empty tables share is none. */
static inline size_t
puc_node_count(const Table *t)
{
#if LUA_VERSION_NUM >= 505
  bool is_dummy = t->flags & BITDUMMY;
#elif LUA_VERSION_NUM >= 503
  bool is_dummy = !t->lastfree;
#else
  bool is_dummy = t->node == puc_dummy_node;
#endif
  return is_dummy ? 0 : (size_t)1 << t->lsizenode;
}

#if LUA_VERSION_NUM >= 505
/* Before the nodes of a larger hash part stands how far it may be filled. */
#define PUC_NODE_LIMIT(t) ((t)->lsizenode >= 3 ? sizeof(Node *) : (size_t)0)
#else
#define PUC_NODE_LIMIT(t) ((size_t)0)
#endif

/* ---- strings --------------------------------------------------------- */

#if LUA_VERSION_NUM >= 503
#define PUC_CHAIN(s) ((s)->u.hnext)
#else
#define PUC_CHAIN(s) ((const TString *)(s)->tsv.next)
#endif

static inline const TString *
puc_bucket(const global_State *g, int i)
{
  return (const TString *)g->strt.hash[i];
}

static inline unsigned
puc_hash(const TString *s)
{
#if LUA_VERSION_NUM >= 503
  return s->hash;
#else
  return s->tsv.hash;
#endif
}

static inline size_t
puc_length(const TString *s)
{
#if LUA_VERSION_NUM >= 505
  return s->shrlen >= 0 ? (size_t)s->shrlen : s->u.lnglen;
#elif LUA_VERSION_NUM >= 503
  return s->tt & 0x10 ? s->u.lnglen : s->shrlen;
#else
  return s->tsv.len;
#endif
}

static inline const char *
puc_text(const TString *s)
{
#if LUA_VERSION_NUM >= 505
  return s->shrlen >= 0 ? (const char *)&s->contents : s->contents;
#elif LUA_VERSION_NUM == 504
  return (const char *)s->contents;
#elif LUA_VERSION_NUM == 503
  return (const char *)s + sizeof(UTString);
#else
  return (const char *)(s + 1);
#endif
}

static inline size_t
puc_string_size(const TString *s)
{
#if LUA_VERSION_NUM >= 505
  if (s->shrlen >= 0)
    return offsetof(TString, contents) + (size_t)s->shrlen + 1;
  if (s->shrlen == LSTRREG)
    return offsetof(TString, falloc) + s->u.lnglen + 1;
  return s->shrlen == LSTRFIX ? offsetof(TString, falloc) : sizeof(TString);
#elif LUA_VERSION_NUM == 504
  return offsetof(TString, contents) + puc_length(s) + 1;
#elif LUA_VERSION_NUM == 503
  return sizeof(UTString) + puc_length(s) + 1;
#else
  return sizeof(TString) + puc_length(s) + 1;
#endif
}

/* ---- userdata, upvalues ---------------------------------------------- */

#if LUA_VERSION_NUM >= 503
#define PUC_UDATA(u) (u)
#else
#define PUC_UDATA(u) (&(u)->uv)
#endif

static inline size_t
puc_udata_size(const Udata *u)
{
#if LUA_VERSION_NUM >= 504
  return sizeudata(u->nuvalue, u->len);
#elif LUA_VERSION_NUM == 503
  return sizeof(UUdata) + u->len;
#else
  return sizeof(Udata) + u->uv.len;
#endif
}

/* Where an upvalue's value stands. */
#define PUC_UPVALUE_AT(uv) (*(TValue *const *)(const void *)&(uv)->v)
#define PUC_UPVALUE_IS_OPEN(uv) (PUC_UPVALUE_AT(uv) != &(uv)->u.value)

#if LUA_VERSION_NUM >= 504
#define puc_next_open(uv) ((const UpVal *)(uv)->u.open.next)
#elif LUA_VERSION_NUM <= 502
#define puc_next_open(uv) ((const UpVal *)(uv)->next)
#endif

/* ---- the collector --------------------------------------------------- */

#define PUC_WHITES ((1 << WHITE0BIT) | (1 << WHITE1BIT))

static inline enum subject_colour
puc_colour(const global_State *g, const GCObject *o)
{
  unsigned mark = PUC_MARK(o);
  if (mark & PUC_WHITES)
    return mark & g->currentwhite & PUC_WHITES ? SUBJECT_WHITE_CURRENT
                                               : SUBJECT_WHITE_OTHER;
  return mark & 1 << BLACKBIT ? SUBJECT_BLACK : SUBJECT_GREY;
}

#if LUA_VERSION_NUM == 501
#define PUC_BYTES(g) ((g)->totalbytes)
#else
#define PUC_BYTES(g) ((uint64_t)gettotalbytes(g))
#endif

static inline bool
puc_is_stopped(const global_State *g)
{
#if LUA_VERSION_NUM >= 504
  return g->gcstp & GCSTPUSR;
#elif LUA_VERSION_NUM >= 502
  return !g->gcrunning;
#else
  return g->GCthreshold == MAX_LUMEM;
#endif
}

/* Cycles go by age, and none is under way. */
static inline bool
puc_rests_by_age(const global_State *g)
{
#if LUA_VERSION_NUM >= 505
  return g->gckind == KGC_GENMINOR;
#elif LUA_VERSION_NUM == 504 || LUA_VERSION_NUM == 502
  return g->gckind == KGC_GEN;
#else
  (void)g;
  return false;
#endif
}

/* The mode is generational, whatever kind of cycle is under way. */
static inline bool
puc_is_generational(const global_State *g)
{
#if LUA_VERSION_NUM >= 505
  return g->gckind != KGC_INC;
#elif LUA_VERSION_NUM == 504
  return g->gckind == KGC_GEN || g->lastatomic != 0;
#else
  return puc_rests_by_age(g);
#endif
}

#if LUA_VERSION_NUM >= 505
#define PUC_GENERATIONAL KGC_GENMINOR
#elif LUA_VERSION_NUM == 504 || LUA_VERSION_NUM == 502
#define PUC_GENERATIONAL KGC_GEN
#endif

/* Grey lists mean something. */
static inline bool
puc_is_marking(const global_State *g)
{
#if LUA_VERSION_NUM == 501
  return g->gcstate == GCSpropagate;
#else
  return keepinvariant(g);
#endif
}

/* In 5.2 an object that is moved to another list is old no longer (lgc.h: MOVE
 * OLD), but black: minor collections pass over it all the same. */
static inline uint8_t
puc_age(const global_State *g, const GCObject *o)
{
#if LUA_VERSION_NUM >= 504
  (void)g;
  return (uint8_t)(o->marked & AGEBITS);
#elif LUA_VERSION_NUM == 502
  bool is_old = PUC_MARK(o) & 1 << OLDBIT ||
                (puc_rests_by_age(g) && PUC_MARK(o) & 1 << BLACKBIT);
  return is_old ? SUBJECT_AGE_OLD : SUBJECT_AGE_NEW;
#else
  (void)g;
  (void)o;
  return SUBJECT_AGE_NEW;
#endif
}

/* By a bit of its own; later versions have a list for them. */
static inline bool
puc_is_fixed(const GCObject *o)
{
#if LUA_VERSION_NUM < 503
  return PUC_MARK(o) & 1 << FIXEDBIT;
#else
  (void)o;
  return false;
#endif
}

#if LUA_VERSION_NUM >= 502
/* Its finalizer is owed. */
static inline bool
puc_is_marked(const GCObject *o)
{
#if LUA_VERSION_NUM >= 503
  return o->marked & 1 << FINALIZEDBIT;
#else
  return PUC_MARK(o) & 1 << SEPARATED;
#endif
}
#endif

/* How far the sweep is with a list. */
enum puc_progress { PUC_UNSWEPT, PUC_INSIDE, PUC_SWEPT };

static inline enum puc_progress
puc_progress(const global_State *g, enum subject_list list)
{
#if LUA_VERSION_NUM >= 503
  int state = list == SUBJECT_LIST_ALL           ? GCSswpallgc
              : list == SUBJECT_LIST_FINALIZABLE ? GCSswpfinobj
              : list == SUBJECT_LIST_PENDING     ? GCSswptobefnz
                                                 : GCSswpend;
  if (g->gcstate == GCSswpend && list != SUBJECT_LIST_FIXED)
    return PUC_SWEPT;
  return g->gcstate == state  ? PUC_INSIDE
         : g->gcstate > state ? PUC_SWEPT
                              : PUC_UNSWEPT;
#else
  /* Strings come first, but the places in the lists are set before. */
  int string = GCSsweepstring;
  if (g->gcstate < string || list == SUBJECT_LIST_PENDING)
    return PUC_UNSWEPT;
  if (list == SUBJECT_LIST_STRINGS)
    return g->gcstate == string ? PUC_INSIDE : PUC_SWEPT;
#if LUA_VERSION_NUM == 502
  if (list == SUBJECT_LIST_FINALIZABLE)
    return g->gcstate < GCSsweep ? PUC_INSIDE : PUC_SWEPT;
#endif
  return g->gcstate <= GCSsweep ? PUC_INSIDE : PUC_SWEPT;
#endif
}

/* The link to what is swept next; meant for a list that is being swept. */
static inline GCObject *const *
puc_sweep_place(const global_State *g, enum subject_list list)
{
#if LUA_VERSION_NUM == 502
  return list == SUBJECT_LIST_FINALIZABLE ? g->sweepfin : g->sweepgc;
#else
  (void)list;
  return g->sweepgc;
#endif
}

#endif
