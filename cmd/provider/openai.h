/*
 * What the two APIs of OpenAI have in common.
 */
#ifndef AWF_PROVIDER_OPENAI_H
#define AWF_PROVIDER_OPENAI_H

#include "exchange.h"
#include "json/scan.h"

/* Whether there is an output_schema that its model, and the server, take at all. */
bool openai_takes_schema(const struct exchange *x);
/* Its members of a format: to be kept to strictly where it is within what that takes. */
void openai_write_schema(struct writer *w, struct span schema);
/* Members "filename" and "file_data" of a document. */
void openai_write_file(struct writer *w, struct span document);

#endif
