/*
 * What the answers in a transcript cost. Each is told apart by who was asked, as the model of
 * the run knows: the provider and the model of the call's start, of a hand-over, or, after
 * falling back, of the answer itself.
 */
#ifndef AWF_MODEL_COST_H
#define AWF_MODEL_COST_H

#include "base/error.h"
#include "json/writer.h"
#include "model/model.h"
#include "model/price.h"

struct cost {
	struct prices prices;
	int64_t total;             /* nano-dollars, of what is known */
	char *unknown;             /* the first model without a price; NULL */
};

enum { COST_NONE = -1, COST_UNKNOWN = -2 };

/* Loads the prices. cost_free() is called either way. */
int cost_begin(struct cost *c, struct error *err);
/* What the event cost: nano-dollars, COST_NONE if it is no answer, nor a try that used any tokens.
 * Its model is one of MODEL_EVENTS. */
int64_t cost_take(struct cost *c, const struct placed *placed);
/* Takes all of a transcript. */
int cost_read(struct cost *c, const char *path, struct error *err);
/* What all that was taken has cost: nano-dollars, COST_UNKNOWN if a price is. */
int64_t cost_sum(const struct cost *c);
/* Forgets what was taken: what comes next is of another record. */
void cost_restart(struct cost *c);
/* A member "cost", in dollars; nothing at all if cost is one of the above. */
void cost_write(struct writer *w, int64_t cost);
void cost_free(struct cost *c);

#endif
