/* SPDX-License-Identifier: MIT
 *
 * What thread.c, frame.c and api_thread.c share. Internal to src/gc.
 */
#ifndef PENUMBRA_GC_THREAD_H
#define PENUMBRA_GC_THREAD_H

#include "gc/heap.h"

enum {
  GC_STACK_MAX = 1000000, /* slots that frames of one coroutine may have */
  GC_STACK_SPARE = 1      /* slots beyond them, for gc_anchor */
};

/* Frame flags that gc.h does not show: the frame of a closer, a finalizer or a
 * metamethod, a C function that is running, so nothing may unwind past it; and
 * that of a finalizer or metamethod that has raised an error, which is at its
 * top. */
enum {
  GC_FRAME_METAMETHOD = 0x10,
  GC_FRAME_RAISED = 0x20,
  GC_FRAME_FINALIZER = 0x40,
  GC_FRAME_CLOSER = 0x80,
  GC_FRAME_CATCHES = GC_FRAME_FINALIZER | GC_FRAME_METAMETHOD,
  GC_FRAME_NATIVE = GC_FRAME_CATCHES | GC_FRAME_CLOSER
};

/* The call of a native function with `count` arguments, in a frame of its own
 * above the top: makes all that it needs; enters that frame (there is room);
 * leaves it, the top is then as before. The caller calls the function. */
enum gc_status gc_frame_native_room(struct gc_thread *thread, uint32_t count);
void gc_frame_native_enter(struct gc_thread *thread, gc_native function,
                           const struct gc_value *arguments, uint32_t count,
                           uint32_t flag /* one of NATIVE */);
void gc_frame_native_leave(struct gc_thread *thread);

/* Makes room for `slots` slots from slot `base` on and GC_STACK_MIN more. */
enum gc_status gc_frame_room(struct gc_thread *thread, uint32_t base,
                             uint32_t slots);
/* Gives the current frame `slots` slots: the values from its base to the top
 * are the first ones, the rest is nil. There is room (gc_frame_room). */
void gc_frame_fill(struct gc_thread *thread, uint32_t slots);
/* Closes what is open in slots `from` and up: upvalues, then to-be-closed
 * slots, last first. Closers run; the top is as before. */
void gc_frame_close(struct gc_thread *thread, uint32_t from);

#endif
