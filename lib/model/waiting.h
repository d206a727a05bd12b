/*
 * The waiting calls of a run, read from its transcript as part of its model (model/model.h). They
 * are kept across attempts.
 *
 * A call waits from the step.completed on whose payload.approval.asks says what it waits for. A
 * decision (decide/decision.h) refers to that end. A further attempt of the run may claim the call
 * and record another end that waits: this is the same wait. The wait is over when it was decided,
 * when an attempt that claimed the call ended it, when an attempt made a call of the same name
 * again without claiming it, or when the run has succeeded.
 *
 * Work that a command starts elsewhere (awf-step --pending) has two names. The task is the same
 * for each try of the call in all attempts, so that a service can recognize work that it already
 * has. The token belongs to one try, and a result with it is only accepted for that try. A result
 * may arrive before the command has ended as pending: then it is a decision about the call's
 * step.started, and is listed here as a wait that was already over when it began.
 */
#ifndef AWF_MODEL_WAITING_H
#define AWF_MODEL_WAITING_H

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
	char *task, *token;      /* of work that was handed on; token NULL: an older version's */
	bool first;              /* no try of the task came before this one */
	bool early;              /* the decision came first, and the call may never have waited */
	struct event_place decision; /* that ended it; length 0: none */
	int64_t iteration;
	int64_t attempt;         /* the last that has come to it */
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
	int64_t attempt;         /* of the run, so far */
	bool masked;             /* the run is */
	char child[ID_SIZE];     /* a run inside of it that waits, "" */
};

#define WAITINGS_INIT { .list = NULL }

/* The token of a try of a call (the first is 1), in memory of its own. */
char *waiting_token(const char *call, int64_t attempt, int64_t number);
/* Whether no try came before this one, of a task that began in the attempt which its name tells. */
bool waiting_is_first(const char *task, int64_t attempt, int64_t number);
/* What a text means that names work without its run: a token; or a task's name, which is enough as
 * long as there was one try. */
enum waiting_named { WAITING_OTHER, WAITING_THIS, WAITING_OTHER_TRY };
enum waiting_named waiting_is_named(const char *text, const char *task, const char *token, bool first);

/* Takes note of the next event and its place; begin: where the start of its call stands, if it is
 * of one. */
void waitings_take(struct waitings *w, const struct event_view *event, struct event_place begin,
    struct event_place place);
void waitings_free(struct waitings *w);

#endif
