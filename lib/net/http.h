/*
 * HTTP requests for providers (libcurl): one POST at a time, its answer handed
 * over as it comes. Connections are kept alive between requests; proxies and
 * CURL_CA_BUNDLE / SSL_CERT_FILE are honoured, TLS is always verified, redirects
 * are answers like any other (a key is never sent elsewhere).
 */
#ifndef AWF_NET_HTTP_H
#define AWF_NET_HTTP_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

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
	const char *const *headers;  /* "Name: value"; ends with NULL */
	const char *body;
	size_t body_len;
	int64_t idle_timeout_ms;     /* no byte for so long: ERROR_NETWORK; 0: 300 s */
	/* Bytes of a 2xx body; non-zero stops the request (http_post() returns -1 with
	 * ERROR_CANCELLED). */
	int (*take)(void *context, const char *bytes, size_t len);
	void *context;
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
	struct buffer body;          /* of an answer that is not 2xx, at most 1 MiB */
};
/* 0 when an answer came whole, whatever its status; -1 with ERROR_NETWORK (cut,
 * refused, timed out), ERROR_CANCELLED. */
int http_post(struct http *h, const struct http_request *request, struct http_answer *answer,
    struct error *err);
void http_answer_free(struct http_answer *a);

#endif
