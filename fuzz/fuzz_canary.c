/* SPDX-License-Identifier: MIT
 *
 * A fuzz target that must fail: the built-in collector with a bug that is
 * always on. Should it ever run clean over the seed that shows the bug, then
 * the detector is silent, and what all other targets say is worth nothing.
 * tests/canary.bats demands the failure. It is neither installed nor fuzzed.
 */
#include "fuzz/target.h"

const char *const target_subject = "lua54";
const char *const target_fault = "drop-table-barrier";
