/* SPDX-License-Identifier: MIT
 *
 * penumbra laws: what a subject is held against.
 */
#include "cli/cli.h"
#include "cli/list.h"
#include "oracle/law.h"

static void
print(const struct law_info *law)
{
  puts(law->id);
  list_paragraph(4, law->statement);
  printf("    holds: %s\n", law->where);
}

int
cmd_laws(int argc, char **argv)
{
  bool is_json;
  int status = list_parse("laws",
                          "List the laws: what a collector promises, and when "
                          "the promise holds. A verdict names the law that "
                          "was broken.",
                          argc, argv, &is_json);

  for (size_t i = LAW_NONE + 1; status == CLI_CLEAN && i < LAW_COUNT; i++) {
    const struct law_info *law = &law_infos[i];

    if (is_json)
      status = list_json(json_pack(
          "{s:s, s:s, s:s, s:s, s:s}", "name", law->id, "title", law->title,
          "statement", law->statement, "where", law->where, "source",
          law->source));
    else
      print(law);
  }
  return status;
}
