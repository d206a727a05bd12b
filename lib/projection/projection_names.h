/*
 * The vocabularies of other systems that there are projections into, and the JSON Schema of a line of
 * each, apart from what makes the lines.
 */
#ifndef AWF_PROJECTION_PROJECTION_NAMES_H
#define AWF_PROJECTION_PROJECTION_NAMES_H

#include "base/error.h"

/* All names, then NULL. */
const char *const *projection_names(void);
/* Which of these it is; -1 with ERROR_USAGE, and the option for place, if it is none. */
int projection_index(const char *name, const char *option, struct error *err);
/* The text of the schema, by that number. */
const char *projection_schema(int index);

#endif
