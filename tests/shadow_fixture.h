/* SPDX-License-Identifier: MIT
 *
 * What the tests of the shadow heap share: operations in text form, legal
 * answers to open ones, and a slow second opinion on sums, look-ups and
 * reachability that uses nothing but the walk over a node's edges.
 */
#ifndef PENUMBRA_TESTS_SHADOW_FIXTURE_H
#define PENUMBRA_TESTS_SHADOW_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op_gen.h"
#include "ops/op_text.h"
#include "oracle/shadow.h"

static inline struct shadow_value
nil_value(void)
{
  return (struct shadow_value){0, SUBJECT_NIL};
}

static inline struct shadow_value
integer_value(int64_t n)
{
  return (struct shadow_value){(uint64_t)n, SUBJECT_INTEGER};
}

static inline struct shadow_value
node_value(uint32_t id)
{
  return (struct shadow_value){id, SHADOW_NODE};
}

static inline bool
same_value(struct shadow_value a, struct shadow_value b)
{
  return a.bits == b.bits && a.tag == b.tag;
}

static inline struct op
parse_op(const char *text)
{
  char error[OP_TEXT_ERROR_MAX];
  struct op op;

  if (op_parse(text, strlen(text), &op, error) != OP_PARSE_OK)
    fail_msg("%s: %s", text, error);
  return op;
}

/* Begins the operation and applies it. */
static inline enum shadow_result
apply_op(struct shadow *shadow, struct op op, enum subject_status status,
         const struct shadow_value *answer, char *ret_message)
{
  shadow_begin(shadow, op);
  return shadow_apply(shadow, op, status, answer, ret_message);
}

/* ---- legal answers --------------------------------------------------- */

/* An answerer's state: picks among what is legal. */
struct answerer {
  struct op_random random;
  int64_t reference;
};

struct picked {
  const struct shadow *shadow;
  int32_t weak; /* of the table */
  struct shadow_value not_this, key, value;
  uint32_t left; /* entries to pass over */
  bool is_found;
};

static inline bool
pick_entry(void *user, uint8_t label, struct shadow_value key,
           struct shadow_value value)
{
  struct picked *picked = user;

  if (label != SUBJECT_LABEL_ENTRY || same_value(key, picked->not_this))
    return true;
  picked->key = key;
  picked->value = value;
  picked->is_found = true;
  return picked->left-- > 0;
}

static inline bool
has_integer(const struct shadow *shadow, uint32_t table, int64_t n)
{
  struct shadow_value ignored;

  return shadow_lookup(shadow, table, SUBJECT_LABEL_ENTRY, integer_value(n),
                       &ignored);
}

/* The depth of the running coroutine's last frame. */
static inline uint32_t
depth_now(const struct shadow *shadow)
{
  struct shadow_value ignored;
  uint32_t depth = 0;

  while (shadow_lookup(shadow, shadow_running(shadow), SUBJECT_LABEL_FUNCTION,
                       integer_value(depth + 1), &ignored))
    depth++;
  return depth;
}

static inline struct shadow_value
register_now(const struct shadow *shadow, uint32_t reg)
{
  struct shadow_value value = nil_value();

  if (!shadow_lookup(shadow, shadow_running(shadow), SUBJECT_LABEL_REGISTER,
                     integer_value(depth_now(shadow) * 65536 + reg), &value))
    fail_msg("register %u is missing", (unsigned)reg);
  return value;
}

/* What gets, getglobal and getreg read. */
static inline struct shadow_value
named_entry(const struct shadow *shadow, struct op op)
{
  struct shadow_value key = {0, SHADOW_STRING}, value = nil_value();
  uint32_t table =
      op.code == OP_GETREG ? SHADOW_REGISTRY : shadow_globals(shadow);
  char name[OP_STRING_MAX];
  size_t length;

  if (op.code == OP_GETS) {
    table = (uint32_t)register_now(shadow, (uint32_t)op.b).bits;
    length = op_string_name(op.c, name);
  } else if (op.code == OP_GETGLOBAL) {
    length = op_string_global(op.b, name);
  } else {
    length = op_string_registry(op.b, name);
  }
  key.bits = shadow_string_find(shadow, (const uint8_t *)name, length);
  if (key.bits)
    shadow_lookup(shadow, table, SUBJECT_LABEL_ENTRY, key, &value);
  return value;
}

/* A legal answer to an admitted open operation. */
static inline void
answer_op(struct answerer *answerer, const struct shadow *shadow, struct op op,
          struct shadow_value ret_answer[SUBJECT_ANSWERS_MAX])
{
  uint32_t a = (uint32_t)register_now(shadow, (uint32_t)op.a & 15).bits;
  uint32_t b = (uint32_t)register_now(shadow, (uint32_t)op.b & 15).bits;
  struct picked picked = {.key = nil_value(), .value = nil_value()};
  int64_t n = 0;

  if (op.code == OP_LEN || op.code == OP_APPEND) {
    uint32_t table = op.code == OP_LEN ? b : a;

    while (has_integer(shadow, table, n + 1))
      n++;
    ret_answer[0] = integer_value(op.code == OP_LEN ? n : n + 1);
  } else if (op.code == OP_NEXT) {
    picked.not_this = register_now(shadow, (uint32_t)op.b);
    picked.left = op_random_below(&answerer->random, 4);
    shadow_visit(shadow, a, pick_entry, &picked);
    ret_answer[0] = picked.key;
    ret_answer[1] = picked.value;
  } else if (op.code == OP_GETS || op.code == OP_GETGLOBAL ||
             op.code == OP_GETREG) {
    ret_answer[0] = named_entry(shadow, op);
  } else if (op.code == OP_REF) {
    ret_answer[0] = integer_value(answerer->reference++);
  }
}

/* ---- a second opinion ------------------------------------------------ */

struct opinion {
  const struct shadow *shadow;
  uint32_t node;
  int32_t weak; /* of the node */
  uint64_t sum;
  uint8_t *reached;
  bool has_grown;
};

static inline bool
add_opinion(void *user, uint8_t label, struct shadow_value key,
            struct shadow_value value)
{
  struct opinion *opinion = user;
  struct shadow_value there = nil_value();

  assert_int_not_equal(value.tag, SUBJECT_NIL);
  assert_true(
      shadow_lookup(opinion->shadow, opinion->node, label, key, &there));
  assert_true(same_value(there, value));
  opinion->sum += shadow_hash(label, key, value);
  return true;
}

static inline bool
is_reached(const struct opinion *opinion, struct shadow_value value)
{
  return value.tag != SHADOW_NODE || opinion->reached[value.bits];
}

static inline void
reach_value(struct opinion *opinion, struct shadow_value value)
{
  if (is_reached(opinion, value))
    return;
  opinion->reached[value.bits] = 1;
  opinion->has_grown = true;
}

static inline bool
spread_opinion(void *user, uint8_t label, struct shadow_value key,
               struct shadow_value value)
{
  struct opinion *opinion = user;
  int32_t weak = label == SUBJECT_LABEL_ENTRY ? opinion->weak : OP_WEAK_NONE;

  if (!(weak & OP_WEAK_KEYS))
    reach_value(opinion, key);
  if (!(weak & OP_WEAK_VALUES) &&
      (weak == OP_WEAK_NONE || is_reached(opinion, key)))
    reach_value(opinion, value);
  return true;
}

/* The sides that the __mode of a table's metatable names, read edge by edge. */
static inline int32_t
weakness_slowly(const struct shadow *shadow, uint32_t id)
{
  struct shadow_value metatable, mode;
  struct shadow_value key = {0, SHADOW_STRING};
  int32_t weak = OP_WEAK_NONE;
  const uint8_t *bytes;
  size_t length;

  key.bits = shadow_string_find(shadow, (const uint8_t *)"__mode", 6);
  if (shadow_kind(shadow, id) != SUBJECT_KIND_TABLE || !key.bits ||
      !shadow_lookup(shadow, id, SUBJECT_LABEL_METATABLE, nil_value(),
                     &metatable) ||
      metatable.tag != SHADOW_NODE ||
      !shadow_lookup(shadow, (uint32_t)metatable.bits, SUBJECT_LABEL_ENTRY, key,
                     &mode) ||
      mode.tag != SHADOW_STRING)
    return weak;
  bytes = shadow_string_bytes(shadow, (uint32_t)mode.bits, &length);
  for (size_t i = 0; i < length && length <= OP_SHORT_STRING_MAX; i++) {
    weak |= bytes[i] == 'k' ? OP_WEAK_KEYS : OP_WEAK_NONE;
    weak |= bytes[i] == 'v' ? OP_WEAK_VALUES : OP_WEAK_NONE;
  }
  return weak;
}

/* What is reachable, or held, to a fixpoint, one byte a node. Owned by the
 * caller. */
static inline uint8_t *
marked_slowly(const struct shadow *shadow, bool is_held)
{
  uint32_t count = shadow_node_count(shadow);
  struct opinion opinion = {.shadow = shadow, .has_grown = true};

  opinion.reached = calloc(count, 1);
  assert_non_null(opinion.reached);
  opinion.reached[SHADOW_ROOT] = 1;
  for (uint32_t id = 0; is_held && id < count; id++)
    opinion.reached[id] |= shadow_marking(shadow, id) != 0;
  while (opinion.has_grown) {
    opinion.has_grown = false;
    for (uint32_t id = 0; id < count; id++) {
      opinion.weak = weakness_slowly(shadow, id);
      if (opinion.reached[id])
        shadow_visit(shadow, id, spread_opinion, &opinion);
    }
  }
  return opinion.reached;
}

static inline uint8_t *
reached_slowly(const struct shadow *shadow)
{
  return marked_slowly(shadow, false);
}

/* Sums are those of the edges, look-ups agree with the walk, the marks agree
 * with the fixpoint. before: the reached before the last operation, of count
 * nodes; NULL if unknown. */
static inline void
check_shadow(struct shadow *shadow, const uint8_t *before, uint32_t count)
{
  uint32_t reached_count = shadow_reach(shadow);
  uint8_t *reached = reached_slowly(shadow);
  uint8_t *held = marked_slowly(shadow, true);

  for (uint32_t id = 0; id < shadow_node_count(shadow); id++) {
    struct opinion opinion = {.shadow = shadow, .node = id};

    shadow_visit(shadow, id, add_opinion, &opinion);
    assert_int_equal(opinion.sum, shadow_sum(shadow, id));
    assert_int_equal(reached[id], shadow_is_reachable(shadow, id));
    assert_int_equal(held[id], shadow_is_held(shadow, id));
    assert_int_equal(weakness_slowly(shadow, id), shadow_weakness(shadow, id));
    if (before)
      assert_int_equal(id < count && before[id],
                       shadow_was_reachable(shadow, id));
    reached_count -= reached[id];
  }
  assert_int_equal(reached_count, 0);
  free(reached);
  free(held);
}

/* ---- a digest -------------------------------------------------------- */

struct digest {
  uint64_t hash;
};

static inline bool
digest_edge(void *user, uint8_t label, struct shadow_value key,
            struct shadow_value value)
{
  struct digest *digest = user;

  digest->hash = shadow_mix(digest->hash) + shadow_hash(label, key, value);
  return true;
}

/* Of all that a reader can see but strings that nothing holds. */
static inline uint64_t
digest_shadow(struct shadow *shadow)
{
  struct digest digest = {shadow_reach(shadow)};

  for (uint32_t id = 0; id < shadow_node_count(shadow); id++) {
    shadow_visit(shadow, id, digest_edge, &digest);
    digest.hash = shadow_mix(digest.hash + shadow_kind(shadow, id) * 2 +
                             shadow_is_reachable(shadow, id)) +
                  shadow_sum(shadow, id);
    for (uint32_t n = 0; n < 3; n++)
      digest.hash = shadow_mix(digest.hash + shadow_cell(shadow, id, n));
  }
  return shadow_mix(digest.hash + shadow_running(shadow)) +
         shadow_cell_count(shadow);
}

/* ---- in words ------------------------------------------------------- */

/* Of the test that runs. */
static struct answerer answerer;

static inline void
run_one(struct shadow *shadow, const char *text)
{
  struct shadow_value answer[SUBJECT_ANSWERS_MAX] = {{0, 0}, {0, 0}};
  char message[SHADOW_MESSAGE_MAX] = "";
  struct op op = parse_op(text);
  uint32_t count = shadow_node_count(shadow);
  uint8_t *before = reached_slowly(shadow);

  if (!shadow_admits(shadow, op))
    fail_msg("%s: not admitted", text);
  answer_op(&answerer, shadow, op, answer);
  if (apply_op(shadow, op, SUBJECT_DONE, answer, message) != SHADOW_OK)
    fail_msg("%s: %s", text, message);
  check_shadow(shadow, before, count);
  free(before);
}

/* Calls visit for each operation of a text that parts them by "; ". */
static inline void
each_op(struct shadow *shadow, const char *texts,
        void (*visit)(struct shadow *, const char *))
{
  char text[OP_TEXT_OP_MAX];

  while (*texts) {
    size_t length = strcspn(texts, ";");

    assert_in_range(length, 1, sizeof text - 1);
    memcpy(text, texts, length);
    text[length] = '\0';
    visit(shadow, text);
    texts += length;
    texts += strspn(texts, "; ");
  }
}

/* The finalizer of a node is called, in an operation of its own. */
static inline void
finalize(struct shadow *shadow, uint32_t id, bool is_closing)
{
  uint32_t count = shadow_node_count(shadow);
  uint8_t *before = reached_slowly(shadow);

  shadow_begin(shadow, (struct op){.code = OP_COLLECT});
  shadow_finalizer_begin(shadow, id);
  assert_int_equal(shadow_finalizer_end(shadow, id, is_closing), SHADOW_OK);
  check_shadow(shadow, before, count);
  free(before);
}

/* Each must be admitted. */
static inline void
run(struct shadow *shadow, const char *texts)
{
  each_op(shadow, texts, run_one);
}

static inline bool
admits(const struct shadow *shadow, const char *text)
{
  return shadow_admits(shadow, parse_op(text));
}

static inline void
refuse_one(struct shadow *shadow, const char *text)
{
  if (admits(shadow, text))
    fail_msg("%s: admitted", text);
}

/* Each must be skipped. */
static inline void
refuse(struct shadow *shadow, const char *texts)
{
  each_op(shadow, texts, refuse_one);
}

/* What a register of the running frame holds, in words. */
static inline void
expect(const struct shadow *shadow, uint32_t reg, const char *words)
{
  char text[80];

  shadow_print(shadow, register_now(shadow, reg), text, sizeof text);
  assert_string_equal(text, words);
}

static inline uint32_t
node_in(const struct shadow *shadow, uint32_t reg)
{
  struct shadow_value value = register_now(shadow, reg);

  assert_int_equal(value.tag, SHADOW_NODE);
  return (uint32_t)value.bits;
}

/* What an edge leads to, in words; "none" if there is no such edge. */
static inline void
expect_edge(const struct shadow *shadow, uint32_t id, uint8_t label,
            struct shadow_value key, const char *words)
{
  struct shadow_value value;
  char text[80] = "none";

  if (shadow_lookup(shadow, id, label, key, &value))
    shadow_print(shadow, value, text, sizeof text);
  assert_string_equal(text, words);
}

static inline void
expect_register(const struct shadow *shadow, uint32_t thread, int64_t frame,
                int64_t reg, const char *words)
{
  expect_edge(shadow, thread, SUBJECT_LABEL_REGISTER,
              integer_value(frame * 65536 + reg), words);
}

static inline enum shadow_result
answered(struct shadow *shadow, const char *text, struct shadow_value first,
         struct shadow_value second)
{
  struct shadow_value answer[SUBJECT_ANSWERS_MAX] = {first, second};
  char message[SHADOW_MESSAGE_MAX] = "";
  struct op op = parse_op(text);
  uint64_t digest = digest_shadow(shadow);
  enum shadow_result result;

  assert_true(shadow_admits(shadow, op));
  result = apply_op(shadow, op, SUBJECT_DONE, answer, message);
  if (result != SHADOW_OK) {
    assert_int_not_equal(strlen(message), 0);
    assert_int_equal(digest_shadow(shadow), digest);
  }
  check_shadow(shadow, NULL, 0);
  return result;
}

static inline int
set_up(void **state)
{
  answerer = (struct answerer){{1}, 3};
  *state = shadow_new();
  return *state == NULL;
}

static inline int
tear_down(void **state)
{
  shadow_free(*state);
  return 0;
}

#endif
