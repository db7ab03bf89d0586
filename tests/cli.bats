#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What the command promises to those who use it in scripts: exit codes, what
# stands on which stream, JSON, one clear line for each mistake, and the same
# bytes for the same input.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  build=${abs_top_builddir:-$top/build}
  penumbra=${PENUMBRA:-$build/penumbra}
  [ -x "$penumbra" ] || skip "no $penumbra"
  cd "$BATS_TEST_TMPDIR"
  # A store into a black table: with the fault, the barrier is missing.
  cat >store.pen <<'END'
newtable r0 0 0
setglobal 0 r0
runto enter-atomic     # the table is black now
newtable r1 0 0
seti r0 1 r1           # a store that a barrier must see
END
  fault=drop-table-array-barrier
}

teardown() {
  [ -z "${started-}" ] || kill -9 "$started" 2>/dev/null || true
}

need_faults() {
  "$penumbra" faults --json | grep -q name || skip "built without faults"
}

# one_error PATTERN: standard error (in $stderr) is one line that begins as
# all errors do and matches.
one_error() {
  [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ]
  [[ $stderr == "penumbra: "* ]]
  [[ $stderr =~ $1 ]]
}

# none COMMAND...: it must fail. (bats does not see a failure behind "!".)
none() {
  if "$@"; then return 1; fi
}

# json_lines PATTERN: each line of the output is an object like that.
json_lines() {
  [ -n "$output" ]
  none grep -Evx "$1" <<<"$output"
  if command -v python3 >/dev/null; then
    printf '%s\n' "$output" |
      python3 -c 'import json, sys; [json.loads(l) for l in sys.stdin]'
  fi
}

string='"([^"\\]|\\.)*"'
maybe_string="($string|null)"
maybe_number='([0-9]+|null)'
run_line="\{\"file\":$string,\"subject\":$string,\"verdict\":\"(clean|broken|\
unchecked)\",\"law\":$maybe_string,\"op_index\":$maybe_number,\"micro_step\":\
$maybe_number,\"ops_run\":[0-9]+,\"micro_steps\":[0-9]+,\"message\":\
$maybe_string,\"signature\":$maybe_string\}"

# ---- help, versions, lists --------------------------------------------------

@test "help: the program and each command tell what they do" {
  run -0 --separate-stderr "$penumbra" --help
  [ -z "$stderr" ]
  for command in run trace fuzz shrink asm dis gen subjects laws ops faults; do
    [[ $output == *"  $command "* ]]
  done
  for command in run trace fuzz shrink asm dis gen subjects laws ops faults; do
    run -0 --separate-stderr "$penumbra" "$command" --help
    [ -z "$stderr" ]
    [[ $output == "Usage: penumbra $command"* ]]
  done
}

@test "version: is told" {
  run -0 "$penumbra" --version
  [[ $output == "penumbra "[0-9]* ]]
  run -0 "$penumbra" run --version
  [[ $output == "penumbra "[0-9]* ]]
}

@test "no command: usage on standard error, 2" {
  run -2 --separate-stderr "$penumbra"
  [ -z "$output" ]
  [[ $stderr == "Usage: penumbra"* ]]
}

@test "unknown command: one line, a guess, 2" {
  run -2 --separate-stderr "$penumbra" rum
  [ -z "$output" ]
  one_error "'rum' is no command .did you mean 'run'"
}

@test "unknown option, missing value, extra argument: one line, 2" {
  for words in "run --frobnicate x" "run --fault" "laws extra" "gen x" \
    "asm" "asm x.pen" "dis" "dis a b" "trace" "trace a b" "run" "gen" \
    "gen --ops many -o x" "gen --ops 1048577 -o x" "gen --seed -1 -o x" \
    "shrink" "shrink a b" "shrink --max-runs 0 x" "shrink -s all x" \
    "fuzz 1 2" "fuzz x" "fuzz -j 0 1" "run --timeout 1s x" "run - -"; do
    run -2 --separate-stderr "$penumbra" $words </dev/null
    [ -z "$output" ]
    one_error .
  done
}

@test "lists: one JSON object a line, each with a name" {
  for list in subjects laws ops faults; do
    run -0 "$penumbra" "$list"
    [ "${#lines[@]}" -ge 1 ]
    run -0 "$penumbra" "$list" --json
    [ "$list" = faults ] && [ -z "$output" ] && continue
    json_lines '\{"name":"[^"]+",.*\}'
  done
}

@test "lists: each fault names a law that is listed" {
  need_faults
  "$penumbra" laws --json | sed 's/^{"name":"\([^"]*\)".*/\1/' >laws
  "$penumbra" faults --json | sed 's/.*"law":"\([^"]*\)".*/\1/' |
    sort -u >expected
  none grep -vxFf laws expected
}

# ---- streams ----------------------------------------------------------------

@test "asm and dis: are inverse to each other" {
  "$penumbra" gen --seed 5 --ops 500 -o a
  "$penumbra" dis a >a.pen
  [ "$(wc -l <a.pen)" -eq 500 ]
  "$penumbra" asm a.pen -o b
  cmp a b
  "$penumbra" dis a.pen | cmp - a.pen
  "$penumbra" dis --text - <a.pen | cmp - a.pen
  "$penumbra" asm - -o - <a.pen | cmp - a
}

@test "gen: the seed decides, and .pen means text" {
  "$penumbra" gen --seed 5 --ops 50 -o a
  "$penumbra" gen --ops 50 --seed 5 -o - | cmp - a
  "$penumbra" gen --seed 6 --ops 50 -o b
  none cmp -s a b
  "$penumbra" gen --seed 5 --ops 50 -o a.pen
  "$penumbra" dis a | cmp - a.pen
  "$penumbra" gen --ops 0 -o empty
  [ ! -s empty ]
}

@test "output: a wrong path is 2, a system that will not is 3, nothing stays" {
  echo nil r0 >a.pen
  run -2 --separate-stderr "$penumbra" asm a.pen -o missing/a
  one_error 'missing/a: cannot write'
  mkdir folder
  run -2 --separate-stderr "$penumbra" asm a.pen -o folder
  one_error 'folder: cannot write'
  run -3 --separate-stderr "$penumbra" asm a.pen -o /dev/full
  one_error '/dev/full: cannot write: No space left'
  run -0 "$penumbra" asm a.pen -o /dev/null
  [ -c /dev/null ]
  [ -z "$(find . -name '.penumbra*')" ]
}

@test "output: a file that exists stays as it is when writing fails" {
  echo precious >out
  printf 'nil r0\nnill r0\n' >bad.pen
  run -2 "$penumbra" asm bad.pen -o out
  [ "$(cat out)" = precious ]
  [ -z "$(find . -name '.penumbra*')" ]
}

@test "output: a link stays a link, and modes stay" {
  echo nil r0 >a.pen
  : >target
  chmod 600 target
  ln -s target link
  "$penumbra" asm a.pen -o link
  [ -L link ]
  [ "$(wc -c <target)" -eq 4 ]
  [ "$(stat -c %a target)" = 600 ]
}

@test "output: a full standard output is 3" {
  for words in laws ops "dis a.pen" "run a.pen" "run --json a.pen" \
    "trace a.pen" "trace --json a.pen" "gen -o -" "laws --json"; do
    echo nil r0 >a.pen
    run -3 --separate-stderr bash -c "'$penumbra' $words >/dev/full"
    one_error 'standard output: (No space left|not all could)'
  done
}

# ---- run --------------------------------------------------------------------

@test "run: clean is 0, and says what was run" {
  run -0 --separate-stderr "$penumbra" run store.pen
  [ -z "$stderr" ]
  [[ $output == "clean "*"5 operations "*"store.pen" ]]
}

@test "run: empty and short inputs are clean" {
  : >e0
  printf a >e1
  printf ab >e2
  printf abc >e3
  run -0 --separate-stderr "$penumbra" run --json e0 e1 e2 e3
  [ -z "$stderr" ]
  json_lines "$run_line"
  [ "$(grep -c '"verdict":"clean"' <<<"$output")" -eq 4 ]
  run -0 "$penumbra" run - </dev/null
  run -0 "$penumbra" trace e1
  run -0 "$penumbra" dis e3
  [ -z "$output" ]
}

@test "run: a finding is 1, is explained, and the command replays it" {
  need_faults
  mkdir 'a folder'
  cp store.pen "a folder/it's.pen"
  run -1 --separate-stderr "$penumbra" run --fault $fault "a folder/it's.pen"
  [ -z "$stderr" ]
  [[ $output == *"tricolour.black-to-white"* ]]
  [[ $output == *"no strong edge leads"* ]]
  [[ $output == *"operation 4 of 5"*"seti r0 1 r1"* ]]
  [[ $output == *"newtable r0 0 0"*"born white"* ]]
  replay=$(sed -n 's/^ *replay *penumbra/"$penumbra"/p' <<<"$output")
  [ -n "$replay" ]
  first=$output
  run -1 eval "$replay"
  [ "$output" = "$first" ]
  trace=$(sed -n 's/^ *trace *penumbra/"$penumbra"/p' <<<"$first")
  run -1 eval "$trace"
  [[ $output == *"tricolour.black-to-white"* ]]
}

@test "run: one explanation for a signature" {
  need_faults
  cp store.pen again.pen
  run -1 "$penumbra" run --fault $fault store.pen again.pen
  [ "$(grep -c '^  promise' <<<"$output")" -eq 1 ]
  [[ $output == *"2 runs: 0 clean, 2 broken, 0 unchecked"* ]]
}

@test "run --json: the keys, and null where there is nothing" {
  need_faults
  run -0 --separate-stderr "$penumbra" run --json store.pen
  json_lines "$run_line"
  [[ $output == *'"law":null,"op_index":null,"micro_step":null'* ]]
  run -1 --separate-stderr "$penumbra" run --json --fault $fault store.pen
  [ -z "$stderr" ]
  json_lines "$run_line"
  [[ $output == *'"verdict":"broken","law":"tricolour.black-to-white"'* ]]
  [[ $output == *'"op_index":4,'* ]]
  [[ $output == *'"signature":"tricolour.black-to-white|'* ]]
}

@test "run: a crash is a verdict, and the others are still run" {
  need_faults
  printf 'outofmem 0\nnewtable r0 0 0\n' >b.pen
  echo nil r0 >a.pen
  echo nil r0 >c.pen
  run -1 --separate-stderr "$penumbra" run --json \
    --fault allocation-unchecked a.pen b.pen c.pen
  json_lines "$run_line"
  [ "${#lines[@]}" -eq 3 ]
  [[ ${lines[0]} == *'"verdict":"clean"'* ]]
  [[ ${lines[1]} == *'"law":"process.crash","op_index":1,'* ]]
  [[ ${lines[2]} == *'"verdict":"clean"'* ]]
  run -1 "$penumbra" run --fault allocation-unchecked b.pen
  [[ $output == *"process.crash"*"newtable r0 0 0"*"bytes refused"* ]]
  run -1 "$penumbra" trace --fault allocation-unchecked b.pen
  [[ $output == *"bytes refused"*"broken: the subject crashed"* ]]
  [ -z "$(find . -name 'core*')" ]
}

@test "run: a limit of time makes a run unchecked, 3" {
  printf 'setup fresh large incremental\n' >slow.pen
  for i in $(seq 400); do echo wide r$((i % 16)) 30720; echo collect; done \
    >>slow.pen
  run -3 --separate-stderr "$penumbra" run --json --timeout 1 slow.pen
  json_lines "$run_line"
  [[ $output == *'"verdict":"unchecked"'*'processor time'* ]]
}

@test "run: inputs come in the order of their names, folders too" {
  mkdir -p d/b
  for name in d/z d/B d/b/y d/a; do : >"$name"; done
  run -0 "$penumbra" run --json d
  names=$(sed 's/.*"file":"\([^"]*\)".*/\1/' <<<"$output" | tr '\n' ' ')
  [ "$names" = "d/B d/a d/b/y d/z " ]
  LC_ALL=en_US.UTF-8 run -0 "$penumbra" run --json d/z d/a
  [[ ${lines[0]} == *d/a* ]]
}

@test "run: standard input, in bytes and as text" {
  run -0 "$penumbra" run --json - < <("$penumbra" gen -o -)
  json_lines "$run_line"
  need_faults
  run -1 "$penumbra" run --text --json --fault $fault - <store.pen
  [[ $output == *'"file":"-"'*'"op_index":4,'* ]]
}

@test "run: --text takes any name for text" {
  need_faults
  cp store.pen store
  run -1 "$penumbra" run --text --fault $fault store
  [[ $output == *"replay "*" --text store"* ]]
}

@test "run -s all: each subject once" {
  count=$("$penumbra" subjects --json | wc -l)
  run -0 "$penumbra" run -s all --json store.pen
  [ "${#lines[@]}" -eq "$count" ]
}

@test "run --stats: what was seen, what was not, what cannot be" {
  run -0 --separate-stderr "$penumbra" run --stats store.pen store.pen
  [ -z "$stderr" ]
  [[ $output == *"2 runs: 2 clean"*"What the runs of lua54 have shown"* ]]
  [[ $output == *"2   incremental, back, taken: black to white"* ]]
  [[ $output == *"never seen   incremental, forward, taken: black to white"* ]]
  [[ $output == *"cannot be "*"a child that is not white needs no"* ]]
  none grep "impossible, seen" <<<"$output"
  need_faults
  run -1 "$penumbra" run --stats --fault $fault store.pen
  [[ $output == *"never seen   incremental, back, taken: black to white"* ]]
}

@test "run --stats --json: the keys, after the verdicts" {
  run -0 --separate-stderr "$penumbra" run --stats --json store.pen
  [[ ${lines[0]} == '{"file":'* ]]
  output=$(sed 1d <<<"$output")
  json_lines "\{\"subject\":\"lua54\",\"group\":$string,\"cell\":$string,\
\"count\":[0-9]+,\"possible\":(true,\"reason\":null|false,\"reason\":$string)\}"
  [[ $output == *'"group":"barriers","cell":"incremental, back, taken: black to white",'\
'"count":1,"possible":true,"reason":null}'* ]]
}

@test "run: of finding, bad input and clean the worst decides" {
  need_faults
  echo nonsense >bad.pen
  echo nil r0 >good.pen
  run -1 --separate-stderr "$penumbra" run --fault $fault bad.pen store.pen
  [[ $stderr == "penumbra: bad.pen:1: "* ]]
  run -2 --separate-stderr "$penumbra" run bad.pen good.pen missing
  [[ $output == *"1 runs: 1 clean"*"2 inputs could not be read"* ]]
}

@test "run: a file name that is no UTF-8 is still JSON" {
  printf '' >"$(printf 'a\377b')" || skip "no such file names here"
  run -0 "$penumbra" run --json .
  json_lines "$run_line"
}

# ---- bad input --------------------------------------------------------------

@test "bad input: a missing file, an empty folder" {
  mkdir empty
  for command in run trace shrink dis "asm -o x"; do
    run -2 --separate-stderr "$penumbra" $command missing.pen
    one_error 'missing.pen: No such file or directory'
  done
  run -2 --separate-stderr "$penumbra" run empty
  one_error 'empty: no files in this folder'
  run -2 --separate-stderr "$penumbra" dis empty
  one_error 'empty: Is a directory'
  run -2 --separate-stderr "$penumbra" run ''
  one_error 'No such file'
  run -2 --separate-stderr "$penumbra" run $'a\nb\033[1mc'
  one_error 'a.x0ab.x1b.1mc: No such file'
}

@test "bad input: an unknown word, a wrong operand, a huge line" {
  printf 'nil r0\nnewtabel r0 0 0\n' >word.pen
  printf '# x\n\nnil r16\n' >operand.pen
  printf 'nil r0\nnil\n' >count.pen
  head -c 10000000 /dev/zero | tr '\0' x >line.pen
  printf 'nil\0r0\n' >nul.pen
  for command in run trace shrink dis "asm -o x"; do
    run -2 --separate-stderr "$penumbra" $command word.pen
    one_error 'word.pen:2: .*newtabel.*newtable'
    run -2 --separate-stderr "$penumbra" $command operand.pen
    one_error 'operand.pen:3: .*r16'
    run -2 --separate-stderr "$penumbra" $command count.pen
    one_error 'count.pen:2: '
    run -2 --separate-stderr "$penumbra" $command line.pen
    one_error 'line.pen:1: line is longer than'
    run -2 --separate-stderr "$penumbra" $command nul.pen
    one_error 'nul.pen:1: '
  done
  [ ! -e x ]
}

@test "bad input: a stream that is too long" {
  head -c $((4 * 1048577)) /dev/zero >long
  run -2 --separate-stderr "$penumbra" run long
  one_error 'long: stream is longer than 1048576 operations'
  run -2 --separate-stderr "$penumbra" dis /dev/zero
  one_error '/dev/zero: stream is longer'
}

@test "bad input: an unknown subject or fault" {
  for command in run trace shrink; do
    run -2 --separate-stderr "$penumbra" $command -s lua45 store.pen
    one_error "'lua45' is no subject .did you mean 'lua54'"
    run -2 --separate-stderr "$penumbra" $command --fault nonsense store.pen
    one_error 'nonsense'
  done
  run -2 --separate-stderr "$penumbra" fuzz -s nonsense 1
  one_error "'nonsense' is no subject"
  run -2 --separate-stderr "$penumbra" fuzz --fault nonsense 1
  one_error nonsense
  [ ! -e penumbra-artefacts ]
}

# ---- trace ------------------------------------------------------------------

@test "trace: operations, events and micro-steps, then the verdict" {
  echo setup fresh small incremental >>store.pen
  run -0 --separate-stderr "$penumbra" trace store.pen
  [ -z "$stderr" ]
  [[ $output == *"    0  newtable r0 0 0"*"table #"*"born white"* ]]
  [[ $output == *"phase pause to propagate"*"micro-step "* ]]
  [[ $output == *"5  setup"*"skipped"* ]]
  [[ $output == *"  close the state"*" dies "*"clean: no law was broken" ]]
  none grep -q $'\033' <<<"$output"
}

@test "trace --json: one object a line, the last one is the verdict" {
  need_faults
  run -1 --separate-stderr "$penumbra" trace --json --fault $fault store.pen
  [ -z "$stderr" ]
  json_lines '\{"type":"[a-z-]+",.*\}'
  [[ ${lines[0]} == '{"type":"stream",'* ]]
  [[ ${lines[-1]} == '{"type":"verdict",'*'"law":"tricolour.black-to-white"'* ]]
  [[ ${lines[-1]} == *'"detail":"table #'*globals* ]]
}

@test "trace -v tells more" {
  brief=$("$penumbra" trace store.pen | wc -l)
  full=$("$penumbra" trace -v store.pen | wc -l)
  [ "$full" -gt "$brief" ]
}

@test "trace: who stops listening gets no false alarm" {
  "$penumbra" gen --seed 3 --ops 2000 -o a
  run bash -c "'$penumbra' trace -v a 2>err | head -n 1"
  [ "$output" = "a: 2000 operations, subject lua54" ]
  [ ! -s err ]
}

# ---- shrink -----------------------------------------------------------------

# 60 operations that have nothing to do with any finding.
padding() {
  for i in $(seq 20); do
    printf 'int r5 -%d\nnewtable r6 %d 0\nseti r6 1 r5\n' $((i * 99)) "$i"
  done
}

# padded.pen breaks its law in its middle, by the fault in store.pen's store.
pad_store() {
  { padding; cat store.pen; padding; } >padded.pen
}

@test "shrink: a padded stream comes down to the four operations that matter" {
  need_faults
  pad_store
  run -0 --separate-stderr "$penumbra" shrink --fault $fault padded.pen
  [ -z "$stderr" ]
  [ "${lines[0]}" = "# tricolour.black-to-white, broken by lua54 with $fault" ]
  [ "${#lines[@]}" -eq 5 ]
  [[ $output == *$'\n'"newtable r0 0 0"$'\n'*"newtable r1 0 0"* ]]
  printf '%s\n' "$output" >short.pen
  run -1 "$penumbra" run --json --fault $fault short.pen
  [[ $output == *'"law":"tricolour.black-to-white"'* ]]
  run -0 "$penumbra" run short.pen
}

@test "shrink: bytes, text, the same bytes for the same input, and no further" {
  need_faults
  pad_store
  run -0 --separate-stderr "$penumbra" shrink --fault $fault padded.pen -o a
  [ -z "$stderr" ]
  [[ $output == "4 of 125 operations, "*" runs: tricolour.black-to-white, a" ]]
  [ "$(wc -c <a)" -eq 16 ]
  "$penumbra" shrink --fault $fault padded.pen -o - | cmp - a
  "$penumbra" asm padded.pen -o padded
  "$penumbra" shrink --fault $fault - -o - <padded | cmp - a
  "$penumbra" shrink --fault $fault a -o - | cmp - a
  "$penumbra" shrink --fault $fault padded -o a.pen
  "$penumbra" asm a.pen -o - | cmp - a
  "$penumbra" shrink --fault $fault --text padded -o text
  cmp text a.pen
  "$penumbra" shrink --fault $fault padded | cmp - a.pen
}

@test "shrink --signature: the same operation breaks it" {
  need_faults
  wanted=$("$penumbra" run --json --fault $fault store.pen |
    sed 's/.*"signature"://')
  "$penumbra" shrink --signature --fault $fault store.pen -o a
  [ "$("$penumbra" run --json --fault $fault a |
    sed 's/.*"signature"://')" = "$wanted" ]
}

@test "shrink: crashes count" {
  need_faults
  { padding; printf 'outofmem 0\nnewtable r0 0 0\n'; padding; } >b.pen
  run -1 "$penumbra" run --json --fault allocation-unchecked b.pen
  [[ $output == *'"law":"process.crash"'* ]]
  run -0 --separate-stderr "$penumbra" shrink --fault allocation-unchecked \
    b.pen -o a.pen
  [ -z "$stderr" ]
  [ "$(grep -vc '^#' a.pen)" -eq 2 ]
  run -1 "$penumbra" run --json --fault allocation-unchecked a.pen
  [[ $output == *'"law":"process.crash"'* ]]
  [ -z "$(find . -name 'core*')" ]
}

@test "shrink --max-runs: what was reached by then is written, and told" {
  need_faults
  pad_store
  run -0 "$penumbra" shrink --max-runs 1 --fault $fault padded.pen -o a.pen
  [[ $output == *" operations, 1 runs (given up): "* ]]
  [ "$(grep -vc '^#' a.pen)" -gt 4 ]
  grep -q '^# perhaps not the shortest' a.pen
  run -1 "$penumbra" run --fault $fault a.pen
}

@test "shrink: a clean input is 2 and one line, and nothing is written" {
  echo precious >out
  run -2 --separate-stderr "$penumbra" shrink store.pen -o out
  [ -z "$output" ]
  one_error 'store.pen: clean: it breaks no law of lua54'
  [ "$(cat out)" = precious ]
  : >empty
  run -2 --separate-stderr "$penumbra" shrink empty
  one_error 'empty: clean'
}

@test "shrink: an output that cannot be written" {
  need_faults
  run -2 --separate-stderr "$penumbra" shrink --fault $fault store.pen \
    -o missing/a
  one_error 'missing/a: cannot write: No such file'
  run -3 --separate-stderr "$penumbra" shrink --fault $fault store.pen \
    -o /dev/full
  [ -z "$output" ]
  one_error '/dev/full: cannot write: No space left'
  run -3 --separate-stderr bash -c \
    "'$penumbra' shrink --fault $fault store.pen >/dev/full"
  one_error 'standard output: (No space left|not all could)'
}

# ---- determinism ------------------------------------------------------------

@test "run --json and trace: the same bytes elsewhere and later" {
  for seed in 1 2 3 4 5 6 7 8; do
    "$penumbra" gen --seed $seed --ops 300 -o "$PWD/s$seed"
  done
  need_faults
  here=$PWD
  large=$(head -c 100000 /dev/zero | tr '\0' x)
  mkdir -p other/place
  for plan in "" "--fault $fault" "--fault remark-threads"; do
    "$penumbra" run --json $plan "$here"/s? >first || true
    (cd other/place && env EXTRA="$large" LC_ALL=C.UTF-8 TZ=Asia/Tokyo \
      "$penumbra" run --json $plan "$here"/s? >../../second) || true
    cmp first second
    for format in "" --json -v; do
      "$penumbra" trace $format $plan "$here/s4" >first || true
      (cd other/place && env EXTRA="$large" LC_ALL=C.UTF-8 \
        "$penumbra" trace $format $plan "$here/s4" >../../second) || true
      cmp first second
    done
  done
}

# ---- fuzz -------------------------------------------------------------------

@test "fuzz: a clean session ends with 0 and says what was checked" {
  run -0 --separate-stderr "$penumbra" fuzz --seed 1 --artefacts found 3
  [[ $output == *"Fuzzing lua54 for 3 seconds"* ]]
  [[ $output == *"seed       1"* ]]
  [[ $output == *executions*"a second"*"checked steps"*"a second"* ]]
  [[ $output =~ tricolour.black-to-white\ +[1-9] ]]
  [[ $output =~ propagate\ +[1-9] ]]
  [[ $output =~ grey\ to\ black\ +[1-9] ]]
  [[ $output == *"No finding."* ]]
  [ -z "$(find found -name 'session-*')" ]
}

@test "fuzz: a finding is 1, is kept, explained, and replays" {
  need_faults
  run -1 --separate-stderr "$penumbra" fuzz --fault white-not-flipped \
    --artefacts "my artefacts" 30
  [[ $output == *"Finding 1: my artefacts/lua54-white-not-flipped-"* ]]
  artefact=$(sed -n 's/^Finding 1: //p' <<<"$output")
  [ -f "$artefact" ]
  replay=$(sed -n 's/^ *replay *penumbra/"$penumbra"/p' <<<"$output")
  run -1 eval "$replay"
  [[ $output == *"broken "*"$artefact"* ]]
  run -0 "$penumbra" run "$artefact"
}

@test "fuzz: a finding that is there already is not overwritten" {
  need_faults
  for i in 1 2; do
    run -1 "$penumbra" fuzz --no-seeds --seed 1 --fault born-other-white 30
  done
  artefact=$(sed -n 's/^Finding 1: //p' <<<"$output")
  echo other bytes >"$artefact"
  run -1 "$penumbra" fuzz --no-seeds --seed 1 --fault born-other-white 30
  [ "$(sed -n 's/^Finding 1: //p' <<<"$output")" = "$artefact-2" ]
  [ "$(cat "$artefact")" = "other bytes" ]
}

@test "fuzz -j: as many processes, one summary" {
  run -0 --separate-stderr "$penumbra" fuzz -j 2 --seed 1 --artefacts found 3
  [[ $output == *"2 processes"* ]]
  [[ $output == *"No finding."* ]]
}

@test "fuzz: Ctrl-C ends it with its summary and 0" {
  "$penumbra" fuzz --seed 1 --artefacts found 300 >out 2>err &
  started=$!
  sleep 3
  kill -INT "$started"
  wait "$started"
  started=
  grep -q "checked steps" out
  grep -q "No finding." out
}

@test "fuzz: its processes die with it" {
  "$penumbra" fuzz --seed 1 --artefacts found 300 >out 2>err &
  started=$!
  sleep 2
  children=$(cat "/proc/$started/task/$started/children") || skip "no /proc"
  [ -n "$children" ]
  kill -9 "$started"
  wait "$started" || true
  started=
  sleep 1
  for child in $children; do
    state=$(grep '^State:' "/proc/$child/status") || continue # it is gone
    [[ $state == *Z* ]]
  done
}

@test "fuzz: a process that is killed makes the session unchecked" {
  "$penumbra" fuzz --seed 1 --artefacts found 300 >out 2>err &
  started=$!
  sleep 3
  children=$(cat "/proc/$started/task/$started/children") || skip "no /proc"
  kill -9 $children
  status=0
  wait "$started" || status=$?
  started=
  [ "$status" -eq 3 ]
  grep -q "^penumbra: a fuzzer ended with signal 9" err
  grep -q "checked steps" out
}

@test "fuzz: an artefact folder that cannot be written to, 3" {
  echo file >file
  for folder in file/below /proc/artefacts file; do
    run -3 --separate-stderr "$penumbra" fuzz --artefacts "$folder" 1
    one_error "$folder: cannot keep artefacts there"
    [ -z "$output" ]
  done
}

# ---- manual -----------------------------------------------------------------

@test "manual: lint-clean, and it tells each long option" {
  manual=$top/src/cli/penumbra.1
  for command in run trace twin fuzz shrink asm dis gen; do
    for option in $("$penumbra" "$command" --help |
      grep -oE -- '--[a-z-]+' | sort -u); do
      case $option in --help | --usage | --version) continue ;; esac
      grep -qF -- "Fl -${option#--}" "$manual" ||
        grep -qF -- "Fl ${option#-}" "$manual" ||
        { echo "$command $option"; false; }
    done
  done
  [ -n "${MANDOC-mandoc}" ] && command -v "${MANDOC-mandoc}" >/dev/null ||
    skip "no mandoc"
  run -0 "${MANDOC-mandoc}" -T lint -W warning "$manual"
}

@test "completion: commands, options and names" {
  source "$top/src/cli/penumbra.bash"
  complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _penumbra 2>/dev/null || true
  }
  complete_words "$penumbra" tr
  [ "${COMPREPLY[*]}" = trace ]
  complete_words "$penumbra" run --fa
  [ "${COMPREPLY[*]}" = --fault ]
  complete_words "$penumbra" run -s lua
  [[ "${COMPREPLY[*]}" == *lua54* ]]
}

@test "bad input: a stream as text under another name is not taken for bytes" {
  printf '# a comment\nnewtable r0 0 0\n' >stream.txt
  run -2 --separate-stderr "$penumbra" run stream.txt
  one_error 'stream.txt: this is a stream as text, not bytes'
  run -0 "$penumbra" run --text stream.txt
  [[ $output == *clean* ]]
}

@test "bad input: trace, fuzz and shrink take one subject" {
  printf 'newtable r0 0 0\n' >stream.pen
  for command in 'trace -s all stream.pen' 'shrink -s all stream.pen' \
    'fuzz -s all 1'; do
    # shellcheck disable=SC2086
    run -2 --separate-stderr "$penumbra" $command
    one_error '--subject all: this command takes one subject'
  done
}

# ---- twin -------------------------------------------------------------------

@test "twin: the same subject twice is the same, and what came is told" {
  printf 'newtable r0 0 0\nfailalloc 3\ncollect\n' >stream.pen
  run -0 "$penumbra" twin -s lua54,lua54 stream.pen stream.pen
  [[ $output == *'2 ops compared  stream.pen'* ]]
  [[ $output == *'2 streams, 4 operations compared: 2 same'* ]]
  [[ $output =~ refusals\ +left\ out\ +2 ]]
  [[ $output == *'each allocates in its own way, so that '* ]]
  run -0 "$penumbra" twin -s lua54,lua54 --json stream.pen
  [[ $output == *'"verdict":"same"'*'"compared":2'* ]]
  run -0 "$penumbra" twin -s lua54,lua54 --random 500 --seed 3
  [[ $output == *' 0 different'* ]]
}

@test "twin: a planted bug is a difference, or a broken law" {
  [ "$PENUMBRA_HAS_FAULTS" != no ] || skip "no faults in this build"
  printf 'newfin r0 nothing 0\nnil r0\nstep 0\nstep 0\n' >stream.pen
  run -1 "$penumbra" twin -s lua54,lua54 --fault finalize-skipped stream.pen
  [[ $output == *'finalizers differ: lua54: called of table'*'lua54: none'* ]]
  run -1 "$penumbra" twin -s lua54,lua54 --fault finalize-skipped --json \
    stream.pen
  [[ $output == *'"verdict":"different","aspect":"finalizers"'* ]]
}

@test "twin: bad usage" {
  printf 'nil r0\n' >stream.pen
  run -2 --separate-stderr "$penumbra" twin stream.pen
  one_error 'twin needs two subjects'
  run -2 --separate-stderr "$penumbra" twin -s lua54 stream.pen
  one_error 'two subjects with a comma between are wanted'
  run -2 --separate-stderr "$penumbra" twin -s lua54,lua54
  one_error 'twin needs an input'
  run -2 --separate-stderr "$penumbra" twin -s lua54,lua54 - - <stream.pen
  one_error 'standard input can be read once'
  run -2 --separate-stderr "$penumbra" twin -s lua54,lua45 stream.pen
  one_error "'lua45' is no subject"
}
