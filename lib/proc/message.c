/* A message is written at once, so that those of programs that run beside each other do not mix. */
#include "proc/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/terminal.h"
#include "base/text.h"
#include "proc/api_keys.h"

void
message_print(const char *program, const char *format, ...)
{
	const int saved = errno;
	struct buffer line = BUFFER_INIT;
	va_list list, again;
	size_t size;
	char *text;

	va_start(list, format);
	va_copy(again, list);
	size = (size_t)vsnprintf(NULL, 0, format, list) + 1;
	va_end(list);
	text = memory_alloc(size);
	vsnprintf(text, size, format, again);
	va_end(again);
	api_keys_hide(text);
	if (program != NULL) {
		text_visible(&line, program, strlen(program), 0);
		buffer_text(&line, ": ");
	}
	text_visible(&line, text, strlen(text), 0);
	buffer_byte(&line, '\n');
	fputs(buffer_string(&line), stderr);
	buffer_free(&line);
	free(text);
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
