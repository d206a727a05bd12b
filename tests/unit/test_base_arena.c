/* base/arena: what was taken is zeros or the bytes that were given, and stays as it is. */
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"

#define TAKEN 20000

static void
test_what_was_taken_stays(void **state)
{
	struct arena a = ARENA_INIT;
	struct {
		unsigned char *bytes;
		size_t size;
	} *taken = memory_zero(TAKEN, sizeof *taken);

	(void)state;
	srand(5);
	for (size_t i = 0; i < TAKEN; i++) {
		/* Few are larger than a piece. */
		size_t size = (size_t)rand() % (i % 1000 == 7 ? 200000 : 60);

		taken[i].size = size;
		if (i % 3 == 0) {
			char *text = memory_zero(1, size + 1);

			memset(text, (int)(i % 251), size);
			taken[i].bytes = (unsigned char *)arena_copy(&a, text, size);
			assert_int_equal(taken[i].bytes[size], 0);
			free(text);
			continue;
		}
		taken[i].bytes = arena_zero(&a, size);
		assert_int_equal((uintptr_t)taken[i].bytes % sizeof(void *), 0);
		for (size_t at = 0; at < size; at++)
			assert_int_equal(taken[i].bytes[at], 0);
		memset(taken[i].bytes, (int)(i % 251), size);
	}
	for (size_t i = 0; i < TAKEN; i++)
		for (size_t at = 0; at < taken[i].size; at++)
			if (taken[i].bytes[at] != i % 251)
				fail_msg("%zu was written over", i);
	free(taken);
	arena_free(&a);
	arena_free(&a);
	assert_string_equal(arena_copy(&a, "ab", 1), "a");
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_taken_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
