/* SPDX-License-Identifier: MIT
 *
 * What happens when an assertion fails: the host's handler is told, which may
 * leave by longjmp; if it comes back, or there is none, the process aborts.
 * The handler is the module's only global state, since an assertion does not
 * always know its heap.
 */
#include "gc/gc_assert.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "gc/gc.h"

static struct {
  gc_assertion_handler call;
  void *user;
} handler;

void
gc_set_assertion_handler(gc_assertion_handler call, void *user)
{
  handler.call = call;
  handler.user = user;
}

_Noreturn void
gc_assertion_failed(const char *file, int line, const char *condition)
{
  char text[200];

  snprintf(text, sizeof(text), "%s:%d: %s", file, line, condition);
  if (handler.call != NULL) {
    handler.call(handler.user, text);
  }
  fprintf(stderr, "gc: assertion failed: %s\n", text);
  abort();
}
