/* SPDX-License-Identifier: MIT
 *
 * The inside of the twin test, shared by twin.c, which runs and compares, and
 * twin_explain.c, which puts a difference into words.
 */
#ifndef PENUMBRA_LAB_TWIN_INTERNAL_H
#define PENUMBRA_LAB_TWIN_INTERNAL_H

#include "lab/twin.h"
#include "oracle/view.h"

enum {
  LEFT_IN = TWIN_DIFFERENCES, /* by no row left out */
  NODE_TEXT_MAX = 400
};

/* What is left of an operation. */
struct twin_step {
  struct shadow_value answer[SUBJECT_ANSWERS_MAX];
  uint64_t firm, loose, live, paint; /* sums over nodes; see sum_up() */
  size_t calls;                      /* of finalizers: the first one's place */
  uint64_t micro_steps;
  uint32_t way;
  uint8_t status;   /* enum subject_status */
  uint8_t phase;    /* enum subject_phase, afterwards */
  uint8_t row;      /* by which it was left out, or LEFT_IN */
  bool is_performed;
  bool is_at_rest;  /* live and paint mean something */
  bool is_settled;  /* so does loose: a full collection, and nothing floats */
  bool is_black;    /* what is given a metatable: before that */
};

/* A node as it was after an operation. */
struct twin_mark {
  uint8_t flags; /* enum oracle_view_flag */
  bool floats;   /* see twin.c ... */
  bool floated; /* ... now, or when the operation began */
};

struct twin_calls {
  uint32_t *nodes; /* owns capacity */
  size_t count, capacity;
};

/* One of the two runs. */
struct twin_side {
  struct lab_guide guide; /* first: the lab knows only this */
  struct lab_observer observer;
  struct twin *twin;
  uint8_t which;
  struct twin_calls calls;
  struct twin_mark *marks; /* owns mark_capacity: by node */
  uint32_t mark_count, mark_capacity;
  bool is_over; /* nothing more is performed */
  bool is_blurred; /* see twin.c */
  /* the operation that runs */
  struct twin_step now;
  uint8_t phase;    /* enum subject_phase, when looked at last */
  uint8_t phase_before;
  bool was_whole, is_stopped_again;
  bool is_mine; /* the stream's own operation is performed, or led instead */
  uint32_t put_in;
  struct shadow_value last[SUBJECT_ANSWERS_MAX]; /* answers of next */
};

/* Both run again to say what differs. */
struct twin_look {
  bool is_on;
  size_t at;     /* operation */
  uint32_t node; /* SHADOW_ROOT: the views are wanted */
  struct oracle_view *views[2]; /* own */
  uint32_t count[2];
  char text[2][NODE_TEXT_MAX]; /* about node */
};

struct twin {
  struct lab *lab;
  const struct twin_pair *pair;
  struct twin_result *result;
  struct stream stream; /* owns: with the stop put in */
  uint8_t *rows;        /* owns: by operation, why it is left out late */
  size_t capacity;      /* of stream and rows */
  size_t stop_at;       /* the operation that was put in */
  struct twin_step *steps;   /* owns: the record, one more than operations */
  struct twin_side side[2];
  struct oracle_view *views; /* owns view_capacity: scratch */
  uint32_t view_capacity;
  struct oracle_firm firm; /* of the run that goes on, after the operation */
  struct twin_look look;
  struct twin_step second;   /* the second side's operation that differs */
  size_t second_calls;  /* behind its last call */
  bool must_rerun;
  bool is_exhausted; /* no memory */
};

/* Whether a row is about the two that run. */
static inline bool
twin_is_between(const struct twin *twin, enum twin_difference row)
{
  return twin_concerns(row, twin->pair->subject[0], twin->pair->subject[1]);
}

/* Colour and age, without whether an old object is touched: that hangs on
 * whether a string that was stored in it was old already, and on whether it has
 * had to grow. Of a coroutine, which is always to be visited again, nothing
 * does. */
static inline uint64_t
twin_paint(const struct oracle_view *view)
{
  bool is_old = view->age == SUBJECT_AGE_OLD ||
                view->age == SUBJECT_AGE_OLD1 ||
                view->age == SUBJECT_AGE_TOUCHED1 ||
                view->age == SUBJECT_AGE_TOUCHED2;
  if (is_old && view->kind != SUBJECT_KIND_THREAD)
    return SUBJECT_AGE_OLD;
  return view->age + (uint64_t)view->colour * SUBJECT_AGE_COUNT;
}

/* Whether a node became unreachable where no collector need have seen it; see
 * twin.c. */
bool twin_floats(const struct twin_side *side, uint32_t node);
void twin_run_side(struct twin *twin, uint8_t which,
                   struct lab_result *ret_result);

/* In a run for it (twin->look): takes down what is asked of the operation that
 * is over. */
void twin_look(struct twin_side *side);
/* Says in the result what differs: twin->second and the aspect are known. Runs
 * both again if that takes it. */
void twin_explain(struct twin *twin, size_t index);

#endif
