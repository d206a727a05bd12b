/*
 * Runs on an awf-serve: a URL in place of RUN. awf-fetch-run(1) keeps a local copy of the run and
 * its files, laid out as a storage; so all other code reads files, and HTTP is not needed here.
 *
 * What the code relies on:
 *   - The copy exists, and grows, while awf-fetch-run runs: until served_close(), or until this
 *     process dies.
 *   - A run in the copy is alive (storage_run_alive()) as long as more of it may arrive.
 */
#ifndef AWF_STORAGE_SERVED_H
#define AWF_STORAGE_SERVED_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "proc/peer.h"
#include "storage/storage.h"

/* What is copied besides the transcript. */
enum {
	SERVED_FOLLOW = 1,       /* go on while the run is alive */
	SERVED_CHILDREN = 2,     /* copy child runs, too */
	SERVED_ORIGINS = 4,      /* copy the runs from which it was forked, too */
	SERVED_BLOBS = 8,
	SERVED_INPUT = 16,       /* its stdin */
	SERVED_LATEST = 32       /* copy every run that becomes the latest; `latest` in the copy
	                            names it */
};

/* Which events of a run that is not followed are needed; others may be missing in the copy. */
struct served_range {
	int64_t after;           /* only those after this seq; 0: all */
	int64_t last;            /* only this many, the last ones; -1: all */
};

struct served {
	struct peer peer;
	struct storage storage;  /* the copy; root NULL: there is none */
	char run_id[ID_SIZE];    /* "": no run yet (SERVED_LATEST) */
	int64_t skipped;         /* number of lines at the beginning that the copy lacks */
	char *base;              /* beginning of the server's URLs */
	bool ended;              /* nothing more will be reported */
};

bool served_is_url(const char *argument);
/* Starts the copy, and waits until it has everything that the server has now; messages until then
 * are passed to warn. range NULL: everything. -1: the error of awf-fetch-run. */
int served_open(struct served *s, const char *url, unsigned what, const struct served_range *range,
    void (*warn)(const struct error *warning), struct error *err);

/* What has happened since the last call. */
enum served_news { SERVED_NOTHING, SERVED_REPLACED, SERVED_WARNING, SERVED_FAILED };
struct served_change {
	struct error error;      /* the warning; for SERVED_FAILED the error, after which nothing
	                            more comes */
	/* SERVED_REPLACED: the transcript of this run is a new file; the first `bytes` bytes are
	 * the same. */
	char run_id[ID_SIZE];
	int64_t bytes;
	int64_t seq;             /* seq of the last event in them */
};
enum served_news served_next(struct served *s, struct served_change *change);
/* What to poll for the next change; fd -1 if there will be none. */
struct pollfd served_poll(const struct served *s);

/* If an error is about the copy, replaces its place by the name that the server has for it. */
void served_name(const struct served *s, struct error *err);
void served_close(struct served *s);

#endif
