#!/bin/bash -eu
# SPDX-License-Identifier: MIT
#
# Builds the fuzz targets with the compiler, flags and engine that the runner
# sets, and puts each beside its options, dictionary and seeds in $OUT.

autoreconf -fi
./configure --enable-fuzzing LIB_FUZZING_ENGINE="$LIB_FUZZING_ENGINE"
# An engine is written in C++, so its compiler has to link.
make -j "$(nproc)" CCLD="$CXX $CXXFLAGS" fuzz/fuzz_lua54 fuzz/fuzz_lua54.dict

cp fuzz/fuzz_lua54 fuzz/fuzz_lua54.dict fuzz/fuzz_lua54.options "$OUT/"
(cd corpus/fuzz_lua54 && zip -q -r "$OUT/fuzz_lua54_seed_corpus.zip" .)
