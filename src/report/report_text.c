/* SPDX-License-Identifier: MIT
 *
 * Verdicts for people. An explanation answers, in this order: what is wrong,
 * what was promised, where it happened, what the objects looked like, how they
 * came to be so, and how to see it again.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops/op_text.h"

enum { COLUMNS = 79, INDENT = 14 };

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

const char *
report_message(const struct report_verdict *verdict)
{
  switch (verdict->result.verdict) {
  case LAB_CLEAN:
    break;
  case LAB_BROKEN:
    return verdict->finding.message;
  case LAB_UNCHECKED:
    return verdict->result.reason;
  }
  return NULL;
}

bool
report_wants_colour(FILE *stream)
{
  const char *term = getenv("TERM");
  const char *no_colour = getenv("NO_COLOR");

  return isatty(fileno(stream)) && (!no_colour || !*no_colour) && term &&
         strcmp(term, "dumb") != 0;
}

/* ---- names and commands ---------------------------------------------- */

void
report_name(FILE *stream, const char *name)
{
  for (; *name; name++) {
    unsigned char byte = (unsigned char)*name;

    if (byte < ' ' || byte == 127)
      fprintf(stream, "\\x%02x", byte);
    else
      fputc(byte, stream);
  }
}

static bool
is_plain(const char *word)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_./+,=:@%-";

  return *word && word[strspn(word, plain)] == '\0';
}

/* One word of a shell command. */
static void
shell_word(FILE *stream, const char *word)
{
  if (is_plain(word)) {
    fputs(word, stream);
    return;
  }
  fputc('\'', stream);
  for (; *word; word++) {
    if (*word == '\'')
      fputs("'\\''", stream);
    else
      fputc(*word, stream);
  }
  fputc('\'', stream);
}

void
report_command(FILE *stream, const char *command,
               const struct report_run *run)
{
  fprintf(stream, "penumbra %s -s %s", command, run->subject->name);
  if (run->fault)
    fprintf(stream, " --fault %s", run->fault);
  if (run->is_text)
    fputs(" --text", stream);
  fputc(' ', stream);
  if (run->file[0] == '-' && run->file[1] != '\0')
    fputs("./", stream);
  shell_word(stream, run->file);
}

/* ---- one line -------------------------------------------------------- */

static const char *
verdict_colour(enum lab_verdict verdict)
{
  switch (verdict) {
  case LAB_CLEAN:
    return GREEN;
  case LAB_BROKEN:
    return RED;
  case LAB_UNCHECKED:
    break;
  }
  return YELLOW;
}

void
report_line(FILE *stream, const struct report_run *run,
            const struct report_verdict *verdict, bool with_subject,
            bool with_colour)
{
  const struct lab_result *result = &verdict->result;

  if (with_colour)
    fputs(verdict_colour(result->verdict), stream);
  fprintf(stream, "%-9s", lab_verdict_text(result->verdict));
  if (with_colour)
    fputs(PLAIN, stream);
  if (with_subject)
    fprintf(stream, "  %-8s", run->subject->name);
  fprintf(stream, "  %5" PRIu64 " operations  %6" PRIu64 " micro-steps  ",
          result->ops_run, result->micro_steps);
  report_name(stream, run->file);
  if (result->verdict == LAB_BROKEN)
    fprintf(stream, ": %s", law_infos[result->law].id);
  else if (result->verdict == LAB_UNCHECKED)
    fprintf(stream, ": %s", result->reason);
  else if (result->close_was_asked)
    fprintf(stream, ": closed by a finalizer in operation %zu of %zu",
            result->op_index - 1, run->stream->count);
  fputc('\n', stream);
}

/* ---- fields ---------------------------------------------------------- */

static size_t
word_length(const char *text)
{
  return strcspn(text, " \n");
}

/* Writes text, from column `column` on, broken into lines between words;
 * further lines begin at column indent. Ends the last line. */
static void
wrap(FILE *stream, const char *text, size_t column, size_t indent)
{
  bool is_first = true;

  while (*text) {
    size_t length = word_length(text);

    if (length == 0) {
      text++;
      continue;
    }
    if (!is_first && column + 1 + length > COLUMNS) {
      fprintf(stream, "\n%*s", (int)indent, "");
      column = indent;
      is_first = true;
    }
    fprintf(stream, "%s%.*s", is_first ? "" : " ", (int)length, text);
    column += length + !is_first;
    is_first = false;
    text += length;
  }
  fputc('\n', stream);
}

static void
field_begin(FILE *stream, const char *label, bool with_colour)
{
  fprintf(stream, "  %s%-*s%s", with_colour ? BOLD : "", INDENT - 2, label,
          with_colour ? PLAIN : "");
}

/* A label and what stands beside it. Each line of text begins a line. */
static void
field(FILE *stream, const char *label, const char *text, bool with_colour)
{
  field_begin(stream, label, with_colour);
  for (;;) {
    const char *end = strchr(text, '\n');
    char line[ORACLE_TEXT_MAX];
    size_t length = end ? (size_t)(end - text) : strlen(text);

    if (length >= sizeof line)
      length = sizeof line - 1;
    memcpy(line, text, length);
    line[length] = '\0';
    wrap(stream, line, INDENT, INDENT + 2);
    if (!end || !end[1])
      return;
    text = end + 1;
    fprintf(stream, "%*s", INDENT, "");
  }
}

/* ---- where ----------------------------------------------------------- */

enum { PLACE_MAX = OP_TEXT_OP_MAX + 160 };

/* The last part of a signature: the operation, or "open" or "close". */
static const char *
signature_place(const struct lab_result *result)
{
  const char *bar = strrchr(result->signature, '|');

  return bar ? bar + 1 : "";
}

static void
place_print(const struct report_run *run,
            const struct report_verdict *verdict, char *ret_text)
{
  const struct lab_result *result = &verdict->result;
  const char *place = signature_place(result);
  const char *phase = "?";
  char text[OP_TEXT_OP_MAX];
  size_t index = result->op_index;

  if (verdict->finding.phase < SUBJECT_PHASE_COUNT)
    phase = oracle_phase_text((uint8_t)verdict->finding.phase);
  if (strcmp(place, "open") == 0) {
    snprintf(ret_text, PLACE_MAX, "while the state was being opened");
    return;
  }
  if (index >= run->stream->count ||
      (strcmp(place, "close") == 0 &&
       run->stream->ops[index].code != OP_CLOSE)) {
    if (result->close_was_asked)
      snprintf(ret_text, PLACE_MAX,
               "while the state was being closed, as a finalizer had asked in "
               "operation %zu of %zu (from 0), in phase %s",
               index, run->stream->count, phase);
    else
      snprintf(ret_text, PLACE_MAX,
               "while the state was being closed, after all %zu operations, "
               "in phase %s",
               run->stream->count, phase);
    return;
  }
  op_print(run->stream->ops[index], text);
  snprintf(ret_text, PLACE_MAX,
           "operation %zu of %zu (from 0): %s, after %" PRIu64
           " micro-steps, in phase %s",
           index, run->stream->count, text, result->micro_step, phase);
}

/* ---- history --------------------------------------------------------- */

static bool
is_earlier(const struct report_history_line *a,
           const struct report_history_line *b)
{
  if (a->op_index != b->op_index)
    return a->op_index + 1 < b->op_index + 1; /* REPORT_OPENING wraps to 0 */
  return a->micro_step <= b->micro_step;
}

/* A line, and before it, where it differs from the last one's, when. */
static void
history_line(FILE *stream, const struct report_run *run,
             const struct report_history_line *line,
             const struct report_history_line *last)
{
  char text[OP_TEXT_OP_MAX] = "";

  if (!last || last->op_index != line->op_index) {
    fprintf(stream, "%*s", last ? INDENT : 0, "");
    if (line->op_index < run->stream->count) {
      op_print(run->stream->ops[line->op_index], text);
      fprintf(stream, "operation %" PRIu64 ": %s\n", line->op_index, text);
    } else {
      fprintf(stream, "the state is %s\n",
              line->op_index == REPORT_OPENING ? "opened" : "closed");
    }
  }
  fprintf(stream, "%*s", INDENT + 2, "");
  wrap(stream, line->text, INDENT + 2, INDENT + 4);
}

static void
history_print(FILE *stream, const struct report_run *run,
              const struct report_history *history, bool with_colour)
{
  const struct report_history_line *last = NULL;
  uint64_t at = 0;
  uint32_t births = 0;

  if (history->event_count > REPORT_HISTORY_MAX)
    at = history->event_count - REPORT_HISTORY_MAX;
  if (history->birth_count == 0 && history->event_count == 0)
    return;
  field_begin(stream, "history", with_colour);
  while (births < history->birth_count || at < history->event_count) {
    const struct report_history_line *birth = &history->births[births];
    const struct report_history_line *event =
        &history->events[at % REPORT_HISTORY_MAX];
    bool is_birth = births < history->birth_count &&
                    (at >= history->event_count || is_earlier(birth, event));

    history_line(stream, run, is_birth ? birth : event, last);
    last = is_birth ? birth : event;
    births += is_birth;
    at += !is_birth;
  }
  if (history->event_count > REPORT_HISTORY_MAX)
    fprintf(stream, "%*s(%" PRIu64 " earlier events: see the trace)\n",
            INDENT, "", history->event_count - REPORT_HISTORY_MAX);
}

/* ---- explanations ---------------------------------------------------- */

static void
replay_print(FILE *stream, const struct report_run *run, bool with_colour)
{
  bool is_stdin = strcmp(run->file, "-") == 0;

  field_begin(stream, "replay", with_colour);
  report_command(stream, "run", run);
  fputc('\n', stream);
  field_begin(stream, "trace", with_colour);
  report_command(stream, "trace", run);
  fputc('\n', stream);
  if (is_stdin)
    field(stream, "", "(- is standard input: give it the same stream again)",
          with_colour);
}

static void
explain_law(FILE *stream, const struct report_run *run,
            const struct report_verdict *verdict, bool with_colour)
{
  const struct law_info *law = &law_infos[verdict->result.law];
  char place[PLACE_MAX];

  place_print(run, verdict, place);
  field(stream, "law", law->id, with_colour);
  field(stream, "promise", law->statement, with_colour);
  field(stream, "holds", law->where, with_colour);
  field(stream, "found", verdict->finding.message, with_colour);
  field(stream, "where", place, with_colour);
  if (verdict->finding.detail[0])
    field(stream, "objects", verdict->finding.detail, with_colour);
}

void
report_explain(FILE *stream, const struct report_run *run,
               const struct report_verdict *verdict,
               const struct report_history *history, bool with_colour)
{
  const struct lab_result *result = &verdict->result;

  if (with_colour)
    fputs(verdict_colour(result->verdict), stream);
  fprintf(stream, "%s: %s", lab_verdict_text(result->verdict),
          result->verdict == LAB_BROKEN      ? law_infos[result->law].title
          : result->verdict == LAB_UNCHECKED ? result->reason
                                             : "no law was broken");
  if (with_colour)
    fputs(PLAIN, stream);
  fputc('\n', stream);
  if (result->verdict == LAB_CLEAN)
    return;
  if (result->verdict == LAB_BROKEN)
    explain_law(stream, run, verdict, with_colour);
  if (history)
    history_print(stream, run, history, with_colour);
  if (result->verdict == LAB_BROKEN)
    field(stream, "signature", result->signature, with_colour);
  replay_print(stream, run, with_colour);
}
