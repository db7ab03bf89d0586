/* SPDX-License-Identifier: MIT
 *
 * penumbra faults: the bugs that can be planted in the built-in collector.
 */
#include "cli/cli.h"
#include "cli/list.h"
#include "subjects/subjects.h"

int
cmd_faults(int argc, char **argv)
{
  const struct gc_fault_info *fault = subject_fault_infos();
  bool is_json;
  int status = list_parse(
      "faults",
      "List the seeded faults: bugs that --fault plants in the built-in "
      "collector, to show what the verifier finds. Each with the law that is "
      "expected to catch it and the seed of the corpus that shows it.",
      argc, argv, &is_json);

  if (status == CLI_CLEAN && !fault->name && !is_json)
    puts("This build has no seeded faults (--disable-faults).");
  for (; status == CLI_CLEAN && fault->name; fault++) {
    if (is_json) {
      status = list_json(json_pack("{s:s, s:s, s:s, s:s, s:s}", "name",
                                   fault->name, "law", fault->law, "seed",
                                   fault->seed, "where", fault->where,
                                   "breaks", fault->breaks));
      continue;
    }
    puts(fault->name);
    list_paragraph(4, fault->breaks);
    printf("    in:   %s\n    law:  %s\n    seed: %s\n", fault->where,
           fault->law, fault->seed);
  }
  return status;
}
