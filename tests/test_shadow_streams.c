/* SPDX-License-Identifier: MIT
 *
 * The shadow heap under random streams: after every operation the sums that
 * it keeps are held against the edges it shows, look-ups against the walk,
 * marks against a fixpoint; streams repeat; want of memory at any request is
 * reported and harmless. A sum that a frame forgets, a mark that goes stale
 * unseen, a half-done operation: each fails here.
 */
#include "shadow_fixture.h"

#include "oracle/shadow_internal.h"

enum { STREAMS = 250, OPERATIONS = 120, FAILING_STREAMS = 40, SEED = 20 };

/* ---- operations ------------------------------------------------------ */

/* Where operations come from: odd seeds draw near ones, that is, on few
 * registers, names and numbers, until one is admitted; even ones have what
 * the generator makes. */
struct source {
  struct op_random random;
  struct stream stream;
  size_t at, count;
  bool is_near;
};

static struct source
source_of(uint64_t seed, size_t count)
{
  struct source source = {.count = count, .is_near = seed % 2};

  op_random_init(&source.random, seed);
  assert_int_equal(stream_generate(seed, count, &source.stream), STREAM_OK);
  return source;
}

static struct op
near_op(struct op_random *random, uint8_t code)
{
  struct op op = {.code = code};
  int32_t *operand[] = {&op.a, &op.b, &op.c};

  for (int i = 0; i < 3; i++) {
    uint32_t count = op_operand_infos[op_infos[code].operand[i]].count;

    *operand[i] = (int32_t)op_random_below(random, count < 5 ? count : 5);
  }
  return op;
}

/* A second chance for operations that need much before them. Values bury all
 * else if they come as often as the rest. */
static struct op
near_admitted(struct op_random *random, const struct shadow *shadow)
{
  for (;;) {
    uint8_t code = (uint8_t)op_random_below(random, OP_COUNT);

    if (op_infos[code].group == OP_GROUP_VALUES && op_random_below(random, 4))
      continue;
    for (int i = 0; i < 25; i++) {
      struct op op = near_op(random, code);

      if (shadow_admits(shadow, op))
        return op;
    }
  }
}

/* One that makes something, in the order in which they fit together. */
static struct op
useful_op(size_t n)
{
  static const char *const ops[] = {
      "newtable r0 2 2", "cfunc r1 1",      "setevent r0 __close r1",
      "setmeta r0 r0",   "closure r2 r0 3", "conew r3 r2",
      "tbc r0",          "newud r4 0 3",    "resume r3 r0 3",
      "str r4 2",        "set r0 r4 r1",    "pcall r2 r0 5",
      "closure r1 r3 2", "conew r3 r1",     "resume r3 r1 1",
      "yield r4 0",      "coset r3 r4 r0",  "delete r0 r4",
      "newweak r3 k",    "newfin r1 link 0", "newfin r2 breed 1",
      "set r3 r1 r2",    "mode generational", "minor 1",
      "newweak r4 v",    "set r4 r2 r1",   "cfunc r1 3",
      "newtable r0 0 0", "setevent r0 __index r1",
      "setevent r0 __newindex r1", "newtable r2 0 0", "setmeta r2 r0",
      "callindex r3 r2 r1", "callstore r2 r1 r0"};

  return parse_op(ops[n % (sizeof ops / sizeof *ops)]);
}

/* The next admitted operation; false at the end. chain, wide and
 * ephemerons beyond the bound would make the slow checks slow. */
static bool
next_op(struct source *source, const struct shadow *shadow, struct op *ret_op)
{
  while (source->at < source->count) {
    size_t at = source->at++;
    struct op op = source->stream.ops[at];

    if (source->is_near)
      op = at % 4 ? near_admitted(&source->random, shadow) : useful_op(at / 4);
    if ((op.code == OP_CHAIN || op.code == OP_WIDE ||
         op.code == OP_EPHEMERONS) &&
        op.b > 40)
      op.b = 40;
    if (shadow_admits(shadow, op)) {
      *ret_op = op;
      return true;
    }
  }
  stream_done(&source->stream);
  return false;
}

static enum subject_status
random_status(struct answerer *answerer, struct op op)
{
  uint32_t n = op_random_below(&answerer->random, 40);

  if (n == 0)
    return SUBJECT_UNSUPPORTED;
  if (n == 1 && op_infos[op.code].flags & OP_ALLOCATES)
    return SUBJECT_NO_MEMORY;
  return SUBJECT_DONE;
}

/* ---- the collector --------------------------------------------------- */

static bool
pick_dead(void *user, uint8_t label, struct shadow_value key,
          struct shadow_value value)
{
  struct picked *picked = user;
  const struct shadow *shadow = picked->shadow;
  bool is_dead = (picked->weak & OP_WEAK_VALUES && value.tag == SHADOW_NODE &&
                  !shadow_is_reachable(shadow, (uint32_t)value.bits)) ||
                 (picked->weak & OP_WEAK_KEYS && key.tag == SHADOW_NODE &&
                  !shadow_is_held(shadow, (uint32_t)key.bits));

  if (label == SUBJECT_LABEL_ENTRY && is_dead) {
    picked->key = key;
    picked->is_found = true;
  }
  return !picked->is_found;
}

/* What a collection may remove it removes, one entry after another. */
static uint32_t
clear_dead_entries(struct shadow *shadow)
{
  uint32_t cleared = 0;

  for (uint32_t id = 0; id < shadow_node_count(shadow); id++) {
    struct picked picked = {.shadow = shadow, .is_found = true};

    picked.weak = shadow_weakness(shadow, id);
    while (picked.weak && picked.is_found) {
      picked.is_found = false;
      shadow_reach(shadow);
      shadow_visit(shadow, id, pick_dead, &picked);
      if (picked.is_found)
        shadow_clear_entry(shadow, id, picked.key);
      cleared += picked.is_found;
    }
  }
  return cleared;
}

/* Calls what is owed to nodes that are not reachable. */
static uint32_t
call_finalizers(struct shadow *shadow, bool is_closing)
{
  uint32_t called = 0;

  for (bool goes_on = true; goes_on && called < 5;) {
    const uint32_t *ids;
    uint32_t count = shadow_owed(shadow, &ids);

    goes_on = false;
    shadow_reach(shadow);
    for (uint32_t i = 0; i < count && !goes_on; i++) {
      uint32_t id = ids[i];

      if (shadow_is_reachable(shadow, id))
        continue;
      shadow_finalizer_begin(shadow, id);
      assert_int_equal(shadow_finalizer_end(shadow, id, is_closing),
                       SHADOW_OK);
      called++;
      goes_on = true;
    }
  }
  return called;
}

/* How often the collector has done something in an operation. */
static uint32_t times_cleared, times_called;

/* A collection inside an operation, in some of those that may have one. */
static void
collect_sometimes(struct shadow *shadow, struct answerer *answerer,
                  struct op op)
{
  bool is_creating = op.code == OP_COLLECT || op.code == OP_NEWTABLE ||
                     op.code == OP_NEWFIN || op.code == OP_NEWWEAK;

  if (!is_creating || op_random_below(&answerer->random, 2))
    return;
  times_cleared += clear_dead_entries(shadow);
  times_called +=
      call_finalizers(shadow, op_random_below(&answerer->random, 8) == 0);
}

static enum shadow_result
apply(struct shadow *shadow, struct answerer *answerer, struct op op)
{
  struct shadow_value answer[SUBJECT_ANSWERS_MAX] = {{0, 0}, {0, 0}};
  enum subject_status status = random_status(answerer, op);
  char message[SHADOW_MESSAGE_MAX];

  answer_op(answerer, shadow, op, answer);
  shadow_begin(shadow, op);
  collect_sometimes(shadow, answerer, op);
  return shadow_apply(shadow, op, status, answer, message);
}

/* How often each operation was applied: what was never tried proves nothing. */
static uint32_t applied[OP_COUNT];

static void
run_checked(struct shadow *shadow, uint64_t seed)
{
  struct answerer answerer = {{seed}, 3};
  struct source source = source_of(seed, OPERATIONS);
  struct op op;

  shadow_clear(shadow, false);
  while (next_op(&source, shadow, &op)) {
    uint8_t *before = reached_slowly(shadow);
    uint32_t count = shadow_node_count(shadow);

    applied[op.code]++;
    assert_int_equal(apply(shadow, &answerer, op), SHADOW_OK);
    check_shadow(shadow, before, count);
    free(before);
  }
}

static void
test_shadow_streams_keep_sums_and_marks(void **state)
{
  struct shadow *shadow = shadow_new();

  (void)state;
  assert_non_null(shadow);
  memset(applied, 0, sizeof applied);
  times_cleared = 0;
  times_called = 0;
  for (uint64_t seed = 0; seed < STREAMS; seed++)
    run_checked(shadow, seed);
  for (int code = 0; code < OP_COUNT; code++) {
    bool is_of_others = code == OP_NEWCDATA || code == OP_EXTSTR ||
                        code == OP_SETENV || code == OP_GETENV ||
                        code == OP_LIBRARY;

    if (!applied[code] && !is_of_others) /* of versions but 5.4 */
      fail_msg("%s was never applied", op_infos[code].name);
  }
  assert_true(times_cleared > 100);
  assert_true(times_called > 100);
  shadow_free(shadow);
}

/* Cells and frames agree on what is open; normal coroutines are a chain. */
static void
check_inside(const struct shadow *shadow)
{
  uint32_t id = SHADOW_MAIN, normal_count = 0, open_count = 0;

  for (uint32_t cell = 1; cell <= shadow->cell_count; cell++) {
    const struct shadow_cell *it = shadow->cells + cell;

    if (it->frame) {
      assert_true(shadow->frames[it->frame].open >> it->reg & 1);
      assert_int_equal(shadow->frames[it->frame].cells[it->reg], cell);
      open_count++;
    }
  }
  for (id = 0; id < shadow->node_count; id++) {
    const struct shadow_thread *thread = &shadow->nodes[id].as.thread;
    uint32_t depth = 0;

    if (shadow->nodes[id].kind != SUBJECT_KIND_THREAD)
      continue;
    for (uint32_t at = thread->frame; at; at = shadow->frames[at].previous) {
      const struct shadow_frame *frame = shadow->frames + at;

      assert_int_equal(frame->thread, id);
      assert_int_equal(frame->depth, thread->depth - 1 - depth++);
      for (uint32_t open = frame->open; open; open &= open - 1)
        open_count--;
    }
    assert_int_equal(depth, thread->depth);
    assert_int_equal(thread->status == SHADOW_NORMAL, thread->waits_for != 0);
    assert_int_equal(thread->status == SHADOW_RUNNING, id == shadow->running);
  }
  assert_int_equal(open_count, 0);
  for (id = SHADOW_MAIN; id != shadow->running;
       id = shadow->nodes[id].as.thread.waits_for)
    normal_count++;
  assert_int_equal(normal_count, shadow->normal_count);
}

static uint64_t
run_digested(struct shadow *shadow, uint64_t seed, bool large)
{
  struct answerer answerer = {{seed}, 3};
  struct source source = source_of(seed, 4 * OPERATIONS);
  uint64_t hash = 0;
  struct op op;

  shadow_clear(shadow, large);
  while (next_op(&source, shadow, &op)) {
    assert_int_equal(apply(shadow, &answerer, op), SHADOW_OK);
    hash = shadow_mix(hash + digest_shadow(shadow));
    check_inside(shadow);
  }
  return hash;
}

/* Also on a shadow that has seen other streams: nothing stays behind. */
static void
test_shadow_streams_repeat(void **state)
{
  struct shadow *used = shadow_new();

  (void)state;
  assert_non_null(used);
  for (uint64_t seed = SEED; seed < SEED + 30; seed++) {
    struct shadow *fresh = shadow_new();
    uint64_t hash;

    assert_non_null(fresh);
    hash = run_digested(fresh, seed, seed % 2);
    assert_int_equal(hash, run_digested(used, seed, seed % 2));
    assert_int_equal(hash, run_digested(used, seed, seed % 2));
    shadow_free(fresh);
  }
  shadow_free(used);
}

/* ---- want of memory -------------------------------------------------- */

struct scarcity {
  size_t left;  /* requests until one fails; SIZE_MAX for never */
  size_t asked; /* since the start */
  size_t held;  /* blocks */
};

static void *
allocate_scarcely(void *user, void *block, size_t size)
{
  struct scarcity *scarcity = user;

  if (size == 0) {
    scarcity->held -= block != NULL;
    free(block);
    return NULL;
  }
  scarcity->asked++;
  if (scarcity->left != SIZE_MAX && scarcity->left-- == 0) {
    scarcity->left = SIZE_MAX;
    return NULL;
  }
  scarcity->held += block == NULL;
  return realloc(block, size);
}

static void
test_shadow_new_fails_cleanly(void **state)
{
  struct scarcity scarcity = {.left = 0};
  struct shadow *shadow = NULL;

  (void)state;
  for (size_t k = 0; k < 20 && !shadow; k++) {
    scarcity.left = k;
    shadow = shadow_new_in(allocate_scarcely, &scarcity);
    assert_true(shadow || scarcity.held == 0);
  }
  assert_non_null(shadow);
  shadow_free(shadow);
  assert_int_equal(scarcity.held, 0);
}

/* Fails each request that the operation makes, one after another, and demands
 * that nothing has changed each time. Returns how many failed. */
static size_t
apply_scarcely(struct shadow *shadow, struct scarcity *scarcity, struct op op,
               const struct shadow_value *answer)
{
  char message[SHADOW_MESSAGE_MAX];
  size_t failed = 0;

  for (;;) {
    uint64_t digest = digest_shadow(shadow);
    enum shadow_result result;
    uint32_t first;

    scarcity->left = failed;
    result = apply_op(shadow, op, SUBJECT_DONE, answer, message);
    scarcity->left = SIZE_MAX;
    if (result == SHADOW_OK)
      return failed;
    assert_int_equal(result, SHADOW_NO_MEMORY);
    assert_int_equal(shadow_births(shadow, &first), 0);
    assert_int_equal(digest_shadow(shadow), digest);
    check_inside(shadow);
    failed++;
  }
}

/* Small vectors are full again and again; blocks must fail, too: chunks are
 * counted as full. */
static size_t
run_scarcely(uint64_t seed)
{
  struct scarcity scarcity = {.left = SIZE_MAX};
  struct shadow *shadow = shadow_new_in(allocate_scarcely, &scarcity);
  struct answerer answerer = {{seed}, 3};
  struct source source = source_of(seed, 4 * OPERATIONS);
  size_t failed = 0;
  struct op op;

  assert_non_null(shadow);
  while (next_op(&source, shadow, &op)) {
    struct shadow_value answer[SUBJECT_ANSWERS_MAX] = {{0, 0}, {0, 0}};

    answer_op(&answerer, shadow, op, answer);
    shadow_memory_exhaust(&shadow->memory);
    failed += apply_scarcely(shadow, &scarcity, op, answer);
    check_shadow(shadow, NULL, 0);
  }
  shadow_free(shadow);
  assert_int_equal(scarcity.held, 0);
  return failed;
}

static void
test_shadow_out_of_memory_changes_nothing(void **state)
{
  size_t failed = 0;

  (void)state;
  for (uint64_t seed = 0; seed < FAILING_STREAMS; seed++)
    failed += run_scarcely(seed);
  assert_true(failed > 1000);
}

/* What a finalizer cannot have it does not begin with. */
static void
test_shadow_finalizers_out_of_memory_change_nothing(void **state)
{
  static const char *const words[] = {"save", "touch", "sibling", "link",
                                      "breed"};
  struct scarcity scarcity = {.left = SIZE_MAX};
  struct shadow *shadow = shadow_new_in(allocate_scarcely, &scarcity);
  size_t failed = 0;

  (void)state;
  assert_non_null(shadow);
  for (int i = 0; i < 200; i++) {
    enum shadow_result result = SHADOW_NO_MEMORY;
    char text[OP_TEXT_OP_MAX];

    snprintf(text, sizeof text, "newfin r0 %s 0", words[i % 5]);
    run(shadow, text);
    run(shadow, "newtable r1 0 0; sets r0 0 r1; nil r1; sets r0 0 r1; "
                "newtable r1 0 0; seti r0 1 r1; sets r0 0 r1");
    shadow_memory_exhaust(&shadow->memory);
    shadow_begin(shadow, parse_op("collect"));
    shadow_finalizer_begin(shadow, node_in(shadow, 0));
    for (size_t left = 0; result != SHADOW_OK; left++) {
      uint64_t digest = digest_shadow(shadow);
      uint32_t first;

      scarcity.left = left;
      result = shadow_finalizer_end(shadow, node_in(shadow, 0), false);
      scarcity.left = SIZE_MAX;
      if (result == SHADOW_OK)
        break;
      assert_int_equal(shadow_births(shadow, &first), 0);
      assert_int_equal(digest_shadow(shadow), digest);
      failed++;
    }
    check_shadow(shadow, NULL, 0);
  }
  assert_true(failed > 20);
  shadow_free(shadow);
  assert_int_equal(scarcity.held, 0);
}

/* So many names that the index of strings must grow, and cannot at first. */
static void
test_shadow_strings_grow_or_change_nothing(void **state)
{
  struct scarcity scarcity = {.left = SIZE_MAX};
  struct shadow *shadow = shadow_new_in(allocate_scarcely, &scarcity);
  size_t failed = 0;

  (void)state;
  assert_non_null(shadow);
  for (int n = 0; n < SHADOW_OPERAND_NAME; n++) {
    struct op op = {.code = OP_STR, .b = n};
    uint32_t count = shadow->string_count;

    shadow_memory_exhaust(&shadow->memory);
    failed += apply_scarcely(shadow, &scarcity, op, NULL);
    assert_int_equal(shadow->string_count, count + 1);
  }
  assert_true(failed >= SHADOW_OPERAND_NAME + 3);
  shadow_free(shadow);
  assert_int_equal(scarcity.held, 0);
}

static struct shadow_value
float_value(double number)
{
  struct shadow_value value = {0, SUBJECT_FLOAT};

  memcpy(&value.bits, &number, sizeof number);
  return value;
}

/* No operation makes the numbers at the ends, but an answer might. */
static void
test_shadow_keys_are_integers_where_they_can_be(void **state)
{
  const double end = 9223372036854775808.0;
  struct shadow_value half = float_value(0.5), above = float_value(end);
  struct shadow_value below = float_value(-2 * end);

  (void)state;
  assert_true(same_value(shadow_key(float_value(-0.0)), integer_value(0)));
  assert_true(same_value(shadow_key(float_value(-3)), integer_value(-3)));
  assert_true(
      same_value(shadow_key(float_value(-end)), integer_value(INT64_MIN)));
  assert_true(same_value(shadow_key(half), half));
  assert_true(same_value(shadow_key(above), above));
  assert_true(same_value(shadow_key(below), below));
  assert_true(shadow_is_key(half));
  assert_false(shadow_is_key(float_value((end - end) / (end - end))));
  assert_false(shadow_is_key(nil_value()));
}

/* What was given back is taken again. */
static void
test_shadow_blocks_are_used_again(void **state)
{
  struct scarcity scarcity = {.left = SIZE_MAX};
  struct shadow *shadow = shadow_new_in(allocate_scarcely, &scarcity);
  const struct op ops[] = {parse_op("callv r0 r0 960"),
                           parse_op("return r0 0")};
  size_t asked = 0;

  (void)state;
  assert_non_null(shadow);
  run(shadow, "cfunc r0 0");
  for (int i = 0; i < 200; i++) {
    if (i == 2)
      asked = scarcity.asked;
    assert_int_equal(apply_op(shadow, ops[i % 2], SUBJECT_DONE, NULL, NULL),
                     SHADOW_OK);
  }
  assert_int_equal(scarcity.asked, asked);
  shadow_free(shadow);
}

/* A stream like one that was seen before asks for no memory. */
static void
test_shadow_steady_state_allocates_nothing(void **state)
{
  struct scarcity scarcity = {.left = SIZE_MAX};
  struct shadow *shadow = shadow_new_in(allocate_scarcely, &scarcity);
  size_t asked;

  (void)state;
  assert_non_null(shadow);
  for (uint64_t seed = 0; seed < 20; seed++)
    run_digested(shadow, seed, false);
  asked = scarcity.asked;
  for (uint64_t seed = 0; seed < 20; seed++)
    run_digested(shadow, seed, false);
  assert_int_equal(scarcity.asked, asked);
  shadow_free(shadow);
  assert_int_equal(scarcity.held, 0);
}

/* A large stream's memory is given back by the clear after it. */
static void
test_shadow_clear_gives_back_what_was_large(void **state)
{
  struct scarcity scarcity = {.left = SIZE_MAX};
  struct shadow *shadow = shadow_new_in(allocate_scarcely, &scarcity);
  char message[SHADOW_MESSAGE_MAX];
  size_t held;

  (void)state;
  assert_non_null(shadow);
  held = scarcity.held;
  shadow_clear(shadow, true);
  for (int i = 0; i < 3; i++) {
    struct op op = parse_op(i == 1 ? "wide r1 200704" : "chain r0 200704");

    assert_true(shadow_admits(shadow, op));
    assert_int_equal(apply_op(shadow, op, SUBJECT_DONE, NULL, message),
                     SHADOW_OK);
  }
  assert_int_equal(shadow_reach(shadow), SHADOW_FIRST + 2 * 200704 + 1);
  shadow_clear(shadow, false);
  assert_true(scarcity.held <= held + 64);
  assert_true(shadow->node_capacity < 1u << 16);
  check_shadow(shadow, NULL, 0);
  shadow_free(shadow);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shadow_streams_keep_sums_and_marks),
      cmocka_unit_test(test_shadow_streams_repeat),
      cmocka_unit_test(test_shadow_new_fails_cleanly),
      cmocka_unit_test(test_shadow_out_of_memory_changes_nothing),
      cmocka_unit_test(test_shadow_finalizers_out_of_memory_change_nothing),
      cmocka_unit_test(test_shadow_strings_grow_or_change_nothing),
      cmocka_unit_test(test_shadow_keys_are_integers_where_they_can_be),
      cmocka_unit_test(test_shadow_blocks_are_used_again),
      cmocka_unit_test(test_shadow_steady_state_allocates_nothing),
      cmocka_unit_test(test_shadow_clear_gives_back_what_was_large),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
