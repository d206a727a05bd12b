/* run/summary and run/listing: runs in a few figures. */
#include "record.h"

#include "model/listing.h"
#include "model/summary.h"
#include "unit.h"

#define AT(second) "\"timestamp\":\"2026-11-21T08:15:" second ".000000Z\",\"event_id\":\"" OTHER_ID \
	"\",\"run_id\":\"" RUN_ID "\""
#define STARTED(second) AT(second) ",\"parent_event_id\":null,\"type\":\"run.started\",\"path\":\"\"," \
	"\"payload\":{\"name\":\"work\"}"
#define CALL(second) AT(second) ",\"type\":\"step.started\",\"path\":\"a\",\"payload\":{\"call\":\"a:0:0\"}"
#define TOKENS(second, in, out) AT(second) ",\"type\":\"message.assistant\",\"path\":\"a\"," \
	"\"payload\":{\"usage\":{\"input_tokens\":" in ",\"output_tokens\":" out "}}"
#define ENDED(second, rest) AT(second) ",\"type\":\"run.completed\",\"path\":\"\",\"payload\":{" rest "}"

static const struct {
	const char *events[8];
	const char *status;
	int64_t duration, exit_code, calls, in, out;
} runs[] = {
	{ { STARTED("30"), CALL("31"), ENDED("32", "\"status\":\"success\",\"exit_code\":0,"
	    "\"duration_ms\":2000,\"usage\":{\"calls\":7,\"input_tokens\":5,\"output_tokens\":6}") },
	    "success", 2000, 0, 7, 5, 6 },
	/* no calls in the usage: counted */
	{ { STARTED("30"), CALL("31"), CALL("31"), TOKENS("31", "10", "1"), TOKENS("31", "20", "2"),
	    ENDED("32", "\"status\":\"failed\",\"exit_code\":3,\"duration_ms\":1") },
	    "failed", 1, 3, 2, 30, 3 },
	{ { STARTED("30"), CALL("31"), TOKENS("34", "10", "1") }, "died", 4000, -1, 1, 10, 1 },
	/* the last attempt counts */
	{ { STARTED("30"), CALL("31"), ENDED("32", "\"status\":\"failed\",\"exit_code\":3"),
	    STARTED("40"), CALL("41"), CALL("42") }, "died", 2000, -1, 2, 0, 0 },
	/* nothing reaches a terminal as it stands, no sum overflows */
	{ { STARTED("30"), ENDED("31", "\"status\":\"\033[2J\"") }, "failed", 0, -1, 0, 0, 0 },
	{ { STARTED("30"), TOKENS("30", "9223372036854775807", "1"),
	    TOKENS("30", "9223372036854775807", "1") }, "died", 0, -1, 0, INT64_MAX, 2 },
	{ { STARTED("30"), ENDED("31", "\"exit_code\":9") }, "failed", 0, 9, 0, 0, 0 },
	{ { STARTED("30"), ENDED("31", "\"status\":\"a status of tomorrow\"") }, "failed", 0, -1, 0, 0, 0 },
};

static const char *
transcript_of(const char *const *events, size_t count)
{
	const char *path = record_path("transcript.jsonl");
	struct buffer lines = BUFFER_INIT;

	for (size_t i = 0; i < count && events[i]; i++)
		record_line(&lines, (long)i + 1, events[i]);
	record_put(path, buffer_string(&lines), lines.len);
	buffer_free(&lines);
	return path;
}

static void
test_summaries(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(runs); i++) {
		struct summary s;
		struct error err;

		assert_int_equal(summary_read(&s, transcript_of(runs[i].events, 8), &err), 0);
		assert_string_equal(s.run_id, RUN_ID);
		assert_string_equal(s.name, "work");
		assert_string_equal(s.status, runs[i].status);
		assert_int_equal(s.duration_ms, runs[i].duration);
		assert_int_equal(s.exit_code, runs[i].exit_code);
		assert_int_equal(s.calls, runs[i].calls);
		assert_int_equal(s.input_tokens, runs[i].in);
		assert_int_equal(s.output_tokens, runs[i].out);
		assert_false(s.child);
		summary_free(&s);
		assert_int_equal(summary_read_ends(&s, transcript_of(runs[i].events, 8), &err), 0);
		assert_string_equal(s.status, runs[i].status);
		assert_int_equal(s.exit_code, runs[i].exit_code);
		summary_free(&s);
	}
}

static void
test_errors(void **state)
{
	static const char error[] = "{\"code\":\"exit_status\",\"message\":\"sh: exit status 7\"}";
	char *long_end = memory_format(ENDED("32", "\"status\":\"failed\",\"error\":{\"message\":\"%04096d\"}"), 0);
	char *end = memory_format(ENDED("32", "\"status\":\"failed\",\"error\":%s"), error);
	const struct {
		const char *events[3];
		const char *error;
	} list[] = {
		{ { STARTED("30"), end }, error },
		{ { STARTED("30"), ENDED("32", "\"status\":\"failed\",\"error\":\"no object\"") }, NULL },
		{ { STARTED("30"), long_end }, NULL },
		/* the last attempt counts */
		{ { STARTED("30"), end, STARTED("40") }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(list); i++) {
		struct summary s;
		struct listing listed = { .runs = &s, .count = 1 };
		struct buffer out = BUFFER_INIT;
		struct error err;

		assert_int_equal(summary_read(&s, transcript_of(list[i].events, 3), &err), 0);
		listing_json(&listed, &out);
		if (list[i].error != NULL) {
			assert_string_equal(s.error, list[i].error);
			assert_non_null(strstr(out.data, ",\"error\":{\"code\":\"exit_status\","));
		} else {
			assert_null(s.error);
			assert_null(strstr(out.data, "\"error\""));
		}
		buffer_free(&out);
		summary_free(&s);
	}
	free(long_end);
	free(end);
}

static void
test_no_run(void **state)
{
	static const char *const child[] = { AT("30") ",\"parent_run_id\":\"" OTHER_ID
		"\",\"type\":\"run.started\",\"path\":\"\",\"payload\":null" };
	struct summary s;
	struct error err;

	(void)state;
	assert_int_equal(summary_read(&s, transcript_of(child, 1), &err), 0);
	assert_true(s.child);
	assert_string_equal(s.name, "");
	summary_free(&s);
	record_put(record_path("empty.jsonl"), "", 0);
	assert_int_equal(summary_read(&s, record_path("empty.jsonl"), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID_INPUT);
	assert_int_equal(summary_read(&s, record_path("nonesuch.jsonl"), &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
}

static void
test_table(void **state)
{
	char *names[] = { memory_text("short"), memory_text("\033[2J\xc3\xbc" "ber") };
	struct summary list_runs[] = {
		{ .run_id = RUN_ID, .name = names[0], .status = "running", .started = 0,
		    .duration_ms = 61000, .exit_code = -1, .calls = 12, .input_tokens = 900,
		    .output_tokens = 200, .cost = 1234560000 },
		{ .run_id = OTHER_ID, .name = names[1], .status = "success",
		    .started = INT64_C(1795248930000000), .duration_ms = 5, .exit_code = 0,
		    .cost = COST_UNKNOWN },
	};
	struct listing list = { .runs = list_runs, .count = 2 };
	struct buffer out = BUFFER_INIT;

	(void)state;
	setenv("TZ", "UTC", 1);
	listing_table(&list, true, false, &out);
	assert_string_equal(out.data,
	    "NAME         RUN       STATUS     STARTED              DURATION   CALLS  TOKENS\n"
	    "short        0b7a1c52  running    1970-01-01 00:00:00     1m01s      12    1.1k\n"
	    "\\x1b[2Jüber  6f9619ff  success    2026-11-21 08:15:30       5ms       0       0\n");
	buffer_clear(&out);
	listing_table(&list, false, true, &out);
	assert_non_null(strstr(out.data, "\033[36mrunning  \033[0m"));
	assert_non_null(strstr(out.data, "\033[32msuccess  \033[0m"));
	buffer_clear(&out);
	listing_json(&list, &out);
	assert_non_null(strstr(out.data, "\"name\":\"\\u001b[2Jüber\""));
	assert_non_null(strstr(out.data, "\"exit_code\":null"));
	assert_null(strstr(out.data, "cost"));
	buffer_clear(&out);
	list.costs = true;
	listing_table(&list, true, false, &out);
	assert_non_null(strstr(out.data, "  TOKENS       COST\n"));
	assert_non_null(strstr(out.data, "    1.1k    $1.2345\n"));
	assert_non_null(strstr(out.data, "       0          ?\n"));
	buffer_clear(&out);
	listing_json(&list, &out);
	assert_non_null(strstr(out.data, ",\"output_tokens\":200,\"cost\":1.23456}\n"));
	assert_non_null(strstr(out.data, ",\"output_tokens\":0}\n"));
	buffer_free(&out);
	free(names[0]);
	free(names[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summaries),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_no_run),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, record_setup, record_teardown);
}
