/*
 * JSON for people: one member or element a line, two spaces for each depth; strings and
 * numbers keep their bytes, so that minifying it gives the value back as it was.
 */
#ifndef AWF_STEP_PRETTY_H
#define AWF_STEP_PRETTY_H

#include "base/buffer.h"
#include "json/scan.h"

/* Appends a value, which has been checked, with a LF at the end. */
void json_pretty(struct span value, struct buffer *out);

#endif
