# SPDX-License-Identifier: MIT
#
# Compiled by `build`, once for each source tree.

real_files = \
	%D%/assert.h \
	%D%/build \
	%D%/build-jit \
	%D%/driver.c \
	%D%/jit_heap.c \
	%D%/jit_inside.c \
	%D%/jit_survey.h \
	%D%/natives.c \
	%D%/perform.c \
	%D%/perform.h \
	%D%/perform_flow.c \
	%D%/perform_load.c \
	%D%/perform_values.c \
	%D%/puc_heap.c \
	%D%/puc_inside.c \
	%D%/puc_shim.h \
	%D%/puc_survey.h \
	%D%/puc_survey_heap.h \
	%D%/puc_traits.h \
	%D%/real.h
EXTRA_DIST += $(real_files)
