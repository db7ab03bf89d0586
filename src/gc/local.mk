# SPDX-License-Identifier: MIT

# What is explored: the fuzzer sees which of its branches were taken.

noinst_LIBRARIES += %D%/libpenumbra_gc.a
%C%_libpenumbra_gc_a_SOURCES = \
	%D%/api_function.c \
	%D%/api_internal.h \
	%D%/api_stack.c \
	%D%/api_table.c \
	%D%/api_thread.c \
	%D%/assert.c \
	%D%/barrier.c \
	%D%/cycle.c \
	%D%/dialect.c \
	%D%/dialect.h \
	%D%/fault.c \
	%D%/fault.def \
	%D%/fault.h \
	%D%/finalize.c \
	%D%/frame.c \
	%D%/function.c \
	%D%/gc.h \
	%D%/generation.c \
	%D%/gc_assert.h \
	%D%/heap.c \
	%D%/heap.h \
	%D%/listen.h \
	%D%/mark.c \
	%D%/object.h \
	%D%/pace.c \
	%D%/store.h \
	%D%/string.c \
	%D%/sweep.c \
	%D%/table.c \
	%D%/thread.c \
	%D%/thread.h \
	%D%/weak.c
%C%_libpenumbra_gc_a_CFLAGS = $(AM_CFLAGS) $(FUZZ_CFLAGS)
