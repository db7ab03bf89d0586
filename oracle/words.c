/* SPDX-License-Identifier: MIT
 *
 * The words by which the contract's enumerations are shown, everywhere: in
 * findings, traces and summaries. Total: what is out of range has a word, too.
 */
#include "oracle/oracle.h"

const char *
oracle_kind_text(uint8_t kind)
{
  static const char *const words[SUBJECT_KIND_COUNT] = {
      [SUBJECT_KIND_STRING_SHORT] = "string",
      [SUBJECT_KIND_STRING_LONG] = "long string",
      [SUBJECT_KIND_TABLE] = "table",
      [SUBJECT_KIND_USERDATA] = "userdata",
      [SUBJECT_KIND_CCLOSURE] = "C closure",
      [SUBJECT_KIND_CLOSURE] = "closure",
      [SUBJECT_KIND_THREAD] = "coroutine",
      [SUBJECT_KIND_PROTOTYPE] = "prototype",
      [SUBJECT_KIND_UPVALUE] = "upvalue",
      [SUBJECT_KIND_CDATA] = "cdata",
      [SUBJECT_KIND_TRACE] = "trace",
      [SUBJECT_KIND_ROOT] = "state",
  };
  return kind < SUBJECT_KIND_COUNT ? words[kind] : "block";
}

const char *
oracle_colour_text(uint8_t colour)
{
  static const char *const words[SUBJECT_COLOUR_COUNT] = {
      [SUBJECT_WHITE_CURRENT] = "white",
      [SUBJECT_WHITE_OTHER] = "dead white",
      [SUBJECT_GREY] = "grey",
      [SUBJECT_BLACK] = "black",
  };
  return colour < SUBJECT_COLOUR_COUNT ? words[colour] : "no colour";
}

const char *
oracle_age_text(uint8_t age)
{
  static const char *const words[SUBJECT_AGE_COUNT] = {
      [SUBJECT_AGE_NEW] = "new",           [SUBJECT_AGE_SURVIVAL] = "survival",
      [SUBJECT_AGE_OLD0] = "old0",         [SUBJECT_AGE_OLD1] = "old1",
      [SUBJECT_AGE_OLD] = "old",           [SUBJECT_AGE_TOUCHED1] = "touched1",
      [SUBJECT_AGE_TOUCHED2] = "touched2",
  };
  return age < SUBJECT_AGE_COUNT ? words[age] : "an unknown age";
}

const char *
oracle_phase_text(uint8_t phase)
{
  if (phase == SUBJECT_PHASE_ATOMIC)
    return "atomic";
  if (phase >= SUBJECT_PHASE_COUNT)
    return "none";
  return op_word_text(OP_OPERAND_PHASE, phase);
}
