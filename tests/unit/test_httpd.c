/* httpd/connection: what a client sends, in whatever pieces, and what it is answered; and limits. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "httpd/connection.h"
#include "httpd/head.h"

#define LATE 10000 /* ms: nothing here takes so long */
#define SOON 60    /* ms: a limit that is waited for */

static struct loop loop;
static struct httpd server;
static struct buffer seen;            /* what the handler was told */
static struct connection *waiting;    /* at /later, or a stream */
static size_t begun, ended, readies;
static size_t files;                  /* descriptors that were open before */

/* ---- a handler: the path says what is done ---- */

static const struct refusal forbidden = { 403, "", "no" };
static const struct refusal too_much = { 413, "", "too much" };

static void
answer_text(struct connection *c, unsigned status, const char *text)
{
	struct buffer fields = BUFFER_INIT, content = BUFFER_INIT;

	buffer_text(&fields, "A: b\r\n");
	buffer_text(&content, text);
	connection_answer(c, status, &fields, &content);
}

static const struct refusal *
begin(struct connection *c, const struct head *h, struct span bytes)
{
	char *path = memory_copy(h->target.at, h->target.len);

	assert_int_equal(bytes.len, head_end(bytes.at, bytes.len, 0));
	buffer_format(&seen, "<%.*s %s>", (int)h->method.len, h->method.at, path);
	c->request = path;
	begun++;
	if (strcmp(path, "/forbidden") == 0)
		return &forbidden;
	return h->length > 1000 && strcmp(path, "/take") != 0 ? &too_much : NULL;
}

static const struct refusal *
body(struct connection *c, struct span piece, int64_t left)
{
	assert_true(left >= 0);
	if (strcmp(c->request, "/early") == 0) {
		answer_text(c, 200, "early");
		return NULL;
	}
	if (strcmp(c->request, "/pause") == 0 && c->body.len == 0)
		connection_pause(c, true);
	if (strcmp(c->request, "/forbids") == 0)
		return &forbidden;
	return strcmp(c->request, "/take") == 0 || piece.len == 0 ? NULL : connection_keep(c, piece);
}

static void
answer(struct connection *c)
{
	struct buffer fields = BUFFER_INIT;

	buffer_format(&seen, "[%.*s]", (int)c->body.len, buffer_string(&c->body));
	if (strcmp(c->request, "/later") == 0 && waiting != c) {
		waiting = c;
		connection_wait(c);
	} else if (strcmp(c->request, "/stream") == 0 || strcmp(c->request, "/five") == 0) {
		waiting = c;
		buffer_text(&fields, "A: b\r\n");
		connection_stream(c, 200, &fields, strcmp(c->request, "/five") == 0 ? 5 : -1);
	} else if (strcmp(c->request, "/unchanged") == 0) {
		connection_stream(c, 304, &fields, -1);
		connection_write(c, "x", 1);
		connection_end(c, false);
	} else if (strcmp(c->request, "/file") == 0) {
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

		connection_answer_file(c, 200, &fields, fd, 1, 3);
	} else if (strcmp(c->request, "/large") == 0) {
		struct buffer content = BUFFER_INIT;

		memset(buffer_reserve(&content, 8 << 20), 'x', 8 << 20);
		content.len = 8 << 20;
		connection_answer(c, 200, &fields, &content);
	} else {
		answer_text(c, strcmp(c->request, "/none") == 0 ? 204 : 200,
		    strcmp(c->request, "/none") == 0 ? "" : "hello");
	}
}

static void
refuse(struct connection *c, const struct refusal *refusal)
{
	buffer_text(&seen, "!");
	answer_text(c, refusal->status, "");
}

static void
ready(struct connection *c)
{
	assert_ptr_equal(c, waiting);
	readies++;
}

static void
end(struct connection *c)
{
	ended++;
	if (waiting == c)
		waiting = NULL;
	free(c->request);
}

static const struct connection_handler handler = { begin, body, answer, refuse, ready, end };

/* ---- a client ---- */

static size_t
count_files(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

static int
set_up(void **state)
{
	struct error err;

	(void)state;
	files = count_files();
	loop = (struct loop){ 0 };
	assert_int_equal(loop_open(&loop, &err), 0);
	server = (struct httpd){ .loop = &loop, .handler = &handler, .turns_away = true,
		.half_closed = true, .limits = { .connections = 8, .strangers = 8, .head_bytes = 512,
		.body_bytes = 1000, .bodies_bytes = 1 << 20, .idle_ms = LATE, .head_ms = LATE,
		.body_ms = LATE, .stall_ms = LATE, .leave_ms = LATE, .leave_bytes = 4096 } };
	buffer_clear(&seen);
	waiting = NULL;
	begun = ended = readies = 0;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	httpd_close(&server);
	assert_int_equal(server.count, 0);
	assert_int_equal(server.held, 0);
	assert_int_equal(begun, ended);
	loop_close(&loop);
	buffer_free(&seen);
	/* No descriptor is left open. */
	assert_int_equal(count_files(), files);
	return 0;
}

static int
connect_client(void)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	assert_int_equal(httpd_admit(&server, ends[0]), 0);
	return ends[1];
}

/* Reads what has come. False: the connection has ended. */
static bool
take(int fd, struct buffer *got)
{
	for (;;) {
		ssize_t len = recv(fd, buffer_reserve(got, 65536), 65536, MSG_DONTWAIT);

		if (len <= 0)
			return len == -1 && errno == EAGAIN;
		got->len += (size_t)len;
	}
}

/* Lets the server do what can be done now; false: the connection has ended. */
static bool
let_work(int fd, struct buffer *got)
{
	struct error err;
	bool open = true;

	for (int idle = 0; idle < 3 && open;) {
		size_t before = got->len;

		assert_int_equal(loop_round(&loop, 0, &err), 0);
		open = take(fd, got);
		idle = loop.tasks == 0 && got->len == before ? idle + 1 : 0;
	}
	return open;
}

/* The same until the connection has ended. */
static void
until_ended(int fd, struct buffer *got)
{
	int64_t late = clock_monotonic() + LATE;
	struct error err;

	while (take(fd, got)) {
		assert_true(clock_monotonic() < late);
		assert_int_equal(loop_round(&loop, SOON, &err), 0);
	}
}

static void
say(int fd, const char *text, size_t len)
{
	/* The server may be gone. */
	(void)!send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Sends a text in pieces; *got is what was answered. Whether the connection is still open. */
static bool
converse(const char *text, size_t piece, struct buffer *got)
{
	int fd = connect_client();
	bool open = true;

	for (size_t at = 0, len = strlen(text); open && at < len; at += piece) {
		say(fd, text + at, len - at < piece ? len - at : piece);
		open = let_work(fd, got);
	}
	close(fd);
	while (server.count > 0)
		assert_int_equal(loop_round(&loop, SOON, NULL), 0);
	return open;
}

/* ---- requests ---- */

#define H " HTTP/1.1\r\nHost: a\r\n"
#define HELLO "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello"
#define LAST "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
#define REFUSED(text) "HTTP/1.1 " text "\r\nA: b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#define BAD REFUSED("400 Bad Request")

static void
what_is_answered_in_whatever_pieces(void **state)
{
	static const struct { const char *sent, *seen, *got; bool open; } cases[] = {
		/* Requests one after the other, though they come at once. */
		{ "GET /" H "\r\n", "<GET />[]", HELLO, true },
		{ "GET /" H "\r\nGET /b" H "\r\nGET /c" H "\r\n", "<GET />[]<GET /b>[]<GET /c>[]",
		    HELLO HELLO HELLO, true },
		{ "POST /" H "Content-Length: 3\r\n\r\nabcGET /b" H "\r\n", "<POST />[abc]<GET /b>[]",
		    HELLO HELLO, true },
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0002\r\nde\r\n0\r\n\r\nGET /b" H "\r\n",
		    "<POST />[abcde]<GET /b>[]", HELLO HELLO, true },
		{ "POST /take" H "Content-Length: 3\r\n\r\nabc", "<POST /take>[]", HELLO, true },
		{ "\r\nGET /" H "\r\n", "<GET />[]", HELLO, true },
		{ "\r\n\r\nGET /" H "\r\n", "!", BAD, false },
		/* What ends the connection, and what has no body. */
		{ "GET /" H "Connection: x, close\r\n\r\nGET /b" H "\r\n", "<GET />[]", LAST, false },
		{ "GET / HTTP/1.0\r\nHost: a\r\n\r\nGET /b" H "\r\n", "<GET />[]", LAST, false },
		{ "HEAD /" H "\r\nGET /b" H "\r\n", "<HEAD />[]<GET /b>[]",
		    "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\n" HELLO, true },
		{ "GET /none" H "\r\nGET /b" H "\r\n", "<GET /none>[]<GET /b>[]",
		    "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n" HELLO, true },
		{ "GET /unchanged" H "\r\nGET /b" H "\r\n", "<GET /unchanged>[]<GET /b>[]",
		    "HTTP/1.1 304 Not Modified\r\n\r\n" HELLO, true },
		{ "GET /file" H "\r\nHEAD /file" H "\r\n", "<GET /file>[]<HEAD /file>[]",
		    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nELF"
		    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true },
		/* Who is refused by his head goes on if there is no body, and his body is no request. */
		{ "GET /forbidden" H "\r\nGET /b" H "\r\n", "<GET /forbidden>!<GET /b>[]",
		    "HTTP/1.1 403 Forbidden\r\nA: b\r\nContent-Length: 0\r\n\r\n" HELLO, true },
		{ "POST /forbidden" H "Content-Length: 40\r\n\r\nGET /smuggled" H "\r\n",
		    "<POST /forbidden>!", REFUSED("403 Forbidden"), false },
		{ "POST /forbids" H "Content-Length: 99\r\n\r\nGET /smuggled" H "\r\n",
		    "<POST /forbids>!", REFUSED("403 Forbidden"), false },
		{ "POST /" H "Content-Length: 1001\r\n\r\nGET /smuggled" H "\r\n",
		    "<POST />!", REFUSED("413 Content Too Large"), false },
		{ "POST /early" H "Content-Length: 99\r\n\r\nGET /smuggled" H "\r\n", "<POST /early>",
		    "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\nConnection: close\r\n\r\nearly", false },
		{ "POST /early" H "Content-Length: 3\r\n\r\nabcGET /smuggled" H "\r\n", "<POST /early>",
		    "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\nConnection: close\r\n\r\nearly", false },
		/* What two servers may read in two ways. */
		{ "POST /" H "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b" H "\r\n",
		    "!", BAD, false },
		{ "POST /" H "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "!", BAD, false },
		{ "POST /" H "Content-Length: 3, 3\r\n\r\nabc", "!", BAD, false },
		{ "POST /" H "Content-Length: +3\r\n\r\nabc", "!", BAD, false },
		{ "POST /" H "Content-Length: 0x3\r\n\r\nabc", "!", BAD, false },
		{ "POST /" H "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "!", BAD, false },
		{ "POST /" H "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "!", BAD, false },
		{ "POST /" H "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "!", BAD, false },
		{ "POST /" H "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "!", BAD, false },
		{ "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!", BAD, false },
		{ "GET /" H "Content-Length: 3\r\n\r\nabc", "!", BAD, false },
		{ "GET / HTTP/1.1\nHost: a\n\nGET /b" H "\r\n", "!", BAD, false },
		{ "GET /" H "X: a\rb\r\n\r\n", "!", BAD, false },
		{ "GET / HTTP/1.1\r\n\r\n", "!", BAD, false },
		{ "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "!", REFUSED("505 HTTP Version Not Supported"), false },
		{ "\x16\x03\x01 a TLS hello", "!", BAD, false },
		/* Chunks have a size and nothing else. */
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n", "<POST />!", BAD, false },
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\nGET /b" H "\r\n",
		    "<POST />!", BAD, false },
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "<POST />!", BAD, false },
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n", "<POST />!", BAD, false },
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n000000003\r\nabc\r\n0\r\n\r\n", "<POST />!", BAD, false },
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n-1\r\n", "<POST />!", BAD, false },
		{ "POST /" H "Transfer-Encoding: chunked\r\n\r\n\r\n", "<POST />!", BAD, false },
	};
	static const size_t pieces[] = { 4096, 1, 2, 7 };

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t p = 0; p < COUNT(pieces); p++) {
			struct buffer got = BUFFER_INIT;
			bool open;

			buffer_clear(&seen);
			open = converse(cases[i].sent, pieces[p], &got);
			assert_string_equal(buffer_string(&got), cases[i].got);
			assert_string_equal(buffer_string(&seen), cases[i].seen);
			/* Whoever is refused may say more for a while. */
			assert_true(cases[i].open == (open && strstr(cases[i].got, "close\r\n") == NULL));
			assert_int_equal(begun, ended);
			buffer_free(&got);
		}
}

static void
heads_that_are_too_large(void **state)
{
	struct buffer text = BUFFER_INIT, got = BUFFER_INIT;

	(void)state;
	buffer_text(&text, "GET /");
	while (text.len < 600)
		buffer_text(&text, "abcdefgh");
	converse(buffer_string(&text), 100, &got);
	assert_string_equal(buffer_string(&got), REFUSED("414 URI Too Long"));
	buffer_clear(&text);
	buffer_clear(&got);
	buffer_text(&text, "GET /" H);
	while (text.len < 600)
		buffer_text(&text, "X: abcdefgh\r\n");
	converse(buffer_string(&text), 100, &got);
	assert_string_equal(buffer_string(&got), REFUSED("431 Request Header Fields Too Large"));
	buffer_free(&text);
	buffer_free(&got);
}

static void
who_expects_100_continue_gets_it_unless_it_is_refused_or_sends(void **state)
{
	static const char asks[] = "POST /" H "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n";
	static const char refused[] = "POST /forbidden" H "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n";
	struct buffer got = BUFFER_INIT;
	int fd = connect_client();

	(void)state;
	say(fd, asks, strlen(asks));
	assert_true(let_work(fd, &got));
	assert_string_equal(buffer_string(&got), "HTTP/1.1 100 Continue\r\n\r\n");
	buffer_clear(&got);
	say(fd, "abc", 3);
	assert_true(let_work(fd, &got));
	assert_string_equal(buffer_string(&got), HELLO);
	close(fd);
	buffer_clear(&got);
	converse("POST /" H "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", 4096, &got);
	assert_string_equal(buffer_string(&got), HELLO);
	buffer_clear(&got);
	converse(refused, 4096, &got);
	assert_string_equal(buffer_string(&got), REFUSED("403 Forbidden"));
	buffer_clear(&got);
	converse("POST /" H "Expect: more\r\nContent-Length: 3\r\n\r\n", 4096, &got);
	assert_string_equal(buffer_string(&got), REFUSED("417 Expectation Failed"));
	buffer_free(&got);
}

static void
a_refused_client_that_still_sends_reads_why(void **state)
{
	static const char head[] = "POST /forbidden" H "Content-Length: 9000000\r\n\r\n";
	char more[512] = "";
	struct buffer got = BUFFER_INIT;
	int fd = connect_client();

	(void)state;
	say(fd, head, strlen(head));
	for (int i = 0; i < 4; i++) {
		say(fd, more, sizeof more);
		let_work(fd, &got);
	}
	assert_string_equal(buffer_string(&got), REFUSED("403 Forbidden"));
	assert_int_equal(server.count, 1);
	/* But not for ever. */
	for (int i = 0; i < 9; i++) {
		say(fd, more, sizeof more);
		let_work(fd, &got);
	}
	assert_int_equal(server.count, 0);
	close(fd);
	buffer_free(&got);
}

static void
an_answer_that_comes_later(void **state)
{
	static const char requests[] = "GET /later" H "\r\nGET /b" H "\r\n";
	struct buffer got = BUFFER_INIT;
	int fd = connect_client();

	(void)state;
	say(fd, requests, strlen(requests));
	assert_true(let_work(fd, &got));
	assert_int_equal(got.len, 0);
	assert_string_equal(buffer_string(&seen), "<GET /later>[]");
	connection_wake(waiting);
	assert_true(let_work(fd, &got));
	assert_string_equal(buffer_string(&got), HELLO HELLO);
	/* Straight from outside, too. */
	say(fd, requests, strlen(requests));
	buffer_clear(&got);
	waiting = NULL;
	assert_true(let_work(fd, &got));
	answer_text(waiting, 200, "other");
	assert_true(let_work(fd, &got));
	assert_string_equal(buffer_string(&got),
	    "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nother" HELLO);
	close(fd);
	buffer_free(&got);
}

static void
a_client_that_closes_its_sending_side(void **state)
{
	static const char later[] = "GET /later" H "\r\n";
	struct buffer got = BUFFER_INIT;
	int fd = connect_client();

	(void)state;
	say(fd, later, strlen(later));
	shutdown(fd, SHUT_WR);
	assert_true(let_work(fd, &got));
	connection_wake(waiting);
	assert_false(let_work(fd, &got));
	assert_string_equal(buffer_string(&got), HELLO);
	close(fd);
	/* It is gone where that is asked for, before or after its request was whole. */
	server.half_closed = false;
	for (int first = 0; first < 2; first++) {
		fd = connect_client();
		say(fd, later, strlen(later));
		if (first == 0)
			assert_true(let_work(fd, &got));
		shutdown(fd, SHUT_WR);
		assert_false(let_work(fd, &got));
		assert_null(waiting);
		close(fd);
	}
	/* In a head, or a body, nothing is answered. */
	fd = connect_client();
	say(fd, "POST /" H "Content-Length: 3\r\n\r\na", strlen("POST /" H "Content-Length: 3\r\n\r\na"));
	shutdown(fd, SHUT_WR);
	buffer_clear(&got);
	assert_false(let_work(fd, &got));
	assert_int_equal(got.len, 0);
	close(fd);
	buffer_free(&got);
}

static void
a_body_that_is_paused(void **state)
{
	static const char head[] = "POST /pause" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
	struct buffer got = BUFFER_INIT;
	int fd = connect_client();

	(void)state;
	say(fd, head, strlen(head));
	assert_true(let_work(fd, &got));
	say(fd, "0\r\n\r\n", 5);
	assert_true(let_work(fd, &got));
	assert_int_equal(got.len, 0);
	connection_pause(server.first, false);
	assert_true(let_work(fd, &got));
	assert_string_equal(buffer_string(&got), HELLO);
	close(fd);
	buffer_free(&got);
}

/* ---- streams ---- */

static int
begin_stream(const char *request, struct buffer *got)
{
	int fd = connect_client();

	say(fd, request, strlen(request));
	assert_true(let_work(fd, got));
	assert_non_null(waiting);
	return fd;
}

static void
a_stream_ends_or_is_cut_off(void **state)
{
#define STREAM "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n"
	static const struct { const char *request, *got; bool cut_off, open; } cases[] = {
		{ "GET /stream" H "\r\nGET /b" H "\r\n", STREAM "00000003\r\nabc\r\n00000002\r\nde\r\n0\r\n\r\n" HELLO,
		    false, true },
		{ "GET /stream" H "\r\nGET /b" H "\r\n", STREAM "00000003\r\nabc\r\n00000002\r\nde\r\n", true, false },
		{ "GET /stream HTTP/1.0\r\nHost: a\r\n\r\n",
		    "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\nabcde", false, false },
		{ "GET /five" H "\r\nGET /b" H "\r\n",
		    "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nabcde" HELLO, false, true },
		{ "HEAD /five" H "\r\nGET /b" H "\r\n",
		    "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\n" HELLO, false, true },
		{ "HEAD /stream" H "\r\nGET /b" H "\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n" HELLO, false, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buffer got = BUFFER_INIT;
		int fd = begin_stream(cases[i].request, &got);

		connection_write(waiting, "abc", 3);
		connection_write(waiting, "", 0);
		assert_true(let_work(fd, &got));
		connection_write(waiting, "de", 2);
		connection_end(waiting, cases[i].cut_off);
		assert_true(let_work(fd, &got) == cases[i].open);
		assert_string_equal(buffer_string(&got), cases[i].got);
		assert_null(waiting);
		close(fd);
		while (server.count > 0)
			assert_int_equal(loop_round(&loop, SOON, NULL), 0);
		buffer_free(&got);
	}
}

static void
a_stream_waits_for_its_reader_and_is_broken_off_at_once(void **state)
{
	static char piece[65536];
	struct buffer got = BUFFER_INIT;
	int fd = begin_stream("GET /stream" H "\r\n", &got);
	size_t written = 0, head = got.len;

	(void)state;
	memset(piece, 'x', sizeof piece);
	while (connection_unsent(waiting) < 4 * sizeof piece) {
		connection_write(waiting, piece, sizeof piece);
		written += sizeof piece + 12; /* size, CR LF, CR LF */
	}
	assert_int_equal(connection_send(waiting, piece, 1), 0);
	readies = 0;
	while (connection_unsent(waiting) > 0)
		assert_true(let_work(fd, &got));
	assert_true(readies > 0);
	assert_true(let_work(fd, &got));
	assert_int_equal(got.len - head, written);
	assert_int_equal(server.stream_bytes, got.len);
	while (connection_unsent(waiting) == 0)
		connection_write(waiting, piece, sizeof piece);
	connection_break(waiting);
	connection_write(waiting, piece, sizeof piece);
	assert_int_equal(loop_round(&loop, 0, NULL), 0);
	assert_null(waiting);
	assert_int_equal(server.count, 0);
	close(fd);
	buffer_free(&got);
}

static void
a_stream_whose_client_is_gone_ends(void **state)
{
	struct buffer got = BUFFER_INIT;
	int fd = begin_stream("GET /stream" H "\r\n", &got);

	(void)state;
	close(fd);
	assert_int_equal(loop_round(&loop, 0, NULL), 0);
	assert_null(waiting);
	fd = begin_stream("GET /stream" H "\r\n", &got);
	shutdown(fd, SHUT_WR);
	assert_false(let_work(fd, &got));
	assert_null(waiting);
	close(fd);
	buffer_free(&got);
}

/* ---- limits ---- */

static void
times_are_whole(void **state)
{
	static const struct { const char *sent, *got; } cases[] = {
		{ "", "" },
		{ "GET / HT", REFUSED("408 Request Timeout") },
		{ "POST /" H "Content-Length: 99\r\n\r\na", REFUSED("408 Request Timeout") },
		{ "GET /" H "\r\n", HELLO },
	};

	(void)state;
	server.limits.idle_ms = server.limits.head_ms = server.limits.body_ms = SOON;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t late = clock_monotonic() + LATE;
		struct buffer got = BUFFER_INIT;
		int fd = connect_client();

		say(fd, cases[i].sent, strlen(cases[i].sent));
		while (let_work(fd, &got)) {
			assert_true(clock_monotonic() < late);
			assert_int_equal(loop_round(&loop, 5, NULL), 0);
			/* A byte now and then puts nothing off. */
			if (i == 1 || i == 2)
				say(fd, "x", 1);
		}
		assert_string_equal(buffer_string(&got), cases[i].got);
		/* What else is sent by who is refused is read, so that he reads why. */
		assert_int_equal(server.count, i == 1 || i == 2);
		close(fd);
		while (server.count > 0)
			assert_int_equal(loop_round(&loop, SOON, NULL), 0);
		buffer_free(&got);
	}
}

static void
who_reads_nothing_is_gone_unless_it_is_known_and_may(void **state)
{
	static const char requests[] = "GET /large" H "\r\n";
	struct buffer got = BUFFER_INIT;
	int fd = connect_client();
	int64_t late = clock_monotonic() + LATE;

	(void)state;
	server.limits.stall_ms = SOON;
	say(fd, requests, strlen(requests));
	while (server.count > 0) {
		assert_true(clock_monotonic() < late);
		assert_int_equal(loop_round(&loop, SOON, NULL), 0);
	}
	close(fd);
	server.limits.patient = true;
	fd = connect_client();
	server.first->admitted = true;
	say(fd, requests, strlen(requests));
	for (int64_t until = clock_monotonic() + 3 * SOON; clock_monotonic() < until;)
		assert_int_equal(loop_round(&loop, SOON, NULL), 0);
	assert_int_equal(server.count, 1);
	assert_true(let_work(fd, &got));
	assert_true(got.len > 8 << 20);
	/* Likewise one that asks for nothing. */
	server.limits.idle_ms = SOON;
	say(fd, "GET /" H "\r\n", strlen("GET /" H "\r\n"));
	assert_true(let_work(fd, &got));
	for (int64_t until = clock_monotonic() + 3 * SOON; clock_monotonic() < until;)
		assert_int_equal(loop_round(&loop, SOON, NULL), 0);
	assert_int_equal(server.count, 1);
	close(fd);
	buffer_free(&got);
}

static void
bodies_have_so_much_room(void **state)
{
	static const char head[] = "POST /" H "Content-Length: 999\r\n\r\na";
	struct buffer got = BUFFER_INIT;
	int first = connect_client(), second, third;

	(void)state;
	server.limits.bodies_bytes = 40000; /* each has 16 KiB at once */
	server.limits.address_bytes = 16384;
	say(first, head, strlen(head));
	assert_true(let_work(first, &got));
	second = connect_client();
	say(second, head, strlen(head));
	assert_false(let_work(second, &got));
	assert_string_equal(buffer_string(&got), REFUSED("429 Too Many Requests"));
	close(second);
	/* Of another address, as a proxy would say. */
	server.limits.address_bytes = 0;
	second = connect_client();
	say(second, head, strlen(head));
	buffer_clear(&got);
	assert_true(let_work(second, &got));
	third = connect_client();
	say(third, head, strlen(head));
	assert_false(let_work(third, &got));
	assert_string_equal(buffer_string(&got), REFUSED("503 Service Unavailable"));
	close(first);
	assert_int_equal(loop_round(&loop, 0, NULL), 0);
	close(third);
	third = connect_client();
	say(third, head, strlen(head));
	buffer_clear(&got);
	assert_true(let_work(third, &got));
	assert_int_equal(got.len, 0);
	close(second);
	close(third);
	buffer_free(&got);
}

static void
as_many_as_one_address_may_have(void **state)
{
	int first = connect_client(), second = connect_client();

	(void)state;
	server.per_address = 1;
	/* Of this machine itself there may be any number until somebody says whose they are. */
	assert_true(connection_from(server.first, "10.0.0.1"));
	assert_false(connection_from(server.first->next, "10.0.0.1"));
	assert_true(connection_from(server.first->next, "10.0.0.2"));
	assert_false(connection_from(server.first->next, "10.0.0.1"));
	close(first);
	close(second);
}

/* A socket that listens, for clients who wait outside. */
static struct httpd_listener listener;
static struct sockaddr_un place;

static void
listen_here(void)
{
	struct error err;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* A name of the abstract kind: no file is left. */
	place = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(place.sun_path + 1, sizeof place.sun_path - 1, "test_httpd.%ld", (long)getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)&place, sizeof place), 0);
	assert_int_equal(listen(fd, 100), 0);
	assert_int_equal(httpd_listener_add(&listener, &server, fd, &err), 0);
}

static int
come(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&place, sizeof place), 0);
	return fd;
}

/* Comes, and is let in. */
static int
come_in(bool admitted)
{
	struct buffer got = BUFFER_INIT;
	int fd = come();

	assert_true(let_work(fd, &got));
	server.first->admitted = admitted;
	buffer_free(&got);
	return fd;
}

static void
where_places_are_taken_strangers_leave_theirs(void **state)
{
	struct buffer got = BUFFER_INIT;
	int fds[40];

	(void)state;
	server.limits.strangers = 4;
	listen_here();
	for (int i = 0; i < 3; i++)
		fds[i] = come_in(true);
	for (int i = 3; i < 20; i++)
		fds[i] = come_in(false);
	/* The oldest stranger is gone, no one who is known. */
	assert_int_equal(server.count, 8);
	assert_false(take(fds[3], &got));
	for (int i = 0; i < 3; i++)
		assert_true(take(fds[i], &got));
	for (int i = 0; i < 20; i++)
		close(fds[i]);
	assert_int_equal(loop_round(&loop, 0, NULL), 0);
	/* Where all are known, whoever comes is told. */
	for (int i = 0; i < 8 + 16; i++)
		fds[i] = come_in(true);
	fds[24] = come();
	assert_false(let_work(fds[24], &got));
	assert_memory_equal(got.data, "HTTP/1.1 503 ", 13);
	assert_non_null(strstr(buffer_string(&got), "Retry-After: 5\r\n"));
	assert_int_equal(got.len - (size_t)(strstr(got.data, "\r\n\r\n") + 4 - got.data), 79);
	for (int i = 0; i < 25; i++)
		close(fds[i]);
	httpd_listener_remove(&listener);
	buffer_free(&got);
}

static void
where_nobody_is_turned_away_idle_ones_leave_their_places(void **state)
{
	struct buffer got = BUFFER_INIT;
	int fds[9], busy[8];

	(void)state;
	server.turns_away = false;
	listen_here();
	for (int i = 0; i < 8; i++)
		fds[i] = come_in(true);
	say(fds[0], "GE", 2);
	fds[8] = come_in(true);
	/* The oldest that has begun nothing, and only that. */
	assert_int_equal(server.count, 8);
	assert_true(take(fds[0], &got));
	assert_false(take(fds[1], &got));
	assert_true(take(fds[2], &got));
	for (int i = 0; i < 9; i++)
		close(fds[i]);
	assert_int_equal(loop_round(&loop, 0, NULL), 0);
	/* Where all are busy, whoever comes waits. */
	for (int i = 0; i < 8; i++) {
		busy[i] = come_in(true);
		say(busy[i], "GET /later" H "\r\n", strlen("GET /later" H "\r\n"));
		assert_true(let_work(busy[i], &got));
	}
	fds[0] = come();
	say(fds[0], "GET /" H "\r\n", strlen("GET /" H "\r\n"));
	assert_true(let_work(fds[0], &got));
	assert_int_equal(got.len, 0);
	close(busy[0]);
	while (got.len == 0) {
		assert_int_equal(loop_round(&loop, SOON, NULL), 0);
		assert_true(take(fds[0], &got));
	}
	assert_string_equal(buffer_string(&got), HELLO);
	for (int i = 1; i < 8; i++)
		close(busy[i]);
	close(fds[0]);
	httpd_listener_remove(&listener);
	buffer_free(&got);
}

static void
without_descriptors_whoever_comes_waits(void **state)
{
	struct rlimit before, none;
	struct buffer got = BUFFER_INIT;
	int fd, rounds = 0;

	(void)state;
	listen_here();
	fd = come();
	say(fd, "GET /" H "\r\n", strlen("GET /" H "\r\n"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	/* Nothing is done all the time meanwhile. */
	for (int64_t until = clock_monotonic() + 3 * SOON; clock_monotonic() < until; rounds++)
		assert_int_equal(loop_round(&loop, 3 * SOON, NULL), 0);
	assert_true(rounds < 10);
	assert_int_equal(server.count, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	while (got.len == 0) {
		assert_int_equal(loop_round(&loop, SOON, NULL), 0);
		assert_true(take(fd, &got));
	}
	assert_string_equal(buffer_string(&got), HELLO);
	close(fd);
	httpd_listener_remove(&listener);
	buffer_free(&got);
}

static void
those_that_wait_are_asked_once_more_at_the_end(void **state)
{
	struct buffer got = BUFFER_INIT;
	int fd = begin_stream("GET /later" H "\r\n", &got);

	(void)state;
	httpd_close(&server);
	until_ended(fd, &got);
	assert_string_equal(buffer_string(&got), LAST);
	close(fd);
	buffer_free(&got);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(what_is_answered_in_whatever_pieces), T(heads_that_are_too_large),
		T(who_expects_100_continue_gets_it_unless_it_is_refused_or_sends),
		T(a_refused_client_that_still_sends_reads_why), T(an_answer_that_comes_later),
		T(a_client_that_closes_its_sending_side), T(a_body_that_is_paused),
		T(a_stream_ends_or_is_cut_off),
		T(a_stream_waits_for_its_reader_and_is_broken_off_at_once),
		T(a_stream_whose_client_is_gone_ends), T(times_are_whole),
		T(who_reads_nothing_is_gone_unless_it_is_known_and_may), T(bodies_have_so_much_room),
		T(as_many_as_one_address_may_have), T(where_places_are_taken_strangers_leave_theirs),
		T(where_nobody_is_turned_away_idle_ones_leave_their_places),
		T(without_descriptors_whoever_comes_waits), T(those_that_wait_are_asked_once_more_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
