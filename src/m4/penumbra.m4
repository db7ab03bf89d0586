dnl SPDX-License-Identifier: MIT
dnl
dnl What configure.ac needs more than once.

dnl PENUMBRA_TRY_FLAG(VARIABLE, FLAG)
dnl Appends FLAG to VARIABLE if the compiler takes it in compiling and linking.
dnl -Werror makes an unknown warning flag count as refused (clang only warns).
AC_DEFUN([PENUMBRA_TRY_FLAG], [
AC_MSG_CHECKING([whether $CC takes $2])
penumbra_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS $2 -Werror"
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
  [AC_MSG_RESULT([yes])
   $1="$$1 $2"],
  [AC_MSG_RESULT([no])])
CFLAGS=$penumbra_save_CFLAGS
])

dnl PENUMBRA_NEED_FLAGS(FLAGS, SOURCE, MESSAGE)
dnl Stops with MESSAGE unless SOURCE compiles and links with FLAGS.
AC_DEFUN([PENUMBRA_NEED_FLAGS], [
AC_MSG_CHECKING([whether $CC links with $1])
penumbra_save_CFLAGS=$CFLAGS
penumbra_save_LIBS=$LIBS
CFLAGS="$CFLAGS $1"
LIBS=
AC_LINK_IFELSE([AC_LANG_SOURCE([$2])],
  [AC_MSG_RESULT([yes])],
  [AC_MSG_RESULT([no])
   AC_MSG_ERROR([$3])])
CFLAGS=$penumbra_save_CFLAGS
LIBS=$penumbra_save_LIBS
])
