/*
 * jansson, with AWF's settings: NUL allowed in strings, duplicate keys rejected, any value at top
 * level, key order kept, memory from base/memory. It is used for definitions (agent files, tool
 * files, schemas); data that is passed on goes through the scanner instead.
 */
#ifndef AWF_JSON_VALUE_H
#define AWF_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Parses one value. code and place are used for the error ("FILE:LINE: …"). A new reference, or
 * NULL. Integers of more than 64 bits become reals. */
json_t *value_parse(const char *bytes, size_t len, const char *place,
    enum error_code code, struct error *err);
/* The same for a file of at most 16 MiB. */
json_t *value_load(const char *path, enum error_code code, struct error *err);
/* The same for a text as editors write their settings: with a byte order mark, comments as in C,
 * and commas before the end of an object or an array. The text is changed. */
json_t *value_parse_relaxed(struct buffer *text, const char *place, enum error_code code, struct error *err);
/* Appends compact JSON; keys keep their order. */
void value_write(const json_t *value, struct buffer *out);

/* JSON pointers (RFC 6901). Appends "/" and a key, escaped. */
void value_pointer_add(struct buffer *pointer, const char *key);
/* Removes the first part and its slash from a pointer that is not empty: returns the part without
 * escapes, allocated. */
char *value_pointer_part(const char **pointer);
/* Whether a part is an index into an array, and which. */
bool value_pointer_index(const char *part, size_t *index);

#endif
