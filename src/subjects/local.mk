# SPDX-License-Identifier: MIT

# Not instrumented for the fuzzer: the survey runs at every check and would
# cost more than all the rest; what an operation reaches shows in src/gc.

noinst_LIBRARIES += %D%/libpenumbra_subjects.a
%C%_libpenumbra_subjects_a_SOURCES = \
	%D%/model.c \
	%D%/model.h \
	%D%/model_survey.c \
	%D%/subjects.c \
	%D%/subjects.h \
	%D%/traits.def
