/*
 * The calls of a run that wait, as its transcript tells; part of its model (run/model.h), which
 * feeds it. They are kept over attempts.
 *
 * A call waits from the step.completed on that says in payload.approval.asks what for.
 * That end is what a decision (run/decision.h) is about. A further attempt of the run
 * may take the call over (claims) and let it wait on: it is the same wait then, with
 * another end. It is over when it was decided, when an attempt that took it over ended
 * it itself, when an attempt made a call of its name anew without taking it over, or
 * when the run has succeeded.
 */
#ifndef AWF_RUN_WAITING_H
#define AWF_RUN_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/map.h"
#include "transcript/event.h"
#include "transcript/reader.h"
#include "transcript/transcript.h"

enum waiting_for {
	WAITING_APPROVAL,    /* a yes or no to its input (awf-step --approve) */
	WAITING_COMPLETION,  /* its result (awf-step --pending) */
	WAITING_NOTHING
};

/* "approval", "completion" */
const char *waiting_word(enum waiting_for what);
/* What an event's call waits for from there on. */
enum waiting_for waiting_of(const struct event_view *event);

/* Positions at the last line that is no decision: where an attempt that has ended says
 * so. Any number of them may follow it. */
int waiting_seek_end(struct reader *r, struct error *err);

/* Whether the run whose transcript has just been caught up with has ended, and nothing but a
 * decision or a further attempt may follow: 1, 0, or -1 with *err. */
int waiting_run_ended(const struct transcript *t, struct error *err);

struct waiting {
	enum waiting_for what;
	char *name, *kind, *path;
	char *call;              /* as the attempt names it that has its end */
	char *task;              /* as the one did in which it began to wait */
	int64_t iteration;
	struct event_place begin; /* its last step.started, as far as that is known */
	char end[ID_SIZE];       /* the step.completed that waits */
	char form[8];            /* of a completion: text, lines, nul, json */
	int64_t timeout_ms, deadline; /* of a completion, µs since 1970; 0: none */
	bool over;
	char *how;               /* it is over: "approved by alice", "the run has succeeded" … */
};

struct waitings {
	struct waiting *list;
	size_t count;
	struct map by_event;     /* ids of starts and ends → index */
	struct map by_call;
	bool masked;             /* the run is */
	char child[ID_SIZE];     /* a run inside of it that waits, "" */
};

#define WAITINGS_INIT { .list = NULL }

/* Takes note of the next event; begin: where the start of its call stands, if it is of one. */
void waitings_take(struct waitings *w, const struct event_view *event, struct event_place begin);
void waitings_free(struct waitings *w);

#endif
