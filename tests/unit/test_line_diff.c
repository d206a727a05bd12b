/* base/line_diff: which lines differ, how they are grouped, and that they lead from one text to the other. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/line_diff.h"

static void
add_line(void *user, char sign, const char *line, size_t len, bool lf)
{
	struct buffer *out = user;

	buffer_byte(out, sign);
	buffer_append(out, line, len);
	buffer_byte(out, lf ? ' ' : '|');
}

static void
add_hunks(const struct line_diff *d, size_t context, struct buffer *out)
{
	struct line_hunk hunk = LINE_HUNK_INIT;

	while (line_diff_next_hunk(d, context, &hunk)) {
		buffer_format(out, "@%zu,%zu %zu,%zu ", hunk.old, hunk.old_count, hunk.now, hunk.now_count);
		line_diff_hunk_lines(d, &hunk, add_line, out);
	}
}

static void
test_differences(void **state)
{
	static const struct {
		const char *old, *now;
		bool lf_counts;
		size_t removed, added;
		const char *expected; /* with one line of context */
	} rows[] = {
		{ "", "", true, 0, 0, "" },
		{ "a\n", "a\n", true, 0, 0, "" },
		{ "", "a\n", true, 0, 1, "@0,0 0,1 +a " },
		{ "a\n", "", true, 1, 0, "@0,1 0,0 -a " },
		{ "", "a\nb", true, 0, 2, "@0,0 0,2 +a +b|" },
		{ "a", "a\n", false, 0, 0, "" },
		{ "a", "a\n", true, 1, 1, "@0,1 0,1 -a|+a " },
		{ "a\n", "a\nb", true, 0, 1, "@0,1 0,2 =a +b|" },
		{ "a\nb\nc\n", "a\nx\nc\n", true, 1, 1, "@0,3 0,3 =a -b +x =c " },
		{ "a\nb\nc\n", "b\nc\nd\n", true, 1, 1, "@0,3 0,3 -a =b =c +d " },
		{ "a\nb\nc\nd\n", "b\nc\nd\ne\n", true, 1, 1, "@0,2 0,1 -a =b @3,1 2,2 =d +e " },
		{ "a\nb\nc\nd\ne\n", "a\nc\nx\nd\ne", false, 1, 1, "@0,4 0,4 =a -b =c +x =d " },
		{ "a\nb\nc\nd\ne\n", "a\nc\nd\nb\ne\n", true, 1, 1, "@0,5 0,5 =a -b =c =d +b =e " },
		{ "a\na\na\n", "a\na\n", true, 1, 0, "@1,2 1,1 =a -a " },
		{ "\n\n", "\n", true, 1, 0, "@0,2 0,1 = - " },
		{ "x\na\nb\ny\n", "z\na\nb\nw\n", true, 2, 2, "@0,4 0,4 -x +z =a =b -y +w " },
		{ "a\nb\nc\nd\n", "x\nb\ny\nd\n", true, 2, 2, "@0,4 0,4 -a +x =b -c +y =d " },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buffer out = BUFFER_INIT;
		struct line_diff d;

		line_diff_begin(&d, rows[i].old, strlen(rows[i].old), rows[i].now, strlen(rows[i].now),
		    rows[i].lf_counts);
		add_hunks(&d, 1, &out);
		assert_string_equal(buffer_string(&out), rows[i].expected);
		assert_int_equal(d.removed, rows[i].removed);
		assert_int_equal(d.added, rows[i].added);
		line_diff_free(&d);
		buffer_free(&out);
	}
}

/* The old text with its changes made is the new one, whatever the texts and the context, and the
 * changes are as few as the longest common subsequence asks for. */
static void
test_random_texts(void **state)
{
	enum { LINES = 12 };

	(void)state;
	srand(7);
	for (int round = 0; round < 3000; round++) {
		struct buffer texts[2] = { BUFFER_INIT, BUFFER_INIT }, made = BUFFER_INIT;
		char lines[2][LINES + 1] = { "" };
		size_t common[LINES + 1][LINES + 1] = { { 0 } }, counts[2], at = 0;
		struct line_diff d;

		for (int side = 0; side < 2; side++) {
			counts[side] = (size_t)(rand() % LINES);
			for (size_t i = 0; i < counts[side]; i++) {
				lines[side][i] = (char)('a' + rand() % 4);
				buffer_format(&texts[side], "%c\n", lines[side][i]);
			}
		}
		for (size_t i = counts[0]; i-- > 0;)
			for (size_t j = counts[1]; j-- > 0;)
				common[i][j] = lines[0][i] == lines[1][j] ? common[i + 1][j + 1] + 1 :
				    common[i + 1][j] > common[i][j + 1] ? common[i + 1][j] : common[i][j + 1];
		line_diff_begin(&d, buffer_string(&texts[0]), texts[0].len, buffer_string(&texts[1]),
		    texts[1].len, true);
		assert_int_equal(d.removed, counts[0] - common[0][0]);
		assert_int_equal(d.added, counts[1] - common[0][0]);
		for (size_t i = 0; i < d.count; i++) {
			const struct line_change *c = &d.changes[i];

			/* Two changes without a line between them would be one. */
			assert_true(i == 0 || c->old > at);
			for (; at < c->old; at++)
				buffer_format(&made, "%c\n", lines[0][at]);
			assert_int_equal(made.len, 2 * c->now);
			for (size_t line = 0; line < c->added; line++)
				buffer_format(&made, "%c\n", lines[1][c->now + line]);
			at += c->removed;
		}
		for (; at < counts[0]; at++)
			buffer_format(&made, "%c\n", lines[0][at]);
		assert_string_equal(buffer_string(&made), buffer_string(&texts[1]));
		for (size_t context = 0; context < 4; context++) {
			struct line_hunk hunk = LINE_HUNK_INIT;
			size_t old = 0, now = 0;

			while (line_diff_next_hunk(&d, context, &hunk)) {
				/* As many lines are between two hunks in both texts. */
				assert_true(hunk.old >= old && hunk.now >= now);
				assert_int_equal(hunk.old - old, hunk.now - now);
				old = hunk.old + hunk.old_count;
				now = hunk.now + hunk.now_count;
			}
			assert_int_equal(counts[0] - old, counts[1] - now);
		}
		line_diff_free(&d);
		buffer_free(&texts[0]);
		buffer_free(&texts[1]);
		buffer_free(&made);
	}
}

/* Two texts that have every second line in common, by as many edits as are looked for, and by more. */
static void
test_many_edits(void **state)
{
	static const struct { int pairs; size_t changed; } rows[] = {
		{ LINE_DIFF_EDITS / 2, LINE_DIFF_EDITS / 2 },
		{ LINE_DIFF_EDITS / 2 + 1, LINE_DIFF_EDITS + 1 }, /* all but the first two lines */
	};

	(void)state;
	for (size_t row = 0; row < COUNT(rows); row++) {
		struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
		struct line_diff d;

		buffer_text(&before, "first\n");
		buffer_text(&after, "first\n");
		for (int i = 0; i < rows[row].pairs; i++) {
			buffer_format(&before, "%d\nold %d\n", i, i);
			buffer_format(&after, "%d\nnew %d\n", i, i);
		}
		line_diff_begin(&d, before.data, before.len, after.data, after.len, true);
		assert_int_equal(d.added, rows[row].changed);
		assert_int_equal(d.removed, rows[row].changed);
		line_diff_free(&d);
		buffer_free(&before);
		buffer_free(&after);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_differences),
		cmocka_unit_test(test_random_texts), cmocka_unit_test(test_many_edits) };

	return cmocka_run_group_tests_name("line_diff", tests, NULL, NULL);
}
