/*
 * Requests as bytes of a connection, to a handler that does everything a handler may: it answers now
 * or later, with a stream, before the body is whole, refuses heads and bodies, and pauses them. However
 * the bytes are cut into pieces, the same requests are seen, with the same bodies, and the same bytes
 * answered; each that was begun ends once; and nothing is left.
 *
 * The first byte says how long the pieces are, the second what is done with which request; the others
 * are sent.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "httpd/connection.h"
#include "httpd/head.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum deed { ANSWERS, ANSWERS_LATER, ANSWERS_EARLY, STREAMS, CUTS_OFF, REFUSES, REFUSES_BODY, PAUSES, DEEDS };

struct request {
	enum deed deed;
	size_t received;
	bool asked, over;
};

static struct loop loop;
static struct httpd server;
static struct connection *connection; /* of the request that is under way */
static struct buffer seen;
static uint8_t seed;
static int live;

static const struct refusal no = { 403, "", "no" };

/* ---- the handler ---- */

static void
answer_text(struct connection *c, unsigned status)
{
	struct buffer fields = BUFFER_INIT, content = BUFFER_INIT;
	struct request *r = c->request;

	buffer_text(&fields, "A: b\r\n");
	buffer_text(&content, "content");
	if (r != NULL)
		r->over = true;
	connection_answer(c, status, &fields, &content);
}

static const struct refusal *
begin(struct connection *c, const struct head *h, struct span bytes)
{
	struct request *r = memory_zero(1, sizeof *r);

	assert(c->request == NULL && live == 0);
	assert(head_end(bytes.at, bytes.len, 0) == bytes.len && bytes.len <= server.limits.head_bytes);
	live++;
	connection = c;
	r->deed = (enum deed)((seed + h->target.len + (unsigned char)h->target.at[h->target.len - 1]) % DEEDS);
	buffer_format(&seen, "\n%.*s %.*s %d %lld ", (int)h->method.len, h->method.at,
	    (int)h->target.len, h->target.at, h->chunked, (long long)h->length);
	c->request = r;
	return r->deed == REFUSES ? &no : NULL;
}

static const struct refusal *
body(struct connection *c, struct span piece, int64_t left)
{
	struct request *r = c->request;
	const struct refusal *refused;

	assert(left >= 0 && !r->asked);
	/* One that is answered has no more of its body read. */
	assert(!r->over);
	r->received += piece.len;
	if (r->deed == ANSWERS_EARLY && r->received > 3) {
		answer_text(c, 200);
		return NULL;
	}
	if (r->deed == REFUSES_BODY && r->received > 3)
		return &no;
	if (r->deed == PAUSES)
		connection_pause(c, true);
	refused = piece.len > 0 ? connection_keep(c, piece) : NULL;
	return refused;
}

static void
answer(struct connection *c)
{
	struct request *r = c->request;
	struct buffer fields = BUFFER_INIT;

	if (r->deed == ANSWERS_LATER && !r->asked) {
		r->asked = true;
		connection_wait(c);
		return;
	}
	r->asked = true;
	buffer_text(&seen, "asked ");
	buffer_append(&seen, c->body.data, c->body.len);
	if (r->deed == STREAMS || r->deed == CUTS_OFF)
		connection_stream(c, 200, &fields, -1);
	else
		answer_text(c, r->received % 5 == 4 ? 304 : 200);
}

static void
refuse(struct connection *c, const struct refusal *refusal)
{
	buffer_text(&seen, "refused");
	answer_text(c, refusal->status);
}

static void
ready(struct connection *c)
{
	const struct request *r = c->request;

	assert(r->deed == STREAMS || r->deed == CUTS_OFF);
}

static void
end(struct connection *c)
{
	live--;
	connection = NULL;
	free(c->request);
}

static const struct connection_handler handler = { begin, body, answer, refuse, ready, end };

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct error err;

	(void)argc, (void)argv;
	assert(loop_open(&loop, &err) == 0);
	server = (struct httpd){ .loop = &loop, .handler = &handler, .turns_away = true, .half_closed = true,
		.limits = { .connections = 4, .strangers = 4, .head_bytes = 1024, .bodies_bytes = 1 << 20,
		.idle_ms = 10000, .head_ms = 10000, .body_ms = 10000, .stall_ms = 10000, .leave_ms = 10000,
		.leave_bytes = 1 << 20 } };
	return 0;
}

/* ---- a connection ---- */

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

/* What the handler does of itself, outside of what it is asked. */
static void
go_on(void)
{
	struct connection *c = connection;
	struct request *r = c != NULL ? c->request : NULL;

	if (r == NULL || r->over)
		return;
	if (r->deed == PAUSES && c->paused)
		connection_pause(c, false);
	if (r->deed == ANSWERS_LATER && c->state == CONNECTION_WAITS)
		connection_wake(c);
	if (c->state == CONNECTION_STREAMS) {
		connection_write(c, "a piece", 7);
		connection_write(c, "and another", seed % 12);
		r->over = true;
		connection_end(c, r->deed == CUTS_OFF);
	}
}

static bool
let_work(int fd, struct buffer *got)
{
	struct error err;
	bool open = true;

	for (int i = 0, idle = 0; i < 2000 && idle < 2 && open; i++) {
		size_t before = got->len;

		assert(loop_round(&loop, 0, &err) == 0);
		go_on();
		open = take_answer(fd, got);
		idle = loop.tasks == 0 && got->len == before ? idle + 1 : 0;
	}
	return open;
}

static void
converse(const char *bytes, size_t len, size_t piece, struct buffer *got)
{
	int ends[2];
	bool open = true;

	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	assert(httpd_admit(&server, ends[0]) == 0);
	for (size_t at = 0; open && at < len; at += piece) {
		size_t part = len - at < piece ? len - at : piece;

		if (send(ends[1], bytes + at, part, MSG_NOSIGNAL) != (ssize_t)part)
			break;
		open = let_work(ends[1], got);
	}
	close(ends[1]);
	for (int i = 0; i < 100 && server.count > 0; i++)
		let_work(-1, got);
	httpd_close(&server);
	assert(server.count == 0 && server.held == 0 && live == 0 && loop.tasks == 0);
}

/* Who has sent some of a body is not told to go on: that depends on the pieces. */
static void
drop_interim(struct buffer *got)
{
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	char *at;

	while (got->len > 0 && (at = strstr(buffer_string(got), interim)) != NULL) {
		memmove(at, at + sizeof interim - 1, strlen(at + sizeof interim - 1) + 1);
		got->len -= sizeof interim - 1;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer first = BUFFER_INIT, whole = BUFFER_INIT, pieces = BUFFER_INIT;
	const char *bytes = (const char *)data + 2;
	size_t piece;

	if (size < 3 || size > 20000)
		return 0;
	piece = data[0] < 128 ? (size_t)data[0] + 1 : ((size_t)data[0] - 127) * 64;
	if (size / piece > 200)
		piece = size / 200 + 1;
	seed = data[1];
	buffer_clear(&seen);
	converse(bytes, size - 2, size, &whole);
	buffer_append(&first, buffer_string(&seen), seen.len);
	buffer_clear(&seen);
	converse(bytes, size - 2, piece, &pieces);
	assert(first.len == seen.len);
	assert(first.len == 0 || memcmp(first.data, seen.data, first.len) == 0);
	drop_interim(&whole);
	drop_interim(&pieces);
	assert(whole.len == pieces.len);
	assert(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
	buffer_free(&first);
	buffer_free(&whole);
	buffer_free(&pieces);
	return 0;
}
