/*
 * Endpoints, awf-endpoint(5): a name for a server of models. A file says which program speaks to
 * it, where it is, where its key comes from, and what is its own about requests and answers.
 *
 *     share/awf/endpoints/NAME.json      what comes with AWF
 *     ~/.config/awf/endpoints/NAME.json  the user's, merged over it member by member
 *
 * No other file defines an endpoint, above all none of a project: who says where a server is gets
 * the key. awf-step reads and checks the files, and passes the merged text to the provider's program
 * in $AWF_ENDPOINT. There are names of variables in it, but no values: it has no secrets.
 */
#ifndef AWF_PROVIDERS_ENDPOINT_H
#define AWF_PROVIDERS_ENDPOINT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "json/scan.h"

#define ENDPOINT_VARIABLE "AWF_ENDPOINT"
#define ENDPOINT_DIRECTORY "endpoints"

struct endpoint;
struct keys;

/* Whether there is a file for a name; nothing is read. */
bool endpoint_exists(const char *name);
/* Reads and checks the files of a name. 1; 0: there are none; -1: ERROR_DEFINITION at the file,
 * ERROR_SYSTEM. */
int endpoint_load(struct endpoint **e, const char *name, struct error *err);
/* For a provider's program: what $AWF_ENDPOINT says; else the file of the name that comes with AWF;
 * else the text, which is JSON and right. 0, or -1: ERROR_DEFINITION. */
int endpoint_given(struct endpoint **e, const char *name, const char *otherwise,
    struct error *err);
void endpoint_free(struct endpoint *e);

/* The names of all that have files, in their order. A list (base/list.h). */
char **endpoint_list(void);

const char *endpoint_name(const struct endpoint *e);
/* Whether a file of the user has a part in it. */
bool endpoint_is_users(const struct endpoint *e);
/* The merged object; `name` is a member of it. */
struct span endpoint_text(const struct endpoint *e);
/* What holds for this model (NULL: for none): the last of the `models` whose `match` fits and which
 * has the key, else the endpoint's own. Absent: none, as where it is null. */
struct span endpoint_member(const struct endpoint *e, const char *model, const char *key);
/* Whether an element of `models` is for this model. */
bool endpoint_matches(struct span element, const char *model);
/* "chat", "responses", "messages" or "gemini", for a model (NULL: any). */
const char *endpoint_protocol(const struct endpoint *e, const char *model);
/* The name of the provider, of those that come with AWF, that speaks to it: "openai" for chat. */
const char *endpoint_provider(const struct endpoint *e, const char *model);

/* The URL of the server, without a slash at its end: base_env's if that is set (*users: true, the
 * user has said it for this process), else base_url with its variables; in memory of its own. keys
 * may be NULL: the environment has all. NULL: ERROR_INVALID at the variable. */
char *endpoint_base(const struct endpoint *e, const char *model, const struct keys *keys,
    bool *users, struct error *err);
/* SCHEME://HOST[:PORT] of a URL, in memory of its own: to where a key may go. */
char *endpoint_origin(const char *url);
/* That of the server of a model; NULL: it is not known. */
char *endpoint_server(const struct endpoint *e, const char *model, const struct keys *keys);
/* Whether that is this machine itself. */
bool endpoint_origin_is_loopback(const char *origin);
/* Whether a key may go to this URL, wherever that was said: it is encrypted, or stays on this machine, or the
 * endpoint (NULL: none) is `insecure`. */
bool endpoint_key_may_go(const struct endpoint *e, const char *url);
/* Whether a URL is one of this machine, without encryption: no proxy is asked, which could be elsewhere. */
bool endpoint_url_is_direct(const char *url);
/* Appends a text with escapes for a part of a URL's path. */
void endpoint_escape(struct buffer *url, const char *text);
/* Appends, as JSON, what of it decides what a model is asked and how its answers are read, beyond
 * what its program does by itself; nothing if there is none, as of what comes with AWF for the APIs
 * of their makers. */
void endpoint_definition(const struct endpoint *e, const char *model, struct buffer *out);
/* The digest of that, in hexadecimal; "": there is none. */
void endpoint_digest(const struct endpoint *e, const char *model, char sha256[DIGEST_SIZE]);

/* All environment variables that it names, and those of them that hold keys. Lists (base/list.h). */
char **endpoint_variables(const struct endpoint *e);
char **endpoint_secrets(const struct endpoint *e);
/* Whether its program needs the environment that commands need: PATH, HOME, AWS_* and so on. */
bool endpoint_has_command(const struct endpoint *e);

#endif
