/*
 * Models that are asked one after the other if the agent's own model does not answer, for a reason
 * that is not the caller's fault. The first one that answers is used for the rest of the agent's
 * turns in the call.
 */
#ifndef AWF_DEFINITIONS_FALLBACK_H
#define AWF_DEFINITIONS_FALLBACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "formats/definition.h"

struct fallback {
	struct fallback_model { char *provider, *model; } *list;
	size_t count;
};

/* Reader of a key (definition.h): a list of "PROVIDER/MODEL", or {provider, model}. */
int fallback_read(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
void fallback_copy(struct fallback *to, const struct fallback *from);
/* Whether another model may answer after this error. */
bool fallback_helps(enum error_code code);
void fallback_free(struct fallback *f);

#endif
