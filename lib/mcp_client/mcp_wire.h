/*
 * The wire to an MCP server, for mcp.c and the programs that stand between the two: JSON-RPC over
 * the pipes of its process (mcp_process.h). Requests are sent, to one server or several, and then
 * waited for together; meanwhile what servers ask and tell is answered and noted.
 */
#ifndef AWF_MCP_CLIENT_MCP_WIRE_H
#define AWF_MCP_CLIENT_MCP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/version.h"
#include "mcp_client/mcp.h"

/* What each request says of who asks, where no handshake did (2026-07-28). */
#define MCP_MODERN "2026-07-28"
#define MCP_CLIENT_INFO "{\"name\":\"awf\",\"version\":\"" AWF_VERSION "\"}"

/* How a server breaks the protocol, where who keeps it finds it too. */
#define MCP_UNREAD "it asks and asks, and reads no answer"
#define MCP_LONG "a line above 256 MiB"

/* The code of errors that awf-mcp-http makes, for want of an answer: what it says of the server. */
#define MCP_NO_ANSWER (-39999)

/* Appends the answer to what a server asks: nothing but ping is answered, as no capability is
 * declared. */
void mcp_answer_request(struct buffer *line, struct span id, struct span method);

struct mcp_request {
	/* Set by the caller. */
	struct mcp_server *server;
	const char *method;
	int64_t due;              /* monotonic ms; 0: no limit */
	int64_t patience_ms;      /* so much longer with each sign that the server works; 0: no longer */
	void (*progress)(void *context, struct span params);
	void *context;
	const char *traceparent;  /* ""; NULL: none */
	bool stays;               /* it is not cancelled when nobody waits any more */

	/* Filled. */
	bool done;
	struct buffer line;
	struct span result;       /* in line; .at NULL: there is none, but an error */
	struct error error;
	int exit_code;            /* of a server that has ended instead of answering */
	int64_t finished;         /* when it was done, monotonic ms */
	long long id;
	struct mcp_request *next; /* of the server's */
};

/* Sends it; members are the inside of the object params. One that cannot be sent is
 * done. */
void mcp_send(struct mcp_request *r, const struct buffer *members);
void mcp_notify(struct mcp_server *s, const char *method);
/* Waits until all are done, of which several may be for one server. -1: interrupted, or the machine failed; those that had no
 * answer yet are cancelled, and have that error too. */
int mcp_wait(struct mcp_request *requests, size_t count, const struct mcp_use *use,
    struct error *err);
void mcp_request_free(struct mcp_request *r);
/* Takes what is there without waiting, if it is not without end. */
void mcp_take(struct mcp_server *s);

#endif
