/*
 * Chunks are read byte by byte except for their content; the state says where in the framing a byte
 * is. The size of a chunk that is sent always has eight digits, so that it can be filled in when
 * the chunk is complete.
 */
#include "httpd/framing.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"

#define SIZE_DIGITS 8

enum place { SIZE, SIZE_LF, CONTENT, CONTENT_CR, CONTENT_LF, LAST_CR, LAST_LF };

void
framing_begin(struct framing *f, bool chunked, int64_t length)
{
	*f = (struct framing){ .chunked = chunked, .place = chunked ? SIZE : CONTENT, .left = length };
}

/* Reads a digit of a chunk's size, or the CR after it. */
static bool
framing_read_size(struct framing *f, char c)
{
	static const char hex[] = "0123456789abcdef";
	const char *digit = strchr(hex, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c);

	if (c == '\r' && f->digits > 0) {
		f->place = SIZE_LF;
		return true;
	}
	if (c == '\0' || digit == NULL || f->digits == SIZE_DIGITS)
		return false;
	if (f->digits++ == 0)
		f->left = 0;
	f->left = f->left * 16 + (digit - hex);
	INVARIANT(f->digits <= SIZE_DIGITS && f->left >= 0 && f->left <= UINT32_MAX);
	return true;
}

/* Reads a byte of the framing. */
static bool
framing_read_byte(struct framing *f, char c)
{
	char wanted = f->place == CONTENT_CR || f->place == LAST_CR ? '\r' : '\n';

	if (f->place == SIZE)
		return framing_read_size(f, c);
	if (c != wanted)
		return false;
	switch (f->place) {
	case SIZE_LF:
		f->place = f->left > 0 ? CONTENT : LAST_CR;
		break;
	case CONTENT_CR:
		f->place = CONTENT_LF;
		break;
	case CONTENT_LF:
		f->place = SIZE;
		f->digits = 0;
		break;
	default:
		f->place = LAST_LF;
		break;
	}
	return true;
}

enum framing_state
framing_take(struct framing *f, const char *bytes, size_t len, size_t *used, struct span *piece)
{
	*piece = SPAN_NONE;
	*used = 0;
	while (*used < len && f->place != CONTENT) {
		bool last = f->place == LAST_LF;

		if (!framing_read_byte(f, bytes[*used]))
			return FRAMING_BROKEN;
		++*used;
		if (last)
			return FRAMING_END;
	}
	if (f->place == CONTENT) {
		size_t most = len - *used;

		if ((int64_t)most > f->left)
			most = (size_t)f->left;
		*piece = (struct span){ bytes + *used, most };
		*used += most;
		f->left -= (int64_t)most;
		INVARIANT(f->left >= 0 && *used <= len && piece->at + piece->len == bytes + *used);
		if (f->left == 0 && !f->chunked)
			return FRAMING_END;
		if (f->left == 0)
			f->place = CONTENT_CR;
	}
	return FRAMING_MORE;
}

#define CHUNK_DIGITS 8
#define CHUNK_HEAD (CHUNK_DIGITS + 2) /* "0000ffff" CR LF */

size_t
framing_chunk(struct buffer *out)
{
	size_t start = out->len;

	buffer_append(out, "00000000\r\n", CHUNK_HEAD);
	return start;
}

void
framing_chunk_end(struct buffer *out, size_t start)
{
	char head[2 * sizeof (size_t) + 1];
	size_t len = out->len - start - CHUNK_HEAD;

	if (len == 0) {
		out->len = start;
		return;
	}
	snprintf(head, sizeof head, "%0*zx", CHUNK_DIGITS, len);
	INVARIANT(strlen(head) == CHUNK_DIGITS && memcmp(out->data + start, "00000000\r\n", CHUNK_HEAD) == 0);
	memcpy(out->data + start, head, CHUNK_DIGITS);
	buffer_append(out, "\r\n", 2);
}
