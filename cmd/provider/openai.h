/*
 * What the two APIs of OpenAI have in common.
 */
#ifndef AWF_PROVIDER_OPENAI_H
#define AWF_PROVIDER_OPENAI_H

#include "exchange.h"
#include "json/scan.h"

/* How the output_schema is said; not at all where its model takes none. */
enum schema_use openai_schema(const struct exchange *x);
/* Its members of a format: to be kept to strictly where it is within what that takes. */
void openai_write_schema(struct writer *w, struct span schema);
/* Members "filename" and "file_data" of a document. */
void openai_write_file(struct writer *w, struct span document);

#endif
