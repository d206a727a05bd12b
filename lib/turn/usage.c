/* A sum to which no report contributed stays unknown, and is not written. */
#include "turn/usage.h"

#include "base/count.h"
#include "transcript/event_keys.h"

static const char *const keys[USAGE_KEYS] = {
	[USAGE_INPUT] = KEY_INPUT_TOKENS,
	[USAGE_OUTPUT] = KEY_OUTPUT_TOKENS,
	[USAGE_CACHE_READ] = KEY_CACHE_READ_TOKENS,
	[USAGE_CACHE_WRITE] = KEY_CACHE_WRITE_TOKENS,
	[USAGE_REASONING] = KEY_REASONING_TOKENS
};

void
usage_begin(struct usage *u)
{
	for (size_t i = 0; i < USAGE_KEYS; i++)
		u->tokens[i] = -1;
}

void
usage_add(struct usage *u, struct span told)
{
	long long number;

	for (size_t i = 0; i < USAGE_KEYS; i++)
		if (span_integer(span_member(told, keys[i]), &number) && number >= 0)
			u->tokens[i] = count_add(u->tokens[i] < 0 ? 0 : u->tokens[i], number);
}

int64_t
usage_total(const struct usage *u)
{
	int64_t input = u->tokens[USAGE_INPUT], output = u->tokens[USAGE_OUTPUT];

	return count_add(input < 0 ? 0 : input, output < 0 ? 0 : output);
}

void
usage_write(const struct usage *u, struct writer *w)
{
	writer_object(w);
	for (size_t i = 0; i < USAGE_KEYS; i++)
		if (u->tokens[i] >= 0)
			writer_member_integer(w, keys[i], u->tokens[i]);
	writer_object_end(w);
}
