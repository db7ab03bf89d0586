/* SPDX-License-Identifier: MIT
 *
 * What the subcommands share; see cli.h.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* ---- errors ---------------------------------------------------------- */

/* One line, whatever the names in it are. */
static void
error_print(const char *format, va_list arguments)
{
  char *text;

  if (vasprintf(&text, format, arguments) < 0)
    text = NULL;
  fputs("penumbra: ", stderr);
  report_name(stderr, text ? text : "no memory for an error");
  fputc('\n', stderr);
  free(text);
}

void
cli_error(const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  error_print(format, arguments);
  va_end(arguments);
}

error_t
cli_refuse(const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  error_print(format, arguments);
  va_end(arguments);
  return EINVAL;
}

void
cli_output_error(int error)
{
  static bool is_told;

  if (is_told)
    return;
  is_told = true;
  cli_error("standard output: %s",
            error ? strerror(error) : "not all could be written");
}

int
cli_finish(int status)
{
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return status;
  cli_output_error(errno);
  return status == CLI_CLEAN ? CLI_UNCHECKED : status;
}

/* How many letters of the shorter word stand at its place in the longer one,
 * from both ends: enough to see one slip. */
static bool
is_near(const char *a, const char *b)
{
  size_t length_a = strlen(a), length_b = strlen(b);
  size_t longer = length_a > length_b ? length_a : length_b;
  size_t shorter = length_a + length_b - longer;
  size_t head = 0, tail = 0;

  while (head < shorter && a[head] == b[head])
    head++;
  while (tail < shorter - head &&
         a[length_a - 1 - tail] == b[length_b - 1 - tail])
    tail++;
  return longer - head - tail <= 2 && head + tail >= (longer + 1) / 2;
}

const char *
cli_guess(const char *word, const char *const *candidates)
{
  for (; *candidates; candidates++)
    if (is_near(word, *candidates))
      return *candidates;
  return NULL;
}

/* ---- arguments ------------------------------------------------------- */

struct parse {
  const char *name; /* of the subcommand, with the program's */
  void *input;      /* the subcommand's */
};

/* What argp would add by itself, but with a name for the help that is not the
 * one which getopt's errors begin with. */
static const struct argp_option common_options[] = {
  {"help", '?', NULL, 0, "print this help", -1},
  {"usage", CLI_KEY_USAGE, NULL, 0, "print a short usage message", 0},
  {"version", 'V', NULL, 0, "print the version of the program", 0},
  {0},
};

/* Wraps a subcommand's parser. argp's own errors would take two lines, of
 * which getopt prints the first, as "penumbra: ..."; the second is dropped
 * with the error stream. */
static error_t
parse_option(int key, char *argument, struct argp_state *state)
{
  struct parse *parse = state->input;

  (void)argument;
  switch (key) {
  case ARGP_KEY_INIT:
    state->err_stream = NULL;
    state->child_inputs[0] = parse->input;
    return 0;
  case '?':
  case CLI_KEY_USAGE:
    state->name = (char *)parse->name;
    argp_state_help(state, stdout,
                    key == '?' ? ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK
                               : ARGP_HELP_USAGE);
    exit(cli_finish(CLI_CLEAN));
  case 'V':
    puts(argp_program_version);
    exit(cli_finish(CLI_CLEAN));
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

int
cli_parse(const struct argp *argp, const char *name, int argc, char **argv,
          void *input)
{
  const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
  const struct argp outer = {
    .options = common_options, .parser = parse_option, .children = children};
  char full_name[64];
  char program[] = "penumbra";
  struct parse parse = {full_name, input};
  error_t error;

  snprintf(full_name, sizeof full_name, "penumbra %s", name);
  argv[0] = program; /* getopt's messages begin with it */
  error = argp_parse(&outer, argc, argv, ARGP_NO_HELP, NULL, &parse);
  if (error == ENOMEM)
    cli_error("no memory");
  return error ? CLI_BAD : 0;
}

error_t
cli_number(const char *what, const char *text, uint64_t low, uint64_t high,
           uint64_t *ret_value)
{
  uint64_t value = 0;
  bool is_good = *text != '\0';

  for (const char *at = text; *at && is_good; at++) {
    uint64_t digit = (uint64_t)(*at - '0');

    is_good = *at >= '0' && *at <= '9' && value <= (UINT64_MAX - digit) / 10;
    value = 10 * value + digit;
  }
  if (!is_good || value < low || value > high)
    return cli_refuse("%s is a whole number from %llu to %llu, not '%s'",
                      what, (unsigned long long)low,
                      (unsigned long long)high, text);
  *ret_value = value;
  return 0;
}

/* ---- subjects and faults --------------------------------------------- */

static bool
has_fault(const struct subject *subject, const char *fault)
{
  for (size_t i = 0; subject->faults && subject->faults[i]; i++)
    if (strcmp(subject->faults[i], fault) == 0)
      return true;
  return false;
}

static int
refuse_subject(const char *name)
{
  const char *names[CLI_SUBJECTS_MAX + 1] = {NULL};
  const char *guess;

  for (size_t i = 0; i < CLI_SUBJECTS_MAX && subject_all[i]; i++)
    names[i] = subject_all[i]->name;
  guess = cli_guess(name, names);
  cli_error("'%s' is no subject%s%s%s; 'penumbra subjects' lists them", name,
            guess ? " (did you mean '" : "", guess ? guess : "",
            guess ? "'?)" : "");
  return CLI_BAD;
}

static int
refuse_fault(const char *name, const struct cli_choice *choice)
{
  const char *guess = NULL;
  bool has_any = false;

  for (size_t i = 0; i < choice->count; i++) {
    const char *const *faults = choice->subjects[i]->faults;

    if (!faults || !*faults)
      continue;
    has_any = true;
    if (!guess)
      guess = cli_guess(name, faults);
  }
  if (!has_any)
    cli_error("--fault %s: %s", name,
              "there are no seeded faults in this subject or build");
  else
    cli_error("'%s' is no fault%s%s%s; 'penumbra faults' lists them", name,
              guess ? " (did you mean '" : "", guess ? guess : "",
              guess ? "'?)" : "");
  return CLI_BAD;
}

error_t
cli_target_parse(int key, char *argument, struct cli_target *target)
{
  switch (key) {
  case 's':
    target->subject = argument;
    return 0;
  case CLI_KEY_FAULT:
    target->fault = argument;
    return 0;
  case CLI_KEY_TIMEOUT:
    return cli_number("--timeout", argument, 0, 1000000, &target->timeout);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

int
cli_choose_one(const char *subject, const char *fault,
               struct cli_choice *ret_choice)
{
  if (subject && strcmp(subject, "all") == 0) {
    cli_error("--subject all: this command takes one subject; 'penumbra "
              "subjects' lists them");
    return CLI_BAD;
  }
  return cli_choose(subject, fault, ret_choice);
}

int
cli_choose(const char *subject, const char *fault,
           struct cli_choice *ret_choice)
{
  struct cli_choice all = {.fault = fault};
  struct cli_choice choice = {.fault = fault};

  if (subject && strcmp(subject, "all") == 0) {
    while (all.count < CLI_SUBJECTS_MAX && subject_all[all.count]) {
      all.subjects[all.count] = subject_all[all.count];
      all.count++;
    }
  } else {
    all.subjects[0] = subject ? subject_find(subject) : subject_all[0];
    all.count = 1;
    if (!all.subjects[0])
      return refuse_subject(subject);
  }
  for (size_t i = 0; i < all.count; i++)
    if (!fault || has_fault(all.subjects[i], fault))
      choice.subjects[choice.count++] = all.subjects[i];
  if (choice.count == 0)
    return refuse_fault(fault, &all);
  *ret_choice = choice;
  return 0;
}
