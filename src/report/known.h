/* SPDX-License-Identifier: MIT
 *
 * Known findings: those that corpus/findings keeps, by their signatures, so
 * that a search may go on past them. The heads of the .pen files there are all
 * that is read; nothing is written twice. A head is comments of the form
 *
 *   # subjects: puc544, puc54        those that break the law
 *   # signature: law|kinds|phase|operation
 *
 * kinds is the place of an assertion that failed, as lgc.c:12. A signature may
 * stand more than once; a part that is * stands for any. The
 * command and the fuzz targets call it.
 */
#ifndef PENUMBRA_REPORT_KNOWN_H
#define PENUMBRA_REPORT_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/lab.h"

struct known_signature {
  char text[LAB_SIGNATURE_MAX];
  char *file; /* owns: the name of the finding, without .pen */
  uint64_t times; /* that it was met */
};

struct known {
  struct known_signature *all; /* owns */
  size_t count;
};

/* The signatures of all files NAME.pen in folder that are about the subject,
 * in the order of their names. False with errno if the folder or a file cannot
 * be read; what was read is there then, too. known_done is due in any case. */
bool known_read(const char *folder, const char *subject,
                struct known *ret_known);
void known_done(struct known *known);
/* The known signature that is like this one, whose times are raised; NULL if
 * none is. */
struct known_signature *known_meet(struct known *known, const char *signature);

/* Inputs that end the process that runs them, by known findings: a file of
 * their hashes, a line each, so that whoever goes on leaves them out. */
struct known_inputs {
  uint64_t *hashes; /* owns */
  size_t count;
};

/* No file is no input. False with errno; known_inputs_done is due in any
 * case. */
bool known_inputs_read(const char *path, struct known_inputs *ret_inputs);
bool known_inputs_has(const struct known_inputs *inputs, const uint8_t *bytes,
                      size_t size);
void known_inputs_done(struct known_inputs *inputs);
/* Adds one to the file. False with errno. */
bool known_inputs_add(const char *path, const uint8_t *bytes, size_t size);

#endif
