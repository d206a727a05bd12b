/*
 * An MCP server: a program that is spoken to over its stdin and stdout in JSON-RPC 2.0, a
 * message a line (Model Context Protocol, revisions 2024-11-05 to 2025-11-25, and 2026-07-28
 * of servers that know no others). It is started when it is first needed, lives as long as
 * the step, or the run (mcp_kept.h), and is started anew at the next call if it has ended
 * meanwhile.
 *
 * What it asks for itself (roots, sampling, elicitation) is refused: no such capability is
 * declared. A server that breaks the
 * protocol is ended: nothing that follows from it could be trusted. What it writes on
 * stderr is kept, and told when it fails, with stars over the keys that it was given; so is
 * what it answers in errors.
 *
 * It is ended as the protocol has it: its stdin is closed, it has time to end by itself;
 * then SIGTERM and SIGKILL, to it and all that it started.
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
	const struct run *run;       /* that may keep it, where its definition says so; NULL: none */
	struct pool_worker worker;   /* of the run, that the peer is then (mcp_kept.h); else none */
	int worker_status;           /* what that says of how the server ended, as of wait(2); or -1 */
	struct peer peer;            /* its mark and secrets, values of which none is recorded, are
	                                the server's */
	struct pins pins;            /* files that it runs, as they were when it was started first */
	bool enclosed;               /* it runs in a sandbox, */
	struct environment environment; /* which was started with this, */
	char *const *passed;         /* and lets these through: the step's */
	bool cut_off;                /* without network, and its program fetches what it runs */
	int exit_code;               /* that the last process ended with, as shells count */
	bool ready;                  /* it has said what it is, */
	unsigned features;           /* and what it has */
	bool listed;                 /* tools is what it offers, */
	bool stale;                  /* or did: it has said that this has changed */
	unsigned listing;            /* how often it was listed */
	bool modern;                 /* each request says what the handshake did before */
	struct buffer tools;         /* inside of a JSON array, as it lists them */
	size_t unread;               /* bytes not yet written, at the least, that answer what it
	                                asked */
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
/* Has all of them run and their tools listed, at the same time; those that are, stay as
 * they are. -1: the first that went wrong. ERROR_TOOL for a server that fails,
 * ERROR_BLOCKED for one that its sandbox refused something, ERROR_DEFINITION,
 * ERROR_TIMEOUT, or the interrupt. */
int mcp_open(struct mcp_server *const *servers, size_t count, const struct mcp_use *use,
    struct error *err);
/* Takes what the server has said since it was last spoken to. Whether it runs, and its tools
 * are to be listed anew, which mcp_open() does. */
bool mcp_changed(struct mcp_server *s);

/* A call of a tool, or a request with another method. */
struct mcp_call {
	/* Set by the caller. */
	struct mcp_server *server;
	const char *method;
	const char *tool;            /* NULL: the arguments are the method's params */
	struct span arguments;       /* JSON object */
	int64_t timeout_ms;          /* without a sign of progress; 0: none */
	void (*progress)(void *context, struct span params); /* may be NULL */
	void *context;
	char traceparent[TRACEPARENT_SIZE]; /* what it is made in; "": in no trace */
	struct error error;          /* ERROR_NONE; else it is not made */

	/* Filled, error too: ERROR_TOOL with what the server says, or what became of it;
	 * ERROR_TIMEOUT, or the interrupt: the call is cancelled then, and what still comes of it
	 * is passed over. */
	struct buffer line;
	struct span result;          /* in line: an object */
	int exit_code;               /* of a server that has ended instead, as shells count */
	int64_t finished;            /* monotonic ms */
};
/* Makes calls, to one server or several, all at once. -1: interrupted, or the machine failed;
 * those that had no answer have that error too. */
int mcp_call(struct mcp_call *calls, size_t count, const struct mcp_use *use, struct error *err);
void mcp_call_free(struct mcp_call *call);

/* Ends those that run, all at once; they can be opened again. mcp_free() is called after
 * it. */
void mcp_stop(struct mcp_server *const *servers, size_t count);
void mcp_free(struct mcp_server *s);

#endif
