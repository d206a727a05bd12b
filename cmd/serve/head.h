/*
 * The head of a request, and what of it is refused before anybody asks what the request is for:
 * whatever two programs may read differently. A proxy and a server that disagree about where a
 * request ends can be made to take a part of one for another (request smuggling, RFC 9112,
 * section 11.2), so there is one way only to say how long it is; and what must stand once
 * (Host, Authorization …) stands once.
 *
 * It knows nothing of sockets: a head is filled in by who has received it.
 */
#ifndef AWF_SERVE_HEAD_H
#define AWF_SERVE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/scan.h"
#include "serve/refusal.h"

#define HEAD_FIELDS 64           /* more are refused */
#define HEAD_BYTES 6144          /* of all fields together; the library has room for no more */

struct head_field { struct span name, value; };

/* Its spans point into memory of the receiver. */
struct head {
	const char *method, *version;
	struct head_field fields[HEAD_FIELDS];
	size_t count;            /* may be more than there is room for */
	bool torn;               /* not each field stood on one line of its own, with CR LF */
	/* Set by head_check(). */
	bool chunked;            /* the length of its body is told in pieces */
	int64_t length;          /* of its body; 0: it has none */
};

/* NULL if nothing is wrong with it. */
const struct refusal *head_check(struct head *h);
/* The value of a field; .at NULL if there is none. Of what may stand several times, the first. */
struct span head_value(const struct head *h, const char *name);
/* Whether a value is this text, in upper or lower case. */
bool head_is(struct span value, const char *text);

#endif
