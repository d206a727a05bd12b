/* A text is processed in the pieces that a terminal shows as one character (text_piece()). */
#include "definitions/trust_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/lookalikes.h"
#include "base/text.h"

/* Whether a character looks like a space. */
static bool
is_blank(uint32_t code)
{
	return code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
	    code == 0x202f || code == 0x205f || code == 0x2800 || code == 0x3000;
}

/* A text that is read piece by piece. */
struct reader {
	const char *at, *end;
	struct lookalikes lookalikes;
};

static struct reader
reader_begin(const char *text)
{
	struct reader r = { .at = text, .end = text + strlen(text) };

	lookalikes_begin(&r.lookalikes, text, strlen(text));
	return r;
}

/* The piece at which the reader is. A blank other than the space, and what passes for ASCII, count as
 * hidden. */
static struct text_piece
piece_read(struct reader *r)
{
	const size_t len = (size_t)(r->end - r->at);
	struct text_piece piece = text_piece(r->at, len);

	if (piece.kind == TEXT_SHOWN && (lookalikes_letter(&r->lookalikes, r->at, piece.code) || is_blank(piece.code) ||
	    lookalikes_sign(piece.code))) {
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
