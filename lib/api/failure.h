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
	const struct message *spent; /* what has arrived, whose usage counts although it is no
	                                answer; NULL: nothing */
	struct error error;      /* the code is the category */
	long status;             /* HTTP; 0: none */
	int64_t retry_after_ms;  /* 0: not said */
	char request_id[HTTP_REQUEST_ID_SIZE]; /* the API's id of the request; "" */
};

/* The error object of an API, taken out of the array into which some put it. */
struct span failure_object(struct span value);
/* Fills f->error from a JSON value that describes an error (the `error` member of a body or of
 * an event, or a body without one) and from f->status, which is 0 in a stream; fills
 * f->retry_after_ms if that is 0 and the value has it. secret, if not NULL, is removed from the
 * message: some servers repeat the key that they refuse. */
void failure_from_json(struct failure *f, struct span value, const char *secret);
/* The same from the body of an answer with f->status, which may be JSON or not. */
void failure_from_body(struct failure *f, const struct buffer *body,
    const char *secret);
/* Takes the request's id from an object that has it, unless it is known. */
void failure_take_request_id(struct failure *f, struct span object);

#endif
