/* Runs of harmless bytes are copied at once; the rest character by character. */
#include "base/terminal.h"

#include <stdint.h>
#include <unistd.h>

#include "base/text.h"

bool
terminal_is(int fd)
{
	return fd >= 0 && isatty(fd);
}

/* Appends the harmless bytes at the front of text; how many they are. */
static size_t
append_plain(struct buffer *out, const char *bytes, size_t len)
{
	size_t plain = 0;

	while (plain < len && ((bytes[plain] >= 0x20 && bytes[plain] < 0x7f) ||
	    bytes[plain] == '\n' || bytes[plain] == '\t'))
		plain++;
	buffer_append(out, bytes, plain);
	return plain;
}

void
terminal_text(struct buffer *out, const char *bytes, size_t len)
{
	uint32_t code;

	for (size_t i = append_plain(out, bytes, len); i < len;
	    i += append_plain(out, bytes + i, len - i)) {
		unsigned n = utf8_decode(bytes + i, len - i, &code);

		text_visible(out, bytes + i, n == 0 ? 1 : n, 0);
		i += n == 0 ? 1 : n;
	}
}

void
terminal_json(struct buffer *out, const char *bytes, size_t len)
{
	uint32_t code;

	for (size_t i = append_plain(out, bytes, len); i < len;
	    i += append_plain(out, bytes + i, len - i)) {
		unsigned n = utf8_decode(bytes + i, len - i, &code);

		if (n == 0)
			buffer_text(out, "\\ufffd");
		else if (code < 0x20 || code == 0x7f || text_is_hidden(code))
			buffer_format(out, "\\u%04x", (unsigned)code);
		else
			buffer_append(out, bytes + i, n);
		i += n == 0 ? 1 : n;
	}
}

void
terminal_piece(struct buffer *out, struct buffer *cut, const char *bytes, size_t len)
{
	size_t whole;

	buffer_append(cut, bytes, len);
	whole = len == 0 ? cut->len : utf8_whole(buffer_string(cut), cut->len);
	terminal_text(out, buffer_string(cut), whole);
	buffer_drop(cut, whole);
}
