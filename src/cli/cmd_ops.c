/* SPDX-License-Identifier: MIT
 *
 * penumbra ops: the operation language.
 */
#include "cli/cli.h"
#include "cli/list.h"
#include "ops/ops.h"

static json_t *
to_json(const struct op_info *info)
{
  json_t *operands = json_array();

  for (size_t i = 0; i < 3; i++)
    if (info->operand[i] != OP_OPERAND_NONE)
      json_array_append_new(
          operands, json_string(op_operand_infos[info->operand[i]].name));
  return json_pack("{s:s, s:s, s:o, s:b, s:b, s:b, s:s}", "name", info->name,
                   "group", op_group_names[info->group], "operands", operands,
                   "open", (info->flags & OP_OPEN) != 0, "allocates",
                   (info->flags & OP_ALLOCATES) != 0, "steers",
                   (info->flags & OP_STEERS) != 0, "help", info->help);
}

static void
print(const struct op_info *info)
{
  printf("  %s", info->name);
  for (size_t i = 0; i < 3; i++)
    if (info->operand[i] != OP_OPERAND_NONE)
      printf(" %s", op_operand_infos[info->operand[i]].name);
  putchar('\n');
  list_paragraph(8, info->help);
}

static void
print_operands(void)
{
  puts("operands");
  for (size_t i = OP_OPERAND_NONE + 1; i < OP_OPERAND_COUNT; i++) {
    const struct op_operand_info *info = &op_operand_infos[i];

    printf("  %-8s %s", info->name, info->help);
    for (uint32_t j = 0; info->scale == OP_SCALE_WORD && j < info->count; j++)
      printf("%s %s", j ? "," : ":",
             op_word_text((enum op_operand)i, (int32_t)j));
    putchar('\n');
  }
}

int
cmd_ops(int argc, char **argv)
{
  bool is_json;
  int status = list_parse(
      "ops",
      "List the operations that a stream is made of. In the sentences, a, b "
      "and c are the operands in the order in which they are written.",
      argc, argv, &is_json);

  if (status != CLI_CLEAN)
    return status;
  for (size_t i = 0; status == CLI_CLEAN && i < OP_COUNT; i++)
    if (is_json)
      status = list_json(to_json(&op_infos[i]));
  for (size_t group = 0; !is_json && group < OP_GROUP_COUNT; group++) {
    puts(op_group_names[group]);
    for (size_t i = 0; i < OP_COUNT; i++)
      if (op_infos[i].group == group)
        print(&op_infos[i]);
  }
  if (!is_json)
    print_operands();
  return status;
}
