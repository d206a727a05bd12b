/*
 * awf-mcp-http: makes an MCP server that is reached over HTTP available as a program that speaks
 * lines. It reads JSON-RPC messages from stdin and posts them to the server; the server's answers
 * it writes to stdout. So awf-step speaks to servers of one kind, and links no library for HTTP.
 *
 * The first line on stdin names the server: {"url": …, "headers": ["Name: value", …], "sse":
 * false}; in this way no argument and no environment contains a key.
 *
 * Three transports are supported (Model Context Protocol, "Transports"): Streamable HTTP of
 * 2025-03-26 to 2025-11-25, with sessions and a stream of the server's own messages; that of
 * 2026-07-28, which has neither and demands headers that repeat parts of the message; and HTTP with
 * SSE of 2024-11-05, which is tried if a server refuses the first message as one that supports only
 * that.
 *
 * What the code relies on:
 *   - A message that begins something (initialize, a notification) is answered before the next
 *     one is posted; requests are sent in parallel.
 *   - Each request is answered by one message; if the server gives none, by an error that says
 *     why. So nobody waits for an answer that cannot come.
 *   - If the server has forgotten a session, a new one is begun without the client's noticing,
 *     and the message that failed is sent in it.
 *   - Headers are sent only to the URL's own origin: redirects are errors, and an endpoint that
 *     a server names elsewhere is refused.
 *   - When stdin ends, all transfers are ended, the session is closed, and the program ends.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../program.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/options.h"
#include "json/line_input.h"
#include "json/scan.h"
#include "mirrored.h"
#include "net/handle.h"
#include "transfer.h"

#define PROGRAM "awf-mcp-http"
#define USAGE PROGRAM " <messages >messages"

enum { GIVE_UP_MS = 1000 };      /* for closing the session */

static const struct option_spec none[] = { { OPTION_END, 0, NULL, NULL, NULL } };

/* ---- messages from stdin ---- */

/* Cancels a request by ending its transfer, which is all that 2026-07-28 demands. */
static bool
bridge_cancel_request(struct bridge *b, struct span message)
{
	struct span id = span_path(message, "params", "requestId", NULL);

	for (struct transfer *t = b->transfers; t != NULL; t = t->next)
		if (t->id.at != NULL && span_same(t->id, id)) {
			bool modern = span_path(span_of(buffer_string(&t->message), t->message.len), "params",
			    "_meta", META_VERSION, NULL).at != NULL;

			/* The server is told, and ends the stream; what it still sends is
			 * ignored. */
			if (modern)
				transfer_remove(t);
			return !modern;
		}
	return false;
}

/* Whether the messages after it must wait for it. */
static bool
goes_first(const struct transfer *t)
{
	return t->purpose == POST_MESSAGE && (t->initializes || t->id.at == NULL);
}

/* Posts the messages that may be posted now. */
static void
post_waiting(struct bridge *b)
{
	size_t used = 0;

	/* The stream is requested when a message is waiting, so that its outcome can be
	 * reported. */
	if (b->sse && !b->listens && b->waiting.len > 0) {
		b->listens = true;
		transfer_start(transfer_add(b, GET_SSE, span_of(NULL, 0)));
	}
	while (b->endpoint != NULL && used < b->waiting.len) {
		const char *line = b->waiting.data + used, *end = memchr(line, '\n', b->waiting.len - used);
		struct span message = span_of(line, (size_t)(end - line));
		struct transfer *t;
		bool first = false;

		for (t = b->transfers; t != NULL; t = t->next)
			first = first || goes_first(t);
		if (first)
			break;
		used += message.len + 1;
		if (span_is(span_member(message, "method"), "notifications/cancelled") &&
		    !bridge_cancel_request(b, message))
			continue;
		t = transfer_add(b, POST_MESSAGE, message);
		if (t->initializes) {
			buffer_clear(&b->hello);
			buffer_append(&b->hello, message.at, message.len);
		}
		if (b->sse)
			transfer_await(t);
		transfer_start(t);
	}
	if (used > 0)
		buffer_drop(&b->waiting, used);
}

/* Reads the first line: which server to use. */
static int
read_settings(struct bridge *b)
{
	struct error err = ERROR_INIT;
	const char *line;
	struct span said;
	size_t len, bad;

	if (line_input_next(&b->in, &line, &len, &err) != 1)
		return -1;
	said = span_of(line, len);
	if (scan_check(line, len, &bad) != NULL || span_type(span_member(said, "url")) != 's')
		return -1;
	b->url = span_text(span_member(said, "url"));
	b->sse = span_true(span_member(said, "sse"));
	for (struct span_walk x = span_walk(span_member(said, "headers")); span_next(&x);) {
		char *header = span_text(x.value);

		if (header != NULL)
			list_take(&b->headers, header);
	}
	if (!b->sse)
		b->endpoint = memory_text(b->url);
	return 0;
}

static void
bridge_read_lines(struct bridge *b)
{
	const char *line;
	size_t len, bad;

	while (line_input_take(&b->in, &line, &len) == 1) {
		if (scan_check(line, len, &bad) != NULL)
			continue;
		buffer_append(&b->waiting, line, len);
		buffer_byte(&b->waiting, '\n');
	}
}

/* False: stdin has ended. */
static bool
read_messages(struct bridge *b)
{
	ssize_t got = line_input_read(&b->in);

	bridge_read_lines(b);
	return got > 0 || (got == -1 && (errno == EINTR || errno == EAGAIN));
}

/* ---- the loop ---- */

static void
end_transfers(struct bridge *b)
{
	CURLMsg *message;
	int more;

	while ((message = curl_multi_info_read(b->multi, &more)) != NULL) {
		CURLcode result = message->data.result;
		struct transfer *t;
		char *private;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
		t = (void *)private;
		curl_multi_remove_handle(b->multi, t->easy);
		t->running = false;
		if (transfer_end(t, result))
			transfer_remove(t);
	}
}

/* Whether a session must begin first, with this message and the next. */
static bool
must_wait(const struct bridge *b, const struct transfer *waits)
{
	for (const struct transfer *t = b->transfers; t != NULL; t = t->next)
		if (t != waits && (t->unheard || (t->after_hello && transfer_is_initialized(t) &&
		    !transfer_is_initialized(waits))))
			return true;
	return false;
}

/* Starts transfers that are due; returns the time until the next one, ms. */
static int
start_due(struct bridge *b)
{
	int64_t now = clock_monotonic(), next = 1000;

	for (struct transfer *t = b->transfers; t != NULL; t = t->next) {
		if (t->running || (t->after_hello && must_wait(b, t)))
			continue;
		if (t->due <= now)
			transfer_start(t);
		else if (t->due - now < next)
			next = t->due - now;
	}
	return (int)next;
}

static void
bridge_run_transfers(struct bridge *b)
{
	bool open = true;
	int running;

	bridge_read_lines(b); /* lines that came together with the first */
	while (open && b->lost == NULL) {
		struct curl_waitfd in = { STDIN_FILENO, CURL_WAIT_POLLIN, 0 };
		int wait = start_due(b);

		if (curl_multi_perform(b->multi, &running) != CURLM_OK) {
			bridge_fail(b, "cannot be spoken to: libcurl failed");
			break;
		}
		end_transfers(b);
		post_waiting(b);
		/* Start new and ended transfers before waiting for them. */
		if (curl_multi_perform(b->multi, &running) != CURLM_OK ||
		    curl_multi_poll(b->multi, &in, 1, wait, NULL) != CURLM_OK)
			bridge_fail(b, "cannot be spoken to: libcurl failed");
		if (in.revents != 0)
			open = read_messages(b);
	}
	/* A client that has not even begun a session may try another way, and gets the same
	 * answer. */
	while (open && b->version == NULL) {
		bridge_refuse_waiting(b);
		open = read_messages(b);
	}
}

/* Closes the session at the server. */
static void
give_up_session(struct bridge *b)
{
	struct transfer *t;

	if (b->session == NULL || b->sse || b->lost != NULL)
		return;
	t = transfer_add(b, GET_REST, span_of(NULL, 0));
	handle_prepare(t->easy, b->url, b->authorities);
	transfer_add_headers(t);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, "DELETE");
	curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
	curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)GIVE_UP_MS);
	curl_easy_perform(t->easy);
}

/* Serves until stdin ends. */
static int
bridge_serve_stdin(struct error *err)
{
	struct bridge b = { .multi = NULL };
	int status;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	b.multi = curl_multi_init();
	b.authorities = handle_authorities();
	line_input_begin(&b.in, STDIN_FILENO, "stdin");
	if (b.multi == NULL) {
		status = error_set(err, ERROR_SYSTEM, NULL, "unable to start libcurl");
	} else if (read_settings(&b) != 0) {
		status = error_set(err, ERROR_USAGE, "stdin",
		    "expected {\"url\": …} in the first line; awf-step starts it");
	} else {
		bridge_run_transfers(&b);
		transfer_remove_all(&b);
		give_up_session(&b);
		status = b.lost != NULL ? STATUS_WORK : STATUS_OK;
	}
	transfer_remove_all(&b);
	curl_multi_cleanup(b.multi);
	curl_global_cleanup();
	line_input_free(&b.in);
	mirrored_free(&b.mirrored);
	list_free(b.headers);
	list_free(b.asked);
	free(b.lost);
	buffer_free(&b.waiting);
	buffer_free(&b.hello);
	free(b.url);
	free(b.endpoint);
	free(b.session);
	free(b.version);
	return status;
}

static int
bridge_read_options(int argc, char **argv, struct error *err)
{
	struct options options;
	int id;

	options_begin(&options, none, argc, argv);
	id = options_next(&options, err);
	return id != OPTION_WORD ? id :
	    error_set(err, ERROR_USAGE, options.value, "unexpected argument");
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	int status;

	program_begin();
	switch (bridge_read_options(argc, argv, &err)) {
	case OPTION_HELP:
		options_help(stdout, USAGE, none, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	case OPTION_END:
		status = bridge_serve_stdin(&err);
		if (status >= 0)
			return status;
	}
	return program_fail(PROGRAM, &err);
}
