/*
 * UTF-8 is decoded according to RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 * ASCII is skipped eight or sixteen bytes at a time. base/characters.h says which characters are
 * hidden, and which take no columns or two. The suggestion for a misspelt word is the candidate
 * with the fewest edits, if these are few for its length.
 */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/characters.h"
#include "base/invariant.h"
#include "base/memory.h"

#define HIDDEN_LENGTH 8
#define HIDDEN_REST 4
#define UNMISTAKABLE_LENGTH 32
#define UNMISTAKABLE_WITH_DIGIT 16
#define SPELLED_LENGTH 6 /* longest escaped form of a byte: \u0041 */

enum {
	ZERO_WIDTH_NON_JOINER = 0x200c,
	ZERO_WIDTH_JOINER = 0x200d,
	EMOJI_STYLE = 0xfe0f,
	BLACK_FLAG = 0x1f3f4,
	TAGS = 0xe0000
};
/* most characters in a piece of text; no emoji has more than 10 */
#define LONGEST_SEQUENCE 16

/* The number of ASCII bytes at the beginning. */
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
	INVARIANT(code <= 0x10ffff && (code < 0xd800 || code > 0xdfff));
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

void
text_escape_markup(struct buffer *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		switch (text[i]) {
		case '&': buffer_text(out, "&amp;"); break;
		case '<': buffer_text(out, "&lt;"); break;
		case '>': buffer_text(out, "&gt;"); break;
		case '"': buffer_text(out, "&quot;"); break;
		case '\'': buffer_text(out, "&#39;"); break;
		default: buffer_byte(out, text[i]); break;
		}
}

bool
name_valid(const char *text)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	return len >= 1 && len <= 128 && text[len] == '\0';
}

/* The number of edits from a to b: adding, dropping or changing a byte, or swapping two neighbours
 * (optimal string alignment). */
static size_t
text_edit_distance(const char *a, const char *b)
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

bool
text_has_part(const char *list, char separator, const char *part, size_t len)
{
	const char *at;
	size_t at_len;

	while ((at = text_part(&list, separator, &at_len)) != NULL)
		if (at_len == len && memcmp(at, part, len) == 0)
			return true;
	return false;
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
		size_t distance = text_edit_distance(word, *candidates);

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

static unsigned
character_flags(uint32_t code)
{
	size_t low = 0, high = character_run_count;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (character_runs[middle] >> CHARACTER_FLAG_BITS <= code)
			low = middle;
		else
			high = middle;
	}
	INVARIANT(character_runs[low] >> CHARACTER_FLAG_BITS <= code);
	INVARIANT(high == character_run_count || character_runs[high] >> CHARACTER_FLAG_BITS > code);
	return character_runs[low] & ((1u << CHARACTER_FLAG_BITS) - 1);
}

bool
text_is_hidden(uint32_t code)
{
	return (character_flags(code) & CHARACTER_HIDDEN) != 0;
}

size_t
text_columns(uint32_t code)
{
	unsigned flags;

	if (code < 0x300 || code == EMOJI_STYLE)
		return 1;
	flags = character_flags(code);
	return (flags & CHARACTER_NO_COLUMN) != 0 ? 0 : (flags & CHARACTER_WIDE) != 0 ? 2 : 1;
}

/* Whether an invisible character selects a form of the character before it, which has these
 * flags. */
static bool
selects_form(uint32_t code, unsigned flags)
{
	if (code == 0xfe0e || code == EMOJI_STYLE)
		return (flags & CHARACTER_EMOJI_VARIES) != 0;
	if (code >= 0xfe00 && code <= 0xfe02)
		return (flags & (CHARACTER_IDEOGRAPH | CHARACTER_VARIES)) != 0;
	if ((code >= 0x180b && code <= 0x180d) || code == 0x180f)
		return (flags & CHARACTER_VARIES) != 0;
	return code >= 0xe0100 && code <= 0xe01ef && (flags & CHARACTER_IDEOGRAPH) != 0;
}

/* Whether the next letter, after any marks, joins to the letter before it. */
static bool
joined_letter_follows(const char *bytes, size_t len)
{
	uint32_t code;
	unsigned n;

	for (unsigned i = 0; i < LONGEST_SEQUENCE && (n = utf8_decode(bytes, len, &code)) > 0; i++) {
		const unsigned flags = character_flags(code);

		if ((flags & CHARACTER_JOINS_BEFORE) != 0)
			return true;
		if ((flags & CHARACTER_MARK) == 0 || (flags & CHARACTER_HIDDEN) != 0)
			return false;
		bytes += n;
		len -= n;
	}
	return false;
}

/* The length of U+FE0F and U+20E3 after an ASCII character, which make it a keycap; 0 if they do
 * not follow. */
static size_t
keycap_ending_length(const char *bytes, size_t len)
{
	static const char ending[] = "\xef\xb8\x8f\xe2\x83\xa3";

	return len >= sizeof ending && memcmp(bytes + 1, ending, sizeof ending - 1) == 0 && *bytes != '\0' &&
	    strchr("0123456789#*", *bytes) != NULL ? sizeof ending - 1 : 0;
}

/* The length of the tags after U+1F3F4 that make it the flag of a part of a country; 0 if there are
 * none, or others. */
static size_t
flag_tags_length(const char *bytes, size_t len)
{
	/* all that are in emoji-sequences.txt */
	static const char *const flags[] = { "gbeng\x7f", "gbsct\x7f", "gbwls\x7f", NULL };
	char tags[7] = "";
	size_t at = 0;
	uint32_t code;

	for (size_t i = 0; i + 1 < sizeof tags; i++) {
		const unsigned n = utf8_decode(bytes + at, len - at, &code);

		if (n == 0 || code <= TAGS || code > TAGS + 0x7f)
			return 0;
		tags[i] = (char)(code - TAGS);
		at += n;
	}
	return text_index(tags, flags) >= 0 ? at : 0;
}

/* Appends to a piece, which so far is one visible character, the characters that change its
 * appearance: Unicode Technical Standard 51 (emoji); RFC 5892, appendix A (U+200C and U+200D in
 * words). */
static void
add_to_piece(struct text_piece *piece, const char *bytes, size_t len)
{
	unsigned flags = character_flags(piece->code), n;
	uint32_t code, joined;

	if (piece->code == BLACK_FLAG)
		piece->len += flag_tags_length(bytes + piece->len, len - piece->len);
	for (unsigned i = 0; i < LONGEST_SEQUENCE; i++, piece->len += n) {
		const char *at = bytes + piece->len;
		const size_t left = len - piece->len;

		if ((n = utf8_decode(at, left, &code)) == 0) {
			piece->undecided = left == 0 && (flags & CHARACTER_PICTOGRAPH) != 0;
			return;
		}
		if (selects_form(code, flags))
			flags &= ~(unsigned)(CHARACTER_EMOJI_VARIES | CHARACTER_IDEOGRAPH | CHARACTER_VARIES);
		else if (code >= 0x1f3fb && code <= 0x1f3ff && (flags & CHARACTER_PICTOGRAPH) != 0)
			flags = CHARACTER_PICTOGRAPH; /* a skin colour */
		else if (code == ZERO_WIDTH_JOINER && (flags & CHARACTER_PICTOGRAPH) != 0) {
			const unsigned m = utf8_decode(at + n, left - n, &joined);

			flags = m == 0 ? 0 : character_flags(joined);
			piece->undecided = left == n;
			if ((flags & CHARACTER_PICTOGRAPH) == 0)
				return;
			n += m;
		} else if (code == ZERO_WIDTH_JOINER || code == ZERO_WIDTH_NON_JOINER) {
			const bool joins = code == ZERO_WIDTH_NON_JOINER && (flags & CHARACTER_JOINS_NEXT) != 0;

			piece->undecided = joins && left == n;
			if ((flags & CHARACTER_VIRAMA) == 0 && !(joins && joined_letter_follows(at + n, left - n)))
				return;
			flags = 0;
		} else if ((flags & CHARACTER_JOINS_NEXT) == 0 ||
		    (character_flags(code) & (CHARACTER_MARK | CHARACTER_HIDDEN)) != CHARACTER_MARK)
			return;
	}
}

struct text_piece
text_piece(const char *bytes, size_t len)
{
	struct text_piece piece = { .kind = TEXT_BROKEN, .len = 1 };
	const unsigned n = utf8_decode(bytes, len, &piece.code);

	if (n == 0)
		return piece;
	piece.kind = text_is_hidden(piece.code) ? TEXT_HIDDEN : TEXT_SHOWN;
	piece.len = n;
	if (piece.code < 0x80)
		piece.len += keycap_ending_length(bytes, len);
	else if (piece.kind == TEXT_SHOWN)
		add_to_piece(&piece, bytes, len);
	INVARIANT(piece.len >= n && piece.len <= len);
	return piece;
}

size_t
text_piece_append(struct buffer *out, const char *at, struct text_piece piece)
{
	const size_t before = out->len;
	size_t columns = 0;
	uint32_t code;

	if (piece.kind == TEXT_BROKEN)
		buffer_format(out, "\\x%02x", (unsigned)(unsigned char)*at);
	else if (piece.kind == TEXT_SHOWN) {
		for (size_t i = 0; i < piece.len; columns += text_columns(code))
			i += utf8_decode(at + i, piece.len - i, &code);
		buffer_append(out, at, piece.len);
		return columns;
	} else if (piece.code == '\n' || piece.code == '\t' || piece.code == '\r')
		buffer_text(out, piece.code == '\n' ? "\\n" : piece.code == '\t' ? "\\t" : "\\r");
	else
		buffer_format(out, piece.code < 0x80 ? "\\x%02x" : piece.code < 0x10000 ? "\\u%04x" :
		    "\\U%08x", (unsigned)piece.code);
	return out->len - before;
}

void
text_visible(struct buffer *out, const char *bytes, size_t len, size_t width)
{
	size_t columns = 0, keep = out->len; /* length and columns up to which the text fits if a
	                                        "…" must follow */
	struct text_piece piece;

	for (size_t i = 0; i < len; i += piece.len) {
		piece = text_piece(bytes + i, len - i);
		columns += text_piece_append(out, bytes + i, piece);
		if (width == 0)
			continue;
		if (columns > width) {
			INVARIANT(keep <= out->len);
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
	struct text_piece piece;

	for (size_t i = 0; i < len; i += piece.len) {
		piece = text_piece(text + i, len - i);
		if (piece.kind == TEXT_SHOWN) {
			memmove(text + kept, text + i, piece.len);
			kept += piece.len;
		} else
			text[kept++] = text[i] == '\n' || text[i] == '\t' ? ' ' : '?';
		INVARIANT(kept <= i + piece.len);
	}
	text[kept] = '\0';
}

/* How many bytes at `at` stand for the character c of a secret: as it is, or escaped as in JSON or
 * in a URL. 0: they stand for another character. */
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

/* Finds the next place where the secret occurs and sets *found_len to its length there. NULL: it
 * does not occur, or is too short to be a secret. */
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
		INVARIANT(found_len <= (size_t)(end - bytes));
		memset(bytes, '*', found_len);
		bytes += found_len;
	}
}

void
text_hide_all(char *bytes, size_t len, char *const *secrets)
{
	for (; secrets != NULL && *secrets != NULL; secrets++)
		text_hide(bytes, len, *secrets);
}

static bool
is_unmistakable(const char *secret)
{
	const size_t len = strlen(secret);

	return len >= UNMISTAKABLE_LENGTH ||
	    (len >= UNMISTAKABLE_WITH_DIGIT && secret[strcspn(secret, "0123456789")] != '\0');
}

void
text_hide_in_data(char *bytes, size_t len, char *const *secrets)
{
	for (; secrets != NULL && *secrets != NULL; secrets++)
		if (is_unmistakable(*secrets))
			text_hide(bytes, len, *secrets);
}

/* Whether the bytes are the beginning of a secret that goes on after them; an escape at their end
 * may be incomplete. */
static bool
secret_begins(const char *bytes, size_t len, const char *secret)
{
	size_t spelled;

	while (len > 0 && *secret != '\0' &&
	    (spelled = secret_character_length(bytes, len, (unsigned char)*secret)) > 0) {
		bytes += spelled;
		len -= spelled;
		secret++;
	}
	return *secret != '\0' && (len == 0 || (*bytes == '%' && len < 3) || (*bytes == '\\' && len < 6));
}

size_t
text_secret_begun(const char *bytes, size_t len, char *const *secrets)
{
	size_t most = 0;

	for (; secrets != NULL && *secrets != NULL; secrets++) {
		const size_t longest = SPELLED_LENGTH * strlen(*secrets);

		if (!is_unmistakable(*secrets))
			continue;
		for (size_t rest = len < longest ? len : longest; rest > most; rest--)
			if (secret_begins(bytes + len - rest, rest, *secrets))
				most = rest;
	}
	return most;
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
