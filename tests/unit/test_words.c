/* history/words: what two texts of calls have in common, and where they differ. */
#include "unit.h"

#include <string.h>

#include "base/buffer.h"
#include "history/words.h"

#define LINE64 "szTpZ0b1pcgiOw7KCyPuf54JiuwrbeEL9HuTPIrbNG2/uPKtryyBacaXyVd9SHfK"
#define U1 "3f2a9c1e-77d4-4b06-9a51-0e4dbb6a7f10"
#define U2 "c04d5b7a-1e32-4f88-8c9d-a1b2c3d4e5f6"

static struct words
words(const char *text)
{
	return words_of(span_of(text, strlen(text)));
}

static void
add(void *context, uint64_t place)
{
	struct buffer *out = context;

	buffer_format(out, "%s%llu", out->len > 0 ? " " : "", (unsigned long long)place);
}

static void
test_split(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} table[] = {
		{ "", 0 }, { " \t\n", 0 }, { "echo a", 2 }, { "a>>b", 4 }, { "x12", 2 }, { "2026-11-30T08:15:01.5Z x", 2 },
		{ "1-1796054109445410347", 3 }, { "1.5", 1 }, { "1.", 2 }, { U1, 1 }, { U1 "x", 9 }, { "tmp.BHJUWs25Sv", 3 },
		/* Base64: on a line of its own, of a long text with what follows, and names that only look similar. */
		{ "z1tpCreBqnU1k+NEDCvT7tomAfhsfMac", 1 }, { "key=a+M0rcN4oZZFGTOxezNK1np6zw== x", 4 },
		{ LINE64 "\nb3=", 2 }, { LINE64 "\\nb3/x=", 3 }, { LINE64 " - b3", 4 },
		{ "/usr/share/Doc/package-2/README", 12 }, { "src/my_first_class2/Other_name", 12 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct words w = words(table[i].text);

		if (w.count != table[i].count)
			fail_msg("%s: %zu words", table[i].text, w.count);
		words_free(&w);
	}
}

static void
test_compare(void **state)
{
	static const struct {
		const char *a, *b;
		size_t shared, parts; /* of both */
		const char *differ;  /* of a from b */
	} table[] = {
		{ "echo a 1", "echo a 1", 6, 0, "" },
		{ "echo a 1", "echo b 1", 4, 2, "3" },
		{ "echo a " U1, "echo a " U2, 4, 2, "5" },
		/* A word more, and one less. */
		{ "echo a 1", "echo a more 1", 6, 1, "4" },
		{ "echo a more 1", "echo a 1", 6, 1, "5" },
		/* One word for two, in a place between others. */
		{ "echo a 1", "echo -v a 1", 6, 1, "2" },
		{ "echo x/a 1", "echo y/z 1", 4, 2, "3 4 5 6 7" },
		/* Words of a part are equal by chance. */
		{ "run q+w/e a", "run r+t/y a", 4, 2, "3 4 5 6 7 8 9 10 11" },
		{ "run q+w+e a", "run q+t+e a", 8, 2, "7" },
		{ "{\"x\":\"a\",\"t\":1}", "{\"x\":\"a\",\"t\":2}", 6, 2, "27" },
		{ "", "a", 0, 1, "0" }, { "a", "", 0, 1, "1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct words a = words(table[i].a), b = words(table[i].b);
		struct buffer places = BUFFER_INIT;

		const struct words_alike alike = words_compare(&a, &b);

		words_differ(&a, &b, add, &places);
		if (alike.shared != table[i].shared || alike.parts != table[i].parts ||
		    strcmp(buffer_string(&places), table[i].differ) != 0)
			fail_msg("%s | %s: %zu words, %zu parts, places %s", table[i].a, table[i].b, alike.shared, alike.parts,
			    buffer_string(&places));
		buffer_free(&places);
		words_free(&a);
		words_free(&b);
	}
}

static void
test_third(void **state)
{
	static const struct {
		const char *a, *b, *c;
		bool have;
	} table[] = {
		{ "echo a 3", "echo z 2", "echo a 1", true }, { "echo z 3", "echo z 2", "echo a 1", false },
		{ "echo z + 3", "echo z 2", "echo a + 1", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct words a = words(table[i].a), b = words(table[i].b), c = words(table[i].c);

		assert_int_equal(words_have_of_third(&a, &b, &c), table[i].have);
		words_free(&a);
		words_free(&b);
		words_free(&c);
	}
}

static void
test_chance(void **state)
{
	static const struct {
		const char *a, *b;
		bool chance;
	} table[] = {
		{ "pay a " U1, "pay a " U2, true }, { "pay a " U1, "pay b " U2, false }, { "pay 1", "pay 2", false },
		{ "pay a 1796054109", "pay a", true }, { "pay a /tmp/tmp.BHJUWs25Sv", "pay a /tmp/tmp.ww6HujnWK0", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct words a = words(table[i].a), b = words(table[i].b);
		bool any = false;

		assert_int_equal(words_differ_by_chance(&a, &b, &any), table[i].chance);
		words_free(&a);
		words_free(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split), cmocka_unit_test(test_compare), cmocka_unit_test(test_third),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
