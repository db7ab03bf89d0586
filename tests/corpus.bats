#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The corpus by the command: each input is clean, and each source (as text).
# tests/test_corpus.c compares the two.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  build=${abs_top_builddir:-$top/build}
  penumbra=${PENUMBRA:-$build/penumbra}
  [ -x "$penumbra" ] || skip "no $penumbra"
}

@test "each input is clean" {
  "$penumbra" run "$top"/corpus/fuzz_* "$top"/corpus/pen
}
