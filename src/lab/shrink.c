/* SPDX-License-Identifier: MIT
 *
 * Delta debugging in two moves that alternate until neither helps: leave out
 * runs of operations, from half of the stream down to one; and make operands
 * smaller. Candidates are built beside the stream and take its place when the
 * predicate holds for them.
 */
#include "lab/shrink.h"

#include <stdlib.h>
#include <string.h>

struct shrinker {
  struct stream *stream;   /* the best so far */
  struct stream candidate; /* owns ops, room for as many as stream had */
  shrink_predicate holds;
  void *user;
  size_t runs, runs_max;
};

static bool
accept(struct shrinker *s)
{
  if (s->runs >= s->runs_max)
    return false;
  s->runs += 1;
  if (!s->holds(s->user, &s->candidate))
    return false;
  memcpy(s->stream->ops, s->candidate.ops,
         s->candidate.count * sizeof *s->candidate.ops);
  s->stream->count = s->candidate.count;
  return true;
}

/* The stream without count operations from first on. */
static bool
try_without(struct shrinker *s, size_t first, size_t count)
{
  const struct op *ops = s->stream->ops;
  size_t after = s->stream->count - first - count;
  memcpy(s->candidate.ops, ops, first * sizeof *ops);
  memcpy(s->candidate.ops + first, ops + first + count, after * sizeof *ops);
  s->candidate.count = first + after;
  return accept(s);
}

static bool
leave_out(struct shrinker *s)
{
  bool any = false;
  for (size_t size = s->stream->count / 2 + 1; size > 0; size /= 2)
    for (size_t end = s->stream->count; end > 0;) {
      size_t first = end > size ? end - size : 0;
      if (first + size <= s->stream->count && try_without(s, first, size))
        any = true;
      end = first;
    }
  return any;
}

static bool
try_operand(struct shrinker *s, size_t index, unsigned operand, int32_t value)
{
  size_t count = s->stream->count;
  memcpy(s->candidate.ops, s->stream->ops, count * sizeof *s->stream->ops);
  s->candidate.count = count;
  struct op *op = &s->candidate.ops[index];
  int32_t *field = operand == 0 ? &op->a : operand == 1 ? &op->b : &op->c;
  if (*field == value)
    return false;
  *field = value;
  return op_is_valid(*op) && accept(s);
}

/* Nearer to zero by all of it, by half of it, and so on down to one. Never
 * further away, so that this ends. Words keep their meaning only as they are,
 * but a smaller one may hold as well. */
static bool
try_smaller(struct shrinker *s, size_t index, unsigned operand)
{
  const struct op *op = &s->stream->ops[index];
  int32_t value = operand == 0 ? op->a : operand == 1 ? op->b : op->c;
  bool any = false;
  for (int32_t step = value; step != 0 && value != 0; step /= 2)
    if (try_operand(s, index, operand, value - step)) {
      value -= step;
      any = true;
    }
  return any;
}

static bool
make_smaller(struct shrinker *s)
{
  bool any = false;
  for (size_t i = 0; i < s->stream->count; i++)
    for (unsigned operand = 0; operand < 3; operand++)
      any |= try_smaller(s, i, operand);
  return any;
}

size_t
stream_shrink(struct stream *stream, shrink_predicate holds, void *user,
              size_t runs_max)
{
  struct shrinker s = {
      .stream = stream, .holds = holds, .user = user, .runs_max = runs_max};
  s.candidate.ops = malloc((stream->count + 1) * sizeof *stream->ops);
  if (!s.candidate.ops)
    return 0;
  bool again = true;
  while (again && s.runs < runs_max) {
    again = leave_out(&s);
    again |= make_smaller(&s);
  }
  free(s.candidate.ops);
  return s.runs;
}
