/*
 * HTTP requests (libcurl): one POST at a time, for providers, or any number of GETs; their
 * answers are handed over as they come. Connections are kept alive between requests; proxies
 * and CURL_CA_BUNDLE / SSL_CERT_FILE are honoured, TLS is always verified, redirects are
 * answers like any other (a key is never sent elsewhere).
 */
#ifndef AWF_NET_HTTP_H
#define AWF_NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends a text as part of a URL, in which it has no other meaning (RFC 3986, section 2.3). */
void http_escape(struct buffer *url, const char *text);

struct http;

struct http *http_open(struct error *err);
void http_close(struct http *h);

/* What to do when the watched descriptor is readable. */
enum http_watch {
	HTTP_GO_ON,
	HTTP_UNWATCH, /* go on, and look at it no more */
	HTTP_CANCEL
};

struct http_request {
	const char *url;
	const char *method;          /* NULL: POST */
	bool direct;                 /* by no proxy */
	const char *const *headers;  /* "Name: value"; ends with NULL */
	const char *body;
	size_t body_len;
	int64_t idle_timeout_ms;     /* no byte for so long: ERROR_NETWORK; 0: 300 s */
	/* Bytes of a 2xx body; non-zero stops the request (http_post() returns -1 with
	 * ERROR_CANCELLED). */
	int (*take)(void *context, const char *bytes, size_t len);
	void *context;
	size_t limit;                /* bytes of a 2xx body, above which it is ERROR_NETWORK; 0: none */
	/* How much of the answer has come that is more than a sign of life, such as a comment of a
	 * stream; where that stays the same for KEPT_ALIVE_LIMIT_MS, it is ERROR_NETWORK. NULL: each
	 * byte counts. */
	int64_t (*progress)(void *context);
	int64_t kept_alive_ms;       /* in the place of that; 0 */
	int watch_fd;                /* readable: look() decides; -1: none */
	enum http_watch (*look)(void *context);
	int output_fd;               /* its reader gone: ERROR_CANCELLED; -1: none */
	void (*before_wait)(void *context); /* what was given to take() is all there is yet; NULL */
};
#define HTTP_REQUEST_ID_SIZE 128
struct http_answer {
	long status;
	int64_t retry_after_ms;      /* retry-after-ms, Retry-After (seconds or date); 0 */
	char request_id[HTTP_REQUEST_ID_SIZE]; /* request-id or x-request-id; "" */
	char location[256];          /* "": none, or a longer one */
	struct buffer body;          /* of an answer that is not 2xx, at most 1 MiB */
};
/* 0 when an answer came whole, whatever its status; -1 with ERROR_NETWORK (cut,
 * refused, timed out), ERROR_CANCELLED. */
int http_post(struct http *h, const struct http_request *request, struct http_answer *answer,
    struct error *err);
void http_answer_free(struct http_answer *a);

/* A GET beside others. */
struct transfer;
struct http_get {
	/* Set by the owner. */
	const char *url;             /* http_get() copies it */
	const char *const *headers;  /* "Name: value"; ends with NULL; stays until it has ended */
	bool direct;                 /* by no proxy */
	int64_t idle_timeout_ms;     /* as of http_request; so are take and limit */
	int (*take)(void *context, const char *bytes, size_t len);
	size_t limit;
	void *context;

	/* How it came out. */
	bool ended;
	struct error error;          /* ERROR_NONE: an answer came whole, whatever its status */
	struct http_answer answer;   /* the owner's, who frees it */

	struct transfer *transfer;   /* NULL: it is not on its way */
};
/* Begins one. Not while there is an http_post(). -1: ERROR_SYSTEM. */
int http_get(struct http *h, struct http_get *g, struct error *err);
/* Lets all that were begun go on: until some have ended, bytes have come, fd is readable (-1:
 * none) or limit_ms have passed. -1: ERROR_SYSTEM. */
int http_wait(struct http *h, int fd, int64_t limit_ms, struct error *err);
void http_get_stop(struct http *h, struct http_get *g);

#endif
