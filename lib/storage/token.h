/*
 * Tokens of state lines: metadata.token is an HMAC-SHA256, made with the run's key, of the call
 * that produced the data, the data, and its attachments. It proves that this data was the result of
 * a call of this attempt: without the key nobody can make a token, or move one to other data. Only
 * results have a token: what a failed or skipped call passes on was not produced by that call.
 */
#ifndef AWF_STORAGE_TOKEN_H
#define AWF_STORAGE_TOKEN_H

#include <stdbool.h>

#include "base/digest.h"
#include "json/scan.h"

/* What a token proves. */
struct token_claim {
	const char *run_id;
	int attempt;
	const char *call, *path, *event_id; /* of the call that produced the data, and of its
	                                       step.completed */
	const char *sha256;          /* of the data's JSON text */
	bool no_newline, base64;     /* how its text becomes bytes */
	struct span attachments;     /* attachments of the line, minified; absent if it has none */
};

/* Returns token. */
char *token_issue(const unsigned char key[DIGEST_BYTES], const struct token_claim *claim,
    char token[DIGEST_SIZE]);
/* Whether a JSON string is the token of the claim. Takes equally long wherever they differ. */
bool token_check(const unsigned char key[DIGEST_BYTES], const struct token_claim *claim,
    struct span given);

#endif
