#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What ./bootstrap says when it cannot do what it is asked. That it can is
# shown by whoever uses it.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$BATS_TEST_DIRNAME/..}
  # A folder with nothing but the tools named, to stand for a bare machine.
  bare=$BATS_TEST_TMPDIR/bare
  mkdir "$bare"
}

# offer TOOL...: puts them on the bare machine.
offer() {
  for tool in "$@"; do
    ln -s "$(command -v "$tool")" "$bare/$tool"
  done
}

# pretend TOOL LINE: puts a script of one line there.
pretend() {
  printf '#!/bin/sh\n%s\n' "$2" >"$bare/$1"
  chmod +x "$bare/$1"
}

one_line() {
  [ "${#lines[@]}" -eq 1 ]
  [[ $output == "bootstrap: "* ]]
}

@test "no subcommand: usage and exit code 2" {
  run -2 "$top/bootstrap"
  [[ $output == usage:* ]]
}

@test "--help: usage and exit code 0" {
  run -0 "$top/bootstrap" --help
  [[ $output == usage:* ]]
}

@test "an unknown subcommand is named in one line" {
  run -2 "$top/bootstrap" fizz
  one_line
  [[ $output == *"'fizz'"* ]]
}

@test "seconds that are no number, zero or too many are refused" {
  for seconds in x 0 -1 1.5 '' 12345678; do
    run -2 "$top/bootstrap" fuzz "$seconds"
    one_line
    [[ $output == *SECONDS* ]]
  done
}

@test "one argument too many is refused" {
  run -2 "$top/bootstrap" fuzz 10 20
  one_line
  run -2 "$top/bootstrap" check now
  one_line
}

@test "without apt-get the missing packages are named" {
  offer sh dirname nproc id cat mktemp rm
  PATH=$bare run -3 "$bare/sh" "$top/bootstrap" check
  one_line
  [[ $output == *clang*"libclang-rt-dev"*autoconf*automake*bats* ]]
}

@test "without root and sudo the command for root is shown" {
  offer sh dirname nproc cat mktemp rm
  pretend id 'echo 1000'
  pretend apt-get 'exit 1'
  PATH=$bare run -3 "$bare/sh" "$top/bootstrap" check
  one_line
  [[ $output == *"as root: apt-get install clang "* ]]
}

@test "apt-get without a network: its words, ours, exit code 3" {
  offer sh dirname nproc cat mktemp rm env sed tail uniq
  pretend id 'echo 0'
  pretend apt-get 'echo "E: Unable to locate package clang" >&2; exit 100'
  PATH=$bare run -3 "$bare/sh" "$top/bootstrap" check
  [ "${#lines[@]}" -eq 3 ]
  [[ ${lines[0]} == "bootstrap: installing with apt-get: clang "* ]]
  [[ ${lines[1]} == "E: Unable to locate package clang" ]]
  [[ ${lines[2]} == "bootstrap: apt-get could not install clang "* ]]
}
