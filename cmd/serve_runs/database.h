/*
 * A database that is served (--db): awf-serve reads files, and awf-mirror copies the database into
 * files, in a directory of this process.
 *
 * What the code relies on, and keeps:
 *   - The directory is $XDG_CACHE_HOME/awf/db/DIGEST/N. The digest is of the URL without its
 *     password, and of the environment variables that go with it; N is the first number whose
 *     lock is free. The directory remains when this process ends, so that the next process copies
 *     only what is new.
 *   - When awf-mirror has ended, it is started again, unless its exit status says that it cannot
 *     work, for example with an invalid URL: then awf-serve ends, too.
 *   - What was copied is served, whether the database can be reached or not.
 */
#ifndef AWF_SERVE_RUNS_DATABASE_H
#define AWF_SERVE_RUNS_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "httpd/loop.h"
#include "storage/storage.h"

struct peer;

struct database {
	const char *url;             /* NULL: it is not a database that is served */
	char *program;               /* awf-mirror */
	char *shipper;               /* the filter of awf-ship; NULL: there is none, and nothing can
	                                be uploaded */
	char *sync;                  /* AWF_SYNC, for that; NULL: it is not set */
	char *directory;
	int lock;                    /* of the directory; -1 */

	struct loop *loop;
	struct peer *mirror;         /* of proc/peer.h */
	struct loop_source output;   /* what it says */
	struct loop_timer again;     /* when it is to be started again */
	void (*failed)(struct database *d, int status); /* it will never do */

	/* From its last message. */
	bool connected;
	int64_t runs, behind, refused;
};

/* Finds the programs and a directory. Makes two storages there: one that is served, and one for
 * what clients send (serve_runs/outbox.h). From then on this process does not sync transcripts:
 * what it has is either in the database or not acknowledged. */
int database_open(struct database *d, const char *url, struct storage *served,
    struct storage *outgoing, struct error *err);
/* Begins to copy. */
int database_begin(struct database *d, struct loop *loop, struct error *err);
/* In any state, but that d->lock is -1 before it was opened. */
void database_close(struct database *d);

#endif
