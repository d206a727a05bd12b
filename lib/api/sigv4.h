/*
 * AWS Signature Version 4: headers that prove to an AWS server who sends a request, and that nobody
 * has changed it. It is implemented here because libcurl's own version signs an empty body when the
 * body is read by a callback, and encodes the path once where AWS requires it twice.
 *
 * The access key comes from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or from
 * a command with the output of AWS's credential_process, such as `aws configure export-credentials
 * --format process`. The secret never leaves this process.
 */
#ifndef AWF_API_SIGV4_H
#define AWF_API_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "json/scan.h"

/* A request, as it is sent. */
struct sigv4_request {
	const char *method;
	const char *url;                /* the whole URL, with its path and query escaped as they
	                                   are sent */
	const char *const *headers;     /* "Name: value", all that are to be signed, except the
	                                   host; "Name:" is no header, as in libcurl; ends with
	                                   NULL */
	const void *body;
	size_t body_len;
	int64_t wall;                   /* clock_wall() */
};
/* The key that signs. */
struct sigv4_key {
	const char *id, *secret;
	const char *region, *service;
};
/* The header "authorization: AWS4-HMAC-SHA256 …", which the caller frees. It signs the host and
 * r->headers, and adds no other header. */
char *sigv4_authorization(const struct sigv4_request *r, const struct sigv4_key *key);

/* Signs the requests to an endpoint. */
struct key_command;
struct sigv4;
/* key: its member `sigv4` is {"region", "service"}, and may have a "command", to which "timeout"
 * and "refresh" of the key apply (key_command.h). NULL with ERROR_DEFINITION. */
struct sigv4 *sigv4_open(struct span key, struct error *err);
void sigv4_close(struct sigv4 *s); /* s may be NULL */

#define SIGV4_HEADERS 4
struct sigv4_signed {
	char *headers[SIGV4_HEADERS + 1]; /* to be sent with those of the request; ends with NULL */
	char **secrets;                   /* to be hidden in what servers send: the parts of the access
	                                     key; a list */
};
/* Signs the host and r->headers, and the headers that it adds: x-amz-date, x-amz-content-sha256
 * and, if there is a session token, x-amz-security-token. -1 with ERROR_AUTH: there is no access
 * key. */
int sigv4_sign(struct sigv4 *s, const struct sigv4_request *r, struct sigv4_signed *out,
    struct error *err);
void sigv4_signed_free(struct sigv4_signed *out);
/* The command for the access key; NULL: none. */
struct key_command *sigv4_command(const struct sigv4 *s);
/* As key_command_runs(); 0 without a command. */
unsigned sigv4_runs(const struct sigv4 *s);
/* A server has rejected the key of this run (401, or 403 with ExpiredTokenException): a command runs
 * again for the next request, unless it has run since. */
void sigv4_refused(struct sigv4 *s, unsigned run);

#endif
