/*
 * jansson, set up the way AWF uses it: NUL allowed in strings, duplicate keys
 * refused, any value at top level, key order kept, memory from base/memory. For
 * definitions that are read (agent files, tool files, schemas); what is passed on
 * goes through the scanner instead.
 */
#ifndef AWF_JSON_VALUE_H
#define AWF_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Parses one value. code and place are those of the error ("FILE:LINE: …"). A
 * new reference, or NULL. Integers beyond 64 bits become reals. */
json_t *value_parse(const char *bytes, size_t len, const char *place,
    enum error_code code, struct error *err);
/* The same from a file of at most 16 MiB. */
json_t *value_load(const char *path, enum error_code code, struct error *err);
/* value_parse() of a text, which it changes, as editors keep their settings: with a byte order mark, comments as
 * those of C, and commas before what ends an object or a list. */
json_t *value_parse_relaxed(struct buffer *text, const char *place, enum error_code code, struct error *err);
/* Appends compact JSON, keys in their order. */
void value_write(const json_t *value, struct buffer *out);

/* JSON pointers (RFC 6901). Appends "/" and a key, escaped. */
void value_pointer_add(struct buffer *pointer, const char *key);
/* Takes the slash and the part behind it off a pointer that is not empty: the part without its
 * escapes, in memory of its own. */
char *value_pointer_part(const char **pointer);
/* Whether a part names an element of a list, and which. */
bool value_pointer_index(const char *part, size_t *index);

#endif
