#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What a fuzzing service is given. Would catch a target that it does not get, or
# that ends on its own seeds, so that nothing would ever be fuzzed.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  build=${abs_top_builddir:-$top/build}
  penumbra=$build/penumbra
  pack=$top/fuzz/pack
  corpus=$top/corpus/fuzz_lua54
  command -v zip >/dev/null || skip 'there is no zip'
  cd "$BATS_TEST_TMPDIR"
  mkdir out
}

# The names of the seeds that are packed.
packed() {
  zip -sf "out/fuzz_$1_seed_corpus.zip" | sed -n 's/^  //p' | sort
}

@test "a target lies beside its options, dictionary and seeds" {
  run -0 "$pack" "$build" out lua54
  [ -z "$output" ]
  [ "$(ls out | tr '\n' ' ')" = "fuzz_lua54 fuzz_lua54.dict \
fuzz_lua54.options fuzz_lua54_seed_corpus.zip " ]
  cmp out/fuzz_lua54.options "$top/fuzz/fuzz_lua54.options"
  [ "$(packed lua54)" = "$(LC_ALL=C ls "$corpus" | sort)" ]
  run -0 out/fuzz_lua54 "$corpus/table-store-into-black"
}

@test "a real collector's target has the seeds that it passes" {
  [[ " $PENUMBRA_REAL_RECORDED " == *' puc52 '* ]] || skip 'puc52 is not there'
  run -0 "$pack" "$build" out puc52
  packed puc52 >passed
  ls "$corpus" | sort | comm -23 - passed >others
  [ -s passed ] && [ -s others ]
  # It is the target of that subject by its name alone.
  run -0 out/fuzz_puc52 $(sed "s|^|$corpus/|" passed)
  [[ $output != *'penumbra: '* ]]
  while read -r seed; do
    run ! "$penumbra" run -s puc52 "$corpus/$seed"
  done <others
}

@test "make fuzz-out: all targets of the build" {
  run -0 env -u MAKEFLAGS -u MAKELEVEL make -n -C "$build" fuzz-out OUT=here
  for name in lua54 $PENUMBRA_REAL; do
    [[ $output =~ pack\'\ .\ \'here\'\ [a-z0-9\ ]*$name ]]
  done
}

@test "pack: what is wrong is one line" {
  run -2 "$pack" "$build" nowhere lua54
  [ "$output" = "pack: 'nowhere' is no folder to put targets into" ]
  run -2 "$pack" nowhere out lua54
  [ "$output" = 'pack: nowhere: nothing is built there' ]
  run -1 "$pack" "$build" out canary
  [[ $output == *'pack: the seeds of canary cannot be judged' ]]
  run -1 "$pack" "$build" out nothing
  [ "$output" = "pack: $build/fuzz/fuzz_nothing: there is no such target" ]
  run -2 "$pack" "$build" out
  [[ $output == usage:* ]]
}
