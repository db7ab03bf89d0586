/* SPDX-License-Identifier: MIT
 *
 * What the lists of the operation language give to others than C: the manual
 * penumbra-ops(7), as mdoc source, and a dictionary for libFuzzer. Both are
 * the same bytes at any time and on any machine. Used by the build and by the
 * command; owns nothing. Errors of writing are the caller's to find with
 * ferror().
 */
#ifndef PENUMBRA_OPS_OP_MANUAL_H
#define PENUMBRA_OPS_OP_MANUAL_H

#include <stdio.h>

void op_manual_write(FILE *file);
void op_dict_write(FILE *file);

#endif
