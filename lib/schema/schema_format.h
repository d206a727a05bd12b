/*
 * The formats of JSON Schema that a string alone can be checked for: dates, addresses, identifiers.
 * Those of internationalised names (idn-email, iri …) are not supported.
 */
#ifndef AWF_SCHEMA_SCHEMA_FORMAT_H
#define AWF_SCHEMA_SCHEMA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct format {
	const char *name;
	const char *pattern; /* matches all valid values; NULL: there is only the function */
	bool (*fits)(const char *text, size_t len); /* checks what the pattern cannot;
	                                               NULL: nothing */
	long work;           /* work of the function, in steps of patterns */
};

/* NULL if it is unknown: then every string is valid. */
const struct format *format_find(const char *name);

#endif
