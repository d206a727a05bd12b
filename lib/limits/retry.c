/*
 * A delay is cut to its limit before it could overflow. Jitter keeps half of it and draws the other
 * half at random, so that calls that failed together do not come back together. A delay that a
 * server demands is a minimum, which AWF's limit never shortens.
 */
#include "limits/retry.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"

static const char *const backoffs[] = {
	[BACKOFF_CONSTANT] = "constant",
	[BACKOFF_LINEAR] = "linear",
	[BACKOFF_EXPONENTIAL] = "exponential",
	NULL
};

void
retry_default(struct retry *r)
{
	*r = (struct retry){ .retries = 2, .backoff = BACKOFF_EXPONENTIAL,
	    .delay_ms = RETRY_DELAY_MS, .max_delay_ms = 60000, .jitter = true };
}

/* Reports an unknown word of an option, with the word that was probably meant. */
static int
retry_set_unknown_word_error(const char *option, const char *what, const char *word,
    const char *const *names, struct error *err)
{
	char *hint = text_hint(word, names);

	error_set(err, ERROR_USAGE, option, "unknown %s '%s'%s", what, word, hint);
	free(hint);
	return -1;
}

int
retry_parse_codes(struct retry *r, const char *text, struct error *err)
{
	const char *names[ERROR_CODES] = { NULL }, *part;
	size_t len;

	while ((part = text_part(&text, ',', &len)) != NULL) {
		enum error_code code = error_from_name(part, len);
		char *word;

		if (code != ERROR_NONE) {
			r->codes[code] = true;
			r->codes_given = true;
			continue;
		}
		for (int i = ERROR_NONE + 1; i < ERROR_CODES; i++)
			names[i - 1] = error_name((enum error_code)i);
		word = memory_copy(part, len);
		retry_set_unknown_word_error("--retry-on", "error code", word, names, err);
		free(word);
		return -1;
	}
	return 0;
}

int
retry_parse_backoff(struct retry *r, const char *text, struct error *err)
{
	for (int i = 0; backoffs[i] != NULL; i++)
		if (strcmp(backoffs[i], text) == 0) {
			r->backoff = (enum backoff)i;
			return 0;
		}
	return retry_set_unknown_word_error("--backoff", "backoff", text, backoffs, err);
}

bool
retry_wanted(const struct retry *r, enum error_code code, int tried)
{
	if (code == ERROR_NONE || tried > r->retries)
		return false;
	return r->codes_given ? r->codes[code] : error_class(code) == CLASS_TRANSIENT;
}

/* A random number from 0 to most. */
static int64_t
random_up_to(int64_t most)
{
	uint64_t number;

	random_bytes(&number, sizeof number);
	return (int64_t)(number % ((uint64_t)most + 1));
}

int64_t
retry_delay_within(const struct retry *r, int tried, int64_t retry_after_ms, int64_t left_ms)
{
	const int64_t limit = r->max_delay_ms;
	int64_t factor = 1, delay, spread;

	if (r->backoff == BACKOFF_LINEAR)
		factor = tried;
	else if (r->backoff == BACKOFF_EXPONENTIAL)
		factor = (int64_t)1 << (tried - 1 < 62 ? tried - 1 : 62);
	delay = r->delay_ms > limit / factor ? limit : r->delay_ms * factor;
	INVARIANT(tried >= 1 && delay >= 0 && delay <= limit);
	if (r->jitter)
		delay = delay - delay / 2 + random_up_to(delay / 2);
	INVARIANT(delay >= 0 && delay <= limit);
	if (retry_after_ms <= delay)
		return delay;
	if (!r->jitter)
		return retry_after_ms;
	spread = retry_after_ms / 2 > RETRY_SPREAD_MS ? retry_after_ms / 2 : RETRY_SPREAD_MS;
	if (left_ms > retry_after_ms && left_ms - retry_after_ms <= spread)
		spread = left_ms - retry_after_ms - 1;
	if (spread > INT64_MAX - retry_after_ms)
		spread = INT64_MAX - retry_after_ms;
	return retry_after_ms + random_up_to(spread);
}

int64_t
retry_delay(const struct retry *r, int tried, int64_t retry_after_ms)
{
	return retry_delay_within(r, tried, retry_after_ms, INT64_MAX);
}
