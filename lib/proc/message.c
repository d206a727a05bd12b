/* A message is written at once, so that messages of programs that run at the same time are not
 * mixed. */
#include "proc/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/terminal.h"
#include "proc/api_keys.h"

void
message_print(const char *program, const char *format, ...)
{
	const int saved = errno;
	struct buffer text = BUFFER_INIT, line = BUFFER_INIT;
	va_list list;

	va_start(list, format);
	buffer_format_list(&text, format, list);
	va_end(list);
	if (text.len > 0)
		api_keys_hide(text.data);
	if (program != NULL) {
		text_visible(&line, program, strlen(program), 0);
		buffer_text(&line, ": ");
	}
	text_visible(&line, buffer_string(&text), text.len, 0);
	INVARIANT(memchr(buffer_string(&line), '\n', line.len) == NULL);
	buffer_byte(&line, '\n');
	locale_draw(&line, 0);
	fputs(buffer_string(&line), stderr);
	buffer_free(&line);
	buffer_free(&text);
	errno = saved;
}

void
message_print_lines(const char *lines)
{
	struct buffer shown = BUFFER_INIT;
	char *text = memory_text(lines);

	api_keys_hide(text);
	terminal_text(&shown, text, strlen(text));
	fputs(buffer_string(&shown), stderr);
	buffer_free(&shown);
	free(text);
}
