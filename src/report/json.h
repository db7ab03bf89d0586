/* SPDX-License-Identifier: MIT
 *
 * JSON as the reports and the lists write it: one object a line, its keys in
 * the order in which they were added.
 */
#ifndef PENUMBRA_REPORT_JSON_H
#define PENUMBRA_REPORT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/report.h"

/* A string; what is no UTF-8 (a file name can be anything) is replaced.
 * Returns owned; NULL on no memory. */
json_t *report_json_string(const char *text);
/* The same, and null for NULL. */
json_t *report_json_text(const char *text);
/* Writes object on one line. Takes object, which may be NULL for want of
 * memory; false, and nothing is written, on no memory. */
bool report_json_print(FILE *stream, json_t *object);
/* The keys of a verdict. Returns owned; NULL on no memory. */
json_t *report_json_verdict(const struct report_run *run,
                            const struct report_verdict *verdict);

#endif
