#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"

static void
set_fills_and_fails(void **state)
{
	struct error err = ERROR_INIT;
	char text[64];

	(void)state;
	assert_int_equal(error_set(&err, ERROR_TIMEOUT, "a.md:3", "after %d s", 5), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_string_equal(error_text(&err, text, sizeof text), "a.md:3: after 5 s");
	assert_int_equal(error_set(&err, ERROR_USAGE, NULL, "no"), -1);
	assert_string_equal(error_text(&err, text, sizeof text), "no");
	assert_int_equal(error_set(NULL, ERROR_USAGE, NULL, "nobody asks"), -1);
	assert_int_equal(error_errno(NULL, ERROR_USAGE, NULL, "nobody asks"), -1);
}

static void
errno_is_named_and_kept(void **state)
{
	struct error err;

	(void)state;
	errno = ENOENT;
	assert_int_equal(error_errno(&err, ERROR_SYSTEM, "x", "unable to open"), -1);
	assert_string_equal(err.message, "unable to open: No such file or directory");
	assert_int_equal(errno, ENOENT);
}

static void
message_is_one_line(void **state)
{
	struct error err;
	char text[16];

	(void)state;
	error_set(&err, ERROR_USAGE, "a\nb", "c\n\td\x1b[31m\x7f");
	assert_string_equal(err.place, "a b");
	assert_string_equal(err.message, "c  d?[31m?");
	assert_string_equal(error_text(&err, text, sizeof text), "a b: c  d?[31m?");
	error_set(&err, ERROR_USAGE, NULL, "ä \xc2\x9b" "31m \xe2\x80\xaex \xff\xc3 €");
	assert_string_equal(err.message, "ä ?31m ?x ?? €");
}

static void
long_text_is_cut_between_characters(void **state)
{
	struct error err;
	char many[2001], text[8];

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		memcpy(many + 2 * i, "ä", 2);
	many[2000] = '\0';
	error_set(&err, ERROR_USAGE, many, "%s", many);
	assert_int_equal(strlen(err.place), 254);
	assert_int_equal(strlen(err.message), 1022);
	assert_string_equal(error_text(&err, text, sizeof text), "äää");
	errno = ENOENT;
	error_errno(&err, ERROR_USAGE, NULL, "%s", many);
	assert_true(strlen(err.message) < sizeof err.message);
}

static void
table_is_complete(void **state)
{
	static const char *const phases[] = {
		"usage", "definition", "input", "execution", "provider", "system",
	};

	(void)state;
	for (enum error_code code = ERROR_NONE; code < ERROR_CODES; code++) {
		const char *name = error_name(code);
		size_t known = 0;

		assert_non_null(name);
		assert_int_equal(error_from_name(name, strlen(name)), code);
		for (size_t i = 0; i < COUNT(phases); i++)
			known += strcmp(phases[i], error_phase(code)) == 0;
		assert_int_equal(known, 1);
		assert_int_equal(code == ERROR_NONE, error_status(code) == 0);
	}
	assert_int_equal(error_from_name("timeouts", 8), ERROR_NONE);
	assert_int_equal(error_from_name("time", 4), ERROR_NONE);
	assert_int_equal(error_from_name("timeouts", 7), ERROR_TIMEOUT);
}

static void
codes_have_status_and_class(void **state)
{
	static const struct {
		enum error_code code;
		int status;
		enum error_class class;
	} rows[] = {
		{ERROR_USAGE, 1, CLASS_CALLER},
		{ERROR_INVALID_INPUT, 1, CLASS_CALLER},
		{ERROR_NO_INPUT, 1, CLASS_CALLER},
		{ERROR_DEFINITION, 2, CLASS_CALLER},
		{ERROR_UPSTREAM_INCOMPLETE, 3, CLASS_WORK},
		{ERROR_SCHEMA, 3, CLASS_WORK},
		{ERROR_TIMEOUT, 3, CLASS_WORK},
		{ERROR_EXIT_STATUS, 3, CLASS_WORK},
		{ERROR_RATE_LIMIT, 3, CLASS_TRANSIENT},
		{ERROR_OVERLOADED, 3, CLASS_TRANSIENT},
		{ERROR_NETWORK, 3, CLASS_TRANSIENT},
		{ERROR_PROVIDER, 3, CLASS_TRANSIENT},
		{ERROR_AUTH, 3, CLASS_CALLER},
		{ERROR_SYSTEM, 4, CLASS_SYSTEM},
		{ERROR_WAITING, 75, CLASS_WAITING},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(error_status(rows[i].code), rows[i].status);
		assert_int_equal(error_class(rows[i].code), rows[i].class);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_fills_and_fails),
		cmocka_unit_test(errno_is_named_and_kept),
		cmocka_unit_test(message_is_one_line),
		cmocka_unit_test(long_text_is_cut_between_characters),
		cmocka_unit_test(table_is_complete),
		cmocka_unit_test(codes_have_status_and_class),
	};

	return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
