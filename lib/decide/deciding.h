/*
 * Makes a decision about a call of a run, with its data (decide/decision.h describes how it is
 * recorded). Nothing is executed; awf-run --resume does that afterwards.
 *
 * Everything is checked before the record is changed: the run, whether the caller may decide about
 * it, the waiting call, the key, then the data. So invalid data never causes a decision.
 * deciding_record() is called last, and checks under the transcript's lock that there is no
 * earlier decision.
 *
 * A question that a process asks right now (decide/open_question.h) is answered with the same
 * functions: the process gets the answer, and says whether it accepts it. If the call's command has
 * handed its work to somebody else but is still running, the result is recorded, and the call finds
 * it when the command ends.
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
	const struct storage *storage; /* of deciding_open() */
	struct undecided undecided;
	char *directory;          /* the run's directory */
	bool opened;
	const struct waiting *at; /* NULL before deciding_find() */
	struct waiting asks;      /* the value of `at` if a process asks, or the command is still
	                             running */
	struct working working;   /* the call, if its command is still running; .call NULL: it is
	                             not */
	char *named;              /* the call as the caller has named it; task: it is the name of a
	                             task */
	bool task;
	bool repeats;             /* the call has its result already: the given one must be the
	                             same */
	bool asked;               /* it is a question (awf-step --ask) */
	int question;             /* connection to the asking process; -1: none */
	char *schema;             /* JSON Schema of the answer; NULL: none */
	struct decision decision;
	struct data *results;
	struct seal_key seal;
};

#define DECIDING_INIT { .question = -1 }

/* Splits RUN_ID/CALL or RUN_ID/CALL@TRY, as in $AWF_TASK and $AWF_TASK_TOKEN: sets run_id and
 * returns the part after the slash; NULL: it is neither. */
const char *deciding_task(const char *text, char run_id[ID_SIZE]);

/* A run must not approve or deny what waits in it, or in a run that it is inside of. ERROR_USAGE if
 * the process that wants to decide (asker) belongs to such a run: by its environment, by those of
 * its ancestors, or because one of them is the run's awf-run. A process that cannot be examined is
 * refused, too, unless it is this one. */
int deciding_allowed(const struct storage *s, const char *run_id, enum decision_verdict verdict,
    pid_t asker, struct error *err);

/* Opens a run of the storage, which must live as long as *d. ERROR_USAGE: it is masked, or was
 * recorded elsewhere. *d must be DECIDING_INIT before; call deciding_close() whatever these functions return. */
int deciding_open(struct deciding *d, const struct storage *s, const char *run_id,
    enum decision_verdict verdict, struct error *err);
/* Finds the call that waits for such a decision, or whose command is still running: by its path or
 * id; with task, by its task or token. ERROR_USAGE: there is none, or several; ERROR_BLOCKED: it
 * was decided before, or the token is that of another try. A call that already has its result is
 * found, too, since the given result may be the same. */
int deciding_find(struct deciding *d, const char *call, bool task, struct error *err);
/* Loads the key that signs the decision from a file (NULL: the user's); demanded: it must exist. */
int deciding_sign(struct deciding *d, const char *seal_file, bool demanded, struct error *err);

/* Whether the end of the run is sealed, and with which key: 1, 0, or -1 with *err. */
int deciding_sealed(const struct deciding *d, char public_key[DIGEST_SIZE], struct error *err);

/* Loads the data that is to be approved: the call's input. */
int deciding_approve(struct deciding *d, struct error *err);
/* After deciding_approve(): replaces the data by other data in the same form. If the value is the
 * same, it does not count as edited. */
int deciding_edit(struct deciding *d, const char *bytes, size_t len, struct error *err);
/* After these: allows all further calls of the tool, by the same rule, in this run. ERROR_USAGE: the data
 * is not that of a tool call's approval. */
int deciding_always(struct deciding *d, struct error *err);
/* The form in which the call expects its result (-O). */
enum input_form deciding_form(const struct deciding *d);
/* Reads the result or results of the call with a reader for deciding_form(); NULL: there is
 * none. */
int deciding_complete(struct deciding *d, struct state_reader *reader, struct error *err);

/* Records the decision; the caller has set decision.by and decision.reason. ERROR_BLOCKED: the call
 * does not wait any more. ERROR_SCHEMA: the process that asks does not accept the answer. */
int deciding_record(struct deciding *d, struct error *err);
/* How the run goes on after the decision. */
enum deciding_next {
	NEXT_AT_ONCE,        /* the call's process has waited for it */
	NEXT_BY_ITSELF,      /* a resumer works, and the run allows it */
	NEXT_BY_RESUME       /* somebody has to resume it */
};
enum deciding_next deciding_next(const struct deciding *d);
/* "at_once", "by_itself", "resume" */
const char *deciding_next_word(enum deciding_next next);
void deciding_close(struct deciding *d);

#endif
