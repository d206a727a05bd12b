/* HTTP requests against a server that says one thing: what ends a request. */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "net/http.h"

#define WHOLE "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define HALF "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"

struct server {
	pid_t pid;
	char url[64];
};

/* One connection: reads something, says the text, then waits or closes. */
static void
serve(int listener, const char *says, bool closes)
{
	char request[4096];
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 || read(fd, request, sizeof request) <= 0)
		_exit(1);
	if (write(fd, says, strlen(says)) != (ssize_t)strlen(says))
		_exit(1);
	if (!closes)
		sleep(30);
	_exit(0);
}

/* Answers the first request of each connection, and closes it when the second comes. */
static void
serve_once(int listener, const char *says, bool closes)
{
	char request[4096];
	int fd;

	(void)closes;
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		ssize_t len = read(fd, request, sizeof request);

		/* Head and body may come one after the other. */
		while (len > 1 && memcmp(request + len - 2, "{}", 2) != 0)
			len = read(fd, request, sizeof request);
		if (len > 0 && (write(fd, says, strlen(says)) != (ssize_t)strlen(says) ||
		    read(fd, request, sizeof request) < 0))
			_exit(1);
		close(fd);
	}
	_exit(1);
}

/* Answers the first request of each connection with its number, twice. */
static void
serve_twice(int listener, const char *says, bool closes)
{
	char request[4096];
	int fd;

	(void)says, (void)closes;
	for (int number = 1; (fd = accept(listener, NULL, NULL)) >= 0; number++) {
		if (read(fd, request, sizeof request) <= 0)
			_exit(1);
		for (int i = 0; i < 2; i++) {
			dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", number);
			usleep(20000);
		}
	}
	_exit(0);
}

/* Says the first line of the text, and then the rest of it again and again: without a pause, or every
 * 20 ms if it closes. */
static void
serve_endless(int listener, const char *says, bool closes)
{
	const char *more = strstr(says, "\n\n") + 2;
	char request[4096];
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 || read(fd, request, sizeof request) <= 0)
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	for (size_t at = 0, len = (size_t)(more - says) - 1; at < len;) {
		ssize_t n = write(fd, says + at, len - at);

		at += n > 0 ? (size_t)n : 0;
	}
	for (;;) {
		if (write(fd, more, strlen(more)) < 0)
			_exit(0);
		if (closes)
			usleep(20000);
	}
}

static void
server_start_as(struct server *s, void (*serves)(int, const char *, bool), const char *says, bool closes)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0)
		serves(listener, says, closes);
	close(listener);
}

static void
server_start(struct server *s, const char *says, bool closes)
{
	server_start_as(s, serve, says, closes);
}

static void
server_stop(struct server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

static int
take(void *context, const char *bytes, size_t len)
{
	buffer_append(context, bytes, len);
	return 0;
}

static int
refuse(void *context, const char *bytes, size_t len)
{
	(void)context;
	(void)bytes;
	(void)len;
	return 1;
}

/* Posts to a server that says the text; fills request's URL and what is missing. */
static int
post(struct http_request *request, const char *says, bool closes, struct http_answer *answer,
    struct error *err)
{
	static const char *const none[] = { NULL };
	struct server s;
	struct http *h;
	int result;

	server_start(&s, says, closes);
	h = http_open(err);
	assert_non_null(h);
	request->url = s.url;
	request->headers = none;
	request->body = "{}";
	request->body_len = 2;
	result = http_post(h, request, answer, err);
	http_close(h);
	server_stop(&s);
	return result;
}

static void
test_whole(void **state)
{
	struct buffer body = BUFFER_INIT;
	struct http_request request = { .take = take, .context = &body };
	struct http_answer answer;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(post(&request, WHOLE, true, &answer, &err), 0);
	assert_int_equal(answer.status, 200);
	assert_true(buffer_equal(&body, "hello"));
	buffer_free(&body);
	http_answer_free(&answer);
}

/* What it did of a request that it did not answer nobody knows: it is not made again. */
static void
test_asks_once(void **state)
{
	static const char *const none[] = { NULL };
	struct buffer body = BUFFER_INIT;
	struct http_request request = { .take = take, .context = &body,
		.headers = none, .body = "{}", .body_len = 2 };
	struct http_answer answer;
	struct error err = ERROR_INIT;
	struct server s;
	struct http *h = http_open(&err);

	(void)state;
	server_start_as(&s, serve_once, WHOLE, true);
	request.url = s.url;
	assert_int_equal(http_post(h, &request, &answer, &err), 0);
	http_answer_free(&answer);
	assert_int_equal(http_post(h, &request, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_NETWORK);
	assert_string_equal(err.message, "the server closed the connection without an answer");
	http_answer_free(&answer);
	assert_true(buffer_equal(&body, "hello"));
	assert_int_equal(http_post(h, &request, &answer, &err), 0);
	http_answer_free(&answer);
	buffer_free(&body);
	http_close(h);
	server_stop(&s);
}

static void
test_other_status(void **state)
{
	struct http_request request = { .take = refuse };
	struct http_answer answer;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(post(&request, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
	    "X-Request-Id: r1\r\nContent-Length: 2\r\n\r\nno", true, &answer, &err), 0);
	assert_int_equal(answer.status, 302);
	assert_string_equal(answer.request_id, "r1");
	assert_true(buffer_equal(&answer.body, "no"));
	http_answer_free(&answer);
}

static const struct {
	const char *headers;
	int64_t ms;
} retry_after[] = {
	{ "", 0 },
	{ "Retry-After: 3\r\n", 3000 },
	{ "retry-after: 0.5\r\n", 500 },
	{ "Retry-After: 3\r\nretry-after-ms: 20\r\n", 20 },
	{ "retry-after-ms: 20\r\nRetry-After: 3\r\n", 20 },
	{ "Retry-After: -3\r\n", 0 },
	{ "Retry-After: tomorrow\r\n", 0 },
	{ "Retry-After: Sat, 01 Jan 2000 00:00:00 GMT\r\n", 0 },
	{ "Retry-After: 99999999999999999999\r\n", (int64_t)24 * 3600 * 1000 }
};

static void
test_retry_after(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(retry_after); i++) {
		struct http_request request = { .take = refuse };
		struct http_answer answer;
		struct error err = ERROR_INIT;
		char says[256];

		snprintf(says, sizeof says, "HTTP/1.1 429 X\r\n%sContent-Length: 0\r\n\r\n",
		    retry_after[i].headers);
		assert_int_equal(post(&request, says, true, &answer, &err), 0);
		if (answer.retry_after_ms != retry_after[i].ms)
			fail_msg("%s: %lld", retry_after[i].headers, (long long)answer.retry_after_ms);
		http_answer_free(&answer);
	}
}

static void
test_cut(void **state)
{
	struct buffer body = BUFFER_INIT;
	struct http_request request = { .take = take, .context = &body };
	struct http_answer answer;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(post(&request, HALF, true, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_NETWORK);
	buffer_free(&body);
	http_answer_free(&answer);
}

static void
test_idle(void **state)
{
	struct buffer body = BUFFER_INIT;
	struct http_request request = { .take = take, .context = &body, .idle_timeout_ms = 100 };
	struct http_answer answer;
	struct error err = ERROR_INIT;
	int64_t began = clock_monotonic();

	(void)state;
	assert_int_equal(post(&request, HALF, false, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_NETWORK);
	assert_string_equal(err.message, "no byte arrived for 100 ms");
	assert_true(clock_monotonic() - began >= 100);
	assert_true(clock_monotonic() - began < 5000);
	buffer_free(&body);
	http_answer_free(&answer);
}

/* How many events came. */
static int64_t
events(void *context)
{
	const struct buffer *body = context;
	int64_t count = 0;

	for (size_t i = 0; i < body->len; i++)
		count += body->data[i] == '!';
	return count;
}

/* What a server may go on with for ever: its first part, what comes again and again, and how it ends. */
static void
test_endless(void **state)
{
	static const char *const no_headers[] = { NULL };
	static const struct {
		const char *says;
		bool slowly;
		int64_t idle_ms;
		long status;         /* of an answer that counts as whole; 0: none */
		const char *message;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\n\nX-A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n", false, 0, 0,
		    "the head of the answer is above 256 KiB" },
		{ "HTTP/1.1 102 Processing\r\n\r\n\nHTTP/1.1 102 Processing\r\n\r\n", false, 0, 0,
		    "the head of the answer is above 256 KiB" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\nX-A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n",
		    false, 0, 0, "the head of the answer is above 256 KiB" },
		{ "HTTP/1.1 200 OK\r\n\nX-A: b\r\n", true, 300, 0, "no byte arrived for 300 ms" },
		{ "HTTP/1.1 500 Oops\r\n\r\n\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", false, 0, 500, NULL },
		{ "HTTP/1.1 200 OK\r\n\r\n!\n\n: alive\n", true, 0, 0, "for " },
		{ "HTTP/1.1 200 OK\r\n\r\n\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", false, 0, 0,
		    "the answer is larger than any that is expected" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buffer body = BUFFER_INIT;
		struct http_request request = { .take = take, .context = &body,
		    .headers = no_headers, .body = "{}", .body_len = 2, .idle_timeout_ms = cases[i].idle_ms,
		    .limit = (size_t)1 << 20, .progress = events, .kept_alive_ms = 400 };
		struct http_answer answer;
		struct error err = ERROR_INIT;
		struct server s;
		struct http *h = http_open(&err);
		int result;

		server_start_as(&s, serve_endless, cases[i].says, cases[i].slowly);
		request.url = s.url;
		result = http_post(h, &request, &answer, &err);
		if (cases[i].status != 0) {
			assert_int_equal(result, 0);
			assert_int_equal(answer.status, cases[i].status);
			assert_int_equal(answer.body.len, (size_t)1 << 20);
		} else {
			assert_int_equal(result, -1);
			assert_int_equal(err.code, ERROR_NETWORK);
			assert_memory_equal(err.message, cases[i].message, strlen(cases[i].message));
		}
		server_stop(&s);
		http_answer_free(&answer);
		http_close(h);
		buffer_free(&body);
	}
}

static void
test_refused_bytes(void **state)
{
	struct http_request request = { .take = refuse };
	struct http_answer answer;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(post(&request, WHOLE, true, &answer, &err), -1);
	assert_int_equal(err.code, ERROR_CANCELLED);
	http_answer_free(&answer);
}

/* Bytes that are not taken come again, in their order, and the time that they were held does not count. */
struct holder {
	struct buffer body;
	bool holds;
	int held, ends;
};

static int
hold_or_take(void *context, const char *bytes, size_t len)
{
	struct holder *holder = context;

	if (holder->holds) {
		holder->held++;
		return HTTP_HOLD;
	}
	buffer_append(&holder->body, bytes, len);
	return HTTP_TAKEN;
}

static void
on_end(struct http_call *call)
{
	struct holder *holder = call->owner;

	assert_true(call->ended);
	assert_null(call->transfer);
	holder->ends++;
}

static void
test_hold(void **state)
{
	static const char *const none[] = { NULL };
	struct holder holder = { .holds = true };
	struct error err = ERROR_INIT;
	struct http *h = http_open(&err);
	struct http_call call = { .request = { .headers = none, .take = hold_or_take, .context = &holder,
		.idle_timeout_ms = 200 }, .on_end = on_end, .owner = &holder };
	struct server s;

	(void)state;
	server_start(&s, WHOLE, true);
	call.request.url = s.url;
	assert_int_equal(http_begin(h, &call, &err), 0);
	while (holder.held == 0)
		assert_int_equal(http_wait(h, NULL, 0, 1000, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(http_wait(h, NULL, 0, 150, &err), 0);
	assert_false(call.ended);
	assert_int_equal(holder.held, 1);
	holder.holds = false;
	http_resume(h, &call);
	http_resume(h, &call);
	while (!call.ended)
		assert_int_equal(http_wait(h, NULL, 0, 1000, &err), 0);
	assert_int_equal(call.error.code, ERROR_NONE);
	assert_true(buffer_equal(&holder.body, "hello"));
	assert_int_equal(holder.ends, 1);
	http_answer_free(&call.answer);
	buffer_free(&holder.body);
	http_close(h);
	server_stop(&s);
}

/* What a server says once more is not the answer to the next request. */
static void
test_answer_twice(void **state)
{
	static const char *const none[] = { NULL };
	struct buffer body = BUFFER_INIT;
	struct http_request request = { .take = take, .context = &body, .headers = none, .idle_timeout_ms = 2000 };
	struct http_answer answer;
	struct error err = ERROR_INIT;
	struct http *h = http_open(&err);
	struct server s;

	(void)state;
	server_start_as(&s, serve_twice, NULL, false);
	request.url = s.url;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(http_post(h, &request, &answer, &err), 0);
		http_answer_free(&answer);
		usleep(60000);
	}
	assert_true(buffer_equal(&body, "123"));
	buffer_free(&body);
	http_close(h);
	server_stop(&s);
}

/* The reader of a pipe that is watched for nothing else has gone: that ends the wait, and is said. */
static void
test_reader_gone(void **state)
{
	static const char *const none[] = { NULL };
	struct buffer body = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct http *h = http_open(&err);
	struct http_call call = { .request = { .headers = none, .take = take, .context = &body } };
	struct pollfd watched[2];
	struct server s;
	int fds[2];

	(void)state;
	server_start(&s, HALF, false);
	call.request.url = s.url;
	assert_int_equal(http_begin(h, &call, &err), 0);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	watched[0] = (struct pollfd){ -1, POLLIN, 0 };
	watched[1] = (struct pollfd){ fds[1], 0, 0 };
	for (int i = 0; i < 100 && watched[1].revents == 0; i++)
		assert_int_equal(http_wait(h, watched, 2, 60000, &err), 0);
	assert_int_equal(watched[0].revents, 0);
	assert_int_not_equal(watched[1].revents & POLLERR, 0);
	http_stop(h, &call);
	assert_true(call.ended);
	assert_int_equal(call.error.code, ERROR_CANCELLED);
	http_answer_free(&call.answer);
	close(fds[1]);
	buffer_free(&body);
	http_close(h);
	server_stop(&s);
}

/* At its end one begins another, and stops a third. */
static void
go_on(struct http_call *call)
{
	struct http_call *others = call->owner;
	struct error err = ERROR_INIT;
	struct http *h = others[2].owner;

	http_stop(h, &others[1]);
	assert_int_equal(http_begin(h, &others[0], &err), 0);
}

static void
test_end_of_one(void **state)
{
	static const char *const none[] = { NULL };
	struct buffer body = BUFFER_INIT, half = BUFFER_INIT;
	struct error err = ERROR_INIT;
	struct http *h = http_open(&err);
	struct http_call calls[3];
	struct server s[2];

	(void)state;
	server_start_as(&s[0], serve_once, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", true);
	server_start(&s[1], HALF, false);
	for (int i = 0; i < 3; i++)
		calls[i] = (struct http_call){ .request = { .headers = none, .take = take, .context = &body,
			.url = s[i == 1].url, .body = "{}", .body_len = 2 } };
	calls[2].owner = h;
	calls[1].request.context = &half;
	for (int round = 0; round < 2; round++) {
		struct http_call first = { .request = calls[0].request, .on_end = go_on, .owner = calls };

		/* It ends for its time in the second round. */
		first.request.url = s[round].url;
		first.request.idle_timeout_ms = 100;
		calls[0].ended = false;
		assert_int_equal(http_begin(h, &calls[1], &err), 0);
		assert_int_equal(http_begin(h, &first, &err), 0);
		while (!calls[0].ended)
			assert_int_equal(http_wait(h, NULL, 0, 1000, &err), 0);
		assert_true(first.ended);
		assert_true(calls[1].ended);
		assert_int_equal(calls[1].error.code, ERROR_CANCELLED);
		assert_int_equal(calls[0].error.code, ERROR_NONE);
		http_answer_free(&first.answer);
	}
	buffer_free(&half);
	buffer_free(&body);
	http_close(h);
	for (int i = 0; i < 2; i++)
		server_stop(&s[i]);
}

/* A GET that came whole, one that was cut off, one that stalls, and one that is refused, at once:
 * each ends as it would alone. */
static void
test_beside_each_other(void **state)
{
	static const struct { const char *says; bool closes; } servers[] = {
		{ WHOLE, true }, { HALF, true }, { HALF, false },
		{ "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", true },
		{ "HTTP/1.1 301 X\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n", true },
	};
	enum { WHOLE_ONE, CUT, STALLED, NONE, MOVED, COUNT_OF };
	static const char *const none[] = { NULL };
	struct server s[COUNT_OF];
	struct http_call gets[COUNT_OF];
	struct buffer bodies[COUNT_OF];
	struct error err = ERROR_INIT;
	struct http *h = http_open(&err);
	struct pollfd input = { -1, POLLIN, 0 };
	int fds[2];

	(void)state;
	memset(gets, 0, sizeof gets);
	memset(bodies, 0, sizeof bodies);
	for (size_t i = 0; i < COUNT_OF; i++) {
		server_start(&s[i], servers[i].says, servers[i].closes);
		gets[i] = (struct http_call){ .request = { .url = s[i].url, .headers = none, .take = take, .direct = true,
			.context = &bodies[i], .idle_timeout_ms = i == STALLED ? 300 : 0 } };
		assert_int_equal(http_begin(h, &gets[i], &err), 0);
	}
	for (bool all = false; !all;) {
		assert_int_equal(http_wait(h, NULL, 0, 1000, &err), 0);
		all = true;
		for (size_t i = 0; i < COUNT_OF; i++)
			all &= gets[i].ended;
	}
	assert_true(buffer_equal(&bodies[WHOLE_ONE], "hello"));
	assert_int_equal(gets[WHOLE_ONE].error.code, ERROR_NONE);
	assert_int_equal(gets[WHOLE_ONE].answer.status, 200);
	assert_int_equal(gets[CUT].error.code, ERROR_NETWORK);
	assert_true(buffer_equal(&bodies[CUT], "hel"));
	assert_string_equal(gets[STALLED].error.message, "no byte arrived for 300 ms");
	assert_int_equal(gets[NONE].answer.status, 404);
	assert_true(buffer_equal(&gets[NONE].answer.body, "none"));
	assert_string_equal(gets[MOVED].answer.location, "http://127.0.0.1:1/x");
	for (size_t i = 0; i < COUNT_OF; i++) {
		server_stop(&s[i]);
		buffer_free(&bodies[i]);
		http_answer_free(&gets[i].answer);
	}

	/* A descriptor ends the wait; what is on its way can be stopped, or goes with all. */
	assert_int_equal(pipe(fds), 0);
	close(fds[1]);
	input.fd = fds[0];
	for (size_t i = 0; i < 2; i++) {
		server_start(&s[i], HALF, false);
		gets[i].request.url = s[i].url;
		assert_int_equal(http_begin(h, &gets[i], &err), 0);
		assert_int_equal(http_wait(h, &input, 1, 60000, &err), 0);
		assert_false(gets[i].ended);
	}
	http_stop(h, &gets[0]);
	http_stop(h, &gets[0]);
	assert_null(gets[0].transfer);
	http_close(h);
	close(fds[0]);
	for (size_t i = 0; i < 2; i++) {
		server_stop(&s[i]);
		buffer_free(&bodies[i]);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_asks_once),
		cmocka_unit_test(test_other_status),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_refused_bytes),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_answer_twice),
		cmocka_unit_test(test_end_of_one),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_beside_each_other)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
