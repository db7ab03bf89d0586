/* SPDX-License-Identifier: MIT
 *
 * What all fuzz targets share. A target is one file, fuzz_NAME.c, that says
 * which subject it fuzzes; target.c does the rest: one input is one stream,
 * run once in a lab, and a broken law is an abort.
 *
 * Options, which libFuzzer hands through since they begin with two hyphens:
 *   --subject=NAME  another subject than the target's
 *   --fault=NAME    a seeded fault of the subject
 *   --stats=FILE    keep the counters of report/summary.h in FILE
 *   --known=DIR     the findings that are kept in DIR (report/known.h) are
 *                   counted and are no findings
 *
 * With PENUMBRA_TWICE=1 in the environment each input runs twice, and the
 * hashes of the two traces must agree.
 */
#ifndef PENUMBRA_FUZZ_TARGET_H
#define PENUMBRA_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Defined by each target: the subject that it fuzzes. NULL: the one whose name
 * follows "fuzz_" in the program's own. */
extern const char *const target_subject;
/* Defined by each target: a seeded fault that is on unless --fault names
 * another one. NULL: none, as for all but the canary. */
extern const char *const target_fault;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
