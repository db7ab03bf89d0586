# SPDX-License-Identifier: MIT

bin_PROGRAMS += penumbra
penumbra_SOURCES = \
	%D%/artefact.c \
	%D%/artefact.h \
	%D%/autopsy.c \
	%D%/autopsy.h \
	%D%/child.c \
	%D%/child.h \
	%D%/cli.c \
	%D%/cli.h \
	%D%/cmd_asm.c \
	%D%/cmd_dis.c \
	%D%/cmd_faults.c \
	%D%/cmd_fuzz.c \
	%D%/cmd_gen.c \
	%D%/cmd_laws.c \
	%D%/cmd_ops.c \
	%D%/cmd_run.c \
	%D%/cmd_shrink.c \
	%D%/cmd_subjects.c \
	%D%/cmd_trace.c \
	%D%/cmd_twin.c \
	%D%/fuzzer.c \
	%D%/fuzzer.h \
	%D%/input.c \
	%D%/input.h \
	%D%/list.c \
	%D%/list.h \
	%D%/main.c \
	%D%/output.c \
	%D%/output.h
penumbra_CPPFLAGS = $(AM_CPPFLAGS) \
	-DPKGLIBEXECDIR='"$(pkglibexecdir)"' \
	-DPKGDATADIR='"$(pkgdatadir)"'
penumbra_LDADD = $(PENUMBRA_LIBS) $(JANSSON_LIBS)

dist_man_MANS += %D%/penumbra.1
nodist_man_MANS += %D%/penumbra-ops.7
CLEANFILES += %D%/penumbra-ops.7

%D%/penumbra-ops.7: src/ops/op_tables$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	src/ops/op_tables$(EXEEXT) man >$@.tmp && mv $@.tmp $@

# bash looks for a completion by the command's name.
completiondir = $(datadir)/bash-completion/completions
completion_DATA = %D%/completions/penumbra
EXTRA_DIST += %D%/penumbra.bash
CLEANFILES += $(completion_DATA)

%D%/completions/penumbra: %D%/penumbra.bash
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp '$(srcdir)/src/cli/penumbra.bash' $@
