/* agent/retry: which errors are retried, and how long the waits are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/patience.h"
#include "limits/retry.h"

static void
delays_follow_the_backoff(void **state)
{
	static const struct {
		enum backoff backoff;
		int64_t delay, max;
		int tried;
		int64_t asked, want;
	} rows[] = {
		{ BACKOFF_CONSTANT, 100, 1000, 1, 0, 100 },
		{ BACKOFF_CONSTANT, 100, 1000, 9, 0, 100 },
		{ BACKOFF_CONSTANT, 5000, 1000, 1, 0, 1000 },
		{ BACKOFF_LINEAR, 100, 1000, 1, 0, 100 },
		{ BACKOFF_LINEAR, 100, 1000, 3, 0, 300 },
		{ BACKOFF_LINEAR, 100, 1000, 50, 0, 1000 },
		{ BACKOFF_EXPONENTIAL, 100, 1000, 1, 0, 100 },
		{ BACKOFF_EXPONENTIAL, 100, 1000, 4, 0, 800 },
		{ BACKOFF_EXPONENTIAL, 100, 1000, 5, 0, 1000 },
		{ BACKOFF_EXPONENTIAL, 100, INT64_MAX, 2000, 0, INT64_MAX },
		{ BACKOFF_EXPONENTIAL, 0, 1000, 8, 0, 0 },
		/* what the server asks for wins when it is longer, above the maximum too */
		{ BACKOFF_CONSTANT, 100, 1000, 1, 50, 100 },
		{ BACKOFF_CONSTANT, 100, 1000, 1, 30000, 30000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct retry r = { .retries = 9, .backoff = rows[i].backoff,
		    .delay_ms = rows[i].delay, .max_delay_ms = rows[i].max };

		if (retry_delay(&r, rows[i].tried, rows[i].asked) != rows[i].want)
			fail_msg("row %zu: %jd", i,
			    (intmax_t)retry_delay(&r, rows[i].tried, rows[i].asked));
	}
}

static void
jitter_takes_at_most_half(void **state)
{
	struct retry r;
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	retry_default(&r);
	for (int i = 0; i < 2000; i++) {
		int64_t delay = retry_delay(&r, 2, 0);

		assert_in_range(delay, RETRY_DELAY_MS, 2 * RETRY_DELAY_MS);
		least = delay < least ? delay : least;
		most = delay > most ? delay : most;
	}
	assert_true(most - least > RETRY_DELAY_MS * 4 / 5);
}

/* Calls that were told the same come back at different times, and none of them too early. */
static void
jitter_comes_after_what_a_server_asks_for(void **state)
{
	static const int64_t asked[] = { 5000, 60 * 1000, 24 * 3600 * 1000LL, INT64_MAX };
	struct retry r;

	(void)state;
	retry_default(&r);
	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		const int64_t spread = asked[i] / 2 > RETRY_SPREAD_MS ? asked[i] / 2 : RETRY_SPREAD_MS;
		int64_t least = INT64_MAX, most = 0;

		for (int n = 0; n < 2000; n++) {
			const int64_t delay = retry_delay(&r, 1, asked[i]);

			assert_true(delay >= asked[i]);
			assert_true(delay - asked[i] <= spread);
			assert_in_range(retry_delay_within(&r, 1, 5000, 5003), 5000, 5002);
			assert_in_range(retry_delay_within(&r, 1, 5000, 5001), 5000, 5000);
			least = delay < least ? delay : least;
			most = delay > most ? delay : most;
		}
		if (asked[i] < INT64_MAX)
			assert_true((most - least) / 4 > spread / 5);
	}
}

static void
wanted_by_default_are_transient_errors(void **state)
{
	struct retry r;

	(void)state;
	retry_default(&r);
	assert_true(retry_wanted(&r, ERROR_RATE_LIMIT, 1));
	assert_true(retry_wanted(&r, ERROR_OVERLOADED, 2));
	assert_true(retry_wanted(&r, ERROR_NETWORK, 2));
	assert_false(retry_wanted(&r, ERROR_RATE_LIMIT, 3));
	assert_false(retry_wanted(&r, ERROR_AUTH, 1));
	assert_false(retry_wanted(&r, ERROR_EXIT_STATUS, 1));
	assert_false(retry_wanted(&r, ERROR_NONE, 1));
}

static void
codes_can_be_named(void **state)
{
	struct error err = ERROR_INIT;
	struct retry r;

	(void)state;
	retry_default(&r);
	assert_int_equal(retry_parse_codes(&r, "exit_status,timeout", &err), 0);
	assert_true(retry_wanted(&r, ERROR_EXIT_STATUS, 1));
	assert_true(retry_wanted(&r, ERROR_TIMEOUT, 1));
	assert_false(retry_wanted(&r, ERROR_RATE_LIMIT, 1));
}

static void
unknown_words_are_refused(void **state)
{
	static const struct { const char *codes, *message; } rows[] = {
		{ "rate_limt", "unknown error code 'rate_limt' (did you mean 'rate_limit'?)" },
		{ "timeout,xyzzyxyzzy", "unknown error code 'xyzzyxyzzy'" },
		{ "timeout,", "unknown error code ''" },
		{ "", "unknown error code ''" },
	};
	struct error err = ERROR_INIT;
	struct retry r;

	(void)state;
	retry_default(&r);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		assert_int_equal(retry_parse_codes(&r, rows[i].codes, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
		assert_string_equal(err.place, "--retry-on");
		assert_string_equal(err.message, rows[i].message);
	}
	assert_int_equal(retry_parse_backoff(&r, "linera", &err), -1);
	assert_string_equal(err.place, "--backoff");
	assert_string_equal(err.message, "unknown backoff 'linera' (did you mean 'linear'?)");
	assert_int_equal(retry_parse_backoff(&r, "linear", &err), 0);
	assert_int_equal(r.backoff, BACKOFF_LINEAR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delays_follow_the_backoff),
		cmocka_unit_test(jitter_takes_at_most_half),
		cmocka_unit_test(jitter_comes_after_what_a_server_asks_for),
		cmocka_unit_test(wanted_by_default_are_transient_errors),
		cmocka_unit_test(codes_can_be_named),
		cmocka_unit_test(unknown_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
