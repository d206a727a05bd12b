/* run/view: an event as a line, and short texts. */
#include "record.h"

#include "base/count.h"
#include "base/text.h"
#include "unit.h"
#include "view/view.h"

#define TIME "\"timestamp\":\"2026-11-21T08:15:30.123456Z\""
#define IDS TIME ",\"event_id\":\"" OTHER_ID "\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":null"
#define EVENT(type, path, iteration, payload) IDS ",\"type\":\"" type "\",\"path\":\"" path \
	"\",\"iteration\":" iteration ",\"payload\":" payload

#define CHILD(result) EVENT("step.call_workflow.completed", "a", "0", "{\"result\":" result "}")
#define STATE(data) "{\\\"data\\\":\\\"" data "\\\",\\\"metadata\\\":{\\\"run_id\\\":\\\"" RUN_ID \
	"\\\",\\\"event_id\\\":\\\"" OTHER_ID "\\\"}}"

/* The line without its time and LF. */
static char *
shown(struct view *v, const char *members, unsigned depth)
{
	struct buffer line = BUFFER_INIT, out = BUFFER_INIT;

	record_line(&line, 1, members);
	assert_int_equal(view_event(v, line.data, line.len - 1, depth, &out), 0);
	assert_int_equal(out.data[out.len - 1], '\n');
	out.data[--out.len] = '\0';
	buffer_free(&line);
	return buffer_take(&out);
}

/* Lines are of 08:15:30.123. */
static void
test_times(void **state)
{
	static const struct { int64_t before; const char *time; } table[] = {
		{ 0, "   0.000" }, { 1, "   0.001" }, { 999999, " 999.999" }, { 1000000, " 0:16:40" },
		{ 359999999, "99:59:59" }, { 360000000, "   4d04h" }, { -5, "   0.000" },
	};
	const int64_t wall = INT64_C(1795248930123000); /* 2026-11-21T08:15:30.123Z */

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct view v = { .began = wall - table[i].before * 1000 };
		char *line = shown(&v, EVENT("step.started", "a", "0", "{}"), 0);

		assert_memory_equal(line, table[i].time, strlen(table[i].time));
		assert_string_equal(line + 8, "   a started");
		free(line);
		view_free(&v);
	}
}

static void
test_lines(void **state)
{
	static const struct { const char *event, *line; } table[] = {
		{ EVENT("run.started", "", "0", "{\"name\":\"w\",\"attempt\":2,\"inputs\":{},"
		    "\"forked_from\":\"" OTHER_ID "\"}"),
		    " run started (w, 2026-11-21, attempt 2, run " RUN_ID ", forked from " OTHER_ID ")" },
		{ EVENT("run.completed", "", "0", "{\"status\":\"success\",\"exit_code\":0,\"error\":null}"),
		    " run completed (success)" },
		{ EVENT("run.completed", "", "0", "{\"status\":\"timeout\",\"exit_code\":124,"
		    "\"error\":{\"code\":\"timeout\",\"message\":\"after 2s\"},\"duration_ms\":2000}"),
		    " run completed (timeout, exit 124, 2.0s): timeout: after 2s" },
		{ EVENT("step.started", "a", "0", "{\"kind\":\"agent\",\"model\":\"m\"}"),
		    "   a started (agent, m)" },
		{ EVENT("step.started", "a.b.c", "7", "{}"), "       c[7] started" },
		{ EVENT("step.completed", "a", "0", "{\"result\":{\"b\": [1,  2]},\"duration_ms\":1}"),
		    "   a done (1ms, 14 B): {\"b\": [1, 2]}" },
		{ EVENT("step.completed", "a", "0", "{\"result\":null}"), "   a done" },
		{ EVENT("step.completed", "a", "0", "{\"result\":\"\"}"), "   a done (0 B)" },
		{ EVENT("step.completed", "a", "0", "{\"reused_from\":\"" OTHER_ID "\"}"), "   a reused" },
		{ EVENT("step.completed", "a", "0", "{\"error\":{\"code\":\"waiting\",\"message\":\"m\"}}"),
		    "   a waiting: waiting: m" },
		{ EVENT("step.completed", "a", "0", "{\"error\":\"text\",\"retries\":[{},{}]}"),
		    "   a failed (2 retries): text" },
		{ EVENT("step.completed", "a", "0", "{\"skipped\":\"why\",\"error\":null}"),
		    "   a skipped: why" },
		{ EVENT("step.completed", "a", "0", "{\"count\":1,\"result\":[{\"data\":\"x\"}]}"),
		    "   a done (1 B): x" },
		{ EVENT("step.completed", "a", "0", "{\"count\":2,\"result\":[{},{}]}"),
		    "   a done (2 lines, 7 B)" },
		{ CHILD("\"text\\nof lines\""), "   a done (13 B): text of lines" },
		{ CHILD("\"" STATE("one") "\""), "   a done (3 B): one" },
		{ CHILD("\"" STATE("one") "\\n" STATE("two") "\""), "   a done (2 lines, 251 B)" },
		{ CHILD("\"" STATE("one") "\\nno line\""),
		    "   a done (133 B): {\"data\":\"one\",\"metadata\":{\"run_id\":\"" RUN_ID "\",\"event_id\":\"" OTHER_ID
		    "\"}} no line" },
		{ CHILD("\"\""), "   a done (0 B)" },
		{ CHILD("null") ",\"refs\":[{\"at\":\"/payload/result\",\"bytes\":1536}]", "   a done (1.5 KiB)" },
		{ EVENT("step.started", "r", "0", "{\"call\":\"r:0:0\"}"), "   r started" },
		{ EVENT("step.started", "r", "0", "{\"call\":\"r:0:0/r:0:0\"}"), "     r[0] started" },
		{ EVENT("step.completed", "r", "1", "{\"call\":\"r:0:0/r:0:1\"}"), "     r[1] done" },
		{ EVENT("step.started", "r", "2", "{\"call\":\"r:0:1/r:0:2\"}"), "     r[1][2] started" },
		{ EVENT("step.started", "a.r", "0", "{\"call\":\"a:0:0/r:1:0/r:0:0\"}"), "       r[0] started" },
		{ EVENT("step.started", "r.s", "0", "{\"call\":\"r:0:0/r:0:1/s:0:0\"}"), "     s started" },
		{ EVENT("step.started", "r.r", "0", "{\"call\":\"r:0:0/r:0:0\"}"), "     r started" },
		{ EVENT("step.started", "rr", "0", "{\"call\":\"r:0:0/rr:0:0\"}"), "   rr started" },
		{ EVENT("step.started", "r", "0", "{\"call\":\"/r\"}"), "   r started" },
		{ EVENT("message.user", "a", "0", "{\"blocks\":[]}"), "     a user" },
		{ EVENT("message.user", "a", "0", "{\"blocks\":[{\"type\":\"text\",\"text\":\" x\\n\\ty \"},"
		    "{\"type\":\"text\",\"text\":\"z\"}]}"), "     a user: x y z" },
		{ EVENT("message.assistant", "a", "0", "{\"blocks\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},"
		    "{\"type\":\"tool_use\",\"tool_name\":\"t\"},{\"type\":\"tool_use\",\"tool_name\":\"u\"}],"
		    "\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":999950,\"output_tokens\":999}}"),
		    "     a assistant (1.0M in, 999 out, tool_use): t u" },
		{ EVENT("message.assistant", "a", "0", "{\"blocks\":[{\"type\":\"thinking\",\"thinking\":\"hm\"}],"
		    "\"stop_reason\":\"max_tokens\"}"), "     a assistant (max_tokens): hm" },
		{ EVENT("tool.call", "a", "0", "{\"name\":\"t\",\"input\":{\"k\":\"v\",\"n\":[1],\"a\":137,"
		    "\"b\":\"137\",\"c\":null,\"d\":\"null\",\"e\":\"x y=\\\"\\n\",\"long\":"
		    "\"0123456789012345678901234567890123456789+\"}}"),
		    "     a call t: k=\"v\" n=[1] a=137 b=\"137\" c=null d=\"null\" e=\"x y=\\\"\\n\" "
		    "long=\"01234567890123456789012345678901234567…" },
		{ EVENT("tool.call", "a", "0", "{\"name\":\"t\",\"input\":\"not JSON\"}"),
		    "     a call t: not JSON" },
		{ EVENT("tool.result", "a", "0", "{\"name\":\"t\",\"output\":\"12345\",\"error\":false}"),
		    "     a result t (5 B): 12345" },
		{ EVENT("tool.result", "a", "0", "{\"name\":\"t\",\"error\":{\"code\":\"c\"}}"),
		    "     a failed t: {\"code\":\"c\"}" },
		{ EVENT("tool.result", "a", "0", "{\"name\":\"t\",\"output\":null}") ",\"refs\":["
		    "{\"at\":\"/payload/input\",\"bytes\":1},{\"at\":\"/payload/output\",\"bytes\":1536}]",
		    "     a result t (1.5 KiB)" },
		{ EVENT("new.type", "a", "0", "{\"k\":1}"), "     a new.type: {\"k\":1}" },
		{ EVENT("new.type", "a", "0", "null"), "     a new.type" },
		{ EVENT("tool.call", "a", "0", "null"), "     a call" },
		{ EVENT("tool.call", "a", "0", "{\"name\":\"t\",\"input\":{}}"), "     a call t" },
	};
	struct view v = { .width = 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		char *line = shown(&v, table[i].event, 0);

		assert_memory_equal(line, "08:15:30.123", 12);
		assert_string_equal(line + 12, table[i].line);
		free(line);
	}
	view_free(&v);
}

static void
test_depth_and_bad_times(void **state)
{
	struct view v = { .width = 0 };
	char *line = shown(&v, "\"timestamp\":7,\"type\":\"step.started\",\"path\":\"a\"", 2);

	(void)state;
	assert_string_equal(line, "--:--:--           a started");
	free(line);
	view_free(&v);
}

static void
test_width_and_colours(void **state)
{
	static const char event[] = EVENT("step.completed", "a", "0", "{\"result\":\"日本語 text\"}");
	static const struct { bool colour, symbols; size_t width; const char *line; } table[] = {
		{ false, false, 30, "08:15:30.123   a done (14 B):…" },
		{ false, false, 34, "08:15:30.123   a done (14 B): 日…" },
		{ false, true, 24, "08:15:30.123   ✓ a done…" },
		{ true, true, 22, "\033[2m08:15:30.123\033[0m   \033[32m✓ \033[0ma \033[32mdo\033[0m…" },
		{ true, true, 18, "\033[2m08:15:30.123\033[0m   \033[32m✓ \033[0m…" },
		{ true, true, 5, "\033[2m08:1\033[0m…" },
		{ true, false, 0, "\033[2m08:15:30.123\033[0m   a \033[32mdone\033[0m (14 B): 日本語 text" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct view v = { .colour = table[i].colour, .symbols = table[i].symbols,
			.width = table[i].width };
		char *line = shown(&v, event, 0);

		assert_string_equal(line, table[i].line);
		free(line);
		view_free(&v);
	}
}

static void
test_long_texts_are_cut(void **state)
{
	struct buffer event = BUFFER_INIT;
	struct view v = { .width = 0 };
	char *line;

	(void)state;
	buffer_text(&event, IDS ",\"type\":\"tool.result\",\"path\":\"a\",\"payload\":{\"name\":\"t\",\"output\":\"");
	for (int i = 0; i < 100000; i++)
		buffer_text(&event, "ü");
	buffer_text(&event, "\"}");
	line = shown(&v, event.data, 0);
	assert_non_null(strstr(line, "a result t (195.3 KiB): üü"));
	assert_true(strlen(line) < 1000);
	assert_string_equal(line + strlen(line) - strlen("ü…"), "ü…");
	free(line);
	buffer_free(&event);
	view_free(&v);
}

static void
test_stderr_below_errors(void **state)
{
	struct view v = { .errors = true };
	char *line = shown(&v, EVENT("step.completed", "a", "0",
	    "{\"error\":{\"code\":\"c\",\"message\":\"m\"},\"stderr\":\"one\\u001b\\n\\nthree\"}"), 0);

	(void)state;
	assert_string_equal(line, "08:15:30.123   a failed: c: m\n"
	    "               | one\\x1b\n               | \n               | three");
	free(line);
	view_free(&v);
}

#define STARTED(run, number, input) TIME ",\"event_id\":\"" OTHER_ID "\",\"run_id\":\"" run \
	"\",\"parent_event_id\":\"" OTHER_ID "\",\"type\":\"step.started\",\"path\":\"a\"," \
	"\"iteration\":" #number ",\"payload\":{\"call\":\"a:0:" #number "\"" input "}"
#define FAILED(number) EVENT("step.completed", "a", #number, \
	"{\"call\":\"a:0:" #number "\",\"error\":\"e\"}")

/* A call is named by the item that it began with, or by the result which that is. */
static void
test_items_of_failures(void **state)
{
	static const struct { const char *begin, *end, *line; } table[] = {
		{ STARTED(RUN_ID, 0, ",\"input\":1"), FAILED(0), "   a failed: e" },
		{ STARTED(RUN_ID, 1, ",\"input\":1"), FAILED(1), "   a[1] (1) failed: e" },
		{ STARTED(RUN_ID, 2, ",\"input\":\"1\""), FAILED(2), "   a[2] (\"1\") failed: e" },
		{ STARTED(RUN_ID, 3, ",\"input\":null"), FAILED(3), "   a[3] failed: e" },
		{ STARTED(OTHER_ID, 4, ",\"input\":1"), FAILED(4), "   a[4] failed: e" },
		{ EVENT("step.completed", "b", "0", "{\"result\":{\"n\":1}}"), FAILED(5), "   a[5] failed: e" },
		{ STARTED(RUN_ID, 6, ""), FAILED(6), "   a[6] ({\"n\":1}) failed: e" },
		{ STARTED(RUN_ID, 7, ",\"input\":7"), EVENT("step.completed", "a", "7",
		    "{\"call\":\"a:0:7\",\"result\":1}"), "   a[7] done (1 B): 1" },
	};
	struct view v = { .width = 0 };
	char *line;

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		free(shown(&v, table[i].begin, 0));
		line = shown(&v, table[i].end, 0);
		assert_string_equal(line + 12, table[i].line);
		free(line);
	}
	view_free(&v);
}

/* Of many calls the last are known, in memory that has a limit. */
static void
test_items_of_many(void **state)
{
	struct view v = { .width = 0 };
	char event[512], *line;

	(void)state;
	for (int i = 1; i <= 20000; i++) {
		snprintf(event, sizeof event, EVENT("step.started", "a", "%d",
		    "{\"call\":\"a:0:%d\",\"input\":%d}"), i, i, i);
		free(shown(&v, event, 0));
	}
	line = shown(&v, EVENT("step.completed", "a", "17000", "{\"call\":\"a:0:17000\",\"error\":\"e\"}"), 0);
	assert_string_equal(line + 12, "   a[17000] (17000) failed: e");
	free(line);
	line = shown(&v, EVENT("step.completed", "a", "7000", "{\"call\":\"a:0:7000\",\"error\":\"e\"}"), 0);
	assert_string_equal(line + 12, "   a[7000] failed: e");
	free(line);
	view_free(&v);
}

static void
test_no_event(void **state)
{
	struct buffer out = BUFFER_INIT;
	struct view v = { .width = 0 };

	(void)state;
	assert_int_equal(view_event(&v, "nonsense", 8, 0, &out), -1);
	assert_int_equal(view_event(&v, "{\"seq\":1}", 9, 0, &out), -1);
	assert_int_equal(out.len, 0);
	view_free(&v);
}

static void
test_short_texts(void **state)
{
	static const struct { int64_t bytes; const char *text; } sizes[] = {
		{ 0, "0 B" }, { 1023, "1023 B" }, { 1024, "1.0 KiB" }, { 1048575, "1.0 MiB" },
		{ 5 * INT64_C(1) << 30, "5.0 GiB" }, { INT64_C(3) << 50, "3072.0 TiB" },
	}, counts[] = {
		{ 0, "0" }, { 999, "999" }, { 1000, "1.0k" }, { 999949, "999.9k" }, { 999950, "1.0M" },
		{ 123456789, "123.5M" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++)
		assert_string_equal(size_text(sizes[i].bytes, text, sizeof text), sizes[i].text);
	for (size_t i = 0; i < COUNT(counts); i++)
		assert_string_equal(count_text(counts[i].bytes, text, sizeof text), counts[i].text);
}

static int
utc(void **state)
{
	(void)state;
	return setenv("TZ", "UTC", 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_depth_and_bad_times),
		cmocka_unit_test(test_width_and_colours),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_stderr_below_errors),
		cmocka_unit_test(test_items_of_failures),
		cmocka_unit_test(test_items_of_many),
		cmocka_unit_test(test_no_event),
		cmocka_unit_test(test_short_texts),
	};

	return cmocka_run_group_tests(tests, utc, NULL);
}
