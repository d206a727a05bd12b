/*
 * A connection is in one state; connection_work() does what that state requires until it has to
 * wait: for bytes, for room in the socket, for an answer. Sockets are watched edge-triggered, with
 * one registration each.
 */
#define _GNU_SOURCE /* accept4() */
#include "httpd/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "httpd/descriptors.h"
#include "httpd/head.h"
#include "io/file.h"

#define ACCEPTED_AT_ONCE 64
#define SPARE_PLACES 16                 /* beyond limits.connections: for admitted clients, and for
                                           refusing others with an answer */
#define READ_AT_ONCE 16384
#define TURN ((size_t)1 << 20)          /* bytes for one connection, before the next one has its
                                           turn */
#define ROOM_AT_ONCE ((size_t)16 << 10) /* the memory of a body grows in such steps */
#define NEWCOMER_MS 1000                /* until a new connection must have sent something */
#define PAUSE_MS 100                    /* between tries while no descriptor is free */

static const char full[] =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    "Content-Type: application/json\r\nContent-Length: 79\r\n\r\n"
    "{\"error\":{\"code\":\"unavailable\",\"message\":\"too many clients: try again later\"}}\n";
static const char continue_head[] = "HTTP/1.1 100 Continue\r\n\r\n";

static const struct refusal too_large = { 431, "invalid_input",
	"the head of the request is too large" };
static const struct refusal too_long = { 414, "invalid_input", "the request line is too long" };
static const struct refusal no_http = { 400, "invalid_input", "this is no request of HTTP" };
static const struct refusal bad_framing = { 400, "invalid_input",
	"the body is not in chunks as it must be: sizes without extensions, no trailers" };
static const struct refusal late_head = { 408, "timeout", "the head did not come in time" };
static const struct refusal late_body = { 408, "timeout", "the body did not come in time" };
/* Who sends a body may not be known yet, as a signature may cover the whole body. So the memory is
 * limited in total and per address. */
static const struct refusal too_much_held = { 503, "unavailable",
	"the server has too much to keep of the bodies that others send" };
static const struct refusal too_much_from = { 429, "too_many",
	"too much is kept of the bodies that this address sends" };

static struct connection *
connection_of_task(struct loop_task *task)
{
	return (struct connection *)(void *)((char *)task - offsetof(struct connection, task));
}

/* ---- the life of a connection ---- */

static void
set_limit(struct connection *c, int64_t ms)
{
	if (ms == 0)
		loop_unset(c->httpd->loop, &c->limit);
	else
		loop_set(c->httpd->loop, &c->limit, ms);
}

/* Sets a time limit, which does not apply to an admitted client if limits.patient is set. */
static void
set_patient_limit(struct connection *c, int64_t ms)
{
	set_limit(c, c->admitted && c->httpd->limits.patient ? 0 : ms);
}

void
connection_forget_body(struct connection *c)
{
	c->httpd->held -= c->input.room;
	c->input.room = 0;
	buffer_free(&c->body);
}

/* Ends the request. */
static void
end_request(struct connection *c)
{
	if (c->request != NULL)
		c->httpd->handler->end(c);
	c->request = NULL;
	connection_forget_body(c);
}

static void
connection_close(struct connection *c)
{
	struct httpd *h = c->httpd;

	end_request(c);
	loop_unset(h->loop, &c->limit);
	loop_leave(h->loop, &c->task);
	loop_remove(h->loop, &c->source);
	close(c->source.fd);
	file_close(&c->answer.file);
	buffer_free(&c->input.in);
	buffer_free(&c->answer.head);
	buffer_free(&c->answer.content);
	*(c->previous != NULL ? &c->previous->next : &h->first) = c->next;
	if (c->next != NULL)
		c->next->previous = c->previous;
	h->count--;
	free(c);
}

/* Prepares for the next request. */
static void
begin_request(struct connection *c)
{
	c->state = CONNECTION_READS_HEAD;
	c->input.looked = 0;
	c->input.spaced = false;
	if (c->input.in.len > 0)
		set_limit(c, c->httpd->limits.head_ms);
	else
		set_patient_limit(c, c->httpd->limits.idle_ms);
	if (c->input.in.len == 0)
		buffer_free(&c->input.in);
	/* Other connections have their turn between two requests. */
	if (c->input.in.len > 0 || c->readable)
		loop_enter(c->httpd->loop, &c->task);
}

/* The request is answered, and no further request is read. */
static bool
begin_draining(struct connection *c)
{
	if (!c->linger && !c->readable && c->input.in.len == 0) {
		connection_close(c);
		return false;
	}
	shutdown(c->source.fd, SHUT_WR);
	buffer_free(&c->input.in);
	c->state = CONNECTION_DRAINS;
	set_limit(c, c->httpd->limits.leave_ms);
	return true;
}

/* ---- reading ---- */

enum read { READ_SOME, READ_NOTHING, READ_ENDED };

/* Reads more bytes, if there are any. */
static enum read
read_more(struct connection *c, char *bytes, size_t size, size_t *len)
{
	ssize_t got;

	if (!c->readable)
		return READ_NOTHING;
	do
		got = recv(c->source.fd, bytes, size, MSG_DONTWAIT);
	while (got == -1 && errno == EINTR);
	if (got == -1 && errno == EAGAIN) {
		c->readable = false;
		return READ_NOTHING;
	}
	*len = got > 0 ? (size_t)got : 0;
	return got > 0 ? READ_SOME : READ_ENDED;
}

/* Lets the handler answer the request with a refusal. */
static bool
connection_refuse_request(struct connection *c, const struct refusal *refusal)
{
	c->called = true;
	c->httpd->handler->refuse(c, refusal);
	c->called = false;
	INVARIANT(c->state == CONNECTION_ANSWERS);
	return true;
}

/* The same, and closes the connection after it: the following bytes cannot be parsed, or are not
 * to be read. */
static bool
refuse_last(struct connection *c, const struct refusal *refusal)
{
	c->close = true;
	return connection_refuse_request(c, refusal);
}

/* The head is complete. */
static bool
connection_read_whole_head(struct connection *c, size_t len)
{
	const struct refusal *refusal;
	struct head head;
	bool whole;

	INVARIANT(c->request == NULL && c->input.room == 0);
	refusal = head_read(&head, c->input.in.data, len);
	c->close = head.close;
	c->http11 = head.http11;
	c->bodiless = head_is(head.method, "HEAD");
	c->linger = c->paused = c->long_wait = false;
	c->body_ms = c->httpd->limits.body_ms;
	if (refusal != NULL)
		return refuse_last(c, refusal);
	whole = !head.chunked && head.length == 0;
	c->called = true;
	refusal = c->httpd->handler->begin(c, &head, span_of(c->input.in.data, len));
	c->called = false;
	buffer_drop(&c->input.in, len);
	if (whole) {
		set_limit(c, 0);
		c->state = CONNECTION_ASKS;
		return refusal == NULL || connection_refuse_request(c, refusal);
	}
	if (refusal != NULL)
		return refuse_last(c, refusal);
	if (head.expects && c->input.in.len == 0 && send(c->source.fd, continue_head,
	    sizeof continue_head - 1, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof continue_head - 1) {
		connection_close(c);
		return false;
	}
	framing_begin(&c->input.framing, head.chunked, head.length);
	c->state = CONNECTION_READS_BODY;
	set_limit(c, c->body_ms);
	return true;
}

static bool
read_head(struct connection *c)
{
	char bytes[READ_AT_ONCE];
	size_t len = 0, end;
	const size_t most = c->httpd->limits.head_bytes;

	/* Accept one empty line before a request (RFC 9112, section 2.2). */
	if (!c->input.spaced && c->input.in.len >= 2 && memcmp(c->input.in.data, "\r\n", 2) == 0) {
		buffer_drop(&c->input.in, 2);
		c->input.spaced = true;
		c->input.looked = 0;
	}
	if (c->input.in.len > 0 && (*c->input.in.data < '!' || *c->input.in.data > '~') &&
	    (c->input.spaced || *c->input.in.data != '\r'))
		return refuse_last(c, &no_http);
	end = c->input.in.len > c->input.looked ?
	    head_end(c->input.in.data, c->input.in.len, c->input.looked) : 0;
	if (end > most || (end == 0 && c->input.in.len >= most))
		return refuse_last(c, memchr(c->input.in.data, '\n', most) != NULL ? &too_large : &too_long);
	if (end > 0)
		return connection_read_whole_head(c, end);
	c->input.looked = c->input.in.len;
	switch (read_more(c, bytes, sizeof bytes, &len)) {
	case READ_SOME:
		/* The time limit runs from the first byte on. */
		if (c->input.in.len == 0)
			set_limit(c, c->httpd->limits.head_ms);
		buffer_append(&c->input.in, bytes, len);
		return true;
	case READ_ENDED:
		connection_close(c);
		return false;
	default:
		return false;
	}
}

/* Processes the bytes of a body that were read. */
static bool
connection_read_body_bytes(struct connection *c)
{
	enum framing_state state = FRAMING_MORE;
	const struct refusal *refusal;
	size_t at = 0, used;
	struct span piece;

	while (state == FRAMING_MORE && at < c->input.in.len) {
		state = framing_take(&c->input.framing, c->input.in.data + at, c->input.in.len - at, &used, &piece);
		at += used;
		INVARIANT(at <= c->input.in.len && c->input.framing.left >= 0);
		if (state == FRAMING_BROKEN)
			return refuse_last(c, &bad_framing);
		c->called = true;
		refusal = c->httpd->handler->body(c, piece, c->input.framing.left);
		c->called = false;
		if (refusal != NULL)
			return refuse_last(c, refusal);
		/* The request was answered: the rest of its body is not processed. */
		if (c->state != CONNECTION_READS_BODY)
			return true;
	}
	buffer_drop(&c->input.in, at);
	if (state == FRAMING_END) {
		c->state = CONNECTION_ASKS;
		set_limit(c, 0);
	}
	return true;
}

static bool
read_body(struct connection *c)
{
	size_t taken = 0, len = 0;

	while (c->state == CONNECTION_READS_BODY) {
		if (c->paused)
			return false;
		if (c->input.in.len > 0) {
			if (!connection_read_body_bytes(c))
				return false;
			continue;
		}
		if (taken > TURN) {
			loop_enter(c->httpd->loop, &c->task);
			return false;
		}
		switch (read_more(c, buffer_reserve(&c->input.in, READ_AT_ONCE), READ_AT_ONCE, &len)) {
		case READ_SOME:
			c->input.in.len = len;
			taken += len;
			break;
		case READ_ENDED:
			connection_close(c);
			return false;
		default:
			return false;
		}
	}
	return true;
}

/* Reads and drops what still arrives. */
static bool
connection_drain(struct connection *c)
{
	char bytes[READ_AT_ONCE];
	size_t len;
	enum read got;

	while ((got = read_more(c, bytes, sizeof bytes, &len)) == READ_SOME &&
	    (c->input.dropped += len) <= c->httpd->limits.leave_bytes)
		continue;
	if (got != READ_NOTHING)
		connection_close(c);
	return false;
}

/* ---- memory for bodies ---- */

/* The memory of the bodies that come from an address. */
static size_t
held_from(const struct httpd *h, const char *address)
{
	size_t held = 0;

	for (const struct connection *c = h->first; c != NULL; c = c->next)
		if (c->input.room > 0 && strcmp(c->address, address) == 0)
			held += c->input.room;
	return held;
}

/* The bytes may come one by one: other connections are counted only when the memory grows. */
const struct refusal *
connection_keep(struct connection *c, struct span piece)
{
	struct httpd *h = c->httpd;
	size_t more = 0;

	while (c->input.room + more < c->body.len + piece.len)
		more += ROOM_AT_ONCE;
	INVARIANT(h->held <= h->limits.bodies_bytes);
	if (more > h->limits.bodies_bytes - h->held)
		return &too_much_held;
	if (more > 0 && h->limits.address_bytes > 0 &&
	    held_from(h, c->address) + more > h->limits.address_bytes)
		return &too_much_from;
	c->input.room += more;
	h->held += more;
	buffer_append(&c->body, piece.at, piece.len);
	return NULL;
}

void
connection_pause(struct connection *c, bool paused)
{
	c->paused = paused;
	if (!paused)
		loop_enter(c->httpd->loop, &c->task);
}

void
connection_wait(struct connection *c)
{
	INVARIANT(c->state == CONNECTION_ASKS);
	c->state = CONNECTION_WAITS;
}

void
connection_wake(struct connection *c)
{
	INVARIANT(c->state == CONNECTION_WAITS || c->state == CONNECTION_READS_BODY);
	c->state = CONNECTION_ASKS;
	loop_enter(c->httpd->loop, &c->task);
}

/* ---- writing ---- */

size_t
connection_unsent(const struct connection *c)
{
	return c->answer.head.len + c->answer.content.len - c->answer.sent;
}

/* Sends the part of the answer that is in memory. */
static ssize_t
send_memory(struct connection *c)
{
	size_t from = c->answer.sent < c->answer.head.len ? c->answer.sent : c->answer.head.len;
	size_t into = c->answer.sent - from;
	struct iovec parts[2];
	struct msghdr message = { .msg_iov = parts };

	if (from < c->answer.head.len)
		parts[message.msg_iovlen++] = (struct iovec){ c->answer.head.data + from, c->answer.head.len - from };
	if (into < c->answer.content.len)
		parts[message.msg_iovlen++] = (struct iovec){ c->answer.content.data + into,
			c->answer.content.len - into };
	return sendmsg(c->source.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL |
	    (c->answer.file_left > 0 ? MSG_MORE : 0));
}

static ssize_t
send_file(struct connection *c)
{
	off_t at = c->answer.file_at;
	ssize_t sent = sendfile(c->source.fd, c->answer.file, &at,
	    c->answer.file_left < (int64_t)TURN ? (size_t)c->answer.file_left : TURN);

	if (sent > 0) {
		c->answer.file_at += sent;
		c->answer.file_left -= sent;
	}
	return sent;
}

/* The socket accepts no more: wait until the client has read something. some: bytes have been
 * written just now. */
static void
connection_set_blocked(struct connection *c, bool some)
{
	c->blocked = true;
	if (some || c->limit.at == 0)
		set_patient_limit(c, c->httpd->limits.stall_ms);
}

enum written { WRITTEN_ALL, WRITTEN_SOME, WRITTEN_BLOCKED, WRITTEN_FAILED };

/* Writes what is pending, TURN bytes or little more; *len: how many were written. */
static enum written
write_some(struct connection *c, size_t *len)
{
	for (*len = 0; connection_unsent(c) > 0 || c->answer.file_left > 0;) {
		bool memory = connection_unsent(c) > 0;
		ssize_t sent = memory ? send_memory(c) : send_file(c);

		if (sent == -1 && errno == EINTR)
			continue;
		if (sent == -1 && errno == EAGAIN) {
			connection_set_blocked(c, *len > 0);
			break;
		}
		/* The client is gone, or the file has become shorter. */
		if (sent <= 0)
			return WRITTEN_FAILED;
		if (memory)
			c->answer.sent += (size_t)sent;
		*len += (size_t)sent;
		c->httpd->stream_bytes += c->state == CONNECTION_STREAMS ? sent : 0;
		if (*len >= TURN) {
			set_patient_limit(c, c->httpd->limits.stall_ms);
			break;
		}
	}
	INVARIANT(c->answer.sent <= c->answer.head.len + c->answer.content.len);
	if (connection_unsent(c) == 0) {
		buffer_free(&c->answer.head);
		buffer_free(&c->answer.content);
		c->answer.sent = 0;
		return c->answer.file_left == 0 ? WRITTEN_ALL : c->blocked ? WRITTEN_BLOCKED : WRITTEN_SOME;
	}
	/* Free the part of a stream that a slow reader has read. */
	if (c->answer.sent > c->answer.head.len + TURN &&
	    c->answer.sent - c->answer.head.len > c->answer.content.len / 2) {
		buffer_drop(&c->answer.content, c->answer.sent - c->answer.head.len);
		c->answer.sent = c->answer.head.len;
	}
	return c->blocked ? WRITTEN_BLOCKED : WRITTEN_SOME;
}

static bool
connection_write_answer(struct connection *c)
{
	size_t len;

	c->blocked = false;
	switch (write_some(c, &len)) {
	case WRITTEN_FAILED:
		connection_close(c);
		return false;
	case WRITTEN_SOME:
		loop_enter(c->httpd->loop, &c->task);
		return false;
	case WRITTEN_BLOCKED:
		return false;
	default:
		break;
	}
	end_request(c);
	file_close(&c->answer.file);
	if (c->close)
		return begin_draining(c);
	begin_request(c);
	return false;
}

/* Writes the pending part of a stream, and asks the handler for more. */
static bool
write_stream(struct connection *c)
{
	size_t len;

	if (c->blocked)
		return false;
	switch (write_some(c, &len)) {
	case WRITTEN_FAILED:
		connection_close(c);
		return false;
	case WRITTEN_SOME:
		loop_enter(c->httpd->loop, &c->task);
		break;
	case WRITTEN_ALL:
		set_limit(c, 0);
		break;
	default:
		break;
	}
	c->called = true;
	c->httpd->handler->ready(c);
	c->called = false;
	return c->state != CONNECTION_STREAMS;
}

/* ---- answers ---- */

/* The handler has answered: continue at once, or when the loop comes to the connection. */
static void
work_later(struct connection *c)
{
	if (!c->called)
		loop_enter(c->httpd->loop, &c->task);
}

/* Writes the head of an answer; length -1: unknown. */
static void
begin_answer(struct connection *c, unsigned status, struct buffer *fields, int64_t length)
{
	INVARIANT(c->state <= CONNECTION_WAITS && connection_unsent(c) == 0);
	c->bodiless |= status == 204 || status == 304;
	/* The rest of the body must not be read as the next head. */
	if (c->state == CONNECTION_READS_BODY)
		c->close = c->linger = true;
	INVARIANT(c->http11 || c->close);
	c->chunked = length < 0 && !c->bodiless && c->http11;
	c->answer.sent = 0;
	buffer_format(&c->answer.head, "HTTP/1.1 %u %s\r\n", status, head_reason(status));
	buffer_append(&c->answer.head, fields->data, fields->len);
	buffer_free(fields);
	if (c->chunked)
		buffer_text(&c->answer.head, "Transfer-Encoding: chunked\r\n");
	else if (length >= 0 && status != 204)
		buffer_format(&c->answer.head, "Content-Length: %" PRId64 "\r\n", length);
	if (c->close)
		buffer_text(&c->answer.head, "Connection: close\r\n");
	buffer_text(&c->answer.head, "\r\n");
	work_later(c);
}

void
connection_answer(struct connection *c, unsigned status, struct buffer *fields,
    struct buffer *content)
{
	begin_answer(c, status, fields, status == 304 ? -1 : (int64_t)content->len);
	c->state = CONNECTION_ANSWERS;
	if (c->bodiless)
		buffer_free(content);
	c->answer.content = *content;
	*content = (struct buffer)BUFFER_INIT;
}

void
connection_answer_file(struct connection *c, unsigned status, struct buffer *fields, int fd,
    int64_t offset, int64_t len)
{
	begin_answer(c, status, fields, len);
	c->state = CONNECTION_ANSWERS;
	if (c->bodiless || len == 0) {
		file_close(&fd);
		return;
	}
	c->answer.file = fd;
	c->answer.file_at = offset;
	c->answer.file_left = len;
}

void
connection_stream(struct connection *c, unsigned status, struct buffer *fields, int64_t length)
{
	begin_answer(c, status, fields, length);
	c->state = CONNECTION_STREAMS;
	c->blocked = false;
}

size_t
connection_flush(struct connection *c)
{
	size_t len = 0;

	if (c->state != CONNECTION_STREAMS || c->blocked)
		return 0;
	switch (write_some(c, &len)) {
	case WRITTEN_FAILED:
		connection_break(c);
		break;
	case WRITTEN_SOME:
		loop_enter(c->httpd->loop, &c->task);
		break;
	case WRITTEN_ALL:
		set_limit(c, 0);
		break;
	default:
		break;
	}
	return len;
}

void
connection_write(struct connection *c, const char *bytes, size_t len)
{
	size_t start = 0;

	if (c->state != CONNECTION_STREAMS || c->bodiless || len == 0)
		return;
	if (c->chunked)
		start = framing_chunk(&c->answer.content);
	buffer_append(&c->answer.content, bytes, len);
	if (c->chunked)
		framing_chunk_end(&c->answer.content, start);
	connection_flush(c);
}

size_t
connection_send(struct connection *c, const char *bytes, size_t len)
{
	ssize_t sent;

	if (c->state != CONNECTION_STREAMS || c->blocked || connection_unsent(c) > 0)
		return 0;
	do
		sent = send(c->source.fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && errno != EAGAIN) {
		connection_break(c);
		return 0;
	}
	if (sent < (ssize_t)len)
		connection_set_blocked(c, sent > 0);
	c->httpd->stream_bytes += sent > 0 ? sent : 0;
	return sent > 0 ? (size_t)sent : 0;
}

void
connection_queue(struct connection *c, const char *bytes, size_t len)
{
	if (c->state == CONNECTION_STREAMS)
		buffer_append(&c->answer.content, bytes, len);
}

void
connection_end(struct connection *c, bool cut_off)
{
	static const char last_chunk[] = "0\r\n\r\n";

	if (c->state != CONNECTION_STREAMS)
		return;
	/* The client sees that it was cut off because the connection ends before the answer. */
	if (cut_off)
		c->close = true;
	else if (c->chunked)
		buffer_append(&c->answer.content, last_chunk, sizeof last_chunk - 1);
	c->state = CONNECTION_ANSWERS;
	work_later(c);
}

void
connection_break(struct connection *c)
{
	c->state = CONNECTION_BROKEN;
	c->blocked = true;
	loop_enter(c->httpd->loop, &c->task);
}

/* ---- what each state does ---- */

static bool
connection_ask_handler(struct connection *c)
{
	c->called = true;
	c->httpd->handler->answer(c);
	c->called = false;
	INVARIANT(c->state != CONNECTION_ASKS);
	return true;
}

/* Nothing to do unless the client is gone. */
static bool
wait_for_answer(struct connection *c)
{
	if (c->hung_up && (c->long_wait || !c->httpd->half_closed))
		connection_close(c);
	return false;
}

static bool
close_broken(struct connection *c)
{
	connection_close(c);
	return false;
}

static void
connection_work(struct connection *c)
{
	/* Each returns whether there is more to do now; if it returns false, it may have closed
	 * the connection. */
	static bool (*const does[])(struct connection *c) = {
		[CONNECTION_READS_HEAD] = read_head, [CONNECTION_READS_BODY] = read_body,
		[CONNECTION_ASKS] = connection_ask_handler, [CONNECTION_WAITS] = wait_for_answer,
		[CONNECTION_STREAMS] = write_stream, [CONNECTION_ANSWERS] = connection_write_answer,
		[CONNECTION_DRAINS] = connection_drain, [CONNECTION_BROKEN] = close_broken,
	};

	while (does[c->state](c))
		continue;
}

static void
work_on_task(struct loop_task *task)
{
	struct connection *c = connection_of_task(task);

	loop_leave(c->httpd->loop, task);
	connection_work(c);
}

static void
socket_ready(struct loop_source *source, uint32_t events)
{
	struct connection *c = (struct connection *)(void *)((char *)source -
	    offsetof(struct connection, source));

	if (events & (EPOLLIN | EPOLLRDHUP))
		c->readable = true;
	if (events & EPOLLRDHUP)
		c->hung_up = true;
	if ((events & (EPOLLERR | EPOLLHUP)) || (c->hung_up && c->state == CONNECTION_STREAMS)) {
		connection_close(c);
		return;
	}
	/* Input that arrives while a stream is written is read after the end of the stream. */
	if (c->state == CONNECTION_STREAMS && (!c->blocked || !(events & EPOLLOUT)))
		return;
	if (events & EPOLLOUT)
		c->blocked = false;
	if (!c->task.entered)
		connection_work(c);
}

/* A time limit has passed. */
static void
limit_due(struct loop_timer *timer)
{
	struct connection *c = (struct connection *)(void *)((char *)timer -
	    offsetof(struct connection, limit));

	if (c->state == CONNECTION_READS_HEAD && c->input.in.len > 0)
		refuse_last(c, &late_head);
	else if (c->state == CONNECTION_READS_BODY)
		refuse_last(c, &late_body);
	else {
		connection_close(c);
		return;
	}
	connection_work(c);
}

/* ---- accepting connections ---- */

/* The number of connections from an address, except `but`. */
static size_t
count_from(const struct httpd *h, const struct connection *but, const char *address)
{
	size_t count = 0;

	for (const struct connection *c = h->first; c != NULL; c = c->next)
		count += c != but && strcmp(c->address, address) == 0;
	return count;
}

static bool
is_crowded(const struct connection *c)
{
	size_t most = c->httpd->per_address;

	return most > 0 && count_from(c->httpd, c, c->address) >= most;
}

bool
connection_from(struct connection *c, const char *address)
{
	/* The other connections of the address may be closed by now. */
	if (c->crowded || strcmp(address, c->address) != 0) {
		snprintf(c->address, sizeof c->address, "%s", address);
		c->crowded = is_crowded(c);
	}
	return !c->crowded;
}

/* Whether no byte of a next request has arrived, read or not. */
static bool
is_idle(const struct connection *c)
{
	char byte;

	return c->state == CONNECTION_READS_HEAD && c->input.in.len == 0 &&
	    recv(c->source.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* Closes a connection to make room for another. First choice: of connections that have not been
 * admitted, if these have more than their share of the places, the oldest whose request is
 * incomplete. If connections are not turned away: then an admitted, idle one; then any that was
 * not admitted. Never one that has just connected. */
static bool
connection_evict_one(struct httpd *h)
{
	struct connection *idle = NULL, *sending = NULL, *known = NULL, *leaves;
	size_t strangers = 0;

	/* The newest is first in the list. */
	for (struct connection *c = h->first; c != NULL; c = c->next) {
		strangers += !c->admitted;
		if (c->admitted && !h->turns_away && is_idle(c))
			known = c;
		else if (c->admitted)
			continue;
		else if (c->state == CONNECTION_READS_HEAD || c->state == CONNECTION_DRAINS)
			idle = c;
		else if (c->state == CONNECTION_READS_BODY)
			sending = c;
	}
	leaves = idle != NULL ? idle : sending;
	if (!h->turns_away && leaves != NULL && h->loop->now - leaves->came < NEWCOMER_MS)
		leaves = NULL;
	if (strangers <= h->limits.strangers)
		leaves = h->turns_away ? NULL : known != NULL ? known : leaves;
	else if (leaves == NULL && !h->turns_away)
		leaves = known;
	if (leaves != NULL)
		connection_close(leaves);
	return leaves != NULL;
}

/* Makes room if there is none; returns the descriptor, which may have changed. */
static int
make_room(struct httpd *h, int fd)
{
	int lower;

	while (h->count >= h->limits.connections && connection_evict_one(h))
		continue;
	if (h->spare_files == 0 || descriptors_left(fd, h->spare_files) || !connection_evict_one(h))
		return fd;
	lower = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (lower == -1)
		return fd;
	close(fd);
	return lower;
}

/* There is no room: refuses the connection, with an answer as far as the client reads it. */
static int
turn_away(int fd)
{
	char bytes[READ_AT_ONCE];

	send(fd, full, sizeof full - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
		continue;
	close(fd);
	return -1;
}

int
httpd_admit(struct httpd *h, int fd)
{
	struct connection *c;
	struct error err;
	int on = 1;

	fd = make_room(h, fd);
	if (h->count >= h->limits.connections + SPARE_PLACES ||
	    (h->spare_files != 0 && !descriptors_left(fd, h->spare_files)))
		return turn_away(fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	c = memory_zero(1, sizeof *c);
	c->httpd = h;
	c->came = h->loop->now;
	c->source = (struct loop_source){ .fd = fd, .ready = socket_ready };
	c->task.step = work_on_task;
	c->limit.due = limit_due;
	c->answer.file = -1;
	connection_peer_of(&c->peer, fd);
	memcpy(c->address, c->peer.address, PEER_ADDRESS);
	/* A client on this machine may open any number of connections: it may be a proxy, which
	 * reports the clients' addresses. */
	c->crowded = !c->peer.local && !c->peer.loopback && is_crowded(c);
	c->next = h->first;
	if (c->next != NULL)
		c->next->previous = c;
	h->first = c;
	h->count++;
	set_limit(c, h->limits.head_ms);
	if (loop_add(h->loop, &c->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, &err) != 0) {
		connection_close(c);
		return -1;
	}
	return 0;
}

/* Accepts waiting connections; false: no descriptor is free at the moment. */
static bool
accept_some(struct httpd *h, int listener)
{
	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int fd;

		/* Evict a connection only if another one waits. The first one waits for certain;
		 * the loop reports further ones. */
		if (!h->turns_away && h->count >= h->limits.connections && i > 0)
			return true;
		if (!h->turns_away && h->count >= h->limits.connections && !connection_evict_one(h))
			return false;
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		/* An error of a single connection, such as one that was closed before it was
		 * accepted, does not matter. */
		if (fd == -1)
			return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
		httpd_admit(h, fd);
	}
	return true;
}

static void
listener_ready(struct loop_source *source, uint32_t events)
{
	struct httpd_listener *l = (struct httpd_listener *)(void *)((char *)source -
	    offsetof(struct httpd_listener, source));

	(void)events;
	/* Otherwise the loop would report the waiting connections again and again. */
	if (!accept_some(l->httpd, source->fd)) {
		loop_remove(l->httpd->loop, source);
		loop_set(l->httpd->loop, &l->pause, PAUSE_MS);
	}
}

static void
pause_over(struct loop_timer *timer)
{
	struct httpd_listener *l = (struct httpd_listener *)(void *)((char *)timer -
	    offsetof(struct httpd_listener, pause));
	struct error err;

	if (loop_add(l->httpd->loop, &l->source, EPOLLIN, &err) != 0)
		loop_set(l->httpd->loop, &l->pause, PAUSE_MS);
}

int
httpd_listener_add(struct httpd_listener *l, struct httpd *h, int fd, struct error *err)
{
	*l = (struct httpd_listener){ .httpd = h, .source = { .fd = fd, .ready = listener_ready },
		.pause.due = pause_over };
	return loop_add(h->loop, &l->source, EPOLLIN, err);
}

void
httpd_listener_remove(struct httpd_listener *l)
{
	if (l->httpd == NULL)
		return;
	loop_remove(l->httpd->loop, &l->source);
	loop_unset(l->httpd->loop, &l->pause);
	file_close(&l->source.fd);
	l->httpd = NULL;
}

void
httpd_close(struct httpd *h)
{
	struct connection *next;

	for (struct connection *c = h->first; c != NULL; c = next) {
		next = c->next;
		c->close = true;
		if (c->state == CONNECTION_WAITS) {
			c->state = CONNECTION_ASKS;
			connection_work(c);
		}
	}
	for (struct connection *c = h->first; c != NULL; c = next) {
		next = c->next;
		connection_close(c);
	}
}
