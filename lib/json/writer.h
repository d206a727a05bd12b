/*
 * Writes JSON to a buffer, compact, with the necessary commas. Only the characters that RFC 8259
 * requires to be escaped are escaped ('"', '\\', control characters), so that text stays readable:
 * a string takes at most six times its length and two quotes.
 */
#ifndef AWF_JSON_WRITER_H
#define AWF_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

struct writer {
	struct buffer *out;
	bool comma; /* a comma is needed before the next key or element */
};

void writer_begin(struct writer *w, struct buffer *out);
void writer_object(struct writer *w);     /* { */
void writer_object_end(struct writer *w);
void writer_array(struct writer *w);      /* [ */
void writer_array_end(struct writer *w);
void writer_key(struct writer *w, const char *key); /* key needs no escaping */
void writer_key_quoted(struct writer *w, const char *key, size_t len); /* any UTF-8 */

/* Values: after a key, or as an element. text NULL writes null. The bytes must be UTF-8; invalid
 * ones become U+FFFD. */
void writer_string(struct writer *w, const char *text);
void writer_bytes(struct writer *w, const char *bytes, size_t len);
void writer_integer(struct writer *w, int64_t value);
void writer_bool(struct writer *w, bool value);
void writer_null(struct writer *w);
/* Copies a member of another object. */
void writer_raw_member(struct writer *w, struct span key, struct span value);
/* Writes a value that is JSON already; empty or NULL writes null. */
void writer_raw(struct writer *w, const char *json, size_t len);
void writer_span(struct writer *w, struct span value);

/* Writes a member in one call; nothing if the text is NULL or the span absent. */
void writer_member_string(struct writer *w, const char *key, const char *text);
void writer_member_integer(struct writer *w, const char *key, int64_t value);
void writer_member_bool(struct writer *w, const char *key, bool value);
void writer_member_span(struct writer *w, const char *key, struct span value);
void writer_member_buffer(struct writer *w, const char *key, const struct buffer *json);
/* Begins a member that is an object or an array. */
void writer_member_object(struct writer *w, const char *key);
void writer_member_array(struct writer *w, const char *key);
/* Writes two members: code, as its name, and message. */
void writer_members_error(struct writer *w, const struct error *error);

/* Appends a string token, with its quotes. */
void json_quote(struct buffer *out, const char *bytes, size_t len);

#endif
