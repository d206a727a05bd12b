/*
 * The summary of a run in a few figures, for lists of runs. It is read from the first line and the
 * end of the last attempt; only if there is no end (the run is running, or died) is the whole
 * transcript read.
 */
#ifndef AWF_MODEL_SUMMARY_H
#define AWF_MODEL_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "json/scan.h"

struct summary {
	char run_id[ID_SIZE];
	char *name;               /* of the workflow; "" if not known */
	char status[16];          /* running, died, or the status in run.completed; in lists also
	                             queued */
	bool child;               /* it has a parent run */
	bool step;                /* it has one step and no workflow */
	char parent[ID_SIZE];     /* run ids; "": none */
	char forked_from[ID_SIZE];
	int64_t started;          /* µs since 1970, of the first attempt */
	int64_t ended;            /* the time of its last line */
	int64_t duration_ms;      /* of the last attempt; if it is running, so far */
	int64_t exit_code;        /* -1: it has not ended */
	int64_t calls;            /* of the last attempt, without reused ones */
	int64_t input_tokens, output_tokens;
	int64_t cost;             /* set by listing_read(), see listing.h */
	char *origin;             /* set by listing_read(): who sends the run; NULL: nobody */
	char *waits;              /* set by listing_read(): its waiting calls, a JSON array; NULL:
	                             none, or not asked for */
	char *error;              /* JSON: the error of the last attempt; NULL: none was recorded */
};

/* -1 with *err if the transcript cannot be read or has no whole line. */
int summary_read(struct summary *s, const char *path, struct error *err);
/* The same without duration, calls and tokens. Reads only the first line and the last ones, however
 * long the transcript is. */
int summary_read_ends(struct summary *s, const char *path, struct error *err);
/* Whether the waiting calls of the run can be answered now: it is alive, or has ended because of
 * them. If it was cancelled, failed, timed out or died, its open calls are asked again when it is
 * resumed. Every display of runs uses this function. */
bool summary_asks(const struct summary *s);
void summary_free(struct summary *s);
/* The error in the payload of a run.completed, as JSON; NULL: there is none, or it is too long for
 * a list. */
char *summary_error(struct span payload);

#endif
