/*
 * Runs on an awf-serve: a URL in place of RUN. awf-fetch-run(1) keeps a local copy of the run and
 * its files, laid out as a storage; so all other code reads files, and HTTP is not needed here.
 *
 * What the code relies on:
 *   - The copy exists, and grows, while that program runs, which is until served_close(), or until
 *     this process dies.
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
	SERVED_FOLLOW = 1,       /* continue while the run lives */
	SERVED_CHILDREN = 2,     /* child runs, too */
	SERVED_ORIGINS = 4,      /* and runs that forks began with */
	SERVED_BLOBS = 8,
	SERVED_INPUT = 16,       /* its stdin */
	SERVED_LATEST = 32       /* runs that become the latest, too; the storage has that */
};

/* For a requested run that is not followed: events that are not needed, and may be missing
 * in the copy. */
struct served_range {
	int64_t after;           /* up to this number; 0: none */
	int64_t last;            /* before the last ones, this many; -1: none */
};

struct served {
	struct peer peer;
	struct storage storage;  /* the copy; root NULL: none */
	char run_id[ID_SIZE];    /* "": none yet (SERVED_LATEST) */
	int64_t skipped;         /* lines at its beginning that the copy does not have */
	char *base;              /* of the server's URLs */
	bool ended;              /* nothing more is said */
};

bool served_is_url(const char *argument);
/* Starts copying, and waits until everything that the server has now is copied; warn is called for
 * messages until then. range NULL: everything. -1: the error of awf-fetch-run. */
int served_open(struct served *s, const char *url, unsigned what, const struct served_range *range,
    void (*warn)(const struct error *warning), struct error *err);

/* What has happened since. */
enum served_news { SERVED_NOTHING, SERVED_REPLACED, SERVED_WARNING, SERVED_FAILED };
struct served_change {
	struct error error;      /* the warning; for SERVED_FAILED: nothing more will arrive */
	/* The transcript is another file, which is the same up to so many bytes. */
	char run_id[ID_SIZE];
	int64_t bytes;
	int64_t seq;             /* of the last of these events */
};
enum served_news served_next(struct served *s, struct served_change *change);
/* Where to wait for the next; fd -1 if there will be none. */
struct pollfd served_poll(const struct served *s);

/* Where an error is in the copy, it is named as the server has it. */
void served_name(const struct served *s, struct error *err);
void served_close(struct served *s);

#endif
