/*
 * What the answers in a transcript cost. The provider and the model of an answer are taken from the
 * model of the run: those in the start of the call, in the last handoff, or, after a fallback, in
 * the answer itself.
 */
#ifndef AWF_MODEL_COST_H
#define AWF_MODEL_COST_H

#include <stdbool.h>

#include "base/error.h"
#include "json/writer.h"
#include "model/model.h"
#include "model/price.h"

struct cost {
	struct prices prices;
	int64_t total;             /* nano-dollars, of answers whose cost is known */
	bool sent;                 /* the run consists of events of other programs */
	char *unknown;             /* the first model without a price; NULL: none */
};

enum { COST_NONE = -1, COST_UNKNOWN = -2 };

/* Loads the prices. cost_free() is called either way. */
int cost_begin(struct cost *c, struct error *err);
/* Adds what the event cost and returns it in nano-dollars; COST_NONE if it is not an answer, or is
 * a partial answer without usage; COST_UNKNOWN if its model has no price. The model of the run must
 * be of level MODEL_EVENTS. */
int64_t cost_take(struct cost *c, const struct placed *placed);
/* Adds the cost of a whole transcript. */
int cost_read(struct cost *c, const char *path, struct error *err);
/* The sum so far in nano-dollars; COST_UNKNOWN if any answer had no price. */
int64_t cost_sum(const struct cost *c);
/* Resets the sum, before another transcript is read. */
void cost_restart(struct cost *c);
/* Writes a member "cost" in dollars; nothing if cost is COST_NONE or COST_UNKNOWN. */
void cost_write(struct writer *w, int64_t cost);
void cost_free(struct cost *c);

#endif
