/*
 * A growing byte buffer, which owns its memory. Every append adds a NUL after the last byte, so
 * that data can be used as a C string; after a caller has filled in bytes itself
 * (buffer_reserve()), buffer_string() adds it. Bytes may have any value.
 */
#ifndef AWF_BASE_BUFFER_H
#define AWF_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data;      /* NULL until the first append */
	size_t len;
	size_t capacity;
};

#define BUFFER_INIT { NULL, 0, 0 }

void buffer_append(struct buffer *b, const void *bytes, size_t len);
void buffer_text(struct buffer *b, const char *text);
void buffer_byte(struct buffer *b, char byte);
void buffer_format(struct buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_format_list(struct buffer *b, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));
/* Makes room for len more bytes and returns where they go; add to b->len after
 * filling them. */
char *buffer_reserve(struct buffer *b, size_t len);
/* Drops the first len bytes. */
void buffer_drop(struct buffer *b, size_t len);
void buffer_clear(struct buffer *b);
/* Hands the bytes over to the caller, who frees them: NUL-terminated, never NULL. b is then
 * empty. */
char *buffer_take(struct buffer *b);
/* b->data, or "" if nothing was ever appended. */
const char *buffer_string(const struct buffer *b);
bool buffer_equal(const struct buffer *b, const char *text);
void buffer_free(struct buffer *b);

#endif
