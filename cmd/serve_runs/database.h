/*
 * A database that is served (--db): awf-serve reads files, and awf-mirror brings the database to
 * them, in a directory of this process's own.
 *
 * What the code relies on, and keeps:
 *   - The directory is $XDG_CACHE_HOME/awf/db/DIGEST/N: the digest is that of the URL without its
 *     password, and of the variables of the environment that go with it, N the first number whose lock nobody holds. It stays when this process ends, so
 *     that the next one copies only what is new.
 *   - awf-mirror is started anew when it has ended, but where that is as its exit status says: for a
 *     URL that is none, awf-serve ends, too.
 *   - What there is, is served, be the database there or gone.
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
	char *shipper;               /* the filter of awf-ship; NULL: there is none, and nothing is taken in */
	char *sync;                  /* AWF_SYNC, for that; NULL: it is not set */
	char *directory;
	int lock;                    /* of the directory; -1 */

	struct loop *loop;
	struct peer *mirror;         /* of proc/peer.h */
	struct loop_source output;   /* what it says */
	struct loop_timer again;     /* when it is started anew */
	void (*failed)(struct database *d, int status); /* it will never do */

	/* What it has said last. */
	bool connected;
	int64_t runs, behind, refused;
};

/* Finds its programs, and a directory for it; and makes two storages in that: the one that is
 * served, and one of what clients send (serve_runs/outbox.h). From then on this process syncs no
 * transcripts: those it has are in the database, or not acknowledged. */
int database_open(struct database *d, const char *url, struct storage *served,
    struct storage *outgoing, struct error *err);
/* Begins to copy. */
int database_begin(struct database *d, struct loop *loop, struct error *err);
/* In any state, but that d->lock is -1 before it was opened. */
void database_close(struct database *d);

#endif
