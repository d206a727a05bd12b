/*
 * Request bodies that are a JSON object. Each member must be known, occur once, and have the right
 * kind; anything else is refused, so that a misspelt member is not ignored.
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

/* Sets values[i] to the value of member i; .at is NULL if the body does not have it. The values
 * point into the body. False: the request was refused with status 400. */
bool body_read(struct request *r, const struct body_member *members, size_t count,
    struct span *values);

#endif
