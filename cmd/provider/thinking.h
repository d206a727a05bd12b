/*
 * The parameter `thinking` of awf-provider(7): false, true, an effort, a number of
 * tokens, or an object that the API takes as it is. This is for APIs that want tokens.
 */
#ifndef AWF_PROVIDER_THINKING_H
#define AWF_PROVIDER_THINKING_H

#include "json/scan.h"

/* Tokens to think with, those in an object (`budget_tokens`) too; 0: not said. */
long long thinking_budget(struct span thinking);
#endif
