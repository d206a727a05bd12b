/* base/folded_messages: three of a kind are printed, the others counted. base/locale: which
 * characters may be drawn. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/folded_messages.h"
#include "base/locale.h"

static struct buffer printed;

static void
print(const char *text)
{
	buffer_format(&printed, "%s\n", text);
}

static int
begin(void **state)
{
	(void)state;
	setenv("LC_ALL", "C.UTF-8", 1);
	return 0;
}

static void
test_counts_what_repeats(void **state)
{
	struct folded_messages f = FOLDED_MESSAGES_INIT(print);
	char text[64];

	(void)state;
	for (int i = 0; i < 30; i++) {
		snprintf(text, sizeof text, "rev[%d] (\"%c\"): no key after %d.%ds", i, 'a' + i, i, i);
		folded_messages_add(&f, "rev: no key after 1s", text);
	}
	folded_messages_add(&f, NULL, "another");
	folded_messages_end(&f);
	assert_string_equal(buffer_string(&printed), "rev[0] (\"a\"): no key after 0.0s\n"
	    "rev[1] (\"b\"): no key after 1.1s\nrev[2] (\"c\"): no key after 2.2s\nanother\n"
	    "rev: no key after 1s … and 27 more like it\n");
	buffer_free(&printed);

	/* It begins anew: nothing is left to say, and three are shown again. */
	folded_messages_end(&f);
	assert_string_equal(buffer_string(&printed), "");
	for (int i = 0; i < 4; i++)
		folded_messages_add(&f, NULL, "x");
	folded_messages_end(&f);
	assert_string_equal(buffer_string(&printed), "x\nx\nx\nx … and 1 more like it\n");
	buffer_free(&printed);
}

static void
test_kinds(void **state)
{
	static const struct { const char *a, *b; int alike; } pairs[] = {
		{ "line 3: no JSON", "line 12: no JSON", 1 },
		{ "file:3:1: no JSON", "file:12:80: no JSON", 1 },
		{ "timed out after 9s", "timed out after 1m 12.5s", 1 },
		{ "overloaded (req_011CSHo)", "overloaded (req_9zzA-b)", 1 },
		{ "it cost $0.90 of $0.50", "it cost $1.20 of $0.50", 1 },
		{ "jq: exit status 4", "jq: exit status 5", 0 },
		{ "HTTP 500", "HTTP 503", 0 },
		{ "killed by signal 9", "killed by signal 15", 0 },
		{ "status 4 after 3 s", "status 4 after 7 s", 1 },
		{ "no such file", "no such directory", 0 },
		{ "x", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct buffer a = BUFFER_INIT, b = BUFFER_INIT;

		folded_kind(&a, pairs[i].a);
		folded_kind(&b, pairs[i].b);
		if (buffer_equal(&a, buffer_string(&b)) != pairs[i].alike)
			fail_msg("'%s' and '%s'", pairs[i].a, pairs[i].b);
		buffer_free(&a);
		buffer_free(&b);
	}
}

static void
test_kinds_are_bounded(void **state)
{
	struct folded_messages f = FOLDED_MESSAGES_INIT(print);
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 26 * 26 * 26; i++) {
		char text[4] = { (char)('a' + i % 26), (char)('a' + i / 26 % 26), (char)('a' + i / 676), 0 };

		folded_messages_add(&f, NULL, text);
	}
	folded_messages_end(&f);
	for (const char *at = buffer_string(&printed); (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(lines, FOLDED_KINDS_MOST + 1);
	assert_non_null(strstr(printed.data, "… and 17476 more of other kinds\n"));
	buffer_free(&printed);
}

static void
test_locale(void **state)
{
	static const struct { const char *all, *ctype, *lang; int utf8; } cases[] = {
		{ NULL, NULL, NULL, 0 }, { NULL, NULL, "C", 0 }, { NULL, NULL, "POSIX", 0 },
		{ NULL, NULL, "C.UTF-8", 1 }, { NULL, NULL, "C.utf8", 1 }, { NULL, NULL, "de_DE", 0 },
		{ NULL, NULL, "de_DE.ISO-8859-1", 0 }, { NULL, NULL, "de_DE.UTF-8@euro", 1 },
		{ "C", "C.UTF-8", "C.UTF-8", 0 }, { "", "C.UTF-8", "C", 1 }, { NULL, "", "C.UTF-8", 1 },
		{ NULL, "UTF-8", "C", 1 }, { NULL, "C", "C.UTF-8", 0 }, { "en_US.UTF-16", NULL, NULL, 0 },
	};
	struct folded_messages f = FOLDED_MESSAGES_INIT(print);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
		const char *values[] = { cases[i].all, cases[i].ctype, cases[i].lang };

		for (size_t j = 0; j < COUNT(names); j++)
			if (values[j] != NULL)
				setenv(names[j], values[j], 1);
			else
				unsetenv(names[j]);
		if (locale_is_utf8() != cases[i].utf8)
			fail_msg("case %zu", i);
	}
	setenv("LC_ALL", "C", 1);
	for (int i = 0; i < 5; i++)
		folded_messages_add(&f, NULL, "x");
	folded_messages_end(&f);
	assert_non_null(strstr(printed.data, "x ... and 2 more like it\n"));
	buffer_free(&printed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_counts_what_repeats, begin),
		cmocka_unit_test_setup(test_kinds, begin),
		cmocka_unit_test_setup(test_kinds_are_bounded, begin),
		cmocka_unit_test(test_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
