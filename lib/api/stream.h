/*
 * What a model API answers, while it is read: server-sent events that come in pieces, or one body
 * of JSON. An API is a table of what its events mean, which fill one message (api/message.h);
 * whoever asks the API, or looks on while another asks, reads its answers by that.
 *
 * An answer is whole only when the API said so (message.ended): a stream that stops before is
 * none.
 */
#ifndef AWF_API_STREAM_H
#define AWF_API_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/failure.h"
#include "api/message.h"
#include "net/sse.h"

struct stream_api;

struct stream {
	/* Set by who reads. */
	const struct stream_api *api;
	struct span messages;            /* of the conversation so far, in which calls of tools have
	                                    their ids; absent: there are none */
	const char *secret;              /* that is hidden in errors; NULL */
	/* A piece of text as it comes; kind is "text", "thinking" or "tool". NULL: nobody looks. */
	void (*delta)(void *context, const char *kind, const char *text, size_t len);
	void *context;

	/* What has come. */
	struct message message;
	long events;
	int64_t progress;                /* of them, those that are more than a sign of life */
	size_t bytes;                    /* of the answer so far */
	char first;                      /* of the answer, white space aside; '\0': nothing came */
	bool refused;                    /* the API said itself that it has failed */
	bool failed;
	struct failure failure;          /* why, if failed */

	/* For the tables alone. */
	struct message draft;            /* pieces of what may come whole later */
	bool draft_refused;              /* they decline */
	struct buffer calling;           /* of calls of tools, for looking at, not yet sent */
	int64_t called;                  /* when some was, monotonic ms; 0: never */
	size_t calls;                    /* that have begun there */
	bool blank_reasons;              /* the server says "" where others say null */
	struct sse sse;
};

struct stream_api {
	const char *name;                /* as providers are called */
	bool done_ends;                  /* [DONE] ends a stream */
	/* One event's data, checked JSON. Errors end in stream_fail(). */
	void (*event)(struct stream *s, struct span data);
	/* An answer that is no stream, checked JSON. */
	void (*body)(struct stream *s, struct span body);
	/* It has come to its end: what can be said only now. */
	void (*finish)(struct stream *s);
};
extern const struct stream_api anthropic_stream, google_stream, openai_stream,
    openai_responses_stream;

/* Begins one, with nobody who looks on. */
void stream_open(struct stream *s, const struct stream_api *api);
/* Bytes of a stream of events. Not 0: it has failed, and no more is to be read of it. */
int stream_feed(struct stream *s, const char *bytes, size_t len);
/* All of an answer that is no stream. */
void stream_body(struct stream *s, const char *bytes, size_t len);
/* All that came has been read. */
void stream_finish(struct stream *s);
void stream_close(struct stream *s);

/* ---- for the tables ---- */

/* The answer is an error: of this category; the API broke its own rules; the API said so in
 * this value. */
void stream_error(struct stream *s, enum error_code category, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define stream_fail(s, ...) stream_error(s, ERROR_PROVIDER, __VA_ARGS__)
void stream_refused(struct stream *s, struct span error);
/* Why the answer ended: a word of the API, a JSON string, and what it said about it. One that
 * the table has not, or calls an error, is one. */
void stream_end(struct stream *s, const struct end *ends, struct span word, struct span said);
/* Hands a piece to who looks on. */
void stream_delta(const struct stream *s, const char *kind, const char *text, size_t len);
/* Appends to a block, and hands it on. */
void stream_text(struct stream *s, struct block *b, const char *kind, struct span text);
/* Likewise of the call of a tool, for looking at alone: a piece of its input, which may be
 * empty, with name where it begins with it (else NULL). Several pieces go by one delta, the last
 * ones by none. */
void stream_call(struct stream *s, const char *name, const char *input, size_t len);

#endif
