/*
 * The overview of a run: its model (model/model.h), and beside that what is told of each call and
 * is not part of it: its first and last event, tokens and cost. It is read in pieces, between
 * which others have their turn, and goes on where it was when the transcript has grown. It is
 * kept a while after nobody asks for it any more.
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

/* What is told of a call beside its model. */
struct overview_call {
	int64_t first_seq, last_seq;
	int64_t ended;               /* µs since 1970; 0: not yet */
	int64_t input_tokens, output_tokens;
	int64_t answered;            /* one more than the number of its last turn with an answer */
	int64_t cost;                /* nano-dollars, COST_NONE or COST_UNKNOWN */
};

/* Who wants to know when it was read. */
struct overview_waiter {
	/* failed: it cannot be read, with the error. */
	void (*ready)(struct overview_waiter *waiter, const struct error *failed);
	struct overview_waiter *next;
};

struct overview {
	struct overviews *all;
	struct overview *next;
	unsigned holders;
	bool kept;                   /* somebody has released it, who may ask again */
	char run_id[ID_SIZE];
	char *path;
	ino_t inode;
	struct model model;
	struct overview_call *calls; /* by their number */
	size_t room;
	int64_t seq;                 /* of the last event */
	int64_t started;             /* µs, of the first event */
	struct event_place first;    /* run.started */
	char forked_from[ID_SIZE];
	/* Of all attempts. */
	int64_t cost;                /* of what is known */
	bool cost_unknown;           /* of some it is not */
	int64_t tokens[2];           /* input, output */
	/* Of the last attempt's run.completed. */
	char *error;                 /* as of a summary */
	char status[16];             /* "": there is none */
	int64_t exit_code, duration_ms, calls_told, tokens_told[2];
	bool calls_are_told;

	int64_t piece_from, piece_until; /* of the piece that is read just now: its begin, its time */
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
	size_t unused;               /* of them that nobody holds */
};

void overviews_open(struct overviews *all, struct loop *loop, const struct storage *storage);
void overviews_close(struct overviews *all);

/* Never NULL; that a run cannot be read is told when it is. */
struct overview *overview_hold(struct overviews *all, const char *run_id);
void overview_release(struct overview *o);
/* The same, and it is not kept, unless somebody else has it. */
void overview_drop(struct overview *o);
/* Has it read up to where its file ends now; the waiter is called then, once, before the function
 * returns if there is nothing to read. */
void overview_read(struct overview *o, struct overview_waiter *waiter);
/* Takes a waiter back. */
void overview_forget(struct overview *o, struct overview_waiter *waiter);

/* As summary_read() would; summary_free() it. alive: as storage_run_alive() said. */
void overview_summary(const struct overview *o, bool alive, struct summary *s);
/* How many calls wait for somebody. */
size_t overview_waiting(const struct overview *o);
/* The number of the last turn of a call that has an answer; -1: none has. */
int64_t overview_answered(const struct overview *o, const struct model_call *call);
/* Nano-dollars, or COST_UNKNOWN. */
int64_t overview_cost(const struct overview *o);
/* The word for a state in answers. "open" is what has no end, or waits and asks nobody. */
const char *overview_state_word(enum view_saying state);
/* A call as an object, its state that which its end tells. */
void overview_write_call(const struct overview *o, const struct model_call *call,
    struct writer *w);

#endif
