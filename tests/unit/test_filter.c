/* transcript/filter: which lines pass. */
#include "record.h"

#include "transcript/filter.h"
#include "unit.h"

#define AT(time) "\"timestamp\":\"2026-11-21T08:15:" time "Z\",\"event_id\":\"" OTHER_ID \
	"\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":null"

/* A little transcript; the figures below are its numbers. */
static const char *const events[] = {
	AT("30.000001") ",\"type\":\"run.started\",\"path\":\"\",\"payload\":{\"name\":\"w\"}",
	AT("31.000000") ",\"type\":\"step.started\",\"path\":\"a\",\"payload\":{\"call\":\"a:0:0\"}",
	AT("31.000000") ",\"type\":\"tool.call\",\"path\":\"a\",\"payload\":{\"text\":\"x (y)\"}",
	AT("31.500000") ",\"type\":\"tool.result\",\"path\":\"a\",\"payload\":{\"error\":{\"code\":\"c\"}}",
	AT("32.000000") ",\"type\":\"step.completed\",\"path\":\"a\",\"payload\":{\"error\":null}",
	AT("32.000000") ",\"type\":\"step.completed\",\"path\":\"a.b\",\"payload\":{\"error\":{\"code\":\"c\"}}",
	AT("33.000000") ",\"type\":\"step.completed\",\"path\":\"a.b\",\"payload\":{\"error\":{\"code\":\"c\"},"
	    "\"skipped\":\"earlier\"}",
	AT("34.000000") ",\"type\":\"new.type\",\"path\":\"a\",\"payload\":{\"error\":{}}",
	AT("35.000000") ",\"type\":\"run.completed\",\"path\":\"\",\"payload\":{\"error\":false}",
};

static enum verdict
verdict_of(struct filter *f, const char *line, size_t len)
{
	struct event_head head;

	event_peek(line, len, &head);
	return filter_event(f, &head, line, len);
}

/* The numbers of the lines that pass, as "1 2 3". */
static char *
passing(struct filter *f)
{
	struct buffer numbers = BUFFER_INIT;

	for (size_t i = 0; i < COUNT(events); i++) {
		struct buffer line = BUFFER_INIT;
		enum verdict verdict;

		record_line(&line, (long)i + 1, events[i]);
		verdict = verdict_of(f, line.data, line.len - 1);
		assert_int_not_equal(verdict, VERDICT_DAMAGED);
		if (verdict == VERDICT_YES)
			buffer_format(&numbers, "%s%zu", numbers.len ? " " : "", i + 1);
		buffer_free(&line);
	}
	return buffer_take(&numbers);
}

static void
test_what_passes(void **state)
{
	static const struct {
		int64_t after;
		const char *since, *types, *more_types, *paths, *grep;
		bool errors;
		const char *passing;
	} table[] = {
		{ .passing = "1 2 3 4 5 6 7 8 9" },
		{ .after = 7, .passing = "8 9" },
		{ .after = 9, .passing = "" },
		{ .types = "tool.call", .passing = "3" },
		{ .types = "tool.*", .passing = "3 4" },
		{ .types = "tool", .passing = "" },
		{ .types = "run.started,new.*", .passing = "1 8" },
		{ .types = "run.started", .more_types = "new.type", .passing = "1 8" },
		{ .types = "*", .passing = "1 2 3 4 5 6 7 8 9" },
		{ .types = "", .passing = "" },
		{ .types = "[st]*.started", .passing = "2" },
		{ .paths = "a", .passing = "2 3 4 5 8" },
		{ .paths = "a*", .passing = "2 3 4 5 6 7 8" },
		{ .paths = "a.?,x", .passing = "6 7" },
		{ .paths = "", .passing = "1 9" },
		{ .since = "2026-11-21T08:15:32.000000Z", .passing = "5 6 7 8 9" },
		{ .since = "2026-11-21T08:15:32.000001Z", .passing = "7 8 9" },
		{ .errors = true, .passing = "4 6" },
		{ .grep = "x \\(y\\)", .passing = "3" },
		{ .grep = "\"(call|text)\":", .passing = "2 3" },
		{ .grep = "^\\{\"seq\":1,", .passing = "1" },
		{ .grep = "\"seq\":[37],", .passing = "3 7" },
		{ .after = 2, .types = "tool.*,step.*", .paths = "a", .errors = true, .grep = "c",
		    .passing = "4" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct filter f;
		struct error err;
		char *numbers;

		filter_begin(&f);
		f.after = table[i].after;
		f.errors = table[i].errors;
		if (table[i].since)
			strcpy(f.since, table[i].since);
		if (table[i].types)
			filter_types(&f, table[i].types);
		if (table[i].more_types)
			filter_types(&f, table[i].more_types);
		if (table[i].paths)
			globs_add(&f.paths, table[i].paths);
		if (table[i].grep)
			assert_int_equal(filter_grep(&f, table[i].grep, &err), 0);
		assert_int_equal(filter_open(&f), i == 0);
		numbers = passing(&f);
		assert_string_equal(numbers, table[i].passing);
		free(numbers);
		filter_free(&f);
	}
}

static void
test_damage(void **state)
{
	static const char *const lines[] = {
		/* a head that is like ours, and something wrong behind it */
		"{\"seq\":1," AT("30.000001") ",\"type\":\"tool.call\"",
		"{\"seq\":1," AT("30.000001") ",\"type\":\"tool.call\"]",
		"{\"seq\":1," AT("30.000001") ",\"type\":\"tool.call\"}}",
		"{\"seq\":1," AT("30.000001") ",\"type\":\"tool.call\"\"path\":1}",
		"{\"seq\":1," AT("30.000001") ",\"type\":\"tool.call\",\"path\":\"\\x\",\"prev\":\"" ZEROS "\"}",
		"{\"seq\":1," AT("30.000001") ",\"type\":\"tool.call\",}",
		"{\"seq\":1," AT("30.000001") ",\"type\":\"tool.call\",\"path\":\"\x01\"}",
		"", "x", "{}", "{\"seq\":1}", "{\"seq\":1,\"type\":\"tool.call\"",
		"{\"seq\":1,\"type\":\"tool.call\",\"payload\":{,\"prev\":\"" ZEROS "\"}",
	};
	struct filter f;

	(void)state;
	filter_begin(&f);
	filter_types(&f, "tool.*");
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_int_equal(verdict_of(&f, lines[i], strlen(lines[i])), VERDICT_DAMAGED);
	filter_free(&f);
}

/* What others write in the form is shown, and known to have no chain. */
static void
test_unchained(void **state)
{
	static const struct { const char *line; bool unchained; } table[] = {
		{ "{\"seq\":1,\"type\":\"tool.call\"}", true },
		{ "{\"seq\":1,\"type\":\"tool.call\",\"prev\":\"" ZEROS "\"} ", true },
		{ "{\"seq\":1,\"type\":\"tool.call\",\"prev\":\"" ZEROS "\"}", false },
	};
	struct filter f;

	(void)state;
	filter_begin(&f);
	filter_types(&f, "tool.*");
	for (size_t i = 0; i < COUNT(table); i++) {
		assert_int_equal(verdict_of(&f, table[i].line, strlen(table[i].line)), VERDICT_YES);
		assert_int_equal(f.unchained, table[i].unchained);
	}
	filter_free(&f);
}

static void
test_bad_pattern(void **state)
{
	struct filter f;
	struct error err;

	(void)state;
	filter_begin(&f);
	assert_int_equal(filter_grep(&f, "a(", &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_string_equal(err.place, "--grep");
	filter_free(&f);
}

static void
test_seek_last(void **state)
{
	/* floor: how many lines stand before it */
	static const struct {
		const char *types;
		int64_t count;
		size_t floor;
		long long first;
	} table[] = {
		{ NULL, 3, 0, 7 }, { NULL, 0, 0, 0 }, { NULL, 99, 0, 1 }, { "step.*", 2, 0, 6 },
		{ "step.*", 4, 0, 2 }, { "step.*", 99, 0, 2 }, { "tool.call", 1, 0, 3 }, { "none", 5, 0, 0 },
		{ "step.*", 0, 0, 0 }, { NULL, 3, 6, 7 }, { NULL, 3, 7, 8 }, { NULL, 3, 9, 0 },
		{ "step.*", 4, 2, 5 }, { "step.*", 1, 6, 7 }, { "step.*", 1, 7, 0 }, { "tool.*", 1, 1, 4 },
	};
	size_t starts[COUNT(events) + 1];
	const char *path = record_path("transcript.jsonl");
	struct buffer lines = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(events); i++) {
		starts[i] = lines.len;
		record_line(&lines, (long)i + 1, events[i]);
	}
	starts[COUNT(events)] = lines.len;
	record_put(path, lines.data, lines.len);
	for (size_t i = 0; i < COUNT(table); i++) {
		struct filter f;
		struct reader r;
		struct error err;
		const char *line;
		size_t len;

		filter_begin(&f);
		if (table[i].types)
			filter_types(&f, table[i].types);
		assert_int_equal(reader_open(&r, path, &err), 0);
		assert_int_equal(filter_seek_last(&f, &r, table[i].count,
		    (int64_t)starts[table[i].floor], &err), 0);
		if (table[i].first == 0) {
			assert_int_equal(reader_next(&r, &line, &len, &err), 0);
		} else {
			int64_t seq = 0;

			assert_int_equal(reader_next(&r, &line, &len, &err), 1);
			assert_true(event_line_whole(line, len, &seq));
			assert_int_equal(seq, table[i].first);
		}
		reader_close(&r);
		filter_free(&f);
	}
	buffer_free(&lines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_passes),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_unchained),
		cmocka_unit_test(test_bad_pattern),
		cmocka_unit_test(test_seek_last),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
