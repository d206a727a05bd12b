/*
 * A handle of libcurl as every transfer of ours begins with: who asks, what is waited for, and
 * which authorities vouch for a server. TLS is always verified, and redirects are answers like any
 * other: a key is never sent elsewhere.
 */
#ifndef AWF_NET_HANDLE_H
#define AWF_NET_HANDLE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* The directory that has each authority under the hash of its name, where one need not read all
 * of them. NULL: there is none, or the environment says who is trusted. */
const char *handle_authorities(void);
/* Resets it. authorities: the directory to find them in; NULL: what the environment, or libcurl,
 * has. A server that none of the directory vouches for may have one in the bundle: the transfer
 * ended with CURLE_PEER_FAILED_VERIFICATION then, nothing was sent, and may be made again without
 * it. */
void handle_prepare(CURL *easy, const char *url, const char *authorities);

/* Lines of heads that a server may send in one transfer: those of answers that go before the answer,
 * and fields behind its body, too. libcurl has such a limit for the head alone, and not in all versions. */
#define HANDLE_HEAD_LIMIT ((size_t)256 << 10)
#define HANDLE_HEAD_LONG "the head of the answer is above 256 KiB"
/* Counts a line; false: there are too many, and the callback returns 0. */
bool handle_take_line(size_t *heads, size_t len);

/* What is posted. It stays where it is until the transfer has ended. */
struct handle_body {
	const char *bytes;
	size_t len, sent;
};
/* Posts body->bytes, once: where a connection that was kept closes without an answer, nobody knows
 * what the server has done, and libcurl would ask it anew by itself (RFC 9110, section 9.2.2). */
void handle_post(CURL *easy, struct handle_body *body);
/* Why the transfer failed, of which libcurl says message. */
const char *handle_failure(CURLcode result, const char *message);

#endif
