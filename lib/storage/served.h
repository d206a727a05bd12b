/*
 * Runs that an awf-serve has: a URL in place of a RUN. awf-fetch-run(1) keeps a copy of the run,
 * and of what belongs to it, laid out as a storage; so everything else reads files, and nothing
 * here knows of HTTP.
 *
 * What the code relies on:
 *   - The copy is there, and grows, while that program runs, which it does until served_close(),
 *     or until this process dies.
 *   - A run in the copy is alive (storage_run_alive()) as long as more of it may come.
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

/* What is copied beside the transcript. */
enum {
	SERVED_FOLLOW = 1,       /* and goes on while the run does */
	SERVED_CHILDREN = 2,     /* child runs, too */
	SERVED_ORIGINS = 4,      /* and runs that forks began with */
	SERVED_BLOBS = 8,
	SERVED_INPUT = 16,       /* what it was given on stdin */
	SERVED_LATEST = 32       /* runs that become the latest, too; the storage has that */
};

/* Of the run that is asked for, which is not followed then: events that are not wanted, and may be
 * left out of the copy. */
struct served_range {
	int64_t after;           /* those up to this number; 0: none */
	int64_t last;            /* those before so many; -1: none */
};

struct served {
	struct peer peer;
	struct storage storage;  /* the copy; root NULL: there is none */
	char run_id[ID_SIZE];    /* ""; there is none yet (SERVED_LATEST) */
	int64_t skipped;         /* lines at its beginning that the copy does not have */
	char *base;              /* of the server's URLs */
	bool ended;              /* nothing more is said */
};

bool served_is_url(const char *argument);
/* Begins to copy, and waits until all is there that the server has now; warn is told what comes in
 * between. range: NULL: all is wanted. -1: as that program says. */
int served_open(struct served *s, const char *url, unsigned what, const struct served_range *range,
    void (*warn)(const struct error *warning), struct error *err);

/* What has happened since. */
enum served_news { SERVED_NOTHING, SERVED_REPLACED, SERVED_WARNING, SERVED_FAILED };
struct served_change {
	struct error error;      /* the warning; of SERVED_FAILED: nothing more will come */
	/* The transcript is another file, which is the same up to so many bytes. */
	char run_id[ID_SIZE];
	int64_t bytes;
	int64_t seq;             /* of the last event in these */
};
enum served_news served_next(struct served *s, struct served_change *change);
/* Where to wait for the next; fd -1 if there will be none. */
struct pollfd served_poll(const struct served *s);

/* Where an error is in the copy, it is named as the server has it. */
void served_name(const struct served *s, struct error *err);
void served_close(struct served *s);

#endif
