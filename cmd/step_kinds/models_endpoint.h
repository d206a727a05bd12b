/*
 * An endpoint as awf-models-proxy(1) is told of it, for a command whose requests go there: its URL, and
 * the headers that say who asks, in place of the program's. Bodies pass as they are.
 */
#ifndef AWF_STEP_KINDS_MODELS_ENDPOINT_H
#define AWF_STEP_KINDS_MODELS_ENDPOINT_H

#include "base/error.h"
#include "json/writer.h"
#include "proc/environment.h"

/* Writes the members of an endpoint: base, key, headers. -1: ERROR_DEFINITION, ERROR_INVALID,
 * ERROR_AUTH, ERROR_SYSTEM. */
int models_endpoint_write(const char *name, const struct keys *keys, struct writer *w,
    struct error *err);

#endif
