/*
 * Decisions: how a waiting call (model/waiting.h) gets its end from outside, after its process,
 * and usually its whole run, has ended.
 *
 *   approved, edited   an approval's: its result is its input, or what was given instead
 *   denied             an approval's: it failed, with the code of that name
 *   completed, failed  a completion's: its result, or that there is none
 *   heartbeat          a completion's: it waits on, until a new deadline
 *
 * A decision is one further step.completed of the call. Its parent is the end that waits;
 * payload.approval names that too (`decides`), says what was decided, by whom and why. Where it
 * stands says nothing: behind run.completed, between the lines of a run that lives, in a later
 * attempt than the call's. No line before it is touched, so the attempt that waited has ended
 * waiting, whatever was decided since.
 *
 * What the code relies on, and keeps:
 *   - It is made under the transcript's lock, after all lines up to there were read: of two
 *     processes that decide, the second sees what the first has written, and is refused. A killed
 *     one has decided if its line is whole. A call that a further attempt lets wait on, or ends,
 *     looks in the same way before it says so (lib/history/history.h).
 *   - Late decisions are refused: after the deadline only a resume can end the call.
 *   - A result may come before the command that handed its work on has ended. Then it is a
 *     decision about the call's step.started, for one try of the call: if that ends as pending it
 *     is the result, if it fails it counts for nothing. Whoever ends the call looks for it under
 *     the lock.
 *   - Sending the same result again is not an error, as the sender may not know that it arrived; a
 *     different result is an error.
 *   - Who may write the transcript may decide; who did is the login name of the user of the
 *     process. With a key the line is signed as a seal is (transcript/seal.h): over itself, so
 *     over the run, the call, the wait, the decision, its data, and through prev over all that was
 *     recorded until then.
 *   - A run that is masked takes none: it cannot be gone on from either.
 *
 * Resume takes the result of a decision as any recorded one, and fails a call again that was
 * denied or failed by a decision. A replay, which makes the attempt again and not what came from
 * outside, takes the end that its attempt has recorded.
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
	struct results results;      /* of what has any */
	const struct seal_key *seal; /* NULL: it is not signed */
};

/* "approved" … */
const char *decision_word(enum decision_verdict verdict);
/* What kind of wait the verdict is about. */
enum waiting_for decision_about(enum decision_verdict verdict);
/* The login name of this process's user: $LOGNAME if that is one of the user's names. In
 * memory of its own. */
char *decision_maker(void);
/* What was given instead of data that is to be approved. JSON must be JSON again, text is
 * text, whatever it looks like; null may become either. 1: it differs; 0: it is the same
 * value; -1: ERROR_INVALID_INPUT. */
int decision_edit(const struct data *original, const char *bytes, size_t len,
    struct data *edited, struct error *err);
/* The error of a call that was denied, or failed, so. */
void decision_error(const struct decision *d, struct error *error);
/* The members decision, by and reason of payload.approval. */
void decision_write(const struct decision *d, struct writer *w);
/* asks, and with a limit timeout_ms and deadline, counted from now. */
void decision_write_limits(enum waiting_for what, const char *form, int64_t timeout_ms,
    struct writer *w);

/* What is said of a call that waits. */
#define WAITING_FOR_DECISION "waits for a decision"
#define WAITING_FOR_RESULT "waits for its result"

/* A run whose calls are to be decided about: its transcript, read so far. */
struct undecided {
	char *path, *blobs;
	char run_id[ID_SIZE];
	struct model model;       /* of MODEL_LIVE */
};

/* blobs: their directory. ERROR_USAGE for a masked run, and one that is recorded elsewhere. */
int undecided_open(struct undecided *u, const char *path, const char *blobs, const char *run_id,
    struct error *err);
/* The one call that waits for this and that PATH (a step's, or a call) or, with task, the
 * identity in its token names. ERROR_USAGE: none, or several; lists those that do.
 * ERROR_BLOCKED: it was decided before. */
const struct waiting *undecided_find(const struct undecided *u, const char *path, bool task,
    enum decision_verdict verdict, struct error *err);
/* Whether any call that waits, or has waited, has this name. */
bool undecided_knows(const struct undecided *u, const char *path, bool task);
/* What an approval is about: the input of the call. */
int undecided_input(struct undecided *u, const struct waiting *at, struct data *data,
    struct error *err);
/* Appends the decision about a call that waited, and syncs it. ERROR_BLOCKED: another came
 * first, or it is too late. 0 too if the same came first, of a result. */
int undecided_decide(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err);

/* The call that waits no more, of one that was given its result; NULL: there is none. */
const struct waiting *undecided_find_completed(const struct undecided *u, const char *path,
    bool task);
/* Whether the decision is what has ended that wait: 0; ERROR_BLOCKED: it is another. */
int undecided_repeat(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err);

/* A call whose command may end as pending, and has not ended yet. */
struct working {
	char started[ID_SIZE];       /* its step.started */
	struct event_place begin;
	char *name, *kind, *call, *path;
	char *task;
	char *token;                 /* of the try that runs */
	char form[8];
	int64_t iteration, attempt, number; /* the number is that of the try */
};

/* The one such call of this name: 1, and *w is to be freed; 0: there is none; -1: there are several
 * (ERROR_USAGE), or it is named by another try (ERROR_BLOCKED). */
int undecided_find_working(const struct undecided *u, const char *path, bool task,
    struct working *w, struct error *err);
void working_free(struct working *w);
/* Appends its result, for this try. 0, also if the same came before; 1: the try has ended, the call
 * is to be looked for again; -1: *err. */
int undecided_decide_early(struct undecided *u, const struct working *w, const struct decision *d,
    struct error *err);
/* The result that came for a try of a call before that has ended: a decision about this start, for
 * the try of this number, in a transcript from a byte on. 1: *place is its line; 0; -1. */
int decision_find_early(const char *path, int64_t from, const char *started, int64_t number,
    struct event_place *place, struct error *err);
void undecided_close(struct undecided *u);

#endif
