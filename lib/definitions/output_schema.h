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
	struct schema *schema;   /* NULL: any answer is valid */
	struct buffer text;      /* JSON, minified */
	char *path;              /* path of its file; NULL: it is in the agent file */
};

/* Loads the schema from a JSON file, or uses a value. definition: the file that names the JSON
 * file; NULL: the user does. ERROR_DEFINITION; without a place if it is about a value. An earlier
 * schema is freed. */
int output_schema_load(struct output_schema *o, const char *path, const char *definition, struct error *err);
int output_schema_take(struct output_schema *o, json_t *value, struct error *err);
/* Parses an answer and appends it as minified JSON. White space, and one fence (```json) around the
 * JSON, are ignored. -1 with a line in why: it is not JSON, or does not match the schema. */
int output_schema_read(const struct output_schema *o, struct span text, struct buffer *json,
    struct buffer *why);
/* Whether a JSON value matches the schema, if there is one: 0, or -1 with a line in why. */
int output_schema_check(const struct output_schema *o, struct span value, struct buffer *why);
void output_schema_free(struct output_schema *o);

#endif
