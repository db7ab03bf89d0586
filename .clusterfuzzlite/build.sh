#!/bin/bash -eu
# SPDX-License-Identifier: MIT
#
# Builds the fuzz targets with the compiler, flags and engine that the runner
# sets, that of the built-in collector and those of all real ones whose sources
# there are, and puts each beside its options, dictionary and seeds in $OUT.

autoreconf -fi
./configure --enable-fuzzing LIB_FUZZING_ENGINE="$LIB_FUZZING_ENGINE"
# An engine is written in C++, so its compiler has to link.
make -j "$(nproc)" CCLD="$CXX $CXXFLAGS" fuzz-out OUT="$OUT"
