#include "openai.h"

#include <stddef.h>

#include "message.h"

const char *
openai_effort(struct span thinking)
{
	long long budget = 0;

	if (span_true(thinking))
		return "medium";
	number_set(&budget, thinking);
	if (budget <= 0)
		return NULL;
	return budget <= 2048 ? "low" : budget <= 8192 ? "medium" : "high";
}
