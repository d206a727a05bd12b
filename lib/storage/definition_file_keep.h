/*
 * Keeping definition files (transcript/definition_file.h): their bytes go into blobs of the run
 * before the event that names them, once for each digest.
 *
 * The bytes are not stored for files of a masked run, of which only the names are recorded; and
 * for executables above DEFINITION_EXECUTABLE_LIMIT and files that must not be stored, of which
 * the digest is recorded.
 *
 * A file whose digest the run's directory has, and which root alone can write
 * (storage/kept_digest.h), is not read again.
 */
#ifndef AWF_STORAGE_DEFINITION_FILE_KEEP_H
#define AWF_STORAGE_DEFINITION_FILE_KEEP_H

#include <stdint.h>

#include "base/error.h"
#include "json/writer.h"
#include "storage/run.h"

#define DEFINITION_EXECUTABLE_LIMIT ((int64_t)1 << 20)

/* Stores the bytes of a file, and writes an element of `files` about it; path is absolute. */
int definition_file_keep(const struct run *r, const char *path, struct writer *w,
    struct error *err);
/* The same, but the content is not stored: it may be secret. */
int definition_file_digest(const struct run *r, const char *path, struct writer *w,
    struct error *err);
/* The same for a file that a command executes: stored up to DEFINITION_EXECUTABLE_LIMIT. The
 * digest of a larger one is cached for the run by the state of the file: it only serves to
 * notice changes. */
int definition_file_program(const struct run *r, const char *path, struct writer *w,
    struct error *err);
/* The same for a file that a shell sources: the content is not stored, as it may be secret. */
int definition_file_sourced(const struct run *r, const char *path, struct writer *w,
    struct error *err);
/* Writes an element with only the path: for files that come with AWF. */
void definition_file_name(const char *path, struct writer *w);

#endif
