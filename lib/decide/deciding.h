/*
 * Deciding, as who says it: which call of which run, what, and with what data (decide/decision.h
 * has the record of it). Nothing is run; awf-run --resume does that afterwards.
 *
 * Everything is checked before the record is changed: the run, whether the caller may decide about
 * it, the waiting call, the key, then the data. So invalid data never causes a decision.
 * deciding_record() is called last, and checks under the transcript's lock that there is no
 * earlier decision.
 *
 * A call that asks, and whose process lives (decide/open_question.h), is answered in the same way:
 * that process is told, and says whether it takes the answer. So is one whose command has handed
 * its work on, and has not ended yet: the result is recorded, for the call to find.
 */
#ifndef AWF_DECIDE_DECIDING_H
#define AWF_DECIDE_DECIDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/id.h"
#include "decide/decision.h"
#include "storage/state.h"
#include "storage/storage.h"
#include "transcript/seal.h"

struct deciding {
	struct undecided undecided;
	char *directory;          /* of the run */
	bool opened;
	const struct waiting *at; /* NULL before deciding_find() */
	struct waiting asks;      /* that is it, if the call asks, or works */
	struct working working;   /* whose command has not ended yet; .call NULL: there is none */
	char *named;              /* as it was named, and how */
	bool task;
	bool repeats;             /* it has its result: this is to be the same */
	bool asked;               /* it is a question (awf-step --ask) */
	int question;             /* the connection to its process; else -1 */
	char *schema;             /* of the answer; NULL: none */
	struct decision decision;
	struct data *results;
	struct seal_key seal;
};

#define DECIDING_INIT { .question = -1 }

/* What names a call, or a try of it, behind the run in RUN_ID/CALL or RUN_ID/CALL@TRY, as $AWF_TASK
 * and $AWF_TASK_TOKEN have it; NULL: it is neither. */
const char *deciding_task(const char *text, char run_id[ID_SIZE]);

/* A run does not approve or deny what waits in it, nor in a run that it is inside of: ERROR_USAGE
 * if the process that asks for the verdict is part of such a one, by its environment, that of a
 * process that it was started by, or as its awf-run is one of those. A process that cannot be seen
 * is refused, too, unless it is this one. */
int deciding_allowed(const struct storage *s, const char *run_id, enum decision_verdict verdict,
    pid_t asker, struct error *err);

/* deciding_close() is called whatever the others return; *d is DECIDING_INIT.
 *
 * A run of the storage. ERROR_USAGE: it is masked, or recorded elsewhere. */
int deciding_open(struct deciding *d, const struct storage *s, const char *run_id,
    enum decision_verdict verdict, struct error *err);
/* The call that waits for the verdict, or still works, by its path or id or, with task, as its task
 * or token names it. ERROR_USAGE: none, or several; ERROR_BLOCKED: it was decided before, or the
 * token is of another try. A result is looked at first: it may be the one that the call has. */
int deciding_find(struct deciding *d, const char *call, bool task, struct error *err);
/* The key that signs the decision: of a file (NULL: the user's); demanded: there must be one. */
int deciding_sign(struct deciding *d, const char *seal_file, bool demanded, struct error *err);

/* Whether the end of the run is sealed, and by which key: 1, 0, or -1 with *err. */
int deciding_sealed(const struct deciding *d, char public_key[DIGEST_SIZE], struct error *err);

/* What is approved: the input of the call. */
int deciding_approve(struct deciding *d, struct error *err);
/* After that: something else, in the form it had; the same again is no edit. */
int deciding_edit(struct deciding *d, const char *bytes, size_t len, struct error *err);
/* The form in which the result of the call is to come (-O). */
enum input_form deciding_form(const struct deciding *d);
/* Its result, or several, which a reader of that form takes; NULL: it has none. */
int deciding_complete(struct deciding *d, struct state_reader *reader, struct error *err);

/* Records it: decision.by, and decision.reason, are set by then. ERROR_BLOCKED: it waits no
 * more. ERROR_SCHEMA: what asks does not take the answer. */
int deciding_record(struct deciding *d, struct error *err);
void deciding_close(struct deciding *d);

#endif
