/*
 * Clients: one for each connection, from its accept to its close. It reads requests (net/head.h,
 * net/framing.h), hands them to the server's handler, and writes what they are answered with,
 * one after the other; a stream (serve/stream.h) writes to the socket by itself until it ends.
 *
 * Clients are limited in number, all together and by address; and in time: for a head, for a
 * body, for the next request, and for taking what they are sent. The first three are whole times,
 * so that a client who sends a byte a second is gone when they are over. Where all places are taken,
 * whoever has shown no token leaves first: connections that only stand there keep nobody out.
 */
#ifndef AWF_SERVE_CLIENT_H
#define AWF_SERVE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "net/framing.h"
#include "serve/access.h"
#include "serve/loop.h"

struct head;
struct refusal;
struct request;
struct server;

struct client;

/* What is done with the requests of clients: serve/request.h. */
struct client_handler {
	/* One begins, whose head stands in these bytes. It goes on unless a refusal is returned. */
	const struct refusal *(*begin)(struct client *c, const struct head *h, const char *bytes,
	    size_t len);
	/* A piece of its body, of which so much more has been announced. */
	const struct refusal *(*body)(struct client *c, struct span piece, int64_t left);
	/* It is whole: it is to be answered, or to wait. */
	void (*answer)(struct client *c);
	/* It is to be answered so, also before it has begun: its head is none. */
	void (*refuse)(struct client *c, const struct refusal *refusal);
	/* Something has happened to the socket while a stream has it: events of epoll(7). */
	void (*ready)(struct client *c, uint32_t events);
	/* It is over, answered or not. */
	void (*end)(struct client *c);
};

/* What is done with a client next. */
enum client_state {
	CLIENT_HEAD,             /* the head of a request is read */
	CLIENT_BODY,             /* its body */
	CLIENT_ASKED,            /* it is whole, and to be answered */
	CLIENT_WAITING,          /* the answer comes later */
	CLIENT_ANSWERED,         /* the answer is written */
	CLIENT_STREAMING,        /* by a stream */
	CLIENT_STREAMED,         /* that has ended */
	CLIENT_LEAVING           /* what still comes is dropped, so that it reads the answer */
};

struct client {
	struct server *server;
	struct loop_source source;
	struct loop_task task;       /* entered while there is more to do */
	struct loop_timer limit;
	struct peer peer;
	char address[PEER_ADDRESS];  /* by which it is counted */
	bool crowded;                /* there are too many from there */
	bool admitted;               /* a request of it came with a token, or from the user himself */
	enum client_state state;
	bool readable;               /* there may be bytes to read */
	bool close;                  /* after this answer */
	bool linger;                 /* though more of the request may come */
	bool held;                   /* no more of its body is read for now */
	int64_t body_ms;             /* in which that has to come; the handler's, while it begins */
	bool broken, chunked;        /* the stream was broken off; it was written in chunks */
	struct buffer in;            /* read, and not taken yet */
	size_t looked;               /* of it, for the end of a head */
	bool spaced;                 /* an empty line came before the head */
	size_t dropped;              /* bytes, while it is leaving */
	struct framing framing;
	struct buffer head, content; /* of the answer */
	size_t sent;                 /* of both */
	int file;                    /* behind them, this part of it; -1 */
	int64_t file_at, file_left;
	struct request *request;     /* of the handler; NULL: none */
	struct client *previous, *next;
};

/* Takes in who waits at a listener; false: there is nothing to take him in with just now. */
bool client_accept(struct server *s, int listener);
/* The same of a socket that is connected; it is closed if it cannot be. Returns -1 then. */
int client_add(struct server *s, int fd);
/* Another address, told by a proxy: false if there are too many from there. */
bool client_from(struct client *c, const char *address);

/* Whether no more of the body is read for now. */
void client_hold(struct client *c, bool held);
/* The request is to be answered now: if its body is not whole, the connection ends with it. */
void client_answers(struct client *c);
/* The request is answered with these, which are taken: a head, and what follows it. */
void client_answer(struct client *c, struct buffer *head, struct buffer *content);
/* The same with a part of a file, whose descriptor is taken. */
void client_answer_file(struct client *c, struct buffer *head, int fd, int64_t offset, int64_t len);
/* Its request can be answered now. */
void client_wake(struct client *c);
/* Its stream, in chunks or not, has ended, or was broken off. */
void client_streamed(struct client *c, bool chunked, bool broken);
/* Closes all, answering those that wait. */
void clients_close(struct server *s);

#endif
