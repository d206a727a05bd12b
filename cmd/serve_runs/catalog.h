/*
 * The catalog: for lists of runs, what is known about each run of the storage. A run is read when a
 * list first needs it, in pieces, so that other work is not delayed. The result is valid as long as
 * the file is the same (inode, size, time of change).
 *
 * While a client follows the list (stream.c), the directory of the transcripts is watched, and runs
 * that change are read again, each at most once a second. If the directory cannot be watched or was
 * replaced, all runs are checked.
 */
#ifndef AWF_SERVE_RUNS_CATALOG_H
#define AWF_SERVE_RUNS_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/id.h"
#include "base/map.h"
#include "httpd/loop.h"
#include "json/writer.h"
#include "model/summary.h"
#include "serve_runs/overview.h"
#include "serve_runs/tokens.h"
#include "storage/storage.h"

struct catalog_run {
	char run_id[ID_SIZE];
	int64_t started;             /* µs since 1970; 0: not looked at yet */
	bool gone;
	bool there;                  /* found by the scan that is in progress */
	/* The file as it was read. */
	ino_t inode;
	off_t size;
	struct timespec changed;
	bool unreadable;             /* the last attempt to read it failed and was logged */
	bool known;                  /* name and status in summary are set */
	bool figured;                /* so are the other figures */
	struct summary summary;
	size_t waiting;              /* calls that wait for a person's decision */
	size_t asked;                /* calls that ask a person something right now, and since when the
	                                first of them does, µs since 1970 */
	int64_t asked_since;
	/* Totals of all its attempts. */
	int64_t events, tokens[2], cost; /* of the calls whose cost is known */
	bool cost_unknown;           /* the cost of some calls is not known */
	bool alive;
	/* For clients that follow the list of runs. */
	bool dirty;                  /* its file has changed since it was last read */
	int64_t told_at;             /* when it was last sent, clock_monotonic(); 0: never */
	uint64_t told;               /* digest of what was sent last */
	uint64_t revision;           /* the list's revision when it was last sent; 0: never */
	struct catalog_run *later, *earlier; /* neighbours in the list of runs by revision */
};

/* By what a list of runs is sorted; "started" needs only the first line of each run, "name" and "status" its
 * ends, all others the whole of each run that matches. */
enum catalog_sort { SORT_STARTED, SORT_NAME, SORT_STATUS, SORT_DURATION, SORT_CALLS, SORT_TOKENS, SORT_COST,
	CATALOG_SORTS };
extern const char *const catalog_sort_words[CATALOG_SORTS + 1];

/* A query for runs. The caller sets the members up to done. */
struct catalog_query {
	struct globs names;          /* patterns for names of workflows; freed by
	                                catalog_forget() */
	char status[16];             /* "": any */
	int64_t since;               /* µs since 1970 */
	size_t limit;
	enum catalog_sort sort;
	bool turned;                 /* the other way round: the usual one is the newest, the largest, or of
	                                texts the first of the alphabet first */
	bool children;
	bool ends;                   /* the caller needs only name and status */
	bool every;                  /* all runs, unsorted: for sums */
	bool asks;                   /* only runs that may ask a person something */
	char before[ID_SIZE];        /* only runs that come after this one in the list; "" */
	struct token *token;         /* only runs to which it gives access; a reference is held;
	                                NULL: all */
	/* Called once, when the result is complete. */
	void (*done)(struct catalog_query *q);

	struct catalog_run **found;
	size_t count;
	bool more;                   /* more runs match than limit */
	bool unread;                 /* the storage cannot be read, so the result is empty */

	/* Used only by catalog.c. */
	struct catalog *catalog;
	enum catalog_phase { CATALOG_SCAN, CATALOG_STARTS, CATALOG_WALK, CATALOG_FIGURES } phase;
	struct catalog_run **order;
	size_t order_count, at;
	struct catalog_run *queued;  /* queued runs that have no transcript */
	size_t queued_count;
	struct map beside;           /* for sums: runs that have more than a transcript */
	bool beside_known;
	struct overview *overview;   /* the query waits for it */
	struct overview_waiter waiter;
	struct loop_task task;
};

struct catalog {
	struct loop *loop;
	const struct storage *storage;
	struct overviews *overviews;
	struct catalog_run **runs;   /* all runs ever seen, removed ones too */
	size_t count, room;
	struct map by_id;            /* run id to index in runs */

	/* While clients follow the list. */
	size_t followers;
	bool following;              /* the runs that existed when the first follower
	                                came are known */
	void (*told)(void *context); /* called when a run has changed */
	void *context;
	struct loop_source changes;  /* inotify; fd -1: changes are not reported */
	int watch;                   /* inotify's watch of the transcripts' directory; -1: none */
	ino_t watched_inode;
	dev_t watched_device;
	int64_t watched_at;          /* clock_wall() when the directory was last watched */
	struct loop_timer second;
	struct loop_task refresh;    /* looks for dirty runs and reads them */
	size_t cursor;               /* index in runs; the search goes on downwards from it */
	struct catalog_query first;  /* for the runs that are running when the first
	                                follower comes */
	bool asking;
	struct catalog_run *looked_at;
	struct overview *overview;
	struct overview_waiter waiter;
	struct catalog_run *latest, *oldest; /* list of runs by revision */
	uint64_t revision;
};

void catalog_open(struct catalog *c, struct loop *loop, const struct storage *storage,
    struct overviews *overviews);
void catalog_close(struct catalog *c);
/* Starts answering a query; catalog_forget() ends it, finished or not. */
void catalog_ask(struct catalog *c, struct catalog_query *q);
void catalog_forget(struct catalog_query *q);
/* The status of a run in the result; "queued" if it is waiting in the queue. */
const char *catalog_status(const struct catalog_query *q, const struct catalog_run *run);
/* Writes a run that was found by a query, or any run, as an object. */
void catalog_write_found(const struct catalog_query *q, size_t index, struct writer *w);
void catalog_write(const struct catalog_run *run, struct writer *w);

/* Starts reporting changes; catalog_unfollow() must be called as often. */
void catalog_follow(struct catalog *c);
void catalog_unfollow(struct catalog *c);
/* The first run that changed after a revision; NULL: none. */
const struct catalog_run *catalog_changed(const struct catalog *c, uint64_t after);

#endif
