/*
 * The connections of an HTTP server: reads requests from sockets, passes them to a handler, and
 * writes its answers. All of AWF's HTTP servers use this code; each has a handler, a row of
 * io/connection_limits.h, and a loop (httpd/loop.h) in which everything happens.
 *
 * A connection reads one request at a time, and the next one after the answer was written. Its
 * states:
 *
 *   READS_HEAD  Bytes are read until the head is complete (httpd/head.h). Before the first byte
 *               the connection is idle.
 *   READS_BODY  The body is read as the head frames it (httpd/framing.h); the handler is given
 *               each piece, to keep it here (connection_keep()) or elsewhere.
 *   ASKS        The request is complete: the handler answers it, or lets it wait.
 *   WAITS       The handler answers it later.
 *   STREAMS     The answer grows: the handler writes what it has, until it ends or breaks it off.
 *   ANSWERS     The rest of the answer is written: what is in memory, then a part of a file.
 *   DRAINS      The answer was the last one: the rest of the request is read and dropped; otherwise
 *               the client would see a reset instead of the answer.
 *   BROKEN      It is closed as soon as the loop comes to it.
 *
 * What the code relies on, and maintains:
 *   - If a request is refused because of its head, its body is not read. A request that is answered
 *     before its body is complete is the last of its connection. So no byte of a body is read as a
 *     head.
 *   - Each begin() of the handler is followed by one end(), answered or not, and nothing is called
 *     between end() and the next begin() or refuse().
 *   - Time limits apply to the whole: a byte a second does not extend them.
 *   - Pending output is at most what the handler has written: a stream checks connection_unsent()
 *     before it writes more.
 *   - Descriptor and buffers belong to the connection; c->request belongs to the handler.
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
	/* A request begins; its head is in these bytes, which are valid during the call. Returns a
	 * refusal to refuse it without reading its body. */
	const struct refusal *(*begin)(struct connection *c, const struct head *h, struct span bytes);
	/* A piece of its body, of which `left` more bytes were announced. Returns a refusal as
	 * above. */
	const struct refusal *(*body)(struct connection *c, struct span piece, int64_t left);
	/* The request is complete: answer it, or let it wait (connection_wait()). Called again
	 * after connection_wake(). */
	void (*answer)(struct connection *c);
	/* Answer it with this refusal. Called without begin() if the head was invalid. */
	void (*refuse)(struct connection *c, const struct refusal *refusal);
	/* The client has read a part of a stream. */
	void (*ready)(struct connection *c);
	/* The request is over, answered or not. */
	void (*end)(struct connection *c);
};

/* All connections of a program. Set the members above the line, and zero the others. */
struct httpd {
	struct loop *loop;
	const struct connection_handler *handler;
	struct connection_limits limits;
	size_t per_address;          /* connections from one address, at most; 0: any number */
	unsigned spare_files;        /* descriptors that must stay free for other things; 0: not
	                                	                                checked */
	/* Whether a client for which there is no room is refused with an answer. If not, it waits,
	 * and connections without a request, admitted or not, are closed. */
	bool turns_away;
	/* Whether a client that has closed its sending side still gets a pending answer. If not,
	 * it counts as gone. */
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
	char address[PEER_ADDRESS];  /* its connections are counted by this */
	void *request;               /* the handler's; NULL: there is no request */
	struct buffer body;          /* the pieces that connection_keep() has kept */
	bool admitted;               /* set by the handler: the client has authenticated */
	bool http11;
	bool bodiless;               /* the answer has no body: it is for a HEAD, or a 204 or 304 */
	int64_t body_ms;             /* time limit for the body; set by the handler in begin() */
	bool long_wait;              /* set by the handler: the request may wait for long, so a client
	                                that has closed its sending side counts as gone */

	/* ---- private ---- */
	enum connection_state state;
	int64_t came;                /* loop->now when it was accepted */
	struct loop_source source;
	struct loop_task task;       /* entered while there is more to do */
	struct loop_timer limit;
	bool crowded;                /* there are too many from its address */
	bool readable;               /* the socket may have bytes to read */
	bool hung_up;                /* the client has closed its sending side */
	bool blocked;                /* the socket accepts no more bytes: the client must read first */
	bool close;                  /* close it after this answer */
	bool linger;                 /* before it is closed, the rest of the request is read */
	bool paused;                 /* reading the body is suspended */
	bool called;                 /* the handler is being called: what it requests is done
	                                	                                afterwards */
	bool chunked;                /* the stream is written in chunks */
	struct {
		struct buffer in;            /* bytes that were read and not processed yet */
		size_t looked;               /* bytes that were searched for the end of the head */
		bool spaced;                 /* an empty line came before the head */
		size_t dropped;              /* bytes dropped in state DRAINS */
		struct framing framing;
		size_t room;                 /* bytes reserved for its body so far */
	} input;                      /* the request that is being read */
	struct {
		struct buffer head, content; /* in memory */
		size_t sent;                 /* bytes sent of head and content together */
		int file;                    /* a part of this file is sent after them; -1: none */
		int64_t file_at, file_left;
	} answer;                     /* the answer that is being written */
	struct connection *previous, *next;
};

/* ---- a server ---- */

/* A socket that accepts connections. The struct must not move until it is removed. */
struct httpd_listener {
	struct httpd *httpd;
	struct loop_source source;
	struct loop_timer pause;     /* set while no connection can be accepted */
};

int httpd_listener_add(struct httpd_listener *l, struct httpd *h, int fd, struct error *err);
/* Closes the descriptor, if there is one. */
void httpd_listener_remove(struct httpd_listener *l);

/* Adds a connected socket. -1: there is no room, and it was closed. */
int httpd_admit(struct httpd *h, int fd);
/* Closes all connections. Pending requests are asked for their answer once more. */
void httpd_close(struct httpd *h);

/* ---- a request ---- */

/* Sets the client's address, as a proxy reports it: false if it has too many connections. */
bool connection_from(struct connection *c, const char *address);
/* Appends a piece of the body to c->body. Returns a refusal if there is no room for it. */
const struct refusal *connection_keep(struct connection *c, struct span piece);
/* Frees the kept body of a request that waits, and does not need it any more. */
void connection_forget_body(struct connection *c);
/* Suspends or resumes reading the body. */
void connection_pause(struct connection *c, bool paused);
/* The answer comes later. */
void connection_wait(struct connection *c);
/* Asks the handler again. */
void connection_wake(struct connection *c);

/* ---- its answer ---- */

/* A complete answer. fields: of its head, each with CR LF, without those about its length and
 * the end of the connection. Takes ownership of both buffers. */
void connection_answer(struct connection *c, unsigned status, struct buffer *fields,
    struct buffer *content);
/* The same with a part of a file; takes ownership of the descriptor. */
void connection_answer_file(struct connection *c, unsigned status, struct buffer *fields, int fd,
    int64_t offset, int64_t len);

/* An answer that grows, of this length; -1: unknown. */
void connection_stream(struct connection *c, unsigned status, struct buffer *fields, int64_t length);
/* Pending bytes of the answer, which are not written to the socket yet. */
size_t connection_unsent(const struct connection *c);
/* Writes more of it: what the client does not accept now stays pending. */
void connection_write(struct connection *c, const char *bytes, size_t len);
/* Two functions for callers that have framed the bytes themselves (httpd/framing.h), if
 * c->chunked demands that. The first sends what the client accepts now, if nothing is pending,
 * and returns how many bytes that was. The second appends to the pending output. */
size_t connection_send(struct connection *c, const char *bytes, size_t len);
void connection_queue(struct connection *c, const char *bytes, size_t len);
/* Sends as much pending output as the client accepts now; returns how many bytes. */
size_t connection_flush(struct connection *c);
/* The answer is complete; or it was cut off, and the client must notice that. */
void connection_end(struct connection *c, bool cut_off);
/* Closes the connection without sending pending output, once the loop comes to it. */
void connection_break(struct connection *c);

#endif
