/* SPDX-License-Identifier: MIT
 *
 * What the subcommands that print a list share: their arguments (--json and
 * nothing else) and the printing of long sentences.
 */
#ifndef PENUMBRA_CLI_LIST_H
#define PENUMBRA_CLI_LIST_H

#include <jansson.h>
#include <stdbool.h>

/* 0, or CLI_BAD after an error. doc is the text of --help. */
int list_parse(const char *name, const char *doc, int argc, char **argv,
               bool *ret_is_json);
/* text, its lines indented and no longer than a terminal's. */
void list_paragraph(int indent, const char *text);
/* One object on a line. Takes object, NULL for want of memory. Returns
 * CLI_CLEAN, or CLI_UNCHECKED after an error. */
int list_json(json_t *object);

#endif
