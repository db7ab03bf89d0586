/* SPDX-License-Identifier: MIT
 *
 * How the adapter's operations use a frame's slots: registers are slots 1 to
 * 16, to-be-closed values lie above them, and a failed operation drops what it
 * has pushed. Included by model.c and model_objects.c only.
 */
#ifndef PENUMBRA_SUBJECTS_MODEL_STACK_H
#define PENUMBRA_SUBJECTS_MODEL_STACK_H

#include "gc/gc.h"
#include "subject.h"

enum { REGISTER_MASK = OP_REGISTERS - 1 };

static inline int
slot(int32_t reg)
{
  return 1 + (int)(reg & REGISTER_MASK);
}

static inline enum subject_status
model_status(enum gc_status status)
{
  return status == GC_OK ? SUBJECT_DONE : SUBJECT_NO_MEMORY;
}

/* Drops what a failed operation left above the frame's own slots. */
static inline enum subject_status
give_up(struct gc_thread *t)
{
  gc_set_top(t, OP_REGISTERS + (int)gc_to_close_count(t));
  return SUBJECT_NO_MEMORY;
}

/* The top becomes register a, or all is dropped. */
static inline enum subject_status
deliver(struct gc_thread *t, enum gc_status status, int32_t reg)
{
  if (status != GC_OK)
    return give_up(t);
  gc_replace(t, slot(reg));
  return SUBJECT_DONE;
}

static inline enum subject_status
finish_store(struct gc_thread *t, enum gc_status status)
{
  return status == GC_OK ? SUBJECT_DONE : give_up(t);
}

static inline void
push_registers(struct gc_thread *t, int32_t first, int32_t count)
{
  for (int32_t i = 0; i < count; i++)
    gc_push_copy(t, slot(first + i));
}

/* The top count values go to registers from first on. */
static inline void
pop_registers(struct gc_thread *t, int32_t first, int32_t count)
{
  for (int32_t i = count; i-- > 0;)
    gc_replace(t, slot(first + i));
}

static inline enum gc_status
push_name(struct gc_thread *t, size_t (*content)(int32_t, char *), int32_t n)
{
  char bytes[OP_STRING_MAX];
  return gc_push_string(t, bytes, content(n, bytes));
}

/* table[name] := register reg */
static inline enum subject_status
set_named(struct gc_thread *t, int table, size_t (*content)(int32_t, char *),
          int32_t n, int32_t reg)
{
  if (push_name(t, content, n) != GC_OK)
    return give_up(t);
  gc_push_copy(t, slot(reg));
  return finish_store(t, gc_raw_set(t, table));
}

#endif
