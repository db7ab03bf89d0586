# SPDX-License-Identifier: MIT

noinst_LIBRARIES += %D%/libpenumbra_arena.a
%C%_libpenumbra_arena_a_SOURCES = \
	%D%/arena.c \
	%D%/arena.h
