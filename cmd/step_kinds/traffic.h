/*
 * The recorded traffic of a call: exchanges, found again by what was asked.
 *
 * What a request is known by is its method, path and body, which is compared as JSON: neither the
 * order of members nor white space counts, nor what the user leaves out (--models-ignore).
 */
#ifndef AWF_STEP_KINDS_TRAFFIC_H
#define AWF_STEP_KINDS_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "history/recall.h"
#include "json/scan.h"

/* An exchange of the record: its two events. */
struct exchanged {
	struct recalled_event *asked, *answered; /* the latter NULL: it never was */
	char key[DIGEST_SIZE];
	bool whole;               /* it was answered, and well */
	bool used;
};

struct traffic {
	struct exchanged *list;   /* in the order of the requests */
	size_t count;
	char *const *ignored;     /* JSON pointers; ends with NULL; NULL: none */
};

/* Of a recorded call; r stays the caller's, and is changed by nobody meanwhile. For a replay only
 * what the call came to by: of earlier attempts, what its last took over. */
void traffic_begin(struct traffic *t, struct recalled *r, char *const *ignored);
/* What a request is known by: an object with method, path, body and encoding. */
void traffic_key(const struct traffic *t, struct span request, char key[DIGEST_SIZE]);
/* The next of these that is not used: a whole answer, or, if there is none any more and whole is
 * not asked for, any. NULL: there is none. */
struct exchanged *traffic_find(const struct traffic *t, const char *key, bool whole);
/* Whether any answer of the record is not used. */
bool traffic_left(const struct traffic *t);
/* The recorded request that another is likely to be: the first that is not used of this path, or of
 * them all. NULL: there is none. */
struct exchanged *traffic_likely(const struct traffic *t, struct span request);
/* Appends, for people, how a request differs from that. */
void traffic_differs(const struct traffic *t, struct span request, struct buffer *out);
/* The request of an event: of a message, or of a call of a tool. .at NULL: it is of no traffic. */
struct span traffic_request(const struct recalled_event *e);
void traffic_free(struct traffic *t);

#endif
