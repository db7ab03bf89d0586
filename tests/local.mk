# SPDX-License-Identifier: MIT
#
# Every test speaks TAP: the unit tests by cmocka, the tests of the command by
# bats, the checks of the source by tap.sh. One log file a program.

TEST_EXTENSIONS = .bats
tap_driver = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/src/build-aux/tap-driver.sh
LOG_DRIVER = $(tap_driver)
BATS_LOG_DRIVER = $(tap_driver)
BATS_LOG_COMPILER = $(BATS)
AM_BATS_LOG_FLAGS = --tap

AM_TESTS_ENVIRONMENT = \
	CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	abs_top_srcdir='$(abs_top_srcdir)'; export abs_top_srcdir; \
	abs_top_builddir='$(abs_top_builddir)'; export abs_top_builddir; \
	CC='$(CC)'; export CC; \
	MANDOC='$(MANDOC)'; export MANDOC; \
	VALGRIND='$(VALGRIND)'; export VALGRIND; \
	PENUMBRA_SANITIZERS='$(enable_sanitizers)'; export PENUMBRA_SANITIZERS; \
	PENUMBRA_REAL='@real_list@'; export PENUMBRA_REAL; \
	PENUMBRA_REAL_RECORDED='@real_recorded@'; \
	export PENUMBRA_REAL_RECORDED; \
	PENUMBRA_FUZZING='$(enable_fuzzing)'; export PENUMBRA_FUZZING; \
	PENUMBRA_HAS_FAULTS='$(enable_faults)'; export PENUMBRA_HAS_FAULTS;

# ---- the source -----------------------------------------------------------

EXTRA_DIST += \
	%D%/corpus_fixture.h \
	%D%/gc_drive.h \
	%D%/gc_fixture.h \
	%D%/gc_scenarios.h \
	%D%/oracle_collect_fixture.h \
	%D%/oracle_fixture.h \
	%D%/shadow_fixture.h \
	%D%/tap.sh
dist_check_SCRIPTS += \
	%D%/check-headers \
	%D%/check-layering \
	%D%/check-style
TESTS += \
	%D%/check-headers \
	%D%/check-layering \
	%D%/check-style

check-headers check-layering check-style:
	abs_top_srcdir='$(abs_top_srcdir)' CC='$(CC)' \
	  $(SHELL) '$(srcdir)/tests/$@'

.PHONY: check-headers check-layering check-style

# ---- units ----------------------------------------------------------------

# Each is made of the one source file of its name, but where more is said
# below, and may use all libraries.
unit_tests = \
	%D%/test_arena \
	%D%/test_compiled \
	%D%/test_corpus \
	%D%/test_faults \
	%D%/test_gc_calls \
	%D%/test_gc_collector \
	%D%/test_gc_emergency \
	%D%/test_gc_failures \
	%D%/test_gc_finalizers \
	%D%/test_gc_functions \
	%D%/test_gc_generations \
	%D%/test_gc_objects \
	%D%/test_gc_pacing \
	%D%/test_gc_random \
	%D%/test_gc_stores \
	%D%/test_gc_weak \
	%D%/test_lab \
	%D%/test_mutator \
	%D%/test_op_gen \
	%D%/test_op_manual \
	%D%/test_op_memory \
	%D%/test_op_text \
	%D%/test_ops \
	%D%/test_oracle \
	%D%/test_oracle_ages \
	%D%/test_oracle_events \
	%D%/test_oracle_pacing \
	%D%/test_oracle_weak \
	%D%/test_oracle_finalizers \
	%D%/test_oracle_liveness \
	%D%/test_oracle_memory \
	%D%/test_oracle_versions \
	%D%/test_quiet \
	%D%/test_report \
	%D%/test_shadow \
	%D%/test_shadow_finalizers \
	%D%/test_shadow_flow \
	%D%/test_shadow_roots \
	%D%/test_shadow_streams \
	%D%/test_shadow_versions \
	%D%/test_shadow_weak \
	%D%/test_shrink \
	%D%/test_tally \
	%D%/test_traits \
	%D%/test_twin \
	%D%/test_vacuity

%C%_test_mutator_SOURCES = %D%/test_mutator.c fuzz/mutator.c

if HAVE_CMOCKA
AM_CPPFLAGS += $(CMOCKA_CFLAGS)
LDADD += $(CMOCKA_LIBS)
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif

# ---- the command ----------------------------------------------------------

shell_tests = \
	%D%/bootstrap.bats \
	%D%/canary.bats \
	%D%/cli.bats \
	%D%/corpus.bats \
	%D%/fetch.bats \
	%D%/findings.bats \
	%D%/mutate.bats \
	%D%/pack.bats \
	%D%/readme.bats \
	%D%/real.bats \
	%D%/replay.bats

EXTRA_DIST += $(shell_tests)
if HAVE_BATS
TESTS += $(shell_tests)
endif

# ---- on demand ------------------------------------------------------------

EXTRA_PROGRAMS += %D%/bench %D%/bench_ephemerons
%C%_bench_LDADD = $(PENUMBRA_LIBS)
%C%_bench_ephemerons_LDADD = $(PENUMBRA_LIBS)
CLEANFILES += %D%/bench$(EXEEXT) %D%/bench_ephemerons$(EXEEXT)

bench: %D%/bench$(EXEEXT) %D%/bench_ephemerons$(EXEEXT) \
  penumbra$(EXEEXT) fuzz/fuzz_lua54$(EXEEXT)
	%D%/bench$(EXEEXT)
	%D%/bench_ephemerons$(EXEEXT)
if FUZZING
	'$(srcdir)/tests/bench-fuzz' '$(abs_top_builddir)'
endif

EXTRA_DIST += %D%/bench-fuzz %D%/coverage %D%/mutate

# Two figures from two builds, since each is of what the other has not: without
# faults, of the collector by the corpus; with them, which a build in
# coverage-faults/ has, of the oracle by the corpus and the unit tests, of which
# one is the matrix of the faults.
coverage_run = \
	abs_top_builddir="$$PWD" abs_top_srcdir='$(abs_top_srcdir)' \
	PENUMBRA_SANITIZERS='$(enable_sanitizers)' \
	GCOV='$(GCOV)' '$(abs_top_srcdir)/tests/coverage'

coverage: fuzz/fuzz_lua54$(EXEEXT)
	@if test '$(enable_coverage)' = no; then \
	  echo 'make coverage: configure with --enable-coverage first' >&2; \
	  exit 1; \
	fi
	@if test '$(enable_faults)' = no; then \
	  $(coverage_run) src/gc '$(abs_top_srcdir)/corpus/fuzz_lua54' && \
	  $(MKDIR_P) coverage-faults && cd coverage-faults && \
	  { test -f Makefile || '$(abs_top_srcdir)/configure' -q \
	      --enable-coverage CC='$(CC)' CFLAGS='$(CFLAGS)' \
	      GCOV='$(GCOV)'; } && \
	  $(MAKE) coverage; \
	else \
	  $(MAKE) $(check_PROGRAMS) && \
	  $(coverage_run) oracle '$(abs_top_srcdir)/corpus/fuzz_lua54' \
	    $(check_PROGRAMS); \
	fi

clean-local:
	rm -rf coverage coverage-faults coverage.log
	find . '(' -name '*.gcda' -o -name '*.gcno' ')' -type f -exec rm -f {} +

.PHONY: bench coverage

# ---- the tarball ----------------------------------------------------------

# What `make distcheck-short` runs: enough to see that the tarball is whole, and
# that it builds without the sources of real collectors.
SHORT_TESTS = \
	%D%/check-headers \
	%D%/check-layering \
	%D%/check-style \
	%D%/test_op_text \
	%D%/test_ops

distcheck-short:
	$(MAKE) distcheck TESTS='$(SHORT_TESTS)' \
	  DISTCHECK_CONFIGURE_FLAGS=--with-real-lua=no

.PHONY: distcheck-short
