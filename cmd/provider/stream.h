/*
 * Model APIs that answer a POST with server-sent events: everything that they
 * have in common. An API is a table of what is its own (where to send, how to
 * write the request, what its events mean); its program is that table and
 *
 *     int main(int argc, char **argv) { return stream_main(&api, argc, argv); }
 *
 * An answer is whole only when the API said so (message.ended); a stream that
 * stops before is an error `network`, never an answer. A key goes into its header
 * and nowhere else.
 */
#ifndef AWF_PROVIDER_STREAM_H
#define AWF_PROVIDER_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"
#include "net/sse.h"
#include "proc/api_keys.h"
#include "provider.h"

struct stream_api;

/* One request and its answer. */
struct stream {
	const struct stream_api *api;
	const struct provider_variables *variables;
	struct provider *provider;
	const struct provider_request *request;
	const char *base;                /* URL, may end in a slash */
	const char *key;                 /* NULL: none */
	struct message message;
	struct message draft;            /* pieces of what may come whole later */
	bool draft_refused;              /* they decline */
	struct sse sse;
	struct buffer calling;           /* of calls of tools, for looking at, not yet sent */
	int64_t called;                  /* when some was, monotonic ms; 0: never */
	size_t calls;                    /* that have begun there */
	size_t bytes;                    /* of the answer so far */
	char first;                      /* of the answer, white space aside; '\0': nothing came */
	long events;
	bool blank_reasons;              /* the server says "" where others say null */
	bool failed;
	struct provider_failure failure; /* why, if failed */
};

struct stream_api {
	const char *program, *usage;
	const char *base;                       /* the API's own server, a URL */
	const char *key_header;                 /* "x-api-key: " */
	bool key_optional;                      /* where the base is not the default */
	const char *header;                     /* a fixed one; may be NULL */
	const char *const *media_types;         /* of attachments that it takes; ends with NULL */
	bool done_ends;                         /* [DONE] ends a stream */
	/* Whether the API can be asked this: -1 with ERROR_INVALID if not. NULL: anything. */
	int (*check)(const struct provider_request *r, struct error *err);
	const char *path;                       /* what follows the base in the URL; NULL: */
	void (*model_path)(const struct stream *s, struct buffer *url); /* writes it */
	void (*body)(const struct stream *s, struct writer *w);
	/* One event's data, checked JSON. Errors end in stream_fail(). */
	void (*event)(struct stream *s, struct span data);
	/* The stream has come to its end: what can be said only now. */
	void (*finish)(struct stream *s);
};

/* Pictures and PDF, as most APIs take them. */
extern const char *const stream_media_types[];

int stream_main(const struct stream_api *api, int argc, char **argv);

/* The answer is an error: of this category; the API broke its own rules; the API said so in
 * this value. */
void stream_error(struct stream *s, enum error_code category, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define stream_fail(s, ...) stream_error(s, ERROR_PROVIDER, __VA_ARGS__)
void stream_refused(struct stream *s, struct span error);
/* Why the answer ended: a word of the API, a JSON string, and what it said about it. One that
 * the table has not, or calls an error, is one. */
void stream_end(struct stream *s, const struct end *ends, struct span word, struct span said);
/* Appends to a block and, if the request wants it, sends a delta. */
void stream_text(struct stream *s, struct block *b, const char *kind, struct span text);
/* Likewise of the call of a tool, for looking at alone: a piece of its input, which may be
 * empty, with name where it begins with it (else NULL). Several pieces go by one delta, the last
 * ones by none. */
void stream_call(struct stream *s, const char *name, const char *input, size_t len);

/* Whether the name of a model, without its vendor's or a collection's, matches one of
 * these patterns (fnmatch(3)), which end with NULL. */
bool stream_model(struct span model, const char *const *patterns);
/* Whether a block of a request holds what only this API understands. */
bool stream_own(struct span block, const char *api);
/* The type of a block that an API said in a way of its own, absent for all others. */
struct span stream_own_type(struct span block);
/* Whether another API than this ran the block's tool itself, or said the block in a
 * way of its own: it means nothing here. */
bool stream_foreign(struct span block, const char *api);
/* Whether a block of a request is of a type. */
bool stream_type(struct span block, const char *type);
/* A member of raw that only this API understands. */
struct span stream_own_raw(struct span block, const char *api, const char *member);

/* The parameter `thinking` of awf-provider(7): false, true, an effort, a number of tokens, or an
 * object that the API takes as it is. Some APIs want tokens, others an effort. */

/* Tokens to think with, those in an object (`budget_tokens`) too; 0: not said. */
long long thinking_budget(struct span thinking);
/* The effort that it asks for where it is no word for one: "medium" if it is true, one by
 * the number of tokens; NULL if it is anything else. */
const char *thinking_effort(struct span thinking);

#endif
