/*
 * Opening is a sequence of steps, each for all servers at once: initialize, then server/discover
 * where that was refused, then tools/list page by page. A server to which a step does not apply
 * skips it. The mark for a changed list is cleared before the list is requested, so that a change
 * announced meanwhile is not lost.
 */
#include "mcp_client/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "json/writer.h"
#include "mcp_client/mcp_process.h"
#include "mcp_client/mcp_wire.h"

#define VERSION "2025-11-25"
#define PAGES_LIMIT 100
#define TOOLS_LIMIT ((size_t)16 << 20) /* bytes of a tool list with all its pages */

/* The versions that are accepted in a handshake. */
static const char *const versions[] = { VERSION, "2025-06-18", "2025-03-26", "2024-11-05", NULL };

void
mcp_begin(struct mcp_server *s, struct mcp_definition *definition,
    const struct sandbox *sandbox)
{
	*s = (struct mcp_server){ .definition = *definition, .sandbox = sandbox,
	    .worker = POOL_WORKER_NONE, .peer = { .end_ms = MCP_END_MS } };
	memset(definition, 0, sizeof *definition);
}

void
mcp_free(struct mcp_server *s)
{
	mcp_definition_free(&s->definition);
	free(s->peer.mark);
	pins_free(&s->pins);
	environment_free(&s->environment);
	list_free(s->peer.secrets);
	buffer_free(&s->tools);
	peer_free(&s->peer);
}

/* ---- opening: requests to several servers at a time ---- */

/* The servers that are being opened, and the step at which each is. */
struct opening {
	struct mcp_server *const *servers;
	struct mcp_request *requests; /* one per server */
	int64_t *due;
	struct buffer *cursors;       /* of the next page of tools; JSON */
	size_t count;
	int page;                     /* of the tool lists */
	const struct mcp_use *use;
	struct error error;           /* the first error of a server */
};

/* A step for a server: writes the members of params. False: the server skips it. */
typedef bool ask(struct opening *o, size_t i, struct mcp_request *r, struct buffer *members);
/* Processes the answer; -1 with *err. */
typedef int take(struct opening *o, size_t i, struct mcp_request *r, struct error *err);

/* Sends a request to each server that does not skip the step, and waits for all answers: 1; 0: all
 * skipped it. -1: interrupted. Errors of a server go into o->error. */
static int
opening_step(struct opening *o, ask *ask_for, take *take_answer, struct error *err)
{
	struct buffer members = BUFFER_INIT;
	struct error why;
	int any = 0, status;

	for (size_t i = 0; i < o->count; i++) {
		struct mcp_request *r = &o->requests[i];

		*r = (struct mcp_request){ .server = o->servers[i], .due = o->due[i], .done = true };
		if (o->servers[i]->peer.process.pid == 0 || !ask_for(o, i, r, &members))
			continue;
		r->done = false;
		any = 1;
		mcp_send(r, &members);
		buffer_clear(&members);
	}
	buffer_free(&members);
	status = mcp_wait(o->requests, o->count, o->use, err);
	for (size_t i = 0; i < o->count; i++) {
		struct mcp_request *r = &o->requests[i];

		if (status == 0 && r->method != NULL && take_answer(o, i, r, &why) == -1 &&
		    o->error.code == ERROR_NONE)
			o->error = why;
		mcp_request_free(r);
	}
	return status == -1 ? -1 : any;
}

static bool
ask_initialize(struct opening *o, size_t i, struct mcp_request *r, struct buffer *members)
{
	if (o->servers[i]->ready)
		return false;
	o->servers[i]->modern = false;
	r->method = "initialize";
	r->stays = true; /* the protocol does not allow cancelling it */
	buffer_text(members, "\"protocolVersion\":\"" VERSION "\",\"capabilities\":{},"
	    "\"clientInfo\":" MCP_CLIENT_INFO);
	return true;
}

/* A server without any feature is of no use to an agent. */
static int
mcp_read_capabilities(struct mcp_server *s, struct span result, struct error *err)
{
	static const struct {
		const char *name;
		unsigned feature;
	} known[] = { { "tools", MCP_TOOLS }, { "resources", MCP_RESOURCES },
	    { "prompts", MCP_PROMPTS } };

	s->features = 0;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (span_type(span_path(result, "capabilities", known[i].name, NULL)) == 'o')
			s->features |= known[i].feature;
	return s->features != 0 ? 0 : mcp_fault(s, err, "has no tools, resources or prompts");
}

/* A server that refuses the handshake may be of a version without one. */
static int
mcp_read_initialize(struct opening *o, size_t i, struct mcp_request *r, struct error *err)
{
	struct mcp_server *s = o->servers[i];
	struct span version = span_member(r->result, "protocolVersion");
	char *text;

	*err = r->error;
	if (r->result.at == NULL) {
		s->modern = s->peer.process.pid != 0 && r->error.code == ERROR_TOOL;
		return s->modern ? 0 : -1;
	}
	if (span_one_of(version, versions) == NULL) {
		text = span_text(version);
		mcp_fault(s, err, "speaks revision '%.40s' of the protocol, which is none of those "
		    "known (" VERSION " and before)", text == NULL ? "" : text);
		free(text);
		return -1;
	}
	if (mcp_read_capabilities(s, r->result, err) == -1)
		return -1;
	mcp_notify(s, "notifications/initialized");
	s->ready = true;
	return 0;
}

static bool
ask_discover(struct opening *o, size_t i, struct mcp_request *r, struct buffer *members)
{
	(void)members;
	r->method = "server/discover";
	return o->servers[i]->modern && !o->servers[i]->ready;
}

static int
mcp_read_discover(struct opening *o, size_t i, struct mcp_request *r, struct error *err)
{
	struct mcp_server *s = o->servers[i];

	if (r->result.at == NULL) {
		*err = r->error;
		return -1;
	}
	if (mcp_read_capabilities(s, r->result, err) == -1)
		return -1;
	s->ready = true;
	return 0;
}

/* Requests the first page from each server whose list is needed, then further pages. */
static bool
ask_list(struct opening *o, size_t i, struct mcp_request *r, struct buffer *members)
{
	struct mcp_server *s = o->servers[i];
	bool first = o->page == 0 && s->ready && (!s->listed || s->stale);

	if (!first && o->cursors[i].len == 0)
		return false;
	if ((s->features & MCP_TOOLS) == 0) { /* an empty list, which need not be requested */
		s->listed = true;
		s->listing++;
		return false;
	}
	r->method = "tools/list";
	if (!first)
		buffer_format(members, "\"cursor\":%s", buffer_string(&o->cursors[i]));
	/* A change announced from now on may be missing in the answer, so clear the mark first. */
	if (first) {
		buffer_clear(&s->tools);
		s->listed = s->stale = false;
	}
	return true;
}

static int
mcp_read_tool_list(struct opening *o, size_t i, struct mcp_request *r, struct error *err)
{
	struct span tools = span_member(r->result, "tools");
	struct span cursor = span_member(r->result, "nextCursor");
	struct mcp_server *s = o->servers[i];

	buffer_clear(&o->cursors[i]);
	*err = r->error;
	if (r->result.at == NULL)
		return -1;
	if (span_type(tools) != 'a')
		return mcp_fault(s, err, "gives no list of its tools");
	if (s->tools.len + tools.len > TOOLS_LIMIT)
		return mcp_fault(s, err, "has a list of tools above %zu MiB", TOOLS_LIMIT >> 20);
	if (tools.len > 2) {
		buffer_text(&s->tools, s->tools.len > 0 ? "," : "");
		buffer_append(&s->tools, tools.at + 1, tools.len - 2);
	}
	if (span_type(cursor) == 's')
		buffer_append(&o->cursors[i], cursor.at, cursor.len);
	s->listed = span_type(cursor) != 's';
	s->listing += s->listed;
	if (!s->listed && o->page + 1 == PAGES_LIMIT)
		return mcp_fault(s, err, "has more than %d pages of tools", PAGES_LIMIT);
	return 0;
}

int
mcp_open(struct mcp_server *const *servers, size_t count, const struct mcp_use *use,
    struct error *err)
{
	struct opening o = { .servers = servers, .count = count, .use = use };
	struct error why = ERROR_INIT;
	int status;

	o.requests = memory_zero(count, sizeof *o.requests);
	o.due = memory_zero(count, sizeof *o.due);
	o.cursors = memory_zero(count, sizeof *o.cursors);

	/* Start the servers that are not running, and set the deadline for being ready. */
	for (size_t i = 0; i < count; i++) {
		struct mcp_server *s = servers[i];
		int64_t limit = s->definition.startup_timeout_ms;

		o.due[i] = limit == 0 ? 0 : clock_monotonic() + limit;
		if (s->peer.process.pid != 0)
			continue;
		buffer_clear(&s->peer.errors);
		if (mcp_spawn(s, use, &why) == -1 && o.error.code == ERROR_NONE)
			o.error = why;
	}
	status = opening_step(&o, ask_initialize, mcp_read_initialize, &why);
	if (status != -1)
		status = opening_step(&o, ask_discover, mcp_read_discover, &why);
	if (status != -1)
		do
			status = opening_step(&o, ask_list, mcp_read_tool_list, &why);
		while (status == 1 && ++o.page < PAGES_LIMIT);
	if (status != -1 && o.error.code != ERROR_NONE) {
		why = o.error;
		status = -1;
	}

	/* A server that is not ready is ended, so that it is started again next time. */
	for (size_t i = 0; status == -1 && i < count; i++)
		if (!servers[i]->listed)
			peer_hang_up(&servers[i]->peer);
	for (size_t i = 0; status == -1 && i < count; i++)
		if (!servers[i]->listed)
			mcp_give_up(servers[i]);
	if (status == -1)
		*err = why;
	for (size_t i = 0; i < count; i++)
		buffer_free(&o.cursors[i]);
	free(o.cursors);
	free(o.due);
	free(o.requests);
	return status == -1 ? -1 : 0;
}

bool
mcp_changed(struct mcp_server *s)
{
	mcp_take(s);
	return s->peer.process.pid != 0 && s->listed && s->stale;
}

/* ---- calls ---- */

int
mcp_call(struct mcp_call *calls, size_t count, const struct mcp_use *use, struct error *err)
{
	struct mcp_request *requests = memory_zero(count, sizeof *requests);
	int64_t now = clock_monotonic();
	struct buffer members = BUFFER_INIT;
	struct span inside;
	struct writer w;
	int status;

	for (size_t i = 0; i < count; i++) {
		struct mcp_call *call = &calls[i];

		requests[i] = (struct mcp_request){ .server = call->server, .method = call->method,
		    .due = call->timeout_ms == 0 ? 0 : now + call->timeout_ms,
		    .patience_ms = call->timeout_ms, .progress = call->progress,
		    .context = call->context, .traceparent = call->traceparent, .error = call->error, .finished = now,
		    .done = call->error.code != ERROR_NONE };
		if (requests[i].done)
			continue;
		if (call->tool != NULL) {
			writer_begin(&w, &members);
			writer_member_string(&w, "name", call->tool);
			writer_member_span(&w, "arguments", call->arguments);
		} else {
			inside = span_trim(span_of(call->arguments.at + 1, call->arguments.len - 2));
			buffer_append(&members, inside.at, inside.len);
		}
		mcp_send(&requests[i], &members);
		buffer_clear(&members);
	}
	status = mcp_wait(requests, count, use, err);
	for (size_t i = 0; i < count; i++) {
		calls[i].line = requests[i].line;
		calls[i].result = requests[i].result;
		calls[i].error = requests[i].error;
		calls[i].exit_code = requests[i].exit_code;
		calls[i].finished = requests[i].finished;
	}
	buffer_free(&members);
	free(requests);
	return status;
}

void
mcp_call_free(struct mcp_call *call)
{
	buffer_free(&call->line);
	call->result = span_of(NULL, 0);
}

/* ---- the end ---- */

void
mcp_stop(struct mcp_server *const *servers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		peer_hang_up(&servers[i]->peer);
	for (size_t i = 0; i < count; i++)
		mcp_end(servers[i]);
}
