/* A token is a word that identifies it, followed by random digits, or those of a digest. */
#include "proc/model_token.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/invariant.h"

void
model_token_make(const char *replayed, char token[MODEL_TOKEN_SIZE])
{
	unsigned char bytes[MODEL_TOKEN_DIGITS / 2];
	char digits[DIGEST_SIZE];

	if (replayed != NULL) {
		digest_sha256(replayed, strlen(replayed), digits);
	} else {
		random_bytes(bytes, sizeof bytes);
		hex_encode(bytes, sizeof bytes, digits);
	}
	snprintf(token, MODEL_TOKEN_SIZE, MODEL_TOKEN_BEGIN "%.*s", MODEL_TOKEN_DIGITS, digits);
	INVARIANT(model_token_is(token));
}

bool
model_token_is(const char *key)
{
	const size_t begin = sizeof MODEL_TOKEN_BEGIN - 1;

	return key != NULL && strncmp(key, MODEL_TOKEN_BEGIN, begin) == 0 &&
	    strlen(key) == begin + MODEL_TOKEN_DIGITS &&
	    strspn(key + begin, "0123456789abcdef") == MODEL_TOKEN_DIGITS;
}

void
model_token_within(const char *token, char within[MODEL_TOKEN_SIZE])
{
	char digits[DIGEST_SIZE];

	digest_sha256(token, strlen(token), digits);
	snprintf(within, MODEL_TOKEN_SIZE, MODEL_TOKEN_WITHIN "%.*s", MODEL_TOKEN_DIGITS, digits);
	INVARIANT(strlen(within) == MODEL_TOKEN_SIZE - 1 && !model_token_is(within));
}
