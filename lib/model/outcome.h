/*
 * The outcome of an attempt, computed only from its events: which failures count (awf-run(1), "The
 * end of a run"), what waits, how much was used.
 *
 * A call that waits counts as waiting, however it was started and even if it was decided about
 * since: that is for the next attempt. A call failed if it ended with an error or never ended,
 * unless
 *   - it was started with --try;
 *   - it ended with an error and --allow-failure, or with downstream_closed;
 *   - it was made in a try of an enclosing call that succeeded in a later try;
 *   - a --rescue call on its line succeeded;
 *   - a tool made it: its failure is part of the tool's result;
 *   - it is a branch of a group whose strategy is any or best-effort, and the group succeeded or
 *     waits;
 *   - a call that encloses it failed and is excused by one of these rules;
 *   - it was cancelled inside a call that ended with downstream_closed.
 *
 * A later successful call does not make up for a failed one: it may be different work with the same
 * input, as in `for f in …; do awf-step -n fetch -- get $f; done`. A call that looks like another
 * try is only mentioned in the message.
 */
#ifndef AWF_MODEL_OUTCOME_H
#define AWF_MODEL_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "model/item_name.h"
#include "model/model.h"
#include "model/waiting.h"

#define OUTCOME_CALL 512 /* longer ids are not given whole */

struct outcome {
	int64_t calls, failed, waiting;    /* failed, waiting: those that are not excused */
	char first_failed[OUTCOME_CALL];   /* the id of the first failed call, preferably of one
	                                      that was not cancelled; "": none */
	char failed_item[ITEM_NAME_SIZE];  /* the name of its item (model/item_name.h); "" for the
	                                      first item */
	char repeated_by[256];             /* a call that looks like a later try of it; "" */
	char first_waiting[OUTCOME_CALL];  /* the id of the first waiting call, preferably of one
	                                      that asks for something; "" */
	enum waiting_for asks;             /* what that asks for */
	bool asleep;                       /* it is a child run, which sleeps */
	int64_t asking;                    /* how many waiting calls ask */
	int64_t decisions;                 /* how many waiting calls were decided about since */
	struct error error;                /* of the first failed call */
	struct event_place failed_end;     /* the end of that call, or of the call inside it that
	                                      failed last; length 0: none has an end */
	/* What the last terminal call decided. A cancellation, a time limit, an error of AWF itself
	 * or a call that waits take precedence over it; it takes precedence over failed calls. */
	enum run_decision decision;
	struct error decided;              /* the error of RUN_FAILS */
	struct buffer usage;               /* JSON object: the number of calls, and the sums of the
	                                      token counts */
};

/* Reads the events of the last attempt in the transcript at path, from the line at offset `from`
 * on, which is 0 or not after the start of that attempt. Takes time linear in the size of what is
 * read, and memory for the calls that are open, failed or wait. */
int outcome_read(struct outcome *o, const char *path, int64_t from, struct error *err);
/* The same for a run whose model, of any level, has been read from path. */
void outcome_of(struct outcome *o, const struct model *m, const char *path);
/* Whether a call waits inside the call with that id, or a step has died there, even if a shell has hidden the
 * exit status: returns the message of the last such call, allocated, and sets its
 * code, ERROR_WAITING or ERROR_INTERRUPTED; NULL: there is none, or the file cannot be read. Calls that
 * are excused do not count. from: an offset not after the first call inside. */
char *outcome_unfinished_inside(const char *path, int64_t from, const char *around, enum error_code *code);
void outcome_free(struct outcome *o);

#endif
