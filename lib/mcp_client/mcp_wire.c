/*
 * Each server has a list of its waiting requests, which are found by id when an answer arrives. A
 * server may process them one after another, so any sign of progress counts for all of them. One
 * poll loop serves all servers; a server may be ended while its output is being read, so its pid is
 * checked after each line.
 */
#include "mcp_client/mcp_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "json/jsonrpc.h"
#include "json/writer.h"
#include "mcp_client/mcp_process.h"
#include "proc/message.h"
#include "proc/process.h"
#include "storage/run.h"
#include "workspace/sandbox_environment.h"

enum {
	READS_AT_ONCE = 64,        /* limit of reads, for a server that writes without end */
	UNREAD_LIMIT = 1 << 20,    /* bytes of unread answers to a server's own requests */
	ANSWER_SIZE = 32           /* of the shortest answer, without its id */
};

#define META "io.modelcontextprotocol/"

/* ---- requests ---- */

static void
mcp_wire_finish_request(struct mcp_request *r)
{
	struct mcp_request **link = &r->server->waiting;

	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	r->done = true;
	r->finished = clock_monotonic();
}

static void
fail_all(struct mcp_server *s, const struct error *why)
{
	while (s->waiting != NULL) {
		s->waiting->error = *why;
		s->waiting->exit_code = s->exit_code;
		mcp_wire_finish_request(s->waiting);
	}
}

static void mcp_wire_read_lines(struct mcp_server *s);

/* Ends the server because it breaks the protocol; its requests fail. */
static void
break_off(struct mcp_server *s, const char *what, const char *more)
{
	struct error why;

	mcp_give_up(s);
	mcp_fault(s, &why, "broke the protocol: %s%s", what, more);
	fail_all(s, &why);
}

/* A server that failed may have needed a variable that was withheld from it: print a hint. */
static void
mcp_wire_print_hint(const struct mcp_server *s)
{
	struct buffer line = BUFFER_INIT;
	char *run = run_environment_directory();

	if (sandbox_environment_hint_of(&s->environment, s->definition.variables, s->passed,
	    s->run != NULL ? s->run->directory : run, s->peer.errors.data, s->peer.errors.len, false, &line))
		message_print("awf-step", "the MCP server '%s': %s", s->definition.name, buffer_string(&line));
	buffer_free(&line);
	free(run);
}

/* The server does not read or write any more: ends it, and fails its requests. */
static void
mcp_wire_close_lost_server(struct mcp_server *s)
{
	const bool kept = s->worker.fd != -1;
	int wait_status;
	struct error why;
	char text[64];

	/* The worker that keeps it may have reported the reason first. */
	while (kept && peer_receive(&s->peer) == 1)
		;
	if (kept)
		mcp_wire_read_lines(s);
	if (s->peer.process.pid == 0)
		return;
	wait_status = mcp_end(s);

	if (wait_status == -1 && kept)
		mcp_fault(s, &why, "is lost: what kept it for the run has ended");
	else if (wait_status == -1)
		mcp_fault(s, &why, "closed its output and does not end");
	else
		mcp_fault(s, &why, "ended: %s%s", process_status_text(wait_status, text, sizeof text),
		    s->cut_off ? " (its sandbox has no network to fetch it from: network: true in the "
		    "agent's file or --network allows it, or name an installed program)" : "");
	if (s->enclosed)
		sandbox_blocked(s->exit_code, buffer_string(&s->peer.errors), s->peer.errors.len, &why);
	if (s->enclosed && s->exit_code > 0 && s->exit_code < PROCESS_CANNOT_RUN &&
	    s->exit_code != SANDBOX_REFUSED)
		mcp_wire_print_hint(s);
	fail_all(s, &why);
}

/* Sends the lines that were appended. */
static void
pass_on(struct mcp_server *s)
{
	if (s->peer.process.pid != 0 && peer_send(&s->peer) == -1)
		mcp_wire_close_lost_server(s);
}

void
mcp_send(struct mcp_request *r, const struct buffer *members)
{
	struct mcp_server *s = r->server;
	struct writer w;
	bool traced;

	r->id = ++s->next_id;
	r->next = s->waiting;
	s->waiting = r;
	if (s->peer.process.pid == 0) {
		mcp_fault(s, &r->error, "has ended");
		r->exit_code = s->exit_code;
		mcp_wire_finish_request(r);
		return;
	}
	jsonrpc_begin(&w, &s->peer.outgoing);
	writer_member_integer(&w, "id", r->id);
	writer_member_string(&w, "method", r->method);
	writer_member_object(&w, "params");
	if (members->len > 0)
		writer_raw(&w, members->data, members->len);
	traced = r->traceparent != NULL && *r->traceparent != '\0';
	if (r->progress != NULL || traced || s->modern) {
		writer_member_object(&w, "_meta");
		if (r->progress != NULL) /* the id of a request is its progress token */
			writer_member_integer(&w, "progressToken", r->id);
		if (traced)
			writer_member_string(&w, "traceparent", r->traceparent);
		if (s->modern) {
			writer_member_string(&w, META "protocolVersion", MCP_MODERN);
			writer_key(&w, META "clientInfo");
			writer_raw(&w, MCP_CLIENT_INFO, sizeof MCP_CLIENT_INFO - 1);
			writer_key(&w, META "clientCapabilities");
			writer_raw(&w, "{}", 2);
		}
		writer_object_end(&w);
	}
	writer_object_end(&w);
	jsonrpc_end(&w);
	pass_on(s);
}

void
mcp_notify(struct mcp_server *s, const char *method)
{
	struct writer w;

	jsonrpc_begin(&w, &s->peer.outgoing);
	writer_member_string(&w, "method", method);
	jsonrpc_end(&w);
	pass_on(s);
}

/* Cancels a request, and tells the server. */
static void
mcp_wire_cancel_request(struct mcp_request *r, const struct error *why)
{
	struct mcp_server *s = r->server;
	struct writer w;

	r->error = *why;
	mcp_wire_finish_request(r);
	if (r->stays)
		return;
	jsonrpc_begin(&w, &s->peer.outgoing);
	writer_member_string(&w, "method", "notifications/cancelled");
	writer_key(&w, "params");
	writer_object(&w);
	writer_member_integer(&w, "requestId", r->id);
	writer_member_string(&w, "reason", why->message);
	writer_object_end(&w);
	jsonrpc_end(&w);
	pass_on(s);
}

/* ---- lines of a server ---- */

static struct mcp_request *
mcp_wire_find_request(const struct mcp_server *s, struct span id)
{
	struct mcp_request *r = s->waiting;
	long long number;

	if (!span_integer(id, &number))
		return NULL;
	while (r != NULL && r->id != number)
		r = r->next;
	return r;
}

/* The server has made progress with one of its requests: restarts the time limits of all. */
static void
mcp_wire_extend_deadlines(struct mcp_server *s)
{
	int64_t now = clock_monotonic();

	for (struct mcp_request *r = s->waiting; r != NULL; r = r->next)
		if (r->patience_ms != 0)
			r->due = now + r->patience_ms;
}

static void
mcp_wire_read_response(struct mcp_server *s, const struct jsonrpc *m, struct span message)
{
	struct mcp_request *r = mcp_wire_find_request(s, m->id);
	long long number = 0;
	char *text;

	if (r == NULL) {
		/* An answer to a cancelled request is ignored. */
		if (!span_integer(m->id, &number) || number <= s->first_id || number > s->next_id)
			break_off(s, "an answer to a request that was not made", "");
		return;
	}
	scan_minify(message, &r->line);
	if (span_true(span_member(m->result, "isError")))
		mcp_hide(s, r->line.data, r->line.len);
	r->result = span_member(span_of(r->line.data, r->line.len), "result");
	if (span_type(m->error) == 'o') {
		text = span_text(span_member(m->error, "message"));
		span_integer(span_member(m->error, "code"), &number);
		if (text != NULL)
			mcp_hide(s, text, strlen(text));
		/* MCP_NO_ANSWER is set by awf-mcp-http: the server gave no answer. */
		if (s->definition.url != NULL && number == MCP_NO_ANSWER)
			error_set(&r->error, ERROR_TOOL, NULL, "the MCP server '%s' %s", s->definition.name,
			    text == NULL ? "" : text);
		else
			error_set(&r->error, ERROR_TOOL, NULL, "the MCP server '%s' refused: %s (%lld)",
			    s->definition.name, text == NULL || *text == '\0' ? "it does not say why" : text,
			    number);
		free(text);
	} else if (span_type(r->result) != 'o') {
		break_off(s, "an answer without a result", "");
		return;
	}
	mcp_wire_finish_request(r);
	mcp_wire_extend_deadlines(s);
}

void
mcp_answer_request(struct buffer *line, struct span id, struct span method)
{
	struct writer w;

	if (!span_is(method, "ping")) {
		jsonrpc_error(line, id, JSONRPC_NO_METHOD, "Method not found: AWF declares no such capability",
		    SPAN_NONE);
		return;
	}
	jsonrpc_begin_answer(&w, line, id);
	writer_member_object(&w, "result");
	writer_object_end(&w);
	jsonrpc_end(&w);
}

/* Answers a request of the server. Ends the server if it makes requests and does not read the
 * answers. */
static void
mcp_wire_answer_request(struct mcp_server *s, struct span id, struct span method)
{
	mcp_answer_request(&s->peer.outgoing, id, method);
	pass_on(s);
	s->unread += id.len + ANSWER_SIZE;
	if (s->unread > peer_unsent(&s->peer))
		s->unread = peer_unsent(&s->peer);
	if (s->unread > UNREAD_LIMIT)
		break_off(s, MCP_UNREAD, "");
}

/* Handles a line of the worker that keeps it (mcp_kept.h). False: the line comes from the
 * server. */
static bool
mcp_wire_read_worker_message(struct mcp_server *s, struct span message)
{
	struct span word = s->worker.fd == -1 ? SPAN_NONE : span_member(message, "awf");
	struct buffer text = BUFFER_INIT;
	struct error why;
	long long status;

	if (word.at == NULL)
		return false;
	span_decode(span_member(message, "text"), &text);
	if (span_is(word, "says")) {
		peer_keep_errors(&s->peer, text.data, text.len);
	} else if (span_is(word, "refused")) {
		mcp_end(s);
		mcp_fault(s, &why, "cannot be run: %s", buffer_string(&text));
		fail_all(s, &why);
	} else if (span_is(word, "broke")) {
		break_off(s, buffer_string(&text), "");
	} else if (span_is(word, "ended") && span_integer(span_member(message, "status"), &status)) {
		s->worker_status = (int)status;
	}
	buffer_free(&text);
	return true;
}

static void
mcp_wire_read_message(struct mcp_server *s, struct span message)
{
	struct jsonrpc m = jsonrpc_read(message);
	struct mcp_request *r;

	if (mcp_wire_read_worker_message(s, message))
		return;
	if (m.kind == JSONRPC_RESPONSE) {
		mcp_wire_read_response(s, &m, message);
	} else if (m.kind == JSONRPC_REQUEST) {
		mcp_wire_answer_request(s, m.id, m.method);
	} else if (span_is(m.method, "notifications/tools/list_changed")) {
		s->stale = true;
	} else if (span_is(m.method, "notifications/progress")) {
		r = mcp_wire_find_request(s, span_member(m.params, "progressToken"));
		if (r == NULL || r->progress == NULL)
			return;
		mcp_wire_extend_deadlines(s);
		r->progress(r->context, m.params);
	}
}

/* Reads lines until none is left, or until the server was ended because of one. */
static void
mcp_wire_read_lines(struct mcp_server *s)
{
	struct buffer mended = BUFFER_INIT;
	const char *wrong;
	struct span line;
	int taken = 0;

	while (s->peer.process.pid != 0 && (taken = peer_line(&s->peer, &line)) == 1) {
		line = span_trim(line);
		if (line.len == 0)
			continue;
		/* Text that does not even look like JSON is handled like stderr: many programs
		 * print a greeting. */
		if (*line.at != '{' && *line.at != '[') {
			peer_keep_errors(&s->peer, line.at, line.len);
			peer_keep_errors(&s->peer, "\n", 1);
		} else if ((wrong = jsonrpc_check(&line, SCAN_LINE_DEPTH, &mended)) != NULL) {
			break_off(s, "a line that is no JSON: ", wrong);
		} else if (*line.at == '{') {
			mcp_wire_read_message(s, line);
		} else {
			/* A line may have several messages (2025-03-26). */
			for (struct span_walk message = span_walk(line);
			    s->peer.process.pid != 0 && span_next(&message);)
				mcp_wire_read_message(s, message.value);
		}
	}
	buffer_free(&mended);
	if (taken == -1 && s->peer.process.pid != 0)
		break_off(s, MCP_LONG, "");
}

void
mcp_take(struct mcp_server *s)
{
	int got = 1;

	for (int i = 0; i < READS_AT_ONCE && got == 1 && s->peer.process.pid != 0; i++)
		if ((got = peer_receive(&s->peer)) == 1)
			mcp_wire_read_lines(s);
	if (s->peer.process.pid != 0 && got == -1)
		mcp_wire_close_lost_server(s);
	else if (s->peer.process.pid != 0)
		peer_read_errors(&s->peer);
}

/* ---- waiting ---- */

/* Whether this is the first waiting request of its server: only for that the server is polled. */
static bool
mcp_wire_is_first_waiting(const struct mcp_request *requests, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (!requests[i].done && requests[i].server == requests[number].server)
			return false;
	return !requests[number].done;
}

int
mcp_wait(struct mcp_request *requests, size_t count, const struct mcp_use *use,
    struct error *err)
{
	struct pollfd *fds = memory_zero(1 + PEER_FDS * count, sizeof *fds);
	struct error late;
	int status = 0;

	while (status == 0) {
		int64_t deadline = use->deadline, now;
		bool any = false;

		/* Poll the servers that have not answered yet, until the first of their
		 * deadlines. */
		for (size_t i = 0; i < count; i++) {
			const struct mcp_request *r = &requests[i];
			struct pollfd *own = fds + 1 + PEER_FDS * i;

			for (int slot = 0; slot < PEER_FDS; slot++)
				own[slot] = (struct pollfd){ .fd = -1 };
			if (mcp_wire_is_first_waiting(requests, i))
				peer_poll(&r->server->peer, own);
			any = any || !r->done;
			if (!r->done && r->due != 0 && (deadline == 0 || r->due < deadline))
				deadline = r->due;
		}
		if (!any)
			break;
		status = interrupts_wait(use->interrupts, fds, 1 + PEER_FDS * count, deadline, err);

		/* A server that does not read or write any more is lost. */
		for (size_t i = 0; i < count && status == 0; i++) {
			struct mcp_server *s = requests[i].server;

			if (s->peer.process.pid == 0)
				continue;
			if (peer_serve(&s->peer, fds + 1 + PEER_FDS * i) == -1 || s->peer.process.in == -1)
				mcp_wire_close_lost_server(s);
			else
				mcp_wire_read_lines(s);
		}

		now = clock_monotonic();
		for (size_t i = 0; i < count; i++) {
			struct mcp_request *r = &requests[i];

			if (r->done || ((r->due == 0 || r->due > now) &&
			    (use->deadline == 0 || use->deadline > now)))
				continue;
			mcp_fault(r->server, &late, "did not answer '%s' in time", r->method);
			late.code = ERROR_TIMEOUT;
			mcp_wire_cancel_request(r, &late);
		}
	}
	for (size_t i = 0; i < count; i++)
		if (!requests[i].done)
			mcp_wire_cancel_request(&requests[i], err);
	free(fds);
	return status;
}

void
mcp_request_free(struct mcp_request *r)
{
	buffer_free(&r->line);
}
