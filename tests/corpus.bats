#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The corpus as it is kept: each source under corpus/pen/NAME/ is clean, and
# stands in corpus/fuzz_NAME/ as the bytes that it assembles to.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  build=${abs_top_builddir:-$top/build}
  penumbra=${PENUMBRA:-$build/penumbra}
  [ -x "$penumbra" ] || skip "no $penumbra"
}

# complain LINE...: tells and remembers.
complain() {
  echo "$*"
  bad=1
}

@test "each source has its bytes in the corpus, and they are what it says" {
  bad=0
  count=0
  for source in "$top"/corpus/pen/*/*.pen; do
    name=$(basename "$source" .pen)
    subject=$(basename "$(dirname "$source")")
    bytes=$top/corpus/fuzz_$subject/$name
    count=$((count + 1))
    if [ ! -f "$bytes" ]; then
      complain "$source: no $bytes"
    elif ! "$penumbra" asm "$source" -o - | cmp -s - "$bytes"; then
      complain "$bytes: is not what $source assembles to"
    fi
  done
  [ "$count" -gt 0 ]
  [ "$bad" -eq 0 ]
}

@test "each input is written as the assembler writes it" {
  bad=0
  for bytes in "$top"/corpus/fuzz_*/*; do
    "$penumbra" dis "$bytes" >"$BATS_TEST_TMPDIR/text.pen"
    "$penumbra" asm "$BATS_TEST_TMPDIR/text.pen" -o - | cmp -s - "$bytes" ||
      complain "$bytes: comes back changed from dis and asm"
  done
  [ "$bad" -eq 0 ]
}

@test "each source begins by saying what it shows" {
  bad=0
  for source in "$top"/corpus/pen/*/*.pen; do
    read -r mark word rest <"$source"
    [ "$mark" = '#' ] && [ -n "$word" ] ||
      complain "$source: the first line is no comment"
  done
  [ "$bad" -eq 0 ]
}

@test "each input is clean" {
  "$penumbra" run "$top"/corpus/fuzz_* "$top"/corpus/pen
}
