/*
 * A handle of libcurl as every transfer of ours begins with: who asks, what is waited for, and
 * which authorities vouch for a server. TLS is always verified, and redirects are answers like any
 * other: a key is never sent elsewhere.
 */
#ifndef AWF_NET_HANDLE_H
#define AWF_NET_HANDLE_H

#include <curl/curl.h>

/* The directory that has each authority under the hash of its name, where one need not read all
 * of them. NULL: there is none, or the environment says who is trusted. */
const char *handle_authorities(void);
/* Resets it. authorities: the directory to find them in; NULL: what the environment, or libcurl,
 * has. A server that none of the directory vouches for may have one in the bundle: the transfer
 * ended with CURLE_PEER_FAILED_VERIFICATION then, nothing was sent, and may be made again without
 * it. */
void handle_prepare(CURL *easy, const char *url, const char *authorities);

#endif
