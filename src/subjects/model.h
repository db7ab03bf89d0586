/* SPDX-License-Identifier: MIT
 *
 * The adapter of the built-in collector, shared by its files: model.c opens,
 * closes and performs operations on frames, coroutines and roots,
 * model_objects.c those on values, both through gc.h; model_survey.c shows the
 * heap. Nobody else includes it.
 */
#ifndef PENUMBRA_SUBJECTS_MODEL_H
#define PENUMBRA_SUBJECTS_MODEL_H

#include "gc/listen.h"
#include "gc/object.h"
#include "subject.h"

enum {
  MODEL_NATIVES = 8,
  /* registry[MODEL_DRIVER]: a Lua closure over the prototype that captured
   * registers are closed over with; integer keys below MODEL_REFERENCE are
   * not the stream's. */
  MODEL_DRIVER = 3,
  MODEL_REFERENCE,
  MODEL_CAPTURES_MAX = 4
};

/* Lives in the arena like all that belongs to a subject. */
struct subject_instance {
  struct gc_listener listener; /* first: the listener is the instance */
  struct subject_env env;
  struct gc_heap *heap;
};

/* Light C functions by number. */
extern const gc_native model_natives[MODEL_NATIVES];
/* MODEL_NATIVES if it is none of them. */
uint64_t model_native_number(gc_native native);

struct subject_value model_integer_answer(int64_t value);
/* Operations on values; UNSUPPORTED for any other. */
enum subject_status model_perform_object(struct gc_thread *t, struct op op,
                                         struct subject_answer *answer);
enum subject_phase model_phase(struct subject_instance *model);
void model_survey(struct subject_instance *model,
                  struct subject_visitor *visitor);

#endif
