/*
 * An awf-serve: its address, from the URL of a run; the token for it; requests.
 *
 * What the code relies on:
 *   - The token is sent only to the server that its line in the keys file names, with that scheme
 *     and port: redirects are not followed, and over plain http to another machine a token is sent
 *     only if it has a line for that.
 *   - A wait for an answer also ends when nobody needs the copy any more: then stdin is closed.
 */
#ifndef AWF_FETCH_SERVER_H
#define AWF_FETCH_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "net/http.h"

struct server {
	char *base;              /* "https://HOST:PORT/PREFIX", without a trailing slash */
	char *origin;            /* "https://host:port", in lower case, always with the port */
	char *run;               /* the run in the URL, escaped */
	bool direct;             /* it is this machine: use no proxy */
	char *authorization;     /* header; NULL: there is no token */
	const char *headers[2];
	struct http *http;       /* for requests with a wait for the answer */
};

/* Parses http(s)://HOST[:PORT][/PREFIX]/[api/]runs/RUN and looks up its token. ERROR_USAGE: it is
 * not such a URL; ERROR_SYSTEM, ERROR_DEFINITION: the keys file cannot be read. */
int server_open(struct server *s, const char *url, struct error *err);
void server_close(struct server *s);

/* Whether somebody still needs the copy: stdin is open. */
bool server_wanted(void);

/* The result of a request. */
enum answered {
	ANSWERED,            /* everything requested has arrived */
	ANSWERED_NONE,       /* it does not exist: ERROR_USAGE */
	ANSWERED_LATER,      /* not available now; *err says why */
	ANSWERED_NEVER,      /* and will not be: ERROR_SYSTEM, ERROR_USAGE */
	ANSWERED_NOBODY      /* nobody needs it any more */
};
/* Starts a GET of a path below the base; the path is formatted and freed; g->request.take and
 * context are set. */
int server_get(const struct server *s, struct http *http, struct http_call *g, char *path,
    struct error *err);
/* Evaluates a request that has ended, and frees its answer. */
enum answered server_judge(const struct server *s, struct http_call *g, struct error *err);
/* Makes a request and waits for the answer. The path is freed. */
enum answered server_ask(struct server *s, char *path,
    int (*take)(void *context, const char *bytes, size_t len), void *context, struct error *err);
/* The same into a buffer, which is cleared first. */
enum answered server_ask_text(struct server *s, char *path, struct buffer *text,
    struct error *err);

#endif
