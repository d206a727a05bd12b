/*
 * The head of a request, and what of it is refused before anybody asks what the request is for:
 * whatever two programs may read differently. A proxy and a server that disagree about where a
 * request ends can be made to take a part of one for another (request smuggling, RFC 9112,
 * section 11.2), so there is one way only to write a line, and one to say how long it is; and
 * what must stand once (Host, Authorization …) stands once.
 *
 * It knows nothing of sockets: a head is some bytes.
 */
#ifndef AWF_HTTPD_HEAD_H
#define AWF_HTTPD_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "httpd/refusal.h"
#include "json/scan.h"

#define HEAD_FIELDS 64           /* more are refused */

struct head_field { struct span name, value; };

/* Its spans point into the bytes that it was read from. */
struct head {
	struct span method, target;
	bool http11;             /* else HTTP/1.0 */
	struct head_field fields[HEAD_FIELDS];
	size_t count;
	bool chunked;            /* the length of its body is told in pieces */
	int64_t length;          /* of its body; 0: it has none */
	bool expects;            /* it waits for 100 Continue */
	bool close;              /* no other request follows it */
};

/* How long the head is that these bytes begin with, its empty line included; 0: it is not all
 * here. An empty line is one by any reading, so that what ends its lines wrongly is not waited
 * for, but refused. looked: so many of the bytes were looked at before. */
size_t head_end(const char *bytes, size_t len, size_t looked);
/* Takes those bytes apart. NULL if nothing is wrong with them; else *h is what was read so far. */
const struct refusal *head_read(struct head *h, const char *bytes, size_t len);
/* The value of a field; .at NULL if there is none. Of what may stand several times, the first. */
struct span head_value(const struct head *h, const char *name);
/* Whether a value is this text, in upper or lower case. */
bool head_is(struct span value, const char *text);

/* What stands behind a status in an answer's first line; "" if it is none that is known. */
const char *head_reason(unsigned status);

#endif
