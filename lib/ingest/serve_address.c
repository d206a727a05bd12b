/*
 * Addresses are parsed strictly: a token must never be sent to another server.
 */
#include "ingest/serve_address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "io/file.h"
#include "proc/environment.h"

const char *
serve_address_read(const char *text, char **origin, bool *loopback)
{
	static const char digits[] = "0123456789", six[] = "0123456789abcdef:.",
	    name[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
	bool tls = strncasecmp(text, "https://", 8) == 0;
	struct in_addr address;
	size_t len, port_len;
	char *host, port[6];

	*origin = NULL;
	if (!tls && strncasecmp(text, "http://", 7) != 0)
		return NULL;
	text += tls ? 8 : 7;
	len = strcspn(text, *text == '[' ? "]/?#" : ":/?#");
	len += text[len] == ']';
	host = memory_copy(text, len);
	for (char *at = host; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	text += len;
	snprintf(port, sizeof port, "%s", tls ? "443" : "80");
	if (*text == ':') {
		port_len = strspn(++text, digits);
		snprintf(port, sizeof port, "%.*s", port_len < sizeof port ? (int)port_len : 0, text);
		text += port_len;
	}
	*loopback = strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	    (inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
	if (len == 0 || port[0] == '\0' || strtol(port, NULL, 10) > 65535 ||
	    strchr("/?# \t", *text) == NULL ||
	    (*host == '[' ? len < 4 || host[len - 1] != ']' || strspn(host + 1, six) != len - 2 :
	    strspn(host, name) != len)) {
		free(host);
		return NULL;
	}
	*origin = memory_format("http%s://%s:%ld", tls ? "s" : "", host, strtol(port, NULL, 10));
	free(host);
	return text;
}

/* Length of scheme and host in an origin; where the host begins. */
static size_t
host_of(const char *origin, size_t *begin)
{
	INVARIANT(strstr(origin, "//") != NULL && strrchr(origin, ':') > strstr(origin, "//"));
	*begin = (size_t)(strstr(origin, "//") - origin) + 2;
	return (size_t)(strrchr(origin, ':') - origin) - *begin;
}

enum fits { FITS_NOT, FITS_HOST, FITS };

/* Whether a line of the keys file, "ORIGIN TOKEN", is for this origin, or for its host by another
 * scheme or port; *token: the rest of it. */
static enum fits
serve_address_matches(const char *own, const char *value, const char **token)
{
	size_t own_at, at, len = host_of(own, &own_at);
	enum fits result = FITS_NOT;
	bool loopback;
	char *origin;

	*token = serve_address_read(value, &origin, &loopback);
	if (*token != NULL) {
		*token += **token == '/';
		*token += strspn(*token, " \t");
		if (strcmp(origin, own) == 0)
			result = FITS;
		else if (host_of(origin, &at) == len && memcmp(origin + at, own + own_at, len) == 0)
			result = FITS_HOST;
	}
	free(origin);
	return result;
}

int
serve_address_token(const char *name, const char *own, const char *base, char **authorization,
    struct error *err)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789-._~+/=";
	const char *other = NULL;
	struct keys keys;
	char *path;
	int failed = 0;

	*authorization = NULL;
	if (keys_load(&keys, err) != 0)
		return -1;
	path = path_config("keys");
	for (size_t i = 0; failed == 0 && *authorization == NULL && i < keys.count; i++) {
		const char *value = keys.values[i], *token;
		enum fits fit;

		if (strcmp(keys.names[i], name) != 0 ||
		    (fit = serve_address_matches(own, value, &token)) == FITS_NOT)
			continue;
		if (fit == FITS_HOST)
			other = value;
		else if (*token == '\0' || token[strspn(token, letters)] != '\0')
			failed = error_set(err, ERROR_DEFINITION, path, "%s=%s has no token behind it", name,
			    own);
		else
			*authorization = memory_format("Authorization: Bearer %s", token);
	}
	if (failed == 0 && *authorization == NULL && other != NULL &&
	    strncmp(own, "http:", 5) == 0 && strncasecmp(other, "https:", 6) == 0)
		failed = error_set(err, ERROR_USAGE, base, "the token is for %.*s, and is not sent "
		    "over plain http", (int)strcspn(other, " \t"), other);
	keys_free(&keys);
	free(path);
	return failed;
}
