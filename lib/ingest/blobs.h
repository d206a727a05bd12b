/*
 * Receiving blobs: each blob arrives before the line that names it, and so usually before the
 * first line of its run. Until that line arrives, from the same or another sender, the blob is
 * kept in incoming/<run-id>/.
 *
 * What the code relies on, and keeps:
 *   - A blob is what its name, a SHA-256, says, or is not there: it is written elsewhere in
 *     incoming/, and gets its name when all of it has come and is on disk.
 *   - To a run that there is only its origin (storage/origin.h) may send blobs.
 *   - What waits for its run is limited by a quota, of all senders together, and removed after a
 *     day, by who sends next, or by awf-ctl prune. Each counts as 64 KiB at least, so that they
 *     are not too many to be counted, and one that is under way as what it may come to.
 *   - Who gives a blob its name, and who moves what waits to a run that begins, holds the lock
 *     incoming/lock: none is left behind between the two.
 */
#ifndef AWF_INGEST_BLOBS_H
#define AWF_INGEST_BLOBS_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "storage/storage.h"

struct blob_upload {
	const struct storage *storage;
	char run_id[ID_SIZE], sha256[DIGEST_SIZE];
	const char *sender;
	char *path;          /* while it has no name; NULL: nothing is under way */
	int fd;
	struct digest digest;
	int64_t bytes, limit;
};

struct blob_upload_spec {
	const struct storage *storage;
	const char *sender;  /* origin_name_valid(); lives as long as the upload */
	const char *run_id;  /* an id */
	const char *sha256;  /* blob_name_valid() */
	int64_t size;        /* bytes that are to come; -1: not known */
	int64_t limit;       /* bytes of one */
	int64_t quota;       /* bytes of all that wait for their runs */
};

/* ERROR_BLOCKED: the run is another's; ERROR_INVALID_INPUT: the quota is used up, or the size above
 * the limit; ERROR_SYSTEM. */
int blob_upload_begin(struct blob_upload *u, const struct blob_upload_spec *spec,
    struct error *err);
/* The next bytes. ERROR_INVALID_INPUT: they are too many. The upload is over after a failure. */
int blob_upload_feed(struct blob_upload *u, const void *bytes, size_t len, struct error *err);
/* That was all: it is there, and on disk, under its name. ERROR_INVALID_INPUT: it is another. */
int blob_upload_end(struct blob_upload *u, struct error *err);
/* Gives it up; nothing is left of it. May be called in any state. */
void blob_upload_abandon(struct blob_upload *u);

/* Moves what waits for a run to where its blobs are. To be called before its first line is
 * written, by who has made the run his (origin_claim()). */
int blobs_adopt(const struct storage *s, const char *run_id, struct error *err);
/* The blobs that a line names, in memory of their own (base/list.h). */
char **blobs_named(const char *line, size_t len);
/* How many of them are not there. */
int64_t blobs_missing(const struct storage *s, const char *run_id, const char *line, size_t len);

#endif
