/* The last words of a program: which line of what it wrote says why it failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "proc/last_words.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void
test_lines(void **state)
{
	static const struct { const char *errors, *words; } cases[] = {
		{ "", "" }, { "\n\n", "" }, { "---\n", "" },
		{ "no database\n", "no database" }, { "one\ntwo", "two" }, { "one\r\n\r\n \t \n", "one" },
		{ "Traceback (most recent call last):\n  File \"x\", line 1\nValueError: bad\n", "ValueError: bad" },
		{ "cc: no such file\nmake[1]: *** [x] Error 1\nmake[1]: Leaving directory 'x'\nmake: *** [all] Error 2\n",
			"cc: no such file" },
		{ "make: *** No rule to make target 'x'.  Stop.\n", "make: *** No rule to make target 'x'.  Stop." },
		{ "+ curl x\ncurl: (6) no host\n+ exit 6\n", "curl: (6) no host" }, { "+ false\n", "+ false" },
		{ "Error: boom\n    at f (x.js:1:2)\n    at g (y.js:3:4)\n\nNode.js v20.1.0\n", "Error: boom" },
		{ "Error: Cannot find module 'x'\n    at f (l:1:2) {\n  code: 'NOT_FOUND',\n  requireStack: [ '/a.js' ]\n}\n\nNode.js v20.1.0\n",
			"Error: Cannot find module 'x'" },
		{ "TypeError: fetch failed\n    at g (n:3:4) {\n  [cause]: Error: no host x\n      at h (d:5:6) {\n    code: 'NO'\n  }\n}\n",
			"Error: no host x" },
		{ "failed:\n{\n  \"error\": \"no database\"\n}\n", "\"error\": \"no database\"" },
		{ "a\n}\n", "a" }, { "}\n", "" }, { "at f {\n}\n", "" },
		{ "10%\r50%\rfailed: disk full\n", "failed: disk full" }, { "50%\r100%\r\n", "100%" },
		{ "\033[1;31merror\033[0m: \033]8;;http://x\033\\link\033]8;;\033\\\033[K\n", "error: link" },
		{ "fatal: no upstream\nhint: set it\n", "fatal: no upstream" },
		{ "  | as quoted\n", "as quoted" }, { "a\tb\001c\n", "a bc" }, { "\xff \xc3\xa9\n", "\xef\xbf\xbd \xc3\xa9" },
		/* However deep it lies, it is said once. */
		{ "awf-run: a: step b:0:0 failed: ./c: exit status 3: awf-run: c: step d:0:0 failed: sh: exit status 4: no host\n",
			"awf-run: c: step d:0:0 failed: sh: exit status 4: no host" },
		{ "awf-step: a: sh: exit status 3: awf-step: b: sh: exit status 4: no host\n",
			"awf-step: b: sh: exit status 4: no host" },
		{ "awf-run: a: step b:0:0 failed: no host\n", "awf-run: a: step b:0:0 failed: no host" },
		{ "grep: awf-run: is not there\n", "grep: awf-run: is not there" },
		{ "\033[", "" }, { "\033]0;title", "" }, { "\033", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct buffer words = BUFFER_INIT;

		last_words(cases[i].errors, strlen(cases[i].errors), &words);
		assert_string_equal(buffer_string(&words), cases[i].words);
		buffer_free(&words);
	}
}

/* A long line ends at a space: no part of a word is left. */
static void
test_long(void **state)
{
	struct buffer errors = BUFFER_INIT, words = BUFFER_INIT;

	(void)state;
	while (errors.len < LAST_WORDS_MOST - 10)
		buffer_text(&errors, "four ");
	buffer_text(&errors, "sk-secret-that-is-long and more\n");
	last_words(errors.data, errors.len, &words);
	assert_true(words.len <= LAST_WORDS_MOST + 4);
	assert_null(strstr(words.data, "sk-"));
	assert_string_equal(words.data + words.len - strlen("four …"), "four …");
	buffer_clear(&errors);
	buffer_clear(&words);
	while (errors.len < 2 * LAST_WORDS_MOST)
		buffer_byte(&errors, 'x');
	last_words(errors.data, errors.len, &words);
	assert_string_equal(words.data, "…");
	buffer_free(&errors);
	buffer_free(&words);
}

static void
test_at(void **state)
{
	struct error err;

	(void)state;
	error_set(&err, ERROR_EXIT_STATUS, "sh", "exit status 4: no: x");
	assert_int_equal(last_words_at(&err), strlen("exit status 4"));
	error_set(&err, ERROR_EXIT_STATUS, "sh", "exit status 4");
	assert_int_equal(last_words_at(&err), strlen("exit status 4"));
	error_set(&err, ERROR_TIMEOUT, "sh", "timed out after 1s: no: x");
	assert_int_equal(last_words_at(&err), strlen("timed out after 1s"));
	error_set(&err, ERROR_SCHEMA, "sh", "a: b");
	assert_int_equal(last_words_at(&err), strlen("a: b"));
}

static void
test_add(void **state)
{
	struct error err;
	char line[LAST_WORDS_MOST];

	(void)state;
	error_set(&err, ERROR_EXIT_STATUS, "sh", "exit status 4");
	last_words_add(&err, "\n", 1);
	assert_string_equal(err.message, "exit status 4");
	last_words_add(&err, "one\ntwo\n", 8);
	assert_string_equal(err.message, "exit status 4: two");
	/* What a message has no room for is cut at a character. */
	for (size_t i = 0; i < sizeof line; i += 2)
		memcpy(line + i, "\xc3\xa9", 2);
	for (int i = 0; i < 10; i++)
		last_words_add(&err, line, sizeof line);
	assert_true(strlen(err.message) < sizeof err.message);
	assert_int_equal(utf8_whole(err.message, strlen(err.message)), strlen(err.message));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_long), cmocka_unit_test(test_at),
		cmocka_unit_test(test_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
