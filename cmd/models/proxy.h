/*
 * A proxy for the requests that one program makes of model APIs: connections of the program
 * (httpd/connection.h) and which of its requests go on (client.c), to an API or to be answered from a
 * record (exchange.c), and awf-step, which decides and records (awf-models-proxy(1) has the lines).
 * One thread, and one wait for everything.
 *
 *   - No request goes anywhere before awf-step has said so, as it has recorded it by then.
 *   - The end of an answer is held back until awf-step has recorded that: what the program knows,
 *     the record does.
 *   - A key is in the memory of this process alone, and in what goes to its API.
 *   - A request is judged by its head: who has not the token is refused before a byte of the body is
 *     kept, and has a time for a head and for reading why. Where all places are taken, one that has
 *     never had the token leaves its own.
 *   - Of an answer that its reader does not take, no more than EXCHANGE_ROOM waits here; the
 *     server is held up meanwhile.
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

#define EXCHANGE_ROOM ((size_t)1 << 20)   /* bytes of an answer that wait for their reader */
#define ANSWER_LIMIT ((size_t)128 << 20)  /* bytes of an answer that is kept */

struct exchange;

/* A request of the program, as long as its connection has it. */
struct request {
	struct proxy *proxy;
	struct connection *connection;
	struct meaning meaning;
	struct buffer head;           /* until there is an exchange, which takes it */
	bool within;                  /* a step inside of the program asks */
	struct refusal refusal;       /* one that was made for it */
	struct exchange *exchange;    /* that it waits for; NULL */
};

/* What became of a request, and its answer. */
struct exchange {
	struct proxy *proxy;
	struct request *request;      /* NULL: the program has closed the connection */
	long number;
	struct meaning meaning;
	struct buffer head, body;     /* as they came */
	struct buffer target;         /* without a key */

	struct {
		CURL *easy;                   /* NULL: it is not, or is no more */
		struct curl_slist *fields;
		struct handle_body posted;
		struct buffer url, sent;
		const char *authorities;      /* as of handle_prepare() */
		struct buffer lines;          /* of the answer's head */
		long status;
		curl_off_t length;            /* of the answer, for the program; -1: not known */
		struct spent spent;
		int64_t began;                /* monotonic ms */
		CURLcode result;              /* of its way, and why it went wrong: */
		char message[CURL_ERROR_SIZE];
	} way;                        /* to the API */
	struct {
		struct stream stream;         /* read, of a generation */
		struct buffer answer;         /* as the program gets it */
		uint64_t answer_bytes;        /* of it, those too that are not kept */
		struct buffer held;           /* what of it the program has not yet, as it is not recorded */
		bool headed;                  /* its head has come */
		bool two_lengths;             /* the API has told, which differ */
		bool long_head;               /* and lines of heads without an end: */
		size_t heads;                 /* their bytes */
		bool events;                  /* the answer is a stream of events */
		bool too_long;                /* to be kept */
		bool swollen;                 /* it was compressed, and is larger than that */
		bool begun;                   /* the answer, to the program */
		bool holds;                   /* what comes now is held */
		bool broken;                  /* it did not come whole */
	} came;                       /* of the answer */
	struct exchange *next;
	bool within;                  /* a step inside of the program asks, and records it */
	bool asked;                   /* awf-step has said what becomes of it */
	bool bodiless;                /* it is a HEAD */
	bool asks_spent;              /* the answer's usage was asked for by the proxy */
	bool paused;
	bool reported;                /* awf-step knows what came of it */
};

struct proxy {
	struct loop loop;             /* of its connections alone */
	struct httpd httpd;
	struct httpd_listener listener;
	CURLM *multi;
	const char *authorities;
	char *token, within[MODEL_TOKEN_SIZE]; /* of the program, of steps inside of it */
	char *bases[FAMILIES], *keys[FAMILIES]; /* a key may be NULL */
	char **headers[FAMILIES];     /* lines that stand for all credentials, of another server than the
	                                 API's own; NULL: that is asked */
	bool passes;                  /* steps inside of the program record what they ask */
	bool tells_text;              /* awf-step shows the text as it comes */
	struct line_input in;
	int borrow;                   /* a descriptor over which what listens comes; -1: none */
	int port;
	struct exchange *exchanges;
	long requests;
	bool ended;                   /* awf-step has closed its end */
};

/* ---- proxy.c ---- */

/* Says a line to awf-step. */
void proxy_say(struct buffer *line);
/* Answers a request with an error that no API gave. more: further fields, each with its CR LF; "". */
void proxy_error(struct connection *c, enum family family, unsigned status, const char *more,
    const char *message);

/* ---- client.c ---- */

/* What is done with the requests of the program. */
extern const struct connection_handler client_handler;

/* ---- exchange.c ---- */

/* A request has come whole. */
void exchange_begin(struct request *r);
/* The program has closed the connection; it has taken some of the answer. */
void exchange_desert(struct exchange *e);
void exchange_resume(struct exchange *e);
/* A line of awf-step. */
void exchange_told(struct proxy *p, struct span line);
/* What curl has done. */
void exchange_transferred(struct exchange *e, CURLcode result);
/* awf-step has closed its end: what was under way is told as it is, and ends. */
void exchanges_end(struct proxy *p);

#endif
