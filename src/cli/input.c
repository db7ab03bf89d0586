/* SPDX-License-Identifier: MIT
 *
 * Finding and reading inputs; see input.h.
 */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ops/op_text.h"

/* The longest text that is read: room for OP_STREAM_MAX operations and as
 * many comments. */
#define TEXT_SIZE_MAX ((size_t)128 << 20)
#define BYTES_SIZE_MAX ((size_t)OP_STREAM_MAX * 4 + 3)

/* ---- finding --------------------------------------------------------- */

static bool
list_append(struct input_list *list, const char *path, int error)
{
  char *copy;

  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 64;
    struct input *items = reallocarray(list->items, capacity, sizeof *items);

    if (!items)
      return false;
    list->items = items;
    list->capacity = capacity;
  }
  copy = strdup(path);
  if (!copy)
    return false;
  list->items[list->count++] = (struct input){copy, error};
  return true;
}

/* One entry of a walk. Symbolic links are followed. */
static bool
entry_add(struct input_list *list, const FTSENT *entry)
{
  switch (entry->fts_info) {
  case FTS_D:
  case FTS_DP:
    return true;
  case FTS_DC:
    return list_append(list, entry->fts_path, ELOOP);
  case FTS_DNR:
  case FTS_ERR:
  case FTS_NS:
    return list_append(list, entry->fts_path,
                       entry->fts_errno ? entry->fts_errno : EIO);
  case FTS_SLNONE:
    return list_append(list, entry->fts_path, ENOENT);
  case FTS_F:
    return list_append(list, entry->fts_path, 0);
  default:
    /* Neither file nor folder: only if the user named it. */
    return entry->fts_level > 0 || list_append(list, entry->fts_path, 0);
  }
}

/* A folder with nothing in it would be clean without anything checked. */
static bool
folder_is_empty(const FTSENT *entry, size_t count_before, size_t count)
{
  return entry->fts_info == FTS_DP && entry->fts_level == 0 &&
         count == count_before;
}

bool
input_list_add(struct input_list *list, const char *path)
{
  char *const paths[2] = {(char *)path, NULL};
  size_t count_before = list->count;
  bool is_good = true;
  FTSENT *entry;
  FTS *tree;

  if (strcmp(path, "-") == 0)
    return list_append(list, path, 0);
  if (path[0] == '\0')
    return list_append(list, path, ENOENT);
  tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
  if (!tree)
    return errno != ENOMEM && list_append(list, path, errno);
  while (is_good && (entry = fts_read(tree)) != NULL) {
    if (folder_is_empty(entry, count_before, list->count))
      is_good = list_append(list, entry->fts_path, ENODATA);
    else
      is_good = entry_add(list, entry);
  }
  fts_close(tree);
  return is_good;
}

static int
by_path(const void *left, const void *right)
{
  return strcmp(((const struct input *)left)->path,
                ((const struct input *)right)->path);
}

void
input_list_sort(struct input_list *list)
{
  if (list->count > 1)
    qsort(list->items, list->count, sizeof *list->items, by_path);
}

void
input_list_done(struct input_list *list)
{
  for (size_t i = 0; i < list->count; i++)
    free(list->items[i].path);
  free(list->items);
  *list = (struct input_list){NULL, 0, 0};
}

/* ---- arguments ------------------------------------------------------- */

static error_t
argument_add(struct input_arguments *arguments, const char *path)
{
  if (strcmp(path, "-") == 0) {
    if (arguments->has_stdin)
      return cli_refuse("standard input can be read once, not twice");
    arguments->has_stdin = true;
  }
  return input_list_add(&arguments->list, path) ? 0 : ENOMEM;
}

error_t
input_arguments_parse(int key, char *argument,
                      struct input_arguments *arguments)
{
  switch (key) {
  case CLI_KEY_JSON:
    arguments->is_json = true;
    return 0;
  case CLI_KEY_TEXT:
    arguments->is_text = true;
    return 0;
  case ARGP_KEY_ARG:
    return argument_add(arguments, argument);
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* ---- reading --------------------------------------------------------- */

/* All bytes of a file, but at most one more than size_max. Returns 0 or an
 * errno; the bytes are owned by the caller. */
static int
read_all(int file, size_t size_max, uint8_t **ret_bytes, size_t *ret_size)
{
  size_t size = 0, capacity = 4096;
  uint8_t *bytes = malloc(capacity);
  ssize_t count = 1;

  while (bytes && count != 0 && size <= size_max) {
    count = read(file, bytes + size, capacity - size);
    if (count < 0) {
      int error = errno;

      if (error == EINTR)
        continue;
      free(bytes);
      return error;
    }
    size += (size_t)count;
    if (size == capacity) {
      uint8_t *larger = realloc(bytes, capacity * 2);

      if (!larger)
        free(bytes);
      bytes = larger;
      capacity *= 2;
    }
  }
  if (!bytes)
    return ENOMEM;
  *ret_bytes = bytes;
  *ret_size = size;
  return 0;
}

static const char *
error_text(int error)
{
  if (error == ENODATA)
    return "no files in this folder";
  return strerror(error);
}

static enum input_status
fail(const char *path, int error)
{
  cli_error("%s: %s", path, error_text(error));
  return error == ENOMEM ? INPUT_NO_MEMORY : INPUT_BAD;
}

static enum input_status
decode_text(const char *path, const uint8_t *bytes, size_t size,
            struct stream *ret_stream)
{
  struct stream_text_error error;
  int status = STREAM_OK;

  if (size > TEXT_SIZE_MAX) {
    cli_error("%s: text is longer than %zu bytes", path, TEXT_SIZE_MAX);
    return INPUT_BAD;
  }
  status = stream_parse((const char *)bytes, size, ret_stream, &error);
  if (status == STREAM_OK)
    return INPUT_OK;
  if (status == STREAM_NO_MEMORY)
    return fail(path, ENOMEM);
  cli_error("%s:%zu: %s", path, error.line, error.message);
  return INPUT_BAD;
}

/* Any bytes are a stream; but bytes that are a whole text, with operations,
 * were meant as one. */
static bool
is_text_stream(const uint8_t *bytes, size_t size)
{
  struct stream stream;
  struct stream_text_error error;
  bool has_operations;

  if (stream_parse((const char *)bytes, size, &stream, &error) != STREAM_OK)
    return false;
  has_operations = stream.count > 0;
  stream_done(&stream);
  return has_operations;
}

static enum input_status
decode_bytes(const char *path, const uint8_t *bytes, size_t size,
             struct stream *ret_stream)
{
  if (is_text_stream(bytes, size)) {
    cli_error("%s: this is a stream as text, not bytes; give it a name that "
              "ends in .pen, or say --text",
              path);
    return INPUT_BAD;
  }
  switch (stream_decode(bytes, size, ret_stream)) {
  case STREAM_OK:
    return INPUT_OK;
  case STREAM_NO_MEMORY:
    return fail(path, ENOMEM);
  case STREAM_TOO_LONG:
    break;
  }
  cli_error("%s: stream is longer than %d operations", path, OP_STREAM_MAX);
  return INPUT_BAD;
}

bool
input_is_text(const char *path)
{
  size_t length = strlen(path);

  return length >= 4 && strcmp(path + length - 4, ".pen") == 0;
}

enum input_status
input_read(const struct input *input, bool is_text, struct stream *ret_stream)
{
  bool is_stdin = strcmp(input->path, "-") == 0;
  enum input_status status;
  uint8_t *bytes = NULL;
  size_t size = 0;
  int file = STDIN_FILENO;
  int error = input->error;

  is_text = is_text || input_is_text(input->path);
  if (error == 0 && !is_stdin) {
    file = open(input->path, O_RDONLY | O_CLOEXEC);
    error = file < 0 ? errno : 0;
  }
  if (error == 0) {
    error = read_all(file, is_text ? TEXT_SIZE_MAX : BYTES_SIZE_MAX, &bytes,
                     &size);
    if (!is_stdin)
      close(file);
  }
  if (error != 0)
    return fail(input->path, error);
  if (is_text)
    status = decode_text(input->path, bytes, size, ret_stream);
  else
    status = decode_bytes(input->path, bytes, size, ret_stream);
  free(bytes);
  return status;
}
