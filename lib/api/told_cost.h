/*
 * The cost of an answer, for its usage, awf-endpoint(5): from the answer itself, or computed by
 * prices in the endpoint's file.
 */
#ifndef AWF_API_TOLD_COST_H
#define AWF_API_TOLD_COST_H

#include "api/message.h"
#include "json/scan.h"
#include "providers/endpoint.h"

/* Sets the cost from an event or a body, found at one of the paths ("usage.cost"; a string or an
 * array of them). A path begins at the object itself, or at its member `response` or `message`. A
 * later cost replaces an earlier one. */
void told_cost_take(struct usage *u, struct span object, struct span paths);
/* The name of the header with the cost ("header:NAME" among the paths), allocated; NULL: none. */
char *told_cost_header(struct span paths);
/* Sets the cost from such a header, unless the answer itself contained it. */
void told_cost_take_header(struct usage *u, const char *value);
/* If the cost is not known, computes it by the prices in the endpoint's file, if it has any. */
void told_cost_by_price(struct message *m, const struct endpoint *e, const char *model);

#endif
