/* SPDX-License-Identifier: MIT
 *
 * The table of differences, and the words of the twin test.
 */
#include "lab/twin.h"

#define DIFFERENCE(NAME, name, between, effect, why) \
  [TWIN_##NAME] = {name, why, TWIN_##effect},
const struct twin_difference_info twin_differences[TWIN_DIFFERENCES] = {
#include "lab/twin.def"
};
#undef DIFFERENCE

const char *
twin_effect_text(enum twin_effect effect)
{
  static const char *const texts[] = {[TWIN_LEFT_OUT] = "left out",
                                      [TWIN_LED] = "led",
                                      [TWIN_UNCOMPARED] = "not compared",
                                      [TWIN_ENDS] = "ends"};
  return texts[effect];
}

const char *
twin_verdict_text(enum twin_verdict verdict)
{
  static const char *const texts[] = {[TWIN_SAME] = "same",
                                      [TWIN_DIFFERENT] = "different",
                                      [TWIN_BROKEN] = "broken",
                                      [TWIN_UNCHECKED] = "unchecked"};
  return texts[verdict];
}

bool
twin_concerns(enum twin_difference row, const struct subject *first,
              const struct subject *second)
{
  const struct subject_traits *a = first->traits, *b = second->traits;
  switch (row) {
#define DIFFERENCE(NAME, name, between, effect, why) \
  case TWIN_##NAME:                                  \
    return between;
#include "lab/twin.def"
#undef DIFFERENCE
  case TWIN_DIFFERENCES:
    break;
  }
  (void)a;
  (void)b;
  return false;
}
