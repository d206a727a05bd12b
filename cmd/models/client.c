/*
 * A connection is read until a request is whole, and then waits for its answer; one that is closed
 * meanwhile is noticed. What a head must be like is net/head.h's, for two programs read it: this
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

#include "base/file.h"
#include "base/memory.h"
#include "json/writer.h"
#include "proxy.h"

#define READ_AT_ONCE 65536
#define AHEAD_MOST ((size_t)64 << 10) /* of what comes before the answer is out */

void
proxy_say(struct buffer *line)
{
	buffer_byte(line, '\n');
	/* Nobody to say it to: what comes next on stdin is its end. */
	(void)file_write(STDOUT_FILENO, line->data, line->len);
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
	c->next = p->clients;
	p->clients = c;
	p->client_count++;
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
	c->exchange = NULL;
	buffer_clear(&c->body);
	c->state = c->close || broken ? CLIENT_LEAVES : CLIENT_HEAD;
	c->looked = 0;
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

/* The request is whole. */
static void
take_request(struct client *c)
{
	struct head h;
	struct meaning meaning;
	const char *refused;

	head_read(&h, c->head.data, c->head.len);
	meaning = apis_meaning(&h);
	refused = apis_refuses(&h);
	if (refused != NULL) {
		client_error(c, meaning.family, 400, "", refused);
	} else if (head_value(&h, "Upgrade").at != NULL &&
	    !head_is(head_value(&h, "Upgrade"), "h2c")) {
		client_error(c, meaning.family, 426, "Upgrade: HTTP/1.1\r\n",
		    "awf-models-proxy speaks HTTP/1.1 alone, without websockets");
	} else if (!(c->within = apis_admit(&h, c->proxy->within)) && !apis_admit(&h, c->proxy->token)) {
		struct buffer line = BUFFER_INIT;
		struct writer w;

		writer_begin(&w, &line);
		writer_object(&w);
		writer_member_integer(&w, "refused", 401);
		writer_object_end(&w);
		proxy_say(&line);
		client_error(c, meaning.family, 401, "", "this is no key of the step that the program "
		    "runs in: it is to take the one in its environment");
	} else {
		c->state = CLIENT_WAITS;
		c->proxy->handler->begin(c, &h, meaning);
	}
	buffer_free(&c->body);
}

/* A body is waited for, unless there is none. False: nothing more can be read. */
static bool
begin_body(struct client *c, const struct head *h)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (h->length > (int64_t)BODY_LIMIT) {
		refuse(c, 413, "the body of the request is too large");
		return false;
	}
	c->state = CLIENT_BODY;
	c->whole = !h->chunked && h->length == 0;
	framing_begin(&c->framing, h->chunked, h->length);
	if (h->expects && c->in.len == 0)
		client_send(c, go_on, sizeof go_on - 1);
	return true;
}

/* False: more has to come, or nothing more can be read. */
static bool
read_head(struct client *c)
{
	size_t end = c->in.len > 0 ? head_end(c->in.data, c->in.len, c->looked) : 0;
	const struct refusal *refusal;
	struct head h;

	if (end == 0 && c->in.len < HEAD_BYTES) {
		c->looked = c->in.len;
		return false;
	}
	if (end == 0 || end > HEAD_BYTES) {
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
	if (refusal == NULL)
		return begin_body(c, &h);
	refuse(c, refusal->status, refusal->message);
	return false;
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
	else if (c->body.len > BODY_LIMIT)
		refuse(c, 413, "the body of the request is too large");
	else if (c->whole)
		take_request(c);
	else
		return false;
	return c->state == CLIENT_HEAD;
}

bool
client_reads(const struct client *c)
{
	return c->state != CLIENT_WAITS || c->in.len < AHEAD_MOST;
}

bool
client_writes(const struct client *c)
{
	return client_unsent(c) > 0;
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
	while (!c->gone && client_reads(c) && n > 0) {
		n = recv(c->fd, buffer_reserve(&c->in, READ_AT_ONCE), READ_AT_ONCE, MSG_DONTWAIT);
		if (n > 0)
			c->in.len += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			c->gone = true;
		if (c->state == CLIENT_LEAVES)
			buffer_clear(&c->in);
	}
	while (!c->gone && (c->state == CLIENT_HEAD ? read_head(c) : c->state == CLIENT_BODY && read_body(c)))
		continue;
	/* Who was refused while he sent reads why only if what he sends is read. */
	if (c->state == CLIENT_LEAVES && client_unsent(c) == 0)
		shutdown(c->fd, SHUT_WR);
}
