/*
 * HTTP requests (libcurl), any number at the same time; answers are passed on as they arrive.
 * Connections are kept alive between requests, and where a server speaks HTTP/2 requests share
 * them; proxies and CURL_CA_BUNDLE / SSL_CERT_FILE are respected, TLS is always verified, redirects
 * are answers like any other (a key is never sent elsewhere).
 */
#ifndef AWF_NET_HTTP_H
#define AWF_NET_HTTP_H

#include <poll.h>
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

/* How to reach a server, if not in the usual way. NULL or 0: as usual. */
struct http_way {
	int64_t connect_ms;          /* time limit for connecting */
	int64_t first_ms;            /* time limit for the first byte of a body */
	const char *ca;              /* a file: these authorities are trusted, and no others */
	const char *certificate, *key; /* files: the client certificate, for servers that ask for one */
	const char *socket;          /* a Unix socket, which is connected to instead of the host of
	                                the URL */
};

/* What take() returns. */
enum http_take {
	HTTP_TAKEN,
	HTTP_STOP, /* or any other number: the request is stopped, with ERROR_CANCELLED */
	HTTP_HOLD  /* none of the bytes was taken: they come again after http_resume(), and until then
	              the server cannot send more, and no time limit counts */
};

struct http_request {
	const char *url;
	const struct http_way *way;  /* NULL: all as usual */
	const char *method;          /* NULL: POST with a body, GET without */
	bool direct;                 /* use no proxy */
	const char *const *headers;  /* "Name: value"; ends with NULL */
	const char *kept_header;     /* a header whose value is kept from the answer; NULL: none */
	const char *body;            /* NULL: none */
	size_t body_len;
	int64_t idle_timeout_ms;     /* time limit for a period without a byte: then ERROR_NETWORK;
	                                0: 300 s */
	int64_t total_ms;            /* time limit for all of it, however much comes; 0: none */
	int (*take)(void *context, const char *bytes, size_t len); /* called with bytes of a 2xx body */
	void *context;
	size_t limit;                /* bytes of a 2xx body, above which it is ERROR_NETWORK; 0:
	                                no limit */
	/* Returns how many bytes of the answer so far were more than keep-alives, such as comments
	 * in a stream. If that does not grow for KEPT_ALIVE_LIMIT_MS, it is ERROR_NETWORK. NULL:
	 * each byte counts. */
	int64_t (*progress)(void *context);
	int64_t kept_alive_ms;       /* replaces that limit; 0: does not */
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
void http_answer_free(struct http_answer *a);

/* A request, beside others. */
struct transfer;
struct http_call {
	/* Set by the caller; what it points to, but for the URL, must not change until the end. */
	struct http_request request;
	/* Called by http_wait() once `ended` is set; it may begin others, stop others, and free the call. May
	 * be NULL. */
	void (*on_end)(struct http_call *call);
	void *owner;                 /* for on_end() */

	/* The result. */
	bool ended;
	struct error error;          /* ERROR_NONE: a complete answer came, whatever its status;
	                                ERROR_NETWORK (cut, refused, timed out), ERROR_CANCELLED */
	struct http_answer answer;   /* the caller must free it */

	struct transfer *transfer;   /* NULL: it is not in progress */
};
/* Begins a request. -1: ERROR_SYSTEM. */
int http_begin(struct http *h, struct http_call *call, struct error *err);
/* Ends it without an answer; what has arrived of one stays. One that has ended is nothing. */
void http_stop(struct http *h, struct http_call *call);
/* Lets one go on that was held. take() may be called before it returns. */
void http_resume(struct http *h, struct http_call *call);
/* Continues all requests until some have ended, bytes have arrived, one of fds is ready (their revents
 * are set) or limit_ms have passed. -1: ERROR_SYSTEM. */
int http_wait(struct http *h, struct pollfd *fds, size_t count, int64_t limit_ms, struct error *err);
/* Makes one request and waits for its end. -1 with call.error. */
int http_post(struct http *h, const struct http_request *request, struct http_answer *answer,
    struct error *err);

#endif
