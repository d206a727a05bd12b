/*
 * Transcripts of AWF from elsewhere: their lines are recorded as they are, with the blobs that they name and that
 * are beside them, as in a storage: in ../blobs/RUN/.
 */
#ifndef AWF_IMPORT_OWN_H
#define AWF_IMPORT_OWN_H

#include <stdint.h>

#include "base/error.h"
#include "ingest/ingest.h"

#define OWN_FORMAT "awf"

/* Feeds the lines of a file. *others: lines that are none of a transcript, or of which the end is missing. -1
 * with *err: it cannot be read, or a line or blob cannot be recorded. */
int own_read(struct ingest_input *in, const char *path, int64_t *others, struct error *err);

#endif
