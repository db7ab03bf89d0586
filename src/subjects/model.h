/* SPDX-License-Identifier: MIT
 *
 * The adapter of the built-in collector, shared by its files: model.c opens,
 * closes and performs operations on frames, coroutines, roots and the
 * collector, model_objects.c those on values, model_natives.c holds the light C
 * functions, all through gc.h; model_survey.c shows the heap. Nobody else
 * includes it.
 */
#ifndef PENUMBRA_SUBJECTS_MODEL_H
#define PENUMBRA_SUBJECTS_MODEL_H

#include "gc/listen.h"
#include "gc/object.h"
#include "subject.h"

enum {
  MODEL_BEHAVIOURS = 8, /* number of the first finalizer */
  MODEL_NATIVES = MODEL_BEHAVIOURS + OP_BEHAVIOUR_NONE,
  /* registry[MODEL_DRIVER]: a Lua closure over the prototype that captured
   * registers are closed over with; then strings that finalizers need. Integer
   * keys below MODEL_REFERENCE are not the stream's. */
  MODEL_DRIVER = 3,
  MODEL_GLOBAL_0, /* "g0" */
  MODEL_GLOBAL_1, /* "g1" */
  MODEL_FIELD,    /* "s0" */
  MODEL_ERROR,    /* what a finalizer raises */
  MODEL_REFERENCE,
  MODEL_CAPTURES_MAX = 4
};

/* Lives in the arena like all that belongs to a subject. */
struct subject_instance {
  struct gc_listener listener; /* first: the listener is the instance */
  struct subject_env env;
  struct gc_heap *heap;
};

/* Light C functions by number (model_natives.c). */
extern const gc_native model_natives[MODEL_NATIVES];
/* MODEL_NATIVES if it is none of them. */
uint64_t model_native_number(gc_native native);

struct subject_value model_integer_answer(int64_t value);
struct subject_value model_value_answer(const struct gc_thread *t, int index);
/* Operations on values; UNSUPPORTED for any other. */
enum subject_status model_perform_object(struct gc_thread *t, struct op op,
                                         struct subject_answer *answer);
enum subject_phase model_phase(struct subject_instance *model);
/* Cycles go by age, and none is under way. */
bool model_rests_by_age(const struct subject_instance *model);
/* A finalizer of the heap asks for it. */
void model_ask_to_close(struct gc_heap *heap);
void model_survey(struct subject_instance *model,
                  struct subject_visitor *visitor);

#endif
