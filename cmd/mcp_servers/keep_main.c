/*
 * awf-mcp-keep: a worker of a run (start/pool.h) that keeps one MCP server running for all its
 * steps, as described in mcp_client/mcp_kept.h. The run's guardian starts it when a step first asks
 * for the server, and tells it to end when the run has ended; the server is its child.
 *
 * Lines are passed on unchanged except for ids, for several clients at once, each of which has ids
 * of its own. What the code relies on, and maintains:
 *   - Only whole lines are passed on, in both directions. A client that is killed in the middle
 *     of a line has sent nothing, and no client gets a part of another's answer.
 *   - If a client disconnects, its unanswered requests are cancelled, and answers that come
 *     nevertheless are dropped. Messages that belong to no request are sent to all clients.
 *   - The server is initialized once. Its answer is kept for later clients.
 *   - Requests of the server are refused here, as each client would do.
 *   - A line that cannot be understood is passed on to all clients: a client that finds the
 *     protocol broken removes the worker's name (pool_abandon()), and a worker without its name
 *     ends when a client disconnects. It ends with the server, too; the next client gets another.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../program.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "io/connection_limits.h"
#include "io/file.h"
#include "io/polling.h"
#include "json/jsonrpc.h"
#include "json/scan.h"
#include "json/writer.h"
#include "mcp_client/mcp_kept.h"
#include "mcp_client/mcp_wire.h"
#include "proc/descendants.h"
#include "proc/guardian.h"
#include "proc/interrupts.h"
#include "proc/orphans.h"
#include "proc/peer.h"
#include "proc/process.h"
#include "start/pool.h"
#include "system/self.h"

#define PROGRAM "awf-mcp-keep"
#define USAGE PROGRAM " --worker=LOCK --parent=PID"

enum {
	UNSENT_LIMIT = 1 << 20,     /* bytes waiting for the server above which clients are not read */
	UNREAD_LIMIT = 512 << 20    /* bytes waiting for a client that does not read */
};

struct client {
	struct peer peer;
	long long first;            /* of its ids */
	long long *asked;           /* ids of requests without an answer */
	size_t asked_count;
	struct buffer hello;        /* the id of its initialize request while that has no answer; JSON */
};

/* A client needs both directions of its connection, and the connection itself until it is
 * accepted; the server needs three pipes, and what is used to start it. */
static const struct open_files client_files = { .each = 2, .beside = 32 };

struct keeper {
	struct connection_limits limits;
	struct peer server;
	struct client *clients;
	size_t count;
	long long next_id;          /* first id of the next client */
	enum { HELLO_UNSAID, HELLO_SAID, HELLO_ANSWERED } hello;
	long long hello_id;
	bool greeted;               /* the answer to initialize is a result, not an error */
	struct buffer answer;       /* that; JSON */
	bool initialized;           /* the server got the notification "initialized" */
	size_t unread;              /* at most how many bytes of answers to its own requests it
	                               has not read */
};

/* ---- to the clients ---- */

/* Sends the line that was appended. */
static void
pass_on(struct client *c)
{
	if (c->peer.process.pid != 0)
		peer_send(&c->peer);
}

static void
keeper_send_to_client(struct client *c, const char *line, size_t len)
{
	buffer_append(&c->peer.outgoing, line, len);
	buffer_byte(&c->peer.outgoing, '\n');
	pass_on(c);
}

static void
keeper_send_to_all(struct keeper *k, const char *line, size_t len)
{
	for (size_t i = 0; i < k->count; i++)
		keeper_send_to_client(&k->clients[i], line, len);
}

/* A line of AWF's own: a word, and a text or a number. */
static void
write_word(struct buffer *line, const char *word, const char *key, const char *text, size_t len,
    int64_t number)
{
	struct writer w;

	writer_begin(&w, line);
	writer_object(&w);
	writer_member_string(&w, "awf", word);
	writer_key(&w, key);
	if (text != NULL)
		writer_bytes(&w, text, len);
	else
		writer_integer(&w, number);
	writer_object_end(&w);
}

static void
keeper_announce_to_all(struct keeper *k, const char *word, const char *key, const char *text,
    size_t len, int64_t number)
{
	struct buffer line = BUFFER_INIT;

	write_word(&line, word, key, text, len, number);
	keeper_send_to_all(k, line.data, line.len);
	buffer_free(&line);
}

/* Sends what the server has written to stderr; if no client is connected, the first one gets it
 * later. */
static void
pass_errors(struct keeper *k)
{
	if (k->count == 0 || k->server.errors.len == 0)
		return;
	keeper_announce_to_all(k, "says", "text", k->server.errors.data, k->server.errors.len, 0);
	buffer_clear(&k->server.errors);
}

/* Answers the client's initialize with the server's answer. */
static void
answer_hello(const struct keeper *k, struct client *c)
{
	struct writer w;

	jsonrpc_begin_answer(&w, &c->peer.outgoing, span_of(c->hello.data, c->hello.len));
	writer_member_buffer(&w, k->greeted ? "result" : "error", &k->answer);
	jsonrpc_end(&w);
	pass_on(c);
	buffer_clear(&c->hello);
}

/* ---- to the server ---- */

static void
keeper_send_to_server(struct keeper *k, const char *line, size_t len)
{
	buffer_append(&k->server.outgoing, line, len);
	buffer_byte(&k->server.outgoing, '\n');
	peer_send(&k->server);
}

static void
forget_request(struct client *c, size_t number)
{
	c->asked[number] = c->asked[--c->asked_count];
}

/* The index of the request without an answer; asked_count: there is none. */
static size_t
request_of(const struct client *c, long long id)
{
	size_t i = 0;

	while (i < c->asked_count && c->asked[i] != id)
		i++;
	return i;
}

/* Cancels the requests of a client that disconnects. */
static void
remove_client(struct keeper *k, size_t number)
{
	struct client *c = &k->clients[number];
	struct writer w;

	for (size_t i = 0; i < c->asked_count; i++) {
		jsonrpc_begin(&w, &k->server.outgoing);
		writer_member_string(&w, "method", "notifications/cancelled");
		writer_member_object(&w, "params");
		writer_member_integer(&w, "requestId", c->asked[i]);
		writer_member_string(&w, "reason", "the step has ended");
		writer_object_end(&w);
		jsonrpc_end(&w);
	}
	peer_send(&k->server);
	peer_end(&c->peer);
	peer_free(&c->peer);
	free(c->asked);
	buffer_free(&c->hello);
	*c = k->clients[--k->count];
}

static void
add_client(struct keeper *k, int fd)
{
	struct client c = { .first = k->next_id };
	struct buffer line = BUFFER_INIT;

	if (peer_connect(&c.peer, fd) == 0) {
		k->clients = memory_array(k->clients, k->count + 1, sizeof *k->clients);
		k->clients[k->count++] = c;
		k->next_id += MCP_KEPT_IDS;
		write_word(&line, "ids", "from", NULL, 0, c.first);
		keeper_send_to_client(&k->clients[k->count - 1], line.data, line.len);
		buffer_free(&line);
	}
	file_close(&fd);
}

/* ---- lines of a client ---- */

/* -1: it cannot be understood, or the client has used up its ids. */
static int
keeper_read_client_message(struct keeper *k, struct client *c, struct span line)
{
	struct jsonrpc m;
	long long number;
	size_t bad;

	if (scan_within(line.at, line.len, SCAN_LINE_DEPTH, &bad) != NULL || span_type(line) != 'o')
		return -1;
	m = jsonrpc_read(line);
	if (m.id.at == NULL) {
		if (span_is(m.method, "notifications/initialized")) {
			if (k->initialized)
				return 0;
			k->initialized = true;
		}
		if (span_is(m.method, "notifications/cancelled") &&
		    span_integer(span_member(m.params, "requestId"), &number) &&
		    request_of(c, number) < c->asked_count)
			forget_request(c, request_of(c, number));
		keeper_send_to_server(k, line.at, line.len);
		return 0;
	}
	if (!span_integer(m.id, &number) || number < c->first || number >= c->first + MCP_KEPT_IDS)
		return -1;
	if (span_is(m.method, "initialize")) {
		buffer_clear(&c->hello);
		buffer_append(&c->hello, m.id.at, m.id.len);
		if (k->hello == HELLO_ANSWERED)
			answer_hello(k, c);
		if (k->hello != HELLO_UNSAID)
			return 0;
		k->hello = HELLO_SAID;
		k->hello_id = number;
	} else {
		c->asked = memory_array(c->asked, c->asked_count + 1, sizeof *c->asked);
		c->asked[c->asked_count++] = number;
	}
	keeper_send_to_server(k, line.at, line.len);
	return 0;
}

/* -1: it has disconnected, or must be. */
static int
serve_client(struct keeper *k, struct client *c, const struct pollfd fds[PEER_FDS])
{
	int open = peer_serve(&c->peer, fds), taken = 0;
	struct span line;

	while (c->peer.process.in != -1 && (taken = peer_line(&c->peer, &line)) == 1)
		if (keeper_read_client_message(k, c, line) == -1)
			return -1;
	return open == -1 || taken == -1 || c->peer.process.in == -1 ||
	    peer_unsent(&c->peer) > UNREAD_LIMIT ? -1 : 0;
}

/* ---- lines of the server ---- */

/* The client of an id; NULL: it has disconnected. *known: the id was given out. */
static struct client *
client_of(const struct keeper *k, struct span id, bool *known)
{
	long long number;

	*known = span_integer(id, &number) && number >= MCP_KEPT_IDS && number < k->next_id;
	for (size_t i = 0; *known && i < k->count; i++)
		if (number >= k->clients[i].first && number < k->clients[i].first + MCP_KEPT_IDS)
			return &k->clients[i];
	return NULL;
}

/* Handles the answer to initialize: sends it to all clients that wait for it. */
static void
keeper_store_hello(struct keeper *k, const struct jsonrpc *m)
{
	struct span answer = m->result.at != NULL ? m->result : m->error;

	k->hello = HELLO_ANSWERED;
	k->greeted = m->result.at != NULL;
	buffer_append(&k->answer, answer.at, answer.len);
	for (size_t i = 0; i < k->count; i++)
		if (k->clients[i].hello.len > 0)
			answer_hello(k, &k->clients[i]);
}

/* Refuses a request of the server. False: it sends more and more of them, and reads no answer. */
static bool
answer_server(struct keeper *k, struct span id, struct span method)
{
	const size_t before = k->server.outgoing.len;

	mcp_answer_request(&k->server.outgoing, id, method);
	k->unread += k->server.outgoing.len - before;
	peer_send(&k->server);
	if (k->unread > peer_unsent(&k->server))
		k->unread = peer_unsent(&k->server);
	if (k->unread > UNSENT_LIMIT)
		keeper_announce_to_all(k, "broke", "text", MCP_UNREAD, sizeof MCP_UNREAD - 1, 0);
	return k->unread <= UNSENT_LIMIT;
}

/* False: the server must be ended. */
static bool
keeper_read_server_message(struct keeper *k, struct span message)
{
	struct jsonrpc m = jsonrpc_read(message);
	bool answers = m.kind == JSONRPC_RESPONSE, known;
	struct client *c;
	long long number;

	if (span_member(message, "awf").at != NULL)
		return true; /* ours alone */
	if (m.kind == JSONRPC_REQUEST)
		return answer_server(k, m.id, m.method);
	if (answers && span_integer(m.id, &number) && k->hello == HELLO_SAID && number == k->hello_id) {
		keeper_store_hello(k, &m);
		return true;
	}
	c = client_of(k, answers ? m.id : span_member(m.params, "progressToken"), &known);
	if (c != NULL) {
		if (answers && span_integer(m.id, &number) &&
		    request_of(c, number) < c->asked_count)
			forget_request(c, request_of(c, number));
		keeper_send_to_client(c, message.at, message.len);
	} else if (!known) {
		keeper_send_to_all(k, message.at, message.len);
	}
	return true;
}

/* Several messages. */
static bool
keeper_read_batch(struct keeper *k, struct span list)
{
	struct buffer message = BUFFER_INIT;
	bool goes_on = true;

	for (struct span_walk w = span_walk(list); goes_on && span_next(&w);) {
		buffer_clear(&message);
		scan_minify(w.value, &message);
		/* Only objects are passed on: another list inside a list would be taken for a
		 * line of AWF's own, a text for a line of stderr. */
		if (span_type(w.value) == 'o')
			goes_on = keeper_read_server_message(k, span_of(message.data, message.len));
		else
			keeper_send_to_all(k, "[{}]", 4);
	}
	buffer_free(&message);
	return goes_on;
}

/* Handles a line, which may contain several messages, or none. */
static bool
keeper_read_server_line(struct keeper *k, struct span line)
{
	struct buffer mended = BUFFER_INIT;
	bool goes_on = true;

	line = span_trim(line);
	if (line.len == 0)
		return true;
	if ((*line.at != '{' && *line.at != '[') ||
	    jsonrpc_check(&line, SCAN_LINE_DEPTH, &mended) != NULL)
		keeper_send_to_all(k, line.at, line.len);
	else if (*line.at == '{')
		goes_on = keeper_read_server_message(k, line);
	else
		goes_on = keeper_read_batch(k, line);
	buffer_free(&mended);
	return goes_on;
}

/* -1: it has ended, or must be ended. */
static int
serve_server(struct keeper *k, const struct pollfd fds[PEER_FDS])
{
	int open = peer_serve(&k->server, fds), taken;
	struct span line;

	while ((taken = peer_line(&k->server, &line)) == 1)
		if (!keeper_read_server_line(k, line))
			return -1;
	pass_errors(k);
	if (taken == -1)
		keeper_announce_to_all(k, "broke", "text", MCP_LONG, sizeof MCP_LONG - 1, 0);
	return open == -1 || taken == -1 || k->server.process.in == -1 ? -1 : 0;
}

/* ---- the loop ---- */

/* False: a client has removed this worker's name, and one has disconnected. */
static bool
serve_clients(struct keeper *k, const struct pool_slot *slot, const struct pollfd *fds)
{
	bool gone = false;

	for (size_t i = k->count; i-- > 0;)
		if (serve_client(k, &k->clients[i], fds + PEER_FDS * i) == -1) {
			remove_client(k, i);
			gone = true;
		}
	return !gone || pool_named(slot);
}

/* Works until the server ends, or must be ended. */
static void
keeper_serve_until_end(struct keeper *k, struct pool_slot *slot,
    const struct interrupts *interrupts)
{
	struct pollfd *fds = NULL;
	struct error unused;
	bool goes_on = true;
	int fd;

	connection_limits_fit(&k->limits, &client_files);
	while (goes_on) {
		/* The worker's own socket, the listener, the server, the clients. */
		size_t clients = 2 + PEER_FDS, count = clients + PEER_FDS * k->count;

		fds = memory_array(fds, count, sizeof *fds);
		/* A client for which there is no room starts a server of its own. */
		fds[1] = (struct pollfd){ k->count < k->limits.connections ? slot->listener : -1, POLLIN, 0 };
		peer_poll(&k->server, fds + 2);
		for (size_t i = 0; i < k->count; i++) {
			peer_poll(&k->clients[i].peer, fds + clients + PEER_FDS * i);
			if (peer_unsent(&k->server) > UNSENT_LIMIT)
				fds[clients + PEER_FDS * i + PEER_OUT].fd = -1;
		}
		if (interrupts_wait(interrupts, fds, count, clock_monotonic() + WORKER_IDLE_MS,
		    &unused) == -1)
			break;
		goes_on = serve_server(k, fds + 2) == 0 && serve_clients(k, slot, fds + clients) &&
		    (k->count > 0 || pool_named(slot));
		while (goes_on && k->count < k->limits.connections && (fd = pool_accept_now(slot, true)) != -1)
			add_client(k, fd);
	}
	free(fds);
}

/* Sends the last lines to the clients, as far as they read them. */
static void
keeper_flush_clients(struct keeper *k)
{
	const int64_t end = clock_monotonic() + READER_MS;

	for (size_t i = 0; i < k->count; i++)
		while (peer_send(&k->clients[i].peer) == 0 && peer_unsent(&k->clients[i].peer) > 0 &&
		    poll_one(k->clients[i].peer.process.in, POLLOUT, end) != 0)
			;
}

/* Starts the server and keeps it. */
static void
keeper_run_server(struct pool_slot *slot, const struct mcp_kept_process *process,
    const struct interrupts *interrupts)
{
	const struct process_spec spec = { .argv = process->argv, .directory = process->directory,
	    .err = PROCESS_PIPE };
	char *mark = memory_text(getenv(ORPHANS_MARK) == NULL ? "" : getenv(ORPHANS_MARK));
	struct keeper k = { .next_id = MCP_KEPT_IDS, .limits = connection_limits_of(CONNECTION_KEEP),
	    .server = { .end_ms = MCP_END_MS, .mark = mark } };
	struct error err = ERROR_INIT;
	char text[sizeof err.place + sizeof err.message + 4];
	int wait_status, fd;

	if (peer_start(&k.server, &spec, &err) == -1) {
		/* The client that had this worker started waits for it. */
		poll_one(slot->listener, POLLIN, clock_monotonic() + WORKER_START_MS);
		while ((fd = pool_accept_now(slot, true)) != -1)
			add_client(&k, fd);
		error_text(&err, text, sizeof text);
		keeper_announce_to_all(&k, "refused", "text", text, strlen(text), 0);
	} else {
		if (process->first != NULL) {
			buffer_text(&k.server.outgoing, process->first);
			peer_send(&k.server);
		}
		keeper_serve_until_end(&k, slot, interrupts);
		wait_status = peer_end(&k.server);
		pass_errors(&k);
		if (wait_status != -1)
			keeper_announce_to_all(&k, "ended", "status", NULL, 0, wait_status);
	}
	keeper_flush_clients(&k);
	while (k.count > 0)
		remove_client(&k, k.count - 1);
	peer_free(&k.server);
	free(k.clients);
	buffer_free(&k.answer);
	free(mark);
}

enum { OPT_WORKER = 1, OPT_PARENT };

struct asked {
	const char *lock;
	int64_t parent;
};

static const struct option_spec options_table[] = {
	{ OPT_WORKER, 0, "worker", "LOCK", "serve on the socket that stdin is",
	    OPTION_INTO_TEXT(struct asked, lock) },
	{ OPT_PARENT, 0, "parent", "PID", "end with this process",
	    OPTION_INTO_NUMBER(struct asked, parent, 1, INT32_MAX) },
	{ 0, 0, NULL, NULL, NULL }
};

int
main(int argc, char **argv)
{
	static const int ends[] = { GUARDIAN_ENDS, 0 };
	struct error err = ERROR_INIT;
	struct mcp_kept_process process;
	const struct interrupts *interrupts;
	struct pool_slot slot;
	struct options o;
	struct asked asked = { .lock = NULL };
	int status;

	program_begin();
	/* The environment may contain keys, which other processes of the same user must not
	 * read. */
	self_seal_memory();
	signal(SIGPIPE, SIG_IGN);
	interrupts = interrupts_catch(ends);
	options_begin(&o, options_table, argc, argv);
	options_bind(&o, &asked);
	if (!program_read_options(PROGRAM, PROGRAM, USAGE, &o, &status))
		return status;
	if (asked.lock == NULL || asked.parent == 0) {
		error_set(&err, ERROR_USAGE, NULL, "--worker and --parent are needed; awf-run starts it");
		return program_fail(PROGRAM, &err);
	}
	if (pool_join(&slot, PROGRAM, asked.lock, (pid_t)asked.parent, &err) != 0) {
		pool_leave(&slot);
		return program_fail(PROGRAM, &err);
	}
	descendants_adopt();
	if (!mcp_kept_read(&process))
		error_set(&err, ERROR_USAGE, NULL, "no server is said in the environment");
	else
		keeper_run_server(&slot, &process, interrupts);
	mcp_kept_free(&process);
	pool_leave(&slot);
	return err.code == ERROR_NONE ? STATUS_OK : program_fail(PROGRAM, &err);
}
