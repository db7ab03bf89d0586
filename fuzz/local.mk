# SPDX-License-Identifier: MIT
#
# A fuzz target is built by every build: with libFuzzer or another engine when
# configured so, else with a small main that replays the files it is given.
# The targets share objects, not a library: an engine finds the mutator only
# if it is linked unasked.

fuzz_shared = \
	%D%/mutator.c \
	%D%/target.c \
	%D%/target.h
if !FUZZING
fuzz_shared += %D%/standalone.c
endif

pkglibexec_PROGRAMS += %D%/fuzz_lua54
%C%_fuzz_lua54_SOURCES = %D%/fuzz_lua54.c $(fuzz_shared)
%C%_fuzz_lua54_LDADD = $(PENUMBRA_LIBS)
%C%_fuzz_lua54_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

dist_pkgdata_DATA += %D%/fuzz_lua54.options
pkgdata_DATA += %D%/fuzz_lua54.dict
CLEANFILES += %D%/fuzz_lua54.dict

%D%/fuzz_lua54.dict: src/ops/op_tables$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	src/ops/op_tables$(EXEEXT) dict >$@.tmp && mv $@.tmp $@
