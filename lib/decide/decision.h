/*
 * Decisions: how a waiting call (model/waiting.h) gets its end from outside, after its process, and
 * usually its whole run, has ended.
 *
 *    approved, edited    for an approval: its result is its input, or what was given instead
 *    denied              for an approval: it has failed, with the code of that name
 *    completed, failed   for a completion: its result, or that there is none
 *    heartbeat           for a completion: it continues to wait, until a new deadline
 *
 * A decision is one more step.completed of the call. Its parent is the step.completed that says
 * that the call waits; payload.approval names that, too (`decides`), and says what was decided, by
 * whom and why. Its position has no meaning: it may be after run.completed, between the lines of a
 * live run, or in a later attempt than the call's. No earlier line is changed, so the attempt that
 * waited has ended as waiting, whatever was decided since.
 *
 * What the code relies on, and keeps:
 *   - It is written under the transcript's lock, after all lines before it were read: of two
 *     processes that decide, the second sees the first one's line, and is refused. If the deciding
 *     process is killed, the decision counts if its line is complete. When a further attempt makes
 *     a call wait again, or ends it, it checks in the same way whether there is a decision
 *     (lib/history/history.h).
 *   - Late decisions are refused: after the deadline only a resume can end the call.
 *   - A result may come before the command that handed its work on has ended. Then it is a
 *     decision about the call's step.started, for one try of the call: if that try ends as
 *     pending, this is the result; if it fails, it is ignored. Whoever records the call's end
 *     looks for it under the lock.
 *   - Sending the same result again is not an error, as the sender may not know that it arrived; a
 *     different result is an error.
 *   - Whoever may write the transcript may decide; the recorded name is the login name of the
 *     process's user. With a key the line is signed like a seal (transcript/seal.h): the signature
 *     covers the line, so the run, the call, the decision and its data, and, through the line's
 *     prev, everything that was recorded before.
 *   - A masked run accepts none: it cannot be resumed either.
 *
 * Resume uses the result of a decision like any recorded one, and executes a call again that was
 * denied or failed by a decision. A replay repeats an attempt without decisions, which came from
 * outside: it uses the end that the attempt itself recorded.
 */
#ifndef AWF_DECIDE_DECISION_H
#define AWF_DECIDE_DECISION_H

#include "base/error.h"
#include "json/writer.h"
#include "model/model.h"
#include "model/results.h"
#include "model/waiting.h"
#include "transcript/seal.h"

enum decision_verdict {
	DECISION_APPROVED, DECISION_EDITED, DECISION_DENIED, DECISION_COMPLETED, DECISION_FAILED,
	DECISION_HEARTBEAT
};

struct decision {
	enum decision_verdict verdict;
	const char *by;              /* decision_maker() */
	const char *reason;          /* NULL */
	struct results results;      /* the data, for verdicts that have data */
	const struct seal_key *seal; /* key for its signature; NULL: none */
};

/* "approved" … */
const char *decision_word(enum decision_verdict verdict);
/* For what kind of decision a call waits that the verdict can end. */
enum waiting_for decision_about(enum decision_verdict verdict);
/* The login name of this process's user: $LOGNAME if the system knows it as a name of this user. To
 * be freed by the caller. */
char *decision_maker(void);
/* Parses data that is given instead of data to be approved. If the original is JSON, the new data
 * must be JSON; if it is text, it stays text, even if it looks like JSON; null may become either.
 * 1: it differs from the original; 0: it is the same value; -1: ERROR_INVALID_INPUT. */
int decision_edit(const struct data *original, const char *bytes, size_t len,
    struct data *edited, struct error *err);
/* The error of a call that was denied or failed by the decision. */
void decision_error(const struct decision *d, struct error *error);
/* The members decision, by and reason of payload.approval. */
void decision_write(const struct decision *d, struct writer *w);
/* Writes the member asks; with a time limit also timeout_ms and deadline, which is counted from
 * now. */
void decision_write_limits(enum waiting_for what, const char *form, int64_t timeout_ms,
    struct writer *w);

/* A run in which calls wait, with its transcript as far as it was read. */
struct undecided {
	char *path, *blobs;
	char run_id[ID_SIZE];
	struct model model;       /* level MODEL_LIVE */
};

/* blobs: the directory of the run's blobs. ERROR_USAGE: the run is masked, or was recorded
 * elsewhere. */
int undecided_open(struct undecided *u, const char *path, const char *blobs, const char *run_id,
    struct error *err);
/* The call that waits for such a decision and has the name `path` (of a step, or of a call); with
 * task, the name of a task or token. ERROR_USAGE: there is none, or several, which the message
 * lists. ERROR_BLOCKED: it was decided before. */
const struct waiting *undecided_find(const struct undecided *u, const char *path, bool task,
    enum decision_verdict verdict, struct error *err);
/* Whether any call that waits, or has waited, has this name. */
bool undecided_knows(const struct undecided *u, const char *path, bool task);
/* Loads the data that is to be approved: the call's input. */
int undecided_input(struct undecided *u, const struct waiting *at, struct data *data,
    struct error *err);
/* Appends the decision about a waiting call, and syncs it. ERROR_BLOCKED: another decision was
 * first, or it is too late. Returns 0 also if the same result was recorded before. */
int undecided_decide(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err);

/* A call with this name that does not wait any more because its result was recorded; NULL: there is
 * none. */
const struct waiting *undecided_find_completed(const struct undecided *u, const char *path,
    bool task);
/* Compares a decision with the one that is recorded for the call. 0: they are equal; -1 with
 * ERROR_BLOCKED: they differ. */
int undecided_repeat(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err);

/* A call that may end as pending, while its command is still running. */
struct working {
	char started[ID_SIZE];       /* event id of its step.started */
	struct event_place begin;
	char *name, *kind, *call, *path;
	char *task;
	char *token;                 /* token of the running try */
	char form[8];
	int64_t iteration, attempt, number; /* number: that of the running try */
};

/* Finds the call with this name that may end as pending and is still running. 1: free *w; 0: there
 * is none; -1: there are several (ERROR_USAGE), or the name is that of another try
 * (ERROR_BLOCKED). */
int undecided_find_working(const struct undecided *u, const char *path, bool task,
    struct working *w, struct error *err);
void working_free(struct working *w);
/* Appends the result for a running try. 0, also if the same result was recorded before; 1: the try
 * has ended meanwhile, look for the call again; -1: *err. */
int undecided_decide_early(struct undecided *u, const struct working *w, const struct decision *d,
    struct error *err);
/* Finds a result that was recorded before its try had ended: a decision about the call with this
 * step.started, for the try with this number, in a transcript from a byte offset on. 1: *place is
 * its line; 0: there is none; -1: *err. */
int decision_find_early(const char *path, int64_t from, const char *started, int64_t number,
    struct event_place *place, struct error *err);

/* A wait whose process is alive, and looks for the decision itself. */
struct attended_wait {
	char event[ID_SIZE];   /* id of the event from which the call waits: its step.waiting, or the
	                          last heartbeat */
	int64_t from;          /* offset in the transcript of what was not read yet */
	int64_t deadline;      /* µs since 1970; 0: none */
};
/* Reads the lines that were appended since. 1: *place is the decision; 0: there is none yet; -1:
 * *err. A heartbeat sets another deadline. */
int decision_find(const char *path, struct attended_wait *wait, struct event_place *place,
    struct error *err);
void undecided_close(struct undecided *u);

#endif
