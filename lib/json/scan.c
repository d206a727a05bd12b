/*
 * Checking, framing and minifying. Nesting is tracked with a counter and a small array, never by
 * recursion, so that input from outside cannot exhaust the C stack.
 */
#include "json/scan.h"

#include <string.h>

#include "base/invariant.h"
#include "base/text.h"
#include "json/bytes.h"

struct check {
	const char *at, *end;
	const char *wrong; /* a static text; `at` is then the wrong byte */
	unsigned depth, limit;
	bool loose; /* accept lone surrogates */
	bool object[SCAN_LINE_DEPTH];
};

static bool
scan_set_error(struct check *c, const char *wrong)
{
	c->wrong = c->at < c->end ? wrong : "ends too early";
	return false;
}

static inline void
skip_space(struct check *c)
{
	while (c->at < c->end && bytes_space(*c->at))
		c->at++;
}

/* Consumes the byte if it is next. */
static inline bool
scan_accept_byte(struct check *c, char byte)
{
	if (c->at >= c->end || *c->at != byte)
		return false;
	c->at++;
	return true;
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads the four digits of \u. */
static bool
check_unit(struct check *c, unsigned *unit)
{
	*unit = 0;
	for (int i = 0; i < 4; i++, c->at++) {
		if (c->at >= c->end || hex_value(*c->at) < 0)
			return scan_set_error(c, "invalid escape");
		*unit = *unit << 4 | (unsigned)hex_value(*c->at);
	}
	return true;
}

static bool
check_escape(struct check *c)
{
	const char *escape = c->at;
	unsigned unit, low = 0;

	switch (++c->at < c->end ? *c->at : '\0') {
	case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
		c->at++;
		return true;
	case 'u':
		c->at++;
		break;
	default:
		return scan_set_error(c, "invalid escape");
	}
	if (!check_unit(c, &unit))
		return false;
	if (c->loose || unit < 0xd800 || unit > 0xdfff)
		return true;
	/* A high surrogate must be followed by a low one: a lone surrogate is not a character, and
	 * jq and most parsers reject it. */
	if (unit < 0xdc00 && scan_accept_byte(c, '\\') && scan_accept_byte(c, 'u') &&
	    !check_unit(c, &low))
		return false;
	if (low >= 0xdc00 && low <= 0xdfff)
		return true;
	c->at = escape;
	return scan_set_error(c, "half of a surrogate pair");
}

/* Checks a string, from its opening quote on, and moves behind its closing quote. */
static bool
check_string(struct check *c)
{
	uint32_t code;
	unsigned n;

	for (c->at++;;) {
		c->at = bytes_not_plain(c->at, c->end);
		if (scan_accept_byte(c, '"'))
			return true;
		if (c->at >= c->end) {
			c->wrong = "unterminated string";
			return false;
		}
		if (*c->at == '\\') {
			if (!check_escape(c))
				return false;
		} else if ((unsigned char)*c->at < 0x20) {
			return scan_set_error(c, "control character in a string");
		} else {
			/* A run of characters that are not ASCII. */
			do {
				n = utf8_decode(c->at, (size_t)(c->end - c->at), &code);
				if (n == 0)
					return scan_set_error(c, "invalid UTF-8");
				c->at += n;
			} while (c->at < c->end && (unsigned char)*c->at >= 0x80);
		}
	}
}

static bool
scan_accept_digits(struct check *c)
{
	const char *first = c->at;

	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return c->at > first;
}

static bool
check_number(struct check *c)
{
	scan_accept_byte(c, '-');
	if (!scan_accept_byte(c, '0') && !scan_accept_digits(c))
		return scan_set_error(c, "invalid number");
	if (scan_accept_byte(c, '.') && !scan_accept_digits(c))
		return scan_set_error(c, "invalid number");
	if (scan_accept_byte(c, 'e') || scan_accept_byte(c, 'E')) {
		if (!scan_accept_byte(c, '+'))
			scan_accept_byte(c, '-');
		if (!scan_accept_digits(c))
			return scan_set_error(c, "invalid number");
	}
	/* "12abc" is an error, not a number and a word */
	return (c->at < c->end && bytes_scalar(*c->at)) ? scan_set_error(c, "invalid number") :
	    true;
}

static bool
check_scalar(struct check *c)
{
	static const char *const words[] = { "true", "false", "null" };

	if (*c->at == '-' || (*c->at >= '0' && *c->at <= '9'))
		return check_number(c);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(c->end - c->at) < len || memcmp(c->at, words[i], len) != 0)
			continue;
		c->at += len;
		return (c->at < c->end && bytes_scalar(*c->at)) ?
		    scan_set_error(c, "expected a value") : true;
	}
	return scan_set_error(c, "expected a value");
}

/* Checks a key and its colon. */
static bool
check_key(struct check *c)
{
	skip_space(c);
	if (c->at >= c->end || *c->at != '"')
		return scan_set_error(c, "expected a key in double quotes");
	if (!check_string(c))
		return false;
	skip_space(c);
	return scan_accept_byte(c, ':') ? true : scan_set_error(c, "expected ':'");
}

/* Goes down through opening brackets to the first complete value: a scalar, a string, or an
 * empty container. */
static bool
check_down(struct check *c)
{
	for (;;) {
		bool object;

		skip_space(c);
		if (c->at >= c->end)
			return scan_set_error(c, "expected a value");
		if (*c->at == '"')
			return check_string(c);
		object = *c->at == '{';
		if (!object && *c->at != '[')
			return check_scalar(c);
		if (c->depth == c->limit)
			return scan_set_error(c, "nested too deep");
		c->object[c->depth++] = object;
		c->at++;
		skip_space(c);
		if (scan_accept_byte(c, object ? '}' : ']')) {
			c->depth--;
			return true;
		}
		if (object && !check_key(c))
			return false;
	}
}

/* After a value: goes up through closing brackets to a comma or the end. */
static bool
check_up(struct check *c)
{
	while (c->depth > 0) {
		bool object = c->object[c->depth - 1];

		skip_space(c);
		if (scan_accept_byte(c, ','))
			return object ? check_key(c) : true;
		if (!scan_accept_byte(c, object ? '}' : ']'))
			return scan_set_error(c, object ? "expected ',' or '}'" :
			    "expected ',' or ']'");
		c->depth--;
	}
	return true;
}

/* Checks one value. If it is an object, its first `known` bytes, which end after a member, were
 * checked before. */
static const char *
check_value(struct check *c, const char *at, size_t len, size_t known, size_t *end, size_t *bad)
{
	bool sound;

	INVARIANT(c->limit <= SCAN_LINE_DEPTH && known <= len);
	at = at ? at : "";
	c->at = at + known;
	c->end = at + len;
	c->wrong = NULL;
	c->depth = known > 0;
	c->object[0] = true;
	sound = known > 0 ? check_up(c) : check_down(c) && check_up(c);
	while (sound && c->depth > 0)
		sound = check_down(c) && check_up(c);
	INVARIANT(sound ? c->wrong == NULL && c->depth == 0 : c->wrong != NULL);
	INVARIANT(c->at >= at && c->at <= c->end);
	*(sound ? end : bad) = (size_t)(c->at - at);
	return c->wrong;
}

const char *
scan_value(const char *at, size_t len, unsigned depth, size_t *end, size_t *bad)
{
	struct check c;

	c.limit = depth;
	c.loose = false;
	return check_value(&c, at, len, 0, end, bad);
}

static const char *
check_all(const char *at, size_t len, size_t known, unsigned depth, bool loose, size_t *bad)
{
	struct check c;
	const char *wrong;
	size_t end = 0;

	c.limit = depth;
	c.loose = loose;
	wrong = check_value(&c, at, len, known, &end, bad);
	if (wrong)
		return wrong;
	while (end < len && bytes_space(at[end]))
		end++;
	*bad = end;
	return end == len ? NULL : "something follows the value";
}

const char *
scan_within(const char *at, size_t len, unsigned depth, size_t *bad)
{
	return check_all(at, len, 0, depth, false, bad);
}

const char *
scan_object(const char *at, size_t len, size_t known, unsigned depth, size_t *bad)
{
	return check_all(at, len, known, depth, false, bad);
}

/* The code unit of "\uXXXX" at this position; 0: there is no such escape. */
static unsigned
unit_at(const char *at, const char *end)
{
	unsigned unit = 0;

	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return 0;
	for (int i = 2; i < 6; i++) {
		if (hex_value(at[i]) < 0)
			return 0;
		unit = unit << 4 | (unsigned)hex_value(at[i]);
	}
	return unit;
}

void
scan_mend(struct span value, struct buffer *out)
{
	const char *at = value.at, *end = value.at + value.len;

	while (at < end) {
		unsigned unit = unit_at(at, end), low = unit == 0 ? 0 : unit_at(at + 6, end);
		size_t len = 1;

		if (unit >= 0xd800 && unit < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			len = 12;
		} else if (unit >= 0xd800 && unit < 0xe000) {
			buffer_text(out, "\\ufffd");
			at += 6;
			continue;
		} else if (*at == '\\' && end - at > 1) {
			len = 2;
		}
		buffer_append(out, at, len);
		at += len;
	}
	INVARIANT(at == end);
}

const char *
scan_loosely(const char *at, size_t len, size_t *bad)
{
	return check_all(at, len, 0, SCAN_DEPTH, true, bad);
}

const char *
scan_check(const char *at, size_t len, size_t *bad)
{
	return scan_within(at, len, SCAN_DEPTH, bad);
}

void
framer_begin(struct framer *f)
{
	*f = (struct framer){0};
}

/* Continues inside a string; returns the position after its closing quote, or end. */
static const char *
frame_string(struct framer *f, const char *at, const char *end)
{
	while (at < end) {
		if (f->escaped) {
			f->escaped = false;
			at++;
			continue;
		}
		at = bytes_quote(at, end);
		if (at == end)
			break;
		if (*at++ == '"') {
			f->in_string = false;
			break;
		}
		f->escaped = true;
	}
	return at;
}

enum frame
framer_feed(struct framer *f, const char *at, size_t len, size_t *used)
{
	const char *p = at, *end;
	enum frame result = FRAME_MORE;

	*used = 0;
	if (len == 0)
		return result;
	end = at + len;
	for (; !f->started && p < end; p++) {
		if (bytes_space(*p))
			continue;
		f->started = true;
		f->in_string = *p == '"';
		f->depth = *p == '{' || *p == '[';
		f->scalar = !f->in_string && f->depth == 0;
	}
	if (f->scalar) {
		while (p < end && bytes_scalar(*p))
			p++;
		result = p < end ? FRAME_DONE : FRAME_MORE;
	}
	while (f->started && !f->scalar && p < end && result == FRAME_MORE) {
		if (f->in_string) {
			p = frame_string(f, p, end);
		} else if ((p = bytes_structure(p, end)) < end) {
			if (*p == '"')
				f->in_string = true;
			else if (*p == '{' || *p == '[')
				f->depth++;
			else
				f->depth--;
			p++;
		}
		if (f->depth > SCAN_LINE_DEPTH)
			result = FRAME_TOO_DEEP;
		else if (f->depth == 0 && !f->in_string)
			result = FRAME_DONE;
	}
	INVARIANT(p >= at && p <= end && !(f->scalar && (f->in_string || f->depth > 0)));
	*used = (size_t)(p - at);
	return result;
}

void
scan_minify(struct span value, struct buffer *out)
{
	struct framer string = {0};
	const char *at = value.at, *end = at ? at + value.len : at, *run = at;
	size_t before = out->len;

	buffer_reserve(out, value.len);
	while (at < end) {
		if (bytes_space(*at)) {
			buffer_append(out, run, (size_t)(at - run));
			run = ++at;
		} else if (*at++ == '"') {
			at = frame_string(&string, at, end);
		}
	}
	if (run < end)
		buffer_append(out, run, (size_t)(end - run));
	INVARIANT(out->len - before <= value.len);
}
