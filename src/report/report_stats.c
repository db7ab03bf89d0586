/* SPDX-License-Identifier: MIT
 *
 * The tally of runs, for people and for machines: what was seen and how often,
 * what was not, and what cannot be. The keys of the JSON and their order are
 * a promise to those who parse them.
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#include "report/json.h"

/* What cannot be and was not seen is told once for each reason, at the end of
 * its group. */
enum { REASONS_MAX = 16 };

struct reason {
  const char *text;
  unsigned cells;
};

struct unseen {
  unsigned reason_count;
  struct reason reasons[REASONS_MAX];
};

static void
unseen_add(struct unseen *unseen, const char *reason)
{
  unsigned i = 0;

  while (i < unseen->reason_count &&
         strcmp(unseen->reasons[i].text, reason) != 0)
    i++;
  if (i == REASONS_MAX)
    return;
  if (i == unseen->reason_count)
    unseen->reasons[unseen->reason_count++] = (struct reason){reason, 0};
  unseen->reasons[i].cells++;
}

static void
unseen_print(FILE *stream, const struct unseen *unseen)
{
  for (unsigned i = 0; i < unseen->reason_count; i++)
    fprintf(stream, "    %16s   %u cell%s: %s\n", "cannot be",
            unseen->reasons[i].cells,
            unseen->reasons[i].cells == 1 ? "" : "s",
            unseen->reasons[i].text);
}

static void
print_cell(FILE *stream, const struct tally_cell *cell)
{
  if (cell->count == 0)
    fprintf(stream, "    %16s   %s\n", "never seen", cell->name);
  else
    fprintf(stream, "    %16" PRIu64 "   %s\n", cell->count, cell->name);
  if (cell->never)
    fprintf(stream, "    %16s   impossible, seen! %s\n", "", cell->never);
}

void
report_stats(FILE *stream, const struct subject *subject,
             const struct oracle_stats *stats)
{
  struct unseen unseen = {.reason_count = 0};
  struct tally_cell cell;
  enum tally_group group = TALLY_GROUPS;
  size_t cursor = 0;

  fprintf(stream, "\nWhat the runs of %s have shown\n", subject->name);
  while (tally_next(stats, subject, &cursor, &cell)) {
    if (cell.group != group) {
      unseen_print(stream, &unseen);
      unseen.reason_count = 0;
      group = cell.group;
      fprintf(stream, "\n  %s\n", tally_title(group));
    }
    if (cell.never && cell.count == 0)
      unseen_add(&unseen, cell.never);
    else
      print_cell(stream, &cell);
  }
  unseen_print(stream, &unseen);
}

bool
report_stats_json(FILE *stream, const struct subject *subject,
                  const struct oracle_stats *stats)
{
  struct tally_cell cell;
  size_t cursor = 0;

  while (tally_next(stats, subject, &cursor, &cell))
    if (!report_json_print(
            stream, json_pack("{s:s, s:s, s:s, s:I, s:b, s:s?}", "subject",
                              subject->name, "group", tally_title(cell.group),
                              "cell", cell.name, "count",
                              (json_int_t)cell.count, "possible",
                              cell.never == NULL, "reason", cell.never)))
      return false;
  return true;
}
