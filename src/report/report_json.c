/* SPDX-License-Identifier: MIT
 *
 * Verdicts for machines. The keys and their order are a promise to those who
 * parse them.
 */
#include "report/json.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a well-formed UTF-8 sequence at text; 0 if there is none. */
static size_t
utf8_length(const unsigned char *text)
{
  size_t length = text[0] < 0x80   ? 1
                  : text[0] < 0xc2 ? 0
                  : text[0] < 0xe0 ? 2
                  : text[0] < 0xf0 ? 3
                  : text[0] < 0xf5 ? 4
                                   : 0;

  for (size_t i = 1; i < length; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  if (length == 3 && ((text[0] == 0xe0 && text[1] < 0xa0) ||
                      (text[0] == 0xed && text[1] > 0x9f)))
    return 0;
  if (length == 4 && ((text[0] == 0xf0 && text[1] < 0x90) ||
                      (text[0] == 0xf4 && text[1] > 0x8f)))
    return 0;
  return length;
}

json_t *
report_json_string(const char *text)
{
  static const char replacement[] = "\xef\xbf\xbd";
  const unsigned char *at = (const unsigned char *)text;
  json_t *string = json_string(text);
  char *clean;
  size_t length = 0;

  if (string)
    return string;
  clean = malloc(strlen(text) * (sizeof replacement - 1) + 1);
  if (!clean)
    return NULL;
  while (*at) {
    size_t bytes = utf8_length(at);

    memcpy(clean + length, bytes ? (const char *)at : replacement,
           bytes ? bytes : sizeof replacement - 1);
    length += bytes ? bytes : sizeof replacement - 1;
    at += bytes ? bytes : 1;
  }
  string = json_stringn(clean, length);
  free(clean);
  return string;
}

json_t *
report_json_text(const char *text)
{
  return text ? report_json_string(text) : json_null();
}

bool
report_json_print(FILE *stream, json_t *object)
{
  char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

  json_decref(object);
  if (!text)
    return false;
  fputs(text, stream);
  fputc('\n', stream);
  free(text);
  return true;
}

json_t *
report_json_verdict(const struct report_run *run,
                    const struct report_verdict *verdict)
{
  const struct lab_result *result = &verdict->result;
  bool is_broken = result->verdict == LAB_BROKEN;

  return json_pack(
      "{s:o, s:s, s:s, s:s?, s:o, s:o, s:I, s:I, s:o, s:s?}",
      "file", report_json_string(run->file),
      "subject", run->subject->name,
      "verdict", lab_verdict_text(result->verdict),
      "law", is_broken ? law_infos[result->law].id : NULL,
      "op_index", is_broken ? json_integer((json_int_t)result->op_index)
                            : json_null(),
      "micro_step", is_broken ? json_integer((json_int_t)result->micro_step)
                              : json_null(),
      "ops_run", (json_int_t)result->ops_run,
      "micro_steps", (json_int_t)result->micro_steps,
      "message", report_json_text(report_message(verdict)),
      "signature", is_broken ? result->signature : NULL);
}

bool
report_json(FILE *stream, const struct report_run *run,
            const struct report_verdict *verdict)
{
  return report_json_print(stream, report_json_verdict(run, verdict));
}
