/* SPDX-License-Identifier: MIT
 *
 * How a child died, as a verdict. A signal or a sanitizer's report is the
 * subject's; an assertion of ours, want of memory and the limit of time are
 * not: then the run is unchecked.
 */
#ifndef PENUMBRA_CLI_AUTOPSY_H
#define PENUMBRA_CLI_AUTOPSY_H

#include "cli/child.h"

/* status is waitpid()'s; words what the child wrote to standard error, ending
 * with NUL. Fills in job->verdict. */
void autopsy(struct child_job *job, int status, const char *words,
             const struct child_progress *progress, uint64_t timeout);

#endif
