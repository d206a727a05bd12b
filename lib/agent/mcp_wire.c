/*
 * Requests that wait are a list of the server's, found by id when an answer comes. One poll
 * loop serves all servers; a server may be ended in the midst of reading what it said, so its
 * pid is asked for after each line.
 */
#include "agent/mcp_wire.h"

#include <stdlib.h>
#include <string.h>

#include "agent/mcp_process.h"
#include "base/clock.h"
#include "base/memory.h"
#include "json/writer.h"

enum {
	READS_AT_ONCE = 64,        /* of a server that says more and more */
	UNREAD_LIMIT = 1 << 20,    /* bytes of answers that a server asked for */
	ANSWER_SIZE = 32           /* of the least, without its id */
};

#define META "io.modelcontextprotocol/"
#define METHOD_NOT_FOUND (-32601)

/* ---- requests ---- */

static void
finish(struct mcp_request *r)
{
	struct mcp_request **link = &r->server->waiting;

	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	r->done = true;
}

static void
fail_all(struct mcp_server *s, const struct error *why)
{
	while (s->waiting != NULL) {
		s->waiting->error = *why;
		finish(s->waiting);
	}
}

void
mcp_break(struct mcp_server *s, const char *what)
{
	struct error why;

	mcp_end(s);
	mcp_fault(s, &why, "broke the protocol: %s", what);
	fail_all(s, &why);
}

/* It takes no more, or says no more. */
static void
lose(struct mcp_server *s)
{
	int wait_status = mcp_end(s);
	struct error why;
	char text[64];

	if (wait_status == -1)
		mcp_fault(s, &why, "closed its output and does not end");
	else
		mcp_fault(s, &why, "ended: %s%s", process_status_text(wait_status, text, sizeof text),
		    s->cut_off ? " (its sandbox has no network to fetch it from: network: true in the "
		    "agent's file or --network allows it, or name an installed program)" : "");
	if (s->enclosed)
		sandbox_blocked(s->exit_code, buffer_string(&s->peer.errors), s->peer.errors.len, &why);
	fail_all(s, &why);
}

static void
begin_message(struct writer *w, struct mcp_server *s)
{
	writer_begin(w, &s->peer.outgoing);
	writer_object(w);
	writer_member_string(w, "jsonrpc", "2.0");
}

static void
end_message(struct writer *w, struct mcp_server *s)
{
	writer_object_end(w);
	buffer_byte(&s->peer.outgoing, '\n');
	if (s->peer.process.pid != 0 && peer_send(&s->peer) == -1)
		lose(s);
}

/* The id of a request is the token of its progress. */
static void
write_meta(struct writer *w, const struct mcp_request *r)
{
	if (r->progress == NULL && !r->server->modern)
		return;
	writer_key(w, "_meta");
	writer_object(w);
	if (r->progress != NULL)
		writer_member_integer(w, "progressToken", r->id);
	if (r->server->modern) {
		writer_member_string(w, META "protocolVersion", MCP_MODERN);
		writer_key(w, META "clientInfo");
		writer_raw(w, MCP_CLIENT_INFO, sizeof MCP_CLIENT_INFO - 1);
		writer_key(w, META "clientCapabilities");
		writer_raw(w, "{}", 2);
	}
	writer_object_end(w);
}

void
mcp_send(struct mcp_request *r, const struct buffer *members)
{
	struct mcp_server *s = r->server;
	struct writer w;

	r->id = ++s->next_id;
	r->next = s->waiting;
	s->waiting = r;
	if (s->peer.process.pid == 0) {
		mcp_fault(s, &r->error, "has ended");
		finish(r);
		return;
	}
	begin_message(&w, s);
	writer_member_integer(&w, "id", r->id);
	writer_member_string(&w, "method", r->method);
	writer_key(&w, "params");
	writer_object(&w);
	if (members->len > 0)
		writer_raw(&w, members->data, members->len);
	write_meta(&w, r);
	writer_object_end(&w);
	end_message(&w, s);
}

void
mcp_notify(struct mcp_server *s, const char *method)
{
	struct writer w;

	begin_message(&w, s);
	writer_member_string(&w, "method", method);
	end_message(&w, s);
}

/* Gives a request up, and tells the server. */
static void
cancel(struct mcp_request *r, const struct error *why)
{
	struct mcp_server *s = r->server;
	struct writer w;

	r->error = *why;
	finish(r);
	if (r->stays)
		return;
	begin_message(&w, s);
	writer_member_string(&w, "method", "notifications/cancelled");
	writer_key(&w, "params");
	writer_object(&w);
	writer_member_integer(&w, "requestId", r->id);
	writer_member_string(&w, "reason", why->message);
	writer_object_end(&w);
	end_message(&w, s);
}

/* ---- what a server says ---- */

static struct mcp_request *
find(const struct mcp_server *s, struct span id)
{
	struct mcp_request *r = s->waiting;
	long long number;

	if (!span_integer(id, &number))
		return NULL;
	while (r != NULL && r->id != number)
		r = r->next;
	return r;
}

static int
take_error(struct mcp_request *r, struct span error)
{
	char *message = span_text(span_member(error, "message"));
	long long code = 0;

	span_integer(span_member(error, "code"), &code);
	if (message != NULL)
		mcp_hide(r->server, message, strlen(message));
	error_set(&r->error, ERROR_TOOL, NULL, "the MCP server '%s' refused: %s (%lld)",
	    r->server->definition.name, message == NULL || *message == '\0' ? "it does not say why" :
	    message, code);
	free(message);
	return 0;
}

/* Of a request that was given up, no answer is wanted any more. */
static void
take_response(struct mcp_server *s, struct span message)
{
	struct span id = span_member(message, "id"), error = span_member(message, "error");
	struct mcp_request *r = find(s, id);
	long long number;

	if (r == NULL && !(span_integer(id, &number) && number > 0 && number <= s->next_id)) {
		mcp_break(s, "an answer to a request that was not made");
		return;
	}
	if (r == NULL)
		return;
	scan_minify(message, &r->line);
	if (span_true(span_member(span_member(message, "result"), "isError")))
		mcp_hide(s, r->line.data, r->line.len);
	r->result = span_member(span_of(r->line.data, r->line.len), "result");
	if (span_type(error) == 'o')
		take_error(r, error);
	else if (span_type(r->result) != 'o') {
		mcp_break(s, "an answer without a result");
		return;
	}
	finish(r);
}

/* Nothing but ping is ours to answer: no capability is declared. Answers that nobody reads
 * are not kept without end. */
static void
take_request(struct mcp_server *s, struct span id, struct span method)
{
	bool ping = span_is(method, "ping");
	struct writer w;

	begin_message(&w, s);
	writer_member_span(&w, "id", id);
	writer_key(&w, ping ? "result" : "error");
	writer_object(&w);
	if (!ping) {
		writer_member_integer(&w, "code", METHOD_NOT_FOUND);
		writer_member_string(&w, "message", "Method not found: AWF declares no such capability");
	}
	writer_object_end(&w);
	end_message(&w, s);
	s->unread += id.len + ANSWER_SIZE;
	if (s->unread > peer_unsent(&s->peer))
		s->unread = peer_unsent(&s->peer);
	if (s->unread > UNREAD_LIMIT)
		mcp_break(s, "it asks and asks, and reads no answer");
}

static void
take_notification(struct mcp_server *s, struct span method, struct span params)
{
	struct mcp_request *r;

	if (span_is(method, "notifications/tools/list_changed"))
		s->stale = true;
	if (!span_is(method, "notifications/progress"))
		return;
	r = find(s, span_member(params, "progressToken"));
	if (r == NULL || r->progress == NULL)
		return;
	if (r->patience_ms != 0)
		r->due = clock_monotonic() + r->patience_ms;
	r->progress(r->context, params);
}

static void
take_message(struct mcp_server *s, struct span message)
{
	struct span id = span_member(message, "id"), method = span_member(message, "method");

	if (method.at == NULL)
		take_response(s, message);
	else if (id.at != NULL)
		take_request(s, id, method);
	else
		take_notification(s, method, span_member(message, "params"));
}

/* A line that is not even meant as JSON is taken for one of stderr: many a program greets
 * whoever starts it. Messages may come several at once (2025-03-26). */
static void
take_line(struct mcp_server *s, struct span line)
{
	size_t bad;

	line = span_trim(line);
	if (line.len == 0)
		return;
	if (*line.at != '{' && *line.at != '[') {
		peer_keep_errors(&s->peer, line.at, line.len);
		peer_keep_errors(&s->peer, "\n", 1);
		return;
	}
	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL) {
		mcp_break(s, "a line that is no JSON");
		return;
	}
	if (span_type(line) == 'o') {
		take_message(s, line);
		return;
	}
	for (struct span_walk message = span_walk(line);
	    s->peer.process.pid != 0 && span_next(&message);)
		take_message(s, message.value);
}

/* Until none is left, or the server was ended because of one. */
static void
take_lines(struct mcp_server *s)
{
	struct span line;
	int taken = 0;

	while (s->peer.process.pid != 0 && (taken = peer_line(&s->peer, &line)) == 1)
		take_line(s, line);
	if (taken == -1 && s->peer.process.pid != 0)
		mcp_break(s, "a line above 256 MiB");
}

void
mcp_take(struct mcp_server *s)
{
	int got = 1;

	for (int i = 0; i < READS_AT_ONCE && got == 1 && s->peer.process.pid != 0; i++)
		if ((got = peer_receive(&s->peer)) == 1)
			take_lines(s);
	if (s->peer.process.pid != 0 && got == -1)
		lose(s);
	else if (s->peer.process.pid != 0)
		peer_read_errors(&s->peer);
}

/* ---- waiting ---- */

/* What to poll of servers that have yet to answer, and in *deadline when the first of them is
 * due, if that is before it. Whether there are any. */
static bool
set_polls(const struct mcp_request *requests, size_t count, struct pollfd *fds,
    int64_t *deadline)
{
	bool any = false;

	for (size_t i = 0; i < count; i++, fds += PEER_FDS) {
		const struct mcp_request *r = &requests[i];

		peer_poll(&r->server->peer, fds);
		for (int slot = 0; slot < PEER_FDS && r->done; slot++)
			fds[slot].fd = -1;
		if (r->done)
			continue;
		any = true;
		if (r->due != 0 && (*deadline == 0 || r->due < *deadline))
			*deadline = r->due;
	}
	return any;
}

static void
expire(struct mcp_request *requests, size_t count, int64_t deadline)
{
	int64_t now = clock_monotonic();
	struct error why;

	for (size_t i = 0; i < count; i++) {
		struct mcp_request *r = &requests[i];

		if (r->done || ((r->due == 0 || r->due > now) && (deadline == 0 || deadline > now)))
			continue;
		mcp_fault(r->server, &why, "did not answer '%s' in time", r->method);
		why.code = ERROR_TIMEOUT;
		cancel(r, &why);
	}
}

/* A server that reads no more, or says no more, is lost. */
static void
serve(struct mcp_server *s, const struct pollfd fds[PEER_FDS])
{
	if (s->peer.process.pid == 0)
		return;
	if (peer_serve(&s->peer, fds) == -1 || s->peer.process.in == -1)
		lose(s);
	else
		take_lines(s);
}

int
mcp_wait(struct mcp_request *requests, size_t count, const struct mcp_use *use,
    struct error *err)
{
	struct pollfd *fds = memory_zero(1 + PEER_FDS * count, sizeof *fds);
	int64_t deadline = use->deadline;
	int status = 0;

	while (status == 0 && set_polls(requests, count, fds + 1, &deadline)) {
		status = interrupts_wait(use->interrupts, fds, 1 + PEER_FDS * count, deadline, err);
		for (size_t i = 0; i < count && status == 0; i++)
			serve(requests[i].server, fds + 1 + PEER_FDS * i);
		expire(requests, count, use->deadline);
		deadline = use->deadline;
	}
	for (size_t i = 0; i < count; i++)
		if (!requests[i].done)
			cancel(&requests[i], err);
	free(fds);
	return status;
}

void
mcp_request_free(struct mcp_request *r)
{
	buffer_free(&r->line);
}
