/* SPDX-License-Identifier: MIT
 *
 * The adapter of the built-in collector: performs operations through its
 * public interface (gc.h), so that its real barriers run, and passes its
 * events on. It owns the instance; the survey is in model_survey.c.
 *
 * How a frame of the operation language lies on a stack: slots 1 to 16 are
 * the registers, above them its to-be-closed values. Between operations
 * nothing else is on the stack, but for the coroutine that a waiting one
 * resumed. A frame's flags keep, above the collector's own bits, which
 * register of the caller held the called function (RETURN_SHIFT) and which
 * register of this frame held the coroutine that it resumed (RESUME_SHIFT).
 */
#include "subjects/model.h"

#include <stddef.h>

#include "gc/fault.h"
#include "gc/heap.h"
#include "subjects/model_stack.h"
#include "subjects/subjects.h"

_Static_assert((int)GC_MODE_INCREMENTAL == (int)OP_MODE_INCREMENTAL &&
                   (int)GC_MODE_GENERATIONAL == (int)OP_MODE_GENERATIONAL,
               "modes");
_Static_assert(
    (int)GC_PARAMETER_PAUSE == (int)OP_PARAMETER_PAUSE &&
        (int)GC_PARAMETER_STEP_MULTIPLIER == (int)OP_PARAMETER_STEPMUL &&
        (int)GC_PARAMETER_STEP_SIZE == (int)OP_PARAMETER_STEPSIZE &&
        (int)GC_PARAMETER_MINOR_MULTIPLIER == (int)OP_PARAMETER_MINORMUL &&
        (int)GC_PARAMETER_MAJOR_MULTIPLIER == (int)OP_PARAMETER_MAJORMUL,
    "parameters");

enum { RETURN_SHIFT = 8, RESUME_SHIFT = 16 };

/* ---- events ---------------------------------------------------------- */

static uint8_t
abstract_phase(unsigned phase)
{
  static const uint8_t phases[] = {
      [GC_PHASE_PAUSE] = SUBJECT_PHASE_PAUSE,
      [GC_PHASE_PROPAGATE] = SUBJECT_PHASE_PROPAGATE,
      [GC_PHASE_ENTER_ATOMIC] = SUBJECT_PHASE_ENTER_ATOMIC,
      [GC_PHASE_ATOMIC] = SUBJECT_PHASE_ATOMIC,
      [GC_PHASE_SWEEP] = SUBJECT_PHASE_SWEEP,
      [GC_PHASE_SWEEP_FINALIZABLE] = SUBJECT_PHASE_SWEEP_FINALIZABLE,
      [GC_PHASE_SWEEP_PENDING] = SUBJECT_PHASE_SWEEP_PENDING,
      [GC_PHASE_SWEEP_END] = SUBJECT_PHASE_SWEEP_END,
      [GC_PHASE_FINALIZE] = SUBJECT_PHASE_FINALIZE};
  return phases[phase];
}

enum subject_phase
model_phase(struct subject_instance *model)
{
  return (enum subject_phase)abstract_phase(gc_phase_of(model->heap));
}

static void
pass_on(struct gc_listener *listener, const struct gc_event *event)
{
  static const uint8_t types[] = {[GC_EVENT_BIRTH] = SUBJECT_EVENT_BIRTH,
                                  [GC_EVENT_DEATH] = SUBJECT_EVENT_DEATH,
                                  [GC_EVENT_COLOUR] = SUBJECT_EVENT_RECOLOURED,
                                  [GC_EVENT_LIST] = SUBJECT_EVENT_RELISTED,
                                  [GC_EVENT_GREY] = SUBJECT_EVENT_GREYED,
                                  [GC_EVENT_BARRIER] = SUBJECT_EVENT_BARRIER,
                                  [GC_EVENT_STORE] = SUBJECT_EVENT_STORE,
                                  [GC_EVENT_PHASE] = SUBJECT_EVENT_PHASE,
                                  [GC_EVENT_STEP_BEGIN] =
                                      SUBJECT_EVENT_STEP_BEGIN,
                                  [GC_EVENT_STEP_END] = SUBJECT_EVENT_STEP_END,
                                  [GC_EVENT_CLOSING] = SUBJECT_EVENT_CLOSED,
                                  [GC_EVENT_AGE] = SUBJECT_EVENT_AGED,
                                  [GC_EVENT_CLEARED] = SUBJECT_EVENT_CLEARED,
                                  [GC_EVENT_FINALIZER] =
                                      SUBJECT_EVENT_FINALIZER,
                                  [GC_EVENT_FINALIZED] =
                                      SUBJECT_EVENT_FINALIZED,
                                  [GC_EVENT_WARNING] = SUBJECT_EVENT_WARNING,
                                  [GC_EVENT_EMERGENCY] =
                                      SUBJECT_EVENT_EMERGENCY,
                                  [GC_EVENT_MODE] = SUBJECT_EVENT_MODE};
  if (event->type == GC_EVENT_WARNING)
    return; /* tell_warning() has told it, with its text */
  struct subject_instance *model = (struct subject_instance *)listener;
  struct subject_event told = {.type = types[event->type],
                               .base = (uint64_t)(uintptr_t)event->object,
                               .value = (uint64_t)(uintptr_t)event->other,
                               .kind = event->object ? event->object->kind
                                                     : SUBJECT_KIND_ROOT,
                               .from = event->from,
                               .to = event->to};
  if (event->type == GC_EVENT_PHASE) {
    told.from = abstract_phase(event->from);
    told.to = abstract_phase(event->to);
  }
  model->env.sink->event(model->env.sink, &told);
}

static void
tell_assertion(void *user, const char *text)
{
  struct subject_instance *model = user;
  struct subject_event told = {.type = SUBJECT_EVENT_ASSERTION, .text = text};
  model->env.sink->event(model->env.sink, &told);
}

static void
tell_warning(void *user, const char *text)
{
  struct subject_instance *model = user;
  struct subject_event told = {.type = SUBJECT_EVENT_WARNING, .text = text};
  model->env.sink->event(model->env.sink, &told);
}

void
model_ask_to_close(struct gc_heap *heap)
{
  struct subject_instance *model = (struct subject_instance *)heap->listener;
  struct subject_event told = {.type = SUBJECT_EVENT_CLOSE_ASKED};
  model->env.sink->event(model->env.sink, &told);
}

/* ---- open and close -------------------------------------------------- */

static bool
make_driver(struct gc_thread *thread)
{
  return gc_new_prototype(thread, MODEL_CAPTURES_MAX) == GC_OK &&
         gc_raw_seti(thread, GC_INDEX_REGISTRY, MODEL_DRIVER) == GC_OK;
}

static bool
keep_string(struct gc_thread *thread, int64_t key, const char *bytes,
            size_t length)
{
  return gc_push_string(thread, bytes, length) == GC_OK &&
         gc_raw_seti(thread, GC_INDEX_REGISTRY, key) == GC_OK;
}

/* What finalizers name. */
static bool
keep_names(struct gc_thread *thread)
{
  static const char error[] = "as the finalizer's behaviour says";
  char global_0[OP_STRING_MAX], global_1[OP_STRING_MAX], field[OP_STRING_MAX];
  return keep_string(thread, MODEL_GLOBAL_0, global_0,
                     op_string_global(0, global_0)) &&
         keep_string(thread, MODEL_GLOBAL_1, global_1,
                     op_string_global(1, global_1)) &&
         keep_string(thread, MODEL_FIELD, field, op_string_name(0, field)) &&
         keep_string(thread, MODEL_ERROR, error, sizeof error - 1);
}

/* The collector makes no step of its own meanwhile: nobody can watch it
 * yet. */
static bool
set_up(struct gc_heap *heap, uint8_t mode)
{
  struct gc_thread *main_thread = gc_main_thread(heap);
  gc_stop(heap);
  if (!make_driver(main_thread) || !keep_names(main_thread) ||
      gc_reserve(main_thread, OP_REGISTERS + GC_STACK_MIN) != GC_OK)
    return false;
  gc_set_top(main_thread, OP_REGISTERS);
  gc_set_mode(heap, (enum gc_mode)mode);
  gc_restart(heap);
  return true;
}

static void
model_close(struct subject_instance *model)
{
  struct subject_env env = model->env;
  if (model->heap)
    gc_close(model->heap);
  gc_set_assertion_handler(NULL, NULL);
  env.allocate(env.allocator, model, sizeof *model, 0);
}

/* The heap's user is the instance, since warnings come with it, too. */
static void *
allocate(void *user, void *block, size_t old_size, size_t new_size)
{
  const struct subject_env *env = &((struct subject_instance *)user)->env;
  return env->allocate(env->allocator, block, old_size, new_size);
}

static struct subject_instance *
model_open(const struct subject_env *env)
{
  struct subject_instance *model =
      env->allocate(env->allocator, NULL, 0, sizeof *model);
  if (!model)
    return NULL;
  *model = (struct subject_instance){.listener = {pass_on}, .env = *env};
  struct gc_config config = {.allocate = allocate,
                             .user = model,
                             .warn = tell_warning,
                             .listener = &model->listener,
                             .dialect = "lua54",
                             .fault = env->fault};
  gc_set_assertion_handler(tell_assertion, model);
  model->heap = gc_open(&config);
  if (!model->heap || !set_up(model->heap, env->mode)) {
    model_close(model);
    return NULL;
  }
  return model;
}

/* ---- frames ---------------------------------------------------------- */

static enum subject_status
enter(struct gc_thread *t, struct op op, uint32_t varargs, uint32_t arguments,
      uint32_t flags)
{
  flags |= (uint32_t)op.a << RETURN_SHIFT;
  if (gc_reserve(t, varargs + arguments + GC_STACK_MIN) != GC_OK)
    return SUBJECT_NO_MEMORY;
  gc_push_copy(t, slot(op.a));
  push_registers(t, op.b, (int32_t)(varargs + arguments));
  if (gc_enter(t, varargs, arguments, OP_REGISTERS, flags) != GC_OK)
    return give_up(t);
  return SUBJECT_DONE;
}

static enum subject_status
tail_call(struct gc_thread *t, struct op op)
{
  if (gc_reserve(t, (uint32_t)op.c + GC_STACK_MIN) != GC_OK)
    return SUBJECT_NO_MEMORY;
  gc_push_copy(t, slot(op.a));
  push_registers(t, op.b, op.c);
  if (gc_reenter(t, (uint32_t)op.c, OP_REGISTERS) != GC_OK)
    return give_up(t);
  return SUBJECT_DONE;
}

/* The register of the frame that called frame into which results go. */
static int32_t
return_register(const struct gc_frame *frame)
{
  return (int32_t)(frame->flags >> RETURN_SHIFT) & REGISTER_MASK;
}

/* Count values at the top of a resumer, in place of the coroutine that it
 * waited for, go to the registers from the one that held it on. */
static void
receive(struct gc_thread *resumer, int32_t count)
{
  int32_t first =
      (int32_t)(resumer->frame->flags >> RESUME_SHIFT) & REGISTER_MASK;
  resumer->frame->flags &= ~((uint32_t)REGISTER_MASK << RESUME_SHIFT);
  pop_registers(resumer, first, count);
}

static enum subject_status
leave(struct gc_thread *t, struct op op)
{
  struct gc_thread *resumer = t->resumer;
  push_registers(t, op.a, op.b);
  if (gc_frame_depth(t) > 1) {
    int32_t first = return_register(t->frame);
    gc_leave(t, (uint32_t)op.b);
    pop_registers(t, first, op.b);
    return SUBJECT_DONE;
  }
  if (gc_finish(t, (uint32_t)op.b) != GC_OK)
    return give_up(t);
  receive(resumer, op.b);
  return SUBJECT_DONE;
}

static enum subject_status
raise_error(struct gc_thread *t, struct op op)
{
  const struct gc_frame *frame = t->frame;
  while (frame && !(frame->flags & GC_FRAME_PROTECTED))
    frame = frame->previous;
  int32_t first = frame ? return_register(frame) : 0;
  struct gc_thread *resumer = t->resumer;
  gc_push_copy(t, slot(op.a));
  if (gc_raise(t) == GC_OK) {
    pop_registers(t, first, 1);
    return SUBJECT_DONE;
  }
  gc_fail(t);
  receive(resumer, 1);
  return SUBJECT_DONE;
}

static enum subject_status
to_be_closed(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.a));
  return finish_store(t, gc_mark_to_close(t));
}

/* To-be-closed values lie above the registers and must stay. */
static void
set_top(struct gc_thread *t, int32_t top)
{
  if (gc_to_close_count(t) == 0) {
    gc_set_top(t, (int)top);
    gc_set_top(t, OP_REGISTERS);
    return;
  }
  for (int32_t i = top; i < OP_REGISTERS; i++) {
    gc_push_nil(t);
    gc_replace(t, slot(i));
  }
}

/* ---- coroutines ------------------------------------------------------ */

static enum subject_status
new_coroutine(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.b));
  return deliver(t, gc_new_thread(t), op.a);
}

static enum subject_status
resume(struct gc_thread *t, struct op op)
{
  struct gc_thread *coroutine = gc_to_thread(t, slot(op.a));
  bool first_time = !gc_is_started(coroutine);
  gc_push_copy(t, slot(op.a));
  push_registers(t, op.b, op.c);
  if (gc_resume(t, (uint32_t)op.c, OP_REGISTERS) != GC_OK)
    return give_up(t);
  t->frame->flags |= (uint32_t)op.a << RESUME_SHIFT;
  if (!first_time)
    pop_registers(coroutine, 0, op.c);
  return SUBJECT_DONE;
}

static enum subject_status
yield(struct gc_thread *t, struct op op)
{
  struct gc_thread *resumer = t->resumer;
  push_registers(t, op.a, op.b);
  if (gc_yield(t, (uint32_t)op.b) != GC_OK)
    return give_up(t);
  receive(resumer, op.b);
  return SUBJECT_DONE;
}

/* ---- roots ----------------------------------------------------------- */

static enum subject_status
get_named(struct gc_thread *t, struct op op, bool globals,
          struct subject_answer *answer)
{
  if (globals)
    gc_raw_geti(t, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS);
  if (push_name(t, globals ? op_string_global : op_string_registry,
                op.b) != GC_OK)
    return give_up(t);
  gc_raw_get(t, globals ? -2 : GC_INDEX_REGISTRY);
  gc_replace(t, slot(op.a));
  gc_pop(t, globals ? 1 : 0);
  answer->value[0] = model_value_answer(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
set_global(struct gc_thread *t, struct op op)
{
  gc_raw_geti(t, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS);
  enum subject_status status = set_named(t, -3, op_string_global, op.a, op.b);
  if (status == SUBJECT_DONE)
    gc_pop(t, 1);
  return status;
}

static enum subject_status
set_globals(struct gc_thread *t, struct op op)
{
  gc_push_copy(t, slot(op.a));
  return finish_store(
      t, gc_raw_seti(t, GC_INDEX_REGISTRY, GC_REGISTRY_GLOBALS));
}

static enum subject_status
reference(struct gc_thread *t, struct op op, struct subject_answer *answer)
{
  int64_t key = MODEL_REFERENCE;
  for (;; key++) {
    gc_raw_geti(t, GC_INDEX_REGISTRY, key);
    bool is_free = gc_type_of(t, -1) == GC_TYPE_NIL;
    gc_pop(t, 1);
    if (is_free)
      break;
  }
  answer->value[0] = model_integer_answer(key);
  gc_push_copy(t, slot(op.b));
  if (gc_raw_seti(t, GC_INDEX_REGISTRY, key) != GC_OK)
    return give_up(t);
  gc_push_integer(t, key);
  gc_replace(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
release(struct gc_thread *t, struct op op)
{
  int64_t key = gc_to_integer(t, slot(op.a));
  gc_push_nil(t);
  return finish_store(t, gc_raw_seti(t, GC_INDEX_REGISTRY, key));
}

static enum subject_status
get_reference(struct gc_thread *t, struct op op)
{
  gc_raw_geti(t, GC_INDEX_REGISTRY, gc_to_integer(t, slot(op.b)));
  gc_replace(t, slot(op.a));
  return SUBJECT_DONE;
}

static enum subject_status
perform_collector(struct gc_heap *heap, struct op op,
                  struct subject_answer *answer)
{
  switch (op.code) {
  case OP_STEP:
    gc_step(heap, (size_t)op.a);
    return SUBJECT_DONE;
  case OP_COLLECT:
    gc_collect(heap);
    return SUBJECT_DONE;
  case OP_STOP:
    gc_stop(heap);
    return SUBJECT_DONE;
  case OP_RESTART:
    gc_restart(heap);
    return SUBJECT_DONE;
  case OP_MODE:
    gc_set_mode(heap, (enum gc_mode)op.a);
    return SUBJECT_DONE;
  case OP_MINOR:
    for (int32_t i = 0; i < op.a; i++)
      gc_step(heap, 0);
    return SUBJECT_DONE;
  case OP_PARAM:
    gc_set_parameter(heap, (enum gc_parameter)op.a, (uint32_t)op.b);
    answer->value[0] =
        model_integer_answer(gc_parameter(heap, (enum gc_parameter)op.a));
    return SUBJECT_DONE;
  default:
    return SUBJECT_UNSUPPORTED;
  }
}

/* Operations on frames, coroutines and roots; all others are passed on. */
static enum subject_status
model_perform(struct subject_instance *model, struct op op,
              struct subject_answer *answer)
{
  struct gc_thread *t = gc_running_thread(model->heap);
  switch (op.code) {
  case OP_CALL:
    return enter(t, op, 0, (uint32_t)op.c, 0);
  case OP_PCALL:
    return enter(t, op, 0, (uint32_t)op.c, GC_FRAME_PROTECTED);
  case OP_CALLV:
    return enter(t, op, (uint32_t)op.c, 0, 0);
  case OP_RETURN:
    return leave(t, op);
  case OP_TAILCALL:
    return tail_call(t, op);
  case OP_SETTOP:
    set_top(t, op.a);
    return SUBJECT_DONE;
  case OP_RESERVE:
    return model_status(gc_reserve(t, (uint32_t)op.a));
  case OP_ERROR:
    return raise_error(t, op);
  case OP_TBC:
    return to_be_closed(t, op);
  case OP_CONEW:
    return new_coroutine(t, op);
  case OP_RESUME:
    return resume(t, op);
  case OP_YIELD:
    return yield(t, op);
  case OP_COSET:
    gc_copy_across(t, slot(op.c), gc_to_thread(t, slot(op.a)), slot(op.b));
    return SUBJECT_DONE;
  case OP_COGET:
    gc_copy_across(gc_to_thread(t, slot(op.b)), slot(op.c), t, slot(op.a));
    return SUBJECT_DONE;
  case OP_COCLOSE:
    gc_thread_close(gc_to_thread(t, slot(op.a)));
    return SUBJECT_DONE;
  case OP_GETGLOBAL:
    return get_named(t, op, true, answer);
  case OP_SETGLOBAL:
    return set_global(t, op);
  case OP_SETGLOBALS:
    return set_globals(t, op);
  case OP_GETREG:
    return get_named(t, op, false, answer);
  case OP_SETREG:
    return set_named(t, GC_INDEX_REGISTRY, op_string_registry, op.a, op.b);
  case OP_REF:
    return reference(t, op, answer);
  case OP_UNREF:
    return release(t, op);
  case OP_GETREF:
    return get_reference(t, op);
  case OP_STEP:
  case OP_COLLECT:
  case OP_STOP:
  case OP_RESTART:
  case OP_MODE:
  case OP_MINOR:
  case OP_PARAM:
    return perform_collector(model->heap, op, answer);
  default:
    return model_perform_object(t, op, answer);
  }
}

bool
model_rests_by_age(const struct subject_instance *model)
{
  const struct gc_heap *heap = model->heap;
  return heap->cycle_mode == GC_MODE_GENERATIONAL &&
         heap->phase == GC_PHASE_PROPAGATE && !heap->stepping;
}

/* In generational mode a step is a collection, whatever its kind. */
static bool
model_steps_are_whole(struct subject_instance *model)
{
  return gc_mode_of(model->heap) == GC_MODE_GENERATIONAL;
}

static void
model_micro_step(struct subject_instance *model)
{
  gc_micro_step(model->heap);
}

/* ---- faults by name -------------------------------------------------- */

static const char *const fault_names[] = {
#if PENUMBRA_FAULTS
#define FAULT(NAME, name, where, breaks, law, seed) name,
#include "gc/fault.def"
#undef FAULT
#endif
    NULL};

const struct subject subject_lua54 = {
    .name = "lua54",
    .title = "the built-in collector, dialect of Lua 5.4",
    .capabilities = SUBJECT_CAN_SURVEY | SUBJECT_CAN_COLOUR | SUBJECT_CAN_STEP |
                    SUBJECT_CAN_EVENTS | SUBJECT_CAN_COUNT,
    .traits = &subject_traits[SUBJECT_LUA54],
    .faults = fault_names,
    .open = model_open,
    .close = model_close,
    .perform = model_perform,
    .micro_step = model_micro_step,
    .phase = model_phase,
    .steps_are_whole = model_steps_are_whole,
    .survey = model_survey};
