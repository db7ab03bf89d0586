/* SPDX-License-Identifier: MIT
 *
 * See explain.h. Made once for each finding, so clarity goes before speed;
 * only the search for a path is careful to be linear, for heaps are large.
 */
#include "oracle/explain.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/state.h"

enum {
  SHADOW_TEXT_MAX = 240,
  STEPS_SHOWN = 6 /* of a long path, at its beginning and at its end */
};

/* ---- words ----------------------------------------------------------- */

static const char *
list_text(uint8_t list)
{
  static const char *const words[SUBJECT_LIST_COUNT] = {
      [SUBJECT_LIST_NONE] = "in no list",
      [SUBJECT_LIST_ALL] = "in the list of all objects",
      [SUBJECT_LIST_FINALIZABLE] = "in the list of finalizable objects",
      [SUBJECT_LIST_PENDING] = "in the list of pending objects",
      [SUBJECT_LIST_FIXED] = "in the list of fixed objects",
      [SUBJECT_LIST_STRINGS] = "in the string table",
  };
  return list < SUBJECT_LIST_COUNT ? words[list] : "in no list";
}

static const char *
grey_text(uint8_t grey)
{
  static const char *const words[SUBJECT_GREY_COUNT] = {
      [SUBJECT_GREY_NONE] = "",
      [SUBJECT_GREY_NOW] = ", on the grey list",
      [SUBJECT_GREY_AGAIN] = ", on the list to visit again",
      [SUBJECT_GREY_WEAK] = ", on the list of weak tables",
      [SUBJECT_GREY_EPHEMERON] = ", on the list of ephemeron tables",
      [SUBJECT_GREY_ALLWEAK] = ", on the list of all-weak tables",
  };
  return grey < SUBJECT_GREY_COUNT ? words[grey] : "";
}

static const char *
basic_text(uint64_t type)
{
  return type <= OP_BASIC_LIGHTUD
             ? op_word_text(OP_OPERAND_BASIC, (int32_t)type)
             : "an unknown type";
}

/* ---- text ------------------------------------------------------------ */

/* Appends to a text of size bytes; what does not fit is left out. */
static void
append_list(char *text, size_t size, const char *format, va_list arguments)
{
  size_t length = strlen(text);
  vsnprintf(text + length, size - length, format, arguments);
}

static void append(char *text, size_t size, const char *format, ...)
    EXPLAIN_PRINTF(3, 4);

static void
append(char *text, size_t size, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  append_list(text, size, format, arguments);
  va_end(arguments);
}

void
explain_say(struct oracle *oracle, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  append_list(oracle->finding.message, sizeof oracle->finding.message, format,
              arguments);
  va_end(arguments);
}

/* ---- values ---------------------------------------------------------- */

/* "table #12"; strings with their bytes where the shadow knows them. */
static void
append_object(char *text, size_t size, const struct oracle *oracle,
              uint64_t base)
{
  char bytes[SHADOW_TEXT_MAX];
  uint8_t kind;
  uint32_t number = blocks_name(&oracle->blocks, base, &kind);
  const struct block_view *view =
      &oracle->blocks.views[blocks_find(&oracle->blocks, base)];
  if (!number) {
    append(text, size, "%s", "memory that was never a block");
    return;
  }
  append(text, size, "%s #%" PRIu32, oracle_kind_text(kind), number);
  if (view->tag != SHADOW_STRING)
    return;
  shadow_print(oracle->shadow, (struct shadow_value){view->bits, SHADOW_STRING},
               bytes, sizeof bytes);
  append(text, size, " (%s)", bytes);
}

static void
append_value(char *text, size_t size, const struct oracle *oracle,
             struct subject_value value)
{
  char scalar[SHADOW_TEXT_MAX];
  switch ((enum subject_tag)value.tag) {
  case SUBJECT_OBJECT:
    append_object(text, size, oracle, value.bits);
    break;
  case SUBJECT_OTHER:
    append(text, size, "a value that no operation makes");
    break;
  default:
    shadow_print(oracle->shadow, (struct shadow_value){value.bits, value.tag},
                 scalar, sizeof scalar);
    append(text, size, "%s", scalar);
    break;
  }
}

static void
append_shadow(char *text, size_t size, const struct oracle *oracle,
              struct shadow_value value)
{
  char scalar[SHADOW_TEXT_MAX];
  if (value.tag == SHADOW_NODE) {
    uint32_t block = bind_block(&oracle->binding, (uint32_t)value.bits);
    if (block)
      append_object(text, size, oracle, oracle->blocks.records[block].base);
    else if (value.bits == SHADOW_ROOT)
      append(text, size, "the state");
    else
      append(text, size, "a %s (shadow node %" PRIu64 ")",
             oracle_kind_text(
                 (uint8_t)shadow_kind(oracle->shadow, (uint32_t)value.bits)),
             value.bits);
    return;
  }
  shadow_print(oracle->shadow, value, scalar, sizeof scalar);
  append(text, size, "%s", scalar);
}

/* ---- findings -------------------------------------------------------- */

bool
explain_begin(struct oracle *oracle, enum law law)
{
  struct oracle_finding *finding = &oracle->finding;
  if (oracle_is_over(oracle) || !oracle->able[law])
    return false;
  *finding = (struct oracle_finding){.law = law, .phase = oracle->phase};
  return true;
}

/* The last survey's object with this base; by search, since the block may have
 * been freed or reused since. */
static const struct survey_object *
find_surveyed(const struct oracle *oracle, uint64_t base)
{
  const struct survey *survey = &oracle->survey;
  for (uint32_t i = 0; i < survey->object_count; i++)
    if (survey->objects[i].base == base)
      return &survey->objects[i];
  return NULL;
}

static struct oracle_object *
add_object(struct oracle *oracle, uint64_t base)
{
  struct oracle_finding *finding = &oracle->finding;
  for (uint32_t i = 0; i < finding->object_count; i++)
    if (finding->objects[i].base == base)
      return NULL;
  if (finding->object_count == ORACLE_OBJECTS_MAX)
    return NULL;
  struct oracle_object *object = &finding->objects[finding->object_count++];
  uint32_t block = blocks_find(&oracle->blocks, base);
  const struct block_view *view = &oracle->blocks.views[block];
  *object = (struct oracle_object){.base = base, .live = block != 0};
  object->number = blocks_name(&oracle->blocks, base, &object->kind);
  if (view->tag == SHADOW_NODE)
    object->node = view->bits;
  const struct survey_object *surveyed = find_surveyed(oracle, base);
  if (surveyed && surveyed->number == object->number) {
    object->colour = surveyed->colour;
    object->age = surveyed->age;
  }
  return object;
}

void
explain_object(struct oracle *oracle, uint64_t base)
{
  add_object(oracle, base);
  append_object(oracle->finding.message, sizeof oracle->finding.message, oracle,
                base);
}

void
explain_dead(struct oracle *oracle, const struct oracle_death *death)
{
  struct oracle_object *object = add_object(oracle, death->base);
  if (object) {
    object->number = death->number;
    object->kind = death->kind;
    if (death->node != BIND_NO_NODE)
      object->node = death->node;
    object->live = false;
  }
  explain_say(oracle, "%s #%" PRIu32, oracle_kind_text(death->kind),
              death->number);
}

void
explain_surveyed(struct oracle *oracle, uint32_t index)
{
  const struct survey_object *object = &oracle->survey.objects[index];
  if (!object->base) {
    struct oracle_object *root = add_object(oracle, 0);
    if (root)
      root->kind = SUBJECT_KIND_ROOT;
    explain_say(oracle, "the state");
    return;
  }
  explain_object(oracle, object->base);
}

void
explain_value(struct oracle *oracle, struct subject_value value)
{
  if (value.tag == SUBJECT_OBJECT)
    explain_object(oracle, value.bits);
  else
    append_value(oracle->finding.message, sizeof oracle->finding.message,
                 oracle, value);
}

void
explain_shadow_value(struct oracle *oracle, struct shadow_value value)
{
  uint32_t block = 0;
  if (value.tag == SHADOW_NODE)
    block = bind_block(&oracle->binding, (uint32_t)value.bits);
  if (block)
    add_object(oracle, oracle->blocks.records[block].base);
  append_shadow(oracle->finding.message, sizeof oracle->finding.message, oracle,
                value);
}

void
explain_node(struct oracle *oracle, uint32_t node)
{
  explain_shadow_value(oracle, (struct shadow_value){node, SHADOW_NODE});
}

void
explain_path(struct oracle *oracle, const char *word, uint32_t node)
{
  char path[160];
  if (shadow_path(oracle->shadow, node, path, sizeof path))
    explain_say(oracle, "%s at %s", word, path);
}

/* ---- places ---------------------------------------------------------- */

/* The place of an edge within its holder; the key is in words already. False
 * if the words name the holder too. */
static bool
append_place(char *text, size_t size, uint8_t label, uint64_t bits,
             const char *key)
{
  unsigned long long number = bits;
  unsigned long long frame = bits >> 16;
  unsigned long long slot = bits & 0xffff;
  switch ((enum subject_label)label) {
  case SUBJECT_LABEL_ENTRY:
    append(text, size, "entry [%s]", key);
    return true;
  case SUBJECT_LABEL_METATABLE:
    append(text, size, "the metatable");
    return true;
  case SUBJECT_LABEL_ENVIRONMENT:
    append(text, size, "the environment");
    return true;
  case SUBJECT_LABEL_UPVALUE:
    append(text, size, "upvalue %llu", number);
    return true;
  case SUBJECT_LABEL_VALUE:
    append(text, size, "the value");
    return true;
  case SUBJECT_LABEL_USERVALUE:
    append(text, size, "user value %llu", number);
    return true;
  case SUBJECT_LABEL_PROTOTYPE:
    append(text, size, "the prototype");
    return true;
  case SUBJECT_LABEL_CONSTANT:
    append(text, size, "constant %llu", number);
    return true;
  case SUBJECT_LABEL_NESTED:
    append(text, size, "nested prototype %llu", number);
    return true;
  case SUBJECT_LABEL_FUNCTION:
    append(text, size, "the function of frame %llu", number);
    return true;
  case SUBJECT_LABEL_REGISTER:
    append(text, size, "register r%llu of frame %llu", slot, frame);
    return true;
  case SUBJECT_LABEL_VARARG:
    append(text, size, "vararg %llu of frame %llu", slot, frame);
    return true;
  case SUBJECT_LABEL_TBC:
    append(text, size, "to-be-closed value %llu of frame %llu", slot, frame);
    return true;
  case SUBJECT_LABEL_START:
    append(text, size, "the function to start");
    return true;
  case SUBJECT_LABEL_RESUMED:
    append(text, size, "the coroutine resumed");
    return true;
  case SUBJECT_LABEL_REGISTRY:
    append(text, size, "the registry");
    return false;
  case SUBJECT_LABEL_GLOBALS:
    append(text, size, "the globals table");
    return false;
  case SUBJECT_LABEL_MAIN:
    append(text, size, "the main coroutine");
    return false;
  case SUBJECT_LABEL_CURRENT:
    append(text, size, "the running coroutine");
    return false;
  case SUBJECT_LABEL_BASICMETA:
    append(text, size, "the metatable of %s values", basic_text(number));
    return false;
  case SUBJECT_LABEL_INTERNAL:
  case SUBJECT_LABEL_COUNT:
    break;
  }
  append(text, size, "an internal reference");
  return true;
}

void
explain_aged(struct oracle *oracle, uint32_t object)
{
  const struct survey_object *surveyed = &oracle->survey.objects[object];
  if (surveyed->base)
    explain_say(oracle, "%s ", oracle_age_text(surveyed->age));
  explain_surveyed(oracle, object);
}

void
explain_place(struct oracle *oracle, uint32_t object,
              const struct subject_edge *edge)
{
  char key[SHADOW_TEXT_MAX] = "";
  append_value(key, sizeof key, oracle, edge->key);
  if (append_place(oracle->finding.message, sizeof oracle->finding.message,
                   edge->label, edge->key.bits, key))
    explain_say(oracle, " of ");
  else
    return;
  explain_surveyed(oracle, object);
}

void
explain_shadow_place(struct oracle *oracle, uint32_t object, uint8_t label,
                     struct shadow_value value)
{
  char key[SHADOW_TEXT_MAX] = "";
  append_shadow(key, sizeof key, oracle, value);
  if (append_place(oracle->finding.message, sizeof oracle->finding.message,
                   label, value.bits, key))
    explain_say(oracle, " of ");
  else
    return;
  explain_surveyed(oracle, object);
}

/* ---- paths in the surveyed heap -------------------------------------- */

/* Object indices in the order of their bases: edges are resolved as of the
 * survey, whatever has been freed since. */
struct by_base {
  uint64_t base;
  uint32_t object;
};

static int
compare_bases(const void *a, const void *b)
{
  const struct by_base *x = a, *y = b;
  return (x->base > y->base) - (x->base < y->base);
}

static struct by_base *
sort_objects(const struct survey *survey)
{
  struct by_base *sorted =
      oracle_allocate(NULL, (survey->object_count + 1) * sizeof *sorted);
  if (!sorted)
    return NULL;
  for (uint32_t i = 0; i < survey->object_count; i++)
    sorted[i] = (struct by_base){survey->objects[i].base, i};
  qsort(sorted, survey->object_count, sizeof *sorted, compare_bases);
  return sorted;
}

/* reached[o]: 0, not reached; else 1 + the edge by which it was; root: its
 * own mark. */
#define REACHED_ROOT UINT32_MAX

static uint32_t
reach_target(struct survey *survey, const struct by_base *sorted,
             struct subject_value value, uint32_t edge, uint32_t count)
{
  struct by_base wanted = {.base = value.bits};
  if (value.tag != SUBJECT_OBJECT || !value.bits)
    return count;
  const struct by_base *found = bsearch(&wanted, sorted, survey->object_count,
                                        sizeof *sorted, compare_bases);
  if (!found || survey->reached[found->object])
    return count;
  survey->reached[found->object] = edge + 1;
  survey->queue[count] = found->object;
  return count + 1;
}

/* Breadth first from the root over all edges. */
static void
reach_all(struct survey *survey, const struct by_base *sorted)
{
  uint32_t count = 0;
  memset(survey->reached, 0, survey->object_count * sizeof *survey->reached);
  survey->queue[count++] = survey->root;
  survey->reached[survey->root] = REACHED_ROOT;
  for (uint32_t next = 0; next < count; next++) {
    const struct survey_object *object = &survey->objects[survey->queue[next]];
    for (uint32_t at = object[0].first; at < object[1].first; at++) {
      count = reach_target(survey, sorted, survey->edges[at].value, at, count);
      count = reach_target(survey, sorted, survey->edges[at].key, at, count);
    }
  }
}

/* The object that an edge belongs to: the last one that begins at or before
 * it and has edges. */
static uint32_t
holder_of(const struct survey *survey, uint32_t edge)
{
  uint32_t low = 0, high = survey->object_count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (survey->objects[middle].first <= edge)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void
append_path(char *text, size_t size, const struct oracle *oracle,
            uint32_t object)
{
  const struct survey *survey = &oracle->survey;
  uint32_t *edges = survey->queue; /* no longer in use */
  uint32_t count = 0;
  while (survey->reached[object] != REACHED_ROOT) {
    edges[count++] = survey->reached[object] - 1;
    object = holder_of(survey, edges[count - 1]);
  }
  for (uint32_t i = count; i-- > 0;) {
    const struct subject_edge *edge = &survey->edges[edges[i]];
    char key[SHADOW_TEXT_MAX] = "";
    if (count > 2 * STEPS_SHOWN && i == count - 1 - STEPS_SHOWN) {
      append(text, size, " > ... %" PRIu32 " more ...",
             count - 2 * STEPS_SHOWN);
      i = STEPS_SHOWN;
      continue;
    }
    append_value(key, sizeof key, oracle, edge->key);
    if (i != count - 1)
      append(text, size, " > ");
    append_place(text, size, edge->label, edge->key.bits, key);
  }
}

/* ---- details --------------------------------------------------------- */

static void
detail_object(struct oracle *oracle, const struct oracle_object *object,
              bool has_paths)
{
  struct oracle_finding *finding = &oracle->finding;
  char *text = finding->detail;
  size_t size = sizeof finding->detail;
  char path[SHADOW_TEXT_MAX];
  const struct survey_object *surveyed = find_surveyed(oracle, object->base);
  if (object->kind == SUBJECT_KIND_ROOT)
    return;
  append(text, size, "%s #%" PRIu32 ":", oracle_kind_text(object->kind),
         object->number);
  if (surveyed && surveyed->number == object->number) {
    append(text, size, " %s%s, %s%s%s", object->live ? "" : "freed; it was ",
           oracle_colour_text(object->colour), list_text(surveyed->list),
           grey_text(surveyed->grey),
           surveyed->flags & SUBJECT_OBJECT_OPEN ? ", open" : "");
    if (oracle->survey.heap.by_age)
      append(text, size, ", %s", oracle_age_text(surveyed->age));
    if (has_paths) {
      uint32_t index = (uint32_t)(surveyed - oracle->survey.objects);
      append(text, size, "; in the heap: ");
      if (oracle->survey.reached[index])
        append_path(text, size, oracle, index);
      else
        append(text, size, "not reachable");
    }
  } else {
    append(text, size, object->live ? " not surveyed" : " freed");
  }
  if (object->node) {
    append(text, size, "; in the shadow: ");
    bool is_reachable =
        shadow_path(oracle->shadow, object->node, path, sizeof path);
    append(text, size, "%s", is_reachable ? path : "not reachable");
  }
  append(text, size, "\n");
}

/* For signatures: the kind as one word, "cclosure", "longstring". */
static void
append_short_kind(char *text, size_t size, uint8_t kind)
{
  for (const char *from = oracle_kind_text(kind); *from; from++)
    if (*from != ' ')
      append(text, size, "%c", tolower((unsigned char)*from));
}

static void
name_kinds(struct oracle_finding *finding)
{
  finding->kinds[0] = '\0';
  for (uint32_t i = 0; i < finding->object_count; i++) {
    append(finding->kinds, sizeof finding->kinds, "%s", i ? ">" : "");
    append_short_kind(finding->kinds, sizeof finding->kinds,
                      finding->objects[i].kind);
  }
}

void
explain_end(struct oracle *oracle)
{
  struct oracle_finding *finding = &oracle->finding;
  struct survey *survey = &oracle->survey;
  struct by_base *sorted = NULL;
  name_kinds(finding);
  if (survey->has_root && survey->object_count)
    sorted = sort_objects(survey);
  if (sorted)
    reach_all(survey, sorted);
  for (uint32_t i = 0; i < finding->object_count; i++)
    detail_object(oracle, &finding->objects[i], sorted != NULL);
  free(sorted);
}
