/* The variables are those that curl(1) reads; libcurl itself does not read them. */
#include "net/handle.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/patience.h"
#include "base/text.h"
#include "base/version.h"

#define AUTHORITIES "/etc/ssl/certs" /* used if libcurl has no default */

/* Reading only the certificate authority that is needed takes a tenth of the time of reading the
 * bundle. This requires a TLS library that looks up authorities in a directory, and such a
 * directory. */
const char *
handle_authorities(void)
{
	static const char *const said[] = { "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR" };
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
	const char *directory = AUTHORITIES;
	bool found = false;
	struct dirent *entry;
	DIR *d;

	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		if (environment_text(said[i]) != NULL)
			return NULL;
	if (info->ssl_version == NULL || strncmp(info->ssl_version, "OpenSSL/", 8) != 0)
		return NULL;
#if LIBCURL_VERSION_NUM >= 0x074600
	if (info->age >= CURLVERSION_SEVENTH && info->capath != NULL)
		directory = info->capath;
#endif
	d = opendir(directory);
	while (d != NULL && !found && (entry = readdir(d)) != NULL)
		found = strspn(entry->d_name, "0123456789abcdef") == 8 &&
		    strcmp(entry->d_name + 8, ".0") == 0;
	if (d != NULL)
		closedir(d);
	return found ? directory : NULL;
}

/* The bundle of authorities: that of the user, else, if it is not where libcurl was built to look for it, the
 * first that there is where systems keep theirs. NULL: that of libcurl. */
static const char *
handle_bundle(void)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt", /* Fedora */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/ca-bundle.pem", /* openSUSE */
		"/etc/ssl/cert.pem", /* Alpine without ca-certificates */
	};
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
	const char *bundle = environment_text("CURL_CA_BUNDLE");

	if (bundle == NULL)
		bundle = environment_text("SSL_CERT_FILE");
#if LIBCURL_VERSION_NUM >= 0x074600
	if (bundle == NULL && info->age >= CURLVERSION_SEVENTH && info->cainfo != NULL && access(info->cainfo, R_OK) == 0)
		return NULL;
#endif
	for (size_t i = 0; bundle == NULL && i < sizeof places / sizeof *places; i++)
		if (access(places[i], R_OK) == 0)
			bundle = places[i];
	return bundle;
}

void
handle_prepare(CURL *easy, const char *url, const char *authorities)
{
	const char *bundle = authorities == NULL ? handle_bundle() : NULL;

	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "awf/" AWF_VERSION);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_LIMIT_MS);
	if (authorities != NULL) {
		curl_easy_setopt(easy, CURLOPT_CAPATH, authorities);
		curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	} else if (bundle != NULL) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, bundle);
	}
}

bool
handle_take_line(size_t *heads, size_t len)
{
	*heads += len;
	return *heads <= HANDLE_HEAD_LIMIT;
}

static size_t
read_body(char *bytes, size_t size, size_t count, void *context)
{
	struct handle_body *body = context;
	size_t len = size * count, left = body->len - body->sent;

	if (len > left)
		len = left;
	if (len > 0)
		memcpy(bytes, body->bytes + body->sent, len);
	body->sent += len;
	return len;
}

/* Called by libcurl to rewind the body for sending it again. */
static int
rewind_body(void *context, curl_off_t offset, int origin)
{
	struct handle_body *body = context;

	if (offset != 0 || origin != SEEK_SET || body->may_repeat == NULL || !body->may_repeat(body->context))
		return CURL_SEEKFUNC_FAIL;
	body->sent = 0;
	return CURL_SEEKFUNC_OK;
}

void
handle_post(CURL *easy, struct handle_body *body)
{
	body->sent = 0;
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	if (body->len == 0) {
		/* libcurl would send a request without a body again, but only on a kept connection:
		 * use a new one. */
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
		return;
	}
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_body);
	curl_easy_setopt(easy, CURLOPT_READDATA, (void *)body);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_body);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, (void *)body);
}

const char *
handle_failure(CURLcode result, const char *message)
{
	if (result == CURLE_SEND_FAIL_REWIND)
		return "the server closed the connection without an answer";
	/* libcurl's error if a header line is longer than its buffer. */
	if (result == CURLE_OUT_OF_MEMORY)
		return "a line of the answer's head is too long, or there is no memory";
	return message[0] != '\0' ? message : curl_easy_strerror(result);
}
