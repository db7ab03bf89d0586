dnl SPDX-License-Identifier: MIT
dnl
dnl Which real collectors are verified. All output goes below
dnl src/subjects/real in the build folder: the trees that were unpacked, the
dnl list of subjects that the registry includes, and the makefile's rules.

dnl PENUMBRA_REAL_OPTIONS
dnl Reads the options; what is wrong with one ends configure, at once. Sets
dnl with_real_lua, real_given_names, and real_trees (lines: NAME FOLDER).
AC_DEFUN([PENUMBRA_REAL_OPTIONS], [
AC_ARG_WITH([real-lua],
  [AS_HELP_STRING([--with-real-lua@<:@=auto|no@:>@],
    [verify real PUC Lua and LuaJIT: those whose sources
     src/subjects/real/fetch has got (default: auto)])],
  [], [with_real_lua=auto])
AC_ARG_WITH([lua],
  [AS_HELP_STRING([--with-lua=NAME=DIR],
    [verify the Lua or LuaJIT tree in DIR as subject NAME; may be given more
     than once])],
  [], [with_lua=])
AS_CASE([$with_real_lua],
  [yes], [with_real_lua=auto],
  [auto|no], [],
  [AC_MSG_ERROR([--with-real-lua is auto or no, not '$with_real_lua'])])

dnl The option can be repeated, so autoconf's variable has only the last one.
real_given=`eval "set x $ac_configure_args" && shift
  for argument; do
    case $argument in
    --with-lua=*=*) printf '%s\n' "$argument" | sed 's/^--with-lua=//' ;;
    --with-lua | --with-lua=*) printf '%s\n' "$argument" ;;
    esac
  done`
real_trees= real_given_names=
real_save_IFS=$IFS
IFS='
'
for real_one in $real_given; do
  IFS=$real_save_IFS
  real_name=`AS_ECHO(["$real_one"]) | sed 's/=.*//'`
  real_tree=`AS_ECHO(["$real_one"]) | sed 's/^[[^=]]*=//'`
  AS_CASE([$real_name],
    [--with-lua*|''|[[0-9]]*|*[[!A-Za-z0-9_]]*],
      [AC_MSG_ERROR([--with-lua is NAME=DIR, NAME a C identifier: '$real_one'])],
    [lua5[[0-5]]|luajit|canary|real],
      [AC_MSG_ERROR([--with-lua=$real_one: that name is taken])])
  AS_CASE([" $real_given_names "], [*" $real_name "*],
    [AC_MSG_ERROR([--with-lua=$real_one: $real_name was given before])])
  AS_CASE([$real_tree],
    [/*], [],
    [real_tree=`pwd`/$real_tree])
  AS_CASE([$real_tree], [*[[!A-Za-z0-9_./+~,:@-]]*],
    [AC_MSG_ERROR([--with-lua=$real_one: a makefile cannot hold that name])])
  AS_IF([test -f "$real_tree/lua.h" || test -f "$real_tree/src/lua.h"], [],
    [AC_MSG_ERROR([--with-lua=$real_one: no lua.h in that folder or its src/])])
  real_given_names="$real_given_names $real_name"
  real_trees="$real_trees$real_name $real_tree
"
done
IFS=$real_save_IFS
])

dnl PENUMBRA_REAL
dnl Sets real_summary; defines the conditional REAL; substitutes real_list and
dnl real_recorded (subjects: all, and those that must pass the tests),
dnl real_objects and real_targets (files) and the rules that make them.
AC_DEFUN([PENUMBRA_REAL], [
real_folder=src/subjects/real
real_sources=$srcdir/$real_folder
real_list= real_missing= real_recorded=
AS_MKDIR_P([$real_folder])

AC_CHECK_TOOL([LD], [ld])
AC_CHECK_TOOL([OBJCOPY], [objcopy])
real_tools=yes
AS_IF([test -z "$LD" || test -z "$OBJCOPY"], [real_tools=no])
dnl Lua's arithmetic, and LuaJIT's loading of libraries.
AC_SEARCH_LIBS([pow], [m])
AC_SEARCH_LIBS([dlopen], [dl])

dnl A person's own trees come first: they may take a known name.
PENUMBRA_REAL_GIVEN
AS_IF([test "x$with_real_lua" = xauto],
  [PENUMBRA_REAL_FETCHED])
PENUMBRA_REAL_RULES
])

dnl Takes the trees of --with-lua.
AC_DEFUN([PENUMBRA_REAL_GIVEN], [
for real_name in $real_given_names; do
  real_tree=`AS_ECHO(["$real_trees"]) | sed -n "s/^$real_name //p"`
  AS_IF([test "$real_tools" = no],
    [AC_MSG_ERROR([--with-lua needs ld and objcopy])])
  AC_MSG_CHECKING([what Lua is in $real_tree])
  real_is_tree=yes
  real_about=`CC=$CC $SHELL $real_sources/build --about "$real_tree" 2>&1` ||
    real_is_tree=no
  AS_IF([test $real_is_tree = no],
    [AC_MSG_RESULT([none])
     AC_MSG_ERROR([--with-lua=$real_name=$real_tree: $real_about])])
  real_about=`AS_ECHO(["$real_about"]) | sed 1q`
  AC_MSG_RESULT([$real_about])
  PENUMBRA_REAL_TAKE([$real_about])
done
])

dnl PENUMBRA_REAL_TAKE(ABOUT)
AC_DEFUN([PENUMBRA_REAL_TAKE], [
real_list="$real_list $real_name"
real_summary="$real_summary
                $real_name: $1"
])

dnl Takes what fetch has got. Of versions that are not recorded only those that
dnl build; no other failure is ours.
AC_DEFUN([PENUMBRA_REAL_FETCHED], [
for real_name in `$SHELL $real_sources/fetch --subjects`; do
  AS_CASE([" $real_list "], [*" $real_name "*], [continue])
  real_tree=`pwd`/$real_folder/trees/$real_name
  real_trees="$real_trees$real_name $real_tree
"
  AC_MSG_CHECKING([for the sources of $real_name])
  AS_IF([test "$real_tools" = no],
    [real_about=
     AC_MSG_RESULT([no use without ld and objcopy])],
    [AS_MKDIR_P([$real_folder/trees])
     real_about=`$SHELL $real_sources/fetch --unpack $real_name "$real_tree"` ||
       real_about=
     AC_MSG_RESULT([${real_about:-no}])])
  real_version=`AS_ECHO(["$real_about"]) | sed 's/ .*//'`
  AS_CASE([$real_about],
    [''], [real_missing="$real_missing $real_name"],
    [*' unrecorded'],
      [AC_MSG_CHECKING([whether that version, which is not recorded, builds])
       AS_IF([CC=$CC LD=$LD OBJCOPY=$OBJCOPY CPPFLAGS=-D_GNU_SOURCE \
              CFLAGS="$BASE_CFLAGS -O0" $SHELL $real_sources/build \
              "$real_tree" $real_name $real_folder/probe.o \
              >&AS_MESSAGE_LOG_FD 2>&1],
         [AC_MSG_RESULT([yes])
          PENUMBRA_REAL_TAKE([$real_version, which is not recorded])],
         [AC_MSG_RESULT([no])
          real_missing="$real_missing $real_name"])
       rm -rf $real_folder/probe.o $real_folder/probe.o.parts],
    [real_recorded="$real_recorded $real_name"
     PENUMBRA_REAL_TAKE([$real_version])])
done
])

dnl Writes the list, which keeps its time when it is the same, and the rules.
m4_pattern_allow([^AM_V_GEN$])
AC_DEFUN([PENUMBRA_REAL_RULES], [
real_objects= real_targets=
real_rules=$real_folder/rules.mk
: >$real_rules
: >$real_folder/list.tmp
for real_name in $real_list; do
  AS_ECHO(["REAL_SUBJECT($real_name)"]) >>$real_folder/list.tmp
  real_objects="$real_objects $real_folder/$real_name.o"
  real_targets="$real_targets fuzz/fuzz_$real_name\$(EXEEXT)"
  real_tree=`AS_ECHO(["$real_trees"]) | sed -n "s/^$real_name //p"`
  cat >>$real_rules <<END
$real_folder/$real_name.o: real-always
	@\$(real_build) '$real_tree' $real_name \$[]@

fuzz/fuzz_$real_name\$(EXEEXT): fuzz/fuzz_real\$(EXEEXT)
	\$(AM_V_GEN)rm -f \$[]@ && ln fuzz/fuzz_real\$(EXEEXT) \$[]@

END
done
AS_IF([cmp -s $real_folder/list.tmp $real_folder/list.def],
  [rm -f $real_folder/list.tmp],
  [mv -f $real_folder/list.tmp $real_folder/list.def])
AS_IF([test -n "$real_missing"],
  [real_summary="$real_summary
                missing:$real_missing (see src/subjects/real/fetch)"])
AS_IF([test -z "$real_summary"], [real_summary=" none"])
AC_SUBST([real_list])
AC_SUBST([real_recorded])
AC_SUBST([real_objects])
AC_SUBST([real_targets])
AC_SUBST_FILE([real_rules])
AM_CONDITIONAL([REAL], [test -n "$real_list"])
])
