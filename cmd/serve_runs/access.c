/*
 * Host names are compared in lower case, without the port. The port must be the one to which the
 * client connected, except for names given with --host: a proxy may listen on another port.
 */
#include "serve_runs/access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"

static const struct refusal misdirected = { 421, "misdirected",
	"no such host is served here (--host)" };
static const struct refusal cross_origin = { 403, "forbidden",
	"the request was made by a page of another origin" };

/* ---- hosts ---- */

/* Splits "NAME", "NAME:PORT", "[ADDRESS]:PORT"; *port is -1 if there is none. False: it has
 * another form. */
static bool
split_host(struct span text, struct span *name, int *port)
{
	const char *end = text.at + text.len, *colon;
	int64_t number = 0;

	if (text.len == 0)
		return false;
	if (*text.at == '[') {
		const char *close = memchr(text.at, ']', text.len);

		if (close == NULL)
			return false;
		*name = span_of(text.at + 1, (size_t)(close - text.at - 1));
		colon = close + 1;
		if (colon < end && *colon != ':')
			return false;
	} else {
		colon = memchr(text.at, ':', text.len);
		if (colon == NULL)
			colon = end;
		*name = span_of(text.at, (size_t)(colon - text.at));
	}
	*port = -1;
	if (colon == end)
		return name->len > 0;
	if (colon + 1 == end || end - colon > 6)
		return false;
	for (colon++; colon < end; colon++) {
		if (*colon < '0' || *colon > '9')
			return false;
		number = number * 10 + (*colon - '0');
	}
	*port = (int)number;
	return name->len > 0;
}

static bool
access_name_is_listed(char *const *list, struct span name)
{
	for (; list != NULL && *list != NULL; list++)
		if (head_is(name, *list))
			return true;
	return false;
}

const struct refusal *
access_host(const struct access *a, const struct connection_peer *p, const struct head *h)
{
	struct span text = head_value(h, "Host"), name;
	int port;

	if (text.at == NULL || !split_host(text, &name, &port))
		return &misdirected;
	if (access_name_is_listed(a->hosts, text) || access_name_is_listed(a->hosts, name))
		return NULL;
	if (p->local)
		return head_is(name, "localhost") ? NULL : &misdirected;
	if ((port == -1 ? 80 : port) != p->port)
		return &misdirected;
	if (head_is(name, p->own) || (p->loopback && head_is(name, "localhost")))
		return NULL;
	return &misdirected;
}

const struct refusal *
access_origin(const struct head *h)
{
	struct span origin = head_value(h, "Origin"), host = head_value(h, "Host");
	struct span site = head_value(h, "Sec-Fetch-Site");
	size_t scheme = 0;

	if (site.at != NULL && !head_is(site, "same-origin") && !head_is(site, "none"))
		return &cross_origin;
	if (origin.at == NULL)
		return NULL;
	if (origin.len > 7 && strncasecmp(origin.at, "http://", 7) == 0)
		scheme = 7;
	else if (origin.len > 8 && strncasecmp(origin.at, "https://", 8) == 0)
		scheme = 8;
	if (scheme == 0 || origin.len - scheme != host.len ||
	    strncasecmp(origin.at + scheme, host.at, host.len) != 0)
		return &cross_origin;
	return NULL;
}

/* ---- tokens ---- */

void
access_cookie(const struct connection_peer *p, char name[32])
{
	if (p->local)
		snprintf(name, 32, "awf-session");
	else
		snprintf(name, 32, "awf-session-%d", p->port);
}

/* The value of a cookie; .at NULL if there is none. */
static struct span
find_cookie(struct span cookies, const char *name)
{
	const char *at = cookies.at, *end;
	size_t len = strlen(name);

	if (at == NULL)
		return SPAN_NONE;
	for (end = at + cookies.len; at < end;) {
		const char *stop = memchr(at, ';', (size_t)(end - at));

		if (stop == NULL)
			stop = end;
		while (at < stop && *at == ' ')
			at++;
		if ((size_t)(stop - at) > len && memcmp(at, name, len) == 0 && at[len] == '=')
			return span_of(at + len + 1, (size_t)(stop - at) - len - 1);
		at = stop + 1;
	}
	return SPAN_NONE;
}

static bool
passed_on(const struct head *h)
{
	static const char *const names[] = { "Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
		"X-Forwarded-Proto", "X-Real-IP", "Via", NULL };

	for (size_t i = 0; names[i] != NULL; i++)
		if (head_value(h, names[i]).at != NULL)
			return true;
	return false;
}

struct token *
access_token(struct access *a, const struct connection_peer *p, const struct head *h, bool safe, int64_t now)
{
	struct span given = head_value(h, "Authorization"), cookie;
	char name[32];

	if (given.at != NULL) {
		if (given.len <= 7 || strncasecmp(given.at, "Bearer ", 7) != 0)
			return NULL;
		return tokens_find(&a->tokens, given.at + 7, given.len - 7, now);
	}
	access_cookie(p, name);
	cookie = safe ? find_cookie(head_value(h, "Cookie"), name) : SPAN_NONE;
	if (cookie.at != NULL)
		return tokens_find(&a->tokens, cookie.at, cookie.len, now);
	if (p->local && !a->require_token && p->uid == geteuid() && !passed_on(h))
		return token_hold(a->own);
	return NULL;
}

bool
access_signed(const struct head *h)
{
	return head_value(h, "Authorization").at == NULL && head_value(h, ACCESS_SIGNATURE).at != NULL;
}

void
access_address(const struct access *a, const struct connection_peer *p, const struct head *h,
    char address[PEER_ADDRESS])
{
	struct span said = SPAN_NONE;
	struct in6_addr ignored;
	const char *at, *end;

	memcpy(address, p->address, PEER_ADDRESS);
	for (size_t i = 0; i < h->count; i++)
		if (head_is(h->fields[i].name, "X-Forwarded-For"))
			said = h->fields[i].value;
	if (said.at == NULL || !access_name_is_listed(a->proxies,
	    span_of(p->address, strlen(p->address))))
		return;
	/* The last address of the last header field is that of the client that connected to the
	 * proxy: the proxy has appended it to the field, or added a field of its own. Everything
	 * before it may be forged. */
	end = said.at + said.len;
	for (at = end; at > said.at && at[-1] != ',' && at[-1] != ' '; at--)
		continue;
	if (end - at > 0 && end - at < PEER_ADDRESS) {
		char text[PEER_ADDRESS] = "";

		memcpy(text, at, (size_t)(end - at));
		if (inet_pton(AF_INET, text, &ignored) == 1 || inet_pton(AF_INET6, text, &ignored) == 1)
			memcpy(address, text, PEER_ADDRESS);
	}
}
