/* SPDX-License-Identifier: MIT
 *
 * The artefact folder: where findings are kept. A finding is never overwritten
 * and never lost: a name that is taken by other bytes gets a number.
 */
#ifndef PENUMBRA_CLI_ARTEFACT_H
#define PENUMBRA_CLI_ARTEFACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the folder and those above it, as mkdir -p does. 0, or an errno. */
int artefact_folder(const char *path);

/* Stores bytes in folder as NAME-HASH, or NAME-HASH-2 ... if that is taken.
 * If the same bytes lie there under such a name already, that is what is
 * returned. The path, owned by the caller; NULL with errno. */
char *artefact_store(const char *folder, const char *name,
                     const uint8_t *bytes, size_t size);

/* A whole file of at most size_max bytes; owned by the caller; NULL with errno
 * (EFBIG: it is longer). */
uint8_t *artefact_read(const char *path, size_t size_max, size_t *ret_size);

/* folder/name, owned by the caller; NULL on no memory. */
char *artefact_path(const char *folder, const char *name);

/* Removes a folder that has only files in it, and them. */
void artefact_remove_folder(const char *path);

#endif
