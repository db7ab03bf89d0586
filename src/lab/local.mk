# SPDX-License-Identifier: MIT

noinst_LIBRARIES += %D%/libpenumbra_lab.a
%C%_libpenumbra_lab_a_SOURCES = \
	%D%/lab.c \
	%D%/lab.h \
	%D%/lab_text.c \
	%D%/shrink.c \
	%D%/shrink.h
