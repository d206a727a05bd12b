/*
 * Writes JSON onto a buffer, compact, with commas where they belong. Strings are
 * escaped no more than RFC 8259 demands ('"', '\\', control characters), so that
 * text stays readable, and takes at most six times its length and two quotes.
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
	bool comma; /* the next key or element needs one before it */
};

void writer_begin(struct writer *w, struct buffer *out);
void writer_object(struct writer *w);     /* { */
void writer_object_end(struct writer *w);
void writer_array(struct writer *w);      /* [ */
void writer_array_end(struct writer *w);
void writer_key(struct writer *w, const char *key); /* key needs no escaping */
void writer_key_quoted(struct writer *w, const char *key, size_t len); /* any UTF-8 */

/* Values: after a key, or as an element. text NULL writes null. The bytes must
 * be UTF-8 (bytes that are not come out as U+FFFD). */
void writer_string(struct writer *w, const char *text);
void writer_bytes(struct writer *w, const char *bytes, size_t len);
void writer_integer(struct writer *w, int64_t value);
void writer_bool(struct writer *w, bool value);
void writer_null(struct writer *w);
/* A member of another object, as it stands there. */
void writer_raw_member(struct writer *w, struct span key, struct span value);
/* A value that is JSON already; empty or NULL writes null. */
void writer_raw(struct writer *w, const char *json, size_t len);
void writer_span(struct writer *w, struct span value);

/* A member in one call; a NULL text or an absent span writes nothing at all. */
void writer_member_string(struct writer *w, const char *key, const char *text);
void writer_member_integer(struct writer *w, const char *key, int64_t value);
void writer_member_bool(struct writer *w, const char *key, bool value);
void writer_member_span(struct writer *w, const char *key, struct span value);
void writer_member_buffer(struct writer *w, const char *key, const struct buffer *json);
/* Begins a member that is an object or an array. */
void writer_member_object(struct writer *w, const char *key);
void writer_member_array(struct writer *w, const char *key);
/* Two members: code, by its name, and message. */
void writer_members_error(struct writer *w, const struct error *error);

/* A string token alone, quotes included. */
void json_quote(struct buffer *out, const char *bytes, size_t len);

#endif
