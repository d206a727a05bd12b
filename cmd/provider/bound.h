/*
 * What a thought of the model is bound to: a digest of the system prompt, the tools and every block
 * that was sent before it, the model's own earlier thoughts among them. Servers that sign thoughts
 * refuse a request in which anything before one has changed, or one between others is left out
 * (platform.claude.com, "Prefix checks on thinking blocks"). So each thought is recorded with its
 * digest, and goes back only where the digest is the same: what AWF leaves out or changes, it
 * leaves out together with the thoughts that follow it.
 *
 * What is hashed is what is sent, but in one form (json/sorted.h) and without marks for caches,
 * which do not count. A digest that differs costs a thought; one that is the same by mistake costs
 * the whole request.
 */
#ifndef AWF_PROVIDER_BOUND_H
#define AWF_PROVIDER_BOUND_H

#include <stdbool.h>

#include "base/digest.h"
#include "json/scan.h"

struct bound {
	struct digest digest;
};

void bound_begin(struct bound *b);
/* Adds something that is sent: what it is, and its value, which may be absent. */
void bound_add(struct bound *b, const char *what, struct span value);
/* The digest of all that was added; more may follow. */
void bound_tell(const struct bound *b, char sha256[DIGEST_SIZE]);
/* Whether that is the text of a JSON string. */
bool bound_is(const struct bound *b, struct span recorded);

#endif
