/*
 * The scanner: JSON as bytes (RFC 8259, UTF-8). JSON from outside passes through AWF byte for byte:
 * it is framed, checked, minified and searched here, but never decoded and encoded again, so
 * numbers, escapes and the order of keys do not change.
 *
 * A span is a value inside memory that somebody else owns. Functions that take a span expect valid
 * JSON (checked by scan_value() or the framer); in invalid JSON they may find nothing, but they
 * never read outside of the span.
 */
#ifndef AWF_JSON_SCAN_H
#define AWF_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define SCAN_DEPTH 128                           /* limit for nesting in values from outside */
#define SCAN_STATE_DEPTH (SCAN_DEPTH + 1)        /* in state lines that contain such values */
#define SCAN_LINE_DEPTH (SCAN_DEPTH + 8)         /* in all other lines that contain such values */
#define SCAN_LINE_LIMIT ((size_t)256 << 20)      /* bytes of one line or value */

struct span {
	const char *at; /* NULL: no such value */
	size_t len;
};
#define SPAN_NONE ((struct span){ NULL, 0 })

/*
 * Framing: finds the end of a value in a stream that arrives in pieces. It only looks at brackets
 * and strings; check the framed bytes with scan_value(). A number or literal at top level ends with
 * the byte before the next delimiter, or with the stream.
 */
struct framer {
	unsigned depth;
	bool started, in_string, escaped, scalar;
};
enum frame { FRAME_MORE, FRAME_DONE, FRAME_TOO_DEEP };
void framer_begin(struct framer *f);
/* Reads bytes from `at`; *used is set to the number of bytes that belong to the value (with white
 * space before it). FRAME_DONE: the value ends after *used bytes. */
enum frame framer_feed(struct framer *f, const char *at, size_t len, size_t *used);

/* Checks one value strictly: grammar, UTF-8, surrogate pairs, depth. White space around it is
 * allowed. NULL if it is valid and nothing follows it; else what is wrong (a static text), with
 * *bad set to the offset of the wrong byte. */
const char *scan_check(const char *at, size_t len, size_t *bad);
/* As scan_check() for a line that contains values from outside: nested at most `depth` deep, one of
 * the limits above. */
const char *scan_within(const char *at, size_t len, unsigned depth, size_t *bad);
/* As scan_within() for an object whose first `known` bytes, up to the end of one of its members,
 * were checked before (0: none). */
const char *scan_object(const char *at, size_t len, size_t known, unsigned depth, size_t *bad);
/* As scan_check(), but lone surrogates are accepted. For values that are decoded and not passed on
 * as they are: a stream may split a character. */
const char *scan_loosely(const char *at, size_t len, size_t *bad);
/* Checks one value at the start of the bytes, nested at most `depth` deep. *end is set to the
 * number of bytes used, with white space before the value but not after it. Otherwise as
 * scan_check(). */
const char *scan_value(const char *at, size_t len, unsigned depth, size_t *end, size_t *bad);

/* Appends the value, which need not be valid, with U+FFFD in place of each escaped lone
 * surrogate. */
void scan_mend(struct span value, struct buffer *out);

/* Appends the value without white space between tokens; strings and numbers are copied. The value
 * must have been checked. */
void scan_minify(struct span value, struct buffer *out);

/* The value without white space at both ends. */
struct span span_trim(struct span value);
/* The same for a text that was written by hand as JSON, also without a byte order mark at its
 * beginning. */
struct span span_trim_json(struct span text);
static inline struct span
span_of(const char *at, size_t len)
{
	return (struct span){ at, len };
}
/* 'o' 'a' 's' 'n' (number) 't' 'f' (true, false) '0' (null), or 0. */
char span_type(struct span value);

/* The member of an object; .at is NULL if there is none. Keys are compared decoded. If a key occurs
 * twice, the last one counts. */
struct span span_member(struct span object, const char *key);
/* Finds several members in one pass: values[i] is the member names[i]. */
void span_members(struct span object, const char *const *names, size_t count,
    struct span *values);
/* Follows a chain of members: span_path(line, "payload", "error", NULL). */
struct span span_path(struct span object, ...) __attribute__((sentinel));
/* The element of an array, counted from 0. */
struct span span_element(struct span array, size_t index);

/* Iterates over objects and arrays (anything else is empty):
 * 
 *     for (struct span_walk block = span_walk(blocks); span_next(&block);)
 * 
 * sets block.value to each member or element in turn; block.key is the raw string token of a
 * member, with its quotes (.at NULL in arrays). */
struct span_walk {
	const char *at, *end;
	bool object;
	struct span key, value;
};
struct span_walk span_walk(struct span container);
/* False after the last one: then neither key nor value is set. */
bool span_next(struct span_walk *w);

/* Whether both are the same bytes: nothing is decoded, and one that is not there is like an empty one. */
bool span_same(struct span a, struct span b);

/* Functions for strings: value is the token with its quotes. */
bool span_is(struct span value, const char *text); /* equal when decoded */
/* The text in the list, which ends with NULL, that equals the string; NULL if none does. */
const char *span_one_of(struct span value, const char *const *texts);
/* Appends the decoded string as UTF-8; lone surrogates become U+FFFD. Appends nothing if value is
 * not a string. */
void span_decode(struct span value, struct buffer *out);
/* Appends the value for use in a text: a string decoded, other JSON unchanged. */
void span_plain(struct span value, struct buffer *out);
/* Whether it is a string that contains a JSON object or array: probably JSON that was passed as
 * text, so that looking up a member finds nothing. */
bool span_holds_json(struct span value);
/* The decoded string, allocated; NULL if value is not a string. */
char *span_text(struct span value);
/* Copies a string of at most size - 1 bytes that has no escapes (ids, types, digests); false if it
 * is not a string, has escapes, or does not fit. */
bool span_copy(struct span value, char *out, size_t size);
/* An integer in range, without fraction or exponent; false if it is not one. */
bool span_integer(struct span value, long long *out);
bool span_true(struct span value);

/* Appends "/" and a raw key token, decoded and with the escapes of JSON Pointer (RFC 6901). */
void pointer_append(struct buffer *pointer, struct span key);
/* The value that a pointer refers to; .at is NULL if there is none. */
struct span pointer_find(struct span value, const char *pointer);

#endif
