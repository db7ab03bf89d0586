# SPDX-License-Identifier: MIT

noinst_LIBRARIES += %D%/libpenumbra_lab.a
%C%_libpenumbra_lab_a_SOURCES = \
	%D%/lab.c \
	%D%/lab.h \
	%D%/lab_text.c \
	%D%/shrink.c \
	%D%/shrink.h \
	%D%/twin.c \
	%D%/twin.def \
	%D%/twin.h \
	%D%/twin_explain.c \
	%D%/twin_internal.h \
	%D%/twin_rules.c \
	%D%/twin_rules.h \
	%D%/twin_words.c
