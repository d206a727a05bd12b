/*
 * Parameters of a request: how a model is to answer. Agent files say them, and programs
 * that are asked before a turn may change them; both are checked alike.
 */
#ifndef AWF_FORMATS_PARAMS_H
#define AWF_FORMATS_PARAMS_H

#include <jansson.h>

#include "base/error.h"
#include "formats/definition.h"

/* Readers of keys (definition.h), whose member is a json_t *: an object, in which the
 * value is stored under its name. */
int params_integer(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_number(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_stop_sequences(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_flag(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
/* `body`, `headers` and `timeouts`, as an endpoint's file has them (awf-endpoint(5)); but headers are
 * texts, and none that says who asks. */
int params_of_endpoint(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);
int params_thinking(const struct definition *d, const struct definition_key *key,
    json_t *value, void *object, struct error *err);

/* Puts the changes, an object, into params; null takes a parameter away. -1:
 * ERROR_DEFINITION at place. */
int params_change(json_t *params, json_t *changes, const char *place, struct error *err);

#endif
