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

# In a fuzzing build what judges is compiled once more without sanitizers: it
# runs at every step and is not what is tried, and four fifths of the time
# would go into instrumenting it. The collector keeps them, and so does the
# arena, which poisons what is freed. The unit tests and the command use the
# sanitized libraries.
if FUZZING
noinst_LIBRARIES += %D%/libpenumbra_trusted.a
%C%_libpenumbra_trusted_a_SOURCES = \
	$(src_lab_libpenumbra_lab_a_SOURCES) \
	$(oracle_libpenumbra_oracle_a_SOURCES) \
	$(src_subjects_libpenumbra_subjects_a_SOURCES) \
	$(src_ops_libpenumbra_ops_a_SOURCES)
%C%_libpenumbra_trusted_a_CFLAGS = $(AM_CFLAGS) $(TRUSTED_CFLAGS)
fuzz_judges = %D%/libpenumbra_trusted.a
endif

pkglibexec_PROGRAMS += %D%/fuzz_lua54
%C%_fuzz_lua54_SOURCES = %D%/fuzz_lua54.c $(fuzz_shared)
%C%_fuzz_lua54_LDADD = $(fuzz_judges) $(PENUMBRA_LIBS)
%C%_fuzz_lua54_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

# The targets of the real collectors are one program under many names, by which
# it knows its subject; configure writes the rules that make the links.
if REAL
pkglibexec_PROGRAMS += %D%/fuzz_real
%C%_fuzz_real_SOURCES = %D%/fuzz_real.c $(fuzz_shared)
%C%_fuzz_real_LDADD = $(fuzz_judges) $(PENUMBRA_LIBS)
%C%_fuzz_real_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
endif
EXTRA_DIST += %D%/fuzz_real.c

all-local: @real_targets@

install-exec-hook:
	@for name in @real_list@; do \
	  file="$(DESTDIR)$(pkglibexecdir)/fuzz_$$name$(EXEEXT)"; \
	  rm -f "$$file" && \
	  ln "$(DESTDIR)$(pkglibexecdir)/fuzz_real$(EXEEXT)" "$$file" || exit 1; \
	done

uninstall-hook:
	@for name in @real_list@; do \
	  rm -f "$(DESTDIR)$(pkglibexecdir)/fuzz_$$name$(EXEEXT)"; \
	done

CLEANFILES += @real_targets@

# What a fuzzing service takes, into the folder OUT.
fuzz-out: %D%/fuzz_lua54$(EXEEXT) %D%/fuzz_lua54.dict @real_targets@ \
  penumbra$(EXEEXT)
	'$(srcdir)/fuzz/pack' . '$(OUT)' lua54 @real_list@

.PHONY: fuzz-out
EXTRA_DIST += %D%/pack

# It must fail; tests/canary.bats sees to it.
noinst_PROGRAMS += %D%/fuzz_canary
%C%_fuzz_canary_SOURCES = %D%/fuzz_canary.c $(fuzz_shared)
%C%_fuzz_canary_LDADD = $(fuzz_judges) $(PENUMBRA_LIBS)
%C%_fuzz_canary_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)

dist_pkgdata_DATA += %D%/fuzz_lua54.options
pkgdata_DATA += %D%/fuzz_lua54.dict
CLEANFILES += %D%/fuzz_lua54.dict

%D%/fuzz_lua54.dict: src/ops/op_tables$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	src/ops/op_tables$(EXEEXT) dict >$@.tmp && mv $@.tmp $@
