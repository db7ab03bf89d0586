# SPDX-License-Identifier: MIT
#
# One object for each source tree, made by `build`; configure writes the rules,
# which are at the end of the makefile. A tree's files carry the sanitizers but
# UBSan, of whose rules they know nothing.

EXTRA_DIST += \
	%D%/assert.h \
	%D%/build \
	%D%/build-jit \
	%D%/driver.c \
	%D%/external.c \
	%D%/fetch \
	%D%/jit_code.c \
	%D%/jit_heap.c \
	%D%/jit_inside.c \
	%D%/jit_survey.h \
	%D%/natives.c \
	%D%/perform.c \
	%D%/perform.h \
	%D%/perform_flow.c \
	%D%/perform_hot.c \
	%D%/perform_load.c \
	%D%/perform_values.c \
	%D%/puc_heap.c \
	%D%/puc_inside.c \
	%D%/puc_shim.h \
	%D%/puc_survey.h \
	%D%/puc_survey_heap.h \
	%D%/puc_traits.h \
	%D%/real.h \
	%D%/sources \
	%D%/uncovered.h

real_build = \
	CC='$(CC)' LD='$(LD)' OBJCOPY='$(OBJCOPY)' \
	CPPFLAGS='-D_GNU_SOURCE $(CPPFLAGS)' \
	CFLAGS='$(BASE_CFLAGS) $(WARN_CFLAGS) $(SAN_CFLAGS) $(FUZZ_CFLAGS) \
	  $(CFLAGS)' \
	REAL_CFLAGS='$(BASE_CFLAGS) $(SAN_CFLAGS) $(FUZZ_CFLAGS) -O2 $(CFLAGS) \
	  -fno-sanitize=undefined' \
	$(SHELL) '$(abs_top_srcdir)/src/subjects/real/build'

# Whether anything has changed is seen by `build`, which knows the trees.
real-always:

.PHONY: real-always

clean-local: clean-real
clean-real:
	rm -rf %D%/*.o.parts %D%/*.o

distclean-local: distclean-real
distclean-real:
	rm -rf %D%/trees %D%/list.def %D%/rules.mk

.PHONY: clean-real distclean-real
