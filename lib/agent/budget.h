/*
 * What the requests of a step may cost: one call of it (--max-cost), and the run that it
 * is in (awf-run --max-cost). Prices are loaded only if there is a limit; then a model
 * without a price is an error, as what it costs could not be told.
 *
 * A run's limit stands in $AWF_MAX_COST. Its steps enter what each answer has cost into a
 * file, $AWF_COSTS, a number of nano-dollars a line, and look there what all of them
 * come to before they ask again.
 */
#ifndef AWF_AGENT_BUDGET_H
#define AWF_AGENT_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/team.h"
#include "base/error.h"
#include "json/scan.h"
#include "run/price.h"

#define BUDGET_LIMIT "AWF_MAX_COST"
#define BUDGET_FILE "AWF_COSTS"

struct budget {
	bool limits;             /* else nothing below is set */
	struct prices prices;
	int64_t of_call, of_run; /* nano-dollars; -1: no limit */
	int fd;                  /* of the run's file; -1 */
	int64_t entered;         /* the sum of it, as far as it was read */
	off_t position;
};

/* of_call -1: no limit. team NULL: which models are asked shows. ERROR_DEFINITION for a table that is wrong or a model of the team
 * without a price; ERROR_SYSTEM. budget_end() is called either way. */
int budget_begin(struct budget *b, int64_t of_call, const struct team *team, struct error *err);
/* Whether a request to this model is within the limits, where the agent's call has spent
 * so much (agent NULL: it is nobody's): ERROR_MAX_COST; ERROR_DEFINITION if its price is not known; ERROR_SYSTEM. */
int budget_check(struct budget *b, int64_t spent, const char *agent, const char *provider,
    const char *model, struct error *err);
/* What an answer has cost: as it tells itself, else by the price of the name that the API gave the model (NULL: none), else by
 * the one that it was asked by. */
int64_t budget_cost(const struct budget *b, const char *provider, const char *asked,
    const char *answered, struct span usage);
/* Enters what an answer that was not recorded before has cost. */
int budget_enter(const struct budget *b, int64_t cost, struct error *err);
void budget_end(struct budget *b);

#endif
