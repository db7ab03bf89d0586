/* SPDX-License-Identifier: MIT
 *
 * The words that verdicts are shown by.
 */
#include "lab/lab.h"

const char *
lab_verdict_text(enum lab_verdict verdict)
{
  static const char *const texts[] = {[LAB_CLEAN] = "clean",
                                      [LAB_BROKEN] = "broken",
                                      [LAB_UNCHECKED] = "unchecked"};
  return texts[verdict];
}
