/*
 * The answer of a model API while it is read: server-sent events that come in pieces, or one JSON
 * body. An API is a table of functions that interpret its events and fill one message
 * (api/message.h). Both the client of an API and a proxy that watches another client use it.
 *
 * An answer is complete only if the API said so (message.ended): a stream that stops before is not
 * an answer.
 */
#ifndef AWF_API_STREAM_H
#define AWF_API_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/failure.h"
#include "api/joined.h"
#include "api/message.h"
#include "net/sse.h"

struct stream_api;

struct stream {
	/* Set by who reads. */
	const struct stream_api *api;
	struct span messages;            /* of the conversation so far, with the ids of its tool
	                                    calls; absent: there are none */
	const char *secret;              /* that is hidden in errors; NULL */
	struct span ends;                /* words of the endpoint for ends, an object; absent: none */
	struct span cost;                /* where it tells its cost (api/told_cost.h); absent: nowhere */
	/* A piece of text as it arrives; kind is "text", "thinking" or "tool". NULL: not wanted. */
	void (*delta)(void *context, const char *kind, const char *text, size_t len);
	void *context;

	/* What has come. */
	struct message message;
	long events;
	int64_t progress;                /* bytes that are more than a keep-alive */
	size_t bytes;                    /* of the answer so far */
	struct buffer strange;           /* the end of what was not understood, to be quoted */
	char first;                      /* first byte that is not white space; '\0': nothing arrived */
	bool refused;                    /* the API itself reported an error */
	bool failed;
	bool over;                       /* nothing more comes: what is cut off now is no fault */
	bool draft_refused;              /* what is in draft declines */
	bool blank_reasons;              /* the server sends "" where others send null */
	struct failure failure;          /* why, if failed */

	/* For the tables alone. */
	struct message draft;            /* pieces of what may come whole later */
	struct joined kept;              /* members of the message that have no place in a block */
	struct buffer calling;           /* of tool calls, for display, not sent yet */
	int64_t called;                  /* when some was, monotonic ms; 0: never */
	size_t calls;                    /* that have begun there */
	struct buffer whole;             /* bytes of an answer that begins as JSON or a page: no stream */
	struct sse sse;
};

struct stream_api {
	const char *name;                /* as providers are called */
	bool done_ends;                  /* [DONE] ends a stream */
	/* Handles the data of one event, checked JSON. Errors end in stream_fail(). */
	void (*event)(struct stream *s, struct span data);
	/* Handles an answer that is not a stream, checked JSON. */
	void (*body)(struct stream *s, struct span body);
	/* Called at the end, for what is known only then. */
	void (*finish)(struct stream *s);
};
extern const struct stream_api anthropic_stream, google_stream, openai_stream,
    openai_responses_stream;

/* Begins one, with nobody who looks on. */
void stream_open(struct stream *s, const struct stream_api *api);
/* Feeds bytes of a stream of events. Not 0: it has failed, and nothing more of it is to be read. */
int stream_feed(struct stream *s, const char *bytes, size_t len);
/* Handles a whole answer that is not a stream. */
void stream_body(struct stream *s, const char *bytes, size_t len);
/* Nothing more comes: a last event without its end counts if it is whole, and an answer that came
 * as one JSON body although a stream was asked for is read as that. An end that the API has said
 * makes the answer complete, whatever else of the stream's end is missing. */
void stream_finish(struct stream *s);
void stream_close(struct stream *s);

/* ---- for the tables ---- */

/* The answer is an error: of this category; or because the API broke its own rules; or as the
 * API describes in this value. */
void stream_error(struct stream *s, enum error_code category, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define stream_fail(s, ...) stream_error(s, ERROR_PROVIDER, __VA_ARGS__)
void stream_refused(struct stream *s, struct span error);
/* Sets the reason for the end: a word of the API, a JSON string, and its text about it. A word
 * that is not in the table, or that the table calls an error, is an error. */
void stream_end(struct stream *s, const struct end *ends, struct span word, struct span said);
/* An event, or a line, that the table does not know: the end of such is kept in s->strange. */
void stream_strange(struct stream *s, struct span text);
/* Hands a piece to who looks on. */
void stream_delta(const struct stream *s, const char *kind, const char *text, size_t len);
/* Appends to a block, and passes the text on. */
void stream_text(struct stream *s, struct block *b, const char *kind, struct span text);
/* The same for a tool call, for display only: a piece of its input, which may be empty, with
 * name where it begins with it (else NULL). Several pieces are sent in one delta; the last ones
 * are not sent. */
void stream_call(struct stream *s, const char *name, const char *input, size_t len);

#endif
