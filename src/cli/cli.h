/* SPDX-License-Identifier: MIT
 *
 * What the subcommands share: exit codes, errors, arguments, the choice of
 * subject and fault. A subcommand is one function in one file, which returns
 * the exit code.
 *
 * Errors are one line on standard error that begins with "penumbra: ".
 */
#ifndef PENUMBRA_CLI_CLI_H
#define PENUMBRA_CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "subject.h"

enum cli_exit {
  CLI_CLEAN = 0,
  CLI_FINDING = 1,  /* a law was broken */
  CLI_BAD = 2,      /* bad usage or input */
  CLI_UNCHECKED = 3 /* could not check, or could not write */
};

struct cli_command {
  const char *name;
  const char *help; /* one line */
  int (*run)(int argc, char **argv);
};

/* All subcommands, in the order of the help; a NULL name ends them. */
extern const struct cli_command cli_commands[];

int cmd_subjects(int argc, char **argv);
int cmd_laws(int argc, char **argv);
int cmd_ops(int argc, char **argv);
int cmd_faults(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_fuzz(int argc, char **argv);
int cmd_shrink(int argc, char **argv);
int cmd_asm(int argc, char **argv);
int cmd_dis(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_twin(int argc, char **argv);

/* ---- errors ---------------------------------------------------------- */

void cli_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* An error of writing standard output, told once; 0: nobody knows which. */
void cli_output_error(int error);
/* Flushes standard output. Returns status, or CLI_UNCHECKED with an error if
 * what was printed could not be written and status was CLI_CLEAN. */
int cli_finish(int status);
/* The candidate that a mistyped word is near to; NULL if there is none.
 * candidates ends with NULL. */
const char *cli_guess(const char *word, const char *const *candidates);

/* ---- arguments ------------------------------------------------------- */

/* Keys of options without a letter. */
enum cli_key {
  CLI_KEY_JSON = 256,
  CLI_KEY_FAULT,
  CLI_KEY_TEXT,
  CLI_KEY_SEED,
  CLI_KEY_OPS,
  CLI_KEY_ARTEFACTS,
  CLI_KEY_NO_SEEDS,
  CLI_KEY_TIMEOUT,
  CLI_KEY_SIGNATURE,
  CLI_KEY_MAX_RUNS,
  CLI_KEY_STATS,
  CLI_KEY_RANDOM,
  CLI_KEY_KNOWN,
  CLI_KEY_USAGE
};

/* What run, trace, shrink and fuzz have in common: their options, and the
 * parser that takes them. Others are ARGP_ERR_UNKNOWN. */
struct cli_target {
  const char *subject; /* borrow the arguments; NULL: none */
  const char *fault;
  uint64_t timeout; /* processor seconds; 0: no limit */
};

#define CLI_OPTION_SUBJECT                                         \
  {"subject", 's', "SUBJECT", 0,                                   \
   "what to verify (default: the first of 'penumbra subjects')", 0}
#define CLI_OPTION_FAULT                                           \
  {"fault", CLI_KEY_FAULT, "NAME", 0,                              \
   "plant a bug of 'penumbra faults' in the built-in collector", 0}

/* Takes KNOWN of fuzz and run: a folder, or none for that of the corpus. */
#define CLI_OPTION_KNOWN                                                \
  {"known", CLI_KEY_KNOWN, "DIR", OPTION_ARG_OPTIONAL,                  \
   "count the findings that are kept in DIR (default: the corpus's), and " \
   "take them for none",                                                \
   0}

error_t cli_target_parse(int key, char *argument, struct cli_target *target);

/* Parses the arguments of `penumbra NAME` (argv[0] is NAME). --help and
 * --version leave the program. 0, or CLI_BAD after an error. */
int cli_parse(const struct argp *argp, const char *name, int argc,
              char **argv, void *input);
/* From a parser: an error about an argument; returns EINVAL. */
error_t cli_refuse(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* A whole number from low to high, decimal; else an error that names what,
 * and EINVAL. */
error_t cli_number(const char *what, const char *text, uint64_t low,
                   uint64_t high, uint64_t *ret_value);

/* ---- subjects and faults --------------------------------------------- */

enum { CLI_SUBJECTS_MAX = 16 };

struct cli_choice {
  const struct subject *subjects[CLI_SUBJECTS_MAX];
  size_t count;
  const char *fault; /* borrows the argument; NULL: none */
};

/* Subject: a name, "all", or NULL for the first one; fault: NULL or a name,
 * which leaves those subjects that have it. 0, or CLI_BAD after an error. */
int cli_choose(const char *subject, const char *fault,
               struct cli_choice *ret_choice);
/* The same for a command that runs on one subject: "all" is refused. */
int cli_choose_one(const char *subject, const char *fault,
                   struct cli_choice *ret_choice);

#endif
