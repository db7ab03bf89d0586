/* SPDX-License-Identifier: MIT
 *
 * See tally.h. Counting comes first, then what the counters are called.
 */
#include "oracle/tally.h"

#include <string.h>

#include "oracle/state.h"

/* How a block's colour is kept (struct block): a white as which of the two it
 * is, so that the flip touches no block. */
enum tint { TINT_WHITE0, TINT_WHITE1, TINT_GREY, TINT_BLACK };

/* ---- counting -------------------------------------------------------- */

struct group_info {
  const char *title;
  const char *form;
  uint16_t first;
  uint8_t axes[TALLY_AXES];   /* enum axis */
  uint8_t places[TALLY_AXES]; /* of each */
};

enum axis {
#define AXIS(NAME, count, words) AXIS_##NAME,
#include "oracle/tally.def"
};

static const struct group_info groups[] = {
#define GROUP(NAME, title, form, A, B, C, D, E)                             \
  [TALLY_##NAME] = {title,                                                  \
                    form,                                                   \
                    TALLY_FIRST_##NAME,                                     \
                    {AXIS_##A, AXIS_##B, AXIS_##C, AXIS_##D, AXIS_##E},     \
                    {TALLY_PLACES_##A, TALLY_PLACES_##B, TALLY_PLACES_##C,  \
                     TALLY_PLACES_##D, TALLY_PLACES_##E}},
#include "oracle/tally.def"
};

/* The places of a cell; those left out are 0. */
#define AT(...) ((const unsigned[TALLY_AXES]){__VA_ARGS__})

static void
count(struct oracle *oracle, enum tally_group group,
      const unsigned at[TALLY_AXES])
{
  const struct group_info *info = &groups[group];
  unsigned index = 0;
  if (oracle->stage != ORACLE_RUNNING)
    return;
  for (int i = 0; i < TALLY_AXES; i++) {
    if (at[i] >= info->places[i])
      return; /* a subject may tell nonsense: that is judged elsewhere */
    index = index * info->places[i] + at[i];
  }
  oracle->stats.tally[info->first + index] += 1;
}

static void
count_deed(struct oracle *oracle, enum tally_deed deed)
{
  count(oracle, TALLY_HAPPENINGS, AT(deed));
}

static void
paint(struct oracle *oracle, uint64_t base, uint8_t colour)
{
  static const uint8_t tints[] = {[SUBJECT_WHITE_CURRENT] = TINT_WHITE0,
                                  [SUBJECT_WHITE_OTHER] = TINT_WHITE1,
                                  [SUBJECT_GREY] = TINT_GREY,
                                  [SUBJECT_BLACK] = TINT_BLACK};
  uint32_t block = blocks_find(&oracle->blocks, base);
  if (!block || colour >= SUBJECT_COLOUR_COUNT)
    return;
  uint8_t tint = tints[colour];
  oracle->blocks.records[block].tint =
      tint <= TINT_WHITE1 ? tint ^ oracle->tally.white : tint;
}

static uint8_t
colour_of(const struct oracle *oracle, uint64_t base)
{
  uint32_t block = blocks_find(&oracle->blocks, base);
  uint8_t tint = oracle->blocks.records[block].tint;
  if (!block)
    return SUBJECT_COLOUR_COUNT;
  if (tint == TINT_GREY || tint == TINT_BLACK)
    return tint == TINT_GREY ? SUBJECT_GREY : SUBJECT_BLACK;
  return tint == oracle->tally.white ? SUBJECT_WHITE_CURRENT
                                     : SUBJECT_WHITE_OTHER;
}

/* What the shadow does not know of (an object that was born and died within
 * one operation) is not counted. */
static void
count_dead_key(struct oracle *oracle, uint32_t table, uint32_t key)
{
  const struct shadow *shadow = oracle->shadow;
  struct shadow_value name = {key, SHADOW_NODE}, value;
  if (table == BIND_NO_NODE || key == BIND_NO_NODE)
    return;
  if (shadow_weakness(shadow, table) == OP_WEAK_BOTH)
    count(oracle, TALLY_CLEARED, AT(TALLY_CLEARING_BOTH));
  else if (shadow_lookup(shadow, table, SUBJECT_LABEL_ENTRY, name, &value)) {
    shadow_reach(oracle->shadow); /* a finalizer may have changed it */
    count(oracle, TALLY_CLEARED,
          AT(shadow_is_collectable(value) &&
                     !shadow_is_held(shadow, (uint32_t)value.bits)
                 ? TALLY_CLEARING_EPHEMERON
                 : TALLY_CLEARING_KEY));
  }
}

static void
on_cleared(struct oracle *oracle, const struct subject_event *event)
{
  if (event->from)
    count_dead_key(oracle, oracle_node_at(oracle, event->base),
                   oracle_node_at(oracle, event->value));
  else
    count(oracle, TALLY_CLEARED, AT(TALLY_CLEARING_VALUE));
}

static void
on_relisted(struct oracle *oracle, const struct subject_event *event)
{
  if (event->to == SUBJECT_LIST_PENDING)
    count_deed(oracle, TALLY_DEED_SEPARATED);
  const struct oracle_call *call = oracle_call_now(oracle);
  if (event->to == SUBJECT_LIST_FINALIZABLE && call &&
      event->base == call->base)
    count_deed(oracle, TALLY_DEED_REMARKED);
}

static void
on_finalizer(struct oracle *oracle, const struct subject_event *event)
{
  uint32_t node = oracle_node_at(oracle, event->base);
  if (oracle->stage == ORACLE_CLOSING)
    oracle->stats.tally[TALLY_FIRST_HAPPENINGS + TALLY_DEED_AT_CLOSE] += 1;
  count(oracle, TALLY_FINALIZERS, AT(oracle->ages.mode, oracle->phase));
  if (node != BIND_NO_NODE)
    count(oracle, TALLY_BEHAVIOURS,
          AT((unsigned)shadow_behaviour(oracle->shadow, node)));
}

static void
on_finalized(struct oracle *oracle, const struct subject_event *event)
{
  const struct oracle_call *call = oracle_call_now(oracle);
  if (event->to)
    count_deed(oracle, TALLY_DEED_RAISED);
  else if (call && (call->behaviour == OP_BEHAVIOUR_SAVE ||
                    call->behaviour == OP_BEHAVIOUR_SAVE_TOO))
    count_deed(oracle, TALLY_DEED_RESURRECTED);
}

static void
on_emergency(struct oracle *oracle, const struct subject_event *event)
{
  if (!event->to)
    return;
  count(oracle, TALLY_EMERGENCIES, AT(oracle->ages.mode, oracle->phase));
  if (oracle_is_finalizing(oracle))
    count_deed(oracle, TALLY_DEED_EMERGENCY_INSIDE);
  else
    oracle->tally.emergencies += 1;
}

void
tally_event(struct oracle *oracle, const struct subject_event *event)
{
  switch (event->type) {
  case SUBJECT_EVENT_BIRTH:
  case SUBJECT_EVENT_RECOLOURED:
    paint(oracle, event->base, event->to);
    break;
  case SUBJECT_EVENT_PHASE:
    oracle->tally.white ^= event->from == SUBJECT_PHASE_ATOMIC;
    count(oracle, TALLY_PHASES, AT(event->to));
    break;
  case SUBJECT_EVENT_BARRIER:
    count(oracle, TALLY_BARRIERS,
          AT(oracle->ages.mode, event->from, event->to,
             colour_of(oracle, event->base), colour_of(oracle, event->value)));
    break;
  case SUBJECT_EVENT_AGED:
    count(oracle, TALLY_AGES, AT(event->from, event->to));
    break;
  case SUBJECT_EVENT_CLEARED:
    on_cleared(oracle, event);
    break;
  case SUBJECT_EVENT_RELISTED:
    on_relisted(oracle, event);
    break;
  case SUBJECT_EVENT_FINALIZER:
    on_finalizer(oracle, event);
    break;
  case SUBJECT_EVENT_FINALIZED:
    on_finalized(oracle, event);
    break;
  case SUBJECT_EVENT_WARNING:
    count_deed(oracle, TALLY_DEED_WARNED);
    break;
  case SUBJECT_EVENT_EMERGENCY:
    on_emergency(oracle, event);
    break;
  default:
    break;
  }
}

void
tally_begin(struct oracle *oracle)
{
  oracle->tally = (struct tally){.white = TINT_WHITE0};
}

void
tally_survey(struct oracle *oracle)
{
  const struct subject_heap *heap = &oracle->survey.heap;
  count(oracle, TALLY_HEAPS,
        AT(heap->by_age ? OP_MODE_GENERATIONAL : OP_MODE_INCREMENTAL,
           heap->phase));
}

void
tally_operation_begin(struct oracle *oracle, struct op op)
{
  uint8_t mode = shadow_mode(oracle->shadow);
  oracle->tally.emergencies = 0;
  if (op.code == OP_MODE && op.a != mode)
    count(oracle, TALLY_SWITCHES, AT(mode, oracle->phase));
}

void
tally_operation_end(struct oracle *oracle, enum subject_status status)
{
  if (oracle->tally.emergencies && status == SUBJECT_DONE)
    count_deed(oracle, TALLY_DEED_EMERGENCY_HELPED);
  if (oracle->tally.emergencies && status == SUBJECT_NO_MEMORY)
    count_deed(oracle, TALLY_DEED_EMERGENCY_IN_VAIN);
}

/* ---- names ----------------------------------------------------------- */

static const char *
mode_text(uint8_t mode)
{
  return op_word_text(OP_OPERAND_MODE, mode);
}

static const char *
behaviour_text(uint8_t behaviour)
{
  return op_word_text(OP_OPERAND_BEHAVIOUR, behaviour);
}

static const char *
barrier_text(uint8_t is_back)
{
  return is_back ? "back" : "forward";
}

static const char *
taken_text(uint8_t is_taken)
{
  return is_taken ? "taken" : "not taken";
}

static const char *
deed_text(uint8_t deed)
{
  static const char *const words[] = {
#define DEED(NAME, words) words,
#include "oracle/tally.def"
  };
  return words[deed];
}

static const char *
clearing_text(uint8_t clearing)
{
  static const char *const words[] = {
#define CLEARING(NAME, words) words,
#include "oracle/tally.def"
  };
  return words[clearing];
}

static const char *(*const axis_words[])(uint8_t place) = {
#define AXIS(NAME, count, words) [AXIS_##NAME] = words,
#include "oracle/tally.def"
};

static void
print_name(const struct group_info *group, const uint8_t at[TALLY_AXES],
           char ret_name[TALLY_NAME_MAX])
{
  size_t length = 0;
  int axis = 0;
  for (const char *form = group->form; *form; form++) {
    char letter[2] = {*form};
    const char *text = letter;
    if (*form == '$') {
      text = axis_words[group->axes[axis]](at[axis]);
      axis += 1;
    }
    size_t size = strlen(text);
    if (size > TALLY_NAME_MAX - 1 - length)
      size = TALLY_NAME_MAX - 1 - length;
    memcpy(ret_name + length, text, size);
    length += size;
  }
  ret_name[length] = '\0';
}

/* ---- which cells ----------------------------------------------------- */

static const struct rule {
  enum tally_group group;
  int at[TALLY_AXES];
  const char *never; /* NULL: it has to be seen */
} rules[] = {
#define NEVER(reason, GROUP, ...) {TALLY_##GROUP, {__VA_ARGS__}, reason},
#define SEEN(GROUP, ...) {TALLY_##GROUP, {__VA_ARGS__}, NULL},
#include "oracle/tally.def"
};

static bool
matches(const int pattern[TALLY_AXES], const uint8_t at[TALLY_AXES])
{
  for (int i = 0; i < TALLY_AXES; i++) {
    int place = pattern[i] == TALLY_SAME ? at[i - 1] : pattern[i];
    if (place != TALLY_ANY && place != at[i])
      return false;
  }
  return true;
}

static const char *
reason_of(enum tally_group group, const uint8_t at[TALLY_AXES])
{
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
    if (rules[i].group == group && matches(rules[i].at, at))
      return rules[i].never;
  return NULL;
}

/* What a subject does not have, and what it does not show, is left out. */
static bool
tally_applies(const struct subject *subject, enum tally_group group,
              const uint8_t at[TALLY_AXES])
{
  const struct subject_traits *traits = subject->traits;
  bool is_generational =
      group == TALLY_AGES || (groups[group].axes[0] == AXIS_MODE &&
                              at[0] == OP_MODE_GENERATIONAL);
  bool is_emergency =
      group == TALLY_EMERGENCIES ||
      (group == TALLY_HAPPENINGS && at[0] >= TALLY_DEED_EMERGENCY_HELPED);
  bool is_ephemeron = group == TALLY_CLEARED &&
                      at[0] == TALLY_CLEARING_EPHEMERON;
  return subject->capabilities & SUBJECT_CAN_EVENTS &&
         (traits->generational || !is_generational) &&
         (traits->generational || group != TALLY_SWITCHES) &&
         (traits->emergency || !is_emergency) &&
         (traits->ephemerons || !is_ephemeron);
}

static bool
law_cell(const struct oracle_stats *stats, const struct subject *subject,
         size_t law, struct tally_cell *ret_cell)
{
  if (law_infos[law].needs & ~oracle_capabilities(subject))
    return false;
  *ret_cell =
      (struct tally_cell){.group = TALLY_LAWS, .count = stats->law[law]};
  strncpy(ret_cell->name, law_infos[law].id, TALLY_NAME_MAX - 1);
  return true;
}

/* Where the counter with this index stands. */
static enum tally_group
locate(size_t index, uint8_t ret_at[TALLY_AXES])
{
  size_t group = 0;
  while (group + 1 < TALLY_LAWS && groups[group + 1].first <= index)
    group++;
  index -= groups[group].first;
  for (int i = TALLY_AXES - 1; i >= 0; i--) {
    ret_at[i] = (uint8_t)(index % groups[group].places[i]);
    index /= groups[group].places[i];
  }
  return (enum tally_group)group;
}

static bool
counter_cell(const struct oracle_stats *stats, const struct subject *subject,
             size_t index, struct tally_cell *ret_cell)
{
  uint8_t at[TALLY_AXES];
  enum tally_group group = locate(index, at);
  if (!tally_applies(subject, group, at))
    return false;
  ret_cell->group = group;
  ret_cell->count = stats->tally[index];
  ret_cell->never = reason_of(group, at);
  print_name(&groups[group], at, ret_cell->name);
  return true;
}

bool
tally_next(const struct oracle_stats *stats, const struct subject *subject,
           size_t *cursor, struct tally_cell *ret_cell)
{
  bool applies = false;
  while (!applies && *cursor < TALLY_COUNTERS + LAW_COUNT - 1) {
    size_t index = (*cursor)++;
    applies = index < TALLY_COUNTERS
                  ? counter_cell(stats, subject, index, ret_cell)
                  : law_cell(stats, subject,
                             LAW_NONE + 1 + index - TALLY_COUNTERS, ret_cell);
  }
  return applies;
}

const char *
tally_title(enum tally_group group)
{
  return group == TALLY_LAWS ? "laws applied" : groups[group].title;
}

uint64_t
tally_sum(const struct oracle_stats *stats, enum tally_group group,
          const int places[TALLY_AXES])
{
  uint64_t sum = 0;
  uint8_t at[TALLY_AXES];
  for (size_t i = 0; i < TALLY_COUNTERS; i++)
    if (locate(i, at) == group && matches(places, at))
      sum += stats->tally[i];
  return sum;
}
