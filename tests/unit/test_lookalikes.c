/* base/lookalikes: words that deceive a reader are told of, those of other scripts are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/lookalikes.h"

static const struct {
	const char *text, *told;
	size_t count;
} rows[] = {
	{ "", "", 0 },
	{ "curl https://github.com/x", "", 0 },
	{ "curl https://g\u0456thub.com/x", "https://g\\u0456thub.com/x", 1 },
	{ "the last letter: paypa\u0406", "paypa\\u0406", 1 },
	{ "{\"url\":\"https://\u0430\u0440\u0440\u04cf\u0435.com\"}", "https://\\u0430\\u0440\\u0440\\u04cf\\u0435.com", 1 },
	{ "\u0440m \uff52\uff4d x\U0001d42b", "\\u0440m, x\\U0001d42b", 2 },
	{ "1\u0430a 2\u0430a 3\u0430a", "1\\u0430a, 2\\u0430a", 3 },
	/* What people write. */
	{ "\u043f\u0440\u0438\u0432\u0435\u0442, \u0441\u043e\u0440 \u043e \u0441 API \u0438 \u0432/\u0443 world-\u043c\u0438\u0440", "", 0 },
	{ "don\u2019t \u2013 na\u00efve Stra\u00dfe \u03bb\u03cc\u03b3\u03bf\u03c2 x\u2264y a\u00a0\u0430", "", 0 },
	{ "\xff\u0430\xff", "", 0 },
};

static void
words_that_deceive_are_listed(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		buffer_clear(&out);
		assert_int_equal(lookalikes_list(&out, rows[i].text, strlen(rows[i].text), 2), rows[i].count);
		assert_string_equal(buffer_string(&out), rows[i].told);
	}
	buffer_free(&out);
}

/* Whoever decides does not wait for a long text. */
static void
long_texts_are_judged(void **state)
{
	struct buffer text = BUFFER_INIT, out = BUFFER_INIT;

	(void)state;
	for (int i = 0; i < 1 << 20; i++)
		buffer_text(&text, "\u0438\u0430");
	buffer_text(&text, "x");
	assert_int_equal(lookalikes_list(&out, buffer_string(&text), text.len, 2), 1);
	buffer_free(&out);
	buffer_free(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_deceive_are_listed),
		cmocka_unit_test(long_texts_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
