/*
 * The recorded traffic of a call: exchanges, which are found again by their request.
 *
 * Requests are equal if they have the same method, path and body. Bodies are compared as JSON,
 * without regard to the order of members and to white space, and without the parts that the user
 * excludes (--models-ignore).
 */
#ifndef AWF_STEP_KINDS_TRAFFIC_H
#define AWF_STEP_KINDS_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "history/recall.h"
#include "json/scan.h"

/* A recorded exchange, which has two events. */
struct exchanged {
	struct recalled_event *asked, *answered; /* answered is NULL if there is no answer */
	char key[DIGEST_SIZE];
	bool whole;               /* it has a complete answer that is not an error */
	bool used;
};

struct traffic {
	struct exchanged *list;   /* in the order of the requests */
	size_t count;
	char *const *ignored;     /* JSON pointers; ends with NULL; NULL: none */
};

/* Reads the traffic of a recorded call; r must not change until traffic_free(). For a replay, only
 * what led to the result of the call is used: of earlier attempts, what the last one took over. */
void traffic_begin(struct traffic *t, struct recalled *r, char *const *ignored);
/* The key that identifies a request: a digest of an object with method, path, body and encoding. */
void traffic_key(const struct traffic *t, struct span request, char key[DIGEST_SIZE]);
/* The next unused exchange with this key: one with a whole answer or, if there is none and `whole`
 * is false, any. NULL: there is none. */
struct exchanged *traffic_find(const struct traffic *t, const char *key, bool whole);
/* Whether the recording has an unused answer. */
bool traffic_left(const struct traffic *t);
/* The recorded request that a changed request most likely corresponds to: the first unused one with
 * the same path, else the first unused one. NULL: there is none. */
struct exchanged *traffic_likely(const struct traffic *t, struct span request);
/* Appends a description, for people, of how a request differs from that one. */
void traffic_differs(const struct traffic *t, struct span request, struct buffer *out);
/* The request in an event, which may be a message or a tool call. .at is NULL if the event does not
 * belong to the traffic. */
struct span traffic_request(const struct recalled_event *e);
void traffic_free(struct traffic *t);

#endif
