/* SPDX-License-Identifier: MIT
 *
 * See lab.h. How a run goes:
 *
 *   An operation is admitted by the shadow, performed by the subject (or, if
 *   it steers by micro-steps or belongs to the arena, by the lab), followed by
 *   the shadow, and then the whole heap is held against the laws. Inside an
 *   operation that runs collector steps of its own, the heap is judged at each
 *   micro-step's end too. A micro-step that the lab makes counts as an
 *   operation of its own for the oracle.
 *
 *   Dense and sparse. A survey costs what the heap weighs, so a stream with a
 *   heap of a million objects cannot be judged at every micro-step. Once a
 *   stream has had DENSE_OBJECTS_MAX objects surveyed it is judged at the ends
 *   of operations and at changes of phase only. This depends on the stream
 *   alone.
 *
 *   Leaving. The first finding, or the end of the arena, leaves whatever is
 *   running by longjmp to lab_run. The subject is then abandoned as it is.
 */
#include "lab/lab.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"

enum {
  DENSE_OBJECTS_MAX = 500000,
  STEPS_SLACK = 1000,       /* micro-steps that a cycle may take beside ... */
  STEPS_PER_BLOCK = 16,     /* ... so many for each block, live or made by the
                             * operation */
  REFUSALS_SLACK = 1000,    /* refusals that an operation may meet beside two
                             * for each block */
  FINALIZERS_SLACK = 1000,   /* calls that a step may lead to beside one for
                              * each block that is live when it begins */
  ALLOCATIONS_MAX = 1 << 24, /* of one operation */
  STEPS_MAX = 1 << 22 /* of one operation, whatever they are for: beyond it the
                       * run is given up as unchecked */
};

/* What the operation that runs has taken so far: against the budgets. */
struct spent {
  uint64_t blocks_before; /* live when it began */
  uint64_t all_steps;     /* micro-steps inside the subject's perform */
  uint64_t steps;         /* since it last got memory outside of them: a
                           * collector may make a cycle for each allocation */
  uint64_t allocations, refusals;
  uint64_t pieces; /* that it loads: what is in each may be there already */
  uint64_t calls, calls_max; /* of finalizers, since a step began */
};

enum leave { LEAVE_FINDING = 1, LEAVE_UNCHECKED };

struct lab {
  struct subject_sink sink; /* first: the sink is the lab */
  struct arena *arena;      /* owns */
  struct oracle *oracle;    /* owns */
  const struct subject *subject;
  struct subject_instance *instance;
  const struct lab_options *options;
  struct lab_result *result;
  struct stream *record; /* borrows; admitted operations are put there */
  jmp_buf leave;
  uint64_t surveyed_before; /* oracle's count when the stream began */
  struct spent spent;
  struct subject_answer answer; /* of the operation that was performed last */
  uint8_t operation;      /* enum op_code that runs, OP_COUNT outside */
  uint8_t phase_checked;  /* enum subject_phase at the last check */
  bool in_step;           /* a micro-step runs */
  bool performing;        /* inside the subject's perform */
  bool is_judged; /* nothing ran since the last check between operations */
  bool close_is_asked; /* by a finalizer: the stream ends here */
};

/* ---- hashing the trace ----------------------------------------------- */

static void
hash_word(struct lab *lab, uint64_t word)
{
  uint64_t h = (lab->result->trace_hash ^ word) * 0x9e3779b97f4a7c15u;
  lab->result->trace_hash = h ^ (h >> 29);
}

/* ---- leaving --------------------------------------------------------- */

static _Noreturn void
leave_unchecked(struct lab *lab, const char *reason)
{
  snprintf(lab->result->reason, sizeof lab->result->reason, "%s", reason);
  longjmp(lab->leave, LEAVE_UNCHECKED);
}

static void
leave_on_finding(struct lab *lab)
{
  if (oracle_finding(lab->oracle)->law != LAW_NONE)
    longjmp(lab->leave, LEAVE_FINDING);
  if (oracle_is_exhausted(lab->oracle))
    leave_unchecked(lab, "the oracle ran out of memory");
}

static _Noreturn void
accuse_no_progress(struct lab *lab, const char *what)
{
  oracle_accuse(lab->oracle, LAW_NO_PROGRESS, what);
  longjmp(lab->leave, LEAVE_FINDING);
}

/* ---- checking -------------------------------------------------------- */

static bool
is_dense(const struct lab *lab)
{
  const struct oracle_stats *stats = oracle_statistics(lab->oracle);
  return !lab->options->sparse &&
         stats->objects - lab->surveyed_before < DENSE_OBJECTS_MAX;
}

static void
check(struct lab *lab, enum oracle_when when)
{
  lab->phase_checked = (uint8_t)lab->subject->phase(lab->instance);
  oracle_check(lab->oracle, when);
  lab->result->checks += 1;
  lab->is_judged = when == ORACLE_BETWEEN;
  leave_on_finding(lab);
}

static void
check_at_step(struct lab *lab, enum oracle_when when)
{
  if (is_dense(lab) ||
      lab->phase_checked != (uint8_t)lab->subject->phase(lab->instance))
    check(lab, when);
}

static uint64_t
blocks_max(const struct lab *lab)
{
  return lab->spent.blocks_before + lab->spent.allocations;
}

/* Each allocation that was refused may have made a whole collection, and so may
 * each piece that was loaded, if that is what the parameters ask for. */
static uint64_t
steps_max(const struct lab *lab)
{
  return (STEPS_SLACK + STEPS_PER_BLOCK * blocks_max(lab)) *
         (1 + lab->spent.refusals + lab->spent.pieces);
}

static uint64_t
pieces_of(struct op op)
{
  if (op.code != OP_LOAD && op.code != OP_LOADCUT)
    return 0;
  return (uint64_t)(op.b + op.c * (2 + op.b / 2));
}

/* ---- events ---------------------------------------------------------- */

static void
count_calls_anew(struct lab *lab)
{
  lab->spent.calls = 0;
  lab->spent.calls_max = FINALIZERS_SLACK + arena_live_blocks(lab->arena);
}

/* Finalizers that need memory, and make others, may keep each other going where
 * emergency collections find more to call. Judged where it is known when a step
 * begins: inside an operation in those steps that are told of, and everywhere
 * in one of a subject that takes all events. */
static void
finalizer_called(struct lab *lab)
{
  uint32_t telling = lab->in_step ? SUBJECT_CAN_TELL_STEPS : 0;
  bool begins_are_known =
      lab->performing
          ? lab->subject->capabilities & (SUBJECT_CAN_EVENTS | telling)
          : lab->operation != OP_CLOSE;
  if (++lab->spent.calls > lab->spent.calls_max && begins_are_known)
    accuse_no_progress(lab, "a step does not come to an end of its finalizers");
}

static void
step_ended(struct lab *lab)
{
  lab->result->micro_steps += 1;
  if (!lab->performing)
    return; /* the lab's own micro-step: judged when it is back */
  lab->spent.steps += 1;
  if (++lab->spent.all_steps > STEPS_MAX)
    leave_unchecked(lab, "an operation takes too many collector steps");
  if (lab->spent.steps > steps_max(lab))
    accuse_no_progress(lab, "an operation does not come to an end of its "
                            "collector steps");
  check_at_step(lab, ORACLE_INSIDE);
}

static void
sink_event(struct subject_sink *sink, const struct subject_event *event)
{
  struct lab *lab = (struct lab *)sink;
  if (event->type == SUBJECT_EVENT_CLOSE_ASKED)
    lab->close_is_asked = true;
  if (lab->options->unchecked)
    return;
  hash_word(lab, event->base ^ event->value << 20);
  hash_word(lab, event->size << 32 ^ (uint32_t)event->type << 24 ^
                     (uint32_t)event->kind << 16 ^ (uint32_t)event->from << 8 ^
                     event->to);
  if (lab->options->observer && lab->options->observer->event)
    lab->options->observer->event(lab->options->observer, event);
  if (event->type == SUBJECT_EVENT_EXHAUSTED)
    leave_unchecked(lab, "the arena's addresses are used up");
  oracle_event(lab->oracle, event);
  leave_on_finding(lab);
  if (event->type == SUBJECT_EVENT_FINALIZED)
    finalizer_called(lab);
  if (event->type == SUBJECT_EVENT_STEP_BEGIN) {
    lab->in_step = true;
    if (lab->performing)
      count_calls_anew(lab);
  }
  if (event->type == SUBJECT_EVENT_STEP_END) {
    lab->in_step = false;
    step_ended(lab);
  }
}

static void
arena_told(void *user, const struct arena_event *event)
{
  static const uint8_t types[] = {
      [ARENA_ALLOCATED] = SUBJECT_EVENT_ALLOCATED,
      [ARENA_FREED] = SUBJECT_EVENT_FREED,
      [ARENA_BAD_FREE] = SUBJECT_EVENT_BAD_FREE,
      [ARENA_REFUSED] = SUBJECT_EVENT_REFUSED,
      [ARENA_EXHAUSTED] = SUBJECT_EVENT_EXHAUSTED,
  };
  struct lab *lab = user;
  if (!lab->options || lab->options->unchecked)
    return;
  lab->spent.allocations += event->type == ARENA_ALLOCATED;
  if (event->type == ARENA_ALLOCATED && !lab->in_step)
    lab->spent.steps = 0;
  if (lab->spent.allocations > ALLOCATIONS_MAX)
    accuse_no_progress(lab, "an operation does not stop allocating");
  lab->spent.refusals += event->type == ARENA_REFUSED;
  if (lab->spent.refusals > REFUSALS_SLACK + 2 * blocks_max(lab))
    accuse_no_progress(lab, "an operation does not stop asking for memory that "
                            "is refused");
  struct subject_event told = {.type = types[event->type],
                               .base = event->base,
                               .size = event->size,
                               .value = event->value};
  sink_event(&lab->sink, &told);
}

/* ---- operations ------------------------------------------------------ */

/* One micro-step of the lab's own, judged as an operation. One that is a whole
 * collection goes through all phases: if nothing is told of them, it is judged
 * at once. */
static void
micro_step(struct lab *lab, struct op op)
{
  count_calls_anew(lab);
  if (lab->options->unchecked) {
    lab->subject->micro_step(lab->instance);
    lab->result->micro_steps += 1;
    return;
  }
  uint64_t before = lab->result->micro_steps;
  oracle_operation_begin(lab->oracle, op);
  lab->is_judged = false;
  lab->subject->micro_step(lab->instance);
  oracle_operation_end(lab->oracle, SUBJECT_DONE, NULL);
  leave_on_finding(lab);
  if (!(lab->subject->capabilities & SUBJECT_CAN_EVENTS) &&
      (lab_steps_are_whole(lab) || lab->result->micro_steps > before + 1))
    check(lab, ORACLE_BETWEEN);
  else
    check_at_step(lab, ORACLE_BETWEEN);
}

bool
lab_steps_are_whole(const struct lab *lab)
{
  return lab->subject->steps_are_whole &&
         lab->subject->steps_are_whole(lab->instance);
}

/* Micro-steps until the phase is reached; a phase that the subject does not
 * have is given up after one cycle round. Where a micro-step is a whole
 * collection there are no phases to stop at, and one must do. */
static void
run_to(struct lab *lab, struct op op, enum subject_phase phase)
{
  uint64_t steps = 0, pauses = 0;
  if (lab_steps_are_whole(lab)) {
    if (lab->subject->phase(lab->instance) != phase)
      micro_step(lab, op);
    return;
  }
  while (pauses < 2) {
    enum subject_phase now = lab->subject->phase(lab->instance);
    if (now == phase)
      return;
    pauses += now == SUBJECT_PHASE_PAUSE;
    if (++steps > steps_max(lab) && !lab->options->unchecked)
      accuse_no_progress(lab, "a collection cycle does not come to its end");
    micro_step(lab, op);
    if (lab_steps_are_whole(lab))
      return; /* a finalizer has changed the mode */
  }
}

static enum subject_status
perform(struct lab *lab, struct op op)
{
  struct subject_answer *answer = &lab->answer;
  *answer = (struct subject_answer){{{0, 0}, {0, 0}}};
  if (lab->options->unchecked)
    return lab->subject->perform(lab->instance, op, answer);
  oracle_operation_begin(lab->oracle, op);
  count_calls_anew(lab);
  lab->performing = true;
  lab->is_judged = false;
  enum subject_status status =
      lab->subject->perform(lab->instance, op, answer);
  lab->performing = false;
  oracle_operation_end(lab->oracle, status, answer);
  leave_on_finding(lab);
  return status;
}

static enum subject_status
run_operation(struct lab *lab, struct op op)
{
  switch (op.code) {
  case OP_MICROSTEP:
    for (int32_t i = 0; i < op.a; i++)
      micro_step(lab, op);
    return SUBJECT_DONE;
  case OP_RUNTO:
    run_to(lab, op, (enum subject_phase)op.a);
    return SUBJECT_DONE;
  case OP_FINISH:
    run_to(lab, op, SUBJECT_PHASE_PAUSE);
    return SUBJECT_DONE;
  case OP_FAILALLOC:
    arena_fail_after(lab->arena, (uint64_t)op.a);
    return SUBJECT_DONE;
  case OP_OUTOFMEM:
    arena_run_out_after(lab->arena, (uint64_t)op.a);
    return SUBJECT_DONE;
  case OP_HEAPLIMIT:
    arena_limit(lab->arena, (uint64_t)op.a * 1024);
    return SUBJECT_DONE;
  default:
    return perform(lab, op);
  }
}

/* Where armed failures and the heap limit strike: see ops.def. */
static bool
may_be_refused(const struct lab *lab, struct op op)
{
  uint8_t flags = op_infos[op.code].flags;
  return flags & OP_ALLOCATES ||
         (flags & OP_STEERS && lab->subject->traits->shrink_may_fail);
}

static bool
is_admitted(const struct lab *lab, size_t index, struct op op)
{
  struct lab_guide *guide = lab->options->guide;
  if (lab->options->unchecked)
    return index == 0 || op.code != OP_SETUP;
  return (index == 0 || op.code != OP_SETUP) &&
         oracle_admits(lab->oracle, op) &&
         (!guide || guide->admits(guide, index, op));
}

static void
carry_out(struct lab *lab, size_t index, struct op op)
{
  struct lab_observer *observer = lab->options->observer;
  struct lab_guide *guide = lab->options->guide;
  if (lab->record)
    lab->record->ops[lab->record->count++] = op;
  lab->result->ops_run += 1;
  if (op.code == OP_SETUP || op.code == OP_CLOSE)
    return;
  lab->operation = op.code;
  lab->spent = (struct spent){.blocks_before = arena_live_blocks(lab->arena),
                              .pieces = pieces_of(op)};
  arena_suspend_refusals(lab->arena, !may_be_refused(lab, op));
  enum subject_status status = run_operation(lab, op);
  arena_recover(lab->arena);
  hash_word(lab, (uint64_t)op.code << 8 | (uint64_t)status);
  if (observer && observer->operation_end)
    observer->operation_end(observer, index, op, status);
  if (!lab->options->unchecked && !lab->is_judged)
    check(lab, ORACLE_BETWEEN);
  if (guide)
    guide->ended(guide, index, op, status, &lab->answer);
}

/* What the guide puts in after an operation. */
static void
put_in(struct lab *lab, size_t index)
{
  struct lab_guide *guide = lab->options->guide;
  struct op op;
  while (guide->follows(guide, index, &op))
    if (oracle_admits(lab->oracle, op))
      carry_out(lab, index, op);
}

static void
do_operation(struct lab *lab, size_t index, struct op op)
{
  struct lab_observer *observer = lab->options->observer;
  bool admitted = is_admitted(lab, index, op);
  if (observer && observer->operation)
    observer->operation(observer, index, op, !admitted);
  if (admitted)
    carry_out(lab, index, op);
  else
    lab->result->ops_skipped += 1;
  if (!lab->options->guide)
    return;
  if (op.code != OP_CLOSE)
    put_in(lab, index);
  lab->options->guide->settled(lab->options->guide, index, op);
}

/* ---- a run ----------------------------------------------------------- */

/* Without one: the words that are 0. */
static struct op
setup_of(const struct stream *stream)
{
  if (stream->count && stream->ops[0].code == OP_SETUP)
    return stream->ops[0];
  return (struct op){.code = OP_SETUP};
}

static void
open_subject(struct lab *lab, uint8_t mode)
{
  struct subject_env env = {.allocator = lab->arena,
                            .allocate = arena_allocate,
                            .hold = arena_hold_refusals,
                            .sink = &lab->sink,
                            .fault = lab->options->fault,
                            .mode = mode};
  lab->instance = lab->subject->open(&env);
  if (!lab->instance)
    leave_unchecked(lab, "the subject did not open");
  oracle_attach(lab->oracle, lab->instance);
  if (!lab->options->unchecked)
    check(lab, ORACLE_BETWEEN);
}

static void
close_subject(struct lab *lab)
{
  lab->operation = OP_CLOSE;
  arena_suspend_refusals(lab->arena, true);
  oracle_close_begin(lab->oracle);
  lab->subject->close(lab->instance);
  lab->instance = NULL;
  if (!lab->options->unchecked)
    oracle_closed(lab->oracle);
  leave_on_finding(lab);
}

static void
run_stream(struct lab *lab, const struct stream *stream)
{
  open_subject(lab, (uint8_t)setup_of(stream).c);
  size_t came = 0;
  while (came < stream->count && !lab->close_is_asked) {
    struct op op = stream->ops[came];
    lab->result->op_index = came;
    do_operation(lab, came++, op);
    if (op.code == OP_CLOSE)
      break;
  }
  lab->result->close_was_asked = lab->close_is_asked;
  close_subject(lab);
  lab->result->op_index = came;
}

static void
sign(const struct lab *lab, struct lab_result *result)
{
  const struct oracle_finding *finding = oracle_finding(lab->oracle);
  result->verdict = LAB_BROKEN;
  result->law = finding->law;
  result->micro_step = result->micro_steps;
  snprintf(result->signature, sizeof result->signature, "%s|%s|%s|%s",
           law_infos[finding->law].id, finding->kinds,
           oracle_phase_text(finding->phase),
           lab->operation < OP_COUNT ? op_infos[lab->operation].name : "open");
}

static void
prepare(struct lab *lab, const struct subject *subject,
        const struct stream *stream, const struct lab_options *options,
        struct lab_result *result)
{
  struct op setup = setup_of(stream);
  memset(result, 0, sizeof *result);
  lab->subject = subject;
  lab->instance = NULL;
  lab->options = options;
  lab->result = result;
  lab->operation = OP_COUNT;
  lab->phase_checked = SUBJECT_PHASE_COUNT;
  lab->in_step = false;
  lab->performing = false;
  lab->is_judged = false;
  lab->close_is_asked = false;
  lab->spent = (struct spent){.blocks_before = 0};
  lab->surveyed_before = oracle_statistics(lab->oracle)->objects;
  arena_clear(lab->arena, setup.a == OP_POLICY_RECYCLE ? ARENA_RECYCLE
                                                       : ARENA_FRESH);
  arena_spare_shrinking(lab->arena, !subject->traits->shrink_may_fail);
  oracle_begin(lab->oracle, subject, setup.b == OP_SCALE_LARGE,
               (uint8_t)setup.c);
}

void
lab_run(struct lab *lab, const struct subject *subject,
        const struct stream *stream, const struct lab_options *options,
        struct lab_result *ret_result)
{
  prepare(lab, subject, stream, options, ret_result);
  switch (setjmp(lab->leave)) {
  case 0:
    run_stream(lab, stream);
    break;
  case LEAVE_FINDING:
    sign(lab, ret_result);
    break;
  default:
    ret_result->verdict = LAB_UNCHECKED;
    break;
  }
  lab->options = NULL;
}

struct lab *
lab_new(void)
{
  struct lab *lab = calloc(1, sizeof *lab);
  if (!lab)
    return NULL;
  lab->sink.event = sink_event;
  lab->arena = arena_new();
  if (!lab->arena)
    goto fail;
  struct oracle_config config = {.region_base = ARENA_BASE,
                                 .region_size = ARENA_SIZE,
                                 .granule = ARENA_GRANULE};
  lab->oracle = oracle_new(&config);
  if (!lab->oracle)
    goto fail;
  arena_set_listener(lab->arena, arena_told, lab);
  return lab;
fail:
  lab_free(lab);
  return NULL;
}

void
lab_free(struct lab *lab)
{
  if (!lab)
    return;
  oracle_free(lab->oracle);
  arena_free(lab->arena);
  free(lab);
}

const struct oracle_finding *
lab_finding(const struct lab *lab)
{
  return oracle_finding(lab->oracle);
}

const struct oracle *
lab_oracle(const struct lab *lab)
{
  return lab->oracle;
}

enum subject_phase
lab_phase(const struct lab *lab)
{
  if (!lab->instance || lab->operation == OP_CLOSE)
    return SUBJECT_PHASE_PAUSE;
  return lab->subject->phase(lab->instance);
}

const struct oracle_stats *
lab_statistics(const struct lab *lab)
{
  return oracle_statistics(lab->oracle);
}

enum stream_status
lab_resolve(struct lab *lab, const struct subject *subject,
            const struct stream *stream, struct stream *ret_stream)
{
  struct lab_options options = {.fault = NULL};
  struct lab_result result;
  struct stream record = {.count = 0};
  record.ops = malloc((stream->count + 1) * sizeof *record.ops);
  if (!record.ops)
    return STREAM_NO_MEMORY;
  lab->record = &record;
  lab_run(lab, subject, stream, &options, &result);
  lab->record = NULL;
  *ret_stream = record;
  return STREAM_OK;
}
