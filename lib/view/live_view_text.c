/* Columns are those of text_visible(), through which all texts reach the terminal. */
#include "view/live_view_text.h"

#include <string.h>

#include "base/text.h"

#define QUOTES 3 /* columns of the quotation marks and the ellipsis */
#define BYTES_MOST ((size_t)16) /* of a column, for a text that is cut before it is measured */

size_t
live_text_width(const struct live_view *v)
{
	return v->width > 1 ? v->width - 1 : 1;
}

size_t
live_text_indent(const struct live_view *v, unsigned depth)
{
	const size_t indent = depth > 0 ? 2 * ((size_t)depth - 1) : 0, most = live_text_width(v) / 4;

	return indent < most ? indent : most;
}

/* The columns of a piece of a text. */
static size_t
piece_columns(const char *at, struct text_piece piece)
{
	struct buffer shown = BUFFER_INIT;
	size_t columns;

	if (piece.kind == TEXT_SHOWN && piece.len == 1)
		return 1;
	columns = text_piece_append(&shown, at, piece);
	buffer_free(&shown);
	return columns;
}

size_t
live_text_columns(const char *text, size_t len)
{
	size_t columns = 0;
	struct text_piece piece;

	for (size_t i = 0; i < len; i += piece.len) {
		piece = text_piece(text + i, len - i);
		columns += piece_columns(text + i, piece);
	}
	return columns;
}

size_t
live_text_wrap(const struct live_view *v, const struct live_call *c, unsigned depth, size_t most,
    struct span lines[LIVE_TEXT_LINES])
{
	const size_t indent = live_text_indent(v, depth + 1), width = live_text_width(v) > indent + 1 ?
	    live_text_width(v) - indent : 1;
	const char *text = buffer_string(&c->asking.text);
	const size_t len = c->asking.text.len;
	struct span ring[LIVE_TEXT_LINES] = { SPAN_NONE };
	struct text_piece piece;
	size_t count = 0, shown;

	most = most < LIVE_TEXT_LINES ? most : LIVE_TEXT_LINES;
	for (size_t at = 0; at < len && most > 0;) {
		size_t end = at, space = 0, used = 0, columns;

		for (; end < len && text[end] != '\n'; end += piece.len) {
			piece = text_piece(text + end, len - end);
			columns = piece_columns(text + end, piece);
			if (used + columns > width && end > at)
				break;
			if (text[end] == ' ')
				space = end;
			used += columns;
		}
		if (end < len && text[end] != '\n' && text[end] != ' ' && space > at)
			end = space;
		ring[count++ % most] = span_of(text + at, end - at);
		at = end + (end < len && (text[end] == '\n' || text[end] == ' '));
	}
	shown = count < most ? count : most;
	for (size_t i = 0; i < shown; i++)
		lines[i] = ring[(count - shown + i) % most];
	return shown;
}

void
live_text_end(const struct live_call *c, size_t columns, struct buffer *out)
{
	const char *text = buffer_string(&c->asking.text);
	const size_t room = columns > QUOTES ? columns - QUOTES : 1;
	size_t len = c->asking.text.len, from = 0, all;
	struct buffer flat = BUFFER_INIT;
	struct text_piece piece;
	bool cut = false;

	if (len > room * BYTES_MOST) {
		size_t drop = len - room * BYTES_MOST;

		while (drop < len && ((unsigned char)text[drop] & 0xc0) == 0x80)
			drop++;
		text += drop;
		len -= drop;
		cut = true;
	}
	live_view_flat(&flat, text, len);
	text = buffer_string(&flat);
	for (all = live_text_columns(text, flat.len); all > room && from < flat.len; from += piece.len) {
		piece = text_piece(text + from, flat.len - from);
		all -= piece_columns(text + from, piece);
	}
	buffer_format(out, "\"%s%s\"", from > 0 || cut ? "…" : "", text + from);
	buffer_free(&flat);
}

void
live_text_last_line(const struct live_call *c, struct buffer *out)
{
	struct buffer plain = BUFFER_INIT;
	size_t begin = 0, last = 0, last_end = 0;
	bool something = false;

	for (size_t i = 0; i < c->output.len; i++) {
		const char *at = c->output.data + i;

		if (*at == '\033' && i + 1 < c->output.len && at[1] == '[') {
			for (i += 2; i < c->output.len && (c->output.data[i] < '@' || c->output.data[i] > '~'); i++)
				continue;
			continue;
		}
		if (*at == '\n' || *at == '\r') {
			begin = plain.len;
			something = false;
			continue;
		}
		buffer_byte(&plain, *at);
		something = something || (*at != ' ' && *at != '\t');
		if (something) {
			last = begin;
			last_end = plain.len;
		}
	}
	if (last_end > last)
		live_view_flat(out, plain.data + last, last_end - last);
	buffer_free(&plain);
}

void
live_text_path(const char *path, size_t columns, struct buffer *out)
{
	static const char sign[] = " ▸ ", left_out[] = "… ▸ ";
	const char *at = path, *next;

	while (live_text_columns(at, strlen(at)) + (at > path ? 4 : 0) > columns &&
	    (next = strstr(at, sign)) != NULL)
		at = next + sizeof sign - 1;
	buffer_format(out, "%s%s", at > path ? left_out : "", at);
}
