/*
 * JSON Schema: checks tool arguments, tool results and transcript lines. The
 * keywords it knows stand in one table (schema.c) and in awf-tool(5); a schema
 * with any other keyword is refused when it is compiled, so that nothing is
 * silently unchecked.
 */
#ifndef AWF_JSON_SCHEMA_H
#define AWF_JSON_SCHEMA_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"

struct schema;

/* Compiles. ERROR_DEFINITION with place and the JSON pointer of what is wrong.
 * Keeps a reference to the document. */
struct schema *schema_compile(json_t *document, const char *place, struct error *err);
/* 0 if valid; else -1, and why (when not NULL) holds one line: the pointer of the
 * offending value, what is wrong, and what was expected. */
int schema_check(const struct schema *schema, const json_t *instance, struct buffer *why);
void schema_free(struct schema *schema);

#endif
