/*
 * Streams: responses that continue while a run does. They are written to a connection whenever
 * there is something to send and the client accepts it.
 *
 * What the code relies on: nothing waits for a client. A stream has a position, in the feed's
 * backlog or in the file, from which it continues, and at most one piece of pending output, of
 * STREAM_PIECE bytes or one line.
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

/* The result of making a piece. */
enum stream_state {
	STREAM_MORE,             /* more can be made at once */
	STREAM_HEAD,             /* nothing more until the run changes */
	STREAM_END,              /* this was the last piece */
	STREAM_FAILED            /* an error: the stream is broken off */
};

/* Produces the content of a stream. Shared by all streams of a kind. */
struct stream_source {
	const char *type;        /* Content-Type */
	/* Appends the next piece, of about STREAM_PIECE bytes. */
	enum stream_state (*fill)(struct stream *s, struct buffer *out);
	/* What is sent to show that the connection is alive. */
	const char *heartbeat;
	/* Appends what tells the client to discard everything that it has, since all is sent again;
	 * NULL: the stream fails instead. */
	void (*reset)(struct stream *s, struct buffer *out);
	bool shared;             /* it sends exactly what the backlog contains */
	bool projected;          /* its positions are not offsets in the transcript: it handles a
	                            truncated file by itself */
	void (*free)(struct stream *s);
};

/* All streams of a server. */
struct streams {
	struct server *server;
	struct loop *loop;
	struct tokens *tokens;
	struct stream *first;
	size_t count;
	struct buffer piece;        /* the piece that is being made */
	struct buffer lines;        /* the lines from which it is made */
	struct loop_timer check;    /* checks the streams' tokens, while there are streams */
};

struct stream {
	struct streams *all;
	struct server *server;
	const struct stream_source *source;
	struct connection *connection; /* to which it writes; NULL: not yet, or not any more */
	bool standing;              /* its position is `at` in the backlog; else `offset` in the
	                               file */
	bool at_head;               /* the last piece left nothing to send */
	bool ending, failed;        /* nothing follows the pending output */
	bool always;                /* it goes on after the end of the run */
	uint64_t at;
	int64_t offset;
	struct feed *feed;          /* a reference; NULL */
	struct stream *next_of_feed, *previous_of_feed;
	struct stream *next, *previous; /* in the list of all streams */
	struct token *token;        /* the client's token; a reference is held */
	struct loop_timer timer;
	struct loop_task task;      /* scheduled while there is more to write */
	void *state;                /* the source's own data */
};

void streams_open(struct streams *s, struct server *server, struct loop *loop, struct tokens *tokens);
/* Makes a stream, which adds a reference to the feed; stream_begin() starts it. */
struct stream *stream_make(struct streams *all, const struct stream_source *source,
    struct feed *feed, struct token *token);
/* Starts the stream as the body of the connection's response. */
void stream_begin(struct stream *s, struct connection *c);
/* Called when there may be more to send, or when the client has accepted some of it. */
void stream_wake(struct stream *s);
/* Sends the backlog, which has grown, to the feed's streams that are in it. */
void streams_send(struct feed *feed);
/* Wakes all streams of the feed after any other change. */
void streams_wake(struct feed *feed);
/* The feed's file was truncated: its streams start again. */
void streams_reset(struct feed *feed);
/* Ends the streams whose token is not valid any more. */
void streams_check(struct streams *s);
void stream_free(struct stream *s);
/* Called when all streams have ended. */
void streams_close(struct streams *s);

#endif
