/*
 * Tokens of state lines: metadata.token is HMAC-SHA256, under the run's key, over who made
 * the data and what it is, with what is attached to it. It proves that a call of this attempt
 * had this data as its result; whoever knows no key can neither make one nor move one to other
 * data. Only results get one: what a failed or skipped call passes on was not made by it.
 */
#ifndef AWF_STORAGE_TOKEN_H
#define AWF_STORAGE_TOKEN_H

#include <stdbool.h>

#include "base/digest.h"
#include "json/scan.h"

/* What a token vouches for. */
struct token_claim {
	const char *run_id;
	int attempt;
	const char *call, *path, *event_id; /* that made the data, and its step.completed */
	const char *sha256;          /* of the data's JSON text */
	bool no_newline, base64;     /* how its text becomes bytes */
	struct span attachments;     /* of the line, minified; absent if it has none */
};

/* Returns token. */
char *token_issue(const unsigned char key[DIGEST_BYTES], const struct token_claim *claim,
    char token[DIGEST_SIZE]);
/* Whether a JSON string is the token of the claim; takes as long wherever it differs. */
bool token_check(const unsigned char key[DIGEST_BYTES], const struct token_claim *claim,
    struct span given);

#endif
