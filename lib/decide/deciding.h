/*
 * Making a decision: which call of which run, what, and with what data (decide/decision.h describes
 * its record). Nothing is executed; awf-run --resume does that afterwards.
 *
 * Everything is checked before the record is changed: the run, whether the caller may decide about
 * it, the waiting call, the key, then the data. So invalid data never causes a decision.
 * deciding_record() is called last, and checks under the transcript's lock that there is no
 * earlier decision.
 *
 * A call that asks, and whose process lives (decide/open_question.h), is answered in the same way:
 * that process gets the answer and says whether it accepts it. For a call whose command has handed
 * its work on and has not ended yet, the result is recorded, and the call finds it when it ends.
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
	struct waiting asks;      /* used as `at` if the call asks or works */
	struct working working;   /* the call whose command has not ended yet; .call NULL: none */
	char *named;              /* the call as the caller named it, and whether as a task */
	bool task;
	bool repeats;             /* it has its result: the given one must be the same */
	bool asked;               /* it is a question (awf-step --ask) */
	int question;             /* connection to the asking process; -1: none */
	char *schema;             /* of the answer, JSON Schema; NULL: none */
	struct decision decision;
	struct data *results;
	struct seal_key seal;
};

#define DECIDING_INIT { .question = -1 }

/* Splits RUN_ID/CALL or RUN_ID/CALL@TRY, as in $AWF_TASK and $AWF_TASK_TOKEN: sets run_id and
 * returns the part after the slash; NULL: it is neither. */
const char *deciding_task(const char *text, char run_id[ID_SIZE]);

/* A run must not approve or deny what waits in it, or in a run that it is inside of: ERROR_USAGE if
 * the asking process belongs to such a run, judged by its environment, those of its ancestors, and
 * whether one of them is the run's awf-run. A process that cannot be examined is refused too,
 * unless it is this one. */
int deciding_allowed(const struct storage *s, const char *run_id, enum decision_verdict verdict,
    pid_t asker, struct error *err);

/* Opens a run of the storage. ERROR_USAGE: it is masked, or was recorded elsewhere. Call
 * deciding_close() whatever the functions return; *d is DECIDING_INIT before. */
int deciding_open(struct deciding *d, const struct storage *s, const char *run_id,
    enum decision_verdict verdict, struct error *err);
/* Finds the call that waits for the verdict, or still works, by its path or id or, with task, by
 * its task or token. ERROR_USAGE: none, or several; ERROR_BLOCKED: it was decided before, or the
 * token is of another try. A call that already has its result is found too, as the given result may
 * be the same. */
int deciding_find(struct deciding *d, const char *call, bool task, struct error *err);
/* Loads the key that signs the decision from a file (NULL: the user's); demanded: it must exist. */
int deciding_sign(struct deciding *d, const char *seal_file, bool demanded, struct error *err);

/* Whether the end of the run is sealed, and by which key: 1, 0, or -1 with *err. */
int deciding_sealed(const struct deciding *d, char public_key[DIGEST_SIZE], struct error *err);

/* Loads what is to be approved: the input of the call. */
int deciding_approve(struct deciding *d, struct error *err);
/* After that: replaces it by something else in the same form; the same value is no edit. */
int deciding_edit(struct deciding *d, const char *bytes, size_t len, struct error *err);
/* The form in which the call expects its result (-O). */
enum input_form deciding_form(const struct deciding *d);
/* Reads the result or results of the call with a reader of that form; NULL: none. */
int deciding_complete(struct deciding *d, struct state_reader *reader, struct error *err);

/* Records the decision; decision.by and decision.reason are set before. ERROR_BLOCKED: the call no
 * longer waits. ERROR_SCHEMA: the asking process does not accept the answer. */
int deciding_record(struct deciding *d, struct error *err);
void deciding_close(struct deciding *d);

#endif
