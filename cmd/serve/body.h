/*
 * Bodies of requests that are an object of JSON: each of their members is known, stands once, and
 * is of its kind. What is misspelt or meant for something else is refused, never passed over.
 */
#ifndef AWF_SERVE_BODY_H
#define AWF_SERVE_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "json/scan.h"
#include "serve/request.h"

enum body_kind { BODY_TEXT, BODY_BOOLEAN, BODY_ANY };

struct body_member {
	const char *name;
	enum body_kind kind;
};

/* values[i] is member i, .at NULL if it is not there; it is valid as long as the body. False: it
 * was refused, with 400. */
bool body_read(struct request *r, const struct body_member *members, size_t count,
    struct span *values);

#endif
