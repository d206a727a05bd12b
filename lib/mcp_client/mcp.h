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

/* Features of a server. */
enum { MCP_TOOLS = 1, MCP_RESOURCES = 2, MCP_PROMPTS = 4 };

struct mcp_server {
	struct mcp_definition definition;
	const struct sandbox *sandbox; /* the agent's sandbox settings, owned by the agent */
	const struct run *run;       /* the run that may keep it, if its definition says so;
	                                NULL: none */
	struct pool_worker worker;   /* the run's worker, if it keeps the server: then the worker is
	                                the peer (mcp_kept.h) */
	int worker_status;           /* the wait status of the server as reported by the worker; -1:
	                                none */
	struct peer peer;            /* the process; its mark and the secret values are in it, and
	                                are not recorded */
	struct pins pins;            /* the files that it runs, as they were when it was first
	                                started */
	bool enclosed;               /* whether it runs in a sandbox, */
	struct environment environment; /* with this environment, */
	char *const *passed;         /* of which these variables are passed into it (those of the
	                                step) */
	bool cut_off;                /* it has no network, but its program downloads the package
	                                that it runs */
	int exit_code;               /* exit status of the last process, as shells report it */
	bool ready;                  /* the server has answered initialize, */
	unsigned features;           /* and declared these features */
	bool listed;                 /* `tools` is its current list, */
	bool stale;                  /* its list has changed since */
	unsigned listing;            /* how many times its tools were listed */
	bool modern;                 /* there is no handshake: each request has what the handshake
	                                had in earlier versions */
	struct buffer tools;         /* elements of a JSON array, as in its list */
	size_t unread;               /* an estimate of the bytes of answers to its own requests that
	                                are not written yet */
	struct mcp_request *waiting; /* requests without an answer */
	long long first_id, next_id; /* ids of requests lie between them */
};

/* The circumstances in which servers are used. */
struct mcp_use {
	const struct environment *environment; /* of tools; may be NULL */
	const struct keys *keys;               /* may be NULL */
	struct sandbox *sandbox;               /* the step's sandbox settings; may be NULL */
	const struct interrupts *interrupts;   /* may be NULL */
	int64_t deadline;                      /* monotonic ms; 0: none */
};

/* Takes over its definition; nothing runs yet. */
void mcp_begin(struct mcp_server *s, struct mcp_definition *definition,
    const struct sandbox *sandbox);
/* Starts all servers and lists their tools, in parallel; those that are ready already are left as
 * they are. -1: the first error: ERROR_TOOL for a server that fails, ERROR_BLOCKED for one whose
 * sandbox blocked an access, ERROR_DEFINITION, ERROR_TIMEOUT, or the interrupt. */
int mcp_open(struct mcp_server *const *servers, size_t count, const struct mcp_use *use,
    struct error *err);
/* Reads what the server has sent since the last call. Returns whether it runs and its tools must be
 * listed again, by mcp_open(). */
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
	struct error error;          /* ERROR_NONE; if the caller sets another one, the call is not
	                                made */

	/* The result, also if the call failed: ERROR_TOOL with the server's message, or with the
	 * reason; ERROR_TIMEOUT or the interrupt: then the call is cancelled, and a late answer
	 * ignored. */
	struct buffer line;
	struct span result;          /* in line: an object */
	int exit_code;               /* if the server has ended instead: its exit status as shells
	                                report it */
	int64_t finished;            /* monotonic ms */
};
/* Makes all calls in parallel, to one server or several. -1: interrupted, or a system error; calls
 * without an answer have that error too. */
int mcp_call(struct mcp_call *calls, size_t count, const struct mcp_use *use, struct error *err);
void mcp_call_free(struct mcp_call *call);

/* Ends all servers, in parallel; they can be opened again. Call mcp_free() afterwards. */
void mcp_stop(struct mcp_server *const *servers, size_t count);
void mcp_free(struct mcp_server *s);

#endif
