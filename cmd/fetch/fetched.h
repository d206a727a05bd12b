/*
 * Runs on their way from a server into a directory that is laid out as a storage:
 *
 *     transcripts/<run-id>.jsonl  blobs/<run-id>/<sha256>  inputs/<run-id>
 *     runs/<run-id>/lock          held while the run goes on, as by its owner where it is recorded
 *
 * What the code relies on, and keeps:
 *   - What a line names (blobs, a child run's transcript) is there before the line is, if the
 *     server has it: readers look for it when they have read the line.
 *   - The lock is free when nothing more will come of the run: not while the server is gone.
 *   - A child run that the server does not have yet is asked for again before each further line
 *     of its parent is written.
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
	struct http *http;       /* for what goes on beside each other */
	char *directory;
	bool follow;             /* to the end of each run */
	bool forever;            /* runs come and go (fetch/latest.h) */
	bool children;           /* child runs, too */
	bool origins;            /* and the runs that forks began with */
	bool blobs, input;
	long long after;         /* events up to this number are left out of the run that is asked for;
	                            0, too, once its record was another one */
	long long last;          /* and those before so many; -1: none */
	struct fetched **runs;
	size_t count;
	bool lost;               /* the server is gone, and that was told */
	bool failed;             /* so was that nothing more will come */
	int status;              /* to exit with, then */
};

struct fetched {
	struct fetch *fetch;
	char run_id[ID_SIZE];
	const struct fetched *parent; /* NULL: it was asked for */
	enum { FETCH_MISSING, FETCH_LOADING, FETCH_FOLLOWING, FETCH_OVER } phase;
	bool alive;              /* as the server last said */
	bool loaded;             /* all that there was when it was begun is here */
	bool latest;             /* it is to be so called (fetch/latest.h) once it has a line */
	int lock;                /* -1 */
	struct copy copy;
	struct http_get get;
	struct buffer incoming;
	int64_t again_at;        /* when it is asked for again; 0: it is on its way, or over */
	int64_t delay_ms;        /* before that */
	unsigned tries;          /* that were cut off, one after another */
};

/* Asks for a run: its id, whether it is alive, and the number of its last event (may be NULL). */
enum answered fetch_ask(struct fetch *f, const char *run, char run_id[ID_SIZE], bool *alive,
    int64_t *seq, struct error *err);
/* Adds a run, which is asked for from then on. NULL: the copy cannot be made. */
struct fetched *fetch_add(struct fetch *f, const char run_id[ID_SIZE], bool alive,
    const struct fetched *parent, struct error *err);
struct fetched *fetch_find(const struct fetch *f, const char *run_id);
/* A run that was over goes on. */
int fetch_again(struct fetched *run, struct error *err);
/* Asks for what is due, and takes what has come. -1: nothing more will. */
int fetch_round(struct fetch *f, struct error *err);
/* How long there is nothing to do, in ms. */
int64_t fetch_patience(const struct fetch *f);
/* Whether all that there was is here, child runs too. */
bool fetch_loaded(const struct fetch *f);
/* That the server is gone is told once, until it is there again. */
void fetch_tell_lost(struct fetch *f, const struct error *why);
void fetch_end(struct fetch *f);

#endif
