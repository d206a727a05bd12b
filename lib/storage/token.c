/*
 * The claim has one field per line. A call and a path contain no LF (call_id_valid(),
 * call_path_valid()), so two claims never have the same text (asserted). Tokens are compared in
 * constant time.
 */
#include "storage/token.h"

#include <string.h>

#include <sodium/utils.h>

#include "base/buffer.h"
#include "base/invariant.h"

/* Whether no text of a claim contains an LF. */
static bool
claim_has_lines(const struct token_claim *claim)
{
	const char *const texts[] = { claim->run_id, claim->call, claim->path, claim->event_id,
		claim->sha256 };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (strchr(texts[i], '\n') != NULL)
			return false;
	return true;
}

char *
token_issue(const unsigned char key[DIGEST_BYTES], const struct token_claim *claim,
    char token[DIGEST_SIZE])
{
	struct buffer text = BUFFER_INIT;
	char sha256[DIGEST_SIZE];

	INVARIANT(claim_has_lines(claim));
	buffer_format(&text, "%s\n%d\n%s\n%s\n%s\n%s\n%c%c\n", claim->run_id, claim->attempt,
	    claim->call, claim->path, claim->event_id, claim->sha256, claim->no_newline ? 'n' : '-',
	    claim->base64 ? 'b' : '-');
	if (claim->attachments.at != NULL)
		buffer_format(&text, "%s\n", digest_sha256(claim->attachments.at, claim->attachments.len,
		    sha256));
	digest_hmac(key, DIGEST_BYTES, text.data, text.len, token);
	buffer_free(&text);
	return token;
}

bool
token_check(const unsigned char key[DIGEST_BYTES], const struct token_claim *claim,
    struct span given)
{
	char token[DIGEST_SIZE];

	if (given.at == NULL || given.len != DIGEST_SIZE + 1 || given.at[0] != '"')
		return false;
	token_issue(key, claim, token);
	return sodium_memcmp(token, given.at + 1, DIGEST_SIZE - 1) == 0;
}
