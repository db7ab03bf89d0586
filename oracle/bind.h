/* SPDX-License-Identifier: MIT
 *
 * Binding: which object is which node of the shadow, and which upvalue object
 * which cell. It owns the tables from nodes and cells to blocks; the way back
 * is in the blocks' views. The first meeting of a node and an object binds
 * them, in lockstep from what is bound already; contents and identity are
 * judged afterwards, edge by edge (check_contents.c).
 *
 * Invariant: node_block[n] == b, if not 0, iff views[b] is tagged SHADOW_NODE
 * with bits n; the same for cells and records[b].cell.
 */
#ifndef PENUMBRA_ORACLE_BIND_H
#define PENUMBRA_ORACLE_BIND_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/shadow.h"
#include "subject.h"

struct oracle;

#define BIND_NO_NODE UINT32_MAX

struct bind_place {
  uint32_t object, edge;
};

struct binding {
  uint32_t *node_block; /* owns node_capacity; 0: not bound */
  uint32_t *cell_block; /* owns cell_capacity; 0: not bound */
  uint32_t node_capacity, cell_capacity;
  uint32_t node_count; /* entries of node_block that are in use */
  uint32_t looked_for; /* nodes up to here have been looked for */
  uint32_t cell_count; /* entries of cell_block in use */
  struct bind_place *later; /* owns later_capacity: edges whose key is not yet
                             * bound */
  uint32_t later_count, later_capacity;
};

void bind_clear(struct binding *binding);
void bind_done(struct binding *binding);

/* Binds the nodes that were born since the last call to the objects of the
 * last survey. False if the oracle is exhausted. */
bool bind_births(struct oracle *oracle);
/* Binds a node and a block that are known to belong together, if both are
 * free. */
void bind_node(struct oracle *oracle, uint32_t node, uint32_t block);
/* The block is freed: unbinds it. Its node, or BIND_NO_NODE. */
uint32_t bind_forget(struct oracle *oracle, uint32_t block);
/* The upvalue object and the cell meet: binds them if both are free; false if
 * either is bound to another. */
bool bind_cell(struct oracle *oracle, uint32_t cell, uint32_t block);

/* The block of a node, or 0. */
static inline uint32_t
bind_block(const struct binding *binding, uint32_t node)
{
  return node < binding->node_count ? binding->node_block[node] : 0;
}

/* Labels whose edges are the stream's, and those that have a key. There is an
 * entry for whatever an adapter may show. */
enum { BIND_COUNTED = 1, BIND_KEYED = 2, BIND_LABELS = UINT8_MAX + 1 };
extern const uint8_t bind_labels[BIND_LABELS];

/* A surveyed value as the shadow means it: an unbound object is of tag
 * SUBJECT_OTHER. bind_key and bind_value do it for an edge: the key is nil
 * where the label has none, and an upvalue object stands for what it
 * holds. */
struct shadow_value bind_translate(const struct oracle *oracle,
                                   struct subject_value value);
struct shadow_value bind_key(const struct oracle *oracle,
                             const struct subject_edge *edge);
struct shadow_value bind_value(const struct oracle *oracle,
                               const struct subject_edge *edge);
/* What an edge shows in the end: behind an upvalue object its value. */
struct subject_value bind_behind(const struct oracle *oracle,
                                 const struct subject_edge *edge);

#endif
