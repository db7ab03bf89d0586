# SPDX-License-Identifier: MIT
#
# The tool that deletes one call at a time: which calls it finds, and what it
# leaves when it deletes one; and that a barrier which real 5.4 lacks is found,
# and one that LuaJIT's compiled code lacks.

bats_require_minimum_version 1.5.0

setup() {
  mutate=$abs_top_srcdir/tests/mutate
  mkdir -p "$BATS_TEST_TMPDIR/tree/src"
  cd "$BATS_TEST_TMPDIR" || return 1
  : >tree/src/lua.h
  cat >tree/src/a.c <<'END'
/* barrier(1) in a comment, and a string: */
static const char *text = "barrier(2)";
#define STORE(a, b) \
  { put(a, b); \
    barrier(a, (b)); }
extern void barrier (int a, int b);
int *barrier(int a);

static void store (int a, int b) {
  put(a, b); barrier(a, g(b, ')'));
  if (a) barrier(a,
                 g(b));
  else barrier(b, a);
  return (a ? barrier(a, b) : (void)0);
}

void barrier (int a, int b) {
  not_a_barrier(a); barriers(b); int barrier = a;
}
END
  printf '#define barrier(a, b) objbarrier(a, b)\n' >tree/src/lgc.h
}

@test "mutate: finds each call, also in macros, and nothing else" {
  run -0 "$mutate" -l tree 'barrier|objbarrier'
  [ "$output" = "$(printf '%s\n' \
    'a.c:5:5	STORE	barrier' 'a.c:10:14	store	barrier' \
    'a.c:11:10	store	barrier' 'a.c:13:8	store	barrier' \
    'a.c:14:15	store	barrier')" ]
  run -0 "$mutate" -l -s a.c:13 tree barrier
  [ "$output" = 'a.c:13:8	store	barrier' ]
  run -0 "$mutate" -l tree 'barr'
  [ -z "$output" ]
}

@test "mutate: deletes one call and keeps the lines" {
  cp -R tree before
  deleted() { "$mutate" -d "a.c:$1" tree barrier | sed -n "$2p"; }
  [ "$(deleted 5 5)" = '    ((void)0); }' ]
  [ "$(deleted 10 10)" = '  put(a, b); ((void)0);' ]
  [ "$(deleted 11 11,13)" = '  if (a) ((void)0)
;
  else barrier(b, a);' ]
  [ "$(deleted 14 14)" = '  return (a ? ((void)0) : (void)0);' ]
  [ "$("$mutate" -d a.c:11 tree barrier | wc -l)" = \
    "$(wc -l <tree/src/a.c)" ]
  diff -r before tree
}

@test "mutate: bad usage" {
  run -2 "$mutate"
  run -2 "$mutate" tree barrier more
  run -2 "$mutate" -n 5 tree barrier
  [[ $output == *'no C identifier'* ]]
  run -2 "$mutate" -b nowhere tree barrier
  [[ $output == *'no folder for -b'* ]]
  run -2 "$mutate" -t x tree barrier
  [[ $output == *'whole numbers'* ]]
  run -2 "$mutate" nowhere barrier
  [[ $output == *'no folder'* ]]
  run -2 "$mutate" -d a.c:2 tree barrier
  [[ $output == *'no such site'* ]]
}

@test "mutate: what real 5.4 breaks without one barrier is found" {
  [ "$PENUMBRA_FUZZING" != no ] || skip "built without libFuzzer"
  real=$abs_top_builddir/src/subjects/real/trees/puc54
  [ -d "$real" ] || skip "there are no sources of 5.4"
  site=$("$mutate" -l "$real" |
    awk '$2 == "lua_setmetatable" { print $1; exit }')
  [ -n "$site" ]
  run -0 "$mutate" -K -t 20 -b "$abs_top_builddir" -n puc54 -s "$site" "$real"
  [ "$(cut -f 1-5 mutate.tsv)" = "$(printf '%s\t%s\t%s\t%s\t%s' "$site" \
    lua_setmetatable luaC_objbarrier caught tricolour.black-to-white)" ]
  run -0 "$mutate" -K -t 20 -b "$abs_top_builddir" -n puc54 -s "$site" "$real"
  [ "$(wc -l <mutate.tsv)" -eq 1 ]
}

@test "mutate: what compiled code breaks without one barrier is found" {
  [ "$PENUMBRA_FUZZING" != no ] || skip "built without libFuzzer"
  real=$abs_top_builddir/src/subjects/real/trees/ljit
  [ -d "$real" ] || skip "there are no sources of LuaJIT"
  calls='asm_tbar|asm_obar'
  for call in asm_tbar asm_obar; do
    site=$("$mutate" -l "$real" "$calls" |
      awk -v call="$call" '$3 == call { print $1; exit }')
    [ -n "$site" ]
    run -0 "$mutate" -K -t 20 -b "$abs_top_builddir" -n ljit -s "$site" \
      "$real" "$calls"
    [ "$(tail -n 1 mutate.tsv | cut -f 1-6)" = \
      "$(printf '%s\t%s\t%s\t%s\t%s\t%s' "$site" asm_ir "$call" caught \
        tricolour.black-to-white hot)" ]
  done
}
