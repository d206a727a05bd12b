/*
 * The library is given connected sockets. It tells of each connection by a callback, while it
 * takes it: whose it is is noted before.
 */
#define _GNU_SOURCE /* accept4() */
#include "serve/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/patience.h"
#include "serve/serve.h"

#define ACCEPTED_AT_ONCE 64
#define SPARE_CLIENTS 16 /* that are told by an answer that there are too many */

static const char full[] =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n"
    "Content-Type: application/json\r\nContent-Length: 79\r\n\r\n"
    "{\"error\":{\"code\":\"unavailable\",\"message\":\"too many clients: try again later\"}}\n";

/* Its time is over: the library sees the connection closed, and lets it go. */
static void
limit_due(struct loop_timer *timer)
{
	struct client *c = (struct client *)(void *)((char *)timer - offsetof(struct client, limit));

	shutdown(c->fd, SHUT_RDWR);
}

void
client_limit(struct client *c, int64_t ms)
{
	if (ms == 0)
		loop_unset(&c->server->loop, &c->limit);
	else
		loop_set(&c->server->loop, &c->limit, ms);
}

/* How many others come from an address. */
static size_t
count_from(const struct server *s, const struct client *but, const char *address)
{
	size_t count = 0;

	for (const struct client *c = s->clients; c != NULL; c = c->next)
		count += c != but && strcmp(c->address, address) == 0;
	return count;
}

bool
client_from(struct client *c, const char *address)
{
	const struct server *s = c->server;

	if (strcmp(address, c->address) == 0)
		return !c->crowded;
	memcpy(c->address, address, PEER_ADDRESS);
	c->crowded = s->settings.clients_per_address > 0 &&
	    count_from(s, c, address) >= (size_t)s->settings.clients_per_address;
	return !c->crowded;
}

static void
leave(struct client *c)
{
	loop_unset(&c->server->loop, &c->limit);
	*(c->previous != NULL ? &c->previous->next : &c->server->clients) = c->next;
	if (c->next != NULL)
		c->next->previous = c->previous;
	c->server->client_count--;
	free(c);
}

void
client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
	struct server *s = context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		s->arriving->connection = connection;
		*socket_context = s->arriving;
		s->arriving = NULL;
	} else if (*socket_context != NULL) {
		leave(*socket_context);
		*socket_context = NULL;
	}
}

int
client_add(struct server *s, int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof address;
	struct client *c;

	if (s->client_count >= (size_t)s->settings.clients + SPARE_CLIENTS) {
		send(fd, full, sizeof full - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		file_close(&fd);
		return -1;
	}
	memset(&address, 0, sizeof address);
	if (getpeername(fd, (struct sockaddr *)&address, &len) != 0) {
		file_close(&fd);
		return -1;
	}
	/* One of a Unix socket has no name; the library asks for one that is not empty. */
	if (len < sizeof address.ss_family || address.ss_family == AF_UNIX)
		len = sizeof(struct sockaddr);
	c = memory_zero(1, sizeof *c);
	c->server = s;
	c->fd = fd;
	c->limit.due = limit_due;
	peer_of(&c->peer, fd);
	memcpy(c->address, c->peer.address, PEER_ADDRESS);
	/* Of this machine itself there may be any number: a proxy on it says whose they are. */
	c->crowded = !c->peer.local && !c->peer.loopback && s->settings.clients_per_address > 0 &&
	    count_from(s, c, c->address) >= (size_t)s->settings.clients_per_address;
	c->next = s->clients;
	if (c->next != NULL)
		c->next->previous = c;
	s->clients = c;
	s->client_count++;
	client_limit(c, CLIENT_HEAD_MS);
	s->arriving = c;
	if (MHD_add_connection(s->daemon, fd, (struct sockaddr *)&address, len) != MHD_YES) {
		/* The library has closed the socket, and said so unless it had not begun. */
		if (s->arriving == c)
			leave(c);
		s->arriving = NULL;
		return -1;
	}
	return 0;
}

void
client_accept(struct server *s, int listener)
{
	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd == -1)
			return;
		client_add(s, fd);
	}
}
