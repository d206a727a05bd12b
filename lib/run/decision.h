/*
 * Decisions: how a call that waits (run/waiting.h) gets its end from outside, when
 * its process, and mostly all of its run, has ended long ago. Nothing runs meanwhile.
 *
 *   approved, edited   an approval's: its result is its input, or what was given instead
 *   denied             an approval's: it failed, with the code of that name
 *   completed, failed  a completion's: its result, or that there is none
 *   heartbeat          a completion's: it waits on, until a new deadline
 *
 * A decision is one further step.completed of the call. Its parent is the end that waits;
 * payload.approval names that too (`decides`), says what was decided, by whom and why.
 * Where it stands says nothing: behind run.completed, between the lines of a run that
 * lives, in a later attempt than the call's. No line before it is touched, so the attempt
 * that waited has ended waiting, whatever was decided since.
 *
 * What the code relies on, and keeps:
 *   - It is made under the transcript's lock, after all lines up to there were read: of
 *     two processes that decide, the second sees what the first has written, and is
 *     refused. A killed one has decided if its line is whole. A call that a further
 *     attempt lets wait on, or ends, looks in the same way before it says so
 *     (lib/run/history.h).
 *   - What is late is refused: after the deadline, only a resume has the word.
 *   - Who may write the transcript may decide; who did is the login name of the user
 *     of the process. With a key the line is signed as a seal is (transcript/seal.h): over
 *     itself, so over the run, the call, the wait, the decision, its data, and through
 *     prev over all that was recorded until then.
 *   - A run that is masked takes none: it cannot be gone on from either.
 *
 * Resume takes the result of a decision as any recorded one, and fails a call again that
 * was denied or failed by a decision. A replay, which makes the attempt again and not
 * what came from outside, takes the end that its attempt has recorded.
 */
#ifndef AWF_RUN_DECISION_H
#define AWF_RUN_DECISION_H

#include "base/error.h"
#include "json/writer.h"
#include "run/model.h"
#include "run/results.h"
#include "run/waiting.h"
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
 * first, or it is too late. */
int undecided_decide(struct undecided *u, const struct waiting *at, const struct decision *d,
    struct error *err);
void undecided_close(struct undecided *u);

#endif
