/*
 * Requests to awf-serve, as bytes of a connection to a whole server: its heads, bodies, targets,
 * who may, and the routes that read. However the bytes are cut into pieces, the same requests are
 * seen, with the same bodies; each is answered or refused once; and after one that was refused for
 * how it is framed no other is seen.
 *
 * The first byte says how long the pieces are; the others are sent.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "httpd/connection.h"
#include "httpd/head.h"
#include "serve/request.h"
#include "serve/routes.h"
#include "serve/serve.h"

#define RUN "01234567-89ab-4def-8123-456789abcdef"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct server server;
static struct buffer seen;       /* what the handler was told, of one connection */
static char directory[] = "/tmp/fuzz-http.XXXXXX";

/* ---- what the handler is told ---- */

static const struct refusal *
begin(struct connection *c, const struct head *h, struct span bytes)
{
	assert(h->count <= HEAD_FIELDS && bytes.len <= server.httpd.limits.head_bytes);
	buffer_format(&seen, "\n%.*s %.*s %d %lld ", (int)h->method.len, h->method.at,
	    (int)h->target.len, h->target.at, h->chunked, (long long)h->length);
	return request_handler.begin(c, h, bytes);
}

static const struct refusal *
body(struct connection *c, struct span piece, int64_t left)
{
	const struct refusal *refused = request_handler.body(c, piece, left);

	assert(left >= 0);
	/* How much of what is too large has come depends on the pieces. */
	if (refused == NULL)
		buffer_append(&seen, piece.at, piece.len);
	return refused;
}

static void
answer(struct connection *c)
{
	const struct request *r = c->request;

	/* Again, if it had to wait. */
	if (r->state == NULL)
		buffer_text(&seen, " asked");
	request_handler.answer(c);
	assert(r->answered || r->waiting);
}

static void
refuse(struct connection *c, const struct refusal *refusal)
{
	assert(refusal->status >= 400 && refusal->status < 600);
	buffer_text(&seen, " refused");
	request_handler.refuse(c, refusal);
}

static void
ready(struct connection *c)
{
	request_handler.ready(c);
}

static void
end(struct connection *c)
{
	request_handler.end(c);
}

static const struct connection_handler handler = { begin, body, answer, refuse, ready, end };

/* ---- a server ---- */

/* The routes, but for those that change what is stored. */
static const struct route *
reading_routes(void)
{
	struct route *kept;
	size_t count = 0, all = 0;

	while (routes[all].method != NULL)
		all++;
	kept = memory_zero(all + 1, sizeof *kept);
	for (size_t i = 0; i < all; i++)
		if (strcmp(routes[i].method, "GET") == 0 || strncmp(routes[i].pattern, "api/session", 11) == 0)
			kept[count++] = routes[i];
	return kept;
}

static void
clean_up(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", directory);
	if (system(command) != 0)
		perror(command);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char lines[] =
	    "{\"seq\":1,\"timestamp\":\"2026-11-21T08:15:30.123456Z\",\"event_id\":\"01934c2e-0000-7000-8000-000000000001\","
	    "\"run_id\":\"" RUN "\",\"type\":\"run.started\",\"path\":\"\",\"iteration\":0,"
	    "\"payload\":{\"name\":\"demo\",\"attempt\":1}}\n"
	    "{\"seq\":2,\"timestamp\":\"2026-11-21T08:15:31.123456Z\",\"event_id\":\"01934c2e-0000-7000-8000-000000000002\","
	    "\"run_id\":\"" RUN "\",\"type\":\"run.completed\",\"path\":\"\",\"iteration\":0,"
	    "\"payload\":{\"status\":\"success\",\"duration_ms\":1000}}\n";
	char path[256];
	struct error err;
	int fd;

	(void)argc, (void)argv;
	assert(mkdtemp(directory) != NULL);
	atexit(clean_up);
	setenv("AWF_STORAGE", directory, 1);
	server.settings = (struct settings){ .clients = 100, .clients_per_address = 100 };
	if (server_open(&server, &err) != 0) {
		fprintf(stderr, "%s: %s\n", err.place, err.message);
		abort();
	}
	server.routes = reading_routes();
	server.httpd.handler = &handler;
	snprintf(path, sizeof path, "%s/transcripts/" RUN ".jsonl", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert(fd != -1 && write(fd, lines, sizeof lines - 1) == (ssize_t)sizeof lines - 1);
	close(fd);
	return 0;
}

/* ---- a connection ---- */

/* Reads what has come. False: the server has closed the connection, or was done. */
static bool
take_answer(int fd, struct buffer *got)
{
	for (;;) {
		ssize_t len = recv(fd, buffer_reserve(got, 65536), 65536, MSG_DONTWAIT);

		if (len <= 0)
			return len == -1 && errno == EAGAIN;
		got->len += (size_t)len;
	}
}

/* Lets the server do what there is to do. */
static bool
let_work(int fd, struct buffer *got)
{
	struct error err;
	bool open = true;
	int idle = 0;

	for (int i = 0; i < 2000 && idle < 2 && open; i++) {
		size_t before = got->len;

		assert(loop_round(&server.loop, 0, &err) == 0);
		open = take_answer(fd, got);
		idle = server.loop.tasks == 0 && got->len == before ? idle + 1 : 0;
	}
	return open;
}

static void
connect_and_send(const char *bytes, size_t len, size_t piece, struct buffer *got)
{
	int ends[2];
	bool open = true;

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	assert(httpd_admit(&server.httpd, ends[0]) == 0);
	for (size_t at = 0; open && at < len; at += piece) {
		size_t part = len - at < piece ? len - at : piece;

		if (send(ends[1], bytes + at, part, MSG_NOSIGNAL) != (ssize_t)part)
			break;
		open = let_work(ends[1], got);
	}
	close(ends[1]);
	for (int i = 0; i < 100 && server.httpd.first != NULL; i++)
		let_work(-1, got);
	httpd_close(&server.httpd);
	assert(server.httpd.count == 0 && server.streams.count == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer first = BUFFER_INIT, whole = BUFFER_INIT, pieces = BUFFER_INIT;
	const char *bytes = (const char *)data + 1;
	size_t piece;

	if (size < 2 || size > 40000)
		return 0;
	piece = data[0] < 128 ? (size_t)data[0] + 1 : ((size_t)data[0] - 127) * 256;
	if (size / piece > 200)
		piece = size / 200 + 1;
	buffer_clear(&seen);
	connect_and_send(bytes, size - 1, size, &whole);
	buffer_append(&first, buffer_string(&seen), seen.len);
	assert(whole.len == 0 || strncmp(whole.data, "HTTP/1.1 ", 9) == 0);
	buffer_clear(&seen);
	connect_and_send(bytes, size - 1, piece, &pieces);
	assert(first.len == seen.len);
	assert(first.len == 0 || memcmp(first.data, seen.data, first.len) == 0);
	buffer_free(&first);
	buffer_free(&whole);
	buffer_free(&pieces);
	return 0;
}
