/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the real collectors. One program with a link for each subject,
 * fuzz_NAME, since all of them would be the same but for the name.
 */
#include "fuzz/target.h"

const char *const target_subject = NULL;
const char *const target_fault = NULL;
