/*
 * AWF's tools for a CLI: the CLI starts an MCP server, awf-mcp-tools, which passes lines between
 * the CLI and a socket of this process, where they are parsed. A call is passed to awf-step, which
 * runs the tool like any other, and its result comes back with the call's number.
 *
 * What the code relies on:
 *   - The socket is in the request's own directory, and a client must first send a secret that
 *     only the CLI's configuration contains: other processes of the user, such as tools, are
 *     refused.
 *   - If a server dies, its calls run to their end, and their results are dropped. The CLI may
 *     start another server.
 *   - When the request ends, the socket is closed, and each server ends with it.
 *
 * Of the Model Context Protocol there is what a server of tools needs: initialize, ping, tools/list
 * and tools/call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/version.h"
#include "cli.h"
#include "io/connection_limits.h"
#include "io/file.h"
#include "json/jsonrpc.h"
#include "proc/libexec.h"
#include "proc/peer.h"
#include "storage/private_socket.h"
#include "system/descriptor.h"
#include "transcript/event_keys.h"

#define SERVER "awf-mcp-tools"
#define SOCKET "AWF_MCP_SOCKET" /* environment variable for the server */
#define SECRET "AWF_MCP_SECRET"
#define SECRET_BYTES 32

/* A server of AWF's tools that the CLI has started. */
struct client {
	struct peer peer;
	long long serial;        /* distinguishes it from earlier ones */
	bool trusted;            /* it sent the secret; */
	int64_t until;           /* deadline for that, monotonic ms */
};

/* A call without a result yet. */
struct asked {
	long long serial;        /* of the client */
	char *id;                /* JSON */
};

struct cli_tools {
	int listening;
	char secret[2 * SECRET_BYTES + 1], *path, *program;
	struct connection_limits limits;
	struct client clients[CONNECTION_TOOLS_MOST];
	size_t count;
	long long next_serial;
	struct asked *asked;     /* call number N is at N - 1 */
	size_t asked_count;
};

static bool
is_own(const struct cli *cli, struct span name)
{
	for (const struct cli_tool *tool = cli->tools; tool->ours != NULL; tool++)
		if (span_is(name, tool->ours))
			return true;
	return false;
}

bool
cli_serves(const struct cli_run *r, const char *name)
{
	for (struct span_walk tool = span_walk(r->request->tools); span_next(&tool);) {
		struct span each = span_member(tool.value, KEY_NAME);

		if (!is_own(r->cli, each) && (name == NULL || span_is(each, name)))
			return true;
	}
	return false;
}

char *
cli_served(const struct cli_run *r, const char *separator)
{
	struct buffer list = BUFFER_INIT;

	for (struct span_walk tool = span_walk(r->request->tools); span_next(&tool);) {
		struct span name = span_member(tool.value, KEY_NAME);

		if (is_own(r->cli, name))
			continue;
		buffer_format(&list, "%s%s", list.len > 0 ? separator : "", r->cli->served);
		span_decode(name, &list);
	}
	return buffer_take(&list);
}

/* ---- the socket ---- */

static int
listen_at(struct cli_tools *t, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(t->path);

	if (len >= sizeof address.sun_path)
		return error_set(err, ERROR_PROVIDER, t->path, "too long for a socket: set TMPDIR to a "
		    "shorter path");
	memcpy(address.sun_path, t->path, len + 1);
	t->listening = descriptor_socket(AF_UNIX, SOCK_STREAM);
	if (t->listening == -1 || descriptor_unblock(t->listening) != 0 ||
	    bind(t->listening, (const struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(t->listening, SOMAXCONN) != 0)
		return error_errno(err, ERROR_PROVIDER, t->path, "unable to make a socket");
	return 0;
}

/* Makes the socket; NULL: this fails, and so does the request. */
static const struct cli_tools *
cli_tools_open_server(struct cli_run *r)
{
	unsigned char random[SECRET_BYTES];
	char text[sizeof r->failure.error.message];
	struct cli_tools *t = r->start.server;
	struct error err = ERROR_INIT;

	if (t != NULL)
		return t;
	t = r->start.server = memory_zero(1, sizeof *t);
	t->limits = connection_limits_of(CONNECTION_TOOLS);
	t->listening = -1;
	t->program = libexec_sibling(SERVER);
	random_bytes(random, sizeof random);
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(t->secret + 2 * i, 3, "%02x", random[i]);
	if (access(t->program, X_OK) != 0) {
		cli_fail_as(r, ERROR_PROVIDER, "%s: %s", t->program, strerror(errno));
		return NULL;
	}
	if (cli_directory(r) == NULL)
		return NULL;
	t->path = path_join(r->start.directory, "tools");
	list_add(&r->start.files, t->path);
	if (listen_at(t, &err) == 0)
		return t;
	cli_fail_as(r, ERROR_PROVIDER, "%s", error_text(&err, text, sizeof text));
	return NULL;
}

void
cli_write_server(struct cli_run *r, struct writer *w, const char *environment_key)
{
	const struct cli_tools *t = cli_tools_open_server(r);

	if (t == NULL)
		return;
	writer_member_object(w, environment_key);
	writer_member_string(w, SOCKET, t->path);
	writer_member_string(w, SECRET, t->secret);
	writer_object_end(w);
}

const char *
cli_server_program(struct cli_run *r)
{
	const struct cli_tools *t = cli_tools_open_server(r);

	return t == NULL ? NULL : t->program;
}

void
cli_server_environment(struct cli_run *r)
{
	const struct cli_tools *t = cli_tools_open_server(r);

	if (t == NULL)
		return;
	environment_set(&r->start.environment, SOCKET, t->path);
	environment_set(&r->start.environment, SECRET, t->secret);
}

const char *
cli_server_file(struct cli_run *r, const char *name, const char *members)
{
	struct buffer config = BUFFER_INIT;
	const char *file;
	struct writer w;

	writer_begin(&w, &config);
	writer_object(&w);
	writer_member_object(&w, "mcpServers");
	writer_member_object(&w, "awf");
	writer_member_string(&w, "command", cli_server_program(r));
	writer_member_array(&w, "args");
	writer_array_end(&w);
	cli_write_server(r, &w, "env");
	buffer_text(&config, members);
	writer_object_end(&w);
	writer_object_end(&w);
	writer_object_end(&w);
	file = r->failed ? NULL : cli_file(r, name, config.data);
	buffer_free(&config);
	return file;
}

void
cli_tools_close(struct cli_run *r)
{
	struct cli_tools *t = r->start.server;

	if (t == NULL)
		return;
	for (size_t i = 0; i < t->count; i++) {
		peer_end(&t->clients[i].peer);
		peer_free(&t->clients[i].peer);
	}
	for (size_t i = 0; i < t->asked_count; i++)
		free(t->asked[i].id);
	file_close(&t->listening);
	free(t->asked);
	free(t->path);
	free(t->program);
	free(t);
	r->start.server = NULL;
}

/* ---- the protocol ---- */

static void
cli_tools_send_error(struct client *c, struct span id, int code, const char *message)
{
	jsonrpc_error(&c->peer.outgoing, id, code, message, SPAN_NONE);
	peer_send(&c->peer);
}

static void
write_hello(struct writer *w, struct span params)
{
	struct span version = span_member(params, "protocolVersion");

	/* The parts used here are the same in all versions of the protocol. */
	if (span_type(version) == 's')
		writer_member_span(w, "protocolVersion", version);
	else
		writer_member_string(w, "protocolVersion", "2025-06-18");
	writer_member_object(w, "capabilities");
	writer_member_object(w, "tools");
	writer_object_end(w);
	writer_object_end(w);
	writer_member_object(w, "serverInfo");
	writer_member_string(w, "name", "awf");
	writer_member_string(w, "version", AWF_VERSION);
	writer_object_end(w);
}

static void
write_tools(const struct cli_run *r, struct writer *w)
{
	writer_member_array(w, "tools");
	for (struct span_walk tool = span_walk(r->request->tools); span_next(&tool);) {
		struct span name = span_member(tool.value, KEY_NAME);

		if (is_own(r->cli, name))
			continue;
		writer_object(w);
		writer_member_span(w, "name", name);
		writer_member_span(w, "description", span_member(tool.value, KEY_DESCRIPTION));
		writer_member_span(w, "inputSchema", span_member(tool.value, KEY_INPUT_SCHEMA));
		writer_object_end(w);
	}
	writer_array_end(w);
}

/* Passes a call to awf-step. */
static void
cli_tools_forward_call(struct cli_run *r, struct client *c, struct span id, struct span params)
{
	struct cli_tools *t = r->start.server;
	struct span arguments = span_member(params, "arguments");
	char *name = span_text(span_member(params, "name"));

	if (name == NULL || !cli_serves(r, name) ||
	    (arguments.at != NULL && span_type(arguments) != 'o')) {
		cli_tools_send_error(c, id, JSONRPC_PARAMS,
		    "there is no such tool, or its arguments are no object");
	} else {
		t->asked = memory_array(t->asked, t->asked_count + 1, sizeof *t->asked);
		t->asked[t->asked_count++] = (struct asked){ .serial = c->serial,
			.id = memory_copy(id.at, id.len) };
		provider_run_tool(r->provider, (long long)t->asked_count, name,
		    arguments.at == NULL ? span_of("{}", 2) : arguments);
	}
	free(name);
}

static void
cli_tools_read_request(struct cli_run *r, struct client *c, struct span line)
{
	struct jsonrpc m = jsonrpc_read(line);
	struct writer w;

	/* Notifications need no answer; and no requests are sent to the server. */
	if (m.kind != JSONRPC_REQUEST)
		return;
	if (span_is(m.method, "tools/call")) {
		cli_tools_forward_call(r, c, m.id, m.params);
		return;
	}
	if (!span_is(m.method, "initialize") && !span_is(m.method, "tools/list") &&
	    !span_is(m.method, "ping")) {
		cli_tools_send_error(c, m.id, JSONRPC_NO_METHOD, "there is no such method");
		return;
	}
	jsonrpc_begin_answer(&w, &c->peer.outgoing, m.id);
	writer_member_object(&w, "result");
	if (span_is(m.method, "initialize"))
		write_hello(&w, m.params);
	else if (span_is(m.method, "tools/list"))
		write_tools(r, &w);
	writer_object_end(&w);
	jsonrpc_end(&w);
	peer_send(&c->peer);
}

/* A text as a content block. */
static void
cli_tools_write_text_block(struct writer *w, struct span value)
{
	struct buffer text = BUFFER_INIT;

	span_plain(value, &text);
	writer_object(w);
	writer_member_string(w, "type", "text");
	writer_key(w, "text");
	writer_bytes(w, buffer_string(&text), text.len);
	writer_object_end(w);
	buffer_free(&text);
}

/* The blocks of a result with more than text, in the form of the Model Context Protocol. */
static void
write_blocks(struct writer *w, struct span blocks)
{
	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		struct span type = span_member(block.value, KEY_TYPE);

		if (!span_is(type, "image") && !span_is(type, "audio")) {
			cli_tools_write_text_block(w, span_member(block.value, KEY_TEXT));
			continue;
		}
		writer_object(w);
		writer_member_span(w, "type", type);
		writer_member_span(w, "data", span_member(block.value, KEY_DATA));
		writer_member_span(w, "mimeType", span_member(block.value, KEY_MEDIA_TYPE));
		writer_object_end(w);
	}
}

/* {"tool_result":ID,"number":N,"block":{…}} */
static void
cli_tools_read_result(struct cli_tools *t, struct span line)
{
	struct span block = span_member(line, "block");
	struct span blocks = span_member(block, KEY_TOOL_BLOCKS);
	long long number = 0;
	const struct asked *asked;
	struct writer w;

	if (!span_integer(span_member(line, "number"), &number) || number < 1 ||
	    (size_t)number > t->asked_count)
		return;
	asked = &t->asked[number - 1];
	for (size_t i = 0; i < t->count; i++) {
		struct client *c = &t->clients[i];

		if (c->serial != asked->serial)
			continue;
		jsonrpc_begin_answer(&w, &c->peer.outgoing, span_of(asked->id, strlen(asked->id)));
		writer_member_object(&w, "result");
		writer_member_array(&w, "content");
		if (blocks.at != NULL)
			write_blocks(&w, blocks);
		else
			cli_tools_write_text_block(&w, span_member(block, KEY_TOOL_CONTENT));
		writer_array_end(&w);
		writer_member_bool(&w, "isError", span_true(span_member(block, KEY_IS_ERROR)));
		writer_object_end(&w);
		jsonrpc_end(&w);
		peer_send(&c->peer);
	}
}

void
cli_tools_results(struct cli_run *r)
{
	struct span line;

	while (r->start.server != NULL && provider_tool_result(r->provider, &line))
		cli_tools_read_result(r->start.server, line);
}

/* ---- the servers ---- */

/* The index of the connection that has been without the secret longest; count: there is none. */
static size_t
oldest_stranger(const struct cli_tools *t)
{
	size_t found = t->count;

	for (size_t i = 0; i < t->count; i++)
		if (!t->clients[i].trusted &&
		    (found == t->count || t->clients[i].until < t->clients[found].until))
			found = i;
	return found;
}

int64_t
cli_tools_deadline(const struct cli_run *r)
{
	const struct cli_tools *t = r->start.server;
	size_t oldest = t != NULL ? oldest_stranger(t) : 0;

	return t == NULL || oldest == t->count ? 0 : t->clients[oldest].until;
}

size_t
cli_tools_poll(const struct cli_run *r, struct pollfd fds[CLI_TOOL_FDS])
{
	const struct cli_tools *t = r->start.server;

	if (t == NULL)
		return 0;
	fds[0] = (struct pollfd){ t->count < t->limits.connections || oldest_stranger(t) < t->count ?
		t->listening : -1, POLLIN, 0 };
	for (size_t i = 0; i < t->count; i++)
		peer_poll(&t->clients[i].peer, fds + 1 + i * PEER_FDS);
	return 1 + t->count * PEER_FDS;
}

static void
cli_tools_drop_client(struct cli_tools *t, size_t number)
{
	struct client *c = &t->clients[number];

	peer_end(&c->peer);
	peer_free(&c->peer);
	*c = t->clients[--t->count];
}

/* Accepts connections; if there is no room, one without the secret is closed. */
static void
cli_tools_accept_client(struct cli_tools *t)
{
	int fd = accept(t->listening, NULL, NULL);
	struct client *c;

	if (fd == -1)
		return;
	if (t->count == t->limits.connections)
		cli_tools_drop_client(t, oldest_stranger(t));
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	c = &t->clients[t->count];
	*c = (struct client){ .serial = ++t->next_serial,
		.until = clock_monotonic() + t->limits.head_ms };
	if (private_socket_is_ours(fd) && peer_connect(&c->peer, fd) == 0)
		t->count++;
	close(fd);
}

/* Handles its lines. False: it is to be disconnected. */
static bool
cli_tools_read_client_lines(struct cli_run *r, struct client *c)
{
	struct span line;
	size_t bad;
	int taken;

	while ((taken = peer_line(&c->peer, &line)) == 1) {
		if (!c->trusted) {
			const char *secret = r->start.server->secret;

			c->trusted = line.len == strlen(secret) && memcmp(line.at, secret, line.len) == 0;
			if (!c->trusted)
				return false;
		} else if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) == NULL) {
			cli_tools_read_request(r, c, line);
		}
	}
	/* A client without the secret is given little memory and time. */
	return taken == 0 && (c->trusted || (peer_untaken(&c->peer) <= r->start.server->limits.head_bytes &&
	    clock_monotonic() < c->until));
}

void
cli_tools_serve(struct cli_run *r, const struct pollfd fds[CLI_TOOL_FDS])
{
	struct cli_tools *t = r->start.server;

	if (t == NULL)
		return;
	for (size_t i = t->count; i-- > 0;) {
		struct client *c = &t->clients[i];
		bool gone = peer_serve(&c->peer, fds + 1 + i * PEER_FDS) == -1;

		if (!cli_tools_read_client_lines(r, c) || gone)
			cli_tools_drop_client(t, i);
	}
	if (fds[0].revents != 0 && (t->count < t->limits.connections || oldest_stranger(t) < t->count))
		cli_tools_accept_client(t);
}
