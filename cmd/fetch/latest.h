/*
 * The latest run of a server, and each that becomes it: all are copied, and `latest` in the copy
 * is moved to each once its beginning is there, as awf-run(1) moves it where runs are recorded.
 *
 * What the code relies on, and keeps:
 *   - The server tells of runs that begin or go on in a stream, and in its list of those that
 *     began while that was cut off: the list is asked for each time the stream has begun.
 *   - Of two runs the later is the one that says so by its start, by the server's clock: this
 *     one's is not asked.
 *   - A run that began before all this and is alive is not the latest for that; it is when it
 *     was told to be dead, or not at all, before it is told to be alive.
 *   - Child runs, and runs that the server has from elsewhere, are never the latest.
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
	struct http_get get;     /* of the stream */
	struct sse events;
	bool begun;              /* something came in it */
	bool listed;             /* and the list, which was asked for then */
	int64_t again_at;        /* when it is asked for again; 0: it is on its way */
	int64_t delay_ms;        /* before that */
	char newest[CLOCK_TEXT_SIZE]; /* when the last one began that is known; "": none is */
	char newest_id[ID_SIZE];
	struct map going;        /* runs that were alive when they were told of last: 1; else 0 */
	struct buffer arrived;   /* the objects of runs that it tells of, a line each */
};

/* Begins with the run that is the latest now, if there is one. */
int latest_open(struct latest *l, struct fetch *f, struct error *err);
/* Takes what has come. */
int latest_round(struct latest *l, struct error *err);
/* How long there is nothing to do, in ms. */
int64_t latest_patience(const struct latest *l);
void latest_close(struct latest *l);

#endif
