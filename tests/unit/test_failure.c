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
	assert_int_equal(count, 59);
	free(line);
	fclose(in);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_of_vendors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
