/*
 * The cost of an answer in its usage, awf-endpoint(5): the server tells it, or its endpoint has a
 * price for the model.
 */
#ifndef AWF_API_TOLD_COST_H
#define AWF_API_TOLD_COST_H

#include "api/message.h"
#include "json/scan.h"
#include "providers/endpoint.h"

/* Takes what an event or a body tells at one of the paths ("usage.cost"; a text or an array of
 * these). They begin at the object itself, or at the answer that is its member `response` or
 * `message`. What was told before counts no more. */
void told_cost_take(struct usage *u, struct span object, struct span paths);
/* The name of a header that tells it ("header:NAME" among the paths), in memory of its own; NULL: none. */
char *told_cost_header(struct span paths);
/* Takes what such a header says, unless the answer itself told it. */
void told_cost_take_header(struct usage *u, const char *value);
/* If nothing was told, sets what the tokens cost by the prices of the endpoint, if it has any. */
void told_cost_by_price(struct message *m, const struct endpoint *e, const char *model);

#endif
