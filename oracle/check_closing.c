/* SPDX-License-Identifier: MIT
 *
 * The law of to-be-closed values [safety.to-be-closed]: what an operation
 * leaves is closed once, last first, frame by frame from the innermost; nothing
 * else is.
 *
 * What is closed is translated to nodes as it comes, for a closer may run the
 * collector, and an address may be another object's afterwards. What was due is
 * known when the shadow has followed the operation. The order in which values
 * are due is the reverse of that in which they were added.
 *
 * A closer needs memory for its frame: if an allocation was refused in the
 * operation any of those due may be missing, the others are still in order. Of
 * a subject that cannot show its objects nothing is bound: there only the
 * number is judged.
 */
#include "oracle/check.h"

#include "oracle/explain.h"
#include "oracle/state.h"

void
check_keep_closing(struct oracle *oracle, uint64_t base)
{
  struct oracle_closing closing = {.base = base};
  if (!oracle->in_operation || oracle->stage != ORACLE_RUNNING ||
      oracle->closing_count == ORACLE_CLOSINGS_MAX)
    return;
  uint32_t node = oracle_node_at(oracle, base);
  if (node != BIND_NO_NODE)
    closing.node = node;
  oracle->closings[oracle->closing_count++] = closing;
}

/* ---- words ----------------------------------------------------------- */

/* A node, which may have died in the operation. */
static void
say_node(struct oracle *oracle, uint32_t node)
{
  uint32_t block = bind_block(&oracle->binding, node);
  for (uint32_t i = 0; !block && i < oracle->death_count; i++) {
    if (oracle->deaths[i].node == node) {
      explain_dead(oracle, &oracle->deaths[i]);
      return;
    }
  }
  if (block)
    explain_object(oracle, oracle->blocks.records[block].base);
  else
    explain_node(oracle, node);
}

static void
say_closing(struct oracle *oracle, const struct oracle_closing *closing)
{
  if (closing->node)
    say_node(oracle, closing->node);
  else if (closing->base)
    explain_object(oracle, closing->base);
  else
    explain_say(oracle, "a value that is no object");
}

/* How often a node is among ids. */
static uint32_t
times_due(const uint32_t *due, uint32_t count, uint32_t node)
{
  uint32_t times = 0;
  for (uint32_t i = 0; i < count; i++)
    times += due[i] == node;
  return times;
}

/* How often it is among the first count that were closed. */
static uint32_t
times_closed(const struct oracle *oracle, uint32_t count, uint32_t node)
{
  uint32_t times = 0;
  for (uint32_t i = 0; i < count; i++)
    times += oracle->closings[i].node == node;
  return times;
}

static void
accuse_missing(struct oracle *oracle, uint32_t node)
{
  if (!explain_begin(oracle, LAW_TO_BE_CLOSED))
    return;
  say_node(oracle, node);
  explain_say(oracle, " was not closed");
  explain_end(oracle);
}

/* Something was closed that is not due, or not as often. */
static void
accuse_surplus(struct oracle *oracle, const struct oracle_closing *closing,
               uint32_t times)
{
  if (!explain_begin(oracle, LAW_TO_BE_CLOSED))
    return;
  say_closing(oracle, closing);
  if (times == 0)
    explain_say(oracle, " was closed, and was not to be closed");
  else if (times == 1)
    explain_say(oracle, " was closed twice");
  else
    explain_say(oracle, " was closed more often than the %u times it was added",
                (unsigned)times);
  explain_end(oracle);
}

static void
accuse_order(struct oracle *oracle, uint32_t first, uint32_t later)
{
  if (!explain_begin(oracle, LAW_TO_BE_CLOSED))
    return;
  say_node(oracle, first);
  explain_say(oracle, " was closed before ");
  say_node(oracle, later);
  explain_say(oracle, ", which was added later");
  explain_end(oracle);
}

/* Closing number i is none that may come when the next one due is number
 * next. */
static void
accuse_closing(struct oracle *oracle, uint32_t i, const uint32_t *due,
               uint32_t count, uint32_t next)
{
  const struct oracle_closing *closing = &oracle->closings[i];
  uint32_t times = closing->node ? times_due(due, count, closing->node) : 0;
  if (times_closed(oracle, i + 1, closing->node) > times)
    accuse_surplus(oracle, closing, times);
  else if (oracle->refused)
    accuse_order(oracle, oracle->closings[i - 1].node, closing->node);
  else if (times_closed(oracle, oracle->closing_count, due[next]) <
           times_due(due, count, due[next]))
    accuse_missing(oracle, due[next]);
  else
    accuse_order(oracle, closing->node, due[next]);
}

/* ---- the law --------------------------------------------------------- */

void
check_closings(struct oracle *oracle, const uint32_t *due, uint32_t count)
{
  bool is_blind = !(oracle->subject->capabilities & SUBJECT_CAN_SURVEY);
  uint32_t next = 0;
  if (oracle_is_over(oracle) || (count == 0 && oracle->closing_count == 0) ||
      !oracle_applies(oracle, LAW_TO_BE_CLOSED))
    return;
  for (uint32_t i = 0; i < oracle->closing_count; i++, next++) {
    uint32_t node = oracle->closings[i].node, at = next;
    while (oracle->refused && !is_blind && at < count && due[at] != node)
      at++;
    if (at >= count || (!is_blind && due[at] != node)) {
      accuse_closing(oracle, i, due, count, next);
      return;
    }
    next = at;
  }
  if (next < count && !oracle->refused)
    accuse_missing(oracle, due[next]);
}
