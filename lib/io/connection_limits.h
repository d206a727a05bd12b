/*
 * Limits for the clients of all programs that listen on a socket, in one table. Programs differ in
 * details, but the principles are the same:
 *
 *   - Time limits are for complete messages: sending a byte per second does not extend them. One
 *     runs from the first byte of a head, or of a line, until it is complete; one for what
 *     follows; one while the connection is idle.
 *   - A client that is not authenticated may send its credentials, and nothing else.
 *   - If all places are taken, a new client replaces an idle connection: first the unauthenticated
 *     ones, oldest first.
 *
 * The workers of a run (start/pool.h) listen, too: a worker serves only the client that holds its
 * lock, and a client whose worker does not send its greeting at once looks for another worker.
 */
#ifndef AWF_IO_CONNECTION_LIMITS_H
#define AWF_IO_CONNECTION_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/open_files.h"

/* Number of tool servers that a CLI runs at the same time. */
#define CONNECTION_TOOLS_MOST 4

enum connection_kind {
	CONNECTION_SERVE,          /* awf-serve */
	CONNECTION_MODELS,         /* awf-models-proxy, for the program of a step */
	CONNECTION_ANSWER,       /* awf-step --ask, for answers */
	CONNECTION_TOOLS,          /* a provider, for the tool servers that an agent CLI starts */
	CONNECTION_KEEP,           /* awf-mcp-keep, for the steps of a run */
	CONNECTION_KINDS
};

struct connection_limits {
	const char *name;
	size_t connections;      /* at the same time, by default */
	size_t strangers;        /* how many of these may be unauthenticated when all are in use */
	size_t head_bytes;       /* size of a head, or of a line with credentials; 0: clients are
	                            authenticated by their user id */
	size_t body_bytes;       /* size of a request or line, which is kept in memory */
	size_t bodies_bytes;     /* sum for all connections; 0: only the number of connections
	                            limits it */
	size_t address_bytes;    /* sum for connections from one address; 0: only the limit for
	                            all */
	int64_t idle_ms;         /* between requests; 0: no limit */
	int64_t head_ms;
	int64_t body_ms;         /* 0: no limit */
	int64_t stall_ms;        /* how long a client may take to accept a byte of a response */
	bool patient;            /* an authenticated client may be idle, or stall, without a
	                            limit */
	int64_t leave_ms;        /* how long a client may take to read why it was refused, */
	size_t leave_bytes;      /* and how many bytes from it are discarded meanwhile */
};

/* Times are those of base/patience.h. */
struct connection_limits connection_limits_of(enum connection_kind which);
/* Sets the number of connections; the share for unauthenticated clients stays the same, but is at
 * least CONNECTION_STRANGERS_LEAST. */
#define CONNECTION_STRANGERS_LEAST 16
void connection_limits_resize(struct connection_limits *limits, size_t connections);
/* Reduces the connections to what the limit of open files allows, after raising that as far
 * as possible. */
void connection_limits_fit(struct connection_limits *limits, const struct open_files *need);

#endif
