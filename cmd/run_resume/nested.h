/*
 * Nested: decides what a child run reuses of a recorded child when its parent is resumed or forked.
 *
 *  - A child that succeeded and gets the same input is not run again: its stdout is in the
 *    parent's transcript. Input is the same if its bytes are, or if it consists of state lines
 *    with the same data: ids and tokens differ in each attempt.
 *  - Any other child is resumed under its own id, as a further attempt with the input that it gets
 *    now: its calls look up their own records, so nothing is done twice. A child that succeeded
 *    after its parent had died is also resumed, as its stdout was not recorded.
 *  - In a fork the child is forked too: the run of another parent is another run.
 *  - A detached child is reused if it exists; it is never resumed.
 *  - With other arguments or --input values it is another child.
 *
 * When the parent is replayed, a child is not run, and its recorded result is used; a child is
 * replayed by itself, as awf-verify --determinism does (source_open_child()).
 *
 * The user's decisions about calls inside of it (--redo, --skip) name the child's call and the call
 * in it: brief:0:0/send:0:0, or brief.send for all of them. They are passed on in the parent's file
 * runs/<id>/decided.
 */
#ifndef AWF_RUN_RESUME_NESTED_H
#define AWF_RUN_RESUME_NESTED_H

#include <stdbool.h>

#include "base/error.h"
#include "history/history.h"
#include "history/recall.h"
#include "run_resume/child.h"
#include "run_resume/same_input.h"
#include "storage/state.h"

enum nested_way {
	NESTED_NEW,    /* it was not recorded, or nothing is left of it */
	NESTED_REUSE,  /* use its recorded result */
	NESTED_AGAIN,  /* resume it */
	NESTED_FORK,   /* fork it */
	NESTED_REPLAY  /* use its recorded end */
};

/* The user's decisions about calls inside of a child run, as in history_answers; owned. */
struct nested_answers {
	char **redo, **skip, **new_steps;
	bool redo_changed;
};

struct nested {
	enum nested_way way;
	char run_id[ID_SIZE];     /* of the recorded child; "" if NESTED_NEW */
	struct data result;       /* if NESTED_REUSE, NESTED_REPLAY */
	struct input_digests given; /* what end says, or that of what is taken as done */
	struct input_digests given_early; /* if NESTED_REPLAY: what the recorded start says */
	struct child_end end;     /* if NESTED_REPLAY */
	struct error error;       /* of end */
	char completed[ID_SIZE], compared_with[ID_SIZE];
	struct nested_answers answers;
	struct child_recorded claims, reused_from;

	struct history *history;  /* of the parent; NULL: none */
	struct recall recall;
	struct recalled recalled;
	bool recalls;
};

/* Looks the child up in the history of its parent and claims the record; c is defined. In a
 * replay the child is not run: its recorded end is used if it gets the same input, as far as that
 * was recorded completely; otherwise ERROR_DIVERGENCE. *input: its stdin (-1: none). If it had to
 * be read, *input is replaced by a descriptor with the same bytes. Call nested_free() whatever
 * the result. */
int nested_find(struct nested *n, struct child *c, int *input, struct error *err);
/* Whether the parent is resumed, so that its calls are compared with the recorded ones. */
bool nested_goes_on(const struct nested *n);
/* step.call_workflow.started is on disk, so the claim is final. */
void nested_claimed(struct nested *n);
void nested_free(struct nested *n);

/* What a PATH names inside of the call of a child run, or of calls with that path; NULL if nothing. names:
 * history_child.names. */
const char *nested_path_inside(const char *path, const char *call, const char *names, const char *call_path);
/* Those that name something inside of it, as they are named there. */
struct nested_answers nested_answers_inside(const struct history_answers *around, const char *call,
    const char *names, const char *path);
/* As they are handed on. */
struct history_answers nested_answers_of(const struct nested_answers *answers);
void nested_answers_free(struct nested_answers *answers);
/* Writes the answers for the children of a run to its file "decided". */
int nested_decide(const char *run_directory, const struct history_answers *answers, struct error *err);

#endif
