# SPDX-License-Identifier: MIT

noinst_LIBRARIES += %D%/libpenumbra_oracle.a
%C%_libpenumbra_oracle_a_SOURCES = \
	%D%/bind.c \
	%D%/bind.h \
	%D%/blocks.c \
	%D%/blocks.h \
	%D%/check.c \
	%D%/check.h \
	%D%/check_ages.c \
	%D%/check_claims.c \
	%D%/check_closing.c \
	%D%/check_colour.c \
	%D%/check_contents.c \
	%D%/check_edges.c \
	%D%/check_emergency.c \
	%D%/check_event.c \
	%D%/check_pacing.c \
	%D%/check_finalizers.c \
	%D%/check_liveness.c \
	%D%/check_weak.c \
	%D%/explain.c \
	%D%/explain.h \
	%D%/law.c \
	%D%/law.h \
	%D%/laws.def \
	%D%/oracle.c \
	%D%/oracle.h \
	%D%/shadow.c \
	%D%/shadow.h \
	%D%/shadow_admit.c \
	%D%/shadow_apply.c \
	%D%/shadow_finalize.c \
	%D%/shadow_flow.c \
	%D%/shadow_internal.h \
	%D%/shadow_make.c \
	%D%/shadow_memory.c \
	%D%/shadow_reach.c \
	%D%/shadow_table.c \
	%D%/shadow_words.c \
	%D%/state.h \
	%D%/survey.c \
	%D%/survey.h \
	%D%/tally.c \
	%D%/tally.def \
	%D%/tally.h \
	%D%/view.c \
	%D%/view.h \
	%D%/words.c
