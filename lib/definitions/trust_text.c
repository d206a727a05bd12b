/*
 * A text is processed in the pieces that a terminal shows as one character (text_piece()).
 *
 * What passes for ASCII is judged by runs of letters: between ASCII letters a letter of another
 * script that has the same shapes does, without them only if all letters of the run have an ASCII
 * letter's shape. So a name that is written in another script is shown as it is.
 */
#include "definitions/trust_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* Whether a character looks like a space. */
static bool
is_blank(uint32_t code)
{
	return code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
	    code == 0x202f || code == 0x205f || code == 0x2800 || code == 0x3000;
}

struct range {
	uint32_t first, last;
};

static bool
is_in(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* Whether a letter has the shape of an ASCII letter or digit, in most fonts. */
static bool
has_ascii_shape(uint32_t code)
{
	static const struct range ranges[] = {
		{ 0x131, 0x131 }, { 0x17f, 0x17f }, { 0x251, 0x251 }, { 0x261, 0x261 }, { 0x37f, 0x37f }, /* Latin */
		{ 0x391, 0x392 }, { 0x395, 0x397 }, { 0x399, 0x39a }, { 0x39c, 0x39d }, { 0x39f, 0x39f }, /* Greek */
		{ 0x3a1, 0x3a1 }, { 0x3a4, 0x3a5 }, { 0x3a7, 0x3a7 }, { 0x3b1, 0x3b1 }, { 0x3b9, 0x3ba }, { 0x3bd, 0x3bd },
		{ 0x3bf, 0x3bf }, { 0x3c1, 0x3c1 }, { 0x3c3, 0x3c3 }, { 0x3c5, 0x3c5 }, { 0x3c9, 0x3c9 }, { 0x3f2, 0x3f3 },
		{ 0x3f9, 0x3f9 }, { 0x405, 0x406 }, { 0x408, 0x408 }, { 0x410, 0x410 }, { 0x412, 0x412 }, /* Cyrillic */
		{ 0x415, 0x415 }, { 0x417, 0x417 }, { 0x41a, 0x41a }, { 0x41c, 0x41e }, { 0x420, 0x423 }, { 0x425, 0x425 },
		{ 0x430, 0x430 }, { 0x433, 0x433 }, { 0x435, 0x435 }, { 0x43e, 0x43e }, { 0x440, 0x441 }, { 0x443, 0x443 },
		{ 0x445, 0x445 }, { 0x455, 0x456 }, { 0x458, 0x458 }, { 0x461, 0x461 }, { 0x474, 0x475 }, { 0x4ae, 0x4af },
		{ 0x4ba, 0x4bb }, { 0x4c0, 0x4c0 }, { 0x4cf, 0x4cf }, { 0x501, 0x501 }, { 0x50c, 0x50c }, { 0x51a, 0x51d },
		{ 0x555, 0x555 }, { 0x561, 0x561 }, { 0x566, 0x566 }, { 0x570, 0x570 }, { 0x578, 0x578 }, /* Armenian */
		{ 0x57c, 0x57d }, { 0x581, 0x581 }, { 0x585, 0x585 },
		{ 0x13a0, 0x13f5 }, { 0xa4d0, 0xa4f7 },                       /* Cherokee, Lisu */
		{ 0x1d00, 0x1d2b }, { 0x2100, 0x214f }, { 0x2160, 0x2188 }, { 0x24b6, 0x24e9 }, /* forms of letters */
		{ 0xff10, 0xff19 }, { 0xff21, 0xff3a }, { 0xff41, 0xff5a }, { 0x1d400, 0x1d7ff },
	};

	return is_in(code, ranges, sizeof ranges / sizeof *ranges);
}

/* Whether a letter belongs to a script with such letters, among which it passes for one of them. */
static bool
is_of_similar_script(uint32_t code)
{
	static const struct range ranges[] = { { 0x250, 0x2af }, { 0x370, 0x58f }, { 0x13a0, 0x13ff }, { 0x1c80, 0x1c8f },
		{ 0x1d00, 0x1dbf }, { 0x1f00, 0x1fff }, { 0x2c80, 0x2cff }, { 0x2de0, 0x2dff }, { 0xa4d0, 0xa4ff },
		{ 0xa640, 0xa69f }, { 0xab30, 0xabbf }, { 0x10400, 0x104ff } };

	return is_in(code, ranges, sizeof ranges / sizeof *ranges) || has_ascii_shape(code);
}

/* Whether it looks like a sign of ASCII: a hyphen, a quote, a dot, a slash. */
static bool
is_like_sign(uint32_t code)
{
	static const struct range ranges[] = { { 0xb4, 0xb4 }, { 0xb8, 0xb8 }, { 0x1c0, 0x1c3 }, { 0x2b0, 0x2ff },
		{ 0x37e, 0x37e }, { 0x387, 0x387 }, { 0x55a, 0x55d }, { 0x589, 0x58a }, { 0x5be, 0x5be }, { 0x5c0, 0x5c0 },
		{ 0x5c3, 0x5c3 }, { 0x66a, 0x66d }, { 0x6d4, 0x6d4 }, { 0x701, 0x704 }, { 0x2010, 0x201f }, { 0x2024, 0x2024 },
		{ 0x2032, 0x2037 }, { 0x2039, 0x203a }, { 0x2043, 0x2044 }, { 0x204e, 0x204f }, { 0x2052, 0x2053 },
		{ 0x2212, 0x2212 }, { 0x2215, 0x2217 }, { 0x2223, 0x2223 }, { 0x2236, 0x2236 }, { 0x223c, 0x223c },
		{ 0x2571, 0x2573 }, { 0x2768, 0x2775 }, { 0x27cb, 0x27cd }, { 0x29f5, 0x29f9 }, { 0x2e3a, 0x2e3b },
		{ 0x3002, 0x3003 }, { 0x3008, 0x3009 }, { 0x3014, 0x3015 }, { 0xa788, 0xa78a }, { 0xfe50, 0xfe6b },
		{ 0xff01, 0xff0f }, { 0xff1a, 0xff20 }, { 0xff3b, 0xff40 }, { 0xff5b, 0xff65 } };

	return is_in(code, ranges, sizeof ranges / sizeof *ranges);
}

static bool
is_ascii_letter(uint32_t code)
{
	return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
}

/* A text that is read piece by piece. */
struct reader {
	const char *at, *end;
	const char *run_end; /* of the run of letters, digits and marks that was looked at last */
	bool run_mixed;      /* it has ASCII letters */
	bool run_like;       /* all its letters have the shape of ASCII ones */
};

static struct reader
reader_begin(const char *text)
{
	return (struct reader){ .at = text, .end = text + strlen(text), .run_end = text };
}

/* Looks at the run of letters, digits and marks at the beginning of the rest. */
static void
run_read(struct reader *r)
{
	uint32_t code;
	size_t len;

	r->run_end = r->at;
	r->run_mixed = false;
	r->run_like = true;
	while ((len = utf8_decode(r->run_end, (size_t)(r->end - r->run_end), &code)) != 0) {
		if (code < 0x80 ? !is_ascii_letter(code) && (code < '0' || code > '9') : is_like_sign(code) || is_blank(code))
			break;
		r->run_mixed = r->run_mixed || is_ascii_letter(code);
		r->run_like = r->run_like && (code < 0x80 || has_ascii_shape(code));
		r->run_end += len;
	}
}

/* The piece at which the reader is. A blank other than the space, and what passes for ASCII, count as
 * hidden. */
static struct text_piece
piece_read(struct reader *r)
{
	const size_t len = (size_t)(r->end - r->at);
	struct text_piece piece = text_piece(r->at, len);

	if (r->at >= r->run_end)
		run_read(r);
	if (piece.kind == TEXT_SHOWN && piece.code >= 0x80 && (is_blank(piece.code) || is_like_sign(piece.code) ||
	    (r->run_mixed ? is_of_similar_script(piece.code) : r->run_like && has_ascii_shape(piece.code)))) {
		piece.kind = TEXT_HIDDEN;
		piece.len = utf8_decode(r->at, len, &piece.code);
	}
	return piece;
}

/* The number of spaces at the beginning of a text, if there are so many that their number is shown;
 * else 0. */
static size_t
spaces_counted(const char *text)
{
	const size_t spaces = strspn(text, " ");

	return spaces > TRUST_TEXT_SPACES ? spaces : 0;
}

static bool
is_all_shown(const char *text)
{
	struct reader r = reader_begin(text);
	struct text_piece piece;
	bool shown = true;

	for (; shown && *r.at != '\0'; r.at += piece.len) {
		piece = piece_read(&r);
		shown = piece.kind == TEXT_SHOWN;
	}
	return shown;
}

/* Appends a piece inside of quotes; in quotes with a dollar, as an escape if necessary. */
static void
quoted_append(struct buffer *out, const char *at, struct text_piece piece, bool escapes)
{
	if (piece.kind == TEXT_SHOWN && *at == '\'')
		buffer_text(out, escapes ? "\\'" : "'\\''");
	else if (piece.kind == TEXT_SHOWN && *at == '\\' && escapes)
		buffer_text(out, "\\\\");
	else
		text_piece_append(out, at, piece);
}

void
trust_word_append(struct buffer *out, const char *word)
{
	const bool escapes = !is_all_shown(word);
	const char *quote = escapes ? "$'" : "'";
	struct reader r = reader_begin(word);
	struct text_piece piece;
	bool within = false;

	if (*word != '\0' && !escapes && strpbrk(word, " \"'\\$`&|;<>()*?[]#~!{}") == NULL) {
		buffer_text(out, word);
		return;
	}
	if (*word == '\0')
		buffer_text(out, "''");
	while (*r.at != '\0') {
		const size_t spaces = spaces_counted(r.at);

		if (within == (spaces > 0))
			buffer_text(out, within ? "'" : quote);
		within = spaces == 0;
		if (spaces > 0) {
			buffer_format(out, "<%zu spaces>", spaces);
			r.at += spaces;
			continue;
		}
		piece = piece_read(&r);
		quoted_append(out, r.at, piece, escapes);
		r.at += piece.len;
	}
	if (within)
		buffer_byte(out, '\'');
}

void
trust_text_append(struct buffer *out, const char *text)
{
	struct reader r = reader_begin(text);

	while (*r.at != '\0') {
		const struct text_piece piece = piece_read(&r);
		const size_t spaces = spaces_counted(r.at);

		if (spaces > 0)
			buffer_format(out, "<%zu spaces>", spaces);
		else
			text_piece_append(out, r.at, piece);
		r.at += spaces > 0 ? spaces : piece.len;
	}
}

static bool
is_character_begin(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* The number of characters in a text. */
static size_t
characters_count(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += is_character_begin(*text);
	return count;
}

/* Where the character with this number begins. */
static const char *
character_at(const char *text, size_t number)
{
	for (; *text != '\0'; text++)
		if (is_character_begin(*text) && number-- == 0)
			break;
	return text;
}

size_t
trust_text_shorten(struct buffer *out, const char *shown, size_t limit)
{
	const size_t count = characters_count(shown), first = limit - limit / 3;
	const size_t left_out = count > limit ? count - limit : 0;
	const char *cut = character_at(shown, first);

	if (left_out == 0) {
		buffer_text(out, shown);
		return 0;
	}
	buffer_append(out, shown, (size_t)(cut - shown));
	buffer_format(out, " … %zu characters are left out … ", left_out);
	buffer_text(out, character_at(cut, left_out));
	return left_out;
}
