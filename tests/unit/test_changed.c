/* agent/changed: how many lines came and went. */
#include "agent/changed.h"
#include "base/buffer.h"
#include "unit.h"

static void
test_lines(void **state)
{
	static const struct { const char *before, *after; int64_t added, removed; } cases[] = {
		{ "", "", 0, 0 },
		{ "a\n", "a\n", 0, 0 },
		{ "", "a\nb\n", 2, 0 },
		{ "a\nb\n", "", 0, 2 },
		{ "a\nb\nc\n", "a\nx\nc\n", 1, 1 },
		{ "a\nb\nc\nd\n", "x\nb\ny\nd\n", 2, 2 },
		{ "a\nb\nc\nd\ne\n", "a\nc\nd\nb\ne\n", 1, 1 },
		{ "a\na\na\n", "a\na\n", 0, 1 },
		{ "a", "a\n", 1, 1 },
		{ "a\n", "a\nb", 1, 0 },
		{ "\n\n", "\n", 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t added = -1, removed = -1;

		changed_lines(span_of(cases[i].before, strlen(cases[i].before)),
		    span_of(cases[i].after, strlen(cases[i].after)), &added, &removed);
		assert_int_equal(added, cases[i].added);
		assert_int_equal(removed, cases[i].removed);
	}
}

/* Two texts that have every second line in common, and more edits than are looked for. */
static void
test_many(void **state)
{
	struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
	int64_t added, removed;

	(void)state;
	buffer_text(&before, "first\n");
	buffer_text(&after, "first\n");
	for (int i = 0; i < 3000; i++) {
		buffer_format(&before, "%d\nold %d\n", i, i);
		buffer_format(&after, "%d\nnew %d\n", i, i);
	}
	changed_lines(span_of(before.data, before.len), span_of(after.data, after.len), &added,
	    &removed);
	assert_int_equal(added, 5999); /* all but the first two */
	assert_int_equal(removed, 5999);
	buffer_free(&before);
	buffer_free(&after);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("changed", tests, NULL, NULL);
}
