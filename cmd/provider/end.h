/*
 * How answers end. Each API has a table of the words that it says, taken from its
 * reference: what they are in our vocabulary, or which error. Any other word is the error
 * `cut_off`, which quotes it: half a text must not pass for an answer. A user can teach a
 * word, --known-end (agent/known_end.h).
 */
#ifndef AWF_PROVIDER_END_H
#define AWF_PROVIDER_END_H

#include "base/error.h"
#include "json/scan.h"

/* A table ends with { NULL, NULL, ERROR_NONE }. */
struct end {
	const char *word;
	const char *reason;       /* our stop reason; NULL: an error */
	enum error_code category; /* of the error */
};

/* The stop reason for a word, a JSON string; NULL: an error, *err says of which category
 * and why. said is what the API said about it, a JSON string, or absent. */
const char *end_reason(const struct end *ends, struct span word, struct span said,
    struct error *err);

#endif
