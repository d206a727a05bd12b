/*
 * The waiting calls of a run, read from its transcript as part of its model (model/model.h). They
 * are kept across attempts.
 *
 * A call waits from the step.completed on whose payload.approval.asks says what it waits for, or,
 * while its process waits with it, from a step.waiting on, which says the same. A
 * decision (decide/decision.h) refers to that event. A further attempt of the run may claim the call
 * and record another end that waits: this is the same wait. The wait is over when it was decided,
 * when an attempt that claimed the call ended it, when an attempt made a call with the same id
 * without claiming it, or when the run has succeeded.
 *
 * Work that a command starts elsewhere (awf-step --pending) has two names. The task is the same for
 * each try of the call in all attempts, so that a service can recognize work that it already has.
 * The token belongs to one try, and a result with it is only accepted for that try. A result may
 * arrive before the command has ended as pending: then it is a decision about the call's
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
	WAITING_TIME,        /* a time (awf-step --sleep), which is its deadline */
	WAITING_NOTHING
};

/* Parts of messages about a call that waits, and that for what it waits for. */
#define WAITING_FOR_DECISION "waits for a decision"
#define WAITING_FOR_RESULT "waits for its result"
#define WAITING_FOR_TIME "sleeps"
/* What a run says that waits, of itself: for a time alone; else. */
#define WAITING_ASLEEP "sleeping"
#define WAITING_FOR_PERSON "waiting for a person"
const char *waiting_words(enum waiting_for what);

/* The variable by which awf-run tells its steps how long the process of a call that waits stays alive, a
 * duration; and the usual one. */
#define ATTENDED_WAIT "AWF_WAIT"
#define ATTENDED_USUALLY "10m"

/* "approval", "completion", "time" */
const char *waiting_word(enum waiting_for what);
/* What the event's call waits for from this event on; WAITING_NOTHING if it does not wait. */
enum waiting_for waiting_of(const struct event_view *event);

/* Moves the reader to the last line that is not a decision: if the attempt has ended, this is its
 * end. Any number of decisions may follow. */
int waiting_seek_end(struct reader *r, struct error *err);

/* Whether the run whose transcript has just been read to its end has ended, so that only decisions
 * or a further attempt may follow: 1, 0, or -1 with *err. */
int waiting_run_ended(const struct transcript *t, struct error *err);

struct waiting {
	enum waiting_for what;
	char *name, *kind, *path;
	char *call;              /* the id of the call in the attempt that has its last end */
	char *task, *token;      /* of work that was handed over; token NULL: recorded by an older
	                            version */
	bool first;              /* no try of the task came before this one */
	bool attended;           /* its process waits with it, or did so until it was killed */
	bool early;              /* a decision that came first; the call may never have waited */
	struct event_place decision; /* the decision that ended the wait; length 0: none */
	int64_t iteration;
	int64_t attempt;         /* the last attempt that made or claimed it */
	struct event_place begin; /* its last step.started, if known */
	char end[ID_SIZE];       /* the id of the step.completed that waits */
	char form[8];            /* the form of its result: text, lines, nul, json */
	int64_t timeout_ms, deadline; /* for a result, or the time that is waited for; deadline in µs
	                                 since 1970; 0: none */
	bool over;
	bool used;               /* (over, by a decision) the call has gone on since */
	char *how;               /* why it is over: "approved by alice", "the run has succeeded" … */
};

struct waitings {
	struct waiting *list;
	size_t count;
	struct map by_event;     /* event ids of starts and ends → index */
	struct map by_call;
	int64_t attempt;         /* the current attempt of the run */
	bool masked;             /* the run hides data (masked in run.started) */
	char child[ID_SIZE];     /* the id of a child run that waits; "" */
};

#define WAITINGS_INIT { .list = NULL }

/* The token of a try of a call (the first try is 1), allocated. */
char *waiting_token(const char *call, int64_t attempt, int64_t number);
/* Whether this try is the first of its task: the first try in the attempt that is part of the
 * task's name. */
bool waiting_is_first(const char *task, int64_t attempt, int64_t number);
/* Whether a text names this wait, where names are accepted without a run id: its token, or its
 * task, which is sufficient if there was only one try. */
enum waiting_named { WAITING_OTHER, WAITING_THIS, WAITING_OTHER_TRY };
enum waiting_named waiting_is_named(const char *text, const char *task, const char *token, bool first);

/* Reads the next event. place: its position; begin: the position of its call's start, if it belongs
 * to a call. */
void waitings_take(struct waitings *w, const struct event_view *event, struct event_place begin,
    struct event_place place);
void waitings_free(struct waitings *w);

#endif
