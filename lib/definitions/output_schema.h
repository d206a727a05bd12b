/*
 * The JSON Schema for the result of an agent, awf-agent(5), from its file (output_schema) or the
 * command line (--output-schema). The schema is sent to the model in the system prompt and to the
 * provider in the request; the answer is always checked here as well.
 */
#ifndef AWF_DEFINITIONS_OUTPUT_SCHEMA_H
#define AWF_DEFINITIONS_OUTPUT_SCHEMA_H

#include <jansson.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "schema/schema.h"

struct output_schema {
	struct schema *schema;   /* NULL: any answer will do */
	struct buffer text;      /* JSON, minified */
	char *path;              /* of its file; NULL: it stands in the agent file */
};

/* Reads it from a JSON file, which a definition may name (NULL: the user does), or takes the value; ERROR_DEFINITION, of a value without
 * place. Whatever was there is freed. */
int output_schema_load(struct output_schema *o, const char *path, const char *definition, struct error *err);
int output_schema_take(struct output_schema *o, json_t *value, struct error *err);
/* Appends the JSON of an answer, minified: all of its text, but for white space and one
 * fence (```json) around it. -1, and why in one line, if it is none or breaks the
 * schema. */
int output_schema_read(const struct output_schema *o, struct span text, struct buffer *json,
    struct buffer *why);
/* Whether a JSON value keeps to the schema, if there is one: 0, or -1 and why. */
int output_schema_check(const struct output_schema *o, struct span value, struct buffer *why);
void output_schema_free(struct output_schema *o);

#endif
