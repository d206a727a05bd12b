/* Harmless bytes are copied as a whole; only the rest is examined character by character. */
#include "io/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/text.h"
#include "io/file.h"

bool
terminal_is(int fd)
{
	return fd >= 0 && isatty(fd);
}

/* Appends the harmless bytes at the beginning of text, except the last one, which may form one
 * character with what follows; returns how many were appended. */
static size_t
append_plain(struct buffer *out, const char *bytes, size_t len)
{
	size_t plain = 0;

	while (plain < len && ((bytes[plain] >= 0x20 && bytes[plain] < 0x7f) ||
	    bytes[plain] == '\n' || bytes[plain] == '\t'))
		plain++;
	if (plain > 0 && plain < len)
		plain--;
	buffer_append(out, bytes, plain);
	return plain;
}

/* Appends text; returns how many of its bytes were used. more: text follows, so bytes at the end
 * that may belong to a character with the following ones are not used. */
static size_t
append_text(struct buffer *out, const char *bytes, size_t len, bool more)
{
	struct text_piece piece;
	size_t i;

	for (i = append_plain(out, bytes, len); i < len; i += append_plain(out, bytes + i, len - i)) {
		piece = text_piece(bytes + i, len - i);
		if (piece.undecided && more)
			return i;
		if (bytes[i] == '\n' || bytes[i] == '\t')
			buffer_append(out, bytes + i, 1);
		else
			text_piece_append(out, bytes + i, piece);
		i += piece.len;
	}
	return len;
}

/* Whether a terminal displays all of the text, and interprets nothing in it. */
static bool
is_harmless(const char *bytes, size_t len)
{
	struct text_piece piece;

	for (size_t i = 0; i < len; i += piece.len) {
		piece = text_piece(bytes + i, len - i);
		if (piece.kind != TEXT_SHOWN && bytes[i] != '\n' && bytes[i] != '\t')
			return false;
	}
	return true;
}

void
terminal_text(struct buffer *out, const char *bytes, size_t len)
{
	const size_t before = out->len;

	append_text(out, bytes, len, false);
	INVARIANT(is_harmless(buffer_string(out) + before, out->len - before));
}

void
terminal_json(struct buffer *out, const char *bytes, size_t len)
{
	const size_t before = out->len;
	struct text_piece piece;

	for (size_t i = append_plain(out, bytes, len); i < len;
	    i += append_plain(out, bytes + i, len - i)) {
		piece = text_piece(bytes + i, len - i);
		if (piece.kind == TEXT_BROKEN)
			buffer_text(out, "\\ufffd");
		else if (piece.kind == TEXT_SHOWN || bytes[i] == '\n' || bytes[i] == '\t')
			buffer_append(out, bytes + i, piece.len);
		else if (piece.code < 0x10000)
			buffer_format(out, "\\u%04x", (unsigned)piece.code);
		else
			buffer_format(out, "\\u%04x\\u%04x", 0xd7c0 + (unsigned)(piece.code >> 10),
			    0xdc00 + (unsigned)(piece.code & 0x3ff));
		i += piece.len;
	}
	INVARIANT(is_harmless(buffer_string(out) + before, out->len - before));
}

void
terminal_printf(const char *format, ...)
{
	struct buffer text = BUFFER_INIT, shown = BUFFER_INIT;
	va_list list;

	va_start(list, format);
	buffer_format_list(&text, format, list);
	va_end(list);
	if (terminal_is(STDOUT_FILENO))
		terminal_text(&shown, buffer_string(&text), text.len);
	fputs(buffer_string(shown.len > 0 ? &shown : &text), stdout);
	buffer_free(&shown);
	buffer_free(&text);
}

void
terminal_print_json(const char *bytes, size_t len)
{
	struct buffer shown = BUFFER_INIT;

	if (terminal_is(STDOUT_FILENO))
		terminal_json(&shown, bytes, len);
	else
		buffer_append(&shown, bytes, len);
	puts(buffer_string(&shown));
	buffer_free(&shown);
}

int
terminal_write_json(int fd, const char *bytes, size_t len)
{
	struct buffer shown = BUFFER_INIT;
	int failed;

	if (!terminal_is(fd))
		return file_write(fd, bytes, len);
	terminal_json(&shown, bytes, len);
	failed = file_write(fd, buffer_string(&shown), shown.len);
	buffer_free(&shown);
	return failed;
}

void
terminal_piece(struct buffer *out, struct buffer *cut, const char *bytes, size_t len)
{
	size_t whole;

	buffer_append(cut, bytes, len);
	whole = len == 0 ? cut->len : utf8_whole(buffer_string(cut), cut->len);
	buffer_drop(cut, append_text(out, buffer_string(cut), whole, len > 0));
}
