/*
 * Prices of models, awf-prices(5): a table in plain text that turns usage into cost. Money
 * is whole nano-dollars, never a fraction. Nothing of it is loaded unless somebody asks
 * what something costs.
 */
#ifndef AWF_MODEL_PRICE_H
#define AWF_MODEL_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

#define NANO INT64_C(1000000000) /* in a dollar */

/* Nano-dollars for a million tokens. */
struct price {
	char *pattern;           /* of PROVIDER/MODEL */
	int64_t input, output, cache_read, cache_write;
};

struct prices {
	struct price *list;
	size_t count;
	char date[11];           /* 2026-11-22: the last that a table says it is of; "" */
};
#define PRICES_INIT { NULL, 0, "" }

/* The tables that count: $AWF_PRICES or, without it, the user's and then the system's, as far
 * as they are there. A list (base/list.h). */
char **prices_files(void);
/* Loads them all. ERROR_DEFINITION at FILE:LINE; ERROR_SYSTEM. */
int prices_load(struct prices *p, struct error *err);
/* Adds the lines of one. */
int prices_load_file(struct prices *p, const char *path, struct error *err);
/* Adds the lines of a table; path is for messages. */
int prices_parse(struct prices *p, const char *text, const char *path, struct error *err);
/* The first that fits; provider NULL: whatever it is. NULL: none. */
const struct price *prices_find(const struct prices *p, const char *provider,
    const char *model);
/* Nano-dollars that a usage object itself tells; -1: it tells none. */
int64_t price_told(struct span usage);
/* Nano-dollars of a usage object, by its tokens. */
int64_t price_cost(const struct price *price, struct span usage);
/* Nano-dollars that so many tokens of input cost at least: those that a provider has kept may be cheaper. */
int64_t price_least(const struct price *price, int64_t tokens);
void prices_free(struct prices *p);

/* Reads "0.25" as nano-dollars; false if it is no amount. */
bool money_parse(const char *text, int64_t *nano);
/* The same with a JSON number of dollars, rounded: others compute with fractions. */
bool money_read(struct span dollars, int64_t *nano);
/* "$0.0012": four digits after the point, more where they would all be 0. Returns out. */
#define MONEY_SIZE 40
char *money_text(int64_t nano, char out[MONEY_SIZE]);
/* "0.0012345": exact, a JSON number of dollars. Returns out. */
char *money_number(int64_t nano, char out[MONEY_SIZE]);

#endif
