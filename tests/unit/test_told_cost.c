/* lib/api/told_cost, lib/providers/endpoint_price, lib/limits/budget: what servers tell that answers
 * have cost, prices of endpoints, and limits with these. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/stream.h"
#include "api/told_cost.h"
#include "limits/budget.h"
#include "providers/endpoint_price.h"

static char directory[64];

static struct span
text_span(const char *text)
{
	return span_of(text, strlen(text));
}

/* The usage that events tell; each is JSON. */
static long long
told(const char *paths, const char *const *events)
{
	struct usage usage = USAGE_INIT;

	for (; *events != NULL; events++)
		told_cost_take(&usage, text_span(*events), text_span(paths));
	return usage.cost;
}

#define TOLD(paths, ...) told(paths, (const char *const[]){ __VA_ARGS__, NULL })

static void
paths_of_members(void **state)
{
	(void)state;
	assert_int_equal(TOLD("[\"usage.cost\"]", "{\"choices\":[]}", "{\"usage\":{\"cost\":0.25}}"), 250000000);
	assert_int_equal(TOLD("\"usage.cost\"", "{\"usage\":{\"cost\":1e-9}}"), 1);
	/* The last counts: sums so far. */
	assert_int_equal(TOLD("[\"usage.cost\"]", "{\"message\":{\"usage\":{\"cost\":1}}}",
	    "{\"usage\":{\"cost\":2}}", "{\"usage\":{}}"), 2 * NANO);
	assert_int_equal(TOLD("[\"x.y\",\"usage.cost.total_cost\"]",
	    "{\"type\":\"response.completed\",\"response\":{\"usage\":{\"cost\":{\"total_cost\":0.5}}}}"), NANO / 2);
	assert_int_equal(TOLD("[\"usage.cost\"]", "{\"usage\":{\"cost\":\"0.25\"}}", "{\"usage\":{\"cost\":-1}}",
	    "{\"usage\":{\"cost\":null}}", "{\"usage\":null}", "[1]", "{\"usage\":{\"cost\":{}}}"), -1);
	assert_int_equal(TOLD("[]", "{\"usage\":{\"cost\":1}}"), -1);
}

static void
headers(void **state)
{
	static const char *const values[] = { "7.2e-06", "0.25", "", "x", "-1", "1 2" };
	static const long long costs[] = { 7200, 250000000, -1, -1, -1, -1 };
	char *name = told_cost_header(text_span("[\"usage.cost\",\"header:x-cost\"]"));

	(void)state;
	assert_string_equal(name, "x-cost");
	free(name);
	assert_null(told_cost_header(text_span("[\"usage.cost\"]")));
	assert_null(told_cost_header(SPAN_NONE));
	for (size_t i = 0; i < COUNT(values); i++) {
		struct usage usage = USAGE_INIT, known = { .cost = 5 };

		told_cost_take_header(&usage, values[i]);
		assert_int_equal(usage.cost, costs[i]);
		told_cost_take_header(&known, values[i]);
		assert_int_equal(known.cost, 5);
	}
}

static void
in_a_stream(void **state)
{
	static const char events[] = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"
	    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"cost\":0.125}}\n\n"
	    "data: [DONE]\n\n";
	struct stream s;

	(void)state;
	for (int with = 0; with < 2; with++) {
		stream_open(&s, &openai_stream);
		if (with)
			s.cost = text_span("[\"usage.cost\"]");
		assert_int_equal(stream_feed(&s, events, sizeof events - 1), 0);
		stream_finish(&s);
		assert_int_equal(s.message.usage.input, 10);
		assert_int_equal(s.message.usage.cost, with ? 125000000 : -1);
		stream_close(&s);
	}
}

/* Writes a file of an endpoint. */
static void
define(const char *name, const char *json)
{
	char path[160];
	FILE *out;

	snprintf(path, sizeof path, "%s/awf/endpoints/%s.json", directory, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(json, out);
	assert_int_equal(fclose(out), 0);
}

static struct endpoint *
loaded(const char *name)
{
	struct error err = ERROR_INIT;
	struct endpoint *e;

	if (endpoint_load(&e, name, &err) != 1)
		fail_msg("%s: %s", err.place, err.message);
	return e;
}

static void
prices_of_an_endpoint(void **state)
{
	static const int64_t expected[] = { -1, NANO, 3 * NANO, 7 };
	struct endpoint *e;
	struct price price;

	(void)state;
	define("priced", "{\"protocol\":\"chat\",\"base_url\":\"http://127.0.0.1:1\",\"prices\":"
	    "{\"*\":[1,2],\"gpt-*\":[0.5,1,0.05],\"gpt-5*\":[3,4,0.3,3.75]}}");
	e = loaded("priced");
	assert_true(endpoint_price(e, "llama", &price));
	assert_int_equal(price.input, NANO);
	assert_int_equal(price.cache_read, NANO);
	assert_true(endpoint_price(e, "gpt-4", &price));
	assert_int_equal(price.cache_read, NANO / 20);
	assert_int_equal(price.cache_write, NANO / 2);
	assert_true(endpoint_price(e, "gpt-5.1", &price));
	assert_int_equal(price.cache_write, 3750000000);
	for (int known = 0; known < 4; known++) {
		struct message m;

		message_begin(&m);
		m.ended = true;
		if (known > 0)
			m.usage.input = 1000000;
		if (known > 1)
			m.usage.output = 1000000;
		if (known > 2)
			m.usage.cost = 7;
		told_cost_by_price(&m, e, "llama");
		assert_int_equal(m.usage.cost, expected[known]);
		message_free(&m);
	}
	endpoint_free(e);
}

static void
free_of_charge(void **state)
{
	struct endpoint *e;
	struct message m;

	(void)state;
	define("own", "{\"protocol\":\"chat\",\"base_url\":\"http://127.0.0.1:1\",\"prices\":{\"*\":[0,0]}}");
	e = loaded("own");
	message_begin(&m);
	told_cost_by_price(&m, e, "llama");
	assert_int_equal(m.usage.cost, -1); /* a try in vain */
	m.ended = true;
	told_cost_by_price(&m, e, "llama");
	assert_int_equal(m.usage.cost, 0);
	message_free(&m);
	endpoint_free(e);
}

static void
limits_of_endpoints(void **state)
{
	const struct span none = text_span("{\"input_tokens\":5,\"output_tokens\":5}");
	const struct span says = text_span("{\"input_tokens\":5,\"output_tokens\":5,\"cost_usd\":0.5}");
	struct error err = ERROR_INIT;
	struct budget b;
	int64_t reserved;

	(void)state;
	define("telling", "{\"protocol\":\"chat\",\"base_url\":\"http://127.0.0.1:1\",\"cost\":[\"usage.cost\"]}");
	define("silent", "{\"protocol\":\"chat\",\"base_url\":\"http://127.0.0.1:1\"}");
	unsetenv(BUDGET_LIMIT);
	assert_int_equal(budget_begin(&b, NANO, &err), 0);
	assert_int_equal(budget_check_price(&b, "priced", "x", &err), -1);
	b.defined = endpoint_budget_price;
	assert_int_equal(budget_check_price(&b, "priced", "x", &err), 0);
	assert_int_equal(budget_check_price(&b, "telling", "x", &err), 0);
	assert_int_equal(budget_check_price(&b, "silent", "x", &err), -1);
	assert_int_equal(err.code, ERROR_DEFINITION);
	assert_int_equal(budget_check_price(&b, "no-such", "x", &err), -1);
	/* The table is asked last. */
	assert_int_equal(budget_check_price(&b, "silent", "listed", &err), 0);
	assert_int_equal(budget_cost(&b, "priced", "x", NULL, none), 15000);
	assert_int_equal(budget_cost(&b, "priced", "x", "gpt-4", none), 7500);
	assert_int_equal(budget_cost(&b, "priced", "x", NULL, says), NANO / 2);

	/* Nothing is known before the first answer. */
	assert_int_equal(budget_reserve(&b, 0, 1000000000, "a", "telling", "x", &reserved, &err), 0);
	assert_int_equal(budget_reserve(&b, NANO, 1, "a", "telling", "x", &reserved, &err), -1);
	assert_int_equal(err.code, ERROR_MAX_COST);
	assert_int_equal(budget_reserve(&b, 0, 2000000, "a", "priced", "x", &reserved, &err), -1);
	assert_int_equal(err.code, ERROR_MAX_COST);
	/* And after one that does not tell, never. */
	assert_int_equal(budget_check_told(&b, "telling", "x", NULL, says, &err), 0);
	assert_int_equal(budget_check_told(&b, "priced", "x", NULL, none, &err), 0);
	assert_int_equal(budget_check_told(&b, "telling", "x", "y", none, &err), -1);
	assert_int_equal(err.code, ERROR_DEFINITION);
	assert_non_null(strstr(err.message, "telling has not told"));
	/* A file is read once for several questions. */
	define("silent", "{\"protocol\":\"chat\",\"base_url\":\"http://127.0.0.1:1\"}");
	assert_int_equal(budget_check_price(&b, "silent", "x", &err), -1);
	define("silent", "{\"protocol\":\"chat\",\"base_url\":\"http://127.0.0.1:1\",\"prices\":{\"*\":[1,1]}}");
	assert_int_equal(budget_check_price(&b, "silent", "x", &err), -1);
	budget_end(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_members),
		cmocka_unit_test(headers),
		cmocka_unit_test(in_a_stream),
		cmocka_unit_test(prices_of_an_endpoint),
		cmocka_unit_test(free_of_charge),
		cmocka_unit_test(limits_of_endpoints),
	};
	char path[160];
	FILE *out;

	if (unit_make_directory(directory, "told-cost") != 0 ||
	    setenv("XDG_CONFIG_HOME", directory, 1) != 0)
		return 1;
	snprintf(path, sizeof path, "%s/awf", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/awf/endpoints", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/prices", directory);
	out = fopen(path, "w");
	if (out == NULL)
		return 1;
	fputs("silent/listed 1 2\n", out);
	fclose(out);
	setenv("AWF_PRICES", path, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
