/* SPDX-License-Identifier: MIT
 *
 * Lists; see list.h.
 */
#include "cli/list.h"

#include <string.h>

#include "cli/cli.h"
#include "report/json.h"

enum { COLUMNS = 79 };

struct arguments {
  const char *name;
  bool is_json;
};

static error_t
parse(int key, char *argument, struct argp_state *state)
{
  struct arguments *arguments = state->input;

  switch (key) {
  case CLI_KEY_JSON:
    arguments->is_json = true;
    return 0;
  case ARGP_KEY_ARG:
    return cli_refuse("%s takes no argument, got '%s'", arguments->name,
                      argument);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

int
list_parse(const char *name, const char *doc, int argc, char **argv,
           bool *ret_is_json)
{
  static const struct argp_option options[] = {
    {"json", CLI_KEY_JSON, NULL, 0, "one JSON object a line", 0},
    {0},
  };
  const struct argp parser = {options, parse, NULL, doc, NULL, NULL, NULL};
  struct arguments arguments = {name, false};
  int status = cli_parse(&parser, name, argc, argv, &arguments);

  *ret_is_json = arguments.is_json;
  return status;
}

void
list_paragraph(int indent, const char *text)
{
  int column = 0;

  while (*text) {
    int length = (int)strcspn(text, " ");

    if (column == 0) {
      printf("%*s", indent, "");
      column = indent;
    } else if (column + 1 + length > COLUMNS) {
      printf("\n%*s", indent, "");
      column = indent;
    } else {
      putchar(' ');
      column++;
    }
    printf("%.*s", length, text);
    column += length;
    text += length;
    text += strspn(text, " ");
  }
  putchar('\n');
}

int
list_json(json_t *object)
{
  if (report_json_print(stdout, object))
    return CLI_CLEAN;
  cli_error("no memory");
  return CLI_UNCHECKED;
}
