/*
 * The connection to an MCP server, for mcp.c and the programs that relay MCP: JSON-RPC over the
 * pipes of its process (mcp_process.h). Requests are sent, to one server or several, and then
 * waited for together; meanwhile the servers' own requests are answered and their notifications
 * noted.
 */
#ifndef AWF_MCP_CLIENT_MCP_WIRE_H
#define AWF_MCP_CLIENT_MCP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/version.h"
#include "mcp_client/mcp.h"

/* In this version each request names the client, since there is no handshake (2026-07-28). */
#define MCP_MODERN "2026-07-28"
#define MCP_CLIENT_INFO "{\"name\":\"awf\",\"version\":\"" AWF_VERSION "\"}"

/* Messages for a broken protocol that the worker that keeps a server uses too. */
#define MCP_UNREAD "it asks and asks, and reads no answer"
#define MCP_LONG "a line above 256 MiB"

/* The error code that awf-mcp-http sends if the server gives no answer: then the message is about
 * the server, not from it. */
#define MCP_NO_ANSWER (-39999)

/* Appends the answer to a server's request: only ping is answered; other methods get an error,
 * since no capability is declared. */
void mcp_answer_request(struct buffer *line, struct span id, struct span method);

struct mcp_request {
	/* Set by the caller. */
	struct mcp_server *server;
	const char *method;
	int64_t due;              /* monotonic ms; 0: no limit */
	int64_t patience_ms;      /* each sign of progress extends the time limit by this; 0: none */
	void (*progress)(void *context, struct span params);
	void *context;
	const char *traceparent;  /* ""; NULL: none */
	bool stays;               /* it must not be cancelled, even if nobody waits any more */

	/* Set when it is done. */
	bool done;
	struct buffer line;
	struct span result;       /* in line; .at NULL: there is an error instead */
	struct error error;
	int exit_code;            /* if the server has ended instead of answering */
	int64_t finished;         /* when it was done, monotonic ms */
	long long id;
	struct mcp_request *next; /* in the server's list */
};

/* Sends it; members is the text of the members of params. A request that cannot be sent is done. */
void mcp_send(struct mcp_request *r, const struct buffer *members);
void mcp_notify(struct mcp_server *s, const char *method);
/* Waits until all are done; several may be for one server. -1: interrupted, or a system error;
 * unanswered requests are cancelled, and have that error too. */
int mcp_wait(struct mcp_request *requests, size_t count, const struct mcp_use *use,
    struct error *err);
void mcp_request_free(struct mcp_request *r);
/* Reads what has arrived without waiting, up to a limit. */
void mcp_take(struct mcp_server *s);

#endif
