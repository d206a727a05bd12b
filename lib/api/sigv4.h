/*
 * AWS Signature Version 4: the headers that tell a server of AWS who asks, and that nobody has
 * changed the request. Made by hand since libcurl's own signs an empty body when the body is read
 * by a function, and encodes the path once where AWS wants it twice.
 *
 * The access key comes from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or from
 * a command that prints what credential_process of AWS's own configuration does, such as
 * `aws configure export-credentials --format process`. The secret never leaves this process.
 */
#ifndef AWF_API_SIGV4_H
#define AWF_API_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "json/scan.h"

/* A request, as it goes out. */
struct sigv4_request {
	const char *method;
	const char *url;                /* whole, its path and query escaped as they are sent */
	const char *const *headers;     /* "Name: value", all that are to be signed but the host; "Name:" is
	                                   none, as for libcurl; ends with NULL */
	const void *body;
	size_t body_len;
	int64_t wall;                   /* clock_wall() */
};
/* With what it is signed. */
struct sigv4_key {
	const char *id, *secret;
	const char *region, *service;
};
/* The Authorization header, "authorization: AWS4-HMAC-SHA256 …", which the caller frees. It signs
 * the host and r->headers, and adds none. */
char *sigv4_authorization(const struct sigv4_request *r, const struct sigv4_key *key);

/* Who signs the requests of an endpoint. */
struct sigv4;
/* From a key: its member `sigv4` is {"region", "service"}, and may have a "command", for which "timeout" and
 * "refresh" of the key hold (key_command.h). NULL with ERROR_DEFINITION. */
struct sigv4 *sigv4_open(struct span key, struct error *err);
void sigv4_close(struct sigv4 *s); /* NULL is nothing */

#define SIGV4_HEADERS 4
struct sigv4_signed {
	char *headers[SIGV4_HEADERS + 1]; /* to be sent beside those of the request; ends with NULL */
	const char *secret;               /* what of them servers must not repeat in messages: the
	                                     session token; NULL: none */
};
/* Signs r: the host, r->headers, and x-amz-date, x-amz-content-sha256 and, if there is a session
 * token, x-amz-security-token, which it adds. -1 with ERROR_AUTH: there is no access key. */
int sigv4_sign(struct sigv4 *s, const struct sigv4_request *r, struct sigv4_signed *out,
    struct error *err);
void sigv4_signed_free(struct sigv4_signed *out);
/* A server has refused the key (401, or 403 with ExpiredTokenException): a command runs again for
 * the next request. */
void sigv4_refused(struct sigv4 *s);

#endif
