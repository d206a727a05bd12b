/*
 * How one request reaches the server of an endpoint (providers/endpoint.h): the URL, the headers with
 * the key, time limits and certificates, and what of the request's parameters is for this and not for
 * the API:
 *
 *     thinking   if the endpoint has its own words for it
 *     body       changes of the body, the last of all
 *     headers    texts, but none of those that say who asks
 *     timeouts   as the endpoint's
 *
 * A key goes to the server that the same endpoint names, or its variable `base_env`, by https, or to
 * this machine itself, unless the user has said otherwise in the endpoint (`insecure`).
 */
#ifndef AWF_PROVIDER_DESTINATION_H
#define AWF_PROVIDER_DESTINATION_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "net/http.h"
#include "providers/endpoint.h"

struct key_command;
struct sigv4;

/* Who says the key of an endpoint; as long as the program. */
struct destination_keys {
	struct key_command *command; /* NULL: none */
	struct sigv4 *sigv4;
};
int destination_keys_open(struct destination_keys *k, const struct endpoint *e, struct error *err);
void destination_keys_close(struct destination_keys *k);
/* The command that says the key; NULL: none does. */
struct key_command *destination_key_command(const struct destination_keys *k);

struct destination {
	const struct endpoint *endpoint;
	struct destination_keys *keys;
	const char *model;           /* NULL: none */
	const char *key_header;      /* where the endpoint says none */
	bool key_optional;           /* where the environment says the server */

	char *base;                  /* destination_find_server() */
	bool users;                  /* that is the environment's */
	char *place;                 /* what says it: a variable, or the endpoint's file */
	char *key;                   /* destination_find_key(); NULL: none */
	unsigned key_run;            /* of the command that has printed the key of the last request */
	char **secrets;              /* values that are hidden in what the server sends: the key and all
	                                others; a list, which grows */

	struct buffer params;        /* destination_take_params(): those that are left, an object, */
	struct buffer thinking;      /* the change of the body that they stand for, or nothing, */
	struct buffer note;          /* and what of it is otherwise than it was said */
	struct span body, headers, timeouts;

	struct http_way way;
	char **lines;                /* the headers; a list */
	char *paths[4];              /* of way */
};

void destination_begin(struct destination *d, const struct endpoint *e, struct destination_keys *keys,
    const char *model, const char *key_header, bool key_optional);
void destination_end(struct destination *d);
/* ERROR_INVALID. */
int destination_find_server(struct destination *d, struct error *err);
/* ERROR_AUTH. After destination_find_server(). Waits for the command that says the key, unless that is
 * ready (api/key_command.h). */
int destination_find_key(struct destination *d, struct error *err);
/* The server has refused it: whoever says it is asked again. */
void destination_key_refused(struct destination *d);
/* The variable, file or command that says the key, in memory of its own; NULL: the endpoint says
 * none. set: of several variables the one that is set, else the first. */
char *destination_name_key(const struct endpoint *e, bool set);

/* Takes what is the destination's from params, an object or none, which becomes what is left:
 * ERROR_INVALID. */
int destination_take_params(struct destination *d, struct span *params, struct error *err);
/* Changes a body, JSON, by a merge patch; an absent one changes nothing. */
void destination_patch(struct buffer *body, struct span patch);
/* Appends the URL: base, path, query. path: that of the API, where the endpoint says none. */
void destination_write_url(const struct destination *d, const char *path, bool collections,
    struct buffer *url);
/* The URL of the list of models, which has this path. */
void destination_write_models_url(const struct destination *d, const char *path, struct buffer *url);
/* Sets headers, time limits and certificates of a request whose URL and body are set. header: one that
 * the API wants, or NULL. Valid until the next call or destination_end(). ERROR_AUTH, ERROR_INVALID. */
int destination_set_request(struct destination *d, struct http_request *request, const char *header,
    struct error *err);

#endif
