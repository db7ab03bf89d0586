#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Real collectors in a build: what configure says of them, that each one's
# coverage is counted, and that the corpus is clean on the versions that are
# recorded. Would catch a subject that is there by name only.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  build=${abs_top_builddir:-$top/build}
  penumbra=$build/penumbra
}

# need_real: what has none is skipped, and says so.
need_real() {
  [ -n "${PENUMBRA_REAL_RECORDED// /}" ] ||
    skip 'no real collectors in this build (src/subjects/real/fetch)'
}

# A tree that says it is a Lua, and no more.
make_tree() {
  mkdir -p "$BATS_TEST_TMPDIR/$1/src"
  printf '#define LUA_VERSION_NUM 503\n#define LUA_RELEASE "Lua " "5.3" ".9"\n' \
    >"$BATS_TEST_TMPDIR/$1/src/lua.h"
}

configure() {
  cd "$BATS_TEST_TMPDIR"
  "$top/configure" CC="$CC" "$@"
}

# refused MESSAGE ARGUMENT...: configure ends at once with that one line.
refused() {
  message=$1
  shift
  run -1 configure "$@"
  [ "${lines[-1]}" = "configure: error: $message" ]
}

@test "configure refuses what --with-lua and --with-real-lua cannot be" {
  make_tree tree
  make_tree 'a b'
  mkdir "$BATS_TEST_TMPDIR/empty"
  is="--with-lua is NAME=DIR, NAME a C identifier:"
  refused "$is '--with-lua'" --with-lua
  refused "$is '--with-lua=tree'" --with-lua=tree
  refused "$is '=tree'" --with-lua==tree
  refused "$is 'a-b=tree'" --with-lua=a-b=tree
  refused "$is '5a=tree'" --with-lua=5a=tree
  refused '--with-lua=lua54=tree: that name is taken' --with-lua=lua54=tree
  refused '--with-lua=a=empty: no lua.h in that folder or its src/' \
    --with-lua=a=empty
  refused '--with-lua=a=none: no lua.h in that folder or its src/' \
    --with-lua=a=none
  refused '--with-lua=a=a b: a makefile cannot hold that name' \
    '--with-lua=a=a b'
  refused '--with-lua=a=tree/src: a was given before' \
    --with-lua=a=tree --with-lua=a=tree/src
  refused "--with-real-lua is auto or no, not 'some'" --with-real-lua=some
}

@test "configure takes trees by name, and says which are missing" {
  make_tree one
  make_tree two
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
  run -0 configure --with-lua=mine=one --with-lua=puc51=two/src
  [[ $output == *"
                mine: Lua 5.3.9
                puc51: Lua 5.3.9
                missing: puc52 puc53 "*" (see src/subjects/real/fetch)
"* ]]
  cd "$BATS_TEST_TMPDIR"
  [ "$(cat src/subjects/real/list.def)" = "REAL_SUBJECT(mine)
REAL_SUBJECT(puc51)" ]
  grep -q "^src/subjects/real/mine.o:" Makefile
}

@test "--with-real-lua=no leaves them out" {
  run -0 configure --with-real-lua=no
  [[ $output == *"real Lua      none"* ]]
  [ -f "$BATS_TEST_TMPDIR/src/subjects/real/list.def" ]
  [ ! -s "$BATS_TEST_TMPDIR/src/subjects/real/list.def" ]
}

@test "each real collector is a subject, by the release that its tree tells" {
  need_real
  run -0 "$penumbra" subjects
  for name in $PENUMBRA_REAL; do
    grep -Eq "^$name +(PUC Lua 5\.[1-5]\.[0-9]+|LuaJIT 2.*) \(real\)" \
      <<<"$output"
  done
  [ "$(grep -c '(real)$' <<<"$output")" -eq "$(wc -w <<<"$PENUMBRA_REAL")" ]
}

@test "the recorded releases are what they are named for" {
  need_real
  run -0 "$penumbra" subjects
  for name in $PENUMBRA_REAL_RECORDED; do
    case $name in
    ljit) release='LuaJIT 2.1' ;;
    puc544) release='PUC Lua 5.4.4' ;;
    *) release="PUC Lua 5.${name#puc5}" ;;
    esac
    grep -q "^$name  *$release" <<<"$output"
  done
}

# covered NAME FOLDER: how many edges of a target the inputs there reach.
covered() {
  "$build/fuzz/fuzz_$1" --known="$top/corpus/findings" -runs=0 "$2" 2>&1 |
    sed -n 's/.*INITED  *cov: \([0-9]*\).*/\1/p'
}

@test "a fuzz target counts the edges of its own collector" {
  need_real
  [ "$PENUMBRA_FUZZING" = yes ] || skip 'this build has no libFuzzer'
  mkdir "$BATS_TEST_TMPDIR/few" "$BATS_TEST_TMPDIR/more"
  cp "$top/corpus/fuzz_lua54/table-store-into-black" "$BATS_TEST_TMPDIR/few/"
  # Not all: what ends the process ends the count, and some findings do.
  for family in coroutine ephemeron table userdata weak; do
    cp "$top/corpus/fuzz_lua54/$family"-* "$BATS_TEST_TMPDIR/more/"
  done
  for name in $PENUMBRA_REAL_RECORDED; do
    few=$(covered "$name" "$BATS_TEST_TMPDIR/few")
    more=$(covered "$name" "$BATS_TEST_TMPDIR/more")
    echo "$name: $few $more"
    [ "$few" -gt 500 ]
    [ "$more" -gt $((few + 100)) ]
  done
}

# What a release is known to do wrong is in corpus/findings.
@test "the corpus is clean on each recorded release, known findings apart" {
  need_real
  known=
  [ ! -d "$top/corpus/findings" ] || known=--known=$top/corpus/findings
  for name in $PENUMBRA_REAL_RECORDED; do
    run "$penumbra" run -s "$name" $known "$top"/corpus/fuzz_lua54/*
    echo "$name:"
    grep -A12 '^broken' <<<"$output" | head -n 60
    [ "$status" -eq 0 ]
  done
}

@test "the built-in collector and real 5.4 do the same on the corpus" {
  need_real
  [[ " $PENUMBRA_REAL_RECORDED " = *" puc54 "* ]] || skip 'puc54 is not there'
  run "$penumbra" twin -s lua54,puc54 "$top/corpus/fuzz_lua54"
  [[ $output = *' 0 different'* && $output = *', 0 unchecked'* ]]
  # What is broken is a known finding of puc54.
  while read -r input; do
    "$penumbra" run -s puc54 --known="$top/corpus/findings" "$input"
  done < <(printf '%s\n' "$output" | sed -n 's/^broken .*compared  \([^ ]*\).*/\1/p')
}

@test "an old table that one has touched and the other has not" {
  need_real
  [[ " $PENUMBRA_REAL_RECORDED " = *" puc54 "* ]] || skip 'puc54 is not there'
  run -0 "$penumbra" twin -s lua54,puc54 \
    "$top/corpus/fuzz_lua54/metatable-of-touched"
  [[ $output = *'(to operation 6: touched)'* ]]
}

@test "a trace has the phases of a subject that does not tell of them" {
  need_real
  cd "$BATS_TEST_TMPDIR"
  printf 'microstep 1\ncollect\n' >stream.pen
  for name in $PENUMBRA_REAL_RECORDED; do
    run -0 "$penumbra" trace -s "$name" stream.pen
    [[ $output = *'micro-step 1 ends in propagate'* ]]
    [[ $output = *' ends in sweep'* && $output = *' ends in pause'* ]]
  done
}

@test "a fuzz target knows its subject by its own name" {
  need_real
  set -- $PENUMBRA_REAL
  ln -s "$build/fuzz/fuzz_real" "$BATS_TEST_TMPDIR/fuzz_nothing"
  run -3 "$BATS_TEST_TMPDIR/fuzz_nothing" "$top/corpus/pen"
  [[ $output == *"penumbra: nothing: no such subject in this build"* ]]
  : >"$BATS_TEST_TMPDIR/empty"
  run -0 "$build/fuzz/fuzz_$1" "$BATS_TEST_TMPDIR/empty"
}

@test "penumbra fuzz finds a real collector's target and seeds" {
  need_real
  cd "$BATS_TEST_TMPDIR"
  set -- $PENUMBRA_REAL_RECORDED
  run "$penumbra" fuzz -s "$1" --artefacts here 1
  [[ ${lines[0]} == "Fuzzing $1 for 1 seconds, 1 process" ]]
  # The generator needs no seeds, and a build outside of the sources has none.
  [ "$PENUMBRA_FUZZING" = yes ] || return 0
  [[ $output == *"corpus/fuzz_"* ]]
  [[ $output == *"engine     libFuzzer"* ]]
}
