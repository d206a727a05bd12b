/* Control characters are made visible first; after that, only HTML must be escaped. */
#include "replay/page_text.h"

#include <string.h>

#include "base/text.h"
#include "io/terminal.h"

void
page_line(struct buffer *out, const char *text, size_t width)
{
	struct buffer visible = BUFFER_INIT;

	text_visible(&visible, text, strlen(text), width);
	text_escape_markup(out, buffer_string(&visible), visible.len);
	buffer_free(&visible);
}

/* The length of the colour sequence at the beginning of a text, such as "ESC [ 1 ; 31 m"; 0:
 * there is none. */
static size_t
colour_length(const char *at, size_t len)
{
	size_t n = 2;

	if (len < 3 || at[0] != '\033' || at[1] != '[')
		return 0;
	while (n < len && (at[n] == ';' || (at[n] >= '0' && at[n] <= '9')))
		n++;
	return n < len && (at[n] == 'm' || at[n] == 'K') ? n + 1 : 0;
}

void
page_lines(struct buffer *out, const char *bytes, size_t len, size_t most)
{
	struct buffer plain = BUFFER_INIT, visible = BUFFER_INIT;
	size_t shown = len > most ? utf8_whole(bytes, most) : len;
	char size[32];

	for (size_t i = 0, colour; i < shown; i += colour > 0 ? colour : 1)
		if ((colour = colour_length(bytes + i, shown - i)) == 0)
			buffer_byte(&plain, bytes[i]);
	terminal_text(&visible, buffer_string(&plain), plain.len);
	text_escape_markup(out, buffer_string(&visible), visible.len);
	if (shown < len)
		buffer_format(out, "<span class=\"cut\">… %s more</span>",
		    size_text((int64_t)(len - shown), size, sizeof size));
	buffer_free(&plain);
	buffer_free(&visible);
}

void
page_value(struct buffer *out, struct span value, size_t most)
{
	struct buffer text = BUFFER_INIT;

	span_plain(value, &text);
	page_lines(out, buffer_string(&text), text.len, most);
	buffer_free(&text);
}
