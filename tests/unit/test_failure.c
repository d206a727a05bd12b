/* lib/api/failure: what vendors' bodies of errors are called, tests/fixtures/failures. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/failure.h"

static void
bodies_of_vendors(void **state)
{
	FILE *in = fopen("tests/fixtures/failures/bodies", "r");
	char *line = NULL, name[32];
	size_t size = 0, count = 0;
	ssize_t len;

	(void)state;
	assert_non_null(in);
	while ((len = getline(&line, &size, in)) > 0) {
		struct failure f = { .error = ERROR_INIT };
		struct buffer body = BUFFER_INIT;
		int at = 0;

		if (*line == '#')
			continue;
		assert_int_equal(sscanf(line, "%ld %31s %n", &f.status, name, &at), 2);
		buffer_append(&body, line + at, (size_t)len - (size_t)at - 1);
		failure_from_body(&f, &body, NULL);
		if (strcmp(error_name(f.error.code), name) != 0)
			fail_msg("%s: %s", error_name(f.error.code), line);
		buffer_free(&body);
		count++;
	}
	assert_int_equal(count, 107);
	free(line);
	fclose(in);
}

/* How long a message asks to wait; above an hour it is no wait. */
static void
waits_in_words(void **state)
{
	static const struct { const char *message; long ms; } cases[] = {
		{ "Please try again in 3.2s.", 3200 },
		{ "try again in 20ms", 20 },
		{ "Please try again in 7m12.5s. Visit", 432500 },
		{ "please retry in 20 seconds", 20000 },
		{ "Retry after 2 minutes", 120000 },
		{ "try again in 1h", 3600000 },
		{ "try again in 23h59m", 0 },
		{ "try again in a while", 0 },
		{ "try again in 5 tokens", 0 },
		{ "slow down", 0 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct failure f = { .error = ERROR_INIT, .status = 429 };
		struct buffer body = BUFFER_INIT;

		buffer_format(&body, "{\"error\":{\"message\":\"%s\"}}", cases[i].message);
		failure_from_body(&f, &body, NULL);
		assert_int_equal(f.error.code, ERROR_RATE_LIMIT);
		if (f.retry_after_ms != cases[i].ms)
			fail_msg("%s: %lld", cases[i].message, (long long)f.retry_after_ms);
		buffer_free(&body);
	}
}

/* What an endpoint file says of errors comes before all else. */
static void
rules_of_an_endpoint(void **state)
{
	static const char rules[] = "[{\"status\":413,\"text\":\"TOKENS per\",\"is\":\"rate_limit\"},"
	    "{\"code\":\"77\",\"is\":\"auth\"}]";
	static const struct { long status; const char *body; enum error_code is; } cases[] = {
		{ 413, "{\"error\":{\"message\":\"tokens per day\"}}", ERROR_RATE_LIMIT },
		{ 400, "{\"error\":{\"message\":\"tokens per day\"}}", ERROR_INVALID },
		{ 400, "{\"error\":{\"code\":77,\"message\":\"x\"}}", ERROR_AUTH },
		{ 400, "{\"error\":{\"code\":\"77\",\"message\":\"x\"}}", ERROR_AUTH },
		{ 400, "{\"error\":{\"code\":\"777\",\"message\":\"x\"}}", ERROR_INVALID }
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct failure f = { .error = ERROR_INIT, .status = cases[i].status,
			.rules = span_of(rules, strlen(rules)) };
		struct buffer body = BUFFER_INIT;

		buffer_text(&body, cases[i].body);
		failure_from_body(&f, &body, NULL);
		assert_int_equal(f.error.code, cases[i].is);
		buffer_free(&body);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_in_words),
		cmocka_unit_test(rules_of_an_endpoint),
		cmocka_unit_test(bodies_of_vendors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
