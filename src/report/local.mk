# SPDX-License-Identifier: MIT

noinst_LIBRARIES += %D%/libpenumbra_report.a
%C%_libpenumbra_report_a_SOURCES = \
	%D%/event.c \
	%D%/history.c \
	%D%/json.h \
	%D%/known.c \
	%D%/known.h \
	%D%/report.h \
	%D%/report_json.c \
	%D%/report_stats.c \
	%D%/report_text.c \
	%D%/summary.c \
	%D%/summary.h \
	%D%/trace.c
