# SPDX-License-Identifier: MIT
#
# For shell scripts that speak TAP: `check NAME COMMAND...` is one test, whose
# output becomes its diagnosis when it fails; `tap_end` prints the plan.

tap_count=0
tap_failed=0

check() {
  tap_name=$1
  shift
  tap_count=$((tap_count + 1))
  if tap_output=$("$@" 2>&1); then
    echo "ok $tap_count - $tap_name"
  else
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $tap_name"
    printf '%s\n' "$tap_output" | sed 's/^/# /'
  fi
}

skip() {
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $1 # SKIP $2"
}

# files FOLDER-OR-FILE...: the files there, without what a build in the source
# tree makes, in bytewise order. The shell expands no patterns of it.
files() {
  if test -e .git && git rev-parse --git-dir >/dev/null 2>&1; then
    git -c core.quotePath=off ls-files --cached --others --exclude-standard \
      -- "$@" | while IFS= read -r file; do
      test ! -f "$file" || printf '%s\n' "$file"
    done
  else
    find "$@" -type f ! -name '*.log' ! -name '*.trs' ! -name '*.o' \
      ! -name '*.a' ! -path '*/.deps/*'
  fi | LC_ALL=C sort -u
}

tap_end() {
  echo "1..$tap_count"
  test "$tap_failed" -eq 0
  exit
}
