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

/* values[i] is member i, .at NULL if it is not there; it is valid as long as the body. False: it
 * was refused, with 400. */
bool body_read(struct request *r, const struct body_member *members, size_t count,
    struct span *values);

#endif
