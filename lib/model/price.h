/*
 * Prices of models, awf-prices(5): a text table that converts token counts into cost. Money is an
 * integer number of nano-dollars. Price tables are loaded only when a cost is needed.
 */
#ifndef AWF_MODEL_PRICE_H
#define AWF_MODEL_PRICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"

#define NANO INT64_C(1000000000) /* nano-dollars in a dollar */

/* Nano-dollars for a million tokens. */
struct price {
	char *pattern;           /* a pattern for PROVIDER/MODEL */
	int64_t input, output, cache_read, cache_write;
};

struct prices {
	struct price *list;
	size_t count;
	char date[11];           /* 2026-11-22: the date in the last table that has one; "": none */
};
#define PRICES_INIT { NULL, 0, "" }

/* The paths of the tables: $AWF_PRICES or, without it, the user's and then the system's, those that
 * exist. A list (base/list.h). */
char **prices_files(void);
/* Loads all of these. ERROR_DEFINITION with FILE:LINE; ERROR_SYSTEM. */
int prices_load(struct prices *p, struct error *err);
/* Adds the lines of one file. */
int prices_load_file(struct prices *p, const char *path, struct error *err);
/* Adds the lines of a text; path is for messages. */
int prices_parse(struct prices *p, const char *text, const char *path, struct error *err);
/* The first price that matches; provider NULL: any. NULL: none matches. */
const struct price *prices_find(const struct prices *p, const char *provider,
    const char *model);
/* The cost that a usage object contains, in nano-dollars; -1: it contains none. */
int64_t price_told(struct span usage);
/* The cost of the tokens in a usage object, in nano-dollars. */
int64_t price_cost(const struct price *price, struct span usage);
/* The lowest cost of so many input tokens, in nano-dollars: reading them from the cache may be
 * cheaper. */
int64_t price_least(const struct price *price, int64_t tokens);
void prices_free(struct prices *p);

/* Reads an amount such as "0.25" as nano-dollars; false if it is not an amount. */
bool money_parse(const char *text, int64_t *nano);
/* The same for a JSON number of dollars, rounded to nano-dollars: other programs write fractions of
 * them. */
bool money_read(struct span dollars, int64_t *nano);
/* "$0.0012": four digits after the point, or more if these would all be 0. Returns out. */
#define MONEY_SIZE 40
char *money_text(int64_t nano, char out[MONEY_SIZE]);
/* "0.0012345": the exact amount as a JSON number of dollars. Returns out. */
char *money_number(int64_t nano, char out[MONEY_SIZE]);

#endif
