/*
 * The formats of JSON Schema that can be told of a string alone: dates, addresses,
 * identifiers. Those of internationalised names (idn-email, iri …) are not among them.
 */
#ifndef AWF_SCHEMA_SCHEMA_FORMAT_H
#define AWF_SCHEMA_SCHEMA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct format {
	const char *name;
	const char *pattern; /* of all such values; NULL: the function alone tells */
	bool (*fits)(const char *text, size_t len); /* what the pattern cannot tell; NULL: nothing */
	long work;           /* of that function, in steps of patterns */
};

/* NULL if it is not known: every string is of such a format. */
const struct format *format_find(const char *name);

#endif
