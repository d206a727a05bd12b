/*
 * How every libcurl handle is set up: user agent, time limits, and trusted certificate authorities.
 * TLS is always verified, and redirects are answers like any other: a key is never sent elsewhere.
 */
#ifndef AWF_NET_HANDLE_H
#define AWF_NET_HANDLE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

/* The directory that has each certificate authority under the hash of its name, if the TLS library
 * can look up one of them. NULL: it cannot, or the environment sets the trusted authorities. */
const char *handle_authorities(void);
/* Resets the handle and sets it up. authorities: the directory of certificate authorities; NULL:
 * the bundle of the environment, of libcurl, or of the system, wherever that keeps it. If the directory
 * does not have the authority, the transfer ends with CURLE_PEER_FAILED_VERIFICATION before anything is
 * sent; it may be repeated without the directory, since the bundle may have the authority. */
void handle_prepare(CURL *easy, const char *url, const char *authorities);

/* Limit for all header lines in one transfer, including those of informational responses and
 * trailers. libcurl limits only the head, and not in all versions. */
#define HANDLE_HEAD_LIMIT ((size_t)256 << 10)
#define HANDLE_HEAD_LONG "the head of the answer is above 256 KiB"
/* Counts a header line; false: the limit is exceeded, and the callback must return 0. */
bool handle_take_line(size_t *heads, size_t len);

/* A request body. It must not move until the transfer has ended. */
struct handle_body {
	const char *bytes;
	size_t len, sent;
	bool (*may_repeat)(void *context); /* whether libcurl may send it again; NULL: never */
	void *context;
};
/* Posts body->bytes, once only unless may_repeat() says otherwise: if a kept connection closes without
 * an answer, it is unknown whether the server has processed the request, but libcurl would send it
 * again (RFC 9110, section 9.2.2). */
void handle_post(CURL *easy, struct handle_body *body);
/* Why the transfer failed; message is libcurl's text. */
const char *handle_failure(CURLcode result, const char *message);

#endif
