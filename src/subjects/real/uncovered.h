/* SPDX-License-Identifier: MIT
 *
 * The surveys run at every step and are not what is explored, but lie in files
 * that carry counters for a fuzzer. Between the two macros, each on a line of
 * its own, functions have none: a seventh of a run.
 */
#ifndef PENUMBRA_SUBJECTS_REAL_UNCOVERED_H
#define PENUMBRA_SUBJECTS_REAL_UNCOVERED_H

#if defined(__clang__)
#define UNCOVERED_BEGIN                                            \
  _Pragma("clang attribute push(                                     \
            __attribute__((no_sanitize(\"coverage\"))),              \
            apply_to = function)")
#define UNCOVERED_END _Pragma("clang attribute pop")
#else
#define UNCOVERED_BEGIN
#define UNCOVERED_END
#endif

#endif
