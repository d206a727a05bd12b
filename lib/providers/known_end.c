/*
 * The list in the environment is parsed each time: an answer ends once, and most runs define no
 * words.
 */
#include "providers/known_end.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

/* "stop" is what most APIs say, and what users write. */
static const struct {
	const char *said, *reason; /* a JSON string */
} reasons[] = {
	{ "end_turn", "\"end_turn\"" },
	{ "tool_use", "\"tool_use\"" },
	{ "max_tokens", "\"max_tokens\"" },
	{ "stop_sequence", "\"stop_sequence\"" },
	{ "refusal", "\"refusal\"" },
	{ "pause", "\"pause\"" },
	{ "stop", "\"end_turn\"" }
};
#define REASONS (sizeof reasons / sizeof reasons[0])
#define OURS (REASONS - 1) /* all but the last are names of awf-provider(7) */

static const char *
find_reason(const char *said, size_t len)
{
	for (size_t i = 0; i < REASONS; i++)
		if (strlen(reasons[i].said) == len && memcmp(reasons[i].said, said, len) == 0)
			return reasons[i].reason;
	return NULL;
}

/* WORD=REASON: the length of the word; 0: it has another form. */
static size_t
check_pair(const char *pair, size_t len)
{
	const char *equals = memchr(pair, '=', len);
	size_t word = equals == NULL ? 0 : (size_t)(equals - pair);

	if (word == 0 || memchr(pair, ' ', word) != NULL ||
	    find_reason(equals + 1, len - word - 1) == NULL)
		return 0;
	return word;
}

static int
known_end_set_error(const char *place, const char *pair, size_t len, struct error *err)
{
	return error_set(err, ERROR_USAGE, place, "'%.*s': expected WORD=REASON, where REASON is stop, "
	    "tool_use, max_tokens, stop_sequence, refusal or pause", len > 200 ? 200 : (int)len, pair);
}

int
known_end_teach(const char *text, struct error *err)
{
	const char *taught = getenv(KNOWN_ENDS);
	char *all;

	if (strchr(text, ',') != NULL || check_pair(text, strlen(text)) == 0)
		return known_end_set_error("--known-end", text, strlen(text), err);
	/* The latest definition is put first, and counts. */
	all = taught == NULL || *taught == '\0' ? memory_text(text) :
	    memory_format("%s,%s", text, taught);
	setenv(KNOWN_ENDS, all, 1);
	free(all);
	return 0;
}

/* The next of the pairs, and its length; NULL after the last. */
static const char *
next_pair(const char **at, size_t *len)
{
	const char *pair;

	if (*at == NULL)
		return NULL;
	pair = *at + strspn(*at, ", ");
	*len = strcspn(pair, ",");
	*at = pair + *len;
	return *len == 0 ? NULL : pair;
}

int
known_end_check(struct error *err)
{
	const char *at = getenv(KNOWN_ENDS), *pair;
	size_t len;

	while ((pair = next_pair(&at, &len)) != NULL)
		if (check_pair(pair, len) == 0)
			return known_end_set_error(KNOWN_ENDS, pair, len, err);
	return 0;
}

const char *
known_end_taught(struct span word)
{
	const char *at = getenv(KNOWN_ENDS), *pair, *found = NULL;
	struct buffer said = BUFFER_INIT;
	size_t len, end;

	if (at != NULL && *at != '\0' && span_type(word) == 's')
		span_decode(word, &said);
	while (said.len > 0 && found == NULL && (pair = next_pair(&at, &len)) != NULL) {
		end = check_pair(pair, len);
		if (end == said.len && memcmp(pair, said.data, end) == 0)
			found = find_reason(pair + end + 1, len - end - 1);
	}
	buffer_free(&said);
	return found;
}

const char *
known_end_defined(struct span ends, struct span word)
{
	char reason[32];

	for (struct span_walk end = span_walk(ends); span_next(&end);)
		if (span_same(end.key, word) && span_copy(end.value, reason, sizeof reason))
			return find_reason(reason, strlen(reason));
	return NULL;
}

bool
known_end_is_reason(struct span reason)
{
	for (size_t i = 0; i < OURS; i++)
		if (span_is(reason, reasons[i].said))
			return true;
	return false;
}
