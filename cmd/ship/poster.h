/* Sequential requests of a filter to an HTTP server, whose responses are JSON. */
#ifndef AWF_SHIP_POSTER_H
#define AWF_SHIP_POSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "net/http.h"

struct poster {
	/* Set by the owner, whose they stay. */
	const char *base;           /* URL, before the paths of requests */
	char *const *headers;       /* of all requests, "Name: value"; ends with NULL; NULL: none */
	bool direct;                /* by no proxy */

	/* What was answered last. */
	long status;
	struct buffer body;         /* empty if it is no JSON */

	struct http *http;
};

/* -1: ERROR_SYSTEM. */
int poster_open(struct poster *p, struct error *err);
/* Sends bytes by method (NULL: POST), and again while the server asks for a pause: 429, or 503 with
 * Retry-After. 0: it has answered; -1: ERROR_SYSTEM. */
int poster_send(struct poster *p, const char *method, const char *path, const char *type,
    const char *bytes, size_t len, struct error *err);
/* The answer, .at NULL if it is no JSON. */
struct span poster_answer(const struct poster *p);
void poster_close(struct poster *p);

#endif
