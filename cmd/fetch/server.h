/*
 * An awf-serve that is asked: its address, as a URL of a run names it; the token for it; requests.
 *
 * What the code relies on:
 *   - The token goes to no other server than the one that its line of the keys file names, with
 *     that scheme and port: no redirect is followed, and plain http off this machine has a line
 *     of its own or no token.
 *   - A request that waits ends, too, when nobody wants the copy any more: stdin is closed then.
 */
#ifndef AWF_FETCH_SERVER_H
#define AWF_FETCH_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "net/http.h"

struct server {
	char *base;              /* "https://HOST:PORT/PREFIX", without a slash at its end */
	char *origin;            /* "https://host:port", in small letters, always with the port */
	char *run;               /* as the URL names it, escaped */
	bool direct;             /* it is this machine, to which no proxy leads */
	char *authorization;     /* header; NULL: there is no token for it */
	const char *headers[2];
	struct http *http;       /* for requests that are waited for */
};

/* Reads http(s)://HOST[:PORT][/PREFIX]/[api/]runs/RUN and looks for its token. ERROR_USAGE: it is
 * no such URL; ERROR_SYSTEM, ERROR_DEFINITION: the keys file cannot be read. */
int server_open(struct server *s, const char *url, struct error *err);
void server_close(struct server *s);

/* Whether somebody wants the copy still: stdin is open. */
bool server_wanted(void);

/* What came of a request. */
enum answered {
	ANSWERED,            /* all that was asked for has come */
	ANSWERED_NONE,       /* there is no such thing: ERROR_USAGE */
	ANSWERED_LATER,      /* it was not to be had just now; *err says why */
	ANSWERED_NEVER,      /* nor will it be: ERROR_SYSTEM, ERROR_USAGE */
	ANSWERED_NOBODY      /* who wanted it is gone */
};
/* Makes a GET of a path below the base, which is formatted; g->take and context are set. */
int server_get(const struct server *s, struct http *http, struct http_get *g, char *path,
    struct error *err);
/* Judges one that has ended, and frees its answer. */
enum answered server_judge(const struct server *s, struct http_get *g, struct error *err);
/* Asks, and waits. The path is freed. */
enum answered server_ask(struct server *s, char *path,
    int (*take)(void *context, const char *bytes, size_t len), void *context, struct error *err);
/* The same into a buffer, which is emptied first. */
enum answered server_ask_text(struct server *s, char *path, struct buffer *text,
    struct error *err);

#endif
