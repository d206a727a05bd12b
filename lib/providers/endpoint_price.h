/*
 * What answers of an endpoint cost, awf-endpoint(5): the prices in its file, or what its server tells.
 * The provider's program writes the cost into the usage of an answer (api/told_cost.h), so that it
 * stands in the record; here is what can be known before a request.
 */
#ifndef AWF_PROVIDERS_ENDPOINT_PRICE_H
#define AWF_PROVIDERS_ENDPOINT_PRICE_H

#include <stdbool.h>

#include "limits/budget.h"
#include "model/price.h"
#include "providers/endpoint.h"

/* The price in its file, whose pattern is left NULL: of the longest pattern that matches. False: it
 * has none for the model. */
bool endpoint_price(const struct endpoint *e, const char *model, struct price *price);
/* For struct budget: reads the endpoint's files each time. */
enum budget_price endpoint_budget_price(const char *provider, const char *model,
    struct price *price);

#endif
