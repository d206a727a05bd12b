/*
 * APIs that hold a model to a JSON Schema take a part of JSON Schema only. A schema
 * beyond that would be refused with the whole request, so it is looked at first:
 * answers are checked by awf-step in any case.
 */
#ifndef AWF_PROVIDER_STRICT_H
#define AWF_PROVIDER_STRICT_H

#include <stdbool.h>

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
/* Writes a schema as an API takes it: without "$schema". */
void strict_write(struct writer *w, const char *key, struct span schema);

#endif
