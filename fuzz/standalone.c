/* SPDX-License-Identifier: MIT
 *
 * The main function of a fuzz target where there is no libFuzzer: it hands
 * each file named on the command line, and each file below each folder named
 * there, to LLVMFuzzerTestOneInput, in bytewise order, so that the corpus can
 * be replayed by any compiler and under any checker. It makes up no inputs.
 *
 * Exit codes: 0 all inputs were run, 2 bad usage or an input that cannot be
 * read (the others are run all the same). A finding does not return: the
 * target aborts, and the file it was at stands on standard error.
 */
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any input a fuzz target is given; a larger file is a mistake. */
#define STANDALONE_SIZE_MAX ((size_t)64 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

/* The whole of file `path` in memory that the caller frees; NULL with errno
 * set if it cannot be read. */
static uint8_t *
read_file(const char *path, size_t *ret_size)
{
  FILE *file = fopen(path, "rb");
  uint8_t *data = NULL;
  size_t size = 0, room = 4096;
  int error = 0;

  if (file == NULL)
    return NULL;
  for (;;) {
    uint8_t *grown = realloc(data, room);
    if (grown == NULL) {
      error = ENOMEM;
      break;
    }
    data = grown;
    size += fread(data + size, 1, room - size, file);
    if (size < room) {
      error = ferror(file) ? (errno != 0 ? errno : EIO) : 0;
      break;
    }
    if (room >= STANDALONE_SIZE_MAX) {
      error = EFBIG;
      break;
    }
    room *= 2;
  }
  fclose(file);
  if (error != 0) {
    free(data);
    errno = error;
    return NULL;
  }
  *ret_size = size;
  return data;
}

/* Runs the target on one file. The bytes are copied to a block of just their
 * size, so that a read beyond them is seen by AddressSanitizer. */
static bool
run_file(const char *path)
{
  size_t size = 0;
  uint8_t *data, *exact;

  errno = 0;
  data = read_file(path, &size);
  if (data == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return false;
  }
  exact = malloc(size > 0 ? size : 1);
  if (exact == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(ENOMEM));
    free(data);
    return false;
  }
  memcpy(exact, data, size);
  free(data);
  fprintf(stderr, "Running: %s (%zu bytes)\n", path, size);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  return true;
}

static int
compare_names(const FTSENT **left, const FTSENT **right)
{
  return strcmp((*left)->fts_name, (*right)->fts_name);
}

/* Runs `path`, or all files below it, and counts both outcomes. */
static void
run_path(char *path, size_t *done, size_t *failed)
{
  char *paths[2] = {path, NULL};
  FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
  FTSENT *entry;

  if (tree == NULL) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    ++*failed;
    return;
  }
  while ((entry = fts_read(tree)) != NULL) {
    switch (entry->fts_info) {
    case FTS_D:
    case FTS_DP:
      continue;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
    case FTS_SLNONE:
      fprintf(stderr, "%s: %s\n", entry->fts_path,
              strerror(entry->fts_errno != 0 ? entry->fts_errno : ENOENT));
      ++*failed;
      continue;
    case FTS_DC:
      fprintf(stderr, "%s: a folder that contains itself\n", entry->fts_path);
      ++*failed;
      continue;
    default:
      if (run_file(entry->fts_accpath))
        ++*done;
      else
        ++*failed;
    }
  }
  fts_close(tree);
}

int
main(int argc, char **argv)
{
  size_t done = 0, failed = 0;
  int i;

  if (LLVMFuzzerInitialize != NULL)
    LLVMFuzzerInitialize(&argc, &argv);
  if (argc < 2) {
    fprintf(stderr,
            "usage: %s FILE|FOLDER...\n"
            "This fuzz target was built without libFuzzer and only replays "
            "inputs.\n",
            argv[0]);
    return 2;
  }
  for (i = 1; i < argc; i++) {
    if (argv[i][0] == '-') {
      fprintf(stderr,
              "%s: %s: no options here, since this fuzz target was built "
              "without libFuzzer\n",
              argv[0], argv[i]);
      return 2;
    }
  }
  for (i = 1; i < argc; i++)
    run_path(argv[i], &done, &failed);
  fprintf(stderr, "Ran %zu inputs, %zu could not be read\n", done, failed);
  return failed > 0 ? 2 : 0;
}
