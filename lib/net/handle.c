/* The variables are those that curl(1) reads; the library does not. */
#include "net/handle.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "base/patience.h"
#include "base/text.h"
#include "base/version.h"

#define AUTHORITIES "/etc/ssl/certs" /* where libcurl knows of none */

/* Reading the one authority that is asked for takes a tenth of the time that reading the bundle
 * of all takes. It needs a TLS library that looks them up so, and a directory kept for that. */
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

void
handle_prepare(CURL *easy, const char *url, const char *authorities)
{
	const char *bundle = environment_text("CURL_CA_BUNDLE");

	if (bundle == NULL)
		bundle = environment_text("SSL_CERT_FILE");
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
