/* SPDX-License-Identifier: MIT
 *
 * Writes, while Penumbra is built, what follows from the list of operations:
 * `op_tables man` the manual page penumbra-ops(7), `op_tables dict` the
 * fuzzer's dictionary. It is neither installed nor linked into anything.
 */
#include <stdio.h>
#include <string.h>

#include "ops/op_manual.h"

static int
usage(void)
{
  fputs("usage: op_tables man|dict\n", stderr);
  return 2;
}

int
main(int argc, char **argv)
{
  if (argc != 2)
    return usage();
  if (strcmp(argv[1], "man") == 0)
    op_manual_write(stdout);
  else if (strcmp(argv[1], "dict") == 0)
    op_dict_write(stdout);
  else
    return usage();
  if (fflush(stdout) != 0) {
    perror("op_tables: standard output");
    return 3;
  }
  return 0;
}
