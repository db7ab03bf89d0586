#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The findings that are kept: each breaks the law that its head says, with the
# signature that it says, on the subjects that it names, and is clean on those
# that it says are clean. Subjects that this build does not have are passed
# over. And that a search goes on past what is known.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  penumbra=${abs_top_builddir:-$top/build}/penumbra
  findings=$top/corpus/findings
  cd "$BATS_TEST_TMPDIR" || return 1
}

# The values of a key in a head, a word a line.
head_of() {
  sed -n "s/^# $2: *//p" "$1" | tr -s ', ' '\n\n'
}

has_subject() {
  "$penumbra" subjects --json | grep -q "^{\"name\":\"$1\""
}

# A release that is not the recorded one may have been mended or spoilt.
is_release() {
  releases=$(sed -n "s/^# releases: *//p" "$1" | tr -s ', ' '\n\n')
  [ -z "$releases" ] && return 0
  title=$("$penumbra" subjects --json |
    sed -n "s/^{\"name\":\"$2\",\"title\":\"\([^\"]*\)\".*/\1/p")
  for release in $releases; do
    [[ $title == *"$release"* ]] && return 0
  done
  return 1
}

@test "findings: each head is whole" {
  [ -d "$findings" ] || skip "there are none"
  for file in "$findings"/*.pen; do
    for key in subjects law signature clean mechanism; do
      grep -q "^# $key:" "$file" || { echo "$file: no $key"; false; }
    done
    for law in $(head_of "$file" law); do
      "$penumbra" laws --json | grep -q "^{\"name\":\"$law\"" ||
        { echo "$file: $law is no law"; false; }
    done
    for signature in $(head_of "$file" signature); do
      head_of "$file" law | grep -qxF "${signature%%|*}" ||
        { echo "$file: the signature is of another law"; false; }
    done
  done
}

@test "findings: each breaks its law where it says, and is clean where it says" {
  [ -d "$findings" ] || skip "there are none"
  count=0
  for file in "$findings"/*.pen; do
    for subject in $(head_of "$file" subjects); do
      has_subject "$subject" && is_release "$file" "$subject" || continue
      count=$((count + 1))
      run -1 "$penumbra" run --json -s "$subject" "$file"
      law=$(sed -n 's/.*"law":"\([^"]*\)".*/\1/p' <<<"$output" | head -n 1)
      head_of "$file" law | grep -qxF "$law" ||
        { echo "$file on $subject: $output"; false; }
      run -0 "$penumbra" run --known="$findings" -s "$subject" "$file"
      [[ $output == *'a known finding: '* ]]
    done
    for subject in $(head_of "$file" clean); do
      has_subject "$subject" || continue
      count=$((count + 1))
      run -0 "$penumbra" run --json -s "$subject" "$file"
    done
  done
  [ $count -gt 0 ] || skip "none of their subjects is in this build"
}

# ---- known -------------------------------------------------------------------

# A finding of the built-in collector, by a bug that is planted.
make_known() {
  [ "$PENUMBRA_HAS_FAULTS" != no ] || skip "no faults in this build"
  fault=finalize-skipped
  cp "$top/corpus/pen/lua54/finalizer-called.pen" stream.pen
  signature=$("$penumbra" run --json --fault $fault stream.pen |
    sed -n 's/.*"signature":"\([^"]*\)".*/\1/p')
  [ -n "$signature" ]
  mkdir known
}

@test "known: what is known is counted and is no finding, for its subject" {
  make_known
  printf '# subjects: lua54, other\n# signature: %s\n' "$signature" \
    >known/planted.pen
  run -0 "$penumbra" run --known=known --fault $fault stream.pen stream.pen
  [[ $output == *'a known finding: planted'* ]]
  [[ $output == *'2 runs: 0 clean, 0 broken, 0 unchecked, 2 known'* ]]
  [[ $output == *"known: planted of lua54 2 times ($signature)"* ]]
  run -1 "$penumbra" run --fault $fault stream.pen
  printf '# subjects: lua53, other\n# signature: %s\n' "$signature" \
    >known/planted.pen
  run -1 "$penumbra" run --known=known --fault $fault stream.pen
}

@test "known: a star stands for one part of a signature" {
  make_known
  law=${signature%%|*}
  printf '# signature: %s|*|*|*\n# subjects: lua54\n' "$law" >known/any.pen
  run -0 "$penumbra" run --known=known --fault $fault stream.pen
  printf '# signature: %s|*|*\n# subjects: lua54\n' "$law" >known/any.pen
  run -1 "$penumbra" run --known=known --fault $fault stream.pen
  printf '# signature: other.law|*|*|*\n# subjects: lua54\n' >known/any.pen
  run -1 "$penumbra" run --known=known --fault $fault stream.pen
}

@test "known: fuzzing goes on past it" {
  make_known
  printf '# subjects: lua54\n' >known/most.pen
  "$penumbra" laws --json | sed -n 's/^{"name":"\([^"]*\)".*/\1/p' |
    sed 's/.*/# signature: &|*|*|*/' >>known/most.pen
  run -0 "$penumbra" fuzz --known=known --fault $fault --seed 1 \
    --artefacts=artefacts 4
  [[ $output =~ known\ +[1-9][0-9,]*\ +times\ a\ known\ finding ]]
  [[ $output == *'No finding.'* ]]
}

# A use after free ends the process. The short input comes before most seeds.
@test "known: fuzzing goes on past what ends a process" {
  [[ $PENUMBRA_FUZZING = yes && $PENUMBRA_SANITIZERS != no ]] ||
    skip 'nothing ends a process in this build'
  has_subject puc52 || skip 'puc52 is not in this build'
  mkdir -p artefacts/corpus-puc52
  "$penumbra" asm -o artefacts/corpus-puc52/crash \
    "$findings/dead-string-key.pen"
  run "$penumbra" fuzz -s puc52 --known="$findings" --seed 1 \
    --artefacts=artefacts 30
  [[ $output =~ Known\ findings\ ended\ a\ process\ [1-9] ]]
  [ -z "$(find artefacts -name 'left-out')" ]
}

@test "known: bad usage" {
  printf 'nil r0\n' >stream.pen
  run -2 --separate-stderr "$penumbra" run --known=nowhere stream.pen
  [[ $stderr == *'nowhere: No such file or directory'* ]]
  run -2 --separate-stderr "$penumbra" fuzz --known=nowhere 1
  [[ $stderr == *'nowhere: No such file or directory'* ]]
}
