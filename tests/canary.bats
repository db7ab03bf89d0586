#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# That the fuzz targets can fail. The canary has a bug that is always on; the
# seed that shows it must stop the canary and no other target.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  build=${abs_top_builddir:-$top/build}
  corpus=$top/corpus/fuzz_lua54
  seed=$corpus/table-store-into-black
  cd "$BATS_TEST_TMPDIR" # libFuzzer leaves its crash files here
}

# The exit code is the engine's, or a signal's: bats sees 128 and more for it.
@test "the canary fails on the seed of its fault, and says why" {
  [ "$PENUMBRA_HAS_FAULTS" != no ] || skip "built without faults"
  run ! "$build/fuzz/fuzz_canary" "$seed"
  [ "$status" -ne 2 ] && [ "$status" -ne 3 ] # it did run
  [[ $output == *"penumbra: tricolour.black-to-white: "* ]]
  [[ $output == *"operation 4, "* ]]
}

@test "the same seed is clean in the fuzz target proper" {
  run -0 "$build/fuzz/fuzz_lua54" "$seed"
  [[ $output != *"penumbra: "* ]]
}

@test "the canary has that one fault only: a seed of another is clean" {
  [ "$PENUMBRA_HAS_FAULTS" != no ] || skip "built without faults"
  run -0 "$build/fuzz/fuzz_canary" "$corpus/table-new-key-into-black"
}

@test "a build without faults refuses to run the canary" {
  [ "$PENUMBRA_HAS_FAULTS" = no ] || skip "built with faults"
  run -3 "$build/fuzz/fuzz_canary" "$seed"
  [[ $output == *"drop-table-barrier: no such fault in this build"* ]]
}

@test "a target passes what is known, and nothing else" {
  [ "$PENUMBRA_HAS_FAULTS" != no ] || skip "built without faults"
  run ! "$build/fuzz/fuzz_canary" "$seed"
  signature=$(sed -n 's/^penumbra: .*, signature //p' <<<"$output")
  mkdir known
  printf '# subjects: lua54\n# signature: %s\n' "$signature" >known/it.pen
  run -0 "$build/fuzz/fuzz_canary" --known=known "$seed"
  printf '# subjects: lua54\n# signature: %s\n' "${signature%|*}|close" \
    >known/it.pen
  run ! "$build/fuzz/fuzz_canary" --known=known "$seed"
  [ "$status" -ne 2 ] && [ "$status" -ne 3 ]
  run -3 "$build/fuzz/fuzz_canary" --known=nowhere "$seed"
}
