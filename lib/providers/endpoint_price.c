/* The prices of a file are an object of patterns, as those of awf-prices(5) without the provider. */
#include "providers/endpoint_price.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool
read_amounts(struct span list, struct price *price)
{
	int64_t *const amounts[] = { &price->input, &price->output, &price->cache_read,
		&price->cache_write };

	*price = (struct price){ .pattern = NULL };
	for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
		struct span dollars = span_element(list, i);

		if (dollars.at == NULL && i >= 2)
			*amounts[i] = price->input;
		else if (!money_read(dollars, amounts[i]))
			return false;
	}
	return true;
}

bool
endpoint_price(const struct endpoint *e, const char *model, struct price *price)
{
	struct span prices = endpoint_member(e, NULL, "prices");
	size_t longest = 0;
	bool found = false;

	for (struct span_walk one = span_walk(prices); span_next(&one);) {
		char *pattern = span_text(one.key);
		struct price read;

		if (pattern != NULL && fnmatch(pattern, model, 0) == 0 &&
		    (!found || strlen(pattern) > longest) && read_amounts(one.value, &read)) {
			longest = strlen(pattern);
			*price = read;
			found = true;
		}
		free(pattern);
	}
	return found;
}

enum budget_price
endpoint_budget_price(const char *provider, const char *model, struct price *price)
{
	/* Asked several times for each answer: what was read last is kept. */
	static struct endpoint *kept;
	struct error ignored = ERROR_INIT;

	if (provider == NULL)
		return BUDGET_PRICE_UNKNOWN;
	if (kept == NULL || strcmp(endpoint_name(kept), provider) != 0) {
		endpoint_free(kept);
		kept = NULL;
		if (endpoint_load(&kept, provider, &ignored) != 1)
			return BUDGET_PRICE_UNKNOWN;
	}
	if (endpoint_price(kept, model, price))
		return BUDGET_PRICE_KNOWN;
	return endpoint_member(kept, model, "cost").at != NULL ? BUDGET_PRICE_TOLD : BUDGET_PRICE_UNKNOWN;
}
