/*
 * The summary of a run in a few figures, for lists of runs. It is taken from the first line and
 * the end of the last attempt; only if there is no end (the run is running, or died) are the lines
 * in between read.
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
	char *name;               /* of the workflow; "" if it is not known */
	char status[16];          /* running, died, or that of run.completed; queued, in lists */
	bool child;               /* it has a parent run */
	bool step;                /* it is of one step, without a workflow */
	char parent[ID_SIZE];     /* run ids; "": none */
	char forked_from[ID_SIZE];
	int64_t started;          /* µs since 1970, of the first attempt */
	int64_t ended;            /* of its last line */
	int64_t duration_ms;      /* of the last attempt, so far if it is running */
	int64_t exit_code;        /* -1: none yet */
	int64_t calls;            /* of the last attempt; those it reused do not count */
	int64_t input_tokens, output_tokens;
	int64_t cost;             /* for listing_read(), see there */
	char *origin;             /* likewise: who sends it, NULL: nobody */
	char *waits;              /* likewise: its calls that wait, a JSON array; NULL: none, or not
	                           * asked for */
	char *error;              /* JSON: why the last attempt ended so; NULL: it does not say */
};

/* -1 with *err if the transcript cannot be read or has no whole line. */
int summary_read(struct summary *s, const char *path, struct error *err);
/* The same without the figures: duration, calls and tokens. It reads the first line and
 * the last ones, however long it is. */
int summary_read_ends(struct summary *s, const char *path, struct error *err);
/* Whether calls of it that wait ask somebody: those of a run that lives, or that has ended because
 * of them. What a run that was cancelled, failed, timed out or died has left open asks nobody: it is
 * asked anew if the run is resumed. All displays of runs go by this. */
bool summary_asks(const struct summary *s);
void summary_free(struct summary *s);
/* The error in the payload of a run.completed, as JSON; NULL: there is none, or it is too long for
 * a list. */
char *summary_error(struct span payload);

#endif
