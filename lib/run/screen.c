/* The status line is drawn without its LF and erased by a CR and ESC [K; nothing else moves. */
#include "run/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

#define ERASE_LINE "\r\033[K"

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

bool
terminal_colour(int fd, const char *when)
{
	const char *no_color = getenv("NO_COLOR");

	if (strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return isatty(fd) && !(no_color && *no_color);
}

void
screen_erase(struct screen *s, struct buffer *out)
{
	if (s->drawn)
		buffer_text(out, ERASE_LINE);
	s->drawn = false;
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
	/* A full last column would make some terminals wrap. */
	text_visible(out, text->data, text->len, s->width > 1 ? s->width - 1 : 1);
	if (s->colour)
		buffer_text(out, "\033[0m");
	s->drawn = true;
	s->drawn_at = now;
}
