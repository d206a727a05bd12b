/*
 * Open questions: a call of awf-step --ask whose process is alive and waits for an answer. The
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
 * As long as a client is connected the question stays open. If none was connected for a while, the
 * call ends as waiting for its result (model/waiting.h), which is then given by a decision
 * (decide/decision.h).
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
/* Accepts the next client, as a non-blocking connection; -1: there is none, or it is a process of
 * another user. */
int question_accept(int listener);
void question_close(const char *run_directory, const char *token, int *fd);

/* For a client: connects. -1 with ERROR_BLOCKED: no process waits for an answer to this
 * question. */
int question_connect(const char *run_directory, const char *token, struct error *err);
struct open_question_answer {
	struct span data;     /* JSON; .at NULL: there is no answer, and the call fails */
	bool no_newline;      /* the text has no final LF, and none is added */
	const char *by;       /* name of the person who answers */
	const char *reason;   /* NULL */
};
/* Writes an answer as a line; reads a reply. 0: the answer was accepted; -1 with *err: it was
 * not. */
void question_write_answer(struct buffer *line, const struct open_question_answer *answer);
int question_read_verdict(struct span line, struct error *err);
/* Sends an answer and waits for the reply. 0: the answer was accepted as the call's result; -1 with
 * the call's error, or with ERROR_SYSTEM: the call ended without a reply, so whether it has the
 * answer must be looked up in the transcript. */
int question_answer(int fd, const struct open_question_answer *answer, struct error *err);

#define QUESTION_GONE "the call ended before it said whether the answer is taken: see awf-tail"

/* For the asking process: reads an answer from a line. Data is a span of the line; by and reason
 * are to be freed by the caller. False with *err: the line is invalid. */
bool question_read_answer(struct span line, struct open_question_answer *answer, char **by,
    char **reason, struct error *err);
/* Writes a reply: the error with which the answer is refused, or that it is accepted as the call's
 * result. */
void question_write_verdict(struct buffer *line, const struct error *refused, const char *event_id);

#endif
