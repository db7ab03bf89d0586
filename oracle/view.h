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

/* What no collection can take away now. Marks of nodes: what is reachable from
 * the root, where an entry of a weak table leads on only while its weak sides
 * are marked, too. It is what shadow_is_reachable() says but for what hangs
 * from entries that a collection may take away: their strong sides. */
struct oracle_firm {
  uint8_t *marks;  /* owns capacity */
  uint32_t *queue; /* owns capacity */
  uint32_t count, capacity;
};

/* Brings firm up to date. False on no memory. */
bool oracle_firm_take(const struct oracle *oracle, struct oracle_firm *firm);
void oracle_firm_done(struct oracle_firm *firm);

enum oracle_view_flag {
  ORACLE_VIEW_SHOWN = 1, /* the survey shows an object for it */
  ORACLE_VIEW_FIRM = 2   /* as above */
};

/* A node. Sums are of shadow_hash() over the edges of its object, as the survey
 * shows them. */
struct oracle_view {
  uint64_t firm;  /* of what no collection can take away now */
  uint64_t loose; /* of the entries of weak tables that a collection may take */
  uint8_t flags;  /* enum oracle_view_flag */
  uint8_t kind;   /* enum subject_kind; of an object that is shown, as are: */
  uint8_t colour; /* enum subject_colour */
  uint8_t age;    /* enum subject_age */
};

/* The nodes with ids below firm->count. */
void oracle_view(const struct oracle *oracle, const struct oracle_firm *firm,
                 struct oracle_view *ret_views);

/* A value of the subject's as the shadow has it: an object that is bound to
 * nothing is of tag SUBJECT_OTHER. */
struct shadow_value oracle_translate(const struct oracle *oracle,
                                     struct subject_value value);
/* A register of the running frame. */
struct shadow_value oracle_register(const struct oracle *oracle, int32_t reg);
/* The node whose finalizer was called last of those that run; SHADOW_ROOT if
 * none does, or it is that of an object that is bound to no node. */
uint32_t oracle_finalizing(const struct oracle *oracle);
/* Whether a collection may take away an entry of a weak table, or has not yet
 * taken it away: a weak side is not firm. */
bool oracle_is_loose(const struct oracle *oracle,
                     const struct oracle_firm *firm, uint32_t table,
                     struct shadow_value key, struct shadow_value value);
/* Whether a table has such an entry. */
bool oracle_has_loose(const struct oracle *oracle,
                      const struct oracle_firm *firm, uint32_t table);

#endif
