/*
 * What went wrong, in the categories of awf-provider(7): from the HTTP status,
 * the error object of the API, and its words for it.
 */
#ifndef AWF_API_FAILURE_H
#define AWF_API_FAILURE_H

#include <stdint.h>

#include "api/message.h"
#include "base/error.h"
#include "json/scan.h"
#include "net/http.h"

struct failure {
	const struct message *spent; /* what has come, whose usage counts although it is no answer;
	                                NULL: nothing */
	struct error error;      /* the code is the category */
	long status;             /* HTTP; 0: none */
	int64_t retry_after_ms;  /* 0: not said */
	char request_id[HTTP_REQUEST_ID_SIZE]; /* by which the API knows the request; "" */
};

/* What an API says went wrong, out of the array that some put it into. */
struct span failure_object(struct span value);
/* Fills f->error from a JSON value that says what went wrong (the `error` member
 * of a body or of an event, or a body that has none) and f->status, 0 in a stream, and
 * f->retry_after_ms, if the value says it and it is 0.
 * secret, if it is not NULL, is taken out of the message: some servers repeat the key that they
 * refuse. */
void failure_from_json(struct failure *f, struct span value, const char *secret);
/* The same from the body of an answer with f->status, JSON or not. */
void failure_from_body(struct failure *f, const struct buffer *body,
    const char *secret);
/* Takes the id of the request from an object that has it, unless it is known. */
void failure_take_request_id(struct failure *f, struct span object);

#endif
