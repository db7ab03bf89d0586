/* SPDX-License-Identifier: MIT
 *
 * What differs, in words; see twin_internal.h. A difference of contents or of
 * life is found in sums: both run once more to that operation to show their
 * nodes, and once more to tell of the first one that differs.
 */
#include "lab/twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/twin_internal.h"

struct text {
  char *at;
  size_t left;
  const struct shadow *shadow;
};

static void
say(struct text *text, const char *words)
{
  size_t length = (size_t)snprintf(text->at, text->left, "%s", words);
  if (length >= text->left)
    length = text->left - 1;
  text->at += length;
  text->left -= length;
}

static bool
say_edge(void *user, uint8_t label, struct shadow_value key,
         struct shadow_value value)
{
  struct text *text = user;
  char words[96];
  (void)label;
  say(text, " ");
  if (key.tag != SUBJECT_NIL) {
    shadow_print(text->shadow, key, words, sizeof words);
    say(text, words);
    say(text, "=");
  }
  shadow_print(text->shadow, value, words, sizeof words);
  say(text, words);
  return true;
}

static void
describe(struct twin_side *side, const struct oracle_view *view, uint32_t node)
{
  struct twin *twin = side->twin;
  const struct shadow *shadow = oracle_shadow(lab_oracle(side->twin->lab));
  char words[160];
  struct text text = {twin->look.text[side->which], NODE_TEXT_MAX, shadow};
  bool is_shown = view->flags & ORACLE_VIEW_SHOWN;
  shadow_print(shadow, (struct shadow_value){node, SHADOW_NODE}, words,
               sizeof words);
  say(&text, words);
  if (shadow_path(shadow, node, words, sizeof words)) {
    say(&text, " at ");
    say(&text, words);
  }
  say(&text, !(view->flags & ORACLE_VIEW_FIRM) ? ", unreachable" : "");
  say(&text, is_shown ? ", lives, " : ", is gone");
  if (is_shown) {
    say(&text, oracle_colour_text(view->colour));
    say(&text, " ");
    say(&text, oracle_age_text(view->age));
  }
  say(&text, ":");
  shadow_visit(shadow, node, say_edge, &text);
}

void
twin_look(struct twin_side *side)
{
  struct twin *twin = side->twin;
  struct twin_look *look = &twin->look;
  const struct oracle *oracle = lab_oracle(side->twin->lab);
  uint32_t count = shadow_node_count(oracle_shadow(oracle));
  if (look->node != SHADOW_ROOT) {
    if (look->node < count)
      describe(side, &twin->views[look->node], look->node);
    return;
  }
  free(look->views[side->which]);
  look->views[side->which] = malloc((count + 1) * sizeof *twin->views);
  look->count[side->which] = look->views[side->which] ? count : 0;
  if (look->views[side->which])
    memcpy(look->views[side->which], twin->views,
           count * sizeof *twin->views);
}

/* The first node that differs in what the aspect is about; SHADOW_ROOT if none
 * does. */
static uint32_t
find_node(const struct twin *twin, const char *aspect)
{
  const struct twin_look *look = &twin->look;
  uint32_t count = look->count[0] < look->count[1] ? look->count[0]
                                                   : look->count[1];
  for (uint32_t node = 1; node < count; node++) {
    const struct oracle_view *a = &look->views[0][node];
    const struct oracle_view *b = &look->views[1][node];
    bool is_contents = strcmp(aspect, "contents") == 0;
    if (is_contents && ((a->flags ^ b->flags) & ORACLE_VIEW_FIRM ||
                        (a->flags & ORACLE_VIEW_FIRM &&
                         a->firm != b->firm)))
      return node;
    if (strcmp(aspect, "weak") == 0 && a->loose != b->loose)
      return node;
    if (is_contents || twin_floats(&twin->side[1], node))
      continue;
    if ((a->flags ^ b->flags) & ORACLE_VIEW_SHOWN)
      return node;
    if (strcmp(aspect, "paint") == 0 && a->flags & ORACLE_VIEW_SHOWN &&
        twin_paint(a) != twin_paint(b))
      return node;
  }
  return SHADOW_ROOT;
}

static void
run_again(struct twin *twin)
{
  struct lab_result ignored;
  twin_run_side(twin, 0, &ignored);
  twin_run_side(twin, 1, &ignored);
}

static const char *
status_text(uint8_t status)
{
  static const char *const texts[] = {[SUBJECT_DONE] = "done",
                                      [SUBJECT_NO_MEMORY] = "no memory",
                                      [SUBJECT_ERROR] = "error",
                                      [SUBJECT_UNSUPPORTED] = "unsupported"};
  return texts[status];
}

/* What the two said of the operation itself. */
static void
explain_operation(struct twin *twin, size_t index)
{
  const struct twin_step *a = &twin->steps[index];
  const struct twin_step *b = &twin->second;
  const struct shadow *shadow = oracle_shadow(lab_oracle(twin->lab));
  const char *aspect = twin->result->aspect;
  char words[2][96] = {"", ""};
  if (strcmp(aspect, "status") == 0) {
    snprintf(words[0], sizeof words[0], "%s", status_text(a->status));
    snprintf(words[1], sizeof words[1], "%s", status_text(b->status));
  } else if (strcmp(aspect, "answer") == 0) {
    shadow_print(shadow, a->answer[0], words[0], sizeof words[0]);
    shadow_print(shadow, b->answer[0], words[1], sizeof words[1]);
  } else if (strcmp(aspect, "phase") == 0) {
    snprintf(words[0], sizeof words[0], "%s", oracle_phase_text(a->phase));
    snprintf(words[1], sizeof words[1], "%s", oracle_phase_text(b->phase));
  }
  for (int i = 0; i < 2; i++)
    snprintf(twin->look.text[i], NODE_TEXT_MAX, "%s", words[i]);
}

static void
say_calls(struct twin *twin, uint8_t which, size_t from, size_t to)
{
  const struct twin_calls *calls = &twin->side[which].calls;
  const struct shadow *shadow = oracle_shadow(lab_oracle(twin->lab));
  struct text text = {twin->look.text[which], NODE_TEXT_MAX, shadow};
  say(&text, from == to ? "none" : "called of");
  for (size_t i = from; i < to; i++) {
    char words[96];
    struct shadow_value node = {calls->nodes[i], SHADOW_NODE};
    say(&text, i == from ? " " : ", ");
    shadow_print(shadow, node, words, sizeof words);
    say(&text, calls->nodes[i] < shadow_node_count(shadow) ? words : "?");
  }
}

/* At the end of the stream the calls are those of closing. */
static void
explain_calls(struct twin *twin, size_t index)
{
  const struct twin_step *a = &twin->steps[index];
  bool is_end = index == twin->stream.count;
  say_calls(twin, 0, a->calls,
            is_end ? twin->side[0].calls.count : a[1].calls);
  say_calls(twin, 1, twin->second.calls, twin->second_calls);
}

static void
explain_nodes(struct twin *twin, size_t index)
{
  struct twin_look *look = &twin->look;
  look->is_on = true;
  look->at = index;
  look->node = SHADOW_ROOT;
  look->text[0][0] = look->text[1][0] = '\0';
  run_again(twin);
  look->node = find_node(twin, twin->result->aspect);
  if (look->node != SHADOW_ROOT)
    run_again(twin);
  look->is_on = false;
}

void
twin_explain(struct twin *twin, size_t index)
{
  struct twin_result *result = twin->result;
  const char *aspect = result->aspect;
  struct op op = {.code = OP_CLOSE};
  if (index < twin->stream.count)
    op = twin->stream.ops[index];
  if (strcmp(aspect, "finalizers") == 0)
    explain_calls(twin, index);
  else if (strcmp(aspect, "status") == 0 || strcmp(aspect, "answer") == 0 ||
           strcmp(aspect, "phase") == 0)
    explain_operation(twin, index);
  else
    explain_nodes(twin, index);
  snprintf(result->message, sizeof result->message,
           "after %s: %s differ: %s: %s; %s: %s", op_infos[op.code].name,
           aspect, twin->pair->subject[0]->name, twin->look.text[0],
           twin->pair->subject[1]->name, twin->look.text[1]);
}

