# SPDX-License-Identifier: MIT
#
# Compiled by `build`, once for each source tree.

real_files = \
	%D%/assert.h \
	%D%/build \
	%D%/real.h
EXTRA_DIST += $(real_files)
