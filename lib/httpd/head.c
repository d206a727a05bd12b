/*
 * Goes through the lines once; a table has the fields that must not be repeated. A field name must
 * be RFC 9110's token, so a space before the colon, or a folded line, is refused as an invalid
 * name.
 */
#include "httpd/head.h"

#include <string.h>
#include <strings.h>

static const struct refusal bad_line = { 400, "invalid_input",
	"the request line is malformed" };
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

/* Fields that must not be repeated, because two values would contradict each other. */
static const char *const once[] = {
	"Host", "Content-Length", "Transfer-Encoding", "Authorization", "Content-Type", "Cookie",
	"Origin", "Expect", "Last-Event-ID", "Sec-Fetch-Site", "X-Forwarded-Host", NULL
};

/* Whether a name is a token (RFC 9110, section 5.6.2). */
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

/* Refuses control characters except tabs: some programs take a CR or a NUL for the end of a
 * line. */
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

/* Reads a number of digits only; -1 if there is anything else, or it has more than 15 digits. */
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

/* Determines the length of the body. */
static const struct refusal *
check_length(struct head *h)
{
	struct span length = head_value(h, "Content-Length");
	struct span encoding = head_value(h, "Transfer-Encoding");

	if (length.at != NULL && encoding.at != NULL)
		return &two_lengths;
	if (encoding.at != NULL &&
	    (!head_is(encoding, "chunked") || !h->http11))
		return &bad_encoding;
	h->chunked = encoding.at != NULL;
	h->length = length.at != NULL ? read_length(length) : 0;
	if (h->length == -1)
		return &bad_length;
	if ((h->chunked || h->length > 0) && !head_is(h->method, "POST") && !head_is(h->method, "PUT"))
		return &bad_body;
	return NULL;
}

/* Takes a line off the bytes, without its CR LF. False: it has another end. */
static bool
head_split_line(struct span *rest, struct span *line)
{
	const char *lf = memchr(rest->at, '\n', rest->len);

	if (lf == NULL || lf == rest->at || lf[-1] != '\r')
		return false;
	*line = (struct span){ rest->at, (size_t)(lf - rest->at) - 1 };
	rest->len -= line->len + 2;
	rest->at = lf + 1;
	return true;
}

/* METHOD SP TARGET SP HTTP/DIGIT.DIGIT, with single spaces. */
static const struct refusal *
read_request_line(struct head *h, struct span line)
{
	const char *end = line.at + line.len, *first = memchr(line.at, ' ', line.len);
	const char *second = first != NULL ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
	const char *version = second != NULL ? second + 1 : end;

	if (second == NULL)
		return &bad_line;
	h->method = (struct span){ line.at, (size_t)(first - line.at) };
	h->target = (struct span){ first + 1, (size_t)(second - first) - 1 };
	if (!is_token(h->method) || h->target.len == 0 || !is_value(h->target) ||
	    memchr(h->target.at, '\t', h->target.len) != NULL)
		return &bad_line;
	if (end - version != 8 || memcmp(version, "HTTP/", 5) != 0 || version[6] != '.' ||
	    version[5] < '0' || version[5] > '9' || version[7] < '0' || version[7] > '9')
		return &bad_line;
	h->http11 = memcmp(version, "HTTP/1.1", 8) == 0;
	return h->http11 || memcmp(version, "HTTP/1.0", 8) == 0 ? NULL : &bad_version;
}

static const struct refusal *
read_field(struct head *h, struct span line)
{
	const char *end = line.at + line.len, *colon = memchr(line.at, ':', line.len);
	struct head_field field;

	if (*line.at == ' ' || *line.at == '\t')
		return &folded;
	if (colon == NULL)
		return &malformed;
	field.name = (struct span){ line.at, (size_t)(colon - line.at) };
	for (colon++; colon < end && (*colon == ' ' || *colon == '\t'); colon++)
		continue;
	for (; end > colon && (end[-1] == ' ' || end[-1] == '\t'); end--)
		continue;
	field.value = (struct span){ colon, (size_t)(end - colon) };
	if (!is_token(field.name) || !is_value(field.value))
		return &malformed;
	if (h->count == HEAD_FIELDS)
		return &too_many;
	h->fields[h->count++] = field;
	return NULL;
}

/* Whether a list of words, separated by commas, contains this one. */
static bool
has_word(struct span list, const char *word)
{
	const char *at = list.at, *end = list.at + list.len;

	while (at != NULL && at < end) {
		const char *stop = memchr(at, ',', (size_t)(end - at)), *last;

		stop = stop != NULL ? stop : end;
		while (at < stop && (*at == ' ' || *at == '\t'))
			at++;
		for (last = stop; last > at && (last[-1] == ' ' || last[-1] == '\t'); last--)
			continue;
		if (head_is((struct span){ at, (size_t)(last - at) }, word))
			return true;
		at = stop + 1;
	}
	return false;
}

size_t
head_end(const char *bytes, size_t len, size_t looked)
{
	const char *at = bytes + (looked > 2 ? looked - 2 : 0), *end = bytes + len;

	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		at++;
		if (at < end && *at == '\n')
			return (size_t)(at - bytes) + 1;
		if (end - at > 1 && at[0] == '\r' && at[1] == '\n')
			return (size_t)(at - bytes) + 2;
	}
	return 0;
}

const struct refusal *
head_read(struct head *h, const char *bytes, size_t len)
{
	struct span rest = { bytes, len }, line, expect;
	const struct refusal *refusal;

	h->method = h->target = SPAN_NONE;
	h->http11 = h->chunked = h->expects = false;
	h->close = true;
	h->count = 0;
	h->length = 0;
	if (!head_split_line(&rest, &line))
		return &bad_line;
	refusal = read_request_line(h, line);
	while (refusal == NULL) {
		if (!head_split_line(&rest, &line))
			return &folded;
		if (line.len == 0)
			break;
		refusal = read_field(h, line);
	}
	if (refusal != NULL)
		return refusal;
	for (size_t i = 0; once[i] != NULL; i++)
		if (stands_twice(h, once[i]))
			return &repeated;
	if (head_value(h, "Host").len == 0)
		return &no_host;
	expect = head_value(h, "Expect");
	if (expect.at != NULL && !head_is(expect, "100-continue"))
		return &bad_expect;
	h->expects = expect.at != NULL && h->http11;
	h->close = !h->http11;
	for (size_t i = 0; i < h->count; i++)
		h->close |= head_is(h->fields[i].name, "Connection") &&
		    has_word(h->fields[i].value, "close");
	return check_length(h);
}

const char *
head_reason(unsigned status)
{
	static const struct { unsigned status; const char *reason; } reasons[] = {
		{ 200, "OK" }, { 201, "Created" }, { 202, "Accepted" }, { 204, "No Content" },
		{ 206, "Partial Content" }, { 301, "Moved Permanently" }, { 302, "Found" },
		{ 303, "See Other" }, { 304, "Not Modified" }, { 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 402, "Payment Required" }, { 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 406, "Not Acceptable" }, { 408, "Request Timeout" },
		{ 409, "Conflict" }, { 410, "Gone" }, { 412, "Precondition Failed" },
		{ 413, "Content Too Large" }, { 414, "URI Too Long" }, { 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" }, { 417, "Expectation Failed" },
		{ 421, "Misdirected Request" }, { 422, "Unprocessable Content" }, { 424, "Failed Dependency" },
		{ 426, "Upgrade Required" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
		{ 501, "Not Implemented" }, { 502, "Bad Gateway" }, { 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}
