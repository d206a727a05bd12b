/*
 * Lines are written and read under the file's lock; each step continues reading where it stopped. A
 * line with a negative number gives a reservation back. A model whose price is unknown is not
 * asked.
 */
#include "limits/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/lock.h"

#define FILE_LIMIT ((size_t)64 << 20)

/* The price of a model; zeros if it is not known. */
static enum budget_price
budget_find_price(const struct budget *b, const char *provider, const char *model,
    struct price *price)
{
	enum budget_price defined = BUDGET_PRICE_UNKNOWN;
	const struct price *listed;

	*price = (struct price){ .pattern = NULL };
	if (b->defined != NULL)
		defined = b->defined(provider, model, price);
	if (defined == BUDGET_PRICE_KNOWN)
		return defined;
	listed = prices_find(&b->prices, provider, model);
	if (listed == NULL)
		return defined;
	*price = *listed;
	return BUDGET_PRICE_KNOWN;
}

static bool
has_own_limit(const struct budget *b)
{
	return b->of_call >= 0 || b->of_run >= 0;
}

static bool
is_limited(const struct budget *b, const char *provider, const char *model)
{
	return has_own_limit(b) || (b->day != NULL && day_limits(b->day, provider, model));
}

static const char *
limit_name(const struct budget *b)
{
	return has_own_limit(b) ? "--max-cost" : "cost-per-day";
}

/* The same where there is a limit, which needs a price. */
static int
find_limited_price(const struct budget *b, const char *provider, const char *model, struct price *price,
    struct error *err)
{
	*price = (struct price){ .pattern = NULL };
	if (!b->limits || budget_find_price(b, provider, model, price) != BUDGET_PRICE_UNKNOWN ||
	    !is_limited(b, provider, model))
		return 0;
	return error_set(err, ERROR_DEFINITION, limit_name(b), "no price of %s/%s is known "
	    "(see awf-prices(5))", provider, model);
}

int
budget_check_price(const struct budget *b, const char *provider, const char *model,
    struct error *err)
{
	struct price price;

	return find_limited_price(b, provider, model, &price, err);
}

int
budget_begin(struct budget *b, int64_t of_call, struct error *err)
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
	return b->limits ? prices_load(&b->prices, err) : 0;
}

int
budget_add_day(struct budget *b, const char *storage_root, char **workflows, struct error *err)
{
	struct day *day = memory_zero(1, sizeof *day);
	const int any = day_begin(day, storage_root, workflows, err);

	if (any != 1) {
		day_end(day);
		free(day);
		return any;
	}
	if (!b->limits)
		*b = (struct budget){ .limits = true, .of_call = -1, .of_run = -1, .fd = -1, .defined = b->defined };
	b->day = day;
	return has_own_limit(b) ? 0 : prices_load(&b->prices, err);
}

static int
budget_set_exceeded_error(const char *agent, const char *whose, int64_t spent, int64_t limit,
    struct error *err)
{
	char have[MONEY_SIZE], most[MONEY_SIZE];

	return error_set(err, ERROR_MAX_COST, agent, "the %s has reached --max-cost (%s of %s)", whose,
	    money_text(spent, have), money_text(limit, most));
}

/* The input of a request alone costs more than what is left. */
static int
too_dear(const char *agent, const char *whose, int64_t least, int64_t spent, int64_t limit,
    struct error *err)
{
	char costs[MONEY_SIZE], left[MONEY_SIZE], most[MONEY_SIZE];

	return error_set(err, ERROR_MAX_COST, agent, "not asked: the input alone costs %s or more, and %s of the "
	    "%s's --max-cost %s is left", money_text(least, costs), money_text(limit - spent, left), whose,
	    money_text(limit, most));
}

#define ASCII_MOST 16  /* bytes per token; no vocabulary has many longer ones */
#define OTHER_MOST 12
#define BASE64_LEAST 1024
#define NAME_MOST 4    /* tokens of a string of one word, which is probably a name */

struct word {
	int64_t ascii, other;
	bool lower, upper, digit;
};

static int64_t
word_tokens(const struct word *w)
{
	/* Images and documents count otherwise. */
	if (w->ascii >= BASE64_LEAST && w->lower && w->upper && w->digit)
		return 0;
	if (!w->lower && !w->upper && !w->digit && w->other == 0)
		return 0;
	return 1 + (w->ascii > 0 ? (w->ascii - 1) / ASCII_MOST : 0) + w->other / OTHER_MOST;
}

static void
word_add(struct word *w, char c)
{
	w->lower |= c >= 'a' && c <= 'z';
	w->upper |= c >= 'A' && c <= 'Z';
	w->digit |= c >= '0' && c <= '9';
	if ((unsigned char)c < 0x80)
		w->ascii++;
	else
		w->other++;
}

int64_t
budget_least_tokens(const char *json, size_t len)
{
	const char *end = json + len;
	int64_t tokens = 0, before = 0, of_word;
	struct word word = { 0 };
	size_t words = 0;
	bool inside = false;

	for (const char *at = json; at < end; at++) {
		const bool escape = inside && *at == '\\' && end - at > 1, quote = *at == '"';

		if (inside && !escape && !quote && *at != ' ') {
			word_add(&word, *at);
			continue;
		}
		of_word = word_tokens(&word);
		tokens += of_word;
		words += of_word > 0;
		word = (struct word){ 0 };
		if (escape) {
			at++;
		} else if (quote && inside) {
			inside = false;
			if ((end - at > 1 && at[1] == ':') || (words == 1 && tokens - before <= NAME_MOST))
				tokens = before;
		} else if (quote) {
			inside = true;
			before = tokens;
			words = 0;
		}
	}
	INVARIANT(tokens >= 0 && (size_t)tokens <= len);
	return tokens;
}

static int
append_line(const struct budget *b, int64_t amount, struct error *err)
{
	char line[32];
	int len = snprintf(line, sizeof line, "%lld\n", (long long)amount);

	if (write(b->fd, line, (size_t)len) == len)
		return 0;
	return error_errno(err, ERROR_SYSTEM, getenv(BUDGET_FILE), "unable to write");
}

/* Adds up the whole lines that were written since the last look. */
static int
read_entered(struct budget *b, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	const char *line, *lf;
	int result = 0;

	if (lseek(b->fd, b->position, SEEK_SET) == -1 || file_read(b->fd, &text, FILE_LIMIT) == -1)
		result = error_errno(err, ERROR_SYSTEM, getenv(BUDGET_FILE), "unable to read");
	for (line = buffer_string(&text); (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
		b->entered = count_add(b->entered, strtoll(line, NULL, 10));
		b->position += lf - line + 1;
	}
	buffer_free(&text);
	return result;
}

static int
budget_lock(const struct budget *b, struct error *err)
{
	while (lock_wait(b->fd, LOCK_WHOLE, NULL) == -1)
		if (errno != EINTR)
			return error_errno(err, ERROR_SYSTEM, getenv(BUDGET_FILE), "unable to lock");
	return 0;
}

/* Whether a request that costs at least so much is within the limit of the run, in whose file that
 * is then reserved. */
static int
reserve_of_run(struct budget *b, int64_t least, const char *agent, int64_t *reserved, struct error *err)
{
	int result;

	if (budget_lock(b, err) == -1)
		return -1;
	result = read_entered(b, err);
	if (result == 0 && b->entered >= b->of_run)
		result = budget_set_exceeded_error(agent, "run", b->entered, b->of_run, err);
	else if (result == 0 && least > b->of_run - b->entered)
		result = too_dear(agent, "run", least, b->entered, b->of_run, err);
	if (result == 0 && reserved != NULL && least > 0) {
		result = append_line(b, least, err);
		*reserved = result == 0 ? least : 0;
	}
	INVARIANT(reserved == NULL || (*reserved >= 0 && (result == 0 || *reserved == 0)));
	lock_release(b->fd, LOCK_WHOLE);
	return result;
}

int
budget_reserve(struct budget *b, int64_t spent, int64_t least_tokens, const char *agent,
    const char *provider, const char *model, int64_t *reserved, struct error *err)
{
	struct price price;
	struct error ignored;
	int64_t least;
	int result;

	if (reserved != NULL)
		*reserved = 0;
	if (find_limited_price(b, provider, model, &price, err) == -1)
		return -1;
	least = price_least(&price, least_tokens);
	if (b->of_call >= 0 && spent >= b->of_call)
		return budget_set_exceeded_error(agent, "call", spent, b->of_call, err);
	if (b->of_call >= 0 && least > b->of_call - spent)
		return too_dear(agent, "call", least, spent, b->of_call, err);
	if (b->day != NULL && day_reserve(b->day, provider, model, least, reserved != NULL, agent, err) == -1)
		return -1;
	result = b->fd == -1 ? 0 : reserve_of_run(b, least, agent, reserved, err);
	if (b->day != NULL && reserved != NULL && result == 0)
		*reserved = least;
	else if (b->day != NULL && reserved != NULL)
		day_add(b->day, provider, model, -least, &ignored);
	return result;
}

int64_t
budget_cost(const struct budget *b, const char *provider, const char *asked,
    const char *answered, struct span usage)
{
	const int64_t told = price_told(usage);
	struct price price;

	if (told >= 0)
		return told;
	if (answered != NULL &&
	    budget_find_price(b, provider, answered, &price) == BUDGET_PRICE_KNOWN)
		return price_cost(&price, usage);
	budget_find_price(b, provider, asked, &price);
	return price_cost(&price, usage);
}

int
budget_check_told(const struct budget *b, const char *provider, const char *asked,
    const char *answered, struct span usage, struct error *err)
{
	struct price price;

	if (!b->limits || price_told(usage) >= 0 || !is_limited(b, provider, asked) ||
	    budget_find_price(b, provider, asked, &price) == BUDGET_PRICE_KNOWN ||
	    (answered != NULL && budget_find_price(b, provider, answered, &price) == BUDGET_PRICE_KNOWN))
		return 0;
	return error_set(err, ERROR_DEFINITION, limit_name(b), "%s has not told what its answer cost, and "
	    "no price of %s/%s is known (see awf-prices(5))", provider, provider, asked);
}

int
budget_enter(const struct budget *b, const char *provider, const char *model, int64_t cost,
    int64_t *reserved, struct error *err)
{
	const int64_t amount = cost - *reserved;
	int result;

	INVARIANT(cost >= 0 && *reserved >= 0);
	*reserved = 0;
	if (b->day != NULL && day_add(b->day, provider, model, amount, err) == -1)
		return -1;
	if (b->fd == -1 || amount == 0)
		return 0;
	if (budget_lock(b, err) == -1)
		return -1;
	result = append_line(b, amount, err);
	lock_release(b->fd, LOCK_WHOLE);
	return result;
}

void
budget_end(struct budget *b)
{
	prices_free(&b->prices);
	if (b->limits && b->day != NULL) {
		day_end(b->day);
		free(b->day);
		b->day = NULL;
	}
	if (b->limits && b->fd != -1)
		close(b->fd);
	b->limits = false;
}
