/* --trust: what the user allows by its digest, for a run and its steps alone. */
#ifndef AWF_LIMITS_TRUST_OPTION_H
#define AWF_LIMITS_TRUST_OPTION_H

#include "base/error.h"

/* Digests that are allowed for this process and those that it starts, commas between:
 * awf-run --trust, awf-step --trust. */
#define TRUST_VARIABLE "AWF_TRUST"

/* Applies --trust to this process and its children. ERROR_USAGE if it is not a list of digests. */
int trust_option(const char *list, struct error *err);

#endif
