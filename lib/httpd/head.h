/*
 * The head of a request. Everything that two programs may parse differently is refused before
 * anything else is checked. If a proxy and a server disagree about where a request ends, a part of
 * one can be passed off as another (request smuggling, RFC 9112, section 11.2). So there is only
 * one way to write a line, and one to give the length; and a field that must occur once (Host,
 * Authorization …) may occur only once.
 *
 * This code knows nothing of sockets: a head is a sequence of bytes.
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

/* The spans point into the bytes that were parsed. */
struct head {
	struct span method, target;
	bool http11;             /* else HTTP/1.0 */
	struct head_field fields[HEAD_FIELDS];
	size_t count;
	bool chunked;            /* the body is sent in chunks */
	int64_t length;          /* of its body; 0: it has none */
	bool expects;            /* the client waits for 100 Continue */
	bool close;              /* the connection is closed after it */
};

/* The length of the head at the beginning of these bytes, with its empty line; 0: it is not
 * complete. A line that is empty by any interpretation counts, so that a head with wrong line
 * ends is refused instead of waited for. looked: the number of bytes that were searched before. */
size_t head_end(const char *bytes, size_t len, size_t looked);
/* Parses those bytes. NULL if they are valid; otherwise *h has what was read so far. */
const struct refusal *head_read(struct head *h, const char *bytes, size_t len);
/* The value of a field; .at NULL if there is none. If it may occur several times, the first one. */
struct span head_value(const struct head *h, const char *name);
/* Whether a value is this text, ignoring case. */
bool head_is(struct span value, const char *text);

/* The reason phrase for a status; "" if the status is unknown. */
const char *head_reason(unsigned status);

#endif
