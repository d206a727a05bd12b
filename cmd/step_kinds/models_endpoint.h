/*
 * Describes an endpoint to awf-models-proxy(1), for a command whose requests go there: its URL, and
 * the headers with its credentials, which replace those of the program. Bodies are passed on
 * unchanged.
 */
#ifndef AWF_STEP_KINDS_MODELS_ENDPOINT_H
#define AWF_STEP_KINDS_MODELS_ENDPOINT_H

#include <stdbool.h>

#include "base/error.h"
#include "json/writer.h"
#include "proc/environment.h"

/* Whether there is an endpoint of the name, whose file is right. -1: ERROR_DEFINITION, ERROR_SYSTEM. */
int models_endpoint_check(const char *name, struct error *err);
/* Writes the members of an endpoint: base, key, headers. -1: ERROR_DEFINITION, ERROR_INVALID,
 * ERROR_AUTH, ERROR_SYSTEM. */
int models_endpoint_write(const char *name, const struct keys *keys, struct writer *w,
    struct error *err);
/* Whether the key of a family may go to the server that a variable says: as to that of the endpoint of the
 * same name. */
bool models_endpoint_key_may_go(const char *family, const char *base);

#endif
