/* SPDX-License-Identifier: MIT
 *
 * The seeded faults by name. The rows are in fault.def, the hooks where the
 * rows say; nothing is decided here.
 */
#include "gc/fault.h"

#include <string.h>

const struct gc_fault_info gc_fault_infos[] = {
#if PENUMBRA_FAULTS
#define FAULT(NAME, name, where, breaks, law, seed) \
  { name, where, breaks, law, seed },
#include "gc/fault.def"
#undef FAULT
#endif
  { NULL, NULL, NULL, NULL, NULL }
};

#if PENUMBRA_FAULTS
enum gc_fault
gc_fault_find(const char *name)
{
  for (int i = 0; gc_fault_infos[i].name != NULL; i++) {
    if (strcmp(gc_fault_infos[i].name, name) == 0) {
      return (enum gc_fault)(i + 1);
    }
  }
  return GC_FAULT_NONE;
}
#endif
