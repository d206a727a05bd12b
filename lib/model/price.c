/*
 * Amounts are read and written digit by digit, so that no money is computed in floating point,
 * except for amounts that other programs computed so. The first matching line counts, and the
 * user's table comes before the installed one. The product of tokens and price is computed in
 * parts, split at a million, so that nothing overflows.
 */
#include "model/price.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/installation.h"
#include "transcript/event_keys.h"

#define FILE_NAME "prices"
#define FILE_LIMIT ((size_t)4 << 20)
#define MILLION INT64_C(1000000)
#define FIELDS_MAX 6 /* one more than a line may have, to detect too many */
#define BLANK " \t\r"
#define FRACTION 9   /* digits of a nano-dollar */
#define WHOLE_MAX INT64_C(1000000000)
#define SHOWN 4      /* digits after the point in displayed amounts */

bool
money_parse(const char *text, int64_t *nano)
{
	int64_t whole = 0, part = 0, unit = NANO / 10;
	const char *at = text;

	for (; *at >= '0' && *at <= '9' && whole <= WHOLE_MAX; at++)
		whole = whole * 10 + (*at - '0');
	if (at == text || whole > WHOLE_MAX)
		return false;
	if (*at == '.' && at[1] != '\0')
		for (at++; *at >= '0' && *at <= '9' && unit > 0; at++, unit /= 10)
			part += (*at - '0') * unit;
	*nano = whole * NANO + part;
	return *at == '\0';
}

bool
money_read(struct span dollars, int64_t *nano)
{
	struct span digits = span_trim(dollars);
	char text[64] = "";
	double amount;

	if (span_type(digits) != 'n' || digits.len >= sizeof text)
		return false;
	memcpy(text, digits.at, digits.len);
	amount = strtod(text, NULL) * (double)NANO;
	if (!(amount >= 0 && amount <= (double)(WHOLE_MAX * NANO)))
		return false;
	*nano = (int64_t)(amount + 0.5);
	return true;
}

char *
money_text(int64_t nano, char out[MONEY_SIZE])
{
	size_t len = (size_t)snprintf(out, MONEY_SIZE, "$%lld.%09lld", (long long)(nano / NANO),
	    (long long)(nano % NANO));
	size_t keep = len - FRACTION + SHOWN;

	INVARIANT(nano >= 0 && len < MONEY_SIZE);

	/* A smaller amount is shown with its first two digits that are not 0. */
	if (nano > 0 && nano < NANO / 10000)
		keep = strspn(out, "$0.") + 2;
	if (keep < len)
		out[keep] = '\0';
	return out;
}

/* Whether the text of an amount reads back as the same amount. */
static bool
money_reads_back(const char *text, int64_t nano)
{
	int64_t read;

	return money_parse(text, &read) && read == nano;
}

char *
money_number(int64_t nano, char out[MONEY_SIZE])
{
	size_t len = (size_t)snprintf(out, MONEY_SIZE, "%lld.%09lld", (long long)(nano / NANO),
	    (long long)(nano % NANO));

	while (out[len - 1] == '0')
		len--;
	out[out[len - 1] == '.' ? len - 1 : len] = '\0';
	INVARIANT(nano > WHOLE_MAX * NANO || money_reads_back(out, nano));
	return out;
}

/* Reads a comment such as "# date: 2026-11-22": the date of the prices. */
static void
parse_date(const char *line, char date[11])
{
	static const char form[] = "dddd-dd-dd";
	size_t i;

	line += strspn(line, "#" BLANK);
	if (strncmp(line, "date:", 5) != 0)
		return;
	line += 5 + strspn(line + 5, BLANK);
	for (i = 0; form[i] != '\0'; i++)
		if (form[i] == 'd' ? line[i] < '0' || line[i] > '9' : line[i] != form[i])
			return;
	if (line[i + strspn(line + i, BLANK)] == '\0')
		memcpy(date, line, i);
}

/* Splits a line into fields. Returns false for a line without a pattern. */
static bool
parse_line(char *line, struct price *price)
{
	int64_t *const amounts[] = { &price->input, &price->output, &price->cache_read,
		&price->cache_write };
	char *fields[FIELDS_MAX] = { NULL };
	size_t count = 0;

	*price = (struct price){ .pattern = NULL };
	line[strcspn(line, "#")] = '\0';
	while (count < FIELDS_MAX && *(line += strspn(line, BLANK)) != '\0') {
		fields[count++] = line;
		line += strcspn(line, BLANK);
		if (*line != '\0')
			*line++ = '\0';
	}
	if (count == 0)
		return true;
	if (count < 3 || count == FIELDS_MAX || strchr(fields[0], '/') == NULL)
		return false;
	/* A price that is missing from the third field on, or "-", is the price of input. */
	for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
		if (i >= 2 && (i + 1 >= count || strcmp(fields[i + 1], "-") == 0))
			*amounts[i] = price->input;
		else if (!money_parse(fields[i + 1], amounts[i]))
			return false;
	price->pattern = memory_text(fields[0]);
	return true;
}

int
prices_parse(struct prices *p, const char *text, const char *path, struct error *err)
{
	struct price price;
	int number = 1;
	char *line, *place;
	size_t len;
	bool good;

	for (; *text != '\0'; text += len + (text[len] == '\n'), number++) {
		len = strcspn(text, "\n");
		line = memory_copy(text, len);
		if (*line == '#')
			parse_date(line, p->date);
		good = parse_line(line, &price);
		free(line);
		if (!good) {
			place = memory_format("%s:%d", path, number);
			error_set(err, ERROR_DEFINITION, place, "expected PROVIDER/MODEL and two to four "
			    "prices: input output [cache_read [cache_write]]");
			free(place);
			return -1;
		}
		if (price.pattern == NULL)
			continue;
		p->list = memory_array(p->list, p->count + 1, sizeof *p->list);
		p->list[p->count++] = price;
	}
	return 0;
}

int
prices_load_file(struct prices *p, const char *path, struct error *err)
{
	struct buffer text = BUFFER_INIT;
	int result = file_load_text(path, FILE_LIMIT, &text, err);

	if (result == 0)
		result = prices_parse(p, buffer_string(&text), path, err);
	buffer_free(&text);
	return result;
}

char **
prices_files(void)
{
	const char *path = environment_text("AWF_PRICES");
	char **files = NULL;

	if (path != NULL) {
		list_add(&files, path);
		return files;
	}
	char *known[] = { path_config(FILE_NAME), path_join(installation_share(), FILE_NAME) };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i] == NULL || (access(known[i], F_OK) == -1 && errno == ENOENT))
			free(known[i]);
		else
			list_take(&files, known[i]);
	return files;
}

int
prices_load(struct prices *p, struct error *err)
{
	char **files = prices_files();
	int result = 0;

	*p = (struct prices)PRICES_INIT;
	for (char **file = files; result == 0 && file != NULL && *file != NULL; file++)
		result = prices_load_file(p, *file, err);
	list_free(files);
	return result;
}

const struct price *
prices_find(const struct prices *p, const char *provider, const char *model)
{
	char *name = memory_format("%s/%s", provider != NULL ? provider : "", model);
	size_t i;

	for (i = 0; i < p->count; i++) {
		const char *pattern = p->list[i].pattern;

		if (provider != NULL ? fnmatch(pattern, name, 0) == 0 :
		    fnmatch(strchr(pattern, '/') + 1, model, 0) == 0)
			break;
	}
	free(name);
	return i < p->count ? &p->list[i] : NULL;
}

static int64_t
count_of(struct span usage, const char *key)
{
	long long count;

	return span_integer(span_member(usage, key), &count) && count > 0 ? count : 0;
}

/* Saturates; rounds up, so that only zero tokens cost nothing. */
static int64_t
price_multiply(int64_t tokens, int64_t price)
{
	int64_t rest = tokens % MILLION * (price / MILLION) +
	    (tokens % MILLION * (price % MILLION) + MILLION - 1) / MILLION;

	INVARIANT(tokens >= 0 && price >= 0 && rest >= 0);
	if (price != 0 && tokens / MILLION > (INT64_MAX - rest) / price)
		return INT64_MAX;
	return tokens / MILLION * price + rest;
}

int64_t
price_told(struct span usage)
{
	int64_t cost;

	return money_read(span_member(usage, KEY_COST_USD), &cost) ? cost : -1;
}

int64_t
price_cost(const struct price *price, struct span usage)
{
	int64_t input = count_of(usage, KEY_INPUT_TOKENS);
	int64_t read = count_of(usage, KEY_CACHE_READ_TOKENS);
	int64_t write = count_of(usage, KEY_CACHE_WRITE_TOKENS);
	int64_t rest = input > read + write ? input - read - write : 0;
	int64_t cost = price_multiply(rest, price->input);

	cost = count_add(cost, price_multiply(count_of(usage, KEY_OUTPUT_TOKENS), price->output));
	cost = count_add(cost, price_multiply(read, price->cache_read));
	return count_add(cost, price_multiply(write, price->cache_write));
}

int64_t
price_least(const struct price *price, int64_t tokens)
{
	return price_multiply(tokens, price->cache_read < price->input ? price->cache_read :
	    price->input);
}

void
prices_free(struct prices *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].pattern);
	free(p->list);
	*p = (struct prices)PRICES_INIT;
}
