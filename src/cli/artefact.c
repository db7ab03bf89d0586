/* SPDX-License-Identifier: MIT
 *
 * Keeping findings; see artefact.h.
 */
#include "cli/artefact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 100000 };

/* ---- folders --------------------------------------------------------- */

static int
make_folder(const char *path)
{
  struct stat status;

  if (mkdir(path, 0777) == 0)
    return 0;
  if (errno != EEXIST)
    return errno;
  if (stat(path, &status) != 0)
    return errno;
  return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

int
artefact_folder(const char *path)
{
  char *copy = strdup(path);
  int error = 0;

  if (!copy)
    return ENOMEM;
  for (char *at = copy + 1; *copy && *at && error == 0; at++) {
    if (*at != '/')
      continue;
    *at = '\0';
    error = make_folder(copy);
    *at = '/';
  }
  if (error == 0)
    error = make_folder(copy);
  free(copy);
  return error;
}

void
artefact_remove_folder(const char *path)
{
  DIR *folder = opendir(path);
  struct dirent *entry;

  if (!folder)
    return;
  while ((entry = readdir(folder)) != NULL)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
  rmdir(path);
}

char *
artefact_path(const char *folder, const char *name)
{
  char *path;

  return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* ---- files ----------------------------------------------------------- */

uint8_t *
artefact_read(const char *path, size_t size_max, size_t *ret_size)
{
  FILE *file = fopen(path, "rbe");
  uint8_t *bytes = file ? malloc(size_max + 1) : NULL;
  size_t size = 0;
  int error = errno;

  if (bytes) {
    errno = 0;
    size = fread(bytes, 1, size_max + 1, file);
    error = ferror(file) ? (errno ? errno : EIO) : 0;
    if (error == 0 && size > size_max)
      error = EFBIG;
  }
  if (file)
    fclose(file);
  if (bytes && error == 0) {
    *ret_size = size;
    return bytes;
  }
  free(bytes);
  errno = error;
  return NULL;
}

static bool
holds(const char *path, const uint8_t *bytes, size_t size)
{
  size_t found_size = 0;
  uint8_t *found = artefact_read(path, size, &found_size);
  bool is_same = found && found_size == size &&
                 (size == 0 || memcmp(found, bytes, size) == 0);

  free(found);
  return is_same;
}

/* A new file with these bytes; 0, or an errno (EEXIST: the name is taken).
 * What could not be written whole is removed again. */
static int
create(const char *path, const uint8_t *bytes, size_t size)
{
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  int error = 0;

  if (file < 0)
    return errno;
  while (size > 0 && error == 0) {
    ssize_t count = write(file, bytes, size);

    if (count < 0 && errno != EINTR)
      error = errno;
    if (count > 0) {
      bytes += count;
      size -= (size_t)count;
    }
  }
  if (close(file) != 0 && error == 0)
    error = errno;
  if (error != 0)
    unlink(path);
  return error;
}

static uint32_t
hash(const uint8_t *bytes, size_t size)
{
  uint32_t value = 2166136261u;

  for (size_t i = 0; i < size; i++)
    value = (value ^ bytes[i]) * 16777619u;
  return value;
}

char *
artefact_store(const char *folder, const char *name, const uint8_t *bytes,
               size_t size)
{
  uint32_t number = hash(bytes, size);
  int error = EEXIST;

  for (int i = 1; i < NAMES_MAX && error == EEXIST; i++) {
    char *path;
    int length;

    if (i == 1)
      length = asprintf(&path, "%s/%s-%08" PRIx32, folder, name, number);
    else
      length = asprintf(&path, "%s/%s-%08" PRIx32 "-%d", folder, name, number,
                        i);
    if (length < 0)
      return NULL;
    error = create(path, bytes, size);
    if (error == 0 || (error == EEXIST && holds(path, bytes, size)))
      return path;
    free(path);
  }
  errno = error;
  return NULL;
}
