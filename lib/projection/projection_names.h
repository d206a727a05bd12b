/*
 * The names of the projections, and the JSON Schema of a line of each, separate from the code that
 * makes the lines.
 */
#ifndef AWF_PROJECTION_PROJECTION_NAMES_H
#define AWF_PROJECTION_PROJECTION_NAMES_H

#include "base/error.h"

/* All names, then NULL. */
const char *const *projection_names(void);
/* The index of a name; -1 with ERROR_USAGE, and the option as the place, if there is none. */
int projection_index(const char *name, const char *option, struct error *err);
/* The text of the schema with that index. */
const char *projection_schema(int index);

#endif
