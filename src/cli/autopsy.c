/* SPDX-License-Identifier: MIT
 *
 * Reading what a dead child left; see autopsy.h.
 */
#include "cli/autopsy.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { FRAMES_MAX = 12 };

/* ---- looking at lines ------------------------------------------------ */

/* The first line of text that contains mark; NULL if there is none. */
static const char *
line_with(const char *text, const char *mark)
{
  const char *at = strstr(text, mark);

  while (at && at > text && at[-1] != '\n')
    at--;
  return at;
}

static void
line_copy(const char *line, char *ret_text, size_t size)
{
  size_t length = strcspn(line, "\n");

  if (length >= size)
    length = size - 1;
  memcpy(ret_text, line, length);
  ret_text[length] = '\0';
}

/* ---- what it was ----------------------------------------------------- */

struct cause {
  char text[LAB_REASON_MAX];
  char brief[48]; /* of the signature */
  enum law law;
  bool is_ours; /* no fault of the subject's */
};

/* "SUMMARY: AddressSanitizer: heap-use-after-free file:1:2 in f". What is
 * reported in the verifier's own code is the verifier's. */
static bool
cause_sanitizer(struct cause *cause, const char *words)
{
  static const char mark[] = "SUMMARY: ";
  const char *line = line_with(words, mark);
  const char *error = line_with(words, ": runtime error: ");
  const char *brief;

  if (!line || strncmp(line, mark, strlen(mark)) != 0)
    return false;
  line += strlen(mark);
  line_copy(line, cause->text, sizeof cause->text);
  brief = strchr(line, ' ');
  if (brief)
    snprintf(cause->brief, sizeof cause->brief, "%.*s",
             (int)strcspn(brief + 1, " \n("), brief + 1);
  if (error && strncmp(line, "Undefined", strlen("Undefined")) == 0)
    line_copy(error, cause->text, sizeof cause->text);
  cause->is_ours = strcmp(cause->brief, "out-of-memory") == 0 ||
                   strstr(cause->text, "/oracle/") ||
                   strstr(cause->text, "/src/lab/") ||
                   strstr(cause->text, "/src/arena/");
  return true;
}

static void
cause_signal(struct cause *cause, int number, uint64_t timeout)
{
  const char *name = sigabbrev_np(number);
  const char *title = sigdescr_np(number);

  switch (number) {
  case SIGXCPU:
    snprintf(cause->text, sizeof cause->text,
             "no verdict within %" PRIu64 " seconds of processor time",
             timeout);
    cause->is_ours = true;
    return;
  case SIGKILL:
  case SIGTERM:
  case SIGINT:
  case SIGHUP:
    snprintf(cause->text, sizeof cause->text,
             "killed from outside by SIG%s (for want of memory?)", name);
    cause->is_ours = true;
    return;
  default:
    snprintf(cause->brief, sizeof cause->brief, "SIG%s", name ? name : "?");
    snprintf(cause->text, sizeof cause->text, "%s (%s)", cause->brief,
             title ? title : "unknown");
  }
}

/* "penumbra: FILE:LINE: assertion failed: ..." is ours; others, also those of
 * assert(), are the subject's. */
static bool
cause_assertion(struct cause *cause, const char *words)
{
  static const char ours[] = "penumbra: ";
  const char *line = line_with(words, ": assertion failed: ");

  if (!line)
    line = line_with(words, ": Assertion `");
  if (!line)
    return false;
  cause->is_ours = strncmp(line, ours, strlen(ours)) == 0;
  if (cause->is_ours)
    line += strlen(ours);
  line_copy(line, cause->text, sizeof cause->text);
  snprintf(cause->brief, sizeof cause->brief, "assertion");
  cause->law = LAW_ASSERTION;
  return true;
}

static struct cause
cause_find(int status, const char *words, uint64_t timeout)
{
  struct cause cause = {.law = LAW_CRASH};

  if (cause_assertion(&cause, words) || cause_sanitizer(&cause, words))
    return cause;
  if (WIFSIGNALED(status)) {
    cause_signal(&cause, WTERMSIG(status), timeout);
  } else {
    snprintf(cause.text, sizeof cause.text,
             "left the process with exit status %d", WEXITSTATUS(status));
    snprintf(cause.brief, sizeof cause.brief, "exit");
  }
  return cause;
}

/* ---- the stack ------------------------------------------------------- */

/* The frames of a sanitizer's first stack, as "in f at file.c:1:2"; without
 * addresses and folders, which differ from build to build. */
static void
stack_print(const char *words, char *ret_text, size_t size)
{
  const char *line = line_with(words, "#0 0x");
  size_t length = 0;

  ret_text[0] = '\0';
  for (int i = 0; line && i < FRAMES_MAX; i++) {
    char frame[256], function[128], place[200];
    const char *base;
    int printed;

    line_copy(line, frame, sizeof frame);
    if (sscanf(frame, " #%*d 0x%*x in %127s %199s", function, place) != 2 ||
        place[0] == '(')
      return;
    base = strrchr(place, '/');
    printed = snprintf(ret_text + length, size - length, "%sin %s at %s",
                       length ? "\n" : "", function, base ? base + 1 : place);
    if (printed < 0 || (size_t)printed >= size - length) {
      ret_text[length] = '\0';
      return;
    }
    length += (size_t)printed;
    line = strchr(line, '\n');
    line = line ? line + 1 : NULL;
  }
}

/* ---- the verdict ----------------------------------------------------- */

static const char *
place_name(const struct child_job *job,
           const struct child_progress *progress)
{
  const struct stream *stream = job->run.stream;

  if (!progress->has_begun)
    return stream->count ? "open" : "close";
  if (progress->is_closing)
    return "close";
  return op_infos[stream->ops[progress->op_index].code].name;
}

void
autopsy(struct child_job *job, int status, const char *words,
        const struct child_progress *progress, uint64_t timeout)
{
  struct report_verdict *verdict = &job->verdict;
  struct lab_result *result = &verdict->result;
  struct cause cause = cause_find(status, words, timeout);

  memset(verdict, 0, sizeof *verdict);
  result->op_index = progress->op_index;
  result->micro_step = progress->micro_steps;
  result->micro_steps = progress->micro_steps;
  result->ops_run = progress->ops_run;
  result->close_was_asked = progress->is_closing && progress->close_is_asked;
  verdict->finding.phase = progress->phase;
  if (cause.is_ours) {
    result->verdict = LAB_UNCHECKED;
    snprintf(result->reason, sizeof result->reason, "%s", cause.text);
    return;
  }
  result->verdict = LAB_BROKEN;
  result->law = cause.law;
  verdict->finding.law = cause.law;
  snprintf(verdict->finding.message, sizeof verdict->finding.message, "%s",
           cause.text);
  snprintf(verdict->finding.kinds, sizeof verdict->finding.kinds, "%s",
           cause.brief);
  stack_print(words, verdict->finding.detail,
              sizeof verdict->finding.detail);
  snprintf(result->signature, sizeof result->signature, "%s|%s|%s|%s",
           law_infos[cause.law].id, cause.brief,
           oracle_phase_text((uint8_t)progress->phase),
           place_name(job, progress));
}
