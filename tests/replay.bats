#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The corpus through the fuzz target itself, whatever it was linked with. An
# input that is clean in the command but not here shows state that leaks from
# one input to the next, or memory misused where only a checker sees it.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  build=${abs_top_builddir:-$top/build}
  target=$build/fuzz/fuzz_lua54
  corpus=$top/corpus/fuzz_lua54
}

# The fuzz target over files and folders, each input once.
replay() {
  if [ "$PENUMBRA_FUZZING" = no ]; then
    "$target" "$@"
  else
    "$target" -runs=0 -timeout=120 "$@"
  fi
}

@test "the corpus is clean in one process, and each input is the same twice" {
  cd "$BATS_TEST_TMPDIR"
  PENUMBRA_TWICE=1 run -0 replay "$corpus"
}

@test "libFuzzer takes the dictionary and the mutator's inputs" {
  [ "$PENUMBRA_FUZZING" != no ] || skip "built without libFuzzer"
  cd "$BATS_TEST_TMPDIR"
  mkdir new
  run -0 "$target" -runs=2000 -seed=1 -max_len=512 \
    -dict="$build/fuzz/fuzz_lua54.dict" new "$corpus"
}

@test "without libFuzzer: a missing input and an option are refused" {
  [ "$PENUMBRA_FUZZING" = no ] || skip "built with libFuzzer"
  run -2 "$target" "$BATS_TEST_TMPDIR/missing"
  [[ $output == *"missing: No such file"* ]]
  run -2 "$target" -runs=1
  [[ $output == *"-runs=1: no options here"* ]]
  run -2 "$target"
  [[ $output == usage:* ]]
}

@test "without libFuzzer: empty and short inputs are clean" {
  [ "$PENUMBRA_FUZZING" = no ] || skip "built with libFuzzer"
  cd "$BATS_TEST_TMPDIR"
  mkdir short
  : >short/0
  printf a >short/1
  printf ab >short/2
  printf abc >short/3
  run -0 "$target" short
  [[ $output == *"Ran 4 inputs"* ]]
}

@test "valgrind sees no fault in a sample of the corpus" {
  [ -n "$VALGRIND" ] || skip "no valgrind"
  [ "$PENUMBRA_SANITIZERS" = no ] || skip "built with sanitizers"
  [ "$PENUMBRA_FUZZING" = no ] || skip "built with libFuzzer"
  cd "$BATS_TEST_TMPDIR"
  sample=()
  for seed in "$corpus"/*; do
    sample+=("$seed")
  done
  step=$((${#sample[@]} / 8 + 1))
  chosen=()
  for ((i = 0; i < ${#sample[@]}; i += step)); do
    chosen+=("${sample[i]}")
  done
  run -0 "$VALGRIND" -q --error-exitcode=9 --leak-check=full "$target" \
    "${chosen[@]}"
}
