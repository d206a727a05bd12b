/* One table of efforts as numbers of tokens; the other way goes by the same limits. */
#include "thinking.h"

#include "message.h"

#define BUDGET_USUAL 8192 /* what `true` means */

static const struct {
	const char *effort;
	long long budget;
} efforts[] = {
	{ "minimal", 1024 }, { "low", 2048 }, { "medium", 8192 }, { "high", 24576 }
};

long long
thinking_budget(struct span thinking)
{
	long long budget = 0;
	size_t i;

	if (span_type(thinking) == 'o')
		thinking = span_member(thinking, "budget_tokens");
	number_set(&budget, thinking);
	if (span_true(thinking))
		budget = BUDGET_USUAL;
	for (i = 0; i < sizeof efforts / sizeof efforts[0]; i++)
		if (span_is(thinking, efforts[i].effort))
			budget = efforts[i].budget;
	return budget;
}

const char *
thinking_effort(struct span thinking)
{
	long long budget = 0;

	if (span_true(thinking))
		return "medium";
	number_set(&budget, thinking);
	if (budget <= 0)
		return NULL;
	return budget <= 2048 ? "low" : budget <= 8192 ? "medium" : "high";
}
