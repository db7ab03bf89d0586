# SPDX-License-Identifier: MIT
#
# A fuzz target is built by every build: with libFuzzer or another engine when
# configured so, else with a small main that replays the files it is given.

pkglibexec_PROGRAMS += %D%/fuzz_lua54
%C%_fuzz_lua54_SOURCES = %D%/fuzz_lua54.c
%C%_fuzz_lua54_CFLAGS = $(AM_CFLAGS) $(FUZZ_CFLAGS)
%C%_fuzz_lua54_LDADD = $(PENUMBRA_LIBS)
%C%_fuzz_lua54_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
if !FUZZING
%C%_fuzz_lua54_SOURCES += %D%/standalone.c
endif

dist_pkgdata_DATA += %D%/fuzz_lua54.options
pkgdata_DATA += %D%/fuzz_lua54.dict
CLEANFILES += %D%/fuzz_lua54.dict

%D%/fuzz_lua54.dict: src/ops/op_tables$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	src/ops/op_tables$(EXEEXT) dict >$@.tmp && mv $@.tmp $@
