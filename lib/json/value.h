/*
 * jansson, set up the way AWF uses it: NUL allowed in strings, duplicate keys
 * refused, any value at top level, key order kept, memory from base/memory. For
 * definitions that are read (agent files, tool files, schemas); what is passed on
 * goes through the scanner instead.
 */
#ifndef AWF_JSON_VALUE_H
#define AWF_JSON_VALUE_H

#include <jansson.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Parses one value. code and place are those of the error ("FILE:LINE: …"). A
 * new reference, or NULL. Integers beyond 64 bits become reals. */
json_t *value_parse(const char *bytes, size_t len, const char *place,
    enum error_code code, struct error *err);
/* The same from a file of at most 16 MiB. */
json_t *value_load(const char *path, enum error_code code, struct error *err);
/* The same, as editors keep their settings: with comments as those of C, and commas before what
 * ends an object or a list. */
json_t *value_load_relaxed(const char *path, enum error_code code, struct error *err);
/* Appends compact JSON, keys in their order. */
void value_write(const json_t *value, struct buffer *out);

#endif
