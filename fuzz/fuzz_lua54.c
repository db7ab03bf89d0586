/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the built-in collector, dialect lua54.
 */
#include "fuzz/target.h"

const char *const target_subject = "lua54";
const char *const target_fault = NULL;
