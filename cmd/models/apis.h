/*
 * The model APIs that a proxy stands in for, as far as their requests tell: which of them is asked
 * for what, where keys stand, and how each says an error. It knows nothing of sockets, nor of what
 * is answered (api/stream.h).
 */
#ifndef AWF_MODELS_APIS_H
#define AWF_MODELS_APIS_H

#include <stdbool.h>

#include "api/stream.h"
#include "base/buffer.h"
#include "httpd/head.h"
#include "json/scan.h"

/* Whose servers they are, each with one base and one key. */
enum family { FAMILY_OPENAI, FAMILY_ANTHROPIC, FAMILY_GOOGLE, FAMILY_VERTEX, FAMILIES };
/* Their names; what they are reached at if nobody says otherwise. */
extern const char *const family_names[FAMILIES];
extern const char *const family_bases[FAMILIES];

/* What a request is for. */
struct meaning {
	enum family family;
	/* How its answer is read, of a model that is asked; NULL: no model is. */
	const struct stream_api *generation;
	bool chat;                /* it is of Chat Completions, and may ask for its usage */
	bool reads;               /* nothing is changed by it */
};
struct meaning apis_meaning(const struct head *h);

/* Whether its credentials, wherever the APIs have them, are all the token, and there is one. */
bool apis_admit(const struct head *h, const char *token);
/* Why a method is not passed on; NULL: it is. */
const char *apis_refuses(const struct head *h);
/* Appends a target as it is judged and passed on: a path below the user's base that every server
 * reads alike (request_path.h), and the query as it came. NULL, or why it is refused. */
const char *apis_target(struct buffer *out, struct span target);
/* Whether a field holds one. */
bool apis_is_credential(struct span name);
/* Appends a value in which the token stands with the key in its place; false: there is no key, and
 * nothing is appended. */
bool apis_swap(struct buffer *out, struct span value, const char *token, const char *key);
/* Appends the target of a request without a parameter that is a credential. */
void apis_bare_target(struct buffer *out, struct span target);
/* Appends the URL that it is for, at this base, with the key (NULL: none) where the token was. */
void apis_url(struct buffer *out, enum family family, const char *base, struct span target,
    const char *key);
/* Appends the body of an error, as the API would say it. */
void apis_error(struct buffer *out, enum family family, unsigned status, const char *message);

#endif
