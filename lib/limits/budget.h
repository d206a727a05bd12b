/*
 * Cost limits for the requests of a step: for one call (--max-cost), for its run (awf-run
 * --max-cost), and for a day. Prices are loaded only if there is a limit; then a model that it is
 * for and that has no price is an error, as its cost cannot be calculated, unless its server tells what answers cost. Such a model may
 * pass the limit with one answer; if an answer does not tell its cost, it is asked no more.
 *
 * The limit of a run is in $AWF_MAX_COST. Its steps append the cost of each answer to a file,
 * $AWF_COSTS, in nano-dollars, one number per line, and add up this file before they send another
 * request.
 *
 * A request whose input alone costs more than what is left is not sent. The minimum cost of its
 * input is reserved in the file, under its lock, before it is sent, and replaced by the real cost
 * when the answer arrives, so that parallel requests are taken into account. The reservation of a
 * killed step stays in the file for the rest of the attempt, as its API may have charged it.
 *
 * The limits of a day over all runs of the storage (limits/day.h) are kept in the same way.
 */
#ifndef AWF_LIMITS_BUDGET_H
#define AWF_LIMITS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "json/scan.h"
#include "limits/day.h"
#include "model/price.h"

#define BUDGET_LIMIT "AWF_MAX_COST"
#define BUDGET_FILE "AWF_COSTS"

/* What is known of a model's price before it is asked. */
enum budget_price {
	BUDGET_PRICE_UNKNOWN,
	BUDGET_PRICE_KNOWN,
	BUDGET_PRICE_TOLD        /* nothing, but who answers tells what that has cost */
};

struct budget {
	bool limits;             /* if false, the members below are not set */
	/* Asked before the table of prices: what the definition of a provider says; KNOWN fills the price.
	 * Set by the owner after budget_begin(); NULL: nothing. */
	enum budget_price (*defined)(const char *provider, const char *model, struct price *price);
	struct prices prices;
	int64_t of_call, of_run; /* nano-dollars; -1: no limit */
	int fd;                  /* of the run's file; -1: none */
	int64_t entered;         /* sum of the file as far as it was read */
	off_t position;
	struct day *day;         /* NULL: no limit */
};

/* of_call -1: no limit. ERROR_DEFINITION for a table of prices that is wrong; ERROR_SYSTEM. budget_end() is
 * called either way. */
int budget_begin(struct budget *b, int64_t of_call, struct error *err);
/* Adds the limits of a day, if the user's file has any, also to a budget without others, which need not
 * have begun. workflows as in day_begin(). */
int budget_add_day(struct budget *b, const char *storage_root, char **workflows, struct error *err);
/* Whether the price of a model is known, where there is a limit: ERROR_DEFINITION. */
int budget_check_price(const struct budget *b, const char *provider, const char *model,
    struct error *err);
/* Tokens that a text in JSON, a request, has at least, whatever the model: one for each word, more
 * for long ones; none for keys, for what looks like base64, and for single words, which name
 * roles, types and models. */
int64_t budget_least_tokens(const char *json, size_t len);
/* Whether a request to this model with at least this many tokens is within the limits, when the
 * agent's call has already cost `spent` (agent NULL: no agent): otherwise ERROR_MAX_COST;
 * ERROR_DEFINITION if its price is unknown; ERROR_SYSTEM. *reserved is then reserved in the run's
 * file, until budget_enter(); reserved NULL: nothing is, as another process does. */
int budget_reserve(struct budget *b, int64_t spent, int64_t least_tokens, const char *agent,
    const char *provider, const char *model, int64_t *reserved, struct error *err);
/* The cost of an answer: as reported in it, otherwise by the price of the model name in the API's
 * answer (NULL: none), otherwise by that of the requested name. */
int64_t budget_cost(const struct budget *b, const char *provider, const char *asked,
    const char *answered, struct span usage);
/* Whether that is known: ERROR_DEFINITION if the answer was to tell it, and does not. */
int budget_check_told(const struct budget *b, const char *provider, const char *asked,
    const char *answered, struct span usage, struct error *err);
/* Enters the cost of a new answer of the model that was asked, in place of its reservation; *reserved
 * becomes 0. */
int budget_enter(const struct budget *b, const char *provider, const char *model, int64_t cost,
    int64_t *reserved, struct error *err);
void budget_end(struct budget *b);

#endif
