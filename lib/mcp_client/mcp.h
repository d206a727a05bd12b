/*
 * A client of an MCP server: a program that speaks JSON-RPC 2.0 on stdin and stdout, one message a
 * line (Model Context Protocol, versions 2024-11-05 to 2025-11-25, and 2026-07-28 for servers that
 * support only that). The server is started when it is first needed, lives as long as the step, or
 * the run (mcp_kept.h), and is restarted at the next call if it has ended meanwhile.
 *
 * Its own requests (roots, sampling, elicitation) are refused, because no such capability is
 * declared. A server that breaks the protocol is ended, since its following messages could not be
 * trusted. Its stderr is kept and shown if it fails; in it, and in its error messages, the keys
 * that it was given are replaced by stars.
 *
 * It is ended as the protocol demands: its stdin is closed, and it has time to end by itself; then
 * it gets SIGTERM and SIGKILL, with all processes that it started.
 */
#ifndef AWF_MCP_CLIENT_MCP_H
#define AWF_MCP_CLIENT_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "definitions/mcp_config.h"
#include "definitions/pins.h"
#include "isolate/sandbox.h"
#include "json/scan.h"
#include "proc/environment.h"
#include "proc/interrupts.h"
#include "proc/peer.h"
#include "start/pool.h"
#include "storage/traceparent.h"

struct mcp_request;
struct run;

/* What a server may have. */
enum { MCP_TOOLS = 1, MCP_RESOURCES = 2, MCP_PROMPTS = 4 };

struct mcp_server {
	struct mcp_definition definition;
	const struct sandbox *sandbox; /* what its agent says; the agent's */
	const struct run *run;       /* the run that may keep it, if its definition says so;
	                                NULL: none */
	struct pool_worker worker;   /* the run's worker, which is then the peer (mcp_kept.h);
	                                else none */
	int worker_status;           /* the wait status of the server that the worker reported; or -1 */
	struct peer peer;            /* has the server's mark, and its secret values, none of
	                                which is recorded */
	struct pins pins;            /* files that it runs, in their state when it was started first */
	bool enclosed;               /* it runs in a sandbox, */
	struct environment environment; /* which was started with this, */
	char *const *passed;         /* and lets these through: the step's */
	bool cut_off;                /* it has no network, and its program downloads what it runs */
	int exit_code;               /* exit status of the last process, as shells report it */
	bool ready;                  /* it has said what it is, */
	unsigned features;           /* and what it has */
	bool listed;                 /* tools is what it offers, */
	bool stale;                  /* it runs, or did, and has said that its list has changed */
	unsigned listing;            /* how often it was listed */
	bool modern;                 /* each request contains what the handshake said in earlier
	                                versions */
	struct buffer tools;         /* elements of a JSON array, as it lists them */
	size_t unread;               /* at least how many bytes of answers to its own requests
	                                are not written yet */
	struct mcp_request *waiting; /* requests without an answer */
	long long first_id, next_id; /* ids of requests lie between them */
};

/* How servers are used just now. */
struct mcp_use {
	const struct environment *environment; /* of tools; may be NULL */
	const struct keys *keys;               /* may be NULL */
	struct sandbox *sandbox;               /* what the step says; may be NULL */
	const struct interrupts *interrupts;   /* may be NULL */
	int64_t deadline;                      /* monotonic ms; 0: none */
};

/* Takes over its definition; nothing runs yet. */
void mcp_begin(struct mcp_server *s, struct mcp_definition *definition,
    const struct sandbox *sandbox);
/* Starts all of them and lists their tools, at the same time; those that are ready stay as they
 * are. -1: the first error: ERROR_TOOL for a server that fails, ERROR_BLOCKED for one to which
 * its sandbox refused something, ERROR_DEFINITION, ERROR_TIMEOUT, or the interrupt. */
int mcp_open(struct mcp_server *const *servers, size_t count, const struct mcp_use *use,
    struct error *err);
/* Reads what the server has sent since the last call. Returns whether it runs and its tools must
 * be listed again, which mcp_open() does. */
bool mcp_changed(struct mcp_server *s);

/* A tool call, or a request with another method. */
struct mcp_call {
	/* Set by the caller. */
	struct mcp_server *server;
	const char *method;
	const char *tool;            /* NULL: the arguments are the method's params */
	struct span arguments;       /* JSON object */
	int64_t timeout_ms;          /* without a sign of progress; 0: none */
	void (*progress)(void *context, struct span params); /* may be NULL */
	void *context;
	char traceparent[TRACEPARENT_SIZE]; /* the span in which it is made; "": none */
	struct error error;          /* ERROR_NONE; else it is not made */

	/* The outcome, also if it failed: ERROR_TOOL with the server's message, or with what
	 * happened to it; ERROR_TIMEOUT, or the interrupt: then the call is cancelled, and a
	 * late answer ignored. */
	struct buffer line;
	struct span result;          /* in line: an object */
	int exit_code;               /* of a server that has ended instead, as shells report it */
	int64_t finished;            /* monotonic ms */
};
/* Makes calls, to one server or several, all at once. -1: interrupted, or the machine failed;
 * calls without an answer have that error too. */
int mcp_call(struct mcp_call *calls, size_t count, const struct mcp_use *use, struct error *err);
void mcp_call_free(struct mcp_call *call);

/* Ends all of them at once; they can be opened again. Call mcp_free() afterwards. */
void mcp_stop(struct mcp_server *const *servers, size_t count);
void mcp_free(struct mcp_server *s);

#endif
