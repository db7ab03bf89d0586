/* SPDX-License-Identifier: MIT
 *
 * The summary of a fuzzing session: what was run, what was checked and how
 * often, so that a clean end can be told from a vacuous one.
 */
#include "report/summary.h"

#include <inttypes.h>

#include "lab/lab.h"

/* ---- adding ---------------------------------------------------------- */

void
summary_add(struct summary *sum, const struct summary *part)
{
  sum->executions += part->executions;
  sum->operations += part->operations;
  sum->skipped += part->skipped;
  sum->micro_steps += part->micro_steps;
  sum->clean += part->clean;
  sum->broken += part->broken;
  sum->unchecked += part->unchecked;
  sum->known += part->known;
  oracle_stats_add(&sum->oracle, &part->oracle);
}

/* ---- numbers for people ---------------------------------------------- */

struct number {
  char text[32];
};

/* 1234567 as "1,234,567". */
static struct number
number(uint64_t value)
{
  struct number result;
  char digits[24];
  int count = snprintf(digits, sizeof digits, "%" PRIu64, value);
  size_t length = 0;

  for (int i = 0; i < count; i++) {
    if (i > 0 && (count - i) % 3 == 0)
      result.text[length++] = ',';
    result.text[length++] = digits[i];
  }
  result.text[length] = '\0';
  return result;
}

static struct number
rate(uint64_t count, double seconds)
{
  return number(seconds > 0 ? (uint64_t)((double)count / seconds + 0.5) : 0);
}

/* ---- printing -------------------------------------------------------- */

static void
line(FILE *stream, const char *label, uint64_t count)
{
  fprintf(stream, "    %-32s %16s\n", label, number(count).text);
}

static void
print_laws(FILE *stream, const struct oracle_stats *oracle)
{
  fputs("\n  Laws, and how often each was checked\n", stream);
  for (size_t i = LAW_NONE + 1; i < LAW_COUNT; i++)
    line(stream, law_infos[i].id, oracle->law[i]);
}

static void
print_phases(FILE *stream, const struct oracle_stats *oracle)
{
  fputs("\n  Heaps checked in each phase\n", stream);
  for (size_t i = 0; i < SUBJECT_PHASE_COUNT; i++)
    if (i != SUBJECT_PHASE_ATOMIC)
      line(stream, oracle_phase_text((uint8_t)i), oracle->phase[i]);
}

static uint64_t
barriers(const struct oracle_stats *oracle, int is_back, int is_taken)
{
  return tally_sum(oracle, TALLY_BARRIERS,
                   (const int[]){TALLY_ANY, is_back, is_taken, TALLY_ANY,
                                TALLY_ANY});
}

static void
print_colours(FILE *stream, const struct oracle_stats *oracle)
{
  char label[64];

  fputs("\n  Colour changes seen\n", stream);
  for (size_t from = 0; from < SUBJECT_COLOUR_COUNT; from++) {
    for (size_t to = 0; to < SUBJECT_COLOUR_COUNT; to++) {
      if (oracle->recoloured[from][to] == 0)
        continue;
      snprintf(label, sizeof label, "%s to %s",
               oracle_colour_text((uint8_t)from),
               oracle_colour_text((uint8_t)to));
      line(stream, label, oracle->recoloured[from][to]);
    }
  }
  line(stream, "births", oracle->births);
  line(stream, "deaths", oracle->deaths);
  line(stream, "barriers forward, taken", barriers(oracle, 0, 1));
  line(stream, "barriers forward, nothing to do", barriers(oracle, 0, 0));
  line(stream, "barriers back, taken", barriers(oracle, 1, 1));
  line(stream, "barriers back, nothing to do", barriers(oracle, 1, 0));
}

void
summary_print(FILE *stream, const struct summary *sum, double seconds)
{
  fprintf(stream, "Summary of %.1f seconds\n\n", seconds);
  fprintf(stream, "    executions      %16s   %s a second\n",
          number(sum->executions).text, rate(sum->executions, seconds).text);
  fprintf(stream, "    checked steps   %16s   %s a second\n",
          number(sum->oracle.checks).text,
          rate(sum->oracle.checks, seconds).text);
  fprintf(stream, "    operations      %16s   and %s skipped\n",
          number(sum->operations).text, number(sum->skipped).text);
  fprintf(stream, "    micro-steps     %16s\n", number(sum->micro_steps).text);
  fprintf(stream, "    objects judged  %16s   and %s references\n",
          number(sum->oracle.objects).text, number(sum->oracle.edges).text);
  fprintf(stream, "    verdicts        %16s   clean, %s unchecked\n",
          number(sum->clean).text, number(sum->unchecked).text);
  if (sum->known)
    fprintf(stream, "    known           %16s   times a known finding\n",
            number(sum->known).text);
  print_laws(stream, &sum->oracle);
  print_phases(stream, &sum->oracle);
  print_colours(stream, &sum->oracle);
}

void
summary_print_progress(FILE *stream, const struct summary *sum,
                       double seconds)
{
  fprintf(stream, "%4.0f s  %s executions (%s/s)  %s checked steps (%s/s)",
          seconds, number(sum->executions).text,
          rate(sum->executions, seconds).text,
          number(sum->oracle.checks).text,
          rate(sum->oracle.checks, seconds).text);
}
