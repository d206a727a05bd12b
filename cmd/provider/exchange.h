/*
 * Model APIs that answer a POST with server-sent events: everything that they
 * have in common. An API is a table of what is its own (where to send, how to
 * write the request, what its events mean); its program is that table and
 *
 *     int main(int argc, char **argv) { return exchange_main(&api, argc, argv); }
 *
 * An answer is whole only when the API said so (message.ended); a stream that
 * stops before is an error `network`, never an answer. A key goes into its header
 * and nowhere else, and to the server of the same endpoint (providers/endpoint.h) alone.
 */
#ifndef AWF_PROVIDER_EXCHANGE_H
#define AWF_PROVIDER_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/stream.h"
#include "bound.h"
#include "destination.h"
#include "provider.h"
#include "providers/endpoint.h"

struct exchange_api;

struct client;

/* One request on its way, and its answer. */
struct exchange {
	const struct exchange_api *api;
	const struct endpoint *endpoint;
	struct provider *provider;       /* whose client asks */
	const struct provider_request *request; /* params without what destination.h takes, messages as they go
	                                           out (foreign.h) */
	const char *model;               /* decoded */
	bool unthinking;                 /* it is told not to think */
	const char *base;                /* URL, without a slash at its end */
	const char *key;                 /* NULL: none */
	const char *place;               /* what says the server: a variable, or the endpoint's file */
	struct bound *bound;             /* to what was sent, an API's thoughts are bound */
	struct stream stream;            /* the answer */

	/* For exchange.c alone. */
	struct client *client;
	struct provider_request own_request;
	struct bound own_bound;
	char *model_text, *told;         /* told: the name of a header with the cost, or NULL */
	struct buffer messages, body;
	struct destination destination;
	struct http_call call;
	bool asked_again;                /* with a new key */
	struct exchange *next;           /* of all */
	struct exchange *next_waiting;   /* for the command that says the key */
	size_t memory;                   /* stream_memory(), */
	int64_t fed_at;                  /* since then, monotonic ms */
	bool behind;                     /* it is paused until its client has read what is there */
	bool crowded;                    /* it is paused until other exchanges have ended */
};

struct exchange_api {
	const char *program, *usage;
	const char *endpoint;                   /* where there is no file of the program's name, JSON */
	const char *key_header;                 /* "x-api-key: ", where the endpoint says none */
	bool key_optional;                      /* where the environment says the server */
	const char *header;                     /* a fixed one; may be NULL */
	const char *const *media_types;         /* of attachments that it takes; ends with NULL */
	const char *ids;                        /* of calls that it takes, an extended regular
	                                           expression for all of one; NULL: any */
	const char *rooted;                     /* its name, if it refuses alternatives at the root of a
	                                           tool's schema; else NULL */
	const struct stream_api *stream;        /* what its answers mean */
	/* Whether the API can be asked this: -1 with ERROR_INVALID if not. NULL: anything. */
	int (*check)(const struct exchange *x, struct error *err);
	/* What follows the base in the URL, where the endpoint says no path; NULL: */
	const char *path;
	void (*model_path)(const struct exchange *x, struct buffer *url); /* writes it */
	void (*body)(const struct exchange *x, struct writer *w);
	/* Called with what has come, before it is judged; with the answer, once it is whole. May be
	 * NULL. */
	void (*read)(struct exchange *x);
	void (*answered)(struct exchange *x);
};

/* Pictures and PDF, as most APIs take them. */
extern const char *const request_media_types[];

int exchange_main(const struct exchange_api *api, int argc, char **argv);

/* Whether the name of a model, without its vendor's or a collection's, matches one of
 * these patterns (fnmatch(3)), which end with NULL. */
bool request_model(struct span model, const char *const *patterns);
/* What the endpoint says of the model that is asked: a key of awf-endpoint(5); may be absent. */
struct span request_endpoint(const struct exchange *x, const char *key);
/* How an output_schema is said to the API, as the endpoint takes it (`schema`). */
enum schema_use {
	SCHEMA_UNSAID,  /* only in words, to the model, by awf-step */
	SCHEMA_JSON,    /* that it is to be JSON */
	SCHEMA_WHOLE
};
enum schema_use request_schema(const struct exchange *x);
/* Whether a block of a request holds what only this API understands. */
bool request_own(struct span block, const char *api);
/* The type of a block that an API said in a way of its own, absent for all others. */
struct span request_own_type(struct span block);
/* Whether another API than this ran the block's tool itself, or said the block in a
 * way of its own: it means nothing here. */
bool request_foreign(struct span block, const char *api);
/* Whether a block of a request is of a type. */
bool request_type(struct span block, const char *type);
/* A member of raw that only this API understands. */
struct span request_own_raw(struct span block, const char *api, const char *member);

/* The parameter `thinking` of awf-provider(7): false, true, an effort, a number of tokens, or an
 * object that the API takes as it is. Some APIs want tokens, others an effort. */

/* Tokens to think with, those in an object (`budget_tokens`) too; 0: not said. */
long long thinking_budget(struct span thinking);
/* The effort that it asks for where it is no word for one: "medium" if it is true, one by
 * the number of tokens; NULL if it is anything else. */
const char *thinking_effort(struct span thinking);

#endif
