/*
 * Nested: what a child run takes over of the one that was recorded in its place, when its
 * parent is resumed or is a fork.
 *
 *   - One that succeeded, and is given the same input, is not run again: what it wrote
 *     stands in the parent's record. Input is the same if its bytes are, or if they are
 *     state lines with the same data: their ids and tokens are anew in each attempt.
 *   - Any other goes on under its own id, in a further attempt of its own, with the input
 *     that it is given now: its calls look for their own records, so that nothing is done
 *     twice. So does one that succeeded after its parent had died, for what it wrote.
 *   - In a fork it is a fork itself: a run of another parent is another run.
 *   - A detached one is there, or not: it is never gone on with.
 *   - With other arguments or inputs it is another child.
 *
 * In the parent's replay a child is taken from the recording, and not run; it is replayed
 * by itself, as awf-verify --determinism does (source_open_child()).
 *
 * What the user decided about doubts inside of it (--redo, --skip) names them by the call
 * of the child and their own: brief:0:0/send:0:0, or brief.send for all of them. It is
 * handed down in runs/<id>/decided of the parent.
 */
#ifndef AWF_RUN_RESUME_NESTED_H
#define AWF_RUN_RESUME_NESTED_H

#include <stdbool.h>

#include "base/error.h"
#include "history/history.h"
#include "history/recall.h"
#include "run_resume/child.h"
#include "storage/state.h"

enum nested_way {
	NESTED_NEW,    /* nothing was recorded of it, or nothing is left */
	NESTED_REUSE,  /* its result stands */
	NESTED_AGAIN,  /* it goes on */
	NESTED_FORK,   /* it is forked */
	NESTED_REPLAY  /* it is as it was recorded: end */
};

/* What the user says of calls inside of a child run, in memory of its own: history_answers. */
struct nested_answers {
	char **redo, **skip, **new_steps;
	bool redo_changed;
};

struct nested {
	enum nested_way way;
	char run_id[ID_SIZE];     /* of the recorded child; "" if NESTED_NEW */
	struct data result;       /* if NESTED_REUSE, NESTED_REPLAY */
	struct child_end end;     /* if NESTED_REPLAY */
	struct error error;       /* in it */
	char completed[ID_SIZE], stdin_sha256[DIGEST_SIZE], compared_with[ID_SIZE];
	struct nested_answers answers;
	struct child_recorded claims, reused_from;

	struct history *history;  /* of the parent; NULL: it has none */
	struct recall recall;
	struct recalled recalled;
	bool recalls;
};

/* In a replay it is not run: its end is that of the recorded call, if it is given the same
 * input, as far as that was kept as a whole. ERROR_DIVERGENCE if not.
 *
 * Looks it up in the history of its parent, which keeps others from taking it; c is
 * defined. input: what it is given (-1: nothing), which may have been read to its end
 * then, and is another descriptor with the same bytes. nested_free() whatever the result. */
int nested_find(struct nested *n, struct child *c, int *input, struct error *err);
/* Whether its parent goes on, so that its calls are compared with what that did. */
bool nested_goes_on(const struct nested *n);
/* Its step.call_workflow.started is on disk: the claim stands. */
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
/* Keeps what was decided for those inside of a run. */
int nested_decide(const char *run_directory, const struct history_answers *answers, struct error *err);

#endif
