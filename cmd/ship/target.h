/*
 * What the filters of awf-ship have in common (awf-ship(7)): the command line, what comes in as
 * lines, when what has come is made safe, and what is answered.
 *
 * What the code relies on:
 *   - stdin is read until it ends; a batch is as large as what has come while the last one was
 *     written down, within limits.
 *   - Nothing is told before it is safe.
 *   - A failure of the target ends the filter, and with it nothing but the batch: who has started
 *     it starts it anew, and asks.
 */
#ifndef AWF_SHIP_TARGET_H
#define AWF_SHIP_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "ship/batch.h"

#define TARGET_BLOB_MOST "134217728" /* text, for a query */

/* Makes a blob of a run safe. */
typedef int target_put_blob(void *context, const char *run_id, const char *sha256,
    const struct buffer *bytes, struct error *err);

struct target {
	const char *program;
	const char *form;        /* of its URL, for the help */
	bool about, blobs;       /* it takes these */
	bool keeps;              /* it can remove what is old: --keep */

	/* keep_ms: 0: nothing is removed. */
	int (*open)(void *context, const char *url, int64_t keep_ms, struct error *err);
	/* What the target has of a run. -1 with *err: it can take none of this run, if that is an
	 * ERROR_DIVERGENCE or ERROR_BLOCKED; else all is over. */
	int (*ask)(void *context, struct batch_run *run, struct position *have, struct error *err);
	/* Makes the lines safe of all runs that have some, and tells of each by target_have() or
	 * target_refuse(). -1: with an ERROR_INVALID_INPUT nothing was written, as there are lines that the
	 * target cannot hold; else all is over. */
	int (*write)(void *context, struct batch *batch, struct error *err);
	/* Makes a blob safe that comes before any line; NULL: it takes none. -1: all is over. */
	target_put_blob *put_blob;
	/* Writes a blob that it has to a file, unless it has more than TARGET_BLOB_MOST bytes. 1; 0: there is none; -1: all
	 * is over. NULL: it gives none. */
	int (*get_blob)(void *context, const char *run_id, const char *sha256, const char *path,
	    struct error *err);
	/* Removes what is older than keep_ms, from time to time. */
	int (*prune)(void *context, struct error *err);
	void (*close)(void *context);
	void *context;
};

/* All of main(). */
int target_main(const struct target *t, int argc, char **argv);

/* For get_blob(): makes the file. 1, or -1 with *err. */
int target_blob(const char *path, const void *bytes, size_t len, struct error *err);
/* For write(): puts the blobs that have come with the lines of a run. One that cannot be read is none
 * that there is. */
int target_put_blobs(const struct batch_run *run, target_put_blob *put, void *context,
    struct error *err);
/* For write(): what is safe of a run now, or why nothing more of it is taken. */
void target_have(const struct batch_run *run, const struct position *have);
void target_refuse(struct batch_run *run, const struct error *err);

#endif
