/*
 * What the two APIs of OpenAI have in common.
 */
#ifndef AWF_PROVIDER_OPENAI_H
#define AWF_PROVIDER_OPENAI_H

#include "json/scan.h"
#include "strict.h"

/* The effort that `thinking` asks for where it is no word for it: "medium" if it is
 * true, one by the number of tokens; NULL if it is anything else. */
const char *openai_effort(struct span thinking);

/* What they take of JSON Schema where they are to be strict. */
extern const struct strict openai_strict;

#endif
