/* json/line_input: lines from a pipe, however they are cut. */
#include "record.h"

#include "json/line_input.h"
#include "unit.h"

/* A pipe that holds text and is closed. */
static int
pipe_with(const char *text)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], text, strlen(text)), (ssize_t)strlen(text));
	close(fds[1]);
	return fds[0];
}

static void
test_lines(void **state)
{
	static const struct { const char *text, *lines[4]; size_t unfinished; } table[] = {
		{ "", { NULL }, 0 },
		{ "a\n", { "a" }, 0 },
		{ "a\n\nbc\n", { "a", "", "bc" }, 0 },
		{ "a\nrest", { "a" }, 4 },
		{ "rest", { NULL }, 4 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct line_input in;
		struct error err;
		const char *line;
		size_t len;
		int64_t count = 0;

		line_input_begin(&in, pipe_with(table[i].text), "stdin");
		while (line_input_next(&in, &line, &len, &err) == 1) {
			assert_non_null(table[i].lines[count]);
			assert_int_equal(len, strlen(table[i].lines[count]));
			assert_memory_equal(line, table[i].lines[count], len);
			assert_int_equal(line[len], '\n');
			assert_int_equal(in.lines, ++count);
		}
		assert_null(table[i].lines[count]);
		assert_int_equal(line_input_next(&in, &line, &len, &err), 0);
		assert_int_equal(line_input_unfinished(&in), table[i].unfinished);
		close(in.fd);
		line_input_free(&in);
	}
}

static void
test_waits(void **state)
{
	struct line_input in;
	struct error err;
	const char *line;
	size_t len;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	line_input_begin(&in, fds[0], "stdin");
	assert_true(line_input_waits(&in));
	assert_int_equal(write(fds[1], "one\ntwo\nthr", 11), 11);
	assert_false(line_input_waits(&in));
	assert_int_equal(line_input_next(&in, &line, &len, &err), 1);
	assert_false(line_input_waits(&in));
	assert_int_equal(line_input_next(&in, &line, &len, &err), 1);
	assert_true(line_input_waits(&in)); /* a line has begun, but no more than that */
	assert_int_equal(write(fds[1], "ee\n", 3), 3);
	assert_int_equal(line_input_next(&in, &line, &len, &err), 1);
	assert_memory_equal(line, "three\n", 6);
	close(fds[1]);
	assert_int_equal(line_input_next(&in, &line, &len, &err), 0);
	close(fds[0]);
	line_input_free(&in);
}

static void
test_unreadable(void **state)
{
	struct line_input in;
	struct error err;
	const char *line;
	size_t len;

	(void)state;
	line_input_begin(&in, -1, "stdin");
	assert_int_equal(line_input_next(&in, &line, &len, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_string_equal(err.place, "stdin");
	line_input_free(&in);
}

static void
test_ring(void **state)
{
	static const struct { size_t room; int put; const char *kept; } table[] = {
		{ 0, 3, "" }, { 1, 0, "" }, { 1, 3, "2" }, { 3, 2, "01" }, { 3, 3, "012" }, { 3, 8, "567" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct line_ring ring = { .room = table[i].room };

		for (int n = 0; n < table[i].put; n++)
			line_ring_put(&ring, &"0123456789"[n], 1);
		assert_int_equal(ring.count, strlen(table[i].kept));
		for (size_t n = 0; n < ring.count; n++)
			assert_memory_equal(line_ring_get(&ring, n)->data, &table[i].kept[n], 1);
		line_ring_free(&ring);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
