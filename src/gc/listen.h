/* SPDX-License-Identifier: MIT
 *
 * What the collector tells a tool that watches it. All colour changes, list
 * moves, births, deaths and phase changes pass through one choke point each
 * (heap.h), where the listener is told; without one a choke point costs one
 * predictable branch. A listener must not call the heap, except that at
 * GC_EVENT_STEP_END and outside all calls it may walk it (object.h).
 */
#ifndef PENUMBRA_GC_LISTEN_H
#define PENUMBRA_GC_LISTEN_H

#include <stdint.h>

struct gc_object;

enum gc_event_type {
  GC_EVENT_BIRTH,     /* object; to: colour */
  GC_EVENT_DEATH,     /* object; from: colour; about to be freed */
  GC_EVENT_COLOUR,    /* object; from, to: enum gc_colour */
  GC_EVENT_LIST,      /* object; from, to: enum gc_list */
  GC_EVENT_GREY,      /* object; from, to: enum gc_grey */
  GC_EVENT_BARRIER,   /* object: parent, other: child or NULL; from: 0 forward,
                       * 1 back; to: 1 if taken */
  GC_EVENT_STORE,     /* object: parent, other: child (collectable) */
  GC_EVENT_PHASE,     /* from, to: enum gc_phase */
  GC_EVENT_STEP_BEGIN,
  GC_EVENT_STEP_END,
  GC_EVENT_CLOSING,   /* object: the value whose closer is called, or NULL */
  GC_EVENT_AGE,       /* object; from, to: enum gc_age */
  GC_EVENT_CLEARED,   /* object: weak table; other: the dead side of a pair that
                       * is about to go; from: 0 the value, 1 the key */
  GC_EVENT_FINALIZER, /* object: its finalizer is called; no longer marked */
  GC_EVENT_FINALIZED, /* object; to: 0 returned, 1 raised an error (the warning
                       * has been told by then) */
  GC_EVENT_WARNING,   /* gc_config.warn has been called */
  GC_EVENT_EMERGENCY, /* to: 1 begins, 0 ends */
  GC_EVENT_MODE       /* from, to: enum gc_mode of the cycles that are run; also
                       * where the collector itself changes it for a while */
};

enum gc_colour { GC_WHITE_CURRENT, GC_WHITE_OTHER, GC_GREY, GC_BLACK };

/* In generational mode; NEW in the other. */
enum gc_age {
  GC_AGE_NEW,
  GC_AGE_SURVIVAL,
  GC_AGE_OLD0,
  GC_AGE_OLD1,
  GC_AGE_OLD,
  GC_AGE_TOUCHED1,
  GC_AGE_TOUCHED2
};

enum gc_list {
  GC_LIST_NONE,
  GC_LIST_ALL,
  GC_LIST_FINALIZABLE,
  GC_LIST_PENDING,
  GC_LIST_FIXED
};

enum gc_grey {
  GC_GREY_NONE,
  GC_GREY_NOW,
  GC_GREY_AGAIN,
  GC_GREY_WEAK,
  GC_GREY_EPHEMERON,
  GC_GREY_ALLWEAK
};

struct gc_event {
  const struct gc_object *object;
  const struct gc_object *other;
  uint8_t type; /* enum gc_event_type */
  uint8_t from;
  uint8_t to;
};

struct gc_listener {
  void (*event)(struct gc_listener *, const struct gc_event *);
};

#endif
