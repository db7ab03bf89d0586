/* SPDX-License-Identifier: MIT
 *
 * The object model: layouts of values and collectable objects. Internal to
 * src/gc; adapters in src/subjects read it to survey a heap. Functions that
 * belong to one kind of object are in that kind's own header (string.h,
 * table.h, function.h, thread.h); what the collector does is in heap.h.
 *
 * Hashing is by content or by sequence number, never by address, so that a
 * run does not depend on where the heap lies.
 */
#ifndef PENUMBRA_GC_OBJECT_H
#define PENUMBRA_GC_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gc/gc.h"

/* Kinds of collectable objects. */
enum gc_kind {
  GC_KIND_STRING_SHORT,
  GC_KIND_STRING_LONG,
  GC_KIND_TABLE,
  GC_KIND_USERDATA,
  GC_KIND_NATIVE_CLOSURE,
  GC_KIND_CLOSURE,
  GC_KIND_THREAD,
  GC_KIND_PROTOTYPE,
  GC_KIND_UPVALUE,
  GC_KIND_COUNT
};

/* Bits of gc_object.mark. Grey is neither a white bit nor black. */
enum {
  GC_MARK_WHITE0 = 1,
  GC_MARK_WHITE1 = 2,
  GC_MARK_WHITES = GC_MARK_WHITE0 | GC_MARK_WHITE1,
  GC_MARK_BLACK = 4,
  GC_MARK_COLOURS = GC_MARK_WHITES | GC_MARK_BLACK,
  GC_MARK_FIXED = 8,
  GC_MARK_FINALIZABLE = 16, /* in the finalizable or the pending list */
  GC_MARK_AWAITED = 32 /* white, a key for which ephemeron entries wait: they
                        * are chained from its grey link (weak.c) */
};

/* The common header of all collectable objects. */
struct gc_object {
  struct gc_object *next; /* in the heap list that holds it */
  uint32_t sequence;      /* birth number: hash of objects used as keys */
  uint8_t kind;           /* enum gc_kind */
  uint8_t mark;
  uint8_t grey;           /* enum gc_grey: the grey list that holds it */
  uint8_t age;            /* enum gc_age */
};

/* Tags of values. Above GC_TAG_OBJECT nothing but GC_TAG_DEAD_KEY. */
enum gc_tag {
  GC_TAG_NIL,
  GC_TAG_FALSE,
  GC_TAG_TRUE,
  GC_TAG_INTEGER,
  GC_TAG_FLOAT,
  GC_TAG_POINTER,
  GC_TAG_NATIVE,
  GC_TAG_OBJECT,
  GC_TAG_DEAD_KEY /* key of an emptied node; object may be freed memory */
};

struct gc_value {
  union {
    struct gc_object *object;
    int64_t integer;
    double number;
    void *pointer;
    gc_native native;
  } as;
  uint8_t tag; /* enum gc_tag */
};

/* Short strings are interned: chained in the string table by `chain`. */
struct gc_string {
  struct gc_object head;
  struct gc_string *chain; /* short: next in the bucket */
  uint32_t hash;
  uint32_t length;
  char bytes[]; /* length bytes and a NUL */
};

/* The hash part: chained scatter; next is a distance in nodes, 0 at the end.
 * wait is used inside the atomic phase only (weak.c). */
struct gc_node {
  struct gc_value key;
  struct gc_value value;
  struct gc_node *wait;
  int32_t next;
};

/* array holds keys 1..array_size; node_count is a power of two, or 0 with
 * nodes NULL. */
struct gc_table {
  struct gc_object head;
  struct gc_object *grey_next;
  struct gc_table *metatable;
  struct gc_value *array;
  struct gc_node *nodes;
  uint32_t array_size;
  uint32_t node_count;
  uint32_t last_free; /* nodes at this index and up are not free */
};

/* user values, then `size` bytes of payload. */
struct gc_userdata {
  struct gc_object head;
  struct gc_object *grey_next;
  struct gc_table *metatable;
  size_t size;
  uint16_t user_value_count;
  struct gc_value user_values[];
};

struct gc_native_closure {
  struct gc_object head;
  struct gc_object *grey_next;
  gc_native function;
  uint8_t value_count;
  struct gc_value values[];
};

/* Open while `slot` points into a stack: linked into its thread's `open` list
 * (highest slot first); closed when `slot` points to `closed`. */
struct gc_upvalue {
  struct gc_object head;
  struct gc_value *slot;
  struct gc_upvalue *open_next;
  struct gc_upvalue **open_link; /* while open: what points to it in the list
                                  * (a dead one is unlinked when freed) */
  struct gc_value closed;
};

struct gc_prototype {
  struct gc_object head;
  struct gc_object *grey_next;
  struct gc_value *constants;
  struct gc_prototype **nested;
  uint32_t constant_count, constant_capacity;
  uint32_t nested_count, nested_capacity;
  uint8_t upvalue_count;
};

struct gc_closure {
  struct gc_object head;
  struct gc_object *grey_next;
  struct gc_prototype *prototype;
  uint8_t upvalue_count;
  struct gc_upvalue *upvalues[]; /* NULL until filled in */
};

/* A call record; a doubly linked chain that is kept for reuse. Offsets are
 * slots from the start of the stack. */
struct gc_frame {
  struct gc_frame *previous, *next;
  uint32_t function; /* slot of the function */
  uint32_t base;     /* slot of index 1; varargs lie between */
  uint32_t limit;    /* slots below it are promised to the frame: the stack
                      * never gets smaller than that */
  uint32_t flags;    /* enum gc_frame_flag */
};

struct gc_thread {
  struct gc_object head;
  struct gc_object *grey_next;
  struct gc_heap *heap;
  struct gc_value *stack;
  uint32_t stack_size; /* slots allocated */
  uint32_t top;        /* first free slot */
  struct gc_frame *frame; /* current one; NULL before the start (the function
                           * to be run is in slot 0) and after the end */
  struct gc_frame first;  /* the base frame */
  uint32_t frame_depth;
  struct gc_upvalue *open;
  struct gc_thread *open_next; /* threads that have open upvalues; points to
                                * the thread itself when not in the list */
  uint32_t *to_close; /* slots to be closed, rising */
  uint32_t to_close_count, to_close_capacity;
  struct gc_thread *resumer;
  uint8_t status; /* enum gc_thread_status */
};

static inline bool
gc_value_is_object(const struct gc_value *value)
{
  return value->tag == GC_TAG_OBJECT;
}

static inline bool
gc_value_is_string(const struct gc_value *value)
{
  return gc_value_is_object(value)
         && (value->as.object->kind == GC_KIND_STRING_SHORT
             || value->as.object->kind == GC_KIND_STRING_LONG);
}

/* The sizes of the main blocks, in one place: used by allocation, free,
 * survey. SIZE_MAX, which no allocator gives, when a size does not fit. */
static inline size_t
gc_string_size(uint32_t length)
{
  return offsetof(struct gc_string, bytes) + (size_t)length + 1;
}

static inline size_t
gc_userdata_size(size_t size, uint16_t user_values)
{
  size_t fixed = sizeof(struct gc_userdata)
                 + user_values * sizeof(struct gc_value);

  return size > SIZE_MAX - fixed ? SIZE_MAX : fixed + size;
}

static inline size_t
gc_native_closure_size(uint8_t values)
{
  return sizeof(struct gc_native_closure) + values * sizeof(struct gc_value);
}

static inline size_t
gc_closure_size(uint8_t upvalues)
{
  return sizeof(struct gc_closure) + upvalues * sizeof(struct gc_upvalue *);
}

static inline size_t
gc_object_size(const struct gc_object *object)
{
  switch ((enum gc_kind)object->kind) {
  case GC_KIND_STRING_SHORT:
  case GC_KIND_STRING_LONG:
    return gc_string_size(((const struct gc_string *)object)->length);
  case GC_KIND_TABLE:
    return sizeof(struct gc_table);
  case GC_KIND_USERDATA: {
    const struct gc_userdata *userdata = (const struct gc_userdata *)object;

    return gc_userdata_size(userdata->size, userdata->user_value_count);
  }
  case GC_KIND_NATIVE_CLOSURE:
    return gc_native_closure_size(
        ((const struct gc_native_closure *)object)->value_count);
  case GC_KIND_CLOSURE:
    return gc_closure_size(((const struct gc_closure *)object)->upvalue_count);
  case GC_KIND_THREAD:
    return sizeof(struct gc_thread);
  case GC_KIND_PROTOTYPE:
    return sizeof(struct gc_prototype);
  case GC_KIND_UPVALUE:
    return sizeof(struct gc_upvalue);
  case GC_KIND_COUNT:
    break;
  }
  return 0;
}

/* The link of the grey lists. Kinds that are never on one (strings and
 * upvalues) have none and must not be asked. All others have it first. */
static inline struct gc_object **
gc_grey_link(struct gc_object *object)
{
  return (struct gc_object **)(void *)((char *)object
                                       + offsetof(struct gc_table, grey_next));
}

#define GC_GREY_LINK_AGREES(TYPE)                             \
  _Static_assert(offsetof(struct TYPE, grey_next)             \
                     == offsetof(struct gc_table, grey_next), \
                 "grey_next is the first field of " #TYPE)
GC_GREY_LINK_AGREES(gc_userdata);
GC_GREY_LINK_AGREES(gc_native_closure);
GC_GREY_LINK_AGREES(gc_closure);
GC_GREY_LINK_AGREES(gc_thread);
GC_GREY_LINK_AGREES(gc_prototype);
#undef GC_GREY_LINK_AGREES

#endif
