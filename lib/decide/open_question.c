/*
 * A process that was killed leaves its socket's file, on which nobody listens: connecting to it
 * fails. The name is never used again, as it contains the event id of the call.
 */
#include "decide/open_question.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "io/file.h"
#include "json/line_input.h"
#include "json/writer.h"
#include "storage/private_socket.h"
#include "system/descriptor.h"

#define QUESTIONS "questions"
#define CLIENTS 16 /* clients that may wait to be accepted */
/* Keys in a line. */
#define DATA "data"
#define NO_NEWLINE "no_newline"
#define FAILED "failed"
#define BY "by"
#define REASON "reason"
#define ACCEPTED "accepted"
#define EVENT_ID "event_id"
#define ERROR "error"
#define CODE "code"
#define MESSAGE "message"

void
question_token(const char *run_id, const char *started, char token[QUESTION_TOKEN_SIZE])
{
	char *text = memory_format("question %s %s", run_id, started), digest[DIGEST_SIZE];

	snprintf(token, QUESTION_TOKEN_SIZE, "%.8s-%.15s", run_id,
	    digest_sha256(text, strlen(text), digest));
	free(text);
}

/* ---- asking ---- */

int
question_open(const char *run_directory, const char *token)
{
	char *path = path_join(run_directory, QUESTIONS);
	int directory = -1, fd = -1;

	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		directory = private_socket_directory(run_directory, QUESTIONS);
	free(path);
	if (directory != -1)
		fd = private_socket_bind(directory, token, SOCK_STREAM);
	if (fd != -1 && (listen(fd, CLIENTS) == -1 || fcntl(fd, F_SETFL, O_NONBLOCK) == -1))
		file_close(&fd);
	file_close(&directory);
	return fd;
}

int
question_accept(int listener)
{
	int fd = descriptor_accept(listener);

	if (fd != -1 && !private_socket_is_ours(fd))
		file_close(&fd);
	return fd;
}

void
question_close(const char *run_directory, const char *token, int *fd)
{
	int directory = *fd != -1 ? private_socket_directory(run_directory, QUESTIONS) : -1;

	if (directory != -1)
		unlinkat(directory, token, 0);
	file_close(&directory);
	file_close(fd);
}

bool
question_read_answer(struct span line, struct open_question_answer *answer, char **by, char **reason,
    struct error *err)
{
	struct span failed = span_member(line, FAILED);

	*answer = (struct open_question_answer){ .data = span_member(line, DATA),
		.no_newline = span_true(span_member(line, NO_NEWLINE)) };
	*by = *reason = NULL;
	if (span_type(line) != 'o' || (answer->data.at == NULL) != span_true(failed)) {
		error_set(err, ERROR_INVALID_INPUT, NULL, "an answer is a line of JSON: an object with "
		    "data, or with failed: true");
		return false;
	}
	answer->by = *by = span_text(span_member(line, BY));
	answer->reason = *reason = span_text(span_member(line, REASON));
	if (*by == NULL) {
		error_set(err, ERROR_INVALID_INPUT, BY, "is missing: the name of who answers");
		return false;
	}
	return true;
}

void
question_write_verdict(struct buffer *line, const struct error *refused, const char *event_id)
{
	struct writer w;

	writer_begin(&w, line);
	writer_object(&w);
	if (refused != NULL) {
		writer_member_object(&w, ERROR);
		writer_member_string(&w, CODE, error_name(refused->code));
		writer_member_string(&w, MESSAGE, refused->message);
		writer_object_end(&w);
	} else {
		writer_member_bool(&w, ACCEPTED, true);
		writer_member_string(&w, EVENT_ID, event_id);
	}
	writer_object_end(&w);
	buffer_byte(line, '\n');
}

/* ---- answering ---- */

int
question_connect(const char *run_directory, const char *token, struct error *err)
{
	int directory = private_socket_directory(run_directory, QUESTIONS), fd = -1;

	if (directory != -1)
		fd = private_socket_connect(directory, token);
	file_close(&directory);
	if (fd != -1 && fcntl(fd, F_SETFL, 0) == -1)
		file_close(&fd);
	if (fd == -1)
		error_set(err, ERROR_BLOCKED, token, "nobody waits for an answer to this question");
	return fd;
}

int
question_read_verdict(struct span line, struct error *err)
{
	struct span error = span_member(line, ERROR);
	char message[sizeof err->message];
	char *code, *text;

	if (span_true(span_member(line, ACCEPTED)))
		return 0;
	code = span_text(span_member(error, CODE));
	text = span_text(span_member(error, MESSAGE));
	snprintf(message, sizeof message, "%s", text != NULL ? text : "the answer was refused");
	error_set(err, code != NULL && strcmp(code, error_name(ERROR_SCHEMA)) == 0 ? ERROR_SCHEMA :
	    ERROR_BLOCKED, NULL, "%s", message);
	free(code);
	free(text);
	return -1;
}

void
question_write_answer(struct buffer *line, const struct open_question_answer *answer)
{
	struct writer w;

	writer_begin(&w, line);
	writer_object(&w);
	if (answer->data.at != NULL)
		writer_member_span(&w, DATA, answer->data);
	else
		writer_member_bool(&w, FAILED, true);
	if (answer->no_newline)
		writer_member_bool(&w, NO_NEWLINE, true);
	writer_member_string(&w, BY, answer->by);
	writer_member_string(&w, REASON, answer->reason);
	writer_object_end(&w);
	buffer_byte(line, '\n');
}

int
question_answer(int fd, const struct open_question_answer *answer, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	struct line_input input;
	const char *line;
	size_t len;
	int result;

	question_write_answer(&text, answer);
	line_input_begin(&input, fd, "the call");
	/* A call that is about to end may have replied without reading all of this. */
	file_write(fd, text.data, text.len);
	buffer_free(&text);
	result = line_input_next(&input, &line, &len, err);
	if (result == 1)
		result = question_read_verdict(span_of(line, len), err);
	else
		result = error_set(err, ERROR_SYSTEM, NULL, QUESTION_GONE);
	line_input_free(&input);
	return result;
}
