/* SPDX-License-Identifier: MIT
 *
 * penumbra subjects: what can be verified.
 */
#include "cli/cli.h"
#include "cli/list.h"

static const struct {
  uint32_t bit;
  const char *name;
} capabilities[] = {
  {SUBJECT_CAN_SURVEY, "survey"}, {SUBJECT_CAN_COLOUR, "colour"},
  {SUBJECT_CAN_STEP, "step"},     {SUBJECT_CAN_EVENTS, "events"},
  {SUBJECT_CAN_COUNT, "count"},
};

enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities };

static json_t *
to_json(const struct subject *subject)
{
  json_t *shows = json_array();

  for (size_t i = 0; i < CAPABILITIES; i++)
    if (subject->capabilities & capabilities[i].bit)
      json_array_append_new(shows, json_string(capabilities[i].name));
  return json_pack("{s:s, s:s, s:o}", "name", subject->name, "title",
                   subject->title, "shows", shows);
}

int
cmd_subjects(int argc, char **argv)
{
  bool is_json;
  int status = list_parse(
      "subjects",
      "List the collectors that can be verified."
      "\vThe first one is what run, trace and fuzz take without -s. 'shows' "
      "says what the laws can be held against: its whole heap (survey), "
      "colours and lists (colour), single steps (step), each birth, death "
      "and change (events), its own count of bytes (count).",
      argc, argv, &is_json);

  for (size_t i = 0; status == CLI_CLEAN && subject_all[i]; i++) {
    if (is_json) {
      status = list_json(to_json(subject_all[i]));
      continue;
    }
    printf("%-10s %s\n", subject_all[i]->name, subject_all[i]->title);
    printf("%-10s shows:", "");
    for (size_t j = 0; j < CAPABILITIES; j++)
      if (subject_all[i]->capabilities & capabilities[j].bit)
        printf(" %s", capabilities[j].name);
    putchar('\n');
  }
  return status;
}
