/* agent/trust_text: what a person decides about is shown, to its end and as what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "definitions/trust_text.h"

static const struct {
	const char *word, *shown;
} words[] = {
	{ "./x", "./x" },
	{ "", "''" },
	{ "é", "é" },
	{ "two words", "'two words'" },
	{ " at both ends ", "' at both ends '" },
	{ "it's", "'it'\\''s'" },
	{ "a\nb\t", "$'a\\nb\\t'" },
	{ "a\\n'\n", "$'a\\\\n\\'\\n'" },
	{ "\x1b[2K", "$'\\x1b[2K'" },
	{ "\xff", "$'\\xff'" },
	{ "a\u00a0b", "$'a\\u00a0b'" },
	{ "a\u2003", "$'a\\u2003'" },
	{ "\u1680\u2000\u200a\u202f\u205f\u2800\u3000", "$'\\u1680\\u2000\\u200a\\u202f\\u205f\\u2800\\u3000'" },
	{ "\u3164\u00ad\u202e", "$'\\u3164\\u00ad\\u202e'" },
	/* What passes for ASCII is shown as what it is; what is of another script is not. */
	{ "https://g\u0456thub.com/x", "$'https://g\\u0456thub.com/x'" },
	{ "https://\u0430\u0440\u0440\u04cf\u0435.com", "$'https://\\u0430\\u0440\\u0440\\u04cf\\u0435.com'" },
	{ "\u0440m", "$'\\u0440m'" },
	{ "\uff52\uff4d", "$'\\uff52\\uff4d'" },
	{ "\U0001d42b\U0001d426", "$'\\U0001d42b\\U0001d426'" },
	{ "https://api.github.com\u2215x.org\u2044y", "$'https://api.github.com\\u2215x.org\\u2044y'" },
	{ "\u2010rf", "$'\\u2010rf'" },
	{ "\u0441\u043a\u0440\u0438\u043f\u0442\u044b/\u0442\u0435\u0441\u0442_2.sh", "\u0441\u043a\u0440\u0438\u043f\u0442\u044b/\u0442\u0435\u0441\u0442_2.sh" },
	{ "\u03bb\u03cc\u03b3\u03bf\u03c2 Stra\u00dfe \u4e16\u754c", "'\u03bb\u03cc\u03b3\u03bf\u03c2 Stra\u00dfe \u4e16\u754c'" },
	/* A mark on a blank hides no blank. */
	{ "\u00a0\u0301", "$'\\u00a0\u0301'" },
	{ "a        b", "'a        b'" },
	{ "a         b", "'a'<9 spaces>'b'" },
	{ "         ", "<9 spaces>" },
	{ "a         \n         b", "$'a'<9 spaces>$'\\n'<9 spaces>$'b'" },
	/* Nobody writes such a number of spaces in a word. */
	{ "a<9 spaces>b", "'a<9 spaces>b'" },
	{ "a'<9 spaces>'b", "'a'\\''<9 spaces>'\\''b'" },
};

static void
words_show_their_ends_and_blanks(void **state)
{
	struct buffer out = BUFFER_INIT, text = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		buffer_clear(&out);
		trust_word_append(&out, words[i].word);
		assert_string_equal(buffer_string(&out), words[i].shown);
		/* A text of them is as it was. */
		buffer_clear(&text);
		trust_text_append(&text, buffer_string(&out));
		assert_string_equal(buffer_string(&text), words[i].shown);
	}
	buffer_free(&text);
	buffer_free(&out);
}

/* One as long as a file may be takes no time that somebody would notice. */
static void
long_words_are_shown(void **state)
{
	const size_t len = (size_t)4 << 20;
	struct buffer word = BUFFER_INIT, out = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < len; i++)
		buffer_byte(&word, 'x');
	trust_word_append(&out, buffer_string(&word));
	trust_text_append(&out, buffer_string(&word));
	assert_int_equal(out.len, 2 * len);
	buffer_free(&out);
	buffer_free(&word);
}

static void
texts_show_their_blanks(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	trust_text_append(&out, "a tool\u2003x\n          y é");
	assert_string_equal(buffer_string(&out), "a tool\\u2003x\\n<10 spaces>y é");
	buffer_free(&out);
}

static void
what_is_left_out_is_counted(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	assert_int_equal(trust_text_shorten(&out, "éééééé789", 9), 0);
	assert_string_equal(buffer_string(&out), "éééééé789");
	buffer_clear(&out);
	assert_int_equal(trust_text_shorten(&out, "éééééé.é.ééé", 9), 3);
	assert_string_equal(buffer_string(&out), "éééééé … 3 characters are left out … ééé");
	buffer_clear(&out);
	assert_int_equal(trust_text_shorten(&out, "", 9), 0);
	assert_string_equal(buffer_string(&out), "");
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_show_their_ends_and_blanks),
		cmocka_unit_test(long_words_are_shown),
		cmocka_unit_test(texts_show_their_blanks),
		cmocka_unit_test(what_is_left_out_is_counted),
	};

	return cmocka_run_group_tests_name("trust_text", tests, NULL, NULL);
}
