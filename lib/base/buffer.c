/*
 * The capacity doubles, from 64 bytes on, so that appending a byte takes constant time on average.
 * There is always one byte more than requested, for the NUL. If a length would overflow, the
 * program ends as if memory had run out.
 */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"

static bool
buffer_holds(const struct buffer *b)
{
	return b->data != NULL ? b->len < b->capacity : b->len == 0 && b->capacity == 0;
}

/* Room for len more bytes and the NUL after them; at least doubles. */
static void
make_room(struct buffer *b, size_t len)
{
	size_t need, capacity = b->capacity ? b->capacity : 64;

	INVARIANT(buffer_holds(b));
	if (len >= SIZE_MAX / 2 - b->len)
		memory_array(NULL, SIZE_MAX, 2); /* this fails, and ends the program */
	need = b->len + len + 1;
	if (need <= b->capacity)
		return;
	while (capacity < need)
		capacity *= 2;
	b->data = memory_grow(b->data, capacity);
	b->capacity = capacity;
}

char *
buffer_reserve(struct buffer *b, size_t len)
{
	make_room(b, len);
	return b->data + b->len;
}

void
buffer_append(struct buffer *b, const void *bytes, size_t len)
{
	make_room(b, len);
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void
buffer_text(struct buffer *b, const char *text)
{
	buffer_append(b, text, strlen(text));
}

void
buffer_byte(struct buffer *b, char byte)
{
	if (b->len + 1 >= b->capacity)
		make_room(b, 1);
	b->data[b->len++] = byte;
	b->data[b->len] = '\0';
}

void
buffer_format_list(struct buffer *b, const char *format, va_list list)
{
	va_list again;
	int len;

	va_copy(again, list);
	len = vsnprintf(NULL, 0, format, list);
	if (len > 0) {
		make_room(b, (size_t)len);
		vsnprintf(b->data + b->len, (size_t)len + 1, format, again);
		b->len += (size_t)len;
	}
	va_end(again);
}

void
buffer_format(struct buffer *b, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	buffer_format_list(b, format, list);
	va_end(list);
}

void
buffer_drop(struct buffer *b, size_t len)
{
	if (len == 0)
		return;
	INVARIANT(buffer_holds(b) && len <= b->len);
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
	b->data[b->len] = '\0';
}

void
buffer_clear(struct buffer *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

char *
buffer_take(struct buffer *b)
{
	char *data = b->data;

	INVARIANT(buffer_holds(b));
	if (!data)
		return memory_copy("", 0);
	data[b->len] = '\0';
	*b = (struct buffer)BUFFER_INIT;
	return data;
}

const char *
buffer_string(const struct buffer *b)
{
	INVARIANT(buffer_holds(b));
	if (!b->data)
		return "";
	b->data[b->len] = '\0'; /* callers of buffer_reserve() add to len, but write no NUL */
	return b->data;
}

bool
buffer_equal(const struct buffer *b, const char *text)
{
	size_t len = strlen(text);

	return b->len == len && (len == 0 || memcmp(b->data, text, len) == 0);
}

void
buffer_free(struct buffer *b)
{
	INVARIANT(buffer_holds(b));
	free(b->data);
	*b = (struct buffer)BUFFER_INIT;
}
