/*
 * A proxy for the requests that one program makes to model APIs: connections of the program
 * (httpd/connection.h), which of its requests are accepted (client.c), sending them to an API or
 * answering them from a record (exchange.c), and awf-step, which decides and records
 * (awf-models-proxy(1) describes the lines). One thread, and one wait for everything.
 *
 *   - No request is sent before awf-step allows it, which has recorded it by then.
 *   - The end of a response is held back until awf-step has recorded the response: so whatever the
 *     program knows is in the record.
 *   - A key exists only in the memory of this process, and in requests to its API.
 *   - A request is checked by its head: without the token it is refused before its body is read,
 *     with a time limit for the head and for reading the refusal. If all places are taken, a
 *     connection that has never had the token is closed.
 *   - At most EXCHANGE_ROOM bytes of a response wait here for a slow reader; meanwhile no more is
 *     read from the server.
 */
#ifndef AWF_MODELS_PROXY_H
#define AWF_MODELS_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "apis.h"
#include "base/buffer.h"
#include "httpd/connection.h"
#include "httpd/head.h"
#include "httpd/loop.h"
#include "json/line_input.h"
#include "net/handle.h"
#include "proc/model_token.h"
#include "spent.h"

#define EXCHANGE_ROOM ((size_t)1 << 20)   /* bytes of a response that wait for their reader */
#define ANSWER_LIMIT ((size_t)128 << 20)  /* bytes of a response that are recorded */

struct exchange;

/* A request of the program, on its connection. */
struct request {
	struct proxy *proxy;
	struct connection *connection;
	struct meaning meaning;
	struct buffer head;           /* moved to the exchange when there is one */
	bool within;                  /* it comes from a step inside of the program */
	struct refusal refusal;       /* response made by the proxy */
	struct exchange *exchange;    /* NULL: none yet */
};

/* A request that is complete, and its response. */
struct exchange {
	struct proxy *proxy;
	struct request *request;      /* NULL: the program has closed the connection */
	long number;
	struct meaning meaning;
	struct buffer head, body;     /* as received */
	struct buffer target;         /* without a key */

	struct {
		CURL *easy;                   /* NULL: not running */
		struct curl_slist *fields;
		struct handle_body posted;
		struct buffer url, sent;
		const char *authorities;      /* as for handle_prepare() */
		struct buffer lines;          /* of the response's head */
		long status;
		curl_off_t length;            /* of the response to the program; -1: unknown */
		struct spent spent;
		int64_t began;                /* monotonic ms */
		CURLcode result;              /* result of the transfer, and its error: */
		char message[CURL_ERROR_SIZE];
	} way;                        /* transfer to the API */
	struct {
		struct stream stream;         /* parsed, for a generation */
		struct buffer answer;         /* as passed to the program */
		uint64_t answer_bytes;        /* of the response, including those not recorded */
		struct buffer held;           /* bytes for the program that wait until the response
		                                 is recorded */
		bool headed;                  /* its head is complete */
		bool two_lengths;             /* it has different Content-Length fields */
		bool long_head;               /* its heads do not end: */
		size_t heads;                 /* their size so far */
		bool events;                  /* it is a stream of events */
		bool too_long;                /* to be recorded */
		bool swollen;                 /* it was compressed, and exceeds the limit
		                                 decompressed */
		bool begun;                   /* sending it to the program has begun */
		bool holds;                   /* further bytes are held back */
		bool broken;                  /* it is incomplete */
	} came;                       /* what has arrived of the response */
	struct exchange *next;
	bool within;                  /* it comes from a step inside of the program,
	                                 which records it */
	bool asked;                   /* awf-step has said what to do */
	bool bodiless;                /* HEAD request */
	bool asks_spent;              /* the proxy has requested the usage */
	bool paused;
	bool reported;                /* the response was reported to awf-step */
};

struct proxy {
	struct loop loop;             /* for the program's connections */
	struct httpd httpd;
	struct httpd_listener listener;
	CURLM *multi;
	const char *authorities;
	char *token, within[MODEL_TOKEN_SIZE]; /* tokens: of the program, of steps inside of it */
	char *bases[FAMILIES], *keys[FAMILIES]; /* a key may be NULL */
	char **secrets[FAMILIES];     /* lists of the key and of secrets in headers, which no record has */
	char **headers[FAMILIES];     /* lines that stand for all credentials, of another server than the
	                                 API's own; NULL: that is asked */
	bool passes;                  /* steps inside of the program record what they ask */
	bool tells_text;              /* awf-step shows the text as it comes */
	struct line_input in;
	int borrow;                   /* descriptor on which listening sockets are
	                                 received; -1: none */
	int port;
	struct exchange *exchanges;
	long requests;
	bool ended;                   /* awf-step has closed its end */
};

/* ---- proxy.c ---- */

/* Sends a line to awf-step. */
void proxy_say(struct buffer *line);
/* Responds with an error made by the proxy. more: further header fields, each with CR LF; "". */
void proxy_error(struct connection *c, enum family family, unsigned status, const char *more,
    const char *message);

/* ---- client.c ---- */

/* Callbacks for the program's connections. */
extern const struct connection_handler client_handler;

/* ---- exchange.c ---- */

/* A request is complete. */
void exchange_begin(struct request *r);
/* The program has closed the connection; or it has read some of the response. */
void exchange_desert(struct exchange *e);
void exchange_resume(struct exchange *e);
/* Handles a line of awf-step. */
void exchange_told(struct proxy *p, struct span line);
/* libcurl has ended a transfer. */
void exchange_transferred(struct exchange *e, CURLcode result);
/* awf-step has closed its end: reports and ends all running exchanges. */
void exchanges_end(struct proxy *p);

#endif
