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
	int64_t answered;            /* 1 + number of the last turn that has an answer; 0: none */
	int64_t cost;                /* nano-dollars, COST_NONE or COST_UNKNOWN */
};

/* A request to be notified when the overview was read. */
struct overview_waiter {
	/* Called with the error if the run cannot be read, else with NULL. */
	void (*ready)(struct overview_waiter *waiter, const struct error *failed);
	struct overview_waiter *next;
};

struct overview {
	struct overviews *all;
	struct overview *next;
	unsigned holders;
	bool kept;                   /* its last user may ask for it again: then it is not freed at
	                                once */
	char run_id[ID_SIZE];
	char *path;
	ino_t inode;
	struct model model;
	struct overview_call *calls; /* indexed by the call's number */
	size_t room;
	int64_t seq;                 /* of the last event */
	int64_t started;             /* µs, the time of the first event */
	struct event_place first;    /* the first run.started */
	char forked_from[ID_SIZE];
	/* Totals of all attempts. */
	int64_t cost;                /* of the calls whose cost is known */
	bool cost_unknown;           /* the cost of some calls is not known */
	int64_t tokens[2];           /* input, output */
	/* From the run.completed of the last attempt. */
	char *error;                 /* its message, as in a summary */
	char status[16];             /* "": there is none */
	int64_t exit_code, duration_ms, calls_told, tokens_told[2];
	bool calls_are_told;

	int64_t piece_from, piece_until; /* for the piece that is being read: its offset, and the
	                                    time at which reading stops */
	struct overview_waiter *waiters;
	struct loop_task task;
	struct loop_timer unused;
};

struct overviews {
	struct loop *loop;
	const struct storage *storage;
	struct cost prices;          /* only its table of prices is used */
	bool priced;
	struct overview *first;
	size_t unused;               /* number of overviews without a user */
};

void overviews_open(struct overviews *all, struct loop *loop, const struct storage *storage);
void overviews_close(struct overviews *all);

/* Never NULL; whether the run can be read is reported by overview_read(). */
struct overview *overview_hold(struct overviews *all, const char *run_id);
void overview_release(struct overview *o);
/* Releases it, and frees it at once if it has no other user and none has released it with
 * overview_release(). */
void overview_drop(struct overview *o);
/* Reads the run up to the present end of its file, then calls the waiter once; before it returns,
 * if there is nothing to read. */
void overview_read(struct overview *o, struct overview_waiter *waiter);
/* Cancels a waiter: it will not be called. */
void overview_forget(struct overview *o, struct overview_waiter *waiter);

/* Fills in what summary_read() would; the caller calls summary_free(). alive: result of
 * storage_run_alive(). */
void overview_summary(const struct overview *o, bool alive, struct summary *s);
/* How many calls wait for a person's decision. */
size_t overview_waiting(const struct overview *o);
/* The number of the last turn of a call that has an answer; -1: there is none. */
int64_t overview_answered(const struct overview *o, const struct model_call *call);
/* The cost of the run in nano-dollars, or COST_UNKNOWN. */
int64_t overview_cost(const struct overview *o);
/* The word for a state in answers of the server; "open" for a call that has not ended. */
const char *overview_state_word(enum view_saying state);
/* Writes a call as an object; its state is that of its last event. */
void overview_write_call(const struct overview *o, const struct model_call *call,
    struct writer *w);

#endif
