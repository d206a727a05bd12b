/* Prices of models: the table, and what usage costs. */
#include "unit.h"

#include "model/price.h"

static const struct {
	const char *text;
	int64_t nano; /* -1: no amount */
} amounts[] = {
	{ "0", 0 },
	{ "3", 3 * NANO },
	{ "0.25", NANO / 4 },
	{ "0.000000001", 1 },
	{ "12.5", 12 * NANO + NANO / 2 },
	{ "", -1 },
	{ ".5", -1 },
	{ "1.", -1 },
	{ "-1", -1 },
	{ "1.0000000001", -1 },
	{ "1e3", -1 },
	{ "1,5", -1 },
	{ "99999999999999999999", -1 }
};

static void
test_amounts(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(amounts); i++) {
		int64_t nano = -2;
		bool good = money_parse(amounts[i].text, &nano);

		if (good != (amounts[i].nano >= 0) || (good && nano != amounts[i].nano))
			fail_msg("'%s' is %lld", amounts[i].text, (long long)nano);
	}
}

static const struct {
	int64_t nano;
	const char *text;
} shown[] = {
	{ 0, "$0.0000" },
	{ NANO, "$1.0000" },
	{ 123456789, "$0.1234" },
	{ 100000, "$0.0001" },
	{ 12345, "$0.000012" },
	{ 1, "$0.000000001" },
	{ INT64_MAX, "$9223372036.8547" }
};

static void
test_shown(void **state)
{
	char text[MONEY_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(shown); i++)
		assert_string_equal(money_text(shown[i].nano, text), shown[i].text);
}

static const struct {
	int64_t nano;
	const char *text;
} numbers[] = {
	{ 0, "0" },
	{ 1, "0.000000001" },
	{ 20000, "0.00002" },
	{ 10 * NANO, "10" },
	{ 100 * NANO + NANO / 4, "100.25" },
	{ INT64_MAX, "9223372036.854775807" }
};

static void
test_numbers(void **state)
{
	char text[MONEY_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++)
		assert_string_equal(money_number(numbers[i].nano, text), numbers[i].text);
}

/* Of numbers that others have computed, to the nearest nano-dollar; -1: it is no amount. */
static const struct {
	const char *usage;
	int64_t nano;
} told[] = {
	{ "{\"cost_usd\":0.0019280999999999999}", 1928100 },
	{ "{\"cost_usd\": 1.05e-7 }", 105 },
	{ "{\"cost_usd\":0}", 0 },
	{ "{\"cost_usd\":2}", 2 * NANO },
	{ "{\"cost_usd\":-1}", -1 },
	{ "{\"cost_usd\":1e300}", -1 },
	{ "{\"cost_usd\":\"1\"}", -1 },
	{ "{\"cost_usd\":0.0000000000000000000000000000000000000000000000000000000000000001}", -1 },
	{ "{\"input_tokens\":1}", -1 },
	{ "", -1 }
};

static void
test_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(told); i++)
		if (price_told(span_of(told[i].usage, strlen(told[i].usage))) != told[i].nano)
			fail_msg("%s", told[i].usage);
}

static const char table[] =
    "# a comment\n"
    "\n"
    "one/small*  0.5 1 0.1 0.6 # and another\n"
    "one/*\t3 15 -\r\n"
    "*/shared 1 2";

static const struct {
	const char *provider, *model, *usage;
	int64_t cost; /* -1: no price */
} costs[] = {
	{ "one", "big", "{\"input_tokens\":1000000,\"output_tokens\":0}", 3 * NANO },
	{ "one", "big", "{\"input_tokens\":1000,\"output_tokens\":100}", 4500000 },
	{ "one", "big", "{\"input_tokens\":1000,\"cache_read_tokens\":1000}", 3000000 },
	{ "one", "small-1", "{\"input_tokens\":1000,\"cache_read_tokens\":400,"
	  "\"cache_write_tokens\":500}", 50000 + 40000 + 300000 },
	{ "one", "small-1", "{\"output_tokens\":1}", 1000 },
	{ "one", "a/b", "{\"input_tokens\":1}", 3000 },
	{ "two", "shared", "{\"input_tokens\":1}", 1000 },
	{ NULL, "shared", "{\"input_tokens\":1}", 3000 },
	{ "two", "big", "{\"input_tokens\":1}", -1 },
	{ "two", "other", "{}", -1 },
	{ "one", "big", "{}", 0 },
	{ "one", "big", "{\"input_tokens\":9007199254740991}", INT64_MAX }
};

static void
test_costs(void **state)
{
	struct prices prices = PRICES_INIT;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(prices_parse(&prices, table, "prices", &err), 0);
	assert_int_equal(prices.count, 3);
	for (size_t i = 0; i < COUNT(costs); i++) {
		const struct price *price = prices_find(&prices, costs[i].provider, costs[i].model);
		struct span usage = span_of(costs[i].usage, strlen(costs[i].usage));
		int64_t cost = price == NULL ? -1 : price_cost(price, usage);

		if (cost != costs[i].cost)
			fail_msg("%zu: %s costs %lld", i, costs[i].model, (long long)cost);
	}
	prices_free(&prices);
}

static const struct {
	const char *text, *date;
} dated[] = {
	{ "", "" },
	{ "# date: 2026-11-22", "2026-11-22" },
	{ "#date:2026-11-22\t\r\n# date: tomorrow\none/* 1 2\n", "2026-11-22" },
	{ "# date: 2026-01-01\n# date: 2026-11-22\n", "2026-11-22" },
	{ "# date: 2026-11-22 or so", "" },
	{ "# date: 2026-11-2", "" },
	{ "# the date: 2026-11-22", "" },
	{ "one/* 1 2 # date: 2026-11-22", "" },
};

static void
test_dates(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(dated); i++) {
		struct prices prices = PRICES_INIT;
		struct error err = ERROR_INIT;

		assert_int_equal(prices_parse(&prices, dated[i].text, "prices", &err), 0);
		assert_string_equal(prices.date, dated[i].date);
		prices_free(&prices);
		assert_string_equal(prices.date, "");
	}
}

static const char *const wrong[] = { "one/x", "one/x 1", "one 1 2", "one/x 1 2 3 4 5",
	"one/x 1 two", "one/x - 2", "one/x 1 2 x" };

static void
test_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct prices prices = PRICES_INIT;
		struct error err = ERROR_INIT;

		assert_int_equal(prices_parse(&prices, wrong[i], "prices", &err), -1);
		assert_int_equal(err.code, ERROR_DEFINITION);
		assert_string_equal(err.place, "prices:1");
		prices_free(&prices);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_costs),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_wrong)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
