/*
 * Errors in the categories of awf-provider(7), determined from the HTTP status, the error object of
 * the API, and its message.
 */
#ifndef AWF_API_FAILURE_H
#define AWF_API_FAILURE_H

#include <stdint.h>

#include "api/message.h"
#include "base/error.h"
#include "json/scan.h"
#include "net/http.h"

struct failure {
	struct span rules;       /* the endpoint's rules for errors, awf-endpoint(5): an array;
	                            absent: none */
	const struct message *spent; /* what has arrived of the answer, whose usage counts although
	                                there is no answer; NULL: nothing */
	struct error error;      /* the code is the category */
	long status;             /* HTTP status; 0: none */
	int64_t retry_after_ms;  /* 0: none was given */
	char request_id[HTTP_REQUEST_ID_SIZE]; /* the API's id for the request; "" */
};

/* The value that describes an error, wherever APIs put it in a body, an event or a line of their
 * answers: error, errors[0], base_resp, or the object itself if it has a message, a detail or an
 * error_code. Absent: there is no error. */
struct span failure_find(struct span value);
/* Sets f->error from a value that failure_find() has returned and from f->status, which is 0 in a
 * stream. Sets f->retry_after_ms if it is 0 and the value contains a time to wait, also in words
 * ("try again in 4.5s", at most an hour). secret, if not NULL, is removed from the message: some
 * servers repeat the key that they reject. */
void failure_from_json(struct failure *f, struct span value, char *const *secrets);
/* The same for the body of an answer with f->status, which may be JSON or not. */
void failure_from_body(struct failure *f, const struct buffer *body,
    char *const *secrets);
/* The title of an HTML page, the first line of any other text. Allocated. */
char *failure_first_words(const char *text);
/* Sets the request id from an object that contains it, unless it is set. */
void failure_take_request_id(struct failure *f, struct span object);

#endif
