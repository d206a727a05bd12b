/* Differences of two texts, as lines behind their signs. */
#include "unit.h"

#include <string.h>

#include "base/buffer.h"
#include "inspect/line_diff.h"

static void
take(void *context, char sign, const char *line, size_t len)
{
	struct buffer *out = context;

	buffer_byte(out, sign);
	buffer_append(out, line, len);
	buffer_byte(out, ' ');
}

static void
test_differences(void **state)
{
	static const struct { const char *old, *now, *expected; } rows[] = {
		{ "", "", "" },
		{ "", "a\n", "+a " },
		{ "a\n", "", "-a " },
		{ "a", "a\n", "=a " },
		{ "a\nb\nc\n", "a\nb\nc\n", "=a =b =c " },
		{ "a\nb\nc\n", "a\nx\nc\n", "=a -b +x =c " },
		{ "a\nb\nc\n", "b\nc\nd\n", "-a =b =c +d " },
		{ "a\nb\nc\nd\ne\n", "a\nc\nx\nd\ne", "=a -b =c +x =d =e " },
		{ "a\na\n", "a\n", "=a -a " },
		{ "\n\n", "\n", "= - " },
		{ "x\na\nb\ny\n", "z\na\nb\nw\n", "-x +z =a =b -y +w " },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;

		line_diff(rows[i].old, strlen(rows[i].old), rows[i].now, strlen(rows[i].now), take, &out);
		assert_string_equal(buffer_string(&out), rows[i].expected);
		buffer_free(&out);
	}
}

/* Of texts too long for the table all between the ends has changed. */
static void
test_long_texts(void **state)
{
	struct buffer old = BUFFER_INIT, now = BUFFER_INIT, out = BUFFER_INIT;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		buffer_format(&old, "%d\n", i);
		buffer_format(&now, "%d\n", i == 0 || i == 1999 ? i : i % 2 == 0 ? i : -i);
	}
	line_diff(old.data, old.len, now.data, now.len, take, &out);
	assert_memory_equal(out.data, "=0 -1 -2 -3 ", strlen("=0 -1 -2 -3 "));
	assert_string_equal(out.data + out.len - strlen("+-1997 =1998 =1999 "), "+-1997 =1998 =1999 ");
	buffer_free(&old);
	buffer_free(&now);
	buffer_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_differences),
		cmocka_unit_test(test_long_texts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
