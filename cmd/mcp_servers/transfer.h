/*
 * The parts of awf-mcp-http: a bridge between lines and a server over HTTP, and its transfers, each
 * of which sends a message, or receives messages of the server. transfer.c starts transfers and
 * receives their data; transfer_end.c handles those that have ended.
 */
#ifndef AWF_MCP_SERVERS_TRANSFER_H
#define AWF_MCP_SERVERS_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/jsonrpc.h"
#include "json/line_input.h"
#include "json/scan.h"
#include "mirrored.h"
#include "net/handle.h"
#include "net/sse.h"

/* The member of a message with its protocol version, from 2026-07-28 on. */
#define META_VERSION "io.modelcontextprotocol/protocolVersion"

enum purpose {
	POST_MESSAGE,
	GET_REST,        /* of an answer whose stream was cut */
	GET_STREAM,      /* the server's own messages */
	GET_SSE          /* all messages of the server, in the old transport */
};

struct bridge;

/* A transfer, and the message that it carries or waits for. */
struct transfer {
	struct bridge *bridge;
	enum purpose purpose;
	CURL *easy;
	struct curl_slist *headers;
	char why[CURL_ERROR_SIZE];
	struct buffer message;       /* JSON */
	struct handle_body posted;
	struct span id;              /* in message; .at NULL: a notification, or an answer */
	bool initializes, answered, lists;
	bool unheard;                /* ignore the answer: a new session was begun */
	bool again;                  /* it is posted again in another session */
	bool after_hello;            /* once that has begun */
	char *session;               /* that it belongs to; NULL: none */
	bool running;
	int64_t due;                 /* when to post it again, monotonic ms; 0: now */
	unsigned tries;

	/* What comes. */
	bool stream;                 /* server-sent events */
	size_t heads;                /* bytes of lines of heads */
	bool cut;                    /* the rest of an error's body is not needed */
	const char *wrong;           /* an error in the answer, reported instead of
	                                libcurl's; NULL */
	char location[256];
	long long retry_after;       /* s; 0: not said */
	struct sse sse;
	struct buffer body;
	struct transfer *next;
};

struct bridge {
	CURLM *multi;
	const char *authorities;
	char *url, *endpoint;        /* where messages go; NULL: the old transport waits for it */
	char **headers;              /* "Name: value"; ends with NULL; NULL: none */
	bool sse;                    /* the old transport */
	bool listens;                /* to its stream */
	char **asked;                /* ids of requests that were posted, whose answers it brings */
	long refused;                /* the HTTP status that said so; 0: it was known before */
	char *session, *version;     /* NULL: none */
	struct buffer hello;         /* the message that the session began with */
	struct mirrored mirrored;
	struct transfer *transfers;
	struct buffer waiting;       /* lines that are not posted yet */
	struct line_input in;
	char *lost;                  /* why nothing more can be done; otherwise NULL */
};

/* The bridge cannot continue: answers each pending request with an error; without any, prints it to
 * stderr. format: what the server does. */
void bridge_fail(struct bridge *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a message received since. False: it was not a request. */
bool bridge_refuse_waiting(struct bridge *b);

/* A transfer for a message (.at NULL: none), not started yet; it is the bridge's. */
struct transfer *transfer_add(struct bridge *b, enum purpose purpose, struct span message);
/* Makes it, or makes it again; later, as long as the server asks for, or longer each time. */
void transfer_start(struct transfer *t);
void transfer_again(struct transfer *t);
void transfer_remove(struct transfer *t);
void transfer_remove_all(struct bridge *b);
/* Adds the headers of its request. */
void transfer_add_headers(struct transfer *t);

/* Whether a message is the server's answer to its request. */
bool transfer_answers(const struct transfer *t, const struct jsonrpc *m);
/* The stream of the old transport brings the answer to its request, if it is one. */
void transfer_await(struct transfer *t);
/* Passes on a message of the server. -1: it is not one. */
int transfer_take(struct transfer *t, const char *bytes, size_t len);
/* Answers a request that the server has not answered with an error; for other messages, prints
 * it to stderr. */
void transfer_fail(struct transfer *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether its message is the second of a session. */
bool transfer_is_initialized(const struct transfer *t);
/* Handles a transfer that has ended. True: it is done; false: it continues. */
bool transfer_end(struct transfer *t, CURLcode result);

#endif
