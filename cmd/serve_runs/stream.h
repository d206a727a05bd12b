/*
 * Streams: answers that go on while a run does. They are written to a connection here, each time
 * something is there and the client takes it.
 *
 * What the code relies on: nothing waits for a client. What it is sent next is a position, in the
 * feed's backlog or in the file; beside that it has at most one piece on its way, of STREAM_PIECE
 * bytes or one line.
 */
#ifndef AWF_SERVE_RUNS_STREAM_H
#define AWF_SERVE_RUNS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "httpd/loop.h"
#include "serve_runs/tokens.h"

#define STREAM_PIECE ((size_t)64 << 10)
#define STREAM_TURN ((size_t)512 << 10)  /* written to one client before the next has its turn */

struct connection;
struct feed;
struct server;
struct stream;

/* What a piece of the source came to. */
enum stream_state {
	STREAM_MORE,             /* there is more, now */
	STREAM_HEAD,             /* nothing more until something happens */
	STREAM_END,              /* this was the last */
	STREAM_FAILED            /* it cannot go on */
};

/* What a stream is made of. Shared by all streams of the kind. */
struct stream_source {
	const char *type;        /* Content-Type */
	/* Appends what comes next, some STREAM_PIECE bytes. */
	enum stream_state (*fill)(struct stream *s, struct buffer *out);
	/* Appends what shows that the connection lives. */
	const char *heartbeat;
	/* Appends that the client is to forget what it has, and that all comes anew; NULL: such a
	 * stream fails instead. */
	void (*reset)(struct stream *s, struct buffer *out);
	bool shared;             /* the backlog of the feed is of this kind */
	bool projected;          /* its places are not those of the file: it sees by itself to a cut */
	void (*free)(struct stream *s);
};

/* All streams of a server. */
struct streams {
	struct server *server;
	struct loop *loop;
	struct tokens *tokens;
	struct stream *first;
	size_t count;
	struct buffer piece;        /* that is made just now */
	struct buffer lines;        /* that it is made of */
	struct loop_timer check;    /* of their tokens, while there are any */
};

struct stream {
	struct streams *all;
	struct server *server;
	const struct stream_source *source;
	struct connection *connection; /* that is written to; NULL: not yet, or not any more */
	bool standing;              /* in the backlog, at `at`; else at `offset` of the file */
	bool at_head;               /* nothing was left when it was looked at last */
	bool ending, failed;        /* what is on its way is the last */
	bool always;                /* it goes on after the run's end */
	uint64_t at;
	int64_t offset;
	struct feed *feed;          /* held; NULL */
	struct stream *next_of_feed, *previous_of_feed;
	struct stream *next, *previous; /* of all */
	struct token *token;        /* held: whose it is */
	struct loop_timer timer;
	struct loop_task task;      /* entered while there is more to write */
	void *state;                /* of the source */
};

void streams_open(struct streams *s, struct server *server, struct loop *loop, struct tokens *tokens);
/* Makes one that is not begun. The feed is held by it from then on. */
struct stream *stream_make(struct streams *all, const struct stream_source *source,
    struct feed *feed, struct token *token);
/* From now on the connection's answer, which is one that grows, is the stream's. */
void stream_begin(struct stream *s, struct connection *c);
/* There may be more for a stream that had nothing to send, or the client has taken some of it. */
void stream_wake(struct stream *s);
/* To all streams of a feed that stand in its backlog, which has grown. */
void streams_send(struct feed *feed);
/* Something of the feed is not as it was: each of its streams looks. */
void streams_wake(struct feed *feed);
/* The feed's file was cut: its streams begin anew. */
void streams_reset(struct feed *feed);
/* Ends the streams of tokens that are not good any more. */
void streams_check(struct streams *s);
void stream_free(struct stream *s);
/* There are no streams any more. */
void streams_close(struct streams *s);

#endif
