/*
 * One write() with O_APPEND a line, so those of many steps do not mix without a lock; each
 * step reads on from where it was, whole lines alone. Prices of all models that a team may ask
 * are looked up before the first request.
 */
#include "agent/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/file.h"
#include "base/text.h"

#define FILE_LIMIT ((size_t)64 << 20)

static int
check_price(const struct budget *b, const char *provider, const char *model, struct error *err)
{
	if (prices_find(&b->prices, provider, model) != NULL)
		return 0;
	return error_set(err, ERROR_DEFINITION, "--max-cost", "no price of %s/%s is known "
	    "(see awf-prices(5))", provider, model);
}

int
budget_begin(struct budget *b, int64_t of_call, const struct team *team, struct error *err)
{
	const char *limit = environment_text(BUDGET_LIMIT), *path = getenv(BUDGET_FILE);

	*b = (struct budget){ .of_call = of_call, .of_run = -1, .fd = -1 };
	if (limit != NULL) {
		if (!money_parse(limit, &b->of_run) || path == NULL)
			return error_set(err, ERROR_SYSTEM, BUDGET_LIMIT,
			    "'%s' is not what AWF sets: do not set it yourself", limit);
		b->fd = file_open_plain(path, O_RDWR | O_APPEND, 0);
		if (b->fd == -1)
			return error_errno(err, ERROR_SYSTEM, path, "unable to open");
	}
	b->limits = b->of_call >= 0 || b->of_run >= 0;
	if (!b->limits)
		return 0;

	if (prices_load(&b->prices, err) == -1)
		return -1;
	for (size_t i = 0; team != NULL && i < team->count; i++) {
		const struct agent *agent = &team->members[i]->agent;

		if (check_price(b, agent->provider, agent->model, err) == -1)
			return -1;
		for (size_t j = 0; j < agent->fallback.count; j++)
			if (check_price(b, agent->fallback.list[j].provider,
			    agent->fallback.list[j].model, err) == -1)
				return -1;
	}
	return 0;
}

static int
exceeded(const char *agent, const char *whose, int64_t spent, int64_t limit, struct error *err)
{
	char have[MONEY_SIZE], most[MONEY_SIZE];

	return error_set(err, ERROR_MAX_COST, agent, "the %s has reached --max-cost (%s of %s)", whose,
	    money_text(spent, have), money_text(limit, most));
}

int
budget_check(struct budget *b, int64_t spent, const char *agent, const char *provider,
    const char *model, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	const char *line, *lf;
	int result = 0;

	if (check_price(b, provider, model, err) == -1)
		return -1;
	if (b->of_call >= 0 && spent >= b->of_call)
		return exceeded(agent, "call", spent, b->of_call, err);
	if (b->fd == -1)
		return 0;
	/* What was entered since the last look, whole lines alone. */
	if (lseek(b->fd, b->position, SEEK_SET) == -1 || file_read(b->fd, &text, FILE_LIMIT) == -1)
		result = error_errno(err, ERROR_SYSTEM, getenv(BUDGET_FILE), "unable to read");
	for (line = buffer_string(&text); (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
		b->entered = count_add(b->entered, strtoll(line, NULL, 10));
		b->position += lf - line + 1;
	}
	buffer_free(&text);
	if (result == 0 && b->entered >= b->of_run)
		result = exceeded(agent, "run", b->entered, b->of_run, err);
	return result;
}

int64_t
budget_cost(const struct budget *b, const char *provider, const char *asked,
    const char *answered, struct span usage)
{
	const struct price *price = answered == NULL ? NULL :
	    prices_find(&b->prices, provider, answered);
	const int64_t told = price_told(usage);

	if (told >= 0)
		return told;
	if (price == NULL)
		price = prices_find(&b->prices, provider, asked);
	return price == NULL ? 0 : price_cost(price, usage);
}

int
budget_enter(const struct budget *b, int64_t cost, struct error *err)
{
	char line[32];
	int len = snprintf(line, sizeof line, "%lld\n", (long long)cost);

	/* One write at the file's end: lines of several steps do not mix. */
	if (b->fd == -1 || write(b->fd, line, (size_t)len) == len)
		return 0;
	return error_errno(err, ERROR_SYSTEM, getenv(BUDGET_FILE), "unable to write");
}

void
budget_end(struct budget *b)
{
	prices_free(&b->prices);
	if (b->limits && b->fd != -1)
		close(b->fd);
	b->limits = false;
}
