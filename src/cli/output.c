/* SPDX-License-Identifier: MIT
 *
 * Writing files; see output.h.
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ops/op_text.h"
#include "ops/ops.h"

static int
fail(const char *path, int error)
{
  cli_error("%s: cannot write: %s", path, strerror(error));
  switch (error) {
  case ENOENT:
  case ENOTDIR:
  case EISDIR:
  case ENAMETOOLONG:
    return CLI_BAD;
  default:
    return CLI_UNCHECKED;
  }
}

/* Returns 0 or an errno. */
static int
write_all(int file, const unsigned char *bytes, size_t size)
{
  while (size > 0) {
    ssize_t count = write(file, bytes, size);

    if (count < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    bytes += count;
    size -= (size_t)count;
  }
  return 0;
}

static int
write_directly(const char *path, const void *bytes, size_t size)
{
  int file = open(path, O_WRONLY | O_CLOEXEC);
  int error;

  if (file < 0)
    return errno;
  error = write_all(file, bytes, size);
  if (close(file) != 0 && error == 0)
    error = errno;
  return error;
}

/* A new file beside path, whose name is owned by the caller; -1 with errno. */
static int
open_beside(const char *path, char **ret_name)
{
  char *copy = strdup(path);
  char *name = NULL;
  int file = -1;

  if (copy && asprintf(&name, "%s/.penumbra-XXXXXX", dirname(copy)) >= 0)
    file = mkostemp(name, O_CLOEXEC);
  else
    name = NULL;
  free(copy);
  if (file < 0) {
    free(name);
    return -1;
  }
  *ret_name = name;
  return file;
}

static int
write_beside(const char *path, const void *bytes, size_t size, mode_t mode)
{
  char *name = NULL;
  int file = open_beside(path, &name);
  int error;

  if (file < 0)
    return errno ? errno : ENOMEM;
  error = write_all(file, bytes, size);
  if (error == 0 && fchmod(file, mode) != 0)
    error = errno;
  if (close(file) != 0 && error == 0)
    error = errno;
  if (error == 0 && rename(name, path) != 0)
    error = errno;
  if (error != 0)
    unlink(name);
  free(name);
  return error;
}

static mode_t
mode_of_new_files(void)
{
  mode_t mask = umask(0);

  umask(mask);
  return 0666 & ~mask;
}

int
output_write(const char *path, const void *bytes, size_t size)
{
  mode_t mode = mode_of_new_files();
  char resolved[PATH_MAX];
  struct stat status;
  int error;

  if (strcmp(path, "-") == 0) {
    fwrite(bytes, 1, size, stdout);
    return CLI_CLEAN; /* cli_finish() sees to errors */
  }
  if (stat(path, &status) == 0) {
    if (S_ISDIR(status.st_mode))
      return fail(path, EISDIR);
    mode = status.st_mode & 07777;
    /* A link stays one: its target is replaced. */
    if (S_ISREG(status.st_mode) && realpath(path, resolved))
      error = write_beside(resolved, bytes, size, mode);
    else
      error = write_directly(path, bytes, size);
  } else if (errno != ENOENT) {
    error = errno;
  } else {
    error = write_beside(path, bytes, size, mode);
  }
  return error == 0 ? CLI_CLEAN : fail(path, error);
}

/* The stream as bytes, or as text; owned by the caller; NULL on no memory. */
static char *
encode(const struct stream *stream, bool is_text, const char *heading,
       size_t *ret_size)
{
  size_t size = 4 * stream->count;
  char *bytes;

  if (is_text)
    size = strlen(heading) + OP_TEXT_OP_MAX * stream->count;
  bytes = malloc(size + 1);
  if (!bytes)
    return NULL;
  *ret_size = size;
  if (!is_text) {
    stream_encode(stream, (uint8_t *)bytes);
    return bytes;
  }
  size = strlen(heading);
  memcpy(bytes, heading, size);
  for (size_t i = 0; i < stream->count; i++) {
    size += op_print(stream->ops[i], bytes + size);
    bytes[size++] = '\n';
  }
  *ret_size = size;
  return bytes;
}

int
output_stream(const char *path, const struct stream *stream, bool is_text,
              const char *heading)
{
  size_t size = 0;
  char *bytes = encode(stream, is_text, heading, &size);
  int status = CLI_UNCHECKED;

  if (bytes)
    status = output_write(path, bytes, size);
  else
    cli_error("no memory");
  free(bytes);
  return status;
}
