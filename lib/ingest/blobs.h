/*
 * Receiving blobs: each blob arrives before the line that names it, and so usually before the first
 * line of its run. Until that line arrives, from the same or another sender, the blob is kept in
 * incoming/<run-id>/.
 *
 * What the code relies on, and maintains:
 *   - A blob has the contents that its name, a SHA-256, says, or does not exist: it is written
 *     elsewhere in incoming/, and gets its name when it is complete and on disk.
 *   - If a run exists, only its origin (storage/origin.h) may send blobs for it.
 *   - Blobs that wait for their run are limited by a quota for all senders together, and removed
 *     after a day, by the next sender, or by awf-ctl prune. Each counts as 64 KiB at least, so that
 *     there are not too many to be counted; one in transfer counts as its largest possible size.
 *   - The lock incoming/lock is held to give a blob its name, and to move waiting blobs to a run
 *     that begins: none is left behind between the two.
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
	char *path;          /* while it has no name; NULL: no transfer */
	int fd;
	struct digest digest;
	int64_t bytes, limit;
};

struct blob_upload_spec {
	const struct storage *storage;
	const char *sender;  /* origin_name_valid(); lives as long as the upload */
	const char *run_id;  /* an id */
	const char *sha256;  /* blob_name_valid() */
	int64_t size;        /* bytes that are expected; -1: unknown */
	int64_t limit;       /* bytes of one */
	int64_t quota;       /* bytes of all blobs that wait for their runs */
};

/* ERROR_BLOCKED: the run belongs to another sender; ERROR_INVALID_INPUT: the quota is used up,
 * or the size is above the limit; ERROR_SYSTEM. */
int blob_upload_begin(struct blob_upload *u, const struct blob_upload_spec *spec,
    struct error *err);
/* Feeds the next bytes. ERROR_INVALID_INPUT: there are too many. After a failure the upload is
 * over. */
int blob_upload_feed(struct blob_upload *u, const void *bytes, size_t len, struct error *err);
/* Ends it: the blob exists, and is on disk, under its name. ERROR_INVALID_INPUT: its digest
 * differs. */
int blob_upload_end(struct blob_upload *u, struct error *err);
/* Abandons it, leaving nothing behind. May be called in any state. */
void blob_upload_abandon(struct blob_upload *u);

/* Moves waiting blobs to the run's own. To be called before the first line is written, by the
 * process that has claimed the run (origin_claim()). */
int blobs_adopt(const struct storage *s, const char *run_id, struct error *err);
/* The blobs that a line names, an allocated list (base/list.h). */
char **blobs_named(const char *line, size_t len);
/* How many of them are not there. */
int64_t blobs_missing(const struct storage *s, const char *run_id, const char *line, size_t len);

#endif
