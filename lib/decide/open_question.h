/*
 * Open questions: a call of awf-step --ask whose process lives and waits for an answer. The
 * question is recorded in payload.question of the call's step.started; this is how an answer
 * reaches the process:
 *
 *    runs/<id>/questions/TOKEN     its socket, for processes of this user
 *
 * A client that answers connects and sends one line of JSON: {"data": ANY}, optionally with
 * `no_newline`, or {"failed": true}; with `by` and optionally `reason`. The call replies
 * with one line:
 *
 *    {"accepted": true, "event_id": …}      it is the call's result, and is on disk
 *    {"error": {"code": "schema", …}}       it is invalid; another answer may be sent
 *    {"error": {"code": "blocked", …}}      it is too late: the call has ended
 *
 * As long as a client is connected the question stays open. If there was none for a while, the call
 * ends waiting for its result (model/waiting.h), and is answered by a decision (decide/decision.h).
 *
 * TOKEN identifies the question, of one call and attempt of one run: 8 characters of the run's id,
 * and 15 of a digest over that and the event id of the call's step.started.
 */
#ifndef AWF_DECIDE_OPEN_QUESTION_H
#define AWF_DECIDE_OPEN_QUESTION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

#define QUESTION_TOKEN_SIZE (8 + 1 + 15 + 1)
/* started: the event id of the call's step.started. */
void question_token(const char *run_id, const char *started, char token[QUESTION_TOKEN_SIZE]);

/* For the asking process: returns a listening socket, or -1 with errno; question_close()
 * removes it. */
int question_open(const char *run_directory, const char *token);
/* Accepts the next client, as a non-blocking connection; -1: none, or it is a process of
 * another user. */
int question_accept(int listener);
void question_close(const char *run_directory, const char *token, int *fd);

/* For a client: connects, or returns -1 with ERROR_BLOCKED: no process waits for an answer to
 * this question. */
int question_connect(const char *run_directory, const char *token, struct error *err);
struct open_question_answer {
	struct span data;     /* JSON; .at NULL: there is no result, and the call fails */
	bool no_newline;      /* the text did not end in LF, and this is kept */
	const char *by;       /* who answers */
	const char *reason;   /* NULL */
};
/* Writes the line with an answer; and reads the reply: 0: it is the call's result; -1 with
 * *err: why not. */
void question_write_answer(struct buffer *line, const struct open_question_answer *answer);
int question_read_verdict(struct span line, struct error *err);
/* Sends an answer and waits for the reply. 0: it is the call's result; -1 with *err: the call's
 * error, or ERROR_SYSTEM: the call ended without a reply, so only the record tells. */
int question_answer(int fd, const struct open_question_answer *answer, struct error *err);

#define QUESTION_GONE "the call ended before it said whether the answer is taken: see awf-tail"

/* For the asking process: reads the line of an answer, whose values become spans of the line; by
 * and reason are to be freed by the caller. False: it is invalid, with *err. */
bool question_read_answer(struct span line, struct open_question_answer *answer, char **by,
    char **reason, struct error *err);
/* Writes the reply: refused, with that error, or else accepted as the result of the call. */
void question_write_verdict(struct buffer *line, const struct error *refused, const char *event_id);

#endif
