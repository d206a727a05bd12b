/*
 * Errors in the categories of awf-provider(7), from the HTTP status, the error object of the API,
 * and its words.
 */
#ifndef AWF_API_FAILURE_H
#define AWF_API_FAILURE_H

#include <stdint.h>

#include "api/message.h"
#include "base/error.h"
#include "json/scan.h"
#include "net/http.h"

struct failure {
	struct span rules;       /* what the endpoint says of errors, awf-endpoint(5): an array; absent:
	                            nothing */
	const struct message *spent; /* what has arrived, whose usage counts although it is no
	                                answer; NULL: nothing */
	struct error error;      /* the code is the category */
	long status;             /* HTTP; 0: none */
	int64_t retry_after_ms;  /* 0: not said */
	char request_id[HTTP_REQUEST_ID_SIZE]; /* the API's id of the request; "" */
};

/* The value that describes an error, wherever APIs put it in a body, an event or a line of their
 * answers: error, errors[0], base_resp, or the object itself with a message, a
 * detail, an error_code. Absent: there is none. */
struct span failure_find(struct span value);
/* Fills f->error from a value that describes an error, as failure_find() gives it, and from
 * f->status, which is 0 in a stream; fills f->retry_after_ms if that is 0 and the value has it, also
 * in words ("try again in 4.5s", at most an hour). secret, if not NULL, is removed from the
 * message: some servers repeat the key that they refuse. */
void failure_from_json(struct failure *f, struct span value, const char *secret);
/* The same from the body of an answer with f->status, which may be JSON or not. */
void failure_from_body(struct failure *f, const struct buffer *body,
    const char *secret);
/* Of a page for people (HTML) its title, of other texts the first line. Allocated. */
char *failure_first_words(const char *text);
/* Takes the request's id from an object that has it, unless it is known. */
void failure_take_request_id(struct failure *f, struct span object);

#endif
