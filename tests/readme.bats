#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The README's commands, as printed, one after another in one folder; but for
# the two bootstrap lines, and with fuzzing cut to five seconds. Would catch a
# first page that promises what does not work.
#
# A missing barrier breaks one of three promises, by where the fuzzer sees it
# first: while marking, between minor collections, or just after one. Each says
# that an object refers to what it may not.

bats_require_minimum_version 1.5.0

readme_commands() {
  sed -n 's/^\$ //p' "$abs_top_srcdir/README.md" | grep -v '^\./bootstrap' |
    sed -E 's/^(build\/penumbra fuzz .*) [0-9]+$/\1 5/'
}

@test "the README's commands work as printed" {
  [ "$PENUMBRA_HAS_FAULTS" != no ] || skip 'this build has no seeded faults'
  ln -s "$abs_top_builddir" "$BATS_TEST_TMPDIR/build"
  ln -s "$abs_top_srcdir/corpus" "$BATS_TEST_TMPDIR/corpus"
  cd "$BATS_TEST_TMPDIR"
  [ "$(readme_commands | wc -l)" -ge 5 ]
  while IFS= read -r command; do
    echo "\$ $command"
    run bash -c "$command"
    echo "$output"
    case $command in
    *'fuzz --fault'* | *'run --fault'* | *'trace --fault'*)
      [ "$status" -eq 1 ]
      [[ $output == *'broken: a'*' object'*' refers to a '* ]]
      ;;
    *)
      [ "$status" -eq 0 ]
      ;;
    esac
  done < <(readme_commands)
}

@test "the README names the two commands of set-up" {
  grep -qx '\$ ./bootstrap fuzz 60' "$abs_top_srcdir/README.md"
  grep -qx '\$ ./bootstrap check' "$abs_top_srcdir/README.md"
}

@test "the verdict that the README shows is the one that is printed" {
  [ "$PENUMBRA_HAS_FAULTS" != no ] || skip 'this build has no seeded faults'
  cd "$BATS_TEST_TMPDIR"
  run "$abs_top_builddir/penumbra" run --fault drop-table-barrier \
    "$abs_top_srcdir/corpus/fuzz_lua54/table-store-into-black"
  [ "$status" -eq 1 ]
  shown=0
  while IFS= read -r line; do
    case $line in
    '' | 'Finding 1: '* | '  ...' | '  replay '*) continue ;;
    esac
    shown=$((shown + 1))
    printf '%s\n' "$output" | grep -qFx -- "$line" || {
      echo "not printed: $line"
      false
    }
  done < <(sed -n '/^```text$/,/^```$/p' "$abs_top_srcdir/README.md" |
    grep -v '^```')
  [ "$shown" -ge 20 ]
}
