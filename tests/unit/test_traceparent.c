#include "unit.h"

#include <stdio.h>

#include "storage/traceparent.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

/* What is read is written as version 00; NULL: it is none. */
static void
reading(void **state)
{
	static const struct {
		const char *text, *written;
	} rows[] = {
		{ "00-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-01" },
		{ "00-" TRACE "-" SPAN "-00", "00-" TRACE "-" SPAN "-00" },
		{ "00-" TRACE "-" SPAN "-ff", "00-" TRACE "-" SPAN "-03" },
		{ "cc-" TRACE "-" SPAN "-01", "00-" TRACE "-" SPAN "-01" },
		{ "cc-" TRACE "-" SPAN "-01-what-comes", "00-" TRACE "-" SPAN "-01" },
		{ "00-00000000000000000000000000000100-0100000000000000-01",
		  "00-00000000000000000000000000000100-0100000000000000-01" },
		{ NULL, NULL },
		{ "", NULL },
		{ "x", NULL },
		{ "00-" TRACE "-" SPAN "-0", NULL },
		{ "00-" TRACE "-" SPAN "-01-", NULL },
		{ "00-" TRACE "-" SPAN "-01 ", NULL },
		{ "cc-" TRACE "-" SPAN "-01.x", NULL },
		{ "ff-" TRACE "-" SPAN "-01", NULL },
		{ "0x-" TRACE "-" SPAN "-01", NULL },
		{ "00-" TRACE "-" SPAN "-0x", NULL },
		{ "00_" TRACE "-" SPAN "-01", NULL },
		{ "00-" TRACE "_" SPAN "-01", NULL },
		{ "00-" TRACE "-" SPAN "_01", NULL },
		{ "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01", NULL },
		{ "00-00000000000000000000000000000000-" SPAN "-01", NULL },
		{ "00-" TRACE "-0000000000000000-01", NULL },
		{ "00-" TRACE "-b7ad6b716920333x-01", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct traceparent t;
		char text[TRACEPARENT_SIZE];

		assert_int_equal(traceparent_read(rows[i].text, &t), rows[i].written != NULL);
		if (rows[i].written != NULL)
			assert_string_equal(traceparent_write(&t, text), rows[i].written);
	}
}

/* An event's span in the trace that an environment is in; none in none. */
static void
within(void **state)
{
	struct environment e = { NULL, 0, 0 };
	char text[TRACEPARENT_SIZE], span[SPAN_ID_SIZE], want[TRACEPARENT_SIZE];

	(void)state;
	assert_string_equal(traceparent_within(NULL, "e", text), "");
	traceparent_enter(&e, "e");
	assert_null(environment_get(&e, TRACEPARENT));
	environment_set(&e, TRACEPARENT, "00-" TRACE "-" SPAN "-00");
	traceparent_enter(&e, "e");
	snprintf(want, sizeof want, "00-%s-%s-00", TRACE, span_id_of_event("e", span));
	assert_string_equal(environment_get(&e, TRACEPARENT), want);
	environment_free(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading),
		cmocka_unit_test(within),
	};

	return cmocka_run_group_tests_name("run/traceparent", tests, NULL, NULL);
}
