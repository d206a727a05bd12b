/*
 * A proxy for the requests that one program makes of model APIs: connections of the program
 * (client.c), requests that go on to an API or are answered from a record (exchange.c), and
 * awf-step, which decides and records (awf-models-proxy(1) has the lines). One thread, and one
 * wait for everything.
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
#include "base/connection_limits.h"
#include "json/line_input.h"
#include "net/framing.h"
#include "net/handle.h"
#include "net/head.h"
#include "proc/model_token.h"
#include "spent.h"

#define EXCHANGE_ROOM ((size_t)1 << 20)   /* bytes of an answer that wait for their reader */
#define ANSWER_LIMIT ((size_t)128 << 20)  /* bytes of an answer that is kept */

struct exchange;

/* A connection of the program. */
struct client {
	struct proxy *proxy;
	int fd;
	enum { CLIENT_HEAD, CLIENT_BODY, CLIENT_WAITS, CLIENT_LEAVES } state;
	struct buffer in;             /* what has come and is not taken */
	int64_t deadline;             /* monotonic ms, until which what comes must be there; 0: none */
	bool admitted;                /* a request with the token came */
	struct meaning meaning;       /* of the request */
	size_t dropped;               /* bytes that came after it was refused */
	size_t looked;                /* so much of it was looked at for a head */
	struct buffer head, body;     /* of the request that comes */
	struct framing framing;
	bool whole;
	struct exchange *exchange;    /* that it waits for; NULL */
	struct buffer out;            /* of the answer: */
	size_t sent;
	bool http11, close;           /* the connection ends with the answer */
	bool within;                  /* a step inside of the program asks */
	bool gone;
	struct client *next;
};

/* A request of the program, and its answer. */
struct exchange {
	struct proxy *proxy;
	struct client *client;        /* NULL: it is gone */
	long number;
	struct meaning meaning;
	struct buffer head, body;     /* as they came */
	struct buffer target;         /* without a key */

	/* On its way. */
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

	/* What came. */
	struct stream stream;         /* read, of a generation */
	struct buffer answer;         /* as the program gets it */
	uint64_t answer_bytes;        /* of it, those too that are not kept */
	struct buffer held;           /* what of it the program has not yet, as it is not recorded */
	struct exchange *next;

	bool within;                  /* a step inside of the program asks, and records it */
	bool asked;                   /* awf-step has said what becomes of it */
	bool bodiless;                /* it is a HEAD */
	bool asks_spent;              /* the answer's usage was asked for by the proxy */
	bool paused;
	bool headed;                  /* its head has come */
	bool two_lengths;             /* the API has told, which differ */
	bool long_head;               /* and lines of heads without an end: */
	size_t heads;                 /* their bytes */
	bool events;                  /* the answer is a stream of events */
	bool too_long;                /* to be kept */
	bool swollen;                 /* it was compressed, and is larger than that */
	bool begun, chunked;          /* the answer, to the program */
	bool holds;                   /* what comes now is held */
	bool reported;                /* awf-step knows what came of it */
	bool broken;                  /* it did not come whole */
	CURLcode result;              /* of its way, and why it went wrong: */
	char message[CURL_ERROR_SIZE];
};

/* What becomes of requests: exchange.c. */
struct client_handler {
	/* One has come whole (head and body of the client, which it takes). */
	void (*begin)(struct client *c, const struct head *h, struct meaning meaning);
	/* The program has closed the connection; its reader has taken some. */
	void (*deserted)(struct exchange *e);
	void (*resume)(struct exchange *e);
};

struct proxy {
	const struct client_handler *handler;
	struct connection_limits limits;
	CURLM *multi;
	const char *authorities;
	char *token, within[MODEL_TOKEN_SIZE]; /* of the program, of steps inside of it */
	char *bases[FAMILIES], *keys[FAMILIES]; /* a key may be NULL */
	bool passes;                  /* steps inside of the program record what they ask */
	bool tells_text;              /* awf-step shows the text as it comes */
	struct line_input in;
	int listener, borrow;         /* a descriptor over which that comes; -1: none */
	int port;
	struct client *clients;
	size_t client_count;
	struct exchange *exchanges;
	long requests;
};

/* ---- client.c ---- */

/* Says a line to awf-step. */
void proxy_say(struct buffer *line);

void client_accept(struct proxy *p);
/* Reads and writes what it can. */
void client_serve(struct client *c);
/* Whether it is to be read from, now; written to. */
bool client_reads(const struct client *c);
bool client_writes(const struct client *c);
/* Bytes that it has not taken yet. */
size_t client_unsent(const struct client *c);
/* Sends bytes of an answer. */
void client_send(struct client *c, const char *bytes, size_t len);
/* The answer has ended: the next request may come. broken: the program is to see that it was cut
 * off. */
void client_answered(struct client *c, bool broken);
/* A whole answer that no API gave. more: further fields, each with its CR LF; "". */
void client_error(struct client *c, enum family family, unsigned status, const char *more,
    const char *message);
/* Ends those whose time is over; returns the ms until the next one's is, at most most. */
int clients_expire(struct proxy *p, int most);
/* Frees those that are gone. */
void clients_sweep(struct proxy *p);

/* ---- exchange.c ---- */

extern const struct client_handler exchange_handler;
/* A line of awf-step. */
void exchange_told(struct proxy *p, struct span line);
/* What curl has done. */
void exchange_transferred(struct exchange *e, CURLcode result);
/* awf-step has closed its end: what was under way is told as it is, and ends. */
void exchanges_end(struct proxy *p);

#endif
