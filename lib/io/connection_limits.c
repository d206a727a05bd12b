/* The table is built at run time, because the times in it are shorter in tests. */
#include "io/connection_limits.h"

#include "base/invariant.h"
#include "base/patience.h"

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)

struct connection_limits
connection_limits_of(enum connection_kind which)
{
	const struct connection_limits table[CONNECTION_KINDS] = {
		[CONNECTION_SERVE] = { "awf-serve", .connections = 1024, .strangers = 256,
			.head_bytes = KIB(16), .body_bytes = MIB(32), .bodies_bytes = MIB(128),
			.address_bytes = MIB(32), .stall_ms = CLIENT_STALL_MS, .idle_ms = CLIENT_IDLE_MS, .head_ms = CLIENT_HEAD_MS, .body_ms = CLIENT_BODY_MS,
			.leave_ms = CLIENT_LEAVE_MS, .leave_bytes = MIB(1) },
		/* An authenticated program may keep its connection without a time limit. */
		[CONNECTION_MODELS] = { "awf-models-proxy", .connections = 256, .strangers = 64,
			.head_bytes = KIB(16), .body_bytes = MIB(128), .bodies_bytes = MIB(256),
			.stall_ms = CLIENT_STALL_MS, .patient = true, .idle_ms = CLIENT_IDLE_MS, .head_ms = CLIENT_HEAD_MS, .body_ms = CLIENT_UPLOAD_MS,
			.leave_ms = CLIENT_LEAVE_MS, .leave_bytes = MIB(1) },
		/* A person may look at a question for any time. */
		[CONNECTION_ANSWER] = { "awf-step --ask", .connections = 16, .body_bytes = MIB(32),
			.bodies_bytes = MIB(64), .body_ms = CLIENT_BODY_MS },
		[CONNECTION_TOOLS] = { "a provider's tools", .connections = CONNECTION_TOOLS_MOST,
			.strangers = CONNECTION_TOOLS_MOST, .head_bytes = 128,
			.body_bytes = MIB(256), .head_ms = CLIENT_HEAD_MS },
		[CONNECTION_KEEP] = { "awf-mcp-keep", .connections = 1024, .body_bytes = MIB(256) },
	};

	INVARIANT(which < CONNECTION_KINDS && table[which].name != NULL && table[which].connections > 0);
	return table[which];
}

void
connection_limits_resize(struct connection_limits *limits, size_t connections)
{
	INVARIANT(limits->connections > 0 && connections > 0);
	limits->strangers = connections * limits->strangers / limits->connections;
	if (limits->strangers < CONNECTION_STRANGERS_LEAST)
		limits->strangers = CONNECTION_STRANGERS_LEAST;
	limits->connections = connections;
}

void
connection_limits_fit(struct connection_limits *limits, const struct open_files *need)
{
	size_t most = open_files_most(need);

	if (most < limits->connections)
		connection_limits_resize(limits, most);
	open_files_raise(need, limits->connections, NULL);
}
