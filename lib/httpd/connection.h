/*
 * The connections of an HTTP server: requests are read from sockets and handed to a handler, and its
 * answers are written to them. It is the one place where AWF's programs speak HTTP as servers; each
 * has a handler, a row of io/connection_limits.h, and a loop (httpd/loop.h) in which it all happens.
 *
 * A connection reads one request at a time, and the next one when the answer to it is written:
 *
 *   READS_HEAD  Bytes are read until the head is whole (httpd/head.h). While none has come it is idle.
 *   READS_BODY  The body is read as the head frames it (httpd/framing.h), and the handler given
 *               each piece, to keep it here (connection_keep()) or to take it elsewhere.
 *   ASKS        The request is whole: the handler answers it, or lets it wait.
 *   WAITS       The handler answers it later.
 *   STREAMS     The answer grows: the handler writes what it has, until it ends or breaks it off.
 *   ANSWERS     The rest of the answer is written: what is in memory, then a part of a file.
 *   DRAINS      The answer was the last: what still comes is read and dropped, as the client would
 *               see a reset in place of the answer if it were left unread.
 *   BROKEN      It is closed as soon as the loop comes to it.
 *
 * What the code relies on, and keeps:
 *   - A request that is refused by its head has none of its body read, and one that is answered
 *     before its body is whole is the last of its connection: no byte of a body is taken for a head.
 *   - The handler's begin() is followed by one end(), answered or not, and nothing is called between
 *     end() and the next begin() or refuse().
 *   - Times are whole: a byte a second puts none off.
 *   - What waits here for a client to take it is at most what the handler has written: a stream asks
 *     connection_unsent() before it writes more.
 *   - Descriptor and buffers are the connection's; c->request is the handler's.
 */
#ifndef AWF_HTTPD_CONNECTION_H
#define AWF_HTTPD_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "httpd/connection_peer.h"
#include "httpd/framing.h"
#include "httpd/loop.h"
#include "httpd/refusal.h"
#include "io/connection_limits.h"
#include "json/scan.h"

struct connection;
struct head;

/* What a program does with the requests of its connections. */
struct connection_handler {
	/* A request begins, whose head stands in these bytes until this returns. A refusal: it is
	 * refused, without its body. */
	const struct refusal *(*begin)(struct connection *c, const struct head *h, struct span bytes);
	/* A piece of its body, of which so much more has been announced. A refusal: likewise. */
	const struct refusal *(*body)(struct connection *c, struct span piece, int64_t left);
	/* It is whole: it is to be answered, or to wait (connection_wait()); again after
	 * connection_wake(). */
	void (*answer)(struct connection *c);
	/* It is to be answered with this, also before it has begun: its head was none. */
	void (*refuse)(struct connection *c, const struct refusal *refusal);
	/* The client has taken some of a stream. */
	void (*ready)(struct connection *c);
	/* It is over, answered or not. */
	void (*end)(struct connection *c);
};

/* All connections of a program. Set what is before the line, the rest zero. */
struct httpd {
	struct loop *loop;
	const struct connection_handler *handler;
	struct connection_limits limits;
	size_t per_address;          /* connections of one address at most; 0: any number */
	unsigned spare_files;        /* descriptors that are left for other things; 0: not looked at */
	/* Whether somebody who finds no place is told so. Else he waits for one, and connections
	 * that have none of a request leave theirs, known or not. */
	bool turns_away;
	/* Whether a client that has closed its sending side still gets an answer that is waited for.
	 * Else it is taken to be gone. */
	bool half_closed;
	/* ---- */
	struct connection *first;    /* the newest */
	size_t count;
	size_t held;                 /* bytes of room that bodies have */
	int64_t stream_bytes;        /* sent in streams so far */
};

enum connection_state {
	CONNECTION_READS_HEAD, CONNECTION_READS_BODY, CONNECTION_ASKS, CONNECTION_WAITS,
	CONNECTION_STREAMS, CONNECTION_ANSWERS, CONNECTION_DRAINS, CONNECTION_BROKEN
};

struct connection {
	struct httpd *httpd;
	struct connection_peer peer;
	char address[PEER_ADDRESS];  /* by which it is counted */
	void *request;               /* the handler's; NULL: there is none */
	struct buffer body;          /* that connection_keep() has kept */
	bool admitted;               /* the handler's: it has shown who it is */
	bool http11;
	bool bodiless;               /* the answer has no body: it is to a HEAD, or a 204 or 304 */
	int64_t body_ms;             /* in which the body has to come; the handler's, in begin() */

	/* ---- its own ---- */
	enum connection_state state;
	int64_t came;                /* loop->now then */
	struct loop_source source;
	struct loop_task task;       /* entered while there is more to do */
	struct loop_timer limit;
	bool crowded;                /* there are too many from its address */
	bool readable;               /* there may be bytes to read */
	bool hung_up;                /* the client has closed its sending side */
	bool blocked;                /* the client has to take something first */
	bool close;                  /* after this answer */
	bool linger;                 /* though more of the request may come */
	bool paused;                 /* no more of its body is read for now */
	bool called;                 /* the handler is being called: what it asks for is done after that */
	bool chunked;                /* the stream is written in chunks */
	struct {
		struct buffer in;            /* read, and not taken yet */
		size_t looked;               /* of it, for the end of a head */
		bool spaced;                 /* an empty line came before the head */
		size_t dropped;              /* bytes, while it drains */
		struct framing framing;
		size_t room;                 /* bytes that its body may fill so far */
	} input;                      /* the request that comes */
	struct {
		struct buffer head, content; /* of the answer */
		size_t sent;                 /* of both */
		int file;                    /* behind them, this part of it; -1 */
		int64_t file_at, file_left;
	} answer;                     /* that goes */
	struct connection *previous, *next;
};

/* ---- a server ---- */

/* A socket that listens, where connections come from. It stays where it is until it is removed. */
struct httpd_listener {
	struct httpd *httpd;
	struct loop_source source;
	struct loop_timer pause;     /* set while nobody can be let in */
};

int httpd_listener_add(struct httpd_listener *l, struct httpd *h, int fd, struct error *err);
/* Closes the descriptor; nothing is done if there is none. */
void httpd_listener_remove(struct httpd_listener *l);

/* Lets in who is at the other end of a connected socket, which is closed if that cannot be: -1. */
int httpd_admit(struct httpd *h, int fd);
/* Closes all connections. Those that wait are asked for their answer once more. */
void httpd_close(struct httpd *h);

/* ---- a request ---- */

/* The connection is another address', as a proxy tells: false if there are too many from there. */
bool connection_from(struct connection *c, const char *address);
/* Keeps a piece of the body in c->body. A refusal: there is no room for it. */
const struct refusal *connection_keep(struct connection *c, struct span piece);
/* Whether no more of the body is read for now. */
void connection_pause(struct connection *c, bool paused);
/* The answer comes later. */
void connection_wait(struct connection *c);
/* Asks the handler again. */
void connection_wake(struct connection *c);

/* ---- its answer ---- */

/* An answer that is whole. fields: of its head, each with its CR LF, but for those that say how long
 * it is and whether the connection ends with it. The memory of both is taken. */
void connection_answer(struct connection *c, unsigned status, struct buffer *fields,
    struct buffer *content);
/* The same with a part of a file, whose descriptor is taken. */
void connection_answer_file(struct connection *c, unsigned status, struct buffer *fields, int fd,
    int64_t offset, int64_t len);

/* An answer that grows, of this length; -1: it is not known. */
void connection_stream(struct connection *c, unsigned status, struct buffer *fields, int64_t length);
/* Bytes of it that the client has not taken yet. */
size_t connection_unsent(const struct connection *c);
/* Writes some more of it: what the client does not take now waits. */
void connection_write(struct connection *c, const char *bytes, size_t len);
/* Two for who has it framed (httpd/framing.h) already, if c->chunked says so. Sends what the client
 * takes now, if nothing waits: how many bytes that are. Lets some wait behind what does. */
size_t connection_send(struct connection *c, const char *bytes, size_t len);
void connection_queue(struct connection *c, const char *bytes, size_t len);
/* Sends of what waits what the client takes now: how many bytes that are. */
size_t connection_flush(struct connection *c);
/* It is whole; or it was cut off, and the client is to see that. */
void connection_end(struct connection *c, bool cut_off);
/* Closes the connection without what waits, once the loop comes to it. */
void connection_break(struct connection *c);

#endif
