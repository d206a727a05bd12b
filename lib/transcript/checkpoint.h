/*
 * Checkpoints, called heads in the manual: the last line of a transcript at some time, stored
 * elsewhere. A file of them has a line "RUN_ID SEQ DIGEST" for each, where DIGEST is the
 * BLAKE2b-256 of line SEQ. As each line has the digest of the line before, a transcript that
 * contains the checkpoint is unchanged up to there: it was not truncated or replaced by an earlier
 * version since.
 */
#ifndef AWF_TRANSCRIPT_CHECKPOINT_H
#define AWF_TRANSCRIPT_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/id.h"

struct checkpoint {
	char run_id[ID_SIZE];
	int64_t seq;
	char digest[DIGEST_SIZE];
};

struct checkpoints {
	char *path;
	struct checkpoint *list; /* one for each line of the file */
	size_t count;
};

/* Loads a file of checkpoints. ERROR_SYSTEM if it cannot be read, ERROR_USAGE if a line is not a
 * checkpoint. */
int checkpoints_load(struct checkpoints *c, const char *path, struct error *err);
/* Searches for the checkpoints of a run in its transcript. *missing: the number of the first line
 * in the file of checkpoints whose checkpoint is not in the transcript, or 0; *found: how many
 * checkpoints of the run were compared. -1 if the transcript cannot be read. */
int checkpoints_check(const struct checkpoints *c, const char *run_id, const char *transcript,
    size_t *found, size_t *missing, struct error *err);
void checkpoints_free(struct checkpoints *c);

#endif
