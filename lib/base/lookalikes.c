/*
 * The tables have what looks like ASCII in most fonts. A run is a sequence of letters, digits and
 * marks; it is read once, when the walk comes to it.
 */
#include "base/lookalikes.h"

#include <string.h>

#include "base/text.h"

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

bool
lookalikes_sign(uint32_t code)
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

/* Whether it belongs to a run. */
static bool
is_of_run(uint32_t code)
{
	if (code < 0x80)
		return is_ascii_letter(code) || (code >= '0' && code <= '9');
	return code > 0xbf && (code < 0x2000 || code > 0x206f) && code != 0x1680 && code != 0x3000 && !lookalikes_sign(code);
}

void
lookalikes_begin(struct lookalikes *l, const char *text, size_t len)
{
	*l = (struct lookalikes){ .run_end = text, .end = text + len };
}

/* Reads the run that begins here; one of nothing ends here. */
static void
run_read(struct lookalikes *l, const char *at)
{
	uint32_t code;
	unsigned len;

	l->mixed = false;
	l->like = true;
	l->letters = 0;
	for (; (len = utf8_decode(at, (size_t)(l->end - at), &code)) != 0 && is_of_run(code); at += len) {
		l->mixed = l->mixed || is_ascii_letter(code);
		l->like = l->like && (code < 0x80 || has_ascii_shape(code));
		l->letters++;
	}
	l->run_end = at;
}

bool
lookalikes_letter(struct lookalikes *l, const char *at, uint32_t code)
{
	if (at >= l->run_end)
		run_read(l, at);
	return code >= 0x80 && (l->mixed ? is_of_similar_script(code) : l->like && has_ascii_shape(code));
}

/* Appends a word with codes in place of such letters; whether it has any that are to be told of: a
 * run without ASCII letters counts only if it has two letters or more, and the word has some
 * elsewhere. */
static bool
word_append(struct buffer *out, const char *word, size_t len)
{
	struct lookalikes l;
	bool ascii = false, mixed = false, like = false;
	struct text_piece piece;

	lookalikes_begin(&l, word, len);
	for (size_t i = 0; i < len; i += piece.len) {
		piece = text_piece(word + i, len - i);
		if (piece.kind == TEXT_SHOWN && lookalikes_letter(&l, word + i, piece.code)) {
			mixed = mixed || l.mixed;
			like = like || l.letters > 1;
			piece.kind = TEXT_HIDDEN;
			piece.len = utf8_decode(word + i, len - i, &piece.code);
		}
		ascii = ascii || (piece.kind != TEXT_BROKEN && is_ascii_letter(piece.code));
		text_piece_append(out, word + i, piece);
	}
	return mixed || (like && ascii);
}

size_t
lookalikes_list(struct buffer *out, const char *text, size_t len, size_t most)
{
	static const char blanks[] = " \t\r\n\"'`,;()<>[]{}|";
	struct buffer word = BUFFER_INIT;
	size_t count = 0, end;

	for (size_t i = 0; i < len; i = end) {
		bool plain = true;

		i += text_prefix_of(text + i, len - i, blanks);
		for (end = i; end < len && (text[end] == '\0' || strchr(blanks, text[end]) == NULL); end++)
			plain = plain && (unsigned char)text[end] < 0x80;
		buffer_clear(&word);
		if (plain || !word_append(&word, text + i, end - i))
			continue;
		count++;
		if (count <= most)
			buffer_format(out, "%s%s", count > 1 ? ", " : "", buffer_string(&word));
	}
	buffer_free(&word);
	return count;
}
