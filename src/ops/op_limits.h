/* SPDX-License-Identifier: MIT
 *
 * The limits of the operation language. An operation that would pass one is
 * skipped by the shadow before the subject sees it, so that no stream can
 * ask for more than these. Known to everybody; belongs to ops.
 */
#ifndef PENUMBRA_OPS_OP_LIMITS_H
#define PENUMBRA_OPS_OP_LIMITS_H

enum {
  OP_REGISTERS = 16,
  OP_STREAM_MAX = 1 << 20,        /* operations in one stream */
  OP_STRING_MAX = 4096,           /* bytes of one string */
  OP_SHORT_STRING_MAX = 40,       /* bytes of an interned string */
  OP_STRINGS_SMALL_MAX = 1 << 22, /* bytes of all strings of lstr and concat,
                                   * small scale */
  OP_STRINGS_LARGE_MAX = 1 << 28, /* the same, large scale */
  OP_TABLE_SLOTS_MAX = 1024,      /* of newtable, each part */
  OP_USERDATA_MAX = 4096,         /* bytes of one userdata */
  OP_CONSTANTS_MAX = 64,          /* of load */
  OP_VARARGS_MAX = 1000,          /* of callv */
  OP_FRAMES_MAX = 64,             /* of one coroutine */
  OP_RESUME_DEPTH_MAX = 16,       /* coroutines that wait for another */
  OP_TBC_MAX = 4,                 /* to-be-closed values of one frame */
  OP_META_CHAIN_MAX = 16,         /* links of __index and __newindex */
  OP_MICROSTEP_MAX = 1000,        /* micro-steps of one operation */
  OP_MICROSTEP_SMALL_MAX = 200,   /* micro-steps of one operation, small */
  OP_HOT_NAME = 1,                /* hot stores at the short string "s1" */
  OP_MINOR_MAX = 200,             /* minor collections of one operation */
  OP_CHURN_SMALL_MAX = 500,       /* tables of churn and hot, small scale */
  OP_RESERVE_SMALL_MAX = 2000,    /* stack slots, small scale */
  OP_RESERVE_LARGE_MAX = 100000,  /* stack slots, large scale */
  OP_NODES_SMALL_MAX = 4096,      /* objects that a small stream may make */
  OP_NODES_LARGE_MAX = 1 << 22    /* the same, large scale */
};

#endif
