/*
 * The steps of AWS's "Create a signed AWS API request": a canonical form of the request, a text
 * that contains its digest, a key derived from the secret, the date, the region and the service,
 * and the HMAC of that text with that key.
 */
#include "api/sigv4.h"

#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/key_command.h"
#include "base/digest.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define STAMP_SIZE 17 /* 20150830T123600Z and a NUL */
#define DATE_LEN 8

struct sigv4 {
	char *region, *service;
	struct key_command *command; /* NULL: the access key is in the environment */
};

/* The parts of a URL that are signed. */
struct parts {
	struct span host;  /* with the port, unless it is the default of the scheme */
	struct span path;
	struct span query; /* after the question mark */
};

static struct parts
url_parts(const char *url)
{
	const char *begin = strstr(url, "://"), *at, *end;
	bool tls = strncasecmp(url, "https://", 8) == 0;
	struct parts p = { SPAN_NONE, SPAN_NONE, SPAN_NONE };
	size_t len;

	begin = begin == NULL ? url : begin + 3;
	len = strcspn(begin, "/?#");
	end = begin + len;
	for (at = begin; at < end; at++)
		if (*at == '@')
			begin = at + 1;
	p.host = span_of(begin, (size_t)(end - begin));
	if (p.host.len > 4 && tls && memcmp(end - 4, ":443", 4) == 0)
		p.host.len -= 4;
	else if (p.host.len > 3 && !tls && memcmp(end - 3, ":80", 3) == 0)
		p.host.len -= 3;
	p.path = span_of(end, strcspn(end, "?#"));
	end += p.path.len;
	if (*end == '?')
		p.query = span_of(end + 1, strcspn(end + 1, "#"));
	return p;
}

/* Encodes everything but RFC 3986's unreserved characters and slashes; in a path that is escaped
 * already this includes the percent signs. */
static void
append_path(struct buffer *out, struct span path)
{
	if (path.len == 0)
		buffer_byte(out, '/');
	for (size_t i = 0; i < path.len; i++) {
		unsigned char byte = (unsigned char)path.at[i];

		if ((byte < 0x80 && isalnum(byte)) || strchr("/-_.~", byte) != NULL)
			buffer_byte(out, (char)byte);
		else
			buffer_format(out, "%%%02X", byte);
	}
}

static int
compare_spans(const void *one, const void *other)
{
	const struct span *a = one, *b = other;
	size_t len = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->at, b->at, len);

	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Appends the parameters sorted by name, then by value. The texts "NAME=VALUE" are sorted with a
 * NUL in place of the equals sign. */
static void
append_query(struct buffer *out, struct span query)
{
	struct span *list = NULL;
	char *copy = memory_copy(query.len == 0 ? "" : query.at, query.len);
	const char *at = copy, *part;
	size_t count = 0, len;

	while (query.len > 0 && (part = text_part(&at, '&', &len)) != NULL) {
		char *equals = memchr(part, '=', len);

		if (len == 0)
			continue;
		if (equals != NULL)
			*equals = '\0';
		list = memory_array(list, count + 1, sizeof *list);
		list[count++] = span_of(part, len);
	}
	if (count > 1)
		qsort(list, count, sizeof *list, compare_spans);
	for (size_t i = 0; i < count; i++) {
		const char *equals = memchr(list[i].at, '\0', list[i].len);
		size_t name = equals == NULL ? list[i].len : (size_t)(equals - list[i].at);

		if (i > 0)
			buffer_byte(out, '&');
		buffer_append(out, list[i].at, name);
		buffer_byte(out, '=');
		if (equals != NULL)
			buffer_append(out, equals + 1, list[i].len - name - 1);
	}
	free(list);
	free(copy);
}

struct header {
	char *name;        /* lower case */
	struct buffer value; /* trimmed, and with single spaces */
};

static int
compare_headers(const void *one, const void *other)
{
	return strcmp(((const struct header *)one)->name, ((const struct header *)other)->name);
}

static struct header
header_make(struct span name, struct span value)
{
	struct header h = { memory_copy(name.at, name.len), BUFFER_INIT };

	for (char *at = h.name; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	value = span_trim(value);
	for (size_t i = 0; i < value.len; i++)
		if (value.at[i] != ' ' || value.at[i - 1] != ' ')
			buffer_byte(&h.value, value.at[i]);
	return h;
}

/* Appends the host and the other headers, sorted by name, and their names to `names`, separated by
 * semicolons. */
static void
append_headers(struct buffer *out, struct buffer *names, struct span host,
    const char *const *headers)
{
	struct header *list = memory_array(NULL, 1, sizeof *list);
	size_t count = 0;

	list[count++] = header_make(span_of("host", 4), host);
	for (; headers != NULL && *headers != NULL; headers++) {
		const char *colon = strchr(*headers, ':');

		/* libcurl does not send a header without a value. */
		if (colon == NULL || colon[1 + strspn(colon + 1, " ")] == '\0')
			continue;
		list = memory_array(list, count + 1, sizeof *list);
		list[count++] = header_make(span_of(*headers, (size_t)(colon - *headers)),
		    span_of(colon + 1, strlen(colon + 1)));
	}
	qsort(list, count, sizeof *list, compare_headers);
	for (size_t i = 0; i < count; i++) {
		buffer_format(out, "%s:%s\n", list[i].name, buffer_string(&list[i].value));
		buffer_format(names, "%s%s", i == 0 ? "" : ";", list[i].name);
		free(list[i].name);
		if (list[i].value.data != NULL)
			sodium_memzero(list[i].value.data, list[i].value.len);
		buffer_free(&list[i].value);
	}
	free(list);
}

static void
hmac(unsigned char key[crypto_auth_hmacsha256_BYTES], size_t key_len, const char *text)
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, key_len);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, strlen(text));
	crypto_auth_hmacsha256_final(&state, key);
	sodium_memzero(&state, sizeof state);
}

/* HMAC-SHA256 of the text, with the key derived from the secret, the date, the region and the
 * service. */
static void
sign_text(const struct sigv4_key *k, const char *date, const char *text, char out[DIGEST_SIZE])
{
	unsigned char key[crypto_auth_hmacsha256_BYTES];
	char *secret = memory_format("AWS4%s", k->secret);
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, (const unsigned char *)secret, strlen(secret));
	sodium_memzero(secret, strlen(secret));
	free(secret);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)date, DATE_LEN);
	crypto_auth_hmacsha256_final(&state, key);
	sodium_memzero(&state, sizeof state);
	hmac(key, sizeof key, k->region);
	hmac(key, sizeof key, k->service);
	hmac(key, sizeof key, "aws4_request");
	hmac(key, sizeof key, text);
	hex_encode(key, sizeof key, out);
	sodium_memzero(key, sizeof key);
}

static char *
stamp_text(int64_t wall, char out[STAMP_SIZE])
{
	time_t seconds = (time_t)(wall / 1000000);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(out, STAMP_SIZE, "%Y%m%dT%H%M%SZ", &utc);
	return out;
}

char *
sigv4_authorization(const struct sigv4_request *r, const struct sigv4_key *key)
{
	struct buffer canonical = BUFFER_INIT, names = BUFFER_INIT, text = BUFFER_INIT, scope = BUFFER_INIT;
	struct parts parts = url_parts(r->url);
	char stamp[STAMP_SIZE], digest[DIGEST_SIZE], signature[DIGEST_SIZE], *result;

	stamp_text(r->wall, stamp);
	buffer_format(&canonical, "%s\n", r->method);
	append_path(&canonical, parts.path);
	buffer_byte(&canonical, '\n');
	append_query(&canonical, parts.query);
	buffer_byte(&canonical, '\n');
	append_headers(&canonical, &names, parts.host, r->headers);
	digest_sha256(r->body, r->body_len, digest);
	buffer_format(&canonical, "\n%s\n%s", names.data, digest);

	buffer_format(&scope, "%.*s/%s/%s/aws4_request", DATE_LEN, stamp, key->region, key->service);
	digest_sha256(canonical.data, canonical.len, digest);
	buffer_format(&text, ALGORITHM "\n%s\n%s\n%s", stamp, scope.data, digest);
	sign_text(key, stamp, text.data, signature);
	result = memory_format("authorization: " ALGORITHM " Credential=%s/%s, SignedHeaders=%s, "
	    "Signature=%s", key->id, scope.data, names.data, signature);
	sodium_memzero(canonical.data, canonical.len); /* it contains the session token */
	buffer_free(&canonical);
	buffer_free(&names);
	buffer_free(&text);
	buffer_free(&scope);
	return result;
}

struct sigv4 *
sigv4_open(struct span key, struct error *err)
{
	struct span said = span_member(key, "sigv4"), command = span_member(said, "command");
	struct sigv4 *s = memory_zero(1, sizeof *s);

	s->region = span_text(span_member(said, "region"));
	s->service = span_text(span_member(said, "service"));
	if (s->region == NULL || *s->region == '\0' || s->service == NULL || *s->service == '\0')
		error_set(err, ERROR_DEFINITION, "sigv4", "expected a region and a service");
	else if (span_type(command) == 0 || span_type(command) == '0' ||
	    (s->command = key_command_open(command, key, err)) != NULL)
		return s;
	sigv4_close(s);
	return NULL;
}

void
sigv4_close(struct sigv4 *s)
{
	if (s == NULL)
		return;
	free(s->region);
	free(s->service);
	key_command_close(s->command);
	free(s);
}

/* An access key, allocated. */
struct access {
	char *id, *secret, *token; /* token: NULL if there is none */
};

static void
access_wipe(struct access *a)
{
	char **const texts[] = { &a->id, &a->secret, &a->token };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		if (*texts[i] != NULL)
			sodium_memzero(*texts[i], strlen(*texts[i]));
		free(*texts[i]);
		*texts[i] = NULL;
	}
}

static char *
copy_variable(const char *name)
{
	const char *value = environment_text(name);

	return value == NULL ? NULL : memory_text(value);
}

/* Whether a text contains no white space and no control character, which might end a header. */
static bool
is_right(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		if ((unsigned char)*text <= 0x20 || *text == 0x7f)
			return false;
	return true;
}

static int
access_find(const struct sigv4 *s, struct access *a, struct error *err)
{
	if (s->command != NULL) {
		struct span said = key_command_object(s->command, err);

		if (said.at == NULL)
			return -1;
		*a = (struct access){ span_text(span_member(said, "AccessKeyId")),
			span_text(span_member(said, "SecretAccessKey")),
			span_text(span_member(said, "SessionToken")) };
	} else {
		*a = (struct access){ copy_variable("AWS_ACCESS_KEY_ID"),
			copy_variable("AWS_SECRET_ACCESS_KEY"), copy_variable("AWS_SESSION_TOKEN") };
	}
	if (a->token != NULL && *a->token == '\0') {
		free(a->token);
		a->token = NULL;
	}
	if (a->id == NULL || a->secret == NULL || *a->id == '\0' || *a->secret == '\0')
		error_set(err, ERROR_AUTH, NULL, s->command != NULL ?
		    "the command for the key printed no AccessKeyId and SecretAccessKey" :
		    "no access key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
	else if (!is_right(a->id) || !is_right(a->secret) || !is_right(a->token))
		error_set(err, ERROR_AUTH, NULL,
		    "the access key of AWS holds a space or a control character (a line end?)");
	else
		return 0;
	access_wipe(a);
	return -1;
}

int
sigv4_sign(struct sigv4 *s, const struct sigv4_request *r, struct sigv4_signed *out,
    struct error *err)
{
	struct access a = { NULL, NULL, NULL };
	struct sigv4_request whole = *r;
	struct sigv4_key key;
	char stamp[STAMP_SIZE], digest[DIGEST_SIZE];
	const char **headers;
	size_t count = 0, added = 0;

	memset(out, 0, sizeof *out);
	if (access_find(s, &a, err) != 0)
		return -1;
	out->headers[added++] = memory_format("x-amz-date: %s", stamp_text(r->wall, stamp));
	out->headers[added++] = memory_format("x-amz-content-sha256: %s",
	    digest_sha256(r->body, r->body_len, digest));
	if (a.token != NULL) {
		out->headers[added++] = memory_format("x-amz-security-token: %s", a.token);
		list_add(&out->secrets, a.token);
	}
	list_add(&out->secrets, a.id);
	list_add(&out->secrets, a.secret);

	while (r->headers != NULL && r->headers[count] != NULL)
		count++;
	headers = memory_array(NULL, count + added + 1, sizeof *headers);
	for (size_t i = 0; i < count; i++)
		headers[i] = r->headers[i];
	for (size_t i = 0; i < added; i++)
		headers[count + i] = out->headers[i];
	headers[count + added] = NULL;
	whole.headers = headers;
	key = (struct sigv4_key){ a.id, a.secret, s->region, s->service };
	out->headers[added] = sigv4_authorization(&whole, &key);
	free(headers);
	access_wipe(&a);
	return 0;
}

void
sigv4_signed_free(struct sigv4_signed *out)
{
	for (size_t i = 0; i < SIGV4_HEADERS && out->headers[i] != NULL; i++) {
		sodium_memzero(out->headers[i], strlen(out->headers[i]));
		free(out->headers[i]);
	}
	for (char **secret = out->secrets; secret != NULL && *secret != NULL; secret++)
		sodium_memzero(*secret, strlen(*secret));
	list_free(out->secrets);
	memset(out, 0, sizeof *out);
}

struct key_command *
sigv4_command(const struct sigv4 *s)
{
	return s->command;
}

unsigned
sigv4_runs(const struct sigv4 *s)
{
	return s->command == NULL ? 0 : key_command_runs(s->command);
}

void
sigv4_refused(struct sigv4 *s, unsigned run)
{
	if (s->command != NULL)
		key_command_refused(s->command, run);
}
