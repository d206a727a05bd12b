/*
 * A connection is read until a head is whole, which decides whether the body is read; then until that
 * is whole, and then waits for its answer; one that is closed meanwhile is noticed. Limits of time are
 * those of awf-serve's clients: whole times, so that a byte a second does not put them off. What a head must be like is net/head.h's, for two programs read it: this
 * one and the API's server.
 */
#define _GNU_SOURCE /* accept4() */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/terminal.h"
#include "json/writer.h"
#include "proxy.h"

#define READ_AT_ONCE 65536
#define AHEAD_MOST ((size_t)64 << 10) /* of what comes before the answer is out */
#define TURN ((size_t)1 << 20)         /* bytes of one client, before the next has its turn */

void
proxy_say(struct buffer *line)
{
	buffer_byte(line, '\n');
	/* Nobody to say it to: what comes next on stdin is its end. */
	(void)terminal_write_json(STDOUT_FILENO, line->data, line->len);
	buffer_free(line);
}

void
client_accept(struct proxy *p)
{
	const int on = 1;
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c;

	if (fd == -1)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	c = memory_zero(1, sizeof *c);
	c->proxy = p;
	c->fd = fd;
	c->deadline = clock_monotonic() + p->limits.idle_ms;
	c->next = p->clients;
	p->clients = c;
	p->client_count++;
}

int
clients_expire(struct proxy *p, int most)
{
	int64_t now = clock_monotonic();

	for (struct client *c = p->clients; c != NULL; c = c->next) {
		if (c->deadline != 0 && c->deadline <= now)
			c->gone = true;
		else if (c->deadline != 0 && c->deadline - now < most)
			most = (int)(c->deadline - now);
	}
	return most;
}

void
clients_sweep(struct proxy *p)
{
	for (struct client **link = &p->clients; *link != NULL;) {
		struct client *c = *link;

		if (!c->gone) {
			link = &c->next;
			continue;
		}
		*link = c->next;
		if (c->exchange != NULL)
			p->handler->deserted(c->exchange);
		close(c->fd);
		buffer_free(&c->in);
		buffer_free(&c->out);
		buffer_free(&c->head);
		buffer_free(&c->body);
		free(c);
		p->client_count--;
	}
}

/* ---- writing ---- */

size_t
client_unsent(const struct client *c)
{
	return c->out.len - c->sent;
}

static void
write_some(struct client *c)
{
	while (client_unsent(c) > 0) {
		ssize_t n = send(c->fd, c->out.data + c->sent, client_unsent(c), MSG_NOSIGNAL);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n <= 0) {
			c->gone = true;
			return;
		}
		c->sent += (size_t)n;
	}
	if (c->sent == c->out.len || c->sent > EXCHANGE_ROOM) {
		buffer_drop(&c->out, c->sent);
		c->sent = 0;
	}
}

void
client_send(struct client *c, const char *bytes, size_t len)
{
	buffer_append(&c->out, bytes, len);
	write_some(c);
}

void
client_answered(struct client *c, bool broken)
{
	const struct connection_limits *limits = &c->proxy->limits;

	c->exchange = NULL;
	buffer_clear(&c->body);
	c->state = c->close || broken ? CLIENT_LEAVES : CLIENT_HEAD;
	c->looked = 0;
	/* A program may keep its connection open as long as it likes, and no other's place by that. */
	c->deadline = c->state == CLIENT_LEAVES ? clock_monotonic() + limits->leave_ms :
	    c->in.len > 0 ? clock_monotonic() + limits->head_ms :
	    c->admitted ? 0 : clock_monotonic() + limits->idle_ms;
}

void
client_error(struct client *c, enum family family, unsigned status, const char *more,
    const char *message)
{
	struct buffer body = BUFFER_INIT, head = BUFFER_INIT;

	apis_error(&body, family, status, message);
	buffer_format(&head, "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\n%s%s\r\n", status, head_reason(status), body.len, more,
	    c->close ? "Connection: close\r\n" : "");
	buffer_append(&head, body.data, body.len);
	client_send(c, head.data, head.len);
	client_answered(c, false);
	buffer_free(&body);
	buffer_free(&head);
}

/* ---- reading ---- */

/* What nothing more can be read behind. */
static void
refuse(struct client *c, unsigned status, const char *message)
{
	c->close = true;
	client_error(c, FAMILY_OPENAI, status, "", message);
}

/* Tells awf-step that a request came with another key. */
static void
say_refused(void)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_integer(&w, "refused", 401);
	writer_object_end(&w);
	proxy_say(&line);
}

/* Puts the target in its one form into the head, which is read anew. NULL, or why it is refused. */
static const char *
normalize_target(struct client *c, struct head *h)
{
	struct buffer target = BUFFER_INIT, head = BUFFER_INIT;
	const char *wrong = apis_target(&target, h->target), *rest = h->target.at + h->target.len;

	if (wrong == NULL && (target.len != h->target.len ||
	    memcmp(target.data, h->target.at, target.len) != 0)) {
		buffer_append(&head, c->head.data, (size_t)(h->target.at - c->head.data));
		buffer_append(&head, target.data, target.len);
		buffer_append(&head, rest, (size_t)(c->head.data + c->head.len - rest));
		buffer_free(&c->head);
		c->head = head;
		head_read(h, c->head.data, c->head.len);
	}
	buffer_free(&target);
	return wrong;
}

/* Whether the head is one of a request that goes on; else it is refused, and nothing of its body is
 * kept. */
static bool
judge(struct client *c, struct head *h)
{
	const char *wrong = apis_refuses(h);

	if (wrong == NULL)
		wrong = normalize_target(c, h);
	c->meaning = apis_meaning(h);
	c->within = apis_admit(h, c->proxy->within);
	/* A body behind a request that is refused is not waited for. */
	c->close = c->close || h->chunked || h->length > 0;
	if (!c->within && !apis_admit(h, c->proxy->token)) {
		say_refused();
		client_error(c, c->meaning.family, 401, "", "this is no key of the step that the program "
		    "runs in: it is to take the one in its environment");
	} else if (wrong != NULL) {
		client_error(c, c->meaning.family, 400, "", wrong);
	} else if (head_value(h, "Upgrade").at != NULL && !head_is(head_value(h, "Upgrade"), "h2c")) {
		client_error(c, c->meaning.family, 426, "Upgrade: HTTP/1.1\r\n",
		    "awf-models-proxy speaks HTTP/1.1 alone, without websockets");
	} else if (h->length > (int64_t)c->proxy->limits.body_bytes) {
		client_error(c, c->meaning.family, 413, "", "the body of the request is too large");
	} else {
		c->close = h->close;
		return c->admitted = true;
	}
	return false;
}

/* The request is whole. */
static void
take_request(struct client *c)
{
	struct head h;

	head_read(&h, c->head.data, c->head.len);
	c->state = CLIENT_WAITS;
	c->deadline = 0;
	c->proxy->handler->begin(c, &h, c->meaning);
	buffer_free(&c->body);
}

/* True: something else can be read now. */
static bool
read_head(struct client *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	size_t end = c->in.len > 0 ? head_end(c->in.data, c->in.len, c->looked) : 0;
	const struct refusal *refusal;
	struct head h;

	if (end == 0 && c->in.len < c->proxy->limits.head_bytes) {
		/* From its first byte on. */
		if (c->in.len > 0 && c->looked == 0)
			c->deadline = clock_monotonic() + c->proxy->limits.head_ms;
		c->looked = c->in.len;
		return false;
	}
	if (end == 0 || end > c->proxy->limits.head_bytes) {
		refuse(c, 431, "the head of the request is too large");
		return false;
	}
	buffer_clear(&c->head);
	buffer_append(&c->head, c->in.data, end);
	buffer_drop(&c->in, end);
	c->looked = 0;
	refusal = head_read(&h, c->head.data, c->head.len);
	c->http11 = h.http11;
	c->close = h.close;
	if (refusal != NULL) {
		refuse(c, refusal->status, refusal->message);
		return false;
	}
	if (!judge(c, &h))
		return c->state == CLIENT_HEAD;
	c->state = CLIENT_BODY;
	c->whole = !h.chunked && h.length == 0;
	c->deadline = clock_monotonic() + c->proxy->limits.body_ms;
	framing_begin(&c->framing, h.chunked, h.length);
	if (h.expects && c->in.len == 0)
		client_send(c, go_on, sizeof go_on - 1);
	return true;
}

/* What the bodies of requests that are under way fill. */
static size_t
bodies_size(const struct proxy *p)
{
	size_t size = 0;

	for (const struct client *c = p->clients; c != NULL; c = c->next)
		size += c->body.len;
	for (const struct exchange *e = p->exchanges; e != NULL; e = e->next)
		size += e->body.len;
	return size;
}

/* Likewise. */
static bool
read_body(struct client *c)
{
	enum framing_state state = FRAMING_MORE;
	size_t at = 0, used;
	struct span piece;

	while (!c->whole && state == FRAMING_MORE && at < c->in.len) {
		state = framing_take(&c->framing, c->in.data + at, c->in.len - at, &used, &piece);
		at += used;
		if (piece.len > 0)
			buffer_append(&c->body, piece.at, piece.len);
		c->whole = state == FRAMING_END;
	}
	buffer_drop(&c->in, at);
	if (state == FRAMING_BROKEN)
		refuse(c, 400, "the body of the request is not in chunks as it must be");
	else if (c->body.len > c->proxy->limits.body_bytes)
		refuse(c, 413, "the body of the request is too large");
	else if (bodies_size(c->proxy) > c->proxy->limits.bodies_bytes)
		refuse(c, 413, "the bodies of the requests that are under way are too large together");
	else if (c->whole)
		take_request(c);
	return false;
}

/* Whether it reads what it is answered: what it asks for further waits until it does. */
static bool
takes_answers(const struct client *c)
{
	return c->state == CLIENT_WAITS || client_unsent(c) < AHEAD_MOST;
}

bool
client_reads(const struct client *c)
{
	return (c->state != CLIENT_WAITS || c->in.len < AHEAD_MOST) && takes_answers(c);
}

bool
client_writes(const struct client *c)
{
	return client_unsent(c) > 0;
}

/* Takes what has come, as far as it goes now. */
static void
take_bytes(struct client *c)
{
	while (takes_answers(c) && (c->state == CLIENT_HEAD ? read_head(c) : c->state == CLIENT_BODY && read_body(c)))
		continue;
	if (c->state != CLIENT_LEAVES)
		return;
	c->dropped += c->in.len;
	buffer_free(&c->in);
	c->gone |= c->dropped > c->proxy->limits.leave_bytes;
}

void
client_serve(struct client *c)
{
	ssize_t n = 1;

	if (client_unsent(c) > 0) {
		write_some(c);
		if (c->exchange != NULL)
			c->proxy->handler->resume(c->exchange);
	}
	for (size_t turn = 0; !c->gone && client_reads(c) && n > 0 && turn < TURN;) {
		n = recv(c->fd, buffer_reserve(&c->in, READ_AT_ONCE), READ_AT_ONCE, MSG_DONTWAIT);
		if (n > 0) {
			c->in.len += (size_t)n;
			turn += (size_t)n;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			c->gone = true;
		}
		take_bytes(c);
	}
	if (!c->gone)
		take_bytes(c); /* what came ahead, once the answer before it is out */
	/* Drain what a client sends after it was refused; otherwise it sees a reset instead of the answer. */
	if (c->state == CLIENT_LEAVES && client_unsent(c) == 0)
		shutdown(c->fd, SHUT_WR);
}
