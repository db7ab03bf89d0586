/* SPDX-License-Identifier: MIT
 *
 * What can be said of the heap in the shadow's names, after a check that has
 * found nothing: for whoever holds two subjects against each other that were
 * given the same operations. Nodes and strings then have the same ids in both,
 * as long as the same finalizers were called in the same operations. It reads
 * the last survey, the bindings and the shadow, and changes nothing. The lab
 * calls it.
 */
#ifndef PENUMBRA_ORACLE_VIEW_H
#define PENUMBRA_ORACLE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/oracle.h"
#include "oracle/shadow.h"

enum oracle_view_flag {
  ORACLE_VIEW_SHOWN = 1,     /* the survey shows an object for it */
  ORACLE_VIEW_REACHABLE = 2, /* shadow_is_reachable() */
  ORACLE_VIEW_OWED = 4       /* its finalizer is owed */
};

/* A node. Sums are of shadow_hash() over the edges of its object, as the survey
 * shows them. */
struct oracle_view {
  uint64_t firm;  /* of what no collection can take away now */
  uint64_t loose; /* of the entries of weak tables of which a weak side is
                   * reachable by nothing else */
  uint8_t flags;  /* enum oracle_view_flag */
  uint8_t kind;   /* enum subject_kind; of an object that is shown, as are: */
  uint8_t colour; /* enum subject_colour */
  uint8_t age;    /* enum subject_age */
};

/* The nodes with ids below count; those above the shadow's are empty. */
void oracle_view(const struct oracle *oracle, struct oracle_view *ret_views,
                 uint32_t count);

/* A value of the subject's as the shadow has it: an object that is bound to
 * nothing is of tag SUBJECT_OTHER. */
struct shadow_value oracle_translate(const struct oracle *oracle,
                                     struct subject_value value);
/* A register of the running frame. */
struct shadow_value oracle_register(const struct oracle *oracle, int32_t reg);
/* The node whose finalizer was called last of those that run; SHADOW_ROOT if
 * none does, or it is that of an object that is bound to no node. */
uint32_t oracle_finalizing(const struct oracle *oracle);
/* Whether a table is weak and has an entry of which a weak side is reachable by
 * nothing else: a collection may take it away now, or has not yet. */
bool oracle_has_loose(const struct oracle *oracle, uint32_t table);
/* The same of one entry. */
bool oracle_is_loose(const struct oracle *oracle, uint32_t table,
                     struct shadow_value key, struct shadow_value value);

#endif
