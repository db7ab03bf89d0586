/* SPDX-License-Identifier: MIT
 *
 * The survey: what the subject shows of its heap, collected into flat arrays
 * that are reused. It owns the arrays. The callbacks do no more than store
 * and look the blocks up; what is out of order already then (a list that
 * leads nowhere, a block shown twice, two equal interned strings, ...) is
 * noted as an oddity, the first of each sort, and judged after the survey
 * in the order that the laws have.
 *
 * The edges of object i are edges[objects[i].first] up to
 * edges[objects[i + 1].first]; there is one object more than counted, so that
 * this holds for the last one.
 */
#ifndef PENUMBRA_ORACLE_SURVEY_H
#define PENUMBRA_ORACLE_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "subject.h"

struct oracle;

struct survey_object {
  uint64_t base;
  uint64_t sum;    /* of shadow_hash() over its edges; see check_edges.c */
  uint32_t block;  /* its record; 0: the root, or an object of no block */
  uint32_t number; /* of the block; kept here since records are reused */
  uint32_t first;  /* its first edge */
  uint8_t kind, colour, list, age, segment;
  uint8_t flags; /* enum subject_object_flag */
  uint8_t grey;  /* enum subject_grey: the first list it was found in */
};

enum oddity {
  ODDITY_BROKEN,      /* where: a link that leads to base */
  ODDITY_ENDLESS,     /* a walk of the subject does not end */
  ODDITY_NO_BLOCK,    /* object: its base is no live block */
  ODDITY_SIZE,        /* object: claims size a, has b */
  ODDITY_TWICE,       /* object: shown before as object other */
  ODDITY_KIND,        /* object: was of another kind, a */
  ODDITY_PART_LOST,   /* object: part base, claims a, is no live block */
  ODDITY_PART_SIZE,   /* object: part base, claims a, has b */
  ODDITY_PART_TWICE,  /* object: part base, is object other's (or part of it)
                       * already */
  ODDITY_UNINTERNED,  /* object: a short string that is not in the table */
  ODDITY_TWIN,        /* object: a short string equal to other */
  ODDITY_BYTES,       /* object: a string whose bytes have changed; a: its
                       * shadow id */
  ODDITY_GREY_LOST,   /* base on a grey list is no surveyed object */
  ODDITY_GREY_COLOUR, /* object: on a grey list, not grey */
  ODDITY_GREY_TWICE,  /* object: on the grey lists twice */
  ODDITY_COUNT
};

enum { SURVEY_WHERE_MAX = 64 };

struct odd_place {
  uint64_t base, a, b;
  uint32_t object, other;
};

/* A short string that the shadow does not know, in a hash set. */
struct survey_word {
  const uint8_t *text; /* borrows until the survey ends */
  uint64_t hash;
  uint32_t size;
  uint32_t stamp; /* of the survey that it belongs to */
  uint32_t object;
};

/* Where a shadow string was met last. */
struct survey_string {
  uint32_t stamp;
  uint32_t object;
};

struct survey {
  struct subject_heap heap;
  struct survey_object *objects; /* owns object_capacity */
  struct subject_edge *edges;    /* owns edge_capacity */
  uint32_t *queue;               /* owns object_capacity + 2: for walks */
  uint32_t *reached;             /* owns object_capacity: for paths */
  uint32_t object_count, object_capacity;
  uint32_t edge_count, edge_capacity;
  uint32_t stamp; /* of this survey, from 2 in each stream */
  uint32_t sweep; /* number of the sweep that the subject is in */
  bool keeps;     /* the invariant is kept in this phase [T] */
  bool mute;      /* the last object is dead: its edges do not count */
  bool has_root;
  uint32_t root;        /* object index of the root */
  uint32_t block_count; /* live blocks that were shown as owned ... */
  uint64_t bytes;       /* ... and their bytes */
  uint64_t root_bytes;  /* those of the root's own parts */
  uint32_t strings;     /* short strings judged for interning */
  uint32_t marked;      /* objects whose finalizer is owed */
  uint32_t pending;     /* objects that wait for their finalizer */
  uint32_t greys;       /* memberships of grey lists judged */
  uint64_t patience;    /* links that may be asked for before the next object */
  uint64_t patience_full;
  bool gives_up; /* a circle was found: every walk is to end */

  uint32_t odd; /* bit (1 << enum oddity) */
  struct odd_place oddities[ODDITY_COUNT];
  char where[SURVEY_WHERE_MAX];

  struct survey_string *known; /* owns known_capacity; by shadow string id */
  uint32_t known_capacity;
  struct survey_word *words; /* owns word_capacity, a power of two */
  uint32_t word_capacity, word_count;
  uint32_t words_asked; /* rises when the shadow may know new strings */
};

/* Asks the subject for a survey. False if the oracle is exhausted. */
bool survey_take(struct oracle *oracle);
/* Forgets the last survey: a new stream begins. */
void survey_clear(struct survey *survey);
void survey_done(struct survey *survey);
/* Sets the callbacks. */
void survey_visitor_init(struct subject_visitor *ret_visitor);

/* Whether the last survey showed this object; its index. */
bool survey_find(const struct oracle *oracle, uint64_t base,
                 uint32_t *ret_object);

#endif
