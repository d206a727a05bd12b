/* The status line is drawn without its LF, and erased by CR and ESC [K. A block is drawn line by
 * line over the previous one, without the last LF; then the cursor moves up by the number of
 * lines. No row of the terminal is addressed, so it may scroll meanwhile. */
#define _GNU_SOURCE /* strcasestr() */
#include "view/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/config.h"
#include "io/file.h"

#define ERASE_LINE "\r\033[K"
#define ERASE_REST "\033[J"
#define DOWN "\033[B"

size_t
terminal_width(int fd)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	long width;

	if (isatty(fd))
		return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ?
		    size.ws_col : SCREEN_WIDTH;
	width = columns ? strtol(columns, NULL, 10) : 0;
	return width > 0 ? (size_t)width : 0;
}

size_t
terminal_height(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : SCREEN_HEIGHT;
}

bool
terminal_moves(int fd)
{
	const char *term = environment_text("TERM");

	return isatty(fd) && term != NULL && strcmp(term, "dumb") != 0;
}

bool
terminal_is_told(int fd)
{
	const char *said = environment_text("AWF_VIEW");

	return isatty(fd) && (said == NULL || strcmp(said, "off") != 0);
}

static const char *const modes[] = {
	[SCREEN_LIVE] = "live", [SCREEN_LOG] = "log", [SCREEN_OFF] = "off", NULL
};

const char *
screen_mode_word(enum screen_mode mode)
{
	return modes[mode];
}

int
screen_mode(enum screen_mode *mode, char **place, struct error *err)
{
	const char *said = environment_text("AWF_VIEW");
	int word = SCREEN_LIVE, result = 0;

	if (said == NULL)
		result = config_word(CONFIG_VIEW, modes, &word, place, err);
	else if ((word = text_index(said, modes)) == -1)
		result = error_set(err, ERROR_USAGE, "AWF_VIEW", "'%s' is none of live, log, off", said);
	if (said != NULL && place != NULL)
		*place = memory_text("AWF_VIEW");
	*mode = word == -1 ? SCREEN_LIVE : (enum screen_mode)word;
	return result;
}

bool
terminal_colour(int fd, const char *when)
{
	const char *no_color = getenv("NO_COLOR");

	if (strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return isatty(fd) && !(no_color && *no_color);
}

void
screen_forget(struct screen *s)
{
	s->drawn = false;
	s->rows = 0;
}

void
screen_erase(struct screen *s, struct buffer *out)
{
	INVARIANT(s->drawn || s->rows == 0);
	/* Erase line by line first: some terminals push what is erased all at once into the
	 * scrollback. */
	if (s->drawn)
		buffer_text(out, ERASE_LINE);
	for (size_t i = 1; i < s->rows; i++)
		buffer_text(out, DOWN ERASE_LINE);
	if (s->rows > 1)
		buffer_format(out, "\033[%zuA", s->rows - 1);
	if (s->rows > 0)
		buffer_text(out, ERASE_REST);
	screen_forget(s);
}

void
screen_resized(struct screen *s, size_t width)
{
	s->width = width;
	if (s->rows > 1)
		s->rows = 1; /* the terminal may have wrapped the block's lines; what follows the
		                cursor is erased */
}

void
screen_status(struct screen *s, const struct buffer *text, int64_t now, struct buffer *out)
{
	if (text->len == 0) {
		screen_erase(s, out);
		return;
	}
	if (now - s->drawn_at < SCREEN_INTERVAL)
		return;
	screen_erase(s, out);
	if (s->colour)
		buffer_text(out, "\033[7m");
	/* Leave the last column empty: some terminals would wrap. */
	text_visible(out, text->data, text->len, s->width > 1 ? s->width - 1 : 1);
	if (s->colour)
		buffer_text(out, "\033[0m");
	s->drawn = true;
	s->drawn_at = now;
}

/* The number of lines in a text, each with its LF. */
static size_t
lines_count(const struct buffer *lines)
{
	size_t count = 0;

	for (size_t i = 0; i < lines->len; i++)
		count += lines->data[i] == '\n';
	return count;
}

void
screen_block(struct screen *s, const struct buffer *told, const struct buffer *lines,
    size_t count, int64_t now, struct buffer *out)
{
	const char *at = buffer_string(lines), *lf;

	if (told->len > 0 || count == 0)
		screen_erase(s, out);
	buffer_append(out, buffer_string(told), told->len);
	if (count == 0)
		return;
	buffer_byte(out, '\r');
	for (; (lf = strchr(at, '\n')) != NULL; at = lf + 1) {
		buffer_append(out, at, (size_t)(lf - at));
		buffer_text(out, lf[1] != '\0' ? "\033[K\r\n" : "\033[J\r");
	}
	if (count > 1)
		buffer_format(out, "\033[%zuA", count - 1);
	INVARIANT(*at == '\0' && count == lines_count(lines));
	s->drawn = true;
	s->rows = count;
	s->drawn_at = now;
}
