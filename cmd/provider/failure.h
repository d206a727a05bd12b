/*
 * What went wrong, in the categories of awf-provider(7): from the HTTP status,
 * the error object of the API, and its words for it.
 */
#ifndef AWF_PROVIDER_FAILURE_H
#define AWF_PROVIDER_FAILURE_H

#include "json/scan.h"
#include "provider.h"

/* What an API says went wrong, out of the array that some put it into. */
struct span failure_object(struct span value);
/* Fills f->error from a JSON value that says what went wrong (the `error` member
 * of a body or of an event, or a body that has none) and f->status, 0 in a stream, and
 * f->retry_after_ms, if the value says it and it is 0.
 * secret, if it is not NULL, is taken out of the message: some servers repeat the key that they
 * refuse. */
void failure_from_json(struct provider_failure *f, struct span value, const char *secret);
/* The same from the body of an answer with f->status, JSON or not. */
void failure_from_body(struct provider_failure *f, const struct buffer *body,
    const char *secret);
/* Takes the id of the request from an object that has it, unless it is known. */
void failure_take_request_id(struct provider_failure *f, struct span object);

#endif
