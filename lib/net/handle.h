/*
 * How every libcurl handle is set up: user agent, time limits, and trusted certificate authorities.
 * TLS is always verified, and redirects are answers like any other: a key is never sent elsewhere.
 */
#ifndef AWF_NET_HANDLE_H
#define AWF_NET_HANDLE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* The directory with each certificate authority under the hash of its name, if it is enough to
 * read one of them. NULL: there is none, or the environment sets the trusted ones. */
const char *handle_authorities(void);
/* Resets the handle. authorities: the directory of certificate authorities; NULL: those of the
 * environment, or of libcurl. If none in the directory has signed the server's certificate, one
 * in the bundle may have: the transfer ended with CURLE_PEER_FAILED_VERIFICATION then, nothing
 * was sent, and it may be repeated without the directory. */
void handle_prepare(CURL *easy, const char *url, const char *authorities);

/* Bytes of header lines that a server may send in one transfer, including those of informational
 * responses and of trailers. libcurl has such a limit for the head alone, and not in all
 * versions. */
#define HANDLE_HEAD_LIMIT ((size_t)256 << 10)
#define HANDLE_HEAD_LONG "the head of the answer is above 256 KiB"
/* Counts a line; false: there are too many, and the callback must return 0. */
bool handle_take_line(size_t *heads, size_t len);

/* A request body. It must not move until the transfer has ended. */
struct handle_body {
	const char *bytes;
	size_t len, sent;
};
/* Posts body->bytes, once only: if a kept connection closes without an answer, it is unknown
 * what the server has done, but libcurl would send the request again by itself (RFC 9110,
 * section 9.2.2). */
void handle_post(CURL *easy, struct handle_body *body);
/* Why the transfer failed; message is libcurl's text. */
const char *handle_failure(CURLcode result, const char *message);

#endif
