/*
 * Copies the latest run of a server, and each run that becomes the latest; `latest` in the copy is
 * set to it once the beginning of its record is there, as awf-run(1) does where runs are recorded.
 *
 * What the code relies on, and keeps:
 *   - The server reports runs that begin or are resumed in a stream, and runs that began
 *     while the stream was interrupted in its list: the list is requested each time after the
 *     stream has begun.
 *   - Of two runs the one with the later start time is newer. These times are the server's; this
 *     machine's clock is not used.
 *   - A run that was alive before this program began is not the latest because of that; it becomes
 *     the latest if it was reported as dead, or not at all, and is then reported as alive.
 *   - Child runs, and runs that the server received from elsewhere, are never the latest.
 */
#ifndef AWF_FETCH_LATEST_H
#define AWF_FETCH_LATEST_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/map.h"
#include "fetched.h"
#include "net/sse.h"

struct latest {
	struct fetch *fetch;
	struct http_call get;     /* of the stream */
	struct sse events;
	bool begun;              /* something has arrived in it */
	bool listed;             /* and the list that was requested then was handled */
	int64_t again_at;        /* when the stream is requested again; 0: it is running */
	int64_t delay_ms;        /* before the next request */
	char newest[CLOCK_TEXT_SIZE]; /* start time of the newest known run; "": none */
	char newest_id[ID_SIZE];
	struct map going;        /* runs: 1 if last reported as alive, otherwise 0 */
	struct buffer arrived;   /* received objects of runs, one per line */
};

/* Begins with the run that is the latest now, if there is one. */
int latest_open(struct latest *l, struct fetch *f, struct error *err);
/* Handles what has arrived. */
int latest_round(struct latest *l, struct error *err);
/* How long there is nothing to do, in ms. */
int64_t latest_patience(const struct latest *l);
void latest_close(struct latest *l);

#endif
