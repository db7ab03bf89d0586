# SPDX-License-Identifier: MIT
noinst_LIBRARIES += %D%/libpenumbra_ops.a
%C%_libpenumbra_ops_a_SOURCES = \
	%D%/op_assert.h \
	%D%/op_gen.c \
	%D%/op_gen.h \
	%D%/op_guess.c \
	%D%/op_guess.h \
	%D%/op_limits.h \
	%D%/op_manual.c \
	%D%/op_manual.h \
	%D%/op_recipe.c \
	%D%/op_recipe.h \
	%D%/op_text.c \
	%D%/op_text.h \
	%D%/op_words.def \
	%D%/operands.def \
	%D%/ops.c \
	%D%/ops.def \
	%D%/ops.h

# Writes what is generated from the list: the manual, the dictionary.
noinst_PROGRAMS += %D%/op_tables
%C%_op_tables_SOURCES = %D%/op_tables.c
%C%_op_tables_LDADD = %D%/libpenumbra_ops.a
