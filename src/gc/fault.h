/* SPDX-License-Identifier: MIT
 *
 * Seeded faults: deliberate bugs, one on at a time, by which the verifier
 * shows what it can find. Rows are in fault.def. A build configured with
 * --disable-faults has none of them (PENUMBRA_FAULTS is 0).
 */
#ifndef PENUMBRA_GC_FAULT_H
#define PENUMBRA_GC_FAULT_H

#include <stddef.h>

#ifndef PENUMBRA_FAULTS
#define PENUMBRA_FAULTS 1
#endif

enum gc_fault {
  GC_FAULT_NONE,
#define FAULT(NAME, name, where, breaks, law, seed) GC_FAULT_##NAME,
#include "gc/fault.def"
#undef FAULT
};

struct gc_fault_info {
  const char *name;
  const char *where;  /* source file and function */
  const char *breaks; /* what is wrong, one sentence */
  const char *law;    /* id of the law expected to catch it */
  const char *seed;   /* corpus/pen/lua54/<seed>.pen shows it */
};

/* Rows in fault.def's order; NULL-named row ends it (at once in a build
 * without faults). */
extern const struct gc_fault_info gc_fault_infos[];

#if PENUMBRA_FAULTS
/* GC_FAULT_NONE if there is no such fault. */
enum gc_fault gc_fault_find(const char *name);
#define GC_FAULTY(heap, NAME) ((heap)->fault == GC_FAULT_##NAME)
#else
#define gc_fault_find(name) ((void)(name), GC_FAULT_NONE)
#define GC_FAULTY(heap, NAME) ((void)(heap), 0)
#endif

#endif
