/*
 * The allowances are in a table of fixed size. If it is full, a new one replaces the one used
 * longest ago, which is whole again by then, unless more are in use than the table has room for.
 */
#include "serve_runs/pace.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"

#define STOCKS 1024

void
pace_begin(struct pace *p, int64_t rate)
{
	*p = (struct pace){ .rate = rate, .stocks = memory_zero(STOCKS, sizeof *p->stocks) };
}

void
pace_free(struct pace *p)
{
	free(p->stocks);
	p->stocks = NULL;
}

/* The allowance of a key, as it is now. */
static struct pace_stock *
find_stock(struct pace *p, const char *key, int64_t now)
{
	const int64_t full = p->rate * PACE_BURST_S * 1000;
	struct pace_stock *oldest = &p->stocks[0];

	for (size_t i = 0; i < STOCKS; i++) {
		struct pace_stock *stock = &p->stocks[i];

		if (strcmp(stock->key, key) == 0) {
			stock->left += (now - stock->at) * p->rate;
			INVARIANT(now >= stock->at);
			if (stock->left > full)
				stock->left = full;
			stock->at = now;
			return stock;
		}
		if (stock->at < oldest->at)
			oldest = stock;
	}
	*oldest = (struct pace_stock){ .left = full, .at = now };
	memcpy(oldest->key, key, strlen(key) + 1);
	return oldest;
}

int64_t
pace_wait(struct pace *p, const char *key, int64_t now)
{
	const struct pace_stock *stock = find_stock(p, key, now);

	INVARIANT(stock->left <= p->rate * PACE_BURST_S * 1000);
	return stock->left > 0 ? 0 : -stock->left / p->rate + 1;
}

void
pace_spend(struct pace *p, const char *key, int64_t events, int64_t now)
{
	find_stock(p, key, now)->left -= events * 1000;
}
