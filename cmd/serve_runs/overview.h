/*
 * The overview of a run: its model (model/model.h), and what is reported about each call beyond the
 * model: its first and last event, tokens and cost. It is read in pieces, so that other work is not
 * delayed, and the reading continues where it stopped when the transcript has grown. An overview
 * that is no longer held is kept for a while.
 */
#ifndef AWF_SERVE_RUNS_OVERVIEW_H
#define AWF_SERVE_RUNS_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/id.h"
#include "httpd/loop.h"
#include "json/writer.h"
#include "model/cost.h"
#include "model/model.h"
#include "model/summary.h"
#include "model/told_state.h"
#include "storage/storage.h"

/* What is reported about a call beyond its model. */
struct overview_call {
	int64_t first_seq, last_seq;
	int64_t ended;               /* µs since 1970; 0: not yet */
	int64_t input_tokens, output_tokens;
	int64_t answered;            /* one more than the number of its last turn with an answer */
	int64_t cost;                /* nano-dollars, COST_NONE or COST_UNKNOWN */
};

/* A request to be notified when the overview was read. */
struct overview_waiter {
	/* failed: it cannot be read, with the error. */
	void (*ready)(struct overview_waiter *waiter, const struct error *failed);
	struct overview_waiter *next;
};

struct overview {
	struct overviews *all;
	struct overview *next;
	unsigned holders;
	bool kept;                   /* whoever released it may ask again: it is not
	                                freed at once */
	char run_id[ID_SIZE];
	char *path;
	ino_t inode;
	struct model model;
	struct overview_call *calls; /* by their number */
	size_t room;
	int64_t seq;                 /* of the last event */
	int64_t started;             /* µs, the time of the first event */
	struct event_place first;    /* run.started */
	char forked_from[ID_SIZE];
	/* Of all attempts. */
	int64_t cost;                /* of what is known */
	bool cost_unknown;           /* of some it is not */
	int64_t tokens[2];           /* input, output */
	/* From the run.completed of the last attempt. */
	char *error;                 /* as of a summary */
	char status[16];             /* "": there is none */
	int64_t exit_code, duration_ms, calls_told, tokens_told[2];
	bool calls_are_told;

	int64_t piece_from, piece_until; /* of the piece that is being read: where it begins, when
	                                    it must end */
	struct overview_waiter *waiters;
	struct loop_task task;
	struct loop_timer unused;
};

struct overviews {
	struct loop *loop;
	const struct storage *storage;
	struct cost prices;          /* its table alone is used */
	bool priced;
	struct overview *first;
	size_t unused;               /* how many are not held by anybody */
};

void overviews_open(struct overviews *all, struct loop *loop, const struct storage *storage);
void overviews_close(struct overviews *all);

/* Never NULL; whether the run can be read is reported by overview_read(). */
struct overview *overview_hold(struct overviews *all, const char *run_id);
void overview_release(struct overview *o);
/* Releases it; it is not kept, unless another user has it or has released it. */
void overview_drop(struct overview *o);
/* Has it read up to where its file ends now; the waiter is called then, once, before the function
 * returns if there is nothing to read. */
void overview_read(struct overview *o, struct overview_waiter *waiter);
/* Takes a waiter back. */
void overview_forget(struct overview *o, struct overview_waiter *waiter);

/* Fills in what summary_read() would; the caller calls summary_free(). alive: the result of
 * storage_run_alive(). */
void overview_summary(const struct overview *o, bool alive, struct summary *s);
/* How many calls wait for a person. */
size_t overview_waiting(const struct overview *o);
/* The number of the last turn of a call that has an answer; -1: there is none. */
int64_t overview_answered(const struct overview *o, const struct model_call *call);
/* Nano-dollars, or COST_UNKNOWN. */
int64_t overview_cost(const struct overview *o);
/* The word for a state in answers. "open" stands for a call without an end. */
const char *overview_state_word(enum view_saying state);
/* Writes a call as an object; its state is that of its end. */
void overview_write_call(const struct overview *o, const struct model_call *call,
    struct writer *w);

#endif
