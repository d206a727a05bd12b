/* What a request has of tokens at least. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "limits/budget.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct {
	const char *json;
	int64_t tokens;
} rows[] = {
	{ "", 0 },
	{ "{}", 0 },
	{ "{\"a\":1,\"b c\":[true,null]}", 0 },
	{ "{\"role\":\"user\",\"model\":\"claude-sonnet-4-5\"}", 0 },
	{ "\"one two\"", 2 },
	{ "{\"text\":\"one two\\nthree\\tfour\"}", 4 },
	{ "{\"text\":\"say \\\"it\\\": now\"}", 3 },
	{ "\"a - b ... c\"", 3 },
	{ "\"a\\\\\"", 0 },
	{ "\"a\\\\\",\"b c\"", 2 },
	{ "\"1234567890123456 x\"", 2 },
	{ "\"12345678901234567 x\"", 3 },
	{ "\"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e x\"", 3 },
	{ "\"not ended", 1 },
	{ "\"ends in \\", 2 },
};

static void
words_are_counted_low(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (budget_least_tokens(rows[i].json, strlen(rows[i].json)) != rows[i].tokens)
			fail_msg("%s: %lld", rows[i].json,
			    (long long)budget_least_tokens(rows[i].json, strlen(rows[i].json)));
}

static int64_t
least_of(const char *piece, size_t times)
{
	struct buffer text = BUFFER_INIT;
	int64_t tokens;

	buffer_byte(&text, '"');
	for (size_t i = 0; i < times; i++)
		buffer_text(&text, piece);
	buffer_byte(&text, '"');
	tokens = budget_least_tokens(buffer_string(&text), text.len);
	buffer_free(&text);
	return tokens;
}

static void
long_words_count_and_base64_does_not(void **state)
{
	(void)state;
	assert_int_equal(least_of("x", 16000), 1000);
	assert_int_equal(least_of("\xe6\x97\xa5", 4000), 1001);
	assert_int_equal(least_of("iVBORw0KGgo", 10000), 0);
	assert_int_equal(least_of("word ", 10000), 10000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_counted_low),
		cmocka_unit_test(long_words_count_and_base64_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
