/* SPDX-License-Identifier: MIT
 *
 * The adapter's file that includes LuaJIT's allocator of machine code, and
 * turns its compiler on and off. It is compiled in place of the tree's
 * lj_mcode.c.
 *
 * The code lies in areas of the program itself, not where the system puts them:
 * so it is at the same addresses in each run, and near enough to the VM for
 * short jumps; and a run that was left in the middle leaves nothing behind that
 * the next one cannot find. There is little room, so that it is used up at
 * times, and all code is flushed.
 *
 * Loops are compiled when they have hardly begun, for no processor in
 * particular. Turned off, the compiler makes nothing new: the code that is
 * there runs wherever it is come upon.
 */
#include <sys/mman.h>

#include "subjects/real/perform.h"

enum { AREA_SIZE = 16 << 10, AREAS = 4 };

static void *take_area(size_t size);
static int give_area(void *area);

#define mmap(hint, size, protection, flags, file, offset) \
  ((void)(hint), take_area(size))
#define munmap(area, size) give_area(area)

#include "lj_mcode.c"

/* ---- areas ----------------------------------------------------------- */

static struct {
  unsigned char bytes[AREAS][AREA_SIZE];
} code __attribute__((aligned(4096)));
static bool is_taken[AREAS];

static void *
take_area(size_t size)
{
  static bool is_executable;
  if (!is_executable)
    is_executable = mprotect(&code, sizeof code,
                             PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
  for (int i = 0; is_executable && size == AREA_SIZE && i < AREAS; i++)
    if (!is_taken[i]) {
      is_taken[i] = true;
      return code.bytes[i];
    }
  return MAP_FAILED;
}

static int
give_area(void *area)
{
  for (int i = 0; i < AREAS; i++)
    if (code.bytes[i] == area)
      is_taken[i] = false;
  return 0;
}

/* What was taken is known to the C library as code, too. */
void
real_forget_code(void)
{
  for (int i = 0; i < AREAS; i++) {
#if LJ_UNWIND_JIT
    if (is_taken[i])
      lj_err_deregister_mcode(code.bytes[i], AREA_SIZE,
                              code.bytes[i] + sizeof(MCLink));
#endif
    is_taken[i] = false;
  }
}

/* ---- the compiler ---------------------------------------------------- */

/* Done the first time, since the library that does it is never opened. */
static void
set_up(jit_State *J)
{
#define VALUE(length, name, value) (value),
  static const int32_t usual[JIT_P__MAX] = {JIT_PARAMDEF(VALUE)};
#undef VALUE
  memcpy(J->param, usual, sizeof usual);
  J->param[JIT_P_hotloop] = 2;
  J->param[JIT_P_hotexit] = 2;
  J->param[JIT_P_sizemcode] = AREA_SIZE >> 10;
  J->param[JIT_P_maxmcode] = AREAS * AREA_SIZE >> 10;
}

void
real_switch_compiler(lua_State *L, bool on)
{
  jit_State *J = L2J(L);
  if (on && !J->param[JIT_P_hotloop])
    set_up(J);
  J->flags = JIT_F_OPT_DEFAULT | (on ? JIT_F_ON : 0);
  lj_dispatch_update(G(L));
}
