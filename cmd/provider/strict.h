/*
 * APIs that hold a model to a JSON Schema take a part of JSON Schema only. A schema
 * beyond that would be refused with the whole request, so it is looked at first:
 * answers are checked by awf-step in any case.
 */
#ifndef AWF_PROVIDER_STRICT_H
#define AWF_PROVIDER_STRICT_H

#include <stdbool.h>

#include "base/error.h"
#include "json/scan.h"
#include "json/writer.h"

/* What an API takes. */
struct strict {
	const char *const *keywords; /* in any order; ends with NULL */
	const char *const *formats;  /* values of `format`; ends with NULL */
	bool all_required;           /* each property must be in `required` */
	bool recursive;              /* a reference may lead back to itself */
};

/* Whether all of the schema, whose root is of the type object, is within that. Objects
 * must be closed (additionalProperties: false), as every such API wants them. */
bool strict_takes(const struct strict *strict, struct span schema);
/* Whether the root is of the type object, which they want of any schema. */
bool strict_object(struct span schema);
/* Writes a schema as an API takes it: without "$schema" and "$id". */
void strict_write(struct writer *w, const char *key, struct span schema);
/* The same of a tool's input: its root has the type object, and properties, if only {}. What is
 * inside of it, data above all, stays as it is; so do references. */
void strict_write_input(struct writer *w, const char *key, struct span schema);
/* Name, description and, under a key of the API's own, schema of a tool. */
void strict_write_tool(struct writer *w, struct span tool, const char *schema_key);
/* Whether the schemas of all tools have no alternatives at their root, which some APIs refuse:
 * -1 with ERROR_INVALID at the tool, which names the API. */
int strict_check_tools(struct span tools, const char *api, struct error *err);

#endif
