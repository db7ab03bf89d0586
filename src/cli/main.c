/* SPDX-License-Identifier: MIT
 *
 * The command `penumbra`: finds the subcommand and hands over to it. Each
 * subcommand is in a file of its own, cmd_NAME.c.
 */
#include <argp.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

const char *argp_program_version = "penumbra " PACKAGE_VERSION;

const struct cli_command cli_commands[] = {
  {"run", "judge streams of operations, each in a process of its own",
   cmd_run},
  {"trace", "tell one run step by step", cmd_trace},
  {"twin", "hold two subjects against each other", cmd_twin},
  {"fuzz", "look for a stream that breaks a law", cmd_fuzz},
  {"shrink", "make a stream short that breaks a law", cmd_shrink},
  {"asm", "turn the text of a stream into bytes", cmd_asm},
  {"dis", "turn a stream into text", cmd_dis},
  {"gen", "make a random stream", cmd_gen},
  {"subjects", "list what can be verified", cmd_subjects},
  {"laws", "list what is promised", cmd_laws},
  {"ops", "list the operations", cmd_ops},
  {"faults", "list the bugs that can be planted", cmd_faults},
  {NULL, NULL, NULL},
};

static void
usage(FILE *stream)
{
  fputs("Usage: penumbra COMMAND [OPTION...] [ARGUMENT...]\n"
        "Verifies tri-colour garbage collectors: feeds a collector streams of "
        "operations and\n"
        "holds it, after every step, against a shadow heap that never "
        "collects anything.\n\n",
        stream);
  for (const struct cli_command *command = cli_commands; command->name;
       command++)
    fprintf(stream, "  %-10s %s\n", command->name, command->help);
  fputs("\n'penumbra COMMAND --help' says more about a command, penumbra(1) "
        "all of it.\n"
        "Exit codes: 0 clean, 1 a finding, 2 bad usage or input, 3 could not "
        "check.\n",
        stream);
}

static int
refuse_command(const char *name)
{
  const char *names[sizeof cli_commands / sizeof *cli_commands] = {NULL};
  const char *guess;

  for (size_t i = 0; cli_commands[i].name; i++)
    names[i] = cli_commands[i].name;
  guess = cli_guess(name, names);
  cli_error("'%s' is no command%s%s%s; 'penumbra --help' lists them", name,
            guess ? " (did you mean '" : "", guess ? guess : "",
            guess ? "'?)" : "");
  return CLI_BAD;
}

int
main(int argc, char **argv)
{
  argp_err_exit_status = CLI_BAD;
  if (argc < 2) {
    usage(stderr);
    return CLI_BAD;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 ||
      strcmp(argv[1], "-h") == 0) {
    usage(stdout);
    return cli_finish(CLI_CLEAN);
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
    puts(argp_program_version);
    return cli_finish(CLI_CLEAN);
  }
  for (const struct cli_command *command = cli_commands; command->name;
       command++)
    if (strcmp(argv[1], command->name) == 0)
      return cli_finish(command->run(argc - 1, argv + 1));
  return refuse_command(argv[1]);
}
