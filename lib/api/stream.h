/*
 * The answer of a model API while it is read: server-sent events that arrive in pieces, or one JSON
 * body. An API is a table of functions that interpret its events and fill one message
 * (api/message.h). It is used by API clients, and by a proxy that observes the answers to other
 * clients.
 *
 * An answer is complete only if the API says so (message.ended): a stream that stops before is not
 * an answer.
 */
#ifndef AWF_API_STREAM_H
#define AWF_API_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/failure.h"
#include "api/joined.h"
#include "api/message.h"
#include "base/map.h"
#include "net/sse.h"

struct stream_api;

struct stream {
	/* Set by the caller. */
	const struct stream_api *api;
	struct span messages;            /* the conversation so far, with the ids of its tool calls;
	                                    absent: none */
	char *const *secrets;            /* a list: to be hidden in errors and in deltas, where the end of
	                                    a piece waits while it may be the beginning of one; NULL:
	                                    none */
	struct span ends;                /* the endpoint's words for ends, an object; absent: none */
	struct span cost;                /* where the endpoint tells its cost (api/told_cost.h);
	                                    absent: nowhere */
	/* Called with each piece of text when it arrives; kind is "text", "thinking" or "tool".
	 * NULL: not wanted. */
	void (*delta)(void *context, const char *kind, const char *text, size_t len);
	void *context;

	/* The answer so far. */
	struct message message;
	long events;
	int64_t progress;                /* the number of events that are not keep-alives */
	size_t bytes;                    /* the size of the answer so far */
	struct buffer strange;           /* the end of unknown events and lines, for messages */
	char first;                      /* first byte that is not white space; '\0': nothing arrived */
	bool refused;                    /* the API has reported an error */
	bool failed;
	bool over;                       /* the answer ends here: ignore an event that is cut off */
	bool draft_refused;              /* the draft is a refusal */
	bool blank_reasons;              /* the server sends "" instead of null */
	struct failure failure;          /* if failed: the error */

	/* For the tables only. */
	struct message draft;            /* pieces of items that may still arrive whole */
	struct map items;                /* the ids of items without an index, numbered from 0; of Chat
	                                    Completions, those of calls */
	struct joined kept;              /* members of the message that have no place in a block */
	struct buffer held[3];           /* ends of deltas of each kind that may begin a secret */
	struct buffer calling;           /* tool calls to be displayed, not passed on yet */
	int64_t called;                  /* when the last of these were passed on, monotonic ms; 0:
	                                    never */
	size_t calls;                    /* the number of calls that have begun there */
	struct buffer whole;             /* an answer that begins as JSON or HTML, and may not be a
	                                    stream */
	struct sse sse;
};

struct stream_api {
	const char *name;                /* the name of the provider */
	bool done_ends;                  /* [DONE] ends the answer */
	/* Handles the data of one event, checked JSON. On an error it calls stream_fail(). */
	void (*event)(struct stream *s, struct span data);
	/* Handles an answer that is not a stream, checked JSON. */
	void (*body)(struct stream *s, struct span body);
	/* Called at the end, for everything that is known only then. */
	void (*finish)(struct stream *s);
};
extern const struct stream_api anthropic_stream, google_stream, openai_stream,
    openai_responses_stream;

/* Begins an answer, without a delta callback. */
void stream_open(struct stream *s, const struct stream_api *api);
/* Feeds bytes of an event stream. Not 0: it has failed, and the rest must not be read. */
int stream_feed(struct stream *s, const char *bytes, size_t len);
/* Handles a whole answer that is not a stream. */
void stream_body(struct stream *s, const char *bytes, size_t len);
/* The answer ends here. A last event without its blank line counts if it is complete; one JSON body
 * is accepted although a stream was requested. If the API has reported the end of the answer, it is
 * complete, even if the end of the stream is missing. */
void stream_finish(struct stream *s);
/* Passes on what is held back of deltas, as no more comes. */
void stream_end_deltas(struct stream *s);
void stream_close(struct stream *s);
/* How much memory has been allocated for it, but for what is small. */
size_t stream_memory(const struct stream *s);

/* ---- for the tables ---- */

/* Sets an error: with this category; because the API broke its own protocol; as described by the
 * API in this value. */
void stream_error(struct stream *s, enum error_code category, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define stream_fail(s, ...) stream_error(s, ERROR_PROVIDER, __VA_ARGS__)
void stream_refused(struct stream *s, struct span error);
/* Sets the stop reason from a word of the API, a JSON string, and its text about it. A word that is
 * not in the table, or is an error there, sets an error. */
void stream_end(struct stream *s, const struct end *ends, struct span word, struct span said);
/* Keeps the end of events and lines that the table does not know, in s->strange. */
void stream_strange(struct stream *s, struct span text);
/* Passes a piece on to the delta callback. */
void stream_delta(struct stream *s, const char *kind, const char *text, size_t len);
/* Appends text to a block, and passes it on. */
void stream_text(struct stream *s, struct block *b, const char *kind, struct span text);
/* Passes on pieces of a tool call, for display only: a piece of its input, which may be empty, and
 * the name if the call begins (else NULL). Several pieces are passed on together; the last ones are
 * not passed on. */
void stream_call(struct stream *s, const char *name, const char *input, size_t len);

#endif
