/*
 * Whether a request may be answered at all: is it meant for this server, was it made by one of
 * its own pages, and by whom.
 *
 *   - Its Host must be the address that it came to, "localhost" for a loopback address, or a name
 *     that was given (--host). A page that makes its name lead here (DNS rebinding) has another.
 *   - What a browser says of where a request comes from (Origin, Sec-Fetch-Site) must be here.
 *   - Who it is from says a token, in Authorization, or, for what changes nothing, in a cookie:
 *     EventSource can send nothing else. Without a token only the user whose server it is, on a
 *     Unix socket; and not if a proxy passes it on, who would say so by his headers.
 */
#ifndef AWF_SERVE_RUNS_ACCESS_H
#define AWF_SERVE_RUNS_ACCESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "httpd/connection_peer.h"
#include "httpd/head.h"
#include "httpd/refusal.h"
#include "serve_runs/tokens.h"

#define ACCESS_SIGNATURE "X-Hub-Signature-256"

struct access {
	char **hosts;                  /* --host */
	char **proxies;                /* --trusted-proxy: addresses, or "unix" */
	bool require_token;            /* on Unix sockets too */
	struct tokens tokens;
	struct token *own;             /* who needs none has this one */
};

/* NULL if the Host is one of ours. */
const struct refusal *access_host(const struct access *a, const struct connection_peer *p,
    const struct head *h);
/* NULL unless a page of another origin has made it. */
const struct refusal *access_origin(const struct head *h);
/* Whose it is: held; NULL: nobody that is known. safe: it changes nothing. */
struct token *access_token(struct access *a, const struct connection_peer *p, const struct head *h,
    bool safe, int64_t now);
/* Whether what is said of who it is from is a signature of its body, and no token. */
bool access_signed(const struct head *h);
/* The address of who has sent it: of a trusted proxy's requests, what that says. */
void access_address(const struct access *a, const struct connection_peer *p, const struct head *h,
    char address[PEER_ADDRESS]);
/* The name of the cookie of sessions at this port. */
void access_cookie(const struct connection_peer *p, char name[32]);

#endif
