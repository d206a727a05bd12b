/* One check after every allocation. No allocation has 0 bytes, so NULL means that memory has run
 * out. */
#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fatal.h"

static void *
or_fatal(void *memory)
{
	if (memory)
		return memory;
	fatal_exit("out of memory");
}

void *
memory_alloc(size_t size)
{
	return or_fatal(malloc(size ? size : 1));
}

void *
memory_zero(size_t count, size_t size)
{
	return or_fatal(calloc(count ? count : 1, size ? size : 1));
}

void *
memory_grow(void *old, size_t size)
{
	return or_fatal(realloc(old, size ? size : 1));
}

void *
memory_array(void *old, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		or_fatal(NULL);
	return memory_grow(old, count * size);
}

char *
memory_text(const char *text)
{
	return memory_copy(text, strlen(text));
}

char *
memory_copy(const char *bytes, size_t len)
{
	char *copy = memory_alloc(len + 1);

	if (len)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

char *
memory_format(const char *format, ...)
{
	char most[256]; /* most texts are short */
	va_list args, again;
	char *text;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(most, sizeof most, format, args);
	if (len < 0)
		or_fatal(NULL);
	if ((size_t)len < sizeof most) {
		text = memory_copy(most, (size_t)len);
	} else {
		text = memory_alloc((size_t)len + 1);
		vsnprintf(text, (size_t)len + 1, format, again);
	}
	va_end(again);
	va_end(args);
	return text;
}
