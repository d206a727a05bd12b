/* serve_runs/pace: a stock is used up, owed, and fills up again, whoever else has one. */
#include "unit.h"

#include <stdio.h>

#include "serve_runs/pace.h"

#define RATE 10
#define FULL (RATE * PACE_BURST_S)

static void
test_stock(void **state)
{
	struct pace p;

	(void)state;
	pace_begin(&p, RATE);
	assert_int_equal(pace_wait(&p, "a", 1000), 0);
	pace_spend(&p, "a", FULL - 1, 1000);
	assert_int_equal(pace_wait(&p, "a", 1000), 0);
	/* The last of it takes all that comes at once. */
	pace_spend(&p, "a", 51, 1000);
	assert_in_range(pace_wait(&p, "a", 1000), 5000, 5001);
	assert_in_range(pace_wait(&p, "a", 3500), 2500, 2501);
	assert_int_equal(pace_wait(&p, "a", 6001), 0);
	assert_int_equal(pace_wait(&p, "b", 1000), 0);
	/* It fills up to what it was. */
	pace_spend(&p, "a", FULL, 1000000);
	assert_in_range(pace_wait(&p, "a", 1000000), 1, 2);
	pace_free(&p);
}

/* Of more than there is room for those go that were not asked for the longest. */
static void
test_many(void **state)
{
	struct pace p;
	char key[PACE_KEY];

	(void)state;
	pace_begin(&p, RATE);
	pace_spend(&p, "debtor", 5 * FULL, 1000);
	for (int i = 0; i < 5000; i++) {
		snprintf(key, sizeof key, "%d", i);
		pace_spend(&p, key, 1, 1000 + i);
		assert_int_not_equal(pace_wait(&p, "debtor", 1000 + i), 0);
	}
	/* One that is forgotten has a full stock. */
	pace_spend(&p, "0", FULL - 1, 7000);
	assert_int_equal(pace_wait(&p, "0", 7000), 0);
	pace_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stock), cmocka_unit_test(test_many) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
