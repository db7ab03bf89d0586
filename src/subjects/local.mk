# SPDX-License-Identifier: MIT

# Instrumented like the collector: the adapter is how inputs reach it.

noinst_LIBRARIES += %D%/libpenumbra_subjects.a
%C%_libpenumbra_subjects_a_SOURCES = \
	%D%/model.c \
	%D%/model.h \
	%D%/model_natives.c \
	%D%/model_objects.c \
	%D%/model_stack.h \
	%D%/model_survey.c \
	%D%/registry.c \
	%D%/subjects.c \
	%D%/subjects.h \
	%D%/traits.def \
	%D%/traits.h
%C%_libpenumbra_subjects_a_CFLAGS = $(AM_CFLAGS) $(FUZZ_CFLAGS)
%C%_libpenumbra_subjects_a_LIBADD = @real_objects@
%C%_libpenumbra_subjects_a_DEPENDENCIES = @real_objects@

include %D%/real/local.mk
