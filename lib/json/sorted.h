/*
 * JSON in a canonical form, for comparing values that other programs may have rewritten: without
 * white space, members in the order of their keys, strings with only the escapes they need. Numbers
 * keep their bytes.
 */
#ifndef AWF_JSON_SORTED_H
#define AWF_JSON_SORTED_H

#include "json/scan.h"

/* Appends the value, which must have been checked, in this form. */
void sorted_write(struct span value, struct buffer *out);

#endif
