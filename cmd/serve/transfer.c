/*
 * Chunks are read a byte at a time but for their content, by where in their framing a byte stands.
 */
#include "serve/transfer.h"

#include <string.h>

#define SIZE_DIGITS 8

enum place { SIZE, SIZE_LF, CONTENT, CONTENT_CR, CONTENT_LF, LAST_CR, LAST_LF };

void
transfer_begin(struct transfer *t, bool chunked, int64_t length)
{
	*t = (struct transfer){ .chunked = chunked, .place = chunked ? SIZE : CONTENT, .left = length };
}

/* Takes a byte of a size, or the CR behind it. */
static bool
take_size(struct transfer *t, char c)
{
	static const char hex[] = "0123456789abcdef";
	const char *digit = strchr(hex, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c);

	if (c == '\r' && t->digits > 0) {
		t->place = SIZE_LF;
		return true;
	}
	if (c == '\0' || digit == NULL || t->digits == SIZE_DIGITS)
		return false;
	if (t->digits++ == 0)
		t->left = 0;
	t->left = t->left * 16 + (digit - hex);
	return true;
}

/* Takes a byte of the framing. */
static bool
take_framing(struct transfer *t, char c)
{
	char wanted = t->place == CONTENT_CR || t->place == LAST_CR ? '\r' : '\n';

	if (t->place == SIZE)
		return take_size(t, c);
	if (c != wanted)
		return false;
	switch (t->place) {
	case SIZE_LF:
		t->place = t->left > 0 ? CONTENT : LAST_CR;
		break;
	case CONTENT_CR:
		t->place = CONTENT_LF;
		break;
	case CONTENT_LF:
		t->place = SIZE;
		t->digits = 0;
		break;
	default:
		t->place = LAST_LF;
		break;
	}
	return true;
}

enum transfer_state
transfer_take(struct transfer *t, const char *bytes, size_t len, size_t *used, struct span *piece)
{
	*piece = SPAN_NONE;
	*used = 0;
	while (*used < len && t->place != CONTENT) {
		bool last = t->place == LAST_LF;

		if (!take_framing(t, bytes[*used]))
			return TRANSFER_BROKEN;
		++*used;
		if (last)
			return TRANSFER_END;
	}
	if (t->place == CONTENT) {
		size_t most = len - *used;

		if ((int64_t)most > t->left)
			most = (size_t)t->left;
		*piece = (struct span){ bytes + *used, most };
		*used += most;
		t->left -= (int64_t)most;
		if (t->left == 0 && !t->chunked)
			return TRANSFER_END;
		if (t->left == 0)
			t->place = CONTENT_CR;
	}
	return TRANSFER_MORE;
}
