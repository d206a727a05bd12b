/*
 * Blobs: large or binary values of payloads, one file each, named by the SHA-256
 * of its bytes, below blobs/<run-id>/. Written under a temporary name, synced,
 * renamed, the directory synced; a blob that exists already is left alone.
 */
#ifndef AWF_TRANSCRIPT_BLOB_H
#define AWF_TRANSCRIPT_BLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"

#define BLOB_THRESHOLD ((size_t)256 << 10) /* bytes of a string token */

/* Stores bytes (sync: see transcript.h) and fills name. */
int blob_write(const char *directory, const void *bytes, size_t len, bool sync,
    char name[DIGEST_SIZE], struct error *err);
/* The same, but a complete existing blob is not touched or synced: its writer synced it before
 * it got this name. For blobs that many processes write again and again. */
int blob_keep(const char *directory, const void *bytes, size_t len, bool sync,
    char name[DIGEST_SIZE], struct error *err);
/* Makes the file at path, to which fd is open, the blob with this name. */
int blob_take(const char *directory, const char *path, int fd, bool sync, const char *name,
    struct error *err);
/* Whether the text is a valid name of a blob, and therefore safe as a part of a path. */
bool blob_name_valid(const char *name);
/* Appends the bytes of a blob; ERROR_SYSTEM if it is missing or its digest is not
 * its name. */
int blob_read(const char *directory, const char *name, struct buffer *out, struct error *err);

/* Moves every string token above BLOB_THRESHOLD in value (found at pointer
 * `at`) into blobs: appends the value with null in their places to out, and
 * {at, sha256, bytes, encoding:"json"} objects to refs (a JSON array's inside,
 * comma-separated). */
int blob_externalise(const char *directory, struct span value, const char *at, bool sync,
    struct buffer *out, struct buffer *refs, struct error *err);

/* Appends one entry to the inside of refs. */
void blob_reference(const char *at, const char *sha256, size_t bytes, const char *encoding,
    struct buffer *refs);

/* Appends the line with its blobs put back: json blobs as they were, raw ones as
 * base64 strings; refs is dropped. The line without its LF. */
int blob_inline(const char *directory, const char *line, size_t len, struct buffer *out,
    struct error *err);

#endif
