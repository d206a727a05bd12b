/*
 * The scanner: JSON as bytes (RFC 8259, UTF-8). JSON from outside passes through AWF byte for
 * byte: it is framed, checked, minified and searched here, but never decoded and encoded again, so
 * numbers, escapes and the order of keys do not change.
 *
 * A span is a value inside memory that somebody else owns. Functions that take a span expect valid
 * JSON (checked by scan_value() or the framer); in anything else they find nothing, but never read
 * outside of the span.
 */
#ifndef AWF_JSON_SCAN_H
#define AWF_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define SCAN_DEPTH 128                           /* nesting of values from outside */
#define SCAN_STATE_DEPTH (SCAN_DEPTH + 1)        /* of state lines around them */
#define SCAN_LINE_DEPTH (SCAN_DEPTH + 8)         /* of all other lines around them */
#define SCAN_LINE_LIMIT ((size_t)256 << 20)      /* bytes of one line or value */

struct span {
	const char *at; /* NULL: no such value */
	size_t len;
};
#define SPAN_NONE ((struct span){ NULL, 0 })

/*
 * Framing: finds where a value ends in a stream that comes in pieces. It looks
 * at brackets and strings only; check the framed bytes with scan_value(). A
 * number or literal at top level ends at the byte after it or at the end.
 */
struct framer {
	unsigned depth;
	bool started, in_string, escaped, scalar;
};
enum frame { FRAME_MORE, FRAME_DONE, FRAME_TOO_DEEP };
void framer_begin(struct framer *f);
/* Takes bytes from at; *used says how many belong to the value (white space
 * before it included). FRAME_DONE: the value ends after *used bytes. */
enum frame framer_feed(struct framer *f, const char *at, size_t len, size_t *used);

/* Checks one value strictly, white space around it allowed: grammar, UTF-8, whole
 * surrogate pairs, depth. NULL if it is valid and nothing follows; else what is wrong (a static
 * text), with *bad at its byte. */
const char *scan_check(const char *at, size_t len, size_t *bad);
/* As scan_check() for a line that holds values from outside: nested at most depth
 * deep, one of the above. */
const char *scan_within(const char *at, size_t len, unsigned depth, size_t *bad);
/* As scan_within() for an object of which the first bytes, up to the end of one of its members,
 * are known to be right (0: none). */
const char *scan_object(const char *at, size_t len, size_t known, unsigned depth, size_t *bad);
/* As scan_check(), but halves of surrogate pairs pass. For what is decoded and goes
 * no further as it is: a stream may cut a character in two. */
const char *scan_loosely(const char *at, size_t len, size_t *bad);
/* Checks one value at the start of the bytes, nested at most depth deep, and says where it ends (*end: bytes
 * used, white space before it included, none after it). As scan_check() else. */
const char *scan_value(const char *at, size_t len, unsigned depth, size_t *end, size_t *bad);

/* Appends the value, which need not be right, with U+FFFD for each half of a surrogate pair that an
 * escape in it is. */
void scan_mend(struct span value, struct buffer *out);

/* Appends the value without white space between tokens; strings and numbers keep
 * their bytes. The value must have been checked. */
void scan_minify(struct span value, struct buffer *out);

/* Without white space at both ends. */
struct span span_trim(struct span value);
/* The same of a text that somebody wrote as JSON, and without a byte order mark at its beginning. */
struct span span_trim_json(struct span text);
static inline struct span
span_of(const char *at, size_t len)
{
	return (struct span){ at, len };
}
/* 'o' 'a' 's' 'n' (number) 't' 'f' (true, false) '0' (null), or 0. */
char span_type(struct span value);

/* The member of an object; .at == NULL if there is none. Keys are compared
 * decoded. If a key stands twice the last counts. */
struct span span_member(struct span object, const char *key);
/* Several in one walk: values[i] is the member names[i]. */
void span_members(struct span object, const char *const *names, size_t count,
    struct span *values);
/* A chain of members: span_path(line, "payload", "error", NULL). */
struct span span_path(struct span object, ...) __attribute__((sentinel));
/* Element of an array, counted from 0. */
struct span span_element(struct span array, size_t index);

/* Walks objects and arrays, and nothing else:
 *
 *     for (struct span_walk block = span_walk(blocks); span_next(&block);)
 *
 * has each member or element in turn as block.value; block.key is the raw string token of a
 * member, quotes included (.at NULL in arrays). */
struct span_walk {
	const char *at, *end;
	bool object;
	struct span key, value;
};
struct span_walk span_walk(struct span container);
/* False behind the last: then there is neither key nor value. */
bool span_next(struct span_walk *w);

/* Strings: value is the token with its quotes. */
bool span_is(struct span value, const char *text); /* equal when decoded */
/* The one of the texts, a list that ends with NULL, that it is; NULL if none. */
const char *span_one_of(struct span value, const char *const *texts);
/* Appends the decoded string as UTF-8; lone surrogates become U+FFFD. Nothing
 * is appended if value is no string. */
void span_decode(struct span value, struct buffer *out);
/* Appends what it looks like in a text: a string decoded, other JSON as it stands. */
void span_plain(struct span value, struct buffer *out);
/* Whether it is a string that holds a JSON object or array: text that was meant as JSON,
 * where a member of it was looked for. */
bool span_holds_json(struct span value);
/* The decoded string in memory of its own, or NULL if value is no string. */
char *span_text(struct span value);
/* Copies a string of at most size - 1 bytes that needs no decoding (ids, types,
 * digests); false if it is none or does not fit. */
bool span_copy(struct span value, char *out, size_t size);
/* An integer in range, without fraction or exponent; false if it is none. */
bool span_integer(struct span value, long long *out);
bool span_true(struct span value);

/* Appends JSON Pointer (RFC 6901) escapes of a raw key token: "/" and text. */
void pointer_append(struct buffer *pointer, struct span key);
/* The value that a pointer names; .at NULL if there is none. */
struct span pointer_find(struct span value, const char *pointer);

#endif
