/*
 * What the programs that listen allow whoever connects: one table, which each of them reads. A
 * program has its own rules where its connections are different, and the same idea everywhere:
 *
 *   - Times are whole: a byte a second does not put them off. One runs from the first byte of a
 *     head, or of a line, until that is whole; one for what follows; one while nothing is begun.
 *   - A connection that has not shown whose it is may send what shows that, and no more.
 *   - Where all places are taken, whoever comes gets that of a connection that stands there
 *     without use; first those that have shown nothing, the oldest first.
 *
 * The workers of a run (start/pool.h) listen too: who has not the lock of one is not served there,
 * and who has it finds another if that does not greet him at once.
 */
#ifndef AWF_IO_CONNECTION_LIMITS_H
#define AWF_IO_CONNECTION_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/open_files.h"

/* As many tool servers has a CLI at a time. */
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
	size_t connections;      /* at a time, if nobody says otherwise */
	size_t strangers;        /* of them may have shown nothing, where all places are taken */
	size_t head_bytes;       /* of a head, or of a line that shows who somebody is; 0: the peer's
	                            user id shows that */
	size_t body_bytes;       /* of a request, or a line, that is kept in memory */
	size_t bodies_bytes;     /* of all of them together; 0: as many as there are connections */
	size_t address_bytes;    /* of those that come from one address; 0: as all of them */
	int64_t idle_ms;         /* while nothing is begun; 0: as long as it likes */
	int64_t head_ms;
	int64_t body_ms;         /* 0: as long as it likes */
	int64_t stall_ms;        /* for taking a byte of an answer */
	bool patient;            /* who has shown whose he is may be idle, or stall, as long as he likes */
	int64_t leave_ms;        /* to read why it was refused; */
	size_t leave_bytes;      /* of it are dropped meanwhile */
};

/* Its times are those of base/patience.h. */
struct connection_limits connection_limits_of(enum connection_kind which);
/* Another number of connections; strangers keep their share of it, and so many at the least. */
#define CONNECTION_STRANGERS_LEAST 16
void connection_limits_resize(struct connection_limits *limits, size_t connections);
/* No more connections than the limit of open files has room for, which is raised if it can be. */
void connection_limits_fit(struct connection_limits *limits, const struct open_files *need);

#endif
