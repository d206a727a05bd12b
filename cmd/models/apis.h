/*
 * The model APIs for which the proxy accepts requests: which API a request is for and what it asks,
 * where it has credentials, and how that API formats an error. Sockets are not handled here, and
 * responses are read elsewhere (api/stream.h).
 */
#ifndef AWF_MODELS_APIS_H
#define AWF_MODELS_APIS_H

#include <stdbool.h>

#include "api/stream.h"
#include "base/buffer.h"
#include "httpd/head.h"
#include "json/scan.h"

/* API vendors, each with one base URL and one key. */
enum family { FAMILY_OPENAI, FAMILY_ANTHROPIC, FAMILY_GOOGLE, FAMILY_VERTEX, FAMILIES };
/* Their names; their default base URLs. */
extern const char *const family_names[FAMILIES];
extern const char *const family_bases[FAMILIES];

/* The meaning of a request. */
struct meaning {
	enum family family;
	/* how its response is read, if it asks a model; NULL: it does not */
	const struct stream_api *generation;
	bool chat;                /* Chat Completions, whose usage may have to be requested */
	bool reads;               /* it changes nothing */
};
struct meaning apis_meaning(const struct head *h);

/* Whether a request has credentials, in any of the places where APIs have them, and all
 * are the token. */
bool apis_admit(const struct head *h, const char *token);
/* Why a method is refused; NULL: it is passed on. */
const char *apis_refuses(const struct head *h);
/* Appends the normalized target that is checked and passed on: a path below the user's base
 * that all servers parse alike (request_path.h), and the unchanged query. Returns NULL, or why
 * it is refused. */
const char *apis_target(struct buffer *out, struct span target);
/* Whether a header field contains a credential. */
bool apis_is_credential(struct span name);
/* Whether a server that is not the API's own may get a header field of the program: it is one of those that
 * APIs know. Gateways have fields that say where the request, and the user's key with it, goes. */
bool apis_is_known_field(struct span name);
/* Appends a value with the token replaced by the key; false: there is no key, and nothing
 * is appended. */
bool apis_swap(struct buffer *out, struct span value, const char *token, const char *key);
/* Appends the target without a parameter that is a credential. */
void apis_bare_target(struct buffer *out, struct span target);
/* Appends the URL of the request at this base, with the key (NULL: none) in place of the token. */
void apis_url(struct buffer *out, enum family family, const char *base, struct span target,
    const char *key);
/* Appends the body of an error in the API's format. */
void apis_error(struct buffer *out, enum family family, unsigned status, const char *message);

#endif
