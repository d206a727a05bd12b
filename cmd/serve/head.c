/*
 * Fields are walked through once; those that must not be repeated stand in a table. What a
 * field name may consist of is RFC 9110's token, so that a space before the colon, or a line
 * that was folded into a name, is refused as a name that is none.
 */
#include "serve/head.h"

#include <string.h>
#include <strings.h>

static const struct refusal malformed = { 400, "invalid_input",
	"a header field is malformed" };
static const struct refusal folded = { 400, "invalid_input",
	"each header field must stand on one line that ends in CR LF" };
static const struct refusal repeated = { 400, "invalid_input",
	"a header field that must stand once stands twice" };
static const struct refusal no_host = { 400, "invalid_input", "there is no Host" };
static const struct refusal bad_length = { 400, "invalid_input",
	"Content-Length is no number" };
static const struct refusal two_lengths = { 400, "invalid_input",
	"Content-Length and Transfer-Encoding exclude each other" };
static const struct refusal bad_encoding = { 400, "invalid_input",
	"the one Transfer-Encoding that is taken is chunked, of HTTP/1.1" };
static const struct refusal bad_expect = { 417, "invalid_input",
	"nothing but 100-continue may be expected" };
static const struct refusal bad_body = { 400, "invalid_input",
	"a request with this method has no body" };
static const struct refusal bad_version = { 505, "invalid_input",
	"HTTP/1.1 and HTTP/1.0 are spoken here" };
static const struct refusal too_many = { 431, "invalid_input", "too many header fields" };
static const struct refusal too_large = { 431, "invalid_input",
	"the header fields are too large" };

/* What two values of would be two answers to one question. */
static const char *const once[] = {
	"Host", "Content-Length", "Transfer-Encoding", "Authorization", "Content-Type", "Cookie",
	"Origin", "Expect", "Last-Event-ID", "Sec-Fetch-Site", "X-Forwarded-Host", NULL
};

/* RFC 9110, section 5.6.2. */
static bool
is_token(struct span name)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < name.len; i++) {
		char c = name.at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    (c != '\0' && strchr(others, c) != NULL)))
			return false;
	}
	return name.len > 0;
}

/* No control characters but tabs: a CR or a NUL ends a line for some. */
static bool
is_value(struct span value)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.at[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

bool
head_is(struct span value, const char *text)
{
	return value.at != NULL && value.len == strlen(text) &&
	    strncasecmp(value.at, text, value.len) == 0;
}

struct span
head_value(const struct head *h, const char *name)
{
	for (size_t i = 0; i < h->count; i++)
		if (head_is(h->fields[i].name, name))
			return h->fields[i].value;
	return SPAN_NONE;
}

static bool
stands_twice(const struct head *h, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++)
		count += head_is(h->fields[i].name, name);
	return count > 1;
}

/* Digits alone; -1 if it is none, or above 2^53. */
static int64_t
read_length(struct span value)
{
	int64_t length = 0;

	if (value.len == 0 || value.len > 15)
		return -1;
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return -1;
		length = length * 10 + (value.at[i] - '0');
	}
	return length;
}

/* How the length of the body is told. */
static const struct refusal *
check_length(struct head *h)
{
	struct span length = head_value(h, "Content-Length");
	struct span encoding = head_value(h, "Transfer-Encoding");

	if (length.at != NULL && encoding.at != NULL)
		return &two_lengths;
	if (encoding.at != NULL &&
	    (!head_is(encoding, "chunked") || strcmp(h->version, "HTTP/1.1") != 0))
		return &bad_encoding;
	h->chunked = encoding.at != NULL;
	h->length = length.at != NULL ? read_length(length) : 0;
	if (h->length == -1)
		return &bad_length;
	if ((h->chunked || h->length > 0) && strcmp(h->method, "POST") != 0 &&
	    strcmp(h->method, "PUT") != 0)
		return &bad_body;
	return NULL;
}

const struct refusal *
head_check(struct head *h)
{
	struct span expect;
	size_t bytes = 0;

	if (strcmp(h->version, "HTTP/1.1") != 0 && strcmp(h->version, "HTTP/1.0") != 0)
		return &bad_version;
	if (h->count > HEAD_FIELDS)
		return &too_many;
	for (size_t i = 0; i < h->count; i++) {
		bytes += h->fields[i].name.len + h->fields[i].value.len;
		if (bytes > HEAD_BYTES)
			return &too_large;
		if (!is_token(h->fields[i].name) || !is_value(h->fields[i].value))
			return &malformed;
	}
	if (h->torn)
		return &folded;
	for (size_t i = 0; once[i] != NULL; i++)
		if (stands_twice(h, once[i]))
			return &repeated;
	if (head_value(h, "Host").len == 0)
		return &no_host;
	expect = head_value(h, "Expect");
	if (expect.at != NULL && !head_is(expect, "100-continue"))
		return &bad_expect;
	return check_length(h);
}
