/* SPDX-License-Identifier: MIT
 *
 * Writes the manual and the dictionary. All rows come from the lists; what
 * stands here is what the lists do not say: how the machine is built, how
 * bytes and text are read, and a paragraph on each group.
 */
#include "ops/op_manual.h"

#include <string.h>

#include "ops/op_assert.h"
#include "ops/op_text.h"
#include "ops/ops.h"

enum { LINE_WIDTH = 78 };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char manual_date[] = "November 29, 2026";

/* ---- text in mdoc ---------------------------------------------------- */

/* A word that people may copy, as roff wants it: a plain hyphen might become
 * another character. Returns how wide the line became by it. */
static size_t
literal_write(FILE *file, const char *text, size_t length)
{
  size_t width = 0;

  for (size_t i = 0; i < length; i++) {
    switch (text[i]) {
    case '\\':
      width += (size_t)fprintf(file, "\\e");
      break;
    case '-':
      width += (size_t)fprintf(file, "\\-");
      break;
    default:
      putc(text[i], file);
      width++;
      break;
    }
  }
  return width;
}

/* Text as one paragraph of lines that fit, none of which looks like a macro,
 * and each sentence on lines of its own, which lets roff space them. */
static void
text_write(FILE *file, const char *text)
{
  size_t column = 0;

  while (*text != '\0') {
    size_t length = strcspn(text, " ");
    bool is_sentence_over =
        length > 1 && text[length - 1] == '.' && text[length - 2] != '.';

    if (column > 0 && column + 1 + length > LINE_WIDTH) {
      putc('\n', file);
      column = 0;
    } else if (column > 0) {
      putc(' ', file);
      column++;
    }
    if (column == 0 && (*text == '.' || *text == '\''))
      fputs("\\&", file);
    if (*text == '-' || memchr(text, '\\', length) != NULL) {
      column += literal_write(file, text, length);
    } else {
      fwrite(text, 1, length, file);
      column += length;
    }
    text += length + strspn(text + length, " ");
    if (is_sentence_over) {
      putc('\n', file);
      column = 0;
    }
  }
  if (column > 0)
    putc('\n', file);
}

/* ---- prose ----------------------------------------------------------- */

static const char *const intro[] = {
    "drives the subjects of penumbra: it is what a mutator of a Lua-like "
    "machine can do, and what can be told to its collector. A stream is a "
    "sequence of operations. It has a form in bytes, which fuzzers change, and "
    "a form in text, which people read and write.",
    "A stream drives coroutines. Each has a stack of frames; each frame has 16 "
    "registers, the function that it runs, its varargs and its to-be-closed "
    "values. The registers of the running frame are r0 to r15. Everything that "
    "an operation can name is a root or is reachable from one, so nothing that "
    "it touches may have been collected.",
    "An operation that makes no sense in the state it meets is skipped before "
    "the subject sees it, as is one that would pass a limit. The operations "
    "below say when they are skipped; that their operands must be of the types "
    "they speak of goes without saying.",
};

static const char *const bytes_form[] = {
    "An operation is four bytes: opcode, a, b, c. Every string of bytes is a "
    "stream. The opcode is taken modulo the number of operations and each "
    "operand modulo the number of its values; bytes that no operand uses are "
    "ignored; a tail of less than four bytes is dropped. An operand of two "
    "bytes has its low byte in b and its high byte in c, even when it is the "
    "first. In the canonical form each operand is below its number of values, "
    "and unused bytes are 0. Opcodes are only ever added, at the end.",
    "A logarithmic operand holds a code for its value: up to 32 (one byte) or "
    "512 (two bytes) every value has one, then 16 or 256 values in each "
    "octave.",
};

static const char *const text_form[] = {
    "A text has one operation a line: its name and its operands, separated by "
    "blanks. A number sign starts a comment. Empty lines are allowed, and "
    "lines "
    "may end as on any system. Registers are written r0 to r15, numbers in "
    "decimal. A logarithmic operand is written as the value that it means; a "
    "value without a code is refused, with its neighbours named. By custom the "
    "names of files with text end in .pen.",
};

static const char operations[] =
    "In what follows, a, b and c are the operands in their order, and n is "
    "the operand that is no register. \"n registers from b\" wrap round "
    "after r15. \"Raw\" means without metatables. Equal short strings are "
    "one object, and a float with an integral value is, as a key, that "
    "integer. An upvalue that is open is its register. A weight is how "
    "often the generator of random streams draws the operation, beside the "
    "others, before it makes the weights uneven.";

static const char *const group_notes[] = {
    [OP_GROUP_SETUP] = "Says how the stream is to be run. It counts as the "
                       "first operation only.",
    [OP_GROUP_VALUES] = "Write a register.",
    [OP_GROUP_TABLES] = "A key is never nil or NaN.",
    [OP_GROUP_METATABLES] =
        "Tables and userdata have one metatable each, other types one for all "
        "their values.",
    [OP_GROUP_USERDATA] = "Blocks of bytes with values attached.",
    [OP_GROUP_FUNCTIONS] =
        "A Lua closure has upvalues that it shares with others; a C closure "
        "has values of its own.",
    [OP_GROUP_STACK] = "Registers, frames and the way out of them.",
    [OP_GROUP_COROUTINES] =
        "A coroutine is suspended, running, normal (it has resumed another), "
        "finished or failed.",
    [OP_GROUP_ROOTS] = "The globals table and the registry.",
    [OP_GROUP_COLLECTOR] =
        "When a collector works is what hides its mistakes, and so is part of "
        "the stream.",
    [OP_GROUP_LOAD] = "Many objects at once.",
    [OP_GROUP_END] = "A state may be closed at any moment.",
    [OP_GROUP_WEAK] = "Weak tables hold some of what they refer to only as "
                      "long as somebody else does.",
    [OP_GROUP_FINALIZERS] = "Called once for each marking, when the object "
                            "is unreachable.",
};

/* The limits that a row of the list does not show by itself. */
static const struct {
  const char *what;
  int value;
} limits[] = {
    {"operations in a stream", OP_STREAM_MAX},
    {"bytes in a line of text", OP_TEXT_LINE_MAX},
    {"bytes of an interned string", OP_SHORT_STRING_MAX},
    {"bytes of any string", OP_STRING_MAX},
    {"slots of newtable, in each part", OP_TABLE_SLOTS_MAX},
    {"bytes of a userdata", OP_USERDATA_MAX},
    {"constants of a prototype", OP_CONSTANTS_MAX},
    {"varargs of a call", OP_VARARGS_MAX},
    {"frames of a coroutine", OP_FRAMES_MAX},
    {"coroutines that wait for one another", OP_RESUME_DEPTH_MAX},
    {"to-be-closed values of a frame", OP_TBC_MAX},
    {"links of __index or __newindex", OP_META_CHAIN_MAX},
    {"micro-steps of one operation", OP_MICROSTEP_MAX},
    {"the same, small scale", OP_MICROSTEP_SMALL_MAX},
    {"tables of churn and hot, small scale", OP_CHURN_SMALL_MAX},
    {"stack slots of reserve, small scale", OP_RESERVE_SMALL_MAX},
    {"stack slots of reserve, large scale", OP_RESERVE_LARGE_MAX},
    {"objects made by a stream, small scale", OP_NODES_SMALL_MAX},
    {"objects made by a stream, large scale", OP_NODES_LARGE_MAX},
};

/* A stream that shows a barrier at work. Parsed before it is printed, so that
 * it cannot rot. */
static const struct {
  const char *operation;
  const char *comment;
} example[] = {
    {"setup fresh small incremental", "no address is used twice"},
    {"newtable r0 0 0", "a table"},
    {"setglobal 0 r0", "that a root holds"},
    {"runto enter-atomic", "it is black now"},
    {"newtable r1 0 0", "a white table"},
    {"seti r0 1 r1", "the store needs a barrier"},
    {"nil r1", "or this loses the white table"},
    {"finish", "and here it is freed"},
    {"geti r2 r0 1", "while the table still has it"},
};

/* An operation that this file holds as text. */
static struct op
text_to_op(const char *text)
{
  char error[OP_TEXT_ERROR_MAX];
  struct op op;
  enum op_parse_status status = op_parse(text, strlen(text), &op, error);

  PENUMBRA_ASSERT(status == OP_PARSE_OK);
  return op;
}

/* ---- the manual ------------------------------------------------------ */

/* What a list of paragraphs holds; the first one follows a heading or the
 * start of its paragraph, where a paragraph's macro has no place. */
static void
paragraphs_write(FILE *file, const char *const *list, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (i > 0)
      fputs(".Pp\n", file);
    text_write(file, list[i]);
  }
}

static void
intro_write(FILE *file)
{
  fprintf(file,
          ".\\\" SPDX-License-Identifier: MIT\n"
          ".\\\" Written from the lists in src/ops; changes belong there.\n"
          ".Dd %s\n"
          ".Dt PENUMBRA-OPS 7\n"
          ".Os\n"
          ".Sh NAME\n"
          ".Nm penumbra-ops\n"
          ".Nd operation language of penumbra\n"
          ".Sh DESCRIPTION\n"
          "The operation language\n",
          manual_date);
  paragraphs_write(file, intro, COUNT_OF(intro));
  fputs(".Ss Bytes\n", file);
  paragraphs_write(file, bytes_form, COUNT_OF(bytes_form));
  fputs(".Ss Text\n", file);
  paragraphs_write(file, text_form, COUNT_OF(text_form));
}

static void
operand_words_write(FILE *file, enum op_operand operand)
{
  uint32_t count = op_operand_infos[operand].count;

  for (uint32_t i = 0; i < count; i++) {
    const char *word = op_word_text(operand, (int32_t)i);

    fputs(".Cm ", file);
    literal_write(file, word, strlen(word));
    fputs(i + 1 < count ? " ,\n" : "\n", file);
  }
}

static void
operands_write(FILE *file)
{
  fputs(".Sh OPERANDS\n"
        "The types of operands, and the bytes that each takes:\n"
        ".Bl -tag -width policyxx\n",
        file);
  for (int i = 0; i < OP_OPERAND_COUNT; i++) {
    const struct op_operand_info *info = &op_operand_infos[i];

    if (i == OP_OPERAND_NONE)
      continue;
    fprintf(file, ".It Ar %s\n", info->name);
    text_write(file, info->help);
    fprintf(file, ".Pq %s , %u value%s\n",
            info->bytes == 1 ? "one byte" : "two bytes", (unsigned)info->count,
            info->count == 1 ? "" : "s");
    if (info->scale == OP_SCALE_WORD) {
      fputs(".br\n", file);
      operand_words_write(file, i);
    }
  }
  fputs(".El\n", file);
}

static void
flags_write(FILE *file, uint8_t flags)
{
  if (flags & OP_ALLOCATES)
    fputs("; allocates", file);
  if (flags & OP_OPEN)
    fputs("; open", file);
  if (flags & OP_STEERS)
    fputs("; steers", file);
}

static void
operation_write(FILE *file, int code)
{
  const struct op_info *info = &op_infos[code];

  fprintf(file, ".It Ic %s", info->name);
  for (int i = 0; i < 3; i++) {
    if (info->operand[i] != OP_OPERAND_NONE)
      fprintf(file, " Ar %c : Ns Ar %s", 'a' + i,
              op_operand_infos[info->operand[i]].name);
  }
  putc('\n', file);
  text_write(file, info->help);
  fprintf(file, ".br\nopcode %d; weight %u", code, (unsigned)info->weight);
  flags_write(file, info->flags);
  putc('\n', file);
}

static void
group_write(FILE *file, int group)
{
  const char *name = op_group_names[group];

  fprintf(file, ".Ss %c%s\n", name[0] - 'a' + 'A', name + 1);
  text_write(file, group_notes[group]);
  fputs(".Bl -tag -width Ds\n", file);
  for (int i = 0; i < OP_COUNT; i++) {
    if ((int)op_infos[i].group == group)
      operation_write(file, i);
  }
  fputs(".El\n", file);
}

static void
operations_write(FILE *file)
{
  fputs(".Sh OPERATIONS\n", file);
  text_write(file, operations);
  fputs(".Pp\n"
        "Some operations are marked:\n"
        ".Bl -tag -width allocatesx\n"
        ".It allocates\n"
        "It may find no memory.\n"
        "Then the state is the one before it.\n"
        ".It open\n"
        "The language leaves the result open.\n"
        "The subject answers, and the answer is checked.\n"
        ".It steers\n"
        "It moves the collector and not the mutator.\n"
        ".El\n",
        file);
  for (int group = 0; group < OP_GROUP_COUNT; group++)
    group_write(file, group);
}

static void
limits_write(FILE *file)
{
  fputs(".Sh LIMITS\n"
        "An operation that would pass one of these is skipped; a longer\n"
        "stream or line is refused; a longer string is not interned.\n"
        ".Pp\n"
        ".Bl -column \"stack slots of reserve, large scale\" \"1048576\" "
        "-compact\n",
        file);
  for (size_t i = 0; i < COUNT_OF(limits); i++)
    fprintf(file, ".It %s Ta %d\n", limits[i].what, limits[i].value);
  fputs(".El\n", file);
}

static void
example_write(FILE *file)
{
  fputs(".Sh EXAMPLES\n"
        "A stream that breaks a collector whose tables have no barrier:\n"
        ".Bd -literal -offset indent\n",
        file);
  for (size_t i = 0; i < COUNT_OF(example); i++) {
    const char *text = example[i].operation;

    text_to_op(text);
    literal_write(file, text, strlen(text));
    fprintf(file, "%*s# %s\n", 30 - (int)strlen(text), "", example[i].comment);
  }
  fputs(".Ed\n", file);
}

void
op_manual_write(FILE *file)
{
  intro_write(file);
  operands_write(file);
  operations_write(file);
  limits_write(file);
  example_write(file);
  fputs(".Sh SEE ALSO\n"
        ".Xr penumbra 1\n",
        file);
}

/* ---- the dictionary -------------------------------------------------- */

/* Whole operations that a fuzzer would be slow to put together, or that make
 * more of those it has. */
static const char *const dict_operations[] = {
    "newtable r0 0 0",
    "newtable r1 8 8",
    "set r0 r1 r2",
    "seti r0 1 r1",
    "geti r1 r0 1",
    "next r0 r1 r2",
    "setglobal 0 r0",
    "getglobal r0 0",
    "nil r0",
    "nil r1",
    "str r1 0",
    "lstr r1 0 0",
    "setmeta r0 r1",
    "setevent r1 __index r0",
    "setevent r1 __close r2",
    "newud r1 16 2",
    "setuv r1 0 r0",
    "cclosure r1 r0 2",
    "closure r1 r0 2",
    "setupval r1 0 r0",
    "join r1 r2 0",
    "closeup 0",
    "load r1 4 2",
    "call r1 r2 2",
    "pcall r1 r2 2",
    "return r0 1",
    "error r0",
    "tbc r0",
    "conew r2 r1",
    "resume r2 r0 2",
    "yield r0 1",
    "coset r2 r0 r1",
    "coclose r2",
    "running r3",
    "reserve 1000",
    "ref r3 r0",
    "unref r3",
    "microstep 1",
    "microstep 10",
    "step 0",
    "finish",
    "collect",
    "stop",
    "restart",
    "failalloc 0",
    "failalloc 1",
    "heaplimit 16",
    "churn 100",
    "chain r0 100",
    "wide r0 100",
    "close",
};

/* A dictionary name has letters, digits and underscores. */
static bool
is_name_byte(char byte)
{
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

static void
dict_entry_write(FILE *file, const char *name, const uint8_t *bytes,
                 size_t size)
{
  for (; *name != '\0'; name++)
    putc(is_name_byte(*name) ? *name : '_', file);
  fputs("=\"", file);
  for (size_t i = 0; i < size; i++)
    fprintf(file, "\\x%02x", bytes[i]);
  fputs("\"\n", file);
}

static void
dict_text_write(FILE *file, const char *text)
{
  uint8_t bytes[4];

  op_encode(text_to_op(text), bytes);
  dict_entry_write(file, text, bytes, sizeof bytes);
}

void
op_dict_write(FILE *file)
{
  char text[OP_TEXT_OP_MAX];

  fputs("# SPDX-License-Identifier: MIT\n"
        "# Written from the lists in src/ops; changes belong there.\n"
        "#\n"
        "# The opcodes.\n",
        file);
  for (int i = 0; i < OP_COUNT; i++)
    dict_entry_write(file, op_infos[i].name, &(uint8_t){(uint8_t)i}, 1);
  fputs("\n# Whole operations.\n", file);
  for (size_t i = 0; i < COUNT_OF(dict_operations); i++)
    dict_text_write(file, dict_operations[i]);
  for (uint32_t i = 0; i < op_operand_infos[OP_OPERAND_PHASE].count; i++) {
    op_print((struct op){OP_RUNTO, (int32_t)i, 0, 0}, text);
    dict_text_write(file, text);
  }
}
