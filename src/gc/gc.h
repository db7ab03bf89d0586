/* SPDX-License-Identifier: MIT
 *
 * A tri-colour incremental garbage collector for Lua-like values, with the
 * object model that it collects: strings, tables, userdata, C and Lua
 * closures with shared upvalues, prototypes, coroutines. There is no
 * bytecode: a host drives the heap through this stack-based interface. This
 * header is all that an embedder needs; it uses nothing else of the project.
 *
 * Stack and indices. Each coroutine has a stack of frames. Functions that take
 * `struct gc_thread *` work on its current frame: index 1 is the first slot of
 * the frame, -1 the top; GC_INDEX_REGISTRY is the registry,
 * GC_INDEX_FUNCTION the frame's function. Pushing needs room: every frame has
 * GC_STACK_MIN free slots when entered; gc_reserve() makes more.
 *
 * Errors. Functions that may allocate return enum gc_status. On
 * GC_NO_MEMORY nothing has changed but what the collector did, and the stack
 * is as before the call (arguments are still there). Misuse (a bad index, a
 * wrong type) is a programming error and is caught by assertions.
 *
 * Collection. Functions that create objects run paced collector steps after
 * their result is anchored on the stack; functions that only store run none.
 * When an allocation fails, a full collection without finalizers is made and
 * it is tried once more. So whatever allocates may collect: what a host holds
 * it keeps on a stack.
 *
 * Finalizers. A metatable with a __gc field, when it is set, marks a table or
 * userdata. Once it is found unreachable its finalizer, a native function, is
 * called with it at index 1 of a frame of its own on the running coroutine;
 * gc_raise in that frame records the error (the native then returns at once),
 * which becomes a warning. A __gc that is no native function is an error too.
 */
#ifndef PENUMBRA_GC_GC_H
#define PENUMBRA_GC_GC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gc_heap;
struct gc_thread;

enum gc_status { GC_OK, GC_NO_MEMORY, GC_ERROR };

enum {
  GC_STACK_MIN = 20,
  GC_INDEX_REGISTRY = -1000000,
  GC_INDEX_FUNCTION = -1000001,
  GC_REGISTRY_MAIN = 1,    /* registry[1] is the main thread */
  GC_REGISTRY_GLOBALS = 2, /* registry[2] is the globals table */
  GC_STRING_SHORT_MAX = 40 /* longest interned string, bytes */
};

/* Types of values. */
enum gc_type {
  GC_TYPE_NIL,
  GC_TYPE_BOOLEAN,
  GC_TYPE_INTEGER,
  GC_TYPE_FLOAT,
  GC_TYPE_POINTER, /* light userdata */
  GC_TYPE_NATIVE,  /* light C function */
  GC_TYPE_STRING,
  GC_TYPE_TABLE,
  GC_TYPE_USERDATA,
  GC_TYPE_FUNCTION, /* C or Lua closure */
  GC_TYPE_THREAD
};

/* Types with one metatable for all their values. */
enum gc_basic {
  GC_BASIC_NIL,
  GC_BASIC_BOOLEAN,
  GC_BASIC_NUMBER,
  GC_BASIC_STRING,
  GC_BASIC_FUNCTION,
  GC_BASIC_THREAD,
  GC_BASIC_POINTER,
  GC_BASIC_COUNT
};

/* A native function. Called as a closer or finalizer with the value at index 1
 * of its own frame; it may push, allocate and collect, and returns nothing.
 * Called as a metamethod with the object at index 1, the key at 2 and, of
 * __newindex, the value at 3; what is at index 1 in the end is the result of
 * __index. As a finalizer or metamethod it may end by gc_raise. */
typedef void (*gc_native)(struct gc_thread *thread);

/* realloc convention with the old size; new_size 0 frees; NULL is no memory
 * and keeps the old block. Shrinking may fail too. */
typedef void *(*gc_allocator)(void *user, void *block, size_t old_size,
                              size_t new_size);

struct gc_listener; /* listen.h: for tools that watch the collector */

/* Told of errors in finalizers, which have no other way out; text is borrowed
 * until it returns. It must not call the heap. */
typedef void (*gc_warn)(void *user, const char *text);

struct gc_config {
  gc_allocator allocate;
  void *user;
  gc_warn warn; /* NULL: warnings are dropped */
  struct gc_listener *listener; /* NULL for none; borrowed until gc_close */
  const char *dialect;          /* NULL for "lua54" */
  const char *fault;            /* a name of fault.def, or NULL */
};

/* ---- state ----------------------------------------------------------- */

/* NULL on no memory, an unknown dialect or fault. */
struct gc_heap *gc_open(const struct gc_config *config);
void gc_close(struct gc_heap *heap);
struct gc_thread *gc_main_thread(struct gc_heap *heap);
struct gc_thread *gc_running_thread(struct gc_heap *heap);
struct gc_heap *gc_heap_of(struct gc_thread *thread);

/* What is told when one of the collector's own assertions fails: "FILE:LINE:
 * condition", borrowed until it returns. It may leave by longjmp; the heap is
 * then good for nothing. One for the process; NULL for none. */
typedef void (*gc_assertion_handler)(void *user, const char *text);
void gc_set_assertion_handler(gc_assertion_handler call, void *user);

/* ---- stack ----------------------------------------------------------- */

int gc_top(const struct gc_thread *thread);
/* Slots above the new top are dropped, new ones are nil; closes nothing. */
void gc_set_top(struct gc_thread *thread, int top);
void gc_pop(struct gc_thread *thread, int count);
/* Makes room for that many slots above the top. It lasts as long as the
 * frame. */
enum gc_status gc_reserve(struct gc_thread *thread, uint32_t slots);
void gc_push_copy(struct gc_thread *thread, int index);
/* Pops the top into index. */
void gc_replace(struct gc_thread *thread, int index);
void gc_copy(struct gc_thread *thread, int from, int to);

enum gc_type gc_type_of(const struct gc_thread *thread, int index);
bool gc_to_boolean(const struct gc_thread *thread, int index);
int64_t gc_to_integer(const struct gc_thread *thread, int index);
double gc_to_float(const struct gc_thread *thread, int index);
void *gc_to_pointer(const struct gc_thread *thread, int index);
gc_native gc_to_native(const struct gc_thread *thread, int index);
const char *gc_to_string(const struct gc_thread *thread, int index,
                         size_t *ret_length);
void *gc_to_userdata(const struct gc_thread *thread, int index);
struct gc_thread *gc_to_thread(const struct gc_thread *thread, int index);
bool gc_raw_equal(const struct gc_thread *thread, int a, int b);
/* The object at index as an identity; NULL if the value is no object. */
const void *gc_to_object(const struct gc_thread *thread, int index);

void gc_push_nil(struct gc_thread *thread);
void gc_push_boolean(struct gc_thread *thread, bool value);
void gc_push_integer(struct gc_thread *thread, int64_t value);
void gc_push_float(struct gc_thread *thread, double value);
void gc_push_pointer(struct gc_thread *thread, void *value);
void gc_push_native(struct gc_thread *thread, gc_native value);
void gc_push_thread(struct gc_thread *thread); /* the thread itself */
enum gc_status gc_push_string(struct gc_thread *thread, const char *bytes,
                              size_t length);
/* Replaces the two strings at the top by their concatenation. */
enum gc_status gc_concat(struct gc_thread *thread);

/* ---- tables ---------------------------------------------------------- */

enum gc_status gc_new_table(struct gc_thread *thread, uint32_t array_slots,
                            uint32_t hash_slots);
/* Raw access to the table at index: get replaces the key at the top by the
 * value; set pops the value and the key below it (keys: not nil, not NaN). */
void gc_raw_get(struct gc_thread *thread, int index);
enum gc_status gc_raw_set(struct gc_thread *thread, int index);
void gc_raw_geti(struct gc_thread *thread, int index, int64_t key);
/* Pops the value. */
enum gc_status gc_raw_seti(struct gc_thread *thread, int index, int64_t key);
/* A border of the table at index. */
int64_t gc_length(const struct gc_thread *thread, int index);
/* Replaces the key at the top by the next key and pushes its value: true; or
 * pops the key at the end of the traversal: false. */
bool gc_next(struct gc_thread *thread, int index);
/* Through __index and __newindex; the chain must be made of tables and
 * userdata, GC_META_CHAIN_MAX long at most, and end in nil or in a native
 * function, which is called; else, or if that raises an error, GC_ERROR. The
 * stack is then as before. */
enum { GC_META_CHAIN_MAX = 16 };
enum gc_status gc_get(struct gc_thread *thread, int index);
enum gc_status gc_set(struct gc_thread *thread, int index);

/* Pops a table or nil and makes it the metatable of the table or userdata at
 * index, which is marked for finalization if it has a __gc. gc_push_metatable
 * pushes that of any value, or nil. */
void gc_set_metatable(struct gc_thread *thread, int index);
void gc_push_metatable(struct gc_thread *thread, int index);
/* The same for all values of a basic type. */
void gc_set_basic_metatable(struct gc_thread *thread, enum gc_basic type);
void gc_push_basic_metatable(struct gc_thread *thread, enum gc_basic type);

/* ---- userdata -------------------------------------------------------- */

enum gc_status gc_new_userdata(struct gc_thread *thread, size_t size,
                               uint16_t user_values);
/* false if the userdata at index has no user value n (from 0); get then
 * pushes nothing, set pops nothing. */
bool gc_get_user_value(struct gc_thread *thread, int index, uint16_t n);
bool gc_set_user_value(struct gc_thread *thread, int index, uint16_t n);

/* ---- functions ------------------------------------------------------- */

/* Pops count values into a C closure and pushes it. */
enum gc_status gc_new_native_closure(struct gc_thread *thread,
                                     gc_native function, uint8_t count);

/* Builds a prototype: pushes a Lua closure without upvalues over a new, empty
 * prototype, to which constants (popped from the top) and nested prototypes
 * (those of a closure popped from the top) are added one by one. index is the
 * closure's. */
enum gc_status gc_new_prototype(struct gc_thread *thread,
                                uint8_t upvalue_count);
enum gc_status gc_prototype_add_constant(struct gc_thread *thread, int index);
enum gc_status gc_prototype_add_nested(struct gc_thread *thread, int index);

/* Where a new Lua closure takes an upvalue from: the frame's slot index
 * (in_stack), or upvalue index of the closure at `from`. */
struct gc_capture {
  bool in_stack;
  uint8_t index; /* slot: from 1; upvalue: from 0 */
};
/* Pushes a closure over the prototype of the Lua closure at `from`, with count
 * upvalues. */
enum gc_status gc_new_closure(struct gc_thread *thread, int from,
                              const struct gc_capture *captures,
                              uint8_t count);
/* Pops the top count values into fresh closed upvalues of a new closure over
 * the prototype of the Lua closure at `from`; pushes it. */
enum gc_status gc_new_closure_over_values(struct gc_thread *thread, int from,
                                          uint8_t count);
/* The number of upvalues of the closure at index. */
uint8_t gc_upvalue_count(const struct gc_thread *thread, int index);
/* Pushes upvalue n; pops the top into upvalue n. */
void gc_get_upvalue(struct gc_thread *thread, int index, uint8_t n);
void gc_set_upvalue(struct gc_thread *thread, int index, uint8_t n);
/* Upvalue n of the Lua closure at index becomes upvalue m of the one at
 * other. */
void gc_join_upvalue(struct gc_thread *thread, int index, uint8_t n,
                     int other, uint8_t m);

/* ---- frames ---------------------------------------------------------- */

/* Bits from GC_FRAME_HOST up are the host's: kept with the frame. */
enum gc_frame_flag { GC_FRAME_PROTECTED = 1, GC_FRAME_HOST = 256 };

/* Enters a frame for the function below `varargs + arguments` values at the
 * top. The arguments become the first of `slots` slots of the frame, the rest
 * are nil; the varargs (which lie below the arguments) stay beneath. */
enum gc_status gc_enter(struct gc_thread *thread, uint32_t varargs,
                        uint32_t arguments, uint32_t slots,
                        uint32_t flags /* enum gc_frame_flag */);
/* Leaves it: closes upvalues and to-be-closed slots; the top count values
 * take the place of function and arguments in the frame below. */
void gc_leave(struct gc_thread *thread, uint32_t count);
/* Replaces the frame by one for the function below `arguments` values at the
 * top, with `slots` slots and the flags of the old. The old frame must have no
 * to-be-closed slots. */
enum gc_status gc_reenter(struct gc_thread *thread, uint32_t arguments,
                          uint32_t slots);
/* Raises the value at the top: unwinds to the nearest protected frame and
 * leaves it as gc_leave(thread, 1) does: GC_OK. Without one: GC_ERROR, nothing
 * is unwound, the value stays at the top; a coroutine is failed. Inside a
 * finalizer GC_ERROR too: unwound to its frame, with the value at the top; it
 * must return then. */
enum gc_status gc_raise(struct gc_thread *thread);
uint32_t gc_frame_depth(const struct gc_thread *thread); /* 1 at the base */
/* Pushes vararg n (from 0) of the frame, or nil. */
void gc_push_vararg(struct gc_thread *thread, uint32_t n);
uint32_t gc_vararg_count(const struct gc_thread *thread);
/* Marks the top slot as to-be-closed; its value's metatable must hold a native
 * function as __close. */
enum gc_status gc_mark_to_close(struct gc_thread *thread);
uint32_t gc_to_close_count(const struct gc_thread *thread);
/* Closes upvalues of slots index and up (and to-be-closed slots there); index
 * may be one past the top. */
void gc_close_slots(struct gc_thread *thread, int index);

/* ---- coroutines ------------------------------------------------------ */

enum gc_thread_status {
  GC_THREAD_SUSPENDED,
  GC_THREAD_RUNNING,
  GC_THREAD_NORMAL,
  GC_THREAD_FINISHED,
  GC_THREAD_FAILED
};

/* Pops a function and pushes a new coroutine that will run it. */
enum gc_status gc_new_thread(struct gc_thread *thread);
enum gc_thread_status gc_status_of(const struct gc_thread *thread);
bool gc_is_started(const struct gc_thread *thread);
/* Resumes the coroutine below `count` values at the top of from. The first
 * time a frame of `slots` slots is entered with the values as arguments; later
 * the values are pushed on its frame. The coroutine itself stays on from's
 * stack (it anchors it) until control is back. */
enum gc_status gc_resume(struct gc_thread *from, uint32_t count,
                         uint32_t slots);
/* Suspends the running coroutine; the top count values take the place of the
 * coroutine at the top of its resumer. GC_NO_MEMORY if they have no room;
 * GC_ERROR inside a finalizer, which cannot be suspended: it may raise an error
 * then. */
enum gc_status gc_yield(struct gc_thread *thread, uint32_t count);
/* The base frame ends: closes everything, finished; values as gc_yield. */
enum gc_status gc_finish(struct gc_thread *thread, uint32_t count);
/* The coroutine, failed by gc_raise, gives control back: its error value
 * leaves its stack and takes the place of the coroutine at the top of its
 * resumer. */
void gc_fail(struct gc_thread *thread);
/* Closes everything of a suspended, finished or failed coroutine, drops its
 * frames; it is finished. */
void gc_thread_close(struct gc_thread *thread);
/* Copies between the slots of two coroutines' current frames. Both may be
 * any coroutines that have a frame. */
void gc_copy_across(struct gc_thread *from, int from_index,
                    struct gc_thread *to, int to_index);

/* ---- collector ------------------------------------------------------- */

/* The concrete phases, in the order of a cycle. */
enum gc_phase {
  GC_PHASE_PAUSE,
  GC_PHASE_PROPAGATE,
  GC_PHASE_ENTER_ATOMIC,
  GC_PHASE_ATOMIC, /* only inside a micro-step */
  GC_PHASE_SWEEP,
  GC_PHASE_SWEEP_FINALIZABLE,
  GC_PHASE_SWEEP_PENDING,
  GC_PHASE_SWEEP_END,
  GC_PHASE_FINALIZE
};

enum gc_phase gc_phase_of(const struct gc_heap *heap);

/* In incremental mode cycles run step by step; in generational mode a step is
 * a whole minor collection (of young objects), or a major one. */
enum gc_mode { GC_MODE_INCREMENTAL, GC_MODE_GENERATIONAL };

/* What is called from inside a finalizer does nothing in gc_collect, gc_step,
 * gc_stop, gc_restart, gc_set_mode, gc_set_parameter, and gives what an idle
 * collector gives (no cycle finished, the mode and value as they are). */
bool gc_is_finalizing(const struct gc_heap *heap);
/* The mode as the host set it last. Switching makes a full collection on the
 * way to the generational one; legal in every phase. Returns the old one. */
enum gc_mode gc_mode_of(const struct gc_heap *heap);
enum gc_mode gc_set_mode(struct gc_heap *heap, enum gc_mode mode);

enum gc_parameter {
  GC_PARAMETER_PAUSE,     /* percent of what lived: wait until it is in use */
  GC_PARAMETER_STEP_MULTIPLIER, /* work units a unit of debt */
  GC_PARAMETER_STEP_SIZE, /* log2 of bytes */
  GC_PARAMETER_MINOR_MULTIPLIER, /* percent of growth until a minor one */
  GC_PARAMETER_MAJOR_MULTIPLIER, /* percent of growth until a major one */
  GC_PARAMETER_COUNT
};
/* Any value may be set; what is kept is what gc_parameter gives (the dialect's
 * granularity). It acts from when the collector next needs it. */
uint32_t gc_parameter(const struct gc_heap *heap, enum gc_parameter which);
void gc_set_parameter(struct gc_heap *heap, enum gc_parameter which,
                      uint32_t value);
/* The smallest unit: one unit of one phase; in generational mode a whole minor
 * or major collection with its finalizers. Returns its cost in work units
 * (objects, roughly). Does nothing inside a finalizer. */
size_t gc_micro_step(struct gc_heap *heap);
/* The paced step that allocating functions make when the debt is positive. */
void gc_check(struct gc_thread *thread);
/* An explicit step: as if `kilobytes` had been allocated; 0 is one basic
 * step. Works while stopped. Returns whether a cycle was finished. */
bool gc_step(struct gc_heap *heap, size_t kilobytes);
void gc_collect(struct gc_heap *heap);
void gc_stop(struct gc_heap *heap);
void gc_restart(struct gc_heap *heap);
bool gc_is_stopped(const struct gc_heap *heap);
size_t gc_bytes(const struct gc_heap *heap);

#endif
