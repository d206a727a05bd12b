/*
 * UTF-8 is decoded by hand, as RFC 3629 has it: no overlong forms, no surrogates, nothing
 * above U+10FFFF. ASCII is passed over eight or sixteen bytes at a time. What misleads on a
 * terminal, and what takes no columns or two, stands in tables of ranges. What was meant by a
 * word is the candidate with the fewest edits, if these are few for its length.
 */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/memory.h"

#define HIDDEN_LENGTH 8
#define HIDDEN_REST 4

/* How many of the first bytes are ASCII. */
static size_t
ascii_length(const char *bytes, size_t len)
{
	size_t i = 0;

#ifdef __SSE2__
	for (; len - i >= 16; i += 16)
		if (_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)(bytes + i))))
			break;
#else
	for (; len - i >= 8; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof word);
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
#endif
	while (i < len && (unsigned char)bytes[i] < 0x80)
		i++;
	return i;
}

static bool
is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

unsigned
utf8_decode(const char *bytes, size_t len, uint32_t *code)
{
	const unsigned char *b = (const unsigned char *)bytes;

	if (len == 0)
		return 0;
	*code = b[0];
	if (b[0] < 0x80)
		return 1;
	if (len < 2 || b[0] < 0xc2 || !is_continuation(b[1]))
		return 0;
	*code = (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu);
	if (b[0] < 0xe0)
		return 2;
	if (len < 3 || !is_continuation(b[2]))
		return 0;
	*code = (b[0] & 0x0fu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
	if (b[0] < 0xf0)
		return *code >= 0x800 && (*code < 0xd800 || *code > 0xdfff) ? 3 : 0;
	if (len < 4 || !is_continuation(b[3]))
		return 0;
	*code = (b[0] & 0x07u) << 18 | (b[1] & 0x3fu) << 12 | (b[2] & 0x3fu) << 6 | (b[3] & 0x3fu);
	return b[0] < 0xf5 && *code >= 0x10000 && *code <= 0x10ffff ? 4 : 0;
}

void
utf8_append(struct buffer *out, uint32_t code)
{
	if (code < 0x80) {
		buffer_byte(out, (char)code);
		return;
	}
	if (code < 0x800) {
		buffer_byte(out, (char)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			buffer_byte(out, (char)(0xe0 | code >> 12));
		} else {
			buffer_byte(out, (char)(0xf0 | code >> 18));
			buffer_byte(out, (char)(0x80 | (code >> 12 & 0x3f)));
		}
		buffer_byte(out, (char)(0x80 | (code >> 6 & 0x3f)));
	}
	buffer_byte(out, (char)(0x80 | (code & 0x3f)));
}

void
utf8_mend(const char *bytes, size_t len, struct buffer *out)
{
	uint32_t code;

	for (size_t i = 0; i < len;) {
		unsigned n = utf8_decode(bytes + i, len - i, &code);

		if (n > 0)
			buffer_append(out, bytes + i, n);
		else
			utf8_append(out, 0xfffd);
		i += n > 0 ? n : 1;
	}
}

bool
utf8_valid(const char *bytes, size_t len)
{
	uint32_t code;

	for (size_t i = 0; i < len;) {
		unsigned n = utf8_decode(bytes + i, len - i, &code);

		if (n == 0)
			return false;
		i += n == 1 ? ascii_length(bytes + i, len - i) : n;
	}
	return true;
}

size_t
utf8_whole(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)bytes[len - back];
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

		if (is_continuation(c))
			continue;
		return c >= 0xc0 && need > back ? len - back : len;
	}
	return len;
}

bool
name_valid(const char *text)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	return len >= 1 && len <= 128 && text[len] == '\0';
}

/* Edits from a to b: a byte added, dropped or changed, or two neighbours swapped
 * (optimal string alignment). */
static size_t
edits(const char *a, const char *b)
{
	size_t width = strlen(b) + 1, height = strlen(a) + 1, result;
	size_t *d = memory_zero(width * height, sizeof *d);

	for (size_t i = 0; i < height; i++) {
		for (size_t j = 0; j < width; j++) {
			size_t *cell = d + i * width + j;

			if (i == 0 || j == 0) {
				*cell = i + j;
				continue;
			}
			*cell = cell[-1 - (long)width] + (a[i - 1] != b[j - 1]);
			if (*cell > cell[-1] + 1)
				*cell = cell[-1] + 1;
			if (*cell > cell[-(long)width] + 1)
				*cell = cell[-(long)width] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    *cell > d[(i - 2) * width + j - 2] + 1)
				*cell = d[(i - 2) * width + j - 2] + 1;
		}
	}
	result = d[width * height - 1];
	free(d);
	return result;
}

int
text_index(const char *text, const char *const *list)
{
	for (int i = 0; list[i] != NULL; i++)
		if (strcmp(text, list[i]) == 0)
			return i;
	return -1;
}

bool
text_ends(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

const char *
text_part(const char **at, char separator, size_t *len)
{
	const char *part = *at, *end = part == NULL ? NULL : strchr(part, separator);

	if (part == NULL)
		return NULL;
	*len = end == NULL ? strlen(part) : (size_t)(end - part);
	*at = end == NULL ? NULL : end + 1;
	return part;
}

const char *
environment_text(const char *name)
{
	const char *text = getenv(name);

	return text == NULL || *text == '\0' ? NULL : text;
}

const char *
text_suggest(const char *word, const char *const *candidates)
{
	size_t len = strlen(word), best = 1 + (len + 1) / 3;
	const char *found = NULL, *longer = NULL;

	if (len == 0 || len > 64)
		return NULL;
	for (; *candidates; candidates++) {
		size_t distance = edits(word, *candidates);

		if (distance < best) {
			best = distance;
			found = *candidates;
		}
		if (len >= 2 && !longer && strncmp(word, *candidates, len) == 0)
			longer = *candidates;
	}
	return found ? found : longer;
}

char *
text_hint(const char *word, const char *const *candidates)
{
	const char *near = candidates == NULL ? NULL : text_suggest(word, candidates);

	return near == NULL ? memory_text("") : memory_format(" (did you mean '%s'?)", near);
}

char *
text_list(const char *const *words)
{
	struct buffer list = BUFFER_INIT;

	for (size_t i = 0; words[i] != NULL; i++)
		buffer_format(&list, "%s%s", i > 0 ? ", " : "", words[i]);
	return buffer_take(&list);
}

struct range {
	uint32_t first, last;
};

/* C1 controls, and what reorders or breaks lines of text. */
static const struct range hidden[] = {
	{0x80, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
	{0xfeff, 0xfeff},
};
static const struct range no_columns[] = {
	{0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0e}, {0xe0100, 0xe01ef},
};
/* Wide and fullwidth in EastAsianWidth.txt, gaps without characters filled. */
static const struct range two_columns[] = {
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0},
	{0x23f3, 0x23f3}, {0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f},
	{0x2693, 0x2693}, {0x26a1, 0x26a1}, {0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5},
	{0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3}, {0x26f5, 0x26f5},
	{0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b}, {0x2728, 0x2728},
	{0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797},
	{0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55},
	{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
	{0xfe10, 0xfe19}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x18d8f},
	{0x1aff0, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a}, {0x1f200, 0x1f265}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
	{0x1f7e0, 0x1f7ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

static bool
in_ranges(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

#define IN(code, ranges) in_ranges(code, ranges, sizeof(ranges) / sizeof *(ranges))

bool
text_is_hidden(uint32_t code)
{
	return IN(code, hidden);
}

size_t
text_columns(uint32_t code)
{
	if (code < 0x300)
		return 1;
	return IN(code, no_columns) ? 0 : IN(code, two_columns) ? 2 : 1;
}

/* Appends one character of n bytes (0: a byte that is no UTF-8); its columns. */
static size_t
append_visible(struct buffer *out, const char *at, unsigned n, uint32_t code)
{
	size_t before = out->len;

	if (n == 0)
		buffer_format(out, "\\x%02x", (unsigned)(unsigned char)*at);
	else if (code == '\n' || code == '\t' || code == '\r')
		buffer_text(out, code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r");
	else if (code < 0x20 || code == 0x7f)
		buffer_format(out, "\\x%02x", (unsigned)code);
	else if (code >= 0x80 && IN(code, hidden))
		buffer_format(out, "\\u%04x", (unsigned)code);
	else {
		buffer_append(out, at, n);
		return text_columns(code);
	}
	return out->len - before;
}

void
text_visible(struct buffer *out, const char *bytes, size_t len, size_t width)
{
	size_t columns = 0, keep = out->len; /* what stays if a "…" must follow */
	uint32_t code;

	for (size_t i = 0; i < len;) {
		unsigned n = utf8_decode(bytes + i, len - i, &code);

		columns += append_visible(out, bytes + i, n, code);
		i += n ? n : 1;
		if (width == 0)
			continue;
		if (columns > width) {
			out->len = keep;
			buffer_text(out, "…");
			return;
		}
		if (columns < width)
			keep = out->len;
	}
}

void
text_line(char *text)
{
	size_t len = strlen(text), kept = 0;
	uint32_t code;

	for (size_t i = 0; i < len;) {
		unsigned n = utf8_decode(text + i, len - i, &code);

		if (code == '\n' || code == '\t')
			text[kept++] = ' ';
		else if (n == 0 || code < 0x20 || code == 0x7f || IN(code, hidden))
			text[kept++] = '?';
		else {
			memmove(text + kept, text + i, n);
			kept += n;
		}
		i += n ? n : 1;
	}
	text[kept] = '\0';
}

/* How many bytes at `at` spell the character c of a secret: itself, or as JSON or a URL escapes
 * it. 0: they spell another. */
static size_t
secret_character_length(const char *at, size_t len, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	const size_t escape = len > 0 && *at == '%' ? 1 : len > 1 && at[0] == '\\' && at[1] == 'u' ? 4 : 0;

	if (escape > 0 && len >= escape + 2 && (escape == 1 || memcmp(at + 2, "00", 2) == 0) &&
	    (at[escape] | 0x20) == digits[c >> 4] && (at[escape + 1] | 0x20) == digits[c & 15])
		return escape + 2;
	if (len > 1 && *at == '\\' && (unsigned char)at[1] == c && strchr("\"/\\", c) != NULL)
		return 2;
	return len > 0 && (unsigned char)*at == c;
}

/* Finds the next place where the secret stands and sets *found_len to the length of how it is
 * written there. NULL: it does not, or is too short to be a secret. */
static const char *
secret_find(const char *bytes, size_t len, const char *secret, size_t *found_len)
{
	const size_t secret_len = secret == NULL ? 0 : strlen(secret);
	const char *end = bytes + len;

	if (secret_len < HIDDEN_LENGTH)
		return NULL;
	for (const char *from = bytes; (size_t)(end - from) >= secret_len; from++) {
		const char *at = from;
		size_t i = 0, spelled;

		if (*from != *secret && *from != '\\' && *from != '%')
			continue;
		while (i < secret_len && (spelled = secret_character_length(at, (size_t)(end - at),
		    (unsigned char)secret[i])) > 0) {
			at += spelled;
			i++;
		}
		if (i == secret_len) {
			*found_len = (size_t)(at - from);
			return from;
		}
	}
	return NULL;
}

bool
text_has(const char *bytes, size_t len, const char *secret)
{
	size_t found_len;

	return secret_find(bytes, len, secret, &found_len) != NULL;
}

void
text_hide(char *bytes, size_t len, const char *secret)
{
	char *end = bytes + len;
	const char *found;
	size_t found_len;

	while ((found = secret_find(bytes, (size_t)(end - bytes), secret, &found_len)) != NULL) {
		bytes += found - bytes;
		memset(bytes, '*', found_len);
		bytes += found_len;
	}
}

size_t
text_byte_order_mark(const char *bytes, size_t len)
{
	return len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

size_t
text_prefix_of(const char *bytes, size_t len, const char *set)
{
	size_t prefix = 0;

	while (prefix < len && bytes[prefix] != '\0' && strchr(set, bytes[prefix]) != NULL)
		prefix++;
	return prefix;
}

void
text_hide_rest(char *bytes, size_t len, const char *secret)
{
	size_t secret_len = secret == NULL ? 0 : strlen(secret);

	if (secret_len < HIDDEN_LENGTH)
		return;
	for (size_t rest = secret_len - 1; rest >= HIDDEN_REST; rest--)
		if (rest <= len && memcmp(bytes, secret + secret_len - rest, rest) == 0) {
			memset(bytes, '*', rest);
			return;
		}
}

char *
size_text(int64_t bytes, char *out, size_t size)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(out, size, "%d B", (int)bytes);
		return out;
	}
	for (; value >= 1023.95 && unit + 1 < sizeof units / sizeof *units; unit++)
		value /= 1024;
	snprintf(out, size, "%.1f %s", value, units[unit]);
	return out;
}
