#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# How the sources of real collectors are got, with a package archive that is
# played by a script: what arrives, what is kept, what is refused, and what is
# said. Would catch a tarball that is used though it is not the one recorded.

bats_require_minimum_version 1.5.0

setup() {
  top=${abs_top_srcdir:-$(cd "$BATS_TEST_DIRNAME/.." && pwd)}
  cd "$BATS_TEST_TMPDIR"
  export XDG_CACHE_HOME=$PWD/cache
  cache=$XDG_CACHE_HOME/penumbra
  mkdir -p bin archive etc/parts tree/src
  cp "$top/src/subjects/real/fetch" .
  fetch=$PWD/fetch
  echo 'int version;' >tree/src/lua.h
  pack 1.2.3
  record one 1.2.3 "$(sum archive/one_1.2.3.orig.tar.gz)"
  echo 'one one * * *' >>sources
  printf 'deb http://mirror.example/debian bookworm main\n' >etc/list
  versions 1.2.3-4
  play
}

sum() {
  sha256sum <"$1" | cut -d ' ' -f 1
}

# pack VERSION: a tarball in the archive.
pack() {
  echo "$1" >tree/version
  tar -czf "archive/one_$1.orig.tar.gz" tree
}

record() {
  echo "$1 one $2 one_$2.orig.tar.gz $3" >>sources
}

# versions VERSION...: what the archive lists.
versions() {
  printf '%s\n' "$@" >archive/versions
}

# The tools of apt. Each download is counted, and ends in failure, as where the
# packaging is gone.
play() {
  cat >bin/apt-config <<END
#!/bin/sh
echo "LIST='$PWD/etc/list'"
echo "PARTS='$PWD/etc/parts'"
END
  cat >bin/apt-get <<END
#!/bin/sh
for word; do
  case \$word in
  Dir::Etc::SourceList=*) list=\${word#*=} ;;
  Dir::State::Lists=*) lists=\${word#*=} ;;
  update) cp "\$list" '$PWD/asked'; test ! -e '$PWD/offline' &&
    : >"\$lists/archive_Sources" ;;
  one=*)
    echo "\$word" >>'$PWD/downloads'
    version=\${word#one=}
    cp '$PWD/archive/one_'"\${version%-*}.orig.tar.gz" .
    ;;
  esac
done
exit 100
END
  cat >bin/apt-cache <<END
#!/bin/sh
while read -r version; do
  printf 'Package: other\nVersion: 9-9\n\nPackage: one\nVersion: %s\n\n' \
    "\$version"
done <'$PWD/archive/versions'
END
  chmod +x bin/*
  PATH=$PWD/bin:$PATH
}

downloads() {
  cat downloads 2>/dev/null | wc -l
}

@test "a recorded tarball arrives once and is kept" {
  run -0 "$fetch"
  [ "$output" = "fetch: getting the sources of one" ]
  [ -f "$cache/one_1.2.3.orig.tar.gz" ]
  run -0 "$fetch"
  [ "$output" = "fetch: all sources are there" ]
  [ "$(downloads)" -eq 1 ]
}

@test "what arrives with another checksum is not kept" {
  pack 1.2.3
  echo more >>archive/one_1.2.3.orig.tar.gz
  sed -i '/\*/d' sources
  run -1 "$fetch"
  [[ $output == *"arrived with another checksum than the recorded one"* ]]
  [[ ${lines[-1]} == "fetch: could not be had: one" ]]
  [ ! -e "$cache/one_1.2.3.orig.tar.gz" ]
}

@test "what has another checksum in the cache is not used, and got again" {
  mkdir -p "$cache"
  echo rubbish >"$cache/one_1.2.3.orig.tar.gz"
  run -1 "$fetch" --unpack one out
  [[ $output == *"has not the recorded checksum"* ]]
  [ ! -e out ]
  run -0 "$fetch"
  [[ $output == *"has not the recorded checksum"* ]]
  run -0 "$fetch" --unpack one out
  [ "$output" = "1.2.3 recorded" ]
}

@test "without a network: one line names what is missing" {
  touch offline
  run -1 "$fetch"
  [ "${#lines[@]}" -eq 2 ]
  [[ ${lines[1]} == "fetch: no source packages of Debian can be reached: "* ]]
  [[ ${lines[1]} == *"missing are one" ]]
  run -1 "$fetch" --unpack one out
  [ -z "$output" ]
}

@test "what was not to be had is not asked for again on the same day" {
  touch offline
  run -1 "$fetch"
  rm asked
  run -1 "$fetch"
  [ "${#lines[@]}" -eq 1 ]
  [[ $output == *"not to be had a short while ago: one" ]]
  [ ! -e asked ]
  run -1 "$fetch" one
  [ -e asked ]
}

@test "without apt-get: one line" {
  mkdir bare
  for tool in sh dirname awk cat mkdir mktemp find rm sort tail cut sha256sum
  do
    ln -s "$(command -v $tool)" bare/$tool
  done
  PATH=$PWD/bare run -1 "$fetch"
  [ "${#lines[@]}" -eq 1 ]
  [[ $output == "fetch: there is no apt-get "*"missing are one" ]]
}

@test "a version that is not recorded is used, with a note" {
  pack 1.3.0
  pack 1.10.0
  versions 1.3.0-1 1.10.0-1
  run -0 "$fetch"
  [[ ${lines[1]} == "fetch: note: one is 1.10.0, which is not recorded"* ]]
  [[ $output == *"$(sum archive/one_1.10.0.orig.tar.gz)"* ]]
  run -0 "$fetch" --unpack one out
  [ "$output" = "1.10.0 unrecorded" ]
  [ "$(cat out/version)" = 1.10.0 ]
}

@test "the recorded version is taken though a newer one is there" {
  pack 1.3.0
  versions 1.3.0-1 1.2.3-1
  run -0 "$fetch"
  run -0 "$fetch" --unpack one out
  [ "$output" = "1.2.3 recorded" ]
}

@test "a subject without a row for the newest has nothing else" {
  sed -i '/\*/d' sources
  pack 1.3.0
  versions 1.3.0-1
  run -1 "$fetch"
  [ "$(downloads)" -eq 0 ]
}

@test "--unpack: the folder keeps its time, until it is of another tarball" {
  run -0 "$fetch"
  run -0 "$fetch" --unpack one out
  [ -f out/src/lua.h ]
  touch -d 2001-01-01 out/version
  run -0 "$fetch" --unpack one out
  [ -n "$(find out/version -not -newermt 2001-01-02)" ]
  pack 1.2.4
  record one 1.2.4 "$(sum archive/one_1.2.4.orig.tar.gz)"
  sed -i '/1\.2\.3\|\*/d' sources
  cp archive/one_1.2.4.orig.tar.gz "$cache/"
  run -0 "$fetch" --unpack one out
  [ "$(cat out/version)" = 1.2.4 ]
}

@test "apt's lists: the archive of either form, its key, nothing else" {
  cat >etc/list <<'END'
# deb http://comment.example/debian bookworm main
deb [arch=amd64 signed-by=/keys/a.gpg] http://one.example/debian bookworm main
deb http://one.example/debian bookworm-updates main
deb http://one.example/security bookworm-security main
deb http://other.example/apt tool-bookworm main
END
  cat >etc/parts/debian.sources <<'END'
Types: deb
# A comment
URIs: http://two.example/debian
Suites: trixie trixie-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 xyz

Types: deb
URIs: http://three.example/debian
Suites: trixie
Components: main
Enabled: no

Types: deb
URIs: http://four.example/
Suites: nodistro
Components: main
END
  run -0 "$fetch"
  none() { ! grep -q "$@" asked; }
  grep -A1 'one.example/debian' asked | grep -q 'Signed-By: /keys/a.gpg'
  grep -A1 'two.example' asked | grep -q '^Signed-By:$'
  grep -q '^ xyz$' asked
  [ "$(grep -c '^URIs:' asked)" -eq 2 ]
  [ "$(grep -c '^Types: deb-src$' asked)" -eq 2 ]
  [ "$(grep -c '^Suites: bookworm trixie sid$' asked)" -eq 2 ]
  none 'security\|updates\|comment\|other\|three\|four'
}

@test "an unknown subject, an unknown option: one line and exit code 2" {
  for words in two --two '--unpack two out' '--unpack one'; do
    run -2 "$fetch" $words
    [ "${#lines[@]}" -eq 1 ]
  done
}
