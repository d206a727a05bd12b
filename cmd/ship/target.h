/*
 * Shared by the filters of awf-ship (awf-ship(7)): the command line, input lines, when input is
 * stored, and replies.
 *
 * What the code relies on:
 *   - stdin is read until it ends; a batch contains what has arrived while the last one was being
 *     written, within limits.
 *   - Nothing is acknowledged before it is stored.
 *   - An error of the target ends the filter, and loses only the batch: awf-ship starts the filter
 *     again, and asks for positions.
 */
#ifndef AWF_SHIP_TARGET_H
#define AWF_SHIP_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "ship/batch.h"

#define TARGET_BLOB_MOST "134217728" /* text, for a query */

/* Stores a blob of a run. */
typedef int target_put_blob(void *context, const char *run_id, const char *sha256,
    const struct buffer *bytes, struct error *err);

struct target {
	const char *program;
	const char *form;        /* of its URL, for the help */
	bool about, blobs;       /* it takes these */
	bool keeps;              /* it can remove old data: --keep */

	/* keep_ms: 0: nothing is removed. */
	int (*open)(void *context, const char *url, int64_t keep_ms, struct error *err);
	/* Gets the position of a run at the target. -1 with *err: with ERROR_DIVERGENCE or
	 * ERROR_BLOCKED the target accepts nothing of this run; any other error ends the filter. */
	int (*ask)(void *context, struct batch_run *run, struct position *have, struct error *err);
	/* Stores the lines of all runs that have some, and reports each with target_have() or
	 * target_refuse(). -1: with ERROR_INVALID_INPUT nothing was written, as the target cannot
	 * store some lines; any other error ends the filter. */
	int (*write)(void *context, struct batch *batch, struct error *err);
	/* Makes a blob safe that comes before any line; NULL: it takes none. -1: all is over. */
	target_put_blob *put_blob;
	/* Writes a blob that it has to a file, unless it has more than TARGET_BLOB_MOST bytes. 1; 0: there is none; -1: all
	 * is over. NULL: it gives none. */
	int (*get_blob)(void *context, const char *run_id, const char *sha256, const char *path,
	    struct error *err);
	/* Removes data older than keep_ms; called from time to time. */
	int (*prune)(void *context, struct error *err);
	void (*close)(void *context);
	void *context;
};

/* All of main(). */
int target_main(const struct target *t, int argc, char **argv);

/* For get_blob(): makes the file. 1, or -1 with *err. */
int target_blob(const char *path, const void *bytes, size_t len, struct error *err);
/* For write(): stores the blobs that arrived with the lines of a run. One that cannot be read
 * counts as missing. */
int target_put_blobs(const struct batch_run *run, target_put_blob *put, void *context,
    struct error *err);
/* For write(): reports what is now stored of a run, or why no more of it is accepted. */
void target_have(const struct batch_run *run, const struct position *have);
void target_refuse(struct batch_run *run, const struct error *err);

#endif
