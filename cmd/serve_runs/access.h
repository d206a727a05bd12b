/*
 * Access: whether a request is for this server, whether a page of another origin made it, and
 * which token it has.
 *
 *   - The Host must be the address to which the client connected, "localhost" for a loopback
 *     address, or a name given with --host. With DNS rebinding, a page sends another Host.
 *   - Origin and Sec-Fetch-Site, in which a browser says where a request comes from, must
 *     name this server.
 *   - The token is in Authorization; for requests that change nothing it may be in a cookie, as
 *     EventSource can send nothing else. Without a token, only the user who runs the server has
 *     access, on a Unix socket, and not through a proxy, whose headers would show that the request
 *     is somebody else's.
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
	struct token *own;             /* stands for the client in requests that need no token */
};

/* NULL if the Host is that of this server. */
const struct refusal *access_host(const struct access *a, const struct connection_peer *p,
    const struct head *h);
/* NULL unless a page of another origin has made it. */
const struct refusal *access_origin(const struct head *h);
/* The token of a request, with a reference that the caller releases; NULL if it has none that is
 * valid. safe: the request changes nothing. */
struct token *access_token(struct access *a, const struct connection_peer *p, const struct head *h,
    bool safe, int64_t now);
/* Whether the request has a signature of its body instead of a token. */
bool access_signed(const struct head *h);
/* The client's address: for requests of a trusted proxy, the one that the proxy reports. */
void access_address(const struct access *a, const struct connection_peer *p, const struct head *h,
    char address[PEER_ADDRESS]);
/* The name of the session cookie for this port. */
void access_cookie(const struct connection_peer *p, char name[32]);

#endif
