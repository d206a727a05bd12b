/*
 * The outcome of an attempt, computed only from its events: which failures count (awf-run(1), "The
 * end of a run"), what waits, how much was used.
 *
 * A call that waits waits, however it was started and whatever was decided since: that is for the
 * next attempt. A call failed if it ended with an error or never ended, unless
 *   - it was started with --try;
 *   - it ended with an error and --allow-failure, or downstream_closed;
 *   - it was made in a try of an enclosing call that succeeded in a later try;
 *   - a --rescue call on its line succeeded;
 *   - a tool made it: what became of it is the tool's result;
 *   - it is a branch of a group whose strategy is any or best-effort, and that succeeded or waits;
 *   - a call that encloses it failed and is excused by one of these;
 *   - it was cancelled in a call that ended with downstream_closed.
 *
 * A later successful call does not make up for a failed one: it may be different work with the
 * same input, as in `for f in …; do awf-step -n fetch -- get $f; done`. A call that looks like
 * another try is only mentioned in the message.
 *
 * A call ends once: what is decided later of one that waits counts for the next attempt.
 */
#ifndef AWF_MODEL_OUTCOME_H
#define AWF_MODEL_OUTCOME_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "model/item_name.h"
#include "model/model.h"
#include "model/waiting.h"

struct outcome {
	int64_t calls, failed, waiting;    /* failed, waiting: what is not excused */
	char first_failed[256];            /* its call, "" if none: of those that were not cancelled,
	                                      if there is one */
	char failed_item[ITEM_NAME_SIZE];  /* what that is named by, behind the first; "" */
	char repeated_by[256];             /* one that looks like a later try of that; "" */
	char first_waiting[256];           /* of those that ask for something, if any does */
	enum waiting_for asks;             /* what for */
	int64_t asking;                    /* how many ask */
	int64_t decisions;                 /* how many asked and were decided about meanwhile */
	struct error error;                /* of the first failed call */
	struct event_place failed_end;     /* its end, or that of the call in it that failed last;
	                                      length 0: none of them has ended */
	/* What the last terminal call said. Cancelling, a time limit, AWF's own failure and a
	 * call that waits come before it; it comes before all else. */
	enum run_decision decision;
	struct error decided;              /* of RUN_FAILS */
	struct buffer usage;               /* JSON object: calls, and token counts summed */
};

/* Reads the events of the last attempt in the transcript at path, from the line on that begins
 * at byte `from`, which is 0 or not behind that attempt's start: linear in the size of that,
 * with memory for the calls that are open, failed or wait. */
int outcome_read(struct outcome *o, const char *path, int64_t from, struct error *err);
/* The same of a run whose model is at hand, of any level; path is where it was read. */
void outcome_of(struct outcome *o, const struct model *m, const char *path);
/* Whether a call waits that was made inside of the call with that id, whatever a shell has
 * made of it: why the last of them waits, in memory of its own; NULL: none does. from: not behind the
 * first of the calls in it. What is excused does not count, nor what cannot be read. */
char *outcome_waiting_inside(const char *path, int64_t from, const char *around);
void outcome_free(struct outcome *o);

#endif
