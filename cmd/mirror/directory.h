/*
 * The directory that a database is copied to. It is laid out as a storage (storage/storage.h) of
 * runs that are recorded elsewhere, and contains nothing else.
 *
 * What the code relies on, and keeps:
 *   - One process fills it: the one that holds the lock of DIRECTORY/filling.
 *   - At any time a transcript in it is a prefix of that in the database, byte for byte, in whole
 *     lines; each line was checked (ingest/ingest.h), and only valid ids are used in paths.
 *   - It can be made again, so nothing in it is synced: after a crash of the machine, which
 *     DIRECTORY/unsynced shows, it is emptied.
 */
#ifndef AWF_MIRROR_DIRECTORY_H
#define AWF_MIRROR_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"
#include "ingest/ingest.h"
#include "json/scan.h"
#include "storage/storage.h"

struct directory {
	char *path;
	struct storage storage;      /* PATH/record */
	struct ingest ingest;
	int lock;                    /* -1 */
};

/* Creates it if necessary, after waiting until no other process fills it. ERROR_CANCELLED: stdin
 * was closed before. */
int directory_open(struct directory *d, const char *path, struct error *err);
/* Syncs everything in it. */
void directory_close(struct directory *d);

/* What it has of a run; seq 0: nothing. -1 with *err: its transcript cannot be read. */
int directory_look(const struct directory *d, const char *run_id, int64_t *seq,
    char digest[DIGEST_SIZE], struct error *err);
/* Adds lines that follow those it has, of a run whose first sender is origin. */
enum ingest_fault directory_add(struct directory *d, const char *origin, struct span lines,
    struct error *err);
/* Records how long ago the last line of a run arrived in the database, which determines
 * whether it lives. */
void directory_lease(struct directory *d, const char *run_id, int64_t idle_ms);
/* Adds a blob, which is refused if its digest is another (ERROR_INVALID_INPUT). */
int directory_add_blob(struct directory *d, const char *run_id, const char *origin,
    const char *sha256, struct span bytes, struct error *err);
/* Removes everything of a run. */
int directory_remove(struct directory *d, const char *run_id, struct error *err);

#endif
