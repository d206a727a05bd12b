/*
 * Parameters of a request: how a model is to answer. They are set in agent files, and programs that
 * run before a turn may change them; both are checked in the same way.
 */
#ifndef AWF_FORMATS_PARAMS_H
#define AWF_FORMATS_PARAMS_H

#include <jansson.h>

#include "base/error.h"
#include "formats/definition.h"

/* Readers of keys (definition.h). The member is a json_t * to an object, in which the value is
 * stored under its name. */
int params_integer(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_number(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_stop_sequences(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_flag(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
/* Reads `body`, `headers` and `timeouts` as in an endpoint's file (awf-endpoint(5)), except that
 * the value of a header must be a text, and headers that authenticate or route the request are
 * rejected. */
int params_of_endpoint(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_thinking(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);

/* Applies the changes, an object, to params; null removes a parameter. -1: ERROR_DEFINITION with
 * this place. */
int params_change(json_t *params, json_t *changes, const char *place, struct error *err);

#endif
