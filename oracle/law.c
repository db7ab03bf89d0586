/* SPDX-License-Identifier: MIT
 *
 * The table of laws, from laws.def.
 */
#include "oracle/law.h"

#include <string.h>

const struct law_info law_infos[LAW_COUNT] = {
    [LAW_NONE] = {.id = "none",
                  .title = "no law is broken",
                  .statement = "",
                  .where = "",
                  .source = ""},
#define LAW(NAME, id_, title_, statement_, where_, needs_, source_) \
  [LAW_##NAME] = {.id = id_,                                        \
                  .title = title_,                                  \
                  .statement = statement_,                          \
                  .where = where_,                                  \
                  .source = source_,                                \
                  .needs = (needs_)},
#include "oracle/laws.def"
#undef LAW
};

enum law
law_find(const char *id)
{
  for (int i = LAW_NONE + 1; i < LAW_COUNT; i++)
    if (strcmp(law_infos[i].id, id) == 0)
      return (enum law)i;
  return LAW_NONE;
}
