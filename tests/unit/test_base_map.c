/* base/map: what was put is found, whatever bytes the key holds. */
#include "unit.h"

#include <stdio.h>

#include "base/map.h"

static void
test_finds_what_was_put(void **state)
{
	struct map m = MAP_INIT;
	char key[32];

	(void)state;
	assert_null(map_get(&m, "x", 1));
	for (size_t i = 0; i < 10000; i++) {
		int len = snprintf(key, sizeof key, "key %zu", i);

		map_put(&m, key, (size_t)len, i);
	}
	for (size_t i = 0; i < 10000; i++) {
		int len = snprintf(key, sizeof key, "key %zu", i);
		const size_t *value = map_get(&m, key, (size_t)len);

		assert_non_null(value);
		assert_int_equal(*value, i);
	}
	assert_int_equal(m.count, 10000);
	assert_null(map_get(&m, "key 10000", 9));
	map_free(&m);
	assert_null(map_get(&m, "key 1", 5));
}

static void
test_keys_are_bytes(void **state)
{
	struct map m = MAP_INIT;

	(void)state;
	map_put(&m, "a\0b", 3, 1);
	map_put(&m, "a\0c", 3, 2);
	map_put(&m, "", 0, 3);
	map_put(&m, "a\0b", 3, 4);
	assert_int_equal(m.count, 3);
	assert_int_equal(*map_get(&m, "a\0b", 3), 4);
	assert_int_equal(*map_get(&m, "a\0c", 3), 2);
	assert_int_equal(*map_get(&m, "", 0), 3);
	assert_null(map_get(&m, "a", 1));
	map_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_was_put),
		cmocka_unit_test(test_keys_are_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
