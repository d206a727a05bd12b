/*
 * Open questions: a call of awf-step --ask whose process lives and waits for an answer. The
 * question stands in the record, in payload.question of the call's step.started; this is how an
 * answer gets to the process:
 *
 *     runs/<id>/questions/TOKEN     its socket, for processes of this user
 *
 * Who answers connects and says one line of JSON, {"data": ANY}, perhaps with `no_newline`, or
 * {"failed": true}, with `by` and perhaps `reason`; the call says in one line what became of it:
 *
 *     {"accepted": true, "event_id": …}            it is the call's result, and on disk
 *     {"error": {"code": "schema", …}}             it is none; another may be given
 *     {"error": {"code": "blocked", …}}            it comes too late: the call has its end
 *
 * As long as somebody is connected the question stays open. When nobody was for a while the call
 * ends waiting for its result (model/waiting.h), and it is answered by a decision (decide/decision.h).
 *
 * TOKEN says which question it is, of which call and attempt of which run: 8 characters of the
 * run's id, and 15 of a digest over that and the event id of the call's step.started.
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

/* The process that asks: a listening socket, or -1 with errno; and its end. */
int question_open(const char *run_directory, const char *token);
/* The next who answers, a connection that does not block; -1: there is none, or he is no
 * process of this user. */
int question_accept(int listener);
void question_close(const char *run_directory, const char *token, int *fd);

/* Who answers: a connection, or -1 with ERROR_BLOCKED: nobody waits for an answer to it. */
int question_connect(const char *run_directory, const char *token, struct error *err);
struct open_question_answer {
	struct span data;     /* JSON; .at NULL: there is no result, the call fails */
	bool no_newline;      /* it is a text that did not end in LF, and is to stay so */
	const char *by;       /* who says so */
	const char *reason;   /* NULL */
};
/* The line that gives it, and what the line says that comes back: 0: it is the call's result; -1 with
 * *err: why not. */
void question_write_answer(struct buffer *line, const struct open_question_answer *answer);
int question_read_verdict(struct span line, struct error *err);
/* Gives an answer, and waits for what becomes of it. 0: it is the call's result; -1 with *err:
 * what the call said, or ERROR_SYSTEM: it ended before it said anything, so that only the record
 * tells. */
int question_answer(int fd, const struct open_question_answer *answer, struct error *err);

#define QUESTION_GONE "the call ended before it said whether the answer is taken: see awf-tail"

/* The process that asks: reads an answer's line, whose values are spans of it; by and reason are
 * for the caller to free. False: it is none, with *err. */
bool question_read_answer(struct span line, struct open_question_answer *answer, char **by,
    char **reason, struct error *err);
/* What it says of one: with *refused that, else that it is the result of the call. */
void question_write_verdict(struct buffer *line, const struct error *refused, const char *event_id);

#endif
