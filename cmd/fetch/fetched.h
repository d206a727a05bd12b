/*
 * Runs that are copied from a server into a directory laid out as a storage:
 *
 *    transcripts/<run-id>.jsonl   blobs/<run-id>/<sha256>   inputs/<run-id>
 *    runs/<run-id>/lock           held while the run lives, as by its owner where it is recorded
 *
 * What the code relies on, and keeps:
 *   - What a line names (blobs, a child run's transcript) is copied before the line, if the server
 *     has it: readers look for it when they have read the line.
 *   - The lock is released when nothing more will come of the run, but not while the server
 *     cannot be reached.
 *   - A child run that the server does not have yet is requested again before each further line of
 *     its parent is written.
 */
#ifndef AWF_FETCH_FETCHED_H
#define AWF_FETCH_FETCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/id.h"
#include "copy.h"
#include "net/http.h"
#include "server.h"

struct fetched;

struct fetch {
	struct server server;
	struct http *http;       /* for concurrent transfers */
	char *directory;
	bool follow;             /* each run to its end */
	bool forever;            /* runs come and go (fetch/latest.h) */
	bool children;           /* copy child runs */
	bool origins;            /* copy the runs that forks began with */
	bool blobs, input;
	long long after;         /* skip events up to this number in the requested run; 0 also after
	                            its record was replaced */
	long long last;          /* only the last events, this many; -1: all */
	struct fetched **runs;
	size_t count;
	bool lost;               /* the server cannot be reached, and this was reported */
	bool failed;             /* nothing more will come, and this was reported */
	int status;              /* exit status in that case */
};

struct fetched {
	struct fetch *fetch;
	char run_id[ID_SIZE];
	const struct fetched *parent; /* NULL: it was requested by the user */
	enum { FETCH_MISSING, FETCH_LOADING, FETCH_FOLLOWING, FETCH_OVER } phase;
	bool alive;              /* according to the server's last answer */
	bool loaded;             /* everything that existed when it was begun is here */
	bool latest;             /* `latest` is set to it (fetch/latest.h) once it has a line */
	int lock;                /* -1 */
	struct copy copy;
	struct http_call get;
	struct buffer incoming;
	int64_t again_at;        /* time of the next request; 0: a request is running, or the
	                            run is over */
	int64_t delay_ms;        /* before the next request */
	unsigned tries;          /* consecutive answers that were interrupted */
};

/* Asks for a run: gets its id, whether it lives, and the number of its last event (seq
 * may be NULL). */
enum answered fetch_ask(struct fetch *f, const char *run, char run_id[ID_SIZE], bool *alive,
    int64_t *seq, struct error *err);
/* Adds a run, which is then copied. NULL: the copy cannot be made. */
struct fetched *fetch_add(struct fetch *f, const char run_id[ID_SIZE], bool alive,
    const struct fetched *parent, struct error *err);
struct fetched *fetch_find(const struct fetch *f, const char *run_id);
/* A run that was over lives again. */
int fetch_again(struct fetched *run, struct error *err);
/* Makes the requests that are due, and handles what has arrived. -1: nothing more will come. */
int fetch_round(struct fetch *f, struct error *err);
/* How long there is nothing to do, in ms. */
int64_t fetch_patience(const struct fetch *f);
/* Whether everything that existed at the start is here, including child runs. */
bool fetch_loaded(const struct fetch *f);
/* Reports that the server cannot be reached: once, until it can be again. */
void fetch_tell_lost(struct fetch *f, const struct error *why);
void fetch_end(struct fetch *f);

#endif
