/* SPDX-License-Identifier: MIT
 *
 * The words that the lab's enumerations are shown by.
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

const char *
lab_phase_text(enum subject_phase phase)
{
  if (phase == SUBJECT_PHASE_ATOMIC)
    return "atomic";
  return op_word_text(OP_OPERAND_PHASE, (int32_t)phase);
}

const char *
lab_colour_text(enum subject_colour colour)
{
  static const char *const texts[SUBJECT_COLOUR_COUNT] = {
      [SUBJECT_WHITE_CURRENT] = "white",
      [SUBJECT_WHITE_OTHER] = "dead white",
      [SUBJECT_GREY] = "grey",
      [SUBJECT_BLACK] = "black"};
  return texts[colour];
}

const char *
lab_kind_text(enum subject_kind kind)
{
  static const char *const texts[SUBJECT_KIND_COUNT] = {
      [SUBJECT_KIND_STRING_SHORT] = "short string",
      [SUBJECT_KIND_STRING_LONG] = "long string",
      [SUBJECT_KIND_TABLE] = "table",
      [SUBJECT_KIND_USERDATA] = "userdata",
      [SUBJECT_KIND_CCLOSURE] = "C closure",
      [SUBJECT_KIND_CLOSURE] = "Lua closure",
      [SUBJECT_KIND_THREAD] = "coroutine",
      [SUBJECT_KIND_PROTOTYPE] = "prototype",
      [SUBJECT_KIND_UPVALUE] = "upvalue",
      [SUBJECT_KIND_CDATA] = "cdata",
      [SUBJECT_KIND_TRACE] = "trace",
      [SUBJECT_KIND_ROOT] = "root"};
  return texts[kind];
}
