/* SPDX-License-Identifier: MIT
 *
 * The adapter of real collectors, shared by its files, which are compiled once
 * for each source tree, against that tree's headers. perform.c opens, closes
 * and performs operations through the public C API and through bytecode;
 * natives.c holds the light C functions; driver.c the Lua text; the file that
 * includes the tree's collector (puc_heap.c, jit_heap.c) makes micro-steps,
 * shows the heap and does what the public API cannot. Nobody else includes it.
 *
 * How the operation language lies in a VM:
 *
 *   The VM's own main thread is no coroutine of the language. Operations run
 *   on it, protected; between operations its stack is empty.
 *
 *   Each coroutine of the language is a VM coroutine, suspended between
 *   operations. Each of its frames is an activation of one Lua function, the
 *   driver, whose parameters are the frame's function, its 16 registers, its
 *   4 to-be-closed values, and the frame's varargs. The driver calls await(),
 *   a C function that yields; resumed, it returns what the VM is to do next.
 *
 *   A coroutine that waits for one it has resumed is suspended in await too;
 *   slot 1 of await's frame holds the other one, slot 2 the number of the
 *   register that held it. In all others await's frame is empty.
 *
 *   A coroutine that is not started yet holds its function in slot 1 and has
 *   nothing else; a finished one has an empty stack. In a failed one a C
 *   function's frame, empty, lies over the innermost driver frame, as await's
 *   does otherwise.
 *
 *   Integer keys of the registry below REAL_REFERENCE are the adapter's, those
 *   from it on are references in use; string keys are the stream's.
 *
 *   Where the VM has no light C functions (5.1, LuaJIT), each native is one
 *   closure without upvalues that the registry keeps; such a closure is shown
 *   as SUBJECT_CFUNC wherever it is a value, and is an internal object.
 *
 *   Where a userdata has an environment instead of a user value (5.1, LuaJIT),
 *   the globals table there stands for nil.
 */
#ifndef PENUMBRA_SUBJECTS_REAL_REAL_H
#define PENUMBRA_SUBJECTS_REAL_REAL_H

#include "lua.h"

#include "lauxlib.h"

#include "subject.h"

enum {
  /* Locals of the driver, from 1 */
  REAL_LOCAL_FUNCTION = 1,
  REAL_LOCAL_REGISTER = 2,
  REAL_LOCAL_CLOSE = REAL_LOCAL_REGISTER + OP_REGISTERS,
  REAL_CLOSE_MAX = 4,
  REAL_LOCAL_COUNT = REAL_LOCAL_CLOSE + REAL_CLOSE_MAX - 1,
  /* Light C functions by number: closers, then one finalizer a behaviour */
  REAL_BEHAVIOURS = 8,
  REAL_NATIVES = REAL_BEHAVIOURS + OP_BEHAVIOUR_NONE,
  /* The first key of the registry that a reference may have */
  REAL_REFERENCE = 1000
};

/* Lives in the arena like all that belongs to a subject. */
struct subject_instance {
  struct subject_env env;
  lua_State *state;   /* the VM's main thread */
  lua_State *main;    /* the language's main coroutine */
  lua_State *running; /* the language's running coroutine */
  struct op op;       /* being performed: C functions in the VM read it */
  uint8_t mode;       /* OP_MODE_*: as the host set it last */
  bool stopped;       /* by the operations */
  bool closing;       /* lua_close runs */
  bool watched;       /* the subject is open: before, nobody is told of steps */
  bool in_vm;         /* a coroutine runs, in which no error may be raised by
                       * what the operation does not know of */
  uint8_t phase;      /* SUBJECT_PHASE_*: as it was told last */
  uint32_t steps;     /* micro-steps under way (0 or 1) */
  bool held;          /* refusals are held */
  bool collector_held; /* the collector's own steps are */
  bool forgives;      /* they will be after the next one, which a collection
                       * cures */
  bool gave_up;       /* the finalizer that runs has raised an error itself */
  /* Of the operation being performed */
  struct subject_answer *answer;
  enum subject_status status;
  const void *driver; /* the driver, a Lua closure that the registry keeps */
  size_t warning_length;
  char warning[200]; /* what has come of the one that is being told */
};

/* One state at a time: what is told without a state finds it here. */
extern struct subject_instance *real_instance;

/* What the tree's assertions and API checks call (assert.h). Tells the event,
 * which does not return. */
void real_assertion(const char *text);
/* Tells an event of this type with these fields to the instance's sink. */
void real_tell(struct subject_instance *instance, enum subject_event_type type,
               uint64_t base, uint8_t to);

/* ---- natives.c ------------------------------------------------------- */

extern const lua_CFunction real_natives[REAL_NATIVES];
/* REAL_NATIVES if it is none of them. */
uint64_t real_native_number(lua_CFunction function);

/* ---- the file that includes the collector ---------------------------- */

extern const struct subject_traits real_traits;

void real_micro_step(struct subject_instance *instance);
enum subject_phase real_phase(struct subject_instance *instance);
bool real_steps_are_whole(struct subject_instance *instance);
void real_survey(struct subject_instance *instance,
                 struct subject_visitor *visitor);

/* The value at index as an answer or a told base; objects by the base of their
 * block. */
struct subject_value real_value(lua_State *L, int index);

/* Pushes local n (REAL_LOCAL_*) of the innermost driver frame of a suspended
 * coroutine onto to; depth 1 is the frame below it, and so on. Needs a free
 * slot; allocates nothing. */
void real_push_local(lua_State *to, lua_State *coroutine, int depth, int n);
/* Pops the top of from into such a local. */
void real_set_local(lua_State *from, lua_State *coroutine, int depth, int n);
/* Vararg n (from 0) of the innermost driver frame, or nil. */
void real_push_vararg(lua_State *to, lua_State *coroutine, int n);
/* Room for a call with so many slots more, inside the VM too: stack and frame
 * records. false: an allocation was refused, and nothing has changed. */
bool real_reserve(lua_State *coroutine, int slots);
/* Makes a local of the innermost driver frame to-be-closed; false: no memory,
 * nothing changed. Never called where the version has no such variables. */
bool real_mark_to_close(lua_State *coroutine, int n);
/* Closes the open upvalues and to-be-closed values of the innermost driver
 * frame from local n on, last first. */
void real_close_from(lua_State *coroutine, int n);

#endif
