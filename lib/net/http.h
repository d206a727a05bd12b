/*
 * HTTP requests (libcurl): one POST at a time, for providers, or any number of GETs; answers are
 * passed on as they arrive. Connections are kept alive between requests; proxies and CURL_CA_BUNDLE
 * / SSL_CERT_FILE are respected, TLS is always verified, redirects are answers like any other (a
 * key is never sent elsewhere).
 */
#ifndef AWF_NET_HTTP_H
#define AWF_NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends a text to a URL, with escapes so that it has no special meaning (RFC 3986, section
 * 2.3). */
void http_escape(struct buffer *url, const char *text);

struct http;

struct http *http_open(struct error *err);
void http_close(struct http *h);

/* What to do when the watched descriptor is readable. */
enum http_watch {
	HTTP_GO_ON,
	HTTP_UNWATCH, /* continue, and do not watch it any more */
	HTTP_CANCEL
};

/* How to reach a server, if not in the usual way. NULL or 0: as usual. */
struct http_way {
	int64_t connect_ms;          /* time limit for connecting */
	int64_t first_ms;            /* time limit for the first byte of a body */
	const char *ca;              /* a file: these authorities are trusted, and no others */
	const char *certificate, *key; /* files: the client certificate, for servers that ask for one */
	const char *socket;          /* a Unix socket, which is connected to instead of the host of
	                                the URL */
};

struct http_request {
	const char *url;
	const struct http_way *way;  /* NULL: all as usual */
	const char *method;          /* NULL: POST */
	bool direct;                 /* use no proxy */
	const char *const *headers;  /* "Name: value"; ends with NULL */
	const char *kept_header;     /* a header whose value is kept from the answer; NULL: none */
	const char *body;
	size_t body_len;
	int64_t idle_timeout_ms;     /* time limit for a period without a byte: then ERROR_NETWORK;
	                                0: 300 s */
	/* Called with bytes of a 2xx body; non-zero stops the request (http_post() returns -1 with
	 * ERROR_CANCELLED). */
	int (*take)(void *context, const char *bytes, size_t len);
	void *context;
	size_t limit;                /* bytes of a 2xx body, above which it is ERROR_NETWORK; 0:
	                                no limit */
	/* Returns how many bytes of the answer so far were more than keep-alives, such as comments
	 * in a stream. If that does not grow for KEPT_ALIVE_LIMIT_MS, it is ERROR_NETWORK. NULL:
	 * each byte counts. */
	int64_t (*progress)(void *context);
	int64_t kept_alive_ms;       /* replaces that limit; 0: does not */
	int watch_fd;                /* calls look() when it is readable; -1: none */
	enum http_watch (*look)(void *context);
	int output_fd;               /* if its reader is gone: ERROR_CANCELLED; -1: none */
	void (*before_wait)(void *context); /* called when all bytes that have arrived were passed
	                                       to take(); NULL */
};
#define HTTP_REQUEST_ID_SIZE 128
struct http_answer {
	long status;
	int64_t retry_after_ms;      /* retry-after-ms, Retry-After (seconds or date); 0 */
	char request_id[HTTP_REQUEST_ID_SIZE]; /* request-id or x-request-id; "" */
	char location[256];          /* "": none, or it is longer */
	char kept[64];               /* the value of kept_header; "" */
	struct buffer body;          /* of an answer that is not 2xx, at most 1 MiB */
};
/* 0 if a complete answer came, whatever its status; -1 with ERROR_NETWORK (cut off, refused, timed
 * out), ERROR_CANCELLED. */
int http_post(struct http *h, const struct http_request *request, struct http_answer *answer,
    struct error *err);
void http_answer_free(struct http_answer *a);

/* A GET, beside others. */
struct transfer;
struct http_get {
	/* Set by the caller. */
	const char *url;             /* http_get() copies it */
	const char *const *headers;  /* "Name: value"; ends with NULL; must not change until the end */
	bool direct;                 /* use no proxy */
	int64_t idle_timeout_ms;     /* as in http_request, like take and limit */
	int (*take)(void *context, const char *bytes, size_t len);
	size_t limit;
	void *context;

	/* The result. */
	bool ended;
	struct error error;          /* ERROR_NONE: a complete answer came, whatever its status */
	struct http_answer answer;   /* the caller must free it */

	struct transfer *transfer;   /* NULL: it is not in progress */
};
/* Begins a GET. Not during an http_post(). -1: ERROR_SYSTEM. */
int http_get(struct http *h, struct http_get *g, struct error *err);
/* Continues all GETs until some have ended, bytes have arrived, fd is readable (-1: none) or
 * limit_ms have passed. -1: ERROR_SYSTEM. */
int http_wait(struct http *h, int fd, int64_t limit_ms, struct error *err);
void http_get_stop(struct http *h, struct http_get *g);

#endif
