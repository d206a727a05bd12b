/*
 * A client is in one state; work() does what that asks for until it has to wait: for bytes, for
 * room in the socket, for an answer. Sockets are watched edge-triggered, once for all.
 *
 * Who is refused while he still sends gets his answer only if what he sends is read: a close with
 * unread bytes resets the connection, and the answer may be lost on the way. So he is told that
 * nothing more comes, and what he sends is dropped, for a while.
 */
#define _GNU_SOURCE /* accept4() */
#include "serve/client.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/patience.h"
#include "net/head.h"
#include "net/refusal.h"
#include "serve/descriptors.h"
#include "serve/serve.h"

#define ACCEPTED_AT_ONCE 64
#define SPARE_CLIENTS 16                /* beside all places: for those with a token, and to be told no */
#define READ_AT_ONCE 16384
#define TURN ((size_t)1 << 20)          /* bytes of one client, before the next has its turn */

static const char full[] =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    "Content-Type: application/json\r\nContent-Length: 79\r\n\r\n"
    "{\"error\":{\"code\":\"unavailable\",\"message\":\"too many clients: try again later\"}}\n";
static const char continue_head[] = "HTTP/1.1 100 Continue\r\n\r\n";

static const struct refusal too_large = { 431, "invalid_input", "the head is too large" };
static const struct refusal too_long = { 414, "invalid_input", "the request line is too long" };
static const struct refusal no_http = { 400, "invalid_input", "this is no request of HTTP" };
static const struct refusal bad_framing = { 400, "invalid_input",
	"the body is not in chunks as it must be: sizes without extensions, no trailers" };
static const struct refusal late_head = { 408, "timeout", "the head did not come in time" };
static const struct refusal late_body = { 408, "timeout", "the body did not come in time" };

static struct client *
client_of_task(struct loop_task *task)
{
	return (struct client *)(void *)((char *)task - offsetof(struct client, task));
}

/* ---- its life ---- */

static void
set_limit(struct client *c, int64_t ms)
{
	if (ms == 0)
		loop_unset(&c->server->loop, &c->limit);
	else
		loop_set(&c->server->loop, &c->limit, ms);
}

static void
client_close(struct client *c)
{
	struct server *s = c->server;

	s->handler->end(c);
	loop_unset(&s->loop, &c->limit);
	loop_leave(&s->loop, &c->task);
	loop_remove(&s->loop, &c->source);
	close(c->source.fd);
	file_close(&c->file);
	buffer_free(&c->in);
	buffer_free(&c->head);
	buffer_free(&c->content);
	*(c->previous != NULL ? &c->previous->next : &s->clients) = c->next;
	if (c->next != NULL)
		c->next->previous = c->previous;
	s->client_count--;
	free(c);
}

/* Goes on with the next request. */
static void
begin_request(struct client *c)
{
	c->state = CLIENT_HEAD;
	c->looked = 0;
	c->spaced = false;
	set_limit(c, c->in.len > 0 ? c->server->limits.head_ms : c->server->limits.idle_ms);
	if (c->in.len == 0)
		buffer_free(&c->in);
	/* Others have their turn between two requests. */
	if (c->in.len > 0 || c->readable)
		loop_enter(&c->server->loop, &c->task);
}

/* It is answered, and nothing more is to be read. */
static bool
begin_leaving(struct client *c)
{
	if (!c->linger && !c->readable && c->in.len == 0) {
		client_close(c);
		return false;
	}
	shutdown(c->source.fd, SHUT_WR);
	buffer_free(&c->in);
	c->state = CLIENT_LEAVING;
	set_limit(c, c->server->limits.leave_ms);
	return true;
}

/* ---- reading ---- */

enum read { READ_SOME, READ_NOTHING, READ_ENDED };

/* Reads some more bytes. */
static enum read
read_more(struct client *c, char *bytes, size_t size, size_t *len)
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

/* Nothing more of this request can be made sense of. */
static bool
refuse(struct client *c, const struct refusal *refusal)
{
	c->close = c->linger = true;
	c->server->handler->refuse(c, refusal);
	return true;
}

/* The head is whole. */
static bool
take_head(struct client *c, size_t len)
{
	const struct refusal *refusal;
	struct head head;

	refusal = head_read(&head, c->in.data, len);
	c->close = head.close;
	c->linger = c->held = false;
	c->body_ms = c->server->limits.body_ms;
	if (refusal != NULL)
		return refuse(c, refusal);
	refusal = c->server->handler->begin(c, &head, c->in.data, len);
	buffer_drop(&c->in, len);
	if (!head.chunked && head.length == 0) {
		c->state = CLIENT_ASKED;
		set_limit(c, 0);
		return true;
	}
	/* Who is refused need not send it. */
	if (refusal != NULL)
		return refuse(c, refusal);
	if (head.expects && c->in.len == 0 && send(c->source.fd, continue_head,
	    sizeof continue_head - 1, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof continue_head - 1) {
		client_close(c);
		return false;
	}
	framing_begin(&c->framing, head.chunked, head.length);
	c->state = CLIENT_BODY;
	set_limit(c, c->body_ms);
	return true;
}

static bool
read_head(struct client *c)
{
	char bytes[READ_AT_ONCE];
	size_t len = 0, end;
	const size_t most = c->server->limits.head_bytes;

	/* One empty line before a request is forgiven (RFC 9112, section 2.2). */
	if (!c->spaced && c->in.len >= 2 && memcmp(c->in.data, "\r\n", 2) == 0) {
		buffer_drop(&c->in, 2);
		c->spaced = true;
		c->looked = 0;
	}
	if (c->in.len > 0 && (*c->in.data < '!' || *c->in.data > '~') &&
	    (c->spaced || *c->in.data != '\r'))
		return refuse(c, &no_http);
	end = c->in.len > c->looked ? head_end(c->in.data, c->in.len, c->looked) : 0;
	if (end > most || (end == 0 && c->in.len >= most))
		return refuse(c, memchr(c->in.data, '\n', most) != NULL ? &too_large : &too_long);
	if (end > 0)
		return take_head(c, end);
	c->looked = c->in.len;
	switch (read_more(c, bytes, sizeof bytes, &len)) {
	case READ_SOME:
		/* From its first byte on. */
		if (c->in.len == 0)
			set_limit(c, c->server->limits.head_ms);
		buffer_append(&c->in, bytes, len);
		return true;
	case READ_ENDED:
		client_close(c);
		return false;
	default:
		return false;
	}
}

/* Takes what has been read of a body. */
static bool
take_body(struct client *c)
{
	enum framing_state state = FRAMING_MORE;
	const struct refusal *refusal;
	size_t at = 0, used;
	struct span piece;

	while (state == FRAMING_MORE && at < c->in.len) {
		state = framing_take(&c->framing, c->in.data + at, c->in.len - at, &used, &piece);
		at += used;
		refusal = state == FRAMING_BROKEN ? &bad_framing :
		    c->server->handler->body(c, piece, c->framing.left);
		if (refusal != NULL)
			return refuse(c, refusal);
	}
	buffer_drop(&c->in, at);
	if (state == FRAMING_END) {
		c->state = CLIENT_ASKED;
		set_limit(c, 0);
	}
	return true;
}

static bool
read_body(struct client *c)
{
	size_t taken = 0, len = 0;

	while (c->state == CLIENT_BODY) {
		if (c->held)
			return false;
		if (c->in.len > 0) {
			if (!take_body(c))
				return false;
			continue;
		}
		if (taken > TURN) {
			loop_enter(&c->server->loop, &c->task);
			return false;
		}
		switch (read_more(c, buffer_reserve(&c->in, READ_AT_ONCE), READ_AT_ONCE, &len)) {
		case READ_SOME:
			c->in.len = len;
			taken += len;
			break;
		case READ_ENDED:
			client_close(c);
			return false;
		default:
			return false;
		}
	}
	return true;
}

/* Drops what still comes. */
static bool
drop(struct client *c)
{
	char bytes[READ_AT_ONCE];
	size_t len;
	enum read got;

	while ((got = read_more(c, bytes, sizeof bytes, &len)) == READ_SOME &&
	    (c->dropped += len) <= c->server->limits.leave_bytes)
		continue;
	if (got != READ_NOTHING)
		client_close(c);
	return false;
}

/* ---- writing ---- */

/* Sends what there is in memory. */
static ssize_t
send_memory(struct client *c)
{
	size_t from = c->sent < c->head.len ? c->sent : c->head.len, into = c->sent - from;
	struct iovec parts[2];
	struct msghdr message = { .msg_iov = parts };

	if (from < c->head.len)
		parts[message.msg_iovlen++] = (struct iovec){ c->head.data + from, c->head.len - from };
	if (into < c->content.len)
		parts[message.msg_iovlen++] = (struct iovec){ c->content.data + into,
			c->content.len - into };
	return sendmsg(c->source.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL |
	    (c->file_left > 0 ? MSG_MORE : 0));
}

static ssize_t
send_file(struct client *c)
{
	off_t at = c->file_at;
	ssize_t sent = sendfile(c->source.fd, c->file, &at,
	    c->file_left < (int64_t)TURN ? (size_t)c->file_left : TURN);

	if (sent > 0) {
		c->file_at += sent;
		c->file_left -= sent;
	}
	return sent;
}

static bool
write_answer(struct client *c)
{
	size_t all = c->head.len + c->content.len, turn = 0;

	while (c->sent < all || c->file_left > 0) {
		bool memory = c->sent < all;
		ssize_t sent = memory ? send_memory(c) : send_file(c);

		if (sent == -1 && errno == EINTR)
			continue;
		if (sent == -1 && errno == EAGAIN) {
			if (turn > 0 || c->limit.at == 0)
				set_limit(c, STREAM_STALL_MS);
			return false;
		}
		/* It is gone; or the file is not as long any more. */
		if (sent <= 0) {
			client_close(c);
			return false;
		}
		if (memory)
			c->sent += (size_t)sent;
		turn += (size_t)sent;
		if (turn >= TURN) {
			set_limit(c, STREAM_STALL_MS);
			loop_enter(&c->server->loop, &c->task);
			return false;
		}
	}
	c->server->handler->end(c);
	file_close(&c->file);
	buffer_free(&c->head);
	buffer_free(&c->content);
	if (c->close)
		return begin_leaving(c);
	begin_request(c);
	return false;
}

/* A stream has ended: in chunks by one that is empty, else by the end of the connection. */
static bool
end_stream(struct client *c)
{
	static const char last_chunk[] = "0\r\n\r\n";

	if (c->broken) {
		client_close(c);
		return false;
	}
	c->sent = 0;
	if (c->chunked)
		buffer_append(&c->head, last_chunk, sizeof last_chunk - 1);
	c->state = CLIENT_ANSWERED;
	return true;
}

void
client_hold(struct client *c, bool held)
{
	c->held = held;
	if (!held)
		loop_enter(&c->server->loop, &c->task);
}

void
client_answers(struct client *c)
{
	if (c->state != CLIENT_BODY)
		return;
	c->close = c->linger = true;
	loop_enter(&c->server->loop, &c->task);
}

void
client_answer(struct client *c, struct buffer *head, struct buffer *content)
{
	c->head = *head;
	c->content = *content;
	*head = *content = (struct buffer)BUFFER_INIT;
	c->sent = 0;
	c->state = CLIENT_ANSWERED;
}

void
client_answer_file(struct client *c, struct buffer *head, int fd, int64_t offset, int64_t len)
{
	struct buffer none = BUFFER_INIT;

	client_answer(c, head, &none);
	c->file = fd;
	c->file_at = offset;
	c->file_left = len;
}

/* ---- what is to be done ---- */

static void
work(struct client *c)
{
	bool going = true;

	while (going)
		switch (c->state) {
		case CLIENT_HEAD:
			going = read_head(c);
			break;
		case CLIENT_BODY:
			going = read_body(c);
			break;
		case CLIENT_ASKED:
			c->server->handler->answer(c);
			break;
		case CLIENT_ANSWERED:
			going = write_answer(c);
			break;
		case CLIENT_STREAMED:
			going = end_stream(c);
			break;
		case CLIENT_LEAVING:
			going = drop(c);
			break;
		default:
			going = false;
			break;
		}
}

static void
step(struct loop_task *task)
{
	struct client *c = client_of_task(task);

	loop_leave(&c->server->loop, task);
	work(c);
}

static void
socket_ready(struct loop_source *source, uint32_t events)
{
	struct client *c = (struct client *)(void *)((char *)source - offsetof(struct client, source));

	if (events & (EPOLLIN | EPOLLRDHUP))
		c->readable = true;
	if (c->state == CLIENT_STREAMING) {
		c->server->handler->ready(c, events);
		return;
	}
	if (events & (EPOLLERR | EPOLLHUP))
		client_close(c);
	else if (!c->task.entered)
		work(c);
}

/* Its time is over. */
static void
limit_due(struct loop_timer *timer)
{
	struct client *c = (struct client *)(void *)((char *)timer - offsetof(struct client, limit));

	if (c->state == CLIENT_HEAD && c->in.len > 0)
		refuse(c, &late_head);
	else if (c->state == CLIENT_BODY)
		refuse(c, &late_body);
	else {
		client_close(c);
		return;
	}
	work(c);
}

void
client_wake(struct client *c)
{
	c->state = CLIENT_ASKED;
	loop_enter(&c->server->loop, &c->task);
}

void
client_streamed(struct client *c, bool chunked, bool broken)
{
	c->state = CLIENT_STREAMED;
	c->chunked = chunked;
	c->broken = broken;
	loop_enter(&c->server->loop, &c->task);
}

/* ---- coming ---- */

/* How many others come from an address. */
static size_t
count_from(const struct server *s, const struct client *but, const char *address)
{
	size_t count = 0;

	for (const struct client *c = s->clients; c != NULL; c = c->next)
		count += c != but && strcmp(c->address, address) == 0;
	return count;
}

static bool
is_crowded(const struct client *c)
{
	int64_t most = c->server->settings.clients_per_address;

	return most > 0 && count_from(c->server, c, c->address) >= (size_t)most;
}

bool
client_from(struct client *c, const char *address)
{
	/* Those who crowded it out may be gone by now. */
	if (c->crowded || strcmp(address, c->address) != 0) {
		memcpy(c->address, address, PEER_ADDRESS);
		c->crowded = is_crowded(c);
	}
	return !c->crowded;
}

/* Ends a client to make room for another: of those who have shown no token, if they have more than
 * their share of the places, the one that has been there longest and whose request is not whole. */
static bool
evict_stranger(struct server *s)
{
	struct client *idle = NULL, *sending = NULL;
	int64_t strangers = 0;

	/* The newest stands first. */
	for (struct client *c = s->clients; c != NULL; c = c->next) {
		if (c->admitted)
			continue;
		strangers++;
		if (c->state == CLIENT_HEAD || c->state == CLIENT_LEAVING)
			idle = c;
		else if (c->state == CLIENT_BODY)
			sending = c;
	}
	if (strangers <= (int64_t)s->limits.strangers || (idle == NULL && sending == NULL))
		return false;
	assert(strangers > CONNECTION_STRANGERS_LEAST);
	client_close(idle != NULL ? idle : sending);
	return true;
}

/* Makes room where there is none; returns the descriptor, which may be another one then. */
static int
make_room(struct server *s, int fd)
{
	int lower;

	while (s->client_count >= s->limits.connections && evict_stranger(s))
		continue;
	if (descriptors_left(fd, DESCRIPTORS_CLIENT) || !evict_stranger(s))
		return fd;
	lower = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (lower == -1)
		return fd;
	close(fd);
	return lower;
}

/* There is no room for it: it is told so, if it reads that. */
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
client_add(struct server *s, int fd)
{
	struct client *c;
	struct error err;
	int on = 1;

	fd = make_room(s, fd);
	if (s->client_count >= s->limits.connections + SPARE_CLIENTS ||
	    !descriptors_left(fd, DESCRIPTORS_CLIENT))
		return turn_away(fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	c = memory_zero(1, sizeof *c);
	c->server = s;
	c->source = (struct loop_source){ .fd = fd, .ready = socket_ready };
	c->task.step = step;
	c->limit.due = limit_due;
	c->file = -1;
	peer_of(&c->peer, fd);
	memcpy(c->address, c->peer.address, PEER_ADDRESS);
	/* Of this machine itself there may be any number: a proxy on it says whose they are. */
	c->crowded = !c->peer.local && !c->peer.loopback && is_crowded(c);
	c->next = s->clients;
	if (c->next != NULL)
		c->next->previous = c;
	s->clients = c;
	s->client_count++;
	set_limit(c, s->limits.head_ms);
	if (loop_add(&s->loop, &c->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, &err) != 0) {
		client_close(c);
		return -1;
	}
	return 0;
}

bool
client_accept(struct server *s, int listener)
{
	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		/* Who has gone again, or had an error of his own, is nobody's matter. */
		if (fd == -1)
			return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
		client_add(s, fd);
	}
	return true;
}

void
clients_close(struct server *s)
{
	struct client *next;

	for (struct client *c = s->clients; c != NULL; c = next) {
		next = c->next;
		c->close = true;
		if (c->state == CLIENT_WAITING) {
			c->state = CLIENT_ASKED;
			work(c);
		}
	}
	for (struct client *c = s->clients; c != NULL; c = next) {
		next = c->next;
		client_close(c);
	}
}
