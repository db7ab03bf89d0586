/* SPDX-License-Identifier: MIT
 *
 * See known.h.
 */
#include "report/known.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A head is short. */
enum { LINE_MAX_BYTES = 1024 };

/* ---- heads ----------------------------------------------------------- */

/* What follows "# KEY:" in a line; NULL if it is no such line. */
static const char *
value_of(const char *line, const char *key)
{
  size_t length = strlen(key);

  if (strncmp(line, "# ", 2) != 0 || strncmp(line + 2, key, length) != 0 ||
      line[2 + length] != ':')
    return NULL;
  line += 3 + length;
  return line + strspn(line, " ");
}

/* Whether a list of names, with commas or blanks between, has this one. */
static bool
has_name(const char *list, const char *name)
{
  static const char between[] = ", \t\r\n";
  size_t length = strlen(name);

  for (list += strspn(list, between); *list; list += strspn(list, between)) {
    size_t size = strcspn(list, between);

    if (size == length && strncmp(list, name, length) == 0)
      return true;
    list += size;
  }
  return false;
}

static bool
add(struct known *known, const char *file, const char *signature)
{
  struct known_signature *all =
      realloc(known->all, (known->count + 1) * sizeof *all);
  struct known_signature *it;

  if (!all)
    return false;
  known->all = all;
  it = &all[known->count];
  snprintf(it->text, sizeof it->text, "%.*s",
           (int)strcspn(signature, " \t\r\n"), signature);
  it->times = 0;
  it->file = strndup(file, strlen(file) - strlen(".pen"));
  known->count += it->file != NULL;
  return it->file != NULL;
}

static bool
read_head(FILE *stream, const char *file, const char *subject,
          struct known *known)
{
  char line[LINE_MAX_BYTES];
  size_t before = known->count;
  bool is_ours = false;

  while (fgets(line, sizeof line, stream) && line[0] == '#') {
    const char *value;

    if ((value = value_of(line, "subjects")))
      is_ours = is_ours || has_name(value, subject);
    else if ((value = value_of(line, "signature")) && !add(known, file, value))
      return false;
  }
  while (!is_ours && known->count > before)
    free(known->all[--known->count].file);
  return !ferror(stream);
}

/* ---- the folder ------------------------------------------------------ */

static int
is_pen(const struct dirent *entry)
{
  size_t length = strlen(entry->d_name);

  return length > 4 && strcmp(entry->d_name + length - 4, ".pen") == 0;
}

static int
by_bytes(const struct dirent **left, const struct dirent **right)
{
  return strcmp((*left)->d_name, (*right)->d_name);
}

static bool
read_file(const char *folder, const char *file, const char *subject,
          struct known *known)
{
  FILE *stream = NULL;
  char *path = NULL;
  bool is_good = false;

  if (asprintf(&path, "%s/%s", folder, file) < 0)
    return false;
  stream = fopen(path, "re");
  free(path);
  if (stream) {
    is_good = read_head(stream, file, subject, known);
    fclose(stream);
  }
  return is_good;
}

bool
known_read(const char *folder, const char *subject, struct known *ret_known)
{
  struct dirent **entries;
  int count = scandir(folder, &entries, is_pen, by_bytes);
  bool is_good = count >= 0;
  int error = errno;

  *ret_known = (struct known){NULL, 0};
  for (int i = 0; i < count; i++) {
    if (is_good) {
      is_good = read_file(folder, entries[i]->d_name, subject, ret_known);
      error = errno;
    }
    free(entries[i]);
  }
  if (count >= 0)
    free(entries);
  errno = error;
  return is_good;
}

void
known_done(struct known *known)
{
  for (size_t i = 0; i < known->count; i++)
    free(known->all[i].file);
  free(known->all);
  *known = (struct known){NULL, 0};
}

/* ---- meeting --------------------------------------------------------- */

static bool
is_like(const char *pattern, const char *signature)
{
  for (;;) {
    size_t wanted = strcspn(pattern, "|"), length = strcspn(signature, "|");
    bool is_any = wanted == 1 && pattern[0] == '*';

    if (!is_any &&
        (wanted != length || strncmp(pattern, signature, length) != 0))
      return false;
    pattern += wanted;
    signature += length;
    if (!*pattern || !*signature)
      return *pattern == *signature;
    pattern++;
    signature++;
  }
}

struct known_signature *
known_meet(struct known *known, const char *signature)
{
  for (size_t i = 0; i < known->count; i++) {
    if (is_like(known->all[i].text, signature)) {
      known->all[i].times++;
      return &known->all[i];
    }
  }
  return NULL;
}

/* ---- inputs ---------------------------------------------------------- */

/* FNV-1a. */
static uint64_t
hash(const uint8_t *bytes, size_t size)
{
  uint64_t value = UINT64_C(14695981039346656037);

  for (size_t i = 0; i < size; i++)
    value = (value ^ bytes[i]) * UINT64_C(1099511628211);
  return value;
}

bool
known_inputs_read(const char *path, struct known_inputs *ret_inputs)
{
  FILE *file = fopen(path, "re");
  bool is_good = file || errno == ENOENT;
  uint64_t value;

  *ret_inputs = (struct known_inputs){NULL, 0};
  while (is_good && file && fscanf(file, "%" SCNx64, &value) == 1) {
    uint64_t *hashes = realloc(ret_inputs->hashes,
                               (ret_inputs->count + 1) * sizeof *hashes);

    is_good = hashes != NULL;
    if (is_good) {
      ret_inputs->hashes = hashes;
      hashes[ret_inputs->count++] = value;
    }
  }
  if (file) {
    is_good = is_good && !ferror(file);
    fclose(file);
  }
  return is_good;
}

bool
known_inputs_has(const struct known_inputs *inputs, const uint8_t *bytes,
                 size_t size)
{
  uint64_t value = inputs->count ? hash(bytes, size) : 0;

  for (size_t i = 0; i < inputs->count; i++)
    if (inputs->hashes[i] == value)
      return true;
  return false;
}

void
known_inputs_done(struct known_inputs *inputs)
{
  free(inputs->hashes);
  *inputs = (struct known_inputs){NULL, 0};
}

bool
known_inputs_add(const char *path, const uint8_t *bytes, size_t size)
{
  FILE *file = fopen(path, "ae");
  bool is_good = file && fprintf(file, "%016" PRIx64 "\n",
                                 hash(bytes, size)) > 0;
  int error = errno;

  if (file && fclose(file) != 0 && is_good) {
    is_good = false;
    error = errno;
  }
  errno = error;
  return is_good;
}
