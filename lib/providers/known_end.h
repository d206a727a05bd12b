/*
 * The reasons why an answer ended, as AWF names them (awf-provider(7)), and further words of APIs
 * for them that a user has declared: --known-end WORD=REASON, passed to providers and to steps
 * inside in $AWF_KNOWN_ENDS, separated by commas. Declared words take precedence over those that a
 * provider knows.
 */
#ifndef AWF_PROVIDERS_KNOWN_END_H
#define AWF_PROVIDERS_KNOWN_END_H

#include <stdbool.h>

#include "base/error.h"
#include "json/scan.h"

#define KNOWN_ENDS "AWF_KNOWN_ENDS"

/* Adds WORD=REASON to the environment. ERROR_USAGE. */
int known_end_teach(const char *text, struct error *err);
/* Whether all of the environment's can be understood; ERROR_USAGE. */
int known_end_check(struct error *err);
/* The stop reason, a JSON string, that a word (a JSON string too) was taught to be; NULL:
 * it was not. */
const char *known_end_taught(struct span word);
/* The same for the words of an endpoint, {"WORD": "REASON"} (awf-endpoint(5)); an absent object, and a
 * reason that is none, define nothing. */
const char *known_end_defined(struct span ends, struct span word);
/* Whether it is a stop reason of ours, that says how an answer ended. */
bool known_end_is_reason(struct span reason);

#endif
