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
	const char *url;             /* NULL: no database is served */
	char *program;               /* awf-mirror */
	char *shipper;               /* program that sends uploads to the database (filter of
	                                awf-ship); NULL: none, clients cannot upload */
	char *sync;                  /* value of AWF_SYNC for the shipper; NULL: not set */
	char *directory;
	int lock;                    /* lock on the directory; -1: none */

	struct loop *loop;
	struct peer *mirror;         /* of proc/peer.h */
	struct loop_source output;   /* its standard output */
	struct loop_timer again;     /* starts awf-mirror again */
	void (*failed)(struct database *d, int status); /* called if awf-mirror cannot work, however
	                                                   often it is started */

	/* From its last message. */
	bool connected;
	int64_t runs, behind, refused;
};

/* Finds the programs, and locks a directory. Creates two storages there: one for the copy that is
 * served, and one for what clients send (serve_runs/outbox.h). From then on this process does not
 * sync transcripts to disk: what it has is either in the database already, or not yet acknowledged
 * to the client. */
int database_open(struct database *d, const char *url, struct storage *served,
    struct storage *outgoing, struct error *err);
/* Starts awf-mirror. */
int database_begin(struct database *d, struct loop *loop, struct error *err);
/* May be called in any state; before database_open(), d->lock must be -1. */
void database_close(struct database *d);

#endif
