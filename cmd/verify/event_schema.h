/*
 * The JSON Schema (draft 2020-12) of a line of a transcript, awf-transcript(5), made from the
 * event table.
 */
#ifndef AWF_VERIFY_EVENT_SCHEMA_H
#define AWF_VERIFY_EVENT_SCHEMA_H

#include "base/buffer.h"

/* Appends the schema, a line for each member. */
void event_schema_write(struct buffer *out);

#endif
