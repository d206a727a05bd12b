/*
 * Lines of JSON that are no transcript, against a JSON Schema of anybody's.
 */
#ifndef AWF_INSPECT_AGAINST_SCHEMA_H
#define AWF_INSPECT_AGAINST_SCHEMA_H

#include <stdbool.h>

/* Checks each line of the files (ends with NULL; "-", or none: stdin), and says on stderr which
 * break the schema in the file. Empty lines are none. The exit status. */
int against_check(const char *schema, bool formats, const char *const *files);

#endif
