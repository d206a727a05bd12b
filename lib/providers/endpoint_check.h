/*
 * What the file of an endpoint may hold, awf-endpoint(5): which keys, and what values they have. A
 * key that does not exist is refused, since a misspelt one would mean nothing.
 */
#ifndef AWF_PROVIDERS_ENDPOINT_CHECK_H
#define AWF_PROVIDERS_ENDPOINT_CHECK_H

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"

/* Of one file, at place: ERROR_DEFINITION. */
int endpoint_check_file(const json_t *file, const char *place, struct error *err);
/* Of `body`, `headers`, `thinking` and `timeouts` where an agent's file or a program says them.
 * ERROR_DEFINITION. */
int endpoint_check_key(const char *key, const json_t *value, const char *place, struct error *err);
/* Whether a header of this name is one of those that APIs know, and that say neither who asks nor where a
 * request goes. All others are the endpoint's: gateways have many names for both. */
bool endpoint_header_is_apis(const char *name, size_t len);

#endif
