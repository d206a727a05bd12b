/*
 * The parameter `thinking` of awf-provider(7): false, true, an effort, a number of
 * tokens, or an object that the API takes as it is. Some APIs want tokens,
 * others an effort.
 */
#ifndef AWF_PROVIDER_THINKING_H
#define AWF_PROVIDER_THINKING_H

#include "json/scan.h"

/* Tokens to think with, those in an object (`budget_tokens`) too; 0: not said. */
long long thinking_budget(struct span thinking);
/* The effort that it asks for where it is no word for one: "medium" if it is true, one by
 * the number of tokens; NULL if it is anything else. */
const char *thinking_effort(struct span thinking);

#endif
