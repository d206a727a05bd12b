/*
 * Programs that overlap: sandboxed programs that run at the same time in one workspace, or in a
 * workspace and a directory of it. What one of them has made in a repository must not count as the
 * user's because another one started afterwards. So what counts is what was there before the first
 * of them: each program keeps a record of what it compares with (struct repositories) while it
 * runs, and one that starts takes over the records of those that are running.
 *
 *    overlap_begin() → repositories_find() → overlap_join() → the command →
 *    overlap_lock() → repositories_settle() → overlap_end()
 *
 * The records are in STORAGE/sandboxed/overlap, which is hidden from sandboxed programs. A program
 * holds a lock on its record until its repositories are settled; a record without a lock is what
 * a killed program left. The workspace is examined, and settled, under a lock of the directory: so
 * nobody examines it while another program's record is neither there nor settled. Programs with
 * different storages do not know of each other.
 */
#ifndef AWF_SANDBOX_OVERLAP_H
#define AWF_SANDBOX_OVERLAP_H

#include "base/buffer.h"
#include "base/error.h"
#include "sandbox/repositories.h"

struct overlap {
	char *directory;       /* of the records; NULL: there is no storage */
	char *path;            /* the record; NULL: there is none yet */
	int fd;                /* the record, locked; -1 */
	int lock;              /* the directory, locked; -1 */
	struct buffer *others; /* the records of the programs that are running */
	size_t count;
};

#define OVERLAP_INIT { .fd = -1, .lock = -1 }

/* Takes the lock of the directory and reads the records. ERROR_BLOCKED. */
int overlap_begin(struct overlap *o, struct error *err);
/* Replaces what was found in workspaces of running programs by what was there before them, writes
 * the record, and releases the lock. ERROR_BLOCKED. */
int overlap_join(struct overlap *o, struct repositories *r, struct error *err);
/* Takes the lock again; without it, settling goes on all the same. */
void overlap_lock(struct overlap *o);
void overlap_unlock(struct overlap *o);
/* Removes the record, and releases everything. */
void overlap_end(struct overlap *o);

#endif
