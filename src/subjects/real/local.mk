# SPDX-License-Identifier: MIT
#
# Compiled by `build`, once for each source tree.

real_files = \
	%D%/assert.h \
	%D%/build \
	%D%/puc_heap.c \
	%D%/puc_shim.h \
	%D%/puc_survey.h \
	%D%/puc_survey_heap.h \
	%D%/puc_traits.h \
	%D%/real.h
EXTRA_DIST += $(real_files)
